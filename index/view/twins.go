package view

import (
	"maps"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/index/entry"
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
