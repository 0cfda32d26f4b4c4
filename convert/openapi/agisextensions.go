package openapi

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// The extensions in which [FromAGIS] writes what OpenAPI has no member for. [ToAGIS] reads them, so that a
// document that goes there and back keeps it.
const (
	semanticExtension = "x-agis-semantic" // of an operation
	errorsExtension   = "x-agis-errors"   // of a response: names of errors
)

// declareSemantic puts the members of the semantic extension of an operation into a semantic block, and
// reports which it put.
func declareSemantic(block *protocol.Node, op *operation) map[string]bool {
	declared := map[string]bool{}
	for _, m := range []struct {
		name string
		kind protocol.Kind
	}{
		{"actor", protocol.String}, {"capability", protocol.String}, {"impact_tier", protocol.String}, {"mcp_tool_name", protocol.String},
		{"confidence_guidance", protocol.Number}, {"is_idempotent", protocol.Bool},
		{"parameter_hints", protocol.Object}, {"state_transition", protocol.Object},
	} {
		n := op.node.Member(semanticExtension).Member(m.name)
		if !tree.IsKind(n, m.kind) {
			continue
		}
		declared[m.name] = true
		if old := block.Member(m.name); old != nil {
			old.Text = n.Text
		} else {
			tree.Put(block, m.name, tree.Clone(n))
		}
	}
	if declaredText(op, "intent") != "" && !declared["confidence_guidance"] { // a whole block, whose author gave none
		block.Items = slices.DeleteFunc(block.Items, func(n *protocol.Node) bool { return n.Key == "confidence_guidance" })
	}
	return declared
}

// maxDeclaredText is the number of characters up to which a declared intent or outcome is kept.
const maxDeclaredText = 240

// declaredText returns a text of the semantic extension of an operation, the intent or the outcome, as its
// author wrote it. It returns "" if there is none, and for one that is too long, has more than one sentence
// or addresses a model.
func declaredText(op *operation, name string) string {
	text := wording.OneLine(op.node.Member(semanticExtension).Member(name).Str())
	if utf8.RuneCountInString(text) > maxDeclaredText || wording.FirstSentence(text) != strings.TrimRight(text, ".") {
		return ""
	}
	return wording.DropInstruction(text)
}

// A declaredError is an error of an AGIS endpoint, as a response names it.
type declaredError struct{ name, description string }

// declaredErrors returns the errors that the responses of an operation name by the extension. A line of the
// description that begins with the name of an error describes it.
func declaredErrors(op *operation) (list []declaredError) {
	for _, response := range tree.Members(op.node.Member("responses")) {
		lines := strings.Split(response.Member("description").Str(), "\n")
		for _, name := range response.Member(errorsExtension).Strs() {
			if name == "" || name != wording.OneLine(name) || len(name) > 100 {
				continue
			}
			e := declaredError{name: name}
			for _, line := range lines {
				if text, ok := strings.CutPrefix(line, name+": "); ok {
					e.description = wording.DropInstruction(wording.StripMarkup(text))
				}
			}
			list = append(list, e)
		}
	}
	return list
}
