package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/store"
)

// TestADamagedTileIsNotServed flips a bit in every hash of the file of hashes that a tile holds: the
// tile, and what lies above it, is refused with the name of the file, and the others are served as before.
func TestADamagedTileIsNotServed(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 600)
	names := []string{"tile/0/000", "tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2"}
	whole := map[string]string{}
	for _, name := range names {
		data, err := h.log.File(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole[name] = string(data)
	}
	path := filepath.Join(h.dir, "log", hashesFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused := 0
	for at := int64(0); at < hashesBytes(600); at += 7 * 32 {
		b := make([]byte, 1)
		f.ReadAt(b, at)
		f.WriteAt([]byte{b[0] ^ 1}, at)
		for _, name := range names {
			data, err := h.log.File(t.Context(), name)
			if err == nil && string(data) != whole[name] {
				t.Fatalf("with byte %d changed %s was served with it", at, name)
			}
			if err != nil {
				refused++
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), hashesFile) {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		f.WriteAt(b, at)
	}
	if refused == 0 {
		t.Error("no tile was refused, so the test shows nothing")
	}
	h.shut()
}

// TestOfTwoCopiesOneSigns opens a copy of the directory with the same second checkpoint: while the
// first signs, the other is refused; once the first has signed more, the other does not open at all.
func TestOfTwoCopiesOneSigns(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 10)
	h.shut()
	backup := h.save("log")
	h.open(Options{})
	second, err := Open(t.Context(), Options{Dir: filepath.Join(backup, "log"), Store: h.store, Key: openKey(t, h.dir), Copy: filepath.Join(h.dir, "copy")})
	if err == nil {
		second.Close()
	}
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "signs the same log") {
		t.Errorf("a second process on a copy: %v", err)
	}
	h.events(1, 10, 20)
	// Somebody else has signed a longer tree meanwhile, on a machine that does not see our lock.
	other := Checkpoint{Origin: h.log.key.name}
	other.N, other.Hash[0] = 21, 7
	signed, err := other.signWith(h.log.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "copy"), signed, 0o600); err != nil {
		t.Fatal(err)
	}
	newest := h.checkpoint()
	if _, err := h.store.Apply(t.Context(), store.Put(eventKey(1, 20), []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if err := h.wait(); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "two copies of this directory are in use") {
		t.Errorf("after another copy has signed: %v", err)
	}
	if now, err := h.log.Checkpoint(); err != nil || string(now) != string(newest) {
		t.Errorf("something was signed: %s, %v", now, err)
	}
}

// TestTheStoreKnowsItsLog opens, beside a store that knows a checkpoint, no log, another one, and one
// that was begun anew: each is refused before anything is written.
func TestTheStoreKnowsItsLog(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 10)
	known, own := h.checkpoint(), h.log.key
	h.shut()
	s := openStore(t, filepath.Join(h.dir, "store"))
	defer s.Close()
	newKey := func(name string) *Key {
		key, err := OpenKey(filepath.Join(t.TempDir(), "key"), name)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for name, key := range map[string]*Key{"no log": own, "no log and a new key": newKey(own.name)} {
		dir := filepath.Join(t.TempDir(), "log")
		l, err := Open(t.Context(), Options{Dir: dir, Store: s, Key: key, Known: [][]byte{known}})
		if err == nil {
			l.Close()
		}
		if !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "a checkpoint of 10 leaves was signed") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, stateFile)); err == nil {
			t.Errorf("%s: a log was begun", name)
		}
	}
	l, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "log"), Store: s, Key: newKey("other.test/log"), Known: [][]byte{known}})
	if err == nil {
		l.Close()
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "is of the log") {
		t.Errorf("a log of another origin: %v", err)
	}
}

// TestAHaltedLogSignsNothing: once a witness has contradicted it, the log is read and signs nothing.
func TestAHaltedLogSignsNothing(t *testing.T) {
	h := newHouse(t)
	h.events(1, 0, 10)
	before := h.checkpoint()
	h.log.Halt(fmt.Errorf("a witness says otherwise"))
	if _, err := h.store.Apply(t.Context(), store.Put(eventKey(1, 10), []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if now, err := h.log.Checkpoint(); err != nil || string(now) != string(before) {
		t.Errorf("signed again: %s, %v", now, err)
	}
	if h.log.Halted() == nil {
		t.Error("it does not say so")
	}
}
