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
	ownWords     = 1   // of fields act and what
	contextWords = 0.4 // of parameter names and of the service
	// mostContext is how long the sum of those may be, as a share of that of the
	// own words: a service with a long name would speak louder than what it does.
	mostContext = 0.8
	// kinship is how much all forms of a word's stem count beside the word itself:
	// the table knows few of the rarer forms well.
	kinship = 0.5
)

// A lexicon gives each form of a word the vector that it counts with. It belongs
// to one index and may be used by many goroutines at once.
type lexicon struct {
	table    *wordvec.Table
	families map[string][]string // by stem: its forms, sorted
	centres  []centre            // of the cells
	rooms    sync.Pool           // see sense

	mu    sync.Mutex // guards following
	known map[string]heavy
}

// A heavy vector is one with its length.
type heavy struct {
	vector []float32
	length float32
}

// embeddedLexicon is that of the table which comes with the program.
var embeddedLexicon = sync.OnceValue(func() *lexicon { return newLexicon(wordvec.Embedded()) })

// maxKnown bounds the words whose vectors are kept ready, some 35 MB.
const maxKnown = 1 << 15

func newLexicon(t *wordvec.Table) *lexicon {
	l := &lexicon{table: t, families: make(map[string][]string, t.Len()), known: make(map[string]heavy)}
	for w := range t.Unsorted() {
		stem := stemOf(w)
		l.families[stem] = append(l.families[stem], w)
	}
	for _, words := range l.families {
		slices.Sort(words)
	}
	l.centres = l.newCentres()
	return l
}

