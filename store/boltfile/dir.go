package boltfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"gazetteer/internal/privatefile"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Names in the directory, in addition to the file of the schema.
const (
	// FormatFile describes the content of the directory: format number, id and incarnation, as
	// JSON. If it exists, the directory has had a file.
	FormatFile = "FORMAT"

	lockFile      = "LOCK"                // flock and the holder's pid
	headFile      = "HEAD"                // the last acknowledged sequence, see head
	newSuffix     = privatefile.NewSuffix // of a file before it gets its name
	rebuiltSuffix = ".rebuilt"            // a compact copy before it replaces the file
)

const (
	dirMode  = 0o700
	fileMode = privatefile.Mode
)

// identity is the content of FormatFile.
type identity struct {
	Format      int    `json:"format"`
	Store       string `json:"store"`
	Incarnation uint64 `json:"incarnation"`
}

func newIdentity(format int) identity {
	id := make([]byte, 16)
	rand.Read(id)
	return identity{Format: format, Store: hex.EncodeToString(id), Incarnation: 1}
}

// prepareDir creates the directory if it is missing. Its parent must exist, so that a mistyped path
// is noticed. An existing directory keeps its mode because it may hold other files; the files of
// this package are private anyway.
func prepareDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeDir(dir)
	case err != nil:
		return fmt.Errorf("data directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("data directory %s: it is a file, not a directory", dir)
	}
	return nil
}

func makeDir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory %s: its parent directory does not exist; create that first", dir)
	}
	if err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := os.Chmod(dir, dirMode); err != nil { // Mkdir obeys the umask
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := privatefile.SyncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("create the data directory: %w", err)
	}
	return nil
}

// readIdentity returns the content of FormatFile, and false if there is none.
func readIdentity(dir string, schema Schema) (identity, bool, error) {
	path := filepath.Join(dir, FormatFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return identity{}, false, nil
	}
	if err != nil {
		return identity{}, false, fmt.Errorf("data directory: %w", err)
	}
	var id identity
	if err := json.Unmarshal(text, &id); err == nil && id.Format > schema.Format {
		return identity{}, false, &FormatError{File: path, Noun: schema.Noun, Format: id.Format, Known: schema.Format}
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	raw, hexErr := hex.DecodeString(id.Store)
	if strict.Decode(&id) != nil || id.Format < 1 || id.Incarnation == 0 || hexErr != nil || len(raw) != 16 {
		return identity{}, false, &DamagedError{Dir: dir, File: path, Problem: "cannot be read as the description of a " + schema.Noun}
	}
	return id, true, nil
}

func writeIdentity(dir string, id identity) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := privatefile.Replace(filepath.Join(dir, FormatFile), append(text, '\n')); err != nil {
		return fmt.Errorf("data directory: write %s: %w", FormatFile, err)
	}
	return nil
}

// lockWait bounds the retries on a locked directory: long enough for a process that is ending, or
// that has the lock but has not yet written its pid.
const (
	lockWait  = time.Second
	lockRetry = 20 * time.Millisecond
)

// lockDir locks the directory for this process, or returns a *HeldError that names the holder.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	f, err := privatefile.Open(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("data directory %s must be writable: %w", dir, err)
	}
	deadline := time.Now().Add(lockWait)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
		}
		if pid := readPID(f); isAlive(pid) || time.Now().After(deadline) {
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
	if err := writePID(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("data directory %s: write %s: %w", dir, lockFile, err)
	}
	return f, nil
}

// Holder returns the running process that has the directory open, nil if there is none.
func Holder(dir string) *HeldError {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return nil
	}
	defer f.Close() // and releases the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	if pid := readPID(f); isAlive(pid) {
		return &HeldError{PID: pid, Dir: dir}
	}
	return nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// unlockDir wipes the pid before it releases the lock, so that the next holder is not taken for
// this process.
func unlockDir(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
	return pid
}

func isAlive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// freeSpace returns the bytes of disk that this user may still fill under dir.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// head is the content of headFile: a lower bound of the acknowledged writes. It is rewritten in
// place after each commit and not synced: that costs one system call, survives the death of the
// process, and is merely older after a loss of power. A file that is behind it has lost
// acknowledged writes: an older file replaced it, or its newest commit was damaged.
type head struct{ incarnation, seq uint64 }

const headFormat = "%020d %020d"

// positionFormat is the form of a position: the identity of the file and a head.
const positionFormat = "%s %d %d"

// parsePosition reads a position, and returns false for none.
func parsePosition(text string) (file string, h head, ok bool) {
	n, err := fmt.Sscanf(text, positionFormat, &file, &h.incarnation, &h.seq)
	return file, h, err == nil && n == 3
}

func (h head) isAfter(other head) bool {
	if h.incarnation != other.incarnation {
		return h.incarnation > other.incarnation
	}
	return h.seq > other.seq
}

func writeHead(f *os.File, h head) error {
	line := fmt.Appendf(nil, headFormat, h.incarnation, h.seq)
	line = fmt.Appendf(line, " %08x\n", crc32.Checksum(line, castagnoli))
	_, err := f.WriteAt(line, 0)
	return err
}

// readHeadFile reads the head of a directory. It returns false when there is no usable one.
func readHeadFile(dir string) (head, bool, error) {
	f, err := os.Open(filepath.Join(dir, headFile))
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, false, nil
	}
	if err != nil {
		return head{}, false, err
	}
	defer f.Close() // only read
	h, ok := readHead(f)
	return h, ok, nil
}

// readHead returns false when the file holds no usable head.
func readHead(f *os.File) (head, bool) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 64))
	if err != nil || len(text) != 20+1+20+1+8+1 {
		return head{}, false
	}
	var h head
	var sum uint32
	if _, err := fmt.Sscanf(string(text), "%d %d %x\n", &h.incarnation, &h.seq, &sum); err != nil {
		return head{}, false
	}
	return h, crc32.Checksum(text[:41], castagnoli) == sum
}

// isSameDevice reports whether two directories are on one file system, also if that is not known.
func isSameDevice(a, b string) bool {
	device := func(dir string) any {
		info, err := os.Stat(dir)
		if err != nil {
			return nil
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		return stat.Dev
	}
	first, second := device(a), device(b)
	return first == nil || second == nil || first == second
}
