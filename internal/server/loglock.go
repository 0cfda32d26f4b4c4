package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gazetteer/api"
	"gazetteer/internal/exit"
	"gazetteer/registry/audit"
)

// parseLockWitness reads from the configuration the witness that serves as the lock of the log; nil
// for none.
func parseLockWitness(text string) (*audit.Cosigner, error) {
	if text == "" {
		return nil, nil
	}
	c, err := audit.ParseCosigner(text)
	if err != nil {
		return nil, exit.Usagef("registry.lock_witness %q: %v", text, err)
	}
	return &c, nil
}

// logLock returns the place of the lock of the log, and whether the lock survives a loss of the
// data directory.
func (h *Server) logLock() api.LogLock {
	switch {
	case h.Config.Registry.LockWitness != "":
		return api.LogLock{Kind: api.LockWitness, Apart: true}
	case h.checkpointCopy == "":
		return api.LogLock{Kind: api.LockNone}
	}
	return api.LogLock{Kind: api.LockFile, Apart: isApart(h.checkpointCopy, h.Config.DataDir)}
}

// isApart reports whether a file is on another disk than a directory.
func isApart(file, dir string) bool {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if path, err := filepath.Abs(file); err != nil || strings.HasPrefix(path, whole+string(filepath.Separator)) {
		return false
	}
	there, err := deviceOf(filepath.Dir(file))
	if err != nil {
		return false
	}
	here, err := deviceOf(dir)
	return err == nil && here != there
}

// deviceOf returns the number of the file system that contains a directory.
func deviceOf(dir string) (uint64, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return uint64(stat.Dev), nil
}

// warnOfLogLock warns the operator if nothing outside of the data directory's disk can show that an
// older copy was restored or that two copies sign.
func (h *Server) warnOfLogLock() {
	lock := h.logLock()
	if lock.Apart {
		return
	}
	const remedy = "for a public registry, set registry.checkpoint_copy to a path on another disk, or registry.lock_witness to a witness; to try things out, nothing is needed"
	if lock.Kind == api.LockNone {
		h.log.Warn("the transparency log has no lock: two copies of the data directory could sign two histories; " + remedy)
		return
	}
	h.log.Warn("a second copy of the last checkpoint shows if an older copy of the transparency log is put back; it is on the same disk as the log: "+remedy, "copy", h.checkpointCopy)
}

// resumeSigning lets a halted log sign again if the witnesses and the copies of its checkpoint
// agree.
func (h *Server) resumeSigning(ctx context.Context) error {
	halt, halted := h.audit.Halted()
	if !halted {
		return nil
	}
	err := h.witnesses.AskAll(ctx)
	if err != nil && (halt.Cause == audit.CauseWitness || errors.Is(err, audit.ErrFork)) {
		return fmt.Errorf("the witnesses do not agree: %w", err)
	}
	return h.audit.Resume(ctx)
}
