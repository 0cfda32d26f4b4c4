package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gazetteer/internal/privatefile"
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

// readManifest reads the manifest of a backup and compares every file with it. The error is a
// [*DamagedError] when a file is missing, changed or not named there.
func readManifest(ctx context.Context, dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, newDamage(dir + " has no " + manifestFile + ": it is no backup, or not a whole one")
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, newDamage(manifestFile + " cannot be read: " + err.Error())
	}
	if m.Format != manifestFormat {
		return m, newDamage(fmt.Sprintf("the backup has format %d, this program knows format %d: use the program that wrote it", m.Format, manifestFormat))
	}
	if whole, err := m.encode(m.SHA256 != ""); err != nil || !bytes.Equal(text, whole) {
		return m, newDamage(manifestFile + " was changed after the backup was written: it does not match its own SHA-256")
	}
	have, err := listFiles(ctx, dir)
	if err != nil {
		return m, err
	}
	have = slices.DeleteFunc(have, func(f File) bool { return f.Name == manifestFile })
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
		if !slices.ContainsFunc(m.Files, func(want File) bool { return want.Name == f.Name }) {
			note("%s does not belong to the backup", f.Name)
		}
	}
	if len(problems) > 0 {
		return m, &DamagedError{Problems: problems}
	}
	return m, nil
}

// Restore copies a backup into a data directory that does not exist yet, or is empty. It compares
// every file with the manifest, copies, checks the copy as [Check] does, and increments the
// incarnation, so that clients and followers with cursors of the lost period start again. Only then
// does the directory get its name: after an error nothing has changed.
func Restore(ctx context.Context, from, dataDir string, progress Progress) (m Manifest, err error) {
	if entries, err := os.ReadDir(dataDir); err == nil && len(entries) > 0 {
		return m, fmt.Errorf("%s is not empty: move it away, or name another data directory", dataDir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return m, fmt.Errorf("%s is a file: name the directory of a backup, or send an archive to standard input (gazetteer restore - < %[1]s)", from)
	}
	progress("the checksums of the backup", 0, 0)
	if m, err = readManifest(ctx, from); err != nil {
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
	progress("the files", 0, 0)
	if err := os.Mkdir(partial, privatefile.DirMode); err != nil {
		return m, err
	}
	for _, f := range m.Files {
		to := filepath.Join(partial, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(to), privatefile.DirMode); err != nil {
			return m, err
		}
		if err := copyFile(filepath.Join(from, filepath.FromSlash(f.Name)), to); err != nil {
			return m, err
		}
	}
	if err := raiseIncarnation(partial); err != nil {
		return m, err
	}
	if _, err := checkDirectory(ctx, partial, true, progress); err != nil {
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

// ReadTar reads a backup from a tar archive into a new directory. It takes regular files below that
// directory alone.
func ReadTar(r io.Reader, dir string) error {
	if err := os.Mkdir(dir, privatefile.DirMode); err != nil {
		return err
	}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return newDamage("the archive cannot be read: " + err.Error())
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			return newDamage(fmt.Sprintf("the archive contains %.100q, which is not part of a backup", header.Name))
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), privatefile.DirMode); err != nil {
			return err
		}
		out, err := privatefile.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, os.ErrExist) {
			return newDamage(fmt.Sprintf("the archive contains %q twice", header.Name))
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(out, archive)
		switch err := errors.Join(err, out.Close()); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return newDamage(fmt.Sprintf("the archive ends within %q", header.Name))
		case err != nil:
			return err
		}
	}
}
