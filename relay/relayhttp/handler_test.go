package relayhttp_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/internal/testclock"
	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store/boltfile"
)

// agents replaces the registry: agents by AIR ID, with their keys.
type agents struct {
	keys   map[string]ed25519.PrivateKey
	states map[string]string // "held", or why an agent is gone
}

const prefix = "did:wba:registry.test:agents:"

func (a agents) FindInbox(_ context.Context, name string) (relay.Inbox, error) {
	airID := strings.TrimPrefix(strings.TrimPrefix(name, prefix), "did:web:registry.test:agents:")
	if a.keys[airID] == nil {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	box := relay.Inbox{Name: prefix + airID, AirID: airID, Addresses: []string{prefix + airID}}
	if state := a.states[airID]; state == "held" {
		box.Suspended = true
	} else {
		box.Gone = state
	}
	return box, nil
}

func (a agents) VerifyRead(_ context.Context, box relay.Inbox, request httpsig.Message) error {
	all, err := httpsig.Read(request)
	if err != nil {
		return err
	}
	return all[0].Verify(request, a.keys[box.AirID].Public().(ed25519.PublicKey), httpsig.Requirements{
		Require: httpsig.ReadComponents(), Now: time.Now(), MaxAge: 5 * time.Minute, MaxAhead: 30 * time.Second,
	})
}

func (a agents) AdmitSender(_ context.Context, _ relay.Inbox, sender string) error {
	if strings.HasSuffix(sender, "DDDD") {
		return errors.New("no evidence")
	}
	return nil
}

func (a agents) KnowsSender(_ context.Context, sender string) bool {
	return strings.HasSuffix(sender, "KKKK") || !strings.Contains(sender, ":registry.test:")
}

func (a agents) Resolve(_ context.Context, id string) (did.Document, error) {
	web, err := did.ParseWeb(id)
	if err != nil {
		return did.Document{}, a2a.ErrUnknownSender
	}
	key := a.keys[web.Path[len(web.Path)-1]]
	if key == nil || web.Host != "registry.test" && !strings.HasSuffix(web.Host, "crowd.test") && !strings.HasSuffix(web.Host, "netlify.app") {
		return did.Document{}, a2a.ErrUnknownSender
	}
	return did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{
		ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey)),
	}}}, nil
}

const (
	alice   = "AIR-AAAA-AAAA-AAAA"
	bob     = "AIR-BBBB-BBBB-BBBB"
	carol   = "AIR-CCCC-CCCC-CCCC" // suspended
	dave    = "AIR-DDDD-DDDD-DDDD" // deactivated
	blocked = "AIR-EEEE-EEEE-EEEE"
)

// world is a relay on a real socket with a real queue.
type world struct {
	t        *testing.T
	url      string
	agents   agents
	relay    *relay.Relay
	handler  *relayhttp.Handler
	relayKey ed25519.PrivateKey
}

func newWorld(t *testing.T, change func(*relay.Options, *relayhttp.Options)) *world {
	t.Helper()
	w := &world{t: t, agents: agents{keys: map[string]ed25519.PrivateKey{}, states: map[string]string{carol: "held", dave: "deactivated"}}}
	for i, id := range []string{alice, bob, carol, dave, blocked} {
		w.agents.keys[id] = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, 32))
	}
	w.relayKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{99}, 32))
	queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	ro := relay.Options{
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: w.agents}, Inboxes: w.agents,
		DID: "did:wba:registry.test", Key: w.relayKey, Profile: a2a.Wire, Block: []string{prefix + blocked}, Limits: &limit.Set{},
	}
	ho := relayhttp.Options{Limits: ro.Limits}
	if change != nil {
		change(&ro, &ho)
	}
	w.relay = relay.New(ro)
	ho.Relay = w.relay
	if w.handler, err = relayhttp.New(ho); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(w.handler.End)
	w.url = server.URL
	return w
}

