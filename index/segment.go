package index

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/document"
)

// bleve's segments never change: an update writes a new segment and marks
// entries of older ones as deleted, and merging replaces segments by new ones
// with new numbers. So whatever is derived from a segment stays true as long as
// it lives.

// segmentEntries says which entries lie in a segment, deleted ones included. They
// are numbered here in the order of their ids, not as in bleve, which scatters what
// it is given: so the entries of one document lie beside each other in all that is
// kept by number, and what is said of its service is spread in one go.
type segmentEntries struct {
	runs    []documentRun // by host, kind and print
	numbers []uint32      // by bleve's number: ours
	runOf   []uint32      // by number: the index of its run
	ordinal []uint16      // by number: its place among its sort in its document

	operations, services, classes bitset
	nonOperations                 bitset // services and data classes
}

// A run is one version of one document in one segment: its operations, its
// service and its data classes, of which a damaged segment may lack some.
type documentRun struct {
	source
	fingerprint               string
	start, operationsEnd, end uint32 // the numbers of operations are from from to to, the others' from there to end
}

// readEntries reads the ids of a segment, which its dictionary holds sorted.
func readEntries(s *scorch.SegmentSnapshot) (*segmentEntries, error) {
	n := int(s.FullSize())
	if n < 0 || n > math.MaxInt32 {
		return nil, newDamageError("segment %d says it has %d entries", s.Id(), n)
	}
	e := &segmentEntries{
		numbers:    make([]uint32, n),
		runOf:      make([]uint32, 0, n),
		ordinal:    make([]uint16, 0, n),
		operations: newBitset(n),
		services:   newBitset(n),
		classes:    newBitset(n),
	}
	err := eachTerm(s, idField, func(dictionary segment.TermDictionary, id string) error {
		postings, err := dictionary.PostingsList([]byte(id), nil, nil)
		if err != nil {
			return newDamageError("id in segment %d: %v", s.Id(), err)
		}
		at, err := postings.Iterator(false, false, false, nil).Next()
		if err != nil || at == nil || at.Number() >= uint64(n) {
			return newDamageError("id %q of segment %d leads nowhere", id, s.Id())
		}
		if len(e.runOf) == n {
			return newDamageError("segment %d has more ids than entries", s.Id())
		}
		e.numbers[at.Number()] = uint32(len(e.runOf))
		return e.addEntry(id)
	})
	if err != nil {
		return nil, err
	}
	if len(e.runOf) != n {
		return nil, newDamageError("segment %d has %d entries and %d ids", s.Id(), n, len(e.runOf))
	}
	e.nonOperations = slices.Clone(e.services)
	e.nonOperations.addAll(e.classes)
	return e, nil
}

// eachTerm calls f with every term of a field, in order.
func eachTerm(s *scorch.SegmentSnapshot, field string, f func(dictionary segment.TermDictionary, term string) error) error {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return newDamageError("field %s of segment %d: %v", field, s.Id(), err)
	}
	terms := dictionary.AutomatonIterator(nil, nil, nil)
	for {
		term, err := terms.Next()
		if err != nil {
			return newDamageError("field %s of segment %d: %v", field, s.Id(), err)
		}
		if term == nil {
			return nil
		}
		if err := f(dictionary, term.Term); err != nil {
			return err
		}
	}
}

// addEntry appends one entry; ids come in order.
func (e *segmentEntries) addEntry(id string) error {
	s, print, of, ordinal, ok := splitID(id)
	if !ok {
		return newDamageError("no id of ours: %q", id)
	}
	last, number := len(e.runs)-1, uint32(len(e.runOf))
	if last < 0 || e.runs[last].source != s || e.runs[last].fingerprint != print {
		e.runs = append(e.runs, documentRun{source: s, fingerprint: print, start: number, operationsEnd: number, end: number})
		last++
	}
	e.runs[last].end++
	switch of {
	case kindOperation:
		e.runs[last].operationsEnd++
		e.operations.add(number)
	case kindService:
		e.services.add(number)
	case kindClass:
		e.classes.add(number)
	}
	e.runOf = append(e.runOf, uint32(last))
	e.ordinal = append(e.ordinal, uint16(ordinal))
	return nil
}

// operationsOf returns the numbers of the operations of a run: from, and up to to.
func (e *segmentEntries) operationsOf(r uint32) (from, to uint32) {
	return e.runs[r].start, e.runs[r].operationsEnd
}

// runsOf returns the versions of one document in the segment.
func (e *segmentEntries) runsOf(s source) []documentRun {
	from, _ := slices.BinarySearchFunc(e.runs, s, func(r documentRun, s source) int { return compareSources(r.source, s) })
	to := from
	for to < len(e.runs) && e.runs[to].source == s {
		to++
	}
	return e.runs[from:to]
}

// hostRuns returns the runs of one host.
func (e *segmentEntries) hostRuns(host string) []documentRun {
	from, _ := slices.BinarySearchFunc(e.runs, host, func(r documentRun, host string) int { return strings.Compare(r.host, host) })
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

// eachPosting calls f with the postings of a term, which come in bleve's order.
func (e *segmentEntries) eachPosting(s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string, counted bool, f func(number uint32, count, length int)) error {
	found, err := dictionary.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return newDamageError("a term in segment %d: %v", s.Id(), err)
	}
	n := uint64(len(e.numbers))
	if found.Count() > n {
		return newDamageError("a term occurs in %d of the %d entries of segment %d", found.Count(), n, s.Id())
	}
	it := found.Iterator(counted, counted, false, nil)
	for {
		p, err := it.Next()
		if err != nil {
			return newDamageError("postings in segment %d: %v", s.Id(), err)
		}
		if p == nil {
			return nil
		}
		if p.Number() >= n {
			return newDamageError("postings in segment %d name entry %d of %d", s.Id(), p.Number(), n)
		}
		count, length := 1, 1
		if counted {
			// bleve's norm is 1/√length; the length comes back exactly.
			count, length = int(p.Frequency()), int(math.Round(1/(p.Norm()*p.Norm())))
		}
		f(e.numbers[p.Number()], count, length)
	}
}

