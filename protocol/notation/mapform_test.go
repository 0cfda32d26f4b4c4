package notation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/yaml"
)

// validAGIS returns the valid vectors of AGIS by file name.
func validAGIS(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../agis/testdata/valid/*")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = text
	}
	if len(texts) < 27 {
		t.Fatalf("only %d valid documents found", len(texts))
	}
	return texts
}

// asMap returns the tree with the endpoints in map form, nil when two of them
// would have the same key.
func asMap(root *protocol.Node) *protocol.Node {
	out := tree.Clone(root)
	endpoints := out.Member("endpoints")
	endpoints.Kind = protocol.Object
	seen := map[string]bool{}
	for _, e := range endpoints.Items {
		e.Key = e.Member("method").Str() + " " + e.Member("path").Str()
		if seen[e.Key] {
			return nil
		}
		seen[e.Key] = true
		var rest []*protocol.Node
		for _, m := range e.Items {
			if m.Key != "method" && m.Key != "path" {
				rest = append(rest, m)
			}
		}
		e.Items = rest
	}
	return out
}

// TestMapFormRoundTrip checks that every valid document is the same after it is converted to the
// map form and back.
func TestMapFormRoundTrip(t *testing.T) {
	turned := 0
	for name, text := range validAGIS(t) {
		doc, _, err := agis.Parse(text, agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tree := asMap(doc.Root)
		if tree == nil {
			continue
		}
		turned++
		for form, text := range map[string][]byte{
			"compact JSON": protocol.WriteJSON(tree, ""), "JSON": protocol.WriteJSON(tree, "  "),
			"YAML": yaml.Write(tree), "deep YAML": deeper(yaml.Write(tree)), "shallow YAML": shallower(yaml.Write(tree)),
			"YAML with CRLF": bytes.ReplaceAll(yaml.Write(tree), []byte("\n"), []byte("\r\n")),
		} {
			out, err := ListEndpoints(text, conversion.Options{})
			if err != nil {
				t.Errorf("%s as %s: %v\n%s", name, form, err, text)
				continue
			}
			again, _, err := agis.Parse(out.Text, agis.Options{})
			if err != nil {
				t.Errorf("%s as %s: %v\n%s", name, form, err, out.Text)
				continue
			}
			for _, e := range doc.Root.Member("endpoints").Items {
				first(e, "path")
				first(e, "method")
			}
			if !equalTrees(doc.Root, again.Root) {
				t.Errorf("%s as %s says something else:\n%s", name, form, out.Text)
			}
			if bytes.Contains(text, []byte("\r")) && bytes.Count(out.Text, []byte("\n")) != bytes.Count(out.Text, []byte("\r\n")) {
				t.Errorf("%s as %s mixes line endings", name, form)
			}
		}
	}
	if turned < 25 {
		t.Errorf("only %d documents could be turned", turned)
	}
}

// first moves a member to the front.
func first(n *protocol.Node, name string) {
	for i, m := range n.Items {
		if m.Key == name {
			n.Items = append([]*protocol.Node{m}, append(n.Items[:i:i], n.Items[i+1:]...)...)
			return
		}
	}
}

// deeper doubles the indentation of a text, shallower halves it.
func deeper(text []byte) []byte { return reindent(text, func(n int) int { return 2 * n }) }

func shallower(text []byte) []byte { return reindent(text, func(n int) int { return (n + 1) / 2 }) }

func reindent(text []byte, f func(int) int) []byte {
	var out []byte
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		rest := bytes.TrimLeft(line, " ")
		if bytes.HasPrefix(rest, []byte("- ")) && (f(2) == 1 || bytes.Contains(rest, []byte(": "))) {
			return text // what stands behind a dash cannot be moved so simply
		}
		out = append(append(out, bytes.Repeat([]byte(" "), f(len(line)-len(rest)))...), rest...)
	}
	return out
}

func TestMapFormKeepsOtherMembers(t *testing.T) {
	const before = `# who we are
agis: "1.0"
endpoints:   # all of them
  # the first
  "BOOK /table": # books
     # what it means
     semantic: {intent: "Books a table", actor: agent, outcome: Booked}   # one line
     errors:
     - table_taken

  FIND /table/{id}: {input: {type: object}, # in braces
    output: {}}
  CANCEL /table: ~
  true /x:
service: x # the end
`
	const after = `# who we are
agis: "1.0"
endpoints:   # all of them
  # the first
  -  method: BOOK # books
     path: /table
     # what it means
     semantic: {intent: "Books a table", actor: agent, outcome: Booked}   # one line
     errors:
     - table_taken

  - {"method": "FIND", "path": "/table/{id}", input: {type: object}, # in braces
    output: {}}
  - method: CANCEL
    path: /table
  - method: "true"
    path: /x
service: x # the end
`
	out, err := ListEndpoints([]byte(before), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if string(out.Text) != after {
		t.Errorf("got\n%s\nwant\n%s", out.Text, after)
	}
	if _, err := ListEndpoints(out.Text, conversion.Options{}); err == nil || !strings.Contains(err.Error(), "not a mapping") {
		t.Errorf("a list was turned again: %v", err)
	}
}

func TestMapFormRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, message string }{
		{"a key without a path", "endpoints:\n  book: {}\n", "line 2, column 3: the key \"book\" is not of the form METHOD /path"},
		{"an endpoint that is a text", "endpoints:\n  BOOK /x: soon\n", "is not a mapping"},
		{"a second method", "endpoints:\n  BOOK /x: {method: FIND}\n", "in addition"},
		{"an explicit key", "endpoints:\n  ? BOOK /x\n  : {}\n", "colon"},
		{"no endpoints", "agis: \"1.0\"\n", "not a mapping"},
		{"empty endpoints", "endpoints: {}\n", "not a mapping"},
		{"no document", "[", "unreadable"},
	} {
		out, err := ListEndpoints([]byte(c.text), conversion.Options{})
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %q\n%s", c.name, err, c.message, out.Text)
		}
	}
}

func FuzzMapForm(f *testing.F) {
	f.Add([]byte("endpoints:\n  BOOK /x:\n    a: b\n"))
	f.Add([]byte("endpoints: {BOOK /x: {a: b}, 'FIND /y': }\n"))
	f.Add([]byte(`{"endpoints":{"BOOK /x":{"a":[1,2]},"FIND /y":null}}`))
	f.Add([]byte("endpoints:\n BOOK /x:\n  a: |\n   text\n\n  b: 'two\n\n   lines'\n FIND /y: # c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := ListEndpoints(text, conversion.Options{})
		if err != nil {
			return
		}
		before, _, err := agis.Parse(text, agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := agis.Parse(out.Text, agis.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Text)
		}
		for _, m := range before.Root.Items {
			if m.Key != "endpoints" && !equalTrees(m, after.Root.Member(m.Key)) {
				t.Errorf("%s has changed:\n%s", m.Pointer, out.Text)
			}
		}
		if !sameEndpoints(out.Text, before.Root.Member("endpoints")) {
			t.Errorf("the endpoints have changed:\n%s", out.Text)
		}
	})
}
