package answer_test

import (
	"maps"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/document"
)

// TestTwinsOfTheSameWords checks that operations that are described in the same words are paired
// with one operation each, by their paths or else in their order, and never with another one.
func TestTwinsOfTheSameWords(t *testing.T) {
	const cancels = "Cancels a scheduled SMS message"
	of := func(kind document.Kind, operations ...document.Operation) document.Document {
		return document.Document{Kind: kind, Host: "sms.example", Operations: operations}
	}
	agis := of(document.AGIS,
		document.Operation{ID: "RETRIEVE /messages", Path: "/messages", Intent: "Retrieves up to 1000 messages"},
		document.Operation{ID: "CANCEL /batches/schedule/{id}", Path: "/batches/schedule/{id}", Intent: cancels},
		document.Operation{ID: "CANCEL /messages/schedule/{id}", Path: "/messages/schedule/{id}", Intent: cancels})
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
		if _, _, twins := answer.FindTwins([]document.Document{of(document.AI, test.ai...), agis}); !maps.Equal(twins, test.want) {
			t.Errorf("%s: %v, want %v", name, twins, test.want)
		}
	}
}
