package index

import (
	"gazetteer/index/tokens"
	"slices"
	"testing"
)

func TestVersionSampleSetsTheAnalysisToWork(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	d := versionSample()
	var all []string
	entries := []entry{serviceEntry(&d), classEntry(&d.DataClasses[0])}
	for i := range d.Operations {
		entries = append(entries, operationEntry(&d.Operations[i]))
	}
	for _, e := range entries {
		for _, text := range e.text {
			for _, t := range tokens.Tokenize(a, text) {
				all = append(all, t.Stem)
			}
		}
	}
	for rule, term := range map[string]string{
		"camel case": "hub", "camel kept whole": "github", "possessive": "travel", "stem": "restaur", "path": "reserv",
		"compatibility": "finest", "width": "ガ", "Hangul": "회의", "cjk": "会議", "unspaced": "จอ", "dots": "drive", "snake": "rate",
	} {
		if !slices.Contains(all, term) {
			t.Errorf("%s: no term %q in %q", rule, term, all)
		}
	}
}

func TestWhatAnOperationIsCalledCountsOnce(t *testing.T) {
	d := agis("a.test", "BOOK /table/booking")
	d.Operations = append(d.Operations, d.Operations[0], d.Operations[0])
	d.Operations[1].ID, d.Operations[1].Verb, d.Operations[1].Path = "book_table", "BOOK", ""
	d.Operations[2].ID, d.Operations[2].Verb, d.Operations[2].Path = "tableService", "BOOK", ""
	for i, want := range []string{"BOOK table booking", "book table", "table Service BOOK"} {
		if got := actText(&d.Operations[i]); got != want {
			t.Errorf("%s: %q, want %q", d.Operations[i].ID, got, want)
		}
	}
}
