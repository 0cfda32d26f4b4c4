package tokens

import (
	"testing"
	"unicode/utf8"
)

// FuzzAnalysis checks that no text makes the analyzer panic: it runs in bleve's own goroutines,
// where a panic would end the program.
func FuzzAnalysis(f *testing.F) {
	for _, s := range []string{"getUserIDs for HTTPServer", "예약API를", "東京のホテル ｶﾞ", "\xff\xfe a\x00b", "’s", "a_b-c.d/e{f}", "0A0\xe8000"} {
		f.Add(s)
	}
	a, err := NewAnalyzer()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, prepared := range []string{PrepareText(text), PrepareName(text)} {
			if n := utf8.RuneCountInString(prepared); n > 4*maxTextLength {
				t.Fatalf("%d characters of %d", n, utf8.RuneCountInString(text))
			}
			for _, term := range Tokenize(a, prepared) {
				if term.Stem == "" {
					t.Fatalf("an empty term in %q", prepared)
				}
			}
		}
	})
}
