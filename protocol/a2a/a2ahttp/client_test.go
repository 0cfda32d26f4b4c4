package a2ahttp_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
)

const (
	alice = "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6"
	bob   = "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0"
)

func keyOf(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

// directory caches its answers until the test removes them.
type directory struct {
	source, kept map[string]did.Document
	resolved     int
}

func (d *directory) Resolve(_ context.Context, id string) (did.Document, error) {
	if document, ok := d.kept[id]; ok {
		return document, nil
	}
	document, ok := d.source[id]
	if !ok {
		return did.Document{}, a2a.ErrUnknownSender
	}
	d.resolved++
	d.kept[id] = document
	return document, nil
}

func (d *directory) Forget(id string) { delete(d.kept, id) }

func (d *directory) publish(id string, key ed25519.PrivateKey, inbox string) {
	d.source[id] = did.Document{ID: id,
		VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey))}},
		Service:            []did.Service{{Type: did.TypeTrustScore, ServiceEndpoint: "https://x.example"}, {Type: did.TypeInbox, ServiceEndpoint: inbox}, {Type: did.TypeInbox, ServiceEndpoint: "https://second.example"}}}
}

// reply is what the inbox answers to one attempt.
type reply struct {
	status int
	header string
	body   string
}

// inbox answers attempts with replies in turn and keeps what came.
type inbox struct {
	mu      sync.Mutex
	replies []reply
	got     [][]byte
	headers http.Header
	answer  func(envelope []byte) *reply // before replies, when set
}

// received returns the envelopes that came: an attempt that was aborted may still be ending.
func (i *inbox) received() [][]byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.got)
}

// lastHeader returns the header of the last attempt.
func (i *inbox) lastHeader() http.Header {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.headers
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	envelope, _ := io.ReadAll(r.Body)
	i.got, i.headers = append(i.got, envelope), r.Header
	next := reply{status: 202, body: `{"status":"queued"}`}
	if i.answer != nil {
		next = *i.answer(envelope)
	} else if n := len(i.got) - 1; n < len(i.replies) {
		next = i.replies[n]
	}
	if next.status == 0 { // no answer at all
		panic(http.ErrAbortHandler)
	}
	if next.header != "" {
		w.Header().Set("Retry-After", next.header)
	}
	if next.status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(next.status)
	io.WriteString(w, next.body)
}

// scene is a client of alice, an inbox of bob, and a clock that waiting advances.
type scene struct {
	*a2ahttp.Client
	inbox  *inbox
	people *directory
	waits  []time.Duration
	now    time.Time
}

func newScene(t *testing.T, replies ...reply) *scene {
	t.Helper()
	s := &scene{inbox: &inbox{replies: replies}, people: &directory{source: map[string]did.Document{}, kept: map[string]did.Document{}}, now: time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(s.inbox)
	t.Cleanup(server.Close)
	s.people.publish(alice, keyOf(1), "")
	s.people.publish(bob, keyOf(2), server.URL+"/inbox/bob")
	s.Client = &a2ahttp.Client{From: alice, Key: keyOf(1), Directory: s.people, AllowLoopback: true, Now: func() time.Time { return s.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			s.waits = append(s.waits, d)
			s.now = s.now.Add(d)
			return nil
		}}
	return s
}

func (s *scene) send(o a2ahttp.Options) (a2ahttp.Sent, error) {
	body := a2a.Offer{Description: "secret words", Price: a2a.Money{AmountCents: 500, Currency: "USD"}, ExpiresAt: s.now.Add(time.Hour)}
	return s.Send(context.Background(), a2a.Message{To: bob, Body: body}, o)
}

func (s *scene) verify(t *testing.T, envelope []byte) *a2a.Verified {
	t.Helper()
	v, err := a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: s.people}, Now: func() time.Time { return s.now }}.Verify(context.Background(), envelope)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seconds(n ...int) (out []time.Duration) {
	for _, s := range n {
		out = append(out, time.Duration(s)*time.Second)
	}
	return out
}

