package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// notationToAGIS turns the brace notation of the draft's examples into a
// document. Types that the notation does not say are guessed from the names.
func notationToAGIS(text []byte, o Options) (Output, error) {
	items, err := parseNotation(text, protocol.Limits{})
	if err != nil {
		return Output{}, fmt.Errorf("read the brace notation: %w: %w", protocol.ErrUnreadable, err)
	}
	text, _ = protocol.TrimBOM(text)
	r := &notationReader{text: text, o: o}
	root, err := r.document(items)
	if err != nil {
		return Output{}, fmt.Errorf("read the brace notation: %w: %w", protocol.ErrUnreadable, err)
	}
	return finish(root, &r.notes, o)
}

// finish writes an AGIS document and makes sure that it can be read.
func finish(root *protocol.Node, n *notes, o Options) (Output, error) {
	reviews := n.reviews(root)
	out, err := writeDocument(root, reviews, o.Format)
	if err != nil {
		return Output{}, err
	}
	if _, _, err := agis.Parse(out, agis.Options{}); err != nil {
		return Output{}, fmt.Errorf("the document that comes of it cannot be used: %w", err)
	}
	return Output{Text: out, Reviews: reviews}, nil
}

// notationReader gives the entries of a parsed text their meaning.
type notationReader struct {
	text []byte
	o    Options
	notes
}

