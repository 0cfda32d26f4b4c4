package wording

import "testing"

func TestIntentsOfSummaries(t *testing.T) {
	for _, c := range []struct{ verb, summary, generic, want string }{
		{"CANCEL", "This operation cancels a job. Jobs can be cancelled only when they wait.", "Cancels a job", "Cancels a job"},
		{"REMOVE", "This action will delete the tag", "Removes a tag", "Deletes the tag"},
		{"LIST", "This endpoint returns the jobs of an account", "Lists jobs", "Retrieves the jobs of an account"},
		{"LIST", "DEPRECATED: Get historical meetings", "Lists meetings", "Retrieves historical meetings"},
		{"LIST", "(Discontinued) Lists all member accounts", "Lists accounts", "Lists all member accounts"},
		{"LIST", "[Beta] Ports", "Lists ports", "Lists ports"},
		{"LIST", "Vehicle types", "Lists vehicle types", "Lists vehicle types"},
		{"RETRIEVE", "Opening hours", "Retrieves a port", "Retrieves a port: Opening hours"},
		{"RETRIEVE", "This is documentation for the old version", "Retrieves a port", "Retrieves a port"},
		{"LIST", "This operation is used by partners", "Lists events", "Lists events"},
		{"LIST", "Deprecated endpoints", "Lists endpoints", "Lists endpoints"},
	} {
		if got, _ := IntentOf(c.verb, c.summary, c.generic); got != c.want {
			t.Errorf("IntentOf(%q, %q) = %q, want %q", c.verb, c.summary, got, c.want)
		}
	}
}

func TestVerbsOfSummaries(t *testing.T) {
	for summary, want := range map[string]string{
		"This operation cancels a job":                "cancel",
		"DEPRECATED: Get meetings by group":           "get",
		"This method deletes the tag":                 "delete",
		"This operation is used by partners to write": "",
	} {
		if got := VerbOfSummary(summary, "post"); got != want {
			t.Errorf("VerbOfSummary(%q) = %q, want %q", summary, got, want)
		}
	}
}

func TestVerbsOfMoreLanguages(t *testing.T) {
	for summary, want := range map[string]string{
		"Renova o empréstimo de um livro":      "extend",
		"Pesquisa livros no catálogo":          "find",
		"Añade un producto al carrito":         "add",
		"Ajoute un article au panier":          "add",
		"Prenota un libro":                     "book",
		"Annulla una prenotazione":             "cancel",
		"Rinnova un prestito":                  "extend",
		"Boekt een overtocht":                  "book",
		"Annuleert een overtocht":              "cancel",
		"Zoekt een overtocht op datum":         "find",
		"Overtocht annuleren":                  "cancel",
		"Valuta en koersen":                    "",
		"Agenda del día":                       "",
		"Marca e modelo do carro":              "",
		"Boeken van de bibliotheek in Utrecht": "",
	} {
		if got := VerbOfSummary(summary, "post"); got != want {
			t.Errorf("VerbOfSummary(%q) = %q, want %q", summary, got, want)
		}
	}
}

// A GET whose name begins with get reads, also if the next word is a verb elsewhere; only a summary that
// begins with that verb makes it one.
func TestVerbsOfNamesThatRead(t *testing.T) {
	for _, c := range []struct{ name, summary, method, want string }{
		{"get_stop_schedule", "Get the schedule of a stop", "GET", "RETRIEVE"},
		{"getStopSchedule", "", "GET", "RETRIEVE"},
		{"get_update_history", "Changes of an order", "GET", "RETRIEVE"},
		{"get_unsubscribe_link", "", "GET", "RETRIEVE"},
		{"get_stop_server", "Stops the server", "GET", "STOP"},
		{"stop_times", "Times of a stop", "GET", "RETRIEVE"},
		{"stopDepartures", "List departures at a stop", "GET", "LIST"},
		{"stopServer", "Stops the server", "GET", "STOP"},
		{"stopServer", "This operation stops the server", "GET", "STOP"},
		{"stopServer", "", "GET", "STOP"},
		{"cancel_order", "Order cancellation", "GET", "CANCEL"},
		{"update_history", "History of updates", "GET", "RETRIEVE"},
		{"stopServer", "Ends the server", "POST", "STOP"},
		{"get_find_pets", "", "GET", "FIND"},
		{"post_cancel_order", "", "POST", "CANCEL"},
	} {
		if got := Verb(c.name, c.summary, c.method); got != c.want {
			t.Errorf("Verb(%q, %q, %s) = %s, want %s", c.name, c.summary, c.method, got, c.want)
		}
	}
}
