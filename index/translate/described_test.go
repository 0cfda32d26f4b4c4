package translate

import (
	"strings"
	"testing"
)

func TestLanguageOfDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		"Meldet einen Stromausfall an einer Adresse":                  German,
		"Calcula el precio de un viaje en taxi entre dos direcciones": Spanish,
		"Trouve une chambre libre pour des dates":                     French,
		"寿司の出前を注文する":                                                  Japanese,
		"Check if Users Follow Playlist":                              "",
		"Buchung stornieren":                                          German,
		"Frühstück bestellen":                                         German,
		"Réserver une chambre":                                        French,
		"Cancelar reserva":                                            Spanish,
		"Freie Zimmer anzeigen":                                       German,
		"Update policies":                                             "",
		"Mailgun Webhooks":                                            "",
		"Indices":                                                     "",
		"Update-Media-Providers":                                      "",
		"Finds a restaurant in the French quarter, for example Chez Lea": "",
		"Returns all a la carte dishes of the menu":                      "",
		"": "",
	} {
		if got := LanguageOf(text); got != want {
			t.Errorf("%q is in language %q, want %q", text, got, want)
		}
	}
}

func TestTranslateText(t *testing.T) {
	for text, want := range map[string]string{
		"Meldet einen Stromausfall an einer Adresse": "report outage address",
		"Sagt einen vereinbarten Termin für uns ab":  "cancel arrange appointment",
		"Shows the bread of the day":                 "",
	} {
		var meanings []string
		for _, w := range TranslateText(LanguageOf(text), text) {
			meanings = append(meanings, w.Meanings[0])
		}
		if got := strings.Join(meanings, " "); got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
}

// BenchmarkLanguageOf measures what the language of a description in English costs, which is asked of
// every operation that is indexed.
func BenchmarkLanguageOf(b *testing.B) {
	for b.Loop() {
		LanguageOf("Retrieves a list of all transactions for a specified statement period, with their amounts.")
	}
}
