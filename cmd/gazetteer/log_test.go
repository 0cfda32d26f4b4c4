package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/need"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/witness"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/note"
)

// makeLog is a command of the scripts: it makes a log of so many leaves, one of
// them erased, in DIR/log, exports it to DIR/export, keeps an older checkpoint,
// a proof and its leaf, and the key of a witness that has cosigned the export;
// and serves the log at the address in LOG until the script ends.
func makeLog(ts *testscript.TestScript, neg bool, args []string) {
	var leaves int
	if neg || len(args) != 2 {
		ts.Fatalf("usage: make-log DIR LEAVES")
	}
	_, err := fmt.Sscan(args[1], &leaves)
	ts.Check(err)
	l, closeLog, err := newLog(ts.MkAbs(args[0]), leaves)
	ts.Check(err)
	server := httptest.NewServer(http.StripPrefix("/log", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.Answer(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
	})))
	ts.Setenv("LOG", server.URL+"/log")
	ts.Setenv("SERVER", server.URL)
	ts.Defer(func() {
		server.Close()
		ts.Check(closeLog())
	})
}

// keepsakeTime is the clock of the log and of its witness, which must agree.
func keepsakeTime() time.Time { return time.Unix(1772625845, 0) }

// newLog makes what makeLog promises.
func newLog(dir string, leaves int) (l *audit.Log, closeAll func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	s, err := boltstore.Open(ctx, filepath.Join(dir, "store"), boltstore.Options{MinFree: -1})
	if err != nil {
		return nil, nil, err
	}
	key, err := checkpoint.OpenKey(filepath.Join(dir, "secret"), "registry.test/log")
	if err != nil {
		return nil, nil, err
	}
	if l, err = audit.Open(ctx, audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key, Now: keepsakeTime}); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	closeAll = func() error {
		cancel()
		if err := <-ended; err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		return s.Close()
	}
	apply := func(writes ...store.Write) error {
		seq, err := s.Apply(ctx, writes...)
		if err != nil {
			return err
		}
		return l.WaitFor(ctx, seq)
	}
	if err := apply(store.Put("agent/AIR-7F3K-M9JQ-X2PW/000000", []byte(`{"event":"registered"}`))); err != nil {
		return nil, nil, err
	}
	older, err := l.Checkpoint()
	if err != nil {
		return nil, nil, err
	}
	var writes []store.Write
	for n := 1; n < leaves-1; n++ {
		writes = append(writes, store.Put(fmt.Sprintf("agent/AIR-7F3K-M9JQ-X2PW/%06d", n), fmt.Appendf(nil, `{"event":"updated","n":%d}`, n)))
	}
	if err := apply(writes...); err != nil {
		return nil, nil, err
	}
	if err := apply(store.Delete("agent/AIR-7F3K-M9JQ-X2PW/000001")); err != nil {
		return nil, nil, err
	}
	files, err := keepsakes(ctx, l, dir, key, int64(leaves)*2/3)
	if err != nil {
		return nil, nil, err
	}
	files["older"] = older
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, nil, err
		}
	}
	return l, closeAll, audittest.WriteMirror(ctx, l.File, l.Head().N, filepath.Join(dir, "export"))
}

// keepsakes are what somebody keeps of a log: a proof, its leaf, and keys.
func keepsakes(ctx context.Context, l *audit.Log, dir string, key *checkpoint.Key, index int64) (map[string][]byte, error) {
	witnessKey, err := checkpoint.OpenKey(filepath.Join(dir, "witness-secret"), "witness.test/w1")
	if err != nil {
		return nil, err
	}
	verifier, err := checkpoint.NewVerifier(key.Public())
	if err != nil {
		return nil, err
	}
	w, err := witness.Open(ctx, witness.Options{Dir: filepath.Join(dir, "witness"), Key: witnessKey, Logs: []note.Verifier{verifier}, Now: keepsakeTime})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	server := httptest.NewServer(audittest.ServeWitness(w))
	defer server.Close()
	cosigner, err := checkpoint.NewVerifier(witnessKey.PublicWitness())
	if err != nil {
		return nil, err
	}
	if err := l.Cosign(ctx, server.Client(), server.URL, cosigner); err != nil {
		return nil, err
	}
	signed, err := l.Checkpoint()
	if err != nil {
		return nil, err
	}
	p, err := l.Prove(ctx, index, l.Head().N)
	if err != nil {
		return nil, err
	}
	e, err := l.Entry(ctx, index)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"proof": p.Text(signed), "leaf": e.Leaf, "key": []byte(l.Key() + "\n"), "witness-key": []byte(witnessKey.PublicWitness() + "\n")}, nil
}

// TestLogByShell runs the lines of docs/log.md that check a proof with nothing
// but a shell, base64 and openssl.
func TestLogByShell(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "openssl", "base64", "sed"} {
		need.Program(t, tool)
	}
	page, err := os.ReadFile("../../docs/log.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- tested: TestLogByShell -->\n```sh\n")
	lines, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/log.md has no lines for the shell")
	}
	for _, leaves := range []int{3, 8, 300} {
		dir := t.TempDir()
		_, closeLog, err := newLog(dir, leaves)
		if err != nil {
			t.Fatal(err)
		}
		if err := closeLog(); err != nil {
			t.Fatal(err)
		}
		run := func() string {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", lines)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput()
			return string(out)
		}
		const inTree, signed = "the leaf is in the tree\n", "Signature Verified Successfully\n"
		if out := run(); out != inTree+signed {
			t.Errorf("%d leaves: %s", leaves, out)
		}
		leaf := filepath.Join(dir, "leaf")
		content, err := os.ReadFile(leaf)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(leaf, append(content, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := run(); strings.Contains(out, inTree) || !strings.Contains(out, signed) {
			t.Errorf("%d leaves, another leaf: %s", leaves, out)
		}
		proof := filepath.Join(dir, "proof")
		content, err = os.ReadFile(proof)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(proof, []byte(strings.Replace(string(content), fmt.Sprintf("\n%d\n", leaves), fmt.Sprintf("\n%d\n", leaves+1), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := run(); strings.Contains(out, signed) {
			t.Errorf("%d leaves, another size: %s", leaves, out)
		}
	}
}
