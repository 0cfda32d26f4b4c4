package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestRestoredLog restores an older copy of the log alone: it grows from the store to the same
// tree, and signs nothing before that.
func TestRestoredLog(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	first := h.checkpoint()
	h.shut()
	backup := h.save("log")
	h.open(Options{})
	h.events(1, 300, 900)
	h.events(2, 0, 10)
	keys, newest := h.keys(), h.checkpoint()
	h.shut()

	h.restore(backup, "log")
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.log.Checkpoint(); !errors.Is(err, ErrGrowing) {
		t.Errorf("before it has grown: %v", err)
	}
	if _, err := h.log.Prove(t.Context(), 0, 1); !errors.Is(err, ErrGrowing) {
		t.Errorf("before it has grown: %v", err)
	}
	if at := h.log.Cursor(); at != (store.Cursor{}) {
		t.Errorf("before it has grown it stands at %v", at)
	}
	h.run()
	h.apply(event(2, 10))
	if got := h.keys(); !slices.Equal(got, append(keys, eventKey(2, 10))) {
		t.Errorf("it has grown to %d leaves from %d", len(got), len(keys))
	}
	if r := h.check(first, newest); r.N != 911 || r.Older != 2 {
		t.Errorf("verified: %+v", r)
	}
	if said := h.lines.String(); !strings.Contains(said, "an older copy was put back") || !strings.Contains(said, "contains the last signed checkpoint again") {
		t.Errorf("the operator is told %s", said)
	}
	h.shut()
}

// TestRestoredTwice kills a log that grows again: when it is opened again, it knows the newest
// checkpoint, although its own file had an older one.
func TestRestoredTwice(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	h.shut()
	backup := h.save("log")
	h.open(Options{})
	h.events(1, 10, 20)
	newest := h.checkpoint()
	h.shut()
	h.restore(backup, "log")
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.log.Close(), h.store.Close(), os.Remove(filepath.Join(h.dir, "copy"))); err != nil {
		t.Fatal(err)
	}
	h.open(Options{})
	h.events(1, 20, 21)
	h.check(newest)
	h.shut()
}

// TestRestoredAll restores an older copy of all files except the checkpoint's second file: the log
// signs nothing, even after further writes.
func TestRestoredAll(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	h.shut()
	backup := h.save("log", "store")
	h.open(Options{})
	h.events(1, 300, 400)
	newest := h.checkpoint()
	h.shut()
	h.restore(backup, "log", "store")

	h.open(Options{})
	err := h.stopsWith(ErrFork)
	for _, part := range []string{"the tree has 300 leaves, a checkpoint of 400 was signed", "an older copy of the log and of the store was put back", "put back newer copies of both, or start a log with a new origin"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("it does not say %q: %v", part, err)
		}
	}
	h.keepsSigned(newest)

	// What is written now would make another tree of 400 leaves and more.
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	var writes []store.Write
	for n := range 150 {
		writes = append(writes, event(2, n))
	}
	if _, err := h.store.Apply(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	h.run()
	if err := h.stopsWith(ErrFork); !strings.Contains(err.Error(), "with its first 400 leaves the tree has the root") {
		t.Errorf("it says %v", err)
	}
	h.keepsSigned(newest)
	for range 2 {
		if err := h.openError(); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "with its first 400 leaves") {
			t.Errorf("opened again: %v", err)
		}
	}
	h.keepsSigned(newest)
}

// stopsWith waits until Run ends by itself, and closes.
func (h *fixture) stopsWith(want error) error {
	h.t.Helper()
	err := h.wait()
	if h.close(); !errors.Is(err, want) {
		h.t.Fatalf("it stopped with %v", err)
	}
	return err
}

// keepsSigned checks that nothing else was signed.
func (h *fixture) keepsSigned(newest []byte) {
	h.t.Helper()
	for _, path := range []string{"copy", "log/checkpoint"} {
		got, err := os.ReadFile(filepath.Join(h.dir, path))
		if err != nil || string(got) != string(newest) {
			h.t.Errorf("%s holds %q, error %v", path, got, err)
		}
	}
}

