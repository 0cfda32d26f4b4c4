package protocol

import (
	"strconv"
	"strings"
)

// Kind is the JSON type of a node.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the JSON name of the kind.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// A Node is one value in a document together with its place in the text. JSON and YAML are both
// read into this tree, so each rule is written once and every finding has a place.
type Node struct {
	Kind Kind
	// Text is the decoded string of a String, and the literal as written of a Number or Bool, so
	// that no precision is lost.
	Text string
	// Key is the member name of a node inside an object, "" elsewhere.
	Key string
	// Pointer is the RFC 6901 pointer from the root.
	Pointer string
	// Line and Column are the place where the value begins, from 1, Column in characters. KeyLine
	// and KeyColumn are the place where its member name begins.
	Line, Column       int
	KeyLine, KeyColumn int
	// Offset and End are the byte offsets of the value in the text, KeyOffset and KeyEnd those of
	// its member name, quotes included. All are 0 if the reader does not know them.
	Offset, End       int
	KeyOffset, KeyEnd int
	// Items holds the elements of an Array or the members of an Object in the
	// order of the text. Member names are unique: a reader refuses duplicates.
	Items []*Node
}

// Member returns the object's member of that name, or nil. The comparison is case-sensitive. A nil
// or non-object node has no members.
func (n *Node) Member(name string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for _, m := range n.Items {
		if m.Key == name {
			return m
		}
	}
	return nil
}

// Str returns the text of a String node, and "" for nil or any other kind.
func (n *Node) Str() string {
	if n == nil || n.Kind != String {
		return ""
	}
	return n.Text
}

// Strs returns the texts of the String elements of an Array node, in order;
// elements of other kinds are left out.
func (n *Node) Strs() []string {
	if n == nil || n.Kind != Array {
		return nil
	}
	var out []string
	for _, item := range n.Items {
		if item.Kind == String {
			out = append(out, item.Text)
		}
	}
	return out
}

// True reports whether the node is the boolean true.
func (n *Node) True() bool { return n != nil && n.Kind == Bool && n.Text == "true" }

// MemberPointer returns the pointer of the member with that name in the object at parent.
func MemberPointer(parent, name string) string {
	return parent + "/" + pointerEscaper.Replace(name)
}

// ItemPointer returns the pointer of the i-th element of the array at parent.
func ItemPointer(parent string, i int) string { return parent + "/" + strconv.Itoa(i) }

// PointerShape returns a pointer with an asterisk in place of each number: /endpoints/*/semantic.
func PointerShape(pointer string) string {
	segments := strings.Split(pointer, "/")
	for i, s := range segments {
		if _, err := strconv.ParseUint(s, 10, 64); err == nil {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Elements returns the elements of an Array node, and nothing for nil or any
// other kind.
func (n *Node) Elements() []*Node {
	if n == nil || n.Kind != Array {
		return nil
	}
	return n.Items
}
