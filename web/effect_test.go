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
		{document.Operation{Verb: "CANCEL", Effect: document.Reversible}, effectView{ends, "danger", "It can be undone, its document says"}},
		{document.Operation{Verb: "CANCEL", Effect: document.Informational}, effectView{ends, "danger", from}},
		{document.Operation{Verb: "CANCEL"}, effectView{ends, "danger", from}},
		{document.Operation{Verb: "FIND"}, effectView{"Only reads, it seems", "inferred", "Effect not declared; inferred from its verb FIND"}},
		{document.Operation{Verb: "BOOK"}, effectView{"Writes, it seems", "inferred", "Effect not declared; inferred from its verb BOOK"}},
		{document.Operation{Verb: "UPDATE"}, effectView{"Writes, it seems", "inferred", "Effect not declared; inferred from its verb UPDATE"}},
		{document.Operation{Verb: "SEND"}, effectView{"Sends, it seems", "inferred", "Effect not declared; inferred from its verb SEND"}},
		{document.Operation{Verb: "PROCESS"}, effectView{"May remove or end something", "inferred", "Effect not declared; inferred from its verb PROCESS"}},
		{document.Operation{Verb: "XYZZY"}, effectView{"", "", "Effect not declared"}},
	} {
		if got := effectOf(index.EffectOf(&c.operation)); got != c.want {
			t.Errorf("%s, declared %q: %+v, want %+v", c.operation.Verb, c.operation.Effect, got, c.want)
		}
	}
}
