package semantic

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

// stemGroupWeight is the weight of all forms of a word's stem relative to the word itself: the
// table has poor vectors for rare forms.
const stemGroupWeight = 0.5

// A Lexicon contains the weighted vector of each form of a word. It belongs to one index and may be
// used by many goroutines at once. Its parts are computed at their first use, since most commands
// open an index and compare no words.
type Lexicon struct {
	Table      func() *wordvec.Table
	Checksum   func() uint32               // of the table
	Centroids  func() []Centroid           // of the clusters
	stemGroups func() map[string]stemGroup // by stem

	mu      sync.RWMutex // guards the following fields
	vectors map[string]WordVector
	unlike  map[uint32]*UnlikeWords
}

// A stemGroup has the forms of a stem that the table has, sorted, and the number of the group.
type stemGroup struct {
	number uint32
	forms  []string
}

// A WordVector is a weighted vector with its length. Forms with the same vector have the same number,
// from 1 on.
type WordVector struct {
	Vector []float32
	Length float32
	Number uint32
}

// Cosine returns the cosine of two vectors of known words.
func (v *WordVector) Cosine(o *WordVector) float32 {
	return wordvec.Dot(v.Vector, o.Vector) / (v.Length * o.Length)
}

// MinWordCosine is the minimum cosine of the vectors of two words of similar meaning.
const MinWordCosine = 0.55

// UnlikeWords remembers, for one word, which words are known not to be similar to it. It may be used by
// many goroutines at once.
type UnlikeWords struct{ bits []atomic.Uint64 }

// Has reports whether a word is known not to be similar.
func (u *UnlikeWords) Has(number uint32) bool {
	return u.bits[number/64].Load()&(1<<(number%64)) != 0
}

// Add adds a word whose cosine is at most [MinWordCosine].
func (u *UnlikeWords) Add(number uint32) { u.bits[number/64].Or(1 << (number % 64)) }

// maxUnlike bounds the words with remembered comparisons, about 12 MB.
const maxUnlike = 2048

// UnlikeOf returns what is remembered for the word with a number.
func (l *Lexicon) UnlikeOf(number uint32) *UnlikeWords {
	l.mu.RLock()
	u := l.unlike[number]
	l.mu.RUnlock()
	if u != nil {
		return u
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unlike) >= maxUnlike {
		clear(l.unlike)
	}
	u = &UnlikeWords{make([]atomic.Uint64, (l.Table().Len()+len(l.stemGroups()))/64+1)}
	l.unlike[number] = u
	return u
}

// EmbeddedLexicon returns the lexicon of the built-in table.
var EmbeddedLexicon = sync.OnceValue(func() *Lexicon {
	l := NewLexicon(wordvec.Embedded)
	l.Centroids = sync.OnceValue(embeddedCentroids)
	return l
})

// maxCachedVectors bounds the words with cached vectors, about 35 MB.
const maxCachedVectors = 1 << 15

// NewLexicon returns the lexicon of the table that a function returns, which is called at the first use
// of the table.
func NewLexicon(table func() *wordvec.Table) *Lexicon {
	l := &Lexicon{Table: sync.OnceValue(table), vectors: make(map[string]WordVector), unlike: make(map[uint32]*UnlikeWords)}
	l.Checksum = sync.OnceValue(func() uint32 { return l.Table().Checksum() })
	l.stemGroups = sync.OnceValue(l.groupStems)
	l.Centroids = sync.OnceValue(l.computeCentroids)
	return l
}

// groupStems returns the forms of the table by their stems.
func (l *Lexicon) groupStems() map[string]stemGroup {
	groups := make(map[string]stemGroup, l.Table().Len())
	for w := range l.Table().Unsorted() {
		stem := tokens.StemOf(w)
		group, met := groups[stem]
		if !met {
			group.number = uint32(len(groups))
		}
		group.forms = append(group.forms, w)
		groups[stem] = group
	}
	for _, group := range groups {
		slices.Sort(group.forms)
	}
	return groups
}

// stemGroupMean returns the mean vector of a stem's forms, nil when none is known.
func (l *Lexicon) stemGroupMean(stem string) []float32 {
	words := l.stemGroups()[stem].forms
	if len(words) == 0 {
		return nil
	}
	mean := make([]float32, l.Table().Dim())
	weights := float32(0)
	// Use a sorted order, because the order of additions changes the last digits of the sum.
	for _, w := range words {
		v, scale, _ := l.Table().Word(w)
		// Dividing by the scale gives a frequent word, which has a small scale, more weight: its
		// vector is more reliable.
		weight := 1 / max(scale*scale, math.SmallestNonzeroFloat32)
		wordvec.AddInt8(mean, v, weight*scale)
		weights += weight
	}
	for i := range mean {
		mean[i] /= weights
	}
	return mean
}

