package yaml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"gazetteer/protocol"
)

// places computes the places of values in a text. The parser reports the line and column at which a
// value begins, but neither its byte offset nor its end.
type places struct {
	text  []byte
	lines []int // where each line begins

	// The last place found, from which the next search continues.
	lastLine, lastColumn, lastOffset int
}

// newPlaces returns the places of a text, whose lines end at any of YAML's line breaks.
func newPlaces(text []byte) *places {
	p := &places{text: text, lines: []int{0}}
	for i, r := range string(text) {
		if isLineBreak(r) && !bytes.HasPrefix(text[i:], []byte("\r\n")) {
			p.lines = append(p.lines, i+utf8.RuneLen(r))
		}
	}
	return p
}

func isLineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

func isWhite(r rune) bool { return r == ' ' || r == '\t' || isLineBreak(r) }

// offset returns the byte offset of a line and column. Places mostly come in ascending order, so it
// continues from the last one.
func (p *places) offset(line, column int) int {
	if line > len(p.lines) {
		return len(p.text)
	}
	if p.lastLine != line || p.lastColumn > column {
		p.lastLine, p.lastColumn, p.lastOffset = line, 1, p.lines[line-1]
	}
	for p.lastColumn < column && p.lastOffset < len(p.text) {
		_, size := utf8.DecodeRune(p.text[p.lastOffset:])
		p.lastOffset += size
		p.lastColumn++
	}
	return p.lastOffset
}

// place returns the line and column of an offset.
func (p *places) place(offset int) (line, column int) {
	line, found := slices.BinarySearch(p.lines, offset)
	if found {
		line++
	}
	return line, utf8.RuneCount(p.text[p.lines[line-1]:offset]) + 1
}

// locate sets the place of n to where the content of y begins, after its anchor and tag, and the
// end of a scalar. A value whose content begins on a later line than its anchor or tag gets no
// extent.
func (p *places) locate(y *yaml.Node, n *protocol.Node) {
	if y.Line > len(p.lines) { // a value that is absent stands behind the end of the text
		n.Line = len(p.lines)
		n.Column = utf8.RuneCount(p.text[p.lines[n.Line-1]:]) + 1
		n.Offset, n.End = len(p.text), len(p.text)
		return
	}
	from := p.offset(y.Line, y.Column)
	if y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 {
		behind := skipProperties(p.text, from)
		n.Column += utf8.RuneCount(p.text[from:behind])
		if from = behind; from < len(p.text) && strings.IndexByte("#\r\n", p.text[from]) >= 0 {
			return
		}
	}
	n.Offset = from
	if y.Kind != yaml.ScalarNode {
		return
	}
	rest := p.text[from:]
	length := -1
	switch {
	case y.Style&yaml.SingleQuotedStyle != 0:
		length = singleQuotedLength(rest)
	case y.Style&yaml.DoubleQuotedStyle != 0:
		length = doubleQuotedLength(rest)
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		length = foldedLength(rest, lineLength(rest), y.Value)
	default:
		length = foldedLength(rest, 0, y.Value)
	}
	if length < 0 {
		n.Offset = 0
		return
	}
	n.End = from + length
}

// skipProperties returns the offset after the anchor and the tag at from, and the spaces after
// them.
func skipProperties(text []byte, from int) int {
	for from < len(text) && (text[from] == '&' || text[from] == '!') {
		for from < len(text) && !isWhite(rune(text[from])) {
			from++
		}
		for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
			from++
		}
	}
	return from
}

// lineLength returns the number of bytes before the next line break.
func lineLength(text []byte) int {
	if i := bytes.IndexFunc(text, isLineBreak); i >= 0 {
		return i
	}
	return len(text)
}

// singleQuotedLength returns the length of the quoted scalar that text begins
// with, -1 for none.
func singleQuotedLength(text []byte) int {
	if len(text) == 0 || text[0] != '\'' {
		return -1
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i++; i == len(text) || text[i] != '\'' {
			return i
		}
	}
	return -1
}

// doubleQuotedLength returns the length of the quoted scalar that text begins
// with, -1 for none.
func doubleQuotedLength(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return -1
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// foldedLength returns the length of the text from an offset on that represents value. The two may
// differ in white space, because YAML folds and indents lines. It returns -1 if they differ in
// anything else.
func foldedLength(text []byte, from int, value string) int {
	end := from
	for word := range strings.FieldsFuncSeq(value, isWhite) {
		rest := bytes.TrimLeftFunc(text[end:], isWhite)
		if !bytes.HasPrefix(rest, []byte(word)) {
			return -1
		}
		end = len(text) - len(rest) + len(word)
	}
	return end
}

// enclose sets the end of a collection: the end of its last value, or its closing bracket. If the
// end of the last value is unknown, the collection gets no extent.
func (p *places) enclose(y *yaml.Node, n *protocol.Node) {
	end := n.Offset
	if len(n.Items) > 0 {
		end = n.Items[len(n.Items)-1].End
	}
	if y.Style&yaml.FlowStyle != 0 && end > 0 || len(n.Items) == 0 {
		if len(n.Items) == 0 {
			end++ // the opening bracket
		}
		end = closingBracket(p.text, end)
	}
	if end == 0 || n.Offset == 0 && (y.Anchor != "" || y.Style&yaml.TaggedStyle != 0) {
		n.Offset, n.End = 0, 0
		return
	}
	n.End = end
}

// closingBracket returns the offset after the closing bracket that follows separators and comments,
// 0 if something else follows.
func closingBracket(text []byte, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '#':
			at += lineLength(text[at:])
		case c == ']' || c == '}':
			return at + 1
		case slices.Contains([]byte(" \t\r\n,:"), c):
			at++
		default:
			return 0
		}
	}
	return 0
}
