package audit

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/tlog"
)

// TestDamagedTileIsNotServed flips a bit in every hash that a tile holds: the tile, and those above
// it, are refused with the name of the file, and all others are served as before.
func TestDamagedTileIsNotServed(t *testing.T) {
	h := newFixture(t)
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
				if !errors.Is(err, tiles.ErrDamaged) || !strings.Contains(err.Error(), hashesFile) {
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

// TestOnlyOneOfTwoCopiesSigns opens a copy of the directory with the same second checkpoint: while the
// first signs, the other is refused; once the first has signed more, the other does not open at all.
func TestOnlyOneOfTwoCopiesSigns(t *testing.T) {
	h := newFixture(t)
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
	// Another machine, which does not see our lock, has signed a longer tree meanwhile.
	other := checkpoint.Checkpoint{Origin: h.log.key.Name()}
	other.N, other.Hash[0] = 21, 7
	signed, err := other.Sign(h.log.key)
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
	h.lines.until(t, "two copies of this directory are in use")
	if halt, halted := h.log.Halted(); !halted || halt.Cause != CauseLock {
		t.Errorf("after another copy has signed: %+v", halt)
	}
	if now, err := h.log.Checkpoint(); err != nil || string(now) != string(newest) {
		t.Errorf("something was signed: %s, %v", now, err)
	}
}

// TestStoreRecordsItsLog opens, beside a store that knows a checkpoint, no log, another one, and a
// new one: each is refused before anything is written.
func TestStoreRecordsItsLog(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	known, own := h.checkpoint(), h.log.key
	h.shut()
	s := openStore(t, filepath.Join(h.dir, "store"))
	defer s.Close()
	for name, key := range map[string]*checkpoint.Key{"no log": own, "no log and a new key": audittest.NewKey(t, own.Name())} {
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
	l, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "log"), Store: s, Key: audittest.NewKey(t, "other.test/log"), Known: [][]byte{known}})
	if err == nil {
		l.Close()
	}
	if !errors.Is(err, tiles.ErrDamaged) || !strings.Contains(err.Error(), "is of the log") {
		t.Errorf("a log of another origin: %v", err)
	}
}

// TestHaltedLogSignsNothing checks that after a witness has contradicted it, the log can be read
// and signs nothing, also after a restart, until its operator resumes it; it then signs the writes
// of the meantime.
func TestHaltedLogSignsNothing(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	before := h.checkpoint()
	h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
	h.log.Halt(CauseDamage, errors.New("a later reason"))
	seq, err := h.store.Apply(t.Context(), store.Put(eventKey(1, 10), []byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if err := h.log.WaitFor(t.Context(), seq); !errors.Is(err, ErrHalted) {
			t.Errorf("%s: waiting for it: %v", when, err)
		}
		if now, err := h.log.Checkpoint(); err != nil || string(now) != string(before) {
			t.Errorf("%s: signed again: %s, %v", when, now, err)
		}
		halt, halted := h.log.Halted()
		if line := halt.String(); !halted || halt.Cause != CauseWitness || !strings.Contains(line, "a witness says otherwise") || !strings.Contains(line, "gazetteer registry resume-signing") {
			t.Errorf("%s: it says %q", when, line)
		}
	}
	check("at once")
	h.shut()
	h.open(Options{})
	check("after a restart")
	if !strings.Contains(h.lines.String(), "signs nothing more") {
		t.Errorf("the operator is told at the start: %s", h.lines)
	}
	if err := h.log.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	h.check(before)
	h.shut()
	h.open(Options{})
	if _, halted := h.log.Halted(); halted {
		t.Error("it is halted again after it was resumed")
	}
	h.shut()
}

// TestDamageHaltsTheLog checks that a reader that meets a changed bit halts the log; it cannot be
// resumed before the bit is repaired, and nothing was appended to the damaged tree meanwhile.
func TestDamageHaltsTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		at   int64
		read func(l *Log) error
	}{
		"a hash, by a tile":  {hashesFile, tlog.StoredHashIndex(0, 300) * 32, func(l *Log) error { _, err := l.File(t.Context(), "tile/0/001"); return err }},
		"a hash, by a proof": {hashesFile, 0, func(l *Log) error { _, err := l.Prove(t.Context(), 1, 600); return err }},
		"a leaf":             {entriesFile, 100, func(l *Log) error { _, err := l.Entry(t.Context(), 0); return err }},
		"a row":              {rowsFile, 64 * 256, func(l *Log) error { _, err := l.File(t.Context(), "tile/entries/001"); return err }},
		"by the next batch":  {hashesFile, hashesBytes(600) - 32, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.events(1, 0, 600)
			before := h.checkpoint()
			path := filepath.Join(h.dir, "log", c.file)
			flip(t, path, c.at)
			if c.read != nil {
				if err := c.read(h.log); !errors.Is(err, tiles.ErrDamaged) {
					t.Fatalf("that read does not meet it: %v", err)
				}
			}
			seq, err := h.store.Apply(t.Context(), event(2, 0))
			if err != nil {
				t.Fatal(err)
			}
			h.lines.until(t, "signs nothing more")
			if halt, halted := h.log.Halted(); !halted || halt.Cause != CauseDamage {
				t.Fatalf("halted: %t, %+v", halted, halt)
			}
			if err := h.log.Resume(t.Context()); !errors.Is(err, tiles.ErrDamaged) && !errors.Is(err, ErrFork) {
				t.Errorf("resumed with the damage: %v", err)
			}
			flip(t, path, c.at) // as it was
			if err := h.log.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := h.log.WaitFor(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
			if r := h.check(before); r.N != 601 {
				t.Errorf("%d leaves", r.N)
			}
			h.shut()
		})
	}
}

