package conversion

import (
	"slices"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// Notes collects reviews while a tree is built and its nodes have no pointers yet. The zero value
// is ready to use.
type Notes struct{ list []note }

type note struct {
	at      *protocol.Node // nil: the document as a whole
	message string
}

// Add asks for a review of a node; nil means the whole document.
func (n *Notes) Add(at *protocol.Node, message string) {
	n.list = append(n.list, note{at, message})
}

// Put adds a text to an object; in place of an empty one, a guess that asks for a review.
func (n *Notes) Put(object *protocol.Node, name, text, guess, why string) {
	if text != "" {
		tree.Put(object, name, tree.String(text))
		return
	}
	n.Add(tree.Put(object, name, tree.String(guess)), why)
}

// Reviews sets the pointers of all nodes below root and returns the reviews in the order of the
// document. A note about a node outside the tree is dropped.
func (n *Notes) Reviews(root *protocol.Node) []Review {
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

// setPointers sets the pointer of each node and records its position in the text.
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
