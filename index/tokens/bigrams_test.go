package tokens

import (
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
)

// TestUnspacedScriptsAreCutIntoPairs checks that scripts without spaces between words, which
// Unicode's rules do not split, are indexed in pairs at their positions among other words.
func TestUnspacedScriptsAreCutIntoPairs(t *testing.T) {
	a, err := NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"จองโต๊ะ":              "จอ อง งโ โต ต๊ ๊ะ",
		"book จอง now ห้อง":    "book จอ อง now ห้ ้อ อง",
		"ຈອງ":                  "ຈອ ອງ",
		"កក់តុ":                "កក ក់ ់ត តុ",
		"စားပွဲ":               "စာ ား းပ ပွ ွဲ",
		"จ":                    "จ",
		"APIจอง 예약 예":          "api จอ อง 예약 예",
		"予約する จอง restaurants": "予約 約す する จอ อง restaurants",
		"забронировать столик": "забронировать столик",
	} {
		tokens := a.Analyze([]byte(text))
		var got []string
		at := 0
		for _, x := range tokens {
			got = append(got, string(x.Term))
			if x.Start < at || x.End > len(text) || !strings.Contains(strings.ToLower(text[x.Start:x.End]), string(x.Term)) {
				t.Errorf("%s: %s stands at %d to %d", text, x.Term, x.Start, x.End)
			}
			if x.Type != analysis.Double { // pairs of ideographs overlap
				at = x.Start
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, strings.Join(got, " "), want)
		}
	}
}
