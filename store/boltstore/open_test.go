package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// put writes n records of some size, each in an Apply of its own.
func put(t testing.TB, s *Store, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Apply(t.Context(), store.Put(fmt.Sprintf("k/%04d", i), bytes.Repeat([]byte{byte(i)}, 100))); err != nil {
			t.Fatal(err)
		}
	}
}

// closedStore leaves a store with n records in a new directory.
func closedStore(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s := openStore(t, dir)
	put(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// snapshot returns the content of every file in dir except the lock, and of the
// bolt file without the room to grow at its end.
func snapshot(t *testing.T, dir string) map[string]string {
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
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == BoltFile && len(content) > 2*pageSize {
			content = content[:max(min(usedBytes(content), len(content)), 2*pageSize)]
		}
		files[e.Name()] = string(content)
	}
	return files
}

// restore writes a snapshot into a new directory.
func restore(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.Mkdir(dir, dirMode); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), fileMode); err != nil {
			t.Fatal(err)
		}
	}
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(content), fileMode); err != nil {
		t.Fatal(err)
	}
}

func TestFilesArePrivateWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o777} {
		t.Run(fmt.Sprintf("%04o", umask), func(t *testing.T) { filesArePrivate(t, umask) })
	}
}

func filesArePrivate(t *testing.T, umask int) {
	dir := filepath.Join(t.TempDir(), "data")
	before := syscall.Umask(umask)
	s, err := Open(t.Context(), dir, Options{})
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	modes := func() {
		t.Helper()
		if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			want := fs.FileMode(fileMode)
			if e.IsDir() {
				want = dirMode
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has mode %o, want %o", path, got, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	modes()
	for _, name := range []string{FormatFile, BoltFile, headFile, lockFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	// A file that somebody opened to others is made private again.
	for _, name := range []string{BoltFile, headFile, lockFile} {
		if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	openStore(t, dir).Close()
	modes()
}

func TestHeldByAnotherProcess(t *testing.T) {
	dir := closedStore(t, 1)
	holder := child(t, "hold", dir)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := lines(t, holder)
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if !out.Scan() {
		t.Fatal("the holder did not open the store")
	}
	before := snapshot(t, dir)
	synctest.Test(t, func(t *testing.T) { // whose clock counts the waits alone
		start := time.Now()
		_, err = Open(t.Context(), dir, Options{})
		if took := time.Since(start); took > 0 {
			t.Errorf("it waited %v before it said so", took)
		}
	})
	var held *HeldError
	if !errors.As(err, &held) || held.PID != holder.Process.Pid || held.Dir != dir {
		t.Errorf("error %v, want a HeldError with pid %d", err, holder.Process.Pid)
	}
	if want := fmt.Sprintf("data directory %s is in use by process %d", dir, holder.Process.Pid); err != nil && err.Error() != want {
		t.Errorf("it says %q, want %q", err, want)
	}
	for name, content := range snapshot(t, dir) {
		if content != before[name] {
			t.Errorf("%s was touched", name)
		}
	}
	stdin.Close()
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir).Close()
}

func TestHeldWhilePIDIsUnknown(t *testing.T) {
	dir := closedStore(t, 1)
	s := openStore(t, dir)
	defer s.Close()
	if err := os.Truncate(filepath.Join(dir, lockFile), 0); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithTimeout(t.Context(), 5*lockRetry)
		defer cancel()
		if _, err := Open(ended, dir, Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		var held *HeldError
		if _, err := Open(t.Context(), dir, Options{}); !errors.As(err, &held) || held.PID != 0 {
			t.Errorf("error %v, want a HeldError without pid", err)
		}
	})
}

// TestForeignLock has another program hold the bolt file itself.
func TestForeignLock(t *testing.T) {
	dir := closedStore(t, 1)
	db, err := bolt.Open(filepath.Join(dir, BoltFile), fileMode, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var held *HeldError
	if _, err := Open(t.Context(), dir, Options{}); !errors.As(err, &held) || !strings.Contains(err.Error(), BoltFile) {
		t.Errorf("error %v, want a HeldError that names the file", err)
	}
}

func TestUnusableDirectory(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(base, "blocked")
	if err := os.MkdirAll(filepath.Join(blocked, BoltFile), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, says string }{
		"a file":              {file, "it is a file, not a directory"},
		"missing parent":      {filepath.Join(base, "no", "data"), "its parent directory does not exist"},
		"parent is a file":    {filepath.Join(file, "data"), "not a directory"},
		"directory as a file": {blocked, "is a directory where a file belongs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), c.dir, Options{})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that says %q", err, c.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(base, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the missing parent was made")
	}
}

// TestDamagedFiles has every way in which a file of the directory can be wrong
// at opening. Each is refused with a remedy and stays as it is.
func TestDamagedFiles(t *testing.T) {
	other := closedStore(t, 1)
	base := snapshot(t, closedStore(t, 200))
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	replaced := func(with string) func([]byte) []byte { return func([]byte) []byte { return []byte(with) } }
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte // nil: the file is removed
		says       string
	}{
		{"cut to nothing", BoltFile, cut(0), "is empty"},
		{"cut to 10 bytes", BoltFile, cut(10), "is cut"},
		{"cut to 100 bytes", BoltFile, cut(100), "is cut"},
		{"cut to a page", BoltFile, cut(pageSize), "is cut"},
		{"cut to two pages", BoltFile, cut(2 * pageSize), "is cut"},
		{"cut to half of its pages", BoltFile, func(b []byte) []byte { return b[:usedBytes(b)/2] }, "is cut"},
		{"cut by one byte", BoltFile, func(b []byte) []byte { return b[:usedBytes(b)-1] }, "is cut"},
		{"missing", BoltFile, nil, "is missing"},
		{"a text", BoltFile, replaced("hello, world\n"), "is cut"},
		{"a long text", BoltFile, replaced(strings.Repeat("hello, world\n", 5000)), "is not a bolt file"},
		{"zeros", BoltFile, replaced(strings.Repeat("\x00", 50*pageSize)), "is not a bolt file"},
		{"another program's bolt file", BoltFile, replaced(foreignBolt(t)), "not a store"},
		{"another store's file", BoltFile, func([]byte) []byte { return mustRead(t, filepath.Join(other, BoltFile)) }, "belongs to another store"},
		{"both meta pages zeroed", BoltFile, func(b []byte) []byte { clear(b[:2*pageSize]); return b }, "is not a bolt file"},
		{"both meta pages flipped", BoltFile, func(b []byte) []byte { b[60] ^= 1; b[60+pageSize] ^= 1; return b }, "damaged meta page"},
		{"zeros behind the meta pages", BoltFile, func(b []byte) []byte { clear(b[2*pageSize:]); return b }, "is damaged"},
		{"a branch that leads to itself", BoltFile, selfReference, "too deep"},
		{"two branches that lead to one page", BoltFile, doubleReference, "used twice"},
		{"a free list with a page in use", BoltFile, freeUsedPage, "used twice"},
		{"FORMAT missing", FormatFile, nil, "is missing"},
		{"FORMAT empty", FormatFile, cut(0), "cannot be read"},
		{"FORMAT half", FormatFile, cut(20), "cannot be read"},
		{"FORMAT with a word too many", FormatFile, func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"more":1,`), 1) }, "cannot be read"},
		{"FORMAT of format 0", FormatFile, func(b []byte) []byte { return bytes.Replace(b, []byte(`:1,`), []byte(`:0,`), 1) }, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			restore(t, dir, base)
			path := filepath.Join(dir, c.file)
			if c.change == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				edit(t, path, c.change)
			}
			before := snapshot(t, dir)
			for range 2 { // the second time shows that the first left no lock
				_, err := Open(t.Context(), dir, Options{MinFree: -1})
				var damaged *DamagedError
				if !errors.As(err, &damaged) || !errors.Is(err, store.ErrCorrupt) {
					t.Fatalf("error %v, want a DamagedError", err)
				}
				if damaged.File != path || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "restore a backup into "+dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("it says %q, want the file, %q and the remedy on one line", err, c.says)
				}
			}
			after := snapshot(t, dir)
			for name := range after {
				if after[name] != before[name] {
					t.Errorf("%s was changed", name)
				}
			}
			if len(after) != len(before) {
				t.Errorf("there are %d files, there were %d", len(after), len(before))
			}
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// usedBytes is the size that the meta pages of a file ask for.
func usedBytes(file []byte) int {
	m, _, _ := chooseMeta(file[:2*pageSize])
	return int(m.pages) * pageSize
}

func foreignBolt(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "foreign")
	db, err := bolt.Open(path, fileMode, &bolt.Options{PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("jokes")); return err }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return string(mustRead(t, path))
}

// selfReference points the first child of every branch page to that page.
func selfReference(b []byte) []byte {
	branches(b, func(page []byte) { order.PutUint64(page[pageHeaderSize+8:], order.Uint64(page)) })
	return b
}

// doubleReference points the second child of every branch page to its first.
func doubleReference(b []byte) []byte {
	branches(b, func(page []byte) {
		order.PutUint64(page[pageHeaderSize+elementSize+8:], order.Uint64(page[pageHeaderSize+8:]))
	})
	return b
}

func branches(b []byte, change func(page []byte)) {
	for at := 2 * pageSize; at < usedBytes(b); at += pageSize {
		if order.Uint16(b[at+8:]) == branchPage {
			change(b[at:])
		}
	}
}

// freeUsedPage puts the root page on the free list.
func freeUsedPage(b []byte) []byte {
	m, _, _ := chooseMeta(b[:2*pageSize])
	list := b[m.freelist*pageSize:]
	order.PutUint64(list[pageHeaderSize:], m.root)
	return b
}

func TestNewerFormat(t *testing.T) {
	dir := closedStore(t, 3)
	path := filepath.Join(dir, FormatFile)
	edit(t, path, func([]byte) []byte {
		return []byte(`{"format":2,"store":"x","incarnation":1,"epoch":"later"}`)
	})
	before := snapshot(t, dir)
	_, err := Open(t.Context(), dir, Options{})
	var newer *FormatError
	if !errors.As(err, &newer) || newer.Format != 2 || !strings.Contains(err.Error(), "newer program") {
		t.Fatalf("error %v, want a FormatError", err)
	}
	for name, content := range snapshot(t, dir) {
		if content != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestUnfinishedBeginning has the states in which a process can be killed while
// it begins a store: each is completed, and nothing else is.
func TestUnfinishedBeginning(t *testing.T) {
	t.Run("before FORMAT", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{BoltFile + newSuffix, FormatFile + newSuffix} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), fileMode); err != nil {
				t.Fatal(err)
			}
		}
		s := openStore(t, dir)
		defer s.Close()
		put(t, s, 1)
	})
	t.Run("after FORMAT", func(t *testing.T) {
		dir := closedStore(t, 0)
		path := filepath.Join(dir, BoltFile)
		if err := os.Rename(path, path+newSuffix); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		defer s.Close()
		put(t, s, 1)
		if s.incarnation != 1 {
			t.Errorf("incarnation %d", s.incarnation)
		}
	})
}

// TestRollback has every way in which acknowledged writes can be lost behind the
// store's back. Each opens as a new incarnation and is said loudly.
func TestRollback(t *testing.T) {
	olderMeta := func(b []byte, newer bool) []byte {
		m0, _, _ := parseMeta(b)
		m1, _, _ := parseMeta(b[pageSize:])
		page := b[:pageSize]
		if (m1.tx > m0.tx) == newer {
			page = b[pageSize : 2*pageSize]
		}
		clear(page)
		return b
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, old []byte)
		seq    uint64 // where the log ends then
		says   string
	}{
		{"newer meta page zeroed", func(t *testing.T, dir string, _ []byte) {
			edit(t, filepath.Join(dir, BoltFile), func(b []byte) []byte { return olderMeta(b, true) })
		}, 11, "write 12 was acknowledged"},
		{"newer meta page zeroed and HEAD lost", func(t *testing.T, dir string, _ []byte) {
			edit(t, filepath.Join(dir, BoltFile), func(b []byte) []byte { return olderMeta(b, true) })
			if err := os.Remove(filepath.Join(dir, headFile)); err != nil {
				t.Fatal(err)
			}
		}, 11, "one of the two meta pages"},
		{"older meta page zeroed", func(t *testing.T, dir string, _ []byte) {
			edit(t, filepath.Join(dir, BoltFile), func(b []byte) []byte { return olderMeta(b, false) })
		}, 12, "one of the two meta pages"},
		{"an older file", func(t *testing.T, dir string, old []byte) {
			edit(t, filepath.Join(dir, BoltFile), func([]byte) []byte { return old })
		}, 10, "write 12 was acknowledged"},
		{"FORMAT of another incarnation", func(t *testing.T, dir string, _ []byte) {
			edit(t, filepath.Join(dir, FormatFile), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"incarnation":1`), []byte(`"incarnation":5`), 1)
			})
		}, 12, "one of them was replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := closedStore(t, 10)
			old := mustRead(t, filepath.Join(dir, BoltFile))
			s := openStore(t, dir)
			put(t, s, 2)
			before := s.Head()
			s.Close()
			c.change(t, dir, old)

			var log bytes.Buffer
			s, err := Open(t.Context(), dir, Options{MinFree: -1, Log: slog.New(slog.NewJSONHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			head := s.Head()
			if head.Seq != c.seq || head.Store != before.Store || head.Incarnation <= before.Incarnation {
				t.Errorf("Head is %+v, it was %+v; want sequence %d of a newer incarnation", head, before, c.seq)
			}
			var line struct{ Level, Why string }
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != "ERROR" || !strings.Contains(line.Why, c.says) {
				t.Errorf("the log has %q, want one error that says %q", log.String(), c.says)
			}
			for _, err := range s.Changes(t.Context(), before) {
				if !errors.Is(err, store.ErrCursorGone) {
					t.Errorf("an old cursor yields %v", err)
				}
			}
			put(t, s, 1)
			checkStore(t, s)
			s.Close()

			log.Reset()
			s, err = Open(t.Context(), dir, Options{MinFree: -1, Log: slog.New(slog.NewJSONHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Head().Incarnation != head.Incarnation || log.Len() > 0 {
				t.Errorf("opened once more: incarnation %d after %d, log %q", s.Head().Incarnation, head.Incarnation, log.String())
			}
		})
	}
}

// TestHeadLost shows that HEAD is a witness, not something to depend on.
func TestHeadLost(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "rubbish": "rubbish", "flipped": "00000000000000000001 00000000000000000009 00000000\n"} {
		t.Run(name, func(t *testing.T) {
			dir := closedStore(t, 3)
			edit(t, filepath.Join(dir, headFile), func([]byte) []byte { return []byte(content) })
			s := openStore(t, dir)
			defer s.Close()
			if head := s.Head(); head.Seq != 3 || head.Incarnation != 1 {
				t.Errorf("Head is %+v", head)
			}
		})
	}
}

func TestOpenWithEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := Open(ended, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}
