package agis

import (
	"net/url"
	"strconv"
	"strings"

	"gazetteer/protocol"
)

// maxRefs is the longest chain of references that is followed; a longer one counts as a cycle.
const maxRefs = 8

// references is the index of the schemas of one document, by the ways in which $ref can name them.
// It does not change after it is built.
type references struct {
	root    *protocol.Node
	anchors map[string]*protocol.Node
	// ids holds the values with a $id, by the $id as written and by the full address that it makes
	// with those around it.
	ids map[string]*protocol.Node
	// targets holds the result of each $ref pointer from the root, so that many references cost no
	// more than one.
	targets map[string]*protocol.Node
	// wide holds the members of objects with many, by name.
	wide map[*protocol.Node]map[string]*protocol.Node
}

// wideFrom is the number of members from which such a table saves time.
const wideFrom = 32

func newReferences(root *protocol.Node) references {
	r := references{root: root, anchors: map[string]*protocol.Node{}, ids: map[string]*protocol.Node{}, targets: map[string]*protocol.Node{}, wide: map[*protocol.Node]map[string]*protocol.Node{}}
	r.collect(root, "")
	return r
}

// hasAny reports whether the document has references at all.
func (r *references) hasAny() bool { return len(r.targets)+len(r.ids)+len(r.anchors) > 0 }

// collect visits the tree once. base is the $id around n.
func (r *references) collect(n *protocol.Node, base string) {
	if n.Kind == protocol.Object {
		if len(n.Items) >= wideFrom {
			names := make(map[string]*protocol.Node, len(n.Items))
			for _, m := range n.Items {
				names[m.Key] = m
			}
			r.wide[n] = names
		}
		for _, m := range n.Items {
			if m.Kind != protocol.String || !strings.HasPrefix(m.Key, "$") {
				continue
			}
			switch m.Key {
			case "$anchor", "$dynamicAnchor":
				if r.anchors[m.Text] == nil {
					r.anchors[m.Text] = n
				}
			case "$id":
				base = r.noteID(n, m.Text, base)
			case "$ref", "$dynamicRef":
				r.findTarget(m.Text)
			}
		}
	}
	for _, item := range n.Items {
		r.collect(item, base)
	}
}

// noteID records the $id of n and returns its full address.
func (r *references) noteID(n *protocol.Node, id, base string) string {
	id, _, _ = strings.Cut(id, "#")
	if id == "" {
		return base
	}
	whole := resolveAddress(base, id)
	for _, name := range []string{id, whole} {
		if r.ids[name] == nil {
			r.ids[name] = n
		}
	}
	return whole
}

// resolveAddress resolves an address against a base (RFC 3986 §5). A text that is not an address is
// returned unchanged.
func resolveAddress(base, address string) string {
	b, err := url.Parse(base)
	if err != nil || base == "" {
		return address
	}
	u, err := b.Parse(address)
	if err != nil {
		return address
	}
	return u.String()
}

// findTarget returns the node to which the pointer of a reference leads from the root.
func (r *references) findTarget(ref string) {
	pointer, ok := cutFragment(ref)
	if !ok || pointer != "" && pointer[0] != '/' {
		return
	}
	if _, known := r.targets[pointer]; !known {
		r.targets[pointer] = r.followPointer(r.root, pointer)
	}
}

// cutFragment returns the text after the # of a reference within the document.
func cutFragment(ref string) (string, bool) {
	f, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return "", false
	}
	f, err := url.PathUnescape(f)
	return f, err == nil
}

// resolveReference returns the target of a reference, nil if it leads nowhere. It never fetches
// other documents.
func (r *references) resolveReference(ref string, s scope) *protocol.Node {
	id, _, _ := strings.Cut(ref, "#")
	inside, ok := cutFragment(ref[len(id):])
	if id == ref {
		inside, ok = "", true
	}
	if !ok {
		return nil
	}
	resource := s.resource
	if id != "" {
		if resource = r.ids[resolveAddress(s.base, id)]; resource == nil {
			resource = r.ids[id]
		}
		if resource == nil {
			return nil
		}
	}
	if inside != "" && inside[0] != '/' {
		return r.anchors[inside]
	}
	if resource != nil {
		if n := r.followPointer(resource, inside); n != nil || id != "" {
			return n
		}
	}
	if n := r.followPointer(s.block, inside); n != nil {
		return n
	}
	return r.targets[inside]
}

// followPointer returns the node at a JSON Pointer, nil if there is none.
func (r *references) followPointer(tree *protocol.Node, pointer string) *protocol.Node {
	if pointer == "" || tree == nil {
		return tree
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch tree.Kind {
		case protocol.Object:
			tree = r.findMember(tree, token)
		case protocol.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(tree.Items) {
				return nil
			}
			tree = tree.Items[i]
		default:
			return nil
		}
		if tree == nil {
			return nil
		}
	}
	return tree
}

// findMember is [protocol.Node.Member] for objects that may have thousands.
func (r *references) findMember(n *protocol.Node, name string) *protocol.Node {
	if names, ok := r.wide[n]; ok {
		return names[name]
	}
	return n.Member(name)
}

// A scope is the context of a schema: the places that its references are relative to. The draft
// does not define it, so the block (the input, the output or the shared schema) is tried before the
// document; a schema with a $id takes precedence over both.
type scope struct {
	block    *protocol.Node
	resource *protocol.Node // the innermost schema around with a $id, or nil
	base     string         // its whole address
}

// Resolve follows the $ref of a schema within the document. The draft does not say what a reference
// is relative to, so the block that contains it is tried before the document. A schema without $ref
// is returned unchanged; nil means that the reference leads nowhere.
func (d *Document) Resolve(schema, block *protocol.Node) *protocol.Node {
	for range maxRefs {
		ref := schema.Member("$ref")
		if ref.Str() == "" {
			return schema
		}
		if schema = d.refs.resolveReference(ref.Text, scope{block: block}); schema == nil {
			return nil
		}
	}
	return nil
}