// A lockServer is a witness that is the lock of logs.
type lockServer struct {
	*httptest.Server
	silent atomic.Bool // it answers nobody
	key    *checkpoint.Key
}

func (s *lockServer) cosigner(t *testing.T) *Cosigner {
	t.Helper()
	c, err := ParseCosigner(s.key.PublicWitness() + " " + s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// newLock makes a lock for the log of a fixture.
func newLock(t *testing.T, log *checkpoint.Key) *lockServer {
	t.Helper()
	s := &lockServer{key: audittest.NewKey(t, "lock.test")}
	handler := audittest.ServeWitness(audittest.OpenWitness(t, time.Now, t.TempDir(), s.key, log))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.silent.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestLockOnAnotherDisk checks that two copies of store and log, each without anything of the other
// on its disk, share a lock: only one of them signs, and the other one halts. While the lock is
// silent nothing is signed; when it answers again, all is.
func TestLockOnAnotherDisk(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	h.shut()
	lock := newLock(t, openKey(t, h.dir))
	h.open(Options{Lock: lock.cosigner(t)})
	h.events(1, 10, 20)
	if signed := string(h.checkpoint()); !strings.Contains(signed, "\u2014 lock.test ") {
		t.Errorf("the lock has not cosigned: %s", signed)
	}
	h.shut()
	copied := &fixture{t: t, dir: h.save("log", "store", "key", "copy")}

	h.open(Options{Lock: lock.cosigner(t)})
	h.events(1, 20, 30)
	newest := h.checkpoint()
	// The copy has not seen these ten leaves, and its store writes others.
	copied.open(Options{Lock: lock.cosigner(t)})
	before := copied.checkpoint()
	var writes []store.Write
	for n := range 12 {
		writes = append(writes, event(7, n))
	}
	if _, err := copied.store.Apply(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	copied.lines.until(t, "signs nothing more")
	if halt, halted := copied.log.Halted(); !halted || halt.Cause != CauseLock {
		t.Errorf("the copy: %t %+v", halted, halt)
	}
	if now := copied.checkpoint(); string(now) != string(before) {
		t.Errorf("the copy has signed:\n%s", now)
	}
	if err := copied.log.Resume(t.Context()); !errors.Is(err, ErrFork) {
		t.Errorf("the copy was resumed: %v", err)
	}
	copied.shut()

	lock.silent.Store(true)
	seq, err := h.store.Apply(t.Context(), event(1, 30))
	if err != nil {
		t.Fatal(err)
	}
	h.lines.until(t, "the lock of the log has not cosigned")
	if now := h.checkpoint(); string(now) != string(newest) {
		t.Errorf("signed without the lock:\n%s", now)
	}
	lock.silent.Store(false)
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	h.check(newest)
	h.shut()
}

// TestSilentLockAtStart opens a log whose lock does not answer, and to which nothing is written: its
// status says at once that it cannot sign. When the lock answers, the status and the server's log say
// that it signs.
func TestSilentLockAtStart(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	h.shut()
	lock := newLock(t, openKey(t, h.dir))
	lock.silent.Store(true)
	h.open(Options{Lock: lock.cosigner(t), CheckStore: true})
	if s := h.log.Status(); s.Signs() || !errors.Is(s.Blocked, ErrLock) {
		t.Errorf("without its lock the log is at %+v", s)
	}
	h.lines.until(t, "trying again")
	if s := h.log.Status(); s.Signs() {
		t.Errorf("without its lock the log signs after the first retry: %+v", s)
	}
	lock.silent.Store(false)
	h.lines.until(t, "the transparency log signs again")
	if s := h.log.Status(); !s.Signs() {
		t.Errorf("with its lock the log is at %+v", s)
	}
	h.shut()
}

// TestOlderCopyWithLock checks that an older copy of store and log is refused before anything is
// written, and an older copy of the log alone grows until it has what the lock has taken.
func TestOlderCopyWithLock(t *testing.T) {
	h := newFixture(t)
	lock := newLock(t, h.log.key)
	h.events(1, 0, 10)
	h.shut()
	backup := h.save("log", "store", "copy")
	h.open(Options{Lock: lock.cosigner(t)})
	h.events(1, 10, 20)
	newest := h.checkpoint()
	h.shut()

	h.restore(backup, "log", "copy")
	if err := h.tryOpen(Options{Lock: lock.cosigner(t)}); err != nil {
		t.Fatal(err)
	}
	if err := h.log.CheckStore(t.Context()); err != nil {
		t.Errorf("the log alone: %v", err)
	}
	h.run()
	if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	h.check(newest)
	h.shut()

	h.restore(backup, "log", "store", "copy")
	if err := h.tryOpen(Options{Lock: lock.cosigner(t)}); err != nil {
		t.Fatal(err)
	}
	if err := h.log.CheckStore(t.Context()); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "the tree has 10 leaves, a checkpoint of 20 was signed") {
		t.Errorf("log and store: %v", err)
	}
	if err := errors.Join(h.log.Close(), h.store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRestoredBackupBesideNewerCopy restores a log that is older than the store, which has another
// incarnation, as a backup does, beside the copy of a newer checkpoint: that is found before anything
// is written.
func TestRestoredBackupBesideNewerCopy(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 10)
	h.shut()
	older := h.save("log")
	h.open(Options{})
	h.events(1, 10, 15)
	h.shut()
	backup := h.save("store")
	h.open(Options{})
	h.events(1, 15, 20)
	newest := h.checkpoint()
	h.shut()
	before := filepath.Join(h.dir, "store", "HEAD") // it shows that the store is older, and so makes the incarnation
	head, err := os.ReadFile(before)
	if err != nil {
		t.Fatal(err)
	}
	h.restore(older, "log")
	h.restore(backup, "store")
	if err := os.WriteFile(before, head, 0o600); err != nil {
		t.Fatal(err)
	}

	files := func() (content []string) {
		t.Helper()
		for _, name := range []string{stateFile, rowsFile, entriesFile, hashesFile, tiles.CheckpointFile, tiles.KeyFile} {
			text, err := os.ReadFile(filepath.Join(h.dir, "log", name))
			if err != nil {
				t.Fatal(err)
			}
			content = append(content, string(text))
		}
		return content
	}
	was := files()
	err = h.tryOpen(Options{CheckStore: true})
	if !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), "the tree has 15 leaves, a checkpoint of 20 was signed") {
		t.Errorf("it says %v", err)
	}
	if !slices.Equal(files(), was) {
		t.Error("a refused log has the leaves by which the older copy was grown, or another checkpoint")
	}
	if copied, err := os.ReadFile(filepath.Join(h.dir, "copy")); err != nil || string(copied) != string(newest) {
		t.Errorf("the copy has %q, %v", copied, err)
	}
}

// TestMissingCopyIsWarnedOf checks that a log that has signed warns at its start if the copy of its
// checkpoint is missing, and that a new log does not.
func TestMissingCopyIsWarnedOf(t *testing.T) {
	h := newFixture(t)
	warned := func() bool { return strings.Contains(h.lines.String(), "the copy of the checkpoint is missing") }
	if warned() {
		t.Error("a new log warns")
	}
	h.events(1, 0, 10)
	h.shut()
	if err := os.Remove(filepath.Join(h.dir, "copy")); err != nil {
		t.Fatal(err)
	}
	h.open(Options{})
	if !warned() {
		t.Errorf("without the copy the log says only\n%s", h.lines)
	}
	h.shut()
	h.open(Options{})
	if warned() {
		t.Error("the copy was not written again")
	}
	h.shut()
}

// TestRemovedFileHaltsLog checks that a log signs nothing more when one of its growing files is removed
// while it runs: what it would write is gone at the end of the process.
func TestRemovedFileHaltsLog(t *testing.T) {
	for _, name := range []string{rowsFile, entriesFile, hashesFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			h.events(1, 0, 3)
			before := h.checkpoint()
			if err := os.Rename(filepath.Join(h.dir, "log", name), filepath.Join(h.dir, "away")); err != nil {
				t.Fatal(err)
			}
			seq, err := h.store.Apply(t.Context(), event(1, 3))
			if err != nil {
				t.Fatal(err)
			}
			if err := h.log.WaitFor(t.Context(), seq); !errors.Is(err, ErrHalted) {
				t.Errorf("the log signs: %v", err)
			}
			if halt, _ := h.log.Halted(); halt.Cause != CauseDamage || !strings.Contains(halt.Reason, name+" was removed or replaced while it was open") {
				t.Errorf("%+v", halt)
			}
			if !bytes.Equal(h.checkpoint(), before) {
				t.Error("another checkpoint was signed")
			}
			if err := os.Rename(filepath.Join(h.dir, "away"), filepath.Join(h.dir, "log", name)); err != nil {
				t.Fatal(err)
			}
			if err := h.log.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.events(1, 4, 5)
			h.shut()
		})
	}
}
