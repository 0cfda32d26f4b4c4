package index

import (
	"fmt"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
)

// TestWrongFormsAreCorrected checks the corrections of words that look spelt right: another word has
// their stem, a few texts have the same error, or the dictionary has a rare word like them.
func TestWrongFormsAreCorrected(t *testing.T) {
	var docs []*document.Document
	for i := range 6 {
		docs = append(docs, agis(fmt.Sprintf("a%d.test", i), "LIST /recipe: Lists the recipes of a cook", "LIST /recipient: Lists the recipients of a letter",
			"LIST /calendar: Lists the entries of a calendar", "CHECK /address: Checks the address of a building", "LIST /shipping: Lists ways of shipping",
			"LIST /movie: Lists movies", "MOVE /crate: Moves a crate", "SIGN /contract: Signs a contract", "LIST /contact: Lists contacts of a person", "PLAN /tour: Plans a tour",
			"RENEW /pass: Renews a pass", "RENT /tent: Rents a tent", "LIST /flower: Lists flowers"))
	}
	docs = append(docs, agis("b.test", "CHECK /adress: Checks the adress of a shed"))
	x, _ := indexed(t, docs...)
	for asked, want := range map[string]string{
		"recipie": "recipe", "calender": "calendar", "adress": "address", "shiping": "shipping", "moive": "movie", "contarct": "contract", "renw": "renew",
		"flowrs": "flowers", "accomodation": "accommodation", "tommorow": "tomorrow", "synonim": "synonym", "vacine": "vaccine",
	} {
		r := search(t, x, query.Query{Words: asked})
		if r.Correction == nil || r.Correction.Query != want {
			t.Errorf("%s is corrected to %+v, want %s", asked, r.Correction, want)
		}
	}
	for word := range strings.FieldsSeq("went hoping planing recipient recipes addresses renewing geocoding webhook upsert whatsapp vegan tented crates touring") {
		if r := search(t, x, query.Query{Words: word}); r.Correction != nil {
			t.Errorf("%s is corrected to %+v", word, r.Correction)
		}
	}
}

// TestShortWordsAreCorrected checks that a word of three letters is corrected for a swapped, a doubled or a missing
// vowel only, and only to a word that operations have, and that the first word may be a misspelled question word.
func TestShortWordsAreCorrected(t *testing.T) {
	var docs []*document.Document
	for i := range 6 {
		docs = append(docs, agis(fmt.Sprintf("a%d.test", i), "RENT /car: Rents a car or a taxi for some days", "PAY /fine: Pays a fine", "BOOK /seat: Books a seat",
			"LIST /prices: Lists prices of cars", "SEND /letter: Sends a letter", "ORDER /stamps: Orders stamps"))
	}
	x, _ := indexed(t, docs...)
	for asked, want := range map[string]string{
		"rent a cra": "rent a car", "pya a fine": "pay a fine", "a txi for two days": "a taxi for two days", "bok a seat": "book a seat",
		"hwo much is a car": "how much is a car", "wich prices": "which prices", "oder stamps": "order stamps",
		"rent a cxr": "", "rent a CRA": "", "a lettr about the wehn": "a letter about the wehn",
	} {
		got := ""
		if r := search(t, x, query.Query{Words: asked}); r.Correction != nil {
			got = r.Correction.Query
		}
		if got != want {
			t.Errorf("%q is corrected to %q, want %q", asked, got, want)
		}
	}
}
