package filetest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// testCutWhileOpen truncates the file under the running subject: reads fail with an error, and the
// process survives.
func testCutWhileOpen(t *testing.T, subject Subject) {
	for _, size := range []int64{0, pageSize, 2 * pageSize, 20 * pageSize} {
		t.Run(fmt.Sprintf("to %d bytes", size), func(t *testing.T) {
			dir := subject.closedDir(t, 0)
			h := subject.openHandle(t, dir)
			var all []Change
			for i := range 2_000 {
				all = append(all, Change{Key: fmt.Sprintf("k/%04d", i), Value: []byte(entryValue(i, i))})
			}
			if err := h.Write(t.Context(), all...); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(filepath.Join(dir, subject.Name), size); err != nil {
				t.Fatal(err)
			}
			failures := 0
			for i := range 2_000 {
				value, err := h.Get(t.Context(), fmt.Sprintf("k/%04d", i))
				switch {
				case err == nil && string(value) != entryValue(i, i):
					t.Errorf("value %d came back wrong", i)
				case isMissing(err):
					t.Errorf("value %d is said not to exist", i)
				case errors.Is(err, store.ErrCorrupt):
					failures++
				}
			}
			if failures == 0 {
				t.Error("no read noticed")
			}
			var err error
			for i := 0; i < 400 && err == nil; i++ {
				err = h.Write(t.Context(), Change{Key: fmt.Sprintf("k/%04d", i*5)})
			}
			if err == nil {
				t.Error("no write noticed")
			}
			if err := h.Compact(t.Context()); err == nil && !subject.KeepsFile {
				t.Error("a compaction of the cut file succeeded")
			}
			_ = h.Close()
			if _, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("opening it again: %v", err)
			}
		})
	}
}

func testFloorOfFreeSpace(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 3)
	h, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: math.MaxInt64 / 2})
	if err != nil {
		t.Fatal(err)
	}
	err = h.Write(t.Context(), Change{Key: "k"})
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), dir) {
		t.Errorf("writing: error %v, want ErrFull with the directory", err)
	}
	err = h.Write(t.Context(), Change{Key: "k/0000", Delete: true}, Change{Key: "k", Value: make([]byte, 1000)})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("writing and deleting: error %v", err)
	}
	if err := h.Write(t.Context(), Change{Key: "k/0001", Delete: true}); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if seq, _ := h.File().Progress(); seq != 4 {
		t.Errorf("the file is at sequence %d, want 4: the deletion alone", seq)
	}
	if err := h.Compact(t.Context()); !errors.Is(err, store.ErrFull) && !subject.KeepsFile {
		t.Errorf("compacting: error %v, want ErrFull", err)
	}
	closeHandle(t, h)
	h = subject.openHandle(t, dir)
	defer h.Close()
	putRecords(t, h, 1)
}

func testFailureIsReported(t *testing.T, subject Subject) {
	var handle *os.File
	dir := t.TempDir()
	closeHandle(t, subject.openHandle(t, dir)) // a subject may write when it opens
	h, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1, Commit: func(tx *bolt.Tx, file *os.File) error {
		handle = file
		file.Close()
		return tx.Commit()
	}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.File().Failed():
		t.Fatal("a new file has failed")
	default:
	}
	if h.File().Err() != nil {
		t.Fatal(h.File().Err())
	}
	if err := h.Write(t.Context(), Change{Key: "k"}); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	<-h.File().Failed()
	if err := h.File().Err(); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Err is %v, want ErrUnknown and the cause", err)
	}
	if handle == nil {
		t.Error("the commit was not the one of the options")
	}
	_ = h.Close()
}

// FailCommit returns a commit that fails. kept decides whether its writes persist. If they do not,
// the file is closed under bbolt, which then gets the error itself. If they do, bbolt completes the
// commit, and FailCommit returns the error of a failing second sync; "failing sync" gets both
// errors from the system itself.
func FailCommit(kept bool) func(tx *bolt.Tx, file *os.File) error {
	return func(tx *bolt.Tx, file *os.File) error {
		if !kept {
			return errors.Join(file.Close(), tx.Commit())
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return syscall.EIO
	}
}

// testFailingCommit makes a commit fail in both ways. Neither is acknowledged, nor is any later
// one; the next process finds the file as the commit left it.
func testFailingCommit(t *testing.T, subject Subject) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("kept %v", kept), func(t *testing.T) {
			dir := subject.closedDir(t, 3)
			h, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1, Commit: FailCommit(kept)})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Write(t.Context(), Change{Key: "doubtful"}); !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("error %v, want ErrUnknown", err)
			}
			if err := h.Write(t.Context(), Change{Key: "later"}); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("the next write: error %v, want ErrUnknown", err)
			}
			if err := h.Compact(t.Context()); !errors.Is(err, store.ErrUnknown) && !subject.KeepsFile {
				t.Errorf("compacting: error %v, want ErrUnknown", err)
			}
			_ = h.Close() // it may complain of the file that was taken from it
			h = subject.openHandle(t, dir)
			defer h.Close()
			wantIncarnation(t, h, 1)
			if _, err := h.Get(t.Context(), "doubtful"); isMissing(err) == kept {
				t.Errorf("after reopening: %v", err)
			}
			if _, err := h.Get(t.Context(), "later"); !isMissing(err) {
				t.Errorf("the write after it: %v", err)
			}
			putRecords(t, h, 1)
			verifyHandle(t, subject, h)
		})
	}
}
