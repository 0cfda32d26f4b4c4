package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
)

// saveFile stores the head. Another command of the same user may have stored a newer tree or other
// promises meanwhile: the newer tree and the promises of both remain.
func (h *LogHead) saveFile() error {
	if h.path == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(h.path), privatefile.DirMode)
	if err != nil {
		return h.explainUnsaved(err)
	}
	lock, err := privatefile.Open(h.path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return h.explainUnsaved(err)
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return h.explainUnsaved(err)
	}
	if err := h.mergeStored(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = privatefile.Replace(h.path, append(text, '\n'))
	}
	return h.explainUnsaved(err)
}

// explainUnsaved names the log whose head was not stored.
func (h *LogHead) explainUnsaved(err error) error {
	if err == nil {
		return nil
	}
	return exit.Dataf("the tree head of %s was not stored: %w", h.Log, err)
}

// mergeStored takes over what the file has and this head lacks.
func (h *LogHead) mergeStored() error {
	stored, err := ReadLogHead(h.Log)
	if err != nil || stored == nil || stored.Key != h.Key {
		return err
	}
	switch {
	case stored.tree.N == h.tree.N && stored.tree.Hash != h.tree.Hash:
		return h.reportFork(fmt.Sprintf("it has shown another tree of %d leaves to another command", h.tree.N), []byte(h.Checkpoint), true)
	case stored.tree.N > h.tree.N:
		h.tree, h.Checkpoint = stored.tree, stored.Checkpoint
	}
	for _, promise := range stored.Promises {
		if len(h.Promises) < maxPromises && !slices.Contains(h.Promises, promise) && !slices.Contains(h.fulfilled, promise) {
			h.Promises = append(h.Promises, promise)
		}
	}
	return nil
}
