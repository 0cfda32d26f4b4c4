package mcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// ToAGIS converts MCP tools into an AGIS document, by appendix C.3. The text is the result of a
// tools/list request, the whole JSON-RPC answer, an array of tools, or one tool. A tool whose name
// begins with no verb is left out and named in a review.
func ToAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	root, err := conversion.ReadText(text)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("read MCP tools: %w: %w", protocol.ErrUnreadable, err)
	}
	tools, err := findTools(root)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("read MCP tools: %w: %w", protocol.ErrOtherFormat, err)
	}
	b := &documentBuilder{options: o}
	for _, n := range tools[:min(len(tools), conversion.MaxEndpoints)] {
		b.tools = append(b.tools, readTool(n))
	}
	b.beyond = len(tools) - len(b.tools)
	return b.buildDocument()
}

// findTools returns the list of tools in a document.
func findTools(root *protocol.Node) ([]*protocol.Node, error) {
	list := root
	switch {
	case tree.IsKind(root.Member("tools"), protocol.Array):
		list = root.Member("tools")
	case tree.IsKind(root.Member("result").Member("tools"), protocol.Array):
		list = root.Member("result").Member("tools")
	case tree.IsKind(root, protocol.Object) && root.Member("name") != nil && root.Member("inputSchema") != nil:
		list = tree.Array(root)
	case !tree.IsKind(root, protocol.Array):
		return nil, errors.New(conversion.IdentifyFormat(root, "tools"))
	}
	if len(list.Items) == 0 {
		return nil, errors.New("the list of tools is empty")
	}
	for i, item := range list.Items {
		if item.Member("name").Str() == "" {
			return nil, fmt.Errorf("element %d of the list is not a tool: it has no name", i)
		}
	}
	return list.Items, nil
}

// A tool is one MCP tool.
type tool struct {
	node        *protocol.Node
	name        string
	description string
	toolMethod
	care conversion.Simplification
}

// A toolMethod is the method and noun in the name of a tool.
type toolMethod struct {
	// verb is the method; "" when the name begins with none.
	verb string
	// rejected is the first word if it cannot be a method; suggested are verbs to use instead.
	rejected  string
	suggested []string
	noun      []string // the other words
}

// splitToolName splits a name into method and noun (C.3(a)). The name has no method if its first
// word is not a verb. An HTTP method is replaced by the verb that the draft suggests.
func splitToolName(name string) toolMethod {
	words := wording.ASCIIWords(wording.IdentifierWords(name))
	if len(words) == 0 {
		return toolMethod{rejected: strings.ToUpper(name)}
	}
	m := toolMethod{noun: words[1:]}
	first := words[0]
	if verbs := wording.HTTPVerbs[first]; verbs != nil {
		m.rejected, m.suggested, m.verb = strings.ToUpper(first), verbs, verbs[0]
		return m
	}
	if wording.IsMethodVerb(first) {
		m.verb = strings.ToUpper(first)
		return m
	}
	m.rejected = strings.ToUpper(first)
	for _, v := range slices.Concat(english.Base(first), words[1:]) {
		if wording.IsMethodVerb(v) && !slices.Contains(m.suggested, strings.ToUpper(v)) {
			m.suggested = append(m.suggested, strings.ToUpper(v))
		}
	}
	return m
}

func readTool(n *protocol.Node) *tool {
	t := &tool{node: n, name: n.Member("name").Str(), description: wording.StripMarkup(n.Member("description").Str())}
	if t.description == "" {
		t.description = wording.StripMarkup(n.Member("title").Str() + n.Member("annotations").Member("title").Str())
	}
	t.toolMethod = splitToolName(t.name)
	if t.verb == "" {
		t.care = conversion.LeftOut
	}
	return t
}

// A documentBuilder writes the document, and again with simpler endpoints for the tools that the
// reader of AGIS rejects.
type documentBuilder struct {
	options conversion.Options
	tools   []*tool
	beyond  int // tools over the limit of a document
	bare    bool

	notes   *conversion.Notes
	written []*tool
	taken   wording.PathSet
	names   map[string]bool
}

func (b *documentBuilder) buildDocument() (conversion.Output, error) {
	const rounds = 32
	for range rounds {
		root := b.writeTree()
		if len(b.written) == 0 {
			return conversion.Output{}, fmt.Errorf("convert MCP to AGIS: no tool can become an endpoint: %s", b.describeRejections())
		}
		reviews := b.notes.Reviews(root)
		text, err := conversion.WriteDocument(root, reviews, b.options.Format)
		if err != nil {
			return conversion.Output{}, fmt.Errorf("convert MCP to AGIS: %w", err)
		}
		if len(text) > protocol.DefaultLimits.Bytes {
			b.reduceSize(len(text))
			continue
		}
		_, findings, err := agis.Parse(text, agis.Options{})
		if b.simplifyRejected(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return conversion.Output{}, fmt.Errorf("convert MCP to AGIS: the resulting document is invalid: %s", conversion.DescribeFirstError(findings, err))
		}
		return conversion.Output{Text: text, Reviews: reviews}, nil
	}
	return conversion.Output{}, fmt.Errorf("convert MCP to AGIS: the tools cannot be brought below %d bytes", protocol.DefaultLimits.Bytes)
}

