package conversion

import (
	"bytes"
	"fmt"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/wording"
	"gazetteer/protocol/yaml"
)

// ReviewMark begins each YAML comment about a guess.
const ReviewMark = "# REVIEW: "

const (
	// maxMark and maxDocumentMark limit the text of one comment, in characters: about one place and
	// about the whole document.
	maxMark, maxDocumentMark = 160, 600
	// markWidth is the column at which comments wrap.
	markWidth = 120
)

// WriteDocument writes a tree as "yaml" or "json"; "" means YAML. In YAML each review becomes a
// comment above its place. JSON has no comments, so its reviews are in [Output] only.
func WriteDocument(root *protocol.Node, reviews []Review, format string) ([]byte, error) {
	switch format {
	case "json":
		return append(protocol.WriteJSON(root, "  "), '\n'), nil
	case "yaml", "":
		return markReviews(yaml.Write(root), reviews)
	default:
		return nil, fmt.Errorf("unknown format %s: use yaml or json", protocol.Quote(format))
	}
}

// markReviews inserts a comment for each review into a YAML text.
func markReviews(text []byte, reviews []Review) ([]byte, error) {
	if len(reviews) == 0 {
		return text, nil
	}
	const depth = 1 << 10 // long keys that nest deeply have pointers of many times the text
	root, err := yaml.Read(text, protocol.Limits{Bytes: depth * (len(text) + 1), Depth: depth, Members: 1 << 20, Number: 1 << 10})
	if err != nil {
		return nil, fmt.Errorf("read back the YAML just written: %w", err)
	}
	lines := map[string]int{}
	lineOf(root, lines)
	marks := map[int][]string{} // by line, from 1
	for _, r := range reviews {
		line := max(lines[r.Pointer], 1)
		most := maxMark
		if r.Pointer == "" {
			most = maxDocumentMark
		}
		marks[line] = append(marks[line], wording.Shorten(wording.OneLine(r.Message), most))
	}
	var out bytes.Buffer
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " "))]
		for _, message := range marks[i+1] {
			writeMark(&out, indent, message)
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

// writeMark writes one comment, wrapped.
func writeMark(out *bytes.Buffer, indent []byte, message string) {
	out.Write(indent)
	out.WriteString(ReviewMark)
	width := 0
	for i, word := range strings.Split(message, " ") {
		switch {
		case i > 0 && width+len(word) > markWidth:
			out.WriteByte('\n')
			out.Write(indent)
			out.WriteString("#   ")
			width = 0
		case i > 0:
			out.WriteByte(' ')
		}
		out.WriteString(word)
		width += len(word) + 1
	}
	out.WriteByte('\n')
}

// lineOf records the line on which each member or element begins.
func lineOf(n *protocol.Node, lines map[string]int) {
	lines[n.Pointer] = n.Line
	if n.KeyLine > 0 {
		lines[n.Pointer] = n.KeyLine
	}
	for _, item := range n.Items {
		lineOf(item, lines)
	}
}
