package audit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit/checkpoint"
)

// WriteBackup copies the directory of the log into a new directory, in its state between two
// batches. The log waits meanwhile. A store that is copied later contains all records of this copy.
func (l *Log) WriteBackup(ctx context.Context, dir string) (leaves int64, err error) {
	if err := privatefile.MakeDir(dir); err != nil {
		return 0, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.inUse.RLock()
	defer l.inUse.RUnlock()
	s, err := readState(l.dir)
	if err != nil {
		return 0, err
	}
	for _, part := range []struct {
		name   string
		length int64 // bytes after it do not count
	}{
		{rowsFile, s.Size * rowBytes}, {entriesFile, s.Bytes}, {hashesFile, hashesBytes(s.Size)},
		{checkpointFile, checkpoint.MaxSize}, {keyFile, checkpoint.MaxSize}, {stateFile, checkpoint.MaxSize},
	} {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := copyPart(filepath.Join(l.dir, part.name), filepath.Join(dir, part.name), part.length); err != nil {
			return 0, err
		}
	}
	return s.Size, privatefile.SyncDir(dir)
}

// copyPart copies the first size bytes of a file.
func copyPart(from, to string, most int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	out, err := privatefile.Open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, most))
	return errors.Join(err, out.Sync(), out.Close())
}
