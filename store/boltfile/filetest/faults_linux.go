package filetest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"gazetteer/internal/need"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// runLinux runs the tests that need the system to fail.
func runLinux(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"full disk", testFullDisk},
		{"full disk at the beginning", testFullDiskAtTheBeginning},
		{"full disk during a rebuild", testFullDiskDuringRebuild},
		{"read-only disk", testReadOnlyDisk},
		{"unwritable directory", testUnwritableDirectory},
		{"failing sync", testFailingSync},
		{"failing write", testFailingWrite},
		{"power loss", testPowerLoss},
		{"kill while beginning", testKillWhileBeginning},
		{"kill while upgrading", testKillWhileUpgrading},
		{"kill while rebuilding", testKillWhileRebuilding},
		{"failing calls while rebuilding", testFailingCallsWhileRebuilding},
	} {
		if s.KeepsFile && strings.Contains(c.name, "rebuild") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of them wait for other processes
			c.test(t, s)
		})
	}
}

func freeSpace(t testing.TB, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

// testFullDisk fills a disk of 6 MiB: first with a floor, which keeps room for deletions, then
// without one, until the system refuses.
func testFullDisk(t *testing.T, subject Subject) {
	disk := need.Tmpfs(t, "size=6m")
	dir := filepath.Join(disk, "data")
	value := make([]byte, 50_000)
	n := 0
	fill := func(s Handle) error {
		for {
			if err := s.Write(t.Context(), Change{Key: fmt.Sprintf("k/%04d", n), Value: value}); err != nil {
				return err
			}
			n++
		}
	}
	s, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(s); !errors.Is(err, store.ErrFull) {
		t.Fatalf("above the floor: %v", err)
	}
	if left := freeSpace(t, dir); left < 1<<19 {
		t.Errorf("%d bytes are left", left)
	}
	if err := s.Write(t.Context(), Change{Key: "k/0000", Delete: true}); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = subject.openHandle(t, dir)
	for range 20 { // refused again and again, it stays whole
		if err := fill(s); !errors.Is(err, store.ErrFull) {
			t.Fatalf("without a floor: %v", err)
		}
	}
	if err := s.File().Err(); err != nil {
		t.Errorf("a full disk made the file fail: %v", err)
	}
	if _, err := s.Get(t.Context(), "k/0001"); err != nil {
		t.Errorf("reading: %v", err)
	}
	verifyHandle(t, subject, s)
	for i := 1; i < 20; i++ {
		if err := s.Write(t.Context(), Change{Key: fmt.Sprintf("k/%04d", i), Delete: true}); err != nil {
			t.Errorf("deleting from a full disk: %v", err)
		}
	}
	if err := s.Write(t.Context(), Change{Key: "again", Value: value}); err != nil {
		t.Errorf("writing when there is room again: %v", err)
	}
	verifyHandle(t, subject, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = subject.openHandle(t, dir)
	defer s.Close()
	verifyHandle(t, subject, s)
	wantIncarnation(t, s, 1)
}

func testFullDiskAtTheBeginning(t *testing.T, subject Subject) {
	disk := need.Tmpfs(t, "size=16k")
	dir := filepath.Join(disk, "data")
	if _, err := subject.Open(t.Context(), dir, boltfile.Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want that of the system", err)
	}
	if err := need.Mount(disk, syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	subject.openHandle(t, dir).Close()
}

func testReadOnlyDisk(t *testing.T, subject Subject) {
	disk := need.Tmpfs(t, "size=1m")
	dir := filepath.Join(disk, "data")
	subject.openHandle(t, dir).Close()
	if err := need.Mount(disk, syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, filepath.Join(disk, "new")} {
		if _, err := subject.Open(t.Context(), dir, boltfile.Options{}); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v, want that of the system and the directory", err)
		}
	}
}

// asNobody runs f without the rights of root: on Linux they belong to a thread. Without root it
// just runs f.
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

func testUnwritableDirectory(t *testing.T, subject Subject) {
	base := t.TempDir()
	closed := filepath.Join(base, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	begun := subject.closedDir(t, 1)
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
				_, err := subject.Open(t.Context(), dir, boltfile.Options{})
				if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want one line with the permission and the directory", err)
				}
			})
		})
	}
}

// straceArgs returns the arguments that run a program under strace, or skips the test.
func straceArgs(t *testing.T, inject string) []string {
	t.Helper()
	path := need.Program(t, "strace")
	if err := exec.Command(path, "-o", os.DevNull, "true").Run(); err != nil {
		need.Missing(t, "strace may not trace here: %v", err)
	}
	return []string{path, "-f", "-qq", "-o", os.DevNull, "-e", "inject=" + inject}
}

