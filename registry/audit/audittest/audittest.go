// Package audittest holds a log in memory, for tests of witnesses and of verification. Begin with
// [NewTree].
package audittest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/registry/audit/witness"

	"golang.org/x/mod/sumdb/tlog"
)

// NewKey makes the key of a log or a witness.
func NewKey(t testing.TB, name string) *checkpoint.Key {
	t.Helper()
	k, err := checkpoint.OpenKey(filepath.Join(t.TempDir(), "key"), name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// OpenWitness opens a witness in dir, with that clock, for logs that have these keys.
func OpenWitness(t testing.TB, now func() time.Time, dir string, key *checkpoint.Key, logs ...*checkpoint.Key) *witness.Witness {
	t.Helper()
	o := witness.Options{Dir: dir, Key: key, Now: now}
	for _, l := range logs {
		o.Logs = append(o.Logs, l.Verifier())
	}
	w, err := witness.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// ServeWitness returns a handler that answers each POST as the address /witness/add-checkpoint of the API
// does, but refuses in plain text, and each GET as /witness/checkpoint.
func ServeWitness(w *witness.Witness) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answer.Write(w.Checkpoint(r.FormValue("origin")))
			return
		}
		request, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		line, err := w.Add(r.Context(), request)
		switch e, refused := errors.AsType[*witness.Refusal](err); {
		case refused && e.Status == http.StatusConflict:
			answer.WriteHeader(e.Status)
			fmt.Fprintf(answer, "%d\n", e.Size)
		case refused:
			http.Error(answer, e.Problem, e.Status)
		case err != nil:
			http.Error(answer, err.Error(), http.StatusInternalServerError)
		default:
			answer.Write(line)
		}
	})
}

// WriteMirror writes the files of a log of that size below a directory, in the layout of C2SP tlog-tiles.
func WriteMirror(ctx context.Context, files tiles.Files, size int64, dir string) error {
	names := []string{tiles.KeyFile, tiles.CheckpointFile}
	for level := tiles.EntriesLevel; tiles.LevelSize(level, size) > 0; level++ {
		for n := int64(0); n*tiles.Width < tiles.LevelSize(level, size); n++ {
			names = append(names, tiles.Name(tiles.At(level, n, size)))
		}
	}
	for _, name := range names {
		content, err := files(ctx, name)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A Tree is the log of another registry: a tree of texts, and a key.
type Tree struct {
	Key    *checkpoint.Key
	Hashes []tlog.Hash // stored as tlog.StoredHashIndex has it

	t testing.TB
}

// NewTree makes an empty log with a key of that name.
func NewTree(t testing.TB, name string) *Tree { return &Tree{Key: NewKey(t, name), t: t} }

// Fork returns a copy of the log, with the same key.
func (l *Tree) Fork() *Tree { return &Tree{Key: l.Key, Hashes: slices.Clone(l.Hashes), t: l.t} }

// ReadHashes implements tlog.HashReader.
func (l *Tree) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, l.Hashes[i])
	}
	return hashes, nil
}

// Grow adds leaves up to a size and returns the signed checkpoint of that size. Each leaf is the text
// with its number.
func (l *Tree) Grow(size int64, text string) []byte {
	l.t.Helper()
	for n := l.size(); n < size; n++ {
		hashes, err := tlog.StoredHashes(n, fmt.Appendf(nil, "%s %d", text, n), l)
		if err != nil {
			l.t.Fatal(err)
		}
		l.Hashes = append(l.Hashes, hashes...)
	}
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		l.t.Fatal(err)
	}
	signed, err := (checkpoint.Checkpoint{Origin: l.Key.Name(), Tree: tlog.Tree{N: size, Hash: root}}).Sign(l.Key)
	if err != nil {
		l.t.Fatal(err)
	}
	return signed
}

func (l *Tree) size() (n int64) {
	for tlog.StoredHashCount(n) < int64(len(l.Hashes)) {
		n++
	}
	return n
}

// Request returns the request to a witness to cosign a checkpoint (C2SP tlog-witness).
func (l *Tree) Request(older, newer int64, checkpoint []byte) []byte {
	l.t.Helper()
	var proof tlog.TreeProof
	if older > 0 && older < newer {
		var err error
		if proof, err = tlog.ProveTree(newer, older, l); err != nil {
			l.t.Fatal(err)
		}
	}
	body := fmt.Appendf(nil, "old %d\n", older)
	for _, h := range proof {
		body = fmt.Appendf(body, "%s\n", h)
	}
	return append(append(body, '\n'), checkpoint...)
}