// envelope signs an offer.
func (w *world) envelope(from, to string, change func(*a2a.Message)) *a2a.Envelope {
	w.t.Helper()
	m := a2a.Message{From: prefix + from, To: prefix + to, Timestamp: time.Now(), Body: a2a.Offer{
		Description: "a table <for> two & more", Price: a2a.Money{AmountCents: 500, Currency: "EUR"}, ExpiresAt: time.Now().Add(time.Hour),
	}}
	if change != nil {
		change(&m)
	}
	e, err := a2a.Sign(m, a2a.Strict, w.agents.keys[from])
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// do sends a request, signed by an agent unless by is "".
func (w *world) do(method, path, by, body string, header ...string) answer {
	w.t.Helper()
	request := w.request(method, path, by, body, header...)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	json.Unmarshal(text, &a.body)
	return a
}

func (w *world) request(method, path, by, body string, header ...string) *http.Request {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	if by != "" {
		if err := httpsig.Sign(request, []byte(body), w.agents.keys[by], httpsig.SignOptions{KeyID: prefix + by + did.KeyFragment}); err != nil {
			w.t.Fatal(err)
		}
	}
	return request
}

func (w *world) want(a answer, status int, member, value string) {
	w.t.Helper()
	if a.status != status || fmt.Sprint(a.body[member]) != value {
		w.t.Fatalf("got %d %s, want %d with %s %q", a.status, a.text, status, member, value)
	}
}

func TestMailInDraftForm(t *testing.T) {
	w := newWorld(t, nil)
	// The same envelope with white space and escapes must come out byte for byte.
	text := bytes.Replace(w.envelope(alice, bob, nil).Text, []byte(`{`), []byte("{\n  "), 1)
	a := w.do("POST", "/inbox/"+prefix+bob, "", string(text), a2ahttp.VersionHeader, "draft-1")
	w.want(a, 202, "status", "queued")
	id := fmt.Sprint(a.body["envelope_id"])
	receipt, err := a2a.ReadReceipt(mustMarshal(t, a.body["receipt"]))
	if err != nil {
		t.Fatal(err)
	}
	e, err := a2a.Read(text, a2a.Wire)
	if err != nil {
		t.Fatal(err)
	}
	if err := receipt.Verify(e, w.relayKey.Public().(ed25519.PublicKey)); err != nil {
		t.Fatalf("the receipt: %v", err)
	}
	page := w.do("GET", "/inbox/"+bob+"/pull", bob, "")
	if page.status != 200 || !strings.Contains(page.text, string(text)) {
		t.Fatalf("the envelope changed on its way: %d %s", page.status, page.text)
	}
	if cache := page.header.Get("Cache-Control"); cache != "no-store, no-transform" {
		t.Errorf("Cache-Control: %s", cache)
	}
	var pulled struct {
		Envelopes, Receipts []json.RawMessage
		Cursor              string
		More                bool `json:"has_more"`
	}
	if err := json.Unmarshal([]byte(page.text), &pulled); err != nil || len(pulled.Envelopes) != 1 || len(pulled.Receipts) != 1 || pulled.Cursor == "" || pulled.More {
		t.Fatalf("%v: %s", err, page.text)
	}
	again := w.do("GET", "/inbox/"+bob+"/pull?since="+pulled.Cursor, bob, "")
	if !strings.HasPrefix(again.text, `{"envelopes":[],`) {
		t.Fatalf("after the cursor: %s", again.text)
	}
	if redelivered := w.do("GET", "/inbox/"+bob+"/pull", bob, ""); redelivered.text != page.text {
		t.Fatal("mail that is not acknowledged does not come again")
	}
	ack := fmt.Sprintf(`{"envelope_ids":[%q,"unknown"]}`, id)
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, ack), 200, "acked_count", "1")
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, ack), 200, "acked_count", "0")
	w.want(w.do("POST", "/inbox/"+bob, "", string(text), a2ahttp.VersionHeader, "draft-1"), 409, "error", "Replay")
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMailInReferenceForm(t *testing.T) {
	w := newWorld(t, func(_ *relay.Options, o *relayhttp.Options) { o.OpenDeployed = true })
	first, second := w.envelope(alice, bob, nil), w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/did%3Awba%3Aregistry.test%3Aagents%3A"+bob, "", string(first.Text)), 202, "status", "queued")
	w.want(w.do("POST", "/inbox/"+bob, "", string(second.Text)), 202, "envelope_id", second.ID)
	duplicate := w.do("POST", "/inbox/"+prefix+bob, "", string(first.Text))
	w.want(duplicate, 409, "error", "duplicate_envelope")
	w.want(duplicate, 409, "envelope_id", first.ID)
	w.want(duplicate, 409, "recipient_did", prefix+bob)

	page := w.do("GET", "/pull/"+prefix+bob+"?limit=1", "", "")
	w.want(page, 200, "recipient_did", prefix+bob)
	w.want(page, 200, "has_more", "true")
	message := page.body["messages"].([]any)[0].(map[string]any)
	text, err := base64.StdEncoding.DecodeString(fmt.Sprint(message["envelope_b64"]))
	if err != nil || !bytes.Equal(text, first.Text) || message["envelope_id"] != first.ID || message["sender_did"] != prefix+alice {
		t.Fatalf("%v: %s", err, page.text)
	}
	rest := w.do("GET", fmt.Sprintf("/pull/%s?since=%.0f", bob, page.body["cursor"]), "", "")
	if got := rest.body["messages"].([]any); len(got) != 1 || got[0].(map[string]any)["envelope_id"] != second.ID {
		t.Fatalf("behind the cursor: %s", rest.text)
	}
	w.want(w.do("POST", "/ack/"+bob, "", `{"envelope_ids":["`+first.ID+`","nope"]}`), 200, "requested", "2")
	for body, code := range map[string]string{
		"x": "invalid_json", `{"envelope_ids":[]}`: "missing_envelope_ids", `{"envelope_ids":"a"}`: "missing_envelope_ids",
		`{"envelope_ids":[1]}`: "invalid_envelope_id_type", `{"envelope_ids":[` + strings.Repeat(`"a",`, 500) + `"a"]}`: "too_many_acks",
	} {
		w.want(w.do("POST", "/ack/"+bob, "", body), 400, "error", code)
	}
	w.want(w.do("GET", "/pull/did:wba:none", "", ""), 404, "error", "Not Found")
}

