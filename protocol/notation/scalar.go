package notation

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// parseQuoted parses a quoted text. In a text of several lines each line break with the white space
// around it counts as one space.
func (p *parser) parseQuoted() (string, error) {
	open, quote := p.pos, p.peekByte()
	p.pos++
	var b []byte
	for p.pos < len(p.text) {
		c := p.peekByte()
		switch {
		case c == quote && quote == '\'' && p.hasPrefix("''"):
			b = append(b, c)
			p.pos += 2
		case c == quote:
			p.pos++
			return string(b), nil
		case c == '\\' && quote == '"':
			r, err := p.parseEscape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		case c == '\n' || c == '\r':
			for p.acceptNewline() {
				p.skipBlanks()
			}
			b = bytes.TrimRight(b, " \t")
			if p.peekByte() != quote {
				b = append(b, ' ')
			}
		default:
			b = append(b, c)
			p.pos++
		}
	}
	return "", p.errorAt(open, "the text that begins with this quote is never closed")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// parseEscape parses a backslash escape, as in JSON.
func (p *parser) parseEscape() (rune, error) {
	at := p.pos
	p.pos++
	if r, ok := escapes[p.peekByte()]; ok {
		p.pos++
		return r, nil
	}
	if p.peekByte() == 'u' && p.pos+5 <= len(p.text) {
		code, err := strconv.ParseUint(string(p.text[p.pos+1:p.pos+5]), 16, 16)
		if err == nil && utf8.ValidRune(rune(code)) {
			p.pos += 5
			return rune(code), nil
		}
	}
	return 0, p.errorAt(at, `this is no escape; write \\ for a backslash`)
}

// lengthBeforeComment returns the number of bytes of the line before a comment.
func (p *parser) lengthBeforeComment() int {
	at := *p
	for at.pos < len(at.text) && at.peekByte() != '\n' && at.peekByte() != '\r' && !at.atComment() {
		at.pos++
	}
	return at.pos - p.pos
}

// parsePlain parses an unquoted text: the rest of its line and the following lines that are
// indented further and are not entries.
func (p *parser) parsePlain(b blockScope, column int) string {
	var lines []string
	for {
		lines = append(lines, p.parsePlainLine(b))
		at := *p
		if !p.acceptNewline() {
			break
		}
		p.skipBlanks()
		if c := p.peekByte(); p.pos == len(p.text) || strings.IndexByte("}]{[\r\n\"'", c) >= 0 || p.atComment() ||
			p.currentColumn() <= column || p.atDash() || p.hasPrefix("...") || p.atKey() || p.atBlockOrEndpoint() {
			*p = at
			break
		}
	}
	return strings.Join(lines, " ")
}

// atBlockOrEndpoint reports whether the line continues with a name and a block, or with an
// endpoint.
func (p *parser) atBlockOrEndpoint() bool {
	at := *p
	if at.parseWord() == "" {
		return false
	}
	at.skipBlanks()
	return at.peekByte() == '{' || at.peekByte() == '/' && !at.hasPrefix("//")
}

// parsePlainLine parses one line of an unquoted text. A comma ends it in a block whose brace is on
// the same line.
func (p *parser) parsePlainLine(b blockScope) string {
	begin, open := p.pos, 0
	flow := b.braces && b.line == p.start
scan:
	for p.pos < len(p.text) && !p.atComment() {
		switch c := p.peekByte(); c {
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

// atBlockScalar reports whether the line ends with the sign of a YAML block scalar: | or >, with an
// optional - or +.
func (p *parser) atBlockScalar() bool {
	at := *p
	at.pos++
	if c := at.peekByte(); c == '-' || c == '+' {
		at.pos++
	}
	at.skipBlanks()
	return at.peekByte() == '\n' || at.peekByte() == '\r' || at.atComment()
}

// parseBlockScalar parses the following lines that are indented further than column.
func (p *parser) parseBlockScalar(folded bool, column int) string {
	p.pos += protocol.LineLength(p.text[p.pos:])
	var lines []string
	for {
		at := *p
		if !p.acceptNewline() {
			break
		}
		p.skipBlanks()
		empty := p.pos < len(p.text) && (p.peekByte() == '\n' || p.peekByte() == '\r')
		if !empty && p.currentColumn() <= column || p.pos == len(p.text) {
			*p = at
			break
		}
		end := p.pos + protocol.LineLength(p.text[p.pos:])
		lines = append(lines, strings.TrimRight(string(p.text[p.pos:end]), " \t"))
		p.pos = end
	}
	separator := "\n"
	if folded {
		separator = " "
	}
	return strings.TrimRight(strings.Join(lines, separator), " \n")
}
