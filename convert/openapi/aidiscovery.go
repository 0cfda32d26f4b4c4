package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// ToAIDiscovery converts an OpenAPI description to an AI Discovery document. Each guess is a
// review, and is listed in meta.review. It fails for a text that is not an OpenAPI description and for
// one without operations.
func ToAIDiscovery(text []byte, o conversion.Options) (conversion.Output, error) {
	a, err := readOpenAPI(text)
	if err != nil {
		return conversion.Output{}, err
	}
	b := &aiBuilder{api: a, options: o, levels: map[*operation]conversion.Simplification{}}
	b.chooseOperations()
	b.readAuth()
	return b.buildDocument()
}

// maxCapabilities is the number of capabilities that readers process (AI Discovery §6.5).
const maxCapabilities = 100

// An aiBuilder writes a document in rounds, like an [agisBuilder].
type aiBuilder struct {
	api          *description
	options      conversion.Options
	chosen       []*operation
	omitted      []*operation // over maxCapabilities
	levels       map[*operation]conversion.Simplification
	shortening   int            // how much is cut to stay below the soft size limit, from 0
	genericTexts bool           // texts about the service are generic
	scheme       *protocol.Node // nil when callers need not authenticate
	header       string         // the header of the API key

	notes   *conversion.Notes
	schemas *schemaWriter
	written []*operation
	ids     map[string]bool
}

// chooseOperations keeps as many operations as a document may have, in the order of the
// description.
func (b *aiBuilder) chooseOperations() {
	order := b.api.orderByUse()
	keep := slices.Sorted(slices.Values(order[:min(len(order), maxCapabilities)]))
	out := slices.Sorted(slices.Values(order[len(keep):]))
	for _, i := range keep {
		b.chosen = append(b.chosen, b.api.operations[i])
	}
	for _, i := range out {
		b.omitted = append(b.omitted, b.api.operations[i])
	}
}

// maxShortening is the highest value of shortening.
const maxShortening = 4

func (b *aiBuilder) buildDocument() (conversion.Output, error) {
	const rounds = 32
	for range rounds {
		root := b.writeTree()
		if len(b.written) == 0 {
			return conversion.Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: no operation of the description can become a capability")
		}
		reviews := b.notes.Reviews(root)
		b.addMeta(root, reviews)
		text := append(protocol.WriteJSON(root, "  "), '\n')
		if len(text) > aidiscovery.SoftSize && b.shortening < maxShortening {
			b.shortening++
			continue
		}
		_, findings, err := aidiscovery.Parse(text, aidiscovery.Options{})
		if b.simplifyRejected(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return conversion.Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: the resulting document is invalid: %s", conversion.DescribeFirstError(findings, err))
		}
		return conversion.Output{Text: text, Reviews: reviews}, nil
	}
	return conversion.Output{}, fmt.Errorf("convert OpenAPI to AI Discovery: the description cannot be brought below %d bytes", aidiscovery.HardSize)
}

// simplifyRejected simplifies what has findings and reports whether anything changed.
func (b *aiBuilder) simplifyRejected(findings []protocol.Finding) bool {
	changed := map[*operation]conversion.Simplification{}
	plainly := false
	for _, f := range findings {
		bad := f.Severity == protocol.Error || f.Code == "AI904" || f.Code == "AI316"
		i, ok := conversion.IndexIn("/capabilities/", f)
		switch {
		case !bad:
		case !ok:
			plainly = true
		case i < len(b.written) && b.levels[b.written[i]] < conversion.LeftOut:
			next := conversion.PlainContract // first generic texts, then omission
			if b.levels[b.written[i]] == conversion.PlainContract {
				next = conversion.LeftOut
			}
			changed[b.written[i]] = next
		}
	}
	maps.Copy(b.levels, changed)
	if plainly && !b.genericTexts {
		b.genericTexts = true
		return true
	}
	return len(changed) > 0
}

func (b *aiBuilder) writeTree() *protocol.Node {
	b.notes = &conversion.Notes{}
	b.schemas = newSchemaWriter(b.api, namesAndTypes, b.notes)
	b.written, b.ids = nil, map[string]bool{}
	root := tree.Object("aiendpoint", "1.0")
	b.addService(root)
	list := tree.Put(root, "capabilities", tree.Array())
	var without []string
	for _, op := range b.chosen {
		if b.levels[op] == conversion.LeftOut {
			without = append(without, strings.ToUpper(op.method)+" "+op.path)
			continue
		}
		b.written = append(b.written, op)
		list.Items = append(list.Items, b.buildCapability(op))
	}
	b.addAuth(root)
	for _, message := range b.api.listOmissions() {
		b.notes.Add(nil, message)
	}
	if len(b.omitted) > 0 {
		b.notes.Add(nil, fmt.Sprintf("%d of %d operations are omitted, because readers process %d capabilities: deprecated ones first, then those without a text, then those deepest in a path: %s",
			len(b.omitted), len(b.api.operations), maxCapabilities, summarizeOperations(b.omitted)))
	}
	if len(without) > 0 {
		b.notes.Add(nil, fmt.Sprintf("%d operations are omitted because they cannot be expressed in AI Discovery: %s", len(without), someOf(without)))
	}
	if b.shortening > 0 {
		b.notes.Add(nil, "texts and parameters are shortened to keep the document small")
	}
	return root
}

