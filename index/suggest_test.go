package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
)

// suggested asks for suggestions and writes each as kind, text and operations.
func suggested(t *testing.T, x *Index, typed string, limit int, kinds ...string) []string {
	t.Helper()
	list, err := x.Suggest(context.Background(), "", typed, limit, kinds...)
	if err != nil {
		t.Fatalf("%q: %v", typed, err)
	}
	got := []string{}
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s %d", s.Kind, s.Text, s.Operations))
	}
	return got
}

func TestSuggest(t *testing.T) {
	a := agis("bookings.test", "BOOK /room", "BOOK /booth", "CANCEL /room")
	a.Service.Namespace, a.DataClasses = "Boo.Stay", []document.DataClass{{Name: "book_titles"}}
	x, _ := indexed(t, a, agis("other.boon.test", "BORROW /book"))
	for typed, want := range map[string][]string{
		// A word that is a verb everywhere is not a noun, and one that is both
		// stands behind words that are only nouns when they are used more.
		"boo":        {"verb BOOK 2", "noun book 3", "noun booth 1", "class book_titles 3", "service bookings.test 3", "service other.boon.test 1", "namespace boo.stay 3"},
		"BOOK":       {"verb BOOK 2", "noun book 3", "class book_titles 3", "service bookings.test 3"},
		"book t":     {"class book_titles 3"},
		"bookings.t": {"service bookings.test 3"},
		"Boon":       {"service other.boon.test 1"},
		"boo.stay":   {"namespace boo.stay 3"},
		"bor":        {"verb BORROW 1"},
		"ｂｏｒ":        {"verb BORROW 1"},
		"test":       {}, // what all hosts end in is not a beginning
		"":           {},
		"zzz":        {},
		"예":          {},
		"\xff\x00":   {},
	} {
		if got := suggested(t, x, typed, 50); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
	if got, want := suggested(t, x, "boo", 2), []string{"verb BOOK 2", "noun book 3"}; !slices.Equal(got, want) {
		t.Errorf("two: got %q, want %q", got, want)
	}
	if got, want := suggested(t, x, "boo", 1, SuggestService), []string{"service bookings.test 3"}; !slices.Equal(got, want) {
		t.Errorf("one kind: got %q, want %q", got, want)
	}
	if got := suggested(t, x, strings.Repeat("b", 10_000), 0); len(got) != 0 {
		t.Errorf("a long text: %q", got)
	}
}

// TestSuggestReservesPlacesForEachKind checks that an exact match comes first, and that each kind
// keeps its places.
// TestSuggestNounsOfTheVerb checks that the nouns of operations with a word before come first, and that
// words of grammar, filters and unknown words change nothing.
func TestSuggestNounsOfTheVerb(t *testing.T) {
	x, _ := indexed(t, agis("a.test", "BOOK /table", "GET /task", "SET /task", "LIST /task", "GET /tag", "SET /tag", "DROP /tag", "COUNT /tag", "BOOK /room"))
	for before, want := range map[string]string{
		"book a ": "table tag task", "please BOOK us a ": "table tag task", "": "tag task table", "the ": "tag task table", "unheard ": "tag task table",
		"verb:BOOK ": "tag task table", "list my ": "task tag table",
	} {
		list, err := x.Suggest(t.Context(), before, "ta", 10, SuggestNoun)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list {
			got = append(got, s.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("behind %q: %v, want %s", before, got, want)
		}
	}
}

func TestSuggestReservesPlacesForEachKind(t *testing.T) {
	var operations []string
	for i := range 20 {
		operations = append(operations, fmt.Sprintf("REPLY%c /regions/%c", 'A'+i, 'a'+i))
	}
	a := agis("replies.test", operations...)
	a.Service.Namespace, a.DataClasses = "re", []document.DataClass{{Name: "receipts"}, {Name: "returns"}}
	x, _ := indexed(t, a)
	want := []string{
		"namespace re 20",
		"verb REPLYA 1", "verb REPLYB 1", "verb REPLYC 1", "verb REPLYD 1", "verb REPLYE 1",
		"noun regions 20",
		"class receipts 20", "class returns 20",
		"service replies.test 20",
	}
	if got := suggested(t, x, "RE", 10); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSuggestCompletesBigramScripts checks that Korean, Chinese and Japanese words are completed
// from the texts of operations, but not from two syllables in the middle of a word.
func TestSuggestCompletesBigramScripts(t *testing.T) {
	a := agis("food.test", "BOOK /table", "CANCEL /table", "FIND /restaurant")
	a.Operations[0].Intent = "식당 자리를 예약합니다"
	a.Operations[1].Intent = "식당 예약을 취소합니다"
	a.Operations[2].Intent = "查找餐厅"
	a.DataClasses = []document.DataClass{{Name: "예매"}}
	x, _ := indexed(t, a)
	for typed, want := range map[string][]string{
		"예":            {"noun 예약 2", "class 예매 3"},
		"\u1100":       {},                          // half a syllable
		"\u110b\u1168": {"noun 예약 2", "class 예매 3"}, // 예 as macOS types it
		"예약":           {"noun 예약 2"},
		"약":            {}, // 예약을 and 예약합니다 have it in the middle
		"식":            {"noun 식당 2"},
		"餐":            {"noun 餐厅 1"},
	} {
		if got := suggested(t, x, typed, 10); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

// TestSuggestOneNumberOfANoun checks that the plural and the singular of a noun do not take two places: the
// one that more operations have is suggested, and what was typed.
func TestSuggestOneNumberOfANoun(t *testing.T) {
	x, _ := indexed(t, agis("rooms.test", "BOOK /task", "CANCEL /tasks", "FIND /tasks", "FIND /tag", "BOOK /tag", "CANCEL /tags", "BOOK /table"))
	for typed, want := range map[string][]string{
		"ta":   {"noun tag 2", "noun tasks 2", "noun table 1"},
		"tag":  {"noun tag 2", "noun tags 1"},
		"tags": {"noun tags 1"},
	} {
		if got := suggested(t, x, typed, 10, SuggestNoun); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}