func TestRefusedPushes(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.MaxMail = 1 })
	good := func(change func(*a2a.Message)) string { return string(w.envelope(alice, bob, change).Text) }
	// change exchanges a text that is signed by one that is not.
	change := func(old, new string) string {
		text := good(nil)
		if !strings.Contains(text, old) {
			t.Fatalf("%s is not in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	// sign puts another signature in the place of the signature.
	sign := func(other func(signature string) string) string {
		e := w.envelope(alice, bob, nil)
		return strings.Replace(string(e.Text), e.Signature, other(e.Signature), 1)
	}
	raw := func(signature string) []byte {
		b, err := did.ParseSignature(signature)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	at := func(from time.Duration) string {
		return good(func(m *a2a.Message) { m.Timestamp = time.Now().Add(from) })
	}
	// An envelope of the neutral point, under which this signature verifies for every text.
	w.agents.keys["AIR-WEAK-WEAK-WEAK"] = append(make(ed25519.PrivateKey, 32), append([]byte{1}, make([]byte, 31)...)...)
	weak := strings.Replace(sign(func(string) string { return did.FormatSignature(append([]byte{1}, make([]byte, 63)...)) }), prefix+alice, prefix+"AIR-WEAK-WEAK-WEAK", 1)
	const price, bad, unsigned = `"amount_cents":500`, "Bad Request", "Bad Signature"
	for _, c := range []struct {
		name, inbox, text string
		status            int
		draft, deployed   string // member error in both dialects, "" for the same
	}{
		{"nothing", bob, "", 400, bad, "empty_body"},
		{"no JSON", bob, "{", 400, bad, "invalid_json"},
		{"two values", bob, good(nil) + "{}", 400, bad, "invalid_json"},
		{"a byte order mark", bob, "\ufeff" + good(nil), 400, bad, "invalid_json"},
		{"no object", bob, `["` + prefix + `"]`, 400, bad, ""},
		{"no id", bob, `{"from":"x"}`, 400, bad, "missing_id"},
		{"no sender", bob, `{"id":"x"}`, 400, bad, "missing_from"},
		{"no body, no signature", bob, `{"id":"e1","from":"` + prefix + alice + `","to":"` + prefix + bob + `"}`, 400, bad, ""},
		{"1.0", bob, change(price, `"amount_cents":500.0`), 400, bad, ""},
		{"1e2", bob, change(price, `"amount_cents":5e2`), 400, bad, ""},
		{"-0.0", bob, change(price, `"amount_cents":-0.0`), 400, bad, ""},
		{"2^64", bob, change(price, `"amount_cents":18446744073709551616`), 400, bad, ""},
		{"below -2^63", bob, change(price, `"amount_cents":-9223372036854775809`), 400, bad, ""},
		{"a name twice", bob, change(`"nonce":`, `"nonce":"x","nonce":`), 400, bad, ""},
		{"a name twice, escaped", bob, change(`"nonce":`, `"n\u006fnce":"x","nonce":`), 400, bad, ""},
		{"a name twice in a price", bob, change(price, `"amount_cents":1,`+price), 400, bad, ""},
		{"half a surrogate pair", bob, change("table", `\ud83d`), 400, bad, ""},
		{"no UTF-8", bob, change("table", "\xff"), 400, bad, ""},
		{"null", bob, change(`"nonce":"`, `"x":null,"nonce":"`), 400, bad, ""},
		{"another cipher suite", bob, change(`"type":"Offer"`, `"alg":"rot13","type":"encrypted","v":1`), 400, bad, ""},
		{"an id of 129 bytes", bob, change(`"id":"`, `"id":"`+strings.Repeat("x", 93)), 400, bad, ""},
		{"a time in another zone", bob, change(`Z","to"`, `+00:00","to"`), 400, bad, ""},
		{"too large", bob, strings.Repeat(" ", 65537), 413, "Payload Too Large", "payload_too_large"},
		{"no signature", bob, sign(func(string) string { return "" }), 401, unsigned, ""},
		{"null as signature", bob, strings.Replace(sign(func(string) string { return "" }), `"signature":""`, `"signature":null`, 1), 401, unsigned, ""},
		{"a signature of 63 bytes", bob, sign(func(s string) string { return did.FormatSignature(raw(s)[:63]) }), 401, unsigned, ""},
		{"a signature of 65 bytes", bob, sign(func(s string) string { return did.FormatSignature(append(raw(s), 0)) }), 401, unsigned, ""},
		{"another multibase", bob, sign(func(s string) string { return "m" + s[1:] }), 401, unsigned, ""},
		{"base64url", bob, sign(func(s string) string { return "z" + base64.RawURLEncoding.EncodeToString(raw(s)) }), 401, unsigned, ""},
		{"a character of no alphabet", bob, sign(func(s string) string { return s[:40] + "0" + s[41:] }), 401, unsigned, ""},
		{"S+L", bob, sign(func(s string) string { return did.FormatSignature(addOrder(raw(s))) }), 401, unsigned, ""},
		{"tampered", bob, change("table", "chair"), 401, unsigned, ""},
		{"another nonce", bob, change(`"nonce":"`, `"nonce":"x`), 401, unsigned, ""},
		{"a sender that did not sign", bob, change(prefix+alice, prefix+carol), 401, unsigned, ""},
		{"a key of small order", bob, weak, 401, unsigned, ""},
		{"a sender without a document", bob, change(prefix+alice, prefix+"AIR-0000-0000-0000"), 404, "Not Found", ""},
		{"301 s old", bob, at(-301 * time.Second), 409, "Stale Timestamp", ""},
		{"301 s ahead", bob, at(301 * time.Second), 409, "Stale Timestamp", ""},
		{"in the year 9999", bob, good(func(m *a2a.Message) { m.Timestamp = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }), 409, "Stale Timestamp", ""},
		{"in the year 1", bob, good(func(m *a2a.Message) { m.Timestamp = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC) }), 409, "Stale Timestamp", ""},
		{"an unknown recipient", "AIR-0000-0000-0000", good(nil), 404, "Not Found", ""},
		{"a handle", "bob", good(nil), 404, "Not Found", ""},
		{"a recipient that is gone", dave, good(nil), 410, "Gone", ""},
		{"another's inbox", alice, good(nil), 400, bad, ""},
		{"a blocked sender", bob, string(w.envelope(blocked, bob, nil).Text), 403, "Forbidden", ""},
		{"a sender without evidence", bob, string(w.envelope(dave, bob, nil).Text), 403, "Forbidden", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.want(w.do("POST", "/inbox/"+c.inbox, "", c.text, a2ahttp.VersionHeader, "draft-1"), c.status, "error", c.draft)
			a := w.do("POST", "/inbox/"+c.inbox, "", c.text)
			w.want(a, c.status, "error", cmp.Or(c.deployed, c.draft))
			if text, _ := a.body["message"].(string); text == "" || (a.body["code"] == nil) != (c.deployed != "") {
				t.Errorf("in the form of the reference: %s", a.text)
			}
		})
	}
	w.t = t
	large := strings.Repeat(" ", relayhttp.MaxAckBytes+1)
	limit := fmt.Sprintf(" exceeds %d bytes", relayhttp.MaxAckBytes)
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, large), 413, "detail", "Acknowledgement"+limit)
	w.want(w.do("POST", "/ack/"+bob, bob, large), 413, "message", "Acknowledgement"+limit)
	w.want(w.do("PUT", "/inbox/"+bob+"/rules", bob, large), 413, "detail", "Rules document"+limit)
	unknown := w.envelope(alice, bob, nil)
	delete(w.agents.keys, alice)
	w.want(w.do("POST", "/inbox/"+bob, "", string(unknown.Text), a2ahttp.VersionHeader, "draft-1"), 404, "error", "Not Found")
	w.agents.keys[alice] = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if page := w.do("GET", "/inbox/"+bob+"/pull", bob, ""); !strings.HasPrefix(page.text, `{"envelopes":[],`) {
		t.Fatalf("something refused was stored: %s", page.text)
	}
	w.want(w.do("POST", "/inbox/"+bob, "", good(nil)), 202, "status", "queued")
	full := w.do("POST", "/inbox/"+bob, "", good(nil))
	w.want(full, 429, "error", "rate_limited")
	if full.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	if m := w.relay.Metrics(); m.Accepted != 1 || m.Refused["sender_blocked"] != 2 || m.Refused["missing_id"] != 1 || m.Refused["payload_too_large"] != 2 {
		t.Errorf("%+v", m)
	}
}

