package convert

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// openAPIToAGIS converts an OpenAPI description into an AGIS document, after
// the informative mapping in appendix B of the draft.
func openAPIToAGIS(text []byte, o Options) (Output, error) {
	a, err := readOpenAPI(text)
	if err != nil {
		return Output{}, err
	}
	return newAGISBuilder(a, o).build()
}

func newAGISBuilder(a *openAPI, o Options) *agisBuilder {
	b := &agisBuilder{api: a, options: o, care: make([]care, len(a.operations))}
	b.order()
	return b
}

// care says how carefully an endpoint is to be written, because our own reader
// did not take it as it was.
type care uint8

const (
	asRead        care = iota
	plainIntent        // the intent says the generic sentence
	plainVerb          // the verb is that of the HTTP method
	plainContract      // input and output say nothing but names
	leftOut
)

// maxEndpoints is how many endpoints of a document readers index.
const maxEndpoints = agis.MaxEndpoints

// An agisBuilder writes a document as often as it takes: with less detail until
// it is small enough, with more care for each endpoint that the reader objects
// to.
type agisBuilder struct {
	api     *openAPI
	options Options
	detail  detail
	care    []care // by operation
	chosen  []int  // operations in the order of preference
	most    int    // how many of them are written
	// reword, where it is set, gives the text of each review its last form, and
	// foreword is a review in front of all others.
	reword   func(string) string
	foreword string

	notes   *notes
	schemas *schemaWriter
	taken   map[string]bool // methods with paths
	written []int           // the operation of each endpoint
}

// order puts the operations into the order in which they are kept.
func (b *agisBuilder) order() {
	b.chosen = b.api.byUse()
	b.most = min(len(b.chosen), maxEndpoints)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// build writes the document until it fits and is accepted.
func (b *agisBuilder) build() (Output, error) {
	const rounds = 64 // far more than it takes: each one lowers a detail, a count or a care
	for range rounds {
		root := b.document()
		if len(b.written) == 0 {
			return Output{}, fmt.Errorf("convert OpenAPI to AGIS: no operation of the description can be said in AGIS")
		}
		if b.detail < brief && (b.schemas.over() || b.tooLong(root)) {
			b.detail++ // what is to be reviewed would only make it longer
			continue
		}
		reviews := b.reviews(root)
		text, err := writeDocument(root, reviews, b.options.Format)
		if err != nil {
			return Output{}, fmt.Errorf("convert OpenAPI to AGIS: %w", err)
		}
		if b.schemas.over() || len(text) > protocol.DefaultLimits.Bytes {
			b.shrink(len(text))
			continue
		}
		_, findings, err := agis.Parse(text, agis.Options{})
		if b.mend(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return Output{}, fmt.Errorf("convert OpenAPI to AGIS: the document that came out is not accepted: %s", firstError(findings, err))
		}
		return Output{Text: text, Reviews: reviews}, nil
	}
	return Output{}, fmt.Errorf("convert OpenAPI to AGIS: the description cannot be brought below %d bytes", protocol.DefaultLimits.Bytes)
}

// tooLong reports whether a document is too long even without its comments.
func (b *agisBuilder) tooLong(root *protocol.Node) bool {
	text, err := writeDocument(root, nil, b.options.Format)
	return err == nil && len(text) > protocol.DefaultLimits.Bytes
}

// reviews places what was noted while the document was written.
func (b *agisBuilder) reviews(root *protocol.Node) []Review {
	var out []Review
	if b.foreword != "" {
		out = append(out, Review{Message: b.foreword})
	}
	for _, r := range b.notes.reviews(root) {
		if b.reword != nil {
			r.Message = b.reword(r.Message)
		}
		out = append(out, r)
	}
	return out
}

func firstError(findings []protocol.Finding, err error) string {
	for _, f := range findings {
		if f.Severity == protocol.Error {
			return f.Code + " at " + f.Pointer + ": " + f.Message
		}
	}
	return fmt.Sprint(err)
}

// shrink lowers the detail, and where that is at its end the number of
// endpoints.
func (b *agisBuilder) shrink(size int) {
	if b.detail < brief {
		b.detail++
		return
	}
	fit := int(float64(len(b.written)) * 0.97 * float64(protocol.DefaultLimits.Bytes) / float64(size))
	b.most = max(1, min(fit, b.most-1))
}

// careful codes are warnings that another intent answers.
var carefulCodes = []string{"AGIS506", "AGIS507", "AGIS518", "AGIS519", "AGIS602"}

// mend takes more care with the endpoints that were objected to and reports
// whether anything changed.
func (b *agisBuilder) mend(findings []protocol.Finding) bool {
	changed := map[int]care{}
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
		op := b.written[i]
		switch {
		case f.Severity == protocol.Error && b.care[op] < leftOut:
			changed[op] = b.care[op] + 1
		case slices.Contains(carefulCodes, f.Code) && b.care[op] < plainVerb && changed[op] == 0:
			changed[op] = b.care[op] + 1
		}
	}
	for op, c := range changed {
		b.care[op] = c
	}
	return len(changed) > 0
}

