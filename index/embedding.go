package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/wordvec"
)

// An operation's meaning is a vector: the sum of its words' vectors, made unit
// length. How near it lies to that of the query is the second part of an
// operation's score (score.go has the first), and finds what shares no word with
// the query. Meanings are derived from a segment's postings alone, so they are
// rebuilt whenever a segment is met that no view has had, and never stored.

// The weights with which the words of a field count in a meaning.
const (
	ownWordWeight     = 1   // of fields act and what
	contextWordWeight = 0.4 // of parameter names and of the service
	// maxContextShare is how long the sum of those may be, as a share of that of the
	// own words: a service with a long name would speak louder than what it does.
	maxContextShare = 0.8
	// stemGroupWeight is how much all forms of a word's stem count beside the word itself:
	// the table knows few of the rarer forms well.
	stemGroupWeight = 0.5
)

// A lexicon gives each form of a word the vector that it counts with. It belongs
// to one index and may be used by many goroutines at once.
type lexicon struct {
	table           *wordvec.Table
	stemGroups      map[string][]string // by stem: its forms, sorted
	centroids       []centroid          // of the cells
	distanceBuffers sync.Pool           // see sense

	mu      sync.Mutex // guards following
	vectors map[string]wordVector
}

// A heavy vector is one with its length.
type wordVector struct {
	vector []float32
	length float32
}

// embeddedLexicon is that of the table which comes with the program.
var embeddedLexicon = sync.OnceValue(func() *lexicon { return newLexicon(wordvec.Embedded()) })

// maxCachedVectors bounds the words whose vectors are kept ready, some 35 MB.
const maxCachedVectors = 1 << 15

func newLexicon(t *wordvec.Table) *lexicon {
	l := &lexicon{table: t, stemGroups: make(map[string][]string, t.Len()), vectors: make(map[string]wordVector)}
	for w := range t.Unsorted() {
		stem := StemOf(w)
		l.stemGroups[stem] = append(l.stemGroups[stem], w)
	}
	for _, words := range l.stemGroups {
		slices.Sort(words)
	}
	l.centroids = l.computeCentroids()
	return l
}

// stemGroupMean returns the mean vector of a stem's forms, nil when none is known.
func (l *lexicon) stemGroupMean(stem string) []float32 {
	words := l.stemGroups[stem]
	if len(words) == 0 {
		return nil
	}
	mean := make([]float32, l.table.Dim())
	weights := float32(0)
	// In sorted order, because the order in which numbers are added up shows in
	// their last digits.
	for _, w := range words {
		v, scale, _ := l.table.Word(w)
		// By its scale a word of little weight, which is a frequent one, counts for
		// more: its vector is the surer one.
		weight := 1 / max(scale*scale, math.SmallestNonzeroFloat32)
		wordvec.AddInt8(mean, v, weight*scale)
		weights += weight
	}
	for i := range mean {
		mean[i] /= weights
	}
	return mean
}

// formVector returns what a form counts with, nil when nothing is known of it.
func (l *lexicon) formVector(form string) []float32 { return l.wordVector(form).vector }

func (l *lexicon) wordVector(form string) wordVector {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, ok := l.vectors[form]; ok {
		return v
	}
	if len(l.vectors) >= maxCachedVectors {
		clear(l.vectors)
	}
	v := wordVector{vector: l.computeVector(form)}
	v.length = vectorLength(v.vector)
	l.vectors[form] = v
	return v
}

func (l *lexicon) computeVector(form string) []float32 {
	own, scale, ok := l.table.Word(form)
	kin := l.stemGroupMean(StemOf(form))
	if !ok {
		return kin
	}
	v := make([]float32, len(own))
	wordvec.AddInt8(v, own, scale)
	if kin != nil {
		wordvec.Add(v, kin, stemGroupWeight)
	}
	return v
}

// A meaning is a unit vector in whole numbers and what to multiply them by; the
// zero meaning is of a text of which nothing is known.
type embedding struct {
	vector   []int8
	scale    float32
	doubtful bool // see meanings
}

// newEmbedding makes a meaning of a sum of vectors, which it changes.
func newEmbedding(sum []float32) embedding {
	wordvec.Normalize(sum)
	m := embedding{}
	m.vector, m.scale = wordvec.Quantize(sum)
	return m
}

