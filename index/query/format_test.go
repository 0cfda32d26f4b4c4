package query

import (
	"reflect"
	"testing"
)

func TestQueryStringRoundTrip(t *testing.T) {
	for _, text := range []string{
		"book a table", `book "a table: now" -hotel verb:BOOK verb:CANCEL class:"exchange rates" level:2`,
		"meet at 10:30 https://example.com/x e-mail - -5", "예약해 줘 host:xn--bcher-kva.example idempotent:yes", "verb:BOOK", `"-word"`,
	} {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.String(); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

func TestToggledFilter(t *testing.T) {
	q := Query{Words: "book", Verbs: []string{"BOOK"}}
	more, ok := q.Toggled("class", "exchange rates")
	if !ok || more.String() != `book verb:BOOK class:"exchange rates"` || !more.HasValue("class", "Exchange Rates") {
		t.Errorf("turned on: %q, %v", more, ok)
	}
	less, ok := more.Toggled("verb", "book")
	if !ok || less.String() != `book class:"exchange rates"` || less.HasValue("verb", "BOOK") {
		t.Errorf("turned off: %q, %v", less, ok)
	}
	if q.String() != "book verb:BOOK" {
		t.Errorf("the query itself has changed: %q", q)
	}
	for _, c := range []struct{ facet, value string }{{"category", "travel"}, {"class", `a"b`}, {"class", "a\u202eb"}, {"nothing", "x"}, {"level", "9"}} {
		if got, ok := q.Toggled(c.facet, c.value); ok {
			t.Errorf("%s %q is said as %q", c.facet, c.value, got)
		}
	}
}

// FuzzQueryString checks that a parsed query that is formatted and parsed again is the same.
func FuzzQueryString(f *testing.F) {
	for _, s := range []string{"book a table", `verb:BOOK "x y" ns:a -b`, "host:bücher.example -x", `class:"a  b"`, "auth:\u00a0x", `"a:b" -c:d`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(q.String())
		if err != nil || !reflect.DeepEqual(q, again) {
			t.Fatalf("%q is written %q and read %+v, %v instead of %+v", text, q, again, err, q)
		}
	})
}
