package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// maxToolName is the length of the longest tool name that clients accept.
const maxToolName = 64

// maxTools is the highest number of values in a list of tools. References are written out for each
// tool, so a short document can produce a long list.
const maxTools = 500000

// FromAGIS converts an AGIS document into the result of an MCP tools/list request, by the rules of
// appendix C.2. What MCP cannot express is dropped. It fails for a text that is not an AGIS document
// and for a document without endpoints.
func FromAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	d, findings, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return conversion.Output{}, fmt.Errorf("convert AGIS to MCP: %w", err)
	}
	if len(d.Endpoints) == 0 {
		return conversion.Output{}, fmt.Errorf("convert AGIS to MCP: the document has no endpoints: %s", conversion.DescribeFirstError(findings, nil))
	}
	w := &toolWriter{doc: d, options: o, notes: &conversion.Notes{}, taken: map[string]bool{}, given: map[string]bool{}}
	tools := tree.Array()
	w.claimNames()
	for _, e := range d.Endpoints {
		tools.Items = append(tools.Items, w.buildTool(e))
		if w.nodes > maxTools {
			return conversion.Output{}, fmt.Errorf("convert AGIS to MCP: the tools have more than %d values, because schemas are written out for each of them", maxTools)
		}
	}
	if worst, _ := protocol.Worst(findings); worst == protocol.Error {
		w.notes.Add(nil, "the AGIS document breaks its draft: "+conversion.DescribeFirstError(findings, nil))
	}
	root := tree.Object("tools", tools)
	reviews := w.notes.Reviews(root)
	return conversion.Output{Text: append(protocol.WriteJSON(root, "  "), '\n'), Reviews: reviews}, nil
}

// A toolWriter writes the tools of one document.
type toolWriter struct {
	doc     *agis.Document
	options conversion.Options
	notes   *conversion.Notes
	taken   map[string]bool // names in use, or declared by some endpoint
	given   map[string]bool // declared names in use
	nodes   int
}

// claimNames reserves the names that endpoints declare.
func (w *toolWriter) claimNames() {
	for _, e := range w.doc.Endpoints {
		if name := declaredToolName(e); name != "" {
			w.taken[name] = true
		}
	}
}

// declaredToolName returns the tool name that an endpoint declares, "" if there is none or it is
// not legal (AGIS §6.2).
func declaredToolName(e agis.Endpoint) string {
	name := e.Semantic.MCPToolName
	if !isLegalToolName(name) {
		return ""
	}
	return name
}

// refusedName says why the name that an endpoint declares is not used, "" if there is none or it is
// legal.
func refusedName(e agis.Endpoint) string {
	if e.Semantic.MCPToolName == "" || declaredToolName(e) != "" {
		return ""
	}
	return fmt.Sprintf("the document declares the name %s, which is not of 1 to %d lowercase letters, digits and underscores", protocol.Quote(e.Semantic.MCPToolName), maxToolName)
}

func (w *toolWriter) buildTool(e agis.Endpoint) *protocol.Node {
	tool := tree.Object()
	name, why := w.chooseName(e)
	n := tree.Put(tool, "name", tree.String(name))
	if why != "" {
		w.notes.Add(n, why)
	}
	tree.Put(tool, "description", tree.String(e.Semantic.Intent+formatHints(e.Semantic.Hints)))
	tree.Put(tool, "inputSchema", requireObjectType(w.bundleSchema(e.Input)))
	if w.options.Extended {
		w.addExtensions(tool, e)
	}
	return tool
}

// chooseName returns the tool name of C.2(a): the declared one, or else method and first segment. A
// name in use gets the parameters of its path added, then a number.
func (w *toolWriter) chooseName(e agis.Endpoint) (name, why string) {
	if name := declaredToolName(e); name != "" && !w.given[name] { // the first to declare it
		w.given[name] = true
		return name, ""
	}
	segments := strings.Split(strings.Trim(e.Path, "/"), "/")
	words := append([]string{strings.ToLower(e.Method)}, wording.IdentifierWords(segments[0])...)
	plain := cmp.Or(wording.JoinWords(words, "_", maxToolName), "tool")
	if !w.taken[plain] {
		w.taken[plain] = true
		return plain, refusedName(e)
	}
	var by []string
	for _, s := range segments[1:] {
		if s = strings.Trim(s, "{}"); s != "" {
			by = append(by, wording.IdentifierWords(s)...)
		}
	}
	longer := plain
	if len(by) > 0 && strings.HasSuffix(e.Path, "}") {
		longer = wording.JoinWords(append(append(words, "by"), by...), "_", maxToolName)
	} else if len(by) > 0 {
		longer = wording.JoinWords(append(words, by...), "_", maxToolName)
	}
	return wording.UniqueName(longer, maxToolName, w.taken), "another tool is called " + protocol.Quote(plain) + " already; mcp_tool_name settles the name"
}

