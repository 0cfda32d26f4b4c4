// Package witness cosigns the checkpoints of other registries' logs: it requires a proof that each
// checkpoint contains the one before (C2SP tlog-witness), so that a log cannot show different trees to
// different readers. Begin with [Open] and [Witness.Add]. The log's own side, which asks witnesses, is
// in package audit.
package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Options of [Open].
type Options struct {
	// Dir contains one file per log with the newest cosigned checkpoint. It is created if it is
	// missing; its parent must exist. Never restore an older copy of it: the witness would cosign
	// checkpoints that contradict its earlier cosignatures.
	Dir string
	// Key is the witness's own key, not the key of a log.
	Key *checkpoint.Key
	// Logs contains the keys of the logs to cosign. The name of a key is the origin of its log.
	Logs []note.Verifier
	// Store records the sizes of the cosigned trees, so that an older copy of Dir is refused; nil
	// for none.
	Store store.Store
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log receives a line when a log contradicts itself; nil discards it.
	Log *slog.Logger
}

// A Witness cosigns the checkpoints of other logs. It requires a proof that each checkpoint
// contains the previous one (C2SP tlog-witness). All methods may be called from any goroutine.
type Witness struct {
	key   *checkpoint.Key
	store store.Store // nil for none
	now   func() time.Time
	log   *slog.Logger
	lock  *os.File
	logs  map[string]*witnessed // by origin
}

// witnessed is one log that a witness cosigns.
type witnessed struct {
	verifier note.Verifier
	path     string
	record   string // its key in the store

	mu     sync.Mutex // held while a checkpoint is compared and stored; guards following
	tree   tlog.Tree  // size 0 if nothing was cosigned
	signed []byte     // with the cosignature
	stored int64      // the size in the store
	last   cosignature
}

// A cosignature is the last one of a log that was made since the start.
type cosignature struct {
	text string // what it signs
	line []byte
	at   time.Time
}

// cosignInterval is how long a cosignature is repeated for the same checkpoint: anyone can send it again,
// and each new cosignature is written to disk.
const cosignInterval = time.Minute

// Open reads the earlier cosigned checkpoints. Close must be called. The error matches
// [privatefile.ErrLocked] if another process has the directory open. It names the file, and what to do,
// if a file there differs from what the witness wrote or is older than the store.
func Open(ctx context.Context, o Options) (*Witness, error) {
	if o.Key == nil {
		return nil, errors.New("open witness: it needs a key")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Witness{key: o.Key, store: o.Store, now: o.Now, log: o.Log, logs: map[string]*witnessed{}}
	err := privatefile.MakeDir(o.Dir)
	if err == nil {
		w.lock, err = privatefile.Lock(filepath.Join(o.Dir, "LOCK"))
	}
	if err != nil {
		return nil, fmt.Errorf("open witness %s: %w", o.Dir, err)
	}
	for _, verifier := range o.Logs {
		name := fileName(verifier.Name())
		l := &witnessed{verifier: verifier, path: filepath.Join(o.Dir, name), record: recordPrefix(o.Key) + name}
		err := w.loadWitnessed(l)
		if err == nil {
			err = w.compareWithStore(ctx, l)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open witness %s: %w", o.Dir, err), w.Close())
		}
		w.logs[verifier.Name()] = l
	}
	return w, nil
}

// fileName returns the name of the file with the cosigned checkpoint of a log.
func fileName(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:16])
}

// recordPrefix returns the prefix of the records of what a key has cosigned. The names of the files
// follow it.
func recordPrefix(key *checkpoint.Key) string {
	sum := sha256.Sum256([]byte(key.PublicWitness()))
	return store.WitnessPrefix + hex.EncodeToString(sum[:16])
}

// readCosigned reads a checkpoint that a key has cosigned.
func readCosigned(path string, key *checkpoint.Key) (c checkpoint.Checkpoint, signed []byte, err error) {
	if signed, err = os.ReadFile(path); err != nil {
		return c, nil, err
	}
	own, err := checkpoint.NewVerifier(key.PublicWitness())
	if err != nil {
		return c, nil, err
	}
	c, n, err := checkpoint.Open(signed, own)
	switch {
	case err == nil && len(n.Sigs) == 0:
		err = fmt.Errorf("it is not cosigned by %s", own.Name())
	case err == nil && fileName(c.Origin) != filepath.Base(path):
		err = fmt.Errorf("it is of the log %q", protocol.ClipBytes(c.Origin, checkpoint.MaxQuoted))
	}
	return c, signed, err
}

