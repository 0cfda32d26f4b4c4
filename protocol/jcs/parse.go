package jcs

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Options are the accepted texts and the form of the output. The zero value has the rules of A2A
// draft-1.
type Options struct {
	Numbers Numbers
	// KeepForm keeps the normalization form of string values.
	KeepForm bool
	// Bytes is the longest accepted text; 0 means DefaultBytes.
	Bytes int
	// Depth is the deepest nesting of objects and arrays; 0 means DefaultDepth.
	Depth int
	// Values is the largest number of members and elements in the whole text; 0 means no limit.
	Values int
}

// The defaults of [Options].
const (
	DefaultBytes = 256 << 20
	DefaultDepth = 512
)

// A Problem names the rule that a text breaks.
type Problem string

// The problems that [Error] reports.
const (
	Syntax    Problem = "syntax"        // not JSON (RFC 8259)
	Encoding  Problem = "utf-8"         // bytes that are not UTF-8
	Surrogate Problem = "surrogate"     // half a surrogate pair
	Duplicate Problem = "duplicate-key" // a member name twice in one object
	Float     Problem = "float"         // a number with a fraction or an exponent
	Range     Problem = "integer-range" // an integer outside [-2^63, 2^64-1]
	Depth     Problem = "depth"         // nested deeper than Options.Depth
	Size      Problem = "size"          // longer than Options.Bytes
	Count     Problem = "count"         // more members and elements than Options.Values
)

// An Error says which rule a text breaks and where. Message does not quote the
// text.
type Error struct {
	Problem Problem
	Offset  int // of the byte in the text
	Message string
}

// Error returns the message and the place.
func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Message, e.Offset) }

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of values. Absent is the kind of the zero [Value].
const (
	Absent Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// String returns the name of the kind as RFC 8259 writes it.
func (k Kind) String() string {
	return [...]string{"absent", "null", "false", "true", "number", "string", "array", "object"}[k]
}

// A Document holds one parsed JSON value. The zero Document is empty and ready for
// [Document.Parse]. Several goroutines may read it while none parses.
type Document struct {
	text  []byte
	nodes []node   // in the order of the text; a member is two nodes, name and value
	order []uint32 // the names of each object in canonical order, as places in nodes
	side  []byte   // strings whose text differs from what stands between the quotes
	names []uint32 // of the objects that are being read
	o     Options
	pos   int
	left  int // members and elements that may still come
}

// node is a value or a member name.
type node struct {
	start, end uint32 // in text, quotes included; with inSide, of the string in side
	next       uint32 // the place behind the value and all that it holds
	first      uint32 // of an object: where its names begin in order
	count      uint32 // of an object or an array: how many members or elements
	kind       Kind
	flags      uint8
}

const (
	inSide    = 1 << 0 // the string lies in side
	canonical = 1 << 1 // text[start:end] is the canonical form
)

// Parse reads exactly one JSON value. It replaces the previous content of the document and reuses
// its memory. The document refers to text, which must not change as long as the document is in use.
// The error is an [*Error]; the document is then empty.
func (d *Document) Parse(text []byte, o Options) error {
	o.Bytes = cmp.Or(o.Bytes, DefaultBytes)
	o.Depth = cmp.Or(o.Depth, DefaultDepth)
	o.Values = cmp.Or(o.Values, math.MaxInt32)
	d.text, d.o, d.pos, d.left = text, o, 0, o.Values
	d.nodes, d.order, d.side, d.names = d.nodes[:0], d.order[:0], d.side[:0], d.names[:0]
	if len(text) > min(o.Bytes, math.MaxInt32) {
		return d.fail(Size, o.Bytes, "the text is longer than allowed")
	}
	if d.nodes == nil {
		d.nodes = make([]node, 0, 16+len(text)/16)
	}
	d.skipSpace()
	if err := d.parseValue(1); err != nil {
		return err
	}
	d.skipSpace()
	if d.pos != len(text) {
		return d.fail(Syntax, d.pos, "something follows the JSON value")
	}
	return nil
}

// Root returns the value that was parsed last.
func (d *Document) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d: d}
}

// fail empties the document and returns the error.
func (d *Document) fail(p Problem, offset int, message string) error {
	d.nodes = d.nodes[:0]
	return &Error{p, offset, message}
}

