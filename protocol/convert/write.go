package convert

import (
	"bytes"
	"fmt"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// reviewMark begins each comment about something that was guessed.
const reviewMark = "# REVIEW: "

// maxMark is how long the text of one comment may be, in characters.
const maxMark = 160

// writeDocument writes a tree in the format asked for, "" meaning YAML. In YAML
// each review becomes a comment on the line above what it is about; JSON has no
// comments, there the reviews stand in [Output] only.
func writeDocument(root *protocol.Node, reviews []Review, format string) ([]byte, error) {
	switch format {
	case "json":
		return append(protocol.WriteJSON(root, "  "), '\n'), nil
	case "yaml", "":
		return markReviews(agis.WriteYAML(root), reviews)
	default:
		return nil, fmt.Errorf("there is no format %s: use yaml or json", protocol.Quote(format))
	}
}

// markReviews puts a comment for each review into a YAML text.
func markReviews(text []byte, reviews []Review) ([]byte, error) {
	if len(reviews) == 0 {
		return text, nil
	}
	root, err := agis.ReadYAML(text, protocol.Limits{Bytes: len(text) + 1, Depth: 1 << 10, Members: 1 << 20, Number: 1 << 10})
	if err != nil {
		return nil, fmt.Errorf("read back the YAML just written: %w", err)
	}
	lines := map[string]int{}
	lineOf(root, lines)
	marks := map[int][]string{} // by line, from 1
	for _, r := range reviews {
		line := max(lines[r.Pointer], 1)
		marks[line] = append(marks[line], r.Message)
	}
	var out bytes.Buffer
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " "))]
		for _, message := range marks[i+1] {
			out.Write(indent)
			out.WriteString(reviewMark)
			out.WriteString(cutWords(oneLine(message), maxMark))
			out.WriteByte('\n')
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

// lineOf notes the line on which each member or element begins.
func lineOf(n *protocol.Node, lines map[string]int) {
	lines[n.Pointer] = n.Line
	if n.KeyLine > 0 {
		lines[n.Pointer] = n.KeyLine
	}
	for _, item := range n.Items {
		lineOf(item, lines)
	}
}
