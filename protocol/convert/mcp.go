package convert

import (
	"fmt"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// maxToolName is the longest tool name that clients take.
const maxToolName = 64

// maxTools is how large a list of tools may become, in values: references are
// written out for each tool, so that a short document can stand for a long list.
const maxTools = 500000

// agisToMCP converts an AGIS document into the result of an MCP tools/list
// request, by the rules of appendix C.2. What MCP has no place for is dropped.
func agisToMCP(text []byte, o Options) (Output, error) {
	d, findings, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return Output{}, fmt.Errorf("convert AGIS to MCP: %w", err)
	}
	if len(d.Endpoints) == 0 {
		return Output{}, fmt.Errorf("convert AGIS to MCP: the document has no endpoints: %s", firstError(findings, nil))
	}
	w := &toolWriter{doc: d, options: o, notes: &notes{}, taken: map[string]bool{}, given: map[string]bool{}}
	tools := newArray()
	w.claimNames()
	for _, e := range d.Endpoints {
		tools.Items = append(tools.Items, w.tool(e))
		if w.nodes > maxTools {
			return Output{}, fmt.Errorf("convert AGIS to MCP: the tools have more than %d values, because schemas are written out for each of them", maxTools)
		}
	}
	if worst, _ := protocol.Worst(findings); worst == protocol.Error {
		w.notes.add(nil, "the AGIS document breaks its draft: "+firstError(findings, nil))
	}
	root := newObject()
	put(root, "tools", tools)
	reviews := w.notes.reviews(root)
	return Output{Text: append(protocol.WriteJSON(root, "  "), '\n'), Reviews: reviews}, nil
}

// A toolWriter writes the tools of one document.
type toolWriter struct {
	doc     *agis.Document
	options Options
	notes   *notes
	taken   map[string]bool // names that no other endpoint may get
	given   map[string]bool // declared names that an endpoint has got
	nodes   int
}

// claimNames takes the names that endpoints declare, so that no other endpoint
// is given one of them.
func (w *toolWriter) claimNames() {
	for _, e := range w.doc.Endpoints {
		if name := declaredTool(e); name != "" {
			w.taken[name] = true
		}
	}
}

// declaredTool returns the tool name of an endpoint, if it declares a legal one
// (AGIS §6.2).
func declaredTool(e agis.Endpoint) string {
	name := e.Semantic.MCPToolName
	if name == "" || len(name) > maxToolName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return name
}

func (w *toolWriter) tool(e agis.Endpoint) *protocol.Node {
	tool := newObject()
	name, why := w.name(e)
	n := put(tool, "name", strNode(name))
	if why != "" {
		w.notes.add(n, why)
	}
	put(tool, "description", strNode(e.Semantic.Intent+hintsLine(e.Semantic.Hints)))
	put(tool, "inputSchema", withType(w.bundle(e.Input)))
	if w.options.Extended {
		w.extend(tool, e)
	}
	return tool
}

// name returns the tool name of C.2(a): the declared one, or else method and
// first segment. Names that would stand twice get the parameters of their path
// behind them, then a number.
func (w *toolWriter) name(e agis.Endpoint) (name, why string) {
	if name := declaredTool(e); name != "" && !w.given[name] { // the first to declare it
		w.given[name] = true
		return name, ""
	}
	segments := strings.Split(strings.Trim(e.Path, "/"), "/")
	words := append([]string{strings.ToLower(e.Method)}, identifierWords(segments[0])...)
	plain := joinWords(words, "_", maxToolName)
	if plain == "" {
		plain = "tool"
	}
	if !w.taken[plain] {
		w.taken[plain] = true
		return plain, ""
	}
	var by []string
	for _, s := range segments[1:] {
		if s = strings.Trim(s, "{}"); s != "" {
			by = append(by, identifierWords(s)...)
		}
	}
	longer := plain
	if len(by) > 0 && strings.HasSuffix(e.Path, "}") {
		longer = joinWords(append(append(words, "by"), by...), "_", maxToolName)
	} else if len(by) > 0 {
		longer = joinWords(append(words, by...), "_", maxToolName)
	}
	return unique(longer, maxToolName, w.taken), "another tool is called " + protocol.Quote(plain) + " already; mcp_tool_name settles the name"
}

