package jcs

import (
	"iter"
	"strconv"
)

// Canonicalize returns the canonical form of a JSON text. The error is an
// [*Error].
func Canonicalize(text []byte, o Options) ([]byte, error) {
	var d Document
	if err := d.Parse(text, o); err != nil {
		return nil, err
	}
	return d.Root().Append(make([]byte, 0, len(text))), nil
}

// A Value is one value of a [Document]. The zero Value means a missing member: its kind is
// [Absent], and its methods return empty values.
type Value struct {
	d  *Document
	at uint32
}

func (v Value) node() *node { return &v.d.nodes[v.at] }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.d == nil {
		return Absent
	}
	return v.node().kind
}

// Len returns the number of members of an object or elements of an array.
func (v Value) Len() int {
	if v.d == nil {
		return 0
	}
	return int(v.node().count)
}

// Text returns the text of a string in the form that [Options] require, and "" for other values.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return string(v.d.stringBytes(v.node()))
}

// Uint64 returns a number that is an integer from 0 to 2^64-1, and false for
// every other value.
func (v Value) Uint64() (uint64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseUint(string(v.numberText()), 10, 64)
	return n, err == nil
}

// numberText returns the digits of a number as they are written.
func (v Value) numberText() []byte {
	n := v.node()
	if n.flags&inSide != 0 {
		return v.d.side[n.start:n.end]
	}
	return v.d.text[n.start:n.end]
}

// Source returns the bytes of an object, array or literal in the text. It returns nil for a string
// or a number that was rewritten.
func (v Value) Source() []byte {
	if v.d == nil || v.node().flags&inSide != 0 {
		return nil
	}
	n := v.node()
	return v.d.text[n.start:n.end]
}

// Member returns the member of an object, and the zero Value if there is none.
func (v Value) Member(name string) Value {
	if v.Kind() == Object {
		for _, at := range v.nameNodes() {
			if string(v.d.stringBytes(&v.d.nodes[at])) == name {
				return Value{v.d, at + 1}
			}
		}
	}
	return Value{}
}

func (v Value) nameNodes() []uint32 {
	n := v.node()
	return v.d.order[n.first : n.first+n.count]
}

// Members returns the members of an object in canonical order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for _, at := range v.nameNodes() {
			if !yield(string(v.d.stringBytes(&v.d.nodes[at])), Value{v.d, at + 1}) {
				return
			}
		}
	}
}

// Elements returns the elements of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		at := v.at + 1
		for range v.node().count {
			if !yield(Value{v.d, at}) {
				return
			}
			at = v.d.nodes[at].next
		}
	}
}

// Append appends the canonical form of the value.
func (v Value) Append(out []byte) []byte {
	if v.d == nil {
		return out
	}
	return v.d.appendValue(out, v.at)
}

// AppendWith appends the canonical form of an object with one member set to a value in canonical
// form; the member is replaced or added. A nil value removes the member. Values other than objects
// are written as by [Value.Append].
func (v Value) AppendWith(out []byte, name string, value []byte) []byte {
	if v.Kind() != Object {
		return v.Append(out)
	}
	out = append(out, '{')
	begin, due := len(out), value != nil
	for _, at := range v.nameNodes() {
		order := compareUTF16(v.d.stringBytes(&v.d.nodes[at]), []byte(name))
		if due && order >= 0 {
			out, due = appendSet(out, begin, name, value), false
		}
		if order != 0 {
			out = v.d.appendMember(out, begin, at)
		}
	}
	if due {
		out = appendSet(out, begin, name, value)
	}
	return append(out, '}')
}

func appendSet(out []byte, begin int, name string, value []byte) []byte {
	if len(out) > begin {
		out = append(out, ',')
	}
	return append(append(AppendString(out, name), ':'), value...)
}

func (d *Document) appendValue(out []byte, at uint32) []byte {
	n := &d.nodes[at]
	if n.flags&canonical != 0 {
		return append(out, d.text[n.start:n.end]...)
	}
	switch n.kind {
	case Object:
		out = append(out, '{')
		begin := len(out)
		for _, name := range d.order[n.first : n.first+n.count] {
			out = d.appendMember(out, begin, name)
		}
		return append(out, '}')
	case Array:
		out = append(out, '[')
		item := at + 1
		for i := range n.count {
			if i > 0 {
				out = append(out, ',')
			}
			out = d.appendValue(out, item)
			item = d.nodes[item].next
		}
		return append(out, ']')
	case String:
		return appendQuoted(out, d.stringBytes(n))
	}
	return append(out, Value{d, at}.numberText()...)
}

// appendMember appends a member, with a comma unless out ends at begin.
func (d *Document) appendMember(out []byte, begin int, name uint32) []byte {
	if len(out) > begin {
		out = append(out, ',')
	}
	out = d.appendValue(out, name)
	out = append(out, ':')
	return d.appendValue(out, name+1)
}

// AppendString appends a text as a canonical JSON string (RFC 8785 §3.2.2.2).
// The text must be UTF-8; it keeps its normalization form.
func AppendString(out []byte, text string) []byte { return appendQuoted(out, []byte(text)) }

func appendQuoted(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	plain := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(out, text[plain:]...), '"')
}
