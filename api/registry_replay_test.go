package api_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/route"
	"gazetteer/protocol/did"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
)

// An exchange is one recorded request and the reference's response; a step
// without a request is something that its operator did.
type exchange struct {
	Name    string `json:"name"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"request"`
	Response *struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"response"`
}

// A departure is an answer that is not the reference's.
type departure struct {
	status int    // ours; 0: as recorded
	what   string // what we do instead, and why
	// body tells which parts of the recorded body are not compared: paths of
	// members, "" for all of it.
	body []string
}

// departures lists every exchange that is answered otherwise. docs/registry.md
// says the same to the readers of that page.
var departures = map[string]departure{
	"wrong method":                        {405, "405 with Allow: the address is right, the method is not", nil},
	"preflight":                           {0, "a preflight allows reads to every origin, and writes to none", []string{""}},
	"register rate 6":                     {400, "only registrations that could be read count against the rate; 429 comes with Retry-After", []string{"/retry_after_seconds", "/message"}},
	"get agent":                           {0, "the DID that was minted resolves here at once", []string{"/did_wba_resolved"}},
	"by-username":                         {0, "as above", []string{"/did_wba_resolved"}},
	"get agent after attestations":        {0, "as above", []string{"/did_wba_resolved"}},
	"get deleted agent still answers 200": {0, "as above; the record stays to be read, and says deleted", []string{"/did_wba_resolved"}},
	"recent attestations":                 {0, "the newest first", []string{"/attestations/0/", "/attestations/1/"}},
	"history":                             {0, "attestations are part of it, and each agent has a chain of its own", []string{"/history/1/id", "/total"}},
	"history of deleted":                  {0, "as above", []string{"/history", "/total"}},
	"history unknown agent":               {404, "404: the reference's own description says so", []string{""}},
	"audit verify":                        {0, "the log is a Merkle tree that holds whole records, attestations too", []string{"/count", "/entries_checked", "/live_count"}},
	"list limit -1 is unbounded":          {400, "400: no list is without bound", []string{""}},
	"did document of deleted":             {410, "410: the agent was here and is gone for good", nil},
	"put deleted":                         {410, "410, as its DID document", nil},
	"put: endpoint with foreign id, odd scheme and reserved type is accepted": {400, "400: the type is reserved, the id is another's, the scheme runs in a browser", []string{""}},
}

// added are the members that ours has beside the recorded ones.
var added = []string{
	// of every problem document
	"type", "title", "status", "detail", "code", "rule", "section", "where", "help", "hint", "message", "air_id", "expected", "got", "username",
	"draft", "authority", "note", "did", "log", "handles", "registration",
}

// TestDocumentedDifferencesFromReference holds the page for readers against the list.
func TestDocumentedDifferencesFromReference(t *testing.T) {
	page, err := os.ReadFile("../docs/registry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| exchange | the reference | here |")
	for name := range departures {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/registry.md does not say how %q is answered", name)
		}
	}
}

func TestReplayReferenceExchanges(t *testing.T) {
	text, err := os.ReadFile("testdata/air/registry.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Steps []exchange }
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t)
	met := map[string]bool{}
	played := 0
	for _, step := range recorded.Steps {
		if step.Response == nil {
			p.ageAttesters()
			continue
		}
		played++
		met[step.Name] = true
		t.Run(step.Name, func(t *testing.T) { p.in(t).replayStep(step) })
	}
	if played != 123 {
		t.Errorf("%d exchanges were played, want 123", played)
	}
	for name := range departures {
		if !met[name] {
			t.Errorf("there is no exchange %q to depart from", name)
		}
	}
}

// A player sends recorded requests to our server.
type player struct {
	*testServer
	known map[string]string // "{{alice.air_id}}" to the value it has here
	ticks *atomic.Int64     // seconds since the recording began; the directory reads the clock, too
}

func newPlayer(t *testing.T) *player {
	ticks := new(atomic.Int64)
	p := &player{known: map[string]string{}, ticks: ticks}
	clock := func() time.Time { return seen.Add(time.Duration(ticks.Load()) * time.Second) }
	p.testServer = newTestServer(t, options{log: true,
		registry: registrar.Options{DIDHost: "agentidentityregistry.org", Resolver: attesterDocuments(), Now: clock, Limits: admission.Limits{Registrations: 20, AllRegistrations: 1000}},
		api:      func(o *api.Options) { o.Now = clock },
	})
	return p
}

func (p *player) in(t *testing.T) *player {
	inner := *p
	inner.testServer = p.testServer.forTest(t)
	return &inner
}

// keyFromSeed is the key that the recording signs with.
func keyFromSeed(n int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "air-rec-%d", n))
	return ed25519.NewKeyFromSeed(seed[:])
}

// documents are DID documents of other hosts, by DID.
type documents map[string]did.Document

func (d documents) Resolve(_ context.Context, id string) (resolve.Result, error) {
	if doc, ok := d[id]; ok {
		return resolve.Result{Document: doc, URL: "https://" + strings.TrimPrefix(id, "did:wba:") + "/.well-known/did.json"}, nil
	}
	return resolve.Result{}, fmt.Errorf("%s: %w", id, resolve.ErrUnreachable)
}

// attesterDocuments is the web that the recording was made in.
func attesterDocuments() documents {
	d := documents{}
	for i, id := range []string{"did:wba:one.example", "did:wba:two.example.org", "did:wba:deep.three.example.co.uk"} {
		key := keyFromSeed(i + 2).Public().(ed25519.PublicKey)
		d[id] = did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key)}},
			Authentication: []string{id + did.KeyFragment}, AssertionMethod: []string{id + did.KeyFragment}}
	}
	return d
}

func (p *player) now() time.Time { return seen.Add(time.Duration(p.ticks.Load()) * time.Second) }

// ageAttesters does what the reference's operator did between two steps: the
// first two attesters get half a year old, the third a year and a half.
func (p *player) ageAttesters() {
	p.t.Helper()
	for i, days := range []int{180, 180, 540} {
		makeOlder(p.t, p.testServer, p.known[fmt.Sprintf("{{att%d.air_id}}", i+1)], p.now().AddDate(0, 0, -days))
	}
}

func (p *player) replayStep(step exchange) {
	p.t.Helper()
	p.ticks.Add(1)
	if strings.Contains(step.Name, "duplicate name") { // the warning does not wait for the directory
		if err := p.answers.Directory.WaitFor(p.t.Context(), p.store.Head().Seq); err != nil {
			p.t.Fatal(err)
		}
	}
	base := p.base
	headers := []string{}
	for name, value := range step.Request.Headers {
		headers = append(headers, name, p.fillValues(value))
		if name == "X-Admin-Key" {
			base = p.admin // the operator's listener takes the place of the key
		}
	}
	body := p.fillBody(step)
	if body != "" {
		headers = append(headers, "Content-Type", jsonType)
	}
	r := p.requestAt(base, step.Request.Method, p.fillValues(step.Request.Path), strings.NewReader(body), headers...)
	other := departures[step.Name]
	want := step.Response.Status
	if other.status != 0 {
		want = other.status
	}
	if r.StatusCode != want {
		p.t.Fatalf("status %d, want %d (recorded %d)\n%s", r.StatusCode, want, step.Response.Status, r.body)
	}
	p.compareHeaders(step, r)
	if slices.Contains(other.body, "") || step.Request.Method == "HEAD" {
		return
	}
	var text struct{ Text *string }
	if json.Unmarshal(step.Response.Body, &text) == nil && text.Text != nil {
		p.compareBadge(*text.Text, string(r.body))
		return
	}
	var recorded, have any
	if err := json.Unmarshal(step.Response.Body, &recorded); err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(r.body, &have); err != nil {
		p.t.Fatalf("%v: %s", err, r.body)
	}
	p.recordValues(recorded, have)
	for _, problem := range differences("", recorded, have) {
		if !slices.ContainsFunc(other.body, func(at string) bool { return strings.HasPrefix(problem, at) }) {
			p.t.Error(problem)
		}
	}
}

// compareHeaders compares those that were recorded. The origin that may read is every
// one for reads, and none for writes.
func (p *player) compareHeaders(step exchange, r bufferedResponse) {
	p.t.Helper()
	kind := r.Header.Get("Content-Type")
	if want := step.Response.Headers["content-type"]; kind != want && kind != strings.Replace(want, "json", "problem+json", 1) && r.StatusCode != 204 {
		p.t.Errorf("Content-Type is %q, recorded %q", kind, want)
	}
	origin := r.Header.Get("Access-Control-Allow-Origin")
	// No page of another origin may read what only the operator may ask.
	operators := r.StatusCode == 200 && strings.HasPrefix(step.Request.Path, route.OperatorPath)
	if read := step.Request.Method == "GET" || step.Request.Method == "HEAD"; origin != map[bool]string{true: "*"}[read && !operators] {
		p.t.Errorf("Access-Control-Allow-Origin is %q", origin)
	}
	if r.StatusCode == 405 && r.Header.Get("Allow") == "" {
		p.t.Error("405 without Allow")
	}
	if cached := strings.HasPrefix(r.Header.Get("Cache-Control"), "public, max-age="); cached != (step.Response.Headers["cache-control"] != "") {
		p.t.Errorf("Cache-Control is %q, recorded %q", r.Header.Get("Cache-Control"), step.Response.Headers["cache-control"])
	}
}

// fillBody fills in what changes on every run. An attestation is signed as the
// recording says beside it.
func (p *player) fillBody(step exchange) string {
	p.t.Helper()
	text := p.fillValues(string(step.Request.Body))
	var raw struct{ Raw *string }
	if json.Unmarshal([]byte(text), &raw) == nil && raw.Raw != nil {
		return *raw.Raw // the recording's way to hold a body that is no JSON
	}
	if !strings.Contains(text, "{{sign:") {
		return text
	}
	var body map[string]string
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		p.t.Fatal(err)
	}
	at, key := p.now(), keyFromSeed(0)
	for n := range 3 {
		if body["attester_air_id"] == p.known[fmt.Sprintf("{{att%d.air_id}}", n+1)] {
			key = keyFromSeed(n + 2)
		}
	}
	switch step.Name {
	case "attest: signed_at 2 h old":
		at = at.Add(-2 * time.Hour)
	case "attest: signed_at 10 min ahead":
		at = at.Add(10 * time.Minute)
	case "attest: bad signature (lock 1)":
		key = keyFromSeed(99)
	}
	body["signed_at"] = at.Format("2006-01-02T15:04:05.000Z")
	if step.Name == "attest: signed_at not a date" {
		body["signed_at"] = "yesterday"
	}
	subject := strings.Split(p.fillValues(step.Request.Path), "/")[4]
	q := attestation.Request{Attester: body["attester_air_id"], Type: body["attestation_type"], SignedAt: body["signed_at"], Statement: body["statement"]}
	payload, err := q.Payload(subject)
	if err != nil {
		p.t.Fatal(err)
	}
	body["signature_multibase"] = did.FormatSignature(ed25519.Sign(key, payload))
	return string(encodeJSON(p.t, body))
}

func (p *player) fillValues(text string) string {
	for name, value := range p.known {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// recordValues keeps the values that a recording names and this run made.
func (p *player) recordValues(recorded, have any) {
	names, _ := recorded.(map[string]any)
	values, _ := have.(map[string]any)
	for member, name := range names {
		text, _ := name.(string)
		value, ok := values[member].(string)
		if ok && strings.HasPrefix(text, "{{") && strings.Contains(text, ".") && p.known[text] == "" {
			p.known[text] = value
		}
	}
}

// compareBadge compares what a badge says, not how it is drawn.
func (p *player) compareBadge(recorded, have string) {
	p.t.Helper()
	label := func(svg string) string {
		_, rest, _ := strings.Cut(svg, `aria-label="`)
		label, _, _ := strings.Cut(rest, `"`)
		return label
	}
	if want := label(recorded); want == "" || label(have) != want {
		p.t.Errorf("the badge says %q, recorded %q\n%s", label(have), want, have)
	}
}

// differences compares members and types, and values where they are numbers, truths
// or words that clients decide by.
func differences(at string, want, got any) []string {
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return []string{fmt.Sprintf("%s is %T %v, recorded %T %v", at, got, got, want, want)}
	}
	var out []string
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[name]; !ok {
				out = append(out, at+"/"+name+" is missing")
				continue
			}
			out = append(out, differences(at+"/"+name, want[name], got[name])...)
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[name]; !ok && !slices.Contains(added, name) {
				out = append(out, at+"/"+name+" was not recorded")
			}
		}
	case []any:
		got := got.([]any)
		if len(want) != len(got) {
			return []string{fmt.Sprintf("%s has %d entries, recorded %d", at, len(got), len(want))}
		}
		for i := range want {
			out = append(out, differences(fmt.Sprintf("%s/%d", at, i), want[i], got[i])...)
		}
	case bool, float64:
		if want != got && !strings.HasPrefix(at, "/agents/") { // rows stand in another order
			out = append(out, fmt.Sprintf("%s is %v, recorded %v", at, got, want))
		}
	}
	return out
}
