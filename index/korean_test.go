package index

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gazetteer/document"
	"gazetteer/index/query"
)

// lines reads a file of testdata with fields between tabs.
func lines(t testing.TB, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.Split(line, "\t"))
		}
	}
	return all
}

// TestKoreanProbes counts the Korean queries over Korean and English records that find their record
// among the first three.
func TestKoreanProbes(t *testing.T) {
	var docs []*document.Document
	for _, fields := range lines(t, "korean-services.tsv") {
		d := agis(fields[0], fields[1]+": "+fields[2])
		d.Service.Name = ""
		docs = append(docs, d)
	}
	x, _ := indexed(t, docs...)
	asked, found := map[bool]int{}, map[bool]int{}
	for _, fields := range lines(t, "korean-queries.tsv") {
		text, want := fields[0], fields[1]
		hits := search(t, x, query.Query{Words: text, Limit: 3}).Hits
		korean := slices.IndexFunc(docs, func(d *document.Document) bool {
			return d.Host == want && strings.ContainsFunc(d.Operations[0].Intent, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
		}) >= 0
		asked[korean]++
		if slices.ContainsFunc(hits, func(h Hit) bool { return h.Host == want }) {
			found[korean]++
			continue
		}
		got := []string{}
		for _, h := range hits {
			got = append(got, h.Host)
		}
		t.Logf("%s: %q, want %s", text, got, want)
	}
	t.Logf("hit@3: %d of %d over Korean records, %d of %d over English ones", found[true], asked[true], found[false], asked[false])
	for korean, n := range asked {
		if share := float64(found[korean]) / float64(n); share < 0.9 {
			t.Errorf("hit@3 is %.2f (over Korean records: %v)", share, korean)
		}
	}
}
