package filetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// killsEnv sets the number of kills in TestKill; 20 by default.
const killsEnv = "KILLS"

// testKill kills a process that writes, at random moments: while it opens the store, after a few
// acknowledgements, after many.
func testKill(t *testing.T, subject Subject) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	dir := filepath.Join(t.TempDir(), "data")
	acknowledged := make([]int, writerCount)
	total := 0
	for range kills {
		total += killOnce(t, subject, dir, []int{0, rand.IntN(20), rand.IntN(300)}[rand.IntN(3)], acknowledged)
		s := subject.openHandle(t, dir)
		wantIncarnation(t, s, 1)
		for w, n := range acknowledged {
			acknowledged[w] = checkWriter(t, s, w, n)
		}
		verifyHandle(t, subject, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d acknowledged writes over %d kills", total, kills)
}

// killOnce runs a writer until it has printed that many acknowledgements, kills it, and records all
// of its acknowledgements.
func killOnce(t *testing.T, subject Subject, dir string, after int, acknowledged []int) int {
	t.Helper()
	cmd := startChild(t, "write", dir)
	out := scanOutput(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after == 0 {
		cmd.Process.Kill()
	}
	n := 0
	for out.Scan() {
		var w, number int
		if _, err := fmt.Sscanf(out.Text(), "%d %d", &w, &number); err != nil {
			t.Fatalf("child says %q", out.Text())
		}
		acknowledged[w] = number
		if n++; n == after {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return n
}

// checkWriter checks that every acknowledged write is stored, and returns the number of the last
// write: there may be one more than acknowledged.
func checkWriter(t *testing.T, s Handle, w, acknowledged int) (last int) {
	t.Helper()
	if value, err := s.Get(t.Context(), lastKey(w)); err == nil {
		last, _ = strconv.Atoi(string(value))
	}
	if last < acknowledged || last > acknowledged+1 {
		t.Errorf("writer %d stands at %d, %d were acknowledged", w, last, acknowledged)
	}
	for n := 1; n <= last; n++ {
		value, err := s.Get(t.Context(), entryKey(w, n))
		deleted := n%4 == 3 && n < last
		if deleted != (err != nil) || err == nil && string(value) != entryValue(w, n) {
			t.Errorf("%s: deleted %v, error %v", entryKey(w, n), deleted, err)
		}
	}
	return last
}
