package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// TestCosign lets a log ask a witness over HTTP, before and after it has grown,
// and when an older copy of it was put back.
func TestCosign(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	key, other := audittest.NewKey(t, "witness.example/w1"), audittest.NewKey(t, "witness.example/w2")
	servers := map[*checkpoint.Key]string{}
	for _, k := range []*checkpoint.Key{key, other} {
		w := audittest.OpenWitness(t, time.Now, filepath.Join(t.TempDir(), "w"), k, openKey(t, h.dir))
		server := httptest.NewServer(audittest.ServeWitness(w))
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
// process, and as the lock of a tree that is not published yet. The claim of another tree does if the
// witness shows a checkpoint of it that this log has signed.
func TestCosignDuringGrowth(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	key := audittest.NewKey(t, "witness.example/w1")
	v, err := checkpoint.NewVerifier(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	w := audittest.OpenWitness(t, time.Now, filepath.Join(t.TempDir(), "w"), key, openKey(t, h.dir))
	overtake := func() {}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		before := overtake
		overtake = func() {}
		before()
		audittest.ServeWitness(w).ServeHTTP(answer, r)
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

	var shown []byte // as the last checkpoint
	size := "9"
	ahead := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/checkpoint" && shown != nil {
			answer.Write(shown)
			return
		}
		http.Error(answer, size, http.StatusConflict)
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
	other, err := checkpoint.Checkpoint{Origin: h.log.Origin(), Tree: tlog.Tree{N: 9, Hash: tlog.Hash{9}}}.Sign(audittest.NewKey(t, h.log.Origin()))
	if err != nil {
		t.Fatal(err)
	}
	larger, err := checkpoint.Checkpoint{Origin: h.log.Origin(), Tree: tlog.Tree{N: 9, Hash: tlog.Hash{9}}}.Sign(h.log.key)
	if err != nil {
		t.Fatal(err)
	}
	another, err := checkpoint.Checkpoint{Origin: h.log.Origin(), Tree: tlog.Tree{N: 2, Hash: tlog.Hash{9}}}.Sign(h.log.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, size string
		shown      []byte
		want       string // "" for a proof
	}{
		{"a tree that this log never submitted", "9", nil, "it shows no checkpoint: 409 Conflict"},
		{"with the checkpoint of another key", "9", other, "is not signed by this log"},
		{"with a checkpoint of this log", "9", h.checkpoint(), "the checkpoint that it shows is one of this log"},
		{"with a checkpoint that only this log can have signed", "9", larger, ""},
		{"the same size", "6", nil, "it shows no checkpoint: 409 Conflict"},
		{"a smaller one that the witness refuses", "2", h.checkpoint(), "the checkpoint that it shows is one of this log"},
		{"a smaller one of another tree", "2", another, ""},
		{"no tree, and not the proof from there", "0", larger, "it refuses the proof from the empty tree"},
	} {
		size, shown = c.size, c.shown
		err := h.log.Cosign(t.Context(), ahead.Client(), ahead.URL, v)
		if errors.Is(err, ErrFork) != (c.want == "") || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	h.shut()
}

// TestCosignAnswers checks the handling of invalid answers of witnesses.
func TestCosignAnswers(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	key := audittest.NewKey(t, "witness.example/w1")
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
		{"two megabytes", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) }, "read the answer: the text is too long"},
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
