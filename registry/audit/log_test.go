package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
)

func TestFollow(t *testing.T) {
	h := newFixture(t)
	version := "ver/com.example/agis/20260102T030405.000Z-sha256:00"
	h.apply(
		store.Put("agent/AIR-0001", []byte(`{"secret":"not for the public"}`)),
		store.Put("agent/AIR-0001/000001", []byte(`{"event":"registered"}`)),
		store.Put("host/com.example", []byte(`{}`)),
		store.Put("handle/someone", []byte(`AIR-0001`)),
	)
	h.apply(store.Put(version, []byte(`{"size":1}`)), store.Put("blob/sha256:00", []byte("raw")))
	first := h.checkpoint()
	h.events(2, 1, 700)
	want := []string{"agent/AIR-0001/000001", version}
	for n := 1; n < 700; n++ {
		want = append(want, eventKey(2, n))
	}
	if got := h.keys(); !slices.Equal(got, want) {
		t.Errorf("the leaves are %d: %q …", len(got), got[:min(3, len(got))])
	}
	h.shut()

	h.open(Options{})
	h.events(3, 1, 3)
	want = append(want, eventKey(3, 1), eventKey(3, 2))
	if got := h.keys(); !slices.Equal(got, want) {
		t.Errorf("after opening it again there are %d leaves, not %d", len(got), len(want))
	}
	if r := h.check(first); r.N != int64(len(want)) || r.Older != 1 || r.Erased != 0 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
}

// TestCheckpointOpens reads a checkpoint with the note package alone.
func TestCheckpointOpens(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	public, err := note.NewVerifier(h.log.Key())
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(h.checkpoint(), note.VerifierList(public))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s\n3\n%s\n", origin, h.log.Head().Hash); n.Text != want {
		t.Errorf("it says %q, not %q", n.Text, want)
	}
	onDisk, err := os.ReadFile(filepath.Join(h.dir, "log", tiles.CheckpointFile))
	if err != nil || !bytes.Equal(onDisk, h.checkpoint()) {
		t.Errorf("the file holds %q, error %v", onDisk, err)
	}
}

func TestLeaf(t *testing.T) {
	s := leafform.Salter("secret")
	long := strings.Repeat("x", tiles.MaxLeaf)
	tests := []struct {
		name, value string
		want        string // without the salt
	}{
		{"members are sorted, white space goes", `{ "b":1, "a":[true, null] }`, `{"key":"k","record":{"a":[true,null],"b":1}}`},
		{"by UTF-16 units", `{"\ufb33":1,"\ud83d\ude02":2}`, "{\"key\":\"k\",\"record\":{\"\U0001F602\":2,\"\ufb33\":1}}"},
		{"numbers stay exact", `[9223372036854775807,18446744073709551615,0.1,1e3,-0]`, `{"key":"k","record":[9223372036854775807,18446744073709551615,0.1,1e3,-0]}`},
		{"escapes are the shortest", `"\u0041\u000a\/\u001f<\u2028"`, "{\"key\":\"k\",\"record\":\"A\\n/\\u001f<\u2028\"}"},
		{"a member twice is kept as bytes", `{"a":1,"a":2}`, `{"base64":"eyJhIjoxLCJhIjoyfQ==","key":"k"}`},
		{"half a surrogate pair", `"\ud83d"`, `{"base64":"Ilx1ZDgzZCI=","key":"k"}`},
		{"no JSON", "AIR-1\xff", `{"base64":"QUlSLTH/","key":"k"}`},
		{"nothing", "", `{"base64":"","key":"k"}`},
		{"two values", `1 2`, `{"base64":"MSAy","key":"k"}`},
		{"nesting without end", strings.Repeat("[", 20000), ``},
		{"too long for the layout", `"` + long + `"`, `{"key":"k","sha256":"f2f75b2eba07dbb0f5e2a43a8a7df9a6ba9cf8d0fd2e45d9a2a9e7a7d3a5c6f6","size":65537}`},
	}
	for _, test := range tests {
		leaf := s.RecordLeaf(store.Record{Key: "k", Value: []byte(test.value)})
		if len(leaf) > tiles.MaxLeaf || !json.Valid(leaf) {
			t.Errorf("%s: %d bytes, JSON %v", test.name, len(leaf), json.Valid(leaf))
		}
		if again := s.RecordLeaf(store.Record{Key: "k", Value: []byte(test.value)}); !bytes.Equal(again, leaf) {
			t.Errorf("%s: the second time the leaf is another", test.name)
		}
		if other := leafform.Salter("other").RecordLeaf(store.Record{Key: "k", Value: []byte(test.value)}); bytes.Equal(other, leaf) {
			t.Errorf("%s: another secret gives the same leaf", test.name)
		}
		if got := withoutSalt(t, leaf); test.want != "" && !strings.HasPrefix(test.name, "too long") && got != test.want {
			t.Errorf("%s: %s, not %s", test.name, got, test.want)
		}
	}
	leaf := withoutSalt(t, s.RecordLeaf(store.Record{Key: "k", Value: []byte(`"` + long + `"`)}))
	if !strings.HasPrefix(leaf, `{"key":"k","sha256":"`) || !strings.HasSuffix(leaf, `","size":65537}`) {
		t.Errorf("a long value: %.200s", leaf)
	}
	if got := withoutSalt(t, s.DeletionLeaf("k", []int64{7, 3})); got != `{"deleted":true,"erases":[3,7],"key":"k"}` {
		t.Errorf("a deletion: %s", got)
	}
}

