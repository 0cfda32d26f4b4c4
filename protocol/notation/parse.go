package notation

import (
	"bytes"
	"fmt"
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

// An entry is one entry of a block or a list.
type entry struct {
	offset     int
	name       string // also the text of an element of a list
	quoted     bool
	path       string      // the path of an endpoint; name is its method
	annotation string      // the text in parentheses after the name
	value      *entryValue // nil for a name alone
	omitted    bool        // "..."
}

type valueKind uint8

const (
	emptyValue valueKind = iota // nothing follows the colon
	textValue
	listValue  // [a, b], or lines that begin with "- "
	blockValue // {…}, or lines that are indented
)

type entryValue struct {
	offset int
	kind   valueKind
	text   string
	quoted bool
	items  []entry
}

// parseNotation parses a text into entries. The error is a [*protocol.SyntaxError].
func parseNotation(text []byte, l protocol.Limits) ([]entry, error) {
	l = l.OrDefault()
	text, _ = protocol.TrimBOM(text)
	if err := protocol.CheckText(text, l); err != nil {
		return nil, err
	}
	p := &parser{text: text, limits: l}
	items, err := p.parseBlock(blockScope{indent: -1}, 1)
	if err != nil {
		return nil, err
	}
	if p.pos < len(text) {
		return nil, p.errorAt(p.pos, "this } closes nothing")
	}
	return items, nil
}

type parser struct {
	text   []byte
	pos    int
	start  int // the beginning of the line of pos
	limits protocol.Limits
}

// A blockScope says where the entries of a block are: between braces, or indented by more than
// indent.
type blockScope struct {
	braces bool
	open   int // offset of the brace
	line   int // where the line of the brace begins
	indent int // the indentation of the parent of a block without braces
	dashes bool
}

func (p *parser) errorAt(offset int, format string, args ...any) error {
	return p.problemAt(protocol.Invalid, offset, format, args...)
}

func (p *parser) problemAt(kind protocol.Problem, offset int, format string, args ...any) error {
	line, column := protocol.Place(p.text, offset)
	return &protocol.SyntaxError{Problem: kind, Line: line, Column: column, Offset: offset, Message: fmt.Sprintf(format, args...)}
}

func (p *parser) peekByte() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) hasPrefix(prefix string) bool {
	return bytes.HasPrefix(p.text[p.pos:], []byte(prefix))
}

// skipBlanks skips spaces and tabs within the line.
func (p *parser) skipBlanks() {
	for p.peekByte() == ' ' || p.peekByte() == '\t' {
		p.pos++
	}
}

// acceptNewline skips a line break and reports whether there was one.
func (p *parser) acceptNewline() bool {
	switch {
	case p.hasPrefix("\r\n"):
		p.pos += 2
	case p.peekByte() == '\n' || p.pos < len(p.text) && p.peekByte() == '\r':
		p.pos++
	default:
		return false
	}
	p.start = p.pos
	return true
}

// atComment reports whether a comment begins here: # or // at the beginning of a line or after
// white space.
func (p *parser) atComment() bool {
	if !p.hasPrefix("#") && !p.hasPrefix("//") {
		return false
	}
	return p.pos == 0 || strings.IndexByte(" \t\r\n{[,", p.text[p.pos-1]) >= 0
}

// skipSpace skips white space, line breaks and comments.
func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		p.skipBlanks()
		if p.atComment() {
			p.pos += protocol.LineLength(p.text[p.pos:])
		}
		if !p.acceptNewline() {
			return
		}
	}
}

// currentColumn returns the column of pos in bytes, from 0.
func (p *parser) currentColumn() int { return p.pos - p.start }

