package view

import (
	"cmp"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

// The embedding of an operation is the sum of its words' vectors, scaled to unit length. Its cosine
// to the embedding of the query is the second part of an operation's score (score.go has the
// first), and finds operations that share no word with the query. Embeddings are derived from a
// segment's postings alone. They are computed for each new segment and never stored.

// The weights with which the words of a field count in an embedding.
const (
	ownWordWeight     = 1   // of fields act and what
	contextWordWeight = 0.4 // of parameter names and of the service
	// maxContextShare is the maximum length of the sum of the context words, as a share of the
	// length of the sum of the own words: otherwise a service with a long name would outweigh the
	// operation.
	maxContextShare = 0.8
)

// SegmentEmbeddings contains the embeddings of all entries of a segment.
type SegmentEmbeddings struct {
	Dim      int
	Vectors  []int8
	Scales   []float32 // 0: nothing is known
	Clusters clusterIndex
	// Doubtful has the operations whose name and intent have nothing in common, for example because
	// of a borrowed name.
	Doubtful Bitset
}

func (m *SegmentEmbeddings) EmbeddingOf(number uint32) semantic.Embedding {
	from := int(number) * m.Dim
	return semantic.Embedding{Vector: m.Vectors[from : from+m.Dim], Scale: m.Scales[number], Doubtful: m.Doubtful.Has(number)}
}

func (m *SegmentEmbeddings) SetEmbedding(number uint32, v semantic.Embedding) {
	copy(m.Vectors[int(number)*m.Dim:], v.Vector)
	m.Scales[number] = v.Scale
	if v.Doubtful {
		m.Doubtful.Add(number)
	}
}

// Vocabulary has the forms in which a stem occurs in a segment. It omits stems that occur only in
// their own form.
type Vocabulary map[string][]string

// FormsOf returns the forms of a stem.
func (v Vocabulary) FormsOf(stem string) []string {
	if forms, ok := v[stem]; ok {
		return forms
	}
	return []string{stem}
}

// A weightedTerm is a word of an entry with its weight.
type weightedTerm struct {
	word   uint32 // the index of its vector among those of a reading
	field  entry.Field
	weight float32
}

// readEmbeddings derives the embeddings of a segment's entries and its vocabulary. It copies the
// embeddings of unchanged document versions from old.
func readEmbeddings(s *scorch.SegmentSnapshot, e *segmentEntries, l *semantic.Lexicon, old func(entry.Source, string) *formerEmbeddings) (*SegmentEmbeddings, Vocabulary, error) {
	n := len(e.numbers)
	m := &SegmentEmbeddings{Dim: l.Table.Dim(), Vectors: make([]int8, n*l.Table.Dim()), Scales: make([]float32, n), Doubtful: NewBitset(n)}
	wanted := NewBitset(n)
	for i := range e.Runs {
		r := &e.Runs[i]
		if from := old(r.Source, r.Fingerprint); from != nil && from.hasShapeOf(r) {
			from.copyInto(m, r.start)
			continue
		}
		wanted.addRange(r.start, r.end)
	}
	missing := wanted.Count() > 0
	words, forms := make(map[string]uint32), make(Vocabulary)
	var vectors [][]float32
	var uses [][]weightedTerm
	if missing {
		uses = make([][]weightedTerm, n)
	}
	for f := range entry.NumFields {
		weight := float32(ownWordWeight)
		if f == entry.CtxField {
			weight = contextWordWeight
		}
		err := eachTerm(s, f.String(), func(dictionary segment.TermDictionary, form string) error {
			forms.AddForm(form)
			if !missing {
				return nil
			}
			at, met := words[form]
			if !met {
				v := l.FormVector(form)
				if v == nil {
					return nil
				}
				at = uint32(len(vectors))
				words[form] = at
				vectors = append(vectors, v)
			}
			return e.EachPosting(s, dictionary, form, true, func(number uint32, count, _ int) {
				if wanted.Has(number) {
					uses[number] = append(uses[number], weightedTerm{at, f, weight * float32(min(count, maxCount))})
				}
			})
		})
		if err != nil {
			return nil, nil, err
		}
	}
	forms.SortForms()
	if missing {
		m.computeEmbeddings(e, wanted, vectors, uses)
	}
	m.Clusters = NewClusterIndex(l.Centroids, m, e.Operations)
	return m, forms, nil
}

// AddForm adds a form.
func (v Vocabulary) AddForm(form string) {
	stem := tokens.StemOf(form)
	if forms := v[stem]; !slices.Contains(forms, form) {
		v[stem] = append(forms, form)
	}
}

// SortForms sorts the forms and removes the implied ones.
func (v Vocabulary) SortForms() {
	for stem, forms := range v {
		if len(forms) == 1 && forms[0] == stem {
			delete(v, stem)
			continue
		}
		slices.Sort(forms)
	}
}

// computeEmbeddings adds up the words of the wanted entries. The words of a service count
// in each of its operations, too.
func (m *SegmentEmbeddings) computeEmbeddings(e *segmentEntries, wanted Bitset, vectors [][]float32, uses [][]weightedTerm) {
	var sums [entry.NumFields][]float32
	for f := range sums {
		sums[f] = make([]float32, m.Dim)
	}
	ofService := make([]float32, m.Dim)
	add := func(to []float32, u weightedTerm) { wordvec.Add(to, vectors[u.word], u.weight) }
	for _, r := range e.Runs {
		if r.start == r.end || !wanted.Has(r.start) {
			continue
		}
		clear(ofService)
		for number := r.operationsEnd; number < r.end; number++ {
			if e.Services.Has(number) {
				for _, u := range uses[number] {
					add(ofService, u)
				}
			}
		}
		for number := r.start; number < r.end; number++ {
			for f := range sums {
				clear(sums[f])
			}
			for _, u := range uses[number] {
				add(sums[u.field], u)
			}
			doubtful := semantic.PointApart(sums[entry.ActField], sums[entry.WhatField])
			own, context := sums[entry.ActField], sums[entry.CtxField]
			for f := range sums {
				if entry.Field(f) != entry.ActField && entry.Field(f) != entry.CtxField {
					wordvec.Add(own, sums[f], 1)
				}
			}
			if e.Operations.Has(number) {
				wordvec.Add(context, ofService, 1)
			}
			semantic.LimitLength(context, maxContextShare*semantic.VectorLength(own))
			wordvec.Add(own, context, 1)
			v := semantic.NewEmbedding(own)
			v.Doubtful = doubtful
			m.SetEmbedding(number, v)
		}
	}
}

// formerEmbeddings contains the embeddings of one document version in a replaced segment.
type formerEmbeddings struct {
	segment *SegmentData
	run     *DocumentRun
}

func (o *formerEmbeddings) hasShapeOf(r *DocumentRun) bool {
	return o.run.end-o.run.start == r.end-r.start && o.run.operationsEnd-o.run.start == r.operationsEnd-r.start
}

// copyInto copies the embeddings, in order.
func (o *formerEmbeddings) copyInto(m *SegmentEmbeddings, to uint32) {
	for number := o.run.start; number < o.run.end; number++ {
		m.SetEmbedding(to+number-o.run.start, o.segment.Meanings.EmbeddingOf(number))
	}
}

// findRun returns the run of one version of a document, nil when there is none.
func (e *segmentEntries) findRun(s entry.Source, print string) *DocumentRun {
	at, ok := slices.BinarySearchFunc(e.Runs, s, func(r DocumentRun, s entry.Source) int {
		return cmp.Or(compareSources(r.Source, s), cmp.Compare(r.Fingerprint, print))
	})
	if !ok {
		return nil
	}
	return &e.Runs[at]
}
