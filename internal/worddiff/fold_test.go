package worddiff_test

import (
	"strings"
	"testing"

	"gazetteer/internal/worddiff"
)

// TestFoldUnchanged checks that a changed line is shown with three lines of context on both sides, also
// in the version in which it is missing, and that nothing is folded in unmarked versions.
func TestFoldUnchanged(t *testing.T) {
	lines := strings.Split(strings.Repeat("same\n", 20), "\n")
	before := strings.Join(lines, "\n")
	lines[10] = "same\nadded"
	after := strings.Join(lines, "\n")
	a, b, unmarked := worddiff.Compare(before, after)
	for name, blocks := range map[string][]worddiff.Block{
		"earlier": worddiff.FoldUnchanged(a, b, false, unmarked),
		"later":   worddiff.FoldUnchanged(b, a, true, unmarked),
	} {
		shown, folded := 0, 0
		for _, block := range blocks {
			if block.Folded > 0 {
				folded += block.Folded
			} else {
				shown += len(block.Lines)
			}
		}
		if shown < 7 || shown > 9 || folded < 12 {
			t.Errorf("%s version: %d lines shown, %d folded", name, shown, folded)
		}
	}
	for _, block := range worddiff.FoldUnchanged(a, b, false, true) {
		if block.Folded > 0 {
			t.Errorf("an unmarked version has %d folded lines", block.Folded)
		}
	}
}

// TestFewUnchangedLinesStayInBlock checks that lines that are too few to be folded are in one block with
// the context of the change beside them.
func TestFewUnchangedLinesStayInBlock(t *testing.T) {
	a, b, unmarked := worddiff.Compare("{\n1\n2\n3\nold\n4\n5\n6\n}", "{\n1\n2\n3\nnew\n4\n5\n6\n}")
	for name, blocks := range map[string][]worddiff.Block{
		"earlier": worddiff.FoldUnchanged(a, b, false, unmarked),
		"later":   worddiff.FoldUnchanged(b, a, true, unmarked),
	} {
		if len(blocks) != 1 || blocks[0].Folded != 0 || len(blocks[0].Lines) != 9 {
			t.Errorf("%s: %+v", name, blocks)
		}
	}
}