func TestSend(t *testing.T) {
	s := newScene(t)
	sent, err := s.send(a2ahttp.Options{})
	if err != nil || sent.Status != 202 || sent.Attempts != 1 || string(sent.Answer) != `{"status":"queued"}` || !strings.HasSuffix(sent.Inbox, "/inbox/bob") {
		t.Fatalf("%+v, %v", sent, err)
	}
	v := s.verify(t, s.inbox.received()[0])
	if v.From != alice || v.To != bob || v.InReplyTo != "" || v.Body.Type() != a2a.TypeOffer {
		t.Errorf("%+v", v.Envelope)
	}
	if h := s.inbox.lastHeader(); h.Get("Content-Type") != "application/json" || h.Get("X-A2A-Version") != "draft-1" {
		t.Errorf("%v", h)
	}
}

// TestFreshMembers checks what the client fills in: an id, a thread and a nonce of their own for each message,
// and the time to the millisecond (§4.2). A message in a thread keeps the thread and names what it answers.
func TestFreshMembers(t *testing.T) {
	s := newScene(t)
	form := regexp.MustCompile(`"timestamp":"2026-05-28T12:00:00\.000Z"`)
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for i := range 50 {
		sent, err := s.send(a2ahttp.Options{Seal: i%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		e := sent.Envelope
		for name, text := range map[string]string{"id": e.ID, "thread_id": e.ThreadID, "nonce": e.Nonce} {
			if seen[text] || name != "nonce" && !uuid.MatchString(text) || len(text) < 22 {
				t.Errorf("%s %q", name, text)
			}
			seen[text] = true
		}
		if !form.Match(e.Text) || bytes.Contains(e.Text, []byte("in_reply_to")) {
			t.Errorf("%s", e.Text)
		}
	}
	thread, before := a2a.NewID(), a2a.NewID()
	sent, err := s.Send(t.Context(), a2a.Message{To: bob, ThreadID: thread, InReplyTo: before, Body: a2a.Decline{}}, a2ahttp.Options{})
	if err != nil || sent.Envelope.ThreadID != thread || sent.Envelope.InReplyTo != before || seen[sent.Envelope.ID] || seen[sent.Envelope.Nonce] {
		t.Errorf("%+v, %v", sent.Envelope, err)
	}
}

// TestInboxThatNeverAnswers checks that an inbox that accepts the connection and never answers is tried five
// times (§7.4), and that the error holds the envelope.
func TestInboxThatNeverAnswers(t *testing.T) {
	s := newScene(t)
	ended := make(chan struct{})
	var attempts atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		attempts.Add(1)
		<-ended
	}))
	defer silent.Close()
	defer close(ended)
	s.people.publish(bob, keyOf(2), silent.URL)
	s.HTTP = &http.Client{Timeout: 20 * time.Millisecond, Transport: &http.Transport{}} // reached however slow the machine is
	_, err := s.send(a2ahttp.Options{})
	e, ok := errors.AsType[*a2ahttp.Error](err)
	if !ok || !errors.Is(err, a2ahttp.ErrGaveUp) || e.Envelope == nil || e.Attempts != 5 || !slices.Equal(s.waits, seconds(1, 2, 4, 8)) || attempts.Load() > 5 {
		t.Errorf("%v after %d attempts and %v", err, attempts.Load(), s.waits)
	}
	s.verify(t, e.Envelope.Text)
}

// TestTimeoutOfRequests sends and reads through connections that never answer, on a clock of its own:
// each request ends after Timeout, that of a long poll after its own time more.
func TestTimeoutOfRequests(t *testing.T) {
	for _, timeout := range []time.Duration{5 * time.Second, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var dialed []net.Conn
			silent := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				dialed = append(dialed, there)
				go io.Copy(io.Discard, there)
				return here, nil
			}}
			people := &directory{source: map[string]did.Document{}, kept: map[string]did.Document{}}
			people.publish(alice, keyOf(1), "")
			people.publish(bob, keyOf(2), "http://127.0.0.1:1/inbox/bob")
			with, stop := &http.Client{Transport: silent}, errors.New("no second attempt")
			c := &a2ahttp.Client{From: alice, Key: keyOf(1), Directory: people, AllowLoopback: true, HTTP: with, Timeout: timeout,
				Sleep: func(context.Context, time.Duration) error { return stop }}
			begun := time.Now()
			_, err := c.Send(t.Context(), a2a.Message{To: bob, ThreadID: a2a.NewID(), InReplyTo: a2a.NewID(), Body: a2a.Decline{}}, a2ahttp.Options{})
			if took := time.Since(begun); err == nil || took != timeout {
				t.Errorf("a message took %v, want %v; %v", took, timeout, err)
			}
			in := &a2ahttp.Inbox{Address: "http://127.0.0.1:1/inbox/bob", Key: keyOf(2), KeyID: bob + did.KeyFragment, HTTP: with, Timeout: timeout}
			begun = time.Now()
			_, err = in.Pull(t.Context(), "", 25*time.Second)
			if took := time.Since(begun); err == nil || took != timeout+25*time.Second {
				t.Errorf("a long poll took %v, want %v and 25s; %v", took, timeout, err)
			}
			for _, there := range dialed {
				there.Close()
			}
		})
	}
}

