// Package backup writes a data directory into a backup while it is in use, restores a backup, and
// checks a directory that no process uses.
//
// A backup is a directory with the files of the data directory that cannot be derived from others,
// and a manifest with the length and the SHA-256 of each. The log is copied before the store, so
// that the store has everything that the log has; a log that is older than its store catches up by
// itself. Begin with [Write], [Restore] and [Check].
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit"
	"gazetteer/relay/boltqueue"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
)

// manifestFile names the files of a backup. It is written last.
const manifestFile = "MANIFEST.json"

// manifestFormat is the number of the layout.
const manifestFormat = 1

// partialSuffix ends the name of a directory that is not whole yet.
const partialSuffix = ".partial"

// A Manifest says what a backup holds.
type Manifest struct {
	Format      int       `json:"format"`
	Created     time.Time `json:"created"`
	Store       string    `json:"store"` // its id
	Incarnation uint64    `json:"incarnation"`
	Seq         uint64    `json:"seq"`    // the newest write that the store has
	Leaves      int64     `json:"leaves"` // of the transparency log
	// Undeclared counts the erased leaves that no leaf of the log declares yet.
	Undeclared int    `json:"undeclared,omitempty"`
	Files      []File `json:"files"`
	// SHA256 is, in hex, that of the manifest without this member. Manifests of earlier versions
	// have none.
	SHA256 string `json:"sha256,omitempty"`
}

// encode returns the text of a manifest, with or without its own checksum.
func (m Manifest) encode(withChecksum bool) ([]byte, error) {
	m.SHA256 = ""
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil || !withChecksum {
		return append(text, '\n'), err
	}
	sum := sha256.Sum256(append(text, '\n'))
	m.SHA256 = hex.EncodeToString(sum[:])
	text, err = json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// A File is one file of a backup.
type File struct {
	Name   string `json:"name"` // with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// Bytes returns the length of all files together.
func (m Manifest) Bytes() (sum int64) {
	for _, f := range m.Files {
		sum += f.Bytes
	}
	return sum
}

// Sources are the open parts of the data directory DataDir. Queue is nil where there is no relay.
type Sources struct {
	DataDir string
	Store   *boltstore.Store
	Log     *audit.Log
	Queue   *boltqueue.Queue
	Now     func() time.Time // nil: time.Now
}

// keyFiles are the single files that a backup takes along: keys, and the hashes of the tokens of
// those who may use the tool host. The key and the memory of the witness
// are none of them: an older copy of those must never be used again.
var keyFiles = []string{"log.key", "relay.key", "cursor.key", filepath.Join("altar", toolhost.IdentitiesFile)}

// Write writes a backup into a directory that does not exist yet, while the sources are in use, and
// calls progress before each part. An error means that nothing is under the name of the directory.
func Write(ctx context.Context, s Sources, dir string, progress func(part string)) (m Manifest, err error) {
	if _, err := os.Lstat(dir); err == nil {
		return m, fmt.Errorf("%s exists already: name a directory that does not", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, explainUnusable(dir, err)
	}
	if isWithin(s.DataDir, dir) {
		return m, fmt.Errorf("%s is in the data directory: what destroys that would destroy the backup, too; name a directory elsewhere, best on another disk", dir)
	}
	partial := dir + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return m, explainUnusable(dir, err)
	}
	if err := os.Mkdir(partial, privatefile.DirMode); errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("there is no directory %s: make it, or mount its disk", filepath.Dir(dir))
	} else if err != nil {
		return m, explainUnusable(dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if m, err = writeParts(ctx, s, partial, progress); err != nil {
		return m, err
	}
	if err := os.Rename(partial, dir); err != nil {
		return m, err
	}
	return m, privatefile.SyncDir(filepath.Dir(dir))
}

// isWithin reports whether a path that does not exist yet would be below a directory.
func isWithin(dir, path string) bool {
	outer, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if outer, err = filepath.EvalSymlinks(outer); err != nil {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	below, err := filepath.Rel(outer, parent)
	return err == nil && filepath.IsLocal(below)
}

// explainUnusable says how the server can write a backup into a directory that refused it.
func explainUnusable(dir string, err error) error {
	parent, user := filepath.Dir(dir), privatefile.UserName(os.Geteuid())
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the server runs as the user %s, who may not write into %s: name a directory of that user, or give it to them (chown %[1]s %[2]s): %w", user, parent, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s is read-only for the server: name another directory; with systemd, add ReadWritePaths=%[1]s to the unit: %w", parent, err)
	}
	return err
}

func writeParts(ctx context.Context, s Sources, dir string, progress func(part string)) (m Manifest, err error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	m = Manifest{Format: manifestFormat, Created: s.Now().UTC().Truncate(time.Second)}
	progress("the keys")
	for _, name := range append([]string{boltfile.FormatFile}, keyFiles...) {
		if err := copyIfThere(filepath.Join(s.DataDir, name), filepath.Join(dir, name)); err != nil {
			return m, err
		}
	}
	progress("the transparency log")
	if m.Leaves, m.Undeclared, err = s.Log.WriteBackup(ctx, filepath.Join(dir, "log")); err != nil {
		return m, fmt.Errorf("copy the transparency log: %w", err)
	}
	progress("the store")
	at, err := s.Store.WriteBackup(ctx, filepath.Join(dir, storeFile))
	if err != nil {
		return m, err
	}
	m.Store, m.Incarnation, m.Seq = at.Store, at.Incarnation, at.Seq
	if s.Queue != nil {
		progress("the mail")
		if err := writeQueue(ctx, s.Queue, filepath.Join(s.DataDir, "relay"), filepath.Join(dir, "relay")); err != nil {
			return m, fmt.Errorf("copy the mail: %w", err)
		}
	}
	progress("the checksums")
	if m.Files, err = listFiles(ctx, dir); err != nil {
		return m, err
	}
	text, err := m.encode(true)
	if err != nil {
		return m, err
	}
	return m, privatefile.Replace(filepath.Join(dir, manifestFile), text)
}

// storeFile is the file of the store.
const storeFile = "store.bolt"

func writeQueue(ctx context.Context, q *boltqueue.Queue, from, to string) error {
	if err := os.Mkdir(to, privatefile.DirMode); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(from, boltfile.FormatFile), filepath.Join(to, boltfile.FormatFile)); err != nil {
		return err
	}
	if err := q.WriteBackup(ctx, filepath.Join(to, boltqueue.QueueFile)); err != nil {
		return err
	}
	return privatefile.SyncDir(to)
}

// copyIfThere copies a file, and makes its directory, if there is one.
func copyIfThere(from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.Mkdir(filepath.Dir(to), privatefile.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return copyFile(from, to)
}

// copyFile copies a whole file and syncs it.
func copyFile(from, to string) error { return privatefile.Copy(from, to, math.MaxInt64) }

// listFiles returns every file below a directory, with its length and digest.
func listFiles(ctx context.Context, dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file, err := digestFile(path)
		file.Name = filepath.ToSlash(name)
		files = append(files, file)
		return err
	})
	return files, err
}

func digestFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close() // only read
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return File{Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
