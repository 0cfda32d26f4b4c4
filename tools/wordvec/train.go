package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
)

// options of a training. The zero value is not useful: see defaults.
type options struct {
	words   int // English ones that get a vector
	dim     int // numbers of a vector in the end, and while it is learned
	learned int
	batch   int
	epochs  int
	rate    float32 // of Adam at the beginning; it falls to nothing in a straight line
	// The requests of people are among the examples so often. Then the training goes on with them
	// alone: so many epochs, at this rate and temperature.
	requestRepeats                int
	finishEpochs                  int
	finishRate, finishTemperature float32
	// For each there is a training; squeeze.go makes one table of them all. A low
	// one looks at the nearest wrong texts, a high one at all of them.
	temperatures []float32
	drop         float32 // the most that is dropped of a text's words
	framed       float32 // how often a text is put as a person asks
	sentences    int     // how many are taught, and how often each
	repeats      int
	seed         uint64
	workers      int // how many goroutines calculate; the result is the same with any number
}

var defaults = options{
	words: 24_000, dim: 256, learned: 300, batch: 256, epochs: 2, rate: 2e-3, temperatures: []float32{.13},
	drop: .3, framed: .4, sentences: 32_000, repeats: 12, seed: 1, workers: 2,
	requestRepeats: 3, finishEpochs: 20, finishRate: 1e-3, finishTemperature: .1,
}

// A model is a bag of words: a text is the sum of its words' vectors, each times
// its word's weight.
type model struct {
	options
	temperature float32

	vectors []float32 // a row a word
	weights []float32

	// Adam's two means of the gradients, and how often a word was seen.
	v1, v2 []float32
	w1, w2 []float32
	seen   []int32

	frames [][]int32 // words that people put around a wish
}

// newModel starts with the given vectors, a row a word, which it changes, and
// weights that fall with how frequent a word is.
func newModel(v *vocabulary, vectors []float32, temperature float32, o options) *model {
	n := len(v.words)
	m := &model{
		options: o, temperature: temperature,
		vectors: vectors, v1: make([]float32, n*o.learned), v2: make([]float32, n*o.learned),
		weights: make([]float32, n), w1: make([]float32, n), w2: make([]float32, n),
		seen: make([]int32, n),
	}
	for i, share := range v.share {
		m.weights[i] = 1e-3 / (1e-3 + share)
	}
	return m
}

// A side is one of the two texts of every example in a batch.
type side struct {
	words  [][]int32
	sums   []float32 // unit length, a row a text
	length []float32 // before that
	grad   []float32
}

// train runs through all examples, epochs times, in an order of r.
func (m *model) train(examples []example, r *rand.Rand, log io.Writer) {
	order := make([]int, len(examples))
	for i := range order {
		order[i] = i
	}
	steps := m.epochs * (len(order) / m.batch)
	step := 0
	for epoch := range m.epochs {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var loss float64
		batches := 0
		for chosen := range slices.Chunk(order, m.batch) {
			if len(chosen) < m.batch {
				break // too few to be held against each other
			}
			rate := m.rate * float32(steps-step) / float32(steps)
			loss += float64(m.step(examples, chosen, rate, r))
			step++
			batches++
		}
		fmt.Fprintf(log, "temperature %v, epoch %d: loss %.4f\n", m.temperature, epoch+1, loss/float64(max(batches, 1)))
	}
}

// finish goes on with the requests of people alone. Among all examples they are few, and the texts of
// dictionaries that they are held against there are easily told apart from them.
func (m *model) finish(requests []example, r *rand.Rand, log io.Writer) {
	m.epochs, m.rate, m.temperature = m.finishEpochs, m.finishRate, m.finishTemperature
	for _, means := range [][]float32{m.v1, m.v2, m.w1, m.w2} {
		clear(means)
	}
	clear(m.seen)
	m.train(requests, r, log)
}

