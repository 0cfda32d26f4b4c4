package convert

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// The draft writes its examples in a notation of its own, half YAML and half
// braces (AGIS §10.1), and never defines it:
//
//	endpoints:
//	  BOOK /reservation {
//	    semantic {
//	      intent: "Books a reservation on behalf of the
//	               requesting agent"
//	    }
//	    input { required: [party_size (int)] }
//	    errors { invalid_datetime, no_table }
//	    ...
//	  }
//
// What follows is a parser for that and for what people make of it: blocks in
// braces or by indentation, entries apart by commas or lines, names alone, names
// with a note in parentheses, names with a value, endpoints, and "..." for what
// was left out. What a block means is decided by its reader, in notation.go.

// A notationItem is one entry of a block or a list.
type notationItem struct {
	offset int
	name   string // also the text of an element of a list
	quoted bool
	path   string         // of an endpoint, whose method is name
	note   string         // what stood in parentheses behind the name
	value  *notationValue // nil for a name alone
	elided bool           // "..."
}

type notationKind uint8

const (
	notationNothing notationKind = iota // nothing stands behind the colon
	notationText
	notationList  // [a, b], or lines that begin with "- "
	notationBlock // {…}, or lines that are indented
)

type notationValue struct {
	offset int
	kind   notationKind
	text   string
	quoted bool
	items  []notationItem
}

// parseNotation reads a text into its entries. The error is a
// [*protocol.SyntaxError].
func parseNotation(text []byte, l protocol.Limits) ([]notationItem, error) {
	l = l.OrDefault()
	text, _ = protocol.TrimBOM(text)
	if err := protocol.CheckText(text, l); err != nil {
		return nil, err
	}
	p := &notationParser{text: text, limits: l}
	items, err := p.block(notationScope{indent: -1}, 1)
	if err != nil {
		return nil, err
	}
	if p.pos < len(text) {
		return nil, p.fail(p.pos, "this } closes nothing")
	}
	return items, nil
}

type notationParser struct {
	text   []byte
	pos    int
	start  int // where the line of pos begins
	limits protocol.Limits
}

// A notationScope is where entries stand: between braces, or deeper than indent.
type notationScope struct {
	braces bool
	open   int // offset of the brace
	line   int // where the line of the brace begins
	indent int // of what holds the block, when it has no braces
	dashes bool
}

func (p *notationParser) fail(offset int, format string, args ...any) error {
	return p.problem(protocol.Invalid, offset, format, args...)
}

