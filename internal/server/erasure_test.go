package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	zap "github.com/blevesearch/zapx/v17"

	"gazetteer/api/operator"
	"gazetteer/crawler"
	"gazetteer/internal/config"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/teststore"
	"gazetteer/registry/audit"
	"gazetteer/store"
	"gazetteer/store/boltfile/filetest"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// serviceWith returns a site that publishes one document with a name and an operation.
func serviceWith(name, operation string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/ai" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"aiendpoint": "1.0", "service": {"name": %q, "description": "Sells %s things.", "category": ["%s"]}, "capabilities": [
			{"id": "list_%s", "description": "List the %s", "endpoint": "/api/list", "method": "GET"}]}`, name, operation, operation, operation, operation)
	})
}

// segmentsWith returns the files of the index that contain a word, whole or stemmed, in entries that
// may be deleted. The words of a segment are compressed, so that filesWith does not find them.
func segmentsWith(t *testing.T, dir, word string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "index", "store", "*.zap"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		s, err := (&zap.ZapPlugin{}).Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return true // a merge removed it
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return !slices.ContainsFunc(s.Fields(), func(field string) bool {
			words, err := s.Dictionary(field)
			if err != nil {
				t.Fatal(err)
			}
			for stem := word; len(stem) >= len(word)-3; stem = stem[:len(stem)-1] {
				found, err := words.Contains([]byte(stem))
				if err != nil {
					t.Fatal(err)
				}
				if found {
					return true
				}
			}
			return false
		})
	})
}

// TestOptedOutHostsLeaveNoContent checks that no file contains a word of the documents of hosts that
// opted out, after the next compaction: neither the store nor a segment of the index, whether the
// index has one segment, several or no other document.
func TestOptedOutHostsLeaveNoContent(t *testing.T) {
	t.Parallel()
	n, err := fakenet.Open(fakenet.Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	hosts := map[string]string{"first.test": "quicksilverware", "second.test": "vanishingwares", "third.test": "ephemeralgoods"}
	var names []string
	for host, word := range hosts {
		n.Handle(host, serviceWith("Shop of "+word, word))
		names = append(names, host)
	}
	slices.Sort(names)
	dir := filepath.Join(filetest.FastDir(t), "data")
	s := startFlipped(dir, Environment{Dial: n.Dial, Roots: n.Roots(), DNS: n}, true)
	if s.err != nil {
		t.Fatal(s.err)
	}
	h := s.server
	if err := h.Crawler.Crawl(t.Context(), names, func(crawler.Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
	wait := func() {
		t.Helper()
		seq := h.Store.Head().Seq
		if err := errors.Join(h.Index.WaitFor(t.Context(), seq), h.census.WaitFor(t.Context(), seq)); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	if err := h.census.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, host := range names {
		if found, _ := teststore.FilesWith(t, dir, hosts[host]); !slices.Contains(found, "store.bolt") || !slices.Contains(found, "census.snapshot") {
			t.Fatalf("before, %s is in %v", hosts[host], found)
		}
		if len(segmentsWith(t, dir, hosts[host])) == 0 {
			t.Fatalf("before, no segment contains %s", host)
		}
		if err := h.Crawler.Block(t.Context(), crawler.Block{Host: host, By: crawler.ByOwner}); err != nil {
			t.Fatal(err)
		}
		if !h.holdsErased(t.Context()) {
			t.Errorf("%s: the next compaction does not copy the store", host)
		}
		if _, err := h.Store.Compact(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if left, err := h.compactViews(t.Context()); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		wait()
		for _, other := range names[i+1:] {
			if answer := s.ask("/api/v1/search?q=" + hosts[other]); !bytes.Contains([]byte(answer), []byte(other)) {
				t.Errorf("%s is not found any more: %.300s", other, answer)
			}
		}
		if found, _ := teststore.FilesWith(t, dir, hosts[host]); len(found) > 0 {
			t.Errorf("%s is still in %v", hosts[host], found)
			for r, err := range h.Store.List(t.Context(), "", "") {
				if bytes.Contains(r.Value, []byte(hosts[host])) {
					t.Error(r.Key, err)
				}
			}
		}
		for _, left := range segmentsWith(t, dir, hosts[host]) {
			t.Errorf("the segment %s with entries of %s is still there", left, host)
		}
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	for _, word := range hosts {
		if found, _ := teststore.FilesWith(t, dir, word); len(found) > 0 {
			t.Errorf("after the stop %s is in %v", word, found)
		}
	}
}

// TestErasureDuringCompaction checks that, because the copy of the store may contain data that is
// erased while it is made, the next compaction makes another copy.
func TestErasureDuringCompaction(t *testing.T) {
	ended := time.Date(2026, 11, 23, 3, 0, 10, 0, time.UTC)
	compacted := boltstore.Upkeep{Last: ended, LastTook: 10 * time.Second}
	for _, c := range []struct {
		name   string
		erased time.Time
		upkeep boltstore.Upkeep
		want   bool
	}{
		{"before it began", ended.Add(-11 * time.Second), compacted, false},
		{"while it copied", ended.Add(-5 * time.Second), compacted, true},
		{"after it ended", ended.Add(time.Second), compacted, true},
		{"no compaction since the start", ended.Add(-time.Hour), boltstore.Upkeep{}, true},
	} {
		if got := isErasedSince(c.erased.UnixMilli(), c.upkeep); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCompactionLeavesPartsThatDoNotFollow compacts while the index does not follow the store and the
// log is halted: the compaction ends, names the index with the reason, and cleans the other parts.
func TestCompactionLeavesPartsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(filetest.FastDir(t), "data")
	c := config.Default()
	c.DataDir, c.Listen, c.Registry.CheckpointCopy, c.Crawler.Enabled, c.MinFreeBytes = dir, "", noCheckpointCopy, false, -1
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	// The index is not run, so that it does not follow.
	ctx, stop := context.WithCancel(t.Context())
	var followers sync.WaitGroup
	for _, run := range []func(context.Context) error{h.audit.Run, h.changes.Run, h.census.Run, h.standing.Run} {
		followers.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	defer followers.Wait()
	defer stop()
	const key = "agent/AIR-0000-0000-0000/000001"
	seq, err := h.Store.Apply(t.Context(), store.Put(key, []byte(`{"name":"quicksilvername"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.audit.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	h.audit.Halt(audit.CauseWitness, errors.New("a witness says otherwise"))
	if seq, err = h.Store.Apply(t.Context(), store.Delete(key)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.audit.WaitErased(t.Context(), seq), h.changes.WaitFor(t.Context(), seq), h.standing.WaitFor(t.Context(), seq)); err != nil {
		t.Fatal(err)
	}

	parts := h.listCompactParts()
	compacted := map[string]bool{}
	for i, p := range parts {
		parts[i].compact = func(ctx context.Context) error {
			compacted[p.name] = true
			if p.compact == nil {
				return nil
			}
			return p.compact(ctx)
		}
	}
	var awaited []operator.Uncompacted
	asked := false
	parts[0].failure = func() error {
		if !asked { // the compaction gives up
			asked = true
			// Another compaction no longer waits for the same part.
			if err := h.awaitPart(ctx, compactPart{name: "the index", follower: new(follow.Position)}, 0, time.Second); err != nil {
				t.Error(err)
			}
			awaited = h.listAwaited()
		}
		return errors.New("there is no room")
	}
	left, err := h.compactParts(t.Context(), parts, time.Second)
	if err != nil || len(left) != 1 || left[0].Part != "the index" || !strings.Contains(left[0].Reason, "has not followed the store for 1s") || !strings.HasSuffix(left[0].Reason, ": there is no room") {
		t.Errorf("left: %q, %v", left, err)
	}
	if !slices.Contains(awaited, operator.Uncompacted{Part: "the index", Reason: "there is no room"}) {
		t.Errorf("while it waits: %q", awaited)
	}
	if len(h.listAwaited()) > 0 {
		t.Errorf("afterwards it waits for %q", h.listAwaited())
	}
	if compacted["the index"] || !compacted["the transparency log"] || !compacted["the feed of changes"] || !compacted["the states of hosts"] || !compacted["the census"] || !compacted["the mail"] {
		t.Errorf("compacted: %v", compacted)
	}
	if found, _ := teststore.FilesWith(t, filepath.Join(dir, "log"), "quicksilvername"); len(found) > 0 {
		t.Errorf("the log has the content in %q", found)
	}
}
