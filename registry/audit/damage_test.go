package audit

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store/boltfile/filetest"
	"gazetteer/store/boltstore"

	"golang.org/x/mod/sumdb/tlog"
)

// flip changes one bit of a file.
func flip(t testing.TB, path string, at int64) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // in place, as a disk does it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content[at:at+1], at); err != nil {
		t.Fatal(err)
	}
}

// TestDamage opens a log after each kind of damage. Every error names the file and the repair, and
// the attempt changes nothing.
func TestDamage(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 600)
	h.shut()
	backup := h.save("log", "copy", "key")
	log := func(name string) string { return filepath.Join(h.dir, "log", name) }
	at := func(name string, offset int64) func() { return func() { flip(t, log(name), offset) } }
	cut := func(name string, size int64) func() {
		return func() {
			if err := os.Truncate(log(name), size); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(path string) func() {
		return func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(path, content string) func() {
		return func() {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		damage func()
		want   error
		says   string
	}{
		{"state: a bit", at(stateFile, 30), tiles.ErrDamaged, "state is damaged: it does not match its checksum; nothing was changed: put back"},
		{"state: empty", put(log(stateFile), ""), tiles.ErrDamaged, "state is damaged"},
		{"state: lost", remove(log(stateFile)), ErrFork, "a checkpoint of 600 leaves was signed"},
		{"state: of a newer program", put(log(stateFile), stateOf(`{"format":2}`)), tiles.ErrDamaged, "has format 2, this program knows format 1"},
		{"checkpoint: a bit of the size", at(tiles.CheckpointFile, int64(len(origin))+1), tiles.ErrDamaged, "checkpoint is damaged: the signature of registry.example/log is invalid"},
		{"checkpoint: a bit of the root", at(tiles.CheckpointFile, int64(len(origin))+10), tiles.ErrDamaged, "checkpoint is damaged"},
		{"checkpoint: a bit of the signature", at(tiles.CheckpointFile, 150), tiles.ErrDamaged, "checkpoint is damaged"},
		{"checkpoint: empty", put(log(tiles.CheckpointFile), ""), tiles.ErrDamaged, "checkpoint is damaged: it is not a signed checkpoint"},
		{"checkpoint: both lost", func() { remove(log(tiles.CheckpointFile))(); remove(filepath.Join(h.dir, "copy"))() }, tiles.ErrDamaged, "checkpoint is missing beside state"},
		{"the copy: a bit", func() { flip(t, filepath.Join(h.dir, "copy"), 40) }, tiles.ErrDamaged, "copy is damaged"},
		{"hashes: a bit near the root", at(hashesFile, tlog.StoredHashIndex(9, 0)*tlog.HashSize), ErrFork, "the file hashes is damaged"},
		{"hashes: cut", cut(hashesFile, 1195*tlog.HashSize), tiles.ErrDamaged, "hashes is cut: it has 38240 bytes and should have at least 38272"},
		{"hashes: lost", remove(log(hashesFile)), tiles.ErrDamaged, "hashes is missing"},
		{"rows: a bit", at(rowsFile, 70), tiles.ErrDamaged, "rows is damaged: the row of leaf 1 does not match"},
		{"rows: cut", cut(rowsFile, 64), tiles.ErrDamaged, "rows is cut"},
		{"entries: cut", cut(entriesFile, 100), tiles.ErrDamaged, "entries is cut"},
		{"key: of another log", func() {
			remove(filepath.Join(h.dir, "key"))()
			if _, err := checkpoint.OpenKey(filepath.Join(h.dir, "key"), "other.example/log"); err != nil {
				t.Fatal(err)
			}
		}, nil, "it is the key of other.example/log, not of registry.example/log"},
	}
	for _, test := range tests {
		h.restore(backup, "log", "copy", "key")
		test.damage()
		before := fingerprint(t, h.dir)
		err := h.openError()
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
		if after := fingerprint(t, h.dir); !slices.Equal(before, after) {
			t.Errorf("%s: trying has changed %q", test.name, after)
		}
	}

	h.restore(backup, "log", "copy", "key")
	remove(log(tiles.CheckpointFile))()
	h.open(Options{}) // the copy is as good
	h.check()
	h.shut()

	h.restore(backup, "log", "copy", "key")
	at(entriesFile, 100)() // seen when it is read, and by tiles.Verify
	h.open(Options{})
	if _, err := h.log.Entry(t.Context(), 0); !errors.Is(err, tiles.ErrDamaged) || !strings.Contains(err.Error(), "leaf 0, ") {
		t.Errorf("a damaged leaf: %v", err)
	}
	if _, err := h.log.Prove(t.Context(), 0, 600); err != nil {
		t.Errorf("its proof: %v", err)
	}
	h.shut()
}

func stateOf(text string) string { // with its checksum
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// openError opens the log and its key, and returns the error.
func (h *fixture) openError() error {
	h.t.Helper()
	key, err := checkpoint.OpenKey(filepath.Join(h.dir, "key"), origin)
	if err != nil {
		return err
	}
	err = h.tryOpen(Options{Key: key})
	if err == nil {
		h.run()
		h.shut()
	}
	return err
}

// fingerprint lists the files of log and copy with their contents' hashes.
func fingerprint(t *testing.T, dir string) (list []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(dir, "copy")) {
		content, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		list = append(list, filepath.Base(name)+" "+tlog.RecordHash(content).String())
	}
	return list
}

// TestDamagedRecord damages a record of the store before the log has read it: the log omits the
// record and does not treat it as deleted.
func TestDamagedRecord(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	h.stop()
	seq, err := h.store.Apply(t.Context(), event(1, 3), event(1, 4))
	if err != nil {
		t.Fatal(err)
	}
	h.shut()
	file := filepath.Join(h.dir, "store", boltstore.BoltFile)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	value := event(1, 3).Value
	for at := 0; ; at++ {
		next := bytes.Index(content[at:], value)
		if next < 0 {
			break
		}
		at += next
		flip(t, file, int64(at)+5)
	}
	h.open(Options{})
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if got := h.keys(); len(got) != 4 || got[3] != eventKey(1, 4) {
		t.Errorf("the leaves are %q", got)
	}
	if !strings.Contains(h.lines.String(), "a damaged record is left out of the log") {
		t.Errorf("the operator is told %s", h.lines)
	}
	h.check()
	h.shut()
}

// flipsEnv sets how many bits TestFlippedBitsInLog flips; 300 when it is not set.
const flipsEnv = "FLIPS"

// TestFlippedBitsInLog flips one bit after another in a file of the log, its key or the second
// checkpoint, and then opens and reads the log. Each answer must be the right one or an error.
func TestFlippedBitsInLog(t *testing.T) {
	flips := 300
	if n, err := strconv.Atoi(os.Getenv(flipsEnv)); err == nil {
		flips = n
	}
	h := &fixture{t: t, dir: filetest.FastDir(t)}
	h.open(Options{})
	h.events(1, 0, 280)
	h.shut()
	d := &flippedLog{fixture: h, dir: h.dir, store: openStore(t, filepath.Join(h.dir, "store")), files: map[string][]byte{}}
	for _, name := range []string{"key", "copy", "log/" + stateFile, "log/" + tiles.CheckpointFile, "log/" + hashesFile, "log/" + rowsFile, "log/" + entriesFile} {
		content, err := os.ReadFile(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d.files[name] = content
		d.names = append(d.names, name)
	}
	if err := d.read(t, nil); err != nil || len(d.truth) < 280 {
		t.Fatalf("the log without damage: %v, %d answers", err, len(d.truth))
	}
	outcomes := map[string]map[string]int{}
	for range flips {
		name := d.names[rand.IntN(len(d.names))]
		at, bit := rand.IntN(len(d.files[name])), byte(1)<<rand.IntN(8)
		if outcomes[name] == nil {
			outcomes[name] = map[string]int{}
		}
		outcomes[name][d.judgeFlip(t, name, at, bit)]++
	}
	for name, counts := range outcomes {
		t.Logf("%s: %v", name, counts)
	}
}

// A flippedLog is a log with the answers that it gives without damage.
type flippedLog struct {
	*fixture
	dir   string
	store *boltstore.Store
	files map[string][]byte
	names []string
	truth map[string]string
}

// judgeFlip reads the log with one flipped bit, and puts its files back.
func (d *flippedLog) judgeFlip(t *testing.T, name string, at int, bit byte) string {
	t.Helper()
	content := d.files[name]
	content[at] ^= bit
	err := os.WriteFile(filepath.Join(d.dir, name), content, 0o600)
	content[at] ^= bit
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]string{}
	named := d.read(t, wrong)
	for path, answer := range wrong {
		t.Errorf("%s, byte %d, bit %#x: %s is answered\n%q\nand was answered\n%q", name, at, bit, path, answer, d.truth[path])
	}
	if err := os.RemoveAll(filepath.Join(d.dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range d.files {
		if err := os.WriteFile(filepath.Join(d.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case named == nil:
		return "harmless"
	case errors.Is(named, errAnswer):
		return "named by an answer"
	}
	return "named at opening"
}

var errAnswer = errors.New("some answers are errors")

// read opens the log and reads all of it. It adds the answers that differ from the true ones to
// wrong; if wrong is nil, the answers are the true ones.
func (d *flippedLog) read(t *testing.T, wrong map[string]string) (named error) {
	t.Helper()
	key, err := checkpoint.OpenKey(filepath.Join(d.dir, "key"), origin)
	if err != nil {
		return err
	}
	l, err := Open(t.Context(), Options{Dir: filepath.Join(d.dir, "log"), Store: d.store, Copy: filepath.Join(d.dir, "copy"), Key: key, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer l.Close()
	if wrong == nil {
		d.truth = map[string]string{}
	}
	answer := func(path string, value any, err error) {
		switch text := fmt.Sprintf("%+v", value); {
		case err != nil:
			named = errAnswer
		case wrong == nil:
			d.truth[path] = text
		case d.truth[path] != text:
			wrong[path] = text
		}
	}
	signed, err := l.Checkpoint()
	answer("checkpoint", string(signed), err)
	for _, name := range []string{"checkpoint", "tile/0/000", "tile/0/001.p/24", "tile/1/000.p/1", "tile/entries/000", "tile/entries/001.p/24"} {
		content, err := l.File(t.Context(), name)
		answer(name, string(content), err)
	}
	leaves := rand.Perm(280)
	if wrong != nil {
		leaves = leaves[:12]
	}
	for _, i := range leaves {
		entry, err := l.Entry(t.Context(), int64(i))
		answer(fmt.Sprint("entry ", i), entry, err)
		proof, err := l.Prove(t.Context(), int64(i), 280)
		answer(fmt.Sprint("proof ", i), proof, err)
	}
	return named
}