// TestRestoredStore restores an older copy of the store alone.
func TestRestoredStore(t *testing.T) {
	for _, writes := range []int{0, 1, 500} {
		h := newFixture(t)
		h.events(1, 0, 300)
		h.shut()
		backup := h.save("store")
		h.open(Options{})
		h.events(1, 300, 400)
		newest := h.checkpoint()
		h.shut()
		h.restore(backup, "store")

		if err := h.tryOpen(Options{}); err != nil {
			t.Fatal(err)
		}
		var others []store.Write // written before the log looks
		for n := range writes {
			others = append(others, store.Put(fmt.Sprintf("agent/AIR-0002/%d", n), []byte("{}")))
		}
		if _, err := h.store.Apply(t.Context(), others...); err != nil {
			t.Fatal(err)
		}
		h.run()
		err := h.stopsWith(ErrFork)
		for _, part := range []string{"leaf 399 is the record agent/AIR-0001/000399, and the store does not have it", "an older copy of the store was put back", "put back a newer copy of the store; if there is none, accept the loss: the log then keeps"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("after %d writes it does not say %q: %v", writes, part, err)
			}
		}
		h.keepsSigned(newest)

		h.open(Options{AcceptLoss: true})
		h.events(3, 0, 5)
		if got := len(h.keys()); got != 400+writes+5 {
			t.Errorf("after %d writes and the loss there are %d leaves", writes, got)
		}
		h.checkNoDoubles()
		h.shut()
		h.open(Options{}) // accepted once is enough
		h.events(3, 5, 6)
		h.check(newest)
		h.shut()
	}
}

// TestAcceptedLossStays opens a log again after a loss was accepted and nothing
// was written.
func TestAcceptedLossStays(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.shut()
	backup := h.save("store")
	h.open(Options{})
	h.events(1, 3, 6)
	h.shut()
	h.restore(backup, "store")
	h.open(Options{AcceptLoss: true})
	if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	h.shut()
	h.open(Options{})
	h.apply(event(1, 3)) // registered again, as it was: the log has it
	if got := h.keys(); len(got) != 6 {
		t.Errorf("the leaves are %q", got)
	}
	h.apply(store.Put(eventKey(1, 4), []byte(`"something else"`)))
	if got := h.keys(); len(got) != 7 || got[6] != eventKey(1, 4) {
		t.Errorf("the leaves are %q", got)
	}
	h.shut()
}

// TestOtherRecord finds another record in the place of the last that was logged.
func TestOtherRecord(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.shut()
	backup := h.save("store")
	h.open(Options{})
	h.events(1, 3, 4)
	h.shut()
	h.restore(backup, "store")
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Apply(t.Context(), store.Put(eventKey(1, 3), []byte(`"another"`))); err != nil {
		t.Fatal(err)
	}
	h.run()
	if err := h.stopsWith(ErrFork); !strings.Contains(err.Error(), "leaf 3 is the record agent/AIR-0001/000003, and the store has another record in its place") {
		t.Errorf("it says %v", err)
	}
}

// TestUnseenDeletions deletes the newest logged records while the log does not run: that is not a
// loss.
func TestUnseenDeletions(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 5)
	h.shut()
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	seq, err := h.store.Apply(t.Context(), store.Delete(eventKey(1, 4)), store.Delete(eventKey(1, 3)))
	if err != nil {
		t.Fatal(err)
	}
	h.run()
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if r := h.check(); r.N != 7 || r.Erased != 2 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	if seq, err = h.store.Apply(t.Context(), store.Put(eventKey(1, 3), []byte(`"again"`))); err != nil {
		t.Fatal(err)
	}
	h.run()
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if r := h.check(); r.N != 8 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
}

