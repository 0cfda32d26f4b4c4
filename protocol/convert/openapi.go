package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// openAPILimits are those of a description that somebody converts. Published
// ones reach some 10 MB; a depth of 128 is beyond all of them.
var openAPILimits = protocol.Limits{Bytes: 16 << 20, Depth: 128, Members: 20000, Number: 400}

// maxOperations is how many operations of one description are looked at.
const maxOperations = 20000

// An openAPI is a description of version 3 that has been read.
type openAPI struct {
	root *protocol.Node
	// v30 is set for 3.0, whose schemas are a dialect of their own; from 3.1
	// on they are those of JSON Schema 2020-12.
	v30         bool
	title       string
	description string
	version     string
	operations  []*operation
	// leftOut says what was in the text and is in no operation.
	leftOut []string
	refs    map[string]*protocol.Node
	// common holds optional parameters that nearly all operations have, by
	// place and name: they concern the transport more than what is asked for.
	common map[string]bool
	// shared holds the operationIds that several operations have.
	shared map[string]bool
	// dangling counts references that lead nowhere or out of the document.
	dangling map[string]bool
}

// An operation is one HTTP method of one path.
type operation struct {
	node        *protocol.Node
	path        string
	method      string // in lower case
	id          string
	action      string // the id without the name of the service in front
	summary     string // one line, without markup; of the description when there is none
	description string // one line, without markup
	tags        []string
	deprecated  bool
	parameters  []parameter
	body        *protocol.Node // requestBody, resolved
	responses   []response
	servers     *protocol.Node // of the operation or its path; nil when the document's hold
}

// A parameter of an operation, resolved.
type parameter struct {
	name, in    string
	required    bool
	schema      *protocol.Node // nil when there is none
	description string
}

// A response of an operation, resolved.
type response struct {
	status string // "200", "4XX", "default"
	node   *protocol.Node
}

// readOpenAPI reads a description in JSON or YAML.
func readOpenAPI(text []byte) (*openAPI, error) {
	root, err := readStranger(text)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI description: %w: %w", protocol.ErrUnreadable, err)
	}
	return newOpenAPI(root)
}

// newOpenAPI makes sense of the tree of a description.
func newOpenAPI(root *protocol.Node) (*openAPI, error) {
	version := root.Member("openapi")
	if v := root.Member("swagger"); version == nil && v != nil {
		version = v
		if version2(root) {
			root = upgrade(root)
			version = root.Member("openapi")
		}
	}
	if version == nil || !isKind(root, protocol.Object) {
		return nil, fmt.Errorf("read OpenAPI description: %w: %s", protocol.ErrOtherFormat, whatItIs(root, "openapi"))
	}
	if !openAPIVersion.MatchString(version.Text) {
		return nil, fmt.Errorf("read OpenAPI description: %w: the member %s is %s; versions 2.0, 3.0, 3.1 and 3.2 can be converted",
			protocol.ErrOtherFormat, version.Key, protocol.Quote(version.Text))
	}
	info := root.Member("info")
	a := &openAPI{
		root: root, v30: strings.HasPrefix(version.Text, "3.0"),
		title:       honest(plain(info.Member("title").Str())),
		description: honest(plain(info.Member("description").Str())),
		refs:        map[string]*protocol.Node{}, dangling: map[string]bool{},
	}
	if v := info.Member("version"); isKind(v, protocol.String) || isKind(v, protocol.Number) {
		a.version = cutWords(oneLine(v.Text), 40)
	}
	if s := honest(plain(info.Member("summary").Str())); a.description == "" {
		a.description = s
	}
	if err := a.readPaths(); err != nil {
		return nil, err
	}
	return a, nil
}

var openAPIVersion = regexp.MustCompile(`\A3\.[0-2](?:\.|\z)`)

