package convert

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// openAPIToAI converts an OpenAPI description into an AI Discovery document.
func openAPIToAI(text []byte, o Options) (Output, error) {
	a, err := readOpenAPI(text)
	if err != nil {
		return Output{}, err
	}
	b := &aiBuilder{api: a, options: o, care: map[*operation]care{}}
	b.choose()
	b.readAuth()
	return b.build()
}

// maxCapabilities is how many capabilities of a document readers process
// (AI Discovery §6.5).
const maxCapabilities = 100

// An aiBuilder writes a document as often as it takes, like an [agisBuilder].
type aiBuilder struct {
	api     *openAPI
	options Options
	chosen  []*operation
	out     []*operation // left out for their number
	care    map[*operation]care
	terse   int            // from 0: how much is cut to stay below the size readers like
	plainly bool           // the texts about the service are ours, not the description's
	scheme  *protocol.Node // how callers authenticate; nil when nothing is asked for
	header  string         // that carries an API key

	notes   *notes
	schemas *schemaWriter
	written []*operation
	ids     map[string]bool
}

// choose keeps the operations that a document has room for, in the order of the
// description.
func (b *aiBuilder) choose() {
	order := b.api.byUse()
	keep := slices.Sorted(slices.Values(order[:min(len(order), maxCapabilities)]))
	out := slices.Sorted(slices.Values(order[len(keep):]))
	for _, i := range keep {
		b.chosen = append(b.chosen, b.api.operations[i])
	}
	for _, i := range out {
		b.out = append(b.out, b.api.operations[i])
	}
}

// terseEnd is the last step of cutting.
const terseEnd = 4

func (b *aiBuilder) build() (Output, error) {
	const rounds = 32
	for range rounds {
		root := b.document()
		if len(b.written) == 0 {
			return Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: no operation of the description can become a capability")
		}
		reviews := b.notes.reviews(root)
		b.review(root, reviews)
		text := append(protocol.WriteJSON(root, "  "), '\n')
		if len(text) > aidiscovery.SoftSize && b.terse < terseEnd {
			b.terse++
			continue
		}
		_, findings, err := aidiscovery.Parse(text, aidiscovery.Options{})
		if b.mend(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: the document that came out is not accepted: %s", firstError(findings, err))
		}
		return Output{Text: text, Reviews: reviews}, nil
	}
	return Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: the description cannot be brought below %d bytes", aidiscovery.HardSize)
}

// mend takes more care with what the reader objected to and reports whether
// anything changed.
func (b *aiBuilder) mend(findings []protocol.Finding) bool {
	changed := map[*operation]care{}
	plainly := false
	for _, f := range findings {
		bad := f.Severity == protocol.Error || f.Code == "AI904" || f.Code == "AI316"
		rest, ok := strings.CutPrefix(f.Pointer, "/capabilities/")
		switch {
		case !bad:
		case !ok:
			plainly = true
		default:
			number, _, _ := strings.Cut(rest, "/")
			if i, err := strconv.Atoi(number); err == nil && i < len(b.written) && b.care[b.written[i]] < leftOut {
				next := plainContract // texts first, then the whole capability
				if b.care[b.written[i]] == plainContract {
					next = leftOut
				}
				changed[b.written[i]] = next
			}
		}
	}
	for op, c := range changed {
		b.care[op] = c
	}
	if plainly && !b.plainly {
		b.plainly = true
		return true
	}
	return len(changed) > 0
}