// TestForgedSenders checks that an envelope is judged by its sender only after its signature was verified
// (A2A §10.5), and that one that is refused occupies neither an id nor a nonce of its alleged sender (§6.1,
// §8.4).
func TestForgedSenders(t *testing.T) {
	now := time.Now() // stands still, so that no rate recovers
	w := newWorld(t, func(o *relay.Options, h *relayhttp.Options) {
		o.SenderPerMinute, o.SenderPerWindow, o.FirstContacts = 2, 2, 1
		o.Limits = &limit.Set{Now: func() time.Time { return now }}
		h.Limits = o.Limits
	})
	push := func(text string) answer {
		return w.do("POST", "/inbox/"+bob, "", text, a2ahttp.VersionHeader, "draft-1")
	}
	genuine := w.envelope(alice, bob, nil)
	forged := strings.Replace(string(genuine.Text), "table", "chair", 1)
	stale := w.envelope(alice, bob, func(m *a2a.Message) {
		m.ID, m.ThreadID, m.Nonce, m.Timestamp = genuine.ID, genuine.ThreadID, genuine.Nonce, now.Add(-time.Hour)
	})
	for range 5 {
		w.want(push(forged), 401, "error", "Bad Signature")
		w.want(push(string(stale.Text)), 409, "error", "Stale Timestamp")
	}
	blockedSender := strings.Replace(string(w.envelope(blocked, bob, nil).Text), "table", "chair", 1)
	w.want(push(blockedSender), 401, "error", "Bad Signature")
	w.want(push(string(genuine.Text)), 202, "status", "queued")
	w.want(push(string(genuine.Text)), 409, "error", "Replay")
	w.want(push(string(w.envelope(alice, bob, nil).Text)), 429, "error", "Rate Limited")
}

// brokenQueue and brokenAgents fail with errors that name a path.
type brokenQueue struct{ relay.Queue }

type brokenAgents struct{ agents }

var errInternal = errors.New("write /var/lib/gazetteer/relay/queue.bolt: input/output error")

func (brokenQueue) Push(context.Context, relay.Incoming) (uint64, error) { return 0, errInternal }
func (brokenQueue) Pull(context.Context, string, uint64, int, int, time.Time) (relay.Page, error) {
	return relay.Page{}, errInternal
}

func (brokenAgents) FindInbox(context.Context, string) (relay.Inbox, error) {
	return relay.Inbox{}, errInternal
}

// TestInternalErrorsAreNotShown checks that a failure of the relay is one that its clients can repeat
// later, and that its answer contains no internal path (A2A §9.3).
func TestInternalErrorsAreNotShown(t *testing.T) {
	for name, fail := range map[string]func(*relay.Options){
		"queue":  func(o *relay.Options) { o.Queue = brokenQueue{o.Queue} },
		"agents": func(o *relay.Options) { o.Inboxes = brokenAgents{o.Inboxes.(agents)} },
	} {
		w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { fail(o) })
		for _, version := range []string{"", "draft-1"} {
			for _, a := range []answer{
				w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, version),
				w.do("GET", "/inbox/"+bob+"/pull", bob, "", a2ahttp.VersionHeader, version),
				w.do("GET", "/pull/"+bob, bob, "", a2ahttp.VersionHeader, version),
			} {
				w.want(a, 503, "error", "Relay Error")
				if a.header.Get("Retry-After") == "" || strings.Contains(a.text, "/var") || strings.Contains(a.text, "output error") {
					t.Errorf("%s: Retry-After %q: %s", name, a.header.Get("Retry-After"), a.text)
				}
			}
		}
	}
}

