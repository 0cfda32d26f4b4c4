package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
)

// requestOperator asks one of the operator's routes and wants that status.
func (h *testServer) requestOperator(method, path, body string, status int) bufferedResponse {
	h.t.Helper()
	headers := []string{}
	if body != "" {
		headers = []string{"Content-Type", jsonType}
	}
	r := h.requestAt(h.admin, method, path, strings.NewReader(body), headers...)
	if r.StatusCode != status {
		h.t.Fatalf("%s %s %s: %s, want %d\n%s", method, path, body, r.Status, status, r.body)
	}
	return r
}

// applyFor posts a registration, and wants that status.
func (h *testServer) applyFor(name string, status int) air.RegistrationAnswer {
	h.t.Helper()
	r := h.request("POST", "/api/v1/agents/register", `{"name": "`+name+`", "public_key": "`+newKey(h.t)+`"}`, "Content-Type", jsonType)
	if r.StatusCode != status {
		h.t.Fatalf("register %s: %s, want %d\n%s", name, r.Status, status, r.body)
	}
	var v air.RegistrationAnswer
	decodeInto(h.t, r, &v)
	return v
}

func TestRegistrationsWaitForOperator(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{Mode: admission.ModeApproval}})
	h.requestOperator("PUT", "/admin/registry/admission", `{"mode": "approval", "note": "write to door@registry.example"}`, 200)
	var health air.RegistryHealth
	decodeInto(t, h.get("/api/v1/health", 200), &health)
	if health.Registration != admission.ModeApproval || health.Note != "write to door@registry.example" {
		t.Errorf("the registry says of itself: %+v", health)
	}
	first, second := h.applyFor("First", 202), h.applyFor("Second", 202)
	if first.Status != "pending" || first.Application != "/api/v1/agents/"+first.AirID+"/application" || first.AgentSecret == "" {
		t.Errorf("the answer is %+v", first)
	}
	var v air.ApplicationAnswer
	decodeInto(t, h.get(first.Application, 200), &v)
	if v.Status != "waiting" || v.Note != "write to door@registry.example" || v.Expires.IsZero() {
		t.Errorf("it waits as %+v", v)
	}
	for _, path := range []string{"", "/did-document", "/history", "/keys"} {
		if p := h.get("/api/v1/agents/"+first.AirID+path, 404).problem(t); path == "" && p.Rule != "application-pending" {
			t.Errorf("of an agent that waits it says %+v", p)
		}
	}
	var list air.ApplicationList
	decodeInto(t, h.requestOperator("GET", "/admin/registry/applications?limit=1", "", 200), &list)
	if len(list.Applications) != 1 || list.Next == "" {
		t.Fatalf("the first page is %+v", list)
	}
	next := list.Next
	decodeInto(t, h.requestOperator("GET", "/admin/registry/applications?after="+next, "", 200), &list)
	if len(list.Applications) != 1 || list.Applications[0].Network != "127.0.0.0/24" {
		t.Errorf("the second page is %+v", list)
	}

	h.requestOperator("POST", "/admin/registry/applications/"+first.AirID+"/approve", "", 200)
	decodeInto(t, h.get(first.Application, 200), &v)
	if v.Status != "approved" || v.Agent != "/api/v1/agents/"+first.AirID {
		t.Errorf("approved it is %+v", v)
	}
	h.get(v.Agent, 200)
	h.requestOperator("POST", "/admin/registry/applications/"+first.AirID+"/approve", "", 404)

	h.requestOperator("POST", "/admin/registry/applications/"+second.AirID+"/refuse", `{"reason": "we know of no such company"}`, 200)
	decodeInto(t, h.get(second.Application, 200), &v)
	if v.Status != "refused" || v.Reason != "we know of no such company" {
		t.Errorf("refused it is %+v", v)
	}
	h.requestOperator("POST", "/admin/registry/applications/"+second.AirID+"/approve", "", 409)
	h.get("/api/v1/agents/AIR-0000-0000-0000/application", 404)

	h.requestOperator("PUT", "/admin/registry/admission", `{"mode": "closed", "note": "come back in May"}`, 200)
	r := h.request("POST", "/api/v1/agents/register", `{"name": "Third", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType)
	if p := r.problem(t); r.StatusCode != 403 || p.Rule != "registration-closed" || !strings.Contains(p.Help, "come back in May") {
		t.Errorf("closed registration answers %s %s", r.Status, r.body)
	}
}

// TestUnattendedRegistrationCloses checks that an open registry requires approval after a week
// without requests of the operator.
func TestUnattendedRegistrationCloses(t *testing.T) {
	clock := testclock.New(seen)
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.Now}, api: func(o *api.Options) { o.Now = clock.Now }})
	h.applyFor("First", 201)
	clock.Advance(6 * 24 * time.Hour)
	h.requestOperator("GET", "/admin/registry", "", 200) // the operator looks after it
	clock.Advance(6 * 24 * time.Hour)
	h.applyFor("Second", 201)
	clock.Advance(2 * 24 * time.Hour)
	waits := h.applyFor("Third", 202)
	var v air.RegistryStatus
	decodeInto(t, h.requestOperator("GET", "/admin/registry", "", 200), &v)
	if v.Admission.Mode != admission.ModeApproval || v.Admission.SelfClosed.IsZero() || v.Waiting != 1 {
		t.Errorf("it stands as %+v", v)
	}
	h.applyFor("Fourth", 202) // a look is not enough
	h.requestOperator("PUT", "/admin/registry/admission", `{"mode": "open"}`, 200)
	h.applyFor("Fifth", 201)
	h.requestOperator("POST", "/admin/registry/applications/"+waits.AirID+"/approve", "", 200)
}

func TestBlockLists(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	var b admission.Ban
	decodeInto(t, h.requestOperator("POST", "/admin/registry/bans", `{"kind": "handle", "value": "Evil_Bot", "reason": "squatter", "until": "2126-01-31T12:00:00Z"}`, 200), &b)
	if b.Value != "evil_bot" || b.Until.IsZero() {
		t.Errorf("the line is %+v", b)
	}
	r := h.request("PUT", "/api/v1/agents/"+a.AirID, `{"username": "evil_bot"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret)
	if p := r.problem(t); r.StatusCode != 403 || p.Rule != "banned-handle" || strings.Contains(string(r.body), "squatter") {
		t.Errorf("a banned handle: %s %s", r.Status, r.body)
	}
	if r := h.request("PUT", "/api/v1/agents/"+a.AirID, `{"username": "alice_bot"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	var added air.AddedBan
	decodeInto(t, h.requestOperator("POST", "/admin/registry/bans", `{"kind": "handle", "value": "Alice_Bot"}`, 200), &added)
	if added.Total != 1 || len(added.Agents) != 1 || added.Agents[0].AirID != a.AirID {
		t.Errorf("the handle of %s is banned, and the answer is %+v", a.AirID, added)
	}
	h.requestOperator("DELETE", "/admin/registry/bans?kind=handle&value=alice_bot", "", 200)
	h.requestOperator("POST", "/admin/registry/bans", `{"kind": "network", "value": "127.0.0.1"}`, 200)
	for what, r := range map[string]bufferedResponse{
		"registration": h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType),
		"update":       h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret),
		"report":       h.request("POST", "/api/v1/agents/"+a.AirID+"/reports", `{"reason": "spam", "text": "x"}`, "Content-Type", jsonType),
		"rotation":     h.request("POST", "/api/v1/agents/"+a.AirID+"/keys", `{"created": "2026-01-31T12:00:00Z"}`, "Content-Type", jsonType),
		"merge":        h.request("POST", "/api/v1/agents/"+a.AirID+"/merge", `{"created": "2026-01-31T12:00:00Z"}`, "Content-Type", jsonType),
		"end":          h.request("POST", "/api/v1/agents/"+a.AirID+"/deactivate", "", "X-Agent-Secret", a.Secret),
	} {
		if p := r.problem(t); r.StatusCode != 403 || p.Rule != "banned-network" {
			t.Errorf("%s from a banned network: %s %s", what, r.Status, r.body)
		}
	}
	var list air.BanList
	decodeInto(t, h.requestOperator("GET", "/admin/registry/bans", "", 200), &list)
	if len(list.Bans) != 2 {
		t.Errorf("the lists are %+v", list)
	}
	h.requestOperator("DELETE", "/admin/registry/bans?kind=network&value=127.0.0.1/32", "", 200)
	h.requestOperator("DELETE", "/admin/registry/bans?kind=network&value=127.0.0.1/32", "", 404)
	h.get("/api/v1/agents/"+a.AirID, 200)
	for _, body := range []string{`{"kind": "colour", "value": "red"}`, `{"kind": "network", "value": "0.0.0.0/0"}`, `{"kind": "key", "value": "z6Mk"}`,
		`{"kind": "handle", "value": "a_b", "until": "tomorrow"}`, `{"kind": "handle"}`, `{"kind": "handle", "value": 5}`, `{"kind": "handle", "value": "a_b", "x": "y"}`, `[]`} {
		if p := h.requestOperator("POST", "/admin/registry/bans", body, 400).problem(t); p.Help == "" || p.Where == nil {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

// A report can carry an envelope, which must be signed by the agent that is reported. The operator
// alone sees it, until the report is settled.
func TestReportsCarryEnvelopes(t *testing.T) {
	h := newTestServer(t, options{})
	mallory, alice := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
	sign := func(by owner) string {
		e, err := a2a.Sign(a2a.Message{From: by.CreatorDID, To: alice.CreatorDID, Timestamp: time.Now().Add(-30 * 24 * time.Hour), Body: a2a.Withdraw{Reason: "buy \"pills\""}}, a2a.Wire, by.key)
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Text)
	}
	post := func(envelope string) bufferedResponse {
		body := encodeJSON(t, map[string]string{"reason": "spam", "text": "it writes to everybody", "envelope": envelope})
		return h.request("POST", mallory.path+"/reports", string(body), "Content-Type", jsonType)
	}
	for name, envelope := range map[string]string{
		"no envelope": "{}", "another's": sign(alice), "changed": strings.Replace(sign(mallory), "pills", "books", 1),
		"too large": strings.Repeat(" ", a2a.MaxEnvelope) + sign(mallory), "of nobody": strings.Replace(sign(mallory), mallory.AirID, "AIR-0000-0000-0000", 1),
	} {
		if r := post(envelope); r.StatusCode != 400 {
			t.Errorf("%s: %s %s", name, r.Status, r.body)
		}
	}
	envelope := sign(mallory)
	var v air.ReportView
	r := post(envelope)
	if decodeInto(t, r, &v); r.StatusCode != 201 || bytes.Contains(r.body, []byte("pills")) {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if seenByAll := h.get(v.URL, 200); bytes.Contains(seenByAll.body, []byte("pills")) {
		t.Errorf("the public sees %s", seenByAll.body)
	}
	var list air.ReportList
	decodeInto(t, h.requestOperator("GET", "/admin/registry/reports", "", 200), &list)
	if len(list.Reports) != 1 || list.Reports[0].Envelope != envelope {
		t.Fatalf("the operator sees %+v", list)
	}
	h.requestOperator("POST", "/admin/registry/reports/"+v.ID+"/settle", `{"outcome": "dismissed"}`, 200)
	list = air.ReportList{}
	decodeInto(t, h.requestOperator("GET", "/admin/registry/reports?settled=true", "", 200), &list)
	if len(list.Reports) != 1 || list.Reports[0].Envelope != "" {
		t.Errorf("after the end of the report the operator sees %+v", list)
	}
}

// TestShamReportsLeaveRoom checks that a hundred reports about an agent from as many networks leave room
// for a report with an envelope that the agent signed, and those of one /16 for any report of another one.
func TestShamReportsLeaveRoom(t *testing.T) {
	o := fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Reports: -1})
	h := newTestServer(t, o)
	mallory, eve := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
	post := func(about owner, from, envelope string) bufferedResponse {
		body := encodeJSON(t, map[string]string{"reason": "spam", "text": "it writes to everybody", "envelope": envelope})
		return h.request("POST", about.path+"/reports", string(body), "Content-Type", jsonType, "X-Forwarded-For", from)
	}
	for i := range 100 {
		for _, r := range []bufferedResponse{post(mallory, fmt.Sprintf("11.%d.1.1", i), ""), post(eve, fmt.Sprintf("11.1.%d.1", i), "")} {
			if r.StatusCode != http.StatusCreated {
				t.Fatalf("%s %s", r.Status, r.body)
			}
		}
	}
	if r := post(mallory, "203.0.113.1", ""); r.StatusCode != http.StatusConflict || r.problem(t).Rule != "reported-enough" {
		t.Errorf("one more: %s %s", r.Status, r.body)
	}
	e, err := a2a.Sign(a2a.Message{From: mallory.CreatorDID, To: eve.CreatorDID, Timestamp: time.Now(), Body: a2a.Withdraw{Reason: "pills"}}, a2a.Wire, mallory.key)
	if err != nil {
		t.Fatal(err)
	}
	if r := post(mallory, "203.0.113.1", string(e.Text)); r.StatusCode != http.StatusCreated {
		t.Errorf("one with an envelope: %s %s", r.Status, r.body)
	}
	if r := post(eve, "203.0.113.1", ""); r.StatusCode != http.StatusCreated {
		t.Errorf("one of another /16: %s %s", r.Status, r.body)
	}
	if r := post(eve, "11.1.200.1", ""); r.StatusCode != http.StatusConflict {
		t.Errorf("one more of the same /16: %s %s", r.Status, r.body)
	}
}

func TestReports(t *testing.T) {
	clock := testclock.New(seen)
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.Now, Limits: admission.Limits{Reports: 2}}, api: func(o *api.Options) { o.Now = clock.Now }})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID + "/reports"
	post := func(body string) bufferedResponse { return h.request("POST", path, body, "Content-Type", jsonType) }
	for _, body := range []string{`{"reason": "boring", "text": "x"}`, `{"reason": "spam"}`, `{"reason": "spam", "text": "` + strings.Repeat("x", 2001) + `"}`} {
		if r := post(body); r.StatusCode != 400 {
			t.Errorf("%.60s: %s %s", body, r.Status, r.body)
		}
	}
	r := post(`{"reason": "malware", "text": "it served me a virus <script>alert(1)</script>", "contact": "me@reporter.example"}`)
	var v air.ReportView
	if decodeInto(t, r, &v); r.StatusCode != 201 || v.Status != "open" || !v.Due.Equal(seen.Add(72*time.Hour)) {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if p := post(`{"reason": "spam", "text": "again"}`).problem(t); p.Rule != "reported" || p.Status != 409 {
		t.Errorf("a second report of one network: %+v", p)
	}
	clock.Advance(73 * time.Hour)
	seenByAll := h.get(v.URL, 200)
	if decodeInto(t, seenByAll, &v); v.Status != "overdue" || bytes.Contains(seenByAll.body, []byte("virus")) || bytes.Contains(seenByAll.body, []byte("reporter.example")) {
		t.Errorf("the public sees %s", seenByAll.body)
	}
	var standing air.RegistryStatus
	decodeInto(t, h.requestOperator("GET", "/admin/registry", "", 200), &standing)
	if standing.Reports != (air.ReportCount{Open: 1, Overdue: 1, OldestHour: 73}) {
		t.Errorf("it stands as %+v", standing)
	}
	var list air.ReportList
	decodeInto(t, h.requestOperator("GET", "/admin/registry/reports?overdue=true&air_id="+a.AirID, "", 200), &list)
	if len(list.Reports) != 1 || list.Reports[0].Contact != "me@reporter.example" {
		t.Fatalf("the operator sees %+v", list)
	}
	h.requestOperator("POST", "/admin/registry/reports/"+v.ID+"/settle", `{"outcome": "suspended", "note": "seen, and true"}`, 200)
	h.requestOperator("POST", "/admin/registry/reports/"+v.ID+"/settle", `{"outcome": "dismissed"}`, 409)
	h.requestOperator("POST", "/admin/registry/reports/20261101T120000.000Z-00000000/settle", `{"outcome": "dismissed"}`, 404)
	if decodeInto(t, h.get(v.URL, 200), &v); v.Status != "settled" || v.Outcome != "suspended" || v.Note != "seen, and true" {
		t.Errorf("settled it is %+v", v)
	}
	if p := h.get("/api/v1/agents/"+a.AirID+"/did-document", 403).problem(t); p.Rule != "suspended" {
		t.Errorf("a suspended agent: %+v", p)
	}
	h.requestOperator("POST", "/admin/agents/"+a.AirID+"/restore", "", 200)
	h.get("/api/v1/agents/"+a.AirID+"/did-document", 200)

	// What one network may say in a day is bounded.
	clock.Advance(24 * time.Hour)
	for i := range 3 {
		b := registerAgent(t, h)
		r := h.request("POST", "/api/v1/agents/"+b.AirID+"/reports", `{"reason": "spam", "text": "x"}`, "Content-Type", jsonType)
		if want := []int{201, 201, 429}[i]; r.StatusCode != want || want == 429 && r.Header.Get("Retry-After") == "" {
			t.Errorf("report %d of a day: %s %s", i, r.Status, r.body)
		}
	}
	h.get("/api/v1/reports/unknown", 404)
}

func TestMerges(t *testing.T) {
	h := newTestServer(t, options{})
	from, into, third := registerProved(t, h, 1, ""), registerProved(t, h, 2, ""), registerProved(t, h, 3, "")
	send := func(x transfer.Merge) bufferedResponse {
		body := encodeJSON(t, air.MergeBody{From: x.From, FromKey: x.FromKey, Into: x.Into, IntoKey: x.IntoKey, Created: x.Created.Format(time.RFC3339), Nonce: x.Nonce,
			FromSignature: x.FromSignature, IntoSignature: x.IntoSignature})
		return h.request("POST", from.path+"/merge", string(body), "Content-Type", jsonType)
	}
	x := transfer.NewMerge(from.CreatorDID, into.CreatorDID, from.key, into.key, time.Now())
	stolen := x
	stolen.Into = third.CreatorDID
	if p := send(stolen).problem(t); p.Status != 401 && p.Status != 409 {
		t.Errorf("a merge carried to another agent: %+v", p)
	}
	r := send(x)
	var v air.AgentStatusAnswer
	if decodeInto(t, r, &v); r.StatusCode != 200 || v.AirID != into.AirID {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if p := h.get(from.path, 200); !bytes.Contains(p.body, []byte(`"merged"`)) {
		t.Errorf("the one that ended is shown as %s", p.body)
	}
	if p := h.get(from.path+"/did-document", 410).problem(t); !strings.Contains(p.Help, into.AirID) {
		t.Errorf("its DID says %+v", p)
	}
	if r := send(x); r.StatusCode != 410 && r.StatusCode != 401 {
		t.Errorf("the same merge again: %s %s", r.Status, r.body)
	}
	h.requestOperator("POST", "/admin/agents/"+into.AirID+"/merge", `{"into": "`+third.AirID+`", "reason": "its owner has lost the key and showed us a passport"}`, 200)
	h.get(into.path+"/did-document", 410)
	h.requestOperator("POST", "/admin/agents/"+third.AirID+"/merge", `{"into": "`+third.AirID+`", "reason": "x"}`, 409)
	h.requestOperator("POST", "/admin/agents/"+third.AirID+"/merge", `{"into": "`+third.AirID+`"}`, 400)
}

// TestAgentMovesToAnotherRegistry exports an agent with its history and imports it into
// another registry.
func TestAgentMovesToAnotherRegistry(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerProved(t, h, 1, "")
	for i := range 20 {
		if r := a.send("PUT", "", fmt.Sprintf(`{"description": "edition %d"}`, i)); r.StatusCode != 200 {
			t.Fatalf("%s %s", r.Status, r.body)
		}
	}
	h.get(a.path+"/export", 401)
	if r := h.requestSigned(keyFromSeed(2), a.CreatorDID+did.KeyFragment, "GET", a.path+"/export", "", httpsig.SignOptions{}); r.StatusCode != 401 {
		t.Errorf("signed by another: %s", r.Status)
	}
	r := a.send("GET", "/export", "")
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/x-ndjson" || !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") || r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s %v %s", r.Status, r.Header, r.body)
	}
	if n := bytes.Count(r.body, []byte("\n")); n != 24 { // what it is, 21 entries, the agent, the end
		t.Errorf("the export has %d lines", n)
	}
	byOperator := h.requestOperator("GET", "/admin/agents/"+a.AirID+"/export?secret=true", "", 200)
	if !bytes.HasPrefix(byOperator.body, []byte(`{"export":"gazetteer agent"`)) {
		t.Errorf("the operator gets %.200s", byOperator.body)
	}
	h.requestOperator("GET", "/admin/agents/AIR-0000-0000-0000/export", "", 404)

	other := newTestServer(t, options{registry: registrar.Options{DIDHost: "other.example"}})
	send := func(text []byte) bufferedResponse {
		return other.requestAt(other.admin, "POST", "/admin/registry/import", bytes.NewReader(text), "Content-Type", "application/x-ndjson")
	}
	broken := bytes.Replace(r.body, []byte("edition 19"), []byte("edition 20"), 1)
	if p := send(broken).problem(t); p.Status != 400 || p.Where == nil || p.Where.Line == 0 || p.Help == "" {
		t.Errorf("a changed export: %+v", p)
	}
	if p := send(r.body[:len(r.body)/2]).problem(t); p.Status != 400 {
		t.Errorf("a cut export: %+v", p)
	}
	if p := other.requestAt(other.admin, "POST", "/admin/registry/import", bytes.NewReader(r.body), "Content-Type", jsonType); p.StatusCode != 415 {
		t.Errorf("another media type: %s", p.Status)
	}
	imported := send(r.body)
	var v air.ImportedAgent
	if decodeInto(t, imported, &v); imported.StatusCode != 200 || v.AirID != a.AirID || v.Origin != "registry.example" || v.Entries != 21 || v.Signed != 21 {
		t.Fatalf("%s %s", imported.Status, imported.body)
	}
	if p := send(r.body).problem(t); p.Status != 409 {
		t.Errorf("imported again: %+v", p)
	}
	var history struct {
		Total int `json:"total"`
	}
	decodeInto(t, other.get(a.path+"/history", 200), &history)
	var record airjson.RecordView
	if decodeInto(t, other.get(a.path, 200), &record); record.Description != "edition 19" {
		t.Errorf("there it is %+v", record)
	}
}

// TestOperatorRoutesRequireOperator asks every operator's route of the public.
func TestOperatorRoutesRequireOperator(t *testing.T) {
	h := newTestServer(t, options{})
	spec := readSpec(t, h.requestAt(h.admin, "GET", "/admin/openapi.json", nil).body)
	asked := 0
	for path, item := range spec.paths() {
		path = strings.NewReplacer("{air_id}", "AIR-0000-0000-0000", "{id}", "1").Replace(path)
		for method := range item {
			r := h.request(strings.ToUpper(method), path, "{}", "Content-Type", jsonType, "X-Admin-Key", "guess", "Authorization", "Bearer guess")
			if asked++; r.StatusCode != 401 && r.StatusCode != 404 {
				t.Errorf("%s %s of the public: %s", method, path, r.Status)
			}
			if bytes.Contains(r.body, []byte("waiting")) {
				t.Errorf("%s %s tells the public %s", method, path, r.body)
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d routes were asked", asked)
	}
}

// TestAdminResponsesMatchSchemas holds what the operator gets against the
// description, and lets no cache have it.
func TestAdminResponsesMatchSchemas(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{Mode: admission.ModeApproval}})
	waiting := h.applyFor("First", 202)
	h.requestOperator("POST", "/admin/registry/bans", `{"kind": "domain", "value": "evil.example"}`, 200)
	h.applyFor("Second", 202)
	h.requestOperator("POST", "/admin/registry/applications/"+waiting.AirID+"/approve", "", 200)
	h.request("POST", "/api/v1/agents/"+waiting.AirID+"/reports", `{"reason": "spam", "text": "x"}`, "Content-Type", jsonType)
	spec := readSpec(t, h.requestAt(h.admin, "GET", "/admin/openapi.json", nil).body)
	for _, path := range []string{"/admin/registry", "/admin/registry/applications", "/admin/registry/bans", "/admin/registry/reports"} {
		r := h.requestOperator("GET", path, "", 200)
		spec.check(t, path, r.body)
		if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		var v map[string]json.RawMessage
		if decodeInto(t, r, &v); len(v) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	if r := h.requestAt(h.admin, "PUT", "/admin/registry/admission", strings.NewReader(`{"mode": "ajar"}`), "Content-Type", jsonType); r.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown mode: %s", r.Status)
	}
}
