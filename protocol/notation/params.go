package notation

import (
	"fmt"
	"slices"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

// ParamsToDraft rewrites the parameter descriptions of an AI Discovery document into the form of
// §3.3, "string, required -- text". Everything else keeps its bytes, except for a byte order mark.
func ParamsToDraft(text []byte, _ conversion.Options) (conversion.Output, error) {
	text, _ = protocol.TrimBOM(text)
	if _, _, err := aidiscovery.Parse(text, aidiscovery.Options{}); err != nil {
		return conversion.Output{}, err
	}
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil {
		return conversion.Output{}, fmt.Errorf("read AI Discovery document: %w: %w", protocol.ErrUnreadable, err)
	}
	if root.Member("aiendpoint") == nil && root.Member("capabilities") == nil {
		return conversion.Output{}, fmt.Errorf("read AI Discovery document: %w: %s", protocol.ErrOtherFormat, conversion.IdentifyFormat(root, "aiendpoint"))
	}
	var out conversion.Output
	var edits []protocol.Edit
	for _, d := range paramTexts(root) {
		p := aidiscovery.ParseParam(d.node.Text)
		if p.Dialect == aidiscovery.FreeText {
			p = guessedParam(d, p)
			out.Reviews = append(out.Reviews, conversion.Review{Pointer: d.node.Pointer,
				Message: "the text has neither the type nor whether it is required; both are guesses"})
		}
		written, ok := draftForm(p)
		if !ok {
			out.Reviews = append(out.Reviews, conversion.Review{Pointer: d.node.Pointer,
				Message: "the draft's form cannot express this text; it is unchanged"})
			continue
		}
		if written != d.node.Text {
			edits = append(edits, protocol.Edit{Offset: d.node.Offset, End: d.node.End, Text: conversion.QuoteJSON(written)})
		}
	}
	out.Text, err = protocol.ApplyEdits(text, edits)
	return out, err
}

// ParamDialect returns the edit that rewrites a parameter description from another known dialect
// into the form of the draft. It returns false for a text without type and requirement, and for one
// whose meaning would change.
func ParamDialect(n *protocol.Node) (protocol.Edit, bool) {
	p := aidiscovery.ParseParam(n.Str())
	if n.Kind != protocol.String || n.End == 0 || p.Dialect != aidiscovery.Documentation && p.Dialect != aidiscovery.Converter {
		return protocol.Edit{}, false
	}
	written, ok := draftForm(p)
	return protocol.Edit{Offset: n.Offset, End: n.End, Text: conversion.QuoteJSON(written)}, ok
}

// A paramText is one parameter description with the endpoint that it belongs to.
type paramText struct {
	node     *protocol.Node
	endpoint string
}

func paramTexts(root *protocol.Node) []paramText {
	var out []paramText
	for _, capability := range root.Member("capabilities").Elements() {
		for _, m := range tree.Members(capability.Member("params")) {
			if m.Kind == protocol.String {
				out = append(out, paramText{m, capability.Member("endpoint").Str()})
			}
		}
	}
	return out
}

// guessedParam adds a guessed type and requirement to a text without them.
func guessedParam(d paramText, p aidiscovery.Param) aidiscovery.Param {
	n := tree.Object()
	conversion.GuessType(n, d.node.Key)
	p.Type = n.Member("type").Text
	p.Required = slices.Contains(aidiscovery.PathParams(d.endpoint), d.node.Key)
	p.Stated, p.Dialect = true, aidiscovery.Draft
	return p
}

// draftForm writes a parameter in the form of §3.3 and reports whether a reader gets the same
// meaning from it.
func draftForm(p aidiscovery.Param) (string, bool) {
	text := p.String()
	q := aidiscovery.ParseParam(text)
	return text, q.Dialect == aidiscovery.Draft && q.Type == p.Type && q.Required == p.Required &&
		q.Description == p.Description && slices.Equal(q.Constraints, p.Constraints)
}
