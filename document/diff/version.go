package diff

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

// version is one text, read.
type version struct {
	kind       document.Kind // of an alias, the kind that it is an alias of
	base       *url.URL      // where relative endpoints are resolved, nil when unknown
	root       *protocol.Node
	valid      bool
	operations []*operation
	agis       *agis.Document                    // nil for other formats
	merged     map[*protocol.Node]*protocol.Node // what mergeAllOf made of a schema
}

// readVersion reads one text as far as it can be read.
func readVersion(in Input) (*version, error) {
	v := &version{kind: in.Kind}
	if f, ok := document.FormatOf(in.Kind); ok && f.AliasOf != "" {
		v.kind = f.AliasOf
	}
	if base, err := url.Parse(in.URL); err == nil && base.Host != "" {
		v.base = base
	}
	var findings []protocol.Finding
	var err error
	switch v.kind {
	case document.AI:
		findings, err = v.readAI(in)
	case document.AGIS:
		findings, err = v.readAGIS(in)
	case document.AGISSummary:
		findings, err = v.readSummary(in)
	default:
		if _, ok := document.FormatOf(in.Kind); !ok {
			return nil, &document.UnknownKindError{Kind: in.Kind}
		}
		return nil, fmt.Errorf("%w: %s has no operations to compare", ErrUnlike, describeKind(in.Kind))
	}
	if err != nil {
		return nil, err
	}
	worst, found := protocol.Worst(findings)
	v.valid = !found || worst < protocol.Error
	return v, nil
}

func (v *version) readAI(in Input) ([]protocol.Finding, error) {
	host := ""
	if v.base != nil {
		host = v.base.Host
	}
	doc, findings, err := aidiscovery.Parse(in.Bytes, aidiscovery.Options{Host: host})
	if err != nil {
		return nil, err
	}
	v.root = doc.Root
	names := counter{}
	for i, n := range v.root.Member("capabilities").Elements() {
		if n.Kind == protocol.Object {
			v.operations = append(v.operations, newCapability(n, i, names))
		}
	}
	return findings, nil
}

func (v *version) readAGIS(in Input) ([]protocol.Finding, error) {
	doc, findings, err := agis.Parse(in.Bytes, agis.Options{})
	if err != nil {
		return nil, err
	}
	v.agis, v.root = doc, doc.Root
	names := counter{}
	for _, n := range v.root.Member("endpoints").Elements() {
		if n.Kind == protocol.Object {
			v.operations = append(v.operations, newEndpoint(n, names))
		}
	}
	return findings, nil
}

func (v *version) readSummary(in Input) ([]protocol.Finding, error) {
	summary, findings, err := agis.ParseSummary(in.Bytes, agis.Options{})
	if err != nil {
		return nil, err
	}
	v.root = summary.Root
	names := counter{}
	for _, n := range v.root.Member("methods").Elements() {
		v.operations = append(v.operations, newSummaryMethod(n, names))
	}
	return findings, nil
}

// memberAt returns the value at a path of member names below the root, nil if there is none.
func (v *version) memberAt(names ...string) *protocol.Node { return memberAt(v.root, names...) }

func memberAt(n *protocol.Node, names ...string) *protocol.Node {
	for _, name := range names {
		n = n.Member(name)
	}
	return nilIfNull(n)
}

// nilIfNull returns nil for a member that is null, because null means the same as an absent member.
func nilIfNull(n *protocol.Node) *protocol.Node {
	if n != nil && n.Kind == protocol.Null {
		return nil
	}
	return n
}

// counter makes names unique: the second operation of one name is another one.
type counter map[string]int

func (c counter) nextName(name string) string {
	c[name]++
	if c[name] == 1 {
		return name
	}
	return fmt.Sprintf("%s\x00%d", name, c[name])
}

// operation is one operation of a version.
type operation struct {
	// name is the name for people, key the one for matching.
	name, key string
	node      *protocol.Node
	// verb is the AGIS method in upper case, path its path; both are empty for a capability.
	verb, path string
	// nameNodes holds the nodes of the name: the id, or method and path.
	nameNodes []*protocol.Node
	intent    *protocol.Node
	// unnamed lists the members that make up the name, for content.
	unnamed []string
}

// canonicalContent returns everything of the operation but its name, and the members named without,
// in canonical form.
func (o *operation) canonicalContent(without ...string) string {
	return canonicalText(o.node, append(without, o.unnamed...)...)
}

func newCapability(n *protocol.Node, i int, names counter) *operation {
	id := n.Member("id").Str()
	if id == "" {
		id = fmt.Sprintf("capability-%d", i+1)
	}
	return &operation{
		name: id, key: names.nextName(id), node: n,
		nameNodes: []*protocol.Node{n.Member("id")},
		intent:    nilIfNull(n.Member("description")),
		unnamed:   []string{"id"},
	}
}

func newEndpoint(n *protocol.Node, names counter) *operation {
	method, path := n.Member("method"), n.Member("path")
	o := &operation{
		node: n, verb: strings.ToUpper(strings.TrimSpace(method.Str())), path: strings.TrimSpace(path.Str()),
		nameNodes: []*protocol.Node{method, path},
		intent:    memberAt(n, "semantic", "intent"),
		unnamed:   []string{"method", "path"},
	}
	o.name = strings.TrimSpace(o.verb + " " + o.path)
	o.name = cmp.Or(o.name, "endpoint")
	o.key = names.nextName(o.name)
	return o
}

// newSummaryMethod returns the operation of a verb in a summary, which is a name or an object with
// one.
func newSummaryMethod(n *protocol.Node, names counter) *operation {
	word := n
	if n.Kind == protocol.Object {
		word = n.Member("name")
		word = cmp.Or(word, n.Member("method"))
	}
	verb := strings.ToUpper(strings.TrimSpace(word.Str()))
	return &operation{name: verb, key: names.nextName(verb), node: n, verb: verb, nameNodes: []*protocol.Node{word}, unnamed: []string{"name", "method"}}
}
