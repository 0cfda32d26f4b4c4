package mailbox_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/limit"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/a2a/a2atest"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/keyfile"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
)

const (
	prefix  = "did:wba:registry.test:agents:"
	alice   = prefix + "AIR-AAAA-AAAA-AAAA"
	bob     = prefix + "AIR-BBBB-BBBB-BBBB"
	mallory = prefix + "AIR-CCCC-CCCC-CCCC"
	relayID = "did:wba:registry.test"
)

func keyOf(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

// keysOf returns the keys of an agent, the current one first.
func keysOf(numbers ...byte) (keys []ed25519.PrivateKey) {
	for _, n := range numbers {
		keys = append(keys, keyOf(n))
	}
	return keys
}

// registry replaces the registry: agents with their keys, which can be rotated.
type registry struct {
	mu    sync.Mutex
	url   string
	keys  map[string]ed25519.PrivateKey
	since map[string]time.Time // when the key of an agent took the place of its old one
	old   map[string]ed25519.PrivateKey
	// inboxes are those that are not at the relay.
	inboxes map[string]string
}

func (r *registry) key(id string) ed25519.PrivateKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[id]
}

func (r *registry) rotate(id string, next ed25519.PrivateKey, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.old[id], r.keys[id], r.since[id] = r.keys[id], next, at
}

func (r *registry) Forget(string) {}

func (r *registry) Resolve(_ context.Context, id string) (did.Document, error) {
	key := r.key(id)
	if key == nil {
		return did.Document{}, a2a.ErrUnknownSender
	}
	inbox := r.inboxes[id]
	if inbox == "" {
		inbox = r.url + "/inbox/" + id
	}
	return did.Document{ID: id,
		VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey))}},
		Service:            []did.Service{{Type: did.TypeInbox, ServiceEndpoint: inbox}},
	}, nil
}

