package spelling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"sned", "send", 1}, {"tabel", "table", 1}, {"wether", "weather", 1}, {"book", "book", 0}, {"abc", "xyz", 3}, {"flihgt", "flight", 1}} {
		if got := editDistance(c.a, c.b, 2); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestNearWords checks which words are near to a misspelt one, and what each kind of error costs.
func TestNearWords(t *testing.T) {
	list := NewWordList(strings.Fields("weather leather whether parcel parsec table tables send sending flight booking ookings gym gem goal"))
	for word, want := range map[string]string{
		"wether":  "weather 0.85, whether 0.95",
		"parsel":  "parcel 0.7, parsec 1",      // sounds like parcel
		"falight": "flight 1",                  // a letter too many
		"sned":    "send 0.6",                  // swapped letters
		"lfight":  "flight 0.6",                // swapped at the beginning
		"neather": "leather 1.5, weather 1.5",  // a wrong first letter
		"ooking":  "ookings 0.95, booking 1.5", // a missing first letter
		"table":   "table 0, tables 0.95",      // a word of the list is nearest to itself
		"tabels":  "tables 0.6, table 2",       // two errors are allowed from six letters
		"tabble":  "table 0.5, tables 2",       // a doubled letter
		"bokking": "booking 0.5",
		"gmy":     "gym 0.6", // any other letter makes another short word
		"gol":     "goal 0.85",
		"gyms":    "",
		"zzzz":    "", // nothing is near
	} {
		var got []string
		for _, c := range list.AppendNear(nil, word) {
			got = append(got, fmt.Sprint(c.Text, " ", c.Cost))
		}
		if joined := strings.Join(got, ", "); joined != want {
			t.Errorf("%s: %s; want %s", word, joined, want)
		}
	}
}

// TestAppendNearKeepsEarlier checks that the candidates of another list stay first, unsorted, and
// that a list adds at most maxCandidates.
func TestAppendNearKeepsEarlier(t *testing.T) {
	var words []string
	for a := 'a'; a <= 'z'; a++ {
		words = append(words, "boo"+string(a)+"ing", "bo"+string(a)+"king")
	}
	list := NewWordList(words)
	earlier := []Correction{{"zebra", 9}}
	near := list.AppendNear(slices.Clone(earlier), "booking")
	if !slices.Equal(near[:1], earlier) || len(near) != 1+maxCandidates {
		t.Errorf("%d candidates, the first %v", len(near), near[0])
	}
	if !slices.IsSortedFunc(near[1:], Correction.Compare) {
		t.Errorf("not in order: %v", near[1:])
	}
}

func TestIsCorrectable(t *testing.T) {
	for word, want := range map[string]bool{"": false, "ca": false, "cat": true, "book": true, "naïve": false, "http2": false,
		strings.Repeat("a", maxLength): true, strings.Repeat("a", maxLength+1): false} {
		if IsCorrectable(word) != want {
			t.Errorf("%q: %v", word, !want)
		}
	}
}
