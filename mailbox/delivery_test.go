package mailbox_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"gazetteer/limit"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
	"gazetteer/relay"
)

// faults is a proxy of a relay that breaks the first requests, one fault each.
type faults struct {
	mu     sync.Mutex
	next   http.Handler
	faults []string
	pushes int // that reached the relay
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // the key of the relay, for its receipt
		f.next.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	fault := ""
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	if fault == "" || fault == "lost" {
		f.pushes++
	}
	f.mu.Unlock()
	switch fault {
	case "cut": // before the relay has it
		panic(http.ErrAbortHandler)
	case "lost": // the relay takes it, and the answer does not arrive
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "busy":
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusServiceUnavailable)
	case "broken":
		w.WriteHeader(http.StatusBadGateway)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// The client against a real relay, whose connection fails in every way: the envelope arrives once,
// after 1, 2, 4 and 8 seconds or when the relay says.
func TestRetriesAtRelay(t *testing.T) {
	for name, test := range map[string]struct {
		faults []string
		waits  []time.Duration
		status int // of the last answer
		pushes int
		fails  bool
	}{
		"no fault":              {nil, nil, 202, 1, false},
		"cut twice":             {[]string{"cut", "cut"}, seconds(1, 2), 202, 1, false},
		"the answer is lost":    {[]string{"lost"}, seconds(1), 409, 2, false},
		"lost, then broken":     {[]string{"lost", "broken", "cut"}, seconds(1, 2, 4), 409, 2, false},
		"it says when":          {[]string{"busy", "broken"}, seconds(3, 2), 202, 1, false},
		"four times, then well": {[]string{"broken", "cut", "broken", "cut"}, seconds(1, 2, 4, 8), 202, 1, false},
		"five times":            {[]string{"broken", "cut", "broken", "cut", "broken"}, seconds(1, 2, 4, 8), 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			f := &faults{next: e.handler, faults: test.faults}
			server := httptest.NewServer(f)
			defer server.Close()
			e.registry.inboxes = map[string]string{bob: server.URL + "/inbox/" + bob}
			client := e.client(alice)
			var waits []time.Duration
			client.Sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			sent, err := e.box(alice).Send(t.Context(), client, a2a.Message{To: bob, Body: offer("x", 1)}, a2ahttp.Options{Seal: true})
			if (err != nil) != test.fails || test.fails && !errors.Is(err, a2ahttp.ErrGaveUp) || sent.Status != test.status || !slices.Equal(waits, test.waits) || f.pushes != test.pushes {
				t.Errorf("%v, status %d, waited %v, pushed %d times", err, sent.Status, waits, f.pushes)
			}
			want := 1
			if test.fails {
				want = 0
			}
			if got := e.collect(bob); len(got) != want {
				t.Errorf("%d arrived, want %d", len(got), want)
			}
		})
	}
}

func seconds(list ...int) (out []time.Duration) {
	for _, n := range list {
		out = append(out, time.Duration(n)*time.Second)
	}
	return out
}

// A relay that limits its senders says when to retry, and the client retries then.
func TestRelayRate(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	e := newEnvironment(t, func(o *relay.Options) { o.SenderPerMinute, o.Limits, o.Now = 1, &limit.Set{Now: clock}, clock })
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("one", 1)}, false))
	client := e.client(alice)
	client.Now = clock
	var waits []time.Duration
	client.Sleep = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits, now = append(waits, d), now.Add(d)
		return nil
	}
	sent, err := e.box(alice).Send(t.Context(), client, a2a.Message{To: bob, Body: offer("two", 1)}, a2ahttp.Options{})
	if err != nil || len(waits) != 1 || waits[0] <= 0 || waits[0] > time.Minute || sent.Attempts != 2 {
		t.Errorf("%v after %d attempts, waited %v", err, sent.Attempts, waits)
	}
}

// ownInbox is an agent's own HTTPS inbox, the draft's direct case: it judges what arrives and keeps it
// in the agent's mailbox.
type ownInbox struct {
	t      *testing.T
	puller *mailbox.Puller
}

func (i ownInbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a2a.MaxEnvelope))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, err = i.puller.Add(r.Context(), a2ahttp.Mail{Text: text})
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok {
		w.WriteHeader(refused.Status)
		json.NewEncoder(w).Encode(refused)
		return
	}
	if err != nil {
		i.t.Error(err)
	}
	io.WriteString(w, `{"status":"delivered"}`)
}

// keptDocuments caches a document until the test removes it, as §4.5 allows.
type keptDocuments struct {
	*registry
	kept map[string]did.Document
}

func (d keptDocuments) Resolve(ctx context.Context, id string) (did.Document, error) {
	if document, ok := d.kept[id]; ok {
		return document, nil
	}
	document, err := d.registry.Resolve(ctx, id)
	if err == nil {
		d.kept[id] = document
	}
	return document, err
}

