package repair

import (
	"bytes"
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// The functions below return edits to the text of a node. They return none if the extent of the
// node is unknown or the text around it is not as expected.

// replaceLiteral replaces the text of a value.
func (r *reading) replaceLiteral(n *protocol.Node, literal string) []protocol.Edit {
	if n.End == 0 || n.End > len(r.body) || n.Offset >= n.End {
		return nil
	}
	return []protocol.Edit{{Offset: n.Offset, End: n.End, Text: literal}}
}

// plainWord matches words that need no quotes anywhere in YAML.
var plainWord = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9_-]*\z`)

// replaceText replaces a string and keeps its quotes.
func (r *reading) replaceText(n *protocol.Node, text string) []protocol.Edit {
	if n.Kind != protocol.String || text == n.Text || n.End == 0 || n.Offset >= len(r.body) {
		return nil
	}
	switch c := r.body[n.Offset]; {
	case c == '|' || c == '>':
		return nil // a block scalar
	default:
		return r.replaceLiteral(n, quoteLike(c, text))
	}
}

// quoteLike returns a text with the same quotes as the text that it replaces, which begins with the
// byte like.
func quoteLike(like byte, text string) string {
	switch {
	case like == '\'' && !strings.ContainsAny(text, "\r\n"):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case like == '"' || like == '\'' || !plainWord.MatchString(text) || reserved[strings.ToLower(text)]:
		return quoteJSON(text)
	}
	return text
}

// reserved lists words that some YAML reader does not take for text.
var reserved = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// parentOf returns the parent of n.
func (r *reading) parentOf(n *protocol.Node) *protocol.Node {
	i := strings.LastIndexByte(n.Pointer, '/')
	if i < 0 {
		return nil
	}
	return r.nodeAt(n.Pointer[:i])
}

// removeElement removes an element that repeats an earlier one of its list and adds nothing.
func removeElement(r *reading, n *protocol.Node) []protocol.Edit {
	list := r.parentOf(n)
	if list == nil || list.Kind != protocol.Array || list.End == 0 || list.Offset >= len(r.body) || n.Kind != protocol.String || n.End == 0 {
		return nil
	}
	i := 0
	for i < len(list.Items) && list.Items[i] != n {
		i++
	}
	if i == 0 || i == len(list.Items) {
		return nil
	}
	if r.body[list.Offset] != '[' {
		return r.removeLine(n)
	}
	previous := list.Items[i-1]
	if previous.End == 0 || previous.End > n.Offset || bytes.ContainsRune(r.body[previous.End:n.Offset], '#') {
		return nil
	}
	return []protocol.Edit{{Offset: previous.End, End: n.End}}
}

// removeLine removes a list entry that has its lines to itself.
func (r *reading) removeLine(n *protocol.Node) []protocol.Edit {
	start := bytes.LastIndexByte(r.body[:n.Offset], '\n') + 1
	if strings.TrimSpace(string(r.body[start:n.Offset])) != "-" {
		return nil
	}
	end := n.End + protocol.LineLength(r.body[n.End:])
	if rest := strings.TrimSpace(string(r.body[n.End:end])); rest != "" && rest[0] != '#' {
		return nil
	}
	switch {
	case bytes.HasPrefix(r.body[end:], []byte("\r\n")):
		end += 2
	case end < len(r.body):
		end++
	default: // the last line has no line break: remove the one before it
		start = len(bytes.TrimRight(r.body[:start], "\r\n"))
	}
	return []protocol.Edit{{Offset: start, End: end}}
}

// addElement appends a word to a list of words, in the form of the word before it.
func (r *reading) addElement(list *protocol.Node, word string) []protocol.Edit {
	if list.End == 0 || list.End > len(r.body) || list.Offset >= list.End {
		return nil
	}
	flow := r.body[list.Offset] == '['
	if len(list.Items) == 0 {
		if !flow {
			return nil
		}
		return insertAt(list.Offset+1, quoteLike('"', word))
	}
	last := list.Items[len(list.Items)-1]
	if last.End == 0 || last.Kind != protocol.String {
		return nil
	}
	text := quoteLike(r.body[last.Offset], word)
	if flow {
		return insertAt(last.End, r.separatorOf(list)+text)
	}
	start := bytes.LastIndexByte(r.body[:last.Offset], '\n') + 1
	before := string(r.body[start:last.Offset]) // indentation, dash, space
	if strings.TrimSpace(before) != "-" {
		return nil
	}
	end := last.End + protocol.LineLength(r.body[last.End:])
	newline := "\n"
	if bytes.HasPrefix(r.body[end:], []byte("\r\n")) {
		newline = "\r\n"
	}
	return insertAt(end, newline+before+text)
}

// addMember inserts a list of words as the first member of an object.
func (r *reading) addMember(object *protocol.Node, name string, words []string) []protocol.Edit {
	if object.End == 0 || object.Offset >= len(r.body) || len(object.Items) == 0 || object.Items[0].KeyEnd == 0 {
		return nil
	}
	first := object.Items[0].KeyOffset
	start := bytes.LastIndexByte(r.body[:first], '\n') + 1
	lead := string(r.body[start:first])
	var plain, quoted []string
	for _, w := range words {
		plain, quoted = append(plain, quoteLike(0, w)), append(quoted, quoteJSON(w))
	}
	switch {
	case r.body[object.Offset] != '{' && strings.TrimSpace(lead) == "":
		newline := "\n"
		if start > 1 && r.body[start-2] == '\r' {
			newline = "\r\n"
		}
		return insertAt(first, name+": ["+strings.Join(plain, ", ")+"]"+newline+lead)
	case r.body[object.Offset] != '{':
		return nil
	case strings.TrimSpace(lead) == "" && start > 0: // one member a line
		return insertAt(first, quoteJSON(name)+": ["+strings.Join(quoted, ", ")+"],\n"+lead)
	default:
		return insertAt(first, quoteJSON(name)+": ["+strings.Join(quoted, ", ")+"], ")
	}
}

func insertAt(offset int, text string) []protocol.Edit {
	return []protocol.Edit{{Offset: offset, End: offset, Text: text}}
}

// separatorOf returns the text between the elements of a list in brackets.
func (r *reading) separatorOf(list *protocol.Node) string {
	last := list.Items[len(list.Items)-1]
	if len(list.Items) == 1 {
		if lead := string(r.body[list.Offset+1 : last.Offset]); strings.TrimSpace(lead) == "" && strings.Contains(lead, "\n") {
			return "," + lead
		}
		return ", "
	}
	between := string(r.body[list.Items[len(list.Items)-2].End:last.Offset])
	if strings.TrimSpace(between) != "," {
		return ", " // a comment separates them
	}
	return between
}
