package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/registry/registrar"
	"gazetteer/relay"
	"gazetteer/relay/relayhttp"
)

// relayMistakes lists every recorded exchange of the reference's relay that is answered otherwise.
// docs/a2a.md has the same table for readers.
var relayMistakes = map[string]departure{
	"health":  {0, "the sizes of the queue are the operator's business, and the bindings are those of another platform", []string{"/bindings", "/queue_stats"}},
	"unknown": {0, "the server has other routes than a relay's; the answer is a problem document", []string{"/valid_routes", "/spec", "/message"}},
	"push under bare AIR ID is another queue":     {0, "the AIR ID and the DID name one inbox, so this envelope is in it", nil},
	"push `to` not matching the path is accepted": {400, "the envelope is not addressed to this inbox", []string{""}},
	"pull empty":                                  {404, "nobody has this name: mail for it would wait in vain", []string{""}},
	"spec path for pull":                          {401, "the path of the draft is served; as every read it needs a signature", []string{""}},
	"spec path for ack":                           {401, "the path of the draft is served; as every acknowledgement it needs a signature", []string{""}},
	"push 101st in a minute from one `from`":      {0, "the sender is the one that signed; Retry-After is set, and tells when the next push is accepted", []string{"/retry_after_seconds"}},
	"push ok (no schema check, no signature)":     {0, "as recorded it is refused with 400: form and signature are judged; a signed envelope is accepted", nil},
	"push duplicate id":                           {0, "as above", nil},
	"push, percent-encoded DID is the same queue": {0, "as above", nil},
	"push acked id again":                         {0, "as above", nil},
	"pull (anyone may)":                           {0, "by default a signature is needed (401); relay.open_pull lifts that", nil},
	"pull since":                                  {0, "as above", nil},
	"pull limit 1":                                {0, "as above", nil},
	"pull after ack":                              {0, "as above", nil},
	"ack (anyone may)":                            {0, "as above", nil},
	"ack again":                                   {0, "as above", nil},
	"stream":                                      {0, "as above; events have ids, so that a client can go on, and no cache may keep them", nil},
}

// TestDocumentedRelayDifferences holds the page for readers against the list.
func TestDocumentedRelayDifferences(t *testing.T) {
	page, err := os.ReadFile("../docs/a2a.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| recorded exchange | here |")
	for name := range relayMistakes {
		if !strings.Contains(table, "| "+name+" |") {
			t.Errorf("docs/a2a.md does not say how %q is answered", name)
		}
	}
}

// A relayPlayer sends the recorded requests to our relay, in the place of the recorded agents those
// of a real registry.
type relayPlayer struct {
	*testServer
	alice, bob owner
	at         time.Time
	sent       map[string]string // envelopes by id, signed
	numbers    map[float64]float64
}

