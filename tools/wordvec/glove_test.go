package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// smallGloVe returns a file of vectors in which each word has a number of its own.
func smallGloVe(words []string) string {
	var b strings.Builder
	b.WriteString(`{"dimensions":100,"words":["a"],"vectors":{`)
	for i, w := range words {
		numbers := make([]string, gloveDim+2)
		for k := range numbers {
			numbers[k] = "0.0"
		}
		numbers[i] = "1.5"
		fmt.Fprintf(&b, "%q:[%s],", w, strings.Join(numbers, ","))
	}
	return strings.TrimSuffix(b.String(), ",") + `},"unkVector":[0]}`
}

func TestReadGloVe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "glove.json")
	read := func(content string) ([]float32, error) {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return readGloVe(name, map[string]int32{"pay": 0, "unheard": 1, "book": 2})
	}
	got, err := read(smallGloVe([]string{"car", "book", "pay"}))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		want := float32(0)
		if i == 2 || i == 2*gloveDim+1 { // the third word, and the second
			want = 1.5
		}
		if x != want {
			t.Errorf("number %d is %v, want %v", i, x, want)
		}
	}
	for content, want := range map[string]string{
		"":                          "EOF",
		`{"words":["pay"]}`:         "no member vectors",
		`{"vectors":{"pay":[1,2]}}`: "too few numbers for the word pay",
		`{"vectors":{"pay":"x"}}`:   "cannot unmarshal",
		`{"vectors":{"pay":[1`:      "EOF",
	} {
		if _, err := read(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", content, err, want)
		}
	}
}
