package server

import (
	"context"
	"time"

	"gazetteer/api/operator"
	"gazetteer/internal/backup"
)

// writeBackup writes a backup of everything in the data directory that cannot be rebuilt, and calls
// progress before each part.
func (h *Server) writeBackup(ctx context.Context, dir string, progress func(part string)) (operator.BackupResult, error) {
	begun := time.Now()
	m, err := backup.Write(ctx, backup.Sources{DataDir: h.Config.DataDir, Store: h.Store, Log: h.audit, Queue: h.mail}, dir, func(part string) {
		h.log.Info("writing a backup", "dir", dir, "part", part)
		progress(part)
	})
	if err != nil {
		h.log.Warn("the backup was not written", "dir", dir, "error", err)
		return operator.BackupResult{}, err
	}
	took := time.Since(begun)
	h.log.Info("backup written", "dir", dir, "files", len(m.Files), "bytes", m.Bytes(), "seq", m.Seq, "leaves", m.Leaves, "took", took)
	return operator.BackupResult{Dir: dir, Files: len(m.Files), Bytes: m.Bytes(), Seq: m.Seq, Leaves: m.Leaves, Undeclared: int64(m.Undeclared), TookMS: float64(took.Microseconds()) / 1000}, nil
}