func TestSendSealed(t *testing.T) {
	s := newScene(t)
	if _, err := s.send(a2ahttp.Options{Seal: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(s.inbox.received()[0]), "secret") {
		t.Error("the body is not sealed")
	}
	opened, err := s.verify(t, s.inbox.received()[0]).Open(keyOf(2))
	if err != nil || opened.Body.(a2a.Offer).Description != "secret words" {
		t.Errorf("%+v, %v", opened, err)
	}
}

func TestRetries(t *testing.T) {
	tests := map[string]struct {
		replies []reply
		waits   []time.Duration
		status  int // 0: not delivered
		kind    error
	}{
		"in the end it works":                 {[]reply{{status: 500}, {status: 502}, {status: 503}, {status: 504}}, seconds(1, 2, 4, 8), 202, nil},
		"five attempts":                       {slices.Repeat([]reply{{status: 500}}, 9), seconds(1, 2, 4, 8), 0, a2ahttp.ErrGaveUp},
		"no answer":                           {slices.Repeat([]reply{{}}, 9), seconds(1, 2, 4, 8), 0, a2ahttp.ErrGaveUp},
		"rate limited":                        {[]reply{{429, "7", `{"error":"Rate Limited"}`}, {status: 500}}, seconds(7, 2), 202, nil},
		"rate limited, a date":                {[]reply{{429, "Thu, 28 May 2026 12:00:20 GMT", ``}}, seconds(20), 202, nil},
		"rate limited, of the deployed relay": {[]reply{{429, "", `{"error":"rate_limited","message":"x","retry_after_seconds":60}`}}, seconds(60), 202, nil},
		"rate limited without a time":         {[]reply{{status: 429}}, seconds(1), 202, nil},
		"rate limited for too long":           {[]reply{{429, "86400", ``}}, nil, 0, a2ahttp.ErrGaveUp},
		"the replay window is full":           {[]reply{{429, "5", `{"error":"Replay Window Exhausted","thread_id":"t"}`}}, nil, 0, a2ahttp.ErrRefused},
		"refused":                             {[]reply{{400, "", `{"error":"Bad Request","detail":"x"}`}}, nil, 0, a2ahttp.ErrRefused},
		"not a signature":                     {[]reply{{401, "", `{"error":"Bad Signature"}`}}, nil, 0, a2ahttp.ErrRefused},
		"created":                             {[]reply{{201, "", `{"status":"queued"}`}}, nil, 0, a2ahttp.ErrRefused},
		"no content":                          {[]reply{{status: 204}}, nil, 0, a2ahttp.ErrRefused},
		"forbidden for another reason":        {[]reply{{403, "", `{"error":"Blocked"}`}}, nil, 0, a2ahttp.ErrRefused},
		"redirected":                          {[]reply{{status: 307}}, nil, 0, a2ahttp.ErrRefused},
		"an earlier attempt had arrived":      {[]reply{{}, {409, "", `{"error":"Replay"}`}}, seconds(1), 409, nil},
		"the same of the deployed relay":      {[]reply{{status: 500}, {409, "", `{"error":"duplicate_envelope"}`}}, seconds(1), 409, nil},
		"a repetition out of nothing":         {[]reply{{409, "", `{"error":"Replay"}`}}, nil, 0, a2ahttp.ErrRefused},
		"a repetition after a rate limit":     {[]reply{{status: 429}, {409, "", `{"error":"Replay"}`}}, seconds(1), 0, a2ahttp.ErrRefused},
		"the thread is closed":                {[]reply{{}, {409, "", `{"error":"Thread Closed"}`}}, seconds(1), 0, a2ahttp.ErrRefused},
		"an answer of no JSON":                {[]reply{{418, "", "<html>"}}, nil, 0, a2ahttp.ErrRefused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, tt.replies...)
			sent, err := s.send(a2ahttp.Options{})
			if !errors.Is(err, tt.kind) || sent.Status != tt.status || !slices.Equal(s.waits, tt.waits) {
				t.Errorf("%d after %v, %v, want %d after %v, %v", sent.Status, s.waits, err, tt.status, tt.waits, tt.kind)
			}
			if e, ok := errors.AsType[*a2ahttp.Error](err); tt.kind != nil && (!ok || e.Envelope == nil || e.Attempts != len(tt.waits)+1 || e.Error() == "") {
				t.Errorf("%#v", err)
			}
			got := s.inbox.received()
			for _, again := range got {
				if string(again) != string(got[0]) {
					t.Error("an envelope that is sent again soon is another one")
				}
			}
		})
	}
}

