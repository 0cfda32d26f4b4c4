package audit

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
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/registry/audit/checkpoint"

	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// A stranger is another registry's log: trees of texts, and a key.
type stranger struct {
	t      *testing.T
	key    *checkpoint.Key
	hashes []tlog.Hash
}

func newStranger(t *testing.T, name string) *stranger {
	return &stranger{t: t, key: newKey(t, name)}
}

func (s *stranger) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, s.hashes[i])
	}
	return hashes, nil
}

// grow adds leaves up to a size and returns the signed checkpoint.
func (s *stranger) grow(size int64, text string) []byte {
	s.t.Helper()
	for n := s.size(); n < size; n++ {
		hashes, err := tlog.StoredHashes(n, fmt.Appendf(nil, "%s %d", text, n), s)
		if err != nil {
			s.t.Fatal(err)
		}
		s.hashes = append(s.hashes, hashes...)
	}
	root, err := tlog.TreeHash(size, s)
	if err != nil {
		s.t.Fatal(err)
	}
	signed, err := (checkpoint.Checkpoint{Origin: s.key.Name(), Tree: tlog.Tree{N: size, Hash: root}}).Sign(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	return signed
}

func (s *stranger) size() (n int64) {
	for tlog.StoredHashCount(n) < int64(len(s.hashes)) {
		n++
	}
	return n
}

// request asks a witness to cosign.
func (s *stranger) request(older, newer int64, checkpoint []byte) []byte {
	s.t.Helper()
	var proof tlog.TreeProof
	if older > 0 && older < newer {
		var err error
		if proof, err = tlog.ProveTree(newer, older, s); err != nil {
			s.t.Fatal(err)
		}
	}
	body := fmt.Appendf(nil, "old %d\n", older)
	for _, h := range proof {
		body = fmt.Appendf(body, "%s\n", h)
	}
	return append(append(body, '\n'), checkpoint...)
}

func openWitness(t *testing.T, dir string, key *checkpoint.Key, logs ...*checkpoint.Key) *Witness {
	t.Helper()
	o := WitnessOptions{Dir: dir, Key: key, Now: func() time.Time { return noon }}
	for _, l := range logs {
		o.Logs = append(o.Logs, l.Verifier())
	}
	w, err := OpenWitness(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestCosignature checks the form of a cosignature by hand and with the library
// of the public witnesses.
func TestCosignature(t *testing.T) {
	s, key := newStranger(t, "other.example/log"), newKey(t, "witness.example/w1")
	w := openWitness(t, filepath.Join(t.TempDir(), "w"), key, s.key)
	signed := s.grow(5, "a")
	line, err := w.Add(t.Context(), s.request(0, 5, signed))
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
	if c, err := checkpoint.Parse(cosigned, s.key.Verifier()); err != nil || c.N != 5 {
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

// TestWitness sends a witness all kinds of requests.
func TestWitness(t *testing.T) {
	s, key, dir := newStranger(t, "other.example/log"), newKey(t, "witness.example/w1"), filepath.Join(t.TempDir(), "w")
	w := openWitness(t, dir, key, s.key)
	add := func(request []byte) error {
		t.Helper()
		_, err := w.Add(t.Context(), request)
		return err
	}
	refused := func(name string, request []byte, status int, size int64, says string) {
		t.Helper()
		var e *WitnessError
		if err := add(request); !errors.As(err, &e) || e.Status != status || e.Size != size || !strings.Contains(e.Problem, says) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	at5, at9, at20 := s.grow(5, "a"), s.grow(9, "a"), s.grow(20, "a")
	refused("a proof from nothing", append([]byte("old 0\n"+s.hashes[0].String()+"\n\n"), at5...), 422, 0, "from size 0 a proof has no hashes")
	refused("from a size that it never had", s.request(4, 5, at5), 409, 0, "has size 0, not 4")
	if err := add(s.request(0, 5, at5)); err != nil {
		t.Fatal(err)
	}
	if err := add(s.request(5, 5, at5)); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := add(s.request(5, 20, at20)); err != nil {
		t.Fatal(err)
	}
	refused("an older one", s.request(5, 9, at9), 409, 20, "has size 20, not 5")
	refused("an older one, as if it were newer", s.request(20, 9, at9), 400, 0, "the old size 20 is greater than the checkpoint's, 9")

	fork := newStranger(t, "other.example/log")
	fork.key = s.key
	fork.grow(15, "a")
	other20, other30 := fork.grow(20, "b"), fork.grow(30, "b")
	refused("another tree of that size", fork.request(20, 20, other20), 409, 20, "the log contradicts itself")
	refused("a tree that left the path", fork.request(20, 30, other30), 422, 0, "does not lead from the tree of 20 leaves")
	at30 := s.grow(30, "a")
	refused("a proof of another tree", fork.request(20, 30, at30), 422, 0, "does not lead")
	refused("no proof", s.request(30, 30, at30)[:0:0], 400, 0, "no empty line")
	refused("an empty proof", append([]byte("old 20\n\n"), at30...), 422, 0, "does not lead")

	forger := newStranger(t, "other.example/log")
	forger.hashes = s.hashes
	refused("signed by a forger", s.request(20, 30, forger.grow(30, "a")), 403, 0, "is not signed with the key other.example/log")
	changed := bytes.Replace(at30, []byte("\n30\n"), []byte("\n31\n"), 1)
	refused("changed after signing", s.request(20, 30, changed), 403, 0, "is invalid")
	unknown := newStranger(t, "unknown.example/log")
	refused("of a log it does not know", unknown.request(0, 3, unknown.grow(3, "a")), 404, 0, `does not know the log "unknown.example/log"`)
	for _, body := range []string{"", "\n\n", "old\n\n", "old -1\n\n", "old 01\n\n", "new 1\n\n", "old 1\nx\n\n", "old 9223372036854775808\n\n", "old 1\n" + strings.Repeat(s.hashes[0].String()+"\n", 64) + "\n"} {
		refused(fmt.Sprintf("%.20q", body), append([]byte(body), "other.example/log\n"...), 400, 0, "cannot be read")
	}
	refused("a million bytes", bytes.Repeat([]byte("\n"), 1<<20), 400, 0, "more than")

	// Cosigned checkpoints survive a restart.
	before := w.Checkpoint("other.example/log")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openWitness(t, dir, key, s.key)
	if got := w.Checkpoint("other.example/log"); !bytes.Equal(got, before) || w.Checkpoint("unknown.example/log") != nil {
		t.Errorf("it kept %q", got)
	}
	refused("after a restart, from nothing", s.request(0, 30, at30), 409, 20, "has size 20, not 0")
	refused("after a restart, another tree", fork.request(20, 30, other30), 422, 0, "does not lead")
	if err := add(s.request(20, 30, at30)); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Add(ended, s.request(30, 30, at30)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestWitnessRace sends concurrent requests for two histories of one log: the witness cosigns only
// one history.
func TestWitnessRace(t *testing.T) {
	s, key := newStranger(t, "other.example/log"), newKey(t, "witness.example/w1")
	w := openWitness(t, filepath.Join(t.TempDir(), "w"), key, s.key)
	s.grow(5, "a")
	fork := &stranger{t: t, key: s.key, hashes: append([]tlog.Hash{}, s.hashes...)}
	if _, err := w.Add(t.Context(), s.request(0, 5, s.grow(5, "a"))); err != nil {
		t.Fatal(err)
	}
	requests := [][]byte{s.request(5, 9, s.grow(9, "a")), fork.request(5, 9, fork.grow(9, "b"))}
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

func TestWitnessFiles(t *testing.T) {
	s, key, dir := newStranger(t, "other.example/log"), newKey(t, "witness.example/w1"), filepath.Join(t.TempDir(), "w")
	w := openWitness(t, dir, key, s.key)
	if _, err := w.Add(t.Context(), s.request(0, 5, s.grow(5, "a"))); err != nil {
		t.Fatal(err)
	}
	open := func(key *checkpoint.Key) error {
		w, err := OpenWitness(t.Context(), WitnessOptions{Dir: dir, Key: key, Logs: []note.Verifier{s.key.Verifier()}})
		if err == nil {
			w.Close()
		}
		return err
	}
	if err := open(key); !errors.Is(err, ErrHeld) {
		t.Errorf("a second time: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(newKey(t, "witness.example/w2")); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "is not cosigned by witness.example/w2") {
		t.Errorf("with another key: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the files are %q", files)
	}
	for _, path := range files {
		if filepath.Base(path) != lockFile {
			flip(t, path, 20)
		}
	}
	if err := open(key); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "put back the newest copy") {
		t.Errorf("damaged: %v", err)
	}
}

// TestCosign lets a log ask a witness over HTTP, before and after it has grown,
// and when an older copy of it was put back.
func TestCosign(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 3)
	key, other := newKey(t, "witness.example/w1"), newKey(t, "witness.example/w2")
	servers := map[*checkpoint.Key]string{}
	for _, k := range []*checkpoint.Key{key, other} {
		w := openWitness(t, filepath.Join(t.TempDir(), "w"), k, openKey(t, h.dir))
		server := httptest.NewServer(w.Handler())
		t.Cleanup(server.Close)
		servers[k] = server.URL
	}
	verifier := func(k *checkpoint.Key) note.Verifier {
		v, err := checkpoint.NewVerifier(k.PublicWitness())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	cosign := func(k *checkpoint.Key) error {
		return h.log.Cosign(t.Context(), http.DefaultClient, servers[k], verifier(k))
	}
	cosignedBy := func(k *checkpoint.Key) bool {
		_, err := checkpoint.CheckCosignature(h.checkpoint(), verifier(k))
		return err == nil
	}
	for range 2 {
		if err := errors.Join(cosign(key), cosign(other), cosign(key)); err != nil {
			t.Fatal(err)
		}
		if !cosignedBy(key) || !cosignedBy(other) || bytes.Count(h.checkpoint(), []byte("\n")) != 7 {
			t.Errorf("the checkpoint is %s", h.checkpoint())
		}
		if _, err := checkpoint.Parse(h.checkpoint(), h.verifier()); err != nil {
			t.Error(err)
		}
		h.events(1, int(h.log.Head().N), int(h.log.Head().N)+300)
		if cosignedBy(key) {
			t.Error("a new checkpoint has an old cosignature")
		}
	}
	h.shut()
	backup := h.save("log", "store", "copy")
	h.open(Options{}) // does not remember where the witnesses stand
	if err := cosign(key); err != nil || !cosignedBy(key) {
		t.Errorf("after a restart: %v", err)
	}
	h.events(1, int(h.log.Head().N), int(h.log.Head().N)+5)
	if err := cosign(key); err != nil {
		t.Fatal(err)
	}
	h.shut()

	h.restore(backup, "log", "store", "copy") // all that could tell, but the witness
	h.open(Options{})
	if err := cosign(key); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "a witness has cosigned a tree of 608 leaves, and this one has 603") {
		t.Errorf("from an older copy: %v", err)
	}
	h.events(2, 0, 5)
	if err := cosign(key); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "a witness has cosigned another tree of 608 leaves") {
		t.Errorf("from an older copy that was written to: %v", err)
	}
	if err := h.log.Cosign(t.Context(), http.DefaultClient, servers[key], verifier(other)); err == nil {
		t.Error("the wrong witness's answer is taken")
	}
	h.shut()
}

// TestCosignDuringGrowth checks that a witness that has cosigned a newer tree of this log since the
// newest checkpoint was read does not count as a contradiction: after another request of this
// process, and as the lock of a tree that is not published yet. The claim of a tree that this log
// never submitted still does.
func TestCosignDuringGrowth(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 3)
	key := newKey(t, "witness.example/w1")
	v, err := checkpoint.NewVerifier(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	w := openWitness(t, filepath.Join(t.TempDir(), "w"), key, openKey(t, h.dir))
	overtake := func() {}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		before := overtake
		overtake = func() {}
		before()
		w.Handler().ServeHTTP(answer, r)
	}))
	defer server.Close()
	cosign := func() error { return h.log.Cosign(t.Context(), server.Client(), server.URL, v) }
	overtake = func() {
		h.events(1, 3, 6)
		if err := cosign(); err != nil {
			t.Error(err)
		}
	}
	if err := cosign(); err != nil {
		t.Errorf("after another request: %v", err)
	}
	if _, err := checkpoint.CheckCosignature(h.checkpoint(), v); err != nil {
		t.Errorf("the newest checkpoint is not cosigned: %v", err)
	}

	ahead := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		http.Error(answer, "9", http.StatusConflict)
	}))
	defer ahead.Close()
	h.log.mu.Lock()
	h.log.lockSubmitted = 9
	h.log.mu.Unlock()
	if err := h.log.Cosign(t.Context(), ahead.Client(), ahead.URL, v); !errors.Is(err, errOvertaken) || errors.Is(err, ErrFork) {
		t.Errorf("while the lock cosigns 9 leaves: %v", err)
	}
	h.log.mu.Lock()
	h.log.lockSubmitted = 8
	h.log.mu.Unlock()
	if err := h.log.Cosign(t.Context(), ahead.Client(), ahead.URL, v); !errors.Is(err, ErrFork) {
		t.Errorf("a tree that this log never submitted: %v", err)
	}
	h.shut()
}

// TestCosignAnswers checks the handling of invalid answers of witnesses.
func TestCosignAnswers(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 3)
	key := newKey(t, "witness.example/w1")
	v, err := checkpoint.NewVerifier(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	before := h.checkpoint()
	tests := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) }, "500 Internal Server Error: broken"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "without a signature of its key"},
		{"noise", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }, "something else than its signature"},
		{"another's signature", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("\u2014 witness.example/w3 AAAAAQAA\n")) }, "without a signature of its key"},
		{"a signature that does not hold", func(w http.ResponseWriter, _ *http.Request) {
			data := append(binary.BigEndian.AppendUint32(nil, v.KeyHash()), make([]byte, 8+ed25519.SignatureSize)...)
			fmt.Fprintf(w, "\u2014 witness.example/w1 %s\n", base64.StdEncoding.EncodeToString(data))
		}, "is invalid"},
		{"a size that is none", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusConflict) }, "not a decimal number"},
		{"two megabytes", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) }, "longer than the"},
		{"always another size", func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 5)
			r.Body.Read(body)
			http.Error(w, fmt.Sprint((body[4]-'0')%2+1), http.StatusConflict)
		}, "changes while we ask"},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(test.answer))
		if err := h.log.Cosign(t.Context(), server.Client(), server.URL+"/", v); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		server.Close()
	}
	if !bytes.Equal(h.checkpoint(), before) {
		t.Errorf("the checkpoint is %s", h.checkpoint())
	}
	h.shut()
}

