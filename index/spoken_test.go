package index

import (
	"slices"
	"testing"

	"gazetteer/document"
)

// A summary names the protocols, the full document has the operations: a filter
// and a facet join the two, whichever came first.
func TestTheProtocolsOfASummaryHoldForTheFullDocument(t *testing.T) {
	full := agis("inn.test", "BOOK /room: books a room", "FIND /room: finds a room")
	summary := agis("inn.test", "BOOK /room: ", "FIND /room: ")
	summary.Kind, summary.Service.Protocols = document.AGISSummary, []string{"request", "Negotiate"}
	silent := agis("silent.test", "BOOK /table: books a table")
	alone := agis("alone.test", "BOOK /boat: books a boat")
	alone.Kind, alone.Service.Protocols = document.AGISSummary, []string{"negotiate"}
	for _, order := range [][]*document.Document{{full, summary, silent, alone}, {summary, alone, silent, full}} {
		x, _ := indexed(t, order...)
		r, err := x.Search(t.Context(), Query{Protocols: []string{"negotiate"}, Facets: []string{"protocol"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.Host+" "+string(h.Kind)+" "+h.Operation.Verb)
		}
		if want := []string{"alone.test agis-summary BOOK", "inn.test agis BOOK", "inn.test agis FIND"}; !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		counts := map[string]int{}
		for _, c := range r.Facets["protocol"] {
			counts[c.Value] = c.Operations
		}
		if counts["negotiate"] != 3 || counts["request"] != 2 {
			t.Errorf("the facet counts %v", counts)
		}
		for _, h := range search(t, x, Query{Words: "books", Protocols: []string{"request"}}).Hits {
			if h.Host != "inn.test" {
				t.Errorf("with words, %s is found", h.Host)
			}
		}
	}
}
