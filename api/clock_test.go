package api_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
)

// A setClock is a clock that a test sets ahead and back.
type setClock struct{ ahead atomic.Int64 }

func (c *setClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// set sets how far the clock is ahead.
func (c *setClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// TestReplaysAfterClockWasAhead checks that a request whose nonce was dropped while the clock was
// ahead is not accepted again after the clock is corrected; new requests are.
func TestReplaysAfterClockWasAhead(t *testing.T) {
	clock := &setClock{}
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.now}})
	a := registerProved(t, h, 1, "")
	id := a.CreatorDID + did.KeyFragment
	update := func(text string, o httpsig.SignOptions) bufferedResponse {
		t.Helper()
		return h.requestSigned(a.key, id, "PUT", a.path, `{"description": "`+text+`"}`, o)
	}
	first := httpsig.SignOptions{Nonce: "the-first-nonce", Created: time.Now()}
	if r := update("first", first); r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	clock.set(2 * time.Hour)
	if r := update("ahead", httpsig.SignOptions{Created: clock.now()}); r.StatusCode != http.StatusOK {
		t.Fatalf("while the clock is ahead: %s %s", r.Status, r.body)
	}
	clock.set(0)
	if r := update("first", first); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the first request again: %s %s", r.Status, r.body)
	}
	clock.set(2 * time.Second) // signatures have whole seconds
	if r := update("after", httpsig.SignOptions{Created: clock.now()}); r.StatusCode != http.StatusOK {
		t.Errorf("a new request: %s %s", r.Status, r.body)
	}
}

// TestOwnerSignsAfterClockWasAhead checks that an owner whose nonces were dropped while the clock was
// ahead can sign as soon as it is right, and that no request is accepted twice: not those of before, nor
// those of now, nor those of the time ahead when it comes.
func TestOwnerSignsAfterClockWasAhead(t *testing.T) {
	clock := &setClock{}
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.now}})
	a := registerProved(t, h, 1, "")
	id := a.CreatorDID + did.KeyFragment
	start := time.Now()
	year := 365 * 24 * time.Hour
	signed := map[time.Duration]httpsig.SignOptions{}
	put := func(ahead time.Duration, status int, o httpsig.SignOptions) {
		t.Helper()
		clock.set(ahead)
		if r := h.requestSigned(a.key, id, "PUT", a.path, `{"description": "at `+ahead.String()+`"}`, o); r.StatusCode != status {
			t.Errorf("%s ahead: %s %s", ahead, r.Status, r.body)
		}
	}
	write := func(ahead time.Duration) {
		t.Helper()
		signed[ahead] = httpsig.SignOptions{Nonce: "nonce-of-" + ahead.String(), Created: start.Add(ahead)}
		put(ahead, http.StatusOK, signed[ahead])
	}
	times := []time.Duration{10 * time.Second, year, year + 10*time.Minute, time.Minute, 20 * time.Minute}
	for _, ahead := range times { // ten minutes drop the nonces of before
		write(ahead)
	}
	for _, ahead := range append(times, 25*time.Minute) {
		for _, o := range signed {
			put(ahead, http.StatusUnauthorized, o)
		}
	}
	write(30 * time.Minute)
	put(year, http.StatusUnauthorized, signed[year])
}

// TestIdempotencyKeysAfterClockWasAhead checks that a key that was rotated while the clock was
// ahead is in use since now at the latest, and no interval ends before it begins.
func TestIdempotencyKeysAfterClockWasAhead(t *testing.T) {
	clock := &setClock{}
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.now}})
	a := registerProved(t, h, 1, "")
	rotate := func(seed int) {
		t.Helper()
		next := keyFromSeed(seed)
		x := registry.NewRotation(a.CreatorDID, a.key, next, "", clock.now())
		if r := h.request("POST", a.path+"/keys", rotationBody(t, x), "Content-Type", jsonType); r.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", r.Status, r.body)
		}
		a.key = next
	}
	check := func(when string, want int) {
		t.Helper()
		var keys airjson.KeysView
		decodeInto(t, h.get(a.path+"/keys", 200), &keys)
		if len(keys.Keys) != want {
			t.Fatalf("%s: %d keys, want %d", when, len(keys.Keys), want)
		}
		latest := clock.now().Add(time.Second)
		for i, k := range keys.Keys {
			from, until := parseTime(t, k.From), latest
			if k.Until != nil {
				until = parseTime(t, *k.Until)
			}
			if from.After(until) || until.After(latest) {
				t.Errorf("%s: key %d from %s until %s", when, i, from, until)
			}
		}
		if !strings.Contains(keys.Keys[0].PublicKeyMultibase, encodeMultikey(a.key)) {
			t.Errorf("%s: another key is in use", when)
		}
	}
	rotate(2)
	clock.set(1000 * time.Hour)
	rotate(3)
	rotate(4)
	check("ahead", 4)
	clock.set(2 * time.Second) // statements have whole seconds
	check("right again", 4)
	rotate(5)
	check("rotated again", 5)
	a = registerProved(t, h, 6, "")
	rotate(7)
	clock.set(-time.Hour)
	rotate(8)
	clock.set(0)
	check("rotated while it was behind", 3)
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