// The caller learns why an attempt failed before the client waits.
func TestRetryingIsReported(t *testing.T) {
	s := newScene(t, reply{503, "7", `{"error":"Unavailable","detail":"the disk is full"}`}, reply{503, "290", ""})
	s.MaxWait = 30 * time.Second
	var reported []string
	s.Retrying = func(failed *a2ahttp.Error, wait time.Duration) {
		reported = append(reported, fmt.Sprintf("%d after %v: %d %s, %v; waited %v", failed.Attempts, s.waits, failed.Status, failed.Detail, failed.RetryAfter, wait))
	}
	_, err := s.send(a2ahttp.Options{})
	if want := []string{"1 after []: 503 the disk is full, 7s; waited 7s"}; !slices.Equal(reported, want) {
		t.Errorf("%q, want %q", reported, want)
	}
	if e, ok := errors.AsType[*a2ahttp.Error](err); !ok || !errors.Is(err, a2ahttp.ErrGaveUp) || e.RetryAfter != 290*time.Second || e.Attempts != 2 {
		t.Errorf("%#v", err)
	}
}

// An envelope that waited for minutes is signed again, under the same id.
func TestSignedAgain(t *testing.T) {
	s := newScene(t, reply{429, "290", ""})
	if _, err := s.send(a2ahttp.Options{Seal: true}); err != nil {
		t.Fatal(err)
	}
	first, err := a2a.Read(s.inbox.received()[0], a2a.Strict)
	if err != nil {
		t.Fatal(err)
	}
	second := s.verify(t, s.inbox.received()[1])
	if first.ID != second.ID || first.Nonce != second.Nonce || first.ThreadID != second.ThreadID || !second.Timestamp.Equal(s.now) {
		t.Errorf("%+v, %+v", first, second.Envelope)
	}
}

// The key of the recipient is newer than the document that the sender keeps (§4.5.3).
func TestStaleKey(t *testing.T) {
	stale := reply{403, "", `{"error":"Stale Key","air_id":"AIR-B0B0-B0B0-B0B0"}`}
	s := newScene(t)
	if _, err := s.send(a2ahttp.Options{Seal: true}); err != nil { // bob's document is kept now
		t.Fatal(err)
	}
	address := s.people.source[bob].Inbox()
	s.people.publish(bob, keyOf(3), address)
	s.inbox.answer = func(envelope []byte) *reply {
		if _, err := s.verify(t, envelope).Open(keyOf(3)); err != nil {
			return &stale
		}
		return &reply{status: 202}
	}
	sent, err := s.send(a2ahttp.Options{Seal: true})
	if err != nil || sent.Attempts != 2 || len(s.waits) != 0 || s.people.resolved != 3 { // alice once, bob twice
		t.Errorf("%+v, %v, waited %v, resolved %d times", sent, err, s.waits, s.people.resolved)
	}
	// Once only.
	s = newScene(t, stale, stale, stale)
	if sent, err := s.send(a2ahttp.Options{Seal: true}); !errors.Is(err, a2ahttp.ErrRefused) || len(s.inbox.received()) != 2 {
		t.Errorf("%+v, %v after %d attempts", sent, err, len(s.inbox.received()))
	}
	// It is one of the five attempts (§7.4), as the first one and as the last one.
	for name, test := range map[string]struct {
		replies []reply
		kind    error
		waits   []time.Duration
	}{
		"first": {append([]reply{stale}, slices.Repeat([]reply{{status: 500}}, 9)...), a2ahttp.ErrGaveUp, seconds(2, 4, 8)},
		"last":  {append(slices.Repeat([]reply{{status: 500}}, 4), stale), a2ahttp.ErrRefused, seconds(1, 2, 4, 8)},
	} {
		s = newScene(t, test.replies...)
		if _, err := s.send(a2ahttp.Options{}); !errors.Is(err, test.kind) || len(s.inbox.received()) != 5 || !slices.Equal(s.waits, test.waits) {
			t.Errorf("%s: %v after %d attempts and %v", name, err, len(s.inbox.received()), s.waits)
		}
	}
}

