package need

import (
	"syscall"
	"testing"
	"time"
)

// Tmpfs mounts a file system of its own in memory, with the options of mount(8) (`size=2m`), on a new
// directory, and returns its path. It is unmounted when the test ends. If mounting is not allowed,
// the test ends with Missing.
func Tmpfs(t testing.TB, options string) string {
	t.Helper()
	dir := t.TempDir()
	TmpfsAt(t, dir, options)
	return dir
}

// TmpfsAt is Tmpfs for a directory that exists.
func TmpfsAt(t testing.TB, dir, options string) {
	t.Helper()
	if err := Mount(dir, 0, options); err != nil {
		Missing(t, "cannot mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := untilIdle(func() error { return syscall.Unmount(dir, 0) }); err != nil {
			t.Errorf("cannot unmount %s: %v", dir, err)
		}
	})
}

// Mount mounts a file system in memory, or changes one with MS_REMOUNT.
func Mount(dir string, flags uintptr, options string) error {
	return untilIdle(func() error { return syscall.Mount("tmpfs", dir, "tmpfs", flags, options) })
}

// untilIdle calls f until the file system is no longer busy, for a minute at most. One with open
// files is busy: a process that was killed has its files for some time after its end, and a child
// that is starting has those of this process until it executes its program.
func untilIdle(f func() error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		syscall.ForkLock.RLock()
		err := f()
		syscall.ForkLock.RUnlock()
		if err != syscall.EBUSY || time.Now().After(end) {
			return err
		}
	}
}