// parseBlock parses entries up to the end of the block. depth includes the block itself.
func (p *parser) parseBlock(b blockScope, depth int) ([]entry, error) {
	if depth > p.limits.Depth {
		return nil, p.problemAt(protocol.TooDeep, p.pos, "blocks nest deeper than %d levels", p.limits.Depth)
	}
	var items []entry
	for {
		p.skipSpace()
		for p.peekByte() == ',' || p.peekByte() == ';' {
			p.pos++
			p.skipSpace()
		}
		switch {
		case p.pos == len(p.text) && b.braces:
			return nil, p.errorAt(b.open, "this { is never closed")
		case p.pos == len(p.text):
			return items, nil
		case p.peekByte() == '}' && b.braces:
			p.pos++
			return items, nil
		case p.peekByte() == '}':
			return items, nil // the end of the parent block
		case !b.braces && !b.dashes && p.currentColumn() <= b.indent,
			b.dashes && p.currentColumn() < b.indent,
			b.dashes && p.currentColumn() == b.indent && !p.atDash():
			return items, nil
		case len(items) == p.limits.Members:
			return nil, p.problemAt(protocol.TooMany, p.pos, "a block has more than %d entries", p.limits.Members)
		}
		item, err := p.parseEntry(b, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// atDash reports whether a list entry begins here.
func (p *parser) atDash() bool {
	return p.hasPrefix("- ") || p.hasPrefix("-\t") || p.hasPrefix("-\n") || p.hasPrefix("-\r")
}

// parseEntry parses one entry.
func (p *parser) parseEntry(b blockScope, depth int) (entry, error) {
	item := entry{offset: p.pos}
	column := p.currentColumn()
	switch {
	case p.hasPrefix("..."):
		p.pos += 3
		item.omitted = true
		return item, nil
	case p.hasPrefix("…"):
		p.pos += len("…")
		item.omitted = true
		return item, nil
	case p.atDash():
		p.pos++
		return p.parseDashed(item, column, depth)
	case p.peekByte() == '[' || p.peekByte() == '{':
		v, err := p.parseValue(b, column, depth)
		item.value = v
		return item, err
	case p.peekByte() == '"' || p.peekByte() == '\'':
		text, err := p.parseQuoted()
		if err != nil {
			return item, err
		}
		item.name, item.quoted = text, true
	default:
		item.name = p.parseWord()
		if item.name == "" {
			r, _ := utf8.DecodeRune(p.text[p.pos:])
			return item, p.errorAt(p.pos, "%s cannot begin an entry", protocol.Quote(string(r)))
		}
	}
	return p.parseAfterName(item, b, column, depth)
}

// parseDashed parses a list entry after its dash: a block whose first entry is on the same line, or
// a text.
func (p *parser) parseDashed(item entry, column, depth int) (entry, error) {
	p.skipBlanks()
	item.offset = p.pos
	if p.atKey() {
		items, err := p.parseBlock(blockScope{indent: column}, depth+1)
		item.value = &entryValue{offset: item.offset, kind: blockValue, items: items}
		return item, err
	}
	if c := p.peekByte(); c == '[' || c == '{' {
		v, err := p.parseValue(blockScope{indent: column}, column, depth)
		item.value = v
		return item, err
	}
	if c := p.peekByte(); c == '"' || c == '\'' {
		text, err := p.parseQuoted()
		if err != nil {
			return item, err
		}
		item.name, item.quoted = text, true
		return item, p.expectEnd()
	}
	text := string(p.text[p.pos : p.pos+p.lengthBeforeComment()])
	p.pos += len(text)
	return p.splitAnnotation(item, text)
}

// atKey reports whether the line continues with a name and a colon.
func (p *parser) atKey() bool {
	at := *p
	if c := at.peekByte(); c == '"' || c == '\'' {
		if _, err := at.parseQuoted(); err != nil {
			return false
		}
	} else if at.parseWord() == "" {
		return false
	}
	at.skipBlanks()
	return at.atColon()
}

// atColon reports whether there is a colon here that separates a name from its value.
func (p *parser) atColon() bool {
	if p.peekByte() != ':' {
		return false
	}
	return p.pos+1 == len(p.text) || strings.IndexByte(" \t\r\n[{\"'", p.text[p.pos+1]) >= 0
}

// parseWord parses a name, up to a character that has a meaning in the notation.
func (p *parser) parseWord() string {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n,;{}[]()\"", p.text[p.pos]) < 0 && !p.atColon() {
		p.pos++
	}
	return string(p.text[begin:p.pos])
}

// parseAfterName parses what follows a name: a path, a value, a block, an annotation, more words,
// or nothing.
func (p *parser) parseAfterName(item entry, b blockScope, column, depth int) (entry, error) {
	p.skipBlanks()
	if p.peekByte() == '/' && !p.hasPrefix("//") {
		return p.parseEndpoint(item, depth)
	}
	if p.peekByte() == '(' {
		note, err := p.parseParentheses()
		if err != nil {
			return item, err
		}
		item.annotation = note
		p.skipBlanks()
	}
	switch c := p.peekByte(); {
	case p.atColon():
		p.pos++
		v, err := p.parseValue(b, column, depth)
		item.value = v
		return item, err
	case c == '{' || c == '[':
		v, err := p.parseValue(b, column, depth)
		item.value = v
		return item, err
	case c == 0 || strings.IndexByte(",;}\r\n", c) >= 0 || p.atComment():
		return item, nil
	case item.annotation != "" || item.quoted:
		return item, p.errorAt(p.pos, "a comma, a line break or the end of the block is missing here")
	}
	// More words: a text and not a name, such as "reservation_id string".
	text, err := p.parsePhrase()
	if err != nil {
		return item, err
	}
	if p.atColon() {
		return item, p.errorAt(item.offset, "the name %s contains white space; put it in quotes if that is meant", protocol.Quote(item.name+" "+text))
	}
	return p.splitAnnotation(item, item.name+" "+text)
}

// parsePhrase parses words and parentheses up to the end of the entry.
func (p *parser) parsePhrase() (string, error) {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(",;{}[]\r\n\"", p.text[p.pos]) < 0 && !p.atColon() && !p.atComment() {
		if p.peekByte() == '(' {
			if _, err := p.parseParentheses(); err != nil {
				return "", err
			}
			continue
		}
		p.pos++
	}
	return string(p.text[begin:p.pos]), nil
}

// splitAnnotation separates a text from the annotation in parentheses at its end.
func (p *parser) splitAnnotation(item entry, text string) (entry, error) {
	text = strings.Join(strings.Fields(text), " ")
	if inner, ok := strings.CutSuffix(text, ")"); ok {
		if open := strings.Index(inner, "("); open > 0 {
			item.name, item.annotation = strings.TrimSpace(inner[:open]), strings.TrimSpace(inner[open+1:])
			return item, nil
		}
	}
	item.name = text
	return item, nil
}

// parseParentheses parses an annotation, including nested parentheses.
func (p *parser) parseParentheses() (string, error) {
	begin, open := p.pos, 0
	for p.pos < len(p.text) {
		switch p.peekByte() {
		case '(':
			open++
		case ')':
			open--
		}
		if !p.acceptNewline() {
			p.pos++
		}
		if open == 0 {
			return strings.Join(strings.Fields(string(p.text[begin+1:p.pos-1])), " "), nil
		}
	}
	return "", p.errorAt(begin, "this ( is never closed")
}

// parseEndpoint parses the path and the block of an endpoint.
func (p *parser) parseEndpoint(item entry, depth int) (entry, error) {
	begin := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.peekByte()) < 0 {
		if p.peekByte() == '{' {
			if p.text[p.pos-1] != '/' {
				break // the block begins
			}
			end := bytes.IndexAny(p.text[p.pos:], "} \t\r\n")
			if end < 0 || p.text[p.pos+end] != '}' {
				return item, p.errorAt(p.pos, "this { of the path is never closed")
			}
			p.pos += end
		}
		p.pos++
	}
	item.path = strings.TrimSuffix(string(p.text[begin:p.pos]), ":")
	p.skipSpace()
	if p.peekByte() != '{' {
		return item, p.errorAt(p.pos, "a { is missing after %s", protocol.Quote(item.name+" "+item.path))
	}
	v, err := p.parseValue(blockScope{braces: true, open: p.pos}, 0, depth)
	item.value = v
	return item, err
}

// parseValue parses a value. b is the block that contains its name, column is the column of the
// name.
func (p *parser) parseValue(b blockScope, column, depth int) (*entryValue, error) {
	p.skipBlanks()
	v := &entryValue{offset: p.pos}
	var err error
	switch c := p.peekByte(); {
	case c == '{':
		inner := blockScope{braces: true, open: p.pos, line: p.start}
		p.pos++
		v.kind = blockValue
		v.items, err = p.parseBlock(inner, depth+1)
	case c == '[':
		at := *p
		v.kind = listValue
		v.items, err = p.parseList(depth + 1)
		if err == nil {
			p.skipBlanks()
			if p.hasPrefix("->") { // a state transition: [current] -> [current - amount]
				*p = at
				v.kind, v.items = textValue, nil
				v.text = p.parsePlain(b, column)
			}
		}
	case c == '"' || c == '\'':
		v.kind, v.quoted = textValue, true
		if v.text, err = p.parseQuoted(); err == nil {
			err = p.expectEnd()
		}
	case (c == '|' || c == '>') && p.atBlockScalar():
		v.kind, v.quoted = textValue, true
		v.text = p.parseBlockScalar(c == '>', column)
	case c == 0 || c == '\r' || c == '\n' || p.atComment():
		err = p.parseIndented(v, column, depth)
	case b.braces && (c == ',' || c == '}'):
	default:
		v.kind, v.text = textValue, p.parsePlain(b, column)
	}
	return v, err
}

// parseIndented parses the block below a name, if the next line is indented further. A list may
// begin in the column of its name, as in YAML.
func (p *parser) parseIndented(v *entryValue, column, depth int) error {
	p.skipSpace()
	v.offset = p.pos
	var err error
	switch {
	case p.pos == len(p.text) || p.peekByte() == '}':
		return nil
	case p.atDash() && p.currentColumn() >= column:
		v.kind = listValue
		v.items, err = p.parseBlock(blockScope{indent: p.currentColumn(), dashes: true}, depth+1)
	case p.currentColumn() > column && (p.peekByte() == '"' || p.peekByte() == '\'') && !p.atKey():
		v.kind, v.quoted = textValue, true
		if v.text, err = p.parseQuoted(); err == nil {
			err = p.expectEnd()
		}
	case p.currentColumn() > column:
		v.kind = blockValue
		v.items, err = p.parseBlock(blockScope{indent: column}, depth+1)
	}
	return err
}

// expectEnd checks that nothing but a separator follows a quoted text.
func (p *parser) expectEnd() error {
	p.skipBlanks()
	if c := p.peekByte(); p.pos == len(p.text) || strings.IndexByte(",;}]\r\n", c) >= 0 || p.atComment() {
		return nil
	}
	return p.errorAt(p.pos, "something follows the closing quote; a comma or a line break is missing, or a quote inside the text lacks its \\")
}

// parseList parses [a, b (note), "c"].
func (p *parser) parseList(depth int) ([]entry, error) {
	if depth > p.limits.Depth {
		return nil, p.problemAt(protocol.TooDeep, p.pos, "lists nest deeper than %d levels", p.limits.Depth)
	}
	open := p.pos
	p.pos++
	var items []entry
	for {
		p.skipSpace()
		switch {
		case p.pos == len(p.text):
			return nil, p.errorAt(open, "this [ is never closed")
		case p.peekByte() == ',':
			p.pos++
			continue
		case p.peekByte() == ']':
			p.pos++
			return items, nil
		case p.peekByte() == '}':
			return nil, p.errorAt(open, "this [ is not closed before the } of its block")
		case len(items) == p.limits.Members:
			return nil, p.problemAt(protocol.TooMany, p.pos, "a list has more than %d elements", p.limits.Members)
		}
		item, err := p.parseElement(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// parseElement parses one element of a list in brackets.
func (p *parser) parseElement(depth int) (entry, error) {
	item := entry{offset: p.pos}
	var err error
	switch c := p.peekByte(); {
	case p.hasPrefix("..."):
		p.pos += 3
		item.omitted = true
	case c == '[' || c == '{':
		item.value, err = p.parseValue(blockScope{braces: true, open: p.pos, line: p.start}, p.currentColumn(), depth)
	case c == '"' || c == '\'':
		item.quoted = true
		if item.name, err = p.parseQuoted(); err == nil {
			p.skipSpace()
			if c := p.peekByte(); c != ',' && c != ']' {
				err = p.errorAt(p.pos, "a comma or ] is missing here")
			}
		}
	default:
		begin := p.pos
		for p.pos < len(p.text) && strings.IndexByte(",[]{}\"", p.peekByte()) < 0 {
			if p.peekByte() == '(' {
				if _, err := p.parseParentheses(); err != nil {
					return item, err
				}
				continue
			}
			if !p.acceptNewline() {
				p.pos++
			}
		}
		if c := p.peekByte(); c == '[' || c == '{' || c == '"' {
			return item, p.errorAt(p.pos, "a comma is missing before this")
		}
		return p.splitAnnotation(item, string(p.text[begin:p.pos]))
	}
	return item, err
}