// addOrder adds the order of the base point to S, which makes another text of the same signature.
func addOrder(signature []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(signature[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return append(slices.Clone(signature[:32]), sum...)
}

func TestOnlyOwnerReadsMail(t *testing.T) {
	w := newWorld(t, nil)
	e := w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/"+bob, "", string(e.Text)), 202, "status", "queued")
	ack := `{"envelope_ids":["` + e.ID + `"]}`
	for _, path := range []string{"/inbox/" + bob + "/pull", "/inbox/" + bob + "/stream", "/pull/" + bob, "/pull/" + bob + "?stream=1"} {
		for _, by := range []string{"", alice} {
			if a := w.do("GET", path, by, ""); a.status != 401 || strings.Contains(a.text, e.ID) {
				t.Errorf("GET %s as %q: %d %s", path, by, a.status, a.text)
			}
		}
	}
	for _, path := range []string{"/inbox/" + bob + "/ack", "/ack/" + bob} {
		for _, by := range []string{"", alice} {
			if a := w.do("POST", path, by, ack); a.status != 401 {
				t.Errorf("POST %s as %q: %d %s", path, by, a.status, a.text)
			}
		}
	}
	// A signature of another request, and one whose body was exchanged.
	request := w.request("GET", "/inbox/"+bob+"/pull?limit=1", bob, "")
	request.URL.RawQuery = ""
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 401 {
		t.Errorf("a signature for another query: %d", response.StatusCode)
	}
	// A signature of yesterday.
	old := w.request("GET", "/inbox/"+bob+"/pull", "", "")
	if err := httpsig.Sign(old, nil, w.agents.keys[bob], httpsig.SignOptions{KeyID: prefix + bob + did.KeyFragment, Created: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if response, err = http.DefaultClient.Do(old); err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 401 {
		t.Errorf("a signature of an hour ago: %d", response.StatusCode)
	}
	// A captured request counts once: its nonce was used. Another owner may use the same nonce.
	for _, c := range []struct {
		by     string
		status int
	}{{bob, 200}, {bob, 401}, {alice, 200}} {
		captured := w.request("GET", "/inbox/"+c.by+"/pull?limit=2", "", "")
		if err := httpsig.Sign(captured, nil, w.agents.keys[c.by], httpsig.SignOptions{KeyID: prefix + c.by + did.KeyFragment, Nonce: "one-nonce-for-all"}); err != nil {
			t.Fatal(err)
		}
		if response, err = http.DefaultClient.Do(captured); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("a nonce of %s: %d, want %d", c.by, response.StatusCode, c.status)
		}
	}
	w.want(w.do("GET", "/inbox/"+carol+"/pull", carol, ""), 403, "error", "Forbidden")
	w.want(w.do("POST", "/inbox/"+carol, "", string(w.envelope(alice, carol, nil).Text)), 202, "status", "queued")
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, ack), 200, "acked_count", "1")
}

// TestCapturedReadAfterClockWasAhead checks that a signed read is answered once, although the due time
// ran ahead with the clock in between.
func TestCapturedReadAfterClockWasAhead(t *testing.T) {
	clock := testclock.New(time.Now())
	due := testclock.New(clock.Now())
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Due, o.Steady = due.Now, clock.Now })
	captured := w.request("GET", "/inbox/"+bob+"/pull?limit=2", "", "")
	if err := httpsig.Sign(captured, nil, w.agents.keys[bob], httpsig.SignOptions{KeyID: prefix + bob + did.KeyFragment, Nonce: "a-captured-nonce"}); err != nil {
		t.Fatal(err)
	}
	read := func(request *http.Request, want int) {
		t.Helper()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
	read(captured, 200)
	for range 2 { // 12 seconds at 60 seconds a second
		clock.Advance(6 * time.Second)
		due.Advance(6 * time.Minute)
		read(w.request("GET", "/inbox/"+bob+"/pull", bob, ""), 200)
	}
	due.Set(clock.Now())
	read(captured, 401)
}

// TestOpenPullIsThatOfTheReference checks that open_pull opens the routes of the reference alone, and that a
// wrong signature does not count as none there.
func TestOpenPullIsThatOfTheReference(t *testing.T) {
	w := newWorld(t, func(_ *relay.Options, o *relayhttp.Options) { o.OpenDeployed = true })
	ack := `{"envelope_ids":["x"]}`
	for _, c := range []struct {
		method, path, by, body string
		status                 int
	}{
		{"GET", "/pull/" + bob, "", "", 200}, {"POST", "/ack/" + bob, "", ack, 200},
		{"GET", "/pull/" + bob, alice, "", 401}, {"GET", "/pull/" + bob + "?stream=1", alice, "", 401}, {"POST", "/ack/" + bob, alice, ack, 401},
		{"GET", "/inbox/" + bob + "/pull", "", "", 401}, {"GET", "/inbox/" + bob + "/stream", "", "", 401}, {"GET", "/inbox/" + bob + "/rules", "", "", 401},
		{"PUT", "/inbox/" + bob + "/rules", "", `{}`, 401}, {"POST", "/inbox/" + bob + "/ack", "", ack, 401},
	} {
		if a := w.do(c.method, c.path, c.by, c.body); a.status != c.status {
			t.Errorf("%s %s as %q: %d %s", c.method, c.path, c.by, a.status, a.text)
		}
	}
}

// TestHeldMail checks that mail of a suspended agent is stored, given to nobody, and there when the agent is
// restored.
func TestHeldMail(t *testing.T) {
	var bobs *changing
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) {
		bobs = &changing{agents: o.Inboxes.(agents)}
		o.Inboxes = bobs
	})
	first, second := w.envelope(alice, bob, nil), w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/"+bob, "", string(first.Text)), 202, "status", "queued")
	bobs.change.Store(&relay.Inbox{Suspended: true})
	w.want(w.do("POST", "/inbox/"+bob, "", string(second.Text)), 202, "status", "queued")
	w.want(w.do("GET", "/inbox/"+bob+"/pull", bob, ""), 403, "error", "Forbidden")
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, `{"envelope_ids":["`+first.ID+`"]}`), 403, "error", "Forbidden")
	bobs.change.Store(nil)
	if page := w.do("GET", "/inbox/"+bob+"/pull", bob, ""); page.status != 200 || !strings.Contains(page.text, first.ID) || !strings.Contains(page.text, second.ID) {
		t.Errorf("after the agent was restored: %d %s", page.status, page.text)
	}
}

func TestLongPoll(t *testing.T) {
	w := newWorld(t, nil)
	poll := func() <-chan answer {
		done := make(chan answer, 1)
		go func() { done <- w.do("GET", "/inbox/"+bob+"/pull?wait=25", bob, "") }()
		return done
	}
	waiting := poll()
	e := w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/"+bob, "", string(e.Text)), 202, "status", "queued")
	if a := <-waiting; !strings.Contains(a.text, e.ID) {
		t.Fatalf("the poll does not bring the mail: %s", a.text)
	}
	if a := <-poll(); !strings.Contains(a.text, e.ID) {
		t.Fatalf("a poll does not bring the mail that is there: %s", a.text)
	}
	w.want(w.do("GET", "/inbox/"+bob+"/pull?wait=10000000000", bob, ""), 200, "has_more", "false")
	w.do("POST", "/inbox/"+bob+"/ack", bob, `{"envelope_ids":["`+e.ID+`"]}`)
	ending := poll()
	w.handler.End()
	if a := <-ending; a.status != 200 || !strings.HasPrefix(a.text, `{"envelopes":[],`) {
		t.Fatalf("the end of the server: %d %s", a.status, a.text)
	}
	for _, query := range []string{"wait=-1", "wait=soon", "limit=0", "limit=x", "since=-1", "since=99999999999999999999"} {
		w.want(w.do("GET", "/inbox/"+bob+"/pull?"+query, bob, ""), 400, "error", "Bad Request")
	}
}

