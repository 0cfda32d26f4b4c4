package query

import (
	"strings"
	"testing"
)

func TestPolitenessIsStripped(t *testing.T) {
	for in, want := range map[string]string{
		"I want to book a table":                          "book a table",
		"Hello, could you please book a table, thank you": "book a table,",
		"I’d like to book a table please.":                "book a table",
		"show me flights":                                 "flights",
		"book a table for me, please":                     "book a table",
		"I would like you to please help me find a hotel": "find a hotel",
		"book a table I want to see":                      "book a table I want to see",
		"please":                                          "please",
		"Can you":                                         "Can you",
		"Who can BOOK a table?":                           "BOOK a table?",
		"is there a service that can translate letters":   "translate letters",
		"who":       "who",
		"회의를 예약해 줘": "회의를 예약해",
	} {
		words := strings.Fields(in)
		from, to := trimPoliteness(words)
		if got := strings.Join(words[from:to], " "); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	for _, list := range []string{politeOpenings, politeClosings} {
		for phrase := range strings.Lines(list) {
			if n := len(strings.Fields(phrase)); n > maxPolitePhrase {
				t.Errorf("%q has %d words; raise maxPhrase", phrase, n)
			}
		}
	}
}

// TestWordIsPartOfPhrase checks that a word is part of a phrase only as a whole word.
func TestWordIsPartOfPhrase(t *testing.T) {
	for _, c := range []struct {
		asked, phrase string
		want          bool
	}{
		{"text message", "by Text message,", true},
		{"message", "text message", true},
		{"art", "party", false},
		{"text parcel", "text message", false},
	} {
		if got := (Word{Asked: c.asked}).IsPartOf(c.phrase); got != c.want {
			t.Errorf("%q in %q: %v", c.asked, c.phrase, got)
		}
	}
}
