package web

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
		want      effectView
	}{
		{document.Operation{Verb: "BOOK", Effect: document.Reversible}, effectView{"Can be undone", "care", ""}},
		{document.Operation{Verb: "FIND", Effect: document.Informational}, effectView{"Only reads", "safe", ""}},
		{document.Operation{Verb: "PAY", Effect: document.Irreversible}, effectView{"Cannot be undone", "danger", ""}},
		{document.Operation{Verb: "CANCEL", Effect: document.Reversible}, effectView{ends, "danger", "Can be undone, according to its document"}},
		{document.Operation{Verb: "CANCEL", Effect: document.Informational}, effectView{"Probably removes or ends something", "danger inferred", from}},
		{document.Operation{Verb: "CANCEL"}, effectView{"Probably removes or ends something", "danger inferred", from}},
		{document.Operation{Verb: "FIND"}, effectView{"Probably only reads", "inferred", "Effect not declared; inferred from its verb FIND"}},
		{document.Operation{Verb: "BOOK"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb BOOK"}},
		{document.Operation{Verb: "UPDATE"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb UPDATE"}},
		{document.Operation{Verb: "SEND"}, effectView{"Probably sends", "inferred", "Effect not declared; inferred from its verb SEND"}},
		{document.Operation{Verb: "PROCESS"}, effectView{"May remove or end something", "inferred", "Effect not declared; inferred from its verb PROCESS"}},
		{document.Operation{Verb: "MARK"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb MARK"}},
		{document.Operation{Verb: "CREATE", Intent: "Sends a message"}, effectView{"Probably sends", "inferred", "Effect not declared; inferred from its intent: send"}},
		{document.Operation{Verb: "CREATE", Intent: "Creates a message"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb CREATE"}},
		{document.Operation{Verb: "RETRIEVE", Intent: "Sends a message with a plain GET or POST"}, effectView{"Probably sends", "inferred", "Effect not declared; inferred from its intent: send"}},
		{document.Operation{Verb: "SET", Intent: "Sets how long drivers take to pick up an order"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "REPLACE", Intent: "Replaces the photo of a profile"}, effectView{"Probably writes", "inferred", "Effect not declared; inferred from its verb REPLACE"}},
		{document.Operation{Verb: "SET", Intent: "Sets the status of an order to cancelled"}, effectView{"May remove or end something", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "SET"}, effectView{"May remove or end something", "inferred", "Effect not declared; inferred from its verb SET"}},
		{document.Operation{Verb: "XYZZY"}, effectView{"", "", "Effect not declared"}},
	} {
		if got := effectOf(index.EffectOf(&c.operation)); got != c.want {
			t.Errorf("%s, declared %q: %+v, want %+v", c.operation.Verb, c.operation.Effect, got, c.want)
		}
	}
}