func TestStream(t *testing.T) {
	w := newWorld(t, nil)
	first := w.envelope(alice, bob, nil)
	w.do("POST", "/inbox/"+bob, "", string(first.Text))
	response, err := http.DefaultClient.Do(w.request("GET", "/inbox/"+bob+"/stream", bob, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	lines := bufio.NewReader(response.Body)
	next := func() (id, envelope string) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if value, ok := strings.CutPrefix(line, "id: "); ok {
				id = strings.TrimSpace(value)
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				var data struct {
					ID string `json:"envelope_id"`
				}
				if err := json.Unmarshal([]byte(value), &data); err != nil {
					t.Fatal(err)
				}
				return id, data.ID
			}
		}
	}
	number, id := next()
	if id != first.ID {
		t.Fatalf("got %s", id)
	}
	second := w.envelope(alice, bob, nil)
	w.do("POST", "/inbox/"+bob, "", string(second.Text))
	if _, id = next(); id != second.ID {
		t.Fatalf("got %s, want the second", id)
	}
	// Unacknowledged mail is still there, and a new stream continues where its client asks.
	again, err := http.DefaultClient.Do(w.request("GET", "/pull/"+bob+"?stream=1", bob, "", "Last-Event-ID", number))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	lines = bufio.NewReader(again.Body)
	if _, id = next(); id != second.ID {
		t.Fatalf("after Last-Event-ID: %s", id)
	}
}

// changing are agents of which bob changes while a test runs.
type changing struct {
	agents
	change atomic.Pointer[relay.Inbox]
}

func (c *changing) FindInbox(ctx context.Context, name string) (relay.Inbox, error) {
	box, err := c.agents.FindInbox(ctx, name)
	if changed := c.change.Load(); changed != nil && box.AirID == bob {
		box.Suspended, box.Gone, box.Key = changed.Suspended, changed.Gone, changed.Key
	}
	return box, err
}

// TestOpenReadersEnd checks that streams and long polls that were opened before give out nothing
// after the agent was suspended or has ended, or its key was replaced.
func TestOpenReadersEnd(t *testing.T) {
	for name, c := range map[string]struct {
		change  relay.Inbox
		status  int
		message string
	}{
		"suspended":   {relay.Inbox{Suspended: true}, 403, "Forbidden"},
		"rotated":     {relay.Inbox{Key: "another"}, 401, "Unauthorized"},
		"deactivated": {relay.Inbox{Gone: "deactivated"}, 410, "Gone"},
	} {
		t.Run(name, func(t *testing.T) {
			var bobs *changing
			var watched watchedQueue
			w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) {
				bobs = &changing{agents: o.Inboxes.(agents)}
				watched = watchedQueue{o.Queue, make(chan struct{}, 10)}
				o.Inboxes, o.Queue = bobs, watched
			})
			response, err := http.DefaultClient.Do(w.request("GET", "/inbox/"+bob+"/stream", bob, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			<-watched.pulled
			polled := make(chan answer, 1)
			go func() { polled <- w.do("GET", "/inbox/"+bob+"/pull?wait=25", bob, "") }()
			<-watched.pulled
			bobs.change.Store(&c.change)
			// A push from before the change: it found the agent as it was.
			if _, err := watched.Queue.Push(t.Context(), relay.Incoming{Inbox: prefix + bob, Sender: prefix + alice, ID: "1", ThreadID: "1", Nonce: "1", Text: []byte("{}"), Received: time.Now(), Expires: time.Now().Add(time.Hour), MaxFirstContacts: -1}); err != nil {
				t.Fatal(err)
			}
			w.want(<-polled, c.status, "error", c.message)
			if text, err := io.ReadAll(response.Body); err != nil || bytes.Contains(text, []byte("event: envelope")) {
				t.Errorf("the stream brings %q, %v", text, err)
			}
		})
	}
}

// watchedQueue reports each pull when it has ended.
type watchedQueue struct {
	relay.Queue
	pulled chan struct{}
}

func (q watchedQueue) Pull(ctx context.Context, inbox string, after uint64, limit, maxBytes int, now time.Time) (relay.Page, error) {
	page, err := q.Queue.Pull(ctx, inbox, after, limit, maxBytes, now)
	q.pulled <- struct{}{}
	return page, err
}

// endsDuringPush is an agent that ends, and whose mail is deleted, while a push to it is judged.
type endsDuringPush struct {
	*changing
	wipe func() error
}

func (e *endsDuringPush) AdmitSender(context.Context, relay.Inbox, string) error {
	e.change.Store(&relay.Inbox{Gone: "erased"})
	return e.wipe()
}

func TestPushWhileRecipientEnds(t *testing.T) {
	var queue relay.Queue
	ending := &endsDuringPush{}
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) {
		ending.changing = &changing{agents: o.Inboxes.(agents)}
		o.Inboxes, queue = ending, o.Queue
	})
	ending.wipe = func() error { return w.relay.Wipe(context.Background(), prefix+bob) }
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 410, "code", "recipient_gone")
	if waiting, err := queue.CountAll(t.Context()); err != nil || waiting.Mail != 0 {
		t.Errorf("%+v, %v", waiting, err)
	}
}

