package agis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// extentChecker checks that the offsets of every value and key cut out just that.
type extentChecker struct {
	t     *testing.T
	text  []byte
	known int // values whose extent is known
}

func (c *extentChecker) cut(n *protocol.Node, from, to int) string {
	c.t.Helper()
	if from < 0 || to < from || to > len(c.text) {
		c.t.Fatalf("%q: extent %d to %d of %q", c.text, from, to, n.Pointer)
	}
	return string(c.text[from:to])
}

func (c *extentChecker) check(n *protocol.Node) {
	c.t.Helper()
	if n.KeyEnd > 0 {
		c.reads(c.cut(n, n.KeyOffset, n.KeyEnd), n.Key, protocol.String)
	}
	for _, item := range n.Items {
		if n.End > 0 && item.End > 0 && (item.Offset < n.Offset || item.End > n.End) {
			c.t.Fatalf("%q: %q does not lie within its parent", c.text, item.Pointer)
		}
		c.check(item)
	}
	if n.End == 0 {
		return
	}
	c.known++
	value := c.cut(n, n.Offset, n.End)
	if strings.HasPrefix(value, "*") {
		return // an alias
	}
	// The two count lines alike where only line feeds end them.
	line, column := protocol.Place(c.text, n.Offset)
	if !strings.ContainsAny(string(c.text), "\r\u0085\u2028\u2029") && (line != n.Line || column != n.Column) {
		c.t.Fatalf("%q: %q is at %d:%d, its offset at %d:%d", c.text, n.Pointer, n.Line, n.Column, line, column)
	}
	switch n.Kind {
	case protocol.Object, protocol.Array:
	case protocol.Number:
		if value != n.Text {
			c.t.Fatalf("%q: %q cuts out %q", c.text, n.Pointer, value)
		}
	default:
		c.reads(value, n.Text, n.Kind)
	}
}

// reads reads a piece of text by itself: it must be the value.
func (c *extentChecker) reads(piece, want string, kind protocol.Kind) {
	c.t.Helper()
	if piece == want && kind == protocol.String {
		return
	}
	if strings.ContainsAny(piece, "\n\r") || strings.HasPrefix(piece, "|") || strings.HasPrefix(piece, ">") {
		return // the indentation around it is missing here
	}
	for _, text := range []string{"- " + piece + "\n", "[" + piece + "]\n"} {
		root, err := yaml.Read([]byte(text), protocol.Limits{})
		if err == nil && len(root.Items) == 1 && root.Items[0].Text == want && root.Items[0].Kind == kind {
			return
		}
	}
	c.t.Fatalf("%q: the piece %q does not say %q", c.text, piece, want)
}

func checkExtents(t *testing.T, text []byte) (known int) {
	t.Helper()
	root, err := yaml.Read(text, protocol.Limits{})
	if err != nil {
		return 0
	}
	c := extentChecker{t: t, text: text}
	c.check(root)
	return c.known
}

var yamlShapes = []string{
	"a: 1\nb: [x, {y: 'z'}]\n", "- |\n x\n- >-\n y\n", "a:\n- b\n- c: d\n  e: f\ng:\n", "a: b\n  c\n\n  d # e\nf: g\n",
	"a: >\n\n  b\n  c\n\n   d\n  e\n\n\nf: |+\n  g\n\n", "a: \"b\n  c \\\n  d\\n\\u00e9\"\n", "'a': 'b''c\n\n d'\n", "---\na: b # c\n# d\n",
	"a: {b: [1,\n  2], \"c\":3}\n", "[a, b]\n", "a: b\r\nc: |\r\n  d\r\n  e\r\n", "é: [ü, \"ö\"] # ä\n", "- - a\n  - b\n- c: |\n    d\n  e: f",
	"a: -1\nb: - c\n", "a: http://b\nc: d:e\nf: '#'\n", "a:\n  - b:\n      c\n", "a: |2\n  b\n", "a: >-\n b\n  c\n d", "a: |\n\n\n", "{a: b, c}\n",
	"a: \"\\xe9\\U0001F600\\\"\"", "a:   b   \n", "- \n- a\n-\n", "a: [b # c\n ]\n", "a: ? b\n", "a: |-\n  x\n# c\n  y\n", "? a\n: b\n", "a: !!str b\n",
	"a: \"b\" c\n", "a: 'b'\n  c: d\n", "a: [,]\n", "a: [b,]\n", "a: {b: }\n", "a: [b: c]\n", "a: \"b\":\n", "a: b: c\n", ": a\n", "a:b\n", "<<: {a: b}\n",
	"a: [a b, c d]\n", "a: [\n  b,\n  c\n]\n", "a: >+\n  b\n\nc: d\n", "a: |\n   b\n  c\n", "a: b\n...\n", "a: b\n---\nc: d\n", "a: {\"b\":c, 'd': e}\n",
	"a: 1.0\nb: 1e3\nc: .5\nd: 0x1\ne: ~\nf: True\ng: 2026-01-02\n", "a: b#c\n", "a: # b\n  c\n", "a: -\n", "a: -b\n", "-: a\n", "a:\n -b\n", "a: b\n\n\n  c\n",
	"a:\n  \"b\n  c\": d\n", "a: 'b\n\n\n  c  \n  d'\n", "x:\n  y: >\n    a\n     b\n    c\n\n     d\n\n    e\nz: 1\n",
	"a: &x b\nc: *x\n", "a: &x\n  b: 1\nc: [*x, &y {d: e}, *y]\n", "a: !!str b\nc: &x 'd'\n", "a: &x !!str\n  b\n", "&x [a]", "&x\n- a\n", "[]", "a: >-\n",
}

func TestExtents(t *testing.T) {
	for _, text := range yamlShapes {
		checkExtents(t, []byte(text))
	}
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	known := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known += checkExtents(t, text)
		checkExtents(t, []byte(strings.ReplaceAll(string(text), "\n", "\r\n")))
		root, err := yaml.Read(text, protocol.Limits{})
		if err != nil || root.End == 0 {
			t.Errorf("%s: the extent of the whole document is not known: %v", file, err)
		}
	}
	if known < 1000 {
		t.Errorf("only %d extents are known", known)
	}
}

func TestExtentsOf(t *testing.T) {
	text := "a: # comment\n  b: [x, # first\n   {c: d }\n  , ] # end\n  e: !!str f\ng:\n- h\n-\ni: j\n  k # no\nl: >\n  m\n  n\n\n# end\no: &p q\nr: *p\n"
	root, err := yaml.Read([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/a/b": "[x, # first\n   {c: d }\n  , ]", "/a/b/1": "{c: d }", "/a/e": "f", "/g/0": "h", "/g/1": "",
		"/a": "b: [x, # first\n   {c: d }\n  , ] # end\n  e: !!str f", "/i": "j\n  k", "/l": ">\n  m\n  n", "/o": "q", "/r": "*p",
	} {
		n := root
		for n.Pointer != pointer {
			for _, item := range n.Items {
				if strings.HasPrefix(pointer+"/", item.Pointer+"/") {
					n = item
				}
			}
		}
		if got := text[n.Offset:n.End]; got != want {
			t.Errorf("%s stands in %q, want %q", pointer, got, want)
		}
	}
}

func FuzzExtents(f *testing.F) {
	for _, s := range yamlShapes {
		f.Add([]byte(s))
	}
	seeds(f, "valid")
	f.Fuzz(func(t *testing.T, text []byte) { checkExtents(t, text) })
}