func (r *registry) FindInbox(_ context.Context, name string) (relay.Inbox, error) {
	if r.key(name) == nil {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	return relay.Inbox{Name: name, AirID: strings.TrimPrefix(name, prefix), Addresses: []string{name}}, nil
}

func (r *registry) VerifyRead(_ context.Context, box relay.Inbox, request httpsig.Message) error {
	all, err := httpsig.Read(request)
	if err != nil {
		return err
	}
	return all[0].Verify(request, r.key(box.Name).Public().(ed25519.PublicKey), httpsig.Requirements{
		Require: httpsig.ReadComponents(), Now: time.Now(), MaxAge: 5 * time.Minute, MaxAhead: 30 * time.Second,
	})
}

func (r *registry) AdmitSender(context.Context, relay.Inbox, string) error { return nil }
func (r *registry) KnowsSender(context.Context, string) bool               { return false }

// environment is a registry with a relay on a real socket, and a clock that tests advance.
type environment struct {
	t        *testing.T
	registry *registry
	ahead    time.Duration
	boxes    map[string]*mailbox.Mailbox
	handler  http.Handler // of the relay
}

var relayKey = keyOf(99)

func newEnvironment(t *testing.T, change ...func(*relay.Options)) *environment {
	t.Helper()
	e := &environment{t: t, registry: &registry{
		keys:  map[string]ed25519.PrivateKey{alice: keyOf(1), bob: keyOf(2), mallory: keyOf(3)},
		since: map[string]time.Time{}, old: map[string]ed25519.PrivateKey{},
	}, boxes: map[string]*mailbox.Mailbox{}}
	queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	limits := &limit.Set{}
	o := relay.Options{Queue: queue, Senders: a2a.DocumentKeys{Resolver: e.registry}, Inboxes: e.registry, DID: relayID, Key: relayKey, Profile: a2a.Wire, Limits: limits}
	for _, c := range change {
		c(&o)
	}
	r := relay.New(o)
	handler, err := relayhttp.New(relayhttp.Options{Relay: r, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	e.handler = handler
	mux := http.NewServeMux()
	mux.Handle("/inbox/", handler)
	mux.HandleFunc("/.well-known/did.json", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(did.Document{ID: relayID, VerificationMethod: []did.VerificationMethod{{ID: relayID + "#relay-1", Type: did.TypeEd25519, Controller: relayID, PublicKeyMultibase: did.FormatMultikey(relayKey.Public().(ed25519.PublicKey))}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(handler.End)
	e.registry.url = server.URL
	return e
}

func (e *environment) now() time.Time { return time.Now().Add(e.ahead) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *environment) box(owner string) *mailbox.Mailbox {
	e.t.Helper()
	if e.boxes[owner] == nil {
		m, err := mailbox.Open(e.t.Context(), filepath.Join(e.t.TempDir(), "agent.mail"), owner, mailbox.Options{Keys: []ed25519.PrivateKey{e.registry.key(owner)}, Now: e.now, File: boltfile.Options{MinFree: -1}})
		must(e.t, err)
		e.boxes[owner] = m
	}
	return e.boxes[owner]
}

func (e *environment) client(owner string) *a2ahttp.Client {
	return &a2ahttp.Client{From: owner, Key: e.registry.key(owner), Directory: e.registry, AllowLoopback: true, Profile: a2a.Wire}
}

func (e *environment) send(from string, m a2a.Message, seal bool) error {
	e.t.Helper()
	_, err := e.box(from).Send(e.t.Context(), e.client(from), m, a2ahttp.Options{Seal: seal})
	return err
}

func (e *environment) puller(owner string, retired ...ed25519.PrivateKey) *mailbox.Puller {
	e.t.Helper()
	inbox := &a2ahttp.Inbox{Address: e.registry.url + "/inbox/" + owner, Key: e.registry.key(owner), KeyID: mailbox.KeyIDOf(owner)}
	c, err := mailbox.NewPuller(e.t.Context(), e.box(owner), inbox, e.registry, append([]ed25519.PrivateKey{e.registry.key(owner)}, retired...))
	must(e.t, err)
	return c
}

// collect returns the new mail of an agent.
func (e *environment) collect(owner string) []mailbox.Message {
	e.t.Helper()
	batch, err := e.puller(owner).Collect(e.t.Context(), "", 0)
	must(e.t, err)
	if len(batch.Waiting) > 0 {
		e.t.Fatal(batch.Waiting)
	}
	return batch.New
}

// one returns the only new message of an agent.
func (e *environment) one(owner string) mailbox.Message {
	e.t.Helper()
	got := e.collect(owner)
	if len(got) != 1 {
		e.t.Fatalf("%d new messages, want 1", len(got))
	}
	return got[0]
}

func offer(text string, cents uint64) a2a.Offer {
	return a2a.Offer{Description: text, Price: a2a.Money{AmountCents: cents, Currency: "EUR"}, ExpiresAt: time.Now().Add(time.Hour)}
}

func counter(text string, cents uint64) a2a.Counter { return a2a.Counter(offer(text, cents)) }

func reply(m mailbox.Message, body a2a.Body) a2a.Message {
	return a2a.Message{To: m.From, InReplyTo: m.ID, ThreadID: m.ThreadID, Body: body}
}

// state returns the state of a thread in an agent's mailbox.
func (e *environment) state(owner, thread string) a2a.State {
	e.t.Helper()
	info, _, err := e.box(owner).Thread(e.t.Context(), thread)
	must(e.t, err)
	return info.Thread.State
}

// A sealed offer, a counter and an acceptance: both sides keep all of it and agree on the state.
func TestNegotiation(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("a table for two", 500)}, true))
	first := e.one(bob)
	if got, ok := first.Body().(a2a.Offer); !ok || got.Description != "a table for two" || !first.Sealed || first.Refused != nil || first.State != a2a.Offered || first.Relay != relayID || first.Received.IsZero() {
		t.Fatalf("%+v %s", first, first.Content)
	}
	must(t, e.send(bob, reply(first, counter("at nine", 750)), true))
	second := e.one(alice)
	if second.State != a2a.Countered {
		t.Fatalf("%+v", second)
	}
	must(t, e.send(alice, reply(second, a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 750, Currency: "EUR"}}), true))
	if last := e.one(bob); last.State != a2a.ClosedAccepted {
		t.Fatalf("%+v", last)
	}
	for _, owner := range []string{alice, bob} {
		info, messages, err := e.box(owner).Thread(t.Context(), first.ThreadID[:8])
		must(t, err)
		if info.Thread.State != a2a.ClosedAccepted || len(messages) != 3 || info.Messages != 3 || info.Peer == owner {
			t.Errorf("%s has %+v with %d messages", owner, info, len(messages))
		}
		for i, want := range []a2a.State{a2a.Offered, a2a.Countered, a2a.ClosedAccepted} {
			if m := messages[i]; m.State != want || len(m.Content) == 0 || m.Sent && m.Delivery != mailbox.Delivered {
				t.Errorf("%s, message %d: %+v", owner, i, m)
			}
		}
	}
	if again := e.collect(bob); len(again) != 0 {
		t.Errorf("what was acknowledged comes again: %d", len(again))
	}
}

// A message that breaks a rule of its thread is neither stored nor sent.
func TestSendOutOfThreadOrder(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, ThreadID: "11111111-1111-4111-8111-111111111111", Body: offer("x", 1)}, false))
	own, err := e.box(alice).Messages(t.Context(), mailbox.MessageFilter{})
	must(t, err)
	err = e.send(alice, a2a.Message{To: bob, ThreadID: own[0].ThreadID, InReplyTo: own[0].ID, Body: a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 1, Currency: "EUR"}}}, false)
	refused, ok := errors.AsType[*a2a.Refusal](err)
	if !ok || refused.Rule != a2a.RuleThread {
		t.Fatalf("an accept of one's own offer: %v", err)
	}
	if n, err := e.box(alice).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("%d messages, %v", n, err)
	}
	if got := e.collect(bob); len(got) != 1 {
		t.Errorf("%d messages arrived", len(got))
	}
}