// formatHints renders parameter_hints as the draft shows it (C.2(b)).
func formatHints(hints []agis.Hint) string {
	var parts []string
	for _, h := range hints {
		if len(h.Texts) == 0 {
			continue
		}
		quoted := make([]string, len(h.Texts))
		for i, t := range h.Texts {
			quoted[i] = "'" + strings.ReplaceAll(strings.ReplaceAll(wording.OneLine(t), `\`, `\\`), "'", `\'`) + "'"
		}
		parts = append(parts, h.Parameter+" = ["+strings.Join(quoted, ", ")+"]")
	}
	if parts == nil {
		return ""
	}
	return "\n Hints: " + strings.Join(parts, "; ")
}

// requireObjectType adds the type that MCP requires in an input schema.
func requireObjectType(schema *protocol.Node) *protocol.Node {
	if schema.Member("type").Str() == "object" {
		return schema
	}
	out := tree.Object("type", "object")
	for _, m := range schema.Items {
		if m.Key != "type" {
			out.Items = append(out.Items, m)
		}
	}
	return out
}

// bundleSchema copies a schema and adds every schema of the document that it refers to under $defs,
// so that the copy is complete.
func (w *toolWriter) bundleSchema(block *protocol.Node) *protocol.Node {
	if block.Member("$ref") != nil && len(block.Items) == 1 {
		block = w.doc.Resolve(block, block) // show clients the properties at once
	}
	b := &schemaBundler{writer: w, block: block, names: map[*protocol.Node]string{}, taken: map[string]bool{}}
	for _, m := range tree.Members(block.Member("$defs")) {
		b.taken[m.Key] = true
	}
	if !tree.IsKind(block, protocol.Object) {
		return tree.Object()
	}
	out := b.copyNode(block)
	defs := out.Member("$defs")
	for len(b.waiting) > 0 && w.nodes <= maxTools {
		n := b.waiting[0]
		b.waiting = b.waiting[1:]
		if !tree.IsKind(defs, protocol.Object) {
			defs = tree.Put(out, "$defs", tree.Object())
		}
		tree.Put(defs, b.names[n], b.copyNode(n))
	}
	return out
}

type schemaBundler struct {
	writer  *toolWriter
	block   *protocol.Node
	names   map[*protocol.Node]string
	taken   map[string]bool
	waiting []*protocol.Node
}

func (b *schemaBundler) copyNode(n *protocol.Node) *protocol.Node {
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

// copyMember copies one member or element. It returns nil for a reference that leads nowhere.
func (b *schemaBundler) copyMember(n, item, ref *protocol.Node) *protocol.Node {
	if item != ref || !tree.IsKind(ref, protocol.String) {
		return b.copyNode(item)
	}
	target := b.writer.doc.Resolve(n, b.block)
	switch {
	case target == nil:
		b.writer.notes.Add(nil, "the reference "+protocol.Quote(ref.Text)+" leads nowhere in the document and is left out")
		return nil
	case target == b.block:
		return tree.String("#")
	}
	name, known := b.names[target]
	if !known {
		name = conversion.UnsafeNameRunes.ReplaceAllString(target.Key, "_")
		name = cmp.Or(name, "schema")
		name = wording.UniqueName(name[:min(len(name), 80)], 90, b.taken)
		b.names[target] = name
		b.waiting = append(b.waiting, target)
	}
	return tree.String("#/$defs/" + name)
}

// addExtensions adds what C.2 does not map: the schema of the answer, and annotations about the
// effect of a call.
func (w *toolWriter) addExtensions(tool *protocol.Node, e agis.Endpoint) {
	if resolved := w.doc.Resolve(e.Output, e.Output); tree.IsKind(e.Output, protocol.Object) && resolved.Member("type").Str() == "object" {
		tree.Put(tool, "outputSchema", requireObjectType(w.bundleSchema(e.Output)))
	}
	hints := tree.Object()
	switch e.Semantic.ImpactTier {
	case "informational":
		tree.Put(hints, "readOnlyHint", tree.Bool(true))
	case "reversible":
		tree.Put(hints, "readOnlyHint", tree.Bool(false))
		tree.Put(hints, "destructiveHint", tree.Bool(false))
	case "irreversible":
		tree.Put(hints, "readOnlyHint", tree.Bool(false))
		tree.Put(hints, "destructiveHint", tree.Bool(true))
	}
	if e.Semantic.Idempotent != nil {
		tree.Put(hints, "idempotentHint", tree.Bool(*e.Semantic.Idempotent))
	}
	if len(hints.Items) > 0 {
		tree.Put(tool, "annotations", hints)
	}
}
