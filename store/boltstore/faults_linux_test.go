package boltstore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gazetteer/internal/need"
	"gazetteer/store"
)

// tmpfs mounts a small file system, or skips where that is not allowed.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		need.Missing(t, "cannot mount a file system (TestFloorOfFreeSpace needs none): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills a disk of 6 MiB: first with a floor, which keeps room for
// deletions, then without one, until the system says no.
func TestFullDisk(t *testing.T) {
	disk := tmpfs(t, "size=6m")
	dir := filepath.Join(disk, "data")
	value := make([]byte, 50_000)
	n := 0
	fill := func(s *Store) error {
		for {
			if _, err := s.Apply(t.Context(), store.Put(fmt.Sprintf("k/%04d", n), value)); err != nil {
				return err
			}
			n++
		}
	}
	s, err := Open(t.Context(), dir, Options{MinFree: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(s); !errors.Is(err, store.ErrFull) {
		t.Fatalf("above the floor: %v", err)
	}
	if left, err := free(dir); err != nil || left < 1<<19 {
		t.Errorf("%d bytes are left, error %v", left, err)
	}
	if _, err := s.Apply(t.Context(), store.Delete("k/0000")); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, dir)
	for range 20 { // refused again and again, it stays whole
		if err := fill(s); !errors.Is(err, store.ErrFull) {
			t.Fatalf("without a floor: %v", err)
		}
	}
	if s.Err() != nil {
		t.Errorf("a full disk made the store fail: %v", s.Err())
	}
	if _, err := s.Get(t.Context(), "k/0001"); err != nil {
		t.Errorf("reading: %v", err)
	}
	checkStore(t, s)
	for i := 1; i < 20; i++ {
		if _, err := s.Apply(t.Context(), store.Delete(fmt.Sprintf("k/%04d", i))); err != nil {
			t.Errorf("deleting from a full disk: %v", err)
		}
	}
	if _, err := s.Apply(t.Context(), store.Put("again", value)); err != nil {
		t.Errorf("writing when there is room again: %v", err)
	}
	checkStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	checkStore(t, s)
	if s.incarnation != 1 {
		t.Errorf("incarnation %d", s.incarnation)
	}
}

func TestFullDiskAtTheBeginning(t *testing.T) {
	disk := tmpfs(t, "size=16k")
	dir := filepath.Join(disk, "data")
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want that of the system", err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir).Close()
}

func TestReadOnlyDisk(t *testing.T) {
	disk := tmpfs(t, "size=1m")
	dir := filepath.Join(disk, "data")
	openStore(t, dir).Close()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, filepath.Join(disk, "new")} {
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v, want that of the system and the directory", err)
		}
	}
}

// asNobody runs f without the rights of root: the right to files belongs to a
// thread on Linux. Without root it just runs f.
func asNobody(t *testing.T, f func()) {
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine of the test
	const nobody = 65534
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); err != 0 {
		t.Fatal(err)
	}
	defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	f()
}

