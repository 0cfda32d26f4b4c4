package repair

import (
	"reflect"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/protocol"
)

// allFindings is a limit that no document reaches, since every finding must be seen to be repaired.
const allFindings = 1 << 20

// A reading is a text with its tree and findings.
type reading struct {
	format document.Format
	text   []byte
	// body is the text without a byte order mark, skip the length of that mark.
	body []byte
	skip int
	// root is the tree of body, empty for a text without one.
	root     *protocol.Node
	nodes    map[string]*protocol.Node // by pointer, filled by at
	findings []protocol.Finding
	errors   int
	err      error
	// meaning is the content of the document, set if it has no errors.
	meaning *document.Document
}

func (m *repairer) readText(text []byte) *reading {
	m.readings++
	r := &reading{format: m.format, text: text, body: text}
	if body, marked := protocol.TrimBOM(text); marked {
		r.body, r.skip = body, len(text)-len(body)
	}
	parsed, err := m.format.Parse(text, document.ParseOptions{Limits: protocol.Limits{Findings: allFindings}})
	r.findings, r.err, r.root = parsed.Findings, err, parsed.Root
	if r.root == nil {
		r.root = &protocol.Node{}
	}
	for _, f := range r.findings {
		if f.Severity == protocol.Error {
			r.errors++
		}
	}
	if r.errors == 0 && r.err == nil {
		r.meaning = comparableDocument(m.format.Kind, text)
	}
	return r
}

// blockingFinding returns the finding that prevents a part of the document from being checked at
// all.
func (r *reading) blockingFinding() (protocol.Finding, bool) {
	for _, f := range r.findings {
		if f.Code == "AGIS117" && f.Pointer == "/endpoints" {
			return f, true
		}
	}
	return protocol.Finding{}, false
}

// isBetterThan reports whether r may replace before.
func (r *reading) isBetterThan(before *reading) bool {
	_, hid := before.blockingFinding()
	_, hides := r.blockingFinding()
	switch {
	case before.err != nil:
		return r.err == nil
	case r.err == nil && hid && !hides:
		return true
	case r.err != nil, r.errors > before.errors, r.errors == before.errors && len(r.findings) >= len(before.findings):
		return false
	case before.meaning == nil:
		return true
	}
	return r.meaning != nil && reflect.DeepEqual(before.meaning, r.meaning)
}

// comparableDocument returns the content of a document without what a repair may change: bytes,
// findings, letter case of verbs, duplicate errors.
func comparableDocument(kind document.Kind, text []byte) *document.Document {
	d, err := document.Read(document.Input{Kind: kind, Host: "example.com", Bytes: text})
	if err != nil {
		return nil
	}
	out := &document.Document{Kind: kind, Service: d.Service, Operations: d.Operations, DataClasses: d.DataClasses, Links: d.Links}
	for i := range out.Operations {
		op := &out.Operations[i]
		op.ID = strings.ToUpper(op.ID)
		var names []string
		for _, name := range op.Errors {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		op.Errors = names
	}
	return out
}

// nodeAt returns the node with the pointer, nil when there is none.
func (r *reading) nodeAt(pointer string) *protocol.Node {
	if r.nodes == nil {
		r.nodes = map[string]*protocol.Node{}
		var walk func(n *protocol.Node)
		walk = func(n *protocol.Node) {
			r.nodes[n.Pointer] = n
			for _, item := range n.Items {
				walk(item)
			}
		}
		walk(r.root)
	}
	return r.nodes[pointer]
}