func (b *aiBuilder) document() *protocol.Node {
	b.notes = &notes{}
	b.schemas = newSchemaWriter(b.api, bare, b.notes)
	b.written, b.ids = nil, map[string]bool{}
	root := newObject()
	put(root, "aiendpoint", strNode("1.0"))
	b.service(root)
	list := put(root, "capabilities", newArray())
	var without []string
	for _, op := range b.chosen {
		if b.care[op] == leftOut {
			without = append(without, strings.ToUpper(op.method)+" "+op.path)
			continue
		}
		b.written = append(b.written, op)
		list.Items = append(list.Items, b.capability(op))
	}
	b.auth(root)
	for _, message := range b.api.remarks() {
		b.notes.add(nil, message)
	}
	if len(b.out) > 0 {
		b.notes.add(nil, fmt.Sprintf("%d of %d operations are left out, because readers process %d capabilities: deprecated ones first, then those without a text, then those deepest in a path: %s",
			len(b.out), len(b.api.operations), maxCapabilities, outline(b.out)))
	}
	if len(without) > 0 {
		b.notes.add(nil, fmt.Sprintf("%d operations are left out, because they cannot be said in AI Discovery: %s", len(without), someOf(without)))
	}
	if b.terse > 0 {
		b.notes.add(nil, "texts and parameters are shortened to keep the document small")
	}
	return root
}

// maxReviews is how many bytes the reviews may take inside a document.
const maxReviews = 8192

// review puts the reviews into meta, together with the date: JSON has no
// comments. Those that say the same of many places stand there once.
func (b *aiBuilder) review(root *protocol.Node, reviews []Review) {
	meta := newObject()
	if !b.options.Today.IsZero() {
		put(meta, "last_updated", strNode(b.options.Today.UTC().Format("2006-01-02")))
	}
	var messages []string
	places := map[string][]string{}
	for _, r := range reviews {
		if places[r.Message] == nil {
			messages = append(messages, r.Message)
		}
		places[r.Message] = append(places[r.Message], r.Pointer)
	}
	list := newArray()
	size := 0
	for i, message := range messages {
		at := places[message]
		line := message
		if at[0] != "" {
			line = at[0] + ": " + message
		}
		if len(at) > 1 {
			line = at[0] + fmt.Sprintf(" and %d more: ", len(at)-1) + message
		}
		line = cutWords(oneLine(line), 300)
		if size += len(line); size > maxReviews {
			list.Items = append(list.Items, strNode(fmt.Sprintf("%d more remarks are not listed here", len(messages)-i)))
			break
		}
		if !b.plainly || honest(line) != "" {
			list.Items = append(list.Items, strNode(line))
		}
	}
	if len(list.Items) > 0 && !b.plainly {
		put(meta, "review", list)
	}
	if len(meta.Items) > 0 {
		put(root, "meta", meta)
	}
}

func (b *aiBuilder) service(root *protocol.Node) {
	s := put(root, "service", newObject())
	name := cutWords(oneLine(b.options.Name), 100)
	if name == "" && !b.plainly {
		name = cutWords(b.api.title, 100)
	}
	guessed := name == ""
	if guessed {
		if name = hostOf(b.options.URL, serverURL(b.api.root.Member("servers"))); name == "" {
			name = "Service"
		}
	}
	if n := put(s, "name", strNode(name)); guessed {
		b.notes.add(n, "the description has no title that can be used; name the service")
	}
	text := cutWords(b.api.description, 200)
	if text == "" || b.plainly {
		b.notes.add(put(s, "description", strNode(cutWords("Operations of "+name, 200))), "say in a sentence what the service is for")
	} else {
		put(s, "description", strNode(text))
	}
	if categories := b.categories(); len(categories) > 0 {
		b.notes.add(put(s, "category", strList(categories...)), "from words of the description")
	}
}

// A server is where the operations of a description are called.
type server struct {
	base    string // "https://host/prefix", "/prefix" or ""
	guessed string // why it is not what the description says; "" when it is
}

