package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// methodHeader is the header that names the AGIS method over HTTP (AGIS §10.1).
const methodHeader = "X-AGIS-Method"

// maxSchemaNodes is the highest number of values in the schemas of a description.
const maxSchemaNodes = 500000

// FromAGIS converts an AGIS document to an OpenAPI 3.1 description of its HTTP binding (§10.1):
// every operation has a header that names the method, and the HTTP method follows from the effect
// that the endpoint declares. The direction is the opposite of appendix B. It fails for a text that
// is not an AGIS document and for a document without endpoints.
func FromAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	d, findings, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return conversion.Output{}, fmt.Errorf("convert AGIS to OpenAPI: %w", err)
	}
	if len(d.Endpoints) == 0 {
		return conversion.Output{}, fmt.Errorf("convert AGIS to OpenAPI: the document has no endpoints: %s", conversion.DescribeFirstError(findings, nil))
	}
	b := &descriptionBuilder{
		doc: d, options: o, notes: &conversion.Notes{}, ids: map[string]bool{},
		components: tree.Object(), names: map[*protocol.Node]string{}, taken: map[string]bool{},
		semantics: map[string]*protocol.Node{},
	}
	for _, e := range d.Root.Member("endpoints").Elements() {
		b.semantics[e.Pointer] = e.Member("semantic")
	}
	root := b.buildDescription()
	if b.nodes > maxSchemaNodes {
		return conversion.Output{}, fmt.Errorf("convert AGIS to OpenAPI: the schemas have more than %d values", maxSchemaNodes)
	}
	if worst, _ := protocol.Worst(findings); worst == protocol.Error {
		b.notes.Add(nil, "the AGIS document breaks its draft: "+conversion.DescribeFirstError(findings, nil))
	}
	reviews := b.notes.Reviews(root)
	out, err := conversion.WriteDocument(root, reviews, o.Format)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("convert AGIS to OpenAPI: %w", err)
	}
	return conversion.Output{Text: out, Reviews: reviews}, nil
}

// A descriptionBuilder writes the OpenAPI description of one AGIS document.
type descriptionBuilder struct {
	doc     *agis.Document
	options conversion.Options
	notes   *conversion.Notes
	ids     map[string]bool // operation ids in use
	// semantics has the semantic blocks of the endpoints, by the pointers of these.
	semantics map[string]*protocol.Node

	// Each schema that is referred to becomes a component.
	components *protocol.Node
	names      map[*protocol.Node]string // of the components
	taken      map[string]bool
	waiting    []component
	nodes      int
}

// A component is a schema to be written, with the block whose references it uses.
type component struct{ schema, block *protocol.Node }

func (b *descriptionBuilder) buildDescription() *protocol.Node {
	root := tree.Object("openapi", "3.1.0")
	info := tree.Put(root, "info", tree.Object())
	title := cmp.Or(wording.OneLine(b.options.Name), wording.OneLine(b.doc.Service))
	b.notes.Put(info, "title", title, "Service", "the document does not name the service")
	if b.doc.Description != "" {
		tree.Put(info, "description", tree.String(b.doc.Description))
	}
	b.notes.Put(info, "version", b.doc.ServiceVersion, "1.0.0", "the document has no version")
	b.addServer(root)
	if domain := b.doc.Vocabulary.Domain; domain != "" {
		tree.Put(root, "tags", tree.Array(tree.Object("name", domain)))
	}
	paths := tree.Put(root, "paths", tree.Object())
	left := 0
	for _, e := range b.doc.Endpoints {
		if !b.addOperation(paths, e) {
			left++
		}
	}
	if left > 0 {
		b.notes.Add(nil, fmt.Sprintf("%d endpoints are left out: OpenAPI allows one operation for each HTTP method of a path", left))
	}
	if b.doc.DataManifest != nil {
		b.notes.Add(nil, "data_manifest is left out: OpenAPI has no member for it")
	}
	b.notes.Add(nil, "an AGIS document does not say how callers authenticate: add securitySchemes if they have to")
	for len(b.waiting) > 0 && b.nodes <= maxSchemaNodes {
		next := b.waiting[0]
		b.waiting = b.waiting[1:]
		tree.Put(b.components, b.names[next.schema], b.copySchema(next.schema, next.block))
	}
	if len(b.components.Items) > 0 {
		tree.Put(tree.Put(root, "components", tree.Object()), "schemas", b.components)
	}
	return root
}