func (p *notationParser) problem(kind protocol.Problem, offset int, format string, args ...any) error {
	line, column := protocol.Place(p.text, offset)
	return &protocol.SyntaxError{Problem: kind, Line: line, Column: column, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

func (p *notationParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *notationParser) has(prefix string) bool {
	return bytes.HasPrefix(p.text[p.pos:], []byte(prefix))
}

// blanks skips spaces and tabs; it stays on the line.
func (p *notationParser) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
}

// newline takes a line break, and reports whether there was one.
func (p *notationParser) newline() bool {
	switch {
	case p.has("\r\n"):
		p.pos += 2
	case p.peek() == '\n' || p.pos < len(p.text) && p.peek() == '\r':
		p.pos++
	default:
		return false
	}
	p.start = p.pos
	return true
}

// comment reports whether a comment begins here: a # or // at the beginning of a
// line or behind white space.
func (p *notationParser) comment() bool {
	if !p.has("#") && !p.has("//") {
		return false
	}
	return p.pos == 0 || strings.IndexByte(" \t\r\n{[,", p.text[p.pos-1]) >= 0
}

// space skips white space, line breaks and comments.
func (p *notationParser) space() {
	for p.pos < len(p.text) {
		p.blanks()
		if p.comment() {
			p.pos += lineLength(p.text[p.pos:])
		}
		if !p.newline() {
			return
		}
	}
}

// lineLength returns how many bytes of text stand before the next line break.
func lineLength(text []byte) int {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// column returns how far pos is into its line, in bytes.
func (p *notationParser) column() int { return p.pos - p.start }

// block reads entries until the block ends; depth counts the block itself.
func (p *notationParser) block(b notationScope, depth int) ([]notationItem, error) {
	if depth > p.limits.Depth {
		return nil, p.problem(protocol.TooDeep, p.pos, "blocks nest deeper than %d levels", p.limits.Depth)
	}
	var items []notationItem
	for {
		p.space()
		for p.peek() == ',' || p.peek() == ';' {
			p.pos++
			p.space()
		}
		switch {
		case p.pos == len(p.text) && b.braces:
			return nil, p.fail(b.open, "this { is never closed")
		case p.pos == len(p.text):
			return items, nil
		case p.peek() == '}' && b.braces:
			p.pos++
			return items, nil
		case p.peek() == '}':
			return items, nil // the block that holds this one ends
		case !b.braces && !b.dashes && p.column() <= b.indent,
			b.dashes && p.column() < b.indent,
			b.dashes && p.column() == b.indent && !p.dash():
			return items, nil
		case len(items) == p.limits.Members:
			return nil, p.problem(protocol.TooMany, p.pos, "a block has more than %d entries", p.limits.Members)
		}
		item, err := p.item(b, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// dash reports whether an entry of a list begins here.
func (p *notationParser) dash() bool {
	return p.has("- ") || p.has("-\t") || p.has("-\n") || p.has("-\r")
}

// item reads one entry.
func (p *notationParser) item(b notationScope, depth int) (notationItem, error) {
	item := notationItem{offset: p.pos}
	column := p.column()
	switch {
	case p.has("..."):
		p.pos += 3
		item.elided = true
		return item, nil
	case p.has("…"):
		p.pos += len("…")
		item.elided = true
		return item, nil
	case p.dash():
		p.pos++
		return p.dashed(item, column, depth)
	case p.peek() == '[' || p.peek() == '{':
		v, err := p.value(b, column, depth)
		item.value = v
		return item, err
	case p.peek() == '"' || p.peek() == '\'':
		text, err := p.quoted()
		if err != nil {
			return item, err
		}
		item.name, item.quoted = text, true
	default:
		item.name = p.word()
		if item.name == "" {
			r, _ := utf8.DecodeRune(p.text[p.pos:])
			return item, p.fail(p.pos, "%s cannot begin an entry", protocol.Quote(string(r)))
		}
	}
	return p.afterName(item, b, column, depth)
}

// dashed reads what stands behind the dash of a list entry: a block whose first
// entry is on the same line, or a text.
func (p *notationParser) dashed(item notationItem, column, depth int) (notationItem, error) {
	p.blanks()
	item.offset = p.pos
	if p.keyed() {
		items, err := p.block(notationScope{indent: column}, depth+1)
		item.value = &notationValue{offset: item.offset, kind: notationBlock, items: items}
		return item, err
	}
	if c := p.peek(); c == '[' || c == '{' {
		v, err := p.value(notationScope{indent: column}, column, depth)
		item.value = v
		return item, err
	}
	if c := p.peek(); c == '"' || c == '\'' {
		text, err := p.quoted()
		if err != nil {
			return item, err
		}
		item.name, item.quoted = text, true
		return item, p.ended()
	}
	text := string(p.text[p.pos : p.pos+p.untilLineEnd()])
	p.pos += len(text)
	return p.noted(item, text)
}

// keyed reports whether the line goes on with a name and a colon.
func (p *notationParser) keyed() bool {
	at := *p
	if c := at.peek(); c == '"' || c == '\'' {
		if _, err := at.quoted(); err != nil {
			return false
		}
	} else if at.word() == "" {
		return false
	}
	at.blanks()
	return at.colon()
}

// colon reports whether a colon stands here that parts a name from its value.
func (p *notationParser) colon() bool {
	if p.peek() != ':' {
		return false
	}
	return p.pos+1 == len(p.text) || strings.IndexByte(" \t\r\n[{\"'", p.text[p.pos+1]) >= 0
}

// word reads a name. It ends where the notation has a sign of its own.
func (p *notationParser) word() string {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n,;{}[]()\"", p.text[p.pos]) < 0 && !p.colon() {
		p.pos++
	}
	return string(p.text[begin:p.pos])
}

// afterName reads what follows a name: a path, a value, a block, a note, more
// words, or nothing.
func (p *notationParser) afterName(item notationItem, b notationScope, column, depth int) (notationItem, error) {
	p.blanks()
	if p.peek() == '/' && !p.has("//") {
		return p.endpoint(item, depth)
	}
	if p.peek() == '(' {
		note, err := p.parentheses()
		if err != nil {
			return item, err
		}
		item.note = note
		p.blanks()
	}
	switch c := p.peek(); {
	case p.colon():
		p.pos++
		v, err := p.value(b, column, depth)
		item.value = v
		return item, err
	case c == '{' || c == '[':
		v, err := p.value(b, column, depth)
		item.value = v
		return item, err
	case c == 0 || strings.IndexByte(",;}\r\n", c) >= 0 || p.comment():
		return item, nil
	case item.note != "" || item.quoted:
		return item, p.fail(p.pos, "a comma, a line break or the end of the block is missing here")
	}
	// More words: a text that is not a name, such as "reservation_id string".
	text, err := p.phrase()
	if err != nil {
		return item, err
	}
	if p.colon() {
		return item, p.fail(item.offset, "the name %s holds white space; put it in quotes if that is meant", protocol.Quote(item.name+" "+text))
	}
	return p.noted(item, item.name+" "+text)
}

// phrase reads words and parentheses as far as the entry goes.
func (p *notationParser) phrase() (string, error) {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(",;{}[]\r\n\"", p.text[p.pos]) < 0 && !p.colon() && !p.comment() {
		if p.peek() == '(' {
			if _, err := p.parentheses(); err != nil {
				return "", err
			}
			continue
		}
		p.pos++
	}
	return string(p.text[begin:p.pos]), nil
}

// noted parts a text from the note in parentheses at its end.
func (p *notationParser) noted(item notationItem, text string) (notationItem, error) {
	text = strings.Join(strings.Fields(text), " ")
	if inner, ok := strings.CutSuffix(text, ")"); ok {
		if open := strings.Index(inner, "("); open > 0 {
			item.name, item.note = strings.TrimSpace(inner[:open]), strings.TrimSpace(inner[open+1:])
			return item, nil
		}
	}
	item.name = text
	return item, nil
}

// parentheses reads a note, with what nests in it.
func (p *notationParser) parentheses() (string, error) {
	begin, open := p.pos, 0
	for p.pos < len(p.text) {
		switch p.peek() {
		case '(':
			open++
		case ')':
			open--
		}
		if !p.newline() {
			p.pos++
		}
		if open == 0 {
			return strings.Join(strings.Fields(string(p.text[begin+1:p.pos-1])), " "), nil
		}
	}
	return "", p.fail(begin, "this ( is never closed")
}

// endpoint reads the path and the block of an endpoint.
func (p *notationParser) endpoint(item notationItem, depth int) (notationItem, error) {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.peek()) < 0 {
		if p.peek() == '{' {
			if p.text[p.pos-1] != '/' {
				break // the block begins
			}
			end := bytes.IndexAny(p.text[p.pos:], "} \t\r\n")
			if end < 0 || p.text[p.pos+end] != '}' {
				return item, p.fail(p.pos, "this { of the path is never closed")
			}
			p.pos += end
		}
		p.pos++
	}
	item.path = strings.TrimSuffix(string(p.text[begin:p.pos]), ":")
	p.space()
	if p.peek() != '{' {
		return item, p.fail(p.pos, "a { is missing behind %s", protocol.Quote(item.name+" "+item.path))
	}
	v, err := p.value(notationScope{braces: true, open: p.pos}, 0, depth)
	item.value = v
	return item, err
}

// value reads what stands behind a name. b is the block that the name stands in,
// column is that of the name.
func (p *notationParser) value(b notationScope, column, depth int) (*notationValue, error) {
	p.blanks()
	v := &notationValue{offset: p.pos}
	var err error
	switch c := p.peek(); {
	case c == '{':
		inner := notationScope{braces: true, open: p.pos, line: p.start}
		p.pos++
		v.kind = notationBlock
		v.items, err = p.block(inner, depth+1)
	case c == '[':
		at := *p
		v.kind = notationList
		v.items, err = p.list(depth + 1)
		if err == nil {
			p.blanks()
			if p.has("->") { // a state transition: [current] -> [current - amount]
				*p = at
				v.kind, v.items = notationText, nil
				v.text = p.plain(b, column)
			}
		}
	case c == '"' || c == '\'':
		v.kind, v.quoted = notationText, true
		if v.text, err = p.quoted(); err == nil {
			err = p.ended()
		}
	case (c == '|' || c == '>') && p.blockScalarHeader():
		v.kind, v.quoted = notationText, true
		v.text = p.blockScalar(c == '>', column)
	case c == 0 || c == '\r' || c == '\n' || p.comment():
		err = p.indented(v, column, depth)
	case b.braces && (c == ',' || c == '}'):
	default:
		v.kind, v.text = notationText, p.plain(b, column)
	}
	return v, err
}

// indented reads the block below a name, if what follows is indented further. A
// list may stand in the column of its name, as in YAML.
func (p *notationParser) indented(v *notationValue, column, depth int) error {
	p.space()
	v.offset = p.pos
	var err error
	switch {
	case p.pos == len(p.text) || p.peek() == '}':
		return nil
	case p.dash() && p.column() >= column:
		v.kind = notationList
		v.items, err = p.block(notationScope{indent: p.column(), dashes: true}, depth+1)
	case p.column() > column && (p.peek() == '"' || p.peek() == '\'') && !p.keyed():
		v.kind, v.quoted = notationText, true
		if v.text, err = p.quoted(); err == nil {
			err = p.ended()
		}
	case p.column() > column:
		v.kind = notationBlock
		v.items, err = p.block(notationScope{indent: column}, depth+1)
	}
	return err
}

// ended checks that nothing but a separator follows a quoted text.
func (p *notationParser) ended() error {
	p.blanks()
	if c := p.peek(); p.pos == len(p.text) || strings.IndexByte(",;}]\r\n", c) >= 0 || p.comment() {
		return nil
	}
	return p.fail(p.pos, "something follows the closing quote; a comma or a line break is missing, or a quote inside the text lacks its \\")
}

// list reads [a, b (note), "c"].
func (p *notationParser) list(depth int) ([]notationItem, error) {
	if depth > p.limits.Depth {
		return nil, p.problem(protocol.TooDeep, p.pos, "lists nest deeper than %d levels", p.limits.Depth)
	}
	open := p.pos
	p.pos++
	var items []notationItem
	for {
		p.space()
		switch {
		case p.pos == len(p.text):
			return nil, p.fail(open, "this [ is never closed")
		case p.peek() == ',':
			p.pos++
			continue
		case p.peek() == ']':
			p.pos++
			return items, nil
		case p.peek() == '}':
			return nil, p.fail(open, "this [ is not closed before the } of its block")
		case len(items) == p.limits.Members:
			return nil, p.problem(protocol.TooMany, p.pos, "a list has more than %d elements", p.limits.Members)
		}
		item, err := p.element(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// element reads one element of a list in brackets.
func (p *notationParser) element(depth int) (notationItem, error) {
	item := notationItem{offset: p.pos}
	var err error
	switch c := p.peek(); {
	case p.has("..."):
		p.pos += 3
		item.elided = true
	case c == '[' || c == '{':
		item.value, err = p.value(notationScope{braces: true, open: p.pos, line: p.start}, p.column(), depth)
	case c == '"' || c == '\'':
		item.quoted = true
		if item.name, err = p.quoted(); err == nil {
			p.space()
			if c := p.peek(); c != ',' && c != ']' {
				err = p.fail(p.pos, "a comma or ] is missing here")
			}
		}
	default:
		begin := p.pos
		for p.pos < len(p.text) && strings.IndexByte(",[]{}\"", p.peek()) < 0 {
			if p.peek() == '(' {
				if _, err := p.parentheses(); err != nil {
					return item, err
				}
				continue
			}
			if !p.newline() {
				p.pos++
			}
		}
		if c := p.peek(); c == '[' || c == '{' || c == '"' {
			return item, p.fail(p.pos, "a comma is missing before this")
		}
		return p.noted(item, string(p.text[begin:p.pos]))
	}
	return item, err
}

// quoted reads a text in quotes. It may go on over several lines; each break
// with the white space around it counts as one space.
func (p *notationParser) quoted() (string, error) {
	open, quote := p.pos, p.peek()
	p.pos++
	var b []byte
	for p.pos < len(p.text) {
		c := p.peek()
		switch {
		case c == quote && quote == '\'' && p.has("''"):
			b = append(b, c)
			p.pos += 2
		case c == quote:
			p.pos++
			return string(b), nil
		case c == '\\' && quote == '"':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		case c == '\n' || c == '\r':
			for p.newline() {
				p.blanks()
			}
			b = bytes.TrimRight(b, " \t")
			if p.peek() != quote {
				b = append(b, ' ')
			}
		default:
			b = append(b, c)
			p.pos++
		}
	}
	return "", p.fail(open, "the text that begins with this quote is never closed")
}

var notationEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// escape reads a backslash and what follows it, as in JSON.
func (p *notationParser) escape() (rune, error) {
	at := p.pos
	p.pos++
	if r, ok := notationEscapes[p.peek()]; ok {
		p.pos++
		return r, nil
	}
	if p.peek() == 'u' && p.pos+5 <= len(p.text) {
		code, err := strconv.ParseUint(string(p.text[p.pos+1:p.pos+5]), 16, 16)
		if err == nil && utf8.ValidRune(rune(code)) {
			p.pos += 5
			return rune(code), nil
		}
	}
	return 0, p.fail(at, `this is no escape; write \\ for a backslash`)
}

// untilLineEnd returns how many bytes of the line belong to an entry: all before
// a comment.
func (p *notationParser) untilLineEnd() int {
	at := *p
	for at.pos < len(at.text) && at.peek() != '\n' && at.peek() != '\r' && !at.comment() {
		at.pos++
	}
	return at.pos - p.pos
}

// plain reads a text without quotes: the rest of its line, and the lines below
// that are indented further and are no entries themselves.
func (p *notationParser) plain(b notationScope, column int) string {
	var lines []string
	for {
		lines = append(lines, p.plainLine(b))
		at := *p
		if !p.newline() {
			break
		}
		p.blanks()
		if c := p.peek(); p.pos == len(p.text) || strings.IndexByte("}]{[\r\n\"'", c) >= 0 || p.comment() ||
			p.column() <= column || p.dash() || p.has("...") || p.keyed() || p.opens() {
			*p = at
			break
		}
	}
	return strings.Join(lines, " ")
}

// opens reports whether the line goes on with a name and a block, or an
// endpoint.
func (p *notationParser) opens() bool {
	at := *p
	if at.word() == "" {
		return false
	}
	at.blanks()
	return at.peek() == '{' || at.peek() == '/' && !at.has("//")
}

// plainLine reads one line of a text without quotes. In a block whose brace
// stands on the same line a comma ends it.
func (p *notationParser) plainLine(b notationScope) string {
	begin, open := p.pos, 0
	flow := b.braces && b.line == p.start
scan:
	for p.pos < len(p.text) && !p.comment() {
		switch c := p.peek(); c {
		case '\r', '\n':
			break scan
		case '{':
			open++
		case '}':
			if open == 0 && b.braces {
				break scan
			}
			open--
		case ',', ';':
			if flow && open == 0 {
				break scan
			}
		}
		p.pos++
	}
	return strings.TrimRight(string(p.text[begin:p.pos]), " \t,;")
}

// blockScalarHeader reports whether the line holds nothing but the sign of a
// text that follows in lines of its own, as in YAML: | or >, with - or +.
func (p *notationParser) blockScalarHeader() bool {
	at := *p
	at.pos++
	if c := at.peek(); c == '-' || c == '+' {
		at.pos++
	}
	at.blanks()
	return at.peek() == '\n' || at.peek() == '\r' || at.comment()
}

// blockScalar reads the lines below that are indented further than column.
func (p *notationParser) blockScalar(folded bool, column int) string {
	p.pos += lineLength(p.text[p.pos:])
	var lines []string
	for {
		at := *p
		if !p.newline() {
			break
		}
		p.blanks()
		empty := p.pos < len(p.text) && (p.peek() == '\n' || p.peek() == '\r')
		if !empty && p.column() <= column || p.pos == len(p.text) {
			*p = at
			break
		}
		end := p.pos + lineLength(p.text[p.pos:])
		lines = append(lines, strings.TrimRight(string(p.text[p.pos:end]), " \t"))
		p.pos = end
	}
	separator := "\n"
	if folded {
		separator = " "
	}
	return strings.TrimRight(strings.Join(lines, separator), " \n")
}
