package query

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"gazetteer/index/tokens"
)

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]Query{
		"book a table":                      {Words: "book a table"},
		"  book\ta \n table ":               {Words: "book a table"},
		"verb:book":                         {Verbs: []string{"BOOK"}},
		"VERB:book Verb:BOOK verb:cancel":   {Verbs: []string{"BOOK", "CANCEL"}},
		"table verb:BOOK for two ns:Dining": {Words: "table for two", Verbs: []string{"BOOK"}, Namespaces: []string{"dining"}},
		`class:"Exchange Rates"`:            {Classes: []string{"exchange rates"}},
		"effect:Reversible level:2":         {Effects: []string{"reversible"}, Levels: []string{"2"}},
		"idempotent:YES":                    {Idempotent: []string{"yes"}},
		"host:WWW.Example.com.":             {Hosts: []string{"www.example.com"}},
		"host:bücher.example":               {Hosts: []string{"xn--bcher-kva.example"}},
		`"book: a table" now`:               {Words: "now", Phrases: []string{"book: a table"}, inPlace: "“book: a table” now"},
		`say "I “am” late" to`:              {Words: "say to", Phrases: []string{"I “am” late"}, inPlace: "say “I 'am' late” to"},
		`color_name("#7fffd4")`:             {Words: `color_name("#7fffd4")`},
		`a 5" pipe`:                         {Words: `a 5" pipe`},
		"book -hotel -Flight":               {Words: "book", Without: []string{"hotel", "Flight"}},
		"-hotel verb:BOOK":                  {Verbs: []string{"BOOK"}, Without: []string{"hotel"}},
		"-10:30 x":                          {Words: "-10:30 x"},
		"state:Valid source:linked lang:EN": {States: []string{"valid"}, Sources: []string{"linked"}, Languages: []string{"en"}},
		"domain:Travel protocol:Negotiate":  {Domains: []string{"travel"}, Protocols: []string{"negotiate"}},
		"auth:OAuth2 auth:none":             {Auths: []string{"oauth2", "none"}},
		"meet at 10:30":                     {Words: "meet at 10:30"},
		"open https://example.com/x":        {Words: "open https://example.com/x"},
		"e-mail - -5":                       {Words: "e-mail - -5"},
		`"-word"`:                           {Phrases: []string{"-word"}},
		":colon":                            {Words: ":colon"},
		"check this mail: is it spam":       {Words: "check this mail: is it spam"},
		"reminder:":                         {Words: "reminder:"},
		"trailing:1":                        {}, // an error, below
		"예약해 줘 verb:BOOK":                   {Words: "예약해 줘", Verbs: []string{"BOOK"}},
		"[a-z]+ * ? ~ ^2 /x/":               {Words: "[a-z]+ * ? ~ ^2 /x/"},
	} {
		if reflect.DeepEqual(want, Query{}) {
			continue
		}
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\ngot  %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

func TestUnknownKeysAreCorrected(t *testing.T) {
	for text, want := range map[string]string{
		"pay domian:finance":   "did you mean domain? the keys are verb:",
		"pay category:finance": "did you mean domain? the keys are verb:",
		"pay zzz:finance":      "the keys are verb:",
	} {
		_, err := Parse(text)
		if e, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(e.Help, want) {
			t.Errorf("%s: %v, want the help %q", text, err, want)
		}
	}
}

func TestQueryErrorOffset(t *testing.T) {
	for text, want := range map[string]struct {
		at      int
		message string
	}{
		"":                                      {0, "empty"},
		" \t ":                                  {0, "empty"},
		"book foo:bar":                          {5, "unknown key foo:"},
		"예약 색:값":                                {3, "unknown key 색:"},
		"verb:":                                 {5, "the filter verb: has no value"},
		"book verb: table":                      {10, "the filter verb: has no value"},
		"book effect:big":                       {12, "effect: has no value \"big\""},
		`level:"3"`:                             {6, "level: has no value"},
		`book "a table`:                         {5, "not closed"},
		`verb:"`:                                {5, "not closed"},
		`x ""`:                                  {2, "nothing between"},
		`x class:" "`:                           {8, "nothing between"},
		`verb:ab"c"`:                            {7, "in the middle"},
		"book -verb:CANCEL":                     {5, "a minus sign before verb:"},
		"book is:healthy":                       {8, "is: has no value \"healthy\""},
		"book -is:healthy":                      {9, "is: has no value \"-healthy\""},
		"-is:":                                  {4, "the filter is: has no value"},
		`book -"a table"`:                       {5, "a minus sign before a text"},
		"-cancel":                               {0, "only says what to leave out"},
		"state:good":                            {6, "state: has no value"},
		"source:me":                             {7, "source: has no value"},
		"a\x00b":                                {1, "control character U+0000"},
		"예\u202eb":                              {1, "control character U+202E"},
		"ab\xffc":                               {2, "not UTF-8"},
		strings.Repeat("é", 2001):               {2000, "more than 2000 characters"},
		strings.Repeat("é", 10000):              {2000, "more than 2000 characters"},
		strings.Repeat("a ", 200) + "b":         {400, "more than 200 words"},
		strings.Repeat("a ", 199) + `"b c"`:     {398, "more than 200 words"},
		strings.Repeat("verb:A ", 200) + "ns:b": {1400, "more than 200 words"},
	} {
		_, err := Parse(text)
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if bad.Offset != want.at || !strings.Contains(bad.Message, want.message) || bad.Help == "" || bad.Query != text {
			t.Errorf("%q\ngot  %d %q (help %q)\nwant %d %q", text, bad.Offset, bad.Message, bad.Help, want.at, want.message)
		}
	}
}

func TestFilterValueNames(t *testing.T) {
	_, err := Parse("book effect:reversable")
	if bad, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(bad.Help, "did you mean reversible? ") {
		t.Errorf("got %v", err)
	}
}

// FuzzParseQuery checks that any text is parsed within the limits or refused with a place, and that
// a search for it does not fail.
func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"book a table", `verb:BOOK "x y" ns:a`, "host:bücher.example -x", "예약 class:\"값", "a:b", "\xff\x00", "İ ﷺ ½ ｶﾞ e\u0301", "'s 's ’s"} {
		f.Add(s)
	}
	a, err := tokens.NewAnalyzer()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			var bad *Error
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > utf8.RuneCountInString(text) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if _, err := q.Canonical(); err != nil {
			t.Fatalf("%q is read as %+v, which Search refuses: %v", text, q, err)
		}
		terms := 0
		for _, w := range ParseRequest(a, q.Words).Words {
			terms += len(w.Terms)
		}
		if terms > maxTerms {
			t.Fatalf("%q has %d terms", text, terms)
		}
	})
}