// document writes the whole document once.
func (b *agisBuilder) document() *protocol.Node {
	b.notes = &notes{}
	b.schemas = newSchemaWriter(b.api, b.detail, b.notes)
	b.taken = map[string]bool{}
	b.written = nil

	root := newObject()
	put(root, "agis", strNode("1.0"))
	name, guessed := b.name()
	if service := put(root, "service", strNode(name)); guessed {
		b.notes.add(service, "the description has no title; name the service")
	}
	b.address(root, name)
	b.about(root, name)
	vocabulary := put(root, "vocabulary", newObject())
	list := newArray()
	verbs := map[string]bool{}
	kept := slices.Clone(b.chosen[:b.most])
	slices.Sort(kept)
	var without []string
	for _, i := range kept {
		op := b.api.operations[i]
		if b.care[i] == leftOut {
			without = append(without, strings.ToUpper(op.method)+" "+op.path)
			continue
		}
		endpoint := b.endpoint(op, b.care[i])
		verbs[endpoint.Member("method").Text] = true
		list.Items = append(list.Items, endpoint)
		b.written = append(b.written, i)
	}
	b.vocabulary(vocabulary, verbs, name)
	put(root, "endpoints", list)
	if schemas := b.schemas.collected(); schemas != nil {
		put(root, "schemas", schemas)
	}
	b.remarks(without)
	return root
}

// everywhere notes what is guessed in the same way of every endpoint. In a
// document that has no room for that it is said once for all of them.
func (b *agisBuilder) everywhere(at *protocol.Node, message string) {
	if b.detail < brief {
		b.notes.add(at, message)
	}
}

// remarks notes what concerns the document as a whole.
func (b *agisBuilder) remarks(without []string) {
	for _, message := range b.api.remarks() {
		b.notes.add(nil, message)
	}
	if names := membersOf(b.api.root.Member("components").Member("securitySchemes")); len(names) > 0 {
		b.notes.add(nil, "how callers authenticate is left out: AGIS has no member for it, AGTP settles it")
	}
	if len(without) > 0 {
		b.notes.add(nil, fmt.Sprintf("%d operations are left out, because they cannot be said in AGIS: %s", len(without), someOf(without)))
	}
	if out := slices.Sorted(slices.Values(b.chosen[b.most:])); len(out) > 0 {
		operations := make([]*operation, len(out))
		for i, n := range out {
			operations[i] = b.api.operations[n]
		}
		b.notes.add(nil, fmt.Sprintf("%d of %d operations are left out to keep the document below %d endpoints and %d bytes: deprecated ones first, then those without a text, then those "+
			"deepest in a path; describe them in a document of their own: %s", len(out), len(b.chosen), maxEndpoints, protocol.DefaultLimits.Bytes, outline(operations)))
	}
	switch b.detail {
	case spare:
		b.notes.add(nil, "the texts inside schemas are left out to keep the document small")
	case shallow:
		b.notes.add(nil, "schemas are cut below their second level to keep the document small")
	case bare, brief:
		b.notes.add(nil, "schemas are cut to the names and types of parameters to keep the document small")
	}
	if names := slices.DeleteFunc(sortedKeys(b.api.common), func(key string) bool {
		return b.detail < bare && !strings.HasPrefix(key, "header ")
	}); len(names) > 0 {
		b.notes.add(nil, "optional parameters that nearly all operations have are left out: "+someOf(names))
	}
	if b.detail == brief {
		b.notes.add(nil, "of every endpoint these are guessed: the method (from operationId, path, summary or HTTP method), the path, the outcome (a general sentence), "+
			"capability, confidence_guidance and impact_tier (from the verb), is_idempotent (from the HTTP method), and the names of errors (from the HTTP status)")
	}
}

