package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// ToAGIS converts an OpenAPI description to an AGIS document, by the informative mapping in
// appendix B of the draft. Each guess is a review. It fails for a text that is not an OpenAPI
// description and for one without operations.
func ToAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	a, err := readOpenAPI(text)
	if err != nil {
		return conversion.Output{}, err
	}
	return newAGISBuilder(a, o).buildDocument()
}

func newAGISBuilder(a *description, o conversion.Options) *agisBuilder {
	b := &agisBuilder{api: a, options: o, levels: make([]conversion.Simplification, len(a.operations))}
	b.orderOperations()
	return b
}

// An agisBuilder writes a document in rounds: with less detail until it is small enough, and with
// simpler endpoints where the reader of the format reports findings.
type agisBuilder struct {
	api        *description
	options    conversion.Options
	detail     detail
	levels     []conversion.Simplification // for each operation
	chosen     []int                       // indexes of operations, best first
	maxWritten int                         // how many of chosen are written
	// rewordReview, if set, changes the text of each review; foreword becomes the first review.
	rewordReview func(string) string
	foreword     string
	// keepPrefix keeps segments such as /v2 at the beginning of paths, which are part of the address.
	keepPrefix bool

	notes   *conversion.Notes
	schemas *schemaWriter
	taken   wording.PathSet
	written []int // the index of the operation of each endpoint
}