// step learns from one batch: the two texts of an example must be nearer to
// each other than to the texts of the other examples (InfoNCE, both ways).
func (m *model) step(examples []example, chosen []int, rate float32, r *rand.Rand) float32 {
	var left, right side
	for _, i := range chosen {
		left.words = append(left.words, m.ask(m.draw(examples[i].left, r), examples[i].asked, r))
		right.words = append(right.words, m.draw(examples[i].right, r))
	}
	n := len(chosen)
	m.embed(&left)
	m.embed(&right)
	s := make([]float32, n*n)
	m.each(n, func(from, to int) {
		products(s[from*n:to*n], left.sums[from*m.learned:to*m.learned], right.sums, m.learned)
	})
	for i, a := range chosen {
		for j, b := range chosen {
			if i != j && examples[a].group == examples[b].group {
				s[i*n+j] = -1e4
			}
		}
	}
	g := make([]float32, n*n)
	loss := m.blame(g, s, n)
	t := make([]float32, n*n)
	m.each(n, func(from, to int) {
		for i := from; i < to; i++ {
			for j := range n {
				t[i*n+j] = g[j*n+i]
			}
		}
	})
	left.grad, right.grad = make([]float32, n*m.learned), make([]float32, n*m.learned)
	small := float32(1e-3) / float32(n)
	m.each(n, func(from, to int) {
		spread(left.grad[from*m.learned:to*m.learned], g[from*n:to*n], right.sums, m.learned, small)
		spread(right.grad[from*m.learned:to*m.learned], t[from*n:to*n], left.sums, m.learned, small)
	})
	m.learn(rate, &left, &right)
	return loss
}

// ask puts a text as a person asks, now and then: with words around it that say
// nothing about what is wanted, so that these get little weight.
func (m *model) ask(words []int32, asked bool, r *rand.Rand) []int32 {
	if !asked || len(m.frames) == 0 || r.Float32() >= m.framed {
		return words
	}
	return slices.Concat(words, m.frames[r.IntN(len(m.frames))])
}