// name returns the name of the service.
func (b *agisBuilder) name() (name string, guessed bool) {
	if name := cutWords(oneLine(b.options.Name), 100); name != "" {
		return name, false
	}
	if b.api.title != "" {
		return cutWords(b.api.title, 100), false
	}
	if host := hostOf(b.options.URL, serverURL(b.api.root.Member("servers"))); host != "" {
		return host, true
	}
	return "Service", true
}

// publicName matches names in a domain, not addresses of numbers.
var publicName = regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9\-]*\z`)

// hostOf returns the host of the first address that has one with a public name.
func hostOf(addresses ...string) string {
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err == nil && hostName(u.Hostname()) && publicName.MatchString(u.Hostname()) {
			return strings.ToLower(u.Hostname())
		}
	}
	return ""
}

// hostName reports whether s is a plain name of a host on the network.
func hostName(s string) bool {
	if s == "" || len(s) > 253 || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-')
	})
}

func (b *agisBuilder) address(root *protocol.Node, name string) {
	host := hostOf(b.options.URL, serverURL(b.api.root.Member("servers")))
	if host != "" {
		n := put(root, "agtp", strNode("agtp://"+host))
		b.notes.add(n, "from the address of the service; AGTP may be served elsewhere")
		return
	}
	n := put(root, "agtp", strNode("agtp://"+strings.ReplaceAll(namespaceOf(name), "_", "-")+".example"))
	b.notes.add(n, "no address is known; write the host of the service")
}

// namespaceOf makes a namespace of a name: a short lower-case token (AGIS706).
func namespaceOf(name string) string {
	words := withoutAPI(asciiWords(identifierWords(name)))
	if ns := joinWords(words, "-", 40); ns != "" {
		return ns
	}
	return "service"
}

// withoutAPI takes the words off the end of a name that only say what kind of
// thing it names.
func withoutAPI(words []string) []string {
	for len(words) > 1 && slices.Contains([]string{"api", "apis", "service", "services", "controller", "endpoints"}, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}

// about writes description and version.
func (b *agisBuilder) about(root *protocol.Node, name string) {
	description := cutWords(b.api.description, 300)
	if description == "" {
		b.notes.add(put(root, "description", strNode("Operations of "+name)), "the description has none; say in a sentence what the service is for")
	} else {
		put(root, "description", strNode(description))
	}
	if b.api.version == "" {
		b.notes.add(put(root, "version", strNode("1.0.0")), "the description has no version")
		return
	}
	put(root, "version", strNode(b.api.version))
}

func (b *agisBuilder) vocabulary(n *protocol.Node, verbs map[string]bool, name string) {
	put(n, "declared_verbs", strList(sortedKeys(verbs)...))
	var tags []string
	for _, i := range b.written {
		if t := b.api.operations[i].tags; len(t) > 0 { // appendix B: tags[0]
			tags = append(tags, t[0])
		}
	}
	domain := strings.Join(withoutAPI(identifierWords(honest(plain(mostFrequent(tags))))), " ")
	why := "the most frequent tag of the operations; name the field of business"
	if domain == "" {
		domain, why = strings.ReplaceAll(namespaceOf(name), "-", " "), "from the name of the service; name the field of business"
	}
	b.notes.add(put(n, "domain", strNode(cutWords(domain, 60))), why)
	b.notes.add(put(n, "namespace", strNode(namespaceOf(name))), "from the name of the service; it qualifies the verbs in headers")
}

// endpoint writes one operation.
func (b *agisBuilder) endpoint(op *operation, c care) *protocol.Node {
	verb, why, parts := b.verb(op, c)
	noun := b.fallbackNoun(op, verb)
	names := b.names(op)
	path := makePath(parts, verb, func(name string) string { return names["path "+name] }, noun)
	many := b.many(op, path)
	if verb == "" {
		verb = defaultVerb(op.method, many)
		why = "from the HTTP method " + strings.ToUpper(op.method) + "; a verb of the business says more"
	}
	why += suggestion(op, verb, path)
	pathChanged := b.settle(&path, verb, noun)

	e := newObject()
	method := put(e, "method", strNode(verb))
	b.everywhere(method, why)
	if n := put(e, "path", strNode(path.String())); pathChanged || path.String() != op.path {
		b.everywhere(n, "from "+cutWords(oneLine(op.path), 100))
	}
	b.semantic(e, op, verb, path.noun, many, c)
	input := b.input(op, path, names, c)
	put(e, "input", input)
	b.output(e, op, c)
	b.errors(e, op, path.noun, many)
	return e
}

// verb chooses the method of an endpoint and says where it comes from; it is ""
// where the HTTP method decides. The parts of the path come without a verb at
// their end.
func (b *agisBuilder) verb(op *operation, c care) (verb, why string, parts []pathPart) {
	parts = pathParts(op.path)
	trailing := trailingVerb(parts, op.method)
	if trailing != "" {
		words := leaveOutVerb(parts[len(parts)-1].words, trailing)
		parts = slices.Clone(parts)
		parts[len(parts)-1].words = words
		if len(words) == 0 {
			parts = parts[:len(parts)-1]
		}
	}
	if c >= plainVerb {
		return "", "", parts
	}
	word, fromSummary := verbOfWords(op.action, op.summary, op.method)
	switch {
	case word != "" && httpWords[word] == nil && !fromSummary:
		return strings.ToUpper(word), "from the operationId " + protocol.Quote(cutWords(op.id, 60)), parts
	case trailing != "":
		return strings.ToUpper(trailing), "from the end of the path " + protocol.Quote(cutWords(op.path, 100)), parts
	case word == "" || word == op.method:
		return "", "", parts
	}
	why = "from the operationId " + protocol.Quote(cutWords(op.id, 60))
	if fromSummary {
		why = "from the summary"
	}
	if httpWords[word] != nil {
		return defaultVerb(word, false), why, parts
	}
	return strings.ToUpper(word), why, parts
}

// suggestion names verbs that may say more than the one chosen: the one that
// the summary begins with, and for a thing that is created those that its noun
// is made from. A POST to /reservations may be meant to RESERVE.
func suggestion(op *operation, verb string, path nounPath) string {
	var out []string
	add := func(word string) {
		name := strings.ToUpper(word)
		if name != verb && len(out) < 3 && methodVerb(word) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if word := verbOfSummary(op.summary, op.method); word != "" && effect.Of(word) != effect.Of(strings.ToLower(verb)) {
		add(word)
	}
	if verb == "CREATE" && op.method == "post" && len(path.noun) > 0 {
		noun := singular(path.noun[len(path.noun)-1])
		for _, word := range append(english.VerbsOf(noun), noun) {
			add(word)
		}
	}
	if out == nil {
		return ""
	}
	return "; perhaps " + strings.Join(out, " or ")
}

// fallbackNoun names what an operation acts on when its path does not.
func (b *agisBuilder) fallbackNoun(op *operation, verb string) []string {
	var candidates [][]string
	parts := pathParts(op.path)
	ofParameter := parameterNoun(parts)
	named := slices.ContainsFunc(parts, func(p pathPart) bool { return p.words != nil && !p.prefix })
	if named && len(ofParameter) > 0 { // the id names what stands further behind in the path
		candidates = append(candidates, ofParameter)
	}
	if !b.api.shared[op.id] {
		candidates = append(candidates, nounOfID(op.action, verb))
	}
	candidates = append(candidates, objectOf(op.summary))
	if len(op.tags) > 0 {
		candidates = append(candidates, leaveOutVerb(identifierWords(op.tags[0]), verb))
	}
	candidates = append(candidates, ofParameter)
	for _, words := range candidates {
		words = asciiWords(words)
		if len(words) > 0 && acceptable(verb, "/"+strings.Join(words[:min(len(words), 4)], "-")) {
			return words[:min(len(words), 4)]
		}
	}
	return []string{noNoun}
}

// noNoun stands where nothing tells what is acted on.
const noNoun = "resource"

// many reports whether a GET answers with a list.
func (b *agisBuilder) many(op *operation, path nounPath) bool {
	if op.method != "get" || !path.last {
		return false
	}
	if _, schema, _ := op.success(); schema != nil && slices.Contains(b.schemas.types(b.schemas.merged(schema)), "array") {
		return true
	}
	return len(path.noun) > 0 && plural(path.noun[len(path.noun)-1])
}

// settle gives an endpoint a path that is legal and that no other endpoint with
// the method has. It reports whether the path is another one than was asked for.
func (b *agisBuilder) settle(path *nounPath, verb string, noun []string) bool {
	var candidates [][]string
	candidates = append(candidates, path.segments)
	if path.prefix != "" {
		candidates = append(candidates, append([]string{path.prefix}, path.segments...))
	}
	if last := strings.Join(noun, "-"); last != noNoun && path.segments[len(path.segments)-1] != last {
		candidates = append(candidates, append(slices.Clone(path.segments), strings.Join(noun, "-")))
	}
	plain := []string{strings.Join(noun, "-")}
	for _, s := range path.segments {
		if s[0] == '{' {
			plain = append(plain, s)
		}
	}
	candidates = append(candidates, plain)
	for i, segments := range candidates {
		key := pathKey(verb, segments)
		if !b.taken[key] && acceptable(verb, "/"+strings.Join(segments, "/")) {
			b.taken[key] = true
			path.segments = segments
			return i > 0
		}
	}
	if first := path.segments[0]; plain[0] == noNoun && acceptable(verb, "/"+first) {
		plain[0] = first
	}
	if !acceptable(verb, "/"+strings.Join(plain, "/")) {
		plain[0] = noNoun
	}
	first := plain[0]
	for i := 2; ; i++ {
		plain[0] = first + "-" + strconv.Itoa(i)
		if key := pathKey(verb, plain); !b.taken[key] {
			b.taken[key] = true
			path.segments = plain
			return true
		}
	}
}

// names gives the parameters of an operation, and those that only its path
// names, their names in the input: snake_case and unique. The keys are the
// place and the name in the description.
func (b *agisBuilder) names(op *operation) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	give := func(in, name string) {
		if key := in + " " + name; names[key] == "" {
			s := snake(name, 64)
			if s == "" {
				s = "parameter"
			}
			names[key] = unique(s, 64, taken)
		}
	}
	for _, part := range pathParts(op.path) {
		if part.words == nil {
			give("path", part.parameter)
		}
	}
	for _, p := range op.parameters {
		if p.in != "path" {
			give(p.in, p.name)
		}
	}
	return names
}

// semantic writes the semantic block.
func (b *agisBuilder) semantic(e *protocol.Node, op *operation, verb string, noun []string, many bool, c care) {
	generic := genericIntent(verb, noun, many || verb == "LIST" || verb == "SEARCH")
	intent, guessed := generic, true
	if c < plainIntent {
		intent, guessed = intentOf(verb, op.summary, generic)
	}
	n := natureOf(verb, noun, many, op.method == "get")
	given := false
	if outcome := honest(firstSentence(plain(op.node.Member("x-outcome").Str()))); outcome != "" && c < plainIntent { // appendix B
		n.outcome, given = cutWords(outcome, 240), true
	}
	s := put(e, "semantic", semanticBlock(intent, n, op.method != "post" && op.method != "patch"))
	if guessed {
		b.notes.add(s.Member("intent"), "written from the verb and the path; say what the caller wants")
	}
	if !given {
		b.everywhere(s.Member("outcome"), "a general sentence; say what is true after success")
	}
	b.everywhere(s.Member("capability"), "capability, confidence_guidance and impact_tier follow from the verb")
	b.everywhere(s.Member("is_idempotent"), "from the HTTP method "+strings.ToUpper(op.method))
}

// headersOfTransport are parameters that no caller of an AGIS endpoint sets.
var headersOfTransport = wordSet("authorization accept content-type user-agent accept-language accept-encoding host content-length cookie")

// input merges parameters and request body into one schema.
func (b *agisBuilder) input(op *operation, path nounPath, names map[string]string, c care) *protocol.Node {
	properties := newObject()
	var required []string
	add := func(name string, schema *protocol.Node, must bool) *protocol.Node {
		if must {
			required = append(required, name)
		}
		return put(properties, name, schema)
	}
	described := map[string]bool{}
	var renamed []string
	for _, p := range op.parameters {
		name := names[p.in+" "+p.name]
		if name == "" || described[name] || p.in == "cookie" || p.in == "header" && headersOfTransport[strings.ToLower(p.name)] {
			continue // a path parameter that the path does not have, or one of the transport
		}
		if !p.required && b.api.common[p.in+" "+p.name] && (p.in == "header" || b.detail >= bare) {
			continue
		}
		described[name] = true
		if name != p.name {
			renamed = append(renamed, p.name+" is "+name)
		}
		add(name, b.parameter(p, c), p.required)
	}
	for _, s := range path.segments {
		if name := strings.Trim(s, "{}"); s[0] == '{' && !described[name] {
			described[name] = true
			n := newObject()
			put(n, "type", strNode("string"))
			b.notes.add(add(name, n, true), "the description does not declare this parameter of the path")
		}
	}
	b.body(op, properties, add, c)

	input := newObject()
	put(input, "type", strNode("object"))
	put(input, "properties", properties)
	if len(required) > 0 {
		put(input, "required", strList(required...))
	}
	if len(renamed) > 0 {
		b.everywhere(input, "parameters are renamed to snake_case: "+cutWords(oneLine(strings.Join(renamed, ", ")), 120))
	}
	return input
}

// parameter writes the schema of one parameter with its description.
func (b *agisBuilder) parameter(p parameter, c care) *protocol.Node {
	if c >= plainContract || b.detail >= bare {
		n := newObject()
		names := b.schemas.types(b.schemas.merged(p.schema))
		if len(names) == 0 {
			names = []string{"string"}
		}
		put(n, "type", typeNode(names))
		return n
	}
	n := b.schemas.schema(p.schema, 1)
	if n.Kind != protocol.Object {
		n = anything()
	}
	if text := cutWords(honest(p.description), 160); text != "" && n.Member("description") == nil && n.Member("$ref") == nil {
		put(n, "description", strNode(text))
	}
	return n
}

// body adds what the request body asks for: its properties where it is a plain
// object, else one parameter that holds it.
func (b *agisBuilder) body(op *operation, properties *protocol.Node, add func(string, *protocol.Node, bool) *protocol.Node, c care) {
	schema, media, required := b.api.bodySchema(op)
	if media == "" {
		return
	}
	whole := b.schemas.merged(schema)
	members := membersOf(whole.Member("properties"))
	mergeable := len(members) > 0 && len(members) <= maxParameters && whole.Member("oneOf") == nil && whole.Member("anyOf") == nil &&
		!slices.ContainsFunc(members, func(m *protocol.Node) bool {
			return properties.Member(m.Key) != nil || len(m.Key) > maxKey
		})
	if !mergeable {
		name := "body"
		for properties.Member(name) != nil {
			name += "_content"
		}
		n := anything()
		if c < plainContract && b.detail < bare {
			n = b.schemas.schema(schema, 1)
		}
		if n.Kind != protocol.Object {
			n = anything()
		}
		if len(n.Items) == 0 && schema == nil {
			put(n, "type", strNode("string"))
			put(n, "contentMediaType", strNode(cutWords(oneLine(media), 60)))
		}
		b.notes.add(add(name, n, required), "the request body as a whole ("+cutWords(oneLine(media), 60)+")")
		return
	}
	needed := map[string]bool{}
	for _, name := range whole.Member("required").Strs() {
		// Few descriptions say that the body itself is required.
		needed[name] = required || op.method != "patch"
	}
	for _, m := range members {
		if b.schemas.readOnly(m) {
			continue
		}
		var n *protocol.Node
		if c >= plainContract || b.detail >= bare {
			n = b.schemas.outline(m)
		} else {
			n = b.schemas.schema(m, 2)
		}
		if n.Kind != protocol.Object {
			n = anything()
		}
		add(m.Key, n, needed[m.Key])
	}
}

// readOnly reports whether a property is sent by the service only.
func (s *schemaWriter) readOnly(n *protocol.Node) bool {
	return n.Member("readOnly").True() || s.api.follow(n).Member("readOnly").True()
}

// output writes the schema of a successful answer.
func (b *agisBuilder) output(e *protocol.Node, op *operation, c care) {
	status, schema, _ := op.success()
	object := func() *protocol.Node {
		n := newObject()
		put(n, "type", strNode("object"))
		return n
	}
	switch {
	case schema == nil:
		n := put(e, "output", object())
		if status != "204" {
			b.everywhere(n, "the description does not say what is answered")
		}
	case c >= plainContract || b.detail >= bare:
		n := b.schemas.outline(schema)
		if len(n.Items) == 0 {
			n = object()
		}
		put(e, "output", n)
	default:
		n := b.schemas.schema(schema, 1)
		if n.Kind != protocol.Object || len(n.Items) == 0 {
			n = object()
		}
		put(e, "output", n)
	}
}

// errorNames are the names of what a status says went wrong; "%" stands for the
// noun of the endpoint.
var errorNames = map[string]string{
	"400": "invalid_%_request", "401": "authentication_required", "402": "payment_required", "403": "permission_denied",
	"404": "%_not_found", "405": "method_not_allowed", "406": "answer_format_unavailable", "408": "request_timed_out",
	"409": "%_conflict", "410": "%_gone", "411": "length_required", "412": "precondition_failed", "413": "request_too_large",
	"415": "media_type_unsupported", "422": "%_not_processable", "423": "%_locked", "424": "dependency_failed",
	"428": "precondition_required", "429": "too_many_requests", "451": "%_legally_unavailable",
	"500": "service_failed", "501": "not_implemented", "502": "upstream_failed", "503": "service_unavailable", "504": "upstream_timed_out",
	"4XX": "%_request_refused", "5XX": "service_failed",
}

// errorNoun is the noun of an endpoint as it stands in the names of errors.
func errorNoun(noun []string) string {
	words := asciiWords(noun)
	if len(words) == 0 {
		return noNoun
	}
	if last := &words[len(words)-1]; english.Lookup(singular(*last)).Noun {
		*last = singular(*last)
	}
	if thing := joinWords(words, "_", 40); thing != "" {
		return thing
	}
	return noNoun
}

// errors writes the ways in which an endpoint may fail.
func (b *agisBuilder) errors(e *protocol.Node, op *operation, noun []string, many bool) {
	thing := errorNoun(noun)
	list := newArray()
	seen := map[string]bool{}
	add := func(name, description string) {
		name = strings.ReplaceAll(name, "%", thing)
		if seen[name] {
			return
		}
		seen[name] = true
		n := newObject()
		put(n, "name", strNode(name))
		if b.detail < bare {
			put(n, "description", strNode(description))
		}
		list.Items = append(list.Items, n)
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
		description := cutWords(honest(firstSentence(plain(r.node.Member("description").Str()))), 120)
		if description == "" {
			description = "Answered with HTTP status " + r.status
		}
		add(name, description)
	}
	if len(list.Items) == 0 {
		name := "invalid_%_request"
		if op.method == "get" && !many {
			name = "%_not_found"
		}
		add(name, "The service did not carry out the request")
		b.everywhere(put(e, "errors", list), "the description names no errors; list what can go wrong")
		return
	}
	b.everywhere(put(e, "errors", list), "named after the HTTP status codes")
}