// TestFailedSend checks that a message that the recipient's inbox refuses leaves the thread
// unchanged.
func TestFailedSend(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("x", 100)}, false))
	got := e.one(bob)
	must(t, e.send(bob, reply(got, counter("y", 200)), false))
	e.one(alice)
	// Bob withdraws his counter, but the relay does not know Alice any more.
	key := e.registry.key(alice)
	e.registry.rotate(alice, nil, time.Now())
	mine, err := e.box(bob).Messages(t.Context(), mailbox.MessageFilter{Limit: 1})
	must(t, err)
	err = e.send(bob, a2a.Message{To: alice, ThreadID: got.ThreadID, Body: a2a.Withdraw{WithdrawnID: mine[0].ID}}, false)
	if err == nil || e.state(bob, got.ThreadID) != a2a.Countered {
		t.Fatalf("%v, and the thread is %s", err, e.state(bob, got.ThreadID))
	}
	failed, err := e.box(bob).Messages(t.Context(), mailbox.MessageFilter{Limit: 1})
	must(t, err)
	if failed[0].Delivery != mailbox.Failed || failed[0].Problem == "" {
		t.Fatalf("%+v", failed[0])
	}
	// A later attempt under the same id succeeds.
	e.registry.rotate(alice, key, time.Now())
	sent, err := e.box(bob).SendAgain(t.Context(), e.client(bob), failed[0])
	must(t, err)
	if sent.Envelope.ID != failed[0].ID || e.state(bob, got.ThreadID) != a2a.ClosedWithdrawn {
		t.Errorf("%s, and the thread is %s", sent.Envelope.ID, e.state(bob, got.ThreadID))
	}
	if m := e.one(alice); m.State != a2a.ClosedWithdrawn {
		t.Errorf("%+v", m)
	}
	if _, err := e.box(bob).SendAgain(t.Context(), e.client(bob), mine[0]); !errors.Is(err, mailbox.ErrDelivered) {
		t.Errorf("what was delivered: %v", err)
	}
}

// The program ended after the inbox had taken a message and before that was noted.
func TestSendAgainAfterACrash(t *testing.T) {
	e := newEnvironment(t)
	ctx, cancel := context.WithCancel(t.Context())
	client := e.client(alice)
	client.HTTP = &http.Client{Transport: cutAnswer{cancel}}
	if _, err := e.box(alice).Send(ctx, client, a2a.Message{To: bob, Body: offer("once", 1)}, a2ahttp.Options{Seal: true}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	stored, err := e.box(alice).Messages(t.Context(), mailbox.MessageFilter{})
	must(t, err)
	if len(stored) != 1 || stored[0].Delivery != mailbox.Sending {
		t.Fatalf("%+v", stored)
	}
	if _, err := e.box(alice).SendAgain(t.Context(), e.client(alice), stored[0]); err != nil {
		t.Fatal(err)
	}
	if got := e.collect(bob); len(got) != 1 {
		t.Errorf("it arrived %d times", len(got))
	}
}

// cutAnswer delivers a request and loses the answer, as a program that is killed does.
type cutAnswer struct{ cancel func() }

func (c cutAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	c.cancel()
	return nil, context.Canceled
}

// TestRotationWhileMailWaits checks that mail sealed before a rotation opens with the retired key,
// which the mailbox keeps. Mail without a key is kept closed, and opens when the key is available.
func TestRotationWhileMailWaits(t *testing.T) {
	e := newEnvironment(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "bob.key")
	must(t, keyfile.Create(path, keyOf(2), []byte("correct horse"), nil))
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("before the rotation", 1)}, true))

	must(t, keyfile.Create(keyfile.Next(path), keyOf(7), nil, nil))
	must(t, mailbox.KeepKey(mailbox.DirOf(path), path))
	must(t, mailbox.KeepKey(mailbox.DirOf(path), path)) // again, after a crash
	must(t, keyfile.Promote(path))
	e.registry.rotate(bob, keyOf(7), time.Now())

	closed := e.one(bob) // with the new key alone
	if closed.Refused == nil || closed.Refused.Rule != a2a.RuleOpen || len(closed.Content) != 0 {
		t.Fatalf("%+v", closed)
	}
	open := func(_ string, f keyfile.File) (ed25519.PrivateKey, error) { return f.Private([]byte("correct horse")) }
	retired, problems := mailbox.ReadKeys(mailbox.DirOf(path), open)
	if len(retired) != 1 || !retired[0].Equal(keyOf(2)) || len(problems) != 0 {
		t.Fatalf("%d keys, %v", len(retired), problems)
	}
	if _, problems := mailbox.ReadKeys(mailbox.DirOf(path), func(_ string, f keyfile.File) (ed25519.PrivateKey, error) { return f.Private(nil) }); len(problems) != 1 {
		t.Errorf("a key without its passphrase: %v", problems)
	}
	must(t, e.box(bob).OpenClosed(t.Context(), a2a.DocumentKeys{Resolver: e.registry}, retired))
	if m, err := e.box(bob).Message(t.Context(), closed.ID); err != nil || m.Refused != nil || !strings.Contains(string(m.Content), "before the rotation") || e.state(bob, m.ThreadID) != a2a.Offered {
		t.Fatalf("%+v, %v", m, err)
	}

	// The usual case: the retired key exists when the mail is pulled.
	must(t, e.send(mallory, a2a.Message{To: bob, Body: offer("to the second key", 1)}, true))
	e.registry.rotate(bob, keyOf(8), time.Now())
	batch, err := e.puller(bob, keyOf(2), keyOf(7)).Collect(t.Context(), "", 0)
	must(t, err)
	if len(batch.New) != 1 || batch.New[0].Refused != nil || batch.New[0].State != a2a.Offered {
		t.Fatalf("%+v", batch.New)
	}
}