// testFailingSync has the system refuse the first and the second sync of the first and the third
// commit. If the first sync of a commit fails, nothing of it remains; if the second fails, all of
// it. Neither is acknowledged, nor is any later one.
func testFailingSync(t *testing.T, subject Subject) {
	for sync := 1; sync <= 6; sync++ {
		if sync == 3 || sync == 4 {
			continue
		}
		t.Run(fmt.Sprintf("sync %d", sync), func(t *testing.T) {
			dir := subject.closedDir(t, 0)
			cmd := startChild(t, "write-one-thread", dir, straceArgs(t, fmt.Sprintf("fdatasync:error=EIO:when=%d", sync))...)
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
			s := subject.openHandle(t, dir)
			defer s.Close()
			present := acknowledged + 1 - sync%2
			for n := 1; n <= acknowledged+1; n++ {
				if _, err := s.Get(t.Context(), entryKey(0, n)); (err == nil) != (n <= present) {
					t.Errorf("write %d of %d: %v", n, acknowledged+1, err)
				}
			}
			wantIncarnation(t, s, 1)
			verifyHandle(t, subject, s)
		})
	}
}

// testFailingWrite has the system refuse the pages of a commit with an error that is not about
// space. It refuses every write from the fifth on: a single one might be of the zeroes at the end,
// which a commit does not need.
func testFailingWrite(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 0)
	cmd := startChild(t, "write-one-thread", dir, straceArgs(t, "pwrite64:error=EIO:when=5+")...)
	out, _ := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "input/output error\nand says so\n") {
		t.Fatalf("the writer says\n%s", out)
	}
	s := subject.openHandle(t, dir)
	defer s.Close()
	n := strings.Count(string(out), "acknowledged\n")
	for i := range n {
		if _, err := s.Get(t.Context(), entryKey(0, i+1)); err != nil {
			t.Error(err)
		}
	}
	verifyHandle(t, subject, s)
}

// Lines of strace that change the file, sync it, or acknowledge a write.
var (
	tracedWrite    = regexp.MustCompile(`pwrite64\(\d+<([^>]*)>, "((?:\\x[0-9a-f]{2})*)", \d+, (\d+)`)
	tracedTruncate = regexp.MustCompile(`ftruncate\(\d+<([^>]*)>, (\d+)`)
	tracedSync     = regexp.MustCompile(`(?:fdatasync|fsync)(?:\(\d+<[^>]*>| resumed>)\)\s+= 0`)
	tracedAnswer   = regexp.MustCompile(`write\(1<[^>]*>, "\\x61\\x63\\x6b`) // "ack…"
)

// testPowerLoss records every write, truncation and sync of a process that writes, and replays them
// up to each sync: later writes are lost, or written in part and out of order. Every such file must
// open and have everything that was acknowledged by then.
func testPowerLoss(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 0)
	image := mustRead(t, filepath.Join(dir, subject.Name))
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	strace := straceArgs(t, "none")[0]
	cmd := startChild(t, "write-one-thread", dir, strace, "-f", "-y", "-xx", "-s", "1000000", "-o", trace, "-e", "trace=pwrite64,ftruncate,fdatasync,fsync,write")
	writes := 5
	if os.Getenv(killsEnv) != "" { // the long form
		writes = 100
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", writesEnv, writes))
	if out, err := cmd.Output(); err != nil || strings.Count(string(out), "acknowledged\n") != writes {
		t.Fatalf("the writer: %v\n%s", err, out)
	}
	var unsynced []func()
	acknowledged, losses := 0, 0
	for line := range strings.Lines(string(mustRead(t, trace))) {
		switch {
		case tracedAnswer.MatchString(line):
			acknowledged++
		case tracedSync.MatchString(line):
			for range 2 { // all of it is lost, then some of it
				lost, written := slices.Clone(image), acknowledged
				losses++
				t.Run(fmt.Sprint("loss ", losses), func(t *testing.T) {
					t.Parallel()
					checkAfterPowerLoss(t, subject, before, lost, written)
				})
				for _, write := range unsynced {
					if rand.IntN(2) == 0 {
						write()
					}
				}
			}
			for _, write := range unsynced {
				write()
			}
			unsynced = nil
		}
		if m := tracedWrite.FindStringSubmatch(line); m != nil && filepath.Base(string(unescape(t, m[1]))) == subject.Name {
			unsynced = append(unsynced, func() { image = writeAt(t, image, m[2], m[3]) })
		}
		if m := tracedTruncate.FindStringSubmatch(line); m != nil && filepath.Base(string(unescape(t, m[1]))) == subject.Name {
			unsynced = append(unsynced, func() { image = truncateTo(t, image, m[2]) })
		}
	}
	if acknowledged != writes || losses < 2*writes {
		t.Errorf("the trace has %d acknowledgements, and the power was lost %d times", acknowledged, losses)
	}
}