// fail says what is wrong with an entry.
func (r *notationReader) fail(offset int, format string, args ...any) error {
	line, column := protocol.Place(r.text, offset)
	return &protocol.SyntaxError{Problem: protocol.Invalid, Line: line, Column: column, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// document builds the tree. Endpoints may stand below endpoints or at the top.
func (r *notationReader) document(items []notationItem) (*protocol.Node, error) {
	root, endpoints := newObject(), newArray()
	place := func() {
		if root.Member("endpoints") == nil {
			put(root, "endpoints", endpoints)
		}
	}
	elided := false
	for _, item := range items {
		switch {
		case item.elided:
			elided = true
		case item.path != "":
			place()
			if err := r.endpoint(endpoints, item); err != nil {
				return nil, err
			}
		case item.name == "endpoints" && item.value != nil:
			place()
			for _, inner := range item.value.items {
				if inner.elided {
					elided = true
					continue
				}
				if inner.path == "" {
					return nil, r.fail(inner.offset, "endpoints holds something else than METHOD /path { … }")
				}
				if err := r.endpoint(endpoints, inner); err != nil {
					return nil, err
				}
			}
		default:
			if err := r.member(root, item); err != nil {
				return nil, err
			}
		}
	}
	if elided {
		r.add(nil, `the notation left parts out with "..."`)
	}
	if len(endpoints.Items) == 0 {
		return nil, r.fail(0, "the text holds no endpoint of the form METHOD /path { … }")
	}
	r.header(root, endpoints)
	return root, nil
}

// header adds what a document must have and the text did not.
func (r *notationReader) header(root, endpoints *protocol.Node) {
	var added []*protocol.Node
	add := func(name string, n *protocol.Node, message string) {
		if root.Member(name) == nil {
			n.Key = name
			added = append(added, n)
			r.add(n, message)
		}
	}
	add("agis", strNode("1.0"), "the notation names no version of AGIS; 1.0 is the only one")
	service := r.o.Name
	if service == "" {
		service = "Unnamed service"
	}
	add("service", strNode(service), "the notation names no service")
	add("agtp", strNode(agtpAddress(r.o.URL)), "the notation names no AGTP address")
	root.Items = append(added, root.Items...)
	if n := root.Member("agis"); n.Kind == protocol.Number {
		n.Kind = protocol.String // agis: 1.0 without quotes
	}
	vocabulary := root.Member("vocabulary")
	if vocabulary == nil {
		vocabulary = put(root, "vocabulary", newObject())
	}
	if isKind(vocabulary, protocol.Object) && vocabulary.Member("declared_verbs") == nil {
		var verbs []string
		for _, e := range endpoints.Items {
			if verb := strings.ToUpper(e.Member("method").Text); !slices.Contains(verbs, verb) {
				verbs = append(verbs, verb)
			}
		}
		r.add(put(vocabulary, "declared_verbs", strList(verbs...)), "the notation declares no verbs; these are those of the endpoints")
	}
}

// agtpAddress guesses the AGTP address of a service from its URL.
func agtpAddress(url string) string {
	host := urlHost(url)
	if host == "" {
		host = "service.example.com"
	}
	return "agtp://" + host
}

// urlHost returns the host of an address, or of a text that is a host; "" for
// anything else.
func urlHost(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	if !hostForm.MatchString(host) {
		return ""
	}
	return strings.ToLower(host)
}

var hostForm = regexp.MustCompile(`\A[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?\z`)

// member adds one entry to an object.
func (r *notationReader) member(object *protocol.Node, item notationItem) error {
	switch {
	case item.elided:
		return nil
	case item.path != "":
		return r.fail(item.offset, "an endpoint stands inside a block that is none of endpoints")
	case item.name == "" && !item.quoted:
		return r.fail(item.offset, "a list or a block stands here without a name")
	case item.value == nil:
		return r.fail(item.offset, "%s has no value; write a colon behind it and what it is", protocol.Quote(item.name))
	case object.Member(item.name) != nil:
		return r.fail(item.offset, "%s stands twice in one block", protocol.Quote(item.name))
	}
	n, err := r.value(item.value)
	if err != nil {
		return err
	}
	put(object, item.name, n)
	return nil
}

// value turns a value into what it means outside of contracts.
func (r *notationReader) value(v *notationValue) (*protocol.Node, error) {
	switch v.kind {
	case notationText:
		return scalarNode(v.text, v.quoted), nil
	case notationList:
		return r.list(v.items)
	case notationBlock:
		if names, ok := bareNames(v.items); ok {
			return strList(names...), nil
		}
		object := newObject()
		for _, item := range v.items {
			if err := r.member(object, item); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return &protocol.Node{Kind: protocol.Null}, nil
}

// list turns the elements of a list into an array.
func (r *notationReader) list(items []notationItem) (*protocol.Node, error) {
	array := newArray()
	for _, item := range items {
		switch {
		case item.elided:
		case item.path != "":
			return nil, r.fail(item.offset, "an endpoint stands in a list")
		case item.value != nil && item.name != "":
			object := newObject()
			if err := r.member(object, item); err != nil {
				return nil, err
			}
			array.Items = append(array.Items, object)
		case item.value != nil:
			n, err := r.value(item.value)
			if err != nil {
				return nil, err
			}
			array.Items = append(array.Items, n)
		default:
			array.Items = append(array.Items, scalarNode(withNote(item), item.quoted))
		}
	}
	return array, nil
}

func withNote(item notationItem) string {
	if item.note == "" {
		return item.name
	}
	return item.name + " (" + item.note + ")"
}

// bareNames returns the names of a block that holds nothing but names.
func bareNames(items []notationItem) ([]string, bool) {
	var names []string
	for _, item := range items {
		if item.elided {
			continue
		}
		if item.value != nil || item.path != "" {
			return nil, false
		}
		names = append(names, withNote(item))
	}
	return names, len(names) > 0
}

var notationNumber = regexp.MustCompile(`\A-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?\z`)

// scalarNode reads a text without quotes as YAML and JSON would.
func scalarNode(text string, quoted bool) *protocol.Node {
	switch {
	case quoted:
		return strNode(text)
	case text == "true" || text == "false":
		return boolNode(text == "true")
	case text == "null" || text == "~":
		return &protocol.Node{Kind: protocol.Null}
	case notationNumber.MatchString(text):
		return numNode(text)
	}
	return strNode(text)
}

// endpoint appends one endpoint.
func (r *notationReader) endpoint(endpoints *protocol.Node, item notationItem) error {
	e := newObject()
	put(e, "method", strNode(item.name))
	put(e, "path", strNode(item.path))
	blocks := map[string]notationItem{}
	elided := false
	if item.value != nil {
		for _, inner := range item.value.items {
			if inner.elided {
				elided = true
				continue
			}
			if _, twice := blocks[inner.name]; twice || inner.name == "method" || inner.name == "path" {
				return r.fail(inner.offset, "%s stands twice in one endpoint", protocol.Quote(inner.name))
			}
			if inner.path != "" || inner.name == "" {
				return r.fail(inner.offset, "an endpoint holds named blocks such as semantic { … }")
			}
			blocks[inner.name] = inner
		}
	}
	why := "the notation has none"
	if elided {
		why = `the notation left it out with "..."`
	}
	c := contract{notationReader: r, method: item.name, path: item.path, why: why}
	for _, b := range []struct {
		name  string
		build func(notationItem, bool) (*protocol.Node, error)
	}{{"semantic", c.semantic}, {"input", c.input}, {"output", c.output}, {"errors", c.errors}} {
		inner, ok := blocks[b.name]
		n, err := b.build(inner, ok)
		if err != nil {
			return err
		}
		put(e, b.name, n)
	}
	if item.value != nil {
		for _, inner := range item.value.items { // what else there is, in its order
			if inner.elided || e.Member(inner.name) != nil {
				continue
			}
			if err := r.member(e, inner); err != nil {
				return err
			}
		}
	}
	endpoints.Items = append(endpoints.Items, e)
	return nil
}
