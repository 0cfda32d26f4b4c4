package notation

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

// ListEndpoints converts endpoints from a mapping of "METHOD /path" to the canonical list (AGIS
// §8.1). Everything else keeps its place, comments included. It fails with [ErrNoMapForm] for
// endpoints in another form.
func ListEndpoints(text []byte, _ conversion.Options) (conversion.Output, error) {
	text, _ = protocol.TrimBOM(text)
	doc, _, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return conversion.Output{}, err
	}
	edits, err := MapForm(text, doc.Root)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("turn the endpoints into a list: %w", err)
	}
	out, err := protocol.ApplyEdits(text, edits)
	if err != nil {
		return conversion.Output{}, fmt.Errorf("turn the endpoints into a list: %w", err)
	}
	return conversion.Output{Text: out}, nil
}

// ErrNoMapForm means that the endpoints of a document are not a mapping.
var ErrNoMapForm = errors.New(`endpoints is not a mapping of "METHOD /path" to endpoints`)

// MapForm returns the edits that convert the endpoints of a document from a mapping of "METHOD
// /path" to a list. root is the tree of the text, which must not begin with a byte order mark. The
// error names the endpoint that prevents the conversion, with its line and column.
func MapForm(text []byte, root *protocol.Node) ([]protocol.Edit, error) {
	endpoints := root.Member("endpoints")
	if !tree.IsKind(endpoints, protocol.Object) || len(endpoints.Items) == 0 {
		return nil, ErrNoMapForm
	}
	if endpoints.End == 0 || endpoints.Offset >= len(text) {
		return nil, errors.New("the text uses YAML in a way that hides where the endpoints begin; write them plainly")
	}
	m := mapForm{text: text, newline: "\n", flow: text[endpoints.Offset] == '{'}
	if bytes.Contains(text, []byte("\r\n")) {
		m.newline = "\r\n"
	}
	for _, e := range endpoints.Items {
		if err := m.rewriteEndpoint(e); err != nil {
			return nil, fmt.Errorf("line %d, column %d: %w", e.KeyLine, e.KeyColumn, err)
		}
	}
	if m.flow {
		m.replaceRange(endpoints.Offset, endpoints.Offset+1, "[")
		m.replaceRange(endpoints.End-1, endpoints.End, "]")
	}
	out, err := protocol.ApplyEdits(text, m.edits)
	if err != nil {
		return nil, err
	}
	if !sameEndpoints(out, endpoints) {
		return nil, errors.New("the endpoints are written in a way that cannot be turned without touching the rest")
	}
	return m.edits, nil
}

type mapForm struct {
	text    []byte
	newline string
	flow    bool // the mapping is in braces
	edits   []protocol.Edit
}

func (m *mapForm) replaceRange(offset, end int, text string) {
	m.edits = append(m.edits, protocol.Edit{Offset: offset, End: end, Text: text})
}

// methodAndPath splits a key such as "BOOK /reservation".
func methodAndPath(key string) (method, path string, ok bool) {
	fields := strings.Fields(key)
	if len(fields) != 2 || strings.Contains(fields[0], "/") || !strings.HasPrefix(fields[1], "/") {
		return "", "", false
	}
	return fields[0], fields[1], true
}

// rewriteEndpoint adds the edits for one member of the mapping.
func (m *mapForm) rewriteEndpoint(e *protocol.Node) error {
	method, path, ok := methodAndPath(e.Key)
	switch {
	case !ok:
		return fmt.Errorf("the key %s is not of the form METHOD /path", protocol.Quote(e.Key))
	case e.Kind != protocol.Object && e.Kind != protocol.Null:
		return fmt.Errorf("the endpoint %s is not a mapping", protocol.Quote(e.Key))
	case e.Member("method") != nil || e.Member("path") != nil:
		return fmt.Errorf("the endpoint %s has a method or a path in addition to its key", protocol.Quote(e.Key))
	}
	colon := m.findColon(e)
	if colon < 0 {
		return fmt.Errorf("no plain colon follows the key %s", protocol.Quote(e.Key))
	}
	switch {
	case e.Kind == protocol.Object && e.Offset < len(m.text) && m.text[e.Offset] == '{':
		m.rewriteBraced(e, colon, method, path)
	case m.flow:
		m.replaceRange(e.KeyOffset, wordEnd(e, colon), "{"+m.writeMethodAndPath(method, path, " ")+"}")
	case e.Kind == protocol.Null:
		m.replaceRange(colon, wordEnd(e, colon), "")
		m.rewriteIndented(e, colon, e.KeyColumn+1, method, path)
	default:
		m.rewriteIndented(e, colon, e.Column-1, method, path)
	}
	return nil
}

