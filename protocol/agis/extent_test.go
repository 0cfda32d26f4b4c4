package agis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
)

// Both YAML readers agree where things begin and end, as far as the general one
// can tell.
func TestExtents(t *testing.T) {
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	told := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		limits := protocol.Limits{}.OrDefault()
		plain, err, ok := readPlain(text, limits)
		if err != nil || !ok {
			continue
		}
		general, err := readGeneral(text, limits)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var compare func(a, b *protocol.Node)
		compare = func(a, b *protocol.Node) {
			if b.End > 0 && b.Kind != protocol.Null {
				told++
				if a.Offset != b.Offset || a.End != b.End || a.KeyOffset != b.KeyOffset || a.KeyEnd != b.KeyEnd {
					t.Errorf("%s: %s stands at %d to %d, key %d to %d; the general reader says %d to %d, %d to %d", file, a.Pointer,
						a.Offset, a.End, a.KeyOffset, a.KeyEnd, b.Offset, b.End, b.KeyOffset, b.KeyEnd)
				}
			}
			for i := range a.Items {
				compare(a.Items[i], b.Items[i])
			}
		}
		compare(plain, general)
	}
	if told < 1000 {
		t.Errorf("only %d extents were told", told)
	}
}

// What the general reader alone reads has its extent too.
func TestExtentsOfTheGeneralReader(t *testing.T) {
	text := "a: # comment\n  b: [x, # first\n   {c: d }\n  , ] # end\n  e: !!str f\ng:\n- h\n-\n"
	root, err := readGeneral([]byte(text), protocol.Limits{}.OrDefault())
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/a/b": "[x, # first\n   {c: d }\n  , ]", "/a/b/1": "{c: d }", "/a/e": "", "/a": "", "/g/0": "h",
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
