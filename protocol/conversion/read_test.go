package conversion

import (
	"encoding/json"
	"gazetteer/protocol"
	"reflect"
	"testing"
)

func TestQuoteKeys(t *testing.T) {
	for before, after := range map[string]string{
		"200: a":                                    "'200': a",
		"  - 404: {500: b, true: c}":                "  - '404': {'500': b, 'true': c}",
		"a: {200: {x: \"1, 2: {3: 4\", 5: 6}}":      "a: {'200': {x: \"1, 2: {3: 4\", '5': 6}}",
		"a: 'it''s, {200: x' # {200: y}":            "a: 'it''s, {200: x' # {200: y}",
		"a: don't\n200: x":                          "a: don't\n'200': x",
		"a: \"one\n  200: two\\\" 201: x\"\n202: b": "a: \"one\n  200: two\\\" 201: x\"\n'202': b",
		"a: |\n  200: x\n\n  201: y\n202: z":        "a: |\n  200: x\n\n  201: y\n'202': z",
		"2000-01-01: a":                             "2000-01-01: a",
		"a: 200":                                    "a: 200",
		"[200 : a]":                                 "['200' : a]",
	} {
		if got := string(quoteKeys([]byte(before))); got != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
	}
}

func TestKeysThatLookLikeNumbers(t *testing.T) {
	text := "a:\n  200: x\n  '201': y\n  text: |\n    404: not a key\n     500: neither\n  404 : z\n  list:\n    - 1.5: b\n    - true: c\nflow: {200: {x: 1}, 'a': 2}\nother: {300: a, 301: b}\nfold: >-\n\n  1: 2\n"
	root, err := readYAMLKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(protocol.WriteJSON(root, ""), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": map[string]any{"200": "x", "201": "y", "404": "z", "text": "404: not a key\n 500: neither\n",
			"list": []any{map[string]any{"1.5": "b"}, map[string]any{"true": "c"}}},
		"flow": map[string]any{"200": map[string]any{"x": 1.}, "a": 2.}, "other": map[string]any{"300": "a", "301": "b"}, "fold": "\n1: 2",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if _, err := readYAMLKeys([]byte("? [a]\n: b\n")); err == nil {
		t.Error("a list is accepted as a key")
	}
}
