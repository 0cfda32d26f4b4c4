package boltstore

import (
	"bufio"
	"context"
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

	"gazetteer/store"
)

// Tests that need a second process run this binary again, with what it should
// do in the environment.
const (
	roleEnv = "BOLTSTORE_TEST_ROLE"
	dirEnv  = "BOLTSTORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "hold":
		hold(childStore())
	case "write":
		write(childStore())
	case "write-one-thread":
		writeOnOneThread(childStore())
	case "open":
		if err := childStore().Close(); err != nil {
			childFails(err)
		}
	}
}

// childTime is how long a child may live: one that does not end by itself shall
// not hold up all the tests.
const childTime = 5 * time.Minute

// child prepares a process in one of the roles above.
func child(t *testing.T, role, dir string, wrap ...string) *exec.Cmd {
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
	// Whoever is traced lives on when strace is killed: they are ended together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func childStore() *Store {
	runtime.LockOSThread() // so that strace, which counts for each thread, counts all of Open
	s, err := Open(context.Background(), os.Getenv(dirEnv), Options{MinFree: -1})
	if err != nil {
		childFails(err)
	}
	runtime.UnlockOSThread()
	return s
}

func childFails(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

// hold keeps the store until its standard input ends.
func hold(s *Store) {
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
	s.Close()
}

const writerCount = 8

func lastKey(writer int) string       { return fmt.Sprintf("last/%d", writer) }
func entryKey(writer, n int) string   { return fmt.Sprintf("entry/%d/%d", writer, n) }
func entryValue(writer, n int) string { return strings.Repeat(fmt.Sprintf("%d/%d ", writer, n), 50) }

// write lets writers write for ever, each from where it was; every
// acknowledgement becomes a line "writer number".
func write(s *Store) {
	var writers sync.WaitGroup
	for w := range writerCount {
		writers.Go(func() {
			n, seq := 0, uint64(0)
			if r, err := s.Get(context.Background(), lastKey(w)); err == nil {
				n, _ = strconv.Atoi(string(r.Value))
				seq = r.Seq
			}
			for {
				n++
				writes := []store.Write{
					store.PutIf(entryKey(w, n), []byte(entryValue(w, n)), 0),
					store.PutIf(lastKey(w), []byte(strconv.Itoa(n)), seq),
				}
				if n%4 == 0 {
					writes = append([]store.Write{store.Delete(entryKey(w, n-1))}, writes...)
				}
				var err error
				if seq, err = s.Apply(context.Background(), writes...); err != nil {
					childFails(err)
				}
				os.Stdout.WriteString(fmt.Sprintf("%d %d\n", w, n))
			}
		})
	}
	writers.Wait()
}

// writeOnOneThread writes until a write fails, a thousand times at most, and says
// how each went. Commits stay on one thread, so that the n-th sync of it is the n-th
// of all.
func writeOnOneThread(s *Store) {
	s.commit = func(tx *bolt.Tx) error {
		runtime.LockOSThread()
		return tx.Commit()
	}
	for n := 1; n <= 1_000; n++ {
		_, err := s.Apply(context.Background(), store.Put(entryKey(0, n), []byte(entryValue(0, n))))
		if err == nil {
			fmt.Println("acknowledged")
			continue
		}
		fmt.Println("failed:", err)
		select {
		case <-s.Failed():
			fmt.Println("and says so")
		default:
		}
		_, err = s.Apply(context.Background(), store.Put("later", nil))
		fmt.Println("later:", err)
		syscall.Exit(1)
	}
}

// lines reads a child's output.
func lines(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(out)
}
