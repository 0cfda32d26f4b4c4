package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gazetteer/internal/privatefile"
)

const (
	// streamPrefix begins the name of a directory beside a data directory, in which a backup waits
	// until it is written to a stream. Nobody who names a directory for a backup chooses that.
	streamPrefix = ".gazetteer-stream-"
	// streamBackup is the backup in it.
	streamBackup = "backup"
)

// MakeStreamDir makes a private directory beside a data directory, for a backup that is written to a
// stream afterwards. It belongs to the owner of the data directory, so that the server can write
// there. It returns the path for [Write], and a function that removes the directory. Those of
// processes that were killed are removed first: they contain keys.
func MakeStreamDir(dataDir string) (backup string, remove func() error, err error) {
	if _, err := RemoveAbandonedStreams(dataDir); err != nil {
		return "", nil, err
	}
	// Beside the data directory, where a server that a service manager confines may write.
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dataDir)), streamPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockDir(dir)
	if err == nil {
		err = giveToOwner(lock, dataDir)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return filepath.Join(dir, streamBackup), func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// RemoveAbandonedStreams removes the directories of [MakeStreamDir] beside a data directory whose
// process has ended, and returns their paths.
func RemoveAbandonedStreams(dataDir string) (removed []string, err error) {
	parent := filepath.Dir(filepath.Clean(dataDir))
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		path := filepath.Join(parent, entry.Name())
		if !strings.HasPrefix(entry.Name(), streamPrefix) || !isStreamDir(path) {
			continue
		}
		lock, lockErr := lockDir(path)
		if errors.Is(lockErr, privatefile.ErrLocked) || errors.Is(lockErr, fs.ErrNotExist) {
			continue // in use, or removed by its process
		}
		if lockErr == nil {
			lockErr = errors.Join(os.RemoveAll(path), lock.Close())
		}
		if lockErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is left of a backup that was interrupted, and contains keys: remove it: %w", path, lockErr))
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}

// isStreamDir reports whether a directory is private and contains nothing but a backup.
func isStreamDir(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != privatefile.DirMode {
		return false
	}
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		if name := entry.Name(); name != streamBackup && name != streamBackup+partialSuffix {
			return false
		}
	}
	return err == nil
}

// lockDir locks a directory until it is closed, also by the end of the process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = privatefile.ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// giveToOwner gives an open directory of root to the owner of another directory. It uses no path: that
// owner could have put a link in its place, and root would give the target away.
func giveToOwner(dir *os.File, of string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(of)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the command that needs it says so
	}
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return dir.Chown(int(stat.Uid), int(stat.Gid))
	}
	return nil
}
