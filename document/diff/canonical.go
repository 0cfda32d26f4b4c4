package diff

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gazetteer/document/diff/meaning"
	"gazetteer/protocol"
)

// canonicalText returns the same text for all values with the same meaning: members sorted by name,
// numbers as fractions, white space collapsed. It omits the members named without from the object
// itself.
func canonicalText(n *protocol.Node, without ...string) string {
	var b strings.Builder
	writeCanonical(&b, n, without)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *protocol.Node, without []string) {
	if n == nil {
		return
	}
	switch n.Kind {
	case protocol.Object:
		members := make([]*protocol.Node, 0, len(n.Items))
		for _, m := range n.Items {
			if m.Kind != protocol.Null && !slices.Contains(without, m.Key) {
				members = append(members, m)
			}
		}
		slices.SortFunc(members, func(x, y *protocol.Node) int { return strings.Compare(x.Key, y.Key) })
		b.WriteByte('{')
		for _, m := range members {
			b.WriteString(strconv.Quote(m.Key))
			b.WriteByte(':')
			writeCanonical(b, m, nil)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case protocol.Array:
		b.WriteByte('[')
		for _, item := range n.Items {
			writeCanonical(b, item, nil)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	default:
		b.WriteString(strconv.Quote(scalarText(n)))
	}
}

// maxExponent bounds the powers of ten that are worked out: a number beyond them stays as written.
const maxExponent = 64

// parseNumber returns the value of a number literal, nil if it has none or one too large to work
// with.
func parseNumber(literal string) *big.Rat {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		e, err := strconv.Atoi(literal[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	if strings.ContainsAny(literal, "/_xXoObBpP") || len(literal) > maxExponent {
		return nil
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		return nil
	}
	return r
}

// scalarText returns a scalar in a form that does not depend on how it was spelt.
func scalarText(n *protocol.Node) string {
	if n.Kind == protocol.Number {
		if r := parseNumber(n.Text); r != nil {
			return r.RatString()
		}
	}
	return meaning.NormalizeSpace(n.Text)
}

// equalValues reports whether two values mean the same. One of them may be nil.
func equalValues(a, b *protocol.Node) bool {
	a, b = nilIfNull(a), nilIfNull(b)
	if a == nil || b == nil {
		return a == b
	}
	if isScalar(a) && isScalar(b) {
		return scalarText(a) == scalarText(b) || a.Text == b.Text || a.Kind != b.Kind && equalNumbers(a, b)
	}
	return equalTrees(a, b)
}

// equalTrees reports whether the canonical texts of two values are equal, without writing them.
func equalTrees(a, b *protocol.Node) bool {
	switch {
	case isScalar(a) && isScalar(b):
		return a.Kind == b.Kind && a.Text == b.Text || scalarText(a) == scalarText(b)
	case a.Kind != b.Kind:
		return false
	case a.Kind == protocol.Object:
		return equalObjects(a, b)
	}
	return slices.EqualFunc(a.Items, b.Items, equalTrees)
}

func equalObjects(a, b *protocol.Node) bool {
	sameOrder := slices.EqualFunc(a.Items, b.Items, func(x, y *protocol.Node) bool { return x.Key == y.Key })
	if sameOrder {
		return slices.EqualFunc(a.Items, b.Items, equalTrees)
	}
	other := indexMembers(b)
	for _, x := range a.Items {
		y := other[x.Key]
		delete(other, x.Key)
		if x, y = nilIfNull(x), nilIfNull(y); x == nil && y == nil {
			continue
		}
		if x == nil || y == nil || !equalTrees(x, y) {
			return false
		}
	}
	for _, y := range other {
		if nilIfNull(y) != nil {
			return false
		}
	}
	return true
}

// equalNumbers reports whether two values are one number, of which one is written as a string.
func equalNumbers(a, b *protocol.Node) bool {
	x, y := numberOf(a), numberOf(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

func isScalar(n *protocol.Node) bool {
	return n != nil && n.Kind != protocol.Object && n.Kind != protocol.Array
}

// shownLength is the number of characters of a value that a change shows.
const shownLength = 300

// clipValue cuts a text that is too long to be shown.
func clipValue(s string) string {
	runes := 0
	for i := range s {
		if runes == shownLength {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// showNode returns a value as people read it: a text without quotes, anything else as JSON.
func showNode(n *protocol.Node) string {
	if isScalar(n) {
		return n.Text
	}
	return string(protocol.WriteJSON(n, ""))
}
