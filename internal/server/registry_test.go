package server

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"gazetteer/registry/audit"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

func TestRegistriesAndWitnessesAreRead(t *testing.T) {
	bases, err := parseRegistries([]string{"agents.example=https://registry.example", "b.example:8443=https://c.example/sub"})
	if err != nil || len(bases) != 2 || bases["b.example:8443"] != "https://c.example/sub" {
		t.Errorf("%v, %v", bases, err)
	}
	for _, line := range []string{"agents.example", "=https://registry.example", "agents.example=http://registry.example"} {
		if _, err := parseRegistries([]string{line}); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"", "key", "key https://witness.example", "key ftp://witness.example", "a b c"} {
		if _, err := parseCosigners([]string{line}, nil); err == nil || !strings.Contains(err.Error(), "registry.witnesses") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestWitnessesCosign: what a witness has cosigned is the anchor.
func TestWitnessesCosign(t *testing.T) {
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
	key, err := audit.OpenKey(filepath.Join(dir, "log.key"), "registry.example/log")
	must(err)
	log, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	must(err)
	defer log.Close()
	logKey, err := audit.NewVerifier(log.Key())
	must(err)
	other, err := audit.OpenKey(filepath.Join(dir, "witness.key"), "witness.example")
	must(err)
	w, err := audit.OpenWitness(audit.WitnessOptions{Dir: filepath.Join(dir, "witness"), Key: other, Logs: []note.Verifier{logKey}})
	must(err)
	defer w.Close()
	server := httptest.NewServer(w.Handler())
	defer server.Close()

	ours, err := parseCosigners([]string{other.PublicWitness() + " " + server.URL + "/"}, log)
	must(err)
	must(ours.askAll(ctx)) // of an empty log there is nothing to cosign
	if ours.newestAnchor() != nil {
		t.Errorf("an empty log is anchored: %+v", ours.newestAnchor())
	}

	following, stop := contextWithStop(t, log.Run)
	defer stop()
	seq, err := s.Apply(ctx, store.Put("agent/AIR-0000-0000-0000/000001", []byte(`{"n": 1}`)))
	must(err)
	must(log.WaitFor(following, seq))
	must(ours.askAll(ctx))
	a := ours.newestAnchor()
	if a == nil || a.EntryCount != 1 || a.Witness != "witness.example" || a.AnchoredAt == "" || !strings.Contains(a.Checkpoint, "— witness.example ") {
		t.Errorf("%+v", a)
	}
	server.Close()
	if err := ours.askAll(ctx); err == nil || !strings.Contains(err.Error(), "witness witness.example: ") {
		t.Errorf("a witness that does not answer: %v", err)
	}
	if ours.newestAnchor() != a {
		t.Error("the anchor is gone with the witness")
	}
	if ours.publishFunc() == nil {
		t.Error("the operator cannot ask the witnesses")
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