func TestUnwritableDirectory(t *testing.T) {
	base := t.TempDir()
	closed := filepath.Join(base, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	begun := closedStore(t, 1)
	if err := os.Chmod(begun, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 { // then the files are ours
		if err := os.Chmod(filepath.Join(begun, lockFile), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range map[string]string{"empty": closed, "another user's store": begun, "to be made": filepath.Join(closed, "data")} {
		t.Run(name, func(t *testing.T) {
			asNobody(t, func() {
				_, err := Open(t.Context(), dir, Options{})
				if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want one line with the permission and the directory", err)
				}
			})
		})
	}
}

// strace returns the words that run a program under strace, or skips.
func strace(t *testing.T, inject string) []string {
	t.Helper()
	path := need.Program(t, "strace")
	if err := exec.Command(path, "-o", os.DevNull, "true").Run(); err != nil {
		need.Missing(t, "strace may not trace here: %v", err)
	}
	return []string{path, "-f", "-qq", "-o", os.DevNull, "-e", "inject=" + inject}
}

// TestFailingSync has the system refuse the first and the second sync of the
// first and the third commit. The first refusal of a commit leaves nothing of
// it, the second all of it; neither is acknowledged, and nothing after it.
func TestFailingSync(t *testing.T) {
	for sync := 1; sync <= 6; sync++ {
		if sync == 3 || sync == 4 {
			continue
		}
		t.Run(fmt.Sprintf("sync %d", sync), func(t *testing.T) {
			dir := closedStore(t, 0)
			cmd := child(t, "write-one-thread", dir, strace(t, fmt.Sprintf("fdatasync:error=EIO:when=%d", sync))...)
			out, err := cmd.Output()
			if cmd.ProcessState.ExitCode() != 1 {
				t.Fatalf("the writer: %v\n%s", err, out)
			}
			acknowledged := (sync - 1) / 2
			want := strings.Repeat("acknowledged\n", acknowledged)
			want += fmt.Sprintf("failed: %v: commit: input/output error\n", store.ErrUnknown)
			want += "and says so\n"
			want += fmt.Sprintf("later: %v: commit: input/output error\n", store.ErrUnknown)
			if string(out) != want {
				t.Errorf("the writer says\n%swant\n%s", out, want)
			}
			s := openStore(t, dir)
			defer s.Close()
			present := acknowledged + 1 - sync%2
			for n := 1; n <= acknowledged+1; n++ {
				if _, err := s.Get(t.Context(), entryKey(0, n)); (err == nil) != (n <= present) {
					t.Errorf("write %d of %d: %v", n, acknowledged+1, err)
				}
			}
			if s.incarnation != 1 {
				t.Errorf("incarnation %d, though nothing acknowledged was lost", s.incarnation)
			}
			checkStore(t, s)
		})
	}
}

// TestFailingWrite has the system refuse the pages of a commit with an error
// that is not about space. It refuses every write from the fifth on: a single one
// might be of the zeroes ahead, which a commit can do without.
func TestFailingWrite(t *testing.T) {
	dir := closedStore(t, 0)
	cmd := child(t, "write-one-thread", dir, strace(t, "pwrite64:error=EIO:when=5+")...)
	out, _ := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "input/output error\nand says so\n") {
		t.Fatalf("the writer says\n%s", out)
	}
	s := openStore(t, dir)
	defer s.Close()
	n := strings.Count(string(out), "acknowledged\n")
	for i := range n {
		if _, err := s.Get(t.Context(), entryKey(0, i+1)); err != nil {
			t.Error(err)
		}
	}
	checkStore(t, s)
}

// TestKillWhileBeginning kills the process at each system call with which it
// begins a store. Whatever is left, the next one begins it or goes on with it.
func TestKillWhileBeginning(t *testing.T) {
	kills := 0
	for _, call := range []string{"fsync", "fdatasync", "pwrite64", "renameat", "ftruncate"} {
		for n := 1; ; n++ {
			dir := filepath.Join(t.TempDir(), "data")
			cmd := child(t, "open", dir, strace(t, fmt.Sprintf("%s:signal=KILL:when=%d", call, n))...)
			if err := cmd.Run(); err == nil {
				break
			}
			if cmd.ProcessState.Exited() { // strace ends as who it traces does
				t.Fatalf("not killed at %s %d: %v", call, n, cmd.ProcessState)
			}
			kills++
			s, err := Open(t.Context(), dir, Options{MinFree: -1})
			if err != nil {
				t.Errorf("killed at %s %d: %v", call, n, err)
				continue
			}
			put(t, s, 1)
			if s.incarnation != 1 {
				t.Errorf("killed at %s %d: incarnation %d", call, n, s.incarnation)
			}
			s.Close()
		}
	}
	if kills < 10 {
		t.Errorf("only %d system calls were met", kills)
	}
}
