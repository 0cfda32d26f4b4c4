package boltstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gazetteer/store"
)

// killsEnv sets how often TestKill kills; 20 times when it is not set.
const killsEnv = "KILLS"

// TestKill kills a process that writes, at random moments: while it opens the
// store, after a few acknowledgements, after many.
func TestKill(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	dir := filepath.Join(t.TempDir(), "data")
	acknowledged := make([]int, writerCount)
	total := 0
	for range kills {
		total += killOnce(t, dir, []int{0, rand.IntN(20), rand.IntN(300)}[rand.IntN(3)], acknowledged)
		s := openStore(t, dir)
		if s.incarnation != 1 {
			t.Fatalf("a kill led to incarnation %d", s.incarnation)
		}
		for w, n := range acknowledged {
			acknowledged[w] = checkWriter(t, s, w, n)
		}
		checkStore(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d acknowledged writes over %d kills", total, kills)
}

// killOnce runs a writer until that many acknowledgements have come, kills it,
// and notes every one that came until its end.
func killOnce(t *testing.T, dir string, after int, acknowledged []int) int {
	t.Helper()
	cmd := child(t, "write", dir)
	out := lines(t, cmd)
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

// checkWriter looks for everything that a writer was told is there, and returns
// how far the writer came: one more write may be there that was not answered.
func checkWriter(t *testing.T, s *Store, w, acknowledged int) (last int) {
	t.Helper()
	if r, err := s.Get(t.Context(), lastKey(w)); err == nil {
		last, _ = strconv.Atoi(string(r.Value))
	}
	if last < acknowledged || last > acknowledged+1 {
		t.Errorf("writer %d stands at %d, %d were acknowledged", w, last, acknowledged)
	}
	for n := 1; n <= last; n++ {
		r, err := s.Get(t.Context(), entryKey(w, n))
		deleted := n%4 == 3 && n < last
		if deleted != (err != nil) || err == nil && string(r.Value) != entryValue(w, n) {
			t.Errorf("%s: deleted %v, error %v", entryKey(w, n), deleted, err)
		}
	}
	return last
}

// checkStore compares the two buckets record by record and inspects the file.
func checkStore(t *testing.T, s *Store) {
	t.Helper()
	listed, followed := readAll(t, s)
	if len(listed) != len(followed) {
		t.Errorf("the list has %d records, the log %d living ones", len(listed), len(followed))
	}
	for key, seq := range listed {
		if followed[key] != seq {
			t.Errorf("%s has sequence %d in the list, %d in the log", key, seq, followed[key])
		}
	}
	f, err := os.Open(filepath.Join(s.dir, BoltFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if lostMeta, problem, err := inspect(f, info.Size()); lostMeta || problem != "" || err != nil {
		t.Errorf("the file: lost meta page %v, problem %q, error %v", lostMeta, problem, err)
	}
}

// readAll returns the sequences of the living records by way of the list and by
// way of the log.
func readAll(t *testing.T, s *Store) (listed, followed map[string]uint64) {
	t.Helper()
	listed, followed = map[string]uint64{}, map[string]uint64{}
	for r, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		listed[r.Key] = r.Seq
	}
	head := s.Head().Seq
	if head == 0 {
		return listed, followed
	}
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !r.Deleted {
			followed[r.Key] = r.Seq
		}
		if r.Seq == head {
			break
		}
	}
	return listed, followed
}
