package view

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/entry"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// openDictionary opens the terms of a field of a segment.
func openDictionary(s *scorch.SegmentSnapshot, field string) (segment.TermDictionary, error) {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return nil, damagedField(s, field, err)
	}
	return dictionary, nil
}

func damagedField(s *scorch.SegmentSnapshot, field string, err error) error {
	return damage.Errorf("field %s of segment %d: %v", field, s.Id(), err)
}

// eachTerm calls f with every term of a field, in order.
func eachTerm(s *scorch.SegmentSnapshot, field string, f func(dictionary segment.TermDictionary, term string) error) error {
	dictionary, err := openDictionary(s, field)
	if err != nil {
		return err
	}
	terms := dictionary.AutomatonIterator(nil, nil, nil)
	for {
		term, err := terms.Next()
		if err != nil {
			return damagedField(s, field, err)
		}
		if term == nil {
			return nil
		}
		if err := f(dictionary, term.Term); err != nil {
			return err
		}
	}
}

// hasTerm reports whether a field of a segment has a term.
func hasTerm(s *scorch.SegmentSnapshot, field, term string) (bool, error) {
	dictionary, err := openDictionary(s, field)
	if err != nil {
		return false, err
	}
	has, err := dictionary.Contains([]byte(term))
	if err != nil {
		return false, damagedField(s, field, err)
	}
	return has, nil
}

// EachPosting calls f with the postings of a term, in bleve's order.
func (e *segmentEntries) EachPosting(s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string,
	counted bool, f func(number uint32, count, length int)) error {
	found, err := dictionary.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return damage.Errorf("a term in segment %d: %v", s.Id(), err)
	}
	n := uint64(len(e.numbers))
	if found.Count() > n {
		return damage.Errorf("a term occurs in %d of the %d entries of segment %d", found.Count(), n, s.Id())
	}
	it := found.Iterator(counted, counted, false, nil)
	for {
		p, err := it.Next()
		if err != nil {
			return damage.Errorf("postings in segment %d: %v", s.Id(), err)
		}
		if p == nil {
			return nil
		}
		if p.Number() >= n {
			return damage.Errorf("postings in segment %d name entry %d of %d", s.Id(), p.Number(), n)
		}
		count, length := 1, 1
		if counted {
			// bleve's norm is 1/√length; this recovers the exact length.
			count, length = int(p.Frequency()), int(math.Round(1/(p.Norm()*p.Norm())))
		}
		f(e.numbers[p.Number()], count, length)
	}
}

// TermPostings contains the postings of a stem in a segment: the entries of all kinds in which it
// occurs, and the weight of the stem in each of them (see [termWeight]). The postings of large
// segments stay in memory, so they are small: a posting takes 4 bytes, and a weight that many
// postings share is kept once.
type TermPostings struct {
	blocks   []postingBlock   // in order
	Services []servicePosting // the postings of services, repeated
}

// blockEntries is the number of consecutive entries that a block is about.
const blockEntries = 1 << 16

// A postingBlock has the postings among blockEntries entries.
type postingBlock struct {
	first    uint32         // the number of the first of the entries
	postings []blockPosting // in order
	weights  []float32      // without duplicates
}

// A blockPosting is one entry in which a term occurs.
type blockPosting struct {
	offset uint16 // of the entry in its block
	weight uint16 // its index in the weights of the block
}

// A servicePosting is the posting of a service, which applies to its operations.
type servicePosting struct {
	number   uint32
	weight   float32
	from, to uint32 // the numbers of the operations
}

// The sizes of postings in memory.
const (
	blockBytes          = 56
	postingBytes        = 4
	weightBytes         = 4
	servicePostingBytes = 16
)

// HasEntry reports whether the stem occurs in an entry itself, not only in its service.
func (p *TermPostings) HasEntry(number uint32) bool {
	for i := range p.blocks {
		if b := &p.blocks[i]; number-b.first < blockEntries {
			_, ok := slices.BinarySearchFunc(b.postings, number-b.first, func(at blockPosting, offset uint32) int { return cmp.Compare(uint32(at.offset), offset) })
			return ok
		}
	}
	return false
}

func (p *TermPostings) memorySize() int {
	size := servicePostingBytes * len(p.Services)
	for i := range p.blocks {
		size += blockBytes + postingBytes*len(p.blocks[i].postings) + weightBytes*len(p.blocks[i].weights)
	}
	return size
}

// count returns the number of entries.
func (p *TermPostings) count() (n int) {
	for i := range p.blocks {
		n += len(p.blocks[i].postings)
	}
	return n
}

// Numbers yields the numbers of the entries, in order.
func (p *TermPostings) Numbers() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, b := range p.blocks {
			for _, at := range b.postings {
				if !yield(b.first + uint32(at.offset)) {
					return
				}
			}
		}
	}
}

