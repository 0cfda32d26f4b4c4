package yaml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// content lists a tree without its places.
func content(n *protocol.Node) string {
	var b strings.Builder
	var write func(n *protocol.Node)
	write = func(n *protocol.Node) {
		fmt.Fprintf(&b, "%s %s %q\n", n.Pointer, n.Kind, n.Text)
		for _, item := range n.Items {
			write(item)
		}
	}
	write(n)
	return b.String()
}

func TestWrite(t *testing.T) {
	text := `{"agis": "1.0", "size": 1.50, "list": ["BOOK", "yes", {"a": 1, "b": [true, null]}, [[1], []], {}],
"text": "one\ntwo\n", "no end": "one\ntwo", "odd": " a: b #\u202e", "": "", "7": "2026-01-02", "x: y": "-"}`
	want := `agis: "1.0"
size: 1.50
list:
  - BOOK
  - "yes"
  - a: 1
    b:
      - true
      - null
  - - - 1
    - []
  - {}
text: |
  one
  two
no end: |-
  one
  two
odd: " a: b #\u202E"
"": ""
"7": "2026-01-02"
"x: y": "-"
`
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(yaml.Write(root)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// writtenBack fails when a tree does not survive being written and read.
func writtenBack(t *testing.T, root *protocol.Node) {
	t.Helper()
	l := protocol.Limits{Bytes: 64 << 20}
	written := yaml.Write(root)
	again, err := yaml.Read(written, l)
	if err != nil {
		t.Fatalf("%v in\n%q", err, written)
	}
	if got, want := content(again), content(root); got != want {
		t.Fatalf("%q is read as\n%s\nwant\n%s", written, got, want)
	}
}

func TestWriteRoundTrip(t *testing.T) {
	for _, pattern := range []string{"valid", "invalid", "wellknown"} {
		files, err := filepath.Glob("../agis/testdata/" + pattern + "/*")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files: %v", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root, err := yaml.Read(text, protocol.Limits{})
			if err != nil {
				continue
			}
			writtenBack(t, root)
		}
	}
	long := strings.Repeat("k ", 700)
	for _, text := range []string{`{"` + long + `": {"` + long + `": [{"` + long + `": "a\nb"}]}}`, `["a\nb", ["c\nd\n"]]`, `"a\nb"`, `"---"`, `"a"`, `[]`} {
		root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		writtenBack(t, root)
	}
}

// FuzzWrite checks that YAML can express every JSON value.
func FuzzWrite(f *testing.F) {
	for _, s := range []string{`"\u0000\ud83d\ude00\u0085\u2028\ufeff\uffff"`, `{"a":{"":[[],{}]}}`, `[-0,1E5,1.50e-7]`, `["~","<<","0x1","- a","a: b","a #b","@","\n","\n\n","a\n\n b "]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := protocol.ReadJSON(text, protocol.Limits{})
		if err != nil {
			return
		}
		writtenBack(t, root)
	})
}
