package notation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

// ToAGIS converts the brace notation of the draft's examples to an AGIS document. Types that the
// notation does not state are guessed from field names, with a review each. The error has the line
// and column of the problem.
func ToAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	items, err := parseNotation(text, protocol.Limits{})
	if err != nil {
		return conversion.Output{}, fmt.Errorf("read the brace notation: %w: %w", protocol.ErrUnreadable, err)
	}
	text, _ = protocol.TrimBOM(text)
	r := &treeBuilder{text: text, o: o}
	root, err := r.buildDocument(items)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("read the brace notation: %w: %w", protocol.ErrUnreadable, err)
	}
	return conversion.WriteAGIS(root, &r.Notes, o)
}

// A treeBuilder builds the document tree from parsed entries.
type treeBuilder struct {
	text []byte
	o    conversion.Options
	conversion.Notes
}

// errorAt returns an error about an entry.
func (r *treeBuilder) errorAt(offset int, format string, args ...any) error {
	line, column := protocol.Place(r.text, offset)
	return &protocol.SyntaxError{Problem: protocol.Invalid, Line: line, Column: column, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// buildDocument builds the tree. Endpoints may be below "endpoints" or at the top level.
func (r *treeBuilder) buildDocument(items []entry) (*protocol.Node, error) {
	root, endpoints := tree.Object(), tree.Array()
	place := func() {
		if root.Member("endpoints") == nil {
			tree.Put(root, "endpoints", endpoints)
		}
	}
	elided := false
	for _, item := range items {
		switch {
		case item.omitted:
			elided = true
		case item.path != "":
			place()
			if err := r.addEndpoint(endpoints, item); err != nil {
				return nil, err
			}
		case item.name == "endpoints" && item.value != nil:
			place()
			for _, inner := range item.value.items {
				if inner.omitted {
					elided = true
					continue
				}
				if inner.path == "" {
					return nil, r.errorAt(inner.offset, "endpoints contains something other than METHOD /path { … }")
				}
				if err := r.addEndpoint(endpoints, inner); err != nil {
					return nil, err
				}
			}
		default:
			if err := r.addMember(root, item); err != nil {
				return nil, err
			}
		}
	}
	if elided {
		r.Add(nil, `the notation left parts out with "..."`)
	}
	if len(endpoints.Items) == 0 {
		return nil, r.errorAt(0, "the text has no endpoint of the form METHOD /path { … }")
	}
	r.addHeader(root, endpoints)
	return root, nil
}

// addHeader adds required members that the text lacks.
func (r *treeBuilder) addHeader(root, endpoints *protocol.Node) {
	var added []*protocol.Node
	add := func(name string, n *protocol.Node, message string) {
		if root.Member(name) == nil {
			n.Key = name
			added = append(added, n)
			r.Add(n, message)
		}
	}
	add("agis", tree.String("1.0"), "the notation names no version of AGIS; 1.0 is the only one")
	add("service", tree.String(cmp.Or(r.o.Name, "Unnamed service")), "the notation names no service")
	add("agtp", tree.String(agtpAddress(r.o.URL)), "the notation names no AGTP address")
	root.Items = append(added, root.Items...)
	if n := root.Member("agis"); n.Kind == protocol.Number {
		n.Kind = protocol.String // agis: 1.0 without quotes
	}
	vocabulary := root.Member("vocabulary")
	if vocabulary == nil {
		vocabulary = tree.Put(root, "vocabulary", tree.Object())
	}
	if tree.IsKind(vocabulary, protocol.Object) && vocabulary.Member("declared_verbs") == nil {
		var verbs []string
		for _, e := range endpoints.Items {
			if verb := strings.ToUpper(e.Member("method").Text); !slices.Contains(verbs, verb) {
				verbs = append(verbs, verb)
			}
		}
		r.Add(tree.Put(vocabulary, "declared_verbs", tree.Strings(verbs...)), "the notation declares no verbs; these are those of the endpoints")
	}
}

// agtpAddress derives the AGTP address of a service from its URL.
func agtpAddress(url string) string {
	return "agtp://" + cmp.Or(urlHost(url), "service.example.com")
}

// urlHost returns the host of an address or of a text that is a host, and "" for anything else.
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

// addMember adds one entry to an object.
func (r *treeBuilder) addMember(object *protocol.Node, item entry) error {
	switch {
	case item.omitted:
		return nil
	case item.path != "":
		return r.errorAt(item.offset, "there is an endpoint inside a block that is not for endpoints")
	case item.name == "" && !item.quoted:
		return r.errorAt(item.offset, "this list or block has no name")
	case item.value == nil:
		return r.errorAt(item.offset, "%s has no value; write a colon and the value after it", protocol.Quote(item.name))
	case object.Member(item.name) != nil:
		return r.errorAt(item.offset, "%s occurs twice in one block", protocol.Quote(item.name))
	}
	n, err := r.buildValue(item.value)
	if err != nil {
		return err
	}
	tree.Put(object, item.name, n)
	return nil
}

// buildValue builds the node of a value outside of contracts.
func (r *treeBuilder) buildValue(v *entryValue) (*protocol.Node, error) {
	switch v.kind {
	case textValue:
		return scalarNode(v.text, v.quoted), nil
	case listValue:
		return r.buildList(v.items)
	case blockValue:
		if names, ok := bareNames(v.items); ok {
			return tree.Strings(names...), nil
		}
		object := tree.Object()
		for _, item := range v.items {
			if err := r.addMember(object, item); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return &protocol.Node{Kind: protocol.Null}, nil
}

// buildList builds an array from the elements of a list.
func (r *treeBuilder) buildList(items []entry) (*protocol.Node, error) {
	array := tree.Array()
	for _, item := range items {
		switch {
		case item.omitted:
		case item.path != "":
			return nil, r.errorAt(item.offset, "there is an endpoint in a list")
		case item.value != nil && item.name != "":
			object := tree.Object()
			if err := r.addMember(object, item); err != nil {
				return nil, err
			}
			array.Items = append(array.Items, object)
		case item.value != nil:
			n, err := r.buildValue(item.value)
			if err != nil {
				return nil, err
			}
			array.Items = append(array.Items, n)
		default:
			array.Items = append(array.Items, scalarNode(nameWithAnnotation(item), item.quoted))
		}
	}
	return array, nil
}

func nameWithAnnotation(item entry) string {
	if item.annotation == "" {
		return item.name
	}
	return item.name + " (" + item.annotation + ")"
}

// bareNames returns the names of a block that holds only names.
func bareNames(items []entry) ([]string, bool) {
	var names []string
	for _, item := range items {
		if item.omitted {
			continue
		}
		if item.value != nil || item.path != "" {
			return nil, false
		}
		names = append(names, nameWithAnnotation(item))
	}
	return names, len(names) > 0
}

var plainNumber = regexp.MustCompile(`\A-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?\z`)

// scalarNode reads an unquoted text as YAML and JSON do.
func scalarNode(text string, quoted bool) *protocol.Node {
	switch {
	case quoted:
		return tree.String(text)
	case text == "true" || text == "false":
		return tree.Bool(text == "true")
	case text == "null" || text == "~":
		return &protocol.Node{Kind: protocol.Null}
	case plainNumber.MatchString(text):
		return tree.Number(text)
	}
	return tree.String(text)
}

// addEndpoint appends one endpoint.
func (r *treeBuilder) addEndpoint(endpoints *protocol.Node, item entry) error {
	e := tree.Object("method", item.name, "path", item.path)
	blocks := map[string]entry{}
	elided := false
	if item.value != nil {
		for _, inner := range item.value.items {
			if inner.omitted {
				elided = true
				continue
			}
			if _, twice := blocks[inner.name]; twice || inner.name == "method" || inner.name == "path" {
				return r.errorAt(inner.offset, "%s occurs twice in one endpoint", protocol.Quote(inner.name))
			}
			if inner.path != "" || inner.name == "" {
				return r.errorAt(inner.offset, "an endpoint has named blocks such as semantic { … }")
			}
			blocks[inner.name] = inner
		}
	}
	why := "the notation has none"
	if elided {
		why = `the notation left it out with "..."`
	}
	c := contractBuilder{treeBuilder: r, method: item.name, path: item.path, why: why}
	for _, b := range []struct {
		name  string
		build func(entry, bool) (*protocol.Node, error)
	}{{"semantic", c.buildSemantic}, {"input", c.buildInput}, {"output", c.buildOutput}, {"errors", c.buildErrors}} {
		inner, ok := blocks[b.name]
		n, err := b.build(inner, ok)
		if err != nil {
			return err
		}
		tree.Put(e, b.name, n)
	}
	if item.value != nil {
		for _, inner := range item.value.items { // the other members, in their order
			if inner.omitted || e.Member(inner.name) != nil {
				continue
			}
			if err := r.addMember(e, inner); err != nil {
				return err
			}
		}
	}
	endpoints.Items = append(endpoints.Items, e)
	return nil
}
