package index

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/index/query"
	"gazetteer/index/view"
)

func TestQueryIsSplitIntoClauses(t *testing.T) {
	x, _ := indexed(t)
	for asked, want := range map[string][]string{
		"find a restaurant near me and book a taxi there":                         {"find restaurant near", "book taxi"},
		"Order a pizza. Then, could you please pay the electricity bill?":         {"Order pizza", "pay electricity bill"},
		"pay my rent; also send flowers to my mother, please":                     {"pay rent", "send flowers mother"},
		"I am looking for a hotel. It has to have a pool. Also rent me a car.":    {"hotel pool", "rent car rent me a car"},
		"I am at home alone. What films are shown tonight, and is there any bus?": nil, // "bus" alone is no wish
		"what is the weather in Oslo and how do I get there by train":             {"weather Oslo", "get train"},

		"book a table":                                      nil,
		"show the cast and crew of a film":                  nil,
		"search and replace words in a text":                nil,
		"My trip begins on Monday. I would like a hotel.":   nil,
		"transfer 500 to John at St. Mary and the hospital": nil,
	} {
		var got []string
		for _, w := range view.EmbedClauses(x.lexicon, query.ParseRequest(x.analyzer, asked).Words) {
			got = append(got, w.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q asks for %q, want %q", asked, got, want)
		}
	}
}

// TestClausesShareOneSearch checks that the nearest operations of a clause are those that a search
// for it finds by itself.
func TestClausesShareOneSearch(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	must(t, x.withSnapshot(func(v *view.View, _ uint64) error {
		masks, err := v.ApplyFilters(query.Query{})
		must(t, err)
		request := query.ParseRequest(x.analyzer, "find a cheap restaurant and book a quiet hotel")
		s := &searcher{index: x, view: v, request: request, embedding: v.Directory.EmbedQuery(request.Words)}
		s.embedding.StartNearest(v, masks)()
		for _, c := range request.Clauses() {
			if !v.Directory.EmbedQuery(c.Words).CopyNearest(s.embedding) {
				t.Errorf("%v is searched again", c.Words)
			}
			apart, err := s.rankSeparately(t.Context(), c, masks, 10, nil)
			must(t, err)
			shared, err := s.rankSeparately(t.Context(), c, masks, 10, s.embedding)
			must(t, err)
			if !slices.Equal(apart, shared) || len(apart) == 0 {
				t.Errorf("%v: %v, by itself %v", c.Words, shared, apart)
			}
		}
		if v.Directory.EmbedQuery(request.Words).CopyNearest(s.embedding) {
			t.Error("the whole request takes the operations of a clause")
		}
		return nil
	}))
}

func TestWorkForManyClausesIsBounded(t *testing.T) {
	x, _ := indexed(t)
	words := query.ParseRequest(x.analyzer, strings.Repeat("Book a table tonight. ", 60)).Words
	if got := view.EmbedClauses(x.lexicon, words); len(got) != view.MaxClauses {
		t.Errorf("%d wishes", len(got))
	}
	words = query.ParseRequest(x.analyzer, "Book a table. Find "+strings.Repeat("hotel ", 40)).Words
	if got := view.EmbedClauses(x.lexicon, words); len(got) != 2 || len(strings.Fields(got[1].Text)) != view.MaxShownWords+1 {
		t.Errorf("got %+v", got)
	}
}

func TestHitNamesItsClause(t *testing.T) {
	x, _ := indexed(t,
		agis("dine.test", "FIND /restaurants: Finds restaurants in a city"),
		agis("cab.test", "ORDER /ride: Sends a taxi to pick somebody up"),
		agis("bank.test", "TRANSFER /money: Moves money between accounts"))
	answers := func(asked string) (wish string, score float64) {
		for _, h := range search(t, x, query.Query{Words: asked}).Hits {
			if h.Operation.Path == "/ride" {
				return h.Why.Clause, h.Score
			}
		}
		t.Fatalf("%q does not find the taxi", asked)
		return "", 0
	}
	wish, both := answers("find a restaurant with a garden in the old town, and call me a taxi")
	if wish != "call taxi" {
		t.Errorf("the taxi answers %q", wish)
	}
	wish, one := answers("find a restaurant with a garden in the old town, call me a taxi")
	if wish != "" {
		t.Errorf("where no wish was told from the other, the taxi answers %q", wish)
	}
	if both <= one {
		t.Errorf("the taxi has a score of %g by its wish, of %g by all words", both, one)
	}
}
