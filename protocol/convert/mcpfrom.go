package convert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// mcpToAGIS converts MCP tools into an AGIS document, by appendix C.3. The text
// is the result of a tools/list request, the whole JSON-RPC answer, an array of
// tools, or one tool.
func mcpToAGIS(text []byte, o Options) (Output, error) {
	root, err := readStranger(text)
	if err != nil {
		return Output{}, fmt.Errorf("read MCP tools: %w: %w", protocol.ErrUnreadable, err)
	}
	tools, err := toolList(root)
	if err != nil {
		return Output{}, fmt.Errorf("read MCP tools: %w: %w", protocol.ErrOtherFormat, err)
	}
	b := &toolReader{options: o}
	for _, n := range tools[:min(len(tools), maxEndpoints)] {
		b.tools = append(b.tools, readTool(n))
	}
	b.beyond = len(tools) - len(b.tools)
	return b.build()
}

// toolList finds the tools in what was handed in.
func toolList(root *protocol.Node) ([]*protocol.Node, error) {
	list := root
	switch {
	case isKind(root.Member("tools"), protocol.Array):
		list = root.Member("tools")
	case isKind(root.Member("result").Member("tools"), protocol.Array):
		list = root.Member("result").Member("tools")
	case isKind(root, protocol.Object) && root.Member("name") != nil && root.Member("inputSchema") != nil:
		list = newArray(root)
	case !isKind(root, protocol.Array):
		return nil, errors.New(whatItIs(root, "tools"))
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

// A tool is one of MCP, read for AGIS.
type tool struct {
	node        *protocol.Node
	name        string
	description string
	toolMethod
	care care
}

// A toolMethod is what the name of a tool says in AGIS.
type toolMethod struct {
	// verb is the method; "" when the name begins with none.
	verb string
	// rejected is the first word where it cannot be a method, and suggested
	// are verbs to take in its place, if there are any.
	rejected  string
	suggested []string
	noun      []string // the other words
}

// methodOfTool splits a name into method and noun (C.3(a)). A name whose first
// word is no verb has no method; one that begins with an HTTP method gets the
// verb that the draft suggests.
func methodOfTool(name string) toolMethod {
	words := asciiWords(identifierWords(name))
	if len(words) == 0 {
		return toolMethod{rejected: strings.ToUpper(name)}
	}
	m := toolMethod{noun: words[1:]}
	first := words[0]
	if verbs := httpWords[first]; verbs != nil {
		m.rejected, m.suggested, m.verb = strings.ToUpper(first), verbs, verbs[0]
		return m
	}
	if methodVerb(first) {
		m.verb = strings.ToUpper(first)
		return m
	}
	m.rejected = strings.ToUpper(first)
	for _, v := range slices.Concat(english.Base(first), words[1:]) {
		if methodVerb(v) && !slices.Contains(m.suggested, strings.ToUpper(v)) {
			m.suggested = append(m.suggested, strings.ToUpper(v))
		}
	}
	return m
}

func readTool(n *protocol.Node) *tool {
	t := &tool{node: n, name: n.Member("name").Str(), description: plain(n.Member("description").Str())}
	if t.description == "" {
		t.description = plain(n.Member("title").Str() + n.Member("annotations").Member("title").Str())
	}
	t.toolMethod = methodOfTool(t.name)
	if t.verb == "" {
		t.care = leftOut
	}
	return t
}

// A toolReader writes the document, with more care for each tool that the
// reader of AGIS objects to.
type toolReader struct {
	options Options
	tools   []*tool
	beyond  int // tools that are more than a document may have
	bare    bool

	notes   *notes
	written []*tool
	taken   map[string]bool
	names   map[string]bool
}

func (b *toolReader) build() (Output, error) {
	const rounds = 32
	for range rounds {
		root := b.document()
		if len(b.written) == 0 {
			return Output{}, fmt.Errorf("convert MCP to AGIS: no tool can become an endpoint: %s", b.rejections())
		}
		reviews := b.notes.reviews(root)
		text, err := writeDocument(root, reviews, b.options.Format)
		if err != nil {
			return Output{}, fmt.Errorf("convert MCP to AGIS: %w", err)
		}
		if len(text) > protocol.DefaultLimits.Bytes {
			b.shrink(len(text))
			continue
		}
		_, findings, err := agis.Parse(text, agis.Options{})
		if b.mend(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return Output{}, fmt.Errorf("convert MCP to AGIS: the document that came out is not accepted: %s", firstError(findings, err))
		}
		return Output{Text: text, Reviews: reviews}, nil
	}
	return Output{}, fmt.Errorf("convert MCP to AGIS: the tools cannot be brought below %d bytes", protocol.DefaultLimits.Bytes)
}

// shrink writes bare schemas, and where that is not enough leaves tools out from
// the end.
func (b *toolReader) shrink(size int) {
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

// mend takes more care with what was objected to.
func (b *toolReader) mend(findings []protocol.Finding) bool {
	changed := map[*tool]care{}
	for _, f := range findings {
		rest, ok := strings.CutPrefix(f.Pointer, "/endpoints/")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(b.written) {
			continue
		}
		t := b.written[i]
		switch {
		case f.Severity == protocol.Error && strings.HasPrefix(f.Code, "AGIS8") && t.care < plainContract:
			changed[t] = plainContract
		case f.Severity == protocol.Error && t.care < leftOut:
			changed[t] = max(changed[t], t.care+1)
		case slices.Contains(carefulCodes, f.Code) && t.care < plainIntent:
			changed[t] = max(changed[t], plainIntent)
		}
	}
	for t, c := range changed {
		t.care = c
	}
	return len(changed) > 0
}

// rejections says of the first tools why they are left out.
func (b *toolReader) rejections() string {
	var out []string
	for _, t := range b.tools {
		if t.care == leftOut && len(out) < 4 {
			out = append(out, t.rejection())
		}
	}
	return strings.Join(out, "; ")
}

func (t *tool) rejection() string {
	message := "the tool " + protocol.Quote(t.name)
	if t.verb != "" {
		return message + " is not accepted as an endpoint"
	}
	message += " begins with " + protocol.Quote(t.rejected) + ", which is no verb that says what is done"
	if len(t.suggested) > 0 {
		message += "; put the verb first, for example " + strings.ToLower(t.suggested[0]) + "_…"
	}
	return message
}

func (b *toolReader) document() *protocol.Node {
	b.notes, b.written = &notes{}, nil
	b.taken, b.names = map[string]bool{}, map[string]bool{}
	root := newObject()
	put(root, "agis", strNode("1.0"))
	name := cutWords(oneLine(b.options.Name), 100)
	host := hostOf(b.options.URL)
	guessed := name == ""
	if guessed {
		name = "MCP tools"
		if host != "" {
			name = host
		}
	}
	if n := put(root, "service", strNode(name)); guessed {
		b.notes.add(n, "a list of tools has no name; name the service")
	}
	if host == "" {
		host = namespaceOf(name) + ".example"
	}
	b.notes.add(put(root, "agtp", strNode("agtp://"+host)), "a list of tools has no address; write the host of the service")
	b.notes.add(put(root, "description", strNode("Operations of "+name)), "say in a sentence what the service is for")
	b.notes.add(put(root, "version", strNode("1.0.0")), "a list of tools has no version")
	vocabulary := put(root, "vocabulary", newObject())
	list := newArray()
	verbs := map[string]bool{}
	for _, t := range b.tools {
		if t.care == leftOut {
			b.notes.add(nil, t.rejection()+"; it is left out")
			continue
		}
		b.written = append(b.written, t)
		list.Items = append(list.Items, b.endpoint(t))
		verbs[t.verb] = true
	}
	if b.beyond > 0 {
		b.notes.add(nil, fmt.Sprintf("%d tools are left out: a document holds at most %d endpoints and %d bytes", b.beyond, maxEndpoints, protocol.DefaultLimits.Bytes))
	}
	if b.bare {
		b.notes.add(nil, "schemas are cut to the names and types of parameters to keep the document small")
	}
	put(vocabulary, "declared_verbs", strList(sortedKeys(verbs)...))
	b.notes.add(put(vocabulary, "domain", strNode(strings.ReplaceAll(namespaceOf(name), "-", " "))), "name the field of business")
	b.notes.add(put(vocabulary, "namespace", strNode(namespaceOf(name))), "it qualifies the verbs in headers")
	put(root, "endpoints", list)
	return root
}

func (b *toolReader) endpoint(t *tool) *protocol.Node {
	e := newObject()
	method := put(e, "method", strNode(t.verb))
	if t.rejected != "" {
		b.notes.add(method, "the tool says "+t.rejected+", which is no method of AGIS; it may be "+strings.Join(t.suggested, " or "))
	}
	noun := leaveOutVerb(t.noun, t.verb)
	if len(noun) == 0 || !acceptable(t.verb, "/"+strings.Join(noun, "-")) {
		noun = []string{noNoun}
	}
	path := nounPath{segments: []string{strings.Join(noun, "-")}, noun: noun}
	settler := agisBuilder{taken: b.taken}
	if moved := settler.settle(&path, t.verb, noun); moved || len(noun) != len(t.noun) || len(t.noun) == 0 {
		b.notes.add(put(e, "path", strNode(path.String())), "from the tool name "+protocol.Quote(t.name)+"; name what the method acts on")
	} else {
		put(e, "path", strNode(path.String()))
	}
	b.semantic(e, t, noun)
	b.contract(e, t, noun)
	return e
}

// semantic writes the semantic block (C.3(b) and (d)).
func (b *toolReader) semantic(e *protocol.Node, t *tool, noun []string) {
	many := plural(noun[len(noun)-1])
	generic := genericIntent(t.verb, noun, many)
	hints := t.node.Member("annotations")
	safe := hints.Member("readOnlyHint").True() || hints.Member("readOnlyHint") == nil && effect.Of(t.verb) == effect.Read
	n := natureOf(t.verb, noun, many, safe)
	if hints.Member("destructiveHint").True() && !safe {
		n.tier, n.confidence = "irreversible", "0.9"
	} else if d := hints.Member("destructiveHint"); d != nil && !safe && n.tier == "irreversible" {
		n.tier, n.confidence = "reversible", "0.8"
	}
	idempotent := safe || hints.Member("idempotentHint").True()
	intent, asIs := generic, false
	if t.care < plainIntent {
		intent, asIs = b.intent(t, generic)
	}
	s := put(e, "semantic", semanticBlock(intent, n, idempotent))
	if !asIs {
		b.notes.add(s.Member("intent"), "written from the name of the tool; say what the caller wants")
	}
	b.notes.add(s.Member("outcome"), "a general sentence; say what is true after success")
	b.notes.add(s.Member("capability"), "capability, confidence_guidance and impact_tier follow from the verb and the annotations")
	if legalTool(t.name) && !b.names[t.name] {
		b.names[t.name] = true
		put(s, "mcp_tool_name", strNode(t.name))
	}
}

func legalTool(name string) bool {
	return name != "" && len(name) <= maxToolName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// intent takes the description as it is where it is one sentence in the third
// person; asIs says so.
func (b *toolReader) intent(t *tool, generic string) (intent string, asIs bool) {
	intent, guessed := intentOf(t.verb, t.description, generic)
	return intent, !guessed
}

// contract writes input, output and errors.
func (b *toolReader) contract(e *protocol.Node, t *tool, noun []string) {
	put(e, "input", b.schema(t, t.node.Member("inputSchema")))
	output := t.node.Member("outputSchema")
	n := put(e, "output", b.schema(t, output))
	if output == nil {
		b.notes.add(n, "the tool does not say what it answers")
	}
	failure := newObject()
	put(failure, "name", strNode("invalid_"+errorNoun(noun)+"_request"))
	put(failure, "description", strNode("The service did not carry out the request"))
	b.notes.add(put(e, "errors", newArray(failure)), "tools name no errors; list what can go wrong")
}

// schema takes a schema over as it is (C.3(c)), but for what the document could
// not be read with.
func (b *toolReader) schema(t *tool, n *protocol.Node) *protocol.Node {
	if !isKind(n, protocol.Object) || len(n.Items) == 0 {
		out := newObject()
		put(out, "type", strNode("object"))
		if n != nil {
			put(out, "properties", newObject())
		}
		return out
	}
	if t.care < plainContract && !b.bare && fits(n, 1) {
		return dup(n)
	}
	out := newObject()
	put(out, "type", strNode("object"))
	properties := put(out, "properties", newObject())
	w := newSchemaWriter(&openAPI{root: n, refs: map[string]*protocol.Node{}, dangling: map[string]bool{}}, bare, b.notes)
	for _, m := range membersOf(n.Member("properties")) {
		if len(m.Key) <= maxKey && len(properties.Items) < maxParameters {
			put(properties, m.Key, w.outline(m))
		}
	}
	if required := requiredNames(n.Member("required")); required != nil {
		required.Items = slices.DeleteFunc(required.Items, func(name *protocol.Node) bool { return properties.Member(name.Text) == nil })
		if len(required.Items) > 0 {
			put(out, "required", required)
		}
	}
	return out
}

// fits reports whether a value keeps within the limits of the readers of
// documents when it stands in an endpoint.
func fits(n *protocol.Node, depth int) bool {
	if depth > protocol.DefaultLimits.Depth-8 || len(n.Items) > protocol.DefaultLimits.Members || n.Kind == protocol.Number && len(n.Text) > maxLiteral {
		return false
	}
	for _, item := range n.Items {
		if len(item.Key) > 1000 || !fits(item, depth+1) {
			return false
		}
	}
	return true
}