// addServer adds the address over HTTP. The document has only the one over AGTP.
func (b *descriptionBuilder) addServer(root *protocol.Node) {
	address := strings.TrimSuffix(b.options.URL, "/")
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		host := conversion.HostOf(b.options.URL, b.doc.AGTP)
		if host == "" {
			b.notes.Add(nil, "no address is known: add servers")
			return
		}
		address = "https://" + host
	}
	server := tree.Object()
	n := tree.Put(server, "url", tree.String(address))
	tree.Put(root, "servers", tree.Array(server))
	if b.options.URL == "" {
		b.notes.Add(n, "from the agtp address; the service may answer elsewhere over HTTP")
	}
}

// addOperation adds the operation of an endpoint. It reports false when no HTTP method of the path
// is free.
func (b *descriptionBuilder) addOperation(paths *protocol.Node, e agis.Endpoint) bool {
	item := paths.Member(e.Path)
	if item == nil {
		item = tree.Put(paths, e.Path, tree.Object())
	}
	parameters := b.doc.Parameters(e)
	wanted, why := chooseHTTPMethod(e, b.fitsQuery(e))
	method := ""
	for _, m := range []string{wanted, "post", "put", "patch"} {
		if item.Member(m) == nil {
			method = m
			break
		}
	}
	if method == "" {
		return false
	}
	operation := tree.Put(item, method, tree.Object())
	if method != wanted {
		why = "another endpoint of this path has the HTTP method already"
	}
	if why != "" {
		b.notes.Add(operation, why)
	}
	words := append([]string{strings.ToLower(e.Method)}, wording.IdentifierWords(e.Path)...)
	id := cmp.Or(wording.JoinWords(words, "_", 80), "operation")
	tree.Put(operation, "operationId", tree.String(wording.UniqueName(id, 90, b.ids)))
	if b.doc.Vocabulary.Domain != "" {
		tree.Put(operation, "tags", tree.Strings(b.doc.Vocabulary.Domain))
	}
	if e.Semantic.Intent != "" {
		tree.Put(operation, "summary", tree.String(e.Semantic.Intent))
	}
	if e.Semantic.Outcome != "" {
		tree.Put(operation, "x-outcome", tree.String(e.Semantic.Outcome)) // appendix B
	}
	b.addSemantic(operation, e)
	b.addInput(operation, e, method, parameters)
	b.addResponses(operation, e)
	return true
}

// chooseHTTPMethod returns the HTTP method whose meaning (RFC 9110 §9.2) fits the declarations of
// an endpoint, and what is a guess about it. inQuery says that the input can be sent in the query.
func chooseHTTPMethod(e agis.Endpoint, inQuery bool) (method, why string) {
	idempotent := e.Semantic.Idempotent != nil && *e.Semantic.Idempotent
	switch e.Semantic.ImpactTier {
	case "informational":
		if inQuery {
			return "get", ""
		}
		return "post", "the input cannot be sent in a query"
	case "":
		return "post", "the document does not declare an impact_tier"
	case "irreversible":
		if idempotent && slices.Contains([]string{"REMOVE", "DELETE", "PURGE", "ERASE"}, strings.ToUpper(e.Method)) && inQuery {
			return "delete", ""
		}
	}
	if idempotent {
		return "put", ""
	}
	return "post", ""
}

// fitsQuery reports whether every property of the input is a plain value or a list of such.
func (b *descriptionBuilder) fitsQuery(e agis.Endpoint) bool {
	input := b.doc.Resolve(e.Input, e.Input)
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "not", "if"} {
		if input.Member(keyword) != nil {
			return false
		}
	}
	for _, m := range tree.Members(input.Member("properties")) {
		schema := b.doc.Resolve(m, e.Input)
		types := conversion.TypesOf(schema)
		if slices.Contains(types, "array") {
			types = append(types, conversion.TypesOf(b.doc.Resolve(schema.Member("items"), e.Input))...)
		}
		if len(types) == 0 || slices.Contains(types, "object") {
			return false
		}
	}
	return true
}