// family returns the mean vector of a stem's forms, nil when none is known.
func (l *lexicon) family(stem string) []float32 {
	words := l.families[stem]
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

// vector returns what a form counts with, nil when nothing is known of it.
func (l *lexicon) vector(form string) []float32 { return l.heavy(form).vector }

func (l *lexicon) heavy(form string) heavy {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, ok := l.known[form]; ok {
		return v
	}
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	v := heavy{vector: l.compute(form)}
	v.length = length(v.vector)
	l.known[form] = v
	return v
}

func (l *lexicon) compute(form string) []float32 {
	own, scale, ok := l.table.Word(form)
	kin := l.family(stemOf(form))
	if !ok {
		return kin
	}
	v := make([]float32, len(own))
	wordvec.AddInt8(v, own, scale)
	if kin != nil {
		wordvec.Add(v, kin, kinship)
	}
	return v
}

// A meaning is a unit vector in whole numbers and what to multiply them by; the
// zero meaning is of a text of which nothing is known.
type meaning struct {
	vector   []int8
	scale    float32
	doubtful bool // see meanings
}

// newMeaning makes a meaning of a sum of vectors, which it changes.
func newMeaning(sum []float32) meaning {
	wordvec.Normalize(sum)
	m := meaning{}
	m.vector, m.scale = wordvec.Quantize(sum)
	return m
}

// of returns the meaning of the words of a wish, given by their forms. A wish has
// few words, and the heaviest would drown the others: each counts with its weight
// to the power of ¾.
func (l *lexicon) of(forms []string) meaning {
	sum := make([]float32, l.table.Dim())
	for _, form := range forms {
		v := l.heavy(form)
		if v.length == 0 {
			continue
		}
		lighter := 1 / float32(math.Sqrt(math.Sqrt(float64(v.length))))
		wordvec.Add(sum, v.vector, lighter)
	}
	return newMeaning(sum)
}

// cosine of two meanings, 0 when one of them is unknown.
func (m meaning) cosine(o meaning) float32 {
	return float32(wordvec.DotInt8(m.vector, o.vector)) * m.scale * o.scale
}

// A code has the signs of a vector's numbers. Vectors that lie near each other
// differ in few of them, and a hundred codes are compared in the time of one
// cosine: that is how candidates are found among all entries.
type code [codeBits / 64]uint64

// A code has room for codeBits signs, of a longer vector the first.
const codeBits = 256

func codeOf(vector []int8) code {
	var c code
	for i, x := range vector[:min(codeBits, len(vector))] {
		if x > 0 {
			c[i/64] |= 1 << (i % 64)
		}
	}
	return c
}

// distance counts the signs in which two codes differ.
func (c *code) distance(o *code) int {
	return bits.OnesCount64(c[0]^o[0]) + bits.OnesCount64(c[1]^o[1]) + bits.OnesCount64(c[2]^o[2]) + bits.OnesCount64(c[3]^o[3])
}

// meanings are those of all entries of a segment.
type meanings struct {
	dim     int
	vectors []int8
	scales  []float32 // 0: nothing is known
	cells   cellIndex
	// doubtful are the operations whose name and intent have nothing in common,
	// as those of a borrowed name have.
	doubtful bitset
}

func (m *meanings) at(number uint32) meaning {
	from := int(number) * m.dim
	return meaning{m.vectors[from : from+m.dim], m.scales[number], m.doubtful.has(number)}
}

func (m *meanings) set(number uint32, v meaning) {
	copy(m.vectors[int(number)*m.dim:], v.vector)
	m.scales[number] = v.scale
	if v.doubtful {
		m.doubtful.add(number)
	}
}

// vocabulary tells the forms in which a stem occurs in a segment. Stems that
// occur as themselves only are left out.
type vocabulary map[string][]string

// forms returns the forms of a stem.
func (v vocabulary) forms(stem string) []string {
	if forms, ok := v[stem]; ok {
		return forms
	}
	return []string{stem}
}

// A use is a word of an entry and how much it counts there.
type use struct {
	word   uint32 // its place among the vectors of a reading
	field  field
	weight float32
}

// readMeanings derives the meanings of a segment's entries and its vocabulary.
// What old has of the same document versions is taken over.
func readMeanings(s *scorch.SegmentSnapshot, e *segmentEntries, l *lexicon, old func(source, string) *oldMeanings) (*meanings, vocabulary, error) {
	n := len(e.numbers)
	m := &meanings{dim: l.table.Dim(), vectors: make([]int8, n*l.table.Dim()), scales: make([]float32, n), doubtful: newBitset(n)}
	wanted := newBitset(n)
	for i := range e.runs {
		r := &e.runs[i]
		if from := old(r.source, r.print); from != nil && from.fits(r) {
			from.copyTo(m, r.from)
			continue
		}
		wanted.addRange(r.from, r.end)
	}
	missing := wanted.count() > 0
	words, forms := make(map[string]uint32), make(vocabulary)
	var vectors [][]float32
	var uses [][]use
	if missing {
		uses = make([][]use, n)
	}
	for f := range numFields {
		weight := float32(ownWords)
		if f == ctxField {
			weight = contextWords
		}
		err := eachTerm(s, f.String(), func(dictionary segment.TermDictionary, form string) error {
			forms.add(form)
			if !missing {
				return nil
			}
			at, met := words[form]
			if !met {
				v := l.vector(form)
				if v == nil {
					return nil
				}
				at = uint32(len(vectors))
				words[form] = at
				vectors = append(vectors, v)
			}
			return e.eachPosting(s, dictionary, form, true, func(number uint32, count, _ int) {
				if wanted.has(number) {
					uses[number] = append(uses[number], use{at, f, weight * float32(min(count, maxCount))})
				}
			})
		})
		if err != nil {
			return nil, nil, err
		}
	}
	forms.settle()
	if missing {
		m.compute(e, wanted, vectors, uses)
	}
	m.cells = newCellIndex(l.centres, m, e.operations)
	return m, forms, nil
}

// add notes a form.
func (v vocabulary) add(form string) {
	stem := stemOf(form)
	if forms := v[stem]; !slices.Contains(forms, form) {
		v[stem] = append(forms, form)
	}
}

// settle puts the forms in order and drops what forms says without being told.
func (v vocabulary) settle() {
	for stem, forms := range v {
		if len(forms) == 1 && forms[0] == stem {
			delete(v, stem)
			continue
		}
		slices.Sort(forms)
	}
}

// compute adds up the words of the wanted entries. The words of a service count
// in each of its operations, too.
func (m *meanings) compute(e *segmentEntries, wanted bitset, vectors [][]float32, uses [][]use) {
	var sums [numFields][]float32
	for f := range sums {
		sums[f] = make([]float32, m.dim)
	}
	ofService := make([]float32, m.dim)
	add := func(to []float32, u use) { wordvec.Add(to, vectors[u.word], u.weight) }
	for _, r := range e.runs {
		if r.from == r.end || !wanted.has(r.from) {
			continue
		}
		clear(ofService)
		for number := r.to; number < r.end; number++ {
			if e.services.has(number) {
				for _, u := range uses[number] {
					add(ofService, u)
				}
			}
		}
		for number := r.from; number < r.end; number++ {
			for f := range sums {
				clear(sums[f])
			}
			for _, u := range uses[number] {
				add(sums[u.field], u)
			}
			doubtful := apart(sums[actField], sums[whatField])
			own, context := sums[actField], sums[ctxField]
			for f := range sums {
				if field(f) != actField && field(f) != ctxField {
					wordvec.Add(own, sums[f], 1)
				}
			}
			if e.operations.has(number) {
				wordvec.Add(context, ofService, 1)
			}
			shorten(context, mostContext*length(own))
			wordvec.Add(own, context, 1)
			v := newMeaning(own)
			v.doubtful = doubtful
			m.set(number, v)
		}
	}
}

func length(v []float32) float32 { return float32(math.Sqrt(float64(wordvec.Dot(v, v)))) }

// shorten makes v no longer than most, unless that is nothing.
func shorten(v []float32, most float32) {
	long := length(v)
	if most == 0 || long <= most {
		return
	}
	for i := range v {
		v[i] *= most / long
	}
}

// leastKinship is how near the meanings of an operation's name and intent must be:
// names of brands lie anywhere, so only those that point away are doubted.
const leastKinship = 0

// apart reports whether two sums of vectors, of which something is known, have
// nothing in common.
func apart(a, b []float32) bool {
	lengths := wordvec.Dot(a, a) * wordvec.Dot(b, b)
	return lengths > 0 && float64(wordvec.Dot(a, b)) < leastKinship*math.Sqrt(float64(lengths))
}

// oldMeanings are those of one document version in a segment that another has
// taken the place of.
type oldMeanings struct {
	segment *segmentData
	run     *run
}

func (o *oldMeanings) fits(r *run) bool {
	return o.run.end-o.run.from == r.end-r.from && o.run.to-o.run.from == r.to-r.from
}

// copyTo takes the meanings over, in order.
func (o *oldMeanings) copyTo(m *meanings, to uint32) {
	for number := o.run.from; number < o.run.end; number++ {
		m.set(to+number-o.run.from, o.segment.meanings.at(number))
	}
}

// find returns the run of one version of a document, nil when there is none.
func (e *segmentEntries) find(s source, print string) *run {
	at, ok := slices.BinarySearchFunc(e.runs, s, func(r run, s source) int {
		return cmp.Or(compareSources(r.source, s), cmp.Compare(r.print, print))
	})
	if !ok {
		return nil
	}
	return &e.runs[at]
}
