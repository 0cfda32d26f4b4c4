// Package privatefile writes files that only their owner may read, and that survive a loss of
// power. Begin with [Replace].
package privatefile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
)

// DirMode and Mode are the permissions of private directories and files.
const (
	DirMode = 0o700
	Mode    = 0o600
)

// NewSuffix ends the name of a file that is being written, before it gets its own name.
const NewSuffix = ".new"

// ErrUncertain says that a file may or may not have its new content. Test with errors.Is.
var ErrUncertain = errors.New("it is not known what is on disk")

// Open opens a file with mode 0600, whatever the umask is or was. The flags are those of os.Open.
// A symbolic link in the place of the file is an error and is not followed.
func Open(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, Mode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, isLink(path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != Mode {
		err = f.Chmod(Mode)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Replace writes a whole file and syncs it, or leaves the one that was there. Only an error that
// matches [ErrUncertain] leaves open which of them is on disk.
func Replace(path string, content []byte) error {
	// The directory is opened first: after the rename nothing may fail for lack of a descriptor.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := Open(path+NewSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+NewSuffix, path); err != nil {
		return err
	}
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return nil
}

// ReplaceUnsynced writes a whole file through a buffer, or leaves the one that was there. It survives
// the end of the process, but perhaps not that of the machine: it is for what can be built again.
func ReplaceUnsynced(path string, write func(*bufio.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<16)
	err = errors.Join(write(w), w.Flush(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// Copy copies not more than most bytes of a file to a new one, and syncs it.
func Copy(from, to string, most int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	out, err := Open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, most))
	return errors.Join(err, out.Sync(), out.Close())
}

// MakeDir creates a private directory if it is missing. Its parent must exist, so that a mistyped path
// fails.
func MakeDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(dir, DirMode); err != nil {
			return err
		}
		return errors.Join(os.Chmod(dir, DirMode), SyncDir(filepath.Dir(dir))) // Mkdir obeys the umask
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory", dir)
	}
	return err
}

// ErrLocked says that another process holds a file. Test with errors.Is.
var ErrLocked = errors.New("another process has it open")

// Lock locks a file for this process until the file is closed. It creates the file if it is missing.
func Lock(path string) (*os.File, error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// IsReplaced reports whether the path of an open file names another file, or none: what is written
// would be lost at the end of the process.
func IsReplaced(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && !os.SameFile(named, open), err
}

// SyncDir makes the names in a directory survive a loss of power.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove deletes a file, and makes that survive a loss of power. A file that does not exist is not an
// error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// isLink returns the error for a symbolic link.
func isLink(path string) error {
	return fmt.Errorf("%s is a symbolic link, which is not followed: move what it leads to into its place", path)
}

// CheckDir refuses a directory that is unsafe for private files; the error says what to do. The
// directory, its subdirectories and its keys must be writable by their owner only, and so must all
// files if others can enter it; its keys must be readable by nobody else, and no other user may be able
// to replace it in its parent. When root runs the program, the directory must
// belong to root: its owner could not open the new files. Symbolic links, pipes and devices inside
// are refused: a link could redirect a file, and opening a pipe can block. A missing directory is
// fine; dir itself may be a link.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() {
		return err
	}
	if err := errors.Join(checkMode(dir, info), checkOwner(dir, info)); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	if err := checkParent(root); err != nil {
		return err
	}
	entered := info.Mode().Perm()&0o011 != 0 // others can
	var readable []string                    // keys
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case entry.Type()&fs.ModeSymlink != 0:
			return isLink(path)
		case entry.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeIrregular) != 0:
			return fmt.Errorf("%s is a pipe or a device, which is not opened: move it away", path)
		case entry.IsDir() || entered || strings.HasSuffix(path, ".key"):
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".key") && info.Mode().Perm()&0o044 != 0 {
				readable = append(readable, path)
			}
			return checkMode(path, info)
		}
		return nil
	})
	if err == nil && len(readable) > 0 {
		err = fmt.Errorf("private keys are readable by users other than their owner: run chmod 600 %s, and replace the keys if somebody may have read them", strings.Join(readable, " "))
	}
	return err
}

// FindReadable returns how many files below a directory users other than its owner can read, and the path
// of one of them; 0 if they cannot enter the directory. It skips what it cannot read.
func FindReadable(dir string) (example string, count int) {
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o011 == 0 {
		return "", 0
	}
	if root, err := filepath.EvalSymlinks(dir); err == nil {
		dir = root
	}
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := entry.Info()
		switch {
		case err != nil:
		case path != dir && entry.IsDir() && info.Mode().Perm()&0o011 == 0:
			return fs.SkipDir
		case info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0:
			count++
			example = cmp.Or(example, path)
		}
		return nil
	})
	return example, count
}

func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || stat.Uid == 0 {
		return nil
	}
	name := UserName(int(stat.Uid))
	return fmt.Errorf("%s belongs to the user %s, who could not read files that root makes in it: run the command as that user (sudo -u %s gazetteer …), or give the directory to root (chown -R root %s)", path, name, name, path)
}

// UserName returns the name of a user, or the number if there is no name.
func UserName(uid int) string {
	name := fmt.Sprint(uid)
	if u, err := user.LookupId(name); err == nil {
		return u.Username
	}
	return name
}

// checkParent refuses a directory whose parent everybody may write to: they could put another one
// in its place. In a directory with the sticky bit, such as /tmp, they cannot.
func checkParent(dir string) error {
	parent := filepath.Dir(dir)
	info, err := os.Stat(parent)
	if err != nil {
		return err
	}
	if mode := info.Mode(); mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Errorf("%s is writable by everybody (mode %o), who could replace %s: run chmod o-w %s", parent, mode.Perm(), dir, parent)
	}
	return nil
}

func checkMode(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s is writable by users other than its owner (mode %o): run chmod go-w %s, and check its content", path, mode, path)
	}
	return nil
}
