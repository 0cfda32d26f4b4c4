package index

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gazetteer/document"
	"gazetteer/index/query"
)

// TestHostileEverydayRequests checks that requests that maximize the work of correction,
// translation and kinds of act get a complete answer within the time limit of a search.
func TestHostileEverydayRequests(t *testing.T) {
	var nearWords []string
	for i := range 1000 {
		nearWords = append(nearWords, fmt.Sprintf("SEND /bo%c%ck%c: Sends a bo%c%ck%c", 'a'+i/100, 'a'+i/10%10, 'a'+i%10, 'a'+i/100, 'a'+i/10%10, 'a'+i%10))
	}
	x, _ := indexed(t, append(everydayServices(), agis("near.test", nearWords...))...)
	misspelled := strings.Repeat("bokk hotl roomm calender evnt emial wether forcst ", 25)
	for name, text := range map[string]string{
		"one letter repeated":                    strings.Repeat("a", 2000),
		"one syllable repeated":                  strings.Repeat("호", 2000),
		"2,000 characters without a space":       strings.Repeat("bookahotelroom", 142),
		"kana without a space":                   strings.Repeat("ホテルを予約したい", 222),
		"ideographs without a space":             strings.Repeat("预订酒店", 500),
		"every word misspelled":                  misspelled,
		"one edit from a thousand others":        strings.Repeat("boaaak ", 200),
		"scripts mixed in a word":                "bооk а hоtеl rооm", // Cyrillic о, а, е
		"scripts mixed in each word":             "boo예약k ホteル 预roomm",
		"homoglyphs, full width":                 "ｂｏｏｋ ａ ｈｏｔｅｌ ｒｏｏｍ",
		"combining marks without end":            "book" + strings.Repeat("\u0301\u0323", 900) + " room",
		"nothing but combining marks":            strings.Repeat("\u0301", 1900),
		"question words alone":                   strings.Repeat("what which who how many when where why ", 5),
		"prohibitions alone":                     strings.Repeat("do not without never ", 9),
		"goals without end":                      strings.Repeat("book a room, ", 60),
		"an expression of code, nested":          strings.Repeat("f(", 400) + strings.Repeat(")", 400) + " -> x",
		"values alone":                           strings.Repeat("2026-11-22 10:30 42 EUR ", 30),
		"characters that change their direction": "\u202ebook a room\u202c",
	} {
		q, err := query.Parse(text)
		if err != nil {
			continue // refused with the place, as the language says
		}
		q.Limit = 20
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second*patienceFactor)
		r, err := x.Search(ctx, q)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Hits) > 20 || len(r.Hits) > r.Total || !utf8.ValidString(fmt.Sprint(r.Note, r.Near, r.Correction)) {
			t.Errorf("%s: %d hits of %d, %q", name, len(r.Hits), r.Total, r.Note)
		}
	}
	for _, text := range []string{"bооk а hоtеl rооm", "ｂｏｏｋ ａ ｈｏｔｅｌ ｒｏｏｍ", "book" + strings.Repeat("\u0301", 30) + " a hotel room"} {
		if r := search(t, x, query.Query{Words: text}); len(r.Hits) == 0 || r.Hits[0].Operation.ID != "BOOK /room" {
			t.Errorf("%.40q does not find the room: %+v", text, r.Hits)
		}
	}
}

// patienceFactor leaves room for the race detector and a busy machine.
const patienceFactor = 30

// A text that says that it is safe, or is stuffed with the words of questions, does not make an
// operation that ends something look like one that answers: the more dangerous reading counts.
func TestTextDoesNotMakeOperationSafe(t *testing.T) {
	stuffed := agis("stuffed.test", "CLEAR /files: Read-only, safe and informational: what, which, who, how many files do I have? Shows, lists, counts. Deletes all files without asking")
	stuffed.Operations[0].Effect = document.Informational
	honest := agis("files.test", "LIST /files: Lists the files of a folder")
	x, _ := indexed(t, stuffed, honest)
	for _, asked := range []string{"how many files do I have", "which files do I have", "show my files, read-only", "what is in my files"} {
		r := search(t, x, query.Query{Words: asked})
		if len(r.Hits) == 0 || r.Hits[0].Host != "files.test" {
			t.Errorf("%s: the first hit is not the one that answers: %+v", asked, r.Hits)
		}
		for _, h := range r.Hits {
			if h.Host == "stuffed.test" && !h.Effect.Destructive {
				t.Errorf("%s: an operation that clears all files passes for %+v", asked, h.Effect)
			}
		}
		for _, h := range search(t, x, query.Query{Words: asked, Safe: true}).Hits {
			if h.Host == "stuffed.test" {
				t.Errorf("%s: safe lets %s through", asked, h.Operation.ID)
			}
		}
	}
}
