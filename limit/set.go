package limit

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// A Set is the limits of one program. The zero value is ready, and a nil Set makes limits that no
// metric lists.
type Set struct {
	Now func() time.Time // nil: time.Now

	mu       sync.Mutex // guards the following fields
	limiters []*Limiter
	slots    []*Slots
	pools    []*ConnectionPool
}

// ConnectionStats returns the counts of all connection pools of the set together.
func (s *Set) ConnectionStats() ConnectionStats {
	var sum ConnectionStats
	if s == nil {
		return sum
	}
	s.mu.Lock()
	pools := slices.Clone(s.pools)
	s.mu.Unlock()
	for _, p := range pools {
		stats := p.Stats()
		sum.Open += stats.Open
		sum.Idle += stats.Idle
		sum.All += stats.All
		sum.Refused += stats.Refused
		sum.Dropped += stats.Dropped
		sum.Paused += stats.Paused
	}
	return sum
}

// Stats is what one limit has counted since the start.
type Stats struct {
	Name       string // of the limit; several limiters of one name are added up
	Taken      uint64 // what was admitted
	Refused    uint64 // what was refused because of the client or the key
	RefusedAll uint64 // what was refused because of all clients together
	Keys       int    // networks or keys that are counted now
	InUse      int    // slots that are held now
	Waiting    int    // callers that wait for a slot now
}

// Stats returns the counts of every limit of the set, in order of name.
func (s *Set) Stats() []Stats {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	limiters, slots := slices.Clone(s.limiters), slices.Clone(s.slots)
	s.mu.Unlock()
	byName := map[string]Stats{}
	for _, l := range limiters {
		addStats(byName, l.stats())
	}
	for _, sl := range slots {
		addStats(byName, sl.stats())
	}
	out := make([]Stats, 0, len(byName))
	for _, stats := range byName {
		out = append(out, stats)
	}
	slices.SortFunc(out, func(a, b Stats) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func addStats(byName map[string]Stats, more Stats) {
	sum := byName[more.Name]
	sum.Name = more.Name
	sum.Taken += more.Taken
	sum.Refused += more.Refused
	sum.RefusedAll += more.RefusedAll
	sum.Keys += more.Keys
	sum.InUse += more.InUse
	sum.Waiting += more.Waiting
	byName[more.Name] = sum
}

// clock returns the clock of the set.
func (s *Set) clock() func() time.Time {
	if s == nil || s.Now == nil {
		return time.Now
	}
	return s.Now
}
