package view

import (
	"math"
	"slices"
	"strings"

	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/tokens"
	"gazetteer/internal/psl"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// bleve's segments never change: an update writes a new segment and marks entries of older ones as
// deleted, and merging replaces segments by new ones with new numbers. So all data derived from a
// segment stays valid.

// segmentEntries lists the entries of a segment, including deleted ones. They are numbered here in
// the order of their ids, not in bleve's order, which is arbitrary: so the entries of one document
// are neighbors in all data by number, and the data of a service is spread over its operations in
// one pass.
type segmentEntries struct {
	Runs    []DocumentRun // by host, kind and print
	numbers []uint32      // by bleve's number: ours
	RunOf   []uint32      // by number: the index of its run
	ordinal []uint16      // by number: its place among the entries of its kind in its document

	Operations, Services, classes bitset.Set
	NonOperations                 bitset.Set // services and data classes

	mapped *mappedFile
}

// A DocumentRun is one version of one document in one segment: its operations, its service and its
// data classes. A damaged segment may lack some of them.
type DocumentRun struct {
	entry.Source
	Fingerprint               string
	start, operationsEnd, end uint32 // the operations have the numbers from start up to operationsEnd, the other entries those up to end
	hostHash                  uint32
	domain                    string // the registered domain of the host
}

// hasHostOf reports whether both runs are documents of one host.
func (r *DocumentRun) hasHostOf(o *DocumentRun) bool {
	return r == o || r.hostHash == o.hostHash && r.Host == o.Host
}

// readEntries reads the ids of a segment, which its dictionary holds sorted.
func readEntries(s *scorch.SegmentSnapshot) (*segmentEntries, error) {
	n := int(s.FullSize())
	if n < 0 || n > math.MaxInt32 {
		return nil, damage.Errorf("segment %d says it has %d entries", s.Id(), n)
	}
	e := &segmentEntries{
		numbers:    make([]uint32, n),
		RunOf:      make([]uint32, 0, n),
		ordinal:    make([]uint16, 0, n),
		Operations: bitset.New(n),
		Services:   bitset.New(n),
		classes:    bitset.New(n),
	}
	err := eachTerm(s, entry.IDField, func(dictionary segment.TermDictionary, id string) error {
		postings, err := dictionary.PostingsList([]byte(id), nil, nil)
		if err != nil {
			return damage.Errorf("id in segment %d: %v", s.Id(), err)
		}
		at, err := postings.Iterator(false, false, false, nil).Next()
		if err != nil || at == nil || at.Number() >= uint64(n) {
			return damage.Errorf("id %q of segment %d leads nowhere", id, s.Id())
		}
		if len(e.RunOf) == n {
			return damage.Errorf("segment %d has more ids than entries", s.Id())
		}
		e.numbers[at.Number()] = uint32(len(e.RunOf))
		return e.addEntry(id)
	})
	if err != nil {
		return nil, err
	}
	if len(e.RunOf) != n {
		return nil, damage.Errorf("segment %d has %d entries and %d ids", s.Id(), n, len(e.RunOf))
	}
	e.joinNonOperations()
	return e, nil
}

func (e *segmentEntries) joinNonOperations() {
	e.NonOperations = slices.Clone(e.Services)
	e.NonOperations.AddAll(e.classes)
}

// addEntry appends one entry; ids come in order.
func (e *segmentEntries) addEntry(id string) error {
	s, print, of, ordinal, ok := entry.SplitID(id)
	if !ok {
		return damage.Errorf("no id of ours: %q", id)
	}
	last, number := len(e.Runs)-1, uint32(len(e.RunOf))
	if last < 0 || e.Runs[last].Source != s || e.Runs[last].Fingerprint != print {
		e.Runs = append(e.Runs, DocumentRun{Source: s, Fingerprint: print, start: number, operationsEnd: number, end: number, hostHash: tokens.HashText(s.Host), domain: psl.Registered(s.Host)})
		last++
	}
	e.Runs[last].end++
	switch of {
	case entry.KindOperation:
		e.Runs[last].operationsEnd++
		e.Operations.Add(number)
	case entry.KindService:
		e.Services.Add(number)
	case entry.KindClass:
		e.classes.Add(number)
	}
	e.RunOf = append(e.RunOf, uint32(last))
	e.ordinal = append(e.ordinal, uint16(ordinal))
	return nil
}

// OperationsOf returns the numbers of the operations of a run: from from up to, but not including,
// to.
func (e *segmentEntries) OperationsOf(r uint32) (from, to uint32) {
	return e.Runs[r].start, e.Runs[r].operationsEnd
}

// runsOf returns the versions of one document in the segment.
func (e *segmentEntries) runsOf(s entry.Source) []DocumentRun {
	from, _ := slices.BinarySearchFunc(e.Runs, s, func(r DocumentRun, s entry.Source) int { return compareSources(r.Source, s) })
	to := from
	for to < len(e.Runs) && e.Runs[to].Source == s {
		to++
	}
	return e.Runs[from:to]
}

// hostRuns returns the runs of one host.
func (e *segmentEntries) hostRuns(host string) []DocumentRun {
	from, _ := slices.BinarySearchFunc(e.Runs, host, func(r DocumentRun, host string) int { return strings.Compare(r.Host, host) })
	to := from
	for to < len(e.Runs) && e.Runs[to].Host == host {
		to++
	}
	return e.Runs[from:to]
}

func compareSources(a, b entry.Source) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 {
		return c
	}
	return strings.Compare(string(a.Kind), string(b.Kind))
}

// EachOperation calls f with an operation's number, or with those of a service's
// operations.
func (e *segmentEntries) EachOperation(number uint32, f func(uint32)) {
	if !e.Services.Has(number) {
		f(number)
		return
	}
	for n, to := e.OperationsOf(e.RunOf[number]); n < to; n++ {
		f(n)
	}
}

// translateBitmap returns the entries in a bitmap of bleve, which may be nil.
func (e *segmentEntries) translateBitmap(r *roaring.Bitmap) bitset.Set {
	b := bitset.New(len(e.numbers))
	if r == nil {
		return b
	}
	r.Iterate(func(i uint32) bool {
		if int(i) < len(e.numbers) {
			b.Add(e.numbers[i])
		}
		return true
	})
	return b
}
