package expressions

import (
	"strings"
	"testing"
)

// A pattern begins and ends with a word, so that a match says something.
func TestPatternsBeginAndEndWithWords(t *testing.T) {
	for first, of := range everydayExpressions() {
		if first == gap || first == somebody {
			t.Errorf("patterns begin with %q", first)
		}
		for _, patterns := range of.bySecond {
			for _, p := range append(patterns[:len(patterns):len(patterns)], of.others...) {
				for _, alternative := range p.parts[len(p.parts)-1] {
					if len(alternative) > 0 && alternative[len(alternative)-1] == gap {
						t.Errorf("a pattern for %q ends with a gap", p.stands)
					}
				}
			}
		}
	}
}

func TestGapsAreBounded(t *testing.T) {
	words := strings.Fields(strings.Repeat("cut a out of ", 16) + "picture")
	m := Longest(words, make([]bool, len(words)))
	if m.Length > maxGap*2+5 {
		t.Errorf("a gap is too long: %+v", m)
	}
}
