package semantic

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

const (
	// numClusters is how many cells there are: of a million operations one has some
	// four thousand.
	numClusters = 256
	// clusterRounds is how often the centres are moved to the middle of their texts.
	clusterRounds = 4
	// clusterCandidates is how many centres are tried that seem nearest by their codes.
	clusterCandidates = 8
)

// A centre is the middle of a cell.
type Centroid struct {
	Embedding
	code SignCode
}

func newCentroid(sum []float32) Centroid {
	m := NewEmbedding(sum)
	return Centroid{m, SignCodeOf(m.Vector)}
}

// computeCentroids returns those of cells. Real texts of operations are gathered around
// the nearest centre, which moves to the middle of them, and again. Words alone
// would not do: their sums all lie to one side of them.
func (l *Lexicon) computeCentroids() []Centroid {
	var texts []Centroid
	for _, text := range wordvec.Samples() {
		if m := l.EmbedForms(strings.Fields(text), nil); m.Scale > 0 {
			texts = append(texts, Centroid{m, SignCodeOf(m.Vector)})
		}
	}
	centres := make([]Centroid, min(numClusters, len(texts)))
	for i := range centres {
		centres[i] = texts[i*len(texts)/len(centres)]
	}
	for range clusterRounds {
		sums := make([][]float32, len(centres))
		for i := range texts {
			at := NearestCentroid(centres, &texts[i].Embedding, &texts[i].code)
			if sums[at] == nil {
				sums[at] = make([]float32, l.Table.Dim())
			}
			for k, x := range texts[i].Vector {
				sums[at][k] += texts[i].Scale * float32(x)
			}
		}
		for i, sum := range sums {
			if sum != nil {
				centres[i] = newCentroid(sum)
			}
		}
	}
	return centres
}

// NearestCentroid returns the place of the centre nearest to a meaning, of those
// whose codes are.
func NearestCentroid(centres []Centroid, m *Embedding, c *SignCode) int {
	var tries [clusterCandidates]struct{ at, distance int }
	n := 0
	for i := range centres {
		d := centres[i].code.Distance(c)
		if n == clusterCandidates && d >= tries[n-1].distance {
			continue
		}
		if n < clusterCandidates {
			n++
		}
		k := n - 1
		for ; k > 0 && tries[k-1].distance > d; k-- {
			tries[k] = tries[k-1]
		}
		tries[k].at, tries[k].distance = i, d
	}
	best, most := 0, float32(-2)
	for _, t := range tries[:n] {
		if cosine := centres[t.at].Cosine(*m); cosine > most {
			best, most = t.at, cosine
		}
	}
	return best
}

// ClustersByDistance returns the places of the centres, those nearest to m first.
func ClustersByDistance(centres []Centroid, m Embedding) []uint64 {
	order := make([]uint64, len(centres))
	for i := range centres {
		// The bits of positive numbers are in the order of the numbers, so that whole
		// numbers can be sorted: less is nearer, and of the same the first.
		order[i] = uint64(math.Float32bits(2-centres[i].Cosine(m)))<<32 | uint64(i)
	}
	slices.Sort(order)
	for i := range order {
		order[i] &= math.MaxUint32
	}
	return order
}

// The weights with which the words of a field count in a meaning.
// stemGroupWeight is how much all forms of a word's stem count beside the word itself: the table
// knows few of the rarer forms well.
const stemGroupWeight = 0.5

// A lexicon gives each form of a word the vector that it counts with. It belongs
// to one index and may be used by many goroutines at once.
type Lexicon struct {
	Table      *wordvec.Table
	stemGroups map[string][]string // by stem: its forms, sorted
	Centroids  []Centroid          // of the cells

	mu      sync.Mutex // guards following
	vectors map[string]WordVector
}

// A heavy vector is one with its length.
type WordVector struct {
	Vector []float32
	Length float32
}

// EmbeddedLexicon is that of the table which comes with the program.
var EmbeddedLexicon = sync.OnceValue(func() *Lexicon { return NewLexicon(wordvec.Embedded()) })

// maxCachedVectors bounds the words whose vectors are kept ready, some 35 MB.
const maxCachedVectors = 1 << 15

func NewLexicon(t *wordvec.Table) *Lexicon {
	l := &Lexicon{Table: t, stemGroups: make(map[string][]string, t.Len()), vectors: make(map[string]WordVector)}
	for w := range t.Unsorted() {
		stem := tokens.StemOf(w)
		l.stemGroups[stem] = append(l.stemGroups[stem], w)
	}
	for _, words := range l.stemGroups {
		slices.Sort(words)
	}
	l.Centroids = l.computeCentroids()
	return l
}