func TestInboxes(t *testing.T) {
	for address, reachable := range map[string]bool{
		"": false, "ftp://x.example": false, "http://relay.example/inbox": false, "http://10.0.0.1/": false, "javascript:alert(1)": false, "https:///inbox": false, "https://user:pass@relay.example/": false,
		"http://[::1]:1/": true, "https://relay.example/inbox": true, "/inbox/bob": true, "inbox/bob": true, "//relay.example/inbox": true, "::": false,
	} {
		s := newScene(t)
		s.people.publish(bob, keyOf(2), address)
		var asked string
		s.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return &http.Response{StatusCode: 202, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
		})}
		_, err := s.send(a2ahttp.Options{})
		if reachable != (err == nil) || !reachable && !errors.Is(err, a2ahttp.ErrNoInbox) {
			t.Errorf("%q: %v, asked %s", address, err, asked)
		}
		if strings.HasSuffix(address, "inbox/bob") && asked != "https://agents.example/inbox/bob" {
			t.Errorf("%q is %s", address, asked)
		}
	}
	s := newScene(t)
	s.AllowLoopback = false
	if _, err := s.send(a2ahttp.Options{}); !errors.Is(err, a2ahttp.ErrNoInbox) {
		t.Errorf("http on loopback: %v", err)
	}
	delete(s.people.source, bob)
	s.people.Forget(bob)
	if _, err := s.send(a2ahttp.Options{}); !errors.Is(err, a2a.ErrUnknownSender) {
		t.Errorf("a recipient that does not resolve: %v", err)
	}
	s = newScene(t)
	other := "did:wba:agents.example:agents:AIR-C0C0-C0C0-C0C0" // it has a key and an inbox
	s.people.publish(other, keyOf(3), s.people.source[bob].Inbox())
	s.people.source[bob] = s.people.source[other]
	if _, err := s.send(a2ahttp.Options{}); !errors.Is(err, a2ahttp.ErrNoInbox) || len(s.inbox.received()) != 0 {
		t.Errorf("a document of another: %v, %d envelopes sent", err, len(s.inbox.received()))
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSendEndsWithItsContext(t *testing.T) {
	s := newScene(t, slices.Repeat([]reply{{status: 429, header: "540"}}, 9)...)
	ctx, cancel := context.WithCancel(context.Background())
	s.Sleep = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if _, err := s.Send(ctx, a2a.Message{To: bob, InReplyTo: a2a.NewID(), Body: a2a.Decline{}}, a2ahttp.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s.Sleep = nil // the timer of the client listens to the context as well
	late, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := s.Send(late, a2a.Message{To: bob, InReplyTo: a2a.NewID(), Body: a2a.Decline{}}, a2ahttp.Options{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(begin)) // the relay asked for nine minutes
	}
}

func TestUnsignableMessages(t *testing.T) {
	s := newScene(t)
	for _, body := range []a2a.Body{nil, a2a.Other{Kind: "text", JSON: []byte(`{"type":"text"}`)}, a2a.Decline{Reason: strings.Repeat("x", 513)}} {
		_, err := s.Send(context.Background(), a2a.Message{To: bob, InReplyTo: a2a.NewID(), Body: body}, a2ahttp.Options{})
		if _, ok := errors.AsType[*a2a.Refusal](err); !ok || len(s.inbox.received()) > 0 {
			t.Errorf("%v: %v", fmt.Sprint(body), err)
		}
	}
}
