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
		left, err := v.twinKeys(entry.Source{Host: host, Kind: remains})
		if err != nil {
			return err
		}
		twins, err := v.keyedOperations(entry.Source{Host: host, Kind: yields})
		if err != nil {
			return err
		}
		for _, t := range twins {
			if left[t.key] == 0 {
				continue
			}
			left[t.key]-- // one operation has one twin
			if v.twinHosts == nil {
				v.twinHosts = make(map[string]bool)
			}
			v.twinHosts[host] = true
			s := &v.Segments[t.at.Segment]
			s.Searchable.Remove(t.at.Number)
			s.withAliases.Remove(t.at.Number)
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

// A keyedOperation is an operation and the key that its twin shares.
type keyedOperation struct {
	at  EntryRef
	key string
}

// keyedOperations returns the operations of a document that a search may return and that have a key, in
// the order of the document.
func (v *View) keyedOperations(of entry.Source) ([]keyedOperation, error) {
	var all []keyedOperation
	segments := v.snapshot.Segments()
	for i := range v.Segments {
		s := &v.Segments[i]
		for _, r := range s.runsOf(of) {
			keys, err := s.readColumn(segments[i], entry.TwinField)
			if err != nil {
				return nil, err
			}
			for n := r.start; n < r.operationsEnd; n++ {
				if at := keys.valueOf(n); at > 0 && s.Searchable.Has(n) {
					all = append(all, keyedOperation{EntryRef{Segment: i, Number: n}, keys.values[at]})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b keyedOperation) int { return v.OrdinalOf(a.at) - v.OrdinalOf(b.at) })
	return all, nil
}

// twinKeys returns the number of operations of a document for each key.
func (v *View) twinKeys(of entry.Source) (map[string]int, error) {
	all, err := v.keyedOperations(of)
	keys := make(map[string]int, len(all))
	for _, o := range all {
		keys[o.key]++
	}
	return keys, err
}