// findColon returns the offset after the colon that follows a key, -1 if something else follows.
func (m *mapForm) findColon(e *protocol.Node) int {
	if e.KeyEnd == 0 || e.KeyEnd > len(m.text) || e.End == 0 && e.Kind == protocol.Object {
		return -1
	}
	i := e.KeyEnd
	for i < len(m.text) && (m.text[i] == ' ' || m.text[i] == '\t') {
		i++
	}
	if i == len(m.text) || m.text[i] != ':' {
		return -1
	}
	return i + 1
}

// wordEnd returns the end of a null that is written as a word, null or ~, and colon for one that is
// not written.
func wordEnd(e *protocol.Node, colon int) int {
	if e.End > e.Offset {
		return e.End
	}
	return colon
}

// writeMethodAndPath returns the two members as JSON, which is also YAML.
func (m *mapForm) writeMethodAndPath(method, path, space string) string {
	return `"method":` + space + conversion.QuoteJSON(method) + "," + space + `"path":` + space + conversion.QuoteJSON(path)
}

// rewriteBraced turns "KEY": { … } into {"method": …, "path": …, … }.
func (m *mapForm) rewriteBraced(e *protocol.Node, colon int, method, path string) {
	gap := string(m.text[colon:e.Offset])
	between := ""
	if len(e.Items) > 0 {
		between = string(m.text[e.Offset+1 : e.Items[0].KeyOffset])
	}
	space := ""
	if strings.HasPrefix(gap, " ") || strings.Contains(between, "\n") {
		space = " "
	}
	insert := m.writeMethodAndPath(method, path, space)
	switch {
	case len(e.Items) == 0:
	case strings.Contains(between, "\n") && strings.TrimSpace(between) == "":
		// One member on each line, like the others.
		insert = between + `"method": ` + conversion.QuoteJSON(method) + "," + between + `"path": ` + conversion.QuoteJSON(path) + ","
	default:
		insert += "," + space
	}
	m.replaceRange(e.Offset+1, e.Offset+1, insert)
	switch {
	case m.flow && strings.TrimSpace(gap) == "":
		m.replaceRange(e.KeyOffset, e.Offset, "")
	case m.flow:
		m.replaceRange(e.KeyOffset, colon, "") // keep the comment between key and value
	case strings.TrimSpace(gap) == "" && !strings.Contains(gap, "\n"):
		m.replaceRange(e.KeyOffset, e.Offset, "- ")
	default:
		m.replaceRange(e.KeyOffset, colon, "-")
	}
}

// rewriteIndented converts a key of a block mapping into an entry of a list. indent is the column
// of the endpoint's members, from 0.
func (m *mapForm) rewriteIndented(e *protocol.Node, colon, indent int, method, path string) {
	key := e.KeyColumn - 1
	if indent < key+2 { // the members stand to the right of the dash
		m.indentLines(colon, e.End, key+2-indent)
		indent = key + 2
	}
	m.replaceRange(e.KeyOffset, colon, "-"+strings.Repeat(" ", indent-key-1)+"method: "+plainYAML(method))
	end := colon + protocol.LineLength(m.text[colon:])
	m.replaceRange(end, end, m.newline+strings.Repeat(" ", indent)+"path: "+plainYAML(path))
}

// indentLines moves the lines between two offsets to the right.
func (m *mapForm) indentLines(offset, end, by int) {
	for {
		i := bytes.IndexByte(m.text[offset:end], '\n')
		if i < 0 {
			return
		}
		offset += i + 1
		if rest := m.text[offset:]; protocol.LineLength(rest) > 0 {
			m.replaceRange(offset, offset, strings.Repeat(" ", by))
		}
	}
}

var safeYAML = regexp.MustCompile(`\A(?:/[A-Za-z0-9/_{}-]*[A-Za-z0-9/_}-]|[A-Za-z]+)\z`)

// plainYAML returns a text for a line of YAML, without quotes where that is safe.
func plainYAML(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return conversion.QuoteJSON(s)
	}
	if safeYAML.MatchString(s) {
		return s
	}
	return conversion.QuoteJSON(s)
}

// sameEndpoints reports whether a text lists the same endpoints that the mapping had.
func sameEndpoints(text []byte, before *protocol.Node) bool {
	doc, _, err := agis.Parse(text, agis.Options{})
	if err != nil {
		return false
	}
	list := doc.Root.Member("endpoints")
	if !tree.IsKind(list, protocol.Array) || len(list.Items) != len(before.Items) {
		return false
	}
	for i, e := range before.Items {
		method, path, _ := methodAndPath(e.Key)
		now := list.Items[i]
		if len(now.Items) != len(e.Items)+2 || now.Items[0].Key != "method" || now.Items[0].Str() != method ||
			now.Items[1].Key != "path" || now.Items[1].Str() != path {
			return false
		}
		for j, m := range e.Items {
			if !equalTrees(m, now.Items[j+2]) {
				return false
			}
		}
	}
	return true
}

// equalTrees reports whether two values are equal, order included.
func equalTrees(a, b *protocol.Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text && a.Key == b.Key && slices.EqualFunc(a.Items, b.Items, equalTrees)
}