// draw takes parts of a text and drops some of their words.
func (m *model) draw(parts []part, r *rand.Rand) []int32 {
	drop := float32(m.drop * r.Float32())
	var out, all []int32
	for _, p := range parts {
		if p.keep < 1 && r.Float32() >= p.keep {
			continue
		}
		for _, w := range p.words {
			all = append(all, w)
			if r.Float32() >= drop {
				out = append(out, w)
			}
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(all) > 0:
		return all
	}
	return parts[0].words
}

// embed sums up the words of every text.
func (m *model) embed(s *side) {
	n := len(s.words)
	s.sums, s.length = make([]float32, n*m.learned), make([]float32, n)
	m.each(n, func(from, to int) {
		for i := from; i < to; i++ {
			sum := s.sums[i*m.learned : (i+1)*m.learned]
			for _, w := range s.words[i] {
				addScaled(sum, m.vector(w), m.weights[w])
			}
			s.length[i] = sqrt(dot(sum, sum)) + 1e-6
			inverse := 1 / s.length[i]
			for k := range sum {
				sum[k] *= inverse
			}
		}
	})
}

func (m *model) vector(w int32) []float32 { return m.vectors[int(w)*m.learned : int(w+1)*m.learned] }

// blame writes to g how much each similarity of s adds to the loss, and returns
// the loss.
func (m *model) blame(g, s []float32, n int) float32 {
	losses := make([]float32, 2*n)
	// Rows: from left to right. Columns: from right to left.
	column := make([]float32, n*n)
	m.each(n, func(from, to int) {
		line := make([]float32, n)
		for i := from; i < to; i++ {
			losses[i] = m.softmax(g[i*n:(i+1)*n], s[i*n:(i+1)*n], i)
			for j := range n {
				line[j] = s[j*n+i]
			}
			losses[n+i] = m.softmax(column[i*n:(i+1)*n], line, i)
		}
	})
	factor := 1 / (2 * m.temperature * float32(n))
	m.each(n, func(from, to int) {
		for i := from; i < to; i++ {
			for j := range n {
				g[i*n+j] = (g[i*n+j] + column[j*n+i]) * factor
			}
		}
	})
	var loss float32
	for _, l := range losses {
		loss += l
	}
	return loss / float32(2*n)
}

// softmax writes to p the chance of each similarity, less 1 for the right one.
// It returns one less the chance of the right one, which serves as the loss.
func (m *model) softmax(p, s []float32, right int) float32 {
	most := slices.Max(s)
	var sum float32
	for j, x := range s {
		p[j] = exp((x - most) / m.temperature)
		sum += p[j]
	}
	inverse := 1 / sum
	for j := range p {
		p[j] *= inverse
	}
	p[right] -= 1
	return -p[right]
}

// learn changes the words of a batch by Adam's rule.
func (m *model) learn(rate float32, sides ...*side) {
	// The gradient of a sum, taken back through making it unit length.
	type use struct {
		grad   []float32
		factor float32
	}
	uses := map[int32][]use{}
	var words []int32
	for _, s := range sides {
		for i, text := range s.words {
			sum, grad := s.sums[i*m.learned:(i+1)*m.learned], s.grad[i*m.learned:(i+1)*m.learned]
			addScaled(grad, sum, -dot(sum, grad))
			for _, w := range text {
				if uses[w] == nil {
					words = append(words, w)
				}
				uses[w] = append(uses[w], use{grad, 1 / s.length[i]})
			}
		}
	}
	m.each(len(words), func(from, to int) {
		grad := make([]float32, m.learned)
		for _, w := range words[from:to] {
			clear(grad)
			for _, u := range uses[w] {
				addScaled(grad, u.grad, u.factor)
			}
			m.adam(w, grad, rate)
		}
	})
}

const (
	beta1 = .9
	beta2 = .999
)

// adam changes one word, given the gradient of weight times vector.
func (m *model) adam(w int32, grad []float32, rate float32) {
	m.seen[w]++
	// The means start at zero; that is made up for while a word is new.
	c1, c2 := 1-power(beta1, m.seen[w]), 1-power(beta2, m.seen[w])
	v := m.vector(w)
	gw := dot(grad, v)
	weight := m.weights[w]
	from := int(w) * m.learned
	v1, v2 := m.v1[from:from+m.learned], m.v2[from:from+m.learned]
	for k, g := range grad {
		g *= weight
		v1[k] = float32(beta1*v1[k]) + float32((1-beta1)*g)
		v2[k] = float32(beta2*v2[k]) + float32((1-beta2)*float32(g*g))
		v[k] -= float32(rate * (v1[k] / c1) / (sqrt(v2[k]/c2) + 1e-8))
	}
	m.w1[w] = float32(beta1*m.w1[w]) + float32((1-beta1)*gw)
	m.w2[w] = float32(beta2*m.w2[w]) + float32((1-beta2)*float32(gw*gw))
	m.weights[w] -= float32(rate * 4 * (m.w1[w] / c1) / (sqrt(m.w2[w]/c2) + 1e-8))
	m.weights[w] = max(m.weights[w], 0)
}

func power(x float32, n int32) float32 {
	p := float32(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// each calls f for parts of 0 to n on several goroutines.
func (m *model) each(n int, f func(from, to int)) {
	var wg sync.WaitGroup
	size := (n + m.workers - 1) / m.workers
	for from := 0; from < n; from += size {
		wg.Go(func() { f(from, min(from+size, n)) })
	}
	wg.Wait()
}

// rows returns the vectors that a search sums up.
func (m *model) rows(v *vocabulary) []row {
	out := make([]row, len(v.words))
	for i, w := range v.words {
		vector := slices.Clone(m.vector(int32(i)))
		for k := range vector {
			vector[k] *= m.weights[i]
		}
		out[i] = row{w, vector, v.share[i]}
	}
	return out
}