func TestParseStates(t *testing.T) {
	for text, want := range map[string]struct{ values, said string }{
		"is:reachable":                        {"[reachable]", "is:reachable"},
		"book IS:Well-Formed -is:answers":     {"[well-formed -answers]", "book is:well-formed -is:answers"},
		`book is:"consistent" is:consistent`:  {"[consistent]", "book is:consistent"},
		"book is:-conformant":                 {"[-conformant]", "book -is:conformant"},
		"-is:conformant":                      {"[-conformant]", "-is:conformant"},
		"verb:BOOK is:answers -is:consistent": {"[answers -consistent]", "verb:BOOK is:answers -is:consistent"},
	} {
		q, err := Parse(text)
		if err != nil || fmt.Sprint(q.Is) != want.values || q.String() != want.said {
			t.Errorf("%s: %v, written %q, %v; want %s, %q", text, q.Is, q.String(), err, want.values, want.said)
			continue
		}
		if again, err := Parse(q.String()); err != nil || fmt.Sprint(again) != fmt.Sprint(q) {
			t.Errorf("%s: what is written is read as %+v, %v", text, again, err)
		}
	}
	q, ok := Query{Words: "book"}.Toggled("is", "reachable")
	if !ok || q.String() != "book is:reachable" {
		t.Errorf("toggled on: %q, %v", q.String(), ok)
	}
	if q, ok = q.Toggled("is", "reachable"); !ok || q.String() != "book" {
		t.Errorf("toggled off: %q, %v", q.String(), ok)
	}
}
