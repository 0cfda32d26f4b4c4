package aidiscovery

import (
	"cmp"
	"slices"

	"gazetteer/protocol"
)

// A Cut is one way to make a document cost fewer tokens.
type Cut struct {
	// Pointer leads to the value that the cut changes; "" is the whole text.
	Pointer string
	// Saves is how many tokens it saves, as [protocol.Tokens] counts them.
	Saves int
	// Message says what to do.
	Message string
	// Remove is set when the member goes as a whole, Text is what a string
	// becomes; "" when only a person can say.
	Remove bool
	Text   string
}

// Cuts lists what to cut from a document, most tokens saved first. Each cut is
// counted on the compact form and no two overlap, so the tokens of the text
// that was read are those of the shortened compact text plus all that is saved,
// but for rounding.
func Cuts(root *protocol.Node) []Cut {
	var cuts []Cut
	if saves := quarter(whiteSpace(root)); saves > 0 {
		cuts = append(cuts, Cut{Saves: saves, Message: "serve it without line breaks and indentation: readers are programs"})
	}
	slices.SortStableFunc(cuts, func(a, b Cut) int { return cmp.Compare(b.Saves, a.Saves) })
	return cuts
}

// quarter returns the tokens of n ASCII characters, rounded to the nearest.
func quarter(n int) int { return (n + 2) / 4 }

// whiteSpace counts the bytes of the text between the tokens of JSON. It is 0
// for a tree whose reader does not tell extents.
func whiteSpace(root *protocol.Node) int {
	if root == nil || root.End == 0 {
		return 0
	}
	return root.End - root.Offset - bare(root)
}

// bare is how many bytes a value takes with its own spelling of names, strings
// and numbers but without white space.
func bare(n *protocol.Node) int {
	if n.Kind != protocol.Array && n.Kind != protocol.Object {
		return n.End - n.Offset
	}
	size := 2 + max(0, len(n.Items)-1)
	for _, item := range n.Items {
		size += bare(item)
		if n.Kind == protocol.Object {
			size += item.KeyEnd - item.KeyOffset + 1
		}
	}
	return size
}
