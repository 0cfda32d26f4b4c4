package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"gazetteer/internal/exit"
)

// WriteNewFile writes a file. The file must not exist. An incomplete file is
// removed.
func WriteNewFile(name string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return exit.Usagef("write a new file: %w", err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(name))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return &exit.Error{Code: exit.Data, Err: errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name))}
	}
	return nil
}

// FileExists reports whether a file or a directory exists at path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