// readStranger reads JSON, or YAML where the text is none.
func readStranger(text []byte) (*protocol.Node, error) {
	if err := protocol.CheckText(text, openAPILimits); len(text) > openAPILimits.Bytes {
		return nil, err
	}
	text, _ = protocol.TrimBOM(text)
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		root, err := protocol.ReadJSON(text, openAPILimits)
		syntax, ok := errors.AsType[*protocol.SyntaxError](err)
		if !ok || syntax.Problem != protocol.Invalid {
			return root, err
		}
		if root, yamlErr := readYAMLKeys(text); yamlErr == nil {
			return root, nil
		}
		return nil, err
	}
	return readYAMLKeys(text)
}

// readYAMLKeys reads YAML in which keys may look like numbers, as the status
// codes of OpenAPI do that nobody quoted (200:). Our reader wants keys to be
// strings, so those are put in quotes first.
func readYAMLKeys(text []byte) (*protocol.Node, error) {
	root, err := agis.ReadYAML(text, openAPILimits)
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok || syntax.Problem != protocol.Unsafe {
		return root, err
	}
	if quoted := quoteKeys(text); len(quoted) > len(text) {
		return agis.ReadYAML(quoted, openAPILimits)
	}
	return nil, err
}

var (
	// plainKey matches a key that YAML reads as another scalar than a string.
	plainKey    = regexp.MustCompile(`\A(?:[-+]?[0-9][0-9.eE+_]*|true|false|null|~)[ ]*:(?:[ \r\t\n]|\z)`)
	blockScalar = regexp.MustCompile(`(?:^|[:\-] +)(?:!!str +)?[|>][-+0-9]*[ \t]*(?:#.*)?\r?$`)
)

// quoteKeys puts keys that are numbers or other plain scalars in quotes, but
// leaves the text of block scalars, of quoted scalars and of comments alone.
func quoteKeys(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text) + len(text)/32)
	inside := -1 // indentation of the key whose block scalar goes on
	quote := byte(0)
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		bare := bytes.TrimRight(line, "\r\n")
		content := bytes.TrimLeft(bare, " ")
		indent := len(bare) - len(content)
		if quote == 0 && inside >= 0 && (len(content) == 0 || indent > inside) {
			out.Write(line)
			continue
		}
		inside = -1
		quote = quoteLine(&out, line, quote)
		if quote == 0 && blockScalar.Match(bare) {
			inside = indent
		}
	}
	return out.Bytes()
}

// quoteLine writes one line with its plain keys quoted. quote is the mark of a
// quoted scalar that the line begins in, 0 for none; the one it ends in is
// returned.
func quoteLine(out *bytes.Buffer, line []byte, quote byte) byte {
	fresh := true // a value or a key may begin here
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\' && i+1 < len(line):
			out.WriteByte(c)
			i++
			c = line[i]
		case quote != 0:
			if c == quote {
				quote = 0 // two of ' in a row end one scalar and begin the next
			}
			fresh = false
		case c == ' ' || c == '\t':
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			out.Write(line[i:])
			return 0
		case (c == '"' || c == '\'') && (fresh || line[i-1] == c):
			quote = c
		case fresh && plainKey.Match(line[i:]):
			end := i + bytes.IndexByte(line[i:], ':')
			key := bytes.TrimRight(line[i:end], " ")
			out.WriteByte('\'')
			out.Write(key)
			out.WriteByte('\'')
			i += len(key) - 1
			fresh = false
			continue
		default:
			next := byte(' ')
			if i+1 < len(line) {
				next = line[i+1]
			}
			spaced := next == ' ' || next == '\t' || next == '\r' || next == '\n'
			fresh = c == '{' || c == '[' || c == ',' || (c == ':' || c == '?') && spaced || c == '-' && spaced && fresh
		}
		out.WriteByte(c)
	}
	return quote
}

// maxChain is how many references in a row are followed before they count as a
// circle.
const maxChain = 8

// follow returns what a node stands for: itself, or what its $ref leads to. It
// is nil when a reference leads nowhere, out of the document, or in a circle.
func (a *openAPI) follow(n *protocol.Node) *protocol.Node {
	for range maxChain {
		ref := n.Member("$ref")
		if ref.Str() == "" {
			return n
		}
		if n = a.lookup(ref.Text); n == nil {
			return nil
		}
	}
	return nil
}