// Compare compares the cosigned checkpoints in the directory of a witness with the sizes of the
// cosigned trees that the store knows. It calls report with each difference, and returns the number of
// checkpoints that agree. It changes nothing.
func Compare(ctx context.Context, dir string, key *checkpoint.Key, s store.Store, report func(problem string)) (agree int, err error) {
	sizes := map[string]int64{} // by the name of the file
	for r, err := range store.Readable(s.List(ctx, recordPrefix(key), "")) {
		if err != nil {
			return 0, fmt.Errorf("list the cosigned trees: %w", err)
		}
		if sizes[strings.TrimPrefix(r.Key, recordPrefix(key))], err = strconv.ParseInt(string(r.Value), 10, 64); err != nil {
			report(fmt.Sprintf("record %s of the store is no size of a tree", r.Key))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		if _, err := hex.DecodeString(e.Name()); err != nil || len(e.Name()) != 32 {
			continue // the lock, or a file that was being written
		}
		size := sizes[e.Name()]
		delete(sizes, e.Name())
		c, _, err := readCosigned(filepath.Join(dir, e.Name()), key)
		switch {
		case err != nil:
			report(fmt.Sprintf("%s should be a checkpoint that this witness cosigned: %v", filepath.Join(dir, e.Name()), err))
		case c.N < size:
			report(fmt.Sprintf("%s is an older copy: a tree of %s with %d leaves was cosigned, and this one has %d", filepath.Join(dir, e.Name()), c.Origin, size, c.N))
		default:
			agree++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		report(fmt.Sprintf("%s is missing: it is the checkpoint of a log of which a tree with %d leaves was cosigned", filepath.Join(dir, name), sizes[name]))
	}
	return agree, nil
}

// loadWitnessed reads the cosigned checkpoint of a log.
func (w *Witness) loadWitnessed(l *witnessed) error {
	c, signed, err := readCosigned(l.path, w.key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s should be the last checkpoint of %s that was cosigned: %w; nothing was changed: "+
			"put back the newest copy of it, or use the key that it was cosigned with; if it is lost, begin a witness with another name and key", l.path, l.verifier.Name(), err)
	}
	l.tree, l.signed = c.Tree, signed
	return nil
}

// compareWithStore refuses a cosigned checkpoint that is older than the last one that was cosigned.
func (w *Witness) compareWithStore(ctx context.Context, l *witnessed) error {
	if w.store == nil {
		return nil
	}
	r, err := w.store.Get(ctx, l.record)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if l.stored, err = strconv.ParseInt(string(r.Value), 10, 64); err != nil {
		return fmt.Errorf("record %s: %w", l.record, err)
	}
	if l.stored > l.tree.N {
		return fmt.Errorf("%s is missing, or an older copy: a tree of %s with %d leaves was cosigned, and this one has %d; nothing was changed: "+
			"put back the newest copy of it; if it is lost, move its directory and witness.key away, and publish the new key", l.path, l.verifier.Name(), l.stored, l.tree.N)
	}
	return nil
}

// storeSize records the size of the cosigned tree in the store. The caller holds the lock of the
// log.
func (w *Witness) storeSize(ctx context.Context, l *witnessed) error {
	if w.store == nil || l.stored >= l.tree.N {
		return nil
	}
	if _, err := w.store.Apply(ctx, store.Put(l.record, strconv.AppendInt(nil, l.tree.N, 10))); err != nil {
		return fmt.Errorf("record the size of the cosigned tree of %s: %w", l.verifier.Name(), err)
	}
	l.stored = l.tree.N
	return nil
}

// Close unlocks the directory.
func (w *Witness) Close() error { return w.lock.Close() }

// Public returns the key with which clients of the witness are configured.
func (w *Witness) Public() string { return w.key.PublicWitness() }

// Checkpoint returns the newest cosigned checkpoint of a log with its signatures; nil if there is
// none, or no such log.
func (w *Witness) Checkpoint(origin string) []byte {
	l, known := w.logs[origin]
	if !known {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.signed)
}

// A Refusal is the reason why a witness does not cosign.
type Refusal struct {
	Status  int   // of the answer (C2SP tlog-witness)
	Size    int64 // of the last cosigned tree; set with http.StatusConflict
	Problem string
}

func (e *Refusal) Error() string { return e.Problem }

func newRefusal(status int, format string, args ...any) error {
	return &Refusal{Status: status, Problem: fmt.Sprintf(format, args...)}
}

// Add cosigns the checkpoint of a request and returns the line with the cosignature. The request is
// the body of C2SP tlog-witness: a line with "old" and a size; the hashes of the consistency proof
// from that size, one per line; an empty line; and the signed checkpoint. A refusal is a
// *Refusal. Add writes the checkpoint to disk before it returns the cosignature. For the same checkpoint
// again it repeats the cosignature for a minute.
func (w *Witness) Add(ctx context.Context, request []byte) ([]byte, error) {
	older, proof, signed, err := parseAdd(request)
	if err != nil {
		return nil, newRefusal(http.StatusBadRequest, "the request cannot be read: %v", err)
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	l, known := w.logs[origin]
	if !known {
		return nil, newRefusal(http.StatusNotFound, "this witness does not know the log %q", protocol.ClipBytes(origin, checkpoint.MaxQuoted))
	}
	c, err := checkpoint.Parse(signed, l.verifier)
	if err != nil {
		return nil, newRefusal(http.StatusForbidden, "%v", err)
	}
	if older > c.N {
		return nil, newRefusal(http.StatusBadRequest, "the old size %d is greater than the checkpoint's, %d", older, c.N)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.checkCheckpoint(l, older, proof, c); err != nil {
		return nil, err
	}
	text, _, _ := strings.Cut(string(signed), "\n\n")
	if age := w.now().Sub(l.last.at); text == l.last.text && age >= 0 && age < cosignInterval {
		return l.last.line, nil
	}
	line, err := w.signCheckpoint(l, c, text, signed)
	if err != nil {
		return nil, err
	}
	if err := w.storeSize(ctx, l); err != nil {
		return nil, err
	}
	l.last = cosignature{text, line, w.now()}
	return line, nil
}

// checkCheckpoint compares a checkpoint with the previously cosigned one.
func (w *Witness) checkCheckpoint(l *witnessed, older int64, proof []tlog.Hash, c checkpoint.Checkpoint) error {
	switch {
	case older != l.tree.N:
		return &Refusal{Status: http.StatusConflict, Size: l.tree.N, Problem: fmt.Sprintf("the last checkpoint that was cosigned has size %d, not %d", l.tree.N, older)}
	case older == 0 && len(proof) > 0:
		return newRefusal(http.StatusUnprocessableEntity, "from size 0 a proof has no hashes")
	case older == 0:
		return nil
	case older == c.N && c.Hash != l.tree.Hash:
		w.log.Error("a log has signed two trees of one size", "log", c.Origin, "size", c.N, "cosigned", l.tree.Hash.String(), "other", c.Hash.String())
		return &Refusal{Status: http.StatusConflict, Size: l.tree.N, Problem: fmt.Sprintf("another tree of size %d was cosigned, with the root %s: the log contradicts itself", older, l.tree.Hash)}
	}
	if err := tlog.CheckTree(proof, c.N, c.Hash, older, l.tree.Hash); err != nil {
		w.log.Error("a log could not show that its checkpoint contains the one before", "log", c.Origin, "old", older, "size", c.N, "root", c.Hash.String())
		return newRefusal(http.StatusUnprocessableEntity, "the proof does not lead from the tree of %d leaves that was cosigned to that of %d: the proof is wrong, or the log contradicts itself", older, c.N)
	}
	return nil
}

// signCheckpoint signs a checkpoint, stores it, and returns the signature line.
func (w *Witness) signCheckpoint(l *witnessed, c checkpoint.Checkpoint, text string, signed []byte) ([]byte, error) {
	alone, err := note.Sign(&note.Note{Text: text + "\n"}, checkpoint.NewCosigner(w.key, w.now))
	if err != nil {
		return nil, fmt.Errorf("cosign the checkpoint of %s: %w", c.Origin, err)
	}
	_, line, _ := bytes.Cut(alone, []byte("\n\n"))
	n, err := note.Open(signed, note.VerifierList(l.verifier))
	if err != nil {
		return nil, fmt.Errorf("cosign the checkpoint of %s: %w", c.Origin, err)
	}
	n.UnverifiedSigs = nil // signature lines of other keys are not stored
	kept, err := note.Sign(n)
	if err != nil {
		return nil, fmt.Errorf("cosign the checkpoint of %s: %w", c.Origin, err)
	}
	kept = append(kept, line...)
	if err := privatefile.Replace(l.path, kept); err != nil {
		return nil, fmt.Errorf("store the checkpoint of %s: %w", c.Origin, err)
	}
	l.tree, l.signed = c.Tree, kept
	return line, nil
}

// parseAdd reads the body of a request to a witness.
func parseAdd(request []byte) (older int64, proof []tlog.Hash, signed []byte, err error) {
	if len(request) > MaxAdd {
		return 0, nil, nil, fmt.Errorf("it has more than %d bytes", MaxAdd)
	}
	head, signed, found := bytes.Cut(request, []byte("\n\n"))
	if !found {
		return 0, nil, nil, errors.New("it has no empty line before the checkpoint")
	}
	first, rest, _ := strings.Cut(string(head), "\n")
	number, found := strings.CutPrefix(first, "old ")
	if !found {
		return 0, nil, nil, errors.New(`its first line is not "old" and a size`)
	}
	if older, err = checkpoint.ParseNumber(number); err != nil {
		return 0, nil, nil, err
	}
	proof, err = checkpoint.ParseHashes(rest)
	return older, proof, signed, err
}

// MaxAdd is the maximum size of a request of [Witness.Add], in bytes.
const MaxAdd = checkpoint.MaxSize + checkpoint.MaxHashes*64
