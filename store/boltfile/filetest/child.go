package filetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store/boltfile"
)

// Tests that need a second process run this binary again, with its role in the environment.
const (
	roleEnv = "FILETEST_ROLE"
	dirEnv  = "FILETEST_DIR"
	// writesEnv sets the number of writes that write-one-thread makes.
	writesEnv = "FILETEST_WRITES"
)

// Main runs the tests, or the role of a second process for them.
func Main(m *testing.M, s Subject) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "hold":
		holdFile(childHandle(s, nil))
	case "write":
		writeWithoutEnd(childHandle(s, nil))
	case "write-one-thread":
		writeOnOneThread(s)
	case "open":
		if err := childHandle(s, nil).Close(); err != nil {
			failChild(err)
		}
	case "compact":
		compactAndClose(childHandle(s, nil))
	}
}

// childTime bounds the lifetime of a child process, so that a hanging child does not delay the
// other tests.
const childTime = 5 * time.Minute

// startChild prepares a process in one of the roles above.
func startChild(t *testing.T, role, dir string, wrap ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrap, self)
	ctx, cancel := context.WithTimeout(t.Context(), childTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	// A traced process survives strace: they are killed together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func childHandle(s Subject, commit func(*bolt.Tx, *os.File) error) Handle {
	runtime.LockOSThread() // so that strace, which counts for each thread, counts all of Open
	h, err := s.Open(context.Background(), os.Getenv(dirEnv), boltfile.Options{MinFree: -1, Commit: commit})
	if err != nil {
		failChild(err)
	}
	runtime.UnlockOSThread()
	return h
}

func failChild(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

// holdFile holds the file open until its standard input ends.
func holdFile(h Handle) {
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
	h.Close()
}

// compactAndClose compacts the file while a writer runs whose acknowledgements become lines.
func compactAndClose(h Handle) {
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if err := h.Write(context.Background(), Change{Key: besideKey(n), Value: []byte(entryValue(0, n))}); err != nil {
				failChild(err)
			}
			os.Stdout.WriteString(strconv.Itoa(n) + "\n")
		}
	})
	runtime.LockOSThread() // as in childHandle
	err := h.Compact(context.Background())
	runtime.UnlockOSThread()
	close(done)
	writer.Wait()
	if err := errors.Join(err, h.Close()); err != nil {
		failChild(err)
	}
}

func besideKey(n int) string { return fmt.Sprintf("beside/%06d", n) }

const writerCount = 8

func lastKey(writer int) string       { return fmt.Sprintf("last/%d", writer) }
func entryKey(writer, n int) string   { return fmt.Sprintf("entry/%d/%d", writer, n) }
func entryValue(writer, n int) string { return strings.Repeat(fmt.Sprintf("%d/%d ", writer, n), 50) }

// writeWithoutEnd lets writers write until the process is killed, each from its last number; every
// acknowledgement becomes a line "writer number".
func writeWithoutEnd(h Handle) {
	var writers sync.WaitGroup
	for w := range writerCount {
		writers.Go(func() {
			n := 0
			if last, err := h.Get(context.Background(), lastKey(w)); err == nil {
				n, _ = strconv.Atoi(string(last))
			}
			for {
				n++
				changes := []Change{
					{Key: entryKey(w, n), Value: []byte(entryValue(w, n))},
					{Key: lastKey(w), Value: []byte(strconv.Itoa(n))},
				}
				if n%4 == 0 {
					changes = append([]Change{{Key: entryKey(w, n-1), Delete: true}}, changes...)
				}
				if err := h.Write(context.Background(), changes...); err != nil {
					failChild(err)
				}
				os.Stdout.WriteString(fmt.Sprintf("%d %d\n", w, n))
			}
		})
	}
	writers.Wait()
}

// writeOnOneThread writes until a write fails, at most a thousand times or as often as the
// environment says, and prints each result. Commits stay on one thread, so that the n-th sync of it
// is the n-th of all.
func writeOnOneThread(s Subject) {
	h := childHandle(s, func(tx *bolt.Tx, _ *os.File) error {
		runtime.LockOSThread()
		return tx.Commit()
	})
	writes := 1_000
	if n, err := strconv.Atoi(os.Getenv(writesEnv)); err == nil {
		writes = n
	}
	for n := 1; n <= writes; n++ {
		err := h.Write(context.Background(), Change{Key: entryKey(0, n), Value: []byte(entryValue(0, n))})
		if err == nil {
			fmt.Println("acknowledged")
			continue
		}
		fmt.Println("failed:", err)
		select {
		case <-h.File().Failed():
			fmt.Println("and says so")
		default:
		}
		fmt.Println("later:", h.Write(context.Background(), Change{Key: "later"}))
		syscall.Exit(1)
	}
}

// scanOutput reads a child's output.
func scanOutput(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(out)
}