// reduceSize reduces schemas to names and types; if that is not enough, it drops tools from the
// end.
func (b *documentBuilder) reduceSize(size int) {
	if !b.bare {
		b.bare = true
		return
	}
	keep := int(float64(len(b.written)) * 0.97 * float64(protocol.DefaultLimits.Bytes) / float64(size))
	keep = max(1, min(keep, len(b.written)-1))
	last := slices.Index(b.tools, b.written[keep-1])
	b.beyond += len(b.tools) - last - 1
	b.tools = b.tools[:last+1]
}

// simplifyRejected simplifies the endpoints that have findings and reports whether any changed.
func (b *documentBuilder) simplifyRejected(findings []protocol.Finding) bool {
	changed := map[*tool]conversion.Simplification{}
	for _, f := range findings {
		i, ok := conversion.IndexIn("/endpoints/", f)
		if !ok || i >= len(b.written) {
			continue
		}
		t := b.written[i]
		switch {
		case f.Severity == protocol.Error && strings.HasPrefix(f.Code, "AGIS8") && t.care < conversion.PlainContract:
			changed[t] = conversion.PlainContract
		case f.Severity == protocol.Error && t.care < conversion.LeftOut:
			changed[t] = max(changed[t], t.care+1)
		case slices.Contains(conversion.IntentCodes, f.Code) && t.care < conversion.PlainIntent:
			changed[t] = max(changed[t], conversion.PlainIntent)
		}
	}
	for t, c := range changed {
		t.care = c
	}
	return len(changed) > 0
}

// describeRejections explains why the first tools are left out.
func (b *documentBuilder) describeRejections() string {
	var out []string
	for _, t := range b.tools {
		if t.care == conversion.LeftOut && len(out) < 4 {
			out = append(out, t.describeRejection())
		}
	}
	return strings.Join(out, "; ")
}

func (t *tool) describeRejection() string {
	message := "the tool " + protocol.Quote(t.name)
	if t.verb != "" {
		return message + " is not accepted as an endpoint"
	}
	message += " begins with " + protocol.Quote(t.rejected) + ", which is not a verb for an action"
	if len(t.suggested) > 0 {
		message += "; put the verb first, for example " + strings.ToLower(t.suggested[0]) + "_…"
	}
	return message
}

func (b *documentBuilder) writeTree() *protocol.Node {
	b.notes, b.written = &conversion.Notes{}, nil
	b.taken, b.names = wording.PathSet{}, map[string]bool{}
	root := tree.Object("agis", "1.0")
	name := wording.Shorten(wording.OneLine(b.options.Name), 100)
	host := conversion.HostOf(b.options.URL)
	guessed := name == ""
	if guessed {
		name = "MCP tools"
		if host != "" {
			name = host
		}
	}
	if n := tree.Put(root, "service", tree.String(name)); guessed {
		b.notes.Add(n, "a list of tools has no name; name the service")
	}
	why := "from the address of the service; AGTP may be served elsewhere"
	if host == "" {
		host, why = conversion.NamespaceOf(name)+".example", "a list of tools has no address; write the host of the service"
	}
	b.notes.Add(tree.Put(root, "agtp", tree.String("agtp://"+host)), why)
	b.notes.Add(tree.Put(root, "description", tree.String("Operations of "+name)), "say in a sentence what the service is for")
	b.notes.Add(tree.Put(root, "version", tree.String("1.0.0")), "a list of tools has no version")
	vocabulary := tree.Put(root, "vocabulary", tree.Object())
	list := tree.Array()
	verbs := map[string]bool{}
	for _, t := range b.tools {
		if t.care == conversion.LeftOut {
			b.notes.Add(nil, t.describeRejection()+"; it is left out")
			continue
		}
		b.written = append(b.written, t)
		list.Items = append(list.Items, b.buildEndpoint(t))
		verbs[t.verb] = true
	}
	if b.beyond > 0 {
		b.notes.Add(nil, fmt.Sprintf("%d tools are omitted: a document has at most %d endpoints and %d bytes", b.beyond, conversion.MaxEndpoints, protocol.DefaultLimits.Bytes))
	}
	if b.bare {
		b.notes.Add(nil, "schemas are cut to the names and types of parameters to keep the document small")
	}
	tree.Put(vocabulary, "declared_verbs", tree.Strings(slices.Sorted(maps.Keys(verbs))...))
	b.notes.Add(tree.Put(vocabulary, "domain", tree.String(strings.ReplaceAll(conversion.NamespaceOf(name), "-", " "))), "name the field of business")
	b.notes.Add(tree.Put(vocabulary, "namespace", tree.String(conversion.NamespaceOf(name))), "it qualifies the verbs in headers")
	tree.Put(root, "endpoints", list)
	return root
}

