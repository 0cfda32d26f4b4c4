package resolve_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
	"gazetteer/registry/resolve"
)

// TestSenderWithNewKey checks that a signature by a key that is newer than the cached document counts,
// and that false signatures cause few requests.
func TestSenderWithNewKey(t *testing.T) {
	var served atomic.Pointer[[]byte]
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		serve(200, "application/json", *served.Load())(rw, r)
	})
	keyOf := func(seed byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32)) }
	multikey := func(seed byte) []byte { return []byte(did.FormatMultikey(keyOf(seed).Public().(ed25519.PublicKey))) }
	publish := func(seed byte) {
		text := bytes.ReplaceAll(document(asked), multikey(1), multikey(seed))
		served.Store(&text)
	}
	now := func() time.Time { return time.Unix(0, w.now.Load()) }
	verifier := a2a.Verifier{Now: now, Keys: a2a.DocumentKeys{Resolver: resolve.Directory{Resolver: w.resolver(t, nil)}}}
	verify := func(key ed25519.PrivateKey) int {
		t.Helper()
		e, err := a2a.Sign(a2a.Message{From: asked, To: asked, Timestamp: now(), Body: a2a.Withdraw{WithdrawnID: a2a.NewID()}}, a2a.Strict, key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = verifier.Verify(t.Context(), e.Text)
		if refused, ok := errors.AsType[*a2a.Refusal](err); ok {
			return refused.Status
		}
		if err != nil {
			t.Fatal(err)
		}
		return 200
	}
	publish(1)
	for _, step := range []struct {
		what     string
		after    time.Duration
		seed     byte
		status   int
		requests int64
	}{
		{"the first message", 0, 1, 200, 1},
		{"a new key at once", 5 * time.Second, 2, 401, 1},
		{"a new key", 6 * time.Second, 2, 200, 2},
		{"a key of a stranger", time.Second, 3, 401, 2},
		{"the new key again", time.Second, 2, 200, 2},
	} {
		w.now.Add(int64(step.after))
		if status := verify(keyOf(step.seed)); status != step.status || w.asked.Load() != step.requests {
			t.Errorf("%s: %d after %d requests, want %d after %d", step.what, status, w.asked.Load(), step.status, step.requests)
		}
		publish(2)
	}
}

func TestDirectory(t *testing.T) {
	status := http.StatusOK
	w := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/did+json")
		rw.WriteHeader(status)
		rw.Write(document(asked))
	})
	for code, unknown := range map[int]bool{http.StatusOK: false, http.StatusNotFound: true, http.StatusGone: true, http.StatusForbidden: true, http.StatusServiceUnavailable: false} {
		status = code
		var d a2ahttp.Directory = resolve.Directory{Resolver: w.resolver(t, nil)}
		document, err := d.Resolve(context.Background(), asked)
		if (err == nil) != (code == http.StatusOK) || errors.Is(err, a2a.ErrUnknownSender) != unknown || err == nil && document.ID != asked {
			t.Errorf("%d: %v", code, err)
		}
		if err == nil {
			before := w.asked.Load()
			d.Forget(asked)
			if _, err := d.Resolve(context.Background(), asked); err != nil || w.asked.Load() != before+1 {
				t.Errorf("after it was forgotten: %v, asked %d times", err, w.asked.Load()-before)
			}
		}
	}
	if _, err := (resolve.Directory{Resolver: w.resolver(t, nil)}).Resolve(context.Background(), "did:key:z6Mk"); !errors.Is(err, a2a.ErrUnknownSender) {
		t.Errorf("a DID of another method: %v", err)
	}
}