func TestReplayReferenceRelayExchanges(t *testing.T) {
	text, err := os.ReadFile("testdata/air/relay.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Steps []exchange }
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	p := &relayPlayer{at: time.Now(), sent: map[string]string{}, numbers: map[float64]float64{}}
	p.testServer = newTestServer(t, options{
		registry: registrar.Options{DIDHost: "registry.example"},
		relay: func(ro *relay.Options, ho *relayhttp.Options) {
			ho.OpenDeployed = true
			ro.Now = func() time.Time { return p.at }
		},
	})
	p.alice, p.bob = registerProved(t, p.testServer, 1, ""), registerProved(t, p.testServer, 2, "")
	played := 0
	met := map[string]bool{}
	for _, step := range recorded.Steps {
		played++
		met[step.Name] = true
		t.Run(step.Name, func(t *testing.T) {
			inner := *p
			inner.testServer = p.testServer.forTest(t)
			inner.play(step)
		})
	}
	if played != 29 {
		t.Errorf("%d exchanges were played, want 29", played)
	}
	for name := range relayMistakes {
		if !met[name] {
			t.Errorf("there is no exchange %q to depart from", name)
		}
	}
}

// place puts our agents in the place of the recorded ones.
func (p *relayPlayer) place(text string) string {
	return strings.NewReplacer("AIR-B0B0-B0B0-B0B0", p.bob.AirID, "AIR-A1A1-A1A1-A1A1", p.alice.AirID).Replace(text)
}

func (p *relayPlayer) play(step exchange) {
	p.t.Helper()
	method, path, body := step.Request.Method, p.place(step.Request.Path), p.recordedBody(step.Request.Body)
	if method == "" { // the recording says in words what was sent
		for n := range 101 {
			method, path, body = "POST", "/inbox/"+p.bob.CreatorDID, p.sign(fmt.Sprintf("flood-%d", n), p.bob.CreatorDID)
			if n < 100 {
				p.requestAt(p.base, method, path, strings.NewReader(body))
			}
		}
	}
	var envelope struct{ ID, From, To string }
	if json.Unmarshal([]byte(body), &envelope) == nil && envelope.ID != "" && envelope.To != "" && strings.HasPrefix(path, "/inbox/") && p.sent[envelope.ID] == "" || strings.HasPrefix(envelope.ID, "e") {
		if r := p.requestAt(p.base, method, path, strings.NewReader(body)); r.StatusCode != http.StatusBadRequest {
			p.t.Errorf("an envelope without a signature: %s %s", r.Status, r.body)
		}
		body = p.sign(envelope.ID, envelope.To)
	}
	path = strings.Replace(path, "since=2", fmt.Sprintf("since=%.0f", p.numbers[2]), 1)
	if strings.Contains(path, "stream=1") {
		p.playStream(step, path)
		return
	}
	r := p.requestAt(p.base, method, path, strings.NewReader(body), "Content-Type", jsonType)
	other := relayMistakes[step.Name]
	want := step.Response.Status
	if other.status != 0 {
		want = other.status
	}
	if r.StatusCode != want {
		p.t.Fatalf("status %d, want %d (recorded %d)\n%s", r.StatusCode, want, step.Response.Status, r.body)
	}
	if origin := r.Header.Get("Access-Control-Allow-Origin"); origin != "*" && step.Name != "unknown" {
		p.t.Errorf("Access-Control-Allow-Origin is %q", origin)
	}
	if r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "" {
		p.t.Error("429 without Retry-After")
	}
	if slices.Contains(other.body, "") || r.StatusCode == http.StatusNoContent {
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json; charset=utf-8" && step.Name != "unknown" && step.Name != "health" {
		p.t.Errorf("Content-Type is %q", kind)
	}
	var recorded, have any
	if err := json.Unmarshal(step.Response.Body, &recorded); err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(r.body, &have); err != nil {
		p.t.Fatalf("%v: %s", err, r.body)
	}
	p.compare(recorded, have, other)
	if strings.HasPrefix(step.Name, "pull (") {
		p.learnNumbers(have)
	}
}

// compare compares members and types, and values where clients decide by them. Numbers of envelopes
// and times are those of this run.
func (p *relayPlayer) compare(recorded, have any, other departure) {
	p.t.Helper()
	for _, problem := range differences("", recorded, have) {
		at, _, _ := strings.Cut(problem, " ")
		last := at[strings.LastIndexByte(at, '/')+1:]
		ours := strings.HasSuffix(problem, "was not recorded") && last == "receipt"
		if ours || strings.Contains(problem, " is ") && slices.Contains([]string{"seq", "cursor", "queued_at"}, last) && !strings.Contains(problem, "is string") {
			continue
		}
		if !slices.ContainsFunc(other.body, func(at string) bool { return strings.HasPrefix(problem, at) }) {
			p.t.Error(problem)
		}
	}
}

// learnNumbers records which of our numbers corresponds to each recorded one: e1, e2 and e3 have 1
// to 3.
func (p *relayPlayer) learnNumbers(page any) {
	p.t.Helper()
	var ids []string
	for _, m := range page.(map[string]any)["messages"].([]any) {
		m := m.(map[string]any)
		ids = append(ids, m["envelope_id"].(string))
		p.numbers[float64(len(ids))] = m["seq"].(float64)
	}
	if !slices.Equal(ids, []string{"e1", "e2", "e3"}) {
		p.t.Errorf("the page has %v", ids)
	}
}

// recordedBody returns a recorded body: a text, or how often a text was repeated.
func (p *relayPlayer) recordedBody(raw json.RawMessage) string {
	p.t.Helper()
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return p.place(text)
	}
	var repeated struct {
		Repeat string
		Bytes  int
	}
	if err := json.Unmarshal(raw, &repeated); err != nil {
		p.t.Fatal(err)
	}
	if repeated.Repeat == "{" { // the recording cut an acknowledgement of 501 ids
		ids := slices.Repeat([]string{"x"}, 501)
		return string(encodeJSON(p.t, map[string][]string{"envelope_ids": ids}))
	}
	return strings.Repeat(repeated.Repeat, repeated.Bytes)
}

// sign returns an envelope of Alice with this id; the same one each time.
func (p *relayPlayer) sign(id, to string) string {
	p.t.Helper()
	if text := p.sent[id]; text != "" {
		return text
	}
	e, err := a2a.Sign(a2a.Message{
		ID: id, From: p.alice.CreatorDID, To: p.place(to), ThreadID: "thread-" + id, Nonce: "nonce-" + id, Timestamp: p.at,
		Body: a2a.Withdraw{},
	}, a2a.Wire, p.alice.key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.sent[id] = string(e.Text)
	return p.sent[id]
}

// playStream compares the beginning of a stream, event by event.
func (p *relayPlayer) playStream(step exchange, path string) {
	p.t.Helper()
	var recorded struct {
		Prefix string `json:"stream_prefix"`
	}
	if err := json.Unmarshal(step.Response.Body, &recorded); err != nil {
		p.t.Fatal(err)
	}
	r, err := http.Get(p.base + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != step.Response.Headers["content-type"] || !strings.Contains(r.Header.Get("Cache-Control"), "no-transform") {
		p.t.Errorf("%s %v", r.Status, r.Header)
	}
	lines := bufio.NewReader(r.Body)
	for _, want := range strings.SplitAfter(strings.ReplaceAll(recorded.Prefix, "{{epoch}}", "1"), "\n") {
		if want == "" {
			return
		}
		have, err := lines.ReadString('\n')
		if strings.HasPrefix(have, "id: ") {
			have, err = lines.ReadString('\n')
		}
		if err != nil && err != io.EOF {
			p.t.Fatal(err)
		}
		wantData, isData := bytes.CutPrefix([]byte(want), []byte("data: "))
		haveData, hasData := bytes.CutPrefix([]byte(have), []byte("data: "))
		if !isData || !hasData {
			if have != want {
				p.t.Errorf("the line is %q, recorded %q", have, want)
			}
			continue
		}
		var wantEvent, haveEvent any
		if json.Unmarshal(wantData, &wantEvent) != nil || json.Unmarshal(haveData, &haveEvent) != nil {
			p.t.Fatalf("%s\n%s", want, have)
		}
		p.compare(wantEvent, haveEvent, relayMistakes[step.Name])
	}
}
