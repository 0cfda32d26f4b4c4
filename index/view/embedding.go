package view

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

// The embedding of an operation is the sum of its words' vectors, scaled to unit length. Its cosine
// to the embedding of the query is the second part of an operation's score (score.go has the
// first), and finds operations that share no word with the query. Embeddings are derived from a
// segment's postings alone, and computed for each new segment.

// The weights with which the words of a field count in an embedding.
const (
	ownWordWeight     = 1   // of fields act and what
	contextWordWeight = 0.4 // of parameter names and of the service
	// maxContextShare is the maximum length of the sum of the context words, as a share of the
	// length of the sum of the own words: otherwise a service with a long name would outweigh the
	// operation.
	maxContextShare = 0.8
)

// SegmentEmbeddings contains the embeddings of the operations of a segment. Services and data classes
// have none.
type SegmentEmbeddings struct {
	Dim      int
	Vectors  []int8    // by row
	Scales   []float32 // by row; 0: nothing is known
	Clusters clusterIndex
	// Doubtful has the operations whose name and intent have nothing in common, for example because
	// of a borrowed name.
	Doubtful bitset.Set

	operations bitset.Set // those of the segment
	before     []uint32   // for each 64 entries: the number of operations before them
	mapped     *mappedFile
}

// NewSegmentEmbeddings returns the embeddings of operations, all of which are unknown.
func NewSegmentEmbeddings(dim int, operations bitset.Set) *SegmentEmbeddings {
	m := &SegmentEmbeddings{Dim: dim, Doubtful: make(bitset.Set, len(operations))}
	rows := m.numberRows(operations)
	m.Vectors, m.Scales = make([]int8, rows*dim), make([]float32, rows)
	return m
}

// numberRows gives each operation a row, in order, and returns the number of rows.
func (m *SegmentEmbeddings) numberRows(operations bitset.Set) int {
	m.operations, m.before = operations, make([]uint32, len(operations))
	rows := 0
	for at, set := range operations {
		m.before[at] = uint32(rows)
		rows += bits.OnesCount64(set)
	}
	return rows
}

// rowOf returns the row of an operation.
func (m *SegmentEmbeddings) rowOf(number uint32) int {
	at := number / 64
	return int(m.before[at]) + bits.OnesCount64(m.operations[at]&(1<<(number%64)-1))
}

// EmbeddingOf returns the embedding of an operation.
func (m *SegmentEmbeddings) EmbeddingOf(number uint32) semantic.Embedding {
	row := m.rowOf(number)
	from := row * m.Dim
	return semantic.Embedding{Vector: m.Vectors[from : from+m.Dim], Scale: m.Scales[row], Doubtful: m.Doubtful.Has(number)}
}

// SetEmbedding sets the embedding of an operation.
func (m *SegmentEmbeddings) SetEmbedding(number uint32, v semantic.Embedding) {
	row := m.rowOf(number)
	copy(m.Vectors[row*m.Dim:], v.Vector)
	m.Scales[row] = v.Scale
	if v.Doubtful {
		m.Doubtful.Add(number)
	}
}

// A Vocabulary has the forms in which a stem occurs in a segment. It omits stems that occur only in
// their own form. A word that reads like a stem is one of its forms, even if the word has another
// stem itself ("statuses" has the stem "status", which has the stem "statu"): the forms of a stem
// do not depend on the other words of a segment.
type Vocabulary struct {
	// text has a record for each stem, in the order of the stems: the stem and its sorted forms, each
	// preceded by its length.
	text   []byte
	starts []uint32 // of the records in text
	mapped *mappedFile
}

// NewVocabulary returns the vocabulary of forms, which may have duplicates.
func NewVocabulary(forms iter.Seq[string]) Vocabulary {
	byStem, met := make(map[string][]string), make(map[string]bool)
	for form := range forms {
		met[form] = true
		stem := tokens.StemOf(form)
		if known := byStem[stem]; !slices.Contains(known, form) {
			byStem[stem] = append(known, form)
		}
	}
	var v Vocabulary
	for _, stem := range slices.Sorted(maps.Keys(byStem)) {
		forms := byStem[stem]
		if met[stem] && !slices.Contains(forms, stem) {
			forms = append(forms, stem)
		}
		if len(forms) == 1 && forms[0] == stem {
			continue
		}
		slices.Sort(forms)
		v.starts = append(v.starts, uint32(len(v.text)))
		for _, text := range slices.Insert(forms, 0, stem) {
			v.text = append(binary.AppendUvarint(v.text, uint64(len(text))), text...)
		}
	}
	return v
}

// Len returns the number of stems.
func (v Vocabulary) Len() int { return len(v.starts) }

// FormsOf returns the forms of a stem.
func (v Vocabulary) FormsOf(stem string) []string {
	at, ok := slices.BinarySearchFunc(v.starts, stem, func(start uint32, stem string) int {
		text, _ := cutText(v.text[start:])
		return cmp.Compare(string(text), stem)
	})
	if !ok {
		return []string{stem}
	}
	record := v.text[v.starts[at]:]
	if at+1 < len(v.starts) {
		record = v.text[v.starts[at]:v.starts[at+1]]
	}
	_, record = cutText(record)
	var forms []string
	for len(record) > 0 {
		var form []byte
		form, record = cutText(record)
		forms = append(forms, string(form))
	}
	return forms
}

// cutText returns the text with which bytes begin, which is preceded by its length, and the remaining
// bytes.
func cutText(from []byte) (text, rest []byte) {
	n, size := binary.Uvarint(from)
	from = from[size:]
	return from[:n], from[n:]
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
	m := NewSegmentEmbeddings(l.Table().Dim(), e.Operations)
	wanted := bitset.New(n)
	for i := range e.Runs {
		r := &e.Runs[i]
		if from := old(r.Source, r.Fingerprint); from != nil && from.hasShapeOf(r) {
			from.copyInto(m, r.start)
			continue
		}
		wanted.AddRange(r.start, r.end)
	}
	missing := wanted.Count() > 0
	words := make(map[string]uint32)
	var forms []string
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
			forms = append(forms, form)
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
			return nil, Vocabulary{}, err
		}
	}
	if missing {
		m.computeEmbeddings(e, wanted, vectors, uses)
	}
	m.Clusters = NewClusterIndex(l.Centroids(), m, e.Operations)
	return m, NewVocabulary(slices.Values(forms)), nil
}

// computeEmbeddings adds up the words of the wanted operations. The words of a service count in each
// of its operations, too.
func (m *SegmentEmbeddings) computeEmbeddings(e *segmentEntries, wanted bitset.Set, vectors [][]float32, uses [][]weightedTerm) {
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
		for number := r.start; number < r.operationsEnd; number++ {
			for f := range sums {
				clear(sums[f])
			}
			for _, u := range uses[number] {
				add(sums[u.field], u)
			}
			doubtful := semantic.AreOrthogonal(sums[entry.ActField], sums[entry.WhatField])
			own, context := sums[entry.ActField], sums[entry.CtxField]
			for f := range sums {
				if entry.Field(f) != entry.ActField && entry.Field(f) != entry.CtxField {
					wordvec.Add(own, sums[f], 1)
				}
			}
			wordvec.Add(context, ofService, 1)
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

// copyInto copies the embeddings of the operations, in order.
func (o *formerEmbeddings) copyInto(m *SegmentEmbeddings, to uint32) {
	for number := o.run.start; number < o.run.operationsEnd; number++ {
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