// orderOperations sets the order in which operations are kept.
func (b *agisBuilder) orderOperations() {
	b.chosen = b.api.orderByUse()
	b.maxWritten = min(len(b.chosen), conversion.MaxEndpoints)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// buildDocument writes the document until it is small enough and accepted.
func (b *agisBuilder) buildDocument() (conversion.Output, error) {
	const rounds = 64 // far more than needed: each round lowers a detail, a count or a level
	for range rounds {
		root := b.writeTree()
		if len(b.written) == 0 {
			return conversion.Output{}, fmt.Errorf("convert OpenAPI to AGIS: no operation of the description can be expressed in AGIS")
		}
		if b.detail < notedOnce && (b.schemas.isOverLimit() || b.tooLong(root)) {
			b.detail++ // reviews would only make it longer
			continue
		}
		reviews := b.collectReviews(root)
		text, err := conversion.WriteDocument(root, reviews, b.options.Format)
		if err != nil {
			return conversion.Output{}, fmt.Errorf("convert OpenAPI to AGIS: %w", err)
		}
		if b.schemas.isOverLimit() || len(text) > protocol.DefaultLimits.Bytes {
			b.reduceDetail(len(text))
			continue
		}
		_, findings, err := agis.Parse(text, agis.Options{})
		if b.simplifyRejected(findings) {
			continue
		}
		if worst, _ := protocol.Worst(findings); err != nil || worst == protocol.Error {
			return conversion.Output{}, fmt.Errorf("convert OpenAPI to AGIS: the resulting document is invalid: %s", conversion.DescribeFirstError(findings, err))
		}
		return conversion.Output{Text: text, Reviews: reviews}, nil
	}
	return conversion.Output{}, fmt.Errorf("convert OpenAPI to AGIS: the description cannot be brought below %d bytes", protocol.DefaultLimits.Bytes)
}

// tooLong reports whether a document exceeds the size limit even without comments.
func (b *agisBuilder) tooLong(root *protocol.Node) bool {
	text, err := conversion.WriteDocument(root, nil, b.options.Format)
	return err == nil && len(text) > protocol.DefaultLimits.Bytes
}

// collectReviews returns the reviews of the tree, with their pointers.
func (b *agisBuilder) collectReviews(root *protocol.Node) []conversion.Review {
	var out []conversion.Review
	if b.foreword != "" {
		out = append(out, conversion.Review{Message: b.foreword})
	}
	for _, r := range b.notes.Reviews(root) {
		if b.rewordReview != nil {
			r.Message = b.rewordReview(r.Message)
		}
		out = append(out, r)
	}
	return out
}

// reduceDetail lowers the detail, or the number of endpoints at the lowest detail.
func (b *agisBuilder) reduceDetail(size int) {
	if b.detail < notedOnce {
		b.detail++
		return
	}
	fit := int(float64(len(b.written)) * 0.97 * float64(protocol.DefaultLimits.Bytes) / float64(size))
	b.maxWritten = max(1, min(fit, b.maxWritten-1))
}

// simplifyRejected simplifies the endpoints that have findings and reports whether any changed.
func (b *agisBuilder) simplifyRejected(findings []protocol.Finding) bool {
	changed := map[int]conversion.Simplification{}
	for _, f := range findings {
		i, ok := conversion.IndexIn("/endpoints/", f)
		if !ok || i >= len(b.written) {
			continue
		}
		op := b.written[i]
		switch {
		case f.Severity == protocol.Error && b.levels[op] < conversion.LeftOut:
			changed[op] = b.levels[op] + 1
		case slices.Contains(conversion.IntentCodes, f.Code) && b.levels[op] < conversion.PlainVerb && changed[op] == 0:
			changed[op] = b.levels[op] + 1
		}
	}
	for op, c := range changed {
		b.levels[op] = c
	}
	return len(changed) > 0
}

// writeTree writes the whole document.
func (b *agisBuilder) writeTree() *protocol.Node {
	b.notes = &conversion.Notes{}
	b.schemas = newSchemaWriter(b.api, b.detail, b.notes)
	b.taken = wording.PathSet{}
	b.written = nil

	root := tree.Object("agis", "1.0")
	name, guessed := b.serviceName()
	if service := tree.Put(root, "service", tree.String(name)); guessed {
		b.notes.Add(service, "the description has no title; name the service")
	}
	b.addAddress(root, name)
	b.addDescription(root, name)
	vocabulary := tree.Put(root, "vocabulary", tree.Object())
	list := tree.Array()
	verbs := map[string]bool{}
	kept := slices.Clone(b.chosen[:b.maxWritten])
	slices.Sort(kept)
	var without []string
	for _, i := range kept {
		op := b.api.operations[i]
		if b.levels[i] == conversion.LeftOut {
			without = append(without, strings.ToUpper(op.method)+" "+op.path)
			continue
		}
		endpoint := b.buildEndpoint(op, b.levels[i])
		verbs[endpoint.Member("method").Text] = true
		list.Items = append(list.Items, endpoint)
		b.written = append(b.written, i)
	}
	b.fillVocabulary(vocabulary, verbs, name)
	tree.Put(root, "endpoints", list)
	if schemas := b.schemas.writeCollected(); schemas != nil {
		tree.Put(root, "schemas", schemas)
	}
	b.noteOmissions(without)
	return root
}

// noteEachEndpoint adds a review that every endpoint has. At the lowest detail one review of the
// document replaces them all.
func (b *agisBuilder) noteEachEndpoint(at *protocol.Node, message string) {
	if b.detail < notedOnce {
		b.notes.Add(at, message)
	}
}

// listAddresses lists the addresses of OAuth of the schemes, in parentheses; "" if there are none.
func (b *agisBuilder) listAddresses(schemes []*protocol.Node) string {
	for _, scheme := range schemes {
		if addresses := oauthAddresses(b.api.refs.Resolve(scheme)); addresses != "" {
			return " (OAuth: " + addresses + ")"
		}
	}
	return ""
}

// noteOmissions adds the reviews of the document as a whole.
func (b *agisBuilder) noteOmissions(without []string) {
	for _, message := range b.api.listOmissions() {
		b.notes.Add(nil, message)
	}
	if names := tree.Members(b.api.schemes); len(names) > 0 {
		b.notes.Add(nil, "how callers authenticate is left out: AGIS has no member for it, AGTP settles it"+b.listAddresses(names))
	} else {
		b.notes.Add(nil, "the description does not say how callers authenticate, and AGIS has no member for it: AGTP settles it")
	}
	if len(without) > 0 {
		b.notes.Add(nil, fmt.Sprintf("%d operations are omitted because they cannot be expressed in AGIS: %s", len(without), someOf(without)))
	}
	if out := slices.Sorted(slices.Values(b.chosen[b.maxWritten:])); len(out) > 0 {
		operations := make([]*operation, len(out))
		for i, n := range out {
			operations[i] = b.api.operations[n]
		}
		b.notes.Add(nil, fmt.Sprintf("%d of %d operations are omitted to keep the document below %d endpoints and %d bytes: deprecated ones first, then those without a text, then those "+
			"deepest in a path; describe them in a separate document: %s", len(out), len(b.chosen), conversion.MaxEndpoints, protocol.DefaultLimits.Bytes, summarizeOperations(operations)))
	}
	switch b.detail {
	case noTexts:
		b.notes.Add(nil, "the texts inside schemas are omitted to keep the document small")
	case shallow:
		b.notes.Add(nil, "schemas are cut below their second level to keep the document small")
	case namesAndTypes, notedOnce:
		b.notes.Add(nil, "schemas are cut to the names and types of parameters to keep the document small")
	}
	if names := slices.DeleteFunc(slices.Sorted(maps.Keys(b.api.common)), func(key string) bool {
		return b.detail < namesAndTypes && !strings.HasPrefix(key, "header ")
	}); len(names) > 0 {
		b.notes.Add(nil, "optional parameters that nearly all operations have are left out: "+someOf(names))
	}
	if b.detail == notedOnce {
		b.notes.Add(nil, "of every endpoint these are guessed: the method (from operationId, path, summary or HTTP method), the path, the outcome (a general sentence), "+
			"capability, confidence_guidance and impact_tier (from the verb), is_idempotent (from the HTTP method), and the names of errors (from the HTTP status)")
	}
}

// serviceName returns the name of the service.
func (b *agisBuilder) serviceName() (name string, guessed bool) {
	if name := wording.Shorten(wording.OneLine(b.options.Name), 100); name != "" {
		return name, false
	}
	if b.api.title != "" {
		return wording.Shorten(b.api.title, 100), false
	}
	if host := conversion.HostOf(b.options.URL, serverURL(b.api.servers)); host != "" {
		return host, true
	}
	return "Service", true
}

func (b *agisBuilder) addAddress(root *protocol.Node, name string) {
	host := conversion.HostOf(b.options.URL, serverURL(b.api.servers))
	why := "from the address of the service; AGTP may be served elsewhere"
	if base, err := url.Parse(serverURL(b.api.servers)); err == nil && b.options.URL == "" && strings.Trim(base.Path, "/") != "" {
		why += "; its path " + protocol.Quote(wording.Shorten(base.Path, 100)) + " is left out, and belongs to the calls over HTTP"
	}
	if host == "" {
		host, why = strings.ReplaceAll(conversion.NamespaceOf(name), "_", "-")+".example", "no address is known; write the host of the service"
	}
	b.notes.Add(tree.Put(root, "agtp", tree.String("agtp://"+host)), why)
}

// addDescription adds description and version.
func (b *agisBuilder) addDescription(root *protocol.Node, name string) {
	b.notes.Put(root, "description", wording.Shorten(b.api.description, 300), "Operations of "+name, "the description has none; say in a sentence what the service is for")
	b.notes.Put(root, "version", b.api.version, "1.0.0", "the description has no version")
}

func (b *agisBuilder) fillVocabulary(n *protocol.Node, verbs map[string]bool, name string) {
	tree.Put(n, "declared_verbs", tree.Strings(slices.Sorted(maps.Keys(verbs))...))
	var tags []string
	for _, i := range b.written {
		if t := b.api.operations[i].tags; len(t) > 0 { // appendix B: tags[0]
			tags = append(tags, t[0])
		}
	}
	domain := strings.Join(conversion.TrimServiceWords(wording.IdentifierWords(wording.DropInstruction(wording.StripMarkup(wording.MostFrequent(tags))))), " ")
	why := "the most frequent tag of the operations; name the field of business"
	if domain == "" {
		domain, why = strings.ReplaceAll(conversion.NamespaceOf(name), "-", " "), "from the name of the service; name the field of business"
	}
	b.notes.Add(tree.Put(n, "domain", tree.String(wording.Shorten(domain, 60))), why)
	b.notes.Add(tree.Put(n, "namespace", tree.String(conversion.NamespaceOf(name))), "from the name of the service; it qualifies the verbs in headers")
}
