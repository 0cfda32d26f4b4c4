package index

import (
	"slices"
	"testing"

	"gazetteer/index/entry"
	"gazetteer/index/tokens"
)

func TestVersionSampleUsesAnalysis(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	d := entry.VersionSample()
	var all []string
	entries := []entry.Entry{entry.ServiceEntry(&d), entry.ClassEntry(&d.DataClasses[0])}
	for i := range d.Operations {
		entries = append(entries, entry.OperationEntry(&d.Operations[i]))
	}
	for _, e := range entries {
		for _, text := range e.Text {
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

func TestOperationNameCountsOnce(t *testing.T) {
	d := agis("a.test", "BOOK /table/booking")
	d.Operations = append(d.Operations, d.Operations[0], d.Operations[0])
	d.Operations[1].ID, d.Operations[1].Verb, d.Operations[1].Path = "book_table", "BOOK", ""
	d.Operations[2].ID, d.Operations[2].Verb, d.Operations[2].Path = "tableService", "BOOK", ""
	for i, want := range []string{"BOOK table booking", "book table", "table Service BOOK"} {
		if got := entry.ActText(&d.Operations[i]); got != want {
			t.Errorf("%s: %q, want %q", d.Operations[i].ID, got, want)
		}
	}
}
