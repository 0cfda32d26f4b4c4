package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// Names in the directory of a log; see the package comment.
const (
	haltFile       = "halted"
	lockFile       = "LOCK"
	keyFile        = "key"
	stateFile      = "state"
	checkpointFile = "checkpoint"
	rowsFile       = "rows"
	entriesFile    = "entries"
	hashesFile     = "hashes"

	newSuffix = privatefile.NewSuffix // of a file before it gets its name
)

const (
	dirMode  = 0o700
	fileMode = privatefile.Mode
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// makeDir makes a directory when it is missing. Its parent must exist: a
// mistyped path should be noticed.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(dir, dirMode); err != nil {
			return err
		}
		return errors.Join(os.Chmod(dir, dirMode), privatefile.SyncDir(filepath.Dir(dir))) // Mkdir obeys the umask
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory", dir)
	}
	return err
}

// lockDir takes a directory for this process until the file is closed.
func lockDir(dir string) (*os.File, error) { return takeLock(filepath.Join(dir, lockFile)) }

// takeLock takes a file, which it makes when it is missing, for this process until it is closed.
func takeLock(path string) (*os.File, error) {
	f, err := privatefile.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// privatefile.ErrUncertain says that a file may or may not have got its new content.
// openPart opens one of the growing files, and refuses it when it is missing or
// has lost its end.
func openPart(path string, flag int, need int64) (*os.File, error) {
	f, err := os.OpenFile(path, flag, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamagedError{File: path, Problem: "is missing", Remedy: remedyRestore}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < need {
		err = &DamagedError{File: path, Problem: fmt.Sprintf("is cut: it has %d bytes and should have at least %d", info.Size(), need), Remedy: remedyRestore}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readAt fills data, and says which file ends too early.
func readAt(f *os.File, data []byte, offset int64) error {
	_, err := f.ReadAt(data, offset)
	if errors.Is(err, io.EOF) {
		return &DamagedError{File: f.Name(), Problem: fmt.Sprintf("was cut while it was open: it has no byte %d", offset+int64(len(data))-1), Remedy: remedyRestore}
	}
	return err
}

// writeAt writes and syncs.
func writeAt(f *os.File, data []byte, offset int64) error {
	if _, err := f.WriteAt(data, offset); err != nil {
		return err
	}
	return f.Sync()
}

// state says how far the log has come. It is one file, so the place in the
// store's log and the size of the tree change together; what lies in the other
// files beyond the lengths that follow from it was never committed.
type state struct {
	Format int    `json:"format"`
	Origin string `json:"origin"`
	// Salt is the log's secret; see salter.
	Salt []byte `json:"salt"`
	// Store, Incarnation and Seq are the cursor. Store stays when the rest is
	// zero, because the log follows from the beginning again.
	Store       string `json:"store"`
	Incarnation uint64 `json:"incarnation"`
	Seq         uint64 `json:"seq"`
	Size        int64  `json:"size"`  // leaves
	Bytes       int64  `json:"bytes"` // of the entries
	// Lost: the store need not have the records of the leaves before this one,
	// because the operator has said that they are lost.
	Lost int64 `json:"lost,omitempty"`
}

const stateFormat = 1

// storeCursor is zero when the log follows from the beginning.
func (s state) storeCursor() store.Cursor {
	if s.Seq == 0 {
		return store.Cursor{}
	}
	return store.Cursor{Store: s.Store, Incarnation: s.Incarnation, Seq: s.Seq}
}

// fileBytes is how long the files of the leaves and hashes are together.
func (s state) fileBytes() int64 { return s.Size*rowBytes + s.Bytes + hashesBytes(s.Size) }

func writeState(dir string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = fmt.Appendf(text, " %08x\n", crc32.Checksum(text, castagnoli))
	if err := privatefile.Replace(filepath.Join(dir, stateFile), text); err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	return nil
}

// readState returns fs.ErrNotExist when there is no state.
func readState(dir string) (state, error) {
	path := filepath.Join(dir, stateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return state{}, err
	}
	wrong := &DamagedError{File: path, Problem: "is damaged: it does not match its checksum", Remedy: remedyRestore}
	at := max(bytes.LastIndexByte(text, ' '), 0)
	if string(text[at:]) != fmt.Sprintf(" %08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return state{}, wrong
	}
	var s state
	if err := json.Unmarshal(text[:at], &s); err != nil {
		return state{}, wrong
	}
	if s.Format != stateFormat {
		wrong.Problem = fmt.Sprintf("has format %d, this program knows format %d", s.Format, stateFormat)
		wrong.Remedy = "use the program that wrote it"
		return state{}, wrong
	}
	if len(s.Salt) == 0 || s.Size < 0 || s.Size > maxSize || s.Bytes < 0 || s.Lost < 0 {
		return state{}, wrong
	}
	return s, nil
}
