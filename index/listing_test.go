package index

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/view"
)

func TestListings(t *testing.T) {
	a := agis("a.test", "BOOK /room", "CANCEL /room")
	a.Service.Namespace, a.DataClasses = "Stay", []document.DataClass{{Name: "Rooms"}, {Name: "prices"}}
	b := agis("b.test", "BOOK /room")
	b.Service.Namespace, b.DataClasses = "stay", []document.DataClass{{Name: "rooms"}}
	alias := as(document.AIAlias, agis("c.test", "BOOK /room"))
	alias.Service.Namespace = "hidden"
	x, s := indexed(t, a, b, alias)
	check := func(want ...view.ValueCount) {
		t.Helper()
		got, err := x.DataClasses(context.Background())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("data classes %v, %v", got, err)
		}
	}
	got, err := x.Namespaces(context.Background())
	if err != nil || !slices.Equal(got, []view.ValueCount{{Value: "stay", Operations: 3, Services: 2}}) {
		t.Errorf("namespaces %v, %v", got, err)
	}
	check(view.ValueCount{Value: "prices", Operations: 2, Services: 1}, view.ValueCount{Value: "rooms", Operations: 3, Services: 2})
	a.DataClasses = a.DataClasses[1:]
	put(t, s, a)
	catchUp(t, x, s)
	check(view.ValueCount{Value: "prices", Operations: 2, Services: 1}, view.ValueCount{Value: "rooms", Operations: 1, Services: 1})
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
