package conversion

import (
	"encoding/json"
	"reflect"
	"testing"

	"gazetteer/protocol"
)

func TestKeysThatLookLikeNumbers(t *testing.T) {
	text := "a:\n  200: x\n  '201': y\n  text: |\n    404: not a key\n     500: neither\n  404 : z\n  list:\n    - 1.5: b\n    - true: c\nflow: {200: {x: 1}, 'a': 2}\nother: {300: a, 301: b}\nfold: >-\n\n  1: 2\n"
	root, err := ReadText([]byte(text))
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
	if _, err := ReadText([]byte("? [a]\n: b\n")); err == nil {
		t.Error("a list is accepted as a key")
	}
}