// server reads the first of a list of servers. A server on the host that
// publishes the document gives a path, any other one an absolute address.
func (b *aiBuilder) server(servers *protocol.Node) server {
	address := serverURL(servers)
	if address == "" || address == "/" {
		return server{}
	}
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "{}") {
		return server{guessed: "the address " + protocol.Quote(address) + " of the server cannot be used; the path is taken to be on the host of the document"}
	}
	prefix := strings.TrimRight(u.EscapedPath(), "/")
	if u.Host == "" && u.Scheme == "" {
		if prefix != "" && prefix[0] != '/' {
			prefix = "/" + prefix
		}
		return server{base: prefix}
	}
	if u.Scheme != "https" && u.Scheme != "http" || !hostName(u.Hostname()) {
		return server{base: prefix, guessed: "the server " + protocol.Quote(address) + " is no web address; the path is taken to be on the host of the document"}
	}
	if published := hostOf(b.options.URL); strings.EqualFold(published, u.Hostname()) {
		return server{base: prefix}
	}
	if !strings.Contains(u.Hostname(), ".") {
		return server{base: prefix, guessed: "the server " + protocol.Quote(address) + " is on a private network; the path is taken to be on the host of the document"}
	}
	base := u.Scheme + "://" + strings.ToLower(u.Host) + prefix
	if form, _ := aidiscovery.Endpoint(base + "/"); form != aidiscovery.Absolute || privateAddress(base) {
		return server{base: prefix, guessed: "the server " + protocol.Quote(address) + " cannot be reached by callers; the path is taken to be on the host of the document"}
	}
	return server{base: base}
}

// privateAddress reports whether the reader would refuse an address as private
// (AI906).
func privateAddress(base string) bool {
	text := `{"aiendpoint":"1.0","service":{"name":"n","description":"d"},"auth":{"type":"none"},` +
		`"capabilities":[{"id":"a","description":"d","method":"GET","endpoint":` + string(protocol.WriteJSON(strNode(base), "")) + `}]}`
	_, findings, _ := aidiscovery.Parse([]byte(text), aidiscovery.Options{})
	return slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Severity == protocol.Error })
}

func (b *aiBuilder) capability(op *operation) *protocol.Node {
	c := newObject()
	b.id(c, op)
	b.describe(c, op)
	b.endpoint(c, op)
	put(c, "method", strNode(strings.ToUpper(op.method)))
	if params := b.params(op); len(params.Items) > 0 {
		put(c, "params", params)
	}
	if returns := b.returns(op); returns != "" && b.care[op] < plainContract && b.terse < terseEnd {
		put(c, "returns", strNode(returns))
	}
	return c
}

// id names a capability after its operationId, or else its method and path.
func (b *aiBuilder) id(c *protocol.Node, op *operation) {
	const most = 64
	if name := snake(op.id, most); name != "" {
		if n := put(c, "id", strNode(unique(name, most, b.ids))); b.api.shared[op.id] {
			b.notes.add(n, "several operations have the operationId "+protocol.Quote(cutWords(op.id, 60))+"; keep the id once it is published")
		}
		return
	}
	parts := pathParts(op.path)
	var words, by []string
	for _, p := range parts {
		switch {
		case p.words == nil:
			by = append([]string{"by"}, identifierWords(p.parameter)...)
		case !p.prefix:
			words, by = append(words, p.words...), nil
		}
	}
	verb := strings.ToLower(defaultVerb(op.method, false))
	if trailing := trailingVerb(parts, op.method); trailing != "" {
		verb = trailing
		words = words[:len(words)-1]
	}
	if op.method == "get" && verb == "retrieve" {
		verb = "get"
	}
	name := joinWords(append(append([]string{verb}, words...), by...), "_", most)
	b.notes.add(put(c, "id", strNode(unique(name, most, b.ids))), "the operation has no operationId that can be an id; keep the id once it is published")
}

func (b *aiBuilder) describe(c *protocol.Node, op *operation) {
	most := 200
	if b.terse >= 2 {
		most = 100
	}
	text := honest(firstSentence(op.summary))
	if protocol.Length(text) < 15 { // hardly more than a name: the description may say more
		if longer := honest(firstSentence(op.description)); longer != "" {
			text = longer
		}
	}
	if text == "" || b.care[op] >= plainContract {
		parts := pathParts(op.path)
		var noun []string
		for _, p := range parts {
			if p.words != nil && !p.prefix {
				noun = asciiWords(p.words)
			}
		}
		text = genericIntent(defaultVerb(op.method, false), noun, false)
		b.notes.add(put(c, "description", strNode(cutWords(text, most))), "written from the method and the path; say what the capability does")
		return
	}
	put(c, "description", strNode(cutWords(text, most)))
}

