package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
)

func shortWay(t testing.TB) *analyzer {
	t.Helper()
	made, err := NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	return made.(*analyzer)
}

// sameAsChain checks that a text gives what the chain gives.
func sameAsChain(t *testing.T, a *analyzer, text string) {
	t.Helper()
	describe := func(stream analysis.TokenStream) string {
		var b strings.Builder
		for _, t := range stream {
			fmt.Fprintf(&b, "%q %d-%d at %d\n", t.Term, t.Start, t.End, t.Position)
		}
		return b.String()
	}
	prepared := PrepareText(text)
	// The chain may write into the text it is given.
	if got, want := describe(a.Analyze([]byte(prepared))), describe(a.chain.Analyze([]byte(prepared))); got != want {
		t.Fatalf("%q: got\n%swant\n%s", prepared, got, want)
	}
}

func TestASCIIPathEqualsChain(t *testing.T) {
	a := shortWay(t)
	for _, text := range []string{
		"", "'", "'s", "the", "users' APIs", "don't", "it's John's 5'6 a'1 1'a", "1,000.5 a,b 1,a 3;4 1,,2", "Traveller'S",
		"What's a fun fact?", "a's's", "x'", "'quoted'", "$5 & 7% (brackets) [x] <y>", "9th 3rd B2B",
	} {
		sameAsChain(t, a, text)
	}
	random := rand.New(rand.NewPCG(1, 9))
	const alphabet = "abStheisn019 ,;'''\"!?()-_./:@$ "
	for range 20_000 {
		text := make([]byte, random.IntN(30))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		sameAsChain(t, a, string(text))
	}
}

func FuzzShortWay(f *testing.F) {
	a := shortWay(f)
	f.Add("John's 1,000 APIs")
	f.Fuzz(func(t *testing.T, text string) { sameAsChain(t, a, text) })
}
