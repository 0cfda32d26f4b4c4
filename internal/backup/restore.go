package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gazetteer/internal/privatefile"
	"gazetteer/limit"
	"gazetteer/store/boltfile"
)

// A DamagedError describes the damage of a backup or a data directory.
type DamagedError struct {
	Problems []Problem // at least one
	Unnamed  int       // how many more there are
}

func (e *DamagedError) Error() string {
	text := e.Problems[0].What
	if more := len(e.Problems) - 1 + e.Unnamed; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// newDamage is the error of one problem.
func newDamage(what string) *DamagedError { return &DamagedError{Problems: []Problem{{What: what}}} }

// IsBackup reports whether a directory is a backup, which must not be used as a data directory: the
// first write would make it differ from its manifest.
func IsBackup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifestFile))
	return err == nil
}

// maxManifest is the largest manifest that is read, in bytes: one file has some 150 of them.
const maxManifest = 256 << 20

// readManifest reads the manifest of a backup.
func readManifest(path string) (m Manifest, err error) {
	f, err := openRegular(path)
	if err != nil {
		return m, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err == nil && info.Size() > maxManifest {
		return m, newDamage(fmt.Sprintf("%s has %d bytes, and no backup has a manifest of more than %d", path, info.Size(), maxManifest))
	}
	text, err := limit.ReadAll(f, maxManifest)
	if err != nil {
		return m, fmt.Errorf("read %s: %w", path, err)
	}
	return parseManifest(text)
}

// openRegular opens a file of a backup, which another user may have made: a pipe has no end, nor has a
// device.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the open of a pipe waits without it
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = newDamage(path + " is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// parseManifest reads the text of a manifest. The error is a [*DamagedError] when it is not one that
// this program wrote.
func parseManifest(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, newDamage(manifestFile + " cannot be read: " + err.Error())
	}
	if m.Format != manifestFormat {
		return m, newDamage(fmt.Sprintf("the backup has format %d, this program knows format %d: use the program that wrote it", m.Format, manifestFormat))
	}
	if whole, err := m.encode(m.SHA256 != ""); err != nil || !bytes.Equal(text, whole) {
		return m, newDamage(manifestFile + " was changed after the backup was written: it does not match its own SHA-256")
	}
	return m, nil
}

// compare returns a [*DamagedError] when a file is missing, changed or not named in the manifest.
func (m Manifest) compare(have []File) error {
	var problems []Problem
	note := func(format string, args ...any) {
		problems = append(problems, Problem{What: fmt.Sprintf(format, args...)})
	}
	for _, want := range m.Files {
		i := slices.IndexFunc(have, func(f File) bool { return f.Name == want.Name })
		switch {
		case !filepath.IsLocal(want.Name):
			note("%s names %q, which is outside of the backup", manifestFile, want.Name)
		case i < 0:
			note("%s is missing from the backup", want.Name)
		case have[i] != want:
			note("%s was changed after the backup was written: it does not match its SHA-256", want.Name)
		}
	}
	for _, f := range have {
		if _, ok := m.find(f.Name); !ok {
			note("%s does not belong to the backup", f.Name)
		}
	}
	if len(problems) > 0 {
		return &DamagedError{Problems: problems}
	}
	return nil
}

// find returns what the manifest says about a file.
func (m Manifest) find(name string) (File, bool) {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return m.Files[i], true
}

// Restore copies a backup into a data directory that does not exist yet, or is empty. It compares
// every file with the manifest while it copies, checks the copy as [Check] does, and increments the
// incarnation, so that clients and followers with cursors of the lost period start again. Only then
// does the directory get its name: after an error nothing has changed.
func Restore(ctx context.Context, from, dataDir string, progress Progress) (Manifest, error) {
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return Manifest{}, fmt.Errorf("%s is a file: name the directory of a backup, or send an archive to standard input (gazetteer restore - < %[1]s)", from)
	}
	return restoreWith(ctx, dataDir, progress, func(dir string) (Manifest, error) {
		return copyBackup(from, dir, &counter{ctx: ctx, progress: progress})
	})
}

// RestoreTar is [Restore] of an archive that [WriteTar] wrote.
func RestoreTar(ctx context.Context, archive io.Reader, dataDir string, progress Progress) (Manifest, error) {
	return restoreWith(ctx, dataDir, progress, func(dir string) (Manifest, error) {
		return extractBackup(archive, dir, &counter{ctx: ctx, progress: progress})
	})
}