// embedForms returns the meaning of the words of a wish, given by their forms. A wish has
// few words, and the heaviest would drown the others: each counts with its weight
// to the power of ¾.
func (l *lexicon) embedForms(forms []string) embedding {
	sum := make([]float32, l.table.Dim())
	for _, form := range forms {
		v := l.wordVector(form)
		if v.length == 0 {
			continue
		}
		lighter := 1 / float32(math.Sqrt(math.Sqrt(float64(v.length))))
		wordvec.Add(sum, v.vector, lighter)
	}
	return newEmbedding(sum)
}

// Cosine of two meanings, 0 when one of them is unknown.
func (m embedding) Cosine(o embedding) float32 {
	return float32(wordvec.DotInt8(m.vector, o.vector)) * m.scale * o.scale
}

// A code has the signs of a vector's numbers. Vectors that lie near each other
// differ in few of them, and a hundred codes are compared in the time of one
// cosine: that is how candidates are found among all entries.
type signCode [codeBits / 64]uint64

// A code has room for codeBits signs, of a longer vector the first.
const codeBits = 256

func signCodeOf(vector []int8) signCode {
	var c signCode
	for i, x := range vector[:min(codeBits, len(vector))] {
		if x > 0 {
			c[i/64] |= 1 << (i % 64)
		}
	}
	return c
}

// Distance counts the signs in which two codes differ.
func (c *signCode) Distance(o *signCode) int {
	return bits.OnesCount64(c[0]^o[0]) + bits.OnesCount64(c[1]^o[1]) + bits.OnesCount64(c[2]^o[2]) + bits.OnesCount64(c[3]^o[3])
}

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

func (m *segmentEmbeddings) embeddingOf(number uint32) embedding {
	from := int(number) * m.dim
	return embedding{m.vectors[from : from+m.dim], m.scales[number], m.doubtful.has(number)}
}

func (m *segmentEmbeddings) setEmbedding(number uint32, v embedding) {
	copy(m.vectors[int(number)*m.dim:], v.vector)
	m.scales[number] = v.scale
	if v.doubtful {
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
func readEmbeddings(s *scorch.SegmentSnapshot, e *segmentEntries, l *lexicon, old func(source, string) *formerEmbeddings) (*segmentEmbeddings, vocabulary, error) {
	n := len(e.numbers)
	m := &segmentEmbeddings{dim: l.table.Dim(), vectors: make([]int8, n*l.table.Dim()), scales: make([]float32, n), doubtful: newBitset(n)}
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
				v := l.formVector(form)
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
	m.clusters = newClusterIndex(l.centroids, m, e.operations)
	return m, forms, nil
}

// addForm notes a form.
func (v vocabulary) addForm(form string) {
	stem := StemOf(form)
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
			doubtful := pointApart(sums[actField], sums[whatField])
			own, context := sums[actField], sums[ctxField]
			for f := range sums {
				if field(f) != actField && field(f) != ctxField {
					wordvec.Add(own, sums[f], 1)
				}
			}
			if e.operations.has(number) {
				wordvec.Add(context, ofService, 1)
			}
			limitLength(context, maxContextShare*vectorLength(own))
			wordvec.Add(own, context, 1)
			v := newEmbedding(own)
			v.doubtful = doubtful
			m.setEmbedding(number, v)
		}
	}
}

func vectorLength(v []float32) float32 { return float32(math.Sqrt(float64(wordvec.Dot(v, v)))) }

// limitLength makes v no longer than most, unless that is nothing.
func limitLength(v []float32, most float32) {
	long := vectorLength(v)
	if most == 0 || long <= most {
		return
	}
	for i := range v {
		v[i] *= most / long
	}
}

// minNameIntentCosine is how near the meanings of an operation's name and intent must be:
// names of brands lie anywhere, so only those that point away are doubted.
const minNameIntentCosine = 0

// pointApart reports whether two sums of vectors, of which something is known, have
// nothing in common.
func pointApart(a, b []float32) bool {
	lengths := wordvec.Dot(a, a) * wordvec.Dot(b, b)
	return lengths > 0 && float64(wordvec.Dot(a, b)) < minNameIntentCosine*math.Sqrt(float64(lengths))
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
