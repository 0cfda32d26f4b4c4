package privatefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gazetteer/internal/need"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("old and long"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new", "newer"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != Mode {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if _, err := os.Stat(path + NewSuffix); !os.IsNotExist(err) {
		t.Errorf("a file is left over: %v", err)
	}
	if err := Replace(filepath.Join(path, "x"), nil); err == nil {
		t.Error("no error below a file")
	}
}

func TestOpenMakesFilesPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != Mode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestModesIgnoreUmask checks that new files have mode 0600 and new directories mode 0700 with any umask.
func TestModesIgnoreUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o777} {
		dir := filepath.Join(t.TempDir(), "data", "log")
		file, replaced := filepath.Join(dir, "key"), filepath.Join(dir, "state")
		before := syscall.Umask(umask)
		err := MakeDir(filepath.Dir(dir))
		if err == nil {
			err = MakeDir(dir)
		}
		var f *os.File
		if err == nil {
			f, err = Open(file, os.O_RDWR|os.O_CREATE)
		}
		if err == nil {
			err = errors.Join(f.Close(), Replace(replaced, []byte("x")))
		}
		syscall.Umask(before)
		if err != nil {
			t.Fatalf("umask %o: %v", umask, err)
		}
		for path, want := range map[string]os.FileMode{filepath.Dir(dir): DirMode, dir: DirMode, file: Mode, replaced: Mode} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s: %v, %v", umask, path, info, err)
			}
		}
	}
}

// TestLinksAreNotFollowed checks that a symbolic link is refused with what to do about it.
func TestLinksAreNotFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, os.O_RDWR|os.O_CREATE); err == nil || !strings.Contains(err.Error(), "move what it leads to into its place") {
		t.Errorf("it says %v", err)
	}
}

// TestWritableParent checks that a directory that everybody could replace is refused.
func TestWritableParent(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "parent")
	dir := filepath.Join(parent, "data")
	if err := os.MkdirAll(dir, DirMode); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o755: false, 0o775: false, 0o777: true, 0o702: true, 0o777 | os.ModeSticky: false} {
		if err := os.Chmod(parent, mode); err != nil {
			t.Fatal(err)
		}
		if err := CheckDir(dir); (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod o-w "+parent) {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// TestReadableKeys checks that keys which others may read are refused, all of them in one message.
func TestReadableKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, DirMode); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a.key": 0o644, "b.key": 0o640, "c.key": 0o600, "store.bolt": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	want := "run chmod 600 " + dir + "/a.key " + dir + "/b.key, "
	if err := CheckDir(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	for _, name := range []string{"a.key", "b.key"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckDir(dir); err != nil {
		t.Error(err)
	}
}

// TestForeignDirectory checks that root refuses a directory of another user, who could not read what
// root makes there. Nobody else can make such a directory, or needs the check.
func TestForeignDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, DirMode); err != nil {
		t.Fatal(err)
	}
	if err := CheckDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		need.Missing(t, "only root can give a directory to another user: %v", err)
	}
	if err := CheckDir(dir); err == nil || !strings.Contains(err.Error(), "belongs to the user") || !strings.Contains(err.Error(), "sudo -u ") {
		t.Errorf("it says %v", err)
	}
}
