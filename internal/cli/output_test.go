package cli

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
)

// TestPartiallyWrittenFile checks that nothing of the new file is left and the old file stays.
func TestPartiallyWrittenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	cut := errors.New("cut off")
	if err := WriteNewFile(name, 0o600, func(w io.Writer) error { io.WriteString(w, "half"); return cut }); !errors.Is(err, cut) || FileExists(name) {
		t.Errorf("got %v, and the file is there: %v", err, FileExists(name))
	}
}
