package protocol_test

import (
	"testing"

	"gazetteer/protocol"
)

func TestApplyEdits(t *testing.T) {
	text := "one two three"
	for _, c := range []struct {
		name  string
		edits []protocol.Edit
		want  string // "" for an error
	}{
		{"nothing to do", nil, text},
		{"out of order", []protocol.Edit{{8, 13, "3"}, {0, 3, "1"}}, "1 two 3"},
		{"insert before a replacement", []protocol.Edit{{4, 7, "2"}, {4, 4, "+"}}, "one +2 three"},
		{"two insertions at one place", []protocol.Edit{{13, 13, "!"}, {13, 13, "?"}}, text + "!?"},
		{"remove", []protocol.Edit{{3, 7, ""}}, "one three"},
		{"overlap", []protocol.Edit{{0, 5, "x"}, {4, 7, "y"}}, ""},
		{"behind the end", []protocol.Edit{{5, 14, "x"}}, ""},
		{"before the beginning", []protocol.Edit{{-1, 2, "x"}}, ""},
		{"backwards", []protocol.Edit{{4, 2, "x"}}, ""},
	} {
		got, err := protocol.ApplyEdits([]byte(text), c.edits)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}
