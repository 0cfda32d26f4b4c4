package server

import (
	"strings"
	"testing"
)

// TestBlockListIsReadCompletely checks that a list that is too long is refused, not truncated.
func TestBlockListIsReadCompletely(t *testing.T) {
	short := strings.NewReader("a.example # its owner asked\n\n*.b.example")
	if list, err := parseBlockList(short); err != nil || strings.Join(list, " ") != "a.example *.b.example" {
		t.Errorf("got %q, %v", list, err)
	}
	if _, err := parseBlockList(strings.NewReader("# hosts\n*.b.example\nno host\n")); err == nil || !strings.HasPrefix(err.Error(), `line 3: host "no host": `) {
		t.Errorf("got %v", err)
	}
	if _, err := parseBlockList(comments{}); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("got %v", err)
	}
}

// comments is an endless list.
type comments struct{}

func (comments) Read(b []byte) (int, error) {
	return copy(b, "# nobody\n"), nil
}
