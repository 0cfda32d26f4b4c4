package index

import (
	"slices"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/store"
)

// TestDeclarationsHoldForAllDocuments checks that what one document of a host says of the service is a
// filter, a facet and an entry of the listings for the operations that another document describes.
func TestDeclarationsHoldForAllDocuments(t *testing.T) {
	full := agis("ferry.test", "BOOK /cabin: Books a cabin on the night ferry", "LIST /sailings: Lists the sailings of a week")
	described := discovery(full)
	described.Level = 2
	described.Service = document.Service{Name: "Night Ferry"}
	summary := *full
	summary.Kind, summary.URL, summary.Operations = document.AGISSummary, "https://ferry.test/.well-known/agis.json", nil
	summary.Level = 1
	summary.Service = document.Service{Name: "Ferry", Namespace: "ferries", Domain: "transport", Categories: []string{"travel"}, Languages: []string{"nb"}}
	summary.DataClasses = []document.DataClass{{Name: "Cabin", Description: "berths and their prices"}, {Name: "aa-first"}}
	other := agis("aaa.test", "SHOW /cabin: Shows a cabin of a house")
	other.DataClasses = []document.DataClass{{Name: "cabin"}}
	x, s := indexed(t, described, other)
	put(t, s, &summary) // a separate batch, which is a separate segment
	catchUp(t, x, s)

	find := func(q query.Query, want ...string) {
		t.Helper()
		if hosts, err := x.Hosts(t.Context(), q); err != nil || !slices.Equal(hosts, want) {
			t.Errorf("%s finds %q, want %q (%v)", q, hosts, want, err)
		}
	}
	find(query.Query{Classes: []string{"cabin"}}, "ferry.test", "aaa.test")
	find(query.Query{Classes: []string{"aa-first"}, Verbs: []string{"BOOK"}}, "ferry.test")
	find(query.Query{Namespaces: []string{"ferries"}}, "ferry.test")
	find(query.Query{Domains: []string{"transport"}}, "ferry.test")
	find(query.Query{Languages: []string{"nb"}}, "ferry.test")
	find(query.Query{Classes: []string{"aa-first"}, Levels: []string{"1"}}) // a level is that of one document

	r := search(t, x, query.Query{Words: "cabin", Facets: []string{query.ClassField, query.NamespaceField, query.CategoryField}})
	for field, want := range map[string][]Count{
		query.ClassField:     {{Value: "cabin", Operations: r.Total}, {Value: "aa-first", Operations: r.Total - 1}},
		query.NamespaceField: {{Value: "ferries", Operations: r.Total - 1}},
		query.CategoryField:  {{Value: "travel", Operations: r.Total - 1}},
	} {
		if !slices.Equal(r.Facets[field], want) {
			t.Errorf("the facet %s is %v, want %v", field, r.Facets[field], want)
		}
	}
	classes, err := x.DataClasses(t.Context())
	if want := []ValueCount{{Value: "aa-first", Operations: 2, Services: 1}, {Value: "cabin", Operations: 3, Services: 2}}; err != nil || !slices.Equal(classes, want) {
		t.Errorf("data classes are %v (%v)", classes, err)
	}
	for _, q := range []query.Query{{Words: "berths"}, {Words: "berths prices", Verbs: []string{"BOOK"}}} {
		if hits := search(t, x, q).Classes; len(hits) != 1 || hits[0].Class.Name != "Cabin" {
			t.Errorf("%s finds the classes %v", q, hits)
		}
	}
	similar, err := x.Similar(t.Context(), "ferry.test", 5)
	if err != nil || len(similar) != 1 || !slices.Equal(similar[0].Classes, []string{"cabin"}) {
		t.Errorf("similar services: %+v (%v)", similar, err)
	}
	// A document that goes takes its declarations along.
	apply(t, s, store.Delete(store.DocumentKey("ferry.test", string(document.AGISSummary))))
	catchUp(t, x, s)
	find(query.Query{Classes: []string{"cabin"}}, "aaa.test")
	find(query.Query{Namespaces: []string{"ferries"}})
}

// TestNameOfAService checks that a service has one name in all answers, whichever of its documents an
// operation comes from, and that hits follow a name that changes in another document.
func TestNameOfAService(t *testing.T) {
	full := agis("ferry.test", "BOOK /cabin: Books a cabin on the night ferry")
	full.Service.Name, full.Service.Description = "", "Ships between islands"
	named := discovery(agis("ferry.test"))
	named.Service.Name = "Night Ferry"
	summary := as(document.AGISSummary, agis("ferry.test"))
	summary.Service.Name = "Summary of the ferry"
	x, s := indexed(t, full, summary, agis("other.test", "BOOK /cabin: Books a cabin on the night ferry"))
	want := func(name string) {
		t.Helper()
		r := search(t, x, query.Query{Words: "book cabin", Hosts: []string{"ferry.test"}})
		if len(r.Hits) != 1 || r.Hits[0].Kind != document.AGIS || r.Hits[0].Service.Name != name {
			t.Fatalf("hits %+v, want one of %q", r.Hits, name)
		}
		text, err := r.Hits[0].EncodeOnce(func() ([]byte, error) { return []byte(r.Hits[0].Service.Name), nil })
		if string(text) != name || err != nil {
			t.Errorf("the hit is encoded with the name %q, want %q (%v)", text, name, err)
		}
		similar, err := x.Similar(t.Context(), "other.test", 5)
		if err != nil || len(similar) != 1 || similar[0].Service.Name != name {
			t.Errorf("similar services: %+v (%v), want one of %q", similar, err, name)
		}
	}
	want("Summary of the ferry")
	put(t, s, named)
	catchUp(t, x, s)
	want("Night Ferry")
	named.Service.Name = "Day Ferry"
	put(t, s, named)
	catchUp(t, x, s)
	want("Day Ferry")
	if services := search(t, x, query.Query{Words: "ships between islands"}).Services; len(services) == 0 || services[0].Service.Name != "Day Ferry" {
		t.Errorf("services: %+v", services)
	}
}
