// Package filetest holds the tests that every user of package boltfile must pass: damaged,
// truncated and foreign files, full, read-only and failing disks, kill -9 at any moment, and
// replacing the file while it serves. Call [Run] from the tests of the user, and [Main] from its
// TestMain: tests that need a second process run the test binary again.
package filetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// Subject is a user of package boltfile under test.
type Subject struct {
	// Name is the name of its bolt file.
	Name string
	// Format is the number in its FORMAT file.
	Format int
	// Open opens the subject in dir with these options.
	Open func(ctx context.Context, dir string, o boltfile.Options) (Handle, error)
	// KeepsFile says that the subject never replaces its file: Compact is not called.
	KeepsFile bool
}

// Change is a write of one key.
type Change struct {
	Key    string
	Value  []byte
	Delete bool
}

// Handle is an open subject.
type Handle interface {
	File() *boltfile.File
	// Write writes all of the changes or none.
	Write(ctx context.Context, changes ...Change) error
	// Get returns the value of a key, or store.ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Verify compares the copies of its data that the subject holds in several places.
	Verify(t testing.TB)
	// Compact replaces the file by a copy.
	Compact(ctx context.Context) error
	Close() error
}

// Run tests the subject.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"files are private whatever the umask", testPrivateFiles},
		{"held by another process", testHeldByAnotherProcess},
		{"held while the pid is unknown", testHeldWithoutPID},
		{"foreign lock", testForeignLock},
		{"unusable directory", testUnusableDirectory},
		{"damaged files", testDamagedFiles},
		{"newer format", testNewerFormat},
		{"older format", testOlderFormat},
		{"unfinished beginning", testUnfinishedBeginning},
		{"rollback", testRollback},
		{"HEAD lost", testHeadLost},
		{"open with ended context", testEndedContext},
		{"cut while open", testCutWhileOpen},
		{"floor of free space", testFloorOfFreeSpace},
		{"failure is reported", testFailureIsReported},
		{"failing commit", testFailingCommit},
		{"kill", testKill},
		{"rebuild", testRebuild},
		{"rebuild beside writers", testRebuildBesideWriters},
		{"rebuild that fails", testFailingRebuild},
		{"close during a rebuild", testCloseDuringRebuild},
	} {
		if s.KeepsFile && strings.Contains(c.name, "rebuild") {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
	runLinux(t, s)
}

// Names in the directory.
const (
	lockFile      = "LOCK"
	headFile      = "HEAD"
	newSuffix     = ".new"
	rebuiltSuffix = ".rebuilt"
)

// openHandle opens the subject without a floor of free space, so that tests pass on a full machine
// too.
func (s Subject) openHandle(t testing.TB, dir string) Handle {
	t.Helper()
	h, err := s.Open(t.Context(), dir, boltfile.Options{MinFree: -1})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return h
}

func closeHandle(t testing.TB, h Handle) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// putRecords writes n records of some size, each in a separate Write if there are few, and in some
// twenty writes otherwise: each waits for the disk.
func putRecords(t testing.TB, h Handle, n int) {
	t.Helper()
	records := make([]Change, n)
	for i := range records {
		records[i] = Change{Key: fmt.Sprintf("k/%04d", i), Value: []byte(strings.Repeat(string(rune('a'+i%26)), 100))}
	}
	for some := range slices.Chunk(records, 1+n/21) {
		if err := h.Write(t.Context(), some...); err != nil {
			t.Fatal(err)
		}
	}
}

// closedDir leaves a subject with n records in a new directory.
func (s Subject) closedDir(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	h := s.openHandle(t, dir)
	putRecords(t, h, n)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readFiles returns the content of every file in dir except the lock, and of the bolt file without
// the room to grow at its end.
func (s Subject) readFiles(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == lockFile || e.IsDir() {
			continue
		}
		content := mustRead(t, filepath.Join(dir, e.Name()))
		if e.Name() == s.Name && len(content) > 2*pageSize {
			content = content[:max(min(UsedBytes(content), len(content)), 2*pageSize)]
		}
		files[e.Name()] = string(content)
	}
	return files
}

// restoreFiles writes a snapshot into a new directory.
func restoreFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func editFile(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	if err := os.WriteFile(path, change(mustRead(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verifyHandle checks the subject and the file.
func verifyHandle(t testing.TB, s Subject, h Handle) {
	t.Helper()
	h.Verify(t)
	f, err := os.Open(filepath.Join(h.File().Dir(), s.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if lostMeta, problem, err := boltfile.Inspect(f, info.Size()); lostMeta || problem != "" || err != nil {
		t.Errorf("the file: lost meta page %v, problem %q, error %v", lostMeta, problem, err)
	}
}

// wantIncarnation checks that nothing acknowledged was found missing.
func wantIncarnation(t testing.TB, h Handle, want uint64) {
	t.Helper()
	if got := h.File().Incarnation(); got != want {
		t.Errorf("incarnation %d, want %d", got, want)
	}
}

func isMissing(err error) bool { return errors.Is(err, store.ErrNotFound) }

// The parts of bbolt's pages that tests change; boltfile/inspect.go has the layout.
const (
	pageSize       = 4096
	pageHeaderSize = 16
	elementSize    = 16
	branchPage     = 0x01
)

var order = binary.NativeEndian

func metaTx(page []byte) uint64 { return order.Uint64(page[pageHeaderSize+48:]) }

// newestMeta returns the newer meta page of a whole file.
func newestMeta(file []byte) []byte {
	if metaTx(file) > metaTx(file[pageSize:]) {
		return file[:pageSize]
	}
	return file[pageSize : 2*pageSize]
}

// UsedBytes is the size that the meta pages of a bolt file require.
func UsedBytes(file []byte) int {
	return int(order.Uint64(newestMeta(file)[pageHeaderSize+40:])) * pageSize
}