// A posting is one entry in which a term occurs, and how much the term says
// about it: see termWeight.
type posting struct {
	number uint32
	weight float32
}

// A servicePosting is that of a service, which is spread over its operations.
type servicePosting struct {
	posting
	from, to uint32 // the numbers of the operations
}

// The sizes of postings in memory.
const (
	postingBytes        = 8
	servicePostingBytes = 16
)

// termPostings is where a stem occurs in a segment.
type termPostings struct {
	all      []posting        // of entries of every sort, each once
	services []servicePosting // those of services again
}

func (p *termPostings) memorySize() int {
	return postingBytes*cap(p.all) + servicePostingBytes*cap(p.services)
}

// readTerm decodes the postings of a stem: those of all its forms in all fields,
// added up for each entry.
func readTerm(s *scorch.SegmentSnapshot, e *segmentEntries, forms []string) (*termPostings, error) {
	n := int(s.FullSize())
	sums := make([]float32, n)
	met := newBitset(n)
	type occurrence struct{ count, length int }
	for f := range numFields {
		dictionary, err := s.Segment().Dictionary(f.String())
		if err != nil {
			return nil, newDamageError("field %s of segment %d: %v", f, s.Id(), err)
		}
		add := func(number uint32, o occurrence) {
			met.add(number)
			sums[number] += termWeight(f, e.services.has(number), o.count, o.length)
		}
		var several map[uint32]occurrence // forms of one stem count together
		if len(forms) > 1 {
			several = make(map[uint32]occurrence)
		}
		for _, form := range forms {
			err := e.eachPosting(s, dictionary, form, true, func(number uint32, count, length int) {
				if several == nil {
					add(number, occurrence{count, length})
					return
				}
				several[number] = occurrence{several[number].count + count, length}
			})
			if err != nil {
				return nil, err
			}
		}
		for number, o := range several {
			add(number, o)
		}
	}
	p := &termPostings{all: make([]posting, 0, met.count())}
	met.forEach(func(number uint32) {
		at := posting{number, sums[number]}
		p.all = append(p.all, at)
		if e.services.has(number) {
			from, to := e.operationsOf(e.runOf[number])
			p.services = append(p.services, servicePosting{at, from, to})
		}
	})
	return p, nil
}

// readKeyword decodes which operations have a value of a keyword field,
// themselves or through their service.
func readKeyword(s *scorch.SegmentSnapshot, e *segmentEntries, field, value string) (bitset, error) {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return nil, newDamageError("field %s of segment %d: %v", field, s.Id(), err)
	}
	found := newBitset(len(e.numbers))
	err = e.eachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
		e.eachOperation(number, found.add)
	})
	return found, err
}

// eachOperation calls f with an operation's number, or with those of a service's
// operations.
func (e *segmentEntries) eachOperation(number uint32, f func(uint32)) {
	if !e.services.has(number) {
		f(number)
		return
	}
	for n, to := e.operationsOf(e.runOf[number]); n < to; n++ {
		f(n)
	}
}

// A bitset is a set of the numbers of a segment's entries.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, bitsetLen(n)) }

// bitsetLen is how long a set of n numbers is.
func bitsetLen(n int) int { return (n + 63) / 64 }

func (b bitset) add(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i uint32)   { b[i/64] &^= 1 << (i % 64) }
func (b bitset) has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }

// addRange adds the numbers from from up to to.
func (b bitset) addRange(from, to uint32) {
	if from >= to {
		return
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		b[first] |= head & tail
		return
	}
	b[first] |= head
	for i := first + 1; i < last; i++ {
		b[i] = ^uint64(0)
	}
	b[last] |= tail
}

// hasAny reports whether one of the numbers from from up to to is in b.
func (b bitset) hasAny(from, to uint32) bool {
	for i := from; i < to; i++ {
		if b.has(i) {
			return true
		}
	}
	return false
}

// intersect keeps what is in other too.
func (b bitset) intersect(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// addAll adds what is in other.
func (b bitset) addAll(other bitset) {
	for i := range b {
		b[i] |= other[i]
	}
}

// removeAll removes what is in other.
func (b bitset) removeAll(other bitset) {
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

// forEach calls f with every number in b, in order.
func (b bitset) forEach(f func(uint32)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			f(uint32(i*64 + bits.TrailingZeros64(w)))
		}
	}
}

// translateBitmap returns the entries in a bitmap of bleve, which may be nil.
func (e *segmentEntries) translateBitmap(r *roaring.Bitmap) bitset {
	b := newBitset(len(e.numbers))
	if r == nil {
		return b
	}
	r.Iterate(func(i uint32) bool {
		if int(i) < len(e.numbers) {
			b.add(e.numbers[i])
		}
		return true
	})
	return b
}

// A damageError says that what lies in the index cannot be what was written.
// The index is rebuilt when one is met.
type damageError struct{ what string }

func (e *damageError) Error() string { return "the index is damaged: " + e.what }

func newDamageError(format string, args ...any) error {
	return &damageError{fmt.Sprintf(format, args...)}
}

// supersedingKind returns the kind whose operations stand in for those of kind k of
// the same host.
func supersedingKind(k document.Kind) (document.Kind, bool) {
	if k == document.AGISSummary {
		// The summary repeats verb and path of the full document's operations,
		// without intent or parameters.
		return document.AGIS, true
	}
	return "", false
}
