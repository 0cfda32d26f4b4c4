package protocol_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"gazetteer/protocol"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"":           0,
		"a":          1,
		"abcd":       1,
		"abcde":      2,
		"日":          1,
		"日本語":        2,
		"abc日本語":     3, // 0.75 + 2
		"\n\n\n\n\n": 2, // white space costs too
		"\xff":       1, // a bad byte counts as a character
		strings.Repeat("é", 15) + strings.Repeat("x", 40): 20,
	} {
		if got := protocol.Tokens(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	const text = `{"b" : [1.50, -0, 1e+2, 12345678901234567890.123],
	"a/ü": {"\u00e9\"\n": null, "<&>": true, "e": [], "o": { } }, "s": "\u2028\/\ud83d\ude00\u0001" }`
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const compact = `{"b":[1.50,-0,1e+2,12345678901234567890.123],"a/ü":{"é\"\n":null,"<&>":true,"e":[],"o":{}},"s":"` + "\u2028" + `/😀\u0001"}`
	if got := string(protocol.WriteJSON(root, "")); got != compact {
		t.Errorf("compact\n%s\nwant\n%s", got, compact)
	}
	const indented = `{
  "b": [
    1.50,
    -0,
    1e+2,
    12345678901234567890.123
  ],
  "a/ü": {
    "é\"\n": null,
    "<&>": true,
    "e": [],
    "o": {}
  },
  "s": "` + "\u2028" + `/😀\u0001"
}`
	if got := string(protocol.WriteJSON(root, "  ")); got != indented {
		t.Errorf("indented\n%s\nwant\n%s", got, indented)
	}
}

// TestNumbersKeepTheirDigits checks that a number of a JSON document is written as it was read.
func TestNumbersKeepTheirDigits(t *testing.T) {
	for _, literal := range []string{"9007199254740993", "-0", "-0.0", "1e400", "1E-400", "0.1000", "12345678901234567890123456789012"} {
		n, err := protocol.ReadJSON([]byte("["+literal+"]"), protocol.DefaultLimits)
		if err != nil {
			t.Errorf("%s: %v", literal, err)
			continue
		}
		if got := string(protocol.WriteJSON(n, "")); got != "["+literal+"]" {
			t.Errorf("%s is written %s", literal, got)
		}
	}
}

// The literals of YAML's core schema become JSON with the same value.
func TestWriteJSONRespellsNumbers(t *testing.T) {
	for literal, want := range map[string]string{
		"+1": "1", ".5": "0.5", "-.5e3": "-0.5e3", "1.": "1.0", "007": "7", "-00.10E+2": "-0.10E+2", "0": "0", "-0": "-0", "000": "0", "10": "10",
	} {
		got := protocol.WriteJSON(&protocol.Node{Kind: protocol.Number, Text: literal}, "")
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%s is written %s, want %s", literal, got, want)
		}
	}
	if got := protocol.WriteJSON(&protocol.Node{Kind: protocol.String, Text: "a\xffb"}, ""); string(got) != "\"a\uFFFDb\"" {
		t.Errorf("a bad byte is written %q", got)
	}
}

// TestReadJSONExtents checks that the extent of every node is the text of its value.
func TestReadJSONExtents(t *testing.T) {
	const text = " {\n  \"é\" : [1, \"ü\" , true ],\t\"a/b\": {\"\\u0078\":null }, \"s\": \"\\ud83d\\ude00\\n\", \"n\": -1.5e3} \n"
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(n *protocol.Node)
	walk = func(n *protocol.Node) {
		got = append(got, text[n.KeyOffset:n.KeyEnd]+" → "+text[n.Offset:n.End])
		again, err := protocol.ReadJSON([]byte(text[n.Offset:n.End]), protocol.Limits{})
		if err != nil || again.Kind != n.Kind || again.Text != n.Text {
			t.Errorf("%s: the slice %q reads as %+v, %v", n.Pointer, text[n.Offset:n.End], again, err)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	want := []string{
		" → " + strings.TrimSpace(text),
		`"é" → [1, "ü" , true ]`, ` → 1`, ` → "ü"`, ` → true`,
		`"a/b" → {"\u0078":null }`, `"\u0078" → null`,
		`"s" → "\ud83d\ude00\n"`, `"n" → -1.5e3`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
