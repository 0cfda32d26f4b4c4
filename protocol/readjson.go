package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadJSON reads exactly one JSON value (RFC 8259) into a tree whose nodes have their places. It is
// stricter than encoding/json: the text must be UTF-8 without a byte order mark, member names must
// be unique after unescaping, and nothing may follow the value. The error is always a
// [*SyntaxError].
func ReadJSON(text []byte, l Limits) (*Node, error) {
	l = l.OrDefault()
	if err := CheckText(text, l); err != nil {
		return nil, err
	}
	r := &jsonReader{
		text:   text,
		dec:    jsontext.NewDecoder(bytes.NewReader(text)),
		limits: l,
		Budget: NewBudget(l),
	}
	root, err := r.readValue("", 1)
	if err != nil {
		return nil, err
	}
	after := r.nextOffset()
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return nil, r.newError(Invalid, "", after, "something follows the end of the JSON value")
	}
	return root, nil
}

// CheckText makes the checks that come before any parsing: size, encoding and
// byte order mark. The YAML reader of AGIS shares them.
func CheckText(text []byte, l Limits) error {
	l = l.OrDefault()
	if len(text) > l.Bytes {
		return &SyntaxError{Problem: TooLarge, Line: 1, Column: 1,
			Message: fmt.Sprintf("the text has %d bytes, the limit is %d", len(text), l.Bytes)}
	}
	if name := detectEncoding(text); name != "" {
		return &SyntaxError{Problem: NotUTF8, Line: 1, Column: 1,
			Message: "the text is " + name + ", not UTF-8"}
	}
	if !utf8.Valid(text) {
		offset := invalidUTF8(text)
		line, column := Place(text, offset)
		return &SyntaxError{Problem: NotUTF8, Line: line, Column: column, Offset: offset,
			Message: fmt.Sprintf("byte 0x%02X is not UTF-8 here", text[offset])}
	}
	if bytes.HasPrefix(text, utf8BOM) {
		return &SyntaxError{Problem: BOM, Line: 1, Column: 1,
			Message: "the text begins with a byte order mark"}
	}
	return nil
}

var utf8BOM = []byte("\uFEFF")

// detectEncoding returns the name of the encoding of a text whose first bytes show that it is not
// UTF-8; "" otherwise. The marks are those of Unicode §23.8 and of the formats themselves; without
// a mark, JSON and YAML begin with an ASCII character, so the positions of zero bytes show the
// encoding (RFC 4627 §3).
func detectEncoding(text []byte) string {
	for _, m := range encodingMarks {
		if bytes.HasPrefix(text, []byte(m.mark)) {
			return m.name
		}
	}
	if len(text) < 4 {
		return ""
	}
	zero := [4]bool{text[0] == 0, text[1] == 0, text[2] == 0, text[3] == 0}
	switch zero {
	case [4]bool{true, true, true, false}:
		return "UTF-32 (big endian)"
	case [4]bool{false, true, true, true}:
		return "UTF-32 (little endian)"
	case [4]bool{true, false, true, false}:
		return "UTF-16 (big endian)"
	case [4]bool{false, true, false, true}:
		return "UTF-16 (little endian)"
	}
	return ""
}

// encodingMarks lists longer marks before their prefixes.
var encodingMarks = []struct{ mark, name string }{
	{"\x00\x00\xFE\xFF", "UTF-32 (big endian)"},
	{"\xFF\xFE\x00\x00", "UTF-32 (little endian)"},
	{"\xFE\xFF", "UTF-16 (big endian)"},
	{"\xFF\xFE", "UTF-16 (little endian)"},
	{"\x1F\x8B", "compressed with gzip"},
	{"\x28\xB5\x2F\xFD", "compressed with zstd"},
	{"PK\x03\x04", "a ZIP archive"},
	{"\x89PNG", "a PNG picture"},
	{"\xFF\xD8\xFF", "a JPEG picture"},
	{"%PDF-", "a PDF file"},
}

// TrimBOM returns the text without a leading byte order mark, and whether there
// was one.
func TrimBOM(text []byte) ([]byte, bool) { return bytes.CutPrefix(text, utf8BOM) }

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// A Budget limits the size of all pointers of one tree. Each node stores its pointer as text, so
// one very long member name above very many values would otherwise turn a small text into
// gigabytes.
type Budget struct{ left int }

// pointerBytesPerByte is the number of bytes of pointers per byte of text. Conforming documents
// stay below 2.
const pointerBytesPerByte = 8

// NewBudget returns the budget for a text within l.
func NewBudget(l Limits) Budget { return Budget{left: l.OrDefault().Bytes * pointerBytesPerByte} }

