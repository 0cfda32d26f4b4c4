package audit_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"golang.org/x/mod/sumdb/note"
)

// TestCosignersCosign: the cosigned tree is the anchor.
func TestCosignersCosign(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := boltstore.Open(ctx, filepath.Join(dir, "store"), boltstore.Options{MinFree: -1})
	must(err)
	defer s.Close()
	key, err := checkpoint.OpenKey(filepath.Join(dir, "log.key"), "registry.example/log")
	must(err)
	log, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	must(err)
	defer log.Close()
	logKey, err := checkpoint.NewVerifier(log.Key())
	must(err)
	other, err := checkpoint.OpenKey(filepath.Join(dir, "witness.key"), "witness.example")
	must(err)
	w, err := audit.OpenWitness(audit.WitnessOptions{Dir: filepath.Join(dir, "witness"), Key: other, Logs: []note.Verifier{logKey}})
	must(err)
	defer w.Close()
	server := httptest.NewServer(w.Handler())
	defer server.Close()

	cosigner, err := audit.ParseCosigner(other.PublicWitness() + " " + server.URL + "/")
	must(err)
	ours := audit.NewCosigners(log, []audit.Cosigner{cosigner})
	must(ours.AskAll(ctx)) // of an empty log there is nothing to cosign
	if a, ok := ours.NewestAnchor(); ok {
		t.Errorf("an empty log is anchored: %+v", a)
	}

	following, stop := contextWithStop(t, log.Run)
	defer stop()
	seq, err := s.Apply(ctx, store.Put("agent/AIR-0000-0000-0000/000001", []byte(`{"n": 1}`)))
	must(err)
	must(log.WaitFor(following, seq))
	must(ours.AskAll(ctx))
	a, ok := ours.NewestAnchor()
	if !ok || a.Checkpoint.N != 1 || a.Witness != "witness.example" || a.Time.IsZero() || !strings.Contains(string(a.Signed), "— witness.example ") {
		t.Errorf("%+v", a)
	}
	server.Close()
	if err := ours.AskAll(ctx); err == nil || !strings.Contains(err.Error(), "witness witness.example: ") {
		t.Errorf("a witness that does not answer: %v", err)
	}
	if again, ok := ours.NewestAnchor(); !ok || again.Time != a.Time {
		t.Error("the anchor is gone with the witness")
	}
}

// contextWithStop runs until stop is called, which waits for its end.
func contextWithStop(t *testing.T, run func(context.Context) error) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return ctx, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
