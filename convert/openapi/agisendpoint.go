package openapi

import (
	"cmp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// buildEndpoint builds the endpoint of one operation.
func (b *agisBuilder) buildEndpoint(op *operation, c conversion.Simplification) *protocol.Node {
	verb, why, parts := b.chooseVerb(op, c)
	noun := b.fallbackNoun(op, verb)
	names := b.nameParameters(op)
	path := wording.NewPath(parts, verb, func(name string) string { return names["path "+name] }, noun)
	many := b.answersWithList(op, path)
	if verb == "" {
		verb = wording.DefaultVerb(op.method, many)
		why = "from the HTTP method " + strings.ToUpper(op.method) + "; a more specific verb says more"
	}
	why += suggestVerbs(op, verb, path)
	if b.keepPrefix {
		path.RestorePrefix(verb, op.path)
	}
	pathChanged := b.taken.Claim(&path, verb, noun)

	e := tree.Object()
	method := tree.Put(e, "method", tree.String(verb))
	b.noteEachEndpoint(method, why)
	if n := tree.Put(e, "path", tree.String(path.String())); pathChanged || path.String() != op.path {
		b.noteEachEndpoint(n, "from "+wording.Shorten(wording.OneLine(op.path), 100))
	}
	b.addSemantic(e, op, verb, path.Noun, many, c)
	input := b.buildInput(op, path, names, c)
	tree.Put(e, "input", input)
	b.addOutput(e, op, c)
	b.addErrors(e, op, path.Noun, many, c)
	return e
}

// chooseVerb returns the method of an endpoint and its source. The method is "" if only the HTTP
// method determines it. The returned path parts lack a verb at the end.
func (b *agisBuilder) chooseVerb(op *operation, c conversion.Simplification) (verb, why string, parts []wording.PathPart) {
	parts = wording.SplitPath(op.path)
	if verb := declaredMethod(op); verb != "" && c < conversion.PlainVerb {
		return verb, "from the header " + methodHeader, parts
	}
	trailing := wording.TrailingVerb(parts, op.method)
	if trailing != "" {
		words := wording.TrimVerbs(parts[len(parts)-1].Words, trailing)
		parts = slices.Clone(parts)
		parts[len(parts)-1].Words = words
		if len(words) == 0 {
			parts = parts[:len(parts)-1]
		}
	}
	if c >= conversion.PlainVerb {
		return "", "", parts
	}
	word, fromSummary := wording.VerbOfWords(op.action, op.summary, op.method)
	switch {
	case word != "" && wording.HTTPVerbs[word] == nil && !fromSummary:
		return strings.ToUpper(word), "from the operationId " + protocol.Quote(wording.Shorten(op.id, 60)), parts
	case trailing != "":
		return strings.ToUpper(trailing), "from the end of the path " + protocol.Quote(wording.Shorten(op.path, 100)), parts
	case word == "" || word == op.method:
		return "", "", parts
	}
	why = "from the operationId " + protocol.Quote(wording.Shorten(op.id, 60))
	if fromSummary {
		why = "from the summary"
	}
	if wording.HTTPVerbs[word] != nil {
		return wording.DefaultVerb(word, false), why, parts
	}
	return strings.ToUpper(word), why, parts
}

// declaredMethod returns the AGIS method that the header of the HTTP binding (AGIS §10.1) must have,
// "" if the operation does not name exactly one.
func declaredMethod(op *operation) string {
	for _, p := range op.parameters {
		if p.in == "header" && strings.EqualFold(p.name, methodHeader) {
			if names := p.schema.Member("enum").Strs(); len(names) == 1 && wording.IsMethodVerb(strings.ToLower(names[0])) {
				return strings.ToUpper(names[0])
			}
			return strings.ToUpper(p.schema.Member("const").Str())
		}
	}
	return ""
}

// suggestVerbs suggests more specific verbs than the chosen one: the verb at the beginning of the
// summary, and for created things the verbs related to their noun. A POST to /reservations may mean
// RESERVE.
func suggestVerbs(op *operation, verb string, path wording.Path) string {
	var out []string
	add := func(word string) {
		name := strings.ToUpper(word)
		if name != verb && len(out) < 3 && wording.IsMethodVerb(word) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if word := wording.VerbOfSummary(op.summary, op.method); word != "" && effect.Of(word) != effect.Of(strings.ToLower(verb)) {
		add(word)
	}
	if verb == "CREATE" && op.method == "post" && len(path.Noun) > 0 {
		noun := wording.SingularOf(path.Noun[len(path.Noun)-1])
		for _, word := range append(english.VerbsOf(noun), noun) {
			add(word)
		}
	}
	if out == nil {
		return ""
	}
	return "; perhaps " + strings.Join(out, " or ")
}

// fallbackNoun returns the noun of an operation whose path has none.
func (b *agisBuilder) fallbackNoun(op *operation, verb string) []string {
	var candidates [][]string
	parts := wording.SplitPath(op.path)
	ofParameter := wording.ParameterNoun(parts)
	named := slices.ContainsFunc(parts, func(p wording.PathPart) bool { return p.Words != nil && !p.Prefix })
	if named && len(ofParameter) > 0 { // the id names what comes later in the path
		candidates = append(candidates, ofParameter)
	}
	if !b.api.shared[op.id] {
		candidates = append(candidates, wording.NounOfID(op.action, verb))
	}
	candidates = append(candidates, wording.NounOfSummary(op.summary))
	if len(op.tags) > 0 {
		candidates = append(candidates, wording.TrimVerbs(wording.IdentifierWords(op.tags[0]), verb))
	}
	candidates = append(candidates, ofParameter)
	for _, words := range candidates {
		words = wording.ASCIIWords(words)
		if len(words) > 0 && wording.IsAcceptablePath(verb, "/"+strings.Join(words[:min(len(words), 4)], "-")) {
			return words[:min(len(words), 4)]
		}
	}
	return []string{wording.NoNoun}
}

// answersWithList reports whether a GET answers with a list.
func (b *agisBuilder) answersWithList(op *operation, path wording.Path) bool {
	if op.method != "get" || !path.EndsWithNoun {
		return false
	}
	if schema := op.successResponse().schema; schema != nil && slices.Contains(conversion.TypesOf(b.api.refs.MergeAllOf(schema)), "array") {
		return true
	}
	return len(path.Noun) > 0 && wording.IsPlural(path.Noun[len(path.Noun)-1])
}

// nameParameters returns the input names of all parameters of an operation and its path: snake_case
// and unique. The keys are place and name in the description.
func (b *agisBuilder) nameParameters(op *operation) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	give := func(in, name string) {
		if key := in + " " + name; names[key] == "" {
			s := cmp.Or(wording.SnakeCase(name, 64), "parameter")
			names[key] = wording.UniqueName(s, 64, taken)
		}
	}
	for _, part := range wording.SplitPath(op.path) {
		if part.Words == nil {
			give("path", part.Parameter)
		}
	}
	for _, p := range op.parameters {
		if p.in != "path" {
			give(p.in, p.name)
		}
	}
	return names
}

// addSemantic adds the semantic block.
func (b *agisBuilder) addSemantic(e *protocol.Node, op *operation, verb string, noun []string, many bool, c conversion.Simplification) {
	generic := wording.GenericIntent(verb, noun, many || verb == "LIST" || verb == "SEARCH")
	intent, guessed := generic, true
	if declared := declaredText(op, "intent"); declared != "" && c < conversion.PlainIntent {
		intent, guessed = declared, false
	} else if c == conversion.LabelledIntent {
		intent = wording.LabelledIntent(generic, op.summary)
	} else if c < conversion.PlainIntent {
		intent, guessed = wording.IntentOf(verb, op.summary, generic)
	}
	n := wording.ClassifyVerb(verb, noun, many, op.method == "get")
	given := false
	if outcome := declaredText(op, "outcome"); outcome != "" && c < conversion.PlainIntent {
		n.Outcome, given = outcome, true
	} else if outcome := wording.DropInstruction(wording.FirstSentence(wording.StripMarkup(op.node.Member("x-outcome").Str()))); outcome != "" && c < conversion.PlainIntent { // appendix B
		n.Outcome, given = wording.Shorten(outcome, 240), true
	}
	s := tree.Put(e, "semantic", wording.SemanticBlock(intent, n, op.method != "post" && op.method != "patch"))
	var declared map[string]bool
	if c < conversion.PlainVerb && b.detail < namesAndTypes {
		declared = declareSemantic(s, op)
	}
	if guessed {
		b.notes.Add(s.Member("intent"), "written from the verb and the path; say what the caller wants")
	}
	if !given {
		b.noteEachEndpoint(s.Member("outcome"), "a general sentence; say what is true after success")
	}
	if !declared["capability"] || !declared["impact_tier"] {
		b.noteEachEndpoint(s.Member("capability"), "capability, confidence_guidance and impact_tier follow from the verb")
	}
	if !declared["is_idempotent"] {
		b.noteEachEndpoint(s.Member("is_idempotent"), "from the HTTP method "+strings.ToUpper(op.method))
	}
}

// buildInput merges parameters and request body into one schema.
func (b *agisBuilder) buildInput(op *operation, path wording.Path, names map[string]string, c conversion.Simplification) *protocol.Node {
	properties := tree.Object()
	var required []string
	add := func(name string, schema *protocol.Node, must bool) *protocol.Node {
		if must {
			required = append(required, name)
		}
		return tree.Put(properties, name, schema)
	}
	described := map[string]bool{}
	var renamed []string
	for _, p := range op.parameters {
		name := names[p.in+" "+p.name]
		if name == "" || described[name] || p.in == "cookie" || p.in == "header" && headersOfTransport[strings.ToLower(p.name)] {
			continue // a path parameter that the path lacks, or a transport header
		}
		if !p.required && b.api.common[p.in+" "+p.name] && (p.in == "header" || b.detail >= namesAndTypes) {
			continue
		}
		described[name] = true
		if name != p.name {
			renamed = append(renamed, p.name+" is "+name)
		}
		add(name, b.parameterSchema(p, c), p.required)
	}
	for _, s := range path.Segments {
		if name := strings.Trim(s, "{}"); s[0] == '{' && !described[name] {
			described[name] = true
			n := tree.Object("type", "string")
			b.notes.Add(add(name, n, true), "the description does not declare this parameter of the path")
		}
	}
	renamed = append(renamed, b.addBody(op, properties, add, c)...)

	input := tree.Object("type", "object", "properties", properties)
	if len(required) > 0 {
		tree.Put(input, "required", tree.Strings(required...))
	}
	if len(renamed) > 0 {
		b.noteEachEndpoint(input, "parameters are renamed to snake_case: "+wording.Shorten(wording.OneLine(strings.Join(renamed, ", ")), 120))
	}
	return input
}

// parameterSchema returns the schema of one parameter with its description.
func (b *agisBuilder) parameterSchema(p parameter, c conversion.Simplification) *protocol.Node {
	if c >= conversion.PlainContract || b.detail >= namesAndTypes {
		n := tree.Object()
		names := conversion.TypesOf(b.api.refs.MergeAllOf(p.schema))
		if len(names) == 0 {
			names = []string{"string"}
		}
		tree.Put(n, "type", conversion.TypeNode(names))
		return n
	}
	n := b.schemas.writeSchema(p.schema, 1)
	if n.Kind != protocol.Object {
		n = conversion.AnySchema()
	}
	if text := wording.Shorten(wording.DropInstruction(p.description), 160); text != "" && n.Member("description") == nil && n.Member("$ref") == nil {
		tree.Put(n, "description", tree.String(text))
	}
	return n
}

// addBody adds the properties of the request body if it is a plain object, else one parameter for
// the whole body. It returns what it renamed, as "old is new".
func (b *agisBuilder) addBody(op *operation, properties *protocol.Node, add func(string, *protocol.Node, bool) *protocol.Node, c conversion.Simplification) (renamed []string) {
	schema, media, required := op.body.schema, op.body.media, op.body.required
	if media == "" {
		return nil
	}
	whole := b.api.refs.MergeAllOf(schema)
	members := tree.Members(whole.Member("properties"))
	mergeable := len(members) > 0 && len(members) <= conversion.MaxParameters && whole.Member("oneOf") == nil && whole.Member("anyOf") == nil &&
		!slices.ContainsFunc(members, func(m *protocol.Node) bool {
			return properties.Member(m.Key) != nil || len(m.Key) > conversion.MaxKey
		})
	if !mergeable {
		name := "body"
		for properties.Member(name) != nil {
			name += "_content"
		}
		n := conversion.AnySchema()
		if c < conversion.PlainContract && b.detail < namesAndTypes {
			n = b.schemas.writeSchema(schema, 1)
		}
		if n.Kind != protocol.Object {
			n = conversion.AnySchema()
		}
		if len(n.Items) == 0 && schema == nil {
			tree.Put(n, "type", tree.String("string"))
			tree.Put(n, "contentMediaType", tree.String(wording.Shorten(wording.OneLine(media), 60)))
		}
		b.notes.Add(add(name, n, required), "the request body as a whole ("+wording.Shorten(wording.OneLine(media), 60)+")")
		return nil
	}
	taken := map[string]bool{}
	for _, p := range properties.Items {
		taken[p.Key] = true
	}
	for _, m := range members { // a name that is right already stays
		if wording.SnakeCase(m.Key, 64) == m.Key {
			taken[m.Key] = true
		}
	}
	needed := map[string]bool{}
	for _, name := range whole.Member("required").Strs() {
		// Few descriptions state that the body itself is required.
		needed[name] = required || op.method != "patch"
	}
	for _, m := range members {
		if b.schemas.isReadOnly(m) {
			continue
		}
		var n *protocol.Node
		if c >= conversion.PlainContract || b.detail >= namesAndTypes {
			n = b.schemas.outlineSchema(m)
		} else {
			n = b.schemas.writeSchema(m, 2)
		}
		if n.Kind != protocol.Object {
			n = conversion.AnySchema()
		}
		name := m.Key
		if snake := wording.SnakeCase(m.Key, 64); snake != "" && snake != m.Key {
			name = wording.UniqueName(snake, 64, taken)
			renamed = append(renamed, m.Key+" is "+name)
		}
		add(name, n, needed[m.Key])
	}
	return renamed
}

// isReadOnly reports whether only the service sends a property.
func (s *schemaWriter) isReadOnly(n *protocol.Node) bool {
	return n.Member("readOnly").True() || s.api.refs.Resolve(n).Member("readOnly").True()
}

// addOutput adds the schema of a successful answer.
func (b *agisBuilder) addOutput(e *protocol.Node, op *operation, c conversion.Simplification) {
	success := op.successResponse()
	status, schema := success.status, success.schema
	object := func() *protocol.Node {
		n := tree.Object("type", "object")
		return n
	}
	switch {
	case schema == nil:
		n := tree.Put(e, "output", object())
		if status != "204" {
			b.noteEachEndpoint(n, "the description does not say what is answered")
		}
	case c >= conversion.PlainContract || b.detail >= namesAndTypes:
		n := b.schemas.outlineSchema(schema)
		if len(n.Items) == 0 {
			n = object()
		}
		tree.Put(e, "output", n)
	default:
		n := b.schemas.writeSchema(schema, 1)
		if n.Kind != protocol.Object || len(n.Items) == 0 {
			n = object()
		}
		tree.Put(e, "output", n)
	}
}

// errorNames maps HTTP statuses to error names; "%" is replaced by the noun of the endpoint.
var errorNames = map[string]string{
	"400": "invalid_%_request", "401": "authentication_required", "402": "payment_required", "403": "permission_denied",
	"404": "%_not_found", "405": "method_not_allowed", "406": "answer_format_unavailable", "408": "request_timed_out",
	"409": "%_conflict", "410": "%_gone", "411": "length_required", "412": "precondition_failed", "413": "request_too_large",
	"415": "media_type_unsupported", "422": "%_not_processable", "423": "%_locked", "424": "dependency_failed",
	"428": "precondition_required", "429": "too_many_requests", "451": "%_legally_unavailable",
	"500": "service_failed", "501": "not_implemented", "502": "upstream_failed", "503": "service_unavailable", "504": "upstream_timed_out",
	"4XX": "%_request_refused", "5XX": "service_failed",
}

// addErrors adds the errors of an endpoint.
func (b *agisBuilder) addErrors(e *protocol.Node, op *operation, noun []string, many bool, c conversion.Simplification) {
	thing := wording.ErrorNoun(noun)
	list := tree.Array()
	seen := map[string]bool{}
	add := func(name, description string) {
		name = strings.ReplaceAll(name, "%", thing)
		if seen[name] {
			return
		}
		seen[name] = true
		n := tree.Object("name", name)
		if b.detail < namesAndTypes && description != "" {
			tree.Put(n, "description", tree.String(description))
		}
		list.Items = append(list.Items, n)
	}
	if declared := declaredErrors(op); len(declared) > 0 && c < conversion.PlainContract {
		for _, d := range declared[:min(len(declared), conversion.MaxParameters)] {
			add(d.name, wording.Shorten(d.description, 240))
		}
		tree.Put(e, "errors", list)
		return
	}
	for _, r := range op.responses {
		if len(list.Items) == 12 {
			break
		}
		name := errorNames[r.status]
		switch {
		case name != "":
		case len(r.status) == 3 && r.status[0] == '4':
			name = "%_request_refused"
		case len(r.status) == 3 && r.status[0] == '5':
			name = "service_failed"
		default:
			continue
		}
		description := wording.Shorten(wording.DropInstruction(wording.FirstSentence(wording.StripMarkup(r.description))), 120)
		description = cmp.Or(description, "Answered with HTTP status "+r.status)
		add(name, description)
	}
	if len(list.Items) == 0 {
		name := "invalid_%_request"
		if op.method == "get" && !many {
			name = "%_not_found"
		}
		add(name, "The service did not carry out the request")
		b.noteEachEndpoint(tree.Put(e, "errors", list), "the description names no errors; list what can go wrong")
		return
	}
	b.noteEachEndpoint(tree.Put(e, "errors", list), "named after the HTTP status codes")
}