// TestUnknownVersions checks that the relay refuses no request for its version, and names its own (§11.3).
func TestUnknownVersions(t *testing.T) {
	w := newWorld(t, nil)
	for _, version := range []string{"", "draft-1", "v1", "v9.3", "\"none\" of these"} {
		a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, version)
		w.want(a, 202, "status", "queued")
		pulled := w.do("GET", "/inbox/"+bob+"/pull", bob, "", a2ahttp.VersionHeader, version)
		w.want(pulled, 200, "has_more", "false")
		ack := w.do("POST", "/inbox/"+bob+"/ack", bob, fmt.Sprintf(`{"envelope_ids":[%q]}`, a.body["envelope_id"]), a2ahttp.VersionHeader, version)
		w.want(ack, 200, "acked_count", "1")
		for _, answer := range []answer{a, pulled, ack} {
			if got := answer.header.Get(a2ahttp.VersionHeader); got != "draft-1" {
				t.Errorf("an answer to version %q names version %q", version, got)
			}
		}
	}
}

// TestSendersThatTheOperatorAllows checks the operator's lists of senders: DIDs and their hosts, and the
// list of blocked ones first.
func TestSendersThatTheOperatorAllows(t *testing.T) {
	for _, c := range []struct {
		allow, block []string
		status       int
	}{
		{nil, nil, 202},
		{[]string{prefix + alice}, nil, 202},
		{[]string{"REGISTRY.test"}, nil, 202},
		{[]string{prefix + carol, "elsewhere.test"}, nil, 403},
		{[]string{prefix + alice}, []string{"registry.test"}, 403},
		{nil, []string{"istry.test", prefix + carol}, 202},
	} {
		w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Allow, o.Block = c.allow, c.block })
		a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text))
		if a.status != c.status || c.status == 403 && a.body["code"] != "sender_blocked" {
			t.Errorf("allow %q, block %q: %d %s", c.allow, c.block, a.status, a.text)
		}
	}
}

// TestStrictRelay checks that a relay of the strict profile refuses a body of a type that the draft does
// not define, and one of the wire profile takes it.
func TestStrictRelay(t *testing.T) {
	for profile, status := range map[a2a.Profile]int{a2a.Strict: 400, a2a.Wire: 202} {
		w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Profile = profile })
		e, err := a2a.Sign(a2a.Message{From: prefix + alice, To: prefix + bob, Timestamp: time.Now(), Body: a2a.Other{Kind: "text", JSON: []byte(`{"text":"hello","type":"text"}`)}}, a2a.Wire, w.agents.keys[alice])
		if err != nil {
			t.Fatal(err)
		}
		if a := w.do("POST", "/inbox/"+bob, "", string(e.Text)); a.status != status {
			t.Errorf("%s: %d %s", profile, a.status, a.text)
		}
		w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	}
}

// TestStreamsPerNetwork checks that one network gets 64 streams, and that a pull is still answered.
// Clients on the server's own machine have no such limit.
func TestStreamsPerNetwork(t *testing.T) {
	w := newWorld(t, func(_ *relay.Options, o *relayhttp.Options) {
		o.Client = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
	})
	for i := range 64 {
		response, err := http.DefaultClient.Do(w.request("GET", "/inbox/"+bob+"/stream", bob, ""))
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("stream %d: %v, %v", i, response, err)
		}
		defer response.Body.Close()
	}
	response, err := http.DefaultClient.Do(w.request("GET", "/inbox/"+bob+"/stream", bob, ""))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "30" {
		t.Errorf("stream 64: %d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
	w.want(w.do("GET", "/inbox/"+bob+"/pull", bob, ""), 200, "has_more", "false")
}

// TestPollsPerNetwork checks that one network gets 64 pulls that wait, that further ones are refused with
// the time to try again, and that a poll that has ended makes room for another.
func TestPollsPerNetwork(t *testing.T) {
	watched := watchedQueue{pulled: make(chan struct{}, 1000)}
	w := newWorld(t, func(r *relay.Options, o *relayhttp.Options) {
		watched.Queue = r.Queue
		r.Queue = watched
		o.Client = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
	})
	const polls = 64
	ended := make(chan error, polls+1)
	poll := func() {
		request := w.request("GET", "/inbox/"+bob+"/pull?wait=25", bob, "")
		go func() {
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				response.Body.Close()
				if response.StatusCode != 200 {
					err = errors.New(response.Status)
				}
			}
			ended <- err
		}()
		<-watched.pulled
	}
	for range polls {
		poll()
	}
	for path, reason := range map[string]string{"/inbox/" + bob + "/pull": "Rate Limited", "/pull/" + bob: "rate_limited"} {
		refused := w.do("GET", path+"?wait=25", bob, "")
		w.want(refused, 429, "error", reason)
		if wait := refused.header.Get("Retry-After"); wait != "5" {
			t.Errorf("%s: Retry-After is %q", path, wait)
		}
		w.want(w.do("GET", path, bob, ""), 200, "has_more", "false")
	}
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	for range polls {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if a := w.do("GET", "/inbox/"+bob+"/pull?wait=25", bob, ""); a.status != 200 {
		t.Errorf("after the polls: %d %s", a.status, a.text)
	}
}

// TestFullDisk checks that a relay without space refuses pushes, tells when to come again, and still
// gives out mail and deletes what is acknowledged.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	open := func(free int64) *boltqueue.Queue {
		t.Helper()
		queue, err := boltqueue.Open(t.Context(), dir, boltqueue.Options{File: boltfile.Options{MinFree: free}})
		if err != nil {
			t.Fatal(err)
		}
		return queue
	}
	queue := open(-1)
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Queue = queue })
	e := w.envelope(alice, bob, nil)
	w.want(w.do("POST", "/inbox/"+bob, "", string(e.Text)), 202, "status", "queued")
	if err := queue.Close(); err != nil {
		t.Fatal(err)
	}
	full := open(1 << 60) // no disk has so much
	defer full.Close()
	w = newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Queue = full })
	for _, version := range []string{"", "draft-1"} {
		a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, version)
		w.want(a, 503, "error", "Relay Error")
		if wait := a.header.Get("Retry-After"); wait != "300" {
			t.Errorf("Retry-After: %q", wait)
		}
	}
	if page := w.do("GET", "/inbox/"+bob+"/pull", bob, ""); page.status != 200 || !strings.Contains(page.text, e.ID) {
		t.Errorf("%d %s", page.status, page.text)
	}
	w.want(w.do("POST", "/inbox/"+bob+"/ack", bob, `{"envelope_ids":["`+e.ID+`"]}`), 200, "acked_count", "1")
}

