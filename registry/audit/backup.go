package audit

import (
	"context"
	"path/filepath"

	"gazetteer/internal/privatefile"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
)

// WriteBackup copies the directory of the log into a new directory, in its state between two
// batches. The log waits meanwhile. A store that is copied later contains all records of this copy,
// and all deletions. undeclared counts the erased leaves that no leaf of the copy declares.
func (l *Log) WriteBackup(ctx context.Context, dir string) (leaves int64, undeclared int, err error) {
	if err := privatefile.MakeDir(dir); err != nil {
		return 0, 0, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.inUse.RLock()
	defer l.inUse.RUnlock()
	s, err := readState(l.dir)
	if err != nil {
		return 0, 0, err
	}
	for _, part := range []struct {
		name   string
		length int64 // bytes after it do not count
	}{
		{rowsFile, s.Size * rowBytes}, {entriesFile, s.Bytes}, {hashesFile, hashesBytes(s.Size)},
		{tiles.CheckpointFile, checkpoint.MaxSize}, {tiles.KeyFile, checkpoint.MaxSize}, {stateFile, checkpoint.MaxSize},
	} {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if err := privatefile.Copy(filepath.Join(l.dir, part.name), filepath.Join(dir, part.name), part.length); err != nil {
			return 0, 0, err
		}
	}
	return s.Size, l.Status().Undeclared, privatefile.SyncDir(dir)
}