// maxReviews is the size limit of the reviews inside a document, in bytes.
const maxReviews = 8192

// addMeta adds the date and the reviews to meta, since JSON has no comments. Equal reviews of
// several places are listed once.
func (b *aiBuilder) addMeta(root *protocol.Node, reviews []conversion.Review) {
	meta := tree.Object()
	if !b.options.Today.IsZero() {
		tree.Put(meta, "last_updated", tree.String(b.options.Today.UTC().Format("2006-01-02")))
	}
	var messages []string
	places := map[string][]string{}
	for _, r := range reviews {
		if places[r.Message] == nil {
			messages = append(messages, r.Message)
		}
		places[r.Message] = append(places[r.Message], r.Pointer)
	}
	list := tree.Array()
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
		line = wording.Shorten(wording.OneLine(line), 300)
		if size += len(line); size > maxReviews {
			list.Items = append(list.Items, tree.String(fmt.Sprintf("%d more remarks are not listed here", len(messages)-i)))
			break
		}
		if !b.genericTexts || wording.DropInstruction(line) != "" {
			list.Items = append(list.Items, tree.String(line))
		}
	}
	if len(list.Items) > 0 && !b.genericTexts {
		tree.Put(meta, aidiscovery.ReviewMember, list)
	}
	if len(meta.Items) > 0 {
		tree.Put(root, "meta", meta)
	}
}

func (b *aiBuilder) addService(root *protocol.Node) {
	s := tree.Put(root, "service", tree.Object())
	name := wording.Shorten(wording.OneLine(b.options.Name), 100)
	if name == "" && !b.genericTexts {
		name = wording.Shorten(b.api.title, 100)
	}
	guessed := name == ""
	if guessed {
		if name = conversion.HostOf(b.options.URL, serverURL(b.api.servers)); name == "" {
			name = "Service"
		}
	}
	if n := tree.Put(s, "name", tree.String(name)); guessed {
		b.notes.Add(n, "the description has no title that can be used; name the service")
	}
	text := wording.Shorten(b.api.description, 200)
	if text == "" || b.genericTexts {
		b.notes.Add(tree.Put(s, "description", tree.String(wording.Shorten("Operations of "+name, 200))), "say in a sentence what the service is for")
	} else {
		tree.Put(s, "description", tree.String(text))
	}
	if categories := b.findCategories(); len(categories) > 0 {
		b.notes.Add(tree.Put(s, "category", tree.Strings(categories...)), "from words of the description")
	}
}

// A serverAddress is where the operations of a description are called.
type serverAddress struct {
	base    string // "https://host/prefix", "/prefix" or ""
	guessed string // why it differs from the description; "" if it does not
}

// resolveServer returns the address of the first server. On the host that publishes the document it
// is a path, elsewhere an absolute address.
func (b *aiBuilder) resolveServer(servers *protocol.Node) serverAddress {
	address := serverURL(servers)
	if address == "" || address == "/" {
		return serverAddress{}
	}
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "{}") {
		return serverAddress{guessed: "the address " + protocol.Quote(address) + " of the server cannot be used; the path is assumed to be on the host of the document"}
	}
	prefix := strings.TrimRight(u.EscapedPath(), "/")
	if u.Host == "" && u.Scheme == "" {
		if prefix != "" && prefix[0] != '/' {
			prefix = "/" + prefix
		}
		return serverAddress{base: prefix}
	}
	if u.Scheme != "https" && u.Scheme != "http" || !conversion.IsHostName(u.Hostname()) {
		return serverAddress{base: prefix, guessed: "the server " + protocol.Quote(address) + " is not a web address; the path is assumed to be on the host of the document"}
	}
	if published := conversion.HostOf(b.options.URL); strings.EqualFold(published, u.Hostname()) {
		return serverAddress{base: prefix}
	}
	if !strings.Contains(u.Hostname(), ".") {
		return serverAddress{base: prefix, guessed: "the server " + protocol.Quote(address) + " is on a private network; the path is assumed to be on the host of the document"}
	}
	base := u.Scheme + "://" + strings.ToLower(u.Host) + prefix
	if form, _ := aidiscovery.Endpoint(base + "/"); form != aidiscovery.Absolute || isPrivateAddress(base) {
		return serverAddress{base: prefix, guessed: "the server " + protocol.Quote(address) + " cannot be reached by callers; the path is assumed to be on the host of the document"}
	}
	return serverAddress{base: base}
}

