package view

import (
	"math"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/entry"
)

// eachTerm calls f with every term of a field, in order.
func eachTerm(s *scorch.SegmentSnapshot, field string, f func(dictionary segment.TermDictionary, term string) error) error {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return NewDamageError("field %s of segment %d: %v", field, s.Id(), err)
	}
	terms := dictionary.AutomatonIterator(nil, nil, nil)
	for {
		term, err := terms.Next()
		if err != nil {
			return NewDamageError("field %s of segment %d: %v", field, s.Id(), err)
		}
		if term == nil {
			return nil
		}
		if err := f(dictionary, term.Term); err != nil {
			return err
		}
	}
}

// EachPosting calls f with the postings of a term, in bleve's order.
func (e *segmentEntries) EachPosting(s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string, counted bool, f func(number uint32, count, length int)) error {
	found, err := dictionary.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return NewDamageError("a term in segment %d: %v", s.Id(), err)
	}
	n := uint64(len(e.numbers))
	if found.Count() > n {
		return NewDamageError("a term occurs in %d of the %d entries of segment %d", found.Count(), n, s.Id())
	}
	it := found.Iterator(counted, counted, false, nil)
	for {
		p, err := it.Next()
		if err != nil {
			return NewDamageError("postings in segment %d: %v", s.Id(), err)
		}
		if p == nil {
			return nil
		}
		if p.Number() >= n {
			return NewDamageError("postings in segment %d name entry %d of %d", s.Id(), p.Number(), n)
		}
		count, length := 1, 1
		if counted {
			// bleve's norm is 1/√length; this recovers the exact length.
			count, length = int(p.Frequency()), int(math.Round(1/(p.Norm()*p.Norm())))
		}
		f(e.numbers[p.Number()], count, length)
	}
}

// A Posting is one entry in which a term occurs, with the weight of the term in it: see termWeight.
type posting struct {
	Number uint32
	weight float32
}

// A servicePosting is the posting of a service, which applies to its operations.
type servicePosting struct {
	posting
	from, to uint32 // the numbers of the operations
}

// The sizes of postings in memory.
const (
	postingBytes        = 8
	servicePostingBytes = 16
)

// TermPostings contains the postings of a stem in a segment.
type TermPostings struct {
	All      []posting        // of entries of all kinds, without duplicates
	Services []servicePosting // the postings of services, repeated
}

func (p *TermPostings) memorySize() int {
	return postingBytes*cap(p.All) + servicePostingBytes*cap(p.Services)
}

// readTerm decodes the postings of a stem: the sum over all its forms and fields for each entry.
func readTerm(s *scorch.SegmentSnapshot, e *segmentEntries, forms []string) (*TermPostings, error) {
	n := int(s.FullSize())
	sums := make([]float32, n)
	met := NewBitset(n)
	type occurrence struct{ count, length int }
	for f := range entry.NumFields {
		dictionary, err := s.Segment().Dictionary(f.String())
		if err != nil {
			return nil, NewDamageError("field %s of segment %d: %v", f, s.Id(), err)
		}
		add := func(number uint32, o occurrence) {
			met.Add(number)
			sums[number] += termWeight(f, e.Services.Has(number), o.count, o.length)
		}
		var several map[uint32]occurrence // forms of one stem count together
		if len(forms) > 1 {
			several = make(map[uint32]occurrence)
		}
		for _, form := range forms {
			err := e.EachPosting(s, dictionary, form, true, func(number uint32, count, length int) {
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
	p := &TermPostings{All: make([]posting, 0, met.Count())}
	met.ForEach(func(number uint32) {
		at := posting{number, sums[number]}
		p.All = append(p.All, at)
		if e.Services.Has(number) {
			from, to := e.OperationsOf(e.RunOf[number])
			p.Services = append(p.Services, servicePosting{at, from, to})
		}
	})
	return p, nil
}

// readKeyword decodes the operations that have a value of a keyword field, themselves or through
// their service.
func readKeyword(s *scorch.SegmentSnapshot, e *segmentEntries, field, value string) (Bitset, error) {
	dictionary, err := s.Segment().Dictionary(field)
	if err != nil {
		return nil, NewDamageError("field %s of segment %d: %v", field, s.Id(), err)
	}
	found := NewBitset(len(e.numbers))
	err = e.EachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
		e.EachOperation(number, found.Add)
	})
	return found, err
}
