package repair

import (
	"slices"

	"gazetteer/document"
	"gazetteer/protocol"
)

// A remedy returns the edits to r.body that repair one finding at a node, and none if there is no
// safe repair.
type remedy func(r *reading, n *protocol.Node) []protocol.Edit

// remedies maps rule codes to their repairs.
var remedies = map[string]remedy{
	"AI211": versionText, // aiendpoint: 1.0
	"AI212": versionText, // "v1.0"
	"AI308": categoryList,
	"AI310": removeElement,
	"AI312": languageList,
	"AI314": removeElement,
	"AI315": languageTag,
	"AI418": upperCase("GET", "POST", "PUT", "PATCH", "DELETE"),
	"AI420": paramDialect,
	"AI502": sameLetters("none", "apikey", "bearer", "oauth2"),
	"AI601": booleanText,
	"AI701": numberText,
	"AI702": booleanText,
	"AI801": dateTimeText,

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

// proposeRepairs lists possible repairs in the order of the findings.
func proposeRepairs(r *reading) []Repair {
	if r.err != nil {
		return proposeSyntaxRepairs(r)
	}
	var out []Repair
	if r.skip > 0 {
		for _, f := range r.findings {
			if f.Code == "AI202" {
				return []Repair{{f, []protocol.Edit{{Offset: 0, End: r.skip}}}}
			}
		}
	}
	if f, ok := r.blockingFinding(); ok {
		if n := r.nodeAt(f.Pointer); n != nil {
			if repairs := r.appendRepair(nil, f, remedies[f.Code](r, n)); len(repairs) > 0 {
				return repairs
			}
		}
	}
	for _, f := range r.findings {
		if remedy := remedies[f.Code]; remedy != nil {
			if n := r.nodeAt(f.Pointer); n != nil {
				out = r.appendRepair(out, f, remedy(r, n))
			}
		}
	}
	for _, rename := range findRenames(r) {
		out = r.appendRepair(out, rename.Finding, rename.Edits)
	}
	return out
}

// appendRepair appends a repair whose edits have offsets in r.body.
func (r *reading) appendRepair(out []Repair, f protocol.Finding, edits []protocol.Edit) []Repair {
	if len(edits) == 0 {
		return out
	}
	moved := make([]protocol.Edit, len(edits))
	for i, e := range edits {
		e.Offset += r.skip
		e.End += r.skip
		moved[i] = e
	}
	return append(out, Repair{f, moved})
}

// proposeSyntaxRepairs lists repairs that together may make an unreadable text readable.
func proposeSyntaxRepairs(r *reading) []Repair {
	at := slices.IndexFunc(r.findings, func(f protocol.Finding) bool { return f.Code == r.format.SyntaxCode })
	if at < 0 {
		return nil
	}
	finding := r.findings[at]
	if r.format.Syntax != document.JSON {
		return r.appendRepair(nil, finding, quoteTransitions(r.body))
	}
	var out []Repair
	if r.skip > 0 {
		// A reader of JSON reports the mark, or refuses the text because of it.
		out = append(out, Repair{r.findings[0], []protocol.Edit{{Offset: 0, End: r.skip}}})
	}
	_, faults := StandardJSON(r.body)
	for _, kind := range groupFaults(faults) {
		out = r.appendRepair(out, syntaxFinding(r.body, finding, kind), syntaxEdits(r.body, kind))
	}
	return out
}