// addScores adds the weights, multiplied by rarity, to the scores of entries, and the entries to met.
func (p *TermPostings) addScores(scores []float32, met bitset.Set, rarity float32) {
	for i := range p.blocks {
		b := &p.blocks[i]
		scores, met := scores[b.first:], met[b.first/64:]
		for _, at := range b.postings {
			scores[at.offset] += rarity * b.weights[at.weight]
			met.Add(uint32(at.offset))
		}
	}
	for _, at := range p.Services {
		more := rarity * at.weight
		met.AddRange(at.from, at.to)
		of := scores[at.from:at.to]
		for n := range of {
			of[n] += more
		}
	}
}

// A termReader has the buffers of [termReader.readTerm]. They are empty between two calls.
type termReader struct {
	sums     []float32    // by number of entry
	met      bitset.Set   // the entries with a sum
	several  []occurrence // by number of entry: the forms of a stem in one field
	metForms bitset.Set   // the entries with several
	weights  []float32
	places   map[float32]uint16 // of the weights
}

// An occurrence is the number of occurrences of a stem in a field of an entry, and the length of
// the field.
type occurrence struct{ count, length int32 }

// resize makes room for n entries.
func (r *termReader) resize(n int) {
	if len(r.sums) < n {
		*r = termReader{sums: make([]float32, n), met: bitset.New(n), several: make([]occurrence, n), metForms: bitset.New(n), places: make(map[float32]uint16)}
	}
}

// readTerm decodes the postings of a stem: the sum over all its forms and fields for each entry.
// After an error the reader is of no more use.
func (r *termReader) readTerm(s *scorch.SegmentSnapshot, e *segmentEntries, forms []string) (*TermPostings, error) {
	n := int(s.FullSize())
	r.resize(n)
	for f := range entry.NumFields {
		dictionary, err := openDictionary(s, f.String())
		if err != nil {
			return nil, err
		}
		add := func(number uint32, count, length int) {
			r.met.Add(number)
			r.sums[number] += termWeight(f, e.Services.Has(number), count, length)
		}
		if len(forms) > 1 { // they count together
			add = func(number uint32, count, length int) {
				r.metForms.Add(number)
				o := &r.several[number]
				o.count, o.length = o.count+int32(count), int32(length)
			}
		}
		for _, form := range forms {
			if err := e.EachPosting(s, dictionary, form, true, add); err != nil {
				return nil, err
			}
		}
		if len(forms) > 1 {
			r.metForms[:bitset.Words(n)].ForEach(func(number uint32) {
				o := &r.several[number]
				r.met.Add(number)
				r.sums[number] += termWeight(f, e.Services.Has(number), int(o.count), int(o.length))
				*o = occurrence{}
			})
			clear(r.metForms[:bitset.Words(n)])
		}
	}
	return r.takePostings(e, n), nil
}

// takePostings returns the postings of the entries with a sum, and empties the buffers.
func (r *termReader) takePostings(e *segmentEntries, n int) *TermPostings {
	p := &TermPostings{}
	for first := 0; first < n; first += blockEntries {
		met := r.met[first/64 : bitset.Words(min(n, first+blockEntries))]
		count := met.Count()
		if count == 0 {
			continue
		}
		b := postingBlock{first: uint32(first), postings: make([]blockPosting, 0, count)}
		r.weights = r.weights[:0]
		clear(r.places)
		met.ForEach(func(offset uint32) {
			number := b.first + offset
			weight := r.sums[number]
			r.sums[number] = 0
			b.postings = append(b.postings, blockPosting{uint16(offset), r.placeOf(weight)})
			if e.Services.Has(number) {
				from, to := e.OperationsOf(e.RunOf[number])
				p.Services = append(p.Services, servicePosting{number, weight, from, to})
			}
		})
		b.weights = slices.Clone(r.weights)
		p.blocks = append(p.blocks, b)
		clear(met)
	}
	p.blocks, p.Services = slices.Clip(p.blocks), slices.Clip(p.Services)
	return p
}

// fewWeights is the number of weights up to which a search is faster than a map.
const fewWeights = 16

// placeOf returns the index of a weight in those of the block, to which it adds a new one.
func (r *termReader) placeOf(weight float32) uint16 {
	if len(r.weights) < fewWeights {
		if at := slices.Index(r.weights, weight); at >= 0 {
			return uint16(at)
		}
	} else if at, ok := r.places[weight]; ok {
		return at
	}
	at := uint16(len(r.weights)) // a block has no more weights than entries
	r.weights = append(r.weights, weight)
	switch {
	case len(r.weights) == fewWeights:
		for i, w := range r.weights {
			r.places[w] = uint16(i)
		}
	case len(r.weights) > fewWeights:
		r.places[weight] = at
	}
	return at
}

// readKeyword decodes the operations that have a value of a keyword field, themselves or through
// their service.
func readKeyword(s *scorch.SegmentSnapshot, e *segmentEntries, field, value string) (bitset.Set, error) {
	dictionary, err := openDictionary(s, field)
	if err != nil {
		return nil, err
	}
	found := bitset.New(len(e.numbers))
	err = e.EachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
		e.EachOperation(number, found.Add)
	})
	return found, err
}
