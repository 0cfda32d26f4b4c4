package audit

import (
	"errors"
	"strings"
	"testing"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// TestPromise checks that the log includes a promised record with the promised hash. A changed
// promise, a promise of another key and a checkpoint are refused as promises. A halted log promises
// nothing.
func TestPromise(t *testing.T) {
	h := newFixture(t)
	seq, err := h.store.Apply(t.Context(), event(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.store.Get(t.Context(), eventKey(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := h.log.Promise(r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proof.ParsePromise(signed, h.verifier())
	if err != nil || p.Key != r.Key || p.Origin != origin || p.By.Sub(p.Issued) != promiseDelay {
		t.Errorf("%+v %v", p, err)
	}
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	e, err := h.log.Newest(t.Context(), r.Key)
	if err != nil || e.Hash != p.Leaf || tlog.RecordHash(e.Leaf) != p.Leaf {
		t.Errorf("the leaf has the hash %s, promised was %s, %v", e.Hash, p.Leaf, err)
	}
	other, err := note.NewVerifier(audittest.NewKey(t, origin).Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.ParsePromise(signed, other); err == nil {
		t.Error("a promise of another key was taken")
	}
	if _, err := proof.ParsePromise([]byte(strings.Replace(string(signed), "0001/", "0002/", 1)), h.verifier()); err == nil {
		t.Error("a changed promise was taken")
	}
	if _, err := proof.ParsePromise(h.checkpoint(), h.verifier()); err == nil {
		t.Error("a checkpoint was taken for a promise")
	}
	if _, err := checkpoint.Parse(signed, h.verifier()); err == nil {
		t.Error("a promise was taken for a checkpoint")
	}
	if _, err := h.log.Promise(store.Record{Key: "host/com.example"}); err == nil {
		t.Error("a record that becomes no leaf was promised")
	}
	h.log.Halt(CauseLock, errors.New("for the test"))
	if _, err := h.log.Promise(r); !errors.Is(err, ErrHalted) {
		t.Errorf("a halted log promises: %v", err)
	}
	h.shut()
}