// TestFreshness checks that mail that waited for days is fresh by the relay's receipt and stale
// without one. It is kept either way, with the reason.
func TestFreshness(t *testing.T) {
	for name, test := range map[string]struct {
		receipts bool
		rule     string
	}{"with receipts": {true, ""}, "without": {false, a2a.RuleClock}} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			must(t, e.send(alice, a2a.Message{To: bob, Body: offer("early", 1)}, false))
			e.ahead = 3 * 24 * time.Hour
			c := e.puller(bob)
			if !test.receipts {
				c.RelayKey = nil
			}
			batch, err := c.Collect(t.Context(), "", 0)
			must(t, err)
			rule := ""
			if r := batch.New[0].Refused; r != nil {
				rule = r.Rule
			}
			if rule != test.rule {
				t.Errorf("refused by %q, want %q", rule, test.rule)
			}
		})
	}
}

// TestDeliveredAgain checks that mail delivered twice is stored once, and that an envelope that
// cannot be verified now stays at the relay.
func TestDeliveredAgain(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("one", 1)}, true))
	_, err := e.client(mallory).Send(t.Context(), a2a.Message{To: bob, Body: a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 1, Currency: "EUR"}}, InReplyTo: "11111111-1111-4111-8111-111111111111"}, a2ahttp.Options{})
	must(t, err)
	c := e.puller(bob)
	c.Keep = true
	first, err := c.Collect(t.Context(), "", 0)
	must(t, err)
	if len(first.New) != 2 || first.New[1].Refused == nil || first.New[1].Refused.Rule != a2a.RuleThread {
		t.Fatalf("%+v", first.New)
	}
	c.Senders = unreachable{}
	if batch, err := c.Collect(t.Context(), "", 0); err != nil || len(batch.New) != 0 || len(batch.Waiting) != 2 {
		t.Errorf("%+v, %v", batch, err)
	}
	if again := e.collect(bob); len(again) != 0 {
		t.Errorf("%d are new again", len(again))
	}
	if n, err := e.box(bob).Count(t.Context()); err != nil || n != 2 {
		t.Errorf("%d messages, %v", n, err)
	}
	c.Senders = a2a.DocumentKeys{Resolver: e.registry}
	if batch, err := c.Collect(t.Context(), "", 0); err != nil || len(batch.New)+len(batch.Waiting) != 0 {
		t.Errorf("%+v, %v", batch, err)
	}
}