// TestSenderOfSilentHost checks that a sender is told when to try again if its registry does not
// answer.
func TestSenderOfSilentHost(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.Senders = silentHost{} })
	for version, reason := range map[string]string{"": "Bad Gateway", "draft-1": "Bad Gateway"} {
		a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, version)
		w.want(a, 502, "error", reason)
		if a.header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
		}
	}
}

type silentHost struct{}

func (silentHost) FindKeys(context.Context, string, time.Time) ([]ed25519.PublicKey, error) {
	return nil, errors.New("no answer")
}

func TestRates(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, h *relayhttp.Options) {
		o.SenderPerMinute, o.NetworkPerMinute = 2, 6
		h.Client = func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") } // loopback is not limited
	})
	for range 2 {
		w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	}
	a := w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text), a2ahttp.VersionHeader, "draft-1")
	w.want(a, 429, "error", "Rate Limited")
	if a.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(carol, bob, nil).Text)), 202, "status", "queued")
	for range 2 {
		w.do("POST", "/inbox/"+bob, "", "{}", a2ahttp.VersionHeader, "draft-1")
	}
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(carol, bob, nil).Text)), 429, "error", "rate_limited")
}

func TestPreflight(t *testing.T) {
	w := newWorld(t, nil)
	if a := w.do("OPTIONS", "/inbox/"+bob, "", ""); a.status != 204 || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Signature") {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := w.do("DELETE", "/inbox/"+bob, "", ""); a.status != 405 {
		t.Errorf("DELETE: %d", a.status)
	}
}

// The owner of an inbox decides who may write to it. Rules are signed, and count in the order of
// their signatures.
func TestInboxRules(t *testing.T) {
	w := newWorld(t, nil)
	path := "/inbox/" + bob + "/rules"
	sign := func(body string, o httpsig.SignOptions) answer {
		t.Helper()
		request := w.request("PUT", path, "", body)
		o.KeyID = prefix + bob + did.KeyFragment
		if err := httpsig.Sign(request, []byte(body), w.agents.keys[bob], o); err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		a := answer{status: response.StatusCode, text: string(text)}
		json.Unmarshal(text, &a.body)
		return a
	}
	for _, by := range []string{"", alice} {
		w.want(w.do("GET", path, by, ""), 401, "error", "Unauthorized")
		w.want(w.do("PUT", path, by, `{"allow":[]}`), 401, "error", "Unauthorized")
	}
	w.want(w.do("GET", path, bob, ""), 200, "allow", "<nil>")
	w.want(sign(`{"allow":["`+prefix+alice+`"]}`, httpsig.SignOptions{Components: httpsig.ReadComponents()}), 401, "detail", "the signature must cover content-digest")
	w.want(sign(`{"allow":["`+prefix+dave+`"],"alow":[]}`, httpsig.SignOptions{}), 400, "error", "Bad Request")
	w.want(sign(`{"wake_url":"https://127.0.0.1/"}`, httpsig.SignOptions{}), 400, "error", "Bad Request")
	earlier := time.Now().Add(-time.Minute)
	w.want(sign(`{"allow":["`+prefix+dave+`"]}`, httpsig.SignOptions{Created: earlier}), 200, "allow", "["+prefix+dave+"]")
	w.want(sign(`{}`, httpsig.SignOptions{Created: earlier}), 409, "error", "Conflict")

	push := func(from string) answer {
		return w.do("POST", "/inbox/"+bob, "", string(w.envelope(from, bob, nil).Text))
	}
	w.want(push(alice), 403, "code", "blocked_by_recipient")
	w.want(sign(`{"block":["registry.test"]}`, httpsig.SignOptions{Created: earlier.Add(time.Second)}), 200, "block", "[registry.test]")
	w.want(push(alice), 403, "code", "blocked_by_recipient")
	w.want(w.do("POST", "/inbox/"+carol, "", string(w.envelope(alice, carol, nil).Text)), 202, "status", "queued")
	w.want(sign(`{}`, httpsig.SignOptions{Created: earlier.Add(2 * time.Second)}), 200, "block", "<nil>")
	w.want(push(alice), 202, "status", "queued")
}

// TestFirstContacts checks that the number of inboxes to which a sender may write for the first
// time is limited, and that mail to known inboxes continues.
func TestFirstContacts(t *testing.T) {
	w := newWorld(t, func(o *relay.Options, _ *relayhttp.Options) { o.FirstContacts = 1 })
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	a := w.do("POST", "/inbox/"+carol, "", string(w.envelope(alice, carol, nil).Text))
	w.want(a, 429, "code", "too_many_first_contacts")
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 86_000 || seconds > 86_400 {
		t.Errorf("Retry-After is %q, want some 24 hours", a.header.Get("Retry-After"))
	}
	w.want(w.do("POST", "/inbox/"+bob, "", string(w.envelope(alice, bob, nil).Text)), 202, "status", "queued")
	if got := w.pushFrom("did:web:registry.test:agents:"+alice, alice, carol); got != 429 {
		t.Errorf("a first contact under the other DID of the sender: %d", got)
	}
	// The owner of a domain can make any number of DIDs: they have ten first contacts together.
	accepted := 0
	for i := range 20 {
		recipient := fmt.Sprintf("AIR-RCPT-%04d-AAAA", i)
		w.agents.keys[recipient] = w.agents.keys[bob]
		if w.pushFrom(fmt.Sprintf("did:web:h%d.crowd.test:u%d:%s", i%5, i, alice), alice, recipient) == 202 {
			accepted++
		}
	}
	if accepted != 10 {
		t.Errorf("20 DIDs of one domain wrote to %d new inboxes, want 10", accepted)
	}
}