// lookup returns what a reference names. Only this document is looked at.
func (a *openAPI) lookup(ref string) *protocol.Node {
	n, known := a.refs[ref]
	if !known {
		n = a.find(ref)
		a.refs[ref] = n
		if n == nil {
			a.dangling[ref] = true
		}
	}
	return n
}

func (a *openAPI) find(ref string) *protocol.Node {
	fragment, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	n := a.root
	for token := range strings.SplitSeq(fragment, "/") {
		if unescaped, err := url.PathUnescape(token); err == nil {
			token = unescaped
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case isKind(n, protocol.Object):
			n = n.Member(token)
		case isKind(n, protocol.Array):
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
		default:
			return nil
		}
	}
	return n
}

// httpMethods are the members of a path item that are operations, in the order
// of the specification.
var httpMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// maxPath is the longest path that is looked at, in bytes.
const maxPath = 2000

func (a *openAPI) readPaths() error {
	paths := a.root.Member("paths")
	var skipped []string
	callbacks, beyond := 0, 0
	for _, item := range membersOf(paths) {
		if strings.HasPrefix(item.Key, "x-") {
			continue
		}
		if len(item.Key) > maxPath {
			a.leftOut = append(a.leftOut, "the path "+protocol.Quote(item.Key)+" is left out: it is too long")
			continue
		}
		path := a.follow(item)
		if !isKind(path, protocol.Object) {
			a.leftOut = append(a.leftOut, "the path "+protocol.Quote(item.Key)+" is left out: it leads nowhere in this document")
			continue
		}
		for _, method := range httpMethods {
			n := path.Member(method)
			if !isKind(n, protocol.Object) {
				continue
			}
			if method == "options" || method == "head" || method == "trace" {
				skipped = append(skipped, strings.ToUpper(method)+" "+item.Key)
				continue
			}
			if len(a.operations) == maxOperations {
				beyond++
				continue
			}
			callbacks += len(membersOf(n.Member("callbacks")))
			a.operations = append(a.operations, a.operation(item.Key, method, path, n))
		}
	}
	if len(skipped) > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d operations with HEAD, OPTIONS or TRACE are left out: %s", len(skipped), someOf(skipped)))
	}
	if beyond > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d operations are not looked at: only the first %d are", beyond, maxOperations))
	}
	if callbacks > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d callbacks are left out: the service calls them, not the agent", callbacks))
	}
	if n := len(membersOf(a.root.Member("webhooks"))); n > 0 {
		a.leftOut = append(a.leftOut, fmt.Sprintf("%d webhooks are left out: the service calls them, not the agent", n))
	}
	if len(a.operations) == 0 {
		return fmt.Errorf("read OpenAPI description: %w: %s", protocol.ErrUnreadable, noOperations(a.root, paths))
	}
	a.dropCommonWord()
	a.findCommon()
	return nil
}

// findCommon notes what many operations have alike.
func (a *openAPI) findCommon() {
	const few = 20
	a.common, a.shared = map[string]bool{}, map[string]bool{}
	count, ids := map[string]int{}, map[string]int{}
	for _, op := range a.operations {
		if ids[op.id]++; op.id != "" && ids[op.id] > 1 {
			a.shared[op.id] = true
		}
		for _, p := range op.parameters {
			if !p.required && p.in != "path" {
				count[p.in+" "+p.name]++
			}
		}
	}
	for key, n := range count {
		if len(a.operations) >= few && n*10 >= len(a.operations)*9 {
			a.common[key] = true
		}
	}
}

// remarks says what of a description is in no operation.
func (a *openAPI) remarks() []string {
	out := slices.Clone(a.leftOut)
	if servers := a.root.Member("servers").Elements(); len(servers) > 1 {
		out = append(out, fmt.Sprintf("the description names %d servers; the first is taken: %s", len(servers), protocol.Quote(serverURL(a.root.Member("servers")))))
	} else if len(servers) == 1 && len(membersOf(servers[0].Member("variables"))) > 0 {
		out = append(out, "the address of the server has variables; their defaults are taken: "+protocol.Quote(serverURL(a.root.Member("servers"))))
	}
	if len(a.dangling) > 0 {
		refs := sortedKeys(a.dangling)
		out = append(out, fmt.Sprintf("%d references lead nowhere in the description or out of it, and are not followed; put what they lead to into the description: %s",
			len(refs), someOf(refs)))
	}
	return out
}

