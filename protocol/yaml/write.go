package yaml

import (
	"fmt"
	"strings"

	"gazetteer/protocol"
)

// Write writes a tree as YAML in block style: the same members in the same order, numbers with
// their literals. [Read] returns the same tree. Strings are plain if every reader takes them for
// strings, including readers of older YAML that read yes and no as booleans and 12:30 as a time;
// otherwise they are quoted. Text of several lines is written as a literal block if possible.
func Write(n *protocol.Node) []byte {
	w := &writer{}
	w.writeValue(n, 0, true)
	return w.out
}

type writer struct{ out []byte }

// maxSimpleKey is the longest key in bytes that is written without a question mark before it. The
// parser allows 1,024 characters.
const maxSimpleKey = 1000

// writeValue writes the value after a dash or a colon, or at the top of the document (top), and
// ends the line. level is the nesting of the value's own items.
func (w *writer) writeValue(n *protocol.Node, level int, top bool) {
	switch {
	case n.Kind == protocol.Object && len(n.Items) > 0:
		w.endKeyLine(top)
		for _, m := range n.Items {
			w.writeIndent(level)
			w.writeMember(m, level)
		}
	case n.Kind == protocol.Array && len(n.Items) > 0:
		w.endKeyLine(top)
		for _, item := range n.Items {
			w.writeIndent(level)
			w.writeEntry(item, level)
		}
	default:
		if !top {
			w.out = append(w.out, ' ')
		}
		w.writeScalar(n, level)
		w.out = append(w.out, '\n')
	}
}

// endKeyLine ends the line of a key whose collection follows.
func (w *writer) endKeyLine(top bool) {
	if !top {
		w.out = append(w.out, '\n')
	}
}

func (w *writer) writeIndent(level int) {
	for range level {
		w.out = append(w.out, ' ', ' ')
	}
}

func (w *writer) writeMember(m *protocol.Node, level int) {
	key := m.Key
	if !plainSafe(key) {
		key = doubleQuoted(key)
	}
	if len(key) > maxSimpleKey { // YAML asks for a mark before a key this long (YAML 1.2 §7.4)
		w.out = append(w.out, "? "+key+"\n"...)
		w.writeIndent(level)
		key = ""
	}
	w.out = append(w.out, key...)
	w.out = append(w.out, ':')
	w.writeValue(m, level+1, false)
}

// writeEntry writes an element of a sequence. Its first line follows the dash.
func (w *writer) writeEntry(n *protocol.Node, level int) {
	w.out = append(w.out, '-')
	if n.Kind != protocol.Object && n.Kind != protocol.Array || len(n.Items) == 0 {
		w.writeValue(n, level+1, false)
		return
	}
	w.out = append(w.out, ' ')
	for i, item := range n.Items {
		if i > 0 {
			w.writeIndent(level + 1)
		}
		if n.Kind == protocol.Object {
			w.writeMember(item, level+1)
		} else {
			w.writeEntry(item, level+1)
		}
	}
}

func (w *writer) writeScalar(n *protocol.Node, level int) {
	switch n.Kind {
	case protocol.Null:
		w.out = append(w.out, "null"...)
	case protocol.Bool, protocol.Number:
		w.out = append(w.out, n.Text...)
	case protocol.Array:
		w.out = append(w.out, "[]"...)
	case protocol.Object:
		w.out = append(w.out, "{}"...)
	case protocol.String:
		switch {
		case plainSafe(n.Text):
			w.out = append(w.out, n.Text...)
		case literalSafe(n.Text):
			w.writeLiteral(n.Text, level)
		default:
			w.out = append(w.out, doubleQuoted(n.Text)...)
		}
	}
}

// writeLiteral writes text of several lines as a literal block. The caller writes the last line
// feed.
func (w *writer) writeLiteral(s string, level int) {
	body, ended := strings.CutSuffix(s, "\n")
	w.out = append(w.out, '|')
	if !ended {
		w.out = append(w.out, '-')
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.out = append(w.out, '\n')
		if line != "" {
			w.writeIndent(max(level, 1))
			w.out = append(w.out, line...)
		}
	}
}

// literalSafe reports whether a string can be written as a literal block: several lines of
// printable characters that neither begin nor end with a space.
func literalSafe(s string) bool {
	body, _ := strings.CutSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasPrefix(body, "\n") || strings.HasSuffix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasSuffix(line, " ") || !isPrintableLine(line) {
			return false
		}
	}
	return true
}

// isPrintableLine reports whether neither YAML nor an editor can misread a line.
func isPrintableLine(line string) bool {
	return !strings.ContainsFunc(line, isUnprintable)
}

func isUnprintable(r rune) bool {
	return r < 0x20 || r >= 0x7F && r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF ||
		r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0xFFFE || r == 0xFFFF
}

// olderWords are words that YAML 1.1 reads as booleans.
var olderWords = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true}

// plainSafe reports whether a string can be written without quotes. It begins with a letter, a
// slash or an underscore, so it is not a number, a time or an indicator.
func plainSafe(s string) bool {
	if s == "" || len(s) > maxSimpleKey || !isPlainText(s) || olderWords[strings.ToLower(s)] || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") {
		return false
	}
	first := s[0]
	letter := first|0x20 >= 'a' && first|0x20 <= 'z'
	if !letter && first < 0x80 && first != '/' && first != '_' {
		return false
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #") && isPrintableLine(s)
}

// doubleQuoted writes any string in one line.
func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case isUnprintable(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case isUnprintable(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPlainText reports whether a plain scalar is read as a string.
func isPlainText(s string) bool {
	kind, _ := resolvePlain(s)
	return kind == protocol.String
}