// hintsLine renders parameter_hints as the draft shows it (C.2(b)).
func hintsLine(hints []agis.Hint) string {
	var parts []string
	for _, h := range hints {
		if len(h.Texts) == 0 {
			continue
		}
		quoted := make([]string, len(h.Texts))
		for i, t := range h.Texts {
			quoted[i] = "'" + strings.ReplaceAll(strings.ReplaceAll(oneLine(t), `\`, `\\`), "'", `\'`) + "'"
		}
		parts = append(parts, h.Parameter+" = ["+strings.Join(quoted, ", ")+"]")
	}
	if parts == nil {
		return ""
	}
	return "\n Hints: " + strings.Join(parts, "; ")
}

// withType adds the type that MCP demands of an input schema.
func withType(schema *protocol.Node) *protocol.Node {
	if schema.Member("type").Str() == "object" {
		return schema
	}
	out := newObject()
	put(out, "type", strNode("object"))
	for _, m := range schema.Items {
		if m.Key != "type" {
			out.Items = append(out.Items, m)
		}
	}
	return out
}

// bundle copies a schema and puts every schema of the document that it refers to
// under $defs, so that no reference leads out of it.
func (w *toolWriter) bundle(block *protocol.Node) *protocol.Node {
	if block.Member("$ref") != nil && len(block.Items) == 1 {
		block = w.doc.Resolve(block, block) // show clients the properties at once
	}
	b := &bundler{writer: w, block: block, names: map[*protocol.Node]string{}, taken: map[string]bool{}}
	for _, m := range membersOf(block.Member("$defs")) {
		b.taken[m.Key] = true
	}
	if !isKind(block, protocol.Object) {
		return newObject()
	}
	out := b.copy(block)
	defs := out.Member("$defs")
	for len(b.waiting) > 0 && w.nodes <= maxTools {
		n := b.waiting[0]
		b.waiting = b.waiting[1:]
		if !isKind(defs, protocol.Object) {
			defs = put(out, "$defs", newObject())
		}
		put(defs, b.names[n], b.copy(n))
	}
	return out
}

type bundler struct {
	writer  *toolWriter
	block   *protocol.Node
	names   map[*protocol.Node]string
	taken   map[string]bool
	waiting []*protocol.Node
}

func (b *bundler) copy(n *protocol.Node) *protocol.Node {
	b.writer.nodes++
	out := &protocol.Node{Kind: n.Kind, Text: n.Text}
	if b.writer.nodes > maxTools {
		return out
	}
	ref := n.Member("$ref")
	for _, item := range n.Items {
		c := b.copyMember(n, item, ref)
		if c != nil {
			c.Key = item.Key
			out.Items = append(out.Items, c)
		}
	}
	return out
}

// copyMember copies one member or element; nil leaves a reference out that leads
// nowhere.
func (b *bundler) copyMember(n, item, ref *protocol.Node) *protocol.Node {
	if item != ref || !isKind(ref, protocol.String) {
		return b.copy(item)
	}
	target := b.writer.doc.Resolve(n, b.block)
	switch {
	case target == nil:
		b.writer.notes.add(nil, "the reference "+protocol.Quote(ref.Text)+" leads nowhere in the document and is left out")
		return nil
	case target == b.block:
		return strNode("#")
	}
	name, known := b.names[target]
	if !known {
		name = unsafeInName.ReplaceAllString(target.Key, "_")
		if name == "" {
			name = "schema"
		}
		name = unique(name[:min(len(name), 80)], 90, b.taken)
		b.names[target] = name
		b.waiting = append(b.waiting, target)
	}
	return strNode("#/$defs/" + name)
}

// extend adds what MCP has beyond C.2: the schema of the answer and annotations
// that say how much a call may change.
func (w *toolWriter) extend(tool *protocol.Node, e agis.Endpoint) {
	if resolved := w.doc.Resolve(e.Output, e.Output); isKind(e.Output, protocol.Object) && resolved.Member("type").Str() == "object" {
		put(tool, "outputSchema", withType(w.bundle(e.Output)))
	}
	hints := newObject()
	switch e.Semantic.ImpactTier {
	case "informational":
		put(hints, "readOnlyHint", boolNode(true))
	case "reversible":
		put(hints, "readOnlyHint", boolNode(false))
		put(hints, "destructiveHint", boolNode(false))
	case "irreversible":
		put(hints, "readOnlyHint", boolNode(false))
		put(hints, "destructiveHint", boolNode(true))
	}
	if e.Semantic.Idempotent != nil {
		put(hints, "idempotentHint", boolNode(*e.Semantic.Idempotent))
	}
	if len(hints.Items) > 0 {
		put(tool, "annotations", hints)
	}
}
