package crawler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestBlockOnFullDisk blocks hosts while the disk is full: that is possible for hosts whose removal
// frees space, and refused for others.
func TestBlockOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	encode := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, host := range []string{"a.test", "sub.a.test", "b.test"} {
		writes := []store.Write{store.Put(store.HostKey(host), encode(crawler.Host{Name: host}))}
		for i := range 10 {
			digest, seen := fmt.Sprintf("sha256:%064x", i), time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)
			writes = append(writes, store.Put(store.VersionKey(host, "ai", seen, digest), encode(crawler.Version{Kind: document.AI, Digest: digest, Seen: seen})))
		}
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: 1 << 62}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := crawler.New(crawler.Options{Store: s, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Block(t.Context(), crawler.Block{Host: "a.test", Subdomains: true, By: crawler.ByOwner}); err != nil {
		t.Fatal(err)
	}
	if err := c.Block(t.Context(), crawler.Block{Host: "unknown.test", By: crawler.ByOwner}); !errors.Is(err, store.ErrFull) {
		t.Errorf("a block of a host without documents: %v, want ErrFull", err)
	}
	for host, blocked := range map[string]bool{"a.test": true, "sub.a.test": true, "b.test": false, "unknown.test": false} {
		if _, is, err := c.Blocked(t.Context(), host); is != blocked || err != nil {
			t.Errorf("%s is blocked: %v, %v", host, is, err)
		}
	}
	for _, prefix := range []string{store.HostPrefix, store.VersionPrefix} {
		for r, err := range s.List(t.Context(), prefix, "") {
			if name := store.SplitKey(r.Key)[1]; err != nil || name != "b.test" {
				t.Errorf("%s is stored, %v", r.Key, err)
			}
		}
	}
}