// skipSpace passes over white space and reports whether there was any.
func (d *Document) skipSpace() bool {
	begin := d.pos
	for d.pos < len(d.text) && isSpace(d.text[d.pos]) {
		d.pos++
	}
	return d.pos != begin
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// parseValue reads the value that begins at pos; depth is that of an object or
// array there.
func (d *Document) parseValue(depth int) error {
	if d.pos >= len(d.text) {
		return d.fail(Syntax, d.pos, "the text ends where a value is expected")
	}
	switch c := d.text[d.pos]; {
	case c == '"':
		return d.parseString(true)
	case c == '{':
		return d.parseObject(depth)
	case c == '[':
		return d.parseArray(depth)
	case c == '-' || '0' <= c && c <= '9':
		return d.parseNumber()
	case c == 't':
		return d.parseLiteral("true", True)
	case c == 'f':
		return d.parseLiteral("false", False)
	case c == 'n':
		return d.parseLiteral("null", Null)
	}
	return d.fail(Syntax, d.pos, "a JSON value is expected")
}

func (d *Document) parseLiteral(word string, k Kind) error {
	if len(d.text)-d.pos < len(word) || string(d.text[d.pos:d.pos+len(word)]) != word {
		return d.fail(Syntax, d.pos, "a JSON value is expected")
	}
	d.addLeaf(d.pos, d.pos+len(word), k, canonical)
	d.pos += len(word)
	return nil
}

func (d *Document) addLeaf(start, end int, k Kind, flags uint8) {
	d.nodes = append(d.nodes, node{start: uint32(start), end: uint32(end), next: uint32(len(d.nodes)) + 1, kind: k, flags: flags})
}

// countValue counts one member or element.
func (d *Document) countValue() error {
	if d.left--; d.left < 0 {
		return d.fail(Count, d.pos, "more members and elements than allowed")
	}
	return nil
}

// openContainer adds the node of an object or array. closeContainer completes it.
func (d *Document) openContainer(depth int, k Kind) (at int, err error) {
	if depth > d.o.Depth {
		return 0, d.fail(Depth, d.pos, "nested deeper than allowed")
	}
	d.addLeaf(d.pos, 0, k, canonical)
	d.pos++
	return len(d.nodes) - 1, nil
}

// closeContainer sets the end of an object or array whose node is at.
func (d *Document) closeContainer(at, count int, isCanonical bool) {
	d.pos++
	n := &d.nodes[at]
	n.end, n.next, n.count = uint32(d.pos), uint32(len(d.nodes)), uint32(count)
	if !isCanonical {
		n.flags &^= canonical
	}
}

func (d *Document) parseArray(depth int) error {
	at, err := d.openContainer(depth, Array)
	if err != nil {
		return err
	}
	count, clean := 0, !d.skipSpace()
	for {
		if d.pos < len(d.text) && d.text[d.pos] == ']' && count == 0 {
			break
		}
		item := len(d.nodes)
		if err := d.countValue(); err != nil {
			return err
		}
		if err := d.parseValue(depth + 1); err != nil {
			return err
		}
		count++
		clean = clean && d.nodes[item].flags&canonical != 0
		clean = !d.skipSpace() && clean
		if d.pos >= len(d.text) || d.text[d.pos] != ',' {
			break
		}
		d.pos++
		clean = !d.skipSpace() && clean
	}
	if d.pos >= len(d.text) || d.text[d.pos] != ']' {
		return d.fail(Syntax, d.pos, "',' or ']' is expected in an array")
	}
	d.closeContainer(at, count, clean)
	return nil
}

func (d *Document) parseObject(depth int) error {
	at, err := d.openContainer(depth, Object)
	if err != nil {
		return err
	}
	base := len(d.names) // names of the objects around this one lie below
	clean, sorted := !d.skipSpace(), true
	for {
		if d.pos >= len(d.text) {
			return d.fail(Syntax, d.pos, "the text ends in an object")
		}
		if d.text[d.pos] == '}' && len(d.names) == base {
			break
		}
		if d.text[d.pos] != '"' {
			return d.fail(Syntax, d.pos, "a member name is expected")
		}
		if err := d.countValue(); err != nil {
			return err
		}
		name := uint32(len(d.nodes))
		if err := d.parseString(false); err != nil {
			return err
		}
		if len(d.names) > base {
			sorted = sorted && d.compareNames(d.names[len(d.names)-1], name) < 0
		}
		d.names = append(d.names, name)
		clean = clean && d.nodes[name].flags&canonical != 0
		clean = !d.skipSpace() && clean
		if d.pos >= len(d.text) || d.text[d.pos] != ':' {
			return d.fail(Syntax, d.pos, "':' is expected after a member name")
		}
		d.pos++
		clean = !d.skipSpace() && clean
		if err := d.parseValue(depth + 1); err != nil {
			return err
		}
		clean = clean && d.nodes[name+1].flags&canonical != 0
		clean = !d.skipSpace() && clean
		if d.pos >= len(d.text) || d.text[d.pos] != ',' {
			break
		}
		d.pos++
		clean = !d.skipSpace() && clean
	}
	if d.pos >= len(d.text) || d.text[d.pos] != '}' {
		return d.fail(Syntax, d.pos, "',' or '}' is expected in an object")
	}
	names := d.names[base:]
	if !sorted {
		if err := d.sortNames(names); err != nil {
			return err
		}
	}
	d.nodes[at].first = uint32(len(d.order))
	d.order = append(d.order, names...)
	d.names = d.names[:base]
	d.closeContainer(at, len(names), clean && sorted)
	return nil
}

// sortNames puts the names of an object in canonical order and refuses one that
// occurs twice.
func (d *Document) sortNames(names []uint32) error {
	slices.SortFunc(names, d.compareNames)
	for i := 1; i < len(names); i++ {
		if d.compareNames(names[i-1], names[i]) != 0 {
			continue
		}
		at := d.pos // a name with escapes does not know its place
		if later := d.nodes[max(names[i-1], names[i])]; later.flags&inSide == 0 {
			at = int(later.start)
		}
		return d.fail(Duplicate, at, "an object has two members of the same name")
	}
	return nil
}

func (d *Document) compareNames(a, b uint32) int {
	return compareUTF16(d.stringBytes(&d.nodes[a]), d.stringBytes(&d.nodes[b]))
}

// compareUTF16 compares two texts in UTF-8 by their UTF-16 code units (RFC 8785
// §3.2.3). The order of the bytes is the order of the code points, which differs
// in one case: above U+FFFF the first code unit is a surrogate, less than the
// code units of U+E000 to U+FFFF, which UTF-8 begins with 0xEE and 0xEF.
func compareUTF16(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	x, y := a[i], b[i]
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		return int(y) - int(x)
	}
	return int(x) - int(y)
}

