package tree

import (
	"strconv"

	"gazetteer/protocol"
)

// String returns a string.
func String(s string) *protocol.Node { return &protocol.Node{Kind: protocol.String, Text: s} }

// Number returns a number from its literal.
func Number(literal string) *protocol.Node {
	return &protocol.Node{Kind: protocol.Number, Text: literal}
}

// Bool returns true or false.
func Bool(b bool) *protocol.Node {
	return &protocol.Node{Kind: protocol.Bool, Text: strconv.FormatBool(b)}
}

// Strings returns an array of strings.
func Strings(texts ...string) *protocol.Node {
	n := Array()
	for _, s := range texts {
		n.Items = append(n.Items, String(s))
	}
	return n
}

// Array returns an array of the nodes.
func Array(items ...*protocol.Node) *protocol.Node {
	return &protocol.Node{Kind: protocol.Array, Items: items}
}

// Object returns an object with these members: names alternate with values, which are strings, bools
// or nodes. [Put] adds others.
func Object(members ...any) *protocol.Node {
	n := &protocol.Node{Kind: protocol.Object}
	for i := 0; i+1 < len(members); i += 2 {
		switch name := members[i].(string); v := members[i+1].(type) {
		case string:
			Put(n, name, String(v))
		case bool:
			Put(n, name, Bool(v))
		default:
			Put(n, name, v.(*protocol.Node))
		}
	}
	return n
}

// Put appends a member to an object and returns the member. The name must be
// new to the object.
func Put(object *protocol.Node, name string, value *protocol.Node) *protocol.Node {
	value.Key = name
	object.Items = append(object.Items, value)
	return value
}

// Clone copies a value and everything below it. The copy has no key and no place.
func Clone(n *protocol.Node) *protocol.Node {
	out := &protocol.Node{Kind: n.Kind, Text: n.Text}
	for _, item := range n.Items {
		c := Clone(item)
		c.Key = item.Key
		out.Items = append(out.Items, c)
	}
	return out
}

// IsKind reports whether n is present and of the kind.
func IsKind(n *protocol.Node, k protocol.Kind) bool { return n != nil && n.Kind == k }

// Members returns the members of an object, and none for any other node.
func Members(n *protocol.Node) []*protocol.Node {
	if !IsKind(n, protocol.Object) {
		return nil
	}
	return n.Items
}