// endpoint joins server and path template.
func (b *aiBuilder) endpoint(c *protocol.Node, op *operation) {
	servers := op.servers
	if servers == nil {
		servers = b.api.root.Member("servers")
	}
	s := b.server(servers)
	path := strings.ReplaceAll(oneLine(op.path), " ", "%20")
	path, _, _ = strings.Cut(path, "#")
	path = "/" + strings.TrimLeft(strings.ReplaceAll(path, `\`, "/"), "/")
	text := s.base + path
	form, _ := aidiscovery.Endpoint(text)
	if form != aidiscovery.Relative && form != aidiscovery.Absolute {
		text, s.guessed = path, "the server and the path do not make an address; the path is taken to be on the host of the document"
	}
	if n := put(c, "endpoint", strNode(text)); s.guessed != "" {
		b.notes.add(n, s.guessed)
	}
}

// maxParams is how many parameters of one capability are described.
const maxParams = 40

// params describes the parameters in the draft's dialect. Required ones come
// first, and stay when there are too many.
func (b *aiBuilder) params(op *operation) *protocol.Node {
	type described struct {
		name     string
		text     string
		required bool
	}
	var list []described
	seen := map[string]bool{}
	add := func(name string, required bool, schema *protocol.Node, where, text string) {
		if name == "" || seen[name] || !usableKey(name) {
			return
		}
		seen[name] = true
		list = append(list, described{name, b.param(op, required, schema, where, text), required})
	}
	for _, p := range op.parameters {
		if p.in == "cookie" || p.in == "header" && (headersOfTransport[strings.ToLower(p.name)] || strings.EqualFold(p.name, b.header)) {
			continue
		}
		where := ""
		switch {
		case p.in == "header":
			where = "header"
		case p.in == "query" && op.method != "get" && op.method != "delete":
			where = "query"
		case p.in == "path" && !strings.Contains(op.path, "{"+p.name+"}"):
			continue
		}
		add(p.name, p.required, p.schema, where, p.description)
	}
	for _, name := range aidiscovery.PathParams(op.path) {
		add(name, true, nil, "", "")
	}
	b.bodyParams(op, add)
	slices.SortStableFunc(list, func(x, y described) int { return boolInt(y.required) - boolInt(x.required) })
	most := maxParams
	if b.terse >= 3 {
		most = 12
	}
	out := newObject()
	for i, p := range list {
		if i >= most && !p.required {
			b.notes.add(out, fmt.Sprintf("%d optional parameters are left out", len(list)-i))
			break
		}
		if i >= 4*most {
			break
		}
		put(out, p.name, strNode(p.text))
	}
	return out
}

// bodyParams adds the properties of the request body, or the body as a whole.
func (b *aiBuilder) bodyParams(op *operation, add func(name string, required bool, schema *protocol.Node, where, text string)) {
	schema, media, required := b.api.bodySchema(op)
	if media == "" {
		return
	}
	whole := b.schemas.merged(schema)
	needed := map[string]bool{}
	for _, name := range whole.Member("required").Strs() {
		needed[name] = required || op.method != "patch"
	}
	where := ""
	if !strings.Contains(strings.ToLower(media), "json") && !strings.HasPrefix(media, "*") {
		where = "sent as " + strings.Map(func(r rune) rune {
			if r == ',' || r == '(' || r == ')' {
				return -1
			}
			return r
		}, cutWords(oneLine(media), 60))
	}
	members := membersOf(whole.Member("properties"))
	if len(members) == 0 {
		add("body", required, schema, where, "the request body")
		return
	}
	for _, m := range members {
		if !b.schemas.readOnly(m) {
			add(m.Key, needed[m.Key], m, where, plain(b.api.follow(m).Member("description").Str()))
		}
	}
}

// param writes one description: type, requirement, constraints, text.
func (b *aiBuilder) param(op *operation, required bool, schema *protocol.Node, where, text string) string {
	n := b.schemas.merged(schema)
	parts := []string{paramType(b.schemas.types(n)), "optional"}
	if required {
		parts[1] = "required"
	}
	if slices.Contains(b.schemas.types(n), "object") {
		parts = append(parts, "JSON object")
	}
	if b.terse < terseEnd {
		parts = append(parts, constraints(n)...)
		if items := b.api.follow(n.Member("items")); parts[0] == "array" && items != nil {
			parts = append(parts, constraints(items)...)
		}
	}
	if where != "" {
		parts = append(parts, where)
	}
	out := strings.Join(parts, ", ")
	most := 120
	if b.terse >= 1 {
		most = 60
	}
	text = cutWords(honest(firstSentence(text)), most)
	if text != "" && b.care[op] < plainContract && b.terse < 3 {
		out += " -- " + text
	}
	return out
}

// paramType is the type word of the draft for the types of a schema. The draft
// has none for objects and null; objects travel as JSON text.
func paramType(types []string) string {
	for _, t := range types {
		switch t {
		case "string", "integer", "number", "boolean", "array":
			return t
		}
	}
	return "string"
}

// constraints says what a schema demands of a value, in the words of the draft.
func constraints(n *protocol.Node) []string {
	var out []string
	// A comma or a dash would end the constraint for a reader.
	safe := func(s string) bool {
		return s != "" && len(s) <= 40 && !strings.ContainsAny(s, ",|()") && !strings.Contains(s, "--") &&
			!strings.ContainsAny(s, "—–") && oneLine(s) == s
	}
	var choices []string
	for _, item := range n.Member("enum").Elements() {
		if item.Kind != protocol.Null && scalar(item) && safe(item.Text) {
			choices = append(choices, item.Text)
		}
	}
	const most = 12
	if len(choices) > 0 && len(choices) <= most {
		out = append(out, strings.Join(choices, "|"))
	}
	for _, c := range []struct{ keyword, word, unit string }{
		{"default", "default ", ""}, {"minimum", "min ", ""}, {"maximum", "max ", ""},
		{"minLength", "min ", " characters"}, {"maxLength", "max ", " characters"},
		{"minItems", "min ", " items"}, {"maxItems", "max ", " items"},
	} {
		if v := n.Member(c.keyword); v != nil && v.Kind != protocol.Null && scalar(v) && safe(v.Text) && (c.keyword == "default" || v.Kind == protocol.Number) {
			out = append(out, c.word+v.Text+c.unit)
		}
	}
	if f := n.Member("format").Str(); f == "date" || f == "date-time" || f == "uuid" || f == "email" || f == "uri" {
		out = append(out, "format "+f)
	}
	return out
}

// returns names the fields of a successful answer: "pets[] {id, name}".
func (b *aiBuilder) returns(op *operation) string {
	const most = 300
	_, schema, node := op.success()
	n := b.schemas.merged(schema)
	if slices.Contains(b.schemas.types(n), "array") {
		if fields := b.fields(b.schemas.merged(n.Member("items")), most-10); fields != "" {
			return "[] " + fields
		}
		return "[]"
	}
	if fields := b.fields(n, most); fields != "" {
		return fields
	}
	text := honest(firstSentence(plain(node.Member("description").Str())))
	return cutWords(text, 100)
}

// fields lists the properties of a schema in braces, with those of the objects
// in a list where there is room; "" when there are none.
func (b *aiBuilder) fields(n *protocol.Node, most int) string {
	members := membersOf(n.Member("properties"))
	var parts []string
	size := len("{}")
	for _, m := range members {
		if !usableKey(m.Key) || len(m.Key) > 60 || m.Member("writeOnly").True() {
			continue
		}
		part := m.Key
		property := b.schemas.merged(m)
		if slices.Contains(b.schemas.types(property), "array") {
			part += "[]"
			if inner := names(b.schemas.merged(property.Member("items")), 6); inner != "" && size+len(part)+len(inner) < most*2/3 {
				part += " " + inner
			}
		}
		if size += len(part) + len(", "); size > most-len(", …") {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// names lists the first properties of a schema in braces.
func names(n *protocol.Node, most int) string {
	var parts []string
	for _, m := range membersOf(n.Member("properties")) {
		if len(parts) == most {
			parts = append(parts, "…")
			break
		}
		if usableKey(m.Key) && len(m.Key) <= 60 {
			parts = append(parts, m.Key)
		}
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
