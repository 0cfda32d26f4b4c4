package audit_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/teststore"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/witness"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
)

// TestCosignersCosign checks that the cosigned tree becomes the anchor.
func TestCosignersCosign(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := teststore.Open(t, filepath.Join(dir, "store"))
	key, err := checkpoint.OpenKey(filepath.Join(dir, "log.key"), "registry.example/log")
	must(err)
	log, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	must(err)
	defer log.Close()
	logKey, err := checkpoint.NewVerifier(log.Key())
	must(err)
	other, err := checkpoint.OpenKey(filepath.Join(dir, "witness.key"), "witness.example")
	must(err)
	w, err := witness.Open(t.Context(), witness.Options{Dir: filepath.Join(dir, "witness"), Key: other, Logs: []note.Verifier{logKey}})
	must(err)
	defer w.Close()
	server := httptest.NewServer(audittest.ServeWitness(w))
	defer server.Close()

	cosigner, err := audit.ParseCosigner(other.PublicWitness() + " " + server.URL + "/")
	must(err)
	ours := audit.NewCosigners(log, []audit.Cosigner{cosigner})
	must(ours.AskAll(ctx)) // of an empty log there is nothing to cosign
	if s := ours.Status()[0]; !s.Answered.IsZero() {
		t.Errorf("no witness was asked, and %+v", s)
	}
	if _, err := audit.ParseCosigner(log.Key() + " " + server.URL); err == nil || !strings.Contains(err.Error(), "it is the key of a log; want that of a witness") {
		t.Errorf("the key of a log as a witness: %v", err)
	}
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
	if err := ours.AskAll(ctx); err == nil || !regexp.MustCompile(`^ask the witness witness.example: http://\S+/add-checkpoint does not answer: connection refused$`).MatchString(err.Error()) {
		t.Errorf("a witness that does not answer: %v", err)
	}
	if again, ok := ours.NewestAnchor(); !ok || again.Time != a.Time {
		t.Error("the anchor is gone with the witness")
	}
}