// TestDeletionUnderWay reads the store while a deletion of the newest logged records is being
// written: the deletion may be visible before the store's head includes it, and that is not a loss.
func TestDeletionUnderWay(t *testing.T) {
	h := newFixture(t)
	for n := range 10 {
		h.events(1, n, n+1)
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		deleted := make(chan error, 1)
		go func() {
			_, err := h.store.Apply(t.Context(), store.Delete(eventKey(1, n)))
			deleted <- err
		}()
		for under := true; under; {
			select {
			case err := <-deleted:
				if under = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
			if err := h.log.checkStore(t.Context()); err != nil {
				t.Fatalf("deletion %d: %v", n, err)
			}
		}
		h.run()
	}
	h.shut()
}

// TestNewIncarnation begins a new incarnation of the store without a loss of logged records: the
// log reads the store again and finds nothing new.
func TestNewIncarnation(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	h.apply(store.Delete(eventKey(1, 7)), store.Delete(eventKey(1, 299)))
	h.shut()
	backup := h.save("store")
	h.open(Options{})
	h.apply(store.Put("host/com.example", []byte("{}"))) // no leaf
	before := h.checkpoint()
	h.shut()
	// The store itself detects that its file is older than its HEAD.
	copyTo(t, filepath.Join(backup, "store", boltstore.BoltFile), filepath.Join(h.dir, "store", boltstore.BoltFile))
	h.open(Options{})
	if h.store.Head().Incarnation < 2 {
		t.Fatal("the store has not begun a new incarnation")
	}
	if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	if got := h.checkpoint(); string(got) != string(before) {
		t.Errorf("the log has gone on to %s", got)
	}
	h.events(1, 300, 310)
	if r := h.check(before); r.N != 312 || r.Erased != 2 {
		t.Errorf("verified: %+v", r)
	}
	h.checkNoDoubles()
	h.shut()
}

// TestLogBehindTheHorizon drops deletions from the store that the log has not read. Those of the
// log's own keys stay in the store, so the log reads the store again and has a leaf for each.
func TestLogBehindTheHorizon(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	before := h.checkpoint()
	h.shut()
	h.store = openStore(t, filepath.Join(h.dir, "store"))
	for _, writes := range [][]store.Write{
		{store.Put("host/com.example", nil), store.Delete(eventKey(1, 7)), store.Delete(eventKey(1, 299))},
		{store.Delete("host/com.example")},
		{store.Put("host/com.example.www", nil)},
	} {
		if _, err := h.store.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.store.Compact(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	h.open(Options{})
	if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.lines.String(), "deletions are forgotten up to") {
		t.Errorf("the log has not noticed: %s", h.lines)
	}
	h.events(1, 300, 310)
	if r := h.check(before); r.N != 312 || r.Erased != 2 {
		t.Errorf("verified: %+v", r)
	}
	h.checkNoDoubles()
	h.shut()
}

// TestLostDirectory removes the log's directory: the copy of its checkpoint
// keeps it from beginning again under the same name.
func TestLostDirectory(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.shut()
	if err := os.RemoveAll(filepath.Join(h.dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := h.openError(); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "state is missing, and a checkpoint of 3 leaves was signed") {
		t.Errorf("it says %v", err)
	}
}

// TestInterruptedStart opens the files that a killed first Open leaves: an unfinished log is
// created again, and not mistaken for a lost one.
func TestInterruptedStart(t *testing.T) {
	fresh := newFixture(t)
	fresh.shut()
	var there []string
	for _, next := range []string{"key", "log/LOCK", "log/checkpoint.new", "log/checkpoint", "copy", "log/rows", "log/entries", "log/hashes", "log/state.new"} {
		there = append(there, next)
		h := &fixture{t: t, dir: t.TempDir()}
		for _, name := range there {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			copyTo(t, filepath.Join(fresh.dir, strings.TrimSuffix(name, newSuffix)), filepath.Join(h.dir, name))
		}
		h.open(Options{})
		h.events(1, 0, 2)
		if r := h.check(); r.N != 2 {
			t.Errorf("with %q there: %+v", there, r)
		}
		h.shut()
	}
}

func TestAnotherStore(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.shut()
	if err := os.RemoveAll(filepath.Join(h.dir, "store")); err != nil {
		t.Fatal(err)
	}
	if err := h.openError(); !errors.Is(err, tiles.ErrDamaged) || !strings.Contains(err.Error(), "put the log and the store together that belong together") {
		t.Errorf("it says %v", err)
	}
}
