package a2a_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// inbox is bob's, at a clock that the test sets.
func inbox(now *time.Time) *a2a.Receiver {
	r := &a2a.Receiver{Verifier: verifier(a2a.Strict), Store: &a2a.MemoryStore{}, Self: bob, Keys: []ed25519.PrivateKey{keyOf(bob)}}
	r.Now = func() time.Time { return *now }
	return r
}

func sign(t testing.TB, m a2a.Message) []byte {
	t.Helper()
	if m.From == "" {
		m.From = alice
	}
	if m.To == "" {
		m.To = bob
	}
	if m.Timestamp.IsZero() {
		m.Timestamp = noon
	}
	e, err := a2a.Sign(m, a2a.Wire, keyOf(m.From))
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

func reasonOf(err error) string {
	if r, ok := errors.AsType[*a2a.Refusal](err); ok {
		return fmt.Sprint(r.Status, " ", r.Reason)
	}
	return fmt.Sprint(err)
}

func TestReplay(t *testing.T) {
	ctx := context.Background()
	now := noon
	r := inbox(&now)
	first := a2a.Message{ID: a2a.NewID(), ThreadID: a2a.NewID(), Nonce: "n1", Body: offer(5)}
	envelope := sign(t, first)
	got, err := r.Receive(ctx, envelope, a2a.Arrival{})
	if err != nil || got.AlreadyProcessed || got.Thread.State != a2a.Offered {
		t.Fatalf("%+v, %v", got, err)
	}
	receive := func(name string, text []byte, d a2a.Arrival, want string) {
		t.Helper()
		got, err := r.Receive(ctx, text, d)
		verdict := reasonOf(err)
		if got.AlreadyProcessed {
			verdict = "already processed"
		}
		if verdict != want {
			t.Errorf("%s: %s, want %s", name, verdict, want)
		}
	}
	sameID, sameNonce := first, first
	sameID.Nonce, sameID.ThreadID, sameNonce.ID = "n2", a2a.NewID(), a2a.NewID()
	other := a2a.Message{ID: first.ID, From: carol, ThreadID: a2a.NewID(), Nonce: "n1", Body: offer(5)}
	pulled := a2a.Arrival{Pulled: true}
	receive("the same bytes", envelope, a2a.Arrival{}, "409 Replay")
	receive("the same bytes, pulled", envelope, pulled, "already processed")
	receive("the same id, another nonce", sign(t, sameID), a2a.Arrival{}, "409 Replay")
	receive("the same id, another nonce, pulled", sign(t, sameID), pulled, "409 Replay")
	receive("the same nonce, another id", sign(t, sameNonce), a2a.Arrival{}, "409 Replay")
	receive("another sender's id and nonce", sign(t, other), a2a.Arrival{}, "<nil>")
	// Hours later, a relay delivers unacknowledged mail again.
	now = noon.Add(48 * time.Hour)
	receive("the same bytes, later", envelope, a2a.Arrival{}, "409 Stale Timestamp")
	receive("the same bytes, pulled later", envelope, pulled, "already processed")
	receive("not seen before, pulled later", sign(t, a2a.Message{Body: offer(5)}), pulled, "409 Stale Timestamp")
	now = noon.Add(31 * 24 * time.Hour)
	receive("when the window is over", envelope, pulled, "409 Stale Timestamp")
}

// A message that its thread refuses is remembered as one that was seen.
func TestThreadRefusals(t *testing.T) {
	ctx := context.Background()
	now := noon
	r := inbox(&now)
	thread := a2a.NewID()
	envelope := sign(t, a2a.Message{ThreadID: thread, InReplyTo: a2a.NewID(), Body: counter(4)})
	_, err := r.Receive(ctx, envelope, a2a.Arrival{})
	if why, _ := errors.AsType[*a2a.Refusal](err); reasonOf(err) != "409 Conflict" || why.ThreadID != thread {
		t.Errorf("%v", err)
	}
	if _, err := r.Receive(ctx, envelope, a2a.Arrival{}); reasonOf(err) != "409 Replay" {
		t.Errorf("again: %v", err)
	}
	if got, err := r.Receive(ctx, envelope, a2a.Arrival{Pulled: true}); err != nil || !got.AlreadyProcessed {
		t.Errorf("again, pulled: %v", err)
	}
	if _, err := r.Receive(ctx, sign(t, a2a.Message{To: carol, Body: offer(1)}), a2a.Arrival{}); reasonOf(err) != "400 Bad Request" {
		t.Errorf("to another inbox: %v", err)
	}
}

// The window refuses when it is full, and only the sender who filled it.
func TestReplayWindowIsBounded(t *testing.T) {
	ctx := context.Background()
	s := &a2a.MemoryStore{PerThread: 3, PerSender: 5}
	add := func(from, thread, nonce string, at time.Time) a2a.ReplayState {
		t.Helper()
		e := a2a.ReplayEntry{From: from, ID: "id" + thread + nonce, ThreadID: thread, Nonce: nonce, Digest: [32]byte{byte(len(nonce))}, Seen: at, Until: at.Add(time.Minute)}
		state, err := s.Commit(ctx, e, thread, nil)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	for i := range 3 {
		if state := add("a", "t", fmt.Sprint(i), noon); state != a2a.Fresh {
			t.Fatalf("%d: %d", i, state)
		}
	}
	if state := add("a", "t", "3", noon); state != a2a.Full {
		t.Errorf("a fourth in the thread: %d", state)
	}
	if state := add("b", "t", "3", noon); state != a2a.Fresh {
		t.Errorf("another sender in the thread: %d", state)
	}
	add("a", "u", "1", noon)
	add("a", "u", "2", noon)
	if state := add("a", "v", "1", noon); state != a2a.Full {
		t.Errorf("a sixth of the sender: %d", state)
	}
	if state := add("a", "t", "0", noon); state != a2a.Repeated {
		t.Errorf("a repetition while it is full: %d", state)
	}
	if state := add("a", "t", "0", noon.Add(61*time.Second)); state != a2a.Fresh {
		t.Errorf("after the time is over: %d", state)
	}
}

func TestWindowExhausted(t *testing.T) {
	now := noon
	r := inbox(&now)
	r.Store = &a2a.MemoryStore{PerThread: 1}
	r.Profile = a2a.Wire
	thread := a2a.NewID()
	for i, want := range []string{"<nil>", "429 Replay Window Exhausted"} {
		text := a2a.Message{ThreadID: thread, Body: a2a.Other{Kind: "text", JSON: []byte(`{"type":"text"}`)}}
		_, err := r.Receive(context.Background(), sign(t, text), a2a.Arrival{})
		if why, _ := errors.AsType[*a2a.Refusal](err); reasonOf(err) != want || i == 1 && why.ThreadID != thread {
			t.Errorf("%d: %v, want %s", i, err, want)
		}
	}
}

// TestReplayKeysAreInjective checks that two entries never have the same key, even if their texts
// are equal when joined.
func TestReplayKeysAreInjective(t *testing.T) {
	ctx := context.Background()
	var s a2a.MemoryStore
	for _, e := range []a2a.ReplayEntry{{From: "a", ID: "1", ThreadID: "bc", Nonce: "d"}, {From: "a", ID: "2", ThreadID: "b", Nonce: "cd"}, {From: "ab", ID: "1", ThreadID: "c", Nonce: "d"}, {From: "a", ID: "b1", ThreadID: "\x00", Nonce: ""}} {
		if state, err := s.Commit(ctx, e, "", nil); err != nil || state != a2a.Fresh {
			t.Errorf("%+v: %d, %v", e, state, err)
		}
	}
}

func TestReceipts(t *testing.T) {
	ctx := context.Background()
	relay := seeded(20)
	envelope := sign(t, a2a.Message{Body: offer(5)})
	e := mustRead(t, envelope)
	received := noon.Add(299 * time.Second)
	receipt := a2a.NewReceipt("did:web:relay.example", e, received).Sign(relay)
	read, err := a2a.ReadReceipt(receipt)
	if err != nil || !read.ReceivedAt.Equal(received) || read.Relay != "did:web:relay.example" || read.Verify(e, relay.Public().(ed25519.PublicKey)) != nil {
		t.Fatalf("%s: %+v, %v", receipt, read, err)
	}
	tests := map[string]struct {
		receipt []byte
		after   time.Duration
		key     ed25519.PrivateKey
		want    string
	}{
		"none":                  {nil, 24 * time.Hour, relay, "409 Stale Timestamp"},
		"a day later":           {receipt, 24 * time.Hour, relay, "<nil>"},
		"of another relay":      {receipt, 24 * time.Hour, seeded(21), "401 Bad Signature"},
		"received too late":     {a2a.NewReceipt("r", e, noon.Add(301*time.Second)).Sign(relay), 24 * time.Hour, relay, "409 Stale Timestamp"},
		"of a time to come":     {receipt, 0, relay, "401 Bad Signature"},
		"of another envelope":   {a2a.NewReceipt("r", mustRead(t, sign(t, a2a.Message{Body: offer(6)})), received).Sign(relay), 24 * time.Hour, relay, "401 Bad Signature"},
		"changed":               {slices.Concat(receipt[:len(receipt)-1], []byte(`,"x":1}`)), 24 * time.Hour, relay, "401 Bad Signature"},
		"no JSON":               {[]byte("x"), 24 * time.Hour, relay, "401 Bad Signature"},
		"an envelope":           {envelope, 24 * time.Hour, relay, "401 Bad Signature"},
		"no key to verify with": {receipt, 24 * time.Hour, nil, "401 Bad Signature"},
	}
	for name, tt := range tests {
		now := noon.Add(tt.after)
		r := inbox(&now)
		if tt.key != nil {
			r.RelayKey = tt.key.Public().(ed25519.PublicKey)
		}
		if _, err := r.Receive(ctx, envelope, a2a.Arrival{Pulled: true, Receipt: tt.receipt}); reasonOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// TestReceiptsOfABatch checks that each receipt of a batch is valid for its own envelope only, and
// that no changed receipt is valid.
func TestReceiptsOfABatch(t *testing.T) {
	key := seeded(20)
	public := key.Public().(ed25519.PublicKey)
	var envelopes []*a2a.Envelope
	var unsigned []a2a.UnsignedReceipt
	for size := 1; size <= 20; size++ {
		e := mustRead(t, sign(t, a2a.Message{Body: offer(uint64(size))}))
		envelopes = append(envelopes, e)
		unsigned = append(unsigned, a2a.NewReceipt("did:web:relay.example", e, noon).Prepare())
		batch := a2a.SignReceipts(unsigned, key)
		for i := range unsigned {
			text := batch.Receipt(i)
			if canonical, err := jcs.Canonicalize(text, jcs.Options{Numbers: jcs.ExactIntegers}); err != nil || !bytes.Equal(canonical, text) {
				t.Errorf("%d of %d is not canonical: %v: %s", i, size, err, text)
			}
			r, err := a2a.ReadReceipt(text)
			if err != nil || r.Verify(envelopes[i], public) != nil || !r.ReceivedAt.Equal(noon) || r.Relay != "did:web:relay.example" {
				t.Fatalf("%d of %d: %v, %v: %s", i, size, err, r.Verify(envelopes[i], public), text)
			}
			if r.Verify(envelopes[(i+1)%size], public) == nil && size > 1 {
				t.Errorf("%d of %d counts for another envelope", i, size)
			}
		}
	}
	text := string(a2a.SignReceipts(unsigned[:7], key).Receipt(2))
	alone := string(a2a.NewReceipt("did:web:relay.example", envelopes[2], noon).Sign(key))
	signature := regexp.MustCompile(`"signature":"[^"]*"`)
	hashes := regexp.MustCompile(`"[0-9a-f]{64}"`).FindAllString(text, 3)
	for name, changed := range map[string]string{
		"another index":             strings.Replace(text, `"index":2`, `"index":3`, 1),
		"another size":              strings.Replace(text, `"size":7`, `"size":8`, 1),
		"index beyond the size":     strings.Replace(text, `"index":2`, `"index":7`, 1),
		"an index that is negative": strings.Replace(text, `"index":2`, `"index":-2`, 1),
		"an index of text":          strings.Replace(text, `"index":2`, `"index":"2"`, 1),
		"another hash":              strings.Replace(text, hashes[0], `"`+strings.Repeat("0", 64)+`"`, 1),
		"a short hash":              strings.Replace(text, hashes[0], hashes[0][:63]+`"`, 1),
		"a hash less":               strings.Replace(text, hashes[0]+",", "", 1),
		"a hash more":               strings.Replace(text, hashes[0], hashes[0]+","+hashes[0], 1),
		"hashes in another order":   strings.Replace(text, hashes[0]+","+hashes[1], hashes[1]+","+hashes[0], 1),
		"no batch":                  regexp.MustCompile(`"batch":.*?},`).ReplaceAllString(text, ""),
		"a batch that is null":      regexp.MustCompile(`"batch":.*?},`).ReplaceAllString(text, `"batch":null,`),
		"a path that is no list":    regexp.MustCompile(`"path":.*?],`).ReplaceAllString(text, `"path":{},`),
		"the other format":          strings.Replace(text, "A2ABatchReceipt", "A2AReceipt", 1),
		"of another relay":          strings.Replace(text, "relay.example", "other.example", 1),
		"another time":              strings.Replace(text, `"received_at":"2`, `"received_at":"3`, 1),
		"one more member":           strings.Replace(text, `{`, `{"added":1,`, 1),
		"signed alone":              signature.ReplaceAllString(text, signature.FindString(alone)),
		"alone, signed in a batch":  signature.ReplaceAllString(alone, signature.FindString(text)),
	} {
		if changed == text || changed == alone {
			t.Fatalf("%s: nothing changed", name)
		}
		r, err := a2a.ReadReceipt([]byte(changed))
		if err == nil {
			err = r.Verify(envelopes[2], public)
		}
		if reasonOf(err) != "401 Bad Signature" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A negotiation whose bodies only the two can read.
func TestSealedNegotiation(t *testing.T) {
	ctx := context.Background()
	now := noon
	r := inbox(&now)
	public := keyOf(bob).Public().(ed25519.PublicKey)
	m := a2a.Message{From: alice, To: bob, Timestamp: noon, Body: offer(5)}
	if err := m.Seal(public); err != nil {
		t.Fatal(err)
	}
	got, err := r.Receive(ctx, sign(t, m), a2a.Arrival{})
	if err != nil || got.Opened == nil || !got.Opened.Canonical || got.Opened.Body.(a2a.Offer).Price != usd(5) || got.Thread.State != a2a.Offered {
		t.Fatalf("%+v, %v", got, err)
	}
	// To the key that bob had before.
	old, current := seeded(30), keyOf(bob)
	m = a2a.Message{From: alice, To: bob, Timestamp: noon, Body: offer(5)}
	if err := m.Seal(old.Public().(ed25519.PublicKey)); err != nil {
		t.Fatal(err)
	}
	envelope := sign(t, m)
	if _, err := r.Receive(ctx, envelope, a2a.Arrival{}); reasonOf(err) != "400 Bad Request" || !errors.Is(err, a2a.ErrNotOpened) {
		t.Errorf("to another key: %v", err)
	}
	r.Rotated = true
	if _, err := r.Receive(ctx, envelope, a2a.Arrival{}); reasonOf(err) != "403 Stale Key" {
		t.Errorf("to an older key: %v", err)
	} else if why, _ := errors.AsType[*a2a.Refusal](err); why.AirID != "AIR-B0B0-B0B0-B0B0" {
		t.Errorf("%+v", why)
	}
	r.Keys = []ed25519.PrivateKey{current, old}
	if got, err := r.Receive(ctx, envelope, a2a.Arrival{}); err != nil || got.Thread.State != a2a.Offered {
		t.Errorf("with the retired key: %v", err)
	}
	// A recipient without keys keeps the box closed.
	r = inbox(&now)
	r.Keys = nil
	if got, err := r.Receive(ctx, envelope, a2a.Arrival{}); err != nil || got.Opened != nil || got.Thread.State != "" {
		t.Errorf("without keys: %+v, %v", got, err)
	}
}

func TestSignedFields(t *testing.T) {
	for name, m := range map[string]a2a.Message{
		"no body":         {From: alice, To: bob},
		"no sender":       {To: bob, Body: offer(1)},
		"not UTF-8":       {From: alice, To: bob, InReplyTo: a2a.NewID(), Body: a2a.Decline{Reason: "\xff"}},
		"too long":        {From: alice, To: bob, Body: a2a.Offer{Description: string(make([]byte, 70000)), Price: usd(1)}},
		"no currency":     {From: alice, To: bob, InReplyTo: a2a.NewID(), Body: a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 1}}},
		"a float":         {From: alice, To: bob, Body: a2a.Other{Kind: "x", JSON: []byte(`{"type":"x","y":1.5}`)}},
		"no JSON":         {From: alice, To: bob, Body: a2a.Other{Kind: "x", JSON: []byte(`{"type":"x"`)}},
		"a smuggled name": {From: alice, To: bob, Body: a2a.Other{Kind: "x", JSON: []byte(`{"type":"x"},"id":"y"`)}},
		"answers none":    {From: alice, To: bob, Body: a2a.Accept{AcceptedPrice: usd(1)}},
		"counters none":   {From: alice, To: bob, Body: counter(1)},
		"declines none":   {From: alice, To: bob, Body: a2a.Decline{}},
		"withdraws none":  {From: alice, To: bob, Body: a2a.Withdraw{}},
	} {
		if e, err := a2a.Sign(m, a2a.Strict, keyOf(alice)); err == nil {
			t.Errorf("%s is signed: %s", name, e.Text)
		}
		if strings.HasSuffix(name, "s none") && m.Body.Type() != a2a.TypeWithdraw { // §8.1, in either profile
			_, err := a2a.Sign(m, a2a.Wire, keyOf(alice))
			if sealErr := m.Seal(keyOf(bob).Public().(ed25519.PublicKey)); statusOf(err) != 400 || statusOf(sealErr) != 400 {
				t.Errorf("%s: signed: %v, sealed: %v", name, err, sealErr)
			}
		}
	}
	if _, err := a2a.Sign(a2a.Message{From: alice, To: bob, Body: offer(1)}, a2a.Strict, nil); err == nil {
		t.Error("signed without a key")
	}
	for _, body := range []a2a.Body{offer(1<<64 - 1), counter(0), a2a.Accept{AcceptedPrice: usd(3)}, a2a.Decline{}, a2a.Decline{Reason: "\"quoted\"\n"}, a2a.Withdraw{WithdrawnID: a2a.NewID()}, a2a.Withdraw{WithdrawnID: a2a.NewID(), Reason: "예"}} {
		e, err := a2a.Sign(a2a.Message{From: alice, To: bob, InReplyTo: a2a.NewID(), Body: body}, a2a.Strict, keyOf(alice))
		if err != nil || fmt.Sprint(e.Body) != fmt.Sprint(body) {
			t.Errorf("%#v becomes %#v, %v", body, e, err)
		}
		if canonical, err := did.ParseSignature(e.Signature); err != nil || len(canonical) != 64 {
			t.Error(err)
		}
	}
}