// addSemantic adds what OpenAPI has no member for, as an extension.
func (b *descriptionBuilder) addSemantic(operation *protocol.Node, e agis.Endpoint) {
	x, s := tree.Object(), e.Semantic
	for _, m := range []struct{ name, text string }{{"intent", s.Intent}, {"outcome", s.Outcome}, {"actor", s.Actor}, {"capability", s.Capability}, {"impact_tier", s.ImpactTier}} {
		if m.text != "" {
			tree.Put(x, m.name, tree.String(m.text))
		}
	}
	for _, m := range []struct {
		name     string
		declared bool
	}{{"confidence_guidance", s.Confidence != nil}, {"parameter_hints", s.Hints != nil}, {"state_transition", s.Transition}} {
		if m.declared {
			tree.Put(x, m.name, tree.Clone(b.semantics[e.Pointer].Member(m.name)))
		}
	}
	if s.Idempotent != nil {
		tree.Put(x, "is_idempotent", tree.Bool(*s.Idempotent))
	}
	if s.MCPToolName != "" {
		tree.Put(x, "mcp_tool_name", tree.String(s.MCPToolName))
	}
	if len(x.Items) > 0 {
		tree.Put(operation, semanticExtension, x)
	}
}

// addInput adds the parameters and the body of an operation.
func (b *descriptionBuilder) addInput(operation *protocol.Node, e agis.Endpoint, method string, parameters []agis.Parameter) {
	schema := tree.Object("type", "string", "enum", tree.Strings(strings.ToUpper(e.Method)))
	header := tree.Object("name", methodHeader, "in", "header", "required", true, "schema", schema)
	list := tree.Put(operation, "parameters", tree.Array(header))

	input := b.doc.Resolve(e.Input, e.Input)
	properties, inPath := input.Member("properties"), map[string]bool{}
	add := func(name, in string, required bool) {
		p := tree.Object("name", name, "in", in)
		if required {
			tree.Put(p, "required", tree.Bool(true))
		}
		if i := slices.IndexFunc(parameters, func(q agis.Parameter) bool { return q.Name == name }); i >= 0 && parameters[i].Description != "" {
			tree.Put(p, "description", tree.String(parameters[i].Description))
		}
		property := properties.Member(name)
		if property == nil {
			tree.Put(p, "schema", tree.Object("type", "string"))
		} else {
			tree.Put(p, "schema", b.copySchema(property, e.Input))
		}
		list.Items = append(list.Items, p)
	}
	for segment := range strings.SplitSeq(e.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && strings.HasSuffix(name, "}") {
			name = strings.TrimSuffix(name, "}")
			if !inPath[name] {
				inPath[name] = true
				add(name, "path", true)
			}
		}
	}
	if method == "get" || method == "delete" {
		for _, p := range parameters {
			if !inPath[p.Name] {
				add(p.Name, "query", p.Required)
			}
		}
		return
	}
	if !tree.IsKind(input, protocol.Object) || describesNothing(input) {
		return
	}
	body := b.copySchema(e.Input, e.Input)
	if len(inPath) > 0 && tree.IsKind(properties, protocol.Object) {
		body = b.copySchema(input, e.Input)
		body = withoutProperties(body, inPath)
		if left := body.Member("properties"); left == nil || len(left.Items) == 0 {
			return // the path has all of them
		}
	}
	request := tree.Put(operation, "requestBody", tree.Object())
	if slices.ContainsFunc(parameters, func(p agis.Parameter) bool { return p.Required && !inPath[p.Name] }) {
		tree.Put(request, "required", tree.Bool(true))
	}
	putJSON(request, body)
}

// describesNothing reports whether a schema of an input only says that it is an object.
func describesNothing(schema *protocol.Node) bool {
	return !slices.ContainsFunc(schema.Items, func(m *protocol.Node) bool {
		return m.Key != "type" && (m.Key != "properties" || len(m.Items) > 0)
	})
}

