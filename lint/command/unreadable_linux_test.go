package command

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A directory and a file that cannot be read are reported, and the rest is checked all the same. The
// exit code says that not everything was read. Root can read every directory, so the test's thread
// reads as another user.
func TestUnreadableDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"readable", "closed"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ai.json"), []byte(notes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("endless.json", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("endless.json", maxBytes+1); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{".": 0o755, "closed": 0} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine of the test
		const nobody = 65534
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); err != 0 {
			t.Fatal(err)
		}
		defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	code, out, complaints := run(t, "", nil, "validate", ".")
	if code != ExitInput || !strings.Contains(out, "readable/ai.json: valid") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, want := range []string{"gazlint: closed: permission denied\n", "gazlint: endless.json: it is longer than"} {
		if !strings.Contains(complaints, want) {
			t.Errorf("the error stream lacks %q:\n%s", want, complaints)
		}
	}
}