// isPrivateAddress reports whether readers refuse an address as private (AI906).
func isPrivateAddress(base string) bool {
	text := `{"aiendpoint":"1.0","service":{"name":"n","description":"d"},"auth":{"type":"none"},` +
		`"capabilities":[{"id":"a","description":"d","method":"GET","endpoint":` + string(protocol.WriteJSON(tree.String(base), "")) + `}]}`
	_, findings, _ := aidiscovery.Parse([]byte(text), aidiscovery.Options{})
	return slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Severity == protocol.Error })
}

func (b *aiBuilder) buildCapability(op *operation) *protocol.Node {
	c := tree.Object()
	b.addID(c, op)
	b.addDescription(c, op)
	b.addEndpoint(c, op)
	tree.Put(c, "method", tree.String(strings.ToUpper(op.method)))
	if params := b.buildParams(op); len(params.Items) > 0 {
		tree.Put(c, "params", params)
	}
	if returns := b.describeReturns(op); returns != "" && b.levels[op] < conversion.PlainContract && b.shortening < maxShortening {
		tree.Put(c, "returns", tree.String(returns))
	}
	return c
}

// addID sets the id of a capability from its operationId, or from its method and path.
func (b *aiBuilder) addID(c *protocol.Node, op *operation) {
	const most = 64
	if name := wording.SnakeCase(op.id, most); name != "" {
		if n := tree.Put(c, "id", tree.String(wording.UniqueName(name, most, b.ids))); b.api.shared[op.id] {
			b.notes.Add(n, "several operations have the operationId "+protocol.Quote(wording.Shorten(op.id, 60))+"; do not change the id after publishing it")
		}
		return
	}
	parts := wording.SplitPath(op.path)
	var words, by []string
	for _, p := range parts {
		switch {
		case p.Words == nil:
			by = append([]string{"by"}, wording.IdentifierWords(p.Parameter)...)
		case !p.Prefix:
			words, by = append(words, p.Words...), nil
		}
	}
	verb := strings.ToLower(wording.DefaultVerb(op.method, false))
	if trailing := wording.TrailingVerb(parts, op.method); trailing != "" {
		verb = trailing
		words = words[:len(words)-1]
	}
	if op.method == "get" && verb == "retrieve" {
		verb = "get"
	}
	name := wording.JoinWords(append(append([]string{verb}, words...), by...), "_", most)
	b.notes.Add(tree.Put(c, "id", tree.String(wording.UniqueName(name, most, b.ids))), "the operation has no operationId that can be an id; do not change the id after publishing it")
}

func (b *aiBuilder) addDescription(c *protocol.Node, op *operation) {
	most := 200
	if b.shortening >= 2 {
		most = 100
	}
	text := wording.DropInstruction(wording.FirstSentence(op.summary))
	if protocol.Length(text) < 15 { // little more than a name: the description may say more
		if longer := wording.DropInstruction(wording.FirstSentence(op.description)); longer != "" {
			text = longer
		}
	}
	if text == "" || b.levels[op] >= conversion.PlainContract {
		parts := wording.SplitPath(op.path)
		var noun []string
		for _, p := range parts {
			if p.Words != nil && !p.Prefix {
				noun = wording.ASCIIWords(p.Words)
			}
		}
		text = wording.GenericIntent(wording.DefaultVerb(op.method, false), noun, false)
		b.notes.Add(tree.Put(c, "description", tree.String(wording.Shorten(text, most))), "written from the method and the path; say what the capability does")
		return
	}
	tree.Put(c, "description", tree.String(wording.Shorten(text, most)))
}

// addEndpoint sets the endpoint from server and path template.
func (b *aiBuilder) addEndpoint(c *protocol.Node, op *operation) {
	servers := op.servers
	if servers == nil {
		servers = b.api.servers
	}
	s := b.resolveServer(servers)
	path := strings.ReplaceAll(wording.OneLine(op.path), " ", "%20")
	path, _, _ = strings.Cut(path, "#")
	path = "/" + strings.TrimLeft(strings.ReplaceAll(path, `\`, "/"), "/")
	text := s.base + path
	form, _ := aidiscovery.Endpoint(text)
	if form != aidiscovery.Relative && form != aidiscovery.Absolute {
		text, s.guessed = path, "the server and the path do not form a URL; the path is assumed to be on the host of the document"
	}
	if n := tree.Put(c, "endpoint", tree.String(text)); s.guessed != "" {
		b.notes.Add(n, s.guessed)
	}
}
