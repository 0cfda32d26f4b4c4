package census_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gazetteer/census"
	"gazetteer/census/tally"
)

// TestPlotsOverTimeSayWhatWasRecorded checks that plots begin with the record of their figures, that
// figures of a week are drawn over that week, and that survival says of how many hosts it is.
func TestPlotsOverTimeSayWhatWasRecorded(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	points := func(values ...int) (list []tally.Point) {
		for i, v := range values {
			list = append(list, tally.Point{At: at.AddDate(0, 0, 7*(i+1-len(values))), Value: v})
		}
		return list
	}
	f := &census.Figures{
		At: at, HistoryFrom: at.AddDate(0, 0, -10),
		Series: []tally.Series{
			{Family: "format", Name: "ai", Points: points(0, 1, 335)},
			{Family: "state", Name: "reachable=yes", Points: points(0, 3, 9)},
			{Family: "changes", Name: "ai", Points: points(0, 0, 4)},
		},
		Survival: []tally.SurvivalPoint{{Days: 0, Share: 1, AtRisk: 335}, {Days: 1, Share: 1, AtRisk: 7}, {Days: 7, Share: .5, AtRisk: 1}},
	}
	line := regexp.MustCompile(`<polyline[^>]* points="([^"]*)"`)
	drawings := map[string]string{}
	corners := map[string]int{"adoption": 5, "states": 3, "changes-by-week": 5, "survival": 3}
	for _, table := range f.Tables() {
		if corners[table.Name] == 0 {
			continue
		}
		if table.Chart == nil {
			t.Fatalf("%s is not drawn", table.Name)
		}
		drawings[table.Name] = string(table.Chart.SVG())
		if table.Name == "states" && (len(table.Rows) != 2 || table.Rows[0].Cells[1] != "3") {
			t.Errorf("the states have the rows %v, want those of their history", table.Rows)
		}
		found := line.FindStringSubmatch(drawings[table.Name])
		if found == nil || len(strings.Fields(found[1])) != corners[table.Name] {
			t.Errorf("%s has the line %q, want %d corners", table.Name, found, corners[table.Name])
		}
	}
	if want := "share of 335 hosts (7 on day 1)"; !strings.Contains(drawings["survival"], want) {
		t.Errorf("the plot of the survival does not say %q: %s", want, drawings["survival"])
	}
	f.HistoryFrom = at.Add(-time.Minute)
	for _, table := range f.Tables() {
		if table.Name == "states" && table.Chart != nil {
			t.Errorf("states are drawn before their history: %s", table.Chart.SVG())
		}
		if table.Name == "states" && len(table.Rows) != 1 {
			t.Errorf("the states have the rows %v, want that of the date", table.Rows)
		}
	}
}
