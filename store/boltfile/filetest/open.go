package filetest

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
	"gazetteer/store/boltfile"
)

func testPrivateFiles(t *testing.T, subject Subject) {
	for _, umask := range []int{0, 0o077, 0o777} {
		t.Run(fmt.Sprintf("%04o", umask), func(t *testing.T) { checkPrivateFiles(t, subject, umask) })
	}
}

func checkPrivateFiles(t *testing.T, subject Subject, umask int) {
	dir := filepath.Join(t.TempDir(), "data")
	before := syscall.Umask(umask)
	s, err := subject.Open(t.Context(), dir, boltfile.Options{})
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
			want := fs.FileMode(0o600)
			if e.IsDir() {
				want = 0o700
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
	for _, name := range []string{boltfile.FormatFile, subject.Name, headFile, lockFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	// A file that somebody made readable for others is made private again.
	for _, name := range []string{subject.Name, headFile, lockFile} {
		if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	subject.openHandle(t, dir).Close()
	modes()
}

func testHeldByAnotherProcess(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 1)
	holder := startChild(t, "hold", dir)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := scanOutput(t, holder)
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if !out.Scan() {
		t.Fatal("the holder did not open the store")
	}
	before := subject.readFiles(t, dir)
	synctest.Test(t, func(t *testing.T) { // whose clock advances only by the waits
		start := time.Now()
		_, err = subject.Open(t.Context(), dir, boltfile.Options{})
		if took := time.Since(start); took > 0 {
			t.Errorf("it waited %v before it said so", took)
		}
	})
	var held *boltfile.HeldError
	if !errors.As(err, &held) || held.PID != holder.Process.Pid || held.Dir != dir {
		t.Errorf("error %v, want a HeldError with pid %d", err, holder.Process.Pid)
	}
	if want := fmt.Sprintf("data directory %s is in use by process %d", dir, holder.Process.Pid); err != nil && err.Error() != want {
		t.Errorf("it says %q, want %q", err, want)
	}
	if by := boltfile.Holder(dir); held != nil && (by == nil || *by != *held) {
		t.Errorf("the holder is %v, want %v", by, held)
	}
	for name, content := range subject.readFiles(t, dir) {
		if content != before[name] {
			t.Errorf("%s was touched", name)
		}
	}
	stdin.Close()
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	if by := boltfile.Holder(dir); by != nil {
		t.Errorf("the holder after its end is %v", by)
	}
	subject.openHandle(t, dir).Close()
}

func testHeldWithoutPID(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 1)
	s := subject.openHandle(t, dir)
	defer s.Close()
	if err := os.Truncate(filepath.Join(dir, lockFile), 0); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := subject.Open(ended, dir, boltfile.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		var held *boltfile.HeldError
		if _, err := subject.Open(t.Context(), dir, boltfile.Options{}); !errors.As(err, &held) || held.PID != 0 {
			t.Errorf("error %v, want a HeldError without pid", err)
		}
	})
}

// testForeignLock has another program hold the bolt file itself.
func testForeignLock(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 1)
	db, err := bolt.Open(filepath.Join(dir, subject.Name), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var held *boltfile.HeldError
	if _, err := subject.Open(t.Context(), dir, boltfile.Options{}); !errors.As(err, &held) || !strings.Contains(err.Error(), subject.Name) {
		t.Errorf("error %v, want a HeldError that names the file", err)
	}
}

