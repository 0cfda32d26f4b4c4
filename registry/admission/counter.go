package admission

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gazetteer/store"
)

// minCleanupInterval is the least time between two deletions of expired records.
const minCleanupInterval = time.Minute

// A recordCounter limits the number of records of a kind, in all and by name. It is exact for all
// writers that use one registry.
type recordCounter struct {
	mu      sync.Mutex // guards the following fields
	loaded  bool       // whether of and total were read from the store
	total   int
	byName  map[string]int
	cleaned time.Time // when what has run out was last looked for to make room
}

// startCleanup reports whether a cleanup may start now, and notes that it does.
func (t *recordCounter) startCleanup(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.cleaned) < minCleanupInterval {
		return false
	}
	t.cleaned = now
	return true
}

// loadCounts counts the records in the store once. The function of returns the names under which a
// record is counted, none for a record that is not counted.
func (t *recordCounter) loadCounts(ctx context.Context, s store.Store, prefix string, of func(store.Record) ([]string, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded {
		return nil
	}
	t.total, t.byName = 0, map[string]int{}
	for record, err := range s.List(ctx, prefix, "") {
		if store.Damaged(record, err) {
			t.total++
			continue
		}
		if err != nil {
			return fmt.Errorf("count what is below %s: %w", prefix, err)
		}
		names, err := of(record)
		if err != nil {
			return err
		}
		t.addCounts(1, names)
	}
	t.loaded = true
	return nil
}

// recordCount returns how many records are counted.
func (t *recordCounter) recordCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// countOf returns how many records are counted under a name.
func (t *recordCounter) countOf(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name]
}

// largestName returns the name with a prefix under which most records are counted, and their number.
func (t *recordCounter) largestName(prefix string) (largest string, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, n := range t.byName {
		if strings.HasPrefix(name, prefix) && (n > most || n == most && name < largest) {
			largest, most = name, n
		}
	}
	return largest, most
}

func (t *recordCounter) addCounts(n int, names []string) {
	if len(names) == 0 {
		return
	}
	t.total += n
	for _, name := range names {
		if t.byName[name] += n; t.byName[name] <= 0 {
			delete(t.byName, name)
		}
	}
}

// reserveSlot counts one more record. If the limit for all records or the limit of a name is
// reached, it counts nothing and returns "all" or that name.
func (t *recordCounter) reserveSlot(most int, names []string, limits []int) (full string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range names {
		if t.byName[name] >= limits[i] {
			return name
		}
	}
	if t.total >= most {
		return "all"
	}
	t.addCounts(1, names)
	return ""
}

func (t *recordCounter) releaseSlot(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded {
		t.addCounts(-1, names)
	}
}
