package convert

import (
	"slices"
	"strconv"

	"gazetteer/protocol"
)

// The functions below build trees. A node belongs to one place of one tree:
// what is to stand in two places is copied with dup.

// strNode returns a string.
func strNode(s string) *protocol.Node { return &protocol.Node{Kind: protocol.String, Text: s} }

// numNode returns a number from its literal.
func numNode(literal string) *protocol.Node {
	return &protocol.Node{Kind: protocol.Number, Text: literal}
}

// boolNode returns true or false.
func boolNode(b bool) *protocol.Node {
	return &protocol.Node{Kind: protocol.Bool, Text: strconv.FormatBool(b)}
}

// strList returns an array of strings.
func strList(texts ...string) *protocol.Node {
	n := newArray()
	for _, s := range texts {
		n.Items = append(n.Items, strNode(s))
	}
	return n
}

// newArray returns an array of the nodes.
func newArray(items ...*protocol.Node) *protocol.Node {
	return &protocol.Node{Kind: protocol.Array, Items: items}
}

// newObject returns an object without members; fill it with put.
func newObject() *protocol.Node { return &protocol.Node{Kind: protocol.Object} }

// put appends a member to an object and returns the member. The name must be
// new to the object.
func put(object *protocol.Node, name string, value *protocol.Node) *protocol.Node {
	value.Key = name
	object.Items = append(object.Items, value)
	return value
}

// dup copies a value with all below it. The copy has no key and no place.
func dup(n *protocol.Node) *protocol.Node {
	out := &protocol.Node{Kind: n.Kind, Text: n.Text}
	for _, item := range n.Items {
		c := dup(item)
		c.Key = item.Key
		out.Items = append(out.Items, c)
	}
	return out
}

// isKind reports whether n is there and of the kind.
func isKind(n *protocol.Node, k protocol.Kind) bool { return n != nil && n.Kind == k }

// membersOf returns the members of an object, and nothing for any other node.
func membersOf(n *protocol.Node) []*protocol.Node {
	if !isKind(n, protocol.Object) {
		return nil
	}
	return n.Items
}

// notes collects reviews while a tree is being built, when its nodes have no
// pointers yet.
type notes struct{ list []note }

type note struct {
	at      *protocol.Node // nil: the document as a whole
	message string
}

// add asks for a review of a node.
func (n *notes) add(at *protocol.Node, message string) {
	n.list = append(n.list, note{at, message})
}

// reviews gives the nodes below root their pointers and returns what was noted
// about them, in the order of the document. A note about a node that did not
// get into the tree is left out.
func (n *notes) reviews(root *protocol.Node) []Review {
	order := map[*protocol.Node]int{nil: 0}
	setPointers(root, "", order)
	type placed struct {
		Review
		order int
	}
	var found []placed
	for _, note := range n.list {
		if at, ok := order[note.at]; ok {
			r := Review{Message: note.message}
			if note.at != nil {
				r.Pointer = note.at.Pointer
			}
			found = append(found, placed{r, at})
		}
	}
	slices.SortStableFunc(found, func(a, b placed) int { return a.order - b.order })
	out := make([]Review, len(found))
	for i, p := range found {
		out[i] = p.Review
	}
	return out
}

// setPointers numbers the nodes in the order of the text.
func setPointers(n *protocol.Node, pointer string, order map[*protocol.Node]int) {
	n.Pointer = pointer
	order[n] = len(order)
	for i, item := range n.Items {
		if n.Kind == protocol.Object {
			setPointers(item, protocol.MemberPointer(pointer, item.Key), order)
		} else {
			setPointers(item, protocol.ItemPointer(pointer, i), order)
		}
	}
}
