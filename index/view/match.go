package view

import (
	"context"
	"math/bits"
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/document"
	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/tokens"
)

// RequireStems removes from masks the operations that lack one of the stems.
func (v *View) RequireStems(masks []bitset.Set, stems []string) error {
	for _, stem := range stems {
		found, err := v.FindPostings(stem)
		if err != nil {
			return err
		}
		for i, p := range found {
			have := bitset.New(v.Segments[i].N)
			for number := range p.Numbers() {
				v.Segments[i].EachOperation(number, have.Add)
			}
			masks[i].Intersect(have)
		}
	}
	return nil
}

// ListInOrder returns the entries from from up to, but not including, to of those in masks, ordered
// by host, kind and ordinal, and the number of all.
func (v *View) ListInOrder(masks []bitset.Set, from, to int) (page []RankedEntry, total int) {
	for i := range masks {
		total += masks[i].Count()
	}
	next := make([]int, len(v.Segments)) // in each segment
	for at := 0; at < min(to, total); at++ {
		first := -1
		var least EntryRef
		for i := range v.Segments {
			s := &v.Segments[i]
			for next[i] < s.N && !masks[i].Has(uint32(next[i])) {
				next[i]++
			}
			if next[i] == s.N {
				continue
			}
			if p := (EntryRef{i, uint32(next[i])}); first < 0 || v.entryLess(p, least) {
				first, least = i, p
			}
		}
		next[first]++
		if at >= from {
			page = append(page, RankedEntry{EntryRef: least})
		}
	}
	return page, total
}

// ApplyFilters returns for each segment the entries that pass a query's filters.
func (v *View) ApplyFilters(q query.Query) ([]bitset.Set, error) {
	masks := make([]bitset.Set, len(v.Segments))
	narrowed := q.Narrowed()
	labels := v.Directory.hostLabels()
	for i, s := range v.snapshot.Segments() {
		vs := &v.Segments[i]
		mask := vs.Searchable
		if q.Aliases {
			mask = vs.withAliases
		}
		if narrowed {
			mask = slices.Clone(mask) // and the callers of this function change it, too
		}
		for _, f := range query.Filters() {
			values := *f.Values(&q)
			if len(values) == 0 || f.Field == "" {
				continue
			}
			any := bitset.New(vs.N)
			for _, value := range values {
				found, err := v.Directory.operationsWithValue(s, vs.SegmentData, f.Field, value)
				if err != nil {
					return nil, err
				}
				any.AddAll(found)
				if err := v.addShared(any, i, f.Field, value); err != nil {
					return nil, err
				}
			}
			mask.Intersect(any)
		}
		if len(q.Hosts) > 0 {
			mask.Intersect(vs.ofHosts(q.Hosts))
		}
		if len(q.Is) > 0 {
			mask.Intersect(vs.withStates(q.Is, labels))
		}
		if q.Safe {
			unsafe, err := v.Directory.operationsWithValue(s, vs.SegmentData, query.EffectField, string(document.Irreversible))
			if err != nil {
				return nil, err
			}
			mask.RemoveAll(unsafe)
		}
		masks[i] = mask
	}
	return masks, nil
}

// OperationsOfNamed returns the operations in masks whose service has a name, in the form of
// [entry.ServiceName]; nil if there is none.
func (v *View) OperationsOfNamed(name string, masks []bitset.Set) ([]bitset.Set, error) {
	if name == "" {
		return nil, nil
	}
	var named []bitset.Set
	for i, s := range v.snapshot.Segments() {
		known, err := v.Segments[i].names.hasName(s, name)
		if err != nil {
			return nil, err
		}
		if !known {
			continue // most requests name no service: nothing is cached for them
		}
		found, err := v.Directory.operationsWithValue(s, v.Segments[i].SegmentData, entry.ServiceNameField, name)
		if err != nil {
			return nil, err
		}
		found = slices.Clone(found)
		if found.Intersect(masks[i]); found.Count() == 0 {
			continue
		}
		if named == nil {
			named = v.emptySets()
		}
		named[i] = found
	}
	return named, nil
}

