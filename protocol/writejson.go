package protocol

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes a tree as JSON (RFC 8259): the same members in the same order, numbers with
// their literals as read, strings with the fewest escapes. indent is the indentation for each level
// of nesting; with indent "" the text is compact, without white space. Nothing follows the value,
// not even a line feed.
//
// A tree that was read from YAML may have number literals that JSON does not allow, such as +1 or
// .5; they are written as JSON numbers of the same value.
func WriteJSON(n *Node, indent string) []byte {
	w := jsonWriter{indent: indent}
	w.writeValue(n, 0)
	return w.out
}

type jsonWriter struct {
	out    []byte
	indent string
}

func (w *jsonWriter) writeValue(n *Node, depth int) {
	switch n.Kind {
	case Null:
		w.out = append(w.out, "null"...)
	case Bool:
		w.out = append(w.out, n.Text...)
	case Number:
		w.out = append(w.out, jsonNumber(n.Text)...)
	case String:
		w.writeString(n.Text)
	case Array:
		w.writeItems(n, '[', ']', depth)
	case Object:
		w.writeItems(n, '{', '}', depth)
	}
}

func (w *jsonWriter) writeItems(n *Node, open, end byte, depth int) {
	w.out = append(w.out, open)
	for i, item := range n.Items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.writeNewline(depth + 1)
		if n.Kind == Object {
			w.writeString(item.Key)
			w.out = append(w.out, ':')
			if w.indent != "" {
				w.out = append(w.out, ' ')
			}
		}
		w.writeValue(item, depth+1)
	}
	if len(n.Items) > 0 {
		w.writeNewline(depth)
	}
	w.out = append(w.out, end)
}

func (w *jsonWriter) writeNewline(depth int) {
	if w.indent == "" {
		return
	}
	w.out = append(w.out, '\n')
	for range depth {
		w.out = append(w.out, w.indent...)
	}
}

func (w *jsonWriter) writeString(s string) {
	// The only possible error is text that is not UTF-8; it is written with U+FFFD in place of each
	// bad byte.
	w.out, _ = jsontext.AppendQuote(w.out, s)
}

// jsonNumber writes a number of YAML's core schema as a JSON number.
func jsonNumber(literal string) string {
	sign := ""
	switch {
	case strings.HasPrefix(literal, "+"):
		literal = literal[1:]
	case strings.HasPrefix(literal, "-"):
		sign, literal = "-", literal[1:]
	}
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i:]
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	whole = cmp.Or(whole, "0")
	if point {
		fraction = cmp.Or(fraction, "0")
		whole += "." + fraction
	}
	return sign + whole + exponent
}
