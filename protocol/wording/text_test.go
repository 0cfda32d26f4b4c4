package wording

import (
	"testing"
)

func TestParticiple(t *testing.T) {
	for verb, want := range map[string]string{
		"book": "booked", "create": "created", "apply": "applied", "deploy": "deployed", "plan": "planned", "submit": "submitted", "edit": "edited",
		"send": "sent", "resend": "resent", "write": "written", "begin": "begun", "undo": "undone", "set": "set", "put": "put", "read": "read",
		"untag": "untagged", "transfer": "transferred", "offer": "offered", "fix": "fixed", "buy": "bought", "login": "", "xyzzy": "",
	} {
		if got := pastParticiple(verb); got != want {
			t.Errorf("%s: %q, want %q", verb, got, want)
		}
	}
}

// TestIntentsInOtherLanguages checks that a summary in another language stays as it is, and that an
// English one without an action does not.
func TestIntentsInOtherLanguages(t *testing.T) {
	for summary, want := range map[string]string{
		"Ein Zimmer verbindlich buchen":            "Ein Zimmer verbindlich buchen",
		"freie Zimmer für einen Zeitraum anzeigen": "Freie Zimmer für einen Zeitraum anzeigen",
		"Die Zimmer anzeigen":                      "Die Zimmer anzeigen",
		"Réserver une chambre":                     "Réserver une chambre",
		"Ajouter un article au panier":             "Ajouter un article au panier",
		"地域の天気予報を取得する":                             "地域の天気予報を取得する",
		"Depth charts":                             "Lists things: Depth charts",
		"FIGI mapping":                             "Lists things: FIGI mapping",
	} {
		if got, _ := IntentOf("LIST", summary, "Lists things"); got != want {
			t.Errorf("%s: %q, want %q", summary, got, want)
		}
	}
}

// TestVerbsOfNouns checks that a word that is a noun as often as a verb is not a verb, unless the
// sentence uses it as one.
func TestVerbsOfNouns(t *testing.T) {
	for _, c := range []struct{ name, sentence, method, want string }{
		{"text", "Text of a page", "", ""},
		{"email", "", "", ""},
		{"emailVerification", "Email verification", "POST", "CREATE"},
		{"text-to-speech", "Text to speech", "POST", "CREATE"},
		{"email", "Send an email", "POST", "SEND"},
		{"invoice", "Creates an invoice", "POST", "CREATE"},
		{"invoice", "Invoice a customer", "POST", "INVOICE"},
		{"text", "Text somebody", "POST", "TEXT"},
		{"rent_car", "Rents a car", "POST", "RENT"},
		{"book_table", "", "POST", "BOOK"},
		{"get_messages_send", "Send message by simple GET or POST", "GET", "SEND"},
		{"get_order_status", "Order status", "GET", "RETRIEVE"},
	} {
		if got := Verb(c.name, c.sentence, c.method); got != c.want {
			t.Errorf("%s, %q, %s: %q, want %q", c.name, c.sentence, c.method, got, c.want)
		}
	}
}

// TestVerbsOfForeignSummaries checks that the verb of a summary in another language is its own, and that
// English words that are forms of foreign verbs as well stay English.
func TestVerbsOfForeignSummaries(t *testing.T) {
	for _, c := range []struct{ sentence, method, want string }{
		{"Ein Zimmer buchen", "POST", "BOOK"},
		{"Buchung stornieren", "DELETE", "CANCEL"},
		{"Freie Zimmer anzeigen", "GET", "SHOW"},
		{"Bestellt ein Frühstück aufs Zimmer", "POST", "ORDER"},
		{"Newsletter abonnieren", "POST", "SUBSCRIBE"},
		{"Réserver une chambre", "POST", "BOOK"},
		{"Enviar mensaje", "POST", "SEND"},
		{"Elimina la prenotazione", "POST", "REMOVE"},
		{"予約を削除する", "POST", "REMOVE"},
		{"방을 예약합니다", "POST", "BOOK"},
		{"Retire a device", "POST", "RETIRE"},
		{"Active users", "GET", "RETRIEVE"},
		{"Note of a customer", "GET", "RETRIEVE"},
	} {
		if got := Verb("", c.sentence, c.method); got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.sentence, c.method, got, c.want)
		}
	}
}