// withoutSalt removes the salt from a leaf and checks its form.
func withoutSalt(t *testing.T, leaf []byte) string {
	t.Helper()
	var members struct{ Salt string }
	if err := json.Unmarshal(leaf, &members); err != nil {
		t.Fatal(err)
	}
	if len(members.Salt) != 22 {
		t.Errorf("the salt is %q", members.Salt)
	}
	return strings.Replace(string(leaf), `,"salt":"`+members.Salt+`"`, "", 1)
}

// TestErase deletes a record in the store: no file contains its content, and all signatures and
// proofs stay valid.
func TestErase(t *testing.T) {
	h := newFixture(t)
	secret := "the street where somebody lives"
	h.events(1, 0, 5)
	h.apply(store.Put("agent/AIR-0002/000001", []byte(`{"address":"`+secret+`"}`)))
	h.events(1, 5, 300)
	before := h.checkpoint()
	proof, err := h.log.Prove(t.Context(), 5, 300)
	if err != nil {
		t.Fatal(err)
	}
	if !onDisk(t, filepath.Join(h.dir, "log"), secret) {
		t.Fatal("the content was never in the log")
	}
	h.apply(store.Delete("agent/AIR-0002/000001"), store.Delete(eventKey(1, 0)))
	if onDisk(t, filepath.Join(h.dir, "log"), secret) {
		t.Error("the content is still in the log's files")
	}
	e, err := h.log.Entry(t.Context(), 5)
	if err != nil || !e.Erased || e.Leaf != nil || e.Hash != proof.Leaf || e.Key != "agent/AIR-0002/000001" {
		t.Errorf("the leaf is %+v, error %v", e, err)
	}
	e, err = h.log.Entry(t.Context(), 301)
	if err != nil || !e.Deleted || !bytes.Contains(e.Leaf, []byte(`"erases":[5]`)) {
		t.Errorf("the leaf of the deletion is %+v %s, error %v", e, e.Leaf, err)
	}
	if again, err := h.log.Prove(t.Context(), 5, 300); err != nil || !slices.Equal(again.Hashes, proof.Hashes) {
		t.Errorf("the proof is another: %v", err)
	}
	if r := h.check(before); r.Erased != 2 || r.N != 303 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
	h.open(Options{})
	h.apply(store.Put("agent/AIR-0002/000001", []byte(`{"address":"elsewhere"}`)))
	h.apply(store.Delete("agent/AIR-0002/000001"))
	if r := h.check(before); r.Erased != 3 || r.N != 305 {
		t.Errorf("verified after another deletion: %+v", r)
	}
	h.shut()
}

