package frame

import (
	"testing"

	"gazetteer/document"
	"gazetteer/index"
)

// TestEffectOfOperation checks that a page shows the effect of every operation, and says where it is
// inferred: a text that calls itself informational does not hide that an operation ends something.
func TestEffectOfOperation(t *testing.T) {
	const ends, from = "Removes or ends something", "Effect not declared; inferred from its verb CANCEL"
	for _, c := range []struct {
		operation document.Operation
		want      Effect
	}{
		{document.Operation{Verb: "BOOK", Effect: document.Reversible}, Effect{"Can be undone", "care", ""}},
		{document.Operation{Verb: "FIND", Effect: document.Informational}, Effect{"Only reads", "safe", ""}},
		{document.Operation{Verb: "PAY", Effect: document.Irreversible}, Effect{"Cannot be undone", "danger", ""}},
		{document.Operation{Verb: "CANCEL", Effect: document.Reversible}, Effect{ends, "danger", "Can be undone, according to its document"}},
		{document.Operation{Verb: "CANCEL", Effect: document.Informational}, Effect{"Probably removes or ends something", "danger inferred", from}},
		{document.Operation{Verb: "CANCEL"}, Effect{"Probably removes or ends something", "danger inferred", from}},
		{document.Operation{Verb: "FIND"}, Effect{"Probably only reads", "inferred", "Effect not declared; inferred from its verb FIND"}},
		{document.Operation{Verb: "BOOK"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb BOOK"}},
		{document.Operation{Verb: "UPDATE"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb UPDATE"}},
		{document.Operation{Verb: "SEND"}, Effect{"Probably sends", "inferred", "Effect not declared; inferred from its verb SEND"}},
		{document.Operation{Verb: "PROCESS"}, Effect{"May remove or end something", "inferred", "Effect not declared; inferred from its verb PROCESS"}},
		{document.Operation{Verb: "MARK"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb MARK"}},
		{document.Operation{Verb: "CREATE", Intent: "Sends a message"}, Effect{"Probably sends", "inferred", "Effect not declared; inferred from its intent: send"}},
		{document.Operation{Verb: "CREATE", Intent: "Creates a message"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb CREATE"}},
		{document.Operation{Verb: "RETRIEVE", Intent: "Sends a message with a plain GET or POST"}, Effect{"Probably sends", "inferred", "Effect not declared; inferred from its intent: send"}},
		{document.Operation{Verb: "SET", Intent: "Sets how long drivers take to pick up an order"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "REPLACE", Intent: "Replaces the photo of a profile"}, Effect{"Probably writes", "inferred", "Effect not declared; inferred from its verb REPLACE"}},
		{document.Operation{Verb: "SET", Intent: "Sets the status of an order to cancelled"}, Effect{"May remove or end something", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "SET"}, Effect{"May remove or end something", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "CONVERT", Call: document.Call{Method: "GET"}}, Effect{"Probably only reads", "inferred", "Effect not declared; inferred from its method GET"}},
		{document.Operation{Verb: "CONVERT", Call: document.Call{Method: "POST"}}, Effect{"May write", "inferred", "Effect not declared; inferred from its verb CONVERT"}},
		{document.Operation{Verb: "SEND", Call: document.Call{Method: "GET"}}, Effect{"Probably sends", "inferred", "Effect not declared; inferred from its verb SEND"}},
		{document.Operation{Verb: "XYZZY"}, Effect{"", "", "Effect not declared"}},
	} {
		if got := EffectOf(index.EffectOf(&c.operation)); got != c.want {
			t.Errorf("%s, declared %q: %+v, want %+v", c.operation.Verb, c.operation.Effect, got, c.want)
		}
	}
}
