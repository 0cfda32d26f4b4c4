package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile writes a file as a whole or not at all: it writes a new file beside it and renames
// that. The mode of an existing file stays, and a symbolic link stays a link. The error begins with
// the name.
func replaceFile(name string, fill func(*os.File) error) error {
	if err := writeAndRename(name, fill); err != nil {
		return fileError(name, err)
	}
	return nil
}

func writeAndRename(name string, fill func(*os.File) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("it is not a regular file")
		}
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := errors.Join(fill(f), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// replaceText writes a file if it still holds the text that was read before.
func replaceText(ctx context.Context, name string, before, after []byte) error {
	now, err := readFile(ctx, name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s was changed by somebody else meanwhile; try again", name)
	}
	return replaceFile(name, func(f *os.File) error { _, err := f.Write(after); return err })
}
