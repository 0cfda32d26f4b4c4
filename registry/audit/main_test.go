package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"golang.org/x/mod/sumdb/note"
)

const origin = "registry.example/log"

// Tests that need a second process run this binary again, with the task in the environment.
const (
	roleEnv = "AUDIT_TEST_ROLE"
	dirEnv  = "AUDIT_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "write":
		writeUntilKilled(os.Getenv(dirEnv))
	case "erase":
		eraseUntilKilled(os.Getenv(dirEnv))
	}
}

// childTime bounds the lifetime of a child process, so that a hanging child does not delay the
// other tests.
const childTime = 5 * time.Minute

// child prepares a process in one of the roles above.
func child(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), childTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func childFails(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

// A fixture is a store and the log that follows it, below one directory:
//
//	dir/store   the store
//	dir/log     the log
//	dir/key     its secret key
//	dir/copy    the second copy of its checkpoint
type fixture struct {
	t     *testing.T
	dir   string
	store *boltstore.Store
	log   *Log
	lines *lines
	wait  func() error // waits for Run and returns its error
	stop  func() error // ends Run before
}

// lines keeps the logged lines.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{} // closed with the next line; nil when nobody waits
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrote != nil {
		close(l.wrote)
		l.wrote = nil
	}
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// until waits for a text.
func (l *lines) until(t *testing.T, text string) {
	t.Helper()
	for {
		l.mu.Lock()
		said := strings.Contains(l.text.String(), text)
		if l.wrote == nil {
			l.wrote = make(chan struct{})
		}
		wrote := l.wrote
		l.mu.Unlock()
		if said {
			return
		}
		select {
		case <-wrote:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func openStore(t testing.TB, dir string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1, KeepDeletion: leafform.HistoryKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openKey(t testing.TB, dir string) *checkpoint.Key {
	t.Helper()
	k, err := checkpoint.OpenKey(filepath.Join(dir, "key"), origin)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newFixture opens both and follows.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, dir: t.TempDir()}
	h.open(Options{})
	return h
}

// tryOpen opens both; the options are those that differ from the usual.
func (h *fixture) tryOpen(o Options) error {
	h.t.Helper()
	h.store = openStore(h.t, filepath.Join(h.dir, "store"))
	h.lines = &lines{}
	o.Dir, o.Store, o.Copy = filepath.Join(h.dir, "log"), h.store, filepath.Join(h.dir, "copy")
	o.Log = slog.New(slog.NewTextHandler(h.lines, nil))
	if o.Key == nil {
		o.Key = openKey(h.t, h.dir)
	}
	var err error
	h.log, err = Open(h.t.Context(), o)
	if err != nil {
		h.log = nil
		if err := h.store.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	return err
}

func (h *fixture) open(o Options) {
	h.t.Helper()
	if err := h.tryOpen(o); err != nil {
		h.t.Fatal(err)
	}
	h.run()
}

func (h *fixture) run() {
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error, 1)
	log := h.log
	go func() { ended <- log.Run(ctx) }()
	h.wait = sync.OnceValue(func() error { return <-ended })
	wait := h.wait
	h.stop = func() error {
		cancel()
		return wait()
	}
	stop := h.stop
	h.t.Cleanup(func() { stop() })
}

// close ends all and returns what Run said.
func (h *fixture) close() error {
	h.t.Helper()
	err := h.stop()
	if err := errors.Join(h.log.Close(), h.store.Close()); err != nil {
		h.t.Fatal(err)
	}
	return err
}

func (h *fixture) shut() {
	h.t.Helper()
	if err := h.close(); err != nil {
		h.t.Fatal(err)
	}
}

// apply writes and waits until the log has it.
func (h *fixture) apply(writes ...store.Write) {
	h.t.Helper()
	seq, err := h.store.Apply(h.t.Context(), writes...)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.log.WaitFor(h.t.Context(), seq); err != nil {
		h.t.Fatal(err)
	}
}

// event is the n-th thing that happened to an agent.
func event(agent, n int) store.Write {
	return store.PutIf(eventKey(agent, n), fmt.Appendf(nil, `{"event":"updated","n":%d,"name":"agent %d"}`, n, agent), 0)
}

func eventKey(agent, n int) string { return fmt.Sprintf("agent/AIR-%04d/%06d", agent, n) }

// events writes things that happened to an agent, from one number up to another.
func (h *fixture) events(agent, from, to int) {
	h.t.Helper()
	var writes []store.Write
	for n := from; n < to; n++ {
		writes = append(writes, event(agent, n))
	}
	h.apply(writes...)
}

// check verifies the whole log from its own directory against all signed checkpoints, and returns
// the report.
func (h *fixture) check(older ...[]byte) tiles.Report {
	h.t.Helper()
	r, err := tiles.Verify(h.t.Context(), FilesIn(filepath.Join(h.dir, "log")), h.verifier(), older...)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *fixture) verifier() note.Verifier {
	h.t.Helper()
	v, err := checkpoint.NewVerifier(openKey(h.t, h.dir).Public())
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *fixture) checkpoint() []byte {
	h.t.Helper()
	signed, err := h.log.Checkpoint()
	if err != nil {
		h.t.Fatal(err)
	}
	return signed
}

// keys are the keys of all leaves, in order.
func (h *fixture) keys() []string {
	h.t.Helper()
	var keys []string
	for i := range h.log.Head().N {
		e, err := h.log.Entry(h.t.Context(), i)
		if err != nil {
			h.t.Fatal(err)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

// save copies files and directories of the fixture, as a backup does.
func (h *fixture) save(names ...string) (backup string) {
	h.t.Helper()
	backup = h.t.TempDir()
	for _, name := range names {
		copyTo(h.t, filepath.Join(h.dir, name), filepath.Join(backup, name))
	}
	return backup
}

// restore restores the copies of save.
func (h *fixture) restore(backup string, names ...string) {
	h.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(h.dir, name)); err != nil {
			h.t.Fatal(err)
		}
		copyTo(h.t, filepath.Join(backup, name), filepath.Join(h.dir, name))
	}
}

func copyTo(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rest), 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rest), content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
