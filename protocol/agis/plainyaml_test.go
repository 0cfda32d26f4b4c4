package agis

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
)

// outline lists what both readers must agree on, one node a line.
func outline(n *protocol.Node) string {
	var b strings.Builder
	var write func(n *protocol.Node)
	write = func(n *protocol.Node) {
		fmt.Fprintf(&b, "%s %s %q %d:%d key %q %d:%d\n", n.Pointer, n.Kind, n.Text, n.Line, n.Column, n.Key, n.KeyLine, n.KeyColumn)
		for _, item := range n.Items {
			write(item)
		}
	}
	write(n)
	return b.String()
}

// agree fails when the quick reader is sure of a text and the general parser
// sees something else in it.
func agree(t *testing.T, text []byte) (sure bool) {
	t.Helper()
	l := protocol.DefaultLimits
	if protocol.CheckText(text, l) != nil {
		return false
	}
	got, err, sure := readPlain(text, l)
	if !sure {
		return false
	}
	want, generalErr := readGeneral(text, l)
	switch {
	case (err == nil) != (generalErr == nil):
		t.Fatalf("%q\nquick: %v\ngeneral: %v", text, err, generalErr)
	case err == nil && outline(got) != outline(want):
		t.Fatalf("%q\nquick\n%s\ngeneral\n%s", text, outline(got), outline(want))
	}
	if err == nil {
		extents(t, text, got)
		sameExtents(t, text, got, want)
	}
	return true
}

// extents checks that the offsets of every scalar and key cut out just that.
func extents(t *testing.T, text []byte, n *protocol.Node) {
	t.Helper()
	cut := func(from, to int) string {
		if from < 0 || to < from || to > len(text) {
			t.Fatalf("%q: extent %d to %d of %q", text, from, to, n.Pointer)
		}
		return string(text[from:to])
	}
	value := cut(n.Offset, n.End)
	if line, column := protocol.Place(text, n.Offset); line != n.Line || column != n.Column {
		t.Fatalf("%q: %q is at %d:%d, its offset at %d:%d", text, n.Pointer, n.Line, n.Column, line, column)
	}
	switch n.Kind {
	case protocol.Object, protocol.Array:
		for _, item := range n.Items {
			if item.Offset < n.Offset || item.End > n.End {
				t.Fatalf("%q: %q does not lie within its parent", text, item.Pointer)
			}
			extents(t, text, item)
		}
	case protocol.Number:
		if value != n.Text {
			t.Fatalf("%q: %q cuts out %q", text, n.Pointer, value)
		}
	default:
		same(t, value, n.Text, n.Kind)
	}
	if n.KeyEnd > 0 {
		same(t, cut(n.KeyOffset, n.KeyEnd), n.Key, protocol.String)
	}
}

// sameExtents checks what the general reader tells of the extent of scalars and
// keys: nothing, or the same as the quick one.
func sameExtents(t *testing.T, text []byte, quick, general *protocol.Node) {
	t.Helper()
	if general.End > 0 && (general.Offset != quick.Offset || general.End != quick.End) ||
		general.KeyEnd > 0 && (general.KeyOffset != quick.KeyOffset || general.KeyEnd != quick.KeyEnd) {
		t.Fatalf("%q: %q is %d to %d and %d to %d, in general %d to %d and %d to %d", text, quick.Pointer,
			quick.Offset, quick.End, quick.KeyOffset, quick.KeyEnd, general.Offset, general.End, general.KeyOffset, general.KeyEnd)
	}
	for i := range quick.Items {
		sameExtents(t, text, quick.Items[i], general.Items[i])
	}
}

// same reads a piece of text by itself: it must be the value.
func same(t *testing.T, piece, want string, kind protocol.Kind) {
	t.Helper()
	if piece == want && kind == protocol.String {
		return
	}
	if strings.ContainsAny(piece, "\n") || strings.HasPrefix(piece, "|") || strings.HasPrefix(piece, ">") {
		return // the indentation around it is missing here
	}
	root, err := readGeneral([]byte("- "+piece+"\n"), protocol.DefaultLimits)
	if err != nil || root.Items[0].Text != want || root.Items[0].Kind != kind {
		root, err = readGeneral([]byte("["+piece+"]\n"), protocol.DefaultLimits)
	}
	if err != nil || root.Items[0].Text != want || root.Items[0].Kind != kind {
		t.Fatalf("the piece %q does not say %q: %v", piece, want, err)
	}
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
}

func TestQuickReaderAgrees(t *testing.T) {
	sure := 0
	for _, text := range yamlShapes {
		if agree(t, []byte(text)) {
			sure++
		}
	}
	if sure < len(yamlShapes)/2 {
		t.Errorf("only %d of %d shapes are read quickly", sure, len(yamlShapes))
	}
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !agree(t, text) {
			t.Errorf("%s is left to the general parser", file)
		}
		crlf := strings.ReplaceAll(string(text), "\n", "\r\n")
		if !agree(t, []byte(crlf)) {
			t.Errorf("%s with CRLF is left to the general parser", file)
		}
	}
}

func FuzzQuickReader(f *testing.F) {
	for _, s := range yamlShapes {
		f.Add([]byte(s))
	}
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files[:4] {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) { agree(t, text) })
}
