package censuspages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/internal/fakestore"
	"gazetteer/internal/teststore"
	"gazetteer/lint"
)

// TestFolderInWords checks that the pages and plots of a census folder name values as /census does,
// and that its files of figures keep the codes.
func TestFolderInWords(t *testing.T) {
	day := time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)
	s := teststore.New(t)
	if err := fakestore.Fill(t.Context(), s, fakestore.Options{Root: "../..", Services: 60, At: day.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "census")
	if _, err := census.Write(t.Context(), census.Options{Store: s, At: day, Dir: dir, Describe: DescribeTable}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][2]string{ // what it has, and what it does not have
		"census.html":      {"1 to 2 KiB", "1024-2047"},
		"census.md":        {"1 to 2 KiB", "1024-2047"},
		"plots/size.svg":   {"1 to 2 KiB", "1024-2047"},
		"plots/state.svg":  {"Conforms to its draft", "conformant=yes"},
		"plots/format.svg": {">AI Discovery<", ">ai<"},
		"data/size.csv":    {"1024-2047", "KiB"},
		"data/state.csv":   {"conformant=yes", "Keeps"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want[0]) || strings.Contains(string(text), want[1]) {
			t.Errorf("%s: %q is missing, or %q is there", file, want[0], want[1])
		}
	}
}

// TestDrawingsSayHowManyBarsTheyHave checks that a drawing of some values only says of how many.
func TestDrawingsSayHowManyBarsTheyHave(t *testing.T) {
	f := census.Figures{Features: map[census.Feature]tally.Count{}}
	for i, r := range lint.Rules() {
		if i == census.MaxBars+2 {
			break
		}
		f.Features[census.Feature{Family: "rule", Value: r.Code}] = tally.Count{Hosts: 1 + i, Domains: 1 + i}
	}
	for _, table := range f.Tables() {
		if table.Name != "rule" {
			continue
		}
		drawing := string(DescribeTable(table.OnPage()).Chart.SVG())
		if want := "rule (20 of 22)"; !strings.Contains(drawing, want) {
			t.Errorf("the drawing does not say %q: %s", want, drawing)
		}
	}
}

// Each table of the census has an address with more of its rows.
func TestAddressOfJSON(t *testing.T) {
	for name, want := range map[string]string{"rule": "/api/v1/stats?family=rule&limit=100", "survival": "/api/v1/stats"} {
		if got := addressOfJSON(tableView{Name: name}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := addressOfJSON(tableView{Name: "format", OverTime: true}); got != "/api/v1/stats/series" {
		t.Errorf("a table over time: %s", got)
	}
}