// FormVector returns the weighted vector of a form, nil for an unknown form.
func (l *Lexicon) FormVector(form string) []float32 { return l.WordVector(form).Vector }

// KnowsStem reports whether the table has a word with that stem.
func (l *Lexicon) KnowsStem(stem string) bool { return len(l.stemGroups()[stem].forms) > 0 }

// WordVector returns the weighted vector of a form; its length is 0 for an unknown form.
func (l *Lexicon) WordVector(form string) WordVector {
	l.mu.RLock()
	v, ok := l.vectors[form]
	l.mu.RUnlock()
	if ok {
		return v
	}
	v = l.computeVector(form)
	v.Length = VectorLength(v.Vector)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.vectors) >= maxCachedVectors {
		clear(l.vectors)
	}
	l.vectors[form] = v
	return v
}

// computeVector returns the vector of a form without its length.
func (l *Lexicon) computeVector(form string) WordVector {
	own, scale, ok := l.Table().Word(form)
	stem := tokens.StemOf(form)
	kin := l.stemGroupMean(stem)
	if !ok {
		return WordVector{Vector: kin, Number: uint32(l.Table().Len()) + l.stemGroups()[stem].number + 1}
	}
	v := make([]float32, len(own))
	wordvec.AddInt8(v, own, scale)
	if kin != nil {
		wordvec.Add(v, kin, stemGroupWeight)
	}
	return WordVector{Vector: v, Number: l.Table().Number(form)}
}

// An Embedding is a unit vector of integers with a scale. The zero Embedding belongs to a text
// without known words.
type Embedding struct {
	Vector   []int8
	Scale    float32
	Doubtful bool // see SegmentEmbeddings
}

// NewEmbedding converts a sum of vectors to an embedding. It changes the sum.
func NewEmbedding(sum []float32) Embedding {
	wordvec.Normalize(sum)
	m := Embedding{}
	m.Vector, m.Scale = wordvec.Quantize(sum)
	return m
}

// lengthPower is the power of the length of a word's vector by which the word counts less in a clause. A
// clause has few words, and the one with the longest vector would dominate. samplePower is that of the
// samples of the centroids, which are stored.
const (
	lengthPower = 0.35
	samplePower = 0.25
)

// EmbedForms returns the embedding of the words of a clause, given by their forms.
func (l *Lexicon) EmbedForms(forms []string, weights []float32) Embedding {
	return l.embedForms(forms, weights, lengthPower)
}

// embedForms is [Lexicon.EmbedForms] with a power of the lengths.
func (l *Lexicon) embedForms(forms []string, weights []float32, power float64) Embedding {
	sum := make([]float32, l.Table().Dim())
	for i, form := range forms {
		v := l.WordVector(form)
		if v.Length == 0 {
			continue
		}
		lighter := float32(math.Pow(float64(v.Length), -power))
		if weights != nil {
			lighter *= weights[i]
		}
		wordvec.Add(sum, v.Vector, lighter)
	}
	return NewEmbedding(sum)
}

// Cosine returns the cosine of two embeddings, 0 if one of them is zero.
func (m Embedding) Cosine(o Embedding) float32 {
	return float32(wordvec.DotInt8(m.Vector, o.Vector)) * m.Scale * o.Scale
}

// A SignCode contains the signs of a vector's numbers. Near vectors differ in few signs, and a
// hundred codes can be compared in the time of one cosine. The search uses them to find candidates
// among all entries.
type SignCode [codeBits / 64]uint64

// codeBits is the number of signs in a code; of a longer vector the first ones are used.
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

// LimitLength shortens v to the length most, unless most is 0.
func LimitLength(v []float32, most float32) {
	long := VectorLength(v)
	if most == 0 || long <= most {
		return
	}
	for i := range v {
		v[i] *= most / long
	}
}

// minNameIntentCosine is the minimum cosine of the embeddings of an operation's name and intent.
// Vectors of brand names are arbitrary, so only names that point away are doubtful.
const minNameIntentCosine = 0

// AreOrthogonal reports whether two nonzero sums of vectors have nothing in common.
func AreOrthogonal(a, b []float32) bool {
	lengths := wordvec.Dot(a, a) * wordvec.Dot(b, b)
	return lengths > 0 && float64(wordvec.Dot(a, b)) < minNameIntentCosine*math.Sqrt(float64(lengths))
}
