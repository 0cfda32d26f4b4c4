package entry_test

import (
	"maps"
	"testing"

	"gazetteer/document"
	"gazetteer/index/entry"
)

// TestTwinsOfTheSameWords checks that operations that are described in the same words are paired
// with one operation each, by their paths or else in their order, and never with another one.
func TestTwinsOfTheSameWords(t *testing.T) {
	const cancels = "Cancels a scheduled SMS message"
	of := func(kind document.Kind, operations ...document.Operation) document.Document {
		return document.Document{Kind: kind, Host: "sms.example", Operations: operations}
	}
	agis := of(document.AGIS,
		document.Operation{ID: "RETRIEVE /messages", Verb: "RETRIEVE", Path: "/messages", Intent: "Retrieves up to 1000 messages"},
		document.Operation{ID: "CANCEL /batches/schedule/{id}", Verb: "CANCEL", Path: "/batches/schedule/{id}", Intent: cancels},
		document.Operation{ID: "CANCEL /messages/schedule/{id}", Verb: "CANCEL", Path: "/messages/schedule/{id}", Intent: cancels})
	call := func(path string) document.Operation {
		return document.Operation{ID: path, Intent: cancels, Call: document.Call{Protocol: "http", Method: "DELETE", URL: "https://sms.example" + path}}
	}
	for name, test := range map[string]struct {
		ai   []document.Operation
		want map[int]int
	}{
		"in the same order":           {[]document.Operation{call("/batches/schedule/{id}"), call("/messages/schedule/{id}")}, map[int]int{0: 1, 1: 2}},
		"in another order":            {[]document.Operation{call("/messages/schedule/{id}"), call("/batches/schedule/{id}")}, map[int]int{0: 2, 1: 1}},
		"with other paths":            {[]document.Operation{call("/b"), call("/m")}, map[int]int{0: 1, 1: 2}},
		"more in the other document":  {[]document.Operation{call("/b"), call("/m"), call("/x")}, map[int]int{0: 1, 1: 2}},
		"fewer in the other document": {[]document.Operation{call("/messages/schedule/{id}")}, map[int]int{0: 2}},
	} {
		if _, _, twins := entry.FindTwins([]document.Document{of(document.AI, test.ai...), agis}); !maps.Equal(twins, test.want) {
			t.Errorf("%s: %v, want %v", name, twins, test.want)
		}
	}
}

// TestTwinsOfTheSameCall checks that operations that are described in other words are paired by what
// is called, if that names one operation of each document.
func TestTwinsOfTheSameCall(t *testing.T) {
	ai := func(method, path string) document.Operation {
		return document.Operation{ID: method + path, Intent: "Endpoint for " + method + " of " + path,
			Call: document.Call{Protocol: "http", Method: method, URL: "https://pets.example" + path}}
	}
	agis := func(verb, path, intent string, effect document.Effect) document.Operation {
		return document.Operation{ID: verb + " " + path, Verb: verb, Path: path, Intent: intent, Effect: effect, Call: document.Call{Protocol: "agtp"}}
	}
	book := ai("POST", "/v1/pets/{id}/visits/book")
	book.Verb = "BOOK"
	lists := agis("LIST", "/pets", "Shows all animals of a shelter", document.Informational)
	shows := agis("RETRIEVE", "/pets/{pet_id}", "Shows one animal with its history", document.Informational)
	adopts := agis("CREATE", "/pets/{pet_id}/adoptions", "Begins the adoption of an animal", "reversible")
	visits := agis("BOOK", "/pets/{pet_id}/visits", "Arranges a visit to an animal", "reversible")
	removes := agis("REMOVE", "/pets/{pet_id}", "Takes an animal off the list", "irreversible")
	remains := []document.Operation{lists, shows, adopts, removes, visits}
	for name, test := range map[string]struct {
		ai   []document.Operation
		want map[int]int
	}{
		"a list and one of it":        {[]document.Operation{ai("GET", "/pets/{petId}"), ai("GET", "/pets")}, map[int]int{0: 1, 1: 0}},
		"below a version":             {[]document.Operation{ai("GET", "/api/v2/pets/")}, map[int]int{0: 0}},
		"reading is no removal":       {[]document.Operation{ai("DELETE", "/pets/{id}"), ai("GET", "/pets/{id}")}, map[int]int{0: 3, 1: 1}},
		"a change is neither":         {[]document.Operation{ai("POST", "/pets/{id}"), ai("POST", "/pets")}, map[int]int{}},
		"two of one call":             {[]document.Operation{ai("POST", "/pets/{id}/adoptions"), ai("PUT", "/pets/{id}/adoptions")}, map[int]int{}},
		"a verb at the end of a path": {[]document.Operation{book}, map[int]int{0: 4}},
		"another path":                {[]document.Operation{ai("POST", "/pets/{id}/adoptions/{n}")}, map[int]int{}},
		"an address without any path": {[]document.Operation{ai("GET", "/")}, map[int]int{}},
	} {
		documents := []document.Document{
			{Kind: document.AI, Host: "pets.example", Operations: test.ai},
			{Kind: document.AGIS, Host: "pets.example", Operations: remains},
		}
		if _, _, twins := entry.FindTwins(documents); !maps.Equal(twins, test.want) {
			t.Errorf("%s: %v, want %v", name, twins, test.want)
		}
	}
}