// TestForgedMailOfARelay checks that what a relay that verifies nothing delivers counts as if it had never
// arrived (§6.1): a forged envelope occupies neither the id nor the nonce nor the thread of the genuine
// one behind it.
func TestForgedMailOfARelay(t *testing.T) {
	e := newEnvironment(t)
	genuine, err := a2a.Sign(a2a.Message{From: alice, To: bob, Body: offer("a table for two", 500)}, a2a.Wire, keyOf(1))
	must(t, err)
	accept, err := a2a.Sign(a2a.Message{From: mallory, To: bob, ThreadID: genuine.ThreadID, InReplyTo: genuine.ID, Body: a2a.Accept{AcceptedPrice: offer("", 500).Price}}, a2a.Wire, keyOf(3))
	must(t, err)
	envelopes := []string{
		strings.Replace(string(genuine.Text), "500", "900", 1), // changed on the way
		strings.Replace(string(accept.Text), mallory, alice, 1),
		strings.Replace(string(accept.Text), mallory, prefix+"AIR-0000-0000-0000", 1),
		string(genuine.Text),
	}
	pipe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"envelopes":[%s],"cursor":"4","has_more":false}`, strings.Join(envelopes, ","))
	}))
	defer pipe.Close()
	c := e.puller(bob)
	c.RelayKey, c.Inbox.Address = nil, pipe.URL
	batch, err := c.Collect(t.Context(), "", 0)
	must(t, err)
	if len(batch.New) != 4 || len(batch.Waiting) != 0 {
		t.Fatalf("%+v", batch)
	}
	for i, rule := range []string{a2a.RuleSignature, a2a.RuleSignature, a2a.RuleSender} {
		if m := batch.New[i]; m.Refused == nil || m.Refused.Rule != rule || m.State != "" {
			t.Errorf("forged envelope %d: %+v, want rule %s", i, m, rule)
		}
	}
	if m := batch.New[3]; m.Refused != nil || m.State != a2a.Offered || e.state(bob, genuine.ThreadID) != a2a.Offered {
		t.Errorf("the genuine one: %+v", m)
	}
}

// lostSender finds the keys of senders, except of one whose registry does not answer.
type lostSender struct {
	a2a.KeyFinder
	lost string
}

func (l *lostSender) FindKeys(ctx context.Context, sender string, at time.Time) ([]ed25519.PublicKey, error) {
	if sender == l.lost {
		return nil, errors.New("no route to host")
	}
	return l.KeyFinder.FindKeys(ctx, sender, at)
}

// TestWaitingMailIsJudgedAgain checks that the cursor does not pass mail that stays at the relay because
// the registry of its sender does not answer: the mail arrives in the same run, when the registry answers.
func TestWaitingMailIsJudgedAgain(t *testing.T) {
	e := newEnvironment(t)
	var envelopes []string // one on each page
	for _, from := range []string{alice, mallory, alice} {
		signed, err := a2a.Sign(a2a.Message{From: from, To: bob, Body: offer("a table", 500)}, a2a.Wire, e.registry.key(from))
		must(t, err)
		envelopes = append(envelopes, string(signed.Text))
	}
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.Atoi(r.FormValue("since"))
		if since >= len(envelopes) {
			fmt.Fprintf(w, `{"envelopes":[],"cursor":"%d","has_more":false}`, since)
			return
		}
		fmt.Fprintf(w, `{"envelopes":[%s],"cursor":"%d","has_more":%t}`, envelopes[since], since+1, since+1 < len(envelopes))
	}))
	defer pages.Close()
	senders := &lostSender{a2a.DocumentKeys{Resolver: e.registry}, mallory}
	c := e.puller(bob)
	c.Senders, c.RelayKey, c.Inbox.Address, c.Keep = senders, nil, pages.URL, true
	cursor := ""
	for i, want := range []struct {
		added, waiting int
		cursor         string
	}{
		{1, 0, "1"}, {0, 1, "2"}, {1, 0, "1"}, // back to the page of the one that waits
		{1, 0, "2"}, {0, 0, "3"}, {0, 0, "3"}, // its registry answers
	} {
		if i == 3 {
			senders.lost = ""
		}
		batch, err := c.Collect(t.Context(), cursor, 0)
		must(t, err)
		if len(batch.New) != want.added || len(batch.Waiting) != want.waiting || batch.Cursor != want.cursor {
			t.Fatalf("pull %d: %d new, %d wait, cursor %q, want %+v", i+1, len(batch.New), len(batch.Waiting), batch.Cursor, want)
		}
		cursor = batch.Cursor
	}
}

type unreachable struct{}

func (unreachable) FindKeys(context.Context, string, time.Time) ([]ed25519.PublicKey, error) {
	return nil, errors.New("no route to host")
}

func TestStore(t *testing.T) {
	open := func(t *testing.T, dir string) a2a.Store {
		m, err := mailbox.Open(t.Context(), dir, bob, mailbox.Options{Keys: keysOf(2), PerThread: 5, File: boltfile.Options{MinFree: -1}})
		must(t, err)
		return m
	}
	a2atest.TestStore(t, a2atest.Options{
		PerThread: 5,
		Open:      func(t *testing.T) a2a.Store { return open(t, t.TempDir()) },
		Reopen:    func(t *testing.T, s a2a.Store) a2a.Store { return open(t, s.(*mailbox.Mailbox).Dir()) },
	})
}

func TestOwner(t *testing.T) {
	dir := t.TempDir()
	for owner, want := range map[string]error{bob: nil, "did:web:registry.test:agents:AIR-BBBB-BBBB-BBBB": nil, "did:wba:other.test:agents:AIR-BBBB-BBBB-BBBB": nil, alice: mailbox.ErrOwner} {
		if _, err := mailbox.Open(t.Context(), dir, bob, mailbox.Options{Keys: keysOf(2)}); err != nil {
			t.Fatal(err)
		}
		if _, err := mailbox.Open(t.Context(), dir, owner, mailbox.Options{Keys: keysOf(2)}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", owner, err, want)
		}
	}
}

func TestSearch(t *testing.T) {
	e := newEnvironment(t)
	for _, text := range []string{"Translate 500 words to Korean", "Eine Straße in Köln", "회의실을 예약해 주세요", "明日の会議を予約する", "ＦＵＬＬ width"} {
		must(t, e.send(alice, a2a.Message{To: bob, Body: offer(text, 1)}, true))
	}
	must(t, e.send(mallory, a2a.Message{To: bob, Body: offer("words of another", 1)}, false))
	e.collect(bob)
	for query, want := range map[string]int{
		"translate": 1, "TRANS": 1, "late": 0, "words": 2, "words korean": 1, `"500 words"`: 1, `"words 500"`: 0, "strasse": 1, "köln": 1,
		"예약": 1, "会議": 1, "full": 1, "": 6, "AIR-CCCC-CCCC-CCCC": 1, "nothing": 0, `"`: 6,
	} {
		for _, owner := range []string{bob} {
			got, err := e.box(owner).Search(t.Context(), query, mailbox.MessageFilter{})
			if err != nil || len(got) != want {
				t.Errorf("%q finds %d, %v, want %d", query, len(got), err, want)
			}
		}
	}
	if got, err := e.box(bob).Search(t.Context(), "words", mailbox.MessageFilter{Peer: "AIR-AAAA-AAAA-AAAA"}); err != nil || len(got) != 1 {
		t.Errorf("%d of Alice, %v", len(got), err)
	}
	if got, err := e.box(alice).Search(t.Context(), "korean", mailbox.MessageFilter{}); err != nil || len(got) != 1 {
		t.Errorf("%d that Alice sent, %v", len(got), err)
	}
	all, err := e.box(bob).Messages(t.Context(), mailbox.MessageFilter{Unread: true, Limit: 2})
	must(t, err)
	must(t, e.box(bob).MarkRead(t.Context(), all...))
	if unread, err := e.box(bob).Messages(t.Context(), mailbox.MessageFilter{Unread: true}); err != nil || len(all) != 2 || len(unread) != 4 {
		t.Errorf("%d, then %d unread, %v", len(all), len(unread), err)
	}
}

