package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/index/wordvec"

	"gazetteer/internal/fakenet/corpus"
)

func TestWordsOf(t *testing.T) {
	for text, want := range map[string]string{
		"Returns the user's orders.":     "returns the user orders",
		"getUserIDs":                     "get user ids",
		"HTTPServer/v2/users/{user_id}":  "http server v users user id",
		"listAPIsOf":                     "list apis of",
		"don’t":                          "don",
		"Prüfung 42 날씨":                  "",
		strings.Repeat("x", 25) + " pay": "pay",
		"":                               "",
	} {
		if got := strings.Join(wordsOf(text), " "); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestParseSynset(t *testing.T) {
	s, err := parseSynset(`02460619 41 v 02 book 0 hold(ip) 1 004 @ 02461314 v 0000 + 00809465 n 0201 ! 00000001 v 0101 @i 00000002 v 0000 01 + 08 00 | arrange for in advance; "reserve me a seat"; "book tickets"  `)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.id != "v02460619":
		t.Errorf("%+v", s)
	case !slices.Equal(s.lemmas, []string{"book", "hold"}) || s.gloss != "arrange for in advance":
		t.Errorf("%q %q", s.lemmas, s.gloss)
	case !slices.Equal(s.above, []string{"v02461314", "v00000002"}) || len(s.derived) != 1 || s.derived[0] != (derivation{2, 1, "n00809465"}):
		t.Errorf("%q %v", s.above, s.derived)
	}
	for _, line := range []string{"", "1 2 v", "1 2 v zz a 0 000 | a", "1 2 v 05 a 0 000 | a", "1 2 v 01 a 0 009 @ | a"} {
		if _, err := parseSynset(line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

func TestParaphrases(t *testing.T) {
	services := []corpus.Service{
		{ID: "a", Name: "Acme", Provider: "acme.com", Operations: []corpus.Operation{
			{ID: "createAcmeCustomers", Verb: "CREATE", Intent: "Creates a new customer"},
			{ID: "customer_create", Verb: "CREATE", Intent: "Makes one more customer"},
			{ID: "ping", Verb: "PING", Intent: "Says that it is there"},
		}},
		{ID: "b", Name: "Shop", Provider: "shop.com", Operations: []corpus.Operation{{ID: "create_a_customer", Verb: "CREATE", Intent: "Add a buyer"}}},
	}
	got := paraphrases(services, 1)
	if len(got) == 0 {
		t.Fatal("none")
	}
	for _, e := range got {
		left, right := strings.Join(e.left[0].words, " "), strings.Join(e.right[0].words, " ")
		if (left == "add a buyer") == (right == "add a buyer") {
			t.Errorf("%q and %q: not of two providers", left, right)
		}
	}
}

func TestArithmetic(t *testing.T) {
	for x := float32(0); x > -80; x -= .37 {
		if got, want := float64(exp(x)), math.Exp(float64(x)); math.Abs(got-want) > 1e-6*want {
			t.Fatalf("exp(%v) is %v, want %v", x, got, want)
		}
	}
	if exp(-1e4) != 0 || exp(0) != 1 {
		t.Errorf("exp(-10000) is %v, exp(0) is %v", exp(-1e4), exp(0))
	}
	for x := float32(1); x < 1e6; x *= 1.7 {
		if got, want := float64(logarithm(x)), math.Log(float64(x)); math.Abs(got-want) > 1e-3 {
			t.Fatalf("logarithm(%v) is %v, want %v", x, got, want)
		}
	}
	a, b := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []float32{1, 0, -1, 2, 0, 1, 3, 1, 1, 1}
	s := make([]float32, 25)
	products(s, a, b, 2)
	for i := range 5 {
		for j := range 5 {
			if want := a[2*i]*b[2*j] + a[2*i+1]*b[2*j+1]; s[5*i+j] != want {
				t.Errorf("product %d, %d is %v, want %v", i, j, s[5*i+j], want)
			}
		}
	}
}

// The gradient must be that of the loss: a step in its direction lowers the
// similarity to wrong texts and raises that to the right one.
func TestBlame(t *testing.T) {
	m := &model{options: options{workers: 2}, temperature: .5}
	s := []float32{.2, .5, -.1, .4, .3, .0, .1, -.2, .9}
	loss := func(s []float32) float64 {
		var sum float64
		for i := range 3 {
			var row, column float64
			for j := range 3 {
				row += math.Exp(float64(s[3*i+j]) / .5)
				column += math.Exp(float64(s[3*j+i]) / .5)
			}
			right := math.Exp(float64(s[4*i]) / .5)
			sum -= math.Log(right/row) + math.Log(right/column)
		}
		return sum / 6
	}
	g := make([]float32, 9)
	m.blame(g, s, 3)
	for i := range s {
		const h = 1e-3
		up, down := slices.Clone(s), slices.Clone(s)
		up[i] += h
		down[i] -= h
		if want := (loss(up) - loss(down)) / (2 * h); math.Abs(float64(g[i])-want) > 1e-3 {
			t.Errorf("gradient %d is %v, want %v", i, g[i], want)
		}
	}
}

// sample writes a dictionary and services of a small world, in which each thing
// has two names and two sentences.
func sample(t *testing.T) sources {
	t.Helper()
	dir := t.TempDir()
	things := []string{"table", "car", "song", "room", "letter", "flight", "doctor", "ticket", "house", "lamp", "map", "price"}
	doings := []string{"book", "cancel", "find", "play", "send", "buy", "rent", "show"}
	var noun, ops strings.Builder
	noun.WriteString("  1 a licence\n")
	for i, w := range things {
		fmt.Fprintf(&noun, "%08d 06 n 02 %s 0 %sette 0 000 | some %s that people have; \"a %s\"\n", i+1, w, w, w, w)
	}
	for i, d := range doings {
		for j, w := range things {
			fmt.Fprintf(&ops, `{"id":"s%d%d","name":"Provider","provider":"p%d.com","description":"Here you may %s any %s at once","ops":[{"id":"%s%s","v":"%s","p":"/%ss","i":"Lets people %s the %s number %d"}]}`+"\n",
				i, j, (i+j)%5, d, w, d, strings.ToUpper(w[:1])+w[1:], strings.ToUpper(d), w, d, w, j)
		}
	}
	for name, text := range map[string]string{
		"data.noun": noun.String(), "data.verb": "", "data.adj": "", "data.adv": "", "services.jsonl": ops.String(),
		"glove.json": smallGloVe(slices.Concat(things, doings)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sources{dir, filepath.Join(dir, "services.jsonl"), smallEncoder(t), filepath.Join(dir, "glove.json")}
}

func trainSample(t *testing.T, seed uint64, workers int) []row {
	t.Helper()
	o := defaults
	o.words, o.dim, o.learned, o.batch, o.epochs, o.seed, o.workers = 200, 16, 12, 32, 30, seed, workers
	o.temperatures = []float32{.1, .15}
	o.rate = .02 // few steps: long ones
	o.repeats = 2
	rows, err := learned(sample(t), lists{requests: "=Book a table\t=table book\tcarette for people\n"}, o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestSameBytesFromTheSameSeed(t *testing.T) {
	var tables [3][]byte
	for i, run := range []struct {
		seed    uint64
		workers int
	}{{1, 1}, {1, 3}, {2, 1}} {
		tables[i] = encode(trainSample(t, run.seed, run.workers))
	}
	if !bytes.Equal(tables[0], tables[1]) {
		t.Error("three workers gave other bytes than one")
	}
	if bytes.Equal(tables[0], tables[2]) {
		t.Error("another seed gave the same bytes: chance is not used")
	}
}

// TestSqueezed checks that of two tables with the same content in other directions, each with its
// own error, the common part is kept.
func TestSqueezed(t *testing.T) {
	const words, dim = 60, 4
	r := rand.New(rand.NewPCG(1, 1))
	truth, tables := make([][]float32, words), make([][]row, 2)
	for w := range truth {
		truth[w] = make([]float32, dim)
		for k := range truth[w] {
			truth[w][k] = r.Float32() - .5
		}
		for i := range tables {
			v := make([]float32, dim)
			for k := range v { // the directions in another order, one turned round
				v[k] = 7*truth[w][(k+i)%dim] + .2*(r.Float32()-.5)
			}
			v[0] *= float32(1 - 2*i)
			tables[i] = append(tables[i], row{fmt.Sprint("word", w), v, .01})
		}
	}
	rows := squeezed(tables, []float32{1, 1}, dim, 1)
	if len(rows) != words || len(rows[0].vector) != dim || rows[3].word != "word3" || rows[3].share != .01 {
		t.Fatalf("%d rows, the fourth %+v", len(rows), rows[3])
	}
	cosine := func(a, b []float32) float32 { return dot(a, b) / sqrt(dot(a, a)*dot(b, b)) }
	for a := range words {
		for b := range a {
			if got, want := cosine(rows[a].vector, rows[b].vector), cosine(truth[a], truth[b]); max(got-want, want-got) > .2 {
				t.Errorf("words %d and %d have the cosine %.2f, want %.2f", a, b, got, want)
			}
		}
	}
}

func TestTrainingSeparatesMeanings(t *testing.T) {
	vectors := map[string][]float32{}
	for _, r := range trainSample(t, 1, 2) {
		vectors[r.word] = r.vector
	}
	text := func(words string) []float32 {
		sum := make([]float32, 16)
		for _, w := range strings.Fields(words) {
			if vectors[w] == nil {
				t.Fatalf("%s has no vector", w)
			}
			addScaled(sum, vectors[w], 1)
		}
		wordvec.Normalize(sum)
		return sum
	}
	for _, c := range []struct{ query, near, far string }{
		{"carette", "car", "song"},
		{"book table", "table book people", "table cancel people"},
		{"play songs", "song play", "lamp buy"},
	} {
		near, far := wordvec.Dot(text(c.query), text(c.near)), wordvec.Dot(text(c.query), text(c.far))
		if near < far+.1 {
			t.Errorf("%q is %.2f near %q and %.2f near %q", c.query, near, c.near, far, c.far)
		}
	}
}

func TestKoreanRows(t *testing.T) {
	english := []row{{word: "flight", vector: []float32{3, 0}}, {word: "ticket", vector: []float32{0, 1}}}
	rows, err := koreanRows("# a remark\n비행,항공편: flight unknown\n비행기표: flight ticket\n비행: ticket\n", english)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float32{}
	for _, r := range rows {
		got[r.word] = r.vector
	}
	if v := got["항공편"]; len(v) != 2 || math.Abs(float64(v[0]-3)) > 1e-5 || v[1] != 0 {
		t.Errorf("항공편 is %v", v)
	}
	if v := got["비행기표"]; len(v) != 2 || math.Abs(float64(dot(v, v)-4)) > 1e-4 { // the mean length is 2
		t.Errorf("비행기표 is %v", v)
	}
	if v := got["비행"]; len(v) != 2 || v[1] <= 0 || math.Abs(float64(dot(v, v)-4)) > 1e-4 { // both meanings
		t.Errorf("비행 is %v", v)
	}
	if v := got["기표"]; len(v) != 2 || math.Abs(float64(dot(v, v)-1)) > 1e-4 { // a pair: half as long
		t.Errorf("기표 is %v", v)
	}
	if len(got) != 7 { // 비행 항공편 비행기표, 행기 기표, 항공 공편
		t.Errorf("%d rows: %v", len(got), got)
	}
	for list, want := range map[string]string{
		"비행 flight\n":     "line 1: no colon",
		"\n비행: unknown\n": "line 2: none of",
		"book: flight\n":  "not written in Hangul",
		"비행,: flight\n":   "not written in Hangul",
	} {
		if _, err := koreanRows(list, english); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", list, err, want)
		}
	}
}

// The processor's own functions give what the plain ones give, bit for bit, for
// vectors of any length.
func TestKernel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 35 {
		v := make([][]float32, 4)
		for i := range v {
			v[i] = make([]float32, n)
			for k := range v[i] {
				v[i][k] = r.Float32() - .5
			}
		}
		a, b, c, d := dots(v[0], v[1], v[2], v[3])
		if want := [4]float32{dot(v[0], v[2]), dot(v[0], v[3]), dot(v[1], v[2]), dot(v[1], v[3])}; [4]float32{a, b, c, d} != want {
			t.Errorf("%d numbers: products %v, want %v", n, [4]float32{a, b, c, d}, want)
		}
		sum := slices.Clone(v[0])
		addScaled(sum, v[1], .3)
		for k := range sum {
			if want := v[0][k] + float32(.3*v[1][k]); sum[k] != want {
				t.Errorf("%d numbers: sum %d is %v, want %v", n, k, sum[k], want)
			}
		}
	}
}