// stemGroupMean returns the mean vector of a stem's forms, nil when none is known.
func (l *Lexicon) stemGroupMean(stem string) []float32 {
	words := l.stemGroups[stem]
	if len(words) == 0 {
		return nil
	}
	mean := make([]float32, l.Table.Dim())
	weights := float32(0)
	// In sorted order, because the order in which numbers are added up shows in
	// their last digits.
	for _, w := range words {
		v, scale, _ := l.Table.Word(w)
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

// FormVector returns what a form counts with, nil when nothing is known of it.
func (l *Lexicon) FormVector(form string) []float32 { return l.WordVector(form).Vector }

// KnowsStem reports whether the table has a word with that stem.
func (l *Lexicon) KnowsStem(stem string) bool { return len(l.stemGroups[stem]) > 0 }

// WordVector returns the vector that a form counts with; its length is 0 when nothing is known of it.
func (l *Lexicon) WordVector(form string) WordVector {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, ok := l.vectors[form]; ok {
		return v
	}
	if len(l.vectors) >= maxCachedVectors {
		clear(l.vectors)
	}
	v := WordVector{Vector: l.computeVector(form)}
	v.Length = VectorLength(v.Vector)
	l.vectors[form] = v
	return v
}

func (l *Lexicon) computeVector(form string) []float32 {
	own, scale, ok := l.Table.Word(form)
	kin := l.stemGroupMean(tokens.StemOf(form))
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
type Embedding struct {
	Vector   []int8
	Scale    float32
	Doubtful bool // see meanings
}

// NewEmbedding makes a meaning of a sum of vectors, which it changes.
func NewEmbedding(sum []float32) Embedding {
	wordvec.Normalize(sum)
	m := Embedding{}
	m.Vector, m.Scale = wordvec.Quantize(sum)
	return m
}

// EmbedForms returns the meaning of the words of a wish, given by their forms. A wish has
// few words, and the heaviest would drown the others: each counts with its weight
// to the power of ¾.
func (l *Lexicon) EmbedForms(forms []string, weights []float32) Embedding {
	sum := make([]float32, l.Table.Dim())
	for i, form := range forms {
		v := l.WordVector(form)
		if v.Length == 0 {
			continue
		}
		lighter := 1 / float32(math.Sqrt(math.Sqrt(float64(v.Length))))
		if weights != nil {
			lighter *= weights[i]
		}
		wordvec.Add(sum, v.Vector, lighter)
	}
	return NewEmbedding(sum)
}

// Cosine of two meanings, 0 when one of them is unknown.
func (m Embedding) Cosine(o Embedding) float32 {
	return float32(wordvec.DotInt8(m.Vector, o.Vector)) * m.Scale * o.Scale
}

// A code has the signs of a vector's numbers. Vectors that lie near each other
// differ in few of them, and a hundred codes are compared in the time of one
// cosine: that is how candidates are found among all entries.
type SignCode [codeBits / 64]uint64

// A code has room for codeBits signs, of a longer vector the first.
const codeBits = 256

func SignCodeOf(vector []int8) SignCode {
	var c SignCode
	for i, x := range vector[:min(codeBits, len(vector))] {
		if x > 0 {
			c[i/64] |= 1 << (i % 64)
		}
	}
	return c
}

// Distance counts the signs in which two codes differ.
func (c *SignCode) Distance(o *SignCode) int {
	return bits.OnesCount64(c[0]^o[0]) + bits.OnesCount64(c[1]^o[1]) + bits.OnesCount64(c[2]^o[2]) + bits.OnesCount64(c[3]^o[3])
}

func VectorLength(v []float32) float32 { return float32(math.Sqrt(float64(wordvec.Dot(v, v)))) }

// LimitLength makes v no longer than most, unless that is nothing.
func LimitLength(v []float32, most float32) {
	long := VectorLength(v)
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

// PointApart reports whether two sums of vectors, of which something is known, have
// nothing in common.
func PointApart(a, b []float32) bool {
	lengths := wordvec.Dot(a, a) * wordvec.Dot(b, b)
	return lengths > 0 && float64(wordvec.Dot(a, b)) < minNameIntentCosine*math.Sqrt(float64(lengths))
}
