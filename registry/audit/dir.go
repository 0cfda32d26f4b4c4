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

	"gazetteer/internal/privatefile"
	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/note"
)

// Names in the directory of a log; see the package comment.
const (
	haltFile    = "halted"
	lockFile    = "LOCK"
	stateFile   = "state"
	rowsFile    = "rows"
	entriesFile = "entries"
	hashesFile  = "hashes"

	newSuffix = privatefile.NewSuffix // of a file before it is renamed
)

const fileMode = privatefile.Mode

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// takeLock locks a file for this process until the file is closed.
func takeLock(path string) (*os.File, error) {
	f, err := privatefile.Lock(path)
	if errors.Is(err, privatefile.ErrLocked) {
		return nil, ErrHeld
	}
	return f, err
}

// openPart opens one of the growing files. It fails if the file is missing or too short.
func openPart(path string, flag int, need int64) (*os.File, error) {
	f, err := os.OpenFile(path, flag, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &tiles.DamagedError{File: path, Problem: "is missing", Remedy: remedyRestore}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < need {
		err = &tiles.DamagedError{File: path, Problem: fmt.Sprintf("is cut: it has %d bytes and should have at least %d", info.Size(), need), Remedy: remedyRestore}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readAt fills data. Its error names a file that ends too early.
func readAt(f *os.File, data []byte, offset int64) error {
	_, err := f.ReadAt(data, offset)
	if errors.Is(err, io.EOF) {
		return &tiles.DamagedError{File: f.Name(), Problem: fmt.Sprintf("was cut while it was open: it has no byte %d", offset+int64(len(data))-1), Remedy: remedyRestore}
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

// state is the committed state of the log. It is one file, so the position in the store's log and
// the size of the tree change together. Bytes in the other files beyond the lengths in the state
// were never committed.
type state struct {
	Format int    `json:"format"`
	Origin string `json:"origin"`
	// Salt is the log's secret; see [leafform.Salter].
	Salt []byte `json:"salt"`
	// Store, Incarnation and Seq are the cursor. If only Store is set, the log follows the store
	// from the beginning again.
	Store       string `json:"store"`
	Incarnation uint64 `json:"incarnation"`
	Seq         uint64 `json:"seq"`
	Size        int64  `json:"size"`  // leaves
	Bytes       int64  `json:"bytes"` // of the entries
	// Lost is the number of the first leaf whose record the store must have. The operator has
	// accepted the loss of the records before it.
	Lost int64 `json:"lost,omitempty"`
}

const stateFormat = 1

// storeCursor returns the cursor. It is zero if the log follows from the beginning.
func (s state) storeCursor() store.Cursor {
	if s.Seq == 0 {
		return store.Cursor{}
	}
	return store.Cursor{Store: s.Store, Incarnation: s.Incarnation, Seq: s.Seq}
}

// isValidIn reports whether the cursor is a position in the log of a store.
func (s state) isValidIn(in store.Store) bool {
	head := in.Head()
	return s.Seq > 0 && s.Incarnation == head.Incarnation && s.Seq <= head.Seq
}

// fileBytes returns the total size of the files of leaves and hashes.
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

// readState reads the state. It returns fs.ErrNotExist if there is none.
func readState(dir string) (state, error) {
	path := filepath.Join(dir, stateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return state{}, err
	}
	wrong := &tiles.DamagedError{File: path, Problem: "is damaged: it does not match its checksum", Remedy: remedyRestore}
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
	if len(s.Salt) == 0 || s.Size < 0 || s.Size > tiles.MaxLeaves || s.Bytes < 0 || s.Lost < 0 {
		return state{}, wrong
	}
	return s, nil
}

// HasLeaves reports whether the directory contains a log with leaves.
func HasLeaves(dir string) (bool, error) {
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return s.Size > 0, err
}

// A keptCheckpoint is a checkpoint that was signed and is stored in a file.
type keptCheckpoint struct {
	checkpoint.Checkpoint
	text []byte // the content of the file
	ours bool   // signed with the log's current key
}

// readCheckpoints returns the signed checkpoints from all files that exist. If two of them
// contradict each other, the tree shows it, because it cannot contain both.
func readCheckpoints(files []string, verifier note.Verifier) (kept []keptCheckpoint, err error) {
	for _, path := range files {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := readSigned(path, text, verifier)
		if err != nil {
			return nil, err
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// readSigned reads a checkpoint of the log that the verifier names. One without a valid signature means
// that the key was changed; the tree must contain it, which shows that it is ours.
func readSigned(file string, text []byte, verifier note.Verifier) (keptCheckpoint, error) {
	c, n, err := checkpoint.Open(text, verifier)
	if err != nil {
		return keptCheckpoint{}, &tiles.DamagedError{File: file, Problem: "is damaged: " + err.Error(), Remedy: remedyCheckpoint}
	}
	if c.Origin != verifier.Name() {
		return keptCheckpoint{}, &tiles.DamagedError{File: file, Problem: fmt.Sprintf("is of the log %q, not of %q", protocol.ClipBytes(c.Origin, checkpoint.MaxQuoted), verifier.Name()), Remedy: remedyOrigin}
	}
	return keptCheckpoint{c, text, len(n.Sigs) > 0}, nil
}

// checkPath returns an error if an open file was removed or replaced.
func checkPath(f *os.File) error {
	if replaced, err := privatefile.IsReplaced(f, f.Name()); err != nil || !replaced {
		return err
	}
	return &tiles.DamagedError{File: f.Name(), Problem: "was removed or replaced while it was open", Remedy: remedyRestore}
}