// OperationsOfHost returns the operations in masks of a host; nil if there is none.
func (v *View) OperationsOfHost(host string, masks []bitset.Set) []bitset.Set {
	named, some := v.emptySets(), false
	for i := range v.Segments {
		found := v.Segments[i].ofHosts([]string{host})
		found.Intersect(masks[i])
		named[i], some = found, some || found.Count() > 0
	}
	if !some {
		return nil
	}
	return named
}

// serviceNames has the hashes of the names of a segment's services, in order. It is filled on first use
// and stays valid because a segment never changes.
type serviceNames struct {
	mu     sync.Mutex // guards the following fields
	filled bool
	hashes []uint32
}

// hasName reports whether a service of the segment has a name. Most requests are none, and a lookup in
// the dictionary of the segment would read it from its beginning.
func (n *serviceNames) hasName(s *scorch.SegmentSnapshot, name string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.filled {
		err := eachTerm(s, entry.ServiceNameField, func(_ segment.TermDictionary, term string) error {
			n.hashes = append(n.hashes, tokens.HashText(term))
			return nil
		})
		if err != nil {
			n.hashes = nil
			return false, err
		}
		slices.Sort(n.hashes)
		n.filled = true
	}
	if _, found := slices.BinarySearch(n.hashes, tokens.HashText(name)); !found {
		return false, nil
	}
	return hasTerm(s, entry.ServiceNameField, name)
}

// emptySets returns an empty set for each segment.
func (v *View) emptySets() []bitset.Set {
	sets := make([]bitset.Set, len(v.Segments))
	for i := range sets {
		sets[i] = bitset.New(v.Segments[i].N)
	}
	return sets
}

// ofHosts returns the entries of some hosts. Ids begin with the host, so this needs no field.
func (s *Segment) ofHosts(hosts []string) bitset.Set {
	b := bitset.New(s.N)
	for _, host := range hosts {
		for _, r := range s.hostRuns(host) {
			b.AddRange(r.start, r.operationsEnd)
		}
	}
	return b
}

// A MatchSet contains the unordered matches of a query.
type MatchSet struct {
	Masks   []bitset.Set // the operations that pass the filters, for each segment
	Words   *wordScores  // nil when no words were asked for
	Release func()       // must be called when the scores are no longer needed
}

// appendOperations appends the operations of a segment that match, in order.
func (f *MatchSet) appendOperations(segment int, to []uint32) []uint32 {
	for at, mask := range f.Masks[segment] {
		if f.Words != nil {
			mask &= f.Words.Matched[segment][at]
		}
		for ; mask != 0; mask &= mask - 1 {
			to = append(to, uint32(at*64+bits.TrailingZeros64(mask)))
		}
	}
	return to
}

// MatchWords finds the matches of words among the operations in masks.
func (v *View) MatchWords(ctx context.Context, words []query.Word, masks []bitset.Set) (*MatchSet, error) {
	f := &MatchSet{Masks: masks, Release: func() {}}
	if len(words) == 0 {
		return f, nil
	}
	f.Words, f.Release = v.Directory.NewWordScores(v)
	if err := v.ScoreWords(ctx, query.WeighStems(words), f.Words); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// clausePlaces is the number of places that are reserved for each clause.
const clausePlaces = 2

// MergeLists takes entries from the first n lists in turn, then from the others. It takes each
// entry once and, if grouped, at most perService of each service. The score of an entry is at most
// that of the one before it.
func (v *View) MergeLists(lists [][]RankedEntry, n, limit int, grouped bool) []RankedEntry {
	merged := make([]RankedEntry, 0, limit)
	seen, hosts := make(map[EntryRef]bool), make(map[string]int)
	add := func(r RankedEntry) {
		host := v.RunOf(r.EntryRef).Host
		if len(merged) == limit || seen[r.EntryRef] || grouped && hosts[host] == perService {
			return
		}
		seen[r.EntryRef] = true
		hosts[host]++
		if len(merged) > 0 {
			r.Score = min(r.Score, merged[len(merged)-1].Score)
		}
		merged = append(merged, r)
	}
	whole := lists[n]
	if len(whole) > 0 {
		add(whole[0])
	}
	for i := range clausePlaces {
		for _, list := range lists[:n] {
			if i < len(list) {
				add(list[i])
			}
		}
	}
	for _, r := range whole {
		add(r)
	}
	return merged
}