// byUse orders operations by what a caller misses least: those that are
// deprecated last, then those that nobody described, then the ones deep in a
// path, which are details of what stands above them.
func (a *openAPI) byUse() []int {
	order := make([]int, len(a.operations))
	depth := make([]int, len(a.operations))
	for i, op := range a.operations {
		order[i] = i
		for _, part := range pathParts(op.path) {
			if !part.prefix {
				depth[i]++
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := a.operations[i], a.operations[j]
		return cmp.Or(boolInt(x.deprecated)-boolInt(y.deprecated), boolInt(x.summary == "")-boolInt(y.summary == ""), depth[i]-depth[j])
	})
	return order
}

// outline names many operations by what they are about: "/disks (12), /images (7)".
func outline(operations []*operation) string {
	count := map[string]int{}
	var groups []string
	for _, op := range operations {
		group := "/"
		for _, part := range pathParts(op.path) {
			if !part.prefix && part.words != nil {
				group += strings.Join(part.words, "-")
				break
			}
		}
		if len(op.tags) > 0 {
			group = cutWords(oneLine(op.tags[0]), 40)
		}
		if count[group]++; count[group] == 1 {
			groups = append(groups, group)
		}
	}
	slices.SortStableFunc(groups, func(x, y string) int { return count[y] - count[x] })
	const most = 10
	more := ""
	if len(groups) > most {
		more = fmt.Sprintf(" and %d more kinds", len(groups)-most)
		groups = groups[:most]
	}
	for i, g := range groups {
		groups[i] = fmt.Sprintf("%s (%d)", g, count[g])
	}
	return strings.Join(groups, ", ") + more
}

// dropCommonWord takes the first word from the operationIds when nearly all
// begin with it: it is the name of the service then, not what is done
// (compute_instances_list, compute_disks_insert).
func (a *openAPI) dropCommonWord() {
	const few = 4
	first := map[string]int{}
	named := 0
	for _, op := range a.operations {
		if words := identifierWords(op.id); len(words) > 2 {
			first[words[0]]++
		}
		if op.id != "" {
			named++
		}
	}
	for word, n := range first {
		if named < few || n*10 < named*9 || httpWords[word] != nil || actions[word] {
			continue
		}
		for _, op := range a.operations {
			if words := identifierWords(op.id); len(words) > 2 && words[0] == word {
				op.action = strings.TrimLeft(op.id[min(len(word), len(op.id)):], "_.-/: ")
			}
		}
	}
}

// noOperations says why a description has nothing to convert.
func noOperations(root, paths *protocol.Node) string {
	switch {
	case paths == nil && root.Member("webhooks") != nil:
		return "it describes only webhooks, which the service calls, and no paths"
	case paths == nil:
		return "it has no paths"
	case !isKind(paths, protocol.Object):
		return "paths is " + kindPhrase(paths) + ", not an object"
	default:
		return "its paths have no operation with GET, PUT, POST, DELETE or PATCH"
	}
}

// someOf lists the first of many texts for a message.
func someOf(texts []string) string {
	const most = 4
	more := ""
	if len(texts) > most {
		more = fmt.Sprintf(" and %d more", len(texts)-most)
		texts = texts[:most]
	}
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = protocol.Quote(t)
	}
	return strings.Join(quoted, ", ") + more
}

func (a *openAPI) operation(path, method string, item, n *protocol.Node) *operation {
	o := &operation{
		node: n, path: path, method: method,
		id:          n.Member("operationId").Str(),
		summary:     plain(n.Member("summary").Str()),
		description: plain(n.Member("description").Str()),
		tags:        n.Member("tags").Strs(),
		deprecated:  n.Member("deprecated").True(),
		body:        a.follow(n.Member("requestBody")),
		servers:     n.Member("servers"),
	}
	o.action = o.id
	if o.servers == nil {
		o.servers = item.Member("servers")
	}
	if o.summary == "" {
		o.summary = o.description
	}
	if o.summary == "" {
		o.summary = plain(item.Member("summary").Str())
	}
	o.parameters = a.parameters(item.Member("parameters"), n.Member("parameters"))
	for _, m := range membersOf(n.Member("responses")) {
		if r := a.follow(m); isKind(r, protocol.Object) && !strings.HasPrefix(m.Key, "x-") {
			o.responses = append(o.responses, response{strings.ToUpper(m.Key), r})
		}
	}
	return o
}