// checkAfterPowerLoss opens a file in the state after a loss of power.
func checkAfterPowerLoss(t *testing.T, subject Subject, before string, image []byte, acknowledged int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, subject.Name), image, 0o600); err != nil {
		t.Fatal(err)
	}
	s := subject.openHandle(t, dir)
	defer s.Close()
	for n := 1; n <= acknowledged; n++ {
		if value, err := s.Get(t.Context(), entryKey(0, n)); err != nil || string(value) != entryValue(0, n) {
			t.Errorf("of %d acknowledged writes, %d is lost: %v", acknowledged, n, err)
		}
	}
	wantIncarnation(t, s, 1)
	verifyHandle(t, subject, s)
}

// writeAt writes what strace shows of a write into an image of a file.
func writeAt(t *testing.T, image []byte, escaped, offset string) []byte {
	t.Helper()
	data := unescape(t, escaped)
	at, err := strconv.Atoi(offset)
	if err != nil {
		t.Fatal(err)
	}
	if end := at + len(data); end > len(image) {
		image = append(image, make([]byte, end-len(image))...)
	}
	copy(image[at:], data)
	return image
}

// unescape reads a text of strace, which writes every byte as \x and two digits.
func unescape(t *testing.T, escaped string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(escaped, `\x`, ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// truncateTo sets the size of an image of a file.
func truncateTo(t *testing.T, image []byte, size string) []byte {
	t.Helper()
	n, err := strconv.Atoi(size)
	if err != nil {
		t.Fatal(err)
	}
	if n > len(image) {
		return append(image, make([]byte, n-len(image))...)
	}
	return image[:n]
}

// testKillWhileBeginning kills the process at each system call with which it creates a store. The
// next process must create the store or continue with it.
func testKillWhileBeginning(t *testing.T, subject Subject) {
	var kills atomic.Int64
	var calls sync.WaitGroup
	trace := straceArgs(t, "none")
	trace = trace[:len(trace)-1]
	for _, call := range []string{"fsync", "fdatasync", "pwrite64", "renameat", "ftruncate"} {
		calls.Go(func() {
			for n := 1; killWhileOpening(t, subject, filepath.Join(t.TempDir(), "data"), trace, call, n); n++ {
				kills.Add(1)
			}
		})
	}
	calls.Wait()
	if n := kills.Load(); n < 10 {
		t.Errorf("only %d system calls were met", n)
	}
}

// testKillWhileUpgrading kills the process at each system call with which it upgrades a directory of
// an older format. The next process must find every record and complete the upgrade.
func testKillWhileUpgrading(t *testing.T, subject Subject) {
	trace := straceArgs(t, "none")
	trace = trace[:len(trace)-1]
	today := fmt.Appendf(nil, `"format":%d`, subject.Format)
	older := func(b []byte) []byte { return bytes.Replace(b, today, []byte(`"format":1`), 1) }
	kills := 0
	for _, call := range []string{"fsync", "fdatasync", "pwrite64", "write", "renameat", "ftruncate"} {
		for n := 1; ; n++ {
			dir := subject.closedDir(t, 3)
			format := filepath.Join(dir, boltfile.FormatFile)
			editFile(t, format, older)
			if !killWhileOpening(t, subject, dir, trace, call, n) {
				break
			}
			kills++
			s := subject.openHandle(t, dir)
			if _, err := s.Get(t.Context(), "k/0002"); err != nil {
				t.Errorf("killed at %s %d: %v", call, n, err)
			}
			verifyHandle(t, subject, s)
			closeHandle(t, s)
			if text := mustRead(t, format); !bytes.Contains(text, today) {
				t.Errorf("killed at %s %d: FORMAT holds %s", call, n, text)
			}
		}
	}
	if kills < 3 {
		t.Errorf("only %d system calls were met", kills)
	}
}

// killWhileOpening kills a process that opens a file at the n-th system call of a kind, and checks
// that the file can be used. It reports false if there are fewer such calls.
func killWhileOpening(t *testing.T, subject Subject, dir string, trace []string, call string, n int) bool {
	inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)
	cmd := startChild(t, "open", dir, append(slices.Clone(trace), inject)...)
	if err := cmd.Run(); err == nil {
		return false
	}
	if cmd.ProcessState.Exited() { // strace ends as the traced process does
		t.Errorf("not killed at %s %d: %v", call, n, cmd.ProcessState)
		return false
	}
	s, err := subject.Open(t.Context(), dir, boltfile.Options{MinFree: -1})
	if err != nil {
		t.Errorf("killed at %s %d: %v", call, n, err)
		return true
	}
	defer s.Close()
	if err := s.Write(t.Context(), Change{Key: entryKey(0, 1), Value: []byte(entryValue(0, 1))}); err != nil {
		t.Errorf("killed at %s %d: %v", call, n, err)
	}
	wantIncarnation(t, s, 1)
	return true
}
