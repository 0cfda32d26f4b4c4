package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// killsEnv sets the number of kills in TestKill; the default is 20.
const killsEnv = "KILLS"

const writerCount = 8

// writeUntilKilled follows a store while writers write to it; each writer continues from its last
// number. It prints a line "wrote writer number" for every acknowledged write, and a line "signed
// base64" for every published checkpoint.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	s, err := boltstore.Open(ctx, filepath.Join(dir, "store"), boltstore.Options{MinFree: -1})
	if err != nil {
		childFails(err)
	}
	key, err := checkpoint.OpenKey(filepath.Join(dir, "key"), origin)
	if err != nil {
		childFails(err)
	}
	log, err := Open(ctx, Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key, Copy: filepath.Join(dir, "copy")})
	if err != nil {
		childFails(err)
	}
	go func() { childFails(log.Run(ctx)) }()
	for w := range writerCount {
		go writeEvents(s, w)
	}
	for seq := uint64(0); ; {
		if err := log.WaitFor(ctx, seq+1); err != nil {
			childFails(err)
		}
		signed, err := log.Checkpoint()
		if err != nil {
			childFails(err)
		}
		seq = log.Cursor().Seq
		os.Stdout.WriteString("signed " + base64.StdEncoding.EncodeToString(signed) + "\n")
	}
}

// writeEvents registers an agent and lets things happen to it; each fourth takes
// the one before back, as an erasure does.
func writeEvents(s store.Store, w int) {
	n := 0
	for range s.List(context.Background(), fmt.Sprintf("count/%d", w), "") {
		r, err := s.Get(context.Background(), fmt.Sprintf("count/%d", w))
		if err != nil {
			childFails(err)
		}
		n, _ = strconv.Atoi(string(r.Value))
	}
	for {
		n++
		writes := []store.Write{event(w, n), store.Put(fmt.Sprintf("count/%d", w), []byte(strconv.Itoa(n)))}
		if n%4 == 0 {
			writes = append(writes, store.Delete(eventKey(w, n-1)))
		}
		if _, err := s.Apply(context.Background(), writes...); err != nil {
			childFails(err)
		}
		os.Stdout.WriteString(fmt.Sprintf("wrote %d %d\n", w, n))
	}
}

// TestKill kills the process at random moments: while it opens the log, after a few
// acknowledgements, after many. Every acknowledged write is one leaf, and the tree contains every
// published checkpoint.
func TestKill(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	h := &fixture{t: t, dir: t.TempDir()}
	wrote := make([]int, writerCount)
	var signed [][]byte
	for range kills {
		signed = append(signed, h.killOnce([]int{0, rand.IntN(20), rand.IntN(500)}[rand.IntN(3)], wrote)...)
		h.open(Options{})
		if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
			t.Fatal(err)
		}
		for w := range wrote {
			wrote[w] = h.checkWriter(w, wrote[w])
		}
		h.checkNoDoubles()
		signed = append(signed, h.checkpoint())
		h.shut()
	}
	if r := h.check(signed...); r.Older != len(signed) {
		t.Errorf("verified: %+v", r)
	} else {
		t.Logf("%d leaves, %d of them erased, contain all of %d checkpoints over %d kills", r.N, r.Erased, r.Older, kills)
	}
}

// killOnce runs the child until it has written a number of lines, kills it, and records all its
// output.
func (h *fixture) killOnce(after int, wrote []int) (signed [][]byte) {
	h.t.Helper()
	cmd, out := child(h.t, "write", h.dir)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	if after == 0 {
		cmd.Process.Kill()
	}
	for n := 1; out.Scan(); n++ {
		what, rest, _ := strings.Cut(out.Text(), " ")
		switch what {
		case "wrote":
			var w, number int
			if _, err := fmt.Sscanf(rest, "%d %d", &w, &number); err != nil {
				h.t.Fatalf("the child says %q", out.Text())
			}
			wrote[w] = number
		case "signed":
			checkpoint, err := base64.StdEncoding.DecodeString(rest)
			if err != nil {
				h.t.Fatalf("the child says %q", out.Text())
			}
			signed = append(signed, checkpoint)
		default:
			h.t.Fatalf("the child says %q", out.Text())
		}
		if n == after {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		h.t.Fatalf("the child ended by itself: %v", err)
	}
	return signed
}

// checkWriter looks for a leaf of every acknowledged write of a writer, and returns the number of
// leaves: there may be one more write, which was not acknowledged.
func (h *fixture) checkWriter(w, acknowledged int) (last int) {
	h.t.Helper()
	if r, err := h.store.Get(h.t.Context(), fmt.Sprintf("count/%d", w)); err == nil {
		last, _ = strconv.Atoi(string(r.Value))
	}
	if last < acknowledged || last > acknowledged+1 {
		h.t.Errorf("writer %d stands at %d, %d were acknowledged", w, last, acknowledged)
	}
	leaves := map[string][]LogEntry{} // newest first
	for e, err := range h.log.Find(h.t.Context(), fmt.Sprintf("agent/AIR-%04d", w)) {
		if err != nil {
			h.t.Fatal(err)
		}
		leaves[e.Key] = append(leaves[e.Key], e)
	}
	for n := 1; n <= last; n++ {
		got := leaves[eventKey(w, n)]
		delete(leaves, eventKey(w, n))
		deleted := n%4 == 3 && n < last
		switch {
		case len(got) == 0:
			h.t.Errorf("%s is not in the log", eventKey(w, n))
		case deleted != got[0].Deleted:
			h.t.Errorf("%s: deleted %v, the log says %v", eventKey(w, n), deleted, got[0].Deleted)
		case deleted && len(got) == 2 && !got[1].Erased:
			h.t.Errorf("%s is deleted and still has its content", eventKey(w, n))
		case !deleted && !bytes.Contains(got[0].Leaf, append([]byte(`"record":`), event(w, n).Value...)):
			h.t.Errorf("%s has the leaf %s", eventKey(w, n), got[0].Leaf)
		}
		most := 1
		if deleted {
			most = 2
		}
		if len(got) > most {
			h.t.Errorf("%s is in the log %d times", eventKey(w, n), len(got))
		}
	}
	for key := range leaves {
		h.t.Errorf("the log has %s, which was never written", key)
	}
	return last
}

// checkNoDoubles checks that no record became two leaves.
func (h *fixture) checkNoDoubles() {
	h.t.Helper()
	seen := map[string]int64{}
	for i := range h.log.Head().N {
		e, err := h.log.Entry(h.t.Context(), i)
		if err != nil {
			h.t.Fatal(err)
		}
		name := fmt.Sprintf("%s %v", e.Key, e.Deleted)
		if before, twice := seen[name]; twice {
			h.t.Errorf("leaves %d and %d are both %s", before, i, name)
		}
		seen[name] = i
	}
}