// The newest name of a sender counts, and a message that is read again without one keeps its own.
func TestSenderNames(t *testing.T) {
	e := newEnvironment(t)
	for _, name := range []string{`"Alice"`, `@alice "Alice"`, ""} {
		must(t, e.send(alice, a2a.Message{To: bob, Body: offer("x", 1)}, false))
		m := e.one(bob)
		m.SenderName = name
		must(t, e.box(bob).MarkRead(t.Context(), m))
		m.SenderName = ""
		must(t, e.box(bob).MarkRead(t.Context(), m))
	}
	if names, err := e.box(bob).Names(t.Context()); err != nil || len(names) != 1 || names[alice] != `@alice "Alice"` {
		t.Error(names, err)
	}
}

func TestExportAndImport(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("x <y> & \u2028", 100)}, true))
	got := e.one(bob)
	must(t, e.send(bob, reply(got, counter("y", 200)), true))
	must(t, e.send(mallory, a2a.Message{To: bob, ThreadID: got.ThreadID, Body: offer("not mine", 1)}, false))
	e.collect(bob)
	var file bytes.Buffer
	n, err := e.box(bob).Export(t.Context(), &file)
	if err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	open := func(owner string) *mailbox.Mailbox {
		m, err := mailbox.Open(t.Context(), filepath.Join(t.TempDir(), "x.mail"), owner, mailbox.Options{Keys: keysOf(2), File: boltfile.Options{MinFree: -1}})
		must(t, err)
		return m
	}
	other := open(bob)
	for _, want := range []int{3, 0} {
		if added, err := other.Import(t.Context(), bytes.NewReader(file.Bytes())); err != nil || added != want {
			t.Fatalf("%d added, %v, want %d", added, err, want)
		}
	}
	before, messages, err := e.box(bob).Thread(t.Context(), got.ThreadID)
	must(t, err)
	after, copies, err := other.Thread(t.Context(), got.ThreadID)
	must(t, err)
	if fmt.Sprint(before) != fmt.Sprint(after) || len(copies) != len(messages) {
		t.Errorf("%+v\n%+v", before, after)
	}
	for i := range copies {
		if !bytes.Equal(copies[i].Envelope, messages[i].Envelope) || !bytes.Equal(copies[i].Content, messages[i].Content) || !bytes.Equal(copies[i].Receipt, messages[i].Receipt) || copies[i].State != messages[i].State || (copies[i].Refused == nil) != (messages[i].Refused == nil) {
			t.Errorf("%+v\n%+v", copies[i], messages[i])
		}
	}
	// The replay window came along: the same envelope is not accepted again.
	envelope, err := a2a.Read(messages[0].Envelope, a2a.Wire)
	must(t, err)
	if state, err := other.FindReplay(t.Context(), a2a.EntryOf(envelope, time.Now(), time.Hour)); err != nil || state != a2a.Repeated {
		t.Errorf("%d, %v", state, err)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	for name, text := range map[string]string{
		"nothing": "", "no export": "hello\n", "another format": `{"format":"mbox"}` + "\n", "cut short": strings.Join(lines[:2], ""), "a line that is no JSON": lines[0] + "{\n",
		"an envelope that is none": lines[0] + `{"id":"1","thread_id":"1","to":"` + bob + `","envelope":"{}"}` + "\n", "no ids": lines[0] + "{}\n",
		"mail of others": lines[0] + strings.ReplaceAll(lines[1], bob, mallory),
	} {
		if _, err := open(bob).Import(t.Context(), strings.NewReader(text)); !errors.Is(err, mailbox.ErrImport) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open(alice).Import(t.Context(), &file); !errors.Is(err, mailbox.ErrOwner) {
		t.Errorf("the export of another: %v", err)
	}
}

func TestNames(t *testing.T) {
	e := newEnvironment(t)
	for _, id := range []string{"aaaa", "aaab", "aaabc"} {
		must(t, e.send(alice, a2a.Message{ID: id, ThreadID: "t" + id, To: bob, Body: offer("x", 1)}, false))
	}
	for id, want := range map[string]error{"aaaa": nil, "aaab": nil, "aaabc": nil, "aaa": mailbox.ErrAmbiguous, "b": mailbox.ErrNotFound, "": mailbox.ErrNotFound} {
		if _, err := e.box(alice).Message(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("message %q: %v, want %v", id, err, want)
		}
	}
	if threads, err := e.box(alice).Threads(t.Context()); err != nil || len(threads) != 3 || threads[0].ID != "taaabc" {
		t.Errorf("%+v, %v", threads, err)
	}
	if _, _, err := e.box(alice).Thread(t.Context(), "x"); !errors.Is(err, mailbox.ErrNotFound) {
		t.Error(err)
	}
}

// A damaged record is refused, not repaired in silence, and so is one that was put in another's place.
func TestDamage(t *testing.T) {
	for name, change := range map[string]func(b *bolt.Bucket, first, second, record []byte) error{
		"a changed byte": func(b *bolt.Bucket, first, _, record []byte) error {
			record[len(record)/2] ^= 1
			return b.Put(first, record)
		},
		"cut short":       func(b *bolt.Bucket, first, _, record []byte) error { return b.Put(first, record[:30]) },
		"another's place": func(b *bolt.Bucket, _, second, record []byte) error { return b.Put(second, record) },
	} {
		e := newEnvironment(t)
		for range 2 {
			must(t, e.send(alice, a2a.Message{To: bob, Body: offer("x", 1)}, false))
		}
		file, err := bolt.Open(filepath.Join(e.box(alice).Dir(), mailbox.FileName), 0o600, nil)
		must(t, err)
		must(t, file.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("mail"))
			c := b.Cursor()
			first, record := c.First()
			second, _ := c.Next()
			return change(b, bytes.Clone(first), bytes.Clone(second), bytes.Clone(record))
		}))
		must(t, file.Close())
		if _, err := e.box(alice).Messages(t.Context(), mailbox.MessageFilter{}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantNowhere checks that no file of a mailbox holds any of these texts.
func wantNowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				t.Errorf("%s holds %q", entry.Name(), text)
			}
		}
	}
}