func testUnusableDirectory(t *testing.T, subject Subject) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(base, "blocked")
	if err := os.MkdirAll(filepath.Join(blocked, subject.Name), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, says string }{
		"a file":              {file, "it is a file, not a directory"},
		"missing parent":      {filepath.Join(base, "no", "data"), "its parent directory does not exist"},
		"parent is a file":    {filepath.Join(file, "data"), "not a directory"},
		"directory as a file": {blocked, "is a directory where a file belongs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := subject.Open(t.Context(), c.dir, boltfile.Options{})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that says %q", err, c.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(base, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the missing parent was made")
	}
}

// testDamagedFiles covers every way in which a file of the directory can be wrong when it is
// opened. Each is refused with a remedy and is not changed.
func testDamagedFiles(t *testing.T, subject Subject) {
	other := subject.closedDir(t, 1)
	base := subject.readFiles(t, subject.closedDir(t, 200))
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	replaced := func(with string) func([]byte) []byte { return func([]byte) []byte { return []byte(with) } }
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte // nil: the file is removed
		says       string
	}{
		{"cut to nothing", subject.Name, cut(0), "is empty"},
		{"cut to 10 bytes", subject.Name, cut(10), "is cut"},
		{"cut to 100 bytes", subject.Name, cut(100), "is cut"},
		{"cut to a page", subject.Name, cut(pageSize), "is cut"},
		{"cut to two pages", subject.Name, cut(2 * pageSize), "is cut"},
		{"cut to half of its pages", subject.Name, func(b []byte) []byte { return b[:UsedBytes(b)/2] }, "is cut"},
		{"cut by one byte", subject.Name, func(b []byte) []byte { return b[:UsedBytes(b)-1] }, "is cut"},
		{"missing", subject.Name, nil, "is missing"},
		{"a text", subject.Name, replaced("hello, world\n"), "is cut"},
		{"a long text", subject.Name, replaced(strings.Repeat("hello, world\n", 5000)), "is not a bolt file"},
		{"zeros", subject.Name, replaced(strings.Repeat("\x00", 50*pageSize)), "is not a bolt file"},
		{"another program's bolt file", subject.Name, replaced(foreignBolt(t)), "is a bolt file, but not a"},
		{"another store's file", subject.Name, func([]byte) []byte { return mustRead(t, filepath.Join(other, subject.Name)) }, "belongs to another"},
		{"both meta pages zeroed", subject.Name, func(b []byte) []byte { clear(b[:2*pageSize]); return b }, "is not a bolt file"},
		{"both meta pages flipped", subject.Name, func(b []byte) []byte { b[60] ^= 1; b[60+pageSize] ^= 1; return b }, "damaged meta page"},
		{"zeros behind the meta pages", subject.Name, func(b []byte) []byte { clear(b[2*pageSize:]); return b }, "is damaged"},
		{"a branch that leads to itself", subject.Name, selfReference, "too deep"},
		{"two branches that lead to one page", subject.Name, doubleReference, "used twice"},
		{"a free list with a page in use", subject.Name, freeUsedPage, "used twice"},
		{"FORMAT missing", boltfile.FormatFile, nil, "is missing"},
		{"FORMAT empty", boltfile.FormatFile, cut(0), "cannot be read"},
		{"FORMAT half", boltfile.FormatFile, cut(20), "cannot be read"},
		{"FORMAT with a word too many", boltfile.FormatFile, func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"more":1,`), 1) }, "cannot be read"},
		{"FORMAT of format 0", boltfile.FormatFile, func(b []byte) []byte {
			return bytes.Replace(b, fmt.Appendf(nil, ":%d,", subject.Format), []byte(":0,"), 1)
		}, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			restoreFiles(t, dir, base)
			path := filepath.Join(dir, c.file)
			if c.change == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				editFile(t, path, c.change)
			}
			before := subject.readFiles(t, dir)
			for range 2 { // the second time shows that the first left no lock
				_, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1})
				var damaged *boltfile.DamagedError
				if !errors.As(err, &damaged) || !errors.Is(err, store.ErrCorrupt) {
					t.Fatalf("error %v, want a DamagedError", err)
				}
				if damaged.File != path || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "restore a backup into "+dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("it says %q, want the file, %q and the remedy on one line", err, c.says)
				}
			}
			after := subject.readFiles(t, dir)
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

func foreignBolt(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "foreign")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize})
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
	changeBranches(b, func(page []byte) { order.PutUint64(page[pageHeaderSize+8:], order.Uint64(page)) })
	return b
}

// doubleReference points the second child of every branch page to its first.
func doubleReference(b []byte) []byte {
	changeBranches(b, func(page []byte) {
		order.PutUint64(page[pageHeaderSize+elementSize+8:], order.Uint64(page[pageHeaderSize+8:]))
	})
	return b
}

func changeBranches(b []byte, change func(page []byte)) {
	for at := 2 * pageSize; at < UsedBytes(b); at += pageSize {
		if order.Uint16(b[at+8:]) == branchPage {
			change(b[at:])
		}
	}
}

// freeUsedPage puts the root page on the free list.
func freeUsedPage(b []byte) []byte {
	meta := newestMeta(b)[pageHeaderSize:]
	root, freelist := order.Uint64(meta[16:]), order.Uint64(meta[32:])
	order.PutUint64(b[freelist*pageSize+pageHeaderSize:], root)
	return b
}

func testNewerFormat(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 3)
	path := filepath.Join(dir, boltfile.FormatFile)
	editFile(t, path, func([]byte) []byte {
		return fmt.Appendf(nil, `{"format":%d,"store":"x","incarnation":1,"epoch":"later"}`, subject.Format+1)
	})
	before := subject.readFiles(t, dir)
	_, err := subject.Open(t.Context(), dir, boltfile.Options{})
	var newer *boltfile.FormatError
	if !errors.As(err, &newer) || newer.Format != subject.Format+1 || !strings.Contains(err.Error(), "newer program") {
		t.Fatalf("error %v, want a FormatError", err)
	}
	for name, content := range subject.readFiles(t, dir) {
		if content != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
}

// testOlderFormat opens a file of format 1, which gets the number of today and loses nothing.
func testOlderFormat(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 3)
	path := filepath.Join(dir, boltfile.FormatFile)
	today := fmt.Sprintf(`"format":%d`, subject.Format)
	editFile(t, path, func(b []byte) []byte { return bytes.Replace(b, []byte(today), []byte(`"format":1`), 1) })
	h := subject.openHandle(t, dir)
	wantIncarnation(t, h, 1)
	if _, err := h.Get(t.Context(), "k/0002"); err != nil {
		t.Error(err)
	}
	verifyHandle(t, subject, h)
	closeHandle(t, h)
	if text := mustRead(t, path); !bytes.Contains(text, []byte(today)) {
		t.Errorf("FORMAT holds %s", text)
	}
}

// testUnfinishedBeginning covers the states in which a process can be killed while it creates a
// file: each is completed, and nothing else is.
func testUnfinishedBeginning(t *testing.T, subject Subject) {
	t.Run("before FORMAT", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{subject.Name + newSuffix, boltfile.FormatFile + newSuffix} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := subject.openHandle(t, dir)
		defer s.Close()
		putRecords(t, s, 1)
	})
	t.Run("after FORMAT", func(t *testing.T) {
		dir := subject.closedDir(t, 0)
		path := filepath.Join(dir, subject.Name)
		if err := os.Rename(path, path+newSuffix); err != nil {
			t.Fatal(err)
		}
		s := subject.openHandle(t, dir)
		defer s.Close()
		putRecords(t, s, 1)
		wantIncarnation(t, s, 1)
	})
}

// testRollback covers every way in which acknowledged writes can be lost without the store's
// knowledge. Each opens as a new incarnation, with a line in the log.
func testRollback(t *testing.T, subject Subject) {
	olderMeta := func(b []byte, newer bool) []byte {
		page := b[:pageSize]
		if (metaTx(b[pageSize:]) > metaTx(b)) == newer {
			page = b[pageSize : 2*pageSize]
		}
		clear(page)
		return b
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, old []byte)
		seq    uint64 // the end of the log afterwards
		says   string
	}{
		{"newer meta page zeroed", func(t *testing.T, dir string, _ []byte) {
			editFile(t, filepath.Join(dir, subject.Name), func(b []byte) []byte { return olderMeta(b, true) })
		}, 11, "write 12 was acknowledged"},
		{"newer meta page zeroed and HEAD lost", func(t *testing.T, dir string, _ []byte) {
			editFile(t, filepath.Join(dir, subject.Name), func(b []byte) []byte { return olderMeta(b, true) })
			if err := os.Remove(filepath.Join(dir, headFile)); err != nil {
				t.Fatal(err)
			}
		}, 11, "one of the two meta pages"},
		{"older meta page zeroed", func(t *testing.T, dir string, _ []byte) {
			editFile(t, filepath.Join(dir, subject.Name), func(b []byte) []byte { return olderMeta(b, false) })
		}, 12, "one of the two meta pages"},
		{"an older file", func(t *testing.T, dir string, old []byte) {
			editFile(t, filepath.Join(dir, subject.Name), func([]byte) []byte { return old })
		}, 10, "write 12 was acknowledged"},
		{"FORMAT of another incarnation", func(t *testing.T, dir string, _ []byte) {
			editFile(t, filepath.Join(dir, boltfile.FormatFile), func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"incarnation":1`), []byte(`"incarnation":5`), 1)
			})
		}, 12, "one of them was replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := subject.closedDir(t, 10)
			old := mustRead(t, filepath.Join(dir, subject.Name))
			s := subject.openHandle(t, dir)
			putRecords(t, s, 2)
			before := s.File().Incarnation()
			s.Close()
			c.change(t, dir, old)

			var log bytes.Buffer
			s, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1, Log: slog.New(slog.NewJSONHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			incarnation := s.File().Incarnation()
			if seq, _ := s.File().Progress(); seq != c.seq || incarnation <= before {
				t.Errorf("the file is at sequence %d of incarnation %d, want sequence %d of a newer one than %d", seq, incarnation, c.seq, before)
			}
			var line struct{ Level, Why string }
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != "ERROR" || !strings.Contains(line.Why, c.says) {
				t.Errorf("the log has %q, want one error that says %q", log.String(), c.says)
			}
			putRecords(t, s, 1)
			verifyHandle(t, subject, s)
			s.Close()

			log.Reset()
			s, err = subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1, Log: slog.New(slog.NewJSONHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.File().Incarnation() != incarnation || log.Len() > 0 {
				t.Errorf("opened once more: incarnation %d after %d, log %q", s.File().Incarnation(), incarnation, log.String())
			}
		})
	}
}

// testHeadLost shows that HEAD detects lost writes but is not needed to open the file.
func testHeadLost(t *testing.T, subject Subject) {
	for name, content := range map[string]string{"empty": "", "rubbish": "rubbish", "flipped": "00000000000000000001 00000000000000000009 00000000\n"} {
		t.Run(name, func(t *testing.T) {
			dir := subject.closedDir(t, 3)
			editFile(t, filepath.Join(dir, headFile), func([]byte) []byte { return []byte(content) })
			s := subject.openHandle(t, dir)
			defer s.Close()
			if seq, _ := s.File().Progress(); seq != 3 {
				t.Errorf("the file is at sequence %d, want 3", seq)
			}
			wantIncarnation(t, s, 1)
		})
	}
}

func testEndedContext(t *testing.T, subject Subject) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := subject.Open(ended, dir, boltfile.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}

// FastDir returns a temporary directory, in memory if the system supports it.
func FastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "filetest")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