// restoreWith is Restore, where fill copies the files of the backup into a new directory and compares
// them with its manifest, which it returns.
func restoreWith(ctx context.Context, dataDir string, progress Progress, fill func(dir string) (Manifest, error)) (m Manifest, err error) {
	if entries, err := os.ReadDir(dataDir); err == nil && len(entries) > 0 {
		return m, fmt.Errorf("%s is not empty: move it away, or name another data directory", dataDir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	partial := filepath.Clean(dataDir) + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	progress(filesPart, 0, 0)
	if err := os.Mkdir(partial, privatefile.DirMode); err != nil {
		return m, err
	}
	if m, err = fill(partial); err != nil {
		return m, err
	}
	if err := raiseIncarnation(partial); err != nil {
		return m, err
	}
	if _, err := checkDirectory(ctx, partial, true, progress); err != nil {
		return m, err
	}
	if err := syncDirs(partial); err != nil {
		return m, err
	}
	if err := os.Remove(dataDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if err := os.Rename(partial, dataDir); err != nil {
		return m, err
	}
	return m, privatefile.SyncDir(filepath.Dir(filepath.Clean(dataDir)))
}

// filesPart is the part of a restore that copies the files; its progress is in bytes.
const filesPart = "the files"

// A counter reports how many bytes of a backup were read.
type counter struct {
	ctx         context.Context
	progress    Progress
	done, total int64
}

// A countedReader counts what is read through it, and stops when the context ends.
type countedReader struct {
	io.Reader
	counter *counter
}

func (r countedReader) Read(p []byte) (int, error) {
	if err := r.counter.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	r.counter.done += int64(n)
	r.counter.progress(filesPart, r.counter.done, r.counter.total)
	return n, err
}

// copyBackup copies each file that the manifest of a backup names into another directory, and
// compares it with the manifest meanwhile: each is read once.
func copyBackup(from, to string, c *counter) (m Manifest, err error) {
	if m, err = readManifest(filepath.Join(from, manifestFile)); errors.Is(err, fs.ErrNotExist) {
		return m, newDamage(from + " has no " + manifestFile + ": it is no backup, or not a whole one")
	} else if err != nil {
		return m, err
	}
	c.total = m.Bytes()
	var have []File
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || name == manifestFile {
			return err
		}
		file := File{Name: filepath.ToSlash(name)}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		// A file that differs anyway is not read.
		if want, ok := m.find(file.Name); ok && info.Mode().IsRegular() && info.Size() == want.Bytes {
			if file, err = copyFrom(path, to, file.Name, c); err != nil {
				return err
			}
		}
		have = append(have, file)
		return nil
	})
	if err != nil {
		return m, err
	}
	return m, m.compare(have)
}

// copyFrom copies a file of a backup.
func copyFrom(path, dir, name string, c *counter) (File, error) {
	in, err := openRegular(path)
	if err != nil {
		return File{}, err
	}
	defer in.Close() // only read
	return writeFile(dir, name, countedReader{in, c})
}

// writeFile writes a new file of a directory, and returns its length and digest.
func writeFile(dir, name string, content io.Reader) (File, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), privatefile.DirMode); err != nil {
		return File{}, err
	}
	out, err := privatefile.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return File{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), content)
	if err == nil {
		err = out.Sync()
	}
	return File{Name: name, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, errors.Join(err, out.Close())
}

// syncDirs makes the names of all files below a directory durable.
func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return privatefile.SyncDir(path)
	})
}

// raiseIncarnation begins another incarnation of the store in a directory, and of the mail.
func raiseIncarnation(dir string) error {
	for _, below := range []string{"", "relay"} {
		path := filepath.Join(dir, below, boltfile.FormatFile)
		id, err := readIdentity(path)
		if errors.Is(err, fs.ErrNotExist) && below != "" {
			continue
		}
		if err != nil {
			return err
		}
		number, ok := id["incarnation"].(float64)
		if !ok {
			return fmt.Errorf("%s has no incarnation", path)
		}
		id["incarnation"] = uint64(number) + 1
		text, err := json.Marshal(id)
		if err != nil {
			return err
		}
		if err := privatefile.Replace(path, append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// readIdentity reads a FORMAT file.
func readIdentity(path string) (id map[string]any, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &id); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return id, nil
}

// WriteTar writes a backup as a tar archive.
func WriteTar(w io.Writer, dir string) error {
	archive := tar.NewWriter(w)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return archive.Close()
}

// isSparse reports whether a file of an archive has holes.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// extractBackup reads a backup from a tar archive into a directory, and compares the files with its
// manifest. It takes regular files below that directory alone.
func extractBackup(r io.Reader, dir string, c *counter) (m Manifest, err error) {
	var have []File
	archive := tar.NewReader(countedReader{r, c})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if c.ctx.Err() != nil {
			return m, c.ctx.Err()
		}
		if err != nil {
			return m, newDamage("the archive cannot be read: " + err.Error())
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		// A sparse file has any length in a few bytes of the archive; [WriteTar] writes none.
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) || isSparse(header) {
			return m, newDamage(fmt.Sprintf("the archive contains %.100q, which is not part of a backup", header.Name))
		}
		name := path.Clean(header.Name) // tar -C DIR -cf FILE . writes ./FORMAT
		file, err := writeFile(dir, name, archive)
		switch {
		case errors.Is(err, os.ErrExist):
			return m, newDamage(fmt.Sprintf("the archive contains %q twice", name))
		case errors.Is(err, io.ErrUnexpectedEOF):
			return m, newDamage(fmt.Sprintf("the archive ends within %q", name))
		case err != nil:
			return m, err
		}
		if file.Name != manifestFile {
			have = append(have, file)
		}
	}
	manifest := filepath.Join(dir, manifestFile)
	if m, err = readManifest(manifest); errors.Is(err, fs.ErrNotExist) {
		return m, newDamage("the archive has no " + manifestFile + " at its top: it is no backup, or not a whole one; an archive of a backup directory is made with tar -C DIR -cf FILE .")
	} else if err != nil {
		return m, err
	}
	return m, errors.Join(m.compare(have), os.Remove(manifest))
}