// TestNoPlainTextOnDisk checks that opened bodies and agreed terms are not readable in the files,
// and are found with the key.
func TestNoPlainTextOnDisk(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("an Unheard-of price", 424242)}, true))
	m := e.one(bob)
	must(t, e.send(bob, reply(m, counter("Unheard-of as well", 424243)), true))
	for _, owner := range []string{alice, bob} {
		wantNowhere(t, e.box(owner).Dir(), "Unheard-of", "unheard-of", "42424", "Offer", "offered")
		if got, err := e.box(owner).Search(t.Context(), "unheard-of", mailbox.MessageFilter{}); err != nil || len(got) == 0 {
			t.Errorf("%d, %v", len(got), err)
		}
	}
}

// A mailbox of the first layout is encrypted when it is opened, and nothing of its text stays behind.
func TestFirstLayoutIsEncrypted(t *testing.T) {
	e := newEnvironment(t)
	must(t, e.send(alice, a2a.Message{To: bob, Body: offer("an Unheard-of price", 424242)}, true))
	before, err := e.box(alice).Messages(t.Context(), mailbox.MessageFilter{})
	must(t, err)
	dir := e.box(alice).Dir()
	must(t, e.box(alice).MakeFirstLayout(t.Context()))
	if content, err := os.ReadFile(filepath.Join(dir, mailbox.FileName)); err != nil || !bytes.Contains(content, []byte("Unheard-of")) {
		t.Fatal("the first layout had plain text", err)
	}
	box, err := mailbox.Open(t.Context(), dir, alice, mailbox.Options{Keys: keysOf(1), File: boltfile.Options{MinFree: -1}})
	must(t, err)
	after, err := box.Messages(t.Context(), mailbox.MessageFilter{})
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v\n%v\n%v", before, after, err)
	}
	if info, _, err := box.Thread(t.Context(), before[0].ThreadID); err != nil || info.Thread.State != a2a.Offered {
		t.Errorf("%+v, %v", info, err)
	}
	wantNowhere(t, dir, "Unheard-of", "unheard-of", "42424")
}

// A rotated key takes over the mailbox once it is opened with the key before it, which then opens it
// no more.
func TestMailboxAfterRotation(t *testing.T) {
	dir := t.TempDir()
	open := func(numbers ...byte) error {
		box, err := mailbox.Open(t.Context(), dir, alice, mailbox.Options{Keys: keysOf(numbers...), File: boltfile.Options{MinFree: -1}})
		if err == nil {
			_, _, err = box.Thread(t.Context(), "1111")
		}
		return err
	}
	box, err := mailbox.Open(t.Context(), dir, alice, mailbox.Options{Keys: keysOf(1), File: boltfile.Options{MinFree: -1}})
	must(t, err)
	client := &a2ahttp.Client{From: alice, Key: keyOf(1), HTTP: &http.Client{Transport: taken{}}, Directory: &registry{url: "https://nobody.invalid", keys: map[string]ed25519.PrivateKey{alice: keyOf(1), bob: keyOf(2)}}}
	_, err = box.Send(t.Context(), client, a2a.Message{To: bob, ThreadID: "11111111-1111-4111-8111-111111111111", Body: offer("x", 1)}, a2ahttp.Options{})
	must(t, err)
	for _, step := range []struct {
		keys []byte
		want error
	}{{[]byte{7}, mailbox.ErrKey}, {[]byte{7, 8}, mailbox.ErrKey}, {[]byte{7, 1}, nil}, {[]byte{7}, nil}, {[]byte{1}, mailbox.ErrKey}, {[]byte{8, 7, 1}, nil}, {[]byte{8}, nil}} {
		if err := open(step.keys...); !errors.Is(err, step.want) {
			t.Errorf("keys %v: %v, want %v", step.keys, err, step.want)
		}
	}
	if _, err := box.Message(t.Context(), ""); !errors.Is(err, mailbox.ErrNotFound) { // one that was open all the time
		t.Error(err)
	}
	if _, err := mailbox.Open(t.Context(), t.TempDir(), alice, mailbox.Options{}); err == nil {
		t.Error("a mailbox was opened without a key")
	}
}