func TestWitnessHTTP(t *testing.T) {
	s, key := newStranger(t, "other.example/log"), newKey(t, "witness.example/w1")
	said := &lines{}
	w, err := OpenWitness(t.Context(), WitnessOptions{Dir: filepath.Join(t.TempDir(), "w"), Key: key, Logs: []note.Verifier{s.key.Verifier()}, Log: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	at5 := s.grow(5, "a")
	ask := func(method, path string, body []byte) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		w.Handler().ServeHTTP(answer, httptest.NewRequest(method, path, bytes.NewReader(body)))
		return answer
	}
	tests := []struct {
		name, method, path string
		body               []byte
		status             int
		kind, says         string
	}{
		{"the first", "POST", "/add-checkpoint", s.request(0, 5, at5), 200, "text/plain; charset=utf-8", "\u2014 witness.example/w1 "},
		{"where it stands", "POST", "/add-checkpoint", s.request(0, 5, at5), 409, "text/x.tlog.size", "5\n"},
		{"another tree", "POST", "/add-checkpoint", s.request(5, 5, (&stranger{t: t, key: s.key}).grow(5, "b")), 409, "text/x.tlog.size", "5\n"},
		{"noise", "POST", "/add-checkpoint", []byte("x"), 400, "application/problem+json", "no empty line"},
		{"too much", "POST", "/add-checkpoint", make([]byte, 1<<20), 413, "application/problem+json", "at most"},
		{"another log", "POST", "/add-checkpoint", []byte("old 0\n\nx\n1\n"), 404, "application/problem+json", "does not know"},
		{"GET", "GET", "/add-checkpoint", nil, 405, "", ""},
		{"another path", "POST", "/", nil, 404, "", ""},
	}
	for _, test := range tests {
		answer := ask(test.method, test.path, test.body)
		if answer.Code != test.status || test.kind != "" && answer.Header().Get("Content-Type") != test.kind || !strings.Contains(answer.Body.String(), test.says) {
			t.Errorf("%s: %d %s %s", test.name, answer.Code, answer.Header().Get("Content-Type"), answer.Body)
		}
	}
	if !strings.Contains(said.String(), "a log has signed two trees of one size") {
		t.Errorf("the operator is told %s", said)
	}
}
