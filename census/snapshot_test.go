package census

import (
	"bufio"
	"context"
	"encoding/gob"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"gazetteer/census/tally"
	"gazetteer/document/diff"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// TestSnapshotOfOtherRules opens a snapshot whose severities are by earlier rules of the comparison:
// they are found again. Those by the rules of today stay.
func TestSnapshotOfOtherRules(t *testing.T) {
	s := teststore.New(t)
	for _, c := range []struct {
		rules int
		want  string
	}{{diff.RulesVersion, "high"}, {diff.RulesVersion - 1, ""}, {0, ""}} {
		path := filepath.Join(t.TempDir(), "census.snapshot")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		buffered := bufio.NewWriter(file)
		packed, err := zstd.NewWriter(buffered)
		if err != nil {
			t.Fatal(err)
		}
		encoder := gob.NewEncoder(packed)
		l := OpenLive(LiveOptions{Store: s, Snapshot: path})
		for _, part := range []any{
			snapshotHead{Format: snapshotFormat, Cursor: s.Head(), Rules: c.rules, Features: l.names, Standings: l.turnsOf, Hosts: 1},
			&liveHost{Host: "a.example", Known: true, Versions: []liveVersion{{Kind: "ai"}, {Kind: "ai", Severity: "high"}}},
		} {
			if err := encoder.Encode(part); err != nil {
				t.Fatal(err)
			}
		}
		for _, finish := range []func() error{packed.Close, buffered.Flush, file.Close} {
			if err := finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.readSnapshot(); err != nil {
			t.Fatal(err)
		}
		id, known := l.ids["a.example"]
		if !known || len(l.rows[id].Versions) != 2 || l.rows[id].Versions[1].Severity != c.want || !l.uncompared[id] {
			t.Errorf("rules %d: %+v, to compare: %t, want the severity %q", c.rules, l.rows[id], l.uncompared[id], c.want)
		}
	}
}

// stoppingStore ends a context while it lists records.
type stoppingStore struct {
	store.Store
	stop context.CancelFunc
}

func (s stoppingStore) List(ctx context.Context, prefix, after string) iter.Seq2[store.Record, error] {
	s.stop()
	return s.Store.List(ctx, prefix, after)
}

// TestInterruptedComparisonIsMadeAgain stops a follower while it compares two versions: it says nothing
// of their severity, and a later one compares them.
func TestInterruptedComparisonIsMadeAgain(t *testing.T) {
	s := teststore.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := OpenLive(LiveOptions{Store: stoppingStore{s, stop}, Snapshot: filepath.Join(t.TempDir(), "census.snapshot")})
	now := time.Now().UTC()
	id := l.idOf("a.example")
	l.rows[id] = &liveHost{Host: "a.example", Known: true, Versions: []liveVersion{{Kind: "ai", Seen: now.Add(-time.Hour)}, {Kind: "ai", Seen: now}}}
	l.uncompared[id] = true
	if l.comparePending(ctx, now.Add(time.Hour)) {
		t.Error("all are compared, says a comparison that was interrupted")
	}
	if got := l.rows[id].Versions[1].Severity; got != "" || !l.uncompared[id] {
		t.Errorf("severity %q, to compare: %t", got, l.uncompared[id])
	}
}

// waitingStore waits before it lists records.
type waitingStore struct {
	store.Store
	listing, proceed chan struct{}
}

func (s waitingStore) List(ctx context.Context, prefix, after string) iter.Seq2[store.Record, error] {
	s.listing <- struct{}{}
	<-s.proceed
	return s.Store.List(ctx, prefix, after)
}

// TestComparisonsWaitForThoseUnderWay compares versions from two goroutines: the second one finds none
// that is not begun, and returns when the first one has compared the last.
func TestComparisonsWaitForThoseUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := waitingStore{teststore.New(t), make(chan struct{}, 10), make(chan struct{})}
		l := OpenLive(LiveOptions{Store: s, Snapshot: filepath.Join(t.TempDir(), "census.snapshot")})
		now := time.Now().UTC()
		id := l.idOf("a.example")
		l.rows[id] = &liveHost{Host: "a.example", Known: true, Versions: []liveVersion{{Kind: "ai", Seen: now.Add(-time.Hour)}, {Kind: "ai", Seen: now}}}
		l.uncompared[id] = true
		go l.comparePending(t.Context(), now.Add(time.Hour))
		<-s.listing
		second := make(chan bool, 1)
		go func() { second <- l.comparePending(t.Context(), now.Add(time.Hour)) }()
		synctest.Wait()
		if len(second) > 0 {
			t.Error("the second call returned while the first one compared")
		}
		close(s.proceed)
		if done := <-second; !done || l.rows[id].Versions[1].Severity == "" {
			t.Errorf("done %v, severity %q", done, l.rows[id].Versions[1].Severity)
		}
	})
}

// TestSnapshotOmitsUnusedFeatures writes a snapshot after a feature has lost its last host: the snapshot
// omits it, and the hosts have the same features as before.
func TestSnapshotOmitsUnusedFeatures(t *testing.T) {
	o := LiveOptions{Store: teststore.New(t), Snapshot: filepath.Join(t.TempDir(), "census.snapshot")}
	l := OpenLive(o)
	gone, visit, category, verb := Feature{"category", "gone"}, Feature{"robots", "none"}, Feature{"category", "remains"}, Feature{"verb", "LIST"}
	numbers := l.featureNumbers([]Feature{gone, visit, category, verb})
	l.rows = append(l.rows, &liveHost{Host: "a.example", Known: true, Visit: numbers[1:2], Documents: []liveDocument{
		{Kind: "ai", Features: numbers[2:3], Verbs: numbers[3:], VerbCounts: []uint32{1}},
	}})
	l.position.MoveTo(o.Store.Head())
	if err := l.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := l.rows[0]; h.Visit[0] != numbers[1] || h.Documents[0].Features[0] != numbers[2] || h.Documents[0].Verbs[0] != numbers[3] {
		t.Errorf("the host itself has other numbers: %+v", h)
	}
	again := OpenLive(o)
	if _, known := again.features[gone]; known {
		t.Errorf("%v is in the snapshot", gone)
	}
	for _, f := range []Feature{visit, category, verb} {
		if list := again.Hosts(f, 0, 1); list.All != (tally.Count{Hosts: 1, Domains: 1}) || list.Hosts[0] != "a.example" {
			t.Errorf("%v: %v", f, list.Hosts)
		}
	}
}

// TestCompactBeforeFirstReading compacts while the store has not been read: what an earlier process wrote
// is deleted.
func TestCompactBeforeFirstReading(t *testing.T) {
	o := LiveOptions{Store: teststore.New(t), Snapshot: filepath.Join(t.TempDir(), "census.snapshot")}
	if err := os.WriteFile(o.Snapshot, []byte("of another store"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := OpenLive(o)
	for range 2 {
		if err := l.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Dir(o.Snapshot)); err != nil || len(left) > 0 {
			t.Fatalf("%v, %v", left, err)
		}
	}
}
