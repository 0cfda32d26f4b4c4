package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/query"
)

// A host may publish one operation in two documents, one of each format. They are one operation
// here: the one of the less detailed format is omitted in searches and in counts.

// removeTwins removes the operations from the searchable ones whose twin in another document of the
// same host is searchable.
func (v *View) removeTwins() error {
	yields, remains := entry.TwinKinds()
	for _, host := range v.hostsOfBoth(yields, remains) {
		_, remaining, err := v.twinKeys(entry.Source{Host: host, Kind: remains})
		if err != nil {
			return err
		}
		twins, yielding, err := v.twinKeys(entry.Source{Host: host, Kind: yields})
		if err != nil {
			return err
		}
		pairs := entry.PairTwins(yielding, remaining)
		if len(pairs) == 0 {
			continue
		}
		if v.twinHosts == nil {
			v.twinHosts = make(map[string]bool)
		}
		v.twinHosts[host] = true
		for n := range pairs {
			v.Segments[twins[n].Segment].Searchable.Remove(twins[n].Number)
			v.Segments[twins[n].Segment].withAliases.Remove(twins[n].Number)
		}
	}
	return nil
}

// removeAnnounced removes the rows of summaries from the searchable operations that only announce
// an operation of an AI Discovery document of the same host: one with the same verb. A row contains
// no more information. The full AGIS document replaces the whole summary, see [supersedingKind].
func (v *View) removeAnnounced() error {
	segments := v.snapshot.Segments()
	for _, host := range v.hostsOfBoth(document.AGISSummary, document.AI) {
		described := make(map[string]bool)
		err := v.eachVerb(entry.Source{Host: host, Kind: document.AI}, segments, func(_ EntryRef, verb string) { described[verb] = true })
		if err != nil {
			return err
		}
		err = v.eachVerb(entry.Source{Host: host, Kind: document.AGISSummary}, segments, func(at EntryRef, verb string) {
			if verb != "" && described[verb] {
				v.Segments[at.Segment].Searchable.Remove(at.Number)
				v.Segments[at.Segment].withAliases.Remove(at.Number)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachVerb calls f with each operation of a document that a search may return, and its verb.
func (v *View) eachVerb(of entry.Source, segments []*scorch.SegmentSnapshot, f func(at EntryRef, verb string)) error {
	for i := range v.Segments {
		s := &v.Segments[i]
		for _, r := range s.runsOf(of) {
			verbs, err := s.readColumn(segments[i], query.VerbField)
			if err != nil {
				return err
			}
			for n := r.start; n < r.operationsEnd; n++ {
				if s.Searchable.Has(n) {
					f(EntryRef{Segment: i, Number: n}, verbs.values[verbs.valueOf(n)])
				}
			}
		}
	}
	return nil
}

// HasTwins reports whether operations of a host were omitted because of their twins in another
// document of it.
func (v *View) HasTwins(host string) bool { return v.twinHosts[host] }

// hostsOfBoth returns the hosts that have live operations of two kinds of document, in order.
func (v *View) hostsOfBoth(a, b document.Kind) []string {
	hosts := make(map[string]int)
	for i := range v.Segments {
		s := &v.Segments[i]
		for _, r := range s.Runs {
			switch {
			case r.Kind != a && r.Kind != b || !s.Searchable.HasAny(r.start, r.operationsEnd):
			case r.Kind == a:
				hosts[r.Host] |= 1
			default:
				hosts[r.Host] |= 2
			}
		}
	}
	maps.DeleteFunc(hosts, func(_ string, kinds int) bool { return kinds != 3 })
	return slices.SortedFunc(maps.Keys(hosts), strings.Compare)
}

// twinKeys returns the operations of a document that a search may return, and their keys, in the order
// of the document.
func (v *View) twinKeys(of entry.Source) ([]EntryRef, []entry.TwinKeys, error) {
	var all []EntryRef
	keyOf := make(map[EntryRef]entry.TwinKeys)
	segments := v.snapshot.Segments()
	for i := range v.Segments {
		s := &v.Segments[i]
		for _, r := range s.runsOf(of) {
			keys, err := s.readColumn(segments[i], entry.TwinField)
			if err != nil {
				return nil, nil, err
			}
			for n := r.start; n < r.operationsEnd; n++ {
				if !s.Searchable.Has(n) {
					continue
				}
				at := EntryRef{Segment: i, Number: n}
				all = append(all, at)
				keyOf[at] = entry.ParseTwinKeys(keys.values[keys.valueOf(n)])
			}
		}
	}
	slices.SortStableFunc(all, func(a, b EntryRef) int { return v.OrdinalOf(a) - v.OrdinalOf(b) })
	inOrder := make([]entry.TwinKeys, len(all))
	for i, at := range all {
		inOrder[i] = keyOf[at]
	}
	return all, inOrder, nil
}
