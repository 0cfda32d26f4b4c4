package index

import (
	"cmp"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

// An operation's meaning is a vector: the sum of its words' vectors, made unit
// length. How near it lies to that of the query is the second part of an
// operation's score (score.go has the first), and finds what shares no word with
// the query. Meanings are derived from a segment's postings alone, so they are
// rebuilt whenever a segment is met that no view has had, and never stored.

// The weights with which the words of a field count in an embedding.
const (
	ownWordWeight     = 1   // of fields act and what
	contextWordWeight = 0.4 // of parameter names and of the service
	// maxContextShare is the length that the sum of the context words may have, as a share of that
	// of the own words: a service with a long name would otherwise outweigh what it does.
	maxContextShare = 0.8
)

// segmentEmbeddings are those of all entries of a segment.
type segmentEmbeddings struct {
	dim      int
	vectors  []int8
	scales   []float32 // 0: nothing is known
	clusters clusterIndex
	// doubtful are the operations whose name and intent have nothing in common,
	// as those of a borrowed name have.
	doubtful bitset
}

func (m *segmentEmbeddings) embeddingOf(number uint32) semantic.Embedding {
	from := int(number) * m.dim
	return semantic.Embedding{Vector: m.vectors[from : from+m.dim], Scale: m.scales[number], Doubtful: m.doubtful.has(number)}
}

func (m *segmentEmbeddings) setEmbedding(number uint32, v semantic.Embedding) {
	copy(m.vectors[int(number)*m.dim:], v.Vector)
	m.scales[number] = v.Scale
	if v.Doubtful {
		m.doubtful.add(number)
	}
}

// vocabulary tells the forms in which a stem occurs in a segment. Stems that
// occur as themselves only are left out.
type vocabulary map[string][]string

// formsOf returns the forms of a stem.
func (v vocabulary) formsOf(stem string) []string {
	if forms, ok := v[stem]; ok {
		return forms
	}
	return []string{stem}
}

// A use is a word of an entry and how much it counts there.
type weightedTerm struct {
	word   uint32 // its place among the vectors of a reading
	field  field
	weight float32
}

// readEmbeddings derives the meanings of a segment's entries and its vocabulary.
// What old has of the same document versions is taken over.
func readEmbeddings(s *scorch.SegmentSnapshot, e *segmentEntries, l *semantic.Lexicon, old func(source, string) *formerEmbeddings) (*segmentEmbeddings, vocabulary, error) {
	n := len(e.numbers)
	m := &segmentEmbeddings{dim: l.Table.Dim(), vectors: make([]int8, n*l.Table.Dim()), scales: make([]float32, n), doubtful: newBitset(n)}
	wanted := newBitset(n)
	for i := range e.runs {
		r := &e.runs[i]
		if from := old(r.source, r.fingerprint); from != nil && from.hasShapeOf(r) {
			from.copyInto(m, r.start)
			continue
		}
		wanted.addRange(r.start, r.end)
	}
	missing := wanted.count() > 0
	words, forms := make(map[string]uint32), make(vocabulary)
	var vectors [][]float32
	var uses [][]weightedTerm
	if missing {
		uses = make([][]weightedTerm, n)
	}
	for f := range numFields {
		weight := float32(ownWordWeight)
		if f == ctxField {
			weight = contextWordWeight
		}
		err := eachTerm(s, f.String(), func(dictionary segment.TermDictionary, form string) error {
			forms.addForm(form)
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
			return e.eachPosting(s, dictionary, form, true, func(number uint32, count, _ int) {
				if wanted.has(number) {
					uses[number] = append(uses[number], weightedTerm{at, f, weight * float32(min(count, maxCount))})
				}
			})
		})
		if err != nil {
			return nil, nil, err
		}
	}
	forms.sortForms()
	if missing {
		m.computeEmbeddings(e, wanted, vectors, uses)
	}
	m.clusters = newClusterIndex(l.Centroids, m, e.operations)
	return m, forms, nil
}

// addForm notes a form.
func (v vocabulary) addForm(form string) {
	stem := tokens.StemOf(form)
	if forms := v[stem]; !slices.Contains(forms, form) {
		v[stem] = append(forms, form)
	}
}

// sortForms puts the forms in order and drops what forms says without being told.
func (v vocabulary) sortForms() {
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
func (m *segmentEmbeddings) computeEmbeddings(e *segmentEntries, wanted bitset, vectors [][]float32, uses [][]weightedTerm) {
	var sums [numFields][]float32
	for f := range sums {
		sums[f] = make([]float32, m.dim)
	}
	ofService := make([]float32, m.dim)
	add := func(to []float32, u weightedTerm) { wordvec.Add(to, vectors[u.word], u.weight) }
	for _, r := range e.runs {
		if r.start == r.end || !wanted.has(r.start) {
			continue
		}
		clear(ofService)
		for number := r.operationsEnd; number < r.end; number++ {
			if e.services.has(number) {
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
			doubtful := semantic.PointApart(sums[actField], sums[whatField])
			own, context := sums[actField], sums[ctxField]
			for f := range sums {
				if field(f) != actField && field(f) != ctxField {
					wordvec.Add(own, sums[f], 1)
				}
			}
			if e.operations.has(number) {
				wordvec.Add(context, ofService, 1)
			}
			semantic.LimitLength(context, maxContextShare*semantic.VectorLength(own))
			wordvec.Add(own, context, 1)
			v := semantic.NewEmbedding(own)
			v.Doubtful = doubtful
			m.setEmbedding(number, v)
		}
	}
}

// formerEmbeddings are those of one document version in a segment that another has
// taken the place of.
type formerEmbeddings struct {
	segment *segmentData
	run     *documentRun
}

func (o *formerEmbeddings) hasShapeOf(r *documentRun) bool {
	return o.run.end-o.run.start == r.end-r.start && o.run.operationsEnd-o.run.start == r.operationsEnd-r.start
}

// copyInto takes the meanings over, in order.
func (o *formerEmbeddings) copyInto(m *segmentEmbeddings, to uint32) {
	for number := o.run.start; number < o.run.end; number++ {
		m.setEmbedding(to+number-o.run.start, o.segment.meanings.embeddingOf(number))
	}
}

// findRun returns the run of one version of a document, nil when there is none.
func (e *segmentEntries) findRun(s source, print string) *documentRun {
	at, ok := slices.BinarySearchFunc(e.runs, s, func(r documentRun, s source) int {
		return cmp.Or(compareSources(r.source, s), cmp.Compare(r.fingerprint, print))
	})
	if !ok {
		return nil
	}
	return &e.runs[at]
}