// withoutProperties returns the schema without these properties.
func withoutProperties(schema *protocol.Node, out map[string]bool) *protocol.Node {
	result := tree.Object()
	for _, m := range schema.Items {
		switch m.Key {
		case "properties":
			left := tree.Put(result, "properties", tree.Object())
			for _, p := range m.Items {
				if !out[p.Key] {
					left.Items = append(left.Items, p)
				}
			}
		case "required":
			if names := slices.DeleteFunc(m.Strs(), func(name string) bool { return out[name] }); len(names) > 0 {
				tree.Put(result, "required", tree.Strings(names...))
			}
		default:
			result.Items = append(result.Items, m)
		}
	}
	return result
}

// addResponses adds the answer and the errors of an operation. AGIS names errors and gives them no
// HTTP status.
func (b *descriptionBuilder) addResponses(operation *protocol.Node, e agis.Endpoint) {
	responses := tree.Put(operation, "responses", tree.Object())
	good := tree.Put(responses, "200", tree.Object())
	tree.Put(good, "description", tree.String(cmp.Or(e.Semantic.Outcome, "OK")))
	if output := b.doc.Resolve(e.Output, e.Output); tree.IsKind(output, protocol.Object) && len(output.Items) > 0 {
		putJSON(good, b.copySchema(e.Output, e.Output))
	}
	if len(e.Errors) == 0 {
		return
	}
	var lines, names []string
	for _, c := range e.Errors {
		names = append(names, c.Name)
		if c.Description != "" {
			lines = append(lines, c.Name+": "+c.Description)
		} else {
			lines = append(lines, c.Name)
		}
	}
	tree.Put(responses, "4XX", tree.Object("description", strings.Join(lines, "\n"), errorsExtension, tree.Strings(names...)))
}

// putJSON adds a JSON body with that schema to a request or a response.
func putJSON(to, schema *protocol.Node) {
	tree.Put(to, "content", tree.Object("application/json", tree.Object("schema", schema)))
}

// copySchema copies a schema for OpenAPI: references lead to components, and members that would give
// it another base are left out. block is the schema that references are relative to (§7).
func (b *descriptionBuilder) copySchema(n, block *protocol.Node) *protocol.Node {
	b.nodes++
	out := &protocol.Node{Kind: n.Kind, Text: n.Text}
	for _, item := range n.Items {
		if b.nodes > maxSchemaNodes {
			return out
		}
		var c *protocol.Node
		switch {
		case n.Kind != protocol.Object:
			c = b.copySchema(item, block)
		case item.Key == "$ref" && item.Kind == protocol.String:
			target := b.doc.Resolve(n, block)
			if target == nil {
				b.notes.Add(out, "the reference "+protocol.Quote(item.Text)+" leads nowhere in the document and is left out")
				continue
			}
			c = tree.String("#/components/schemas/" + b.nameComponent(target, block))
		case slices.Contains([]string{"$id", "$schema", "$anchor", "$defs", "definitions"}, item.Key):
			continue
		case slices.Contains([]string{"properties", "patternProperties", "dependentSchemas"}, item.Key) && item.Kind == protocol.Object:
			c = tree.Object() // its members have any names
			for _, p := range item.Items {
				property := b.copySchema(p, block)
				property.Key = p.Key
				c.Items = append(c.Items, property)
			}
		case slices.Contains([]string{"enum", "const", "default", "examples", "example"}, item.Key):
			c = tree.Clone(item)
		default:
			c = b.copySchema(item, block)
		}
		c.Key = item.Key
		out.Items = append(out.Items, c)
	}
	return out
}

// nameComponent returns the name of the component of a schema, and has it written.
func (b *descriptionBuilder) nameComponent(target, block *protocol.Node) string {
	if name, known := b.names[target]; known {
		return name
	}
	name := cmp.Or(conversion.UnsafeNameRunes.ReplaceAllString(target.Key, "_"), "schema")
	name = wording.UniqueName(name[:min(len(name), 80)], 90, b.taken)
	b.names[target] = name
	b.waiting = append(b.waiting, component{target, block})
	return name
}
