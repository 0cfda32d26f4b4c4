package filetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/need"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// testFullDiskDuringRebuild has the disk run full while the file is rebuilt, first by the floor and
// then by the system: the old file continues to serve.
func testFullDiskDuringRebuild(t *testing.T, subject Subject) {
	disk := need.Tmpfs(t, "size=12m")
	dir := filepath.Join(disk, "data")
	h := subject.openHandle(t, dir)
	fillForRebuild(t, h)
	usage, err := h.File().Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The remaining space lets the copy begin, as the file has many free pages, but not end: a
	// ballast grows as the copy does.
	for _, left := range []int64{64 << 10, 256 << 10, usage.Bytes / 4} {
		ballast := filepath.Join(disk, "ballast")
		if err := os.WriteFile(ballast, make([]byte, max(freeSpace(t, disk)-left, 0)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := h.File().Rebuild(t.Context(), &fillingCopier{})
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("with %d bytes left: %v, want ErrFull", left, err)
		}
		copyIsGone(t, subject, dir)
		if err := h.File().Err(); err != nil {
			t.Fatalf("the file has failed: %v", err)
		}
		checkRebuilt(t, h)
		verifyHandle(t, subject, h)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		putRecords(t, h, 3)
	}
	if err := h.Compact(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	checkRebuilt(t, h)
	closeHandle(t, h)
}

// fillingCopier writes until the disk is full.
type fillingCopier struct{ brokenCopier }

func (c *fillingCopier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	for n := 0; ; n++ {
		err := to.Update(ctx, 100_000, func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put(fmt.Appendf(nil, "fill%d", n), make([]byte, 100_000))
		})
		if err != nil {
			return err
		}
	}
}

// rebuildCalls are the system calls with which a rebuild changes something that lasts.
var rebuildCalls = []string{"fdatasync", "fsync", "pwrite64", "renameat", "unlinkat", "ftruncate", "openat"}

// testKillWhileRebuilding kills the process at the n-th of each of these system calls, which all
// come from the thread that rebuilds or the one that commits, while another goroutine writes:
// nothing acknowledged is lost, and the next process finds no unfinished copy.
func testKillWhileRebuilding(t *testing.T, subject Subject) {
	files := subject.filledFiles(t)
	kills := 0
	for _, call := range rebuildCalls {
		for n := 1; ; n = nextCall(n) {
			state := compactChild(t, subject, files, fmt.Sprintf("%s:signal=KILL:when=%d", call, n))
			if state.Success() {
				break
			}
			if state.Exited() { // strace ends as the process that it traces does
				t.Fatalf("not killed at %s %d: %v", call, n, state)
			}
			kills++
		}
	}
	if kills < 20 {
		t.Errorf("only %d system calls were met", kills)
	}
}

// testFailingCallsWhileRebuilding has the system refuse each of those calls. If a call concerns the
// copy, the old file continues to serve; if it concerns the file itself, the file fails as with any
// commit. In both cases the next process finds everything that was acknowledged.
func testFailingCallsWhileRebuilding(t *testing.T, subject Subject) {
	files := subject.filledFiles(t)
	failures := 0
	for _, call := range rebuildCalls[:4] {
		for n := 1; n < 30; n = nextCall(n) {
			if state := compactChild(t, subject, files, fmt.Sprintf("%s:error=EIO:when=%d", call, n)); !state.Success() {
				failures++
			}
		}
	}
	if failures < 8 {
		t.Errorf("only %d system calls failed", failures)
	}
}

// nextCall returns the next call to fail: the first calls one by one, and then larger steps.
func nextCall(n int) int { return n + 1 + n/3 }

// filledFiles returns the files of a subject that is worth rebuilding.
func (s Subject) filledFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	h := s.openHandle(t, dir)
	fillForRebuild(t, h)
	closeHandle(t, h)
	return s.readFiles(t, dir)
}

// straceFailed is the exit code of strace if it fails itself. A child that fails has another one.
const straceFailed = 1

// compactChild compacts a copy of the files in a process with an injected fault, and checks the
// resulting files. It begins again if strace has failed.
func compactChild(t *testing.T, subject Subject, files map[string]string, inject string) *os.ProcessState {
	t.Helper()
	for try := 1; ; try++ {
		state, stderr := runCompactChild(t, subject, files, inject)
		if state.ExitCode() != straceFailed || try == 3 {
			if state.Exited() && !state.Success() {
				t.Logf("%s: %v: %s", inject, state, stderr)
			}
			return state
		}
		t.Logf("strace failed at %s: %s", inject, stderr)
	}
}

// runCompactChild is one attempt of compactChild. It returns also what the process wrote of its errors.
func runCompactChild(t *testing.T, subject Subject, files map[string]string, inject string) (*os.ProcessState, []byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	restoreFiles(t, dir, files)
	cmd := startChild(t, "compact", dir, straceArgs(t, inject)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out := scanOutput(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for out.Scan() {
		acknowledged, _ = strconv.Atoi(out.Text())
	}
	_ = cmd.Wait() // the state says it, too
	h, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1})
	if err != nil {
		t.Fatalf("after %s: %v", inject, err)
	}
	defer closeHandle(t, h)
	wantIncarnation(t, h, 1)
	copyIsGone(t, subject, dir)
	checkRebuilt(t, h)
	for n := 1; n <= acknowledged; n++ {
		if value, err := h.Get(t.Context(), besideKey(n)); err != nil || string(value) != entryValue(0, n) {
			t.Errorf("after %s: write %d of %d: %v", inject, n, acknowledged, err)
		}
	}
	verifyHandle(t, subject, h)
	putRecords(t, h, 1)
	return cmd.ProcessState, stderr.Bytes()
}
