package mend

import (
	"gazetteer/document"
	"gazetteer/protocol"
)

// A remedy returns the edits to r.body that mend one finding at a node, none
// when it cannot be mended safely.
type remedy func(r *reading, n *protocol.Node) []protocol.Edit

// remedies are the ways to mend, by the code of the rule.
var remedies = map[string]remedy{
	"AI211": versionText, // aiendpoint: 1.0
	"AI310": removeElement,
	"AI314": removeElement,
	"AI315": languageTag,
	"AI418": upperCase("GET", "POST", "PUT", "PATCH", "DELETE"),
	"AI420": paramDialect,
	"AI502": sameLetters("none", "apikey", "bearer", "oauth2"),
	"AI601": booleanText,
	"AI701": numberText,
	"AI702": booleanText,
	"AI801": moment,

	"AGIS111": versionText,
	"AGIS112": versionText,
	"AGIS117": endpointList,
	"AGIS136": booleanText,
	"AGIS205": anyUpperCase,
	"AGIS504": sameLetters("agent", "user", "system"),
	"AGIS508": sameLetters("discovery", "transaction", "modification", "retrieval", "analysis", "notification"),
	"AGIS509": numberText,
	"AGIS511": sameLetters("informational", "reversible", "irreversible"),
	"AGIS512": booleanText,
	"AGIS701": declareVerbs,
	"AGIS702": declareVerb,
	"AGIS704": removeElement,
	"AGIS815": removeElement,

	"WK102": versionText,
}

// propose lists what may be mended, in the order of the findings.
func propose(r *reading) []Mend {
	if r.err != nil {
		return unreadable(r)
	}
	var out []Mend
	if r.skip > 0 {
		for _, f := range r.findings {
			if f.Code == "AI202" {
				return []Mend{{f, []protocol.Edit{{Offset: 0, End: r.skip}}}}
			}
		}
	}
	if f, ok := r.hiding(); ok {
		if n := r.at(f.Pointer); n != nil {
			if mends := r.propose(nil, f, remedies[f.Code](r, n)); len(mends) > 0 {
				return mends
			}
		}
	}
	for _, f := range r.findings {
		if remedy := remedies[f.Code]; remedy != nil {
			if n := r.at(f.Pointer); n != nil {
				out = r.propose(out, f, remedy(r, n))
			}
		}
	}
	for _, rename := range renames(r) {
		out = r.propose(out, rename.Finding, rename.Edits)
	}
	return out
}

// propose appends a mend whose edits count in r.body.
func (r *reading) propose(out []Mend, f protocol.Finding, edits []protocol.Edit) []Mend {
	if len(edits) == 0 {
		return out
	}
	moved := make([]protocol.Edit, len(edits))
	for i, e := range edits {
		e.Offset += r.skip
		e.End += r.skip
		moved[i] = e
	}
	return append(out, Mend{f, moved})
}

// unreadable lists what may make a text readable that is not.
func unreadable(r *reading) []Mend {
	if len(r.findings) == 0 {
		return nil
	}
	switch {
	case r.kind == document.AGISSummary && r.skip > 0:
		return []Mend{{r.findings[0], []protocol.Edit{{Offset: 0, End: r.skip}}}}
	case r.kind == document.AGIS && r.findings[0].Code == "AGIS101":
		return r.propose(nil, r.findings[0], quoteTransitions(r.body))
	}
	return nil
}