// stringBytes returns the text of a string or a name, without quotes and escapes.
func (d *Document) stringBytes(n *node) []byte {
	if n.flags&inSide != 0 {
		return d.side[n.start:n.end]
	}
	return d.text[n.start+1 : n.end-1]
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// parseString reads the string that begins at pos: a value, or a member name, whose normalization
// form is kept.
func (d *Document) parseString(isValue bool) error {
	text, begin := d.text, d.pos
	i, ascii := begin+1, true
scan:
	for {
		// Eight bytes at a time: the lowest high bit of stop marks the first byte
		// that is a control character, a quote, a backslash or not ASCII.
		for i+8 <= len(text) {
			w := binary.LittleEndian.Uint64(text[i:])
			quote, slash := w^('"'*lows), w^('\\'*lows)
			stop := ((w-0x20*lows)&^w | (quote-lows)&^quote | (slash-lows)&^slash | w) & highs
			if stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		if i >= len(text) {
			return d.fail(Syntax, len(text), "the text ends in a string")
		}
		switch c := text[i]; {
		case c == '"':
			break scan
		case c == '\\':
			return d.parseEscaped(begin, i, isValue)
		case c < 0x20:
			return d.fail(Syntax, i, "a control character in a string must be escaped")
		case c >= utf8.RuneSelf:
			ascii = false
			for i++; i < len(text) && text[i] >= utf8.RuneSelf; i++ {
			}
		default:
			i++
		}
	}
	d.pos = i + 1
	if ascii {
		d.addLeaf(begin, d.pos, String, canonical)
		return nil
	}
	inner := text[begin+1 : i]
	if !utf8.Valid(inner) {
		return d.fail(Encoding, begin, "a string is not UTF-8")
	}
	if isValue && !d.o.KeepForm {
		if normal, changed := normalizeNFC(inner); changed {
			at := len(d.side)
			d.side = append(d.side, normal...)
			d.addLeaf(at, len(d.side), String, inSide)
			return nil
		}
	}
	d.addLeaf(begin, d.pos, String, canonical)
	return nil
}

// parseEscaped reads a string whose first backslash is at i.
func (d *Document) parseEscaped(begin, i int, isValue bool) error {
	text, at := d.text, len(d.side)
	d.side = append(d.side, text[begin+1:i]...)
	for {
		plain := i
		for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= 0x20 {
			i++
		}
		d.side = append(d.side, text[plain:i]...)
		if i >= len(text) {
			return d.fail(Syntax, len(text), "the text ends in a string")
		}
		if text[i] < 0x20 {
			return d.fail(Syntax, i, "a control character in a string must be escaped")
		}
		if text[i] == '"' {
			break
		}
		n, err := d.appendEscape(i)
		if err != nil {
			return err
		}
		i += n
	}
	d.pos = i + 1
	inner := d.side[at:]
	if !utf8.Valid(inner) {
		return d.fail(Encoding, begin, "a string is not UTF-8")
	}
	if isValue && !d.o.KeepForm {
		if normal, changed := normalizeNFC(inner); changed {
			d.side = append(d.side[:at], normal...)
		}
	}
	d.addLeaf(at, len(d.side), String, inSide)
	return nil
}

// appendEscape appends the character of the escape at i and returns the length of the escape.
func (d *Document) appendEscape(i int) (int, error) {
	text := d.text
	if i+1 >= len(text) {
		return 0, d.fail(Syntax, i, "the text ends in an escape")
	}
	c := text[i+1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, ok := codeUnit(text[i:])
		if !ok {
			return 0, d.fail(Syntax, i, `four hexadecimal digits are expected after \u`)
		}
		if !utf16.IsSurrogate(r) {
			d.side = utf8.AppendRune(d.side, r)
			return 6, nil
		}
		low, _ := codeUnit(text[i+6:])
		pair := utf16.DecodeRune(r, low)
		if pair == utf8.RuneError {
			return 0, d.fail(Surrogate, i, "half a surrogate pair")
		}
		d.side = utf8.AppendRune(d.side, pair)
		return 12, nil
	default:
		return 0, d.fail(Syntax, i, "no such escape")
	}
	d.side = append(d.side, c)
	return 2, nil
}

// codeUnit reads \uXXXX at the beginning of text.
func codeUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