// maxParameters is how many parameters of one operation are taken.
const maxParameters = 200

// parameters merges those of a path with those of an operation, which replace
// the former of the same name and place.
func (a *openAPI) parameters(lists ...*protocol.Node) []parameter {
	var out []parameter
	at := map[string]int{}
	for _, list := range lists {
		for _, item := range list.Elements() {
			n := a.follow(item)
			p := parameter{
				name: n.Member("name").Str(), in: n.Member("in").Str(),
				required: n.Member("required").True(), schema: n.Member("schema"),
				description: plain(n.Member("description").Str()),
			}
			if p.name == "" || p.in == "" || len(p.name) > 100 || len(out) == maxParameters {
				continue
			}
			if p.in == "path" {
				p.required = true
			}
			if content := membersOf(n.Member("content")); p.schema == nil && len(content) > 0 {
				p.schema = content[0].Member("schema")
			}
			key := p.in + " " + p.name
			if i, known := at[key]; known {
				out[i] = p
				continue
			}
			at[key] = len(out)
			out = append(out, p)
		}
	}
	return out
}

// bodySchema returns the schema of the request body, the media type it is of,
// and whether a body must be sent. JSON is preferred, then forms, then whatever
// comes first.
func (a *openAPI) bodySchema(o *operation) (schema *protocol.Node, media string, required bool) {
	m := preferred(o.body.Member("content"))
	if m == nil {
		return nil, "", false
	}
	return m.Member("schema"), m.Key, o.body.Member("required").True()
}

// preferred picks the media type of a content map that is most like JSON.
func preferred(content *protocol.Node) *protocol.Node {
	var best *protocol.Node
	rank := 0
	for _, m := range membersOf(content) {
		r := 1
		media, _, _ := strings.Cut(strings.ToLower(m.Key), ";")
		switch media = strings.TrimSpace(media); {
		case media == "application/json":
			r = 5
		case strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "/json"):
			r = 4
		case media == "*/*" || media == "application/*":
			r = 3
		case strings.Contains(media, "form"):
			r = 2
		}
		if r > rank {
			best, rank = m, r
		}
	}
	return best
}

// success returns the response that says the call was carried out: the lowest
// 2xx with a schema, else the lowest, else the default one.
func (o *operation) success() (status string, schema, node *protocol.Node) {
	var best, fallback *response
	for i := range o.responses {
		r := &o.responses[i]
		switch {
		case strings.HasPrefix(r.status, "2"):
			withSchema := preferred(r.node.Member("content")).Member("schema") != nil
			bestHas := best != nil && preferred(best.node.Member("content")).Member("schema") != nil
			if best == nil || withSchema && !bestHas || withSchema == bestHas && r.status < best.status {
				best = r
			}
		case r.status == "DEFAULT":
			fallback = r
		}
	}
	if best == nil {
		best = fallback
	}
	if best == nil {
		return "", nil, nil
	}
	return best.status, preferred(best.node.Member("content")).Member("schema"), best.node
}

// serverURL returns the address of the service that a list of servers names
// first, with its variables replaced by their defaults; "" when there is none.
func serverURL(servers *protocol.Node) string {
	if len(servers.Elements()) == 0 {
		return ""
	}
	first := servers.Items[0]
	address := first.Member("url").Str()
	for _, v := range membersOf(first.Member("variables")) {
		if len(address) > 2000 {
			return ""
		}
		if d := v.Member("default"); d != nil && len(d.Text) <= 200 {
			address = strings.ReplaceAll(address, "{"+v.Key+"}", d.Text)
		}
	}
	return strings.TrimSpace(address)
}