const childDir = "MAILBOX_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		writeForever(dir)
	}
	filetest.Main(m, mailbox.FileSubject)
}

// writeForever stores messages and prints the id of each that is stored.
func writeForever(dir string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	box, err := mailbox.Open(context.Background(), dir, alice, mailbox.Options{Keys: keysOf(1), File: boltfile.Options{MinFree: -1}})
	if err != nil {
		fail(err)
	}
	people := &registry{url: "https://nobody.invalid", keys: map[string]ed25519.PrivateKey{alice: keyOf(1), bob: keyOf(2)}}
	client := &a2ahttp.Client{From: alice, Key: keyOf(1), Directory: people, HTTP: &http.Client{Transport: taken{}}}
	for {
		sent, err := box.Send(context.Background(), client, a2a.Message{To: bob, Body: offer("x", 1)}, a2ahttp.Options{})
		if err != nil {
			fail(err)
		}
		fmt.Println(sent.Envelope.ID)
	}
}

// taken is an inbox that takes everything.
type taken struct{}

func (taken) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// TestKillTwoProcesses checks that after two processes that write to one mailbox are killed at any
// moment, it has every acknowledged message exactly once.
func TestKillTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent.mail")
	acknowledged := map[string]bool{}
	for round := range 3 {
		var group sync.WaitGroup
		var mu sync.Mutex
		for range 2 {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childDir+"="+dir)
			child.Stderr = os.Stderr
			out, err := child.StdoutPipe()
			must(t, err)
			must(t, child.Start())
			group.Go(func() {
				lines, n := bufio.NewScanner(out), 0
				for lines.Scan() {
					mu.Lock()
					acknowledged[lines.Text()] = true
					mu.Unlock()
					if n++; n == 3+round*4 {
						child.Process.Kill()
					}
				}
				if err := child.Wait(); child.ProcessState.ExitCode() != -1 {
					t.Errorf("a writer ended by itself: %v", err)
				}
			})
		}
		group.Wait()
	}
	box, err := mailbox.Open(t.Context(), dir, alice, mailbox.Options{Keys: keysOf(1), File: boltfile.Options{MinFree: -1}})
	must(t, err)
	messages, err := box.Messages(t.Context(), mailbox.MessageFilter{})
	must(t, err)
	delivered := 0
	for _, m := range messages {
		if m.Delivery == mailbox.Delivered {
			delivered++
			delete(acknowledged, m.ID)
		}
		if info, _, err := box.Thread(t.Context(), m.ThreadID); err != nil || info.Thread.State != a2a.Offered {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if len(acknowledged) > 0 || delivered < 20 {
		t.Errorf("%d that were acknowledged are lost; %d are there", len(acknowledged), delivered)
	}
}

// A process that keeps the mailbox is waited for, and not without end.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	_, err := mailbox.Open(t.Context(), dir, bob, mailbox.Options{Keys: keysOf(2)})
	must(t, err)
	held, err := boltfile.Open(t.Context(), dir, mailbox.Schema(), boltfile.Options{})
	must(t, err)
	defer held.Close()
	if _, err := mailbox.Open(t.Context(), dir, bob, mailbox.Options{Keys: keysOf(2), Patience: 30 * time.Millisecond}); !errors.Is(err, mailbox.ErrBusy) {
		t.Error(err)
	}
}

// A mailbox that must exist is not created; the remains of one count as one.
func TestExisting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent.mail")
	open := func(existing bool) error {
		_, err := mailbox.Open(t.Context(), dir, bob, mailbox.Options{Keys: keysOf(2), Existing: existing, File: boltfile.Options{MinFree: -1}})
		return err
	}
	if err := open(true); !errors.Is(err, mailbox.ErrNone) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it made the directory")
	}
	must(t, os.MkdirAll(filepath.Join(dir, "keys"), 0o700)) // as a rotation does before the first mail
	if err := open(true); !errors.Is(err, mailbox.ErrNone) {
		t.Error(err)
	}
	must(t, open(false))
	must(t, open(true))
	must(t, os.Remove(filepath.Join(dir, mailbox.FileName)))
	if _, damaged := errors.AsType[*boltfile.DamagedError](open(true)); !damaged {
		t.Error("a lost file is no missing mailbox:", open(true))
	}
}

func FuzzImport(f *testing.F) {
	f.Add("{}\n")
	f.Add(`{"id":"1","thread_id":"1","from":"` + bob + `","sent":true,"content":{"type":"Offer"}}` + "\n")
	f.Add(`{"id":"1","thread_id":"\u0000","to":"` + bob + `","refused":{"rule":"thread"}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		box, err := mailbox.Open(t.Context(), t.TempDir(), bob, mailbox.Options{Keys: keysOf(2), File: boltfile.Options{MinFree: -1}})
		must(t, err)
		_, err = box.Import(t.Context(), strings.NewReader(`{"format":"gazetteer-mailbox-1","owner":"`+bob+`"}`+"\n"+text))
		if err != nil && !errors.Is(err, mailbox.ErrImport) {
			t.Fatal(err)
		}
		if _, err := box.Messages(t.Context(), mailbox.MessageFilter{}); err != nil {
			t.Fatal(err)
		}
	})
}
