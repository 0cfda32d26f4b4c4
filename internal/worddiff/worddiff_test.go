package worddiff

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCompare checks that what changed is marked on its side, and both sides stay as they are.
func TestCompare(t *testing.T) {
	show := func(parts []Part) string {
		var b strings.Builder
		for _, p := range parts {
			if p.Change {
				b.WriteString("[" + p.Text + "]")
				continue
			}
			b.WriteString(p.Text)
		}
		return b.String()
	}
	for _, c := range []struct{ a, b, before, after string }{
		{"", "", "", ""},
		{"same words", "same words", "same words", "same words"},
		{"one two three", "one 2 three", "one [two] three", "one [2] three"},
		{"", "new", "", "[new]"},
		{"gone", "", "[gone]", ""},
		{"https://a.example/x", "https://b.example/x", "https://[a].example/x", "https://[b].example/x"},
		{"a b c d", "x a b d e", "a b [c ]d", "[x ]a b d[ e]"},
	} {
		before, after, unmarked := Compare(c.a, c.b)
		if show(before) != c.before || show(after) != c.after || unmarked {
			t.Errorf("%q and %q: %q and %q, want %q and %q", c.a, c.b, show(before), show(after), c.before, c.after)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := func() string {
			words := make([]string, random.IntN(12))
			for i := range words {
				words[i] = string("abc"[random.IntN(3)])
			}
			return strings.Join(words, " ")
		}
		a, b := text(), text()
		before, after, _ := Compare(a, b)
		sides := [2][]string{}
		for i, parts := range [][]Part{before, after} {
			whole := ""
			for _, p := range parts {
				if whole += p.Text; !p.Change {
					sides[i] = append(sides[i], splitWords(p.Text)...)
				}
			}
			if want := []string{a, b}[i]; whole != want {
				t.Fatalf("a side of %q and %q is %q", a, b, whole)
			}
		}
		if !slices.Equal(sides[0], sides[1]) {
			t.Fatalf("%q and %q: what both have is %q and %q", a, b, sides[0], sides[1])
		}
	}
	long := strings.Repeat("a b c ", 2000)
	if _, _, unmarked := Compare(long, strings.Repeat("d e f ", 2000)); !unmarked {
		t.Error("two texts without a word in common are marked")
	}
}

// TestLongTextsAreNotCopiedByWord compares texts of the length that the pages show, and allocates a
// few times their length.
func TestLongTextsAreNotCopiedByWord(t *testing.T) {
	text := strings.Repeat("book a table ", 4000)
	before := allocatedBytes()
	if _, after, _ := Compare(text, text+"today"); len(after) != 2 {
		t.Fatalf("%d parts", len(after))
	}
	if n := allocatedBytes() - before; n > 200*uint64(len(text)) {
		t.Errorf("%d bytes were allocated for texts of %d", n, len(text))
	}
}

func allocatedBytes() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.TotalAlloc
}
