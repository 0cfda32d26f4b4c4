package index

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
)

func TestListings(t *testing.T) {
	a := agis("a.test", "BOOK /room", "CANCEL /room")
	a.Service.Namespace, a.DataClasses = "Stay", []document.DataClass{{Name: "Rooms"}, {Name: "prices"}}
	b := agis("b.test", "BOOK /room")
	b.Service.Namespace, b.DataClasses = "stay", []document.DataClass{{Name: "rooms"}}
	alias := as(document.AIAlias, agis("c.test", "BOOK /room"))
	alias.Service.Namespace = "hidden"
	x, s := indexed(t, a, b, alias)
	check := func(want ...ValueCount) {
		t.Helper()
		got, err := x.DataClasses(context.Background())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("data classes %v, %v", got, err)
		}
	}
	got, err := x.Namespaces(context.Background())
	if err != nil || !slices.Equal(got, []ValueCount{{"stay", 3, 2}}) {
		t.Errorf("namespaces %v, %v", got, err)
	}
	check(ValueCount{"prices", 2, 1}, ValueCount{"rooms", 3, 2})
	a.DataClasses = a.DataClasses[1:]
	put(t, s, a)
	catchUp(t, x, s)
	check(ValueCount{"prices", 2, 1}, ValueCount{"rooms", 1, 1})
}

func TestSuggest(t *testing.T) {
	a := agis("bookings.test", "BOOK /room", "BOOK /booth", "CANCEL /room")
	a.Service.Namespace, a.DataClasses = "Boo.Stay", []document.DataClass{{Name: "book_titles"}}
	x, _ := indexed(t, a, agis("other.test", "BORROW /book"))
	for typed, want := range map[string][]string{
		"boo":        {"service bookings.test 3", "class book_titles 3", "namespace boo.stay 3", "verb BOOK 2", "noun book 3", "noun booth 1"},
		"BOOK":       {"service bookings.test 3", "class book_titles 3", "verb BOOK 2", "noun book 3"},
		"book t":     {"class book_titles 3"},
		"bookings.t": {"service bookings.test 3"},
		"bor":        {"verb BORROW 1", "noun borrow 1"},
		"":           {},
		"zzz":        {},
		"예":          {},
		"\xff\x00":   {},
	} {
		list, err := x.Suggest(context.Background(), typed, 50)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, s := range list {
			got = append(got, s.Kind+" "+s.Text+" "+string(rune('0'+s.Operations)))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
	if list, err := x.Suggest(context.Background(), "boo", 2); err != nil || len(list) != 2 || list[0].Operations < list[1].Operations {
		t.Errorf("two: %v, %v", list, err)
	}
	if list, err := x.Suggest(context.Background(), strings.Repeat("b", 10_000), 0); err != nil || len(list) != 0 {
		t.Errorf("a long text: %v, %v", list, err)
	}
}

func TestSimilar(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	for host, want := range map[string]string{
		"stormglass.io.test": "visualcrossing.com-weather.test",
		"amadeus.com-amadeus-flight-delay-prediction.test": "amadeus.com-amadeus-flight-cheapest-date-search.test",
	} {
		list, err := x.Similar(context.Background(), strings.ToUpper(host), 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 3 || !slices.ContainsFunc(list, func(s SimilarService) bool { return s.Host == want && s.Service.Name != "" }) {
			t.Errorf("like %s: %+v", host, list)
		}
		for i, s := range list {
			if s.Host == host || s.Score <= 0 || s.Score > 1 || i > 0 && s.Score > list[i-1].Score {
				t.Errorf("%d: %+v", i, s)
			}
		}
	}
	if list, err := x.Similar(context.Background(), "unknown.test", 0); err != nil || list == nil || len(list) != 0 {
		t.Errorf("an unknown host: %v, %v", list, err)
	}
}
