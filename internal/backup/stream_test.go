package backup

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAbandonedStreams removes what a killed process has left for a stream, and nothing else: not the
// directory of a process that runs, nor one that a user has made under such a name.
func TestAbandonedStreams(t *testing.T) {
	parent := t.TempDir()
	data := filepath.Join(parent, "data")
	running, remove, err := MakeStreamDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{
		streamPrefix + "killed/" + streamBackup: 0o700, streamPrefix + "early/" + streamBackup + partialSuffix: 0o700, streamPrefix + "empty": 0o700,
		streamPrefix + "shared/" + streamBackup: 0o755, streamPrefix + "other/notes": 0o700, "gazetteer-backup-1/" + streamBackup: 0o700,
	} {
		path := filepath.Join(parent, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "log.key"), []byte("a key"), 0o600); err != nil && name != streamPrefix+"empty" {
			t.Fatal(err)
		}
		if name == streamPrefix+"empty" {
			os.Remove(filepath.Join(path, "log.key"))
		}
		if first := filepath.Join(parent, filepath.Dir(name)); first != parent {
			path = first
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(parent, streamPrefix+"link")
	if err := os.Symlink(filepath.Join(parent, "gazetteer-backup-1"), link); err != nil {
		t.Fatal(err)
	}
	removed, err := RemoveAbandonedStreams(data)
	slices.Sort(removed)
	want := []string{filepath.Join(parent, streamPrefix+"early"), filepath.Join(parent, streamPrefix+"empty"), filepath.Join(parent, streamPrefix+"killed")}
	if err != nil || !slices.Equal(removed, want) {
		t.Errorf("%v were removed, want %v; %v", removed, want, err)
	}
	var left []string
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	own := filepath.Base(filepath.Dir(running))
	for _, name := range []string{own, streamPrefix + "shared", streamPrefix + "other", streamPrefix + "link", "gazetteer-backup-1"} {
		if !slices.Contains(left, name) {
			t.Errorf("%s was removed", name)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(running)); err == nil {
		t.Error("the directory of a stream that has ended is left")
	}
}