func (b *documentBuilder) buildEndpoint(t *tool) *protocol.Node {
	e := tree.Object()
	method := tree.Put(e, "method", tree.String(t.verb))
	if t.rejected != "" {
		b.notes.Add(method, "the tool says "+t.rejected+", which is not a method of AGIS; it may be "+strings.Join(t.suggested, " or "))
	}
	noun := wording.TrimVerbs(t.noun, t.verb)
	if len(noun) == 0 || !wording.IsAcceptablePath(t.verb, "/"+strings.Join(noun, "-")) {
		noun = []string{wording.NoNoun}
	}
	path := wording.Path{Segments: []string{strings.Join(noun, "-")}, Noun: noun}
	if moved := b.taken.Claim(&path, t.verb, noun); moved || len(noun) != len(t.noun) || len(t.noun) == 0 {
		b.notes.Add(tree.Put(e, "path", tree.String(path.String())), "from the tool name "+protocol.Quote(t.name)+"; name what the method acts on")
	} else {
		tree.Put(e, "path", tree.String(path.String()))
	}
	b.addSemantic(e, t, noun)
	b.addContract(e, t, noun)
	return e
}

// addSemantic writes the semantic block (C.3(b) and (d)).
func (b *documentBuilder) addSemantic(e *protocol.Node, t *tool, noun []string) {
	many := wording.IsPlural(noun[len(noun)-1])
	generic := wording.GenericIntent(t.verb, noun, many)
	hints := t.node.Member("annotations")
	safe := hints.Member("readOnlyHint").True() || hints.Member("readOnlyHint") == nil && effect.Of(t.verb) == effect.Read
	n := wording.ClassifyVerb(t.verb, noun, many, safe)
	if hints.Member("destructiveHint").True() && !safe {
		n.Tier, n.Confidence = "irreversible", "0.9"
	} else if d := hints.Member("destructiveHint"); d != nil && !safe && n.Tier == "irreversible" {
		n.Tier, n.Confidence = "reversible", "0.8"
	}
	idempotent := safe || hints.Member("idempotentHint").True()
	intent, guessed := generic, true
	if t.care < conversion.PlainIntent { // the description, if it is one sentence in the third person
		intent, guessed = wording.IntentOf(t.verb, t.description, generic)
	}
	s := tree.Put(e, "semantic", wording.SemanticBlock(intent, n, idempotent))
	if guessed {
		b.notes.Add(s.Member("intent"), "written from the name of the tool; say what the caller wants")
	}
	b.notes.Add(s.Member("outcome"), "a general sentence; say what is true after success")
	b.notes.Add(s.Member("capability"), "capability, confidence_guidance and impact_tier follow from the verb and the annotations")
	if isLegalToolName(t.name) && !b.names[t.name] {
		b.names[t.name] = true
		tree.Put(s, "mcp_tool_name", tree.String(t.name))
	}
}

func isLegalToolName(name string) bool {
	return name != "" && len(name) <= maxToolName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// addContract writes input, output and errors.
func (b *documentBuilder) addContract(e *protocol.Node, t *tool, noun []string) {
	tree.Put(e, "input", b.copySchema(t, t.node.Member("inputSchema")))
	output := t.node.Member("outputSchema")
	n := tree.Put(e, "output", b.copySchema(t, output))
	if output == nil {
		b.notes.Add(n, "the tool does not say what it answers")
	}
	failure := tree.Object("name", "invalid_"+wording.ErrorNoun(noun)+"_request", "description", "The service did not carry out the request")
	b.notes.Add(tree.Put(e, "errors", tree.Array(failure)), "tools name no errors; list what can go wrong")
}

// copySchema copies a schema (C.3(c)), or its outline if readers would reject the copy.
func (b *documentBuilder) copySchema(t *tool, n *protocol.Node) *protocol.Node {
	if !tree.IsKind(n, protocol.Object) || len(n.Items) == 0 {
		out := tree.Object("type", "object")
		if n != nil {
			tree.Put(out, "properties", tree.Object())
		}
		return out
	}
	if t.care < conversion.PlainContract && !b.bare && withinLimits(n, 1) {
		return tree.Clone(n)
	}
	out := tree.Object("type", "object")
	properties := tree.Put(out, "properties", tree.Object())
	refs := conversion.NewReferences(n)
	for _, m := range tree.Members(n.Member("properties")) {
		if len(m.Key) <= conversion.MaxKey && len(properties.Items) < conversion.MaxParameters {
			tree.Put(properties, m.Key, refs.OutlineSchema(m))
		}
	}
	if required := conversion.RequiredNames(n.Member("required")); required != nil {
		required.Items = slices.DeleteFunc(required.Items, func(name *protocol.Node) bool { return properties.Member(name.Text) == nil })
		if len(required.Items) > 0 {
			tree.Put(out, "required", required)
		}
	}
	return out
}

// withinLimits reports whether a value inside an endpoint stays within the limits of readers.
func withinLimits(n *protocol.Node, depth int) bool {
	if depth > protocol.DefaultLimits.Depth-8 || len(n.Items) > protocol.DefaultLimits.Members || n.Kind == protocol.Number && len(n.Text) > conversion.MaxLiteral {
		return false
	}
	return !slices.ContainsFunc(n.Items, func(item *protocol.Node) bool { return len(item.Key) > 1000 || !withinLimits(item, depth+1) })
}
