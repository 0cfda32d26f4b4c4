package index

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
)

// bleve's segments never change: an update writes a new segment and marks
// entries of older ones as deleted, and merging replaces segments by new ones
// with new numbers. So whatever is derived from a segment stays true as long as
// it lives.

// segmentEntries says which entries lie in a segment, deleted ones included.
type segmentEntries struct {
	runs    []run    // by host, kind and print
	order   []uint32 // numbers of the entries, in order of their ids
	runOf   []uint32 // by number: the index of its run
	ordinal []uint16 // by number: its place in its document
}

// A run is one version of one document in one segment.
type run struct {
	source
	print    string
	from, to uint32 // its entries are order[from:to]
}

// readEntries reads the ids of a segment, which its dictionary holds sorted.
func readEntries(s *scorch.SegmentSnapshot) (*segmentEntries, error) {
	n := int(s.FullSize())
	if n < 0 || n > math.MaxInt32 {
		return nil, damaged("segment %d says it has %d entries", s.Id(), n)
	}
	e := &segmentEntries{
		order:   make([]uint32, 0, n),
		runOf:   make([]uint32, n),
		ordinal: make([]uint16, n),
	}
	dictionary, err := s.Segment().Dictionary(idField)
	if err != nil {
		return nil, damaged("ids of segment %d: %v", s.Id(), err)
	}
	terms := dictionary.AutomatonIterator(nil, nil, nil)
	for {
		term, err := terms.Next()
		if err != nil {
			return nil, damaged("ids of segment %d: %v", s.Id(), err)
		}
		if term == nil {
			break
		}
		postings, err := dictionary.PostingsList([]byte(term.Term), nil, nil)
		if err != nil {
			return nil, damaged("id in segment %d: %v", s.Id(), err)
		}
		at, err := postings.Iterator(false, false, false, nil).Next()
		if err != nil || at == nil || at.Number() >= uint64(n) {
			return nil, damaged("id %q of segment %d leads nowhere", term.Term, s.Id())
		}
		if err := e.add(term.Term, uint32(at.Number())); err != nil {
			return nil, err
		}
	}
	if len(e.order) != n {
		return nil, damaged("segment %d has %d entries and %d ids", s.Id(), n, len(e.order))
	}
	return e, nil
}

// add appends one entry; ids come in order.
func (e *segmentEntries) add(id string, number uint32) error {
	s, print, ordinal, ok := splitID(id)
	if !ok {
		return damaged("no id of ours: %q", id)
	}
	last := len(e.runs) - 1
	if last < 0 || e.runs[last].source != s || e.runs[last].print != print {
		at := uint32(len(e.order))
		e.runs = append(e.runs, run{source: s, print: print, from: at, to: at})
		last++
	}
	e.order = append(e.order, number)
	e.runs[last].to++
	e.runOf[number] = uint32(last)
	e.ordinal[number] = uint16(ordinal)
	return nil
}

// runsOf returns the versions of one document in the segment.
func (e *segmentEntries) runsOf(s source) []run {
	from, _ := slices.BinarySearchFunc(e.runs, s, func(r run, s source) int { return compareSources(r.source, s) })
	to := from
	for to < len(e.runs) && e.runs[to].source == s {
		to++
	}
	return e.runs[from:to]
}

// hostRuns returns the runs of one host.
func (e *segmentEntries) hostRuns(host string) []run {
	from, _ := slices.BinarySearchFunc(e.runs, host, func(r run, host string) int { return strings.Compare(r.host, host) })
	to := from
	for to < len(e.runs) && e.runs[to].host == host {
		to++
	}
	return e.runs[from:to]
}

func compareSources(a, b source) int {
	if c := strings.Compare(a.host, b.host); c != 0 {
		return c
	}
	return strings.Compare(string(a.kind), string(b.kind))
}

// A posting is one entry in which a term occurs, and how much the term says
// about it in that field: see termWeight.
type posting struct {
	number uint32
	weight float32
}

// postingBytes is the size of a posting in memory.
const postingBytes = 8

// readPostings decodes the postings of a term. weigh is nil for a keyword field.
func readPostings(s *scorch.SegmentSnapshot, field, term string, weigh func(count, length int) float32) ([]posting, error) {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return nil, damaged("field %s of segment %d: %v", field, s.Id(), err)
	}
	found, err := dictionary.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return nil, damaged("term of field %s in segment %d: %v", field, s.Id(), err)
	}
	n := uint64(s.FullSize())
	if found.Count() > n {
		return nil, damaged("a term of field %s occurs in %d of the %d entries of segment %d", field, found.Count(), n, s.Id())
	}
	postings := make([]posting, 0, found.Count())
	it := found.Iterator(weigh != nil, weigh != nil, false, nil)
	for {
		p, err := it.Next()
		if err != nil {
			return nil, damaged("postings of field %s in segment %d: %v", field, s.Id(), err)
		}
		if p == nil {
			return postings, nil
		}
		if p.Number() >= n {
			return nil, damaged("postings of field %s in segment %d name entry %d of %d", field, s.Id(), p.Number(), n)
		}
		out := posting{number: uint32(p.Number())}
		if weigh != nil {
			// bleve's norm is 1/√length; the length comes back exactly.
			out.weight = weigh(int(p.Frequency()), int(math.Round(1/(p.Norm()*p.Norm()))))
		}
		postings = append(postings, out)
	}
}

// A bitset is a set of the numbers of a segment's entries.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }

// and keeps what is in other too.
func (b bitset) and(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// without removes what is in other.
func (b bitset) without(other bitset) {
	for i := range b {
		b[i] &^= other[i]
	}
}

// count returns how many numbers are in b.
func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// fullBitset has all numbers below n.
func fullBitset(n int) bitset {
	b := newBitset(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
	return b
}

// fromRoaring copies a bitmap of bleve, which may be nil.
func fromRoaring(r *roaring.Bitmap, n int) bitset {
	b := newBitset(n)
	if r == nil {
		return b
	}
	r.Iterate(func(i uint32) bool {
		if int(i) < n {
			b.add(i)
		}
		return true
	})
	return b
}

// A damageError says that what lies in the index cannot be what was written.
// The index is rebuilt when one is met.
type damageError struct{ what string }

func (e *damageError) Error() string { return "the index is damaged: " + e.what }

func damaged(format string, args ...any) error {
	return &damageError{fmt.Sprintf(format, args...)}
}

// supersededBy returns the kind whose operations stand in for those of kind k of
// the same host.
func supersededBy(k document.Kind) (document.Kind, bool) {
	if k == document.AGISSummary {
		// The summary repeats verb and path of the full document's operations,
		// without intent or parameters.
		return document.AGIS, true
	}
	return "", false
}
