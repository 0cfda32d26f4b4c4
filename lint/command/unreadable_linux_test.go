package command

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// A directory with an unreadable file is not judged in part. Root can read everything, so the
// test's thread reads as another user.
func TestUnreadableDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ai.json"), []byte(notes), 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine of the test
		const nobody = 65534
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); err != 0 {
			t.Fatal(err)
		}
		defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	if code, _, _ := run(t, "", nil, "validate", dir); code != ExitInput {
		t.Errorf("exit code %d", code)
	}
}
