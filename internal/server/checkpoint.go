package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// noCheckpointCopy is the value of registry.checkpoint_copy that switches the copy off.
const noCheckpointCopy = "none"

// writable asks access(2) whether a directory may be written to.
const writable = 2

// checkpointInterval is the time between two checks that the store has the newest checkpoint.
const checkpointInterval = time.Minute

// copyRecord is the file in the directory of the log with the path of the second copy of the last
// checkpoint. A copy of the data directory has it, too, so that it uses the same second copy and its
// lock, wherever it lies.
const copyRecord = "checkpoint-copy"

// findCheckpointCopy returns the path of the second copy of the last checkpoint, "" for none, and the
// recorded path. By default the second copy is next to the data directory, or where it was recorded.
// All copies of one store and log share its name, so that only one of two copies in the same place
// signs.
func (h *Server) findCheckpointCopy(logDir string) (path, recorded string, err error) {
	path = CheckpointCopy(h.Config, h.Store.Head().Store)
	if path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return "", "", err
		}
	}
	text, err := os.ReadFile(filepath.Join(logDir, copyRecord))
	recorded = strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (recorded == path || recorded == ""):
		return path, recorded, nil
	case err != nil:
		return "", "", err
	case h.Config.Registry.CheckpointCopy != "":
		return path, recorded, nil // the operator has chosen another path, or none
	case fileExists(recorded):
		h.log.Warn("the second copy of the log's checkpoint stays where it was: the data directory was moved or copied, or its key was set before and is not now (a command needs the --config of the server); to move the copy, set registry.checkpoint_copy", "copy", recorded)
		return recorded, recorded, nil
	}
	return "", "", exit.Dataf("the second copy of the log's checkpoint is recorded at %s, and is not there: mount its disk; or, if no other copy of this data directory is in use, set registry.checkpoint_copy to a new path, such as %q",
		recorded, cmp.Or(path, "/other/disk/checkpoint"))
}

// readRecordedCopy returns the checkpoint at the recorded path, which the operator has replaced by
// another one. It refuses if a process signs with that copy.
func readRecordedCopy(recorded string) ([]byte, error) {
	text, err := os.ReadFile(recorded)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lock, err := privatefile.Lock(recorded + ".lock")
	if errors.Is(err, privatefile.ErrLocked) {
		return nil, exit.Dataf("%s is locked by a process that signs the same log on another copy of this data directory: stop one of them for good", recorded+".lock")
	}
	if err != nil {
		return nil, err
	}
	return text, lock.Close()
}

// CheckpointCopy returns the path of the second copy of the last checkpoint of the log beside a store
// with that id; "" if there is to be none, or it cannot be written.
func CheckpointCopy(conf config.Config, storeID string) string {
	switch c := conf.Registry.CheckpointCopy; c {
	case noCheckpointCopy:
		return ""
	case "":
	default:
		return c
	}
	dir, err := filepath.Abs(conf.DataDir)
	if err != nil {
		return ""
	}
	parent := filepath.Dir(dir)
	if syscall.Access(parent, writable) != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(storeID + "\n" + logOrigin(conf)))
	return filepath.Join(parent, ".gazetteer-checkpoint-"+hex.EncodeToString(sum[:6]))
}

// logOrigin returns the name of the transparency log.
func logOrigin(conf config.Config) string {
	return cmp.Or(conf.Registry.LogOrigin, conf.Registry.DIDHost+"/log")
}

// knownCheckpoint returns the last checkpoint of the log that the store knows. A checkpoint of
// another origin does not count: the operator moved the old log away and began a new one.
func (h *Server) knownCheckpoint(ctx context.Context, origin string, haveLog bool) ([][]byte, error) {
	record, err := h.Store.Get(ctx, store.CheckpointKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the last checkpoint of the log: %w", err)
	}
	was, _, _ := strings.Cut(string(record.Value), "\n")
	if was != origin && !haveLog {
		h.log.Warn("another transparency log begins, with another origin; publish its key", "origin", origin, "before", was)
		return nil, nil
	}
	return [][]byte{record.Value}, nil
}

// keepCheckpoints writes the newest checkpoint of the log and the position of the mail into the
// store, at once and every minute, until ctx ends. A store that is combined with an older or a
// different log or queue can then be detected.
func (h *Server) keepCheckpoints(ctx context.Context) error {
	tick := time.NewTicker(checkpointInterval)
	defer tick.Stop()
	for {
		if err := h.keepCheckpoint(ctx); isNews(ctx, err) {
			h.log.Warn("the newest checkpoint of the log was not written to the store", "error", err)
		}
		if err := h.keepMailPosition(ctx); isNews(ctx, err) {
			h.log.Warn("the position of the mail was not written to the store", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// checkpointTimeout bounds the write of the checkpoint at shutdown.
const checkpointTimeout = 2 * time.Second

// keepLastCheckpoint writes the newest checkpoint and the position of the mail into the store at
// shutdown.
func (h *Server) keepLastCheckpoint() {
	ctx, cancel := context.WithTimeout(context.Background(), checkpointTimeout)
	defer cancel()
	if err := h.keepCheckpoint(ctx); isNews(ctx, err) {
		h.log.Info("the newest checkpoint of the log was not written to the store before the stop", "error", err)
	}
	if err := h.keepMailPosition(ctx); isNews(ctx, err) {
		h.log.Info("the position of the mail was not written to the store before the stop", "error", err)
	}
}

// keepMailPosition writes the position of the queue of mail into the store, if it has changed.
func (h *Server) keepMailPosition(ctx context.Context) error {
	if h.mail == nil {
		return nil
	}
	position := h.mail.File().Position()
	record, err := h.Store.Get(ctx, store.MailPositionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) || string(record.Value) == position {
		return err
	}
	_, err = h.Store.Apply(ctx, store.PutIf(store.MailPositionKey, []byte(position), record.Seq))
	return err
}

func (h *Server) keepCheckpoint(ctx context.Context) error {
	if h.audit.Head().N == 0 {
		return nil
	}
	signed, err := h.audit.Checkpoint()
	if err != nil {
		return err
	}
	// Cosignatures arrive later and do not change the text of the checkpoint.
	at := bytes.LastIndex(signed, []byte("\n\n"))
	record, err := h.Store.Get(ctx, store.CheckpointKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if at > 0 && bytes.HasPrefix(record.Value, signed[:at]) {
		return nil
	}
	_, err = h.Store.Apply(ctx, store.PutIf(store.CheckpointKey, signed, record.Seq))
	return err
}
