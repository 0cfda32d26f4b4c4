package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bytes"
)

// Names in the directory of a log; see the package comment.
const (
	lockFile       = "LOCK"
	stateFile      = "state"
	checkpointFile = "checkpoint"
	rowsFile       = "rows"
	entriesFile    = "entries"
	hashesPrefix   = "hashes-" // and the level

	newSuffix = ".new" // a file before it gets its name
)

const (
	dirMode  = 0o700
	fileMode = 0o600
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
		return errors.Join(os.Chmod(dir, dirMode), syncDir(filepath.Dir(dir))) // Mkdir obeys the umask
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory", dir)
	}
	return err
}

// openPrivate opens a file of ours with mode 0600 whatever the umask was or is.
func openPrivate(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, fileMode)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(fileMode); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// errUncertain says that a file may or may not have got its new content.
var errUncertain = errors.New("it is not known what is on disk")

// writeFile puts a whole file under its name and on disk, or leaves what was
// there; only an error that matches errUncertain leaves that open.
func writeFile(path string, content []byte) error {
	f, err := openPrivate(path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+newSuffix, path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockWait is how long a held directory is tried again: long enough for a
// process that is just leaving.
const (
	lockWait  = time.Second
	lockRetry = 20 * time.Millisecond
)

// lock takes a directory for this process, or says with a *HeldError who has it.
func lock(ctx context.Context, dir string) (*os.File, error) {
	f, err := openPrivate(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("directory %s must be writable: %w", dir, err)
	}
	for deadline := time.Now().Add(lockWait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock directory %s: %w", dir, err)
		}
		if time.Now().After(deadline) {
			pid := holder(f)
			f.Close()
			return nil, &HeldError{PID: pid, Dir: dir}
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(lockRetry):
		}
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock directory %s: %w", dir, err)
	}
	return f, nil
}

func holder(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// unlock wipes the pid before the lock goes, so that nobody is blamed for what
// the next holder does.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
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
}

const stateFormat = 1

func writeState(dir string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = fmt.Appendf(text, " %08x\n", crc32.Checksum(text, castagnoli))
	if err := writeFile(filepath.Join(dir, stateFile), text); err != nil {
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
	wrong := &DamagedError{File: path, Problem: "is not the state of a log", Remedy: remedyRestore}
	at := bytes.LastIndexByte(text, ' ')
	if at < 0 || string(text[at:]) != fmt.Sprintf(" %08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return state{}, wrong
	}
	var s state
	if err := json.Unmarshal(text[:at], &s); err != nil {
		return state{}, wrong
	}
	if s.Format > stateFormat {
		wrong.Problem = fmt.Sprintf("has format %d, this program knows formats up to %d", s.Format, stateFormat)
		wrong.Remedy = "use the newer program that wrote it"
		return state{}, wrong
	}
	if s.Format < 1 || len(s.Salt) == 0 || s.Size < 0 || s.Bytes < 0 {
		return state{}, wrong
	}
	return s, nil
}
