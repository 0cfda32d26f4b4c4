package document

import (
	"fmt"
	"net/http"
	"strings"

	"gazetteer/protocol"
)

// CodeContradicts is the code of the findings of [Contradictions]. Package lint has the rule.
const CodeContradicts = "DOC105"

// maxContradictions is the number of findings that a comparison returns.
const maxContradictions = 20

// Contradictions returns a finding of the AI Discovery document for each operation that the AGIS document
// of the same host describes with another effect: one says that it only reads, the other that it removes
// something or cannot be undone. Only operations that no other one of their document shares the path with, or the sentence,
// are compared. text is that of the AI Discovery document, for the places; nil leaves them out.
func Contradictions(ai, agis *Document, text []byte) []protocol.Finding {
	var out []protocol.Finding
	compared := map[*Operation]bool{}
	for _, key := range []func(*Operation) string{(*Operation).NounPath, sentenceOf} {
		mine, theirs := onlyOperations(ai, key), onlyOperations(agis, key)
		for i := range ai.Operations {
			o := &ai.Operations[i]
			other := theirs[key(o)]
			if other == nil || mine[key(o)] != o || compared[o] {
				continue
			}
			compared[o] = true
			if why := contradict(o, other); why != "" && len(out) < maxContradictions {
				out = append(out, protocol.Finding{
					Code: CodeContradicts, Severity: protocol.Warning, Section: "lint", Pointer: o.Pointer,
					Message: why, Help: "correct the document that is wrong: callers read one of the two",
				})
			}
		}
	}
	if len(out) > 0 && text != nil {
		setPlaces(out, text)
	}
	return out
}

// setPlaces sets the lines and columns of findings of a text.
func setPlaces(findings []protocol.Finding, text []byte) {
	text, _ = protocol.TrimBOM(text)
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil {
		return
	}
	for _, n := range root.Member("capabilities").Elements() {
		for i := range findings {
			if findings[i].Pointer == n.Pointer {
				findings[i].Line, findings[i].Column = n.Line, n.Column
			}
		}
	}
}

// onlyOperations returns the operations of a document that no other one of it shares a key with.
func onlyOperations(d *Document, key func(*Operation) string) map[string]*Operation {
	only := make(map[string]*Operation, len(d.Operations))
	for i := range d.Operations {
		o := &d.Operations[i]
		name := key(o)
		if _, shared := only[name]; shared || name == "" {
			o = nil
		}
		only[name] = o
	}
	return only
}

// minSentence is the number of words from which on a sentence names one operation.
const minSentence = 3

// sentenceOf returns the sentence that describes an operation, "" if it is short.
func sentenceOf(o *Operation) string {
	words := strings.Fields(strings.ToLower(o.Intent))
	if len(words) < minSentence {
		return ""
	}
	return strings.TrimRight(strings.Join(words, " "), ".!")
}

// contradict says how the effects of one operation contradict each other in two documents, "" if they do
// not. Only the clear cases count: many services create with GET, and read with POST or PUT.
func contradict(ai, agis *Operation) string {
	name, endpoint := protocol.Quote(ai.ID), protocol.Quote(strings.TrimSpace(agis.Verb+" "+agis.Path))
	switch {
	case ai.Call.Method == http.MethodGet && agis.Effect == Irreversible:
		return fmt.Sprintf("%s is called with GET, which only reads, but the AGIS document says that %s is irreversible", name, endpoint)
	case ai.Call.Method == http.MethodDelete && agis.Effect == Informational:
		return fmt.Sprintf("%s is called with DELETE, which removes something, but the AGIS document says that %s is informational", name, endpoint)
	}
	return ""
}
