package protocol

import (
	"cmp"
	"fmt"
	"slices"
)

// An Edit replaces the bytes of a text from Offset up to End by Text. If Offset equals End, it
// inserts; if Text is empty, it removes.
type Edit struct {
	Offset int    `json:"offset"`
	End    int    `json:"end"`
	Text   string `json:"text"`
}

// ApplyEdits returns the text after all edits. Their offsets refer to the original text, in any
// order. Edits that insert at the same place are applied in the given order. The error names two
// edits that overlap, or one outside of the text.
func ApplyEdits(text []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.End, b.End))
	})
	var out []byte
	done := 0
	for _, e := range edits {
		if e.Offset > e.End || e.End > len(text) || e.Offset < 0 {
			return nil, fmt.Errorf("edit of the bytes %d to %d: the text has %d bytes", e.Offset, e.End, len(text))
		}
		if e.Offset < done {
			return nil, fmt.Errorf("edit of the bytes %d to %d: another edit reaches up to %d", e.Offset, e.End, done)
		}
		out = append(append(out, text[done:e.Offset]...), e.Text...)
		done = e.End
	}
	return append(out, text[done:]...), nil
}
