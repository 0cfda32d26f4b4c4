package conversion

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// References resolves the $ref members of one document. References that lead out of the document
// are never followed.
type References struct {
	root       *protocol.Node
	targets    map[string]*protocol.Node
	unresolved map[string]bool
}

// NewReferences returns the resolver for the document with that root.
func NewReferences(root *protocol.Node) *References {
	return &References{root: root, targets: map[string]*protocol.Node{}, unresolved: map[string]bool{}}
}

// Unresolved lists, in order, the references that Resolve could not find in the document.
func (r *References) Unresolved() []string { return slices.Sorted(maps.Keys(r.unresolved)) }

// maxChain is how many references in a row are followed before they count as a cycle.
const maxChain = 8

// Resolve returns the node itself, or the target of its $ref. It returns nil if the reference leads
// nowhere, out of the document, or in a cycle.
func (r *References) Resolve(n *protocol.Node) *protocol.Node {
	for range maxChain {
		ref := n.Member("$ref")
		if ref.Str() == "" {
			return n
		}
		if n = r.findTarget(ref.Text); n == nil {
			return nil
		}
	}
	return nil
}

// findTarget returns the target of a reference, nil when there is none in the document.
func (r *References) findTarget(ref string) *protocol.Node {
	n, known := r.targets[ref]
	if !known {
		n = r.followPointer(ref)
		r.targets[ref] = n
		r.unresolved[ref] = n == nil
		if n != nil {
			delete(r.unresolved, ref)
		}
	}
	return n
}

// followPointer follows a reference of the form #/a/b, whose tokens may be percent-encoded.
func (r *References) followPointer(ref string) *protocol.Node {
	fragment, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	n := r.root
	for token := range strings.SplitSeq(fragment, "/") {
		if unescaped, err := url.PathUnescape(token); err == nil {
			token = unescaped
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case tree.IsKind(n, protocol.Object):
			n = n.Member(token)
		case tree.IsKind(n, protocol.Array):
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

// OutlineSchema returns a schema with only the type of another one.
func (r *References) OutlineSchema(n *protocol.Node) *protocol.Node {
	out := tree.Object()
	if names := TypesOf(r.MergeAllOf(n)); names != nil {
		tree.Put(out, "type", TypeNode(names))
	}
	return out
}

// jsonTypes are the types of JSON Schema.
var jsonTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// TypesOf returns the types that a schema allows, nil if it does not say. A schema with properties
// counts as an object, one with items as an array.
func TypesOf(n *protocol.Node) []string {
	t := n.Member("type")
	var names []string
	for _, name := range append(t.Strs(), t.Str()) {
		if name == "file" { // OpenAPI 2 wrote uploads like this
			name = "string"
		}
		if slices.Contains(jsonTypes, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		switch {
		case tree.IsKind(n.Member("properties"), protocol.Object):
			names = []string{"object"}
		case n.Member("items") != nil:
			names = []string{"array"}
		}
	}
	if names != nil && n.Member("nullable").True() && !slices.Contains(names, "null") {
		names = append(names, "null")
	}
	return names
}

// TypeNode returns the value of the keyword type.
func TypeNode(names []string) *protocol.Node {
	if len(names) == 1 {
		return tree.String(names[0])
	}
	return tree.Strings(names...)
}

// maxParts is how many schemas of one allOf are merged.
const maxParts = 64

// MergeAllOf merges the parts of an allOf, as far as they are plain objects, so that their
// properties can be seen at once. A schema without allOf is returned as it is, with its reference
// resolved. It returns nil for a reference that cannot be resolved.
func (r *References) MergeAllOf(n *protocol.Node) *protocol.Node {
	n = r.Resolve(n)
	if !tree.IsKind(n.Member("allOf"), protocol.Array) {
		return n
	}
	out := tree.Object()
	properties := tree.Object()
	seen := map[string]bool{}
	var required []string
	parts := 0
	var collect func(n *protocol.Node, depth int)
	collect = func(n *protocol.Node, depth int) {
		n = r.Resolve(n)
		parts++
		if n == nil || parts > maxParts || depth > maxChain {
			return
		}
		for _, part := range n.Member("allOf").Elements() {
			collect(part, depth+1)
		}
		for _, m := range tree.Members(n.Member("properties")) {
			if !seen[m.Key] {
				seen[m.Key] = true
				properties.Items = append(properties.Items, m)
			}
		}
		required = append(required, n.Member("required").Strs()...)
		if t := TypesOf(n); t != nil && out.Member("type") == nil {
			tree.Put(out, "type", TypeNode(t))
		}
	}
	collect(n, 0)
	if len(properties.Items) > 0 {
		tree.Put(out, "properties", properties)
	}
	tree.Put(out, "required", tree.Strings(required...))
	return out
}
