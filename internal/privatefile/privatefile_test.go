package privatefile

import (
	"os"
	"path/filepath"
	"strings"
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