func (d keptDocuments) Forget(id string) { delete(d.kept, id) }

// The direct case: an agent has its own HTTPS inbox, and the client posts there. If the agent's key
// is newer than the cached document, the inbox says so, and the client resolves, seals and signs
// again, once.
func TestDirectInbox(t *testing.T) {
	e := newEnvironment(t)
	puller := &mailbox.Puller{Mailbox: e.box(bob), Senders: a2a.DocumentKeys{Resolver: e.registry}, Keys: []ed25519.PrivateKey{keyOf(2)}, Rotated: true}
	server := httptest.NewTLSServer(ownInbox{t, puller})
	defer server.Close()
	e.registry.inboxes = map[string]string{bob: server.URL + "/mail"}
	people := keptDocuments{e.registry, map[string]did.Document{}}
	client := e.client(alice)
	client.Directory, client.HTTP, client.AllowLoopback = people, server.Client(), false
	send := func(text string) (a2ahttp.Sent, error) {
		return e.box(alice).Send(t.Context(), client, a2a.Message{To: bob, Body: offer(text, 1)}, a2ahttp.Options{Seal: true})
	}
	first, err := send("before")
	if err != nil || first.Status != http.StatusOK || first.Attempts != 1 {
		t.Fatalf("%v, %+v", err, first)
	}
	e.registry.rotate(bob, keyOf(7), time.Now())
	puller.Keys = []ed25519.PrivateKey{keyOf(7)}
	second, err := send("after")
	if err != nil || second.Attempts != 2 {
		t.Fatalf("after a rotation: %v, %d attempts", err, second.Attempts)
	}
	// The document still shows the old key: the inbox refuses it, and the client does not go on.
	puller.Keys = []ed25519.PrivateKey{keyOf(8)}
	if _, err := send("never"); !errors.Is(err, a2ahttp.ErrRefused) {
		t.Errorf("with a key that nobody published: %v", err)
	}
	messages, err := e.box(bob).Messages(t.Context(), mailbox.MessageFilter{})
	must(t, err)
	if len(messages) != 2 || messages[0].State != a2a.Offered || messages[1].State != a2a.Offered {
		t.Errorf("%+v", messages)
	}
	// The same envelope once more is a replay, and leaves nothing behind.
	response, err := server.Client().Post(server.URL, "application/json", bytes.NewReader(second.Envelope.Text))
	must(t, err)
	defer response.Body.Close()
	var problem struct{ Error string }
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || response.StatusCode != http.StatusConflict || problem.Error != a2a.ErrorReplay {
		t.Errorf("%d %+v, %v", response.StatusCode, problem, err)
	}
	if n, err := e.box(bob).Count(t.Context()); err != nil || n != 2 {
		t.Errorf("%d messages, %v", n, err)
	}
	// An inbox without a trusted certificate gets nothing.
	client.HTTP, client.Sleep = nil, func(context.Context, time.Duration) error { return nil }
	if _, err := send("to an impostor"); !errors.Is(err, a2ahttp.ErrGaveUp) {
		t.Errorf("%v", err)
	}
}

// The receipt for a sent message counts if the relay of that inbox signed it, and not if another
// key did.
func TestReceiptOfSentMail(t *testing.T) {
	e := newEnvironment(t)
	publish := func(key ed25519.PrivateKey) *httptest.Server {
		mux := http.NewServeMux()
		mux.Handle("/", e.handler)
		mux.HandleFunc("/.well-known/did.json", func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(did.Document{ID: relayID, VerificationMethod: []did.VerificationMethod{{
				ID: relayID + a2a.RelayFragment, Type: did.TypeEd25519, Controller: relayID, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey)),
			}}})
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return server
	}
	for name, test := range map[string]struct {
		key    ed25519.PrivateKey
		counts bool
	}{"the key of the relay": {relayKey, true}, "another key": {keyOf(50), false}} {
		t.Run(name, func(t *testing.T) {
			e.registry.inboxes = map[string]string{bob: publish(test.key).URL + "/inbox/" + bob}
			sent, err := e.box(alice).Send(t.Context(), e.client(alice), a2a.Message{To: bob, Body: offer("x", 1)}, a2ahttp.Options{})
			must(t, err)
			m, err := e.box(alice).Message(t.Context(), sent.Envelope.ID)
			must(t, err)
			if m.Delivery != mailbox.Delivered || len(m.Receipt) == 0 || m.Received.IsZero() == test.counts || (m.Relay == relayID) != test.counts || (m.Problem == "") != test.counts {
				t.Errorf("delivery %q, received %s by %q, problem %q", m.Delivery, m.Received, m.Relay, m.Problem)
			}
		})
	}
}
