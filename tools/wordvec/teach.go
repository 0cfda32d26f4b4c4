package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// What the encoder says of whole sentences is taught to words.
const (
	taughtDim     = 200 // numbers of a word, of the sentences' main directions
	taughtFactor  = .7  // how much they count beside those of a training
	taughtRate    = 2e-3
	taughtBatch   = 512
	longestTaught = 12 // words of a sentence: longer ones cost more and tell less of a word
)

// taught returns vectors of words whose weighted sums lie as the encoder lays whole
// sentences. They begin with what the encoder says of each word alone.
func taught(v *vocabulary, e *encoder, alone []float32, raw []rawExample, o options, log io.Writer) []row {
	r := rand.New(rand.NewPCG(o.seed, 6))
	sentences := sentencesOf(raw, r, o.sentences)
	want := e.texts(sentences, o.workers)
	start := slices.Clone(alone)
	dim := min(taughtDim, e.dim)
	mean := meanRow(want, e.dim)
	addToRows(want, mean, -1)
	addToRows(start, mean, -1)
	basis := directions(want, e.dim, dim, nil, o.seed)
	want, start = along(want, basis, dim), along(start, basis, dim)
	soften(want, start, dim)
	o.learned = dim
	m := newModel(v, start, 0, o)
	texts := make([][]int32, len(sentences))
	var order []int
	for i, s := range sentences {
		if texts[i] = v.numbers(strings.Fields(s)); len(texts[i]) > 0 {
			order = append(order, i)
		}
	}
	batch := min(taughtBatch, len(order))
	steps := o.repeats * (len(order) / batch)
	step := 0
	for repeat := range o.repeats {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var near float32
		batches := 0
		for chosen := range slices.Chunk(order, batch) {
			if len(chosen) < batch {
				break
			}
			near += m.follow(texts, want, chosen, taughtRate*float32(steps-step)/float32(steps))
			step++
			batches++
		}
		fmt.Fprintf(log, "taught %d sentences, time %d: cosine %.4f\n", len(order), repeat+1, near/float32(batches))
	}
	return m.rows(v)
}

// sentencesOf returns sentences of the examples, each once, by lot, most at most.
func sentencesOf(raw []rawExample, r *rand.Rand, most int) []string {
	seen := map[string]bool{}
	var out []string
	for _, e := range raw {
		words := e.left[0].words
		if !e.asked || len(words) < 2 || len(words) > longestTaught {
			continue
		}
		if s := strings.Join(words, " "); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(most, len(out))]
}

// soften divides what two matrices have along each direction by the root of its
// deviation in the first, so that the strong ones do not outshout the others, and
// makes their rows unit length.
func soften(x, y []float32, dim int) {
	squares := make([]float32, dim)
	for row := range slices.Chunk(x, dim) {
		for k, z := range row {
			squares[k] += float32(z * z)
		}
	}
	for _, m := range [][]float32{x, y} {
		for row := range slices.Chunk(m, dim) {
			for k := range row {
				row[k] /= sqrt(sqrt(squares[k]/float32(len(x)/dim))) + 1e-6
			}
		}
		unitRows(m, dim)
	}
}

// follow moves the words of the chosen texts so that these come nearer to where
// they are wanted, and returns their mean cosine before.
func (m *model) follow(texts [][]int32, want []float32, chosen []int, rate float32) float32 {
	s := side{grad: make([]float32, len(chosen)*m.learned)}
	for _, i := range chosen {
		s.words = append(s.words, texts[i])
	}
	m.embed(&s)
	var near float32
	for at, i := range chosen {
		from, to := at*m.learned, (at+1)*m.learned
		target := want[i*m.learned : (i+1)*m.learned]
		near += dot(s.sums[from:to], target)
		addScaled(s.grad[from:to], target, -10/float32(len(chosen)))
	}
	m.learn(rate, &s)
	return near / float32(len(chosen))
}
