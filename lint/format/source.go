package format

import (
	"sort"
	"strings"
	"unicode/utf8"

	"gazetteer/lint"
	"gazetteer/protocol"
)

// source is a text with its lines and the extents of its values.
type source struct {
	text   []byte
	starts []int // byte offset of each line
	nodes  map[string]*protocol.Node
}

func newSource(text []byte) *source {
	text, _ = protocol.TrimBOM(text)
	root, yaml, _ := lint.Tree(text)
	s := &source{text: text, starts: lineStarts(text, yaml), nodes: map[string]*protocol.Node{}}
	s.indexNodes(root)
	return s
}

func (s *source) indexNodes(n *protocol.Node) {
	if n == nil {
		return
	}
	s.nodes[n.Pointer] = n
	for _, item := range n.Items {
		s.indexNodes(item)
	}
}

// lineStarts counts lines as the readers do: JSON by line feeds, YAML by all its
// line breaks.
func lineStarts(text []byte, yaml bool) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			starts = append(starts, i+1)
		case yaml && text[i] == '\r' && (i+1 >= len(text) || text[i+1] != '\n'):
			starts = append(starts, i+1)
		case yaml && text[i] >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[i:])
			i += size - 1
			if r == 0x85 || r == 0x2028 || r == 0x2029 {
				starts = append(starts, i+1)
			}
		}
	}
	return starts
}

// lineBounds returns where line n begins and ends, without its line break.
func (s *source) lineBounds(n int) (start, end int, ok bool) {
	if n < 1 || n > len(s.starts) {
		return 0, 0, false
	}
	start, end = s.starts[n-1], len(s.text)
	if n < len(s.starts) {
		end = s.starts[n]
	}
	for end > start && (s.text[end-1] == '\n' || s.text[end-1] == '\r') {
		end--
	}
	return start, end, true
}

// placeOf returns the line and column of an offset.
func (s *source) placeOf(offset int) (line, column int) {
	line = sort.SearchInts(s.starts, offset+1)
	return line, utf8.RuneCount(s.text[s.starts[line-1]:offset]) + 1
}

// findingExtent returns the bytes that a finding is about, and false for a finding without a place
// or with one outside the text.
func (s *source) findingExtent(f protocol.Finding) (start, end int, ok bool) {
	lineStart, lineEnd, ok := s.lineBounds(f.Line)
	if !ok {
		return 0, 0, false
	}
	if n := s.nodes[f.Pointer]; n != nil {
		key := n.KeyLine == f.Line && n.KeyColumn == f.Column
		value := n.Line == f.Line && n.Column == f.Column
		switch {
		case value && n.End > n.Offset:
			return n.Offset, n.End, true
		case key && n.KeyEnd > n.KeyOffset:
			return n.KeyOffset, n.KeyEnd, true
		}
	}
	start = lineStart
	for range max(f.Column, 1) - 1 {
		if start >= lineEnd {
			break
		}
		_, size := utf8.DecodeRune(s.text[start:])
		start += size
	}
	return start, s.tokenEnd(start, lineEnd), true
}

// tokenEnd guesses where the token at start ends, for readers that do not report it.
func (s *source) tokenEnd(start, lineEnd int) int {
	if start >= lineEnd {
		return start
	}
	rest := string(s.text[start:lineEnd])
	if quote := rest[0]; quote == '"' || quote == '\'' {
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && quote == '"':
				i++
			case rest[i] == quote:
				return start + i + 1
			}
		}
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) }); i > 0 {
		return start + i
	} else if i < 0 {
		return lineEnd
	}
	_, size := utf8.DecodeRuneInString(rest)
	return start + size
}

func wordRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == '/' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf && !Hidden(r)
}
