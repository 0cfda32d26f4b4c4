package index

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/store"
)

// discovery makes an AI Discovery document that says what an AGIS document says, as its format does.
func discovery(d *document.Document) *document.Document {
	twin := *d
	twin.Kind, twin.URL = document.AI, "https://"+d.Host+"/.well-known/ai"
	twin.Operations = nil
	for _, o := range d.Operations {
		o.ID, o.Path = "do_"+o.Verb, ""
		o.Intent += "." // the same words
		o.Call = document.Call{Protocol: "http", Method: "POST", URL: "https://" + d.Host + "/api/" + o.Verb}
		twin.Operations = append(twin.Operations, o)
	}
	return &twin
}

func TestTwinsAreOneHit(t *testing.T) {
	full := agis("ferry.test", "BOOK /cabin: Books a cabin on the night ferry", "LIST /sailings: Lists the sailings of a week", "PING /x: ok")
	x, s := indexed(t, full, discovery(full), discovery(agis("other.test", "BOOK /cabin: Books a cabin on the night ferry")))
	check := func(when string, hits, listed int) {
		t.Helper()
		r := search(t, x, query.Query{Words: "book a cabin on the night ferry", Facets: []string{query.VerbField}})
		count := 0
		for _, h := range r.Hits {
			if h.Host == "ferry.test" && strings.HasPrefix(h.Operation.Intent, "Books") {
				count++
				if also := h.Also; (also == nil) == (h.Kind == document.AGIS && hits == 1) {
					t.Errorf("%s: %s %s has the twin %+v", when, h.Kind, h.Operation.ID, also)
				} else if also != nil && (also.Call.URL != "https://ferry.test/api/BOOK" || also.ID != "do_BOOK") {
					t.Errorf("%s: the twin is %+v", when, also)
				}
			}
		}
		if count != 1 {
			t.Errorf("%s: %d hits: %q", when, count, named(r))
		}
		for _, c := range r.Facets[query.VerbField] {
			if c.Value == "BOOK" && c.Operations != 2 {
				t.Errorf("%s: the facet counts %d", when, c.Operations)
			}
		}
		verbs, err := x.Verbs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, v := range verbs {
			all += v.Operations
		}
		if all != listed {
			t.Errorf("%s: %d operations are listed, want %d: %+v", when, all, listed, verbs)
		}
	}
	// PING says too little to be recognized by: both are listed.
	check("both documents", 1, 5)
	// The other document alone.
	apply(t, s, store.Delete(store.DocumentKey(full.Host, string(full.Kind))))
	catchUp(t, x, s)
	check("after the AGIS document went", 0, 4)
	put(t, s, full)
	catchUp(t, x, s)
	check("after it came again", 1, 5)
}

// TestTwinsOfTheSameCallAreOneHit checks that an operation that two documents describe in other words,
// but call by the same path, is one hit with both ways to call it.
func TestTwinsOfTheSameCallAreOneHit(t *testing.T) {
	full := agis("ferry.test", "BOOK /cabin: Books a cabin on the night ferry", "CANCEL /cabin: Gives a cabin back before the ferry leaves")
	other := discovery(full)
	other.Operations[0].Intent, other.Operations[0].Call.URL = "Cabin reservations for overnight ferries", "https://ferry.test/v1/cabin"
	other.Operations[1].Intent, other.Operations[1].Call.URL = "Cabin returns", "https://ferry.test/v1/cabin"
	other.Operations[1].Call.Method = "DELETE"
	x, _ := indexed(t, full, other)
	hits := search(t, x, query.Query{Words: "book a cabin on an overnight ferry"}).Hits
	also := map[string]string{}
	for _, h := range hits {
		if h.Also == nil {
			t.Errorf("%s %s has no twin", h.Kind, h.Operation.ID)
			continue
		}
		also[h.Operation.Verb] = h.Also.Call.Method
	}
	if len(hits) != 2 || also["BOOK"] != "POST" || also["CANCEL"] != "DELETE" {
		t.Errorf("%q, called also by %v", named(search(t, x, query.Query{Words: "book a cabin on an overnight ferry"})), also)
	}
}

// TestSummaryRowsYieldToDocuments checks that the rows of a summary, which only name verbs, are hits
// and are counted only while no other document of the host describes operations.
func TestSummaryRowsYieldToDocuments(t *testing.T) {
	full := agis("ferry.test", "BOOK /cabin: Books a cabin on the night ferry", "LIST /sailings: Lists the sailings of a week")
	summary := *full
	summary.Kind, summary.URL, summary.Operations = document.AGISSummary, "https://ferry.test/.well-known/agis.json", nil
	for _, verb := range []string{"BOOK", "CANCEL"} {
		summary.Operations = append(summary.Operations, document.Operation{ID: verb, Verb: verb, Effect: document.EffectUnknown, Call: document.Call{Protocol: "agtp"}})
	}
	x, s := indexed(t, &summary, discovery(full))
	verbs, err := x.Verbs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if v.Operations != 1 {
			t.Errorf("%s is counted %d times", v.Verb, v.Operations)
		}
	}
	find := func(verb string, kinds ...document.Kind) {
		t.Helper()
		r := search(t, x, query.Query{Verbs: []string{verb}})
		var found []document.Kind
		for _, h := range r.Hits {
			found = append(found, h.Kind)
		}
		if !slices.Equal(found, kinds) {
			t.Errorf("%s finds %q", verb, named(r))
		}
	}
	find("BOOK", document.AI)
	find("CANCEL")
	apply(t, s, store.Delete(store.DocumentKey(full.Host, string(document.AI))))
	catchUp(t, x, s)
	find("BOOK", document.AGISSummary)
	find("CANCEL", document.AGISSummary)
}
