package witness_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/witness"

	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// TestCosignature checks the form of a cosignature by hand and with the library
// of the public witnesses.
func TestCosignature(t *testing.T) {
	s, key := audittest.NewTree(t, "other.example/log"), audittest.NewKey(t, "witness.example/w1")
	w := audittest.OpenWitness(t, atNoon, filepath.Join(t.TempDir(), "w"), key, s.Key)
	signed := s.Grow(5, "a")
	line, err := w.Add(t.Context(), s.Request(0, 5, signed))
	if err != nil {
		t.Fatal(err)
	}
	cosigned := append(bytes.Clone(signed), line...)

	theirs, err := formats.NewVerifierForCosignatureV1(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := note.Open(cosigned, note.VerifierList(theirs)); err != nil || len(n.Sigs) != 1 || n.Sigs[0].Name != "witness.example/w1" {
		t.Errorf("the library refuses it: %+v, %v", n, err)
	}
	ours, err := checkpoint.NewVerifier(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	if at, err := checkpoint.CheckCosignature(cosigned, ours); err != nil || !at.Equal(noon) {
		t.Errorf("cosigned at %v, error %v", at, err)
	}
	if _, err := checkpoint.CheckCosignature(signed, ours); err == nil || !strings.Contains(err.Error(), "is not cosigned by witness.example/w1") {
		t.Errorf("without: %v", err)
	}
	if c, err := checkpoint.Parse(cosigned, s.Key.Verifier()); err != nil || c.N != 5 {
		t.Errorf("the log's own signature: %v", err)
	}

	text, _, _ := strings.Cut(string(signed), "\n\n")
	parts := strings.Fields(string(line))
	data, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(data) != 4+8+64 || binary.BigEndian.Uint64(data[4:]) != uint64(noon.Unix()) {
		t.Fatalf("the line is %q", line)
	}
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s\n", noon.Unix(), text)
	_, public, _ := strings.Cut(key.Public(), "+")
	_, public, _ = strings.Cut(public, "+")
	typed, err := base64.StdEncoding.DecodeString(public)
	if err != nil || !ed25519.Verify(typed[1:], []byte(message), data[12:]) {
		t.Error("the signature is not one of the message that the specification has")
	}
	damaged := append(bytes.Clone(signed), bytes.Replace(line, []byte(parts[2]), []byte(base64.StdEncoding.EncodeToString(append(data[:4:4], append([]byte{0, 0, 0, 0, 0, 0, 0, 1}, data[12:]...)...))), 1)...)
	if _, err := checkpoint.CheckCosignature(damaged, ours); err == nil || !strings.Contains(err.Error(), "is invalid") {
		t.Errorf("with another time: %v", err)
	}
}

// TestAdd sends a witness all kinds of requests.
func TestAdd(t *testing.T) {
	s, key, dir := audittest.NewTree(t, "other.example/log"), audittest.NewKey(t, "witness.example/w1"), filepath.Join(t.TempDir(), "w")
	w := audittest.OpenWitness(t, atNoon, dir, key, s.Key)
	add := func(request []byte) error {
		t.Helper()
		_, err := w.Add(t.Context(), request)
		return err
	}
	refused := func(name string, request []byte, status int, size int64, says string) {
		t.Helper()
		var e *witness.Refusal
		if err := add(request); !errors.As(err, &e) || e.Status != status || e.Size != size || !strings.Contains(e.Problem, says) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	at5, at9, at20 := s.Grow(5, "a"), s.Grow(9, "a"), s.Grow(20, "a")
	refused("a proof from nothing", append([]byte("old 0\n"+s.Hashes[0].String()+"\n\n"), at5...), 422, 0, "from size 0 a proof has no hashes")
	refused("from a size that it never had", s.Request(4, 5, at5), 409, 0, "has size 0, not 4")
	if err := add(s.Request(0, 5, at5)); err != nil {
		t.Fatal(err)
	}
	if err := add(s.Request(5, 5, at5)); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := add(s.Request(5, 20, at20)); err != nil {
		t.Fatal(err)
	}
	refused("an older one", s.Request(5, 9, at9), 409, 20, "has size 20, not 5")
	refused("an older one, as if it were newer", s.Request(20, 9, at9), 400, 0, "the old size 20 is greater than the checkpoint's, 9")

	fork := audittest.NewTree(t, "other.example/log")
	fork.Key = s.Key
	fork.Grow(15, "a")
	other20, other30 := fork.Grow(20, "b"), fork.Grow(30, "b")
	refused("another tree of that size", fork.Request(20, 20, other20), 409, 20, "the log contradicts itself")
	refused("a tree that left the path", fork.Request(20, 30, other30), 422, 0, "does not lead from the tree of 20 leaves")
	at30 := s.Grow(30, "a")
	refused("a proof of another tree", fork.Request(20, 30, at30), 422, 0, "does not lead")
	refused("no proof", s.Request(30, 30, at30)[:0:0], 400, 0, "no empty line")
	refused("an empty proof", append([]byte("old 20\n\n"), at30...), 422, 0, "does not lead")

	forger := audittest.NewTree(t, "other.example/log")
	forger.Hashes = s.Hashes
	refused("signed by a forger", s.Request(20, 30, forger.Grow(30, "a")), 403, 0, "is not signed with the key other.example/log")
	changed := bytes.Replace(at30, []byte("\n30\n"), []byte("\n31\n"), 1)
	refused("changed after signing", s.Request(20, 30, changed), 403, 0, "is invalid")
	unknown := audittest.NewTree(t, "unknown.example/log")
	refused("of a log it does not know", unknown.Request(0, 3, unknown.Grow(3, "a")), 404, 0, `does not know the log "unknown.example/log"`)
	for _, body := range []string{"", "\n\n", "old\n\n", "old -1\n\n", "old 01\n\n", "new 1\n\n", "old 1\nx\n\n", "old 9223372036854775808\n\n", "old 1\n" + strings.Repeat(s.Hashes[0].String()+"\n", 64) + "\n"} {
		refused(fmt.Sprintf("%.20q", body), append([]byte(body), "other.example/log\n"...), 400, 0, "cannot be read")
	}
	refused("a million bytes", bytes.Repeat([]byte("\n"), 1<<20), 400, 0, "more than")

	// Cosigned checkpoints survive a restart.
	before := w.Checkpoint("other.example/log")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = audittest.OpenWitness(t, atNoon, dir, key, s.Key)
	if got := w.Checkpoint("other.example/log"); !bytes.Equal(got, before) || w.Checkpoint("unknown.example/log") != nil {
		t.Errorf("it kept %q", got)
	}
	refused("after a restart, from nothing", s.Request(0, 30, at30), 409, 20, "has size 20, not 0")
	refused("after a restart, another tree", fork.Request(20, 30, other30), 422, 0, "does not lead")
	if err := add(s.Request(20, 30, at30)); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Add(ended, s.Request(30, 30, at30)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestConcurrentAdd sends concurrent requests for two histories of one log: the witness cosigns only
// one history.
func TestConcurrentAdd(t *testing.T) {
	s, key := audittest.NewTree(t, "other.example/log"), audittest.NewKey(t, "witness.example/w1")
	w := audittest.OpenWitness(t, atNoon, filepath.Join(t.TempDir(), "w"), key, s.Key)
	s.Grow(5, "a")
	fork := s.Fork()
	if _, err := w.Add(t.Context(), s.Request(0, 5, s.Grow(5, "a"))); err != nil {
		t.Fatal(err)
	}
	requests := [][]byte{s.Request(5, 9, s.Grow(9, "a")), fork.Request(5, 9, fork.Grow(9, "b"))}
	var winners sync.Map
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			if _, err := w.Add(t.Context(), requests[i%2]); err == nil {
				winners.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	winners.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d of 64 were cosigned", n)
	}
}

func TestFiles(t *testing.T) {
	s, key, dir := audittest.NewTree(t, "other.example/log"), audittest.NewKey(t, "witness.example/w1"), filepath.Join(t.TempDir(), "w")
	w := audittest.OpenWitness(t, atNoon, dir, key, s.Key)
	if _, err := w.Add(t.Context(), s.Request(0, 5, s.Grow(5, "a"))); err != nil {
		t.Fatal(err)
	}
	open := func(key *checkpoint.Key) error {
		w, err := witness.Open(t.Context(), witness.Options{Dir: dir, Key: key, Logs: []note.Verifier{s.Key.Verifier()}})
		if err == nil {
			w.Close()
		}
		return err
	}
	if err := open(key); !errors.Is(err, privatefile.ErrLocked) {
		t.Errorf("a second time: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(audittest.NewKey(t, "witness.example/w2")); err == nil || !strings.Contains(err.Error(), "is not cosigned by witness.example/w2") {
		t.Errorf("with another key: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the files are %q", files)
	}
	for _, path := range files {
		if filepath.Base(path) != "LOCK" {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			content[20] ^= 1
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := open(key); err == nil || !strings.Contains(err.Error(), "put back the newest copy") {
		t.Errorf("damaged: %v", err)
	}
}

// TestContradictionIsLogged checks that the operator learns of a log that has signed two trees of one
// size.
func TestContradictionIsLogged(t *testing.T) {
	s, other := audittest.NewTree(t, "other.example/log"), audittest.NewTree(t, "other.example/log")
	other.Key = s.Key
	logged := &bytes.Buffer{}
	w, err := witness.Open(t.Context(), witness.Options{Dir: filepath.Join(t.TempDir(), "w"), Key: audittest.NewKey(t, "witness.example/w1"),
		Logs: []note.Verifier{s.Key.Verifier()}, Log: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Add(t.Context(), s.Request(0, 5, s.Grow(5, "a"))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(t.Context(), s.Request(5, 5, other.Grow(5, "b"))); err == nil || !strings.Contains(logged.String(), "a log has signed two trees of one size") {
		t.Errorf("%v, logged: %s", err, logged)
	}
}

// FuzzAdd checks that a witness cosigns only checkpoints that its log has signed.
func FuzzAdd(f *testing.F) {
	const origin = "registry.example/log"
	s := audittest.NewTree(f, origin)
	genuine := [][]byte{s.Grow(2, "leaf"), s.Grow(5, "leaf")}
	for _, checkpoint := range genuine {
		f.Add(append([]byte("old 0\n\n"), checkpoint...))
		f.Add(append([]byte("old 0\n"+s.Hashes[0].String()+"\n\n"), checkpoint...))
	}
	f.Add([]byte("old 1\n\n"))
	key := audittest.NewKey(f, "witness.example/w1")
	f.Fuzz(func(t *testing.T, request []byte) {
		w := audittest.OpenWitness(t, atNoon, filepath.Join(t.TempDir(), "w"), key, s.Key)
		line, err := w.Add(t.Context(), request)
		if (line == nil) == (err == nil) {
			t.Fatalf("%q, %v", line, err)
		}
		if err != nil {
			if e, ok := err.(*witness.Refusal); !ok || e.Status < 400 || e.Status > http.StatusUnprocessableEntity {
				t.Fatalf("%v", err)
			}
			return
		}
		c, err := checkpoint.Parse(w.Checkpoint(origin), s.Key.Verifier())
		if err != nil || c.N != 2 && c.N != 5 {
			t.Fatalf("it has cosigned %q: %v", w.Checkpoint(origin), err)
		}
	})
}

// TestRepeatedRequest checks that a request which somebody else sends again and again writes nothing, and
// that the cosignature gets a new time after a minute.
func TestRepeatedRequest(t *testing.T) {
	s, key, dir := audittest.NewTree(t, "other.example/log"), audittest.NewKey(t, "witness.example/w1"), filepath.Join(t.TempDir(), "w")
	now := noon
	w := audittest.OpenWitness(t, func() time.Time { return now }, dir, key, s.Key)
	signed := s.Grow(5, "a")
	add := func(older int64) (line string, file os.FileInfo) {
		t.Helper()
		got, err := w.Add(t.Context(), s.Request(older, 5, signed))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, strings.Repeat("?", 32)))
		if err != nil || len(files) != 1 {
			t.Fatalf("the files are %v, %v", files, err)
		}
		if file, err = os.Stat(files[0]); err != nil {
			t.Fatal(err)
		}
		return string(got), file
	}
	line, file := add(0)
	for _, step := range []struct {
		after time.Duration
		fresh bool
	}{{0, false}, {59 * time.Second, false}, {time.Minute, true}, {time.Minute + time.Second, false}, {-time.Hour, true}} {
		now = noon.Add(step.after)
		gotLine, gotFile := add(5)
		if fresh := gotLine != line; fresh != step.fresh || os.SameFile(gotFile, file) == step.fresh {
			t.Errorf("after %v: a new cosignature %v, want %v; written %v", step.after, fresh, step.fresh, !os.SameFile(gotFile, file))
		}
		line, file = gotLine, gotFile
	}
}