// TestLyingWitness checks that a witness cannot send our requests elsewhere, keep us busy or have
// a signature of another key accepted, neither as a cosigner nor as the lock.
func TestLyingWitness(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := teststore.Open(t, filepath.Join(dir, "store"))
	key, err := checkpoint.OpenKey(filepath.Join(dir, "log.key"), "registry.example/log")
	if err != nil {
		t.Fatal(err)
	}
	other, err := checkpoint.OpenKey(filepath.Join(dir, "witness.key"), "witness.example")
	if err != nil {
		t.Fatal(err)
	}
	operator := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the operator's listener is sent %s %s", r.Method, r.URL)
	}))
	defer operator.Close()
	endless := bytes.Repeat([]byte("\u2014 witness.example AAAA\n"), 1<<16)
	lies := map[string]http.HandlerFunc{
		"/temporary/": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, operator.URL+"/admin/compact", http.StatusTemporaryRedirect)
		},
		"/permanent/": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, operator.URL+"/admin/backup", http.StatusPermanentRedirect)
		},
		"/other/":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, operator.URL, http.StatusSeeOther) },
		"/endless/": func(w http.ResponseWriter, _ *http.Request) { w.Write(endless) },
		"/foreign/": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("\u2014 other.example AAAAAAAA\n")) },
		"/number/": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			w.Write([]byte("-1\n"))
		},
		"/upgrade/": switchProtocols,
		"/changing/": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusConflict)
			w.Write([]byte("1\n"))
		},
	}
	mux := http.NewServeMux()
	for path, lie := range lies {
		mux.Handle("POST "+path+"add-checkpoint", lie)
	}
	witness := httptest.NewServer(mux)
	defer witness.Close()

	log, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	following, stop := contextWithStop(t, log.Run)
	seq, err := s.Apply(ctx, store.Put("agent/AIR-0000-0000-0000/000001", []byte(`{"n": 1}`)))
	if err == nil {
		err = log.WaitFor(following, seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	var cosigners []audit.Cosigner
	for path := range lies {
		cosigner, err := audit.ParseCosigner(other.PublicWitness() + " " + witness.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		cosigners = append(cosigners, cosigner)
		c := audit.NewCosigners(log, []audit.Cosigner{cosigner})
		if err := c.AskAll(ctx); err == nil {
			t.Errorf("%s: no error", path)
		}
		if a, ok := c.NewestAnchor(); ok {
			t.Errorf("%s: the tree counts as cosigned: %+v", path, a)
		}
	}
	stop()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, lock := range cosigners { // it is asked when the log opens
		log, err := audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key, Lock: &lock})
		if err != nil {
			t.Fatalf("%s: %v", lock.URL, err)
		}
		if !log.Status().LockAnswered.IsZero() {
			t.Errorf("%s: the lock counts as held", lock.URL)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusalOfAWitnessIsASentence checks that the problem document of a witness is shown as its sentences,
// without the rest of it.
func TestRefusalOfAWitnessIsASentence(t *testing.T) {
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"type":"/openapi.json#/x-problems/no-name","title":"Nothing has this name","detail":"this witness does not know the log","help":"ask its operator"}`))
	}))
	defer witness.Close()
	dir := t.TempDir()
	s := teststore.Open(t, filepath.Join(dir, "store"))
	log, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: audittest.NewKey(t, "registry.example/log")})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	following, stop := contextWithStop(t, log.Run)
	defer stop()
	seq, err := s.Apply(t.Context(), store.Put("agent/AIR-0000-0000-0000/000001", []byte(`{"n": 1}`)))
	if err == nil {
		err = log.WaitFor(following, seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	cosigner, err := audit.ParseCosigner(audittest.NewKey(t, "witness.example").PublicWitness() + " " + witness.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = audit.NewCosigners(log, []audit.Cosigner{cosigner}).AskAll(t.Context())
	if want := "the answer is 404 Not Found: this witness does not know the log (ask its operator)"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q at the end", err, want)
	}
}

// TestSlowWitnessDelaysNoOther checks that a witness that never answers does not keep others from
// cosigning, and that one whose clock is wrong does not count.
func TestSlowWitnessDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	s, key := teststore.Open(t, filepath.Join(dir, "store")), audittest.NewKey(t, "registry.example/log")
	log, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	following, stop := contextWithStop(t, log.Run)
	defer stop()
	seq, err := s.Apply(t.Context(), store.Put("agent/AIR-0000-0000-0000/000001", []byte(`{"n": 1}`)))
	if err == nil {
		err = log.WaitFor(following, seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	witnesses := map[string]http.Handler{"silent.example": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})}
	keys := map[string]*checkpoint.Key{"silent.example": audittest.NewKey(t, "silent.example")}
	for name, now := range map[string]func() time.Time{"late.example": func() time.Time { return time.Now().AddDate(300, 0, 0) }, "good.example": time.Now} {
		keys[name] = audittest.NewKey(t, name)
		witnesses[name] = audittest.ServeWitness(audittest.OpenWitness(t, now, filepath.Join(dir, name), keys[name], key))
	}
	var cosigners []audit.Cosigner
	for _, name := range []string{"silent.example", "late.example", "good.example"} {
		server := httptest.NewServer(witnesses[name])
		defer server.Close()
		cosigner, err := audit.ParseCosigner(keys[name].PublicWitness() + " " + server.URL)
		if err != nil {
			t.Fatal(err)
		}
		cosigners = append(cosigners, cosigner)
	}
	all := audit.NewCosigners(log, cosigners)
	answered := make(chan error, 1)
	go func() { answered <- all.AskAll(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); !slices.ContainsFunc(all.Status(), func(s audit.WitnessStatus) bool { return !s.Answered.IsZero() }); {
		if time.Now().After(deadline) {
			t.Error("the good witness is not asked before the silent one has answered")
			break
		}
		runtime.Gosched()
	}
	for all.Status()[1].Asked.IsZero() && ctx.Err() == nil && !t.Failed() {
		runtime.Gosched()
	}
	cancel()
	if err := <-answered; err == nil || !strings.Contains(err.Error(), "1 of 3 witnesses have cosigned, and not: ask the witness silent.example: ") ||
		!strings.Contains(err.Error(), "late.example has cosigned with the time ") {
		t.Errorf("%v", err)
	}
	if a, _ := all.NewestAnchor(); a.Witness != "good.example" {
		t.Errorf("cosigned by %q", a.Witness)
	}
}

// switchProtocols answers 101 and nothing more. Such an answer has no end that a timeout could reach.
func switchProtocols(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: none\r\n\r\n")
	io.Copy(io.Discard, conn) // until the client closes it
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
