package wordvec

import (
	"testing"
)

// cosine compares two texts, given as their words.
func cosine(t *Table, a, b []string) float32 {
	va, vb := make([]float32, t.Dim()), make([]float32, t.Dim())
	t.Sum(va, a, nil)
	t.Sum(vb, b, nil)
	Normalize(va)
	Normalize(vb)
	return Dot(va, vb)
}

func TestEmbedded(t *testing.T) {
	if len(source) > 7_000_000 {
		t.Errorf("the table takes %d bytes of the program, more than 7 MB", len(source))
	}
	table := Embedded()
	if table != Embedded() {
		t.Error("read twice")
	}
	if table.Dim() < 64 || table.Len() < 10_000 {
		t.Fatalf("%d words of %d numbers", table.Len(), table.Dim())
	}
	// Texts without a word in common, and one that is about something else.
	for _, c := range []struct{ query, near, far []string }{
		{[]string{"hire", "automobile"}, []string{"rent", "car"}, []string{"translate", "text"}},
		{[]string{"pay", "bill"}, []string{"invoice", "payment"}, []string{"weather", "forecast"}},
		{[]string{"find", "doctor"}, []string{"search", "physician"}, []string{"play", "song"}},
		{[]string{"buy", "film", "seats"}, []string{"purchase", "movie", "tickets"}, []string{"upload", "file"}},
		{[]string{"remove", "user"}, []string{"delete", "account"}, []string{"create", "invoice"}},
	} {
		near, far := cosine(table, c.query, c.near), cosine(table, c.query, c.far)
		if near < far+0.2 {
			t.Errorf("%v is %.2f near %v and %.2f near %v", c.query, near, c.near, far, c.far)
		}
	}
}

func TestSum(t *testing.T) {
	table := small(t)
	for _, c := range []struct {
		what    string
		words   []string
		weights []float32
		known   int
		want    []float32
	}{
		{"a word", []string{"a"}, nil, 1, []float32{1, 0}},
		{"two words", []string{"a", "b"}, nil, 2, []float32{1, 2}},
		{"weights", []string{"a", "b"}, []float32{2, -.5}, 2, []float32{2, -1}},
		{"an unknown word counts for nothing", []string{"a", "zz", "a"}, []float32{1, 9, 1}, 2, []float32{2, 0}},
		{"no words", nil, nil, 0, []float32{0, 0}},
	} {
		got := make([]float32, table.Dim())
		if known := table.Sum(got, c.words, c.weights); known != c.known {
			t.Errorf("%s: %d known, want %d", c.what, known, c.known)
		}
		for i := range got {
			if d := got[i] - c.want[i]; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s: %v, want %v", c.what, got, c.want)
				break
			}
		}
	}
	if _, _, ok := table.Word("zz"); ok {
		t.Error("zz has a vector")
	}
}

func BenchmarkSum(b *testing.B) {
	table := Embedded()
	v := make([]float32, table.Dim())
	words := []string{"find", "cheap", "hotel", "near", "station", "tonight"}
	for b.Loop() {
		table.Sum(v, words, nil)
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := parseTable(source); err != nil {
			b.Fatal(err)
		}
	}
}
