package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// writeNew writes the file that --out names, which must not be there yet. What was
// not written to its end is taken away again.
func writeNew(name string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return usagef("--out: %v", err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(name))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return &exitError{exitData, errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name))}
	}
	return nil
}