// Spend deducts the cost of one pointer and reports whether the budget was sufficient.
func (b *Budget) Spend(pointer string) bool {
	b.left -= len(pointer)
	return b.left >= 0
}

type jsonReader struct {
	text   []byte
	dec    *jsontext.Decoder
	limits Limits
	place  place
	Budget
}

// nextOffset returns the offset at which the next token begins. The decoder reports only the end of
// the last one.
func (r *jsonReader) nextOffset() int {
	i := int(r.dec.InputOffset())
	for i < len(r.text) {
		switch r.text[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

func (r *jsonReader) newError(p Problem, pointer string, offset int, format string, args ...any) error {
	line, column := Place(r.text, offset)
	return &SyntaxError{Problem: p, Pointer: pointer, Line: line, Column: column,
		Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// readValue reads one value; depth counts the value itself.
func (r *jsonReader) readValue(pointer string, depth int) (*Node, error) {
	start := r.nextOffset()
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, r.convertError(err, pointer, start)
	}
	if !r.Spend(pointer) {
		return nil, r.newError(TooMany, pointer, start, "the member names are too long for how deeply they nest")
	}
	n := &Node{Pointer: pointer}
	n.Line, n.Column = r.place.advanceTo(r.text, start)
	switch tok.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.Text = Bool, tok.String()
	case '"':
		n.Kind, n.Text = String, tok.String()
	case '0':
		n.Kind, n.Text = Number, string(r.text[start:r.dec.InputOffset()])
		if len(n.Text) > r.limits.Number {
			return nil, r.newError(TooLongNumber, pointer, start,
				"a number is written with %d characters, the limit is %d", len(n.Text), r.limits.Number)
		}
	case '[', '{':
		n.Offset = start
		if depth > r.limits.Depth {
			return nil, r.newError(TooDeep, pointer, start,
				"objects and arrays nest deeper than %d levels", r.limits.Depth)
		}
		if tok.Kind() == '[' {
			return n, r.readArray(n, depth)
		}
		return n, r.readObject(n, depth)
	}
	n.Offset, n.End = start, int(r.dec.InputOffset())
	return n, nil
}

func (r *jsonReader) readArray(n *Node, depth int) error {
	n.Kind = Array
	for r.dec.PeekKind() != ']' {
		if len(n.Items) == r.limits.Members {
			return r.newError(TooMany, n.Pointer, r.nextOffset(), "an array has more than %d elements", r.limits.Members)
		}
		item, err := r.readValue(ItemPointer(n.Pointer, len(n.Items)), depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	return r.readEnd(n)
}

func (r *jsonReader) readObject(n *Node, depth int) error {
	n.Kind = Object
	for r.dec.PeekKind() != '}' {
		start := r.nextOffset()
		if len(n.Items) == r.limits.Members {
			return r.newError(TooMany, n.Pointer, start, "an object has more than %d members", r.limits.Members)
		}
		name, err := r.dec.ReadToken()
		if err != nil {
			return r.convertError(err, n.Pointer, start)
		}
		key, end := name.String(), int(r.dec.InputOffset())
		line, column := r.place.advanceTo(r.text, start)
		member, err := r.readValue(MemberPointer(n.Pointer, key), depth+1)
		if err != nil {
			return err
		}
		member.Key, member.KeyLine, member.KeyColumn = key, line, column
		member.KeyOffset, member.KeyEnd = start, end
		n.Items = append(n.Items, member)
	}
	return r.readEnd(n)
}

// readEnd reads the closing bracket of n.
func (r *jsonReader) readEnd(n *Node) error {
	start := r.nextOffset()
	if _, err := r.dec.ReadToken(); err != nil {
		return r.convertError(err, n.Pointer, start)
	}
	n.End = int(r.dec.InputOffset())
	return nil
}

// convertError converts the decoder's error. start is the offset of the token that could not be
// read.
func (r *jsonReader) convertError(err error, pointer string, start int) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		name := ""
		if unquoted, err := jsontext.AppendUnquote(nil, quotedAt(r.text[start:])); err == nil {
			name = string(unquoted)
		}
		return r.newError(Duplicate, MemberPointer(pointer, name), start, "the member %s occurs twice in one object", Quote(name))
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		if len(bytes.TrimSpace(r.text)) == 0 {
			return r.newError(Invalid, "", 0, "the text is empty")
		}
		return r.newError(Invalid, pointer, len(bytes.TrimRight(r.text, " \t\r\n")), endsEarly)
	}
	if trimmed := bytes.TrimLeft(r.text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '<' {
		return r.newError(Invalid, "", len(r.text)-len(trimmed), "this is HTML or XML, not JSON")
	}
	offset, message := start, err.Error()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = min(int(syntactic.ByteOffset), len(r.text))
		message = syntactic.Err.Error()
	}
	if plain := describeMistake(r.text, offset, message); plain != "" {
		message = plain
	}
	return r.newError(Invalid, pointer, offset, "this is not JSON: %s", message)
}

// wordValues are words of other languages in place of a value of JSON, and what to write.
var wordValues = map[string]string{
	"True": "write true", "TRUE": "write true", "yes": "write true", "False": "write false", "FALSE": "write false", "no": "write false",
	"None": "write null", "NULL": "write null", "Null": "write null", "nil": "write null", "undefined": "write null, or leave the member out",
	"NaN": "write a number, or leave the member out", "Infinity": "write a number, or leave the member out",
}

// describeMistake describes common mistakes at an offset in plain words; it returns "" for others.
// message is that of the decoder.
func describeMistake(text []byte, offset int, message string) string {
	if strings.Contains(message, "surrogate") {
		return "a \\u escape is one half of a surrogate pair without the other"
	}
	if offset >= len(text) {
		return ""
	}
	c := text[offset]
	switch {
	case strings.Contains(message, "escape sequence"):
		return "a backslash in a string begins an escape, and this one does not exist; a backslash itself is written \\\\"
	case strings.Contains(message, "in string"):
		if c == '\n' || c == '\r' || c == '\t' {
			return `a line break or tab inside a string is written \n or \t`
		}
		return ""
	case strings.Contains(message, "in number"):
		return "a number needs a digit here, as in 1.0"
	case c == ',':
		rest := bytes.TrimLeft(text[offset+1:], " \t\r\n")
		if len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
			return trailingComma
		}
		return extraComma
	case c == '/' || c == '#':
		return noComments
	case c == '\'' || c == '`' || hasTypographicQuote(text[offset:]):
		return doubleQuotes + ` (")`
	}
	_, afterObject := strings.CutSuffix(message, "after object value (expecting ',' or '}')")
	_, afterArray := strings.CutSuffix(message, "after array element (expecting ',' or ']')")
	switch {
	case afterObject && c == ']':
		return "an object is not closed: } is missing before this ]"
	case afterArray && c == '}':
		return "an array is not closed: ] is missing before this }"
	case (afterObject || afterArray) && offset > 0 && isDigit(text[offset-1]) && (isDigit(c) || isLetter(c)):
		return "a number in JSON has no leading zero and no letters"
	case afterObject || afterArray:
		return missingComma + ", or the string before it ends too early"
	case strings.Contains(message, "after object name"):
		return "a colon is missing after the name"
	case strings.Contains(message, "start of value") && (c == '.' || c == '+'):
		return "a number begins with a digit or a minus sign, as in 0.5"
	case isLetter(c) && strings.Contains(message, "start of value"):
		word := text[offset:]
		if end := bytes.IndexFunc(word, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); end >= 0 {
			word = word[:end]
		}
		quoted := Quote(string(word[:min(len(word), 200)]))
		if rest := bytes.TrimLeft(text[offset+len(word):], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			return "the name " + quoted + " must be in double quotes"
		}
		if instead := wordValues[string(word)]; instead != "" {
			return quoted + " is not a value of JSON; " + instead
		}
		return quoted + " is not a value; " + doubleQuotes
	}
	return ""
}

// DescribeJSONRepair says how to correct a text that [ReadJSON] refused with a message, and returns ""
// if the message says it all.
func DescribeJSONRepair(message string) string {
	for _, m := range []struct{ part, help string }{
		{noComments, "remove the comment"},
		{trailingComma, "remove the comma"},
		{extraComma, "remove the comma, or write the value that is missing before it"},
		{doubleQuotes, "write double quotes"},
		{missingComma, `separate the two with a comma; a quotation mark inside a string is written \"`},
		{endsEarly, "publish the whole text: it was cut off, or a quotation mark or closing bracket is missing"},
	} {
		if strings.Contains(message, m.part) {
			return m.help
		}
	}
	return ""
}

// Parts of messages that have a help of their own.
const (
	noComments    = "JSON has no comments"
	trailingComma = "there is a comma before the closing bracket"
	extraComma    = "there is a comma too many"
	doubleQuotes  = "names and strings must be in double quotes"
	endsEarly     = "the text ends before the JSON value does"
	missingComma  = "a comma is missing before this"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hasTypographicQuote reports whether a text begins with a quotation mark of print, which word
// processors write in place of ".
func hasTypographicQuote(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return strings.ContainsRune("“”„‟‘’‚‛«»‹›″＂", r)
}

// quotedAt returns the JSON string literal at the beginning of text, or nil.
func quotedAt(text []byte) []byte {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1]
		}
	}
	return nil
}