// onDisk reports whether a text is in any file below a directory.
func onDisk(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestInterruptedErase stops an erasure at the worst moment: the row is marked as erased, but the
// bytes of the leaf still exist.
func TestInterruptedErase(t *testing.T) {
	h := newFixture(t)
	h.apply(store.Put("agent/AIR-0002/000001", []byte(`{"address":"secret"}`)))
	entries := filepath.Join(h.dir, "log", entriesFile)
	content, err := os.ReadFile(entries)
	if err != nil {
		t.Fatal(err)
	}
	h.apply(store.Delete("agent/AIR-0002/000001"))
	h.shut()
	f, err := os.OpenFile(entries, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	h.open(Options{})
	if onDisk(t, filepath.Join(h.dir, "log"), "secret") {
		t.Error("opening does not finish what was begun")
	}
	h.check()
	h.shut()
}

func TestFind(t *testing.T) {
	h := newFixture(t)
	var writes []store.Write
	for agent := range 40 {
		writes = append(writes, event(agent, 1), event(agent, 2), store.Put(fmt.Sprintf("ver/com.example%d/agis/%d", agent, agent), []byte("{}")))
	}
	h.apply(writes...)
	h.apply(event(7, 3))
	h.apply(store.Delete(eventKey(7, 1)))
	find := func(key string) (keys []string) {
		for e, err := range h.log.Find(t.Context(), key) {
			if err != nil {
				t.Fatal(err)
			}
			text := e.Key
			if e.Erased {
				text += " erased"
			}
			if e.Deleted {
				text += " deleted"
			}
			keys = append(keys, text)
		}
		return keys
	}
	tests := []struct {
		key  string
		want []string
	}{
		{"agent/AIR-0007", []string{eventKey(7, 1) + " deleted", eventKey(7, 3), eventKey(7, 2), eventKey(7, 1) + " erased"}},
		{eventKey(7, 2), []string{eventKey(7, 2)}},
		{"agent/AIR-0007/0", nil},
		{"ver/com.example7", []string{"ver/com.example7/agis/7"}},
		{"ver/com.example", nil},
		{"agent/AIR-4711", nil},
		{"agent", nil},
		{"", nil},
	}
	for range 2 {
		for _, test := range tests {
			if got := find(test.key); !slices.Equal(got, test.want) {
				t.Errorf("%q: %q, not %q", test.key, got, test.want)
			}
		}
		h.shut()
		h.open(Options{})
	}
	h.shut()
}

func TestOpenTwice(t *testing.T) {
	h := newFixture(t)
	if _, err := Open(t.Context(), Options{Dir: filepath.Join(h.dir, "log"), Store: h.store, Key: openKey(t, h.dir)}); !errors.Is(err, ErrHeld) {
		t.Errorf("a second time: %v", err)
	}
	h.shut()
	if _, err := h.log.Checkpoint(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := h.log.Prove(t.Context(), 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := h.log.WaitFor(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := h.log.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

func TestModes(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.shut()
	err := filepath.WalkDir(filepath.Join(h.dir, "log"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeyChanges replaces the key with another one of the same name.
func TestKeyChanges(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	before, old := h.checkpoint(), h.verifier()
	h.shut()
	if err := os.Rename(filepath.Join(h.dir, "key"), filepath.Join(h.dir, "key.old")); err != nil {
		t.Fatal(err)
	}
	if err := h.tryOpen(Options{}); !errors.Is(err, ErrKey) {
		t.Errorf("a new key that nobody accepted: %v", err)
	}
	h.open(Options{AcceptKey: true})
	if _, err := checkpoint.Parse(h.checkpoint(), old); err == nil || !strings.Contains(err.Error(), "is not signed with the key "+origin) {
		t.Errorf("with the old key: %v", err)
	}
	if r := h.check(); r.N != 3 {
		t.Errorf("verified: %+v", r)
	}
	if !strings.Contains(h.lines.String(), "signed with another key") {
		t.Errorf("the operator is told %s", h.lines)
	}
	c, err := checkpoint.Parse(before, old)
	if err != nil || c.Tree != h.log.Head() {
		t.Errorf("the tree is %v, was %v, error %v", h.log.Head(), c.Tree, err)
	}
	h.shut()
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	k, err := checkpoint.OpenKey(filepath.Join(dir, "key"), origin)
	if err != nil {
		t.Fatal(err)
	}
	again, err := checkpoint.OpenKey(filepath.Join(dir, "key"), origin)
	if err != nil || again.Public() != k.Public() {
		t.Errorf("the key is %v, error %v", again, err)
	}
	info, err := os.Stat(filepath.Join(dir, "key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v", info.Mode(), err)
	}
	if _, err := checkpoint.OpenKey(filepath.Join(dir, "key"), "other.example"); err == nil || !strings.Contains(err.Error(), "the key of registry.example/log, not of other.example") {
		t.Errorf("another name: %v", err)
	}
	for _, name := range []string{"", "a b", "a+b", "a\nb", "\xff", strings.Repeat("x", 300)} {
		if _, err := checkpoint.OpenKey(filepath.Join(dir, "none"), name); err == nil || !strings.Contains(err.Error(), "is not a name") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, text := range []string{"", "PRIVATE+KEY+x", k.Public(), "PRIVATE+KEY+" + k.Public()} {
		if _, err := checkpoint.ParseKey(text); err == nil {
			t.Errorf("%q is read as a secret key", text)
		}
	}
	for _, public := range []string{k.Public(), k.PublicWitness()} {
		v, err := checkpoint.NewVerifier(public)
		if err != nil || v.Name() != origin {
			t.Errorf("%s: %v", public, err)
		}
		typo := strings.Replace(public, "log+", "lug+", 1)
		if _, err := checkpoint.NewVerifier(typo); err == nil || !strings.Contains(err.Error(), "typing error") {
			t.Errorf("%s: %v", typo, err)
		}
	}
}
