package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAFileThatWasNotWrittenWhole: nothing is left of it, and what was there
// before stays.
func TestAFileThatWasNotWrittenWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	cut := errors.New("cut off")
	if err := writeNew(name, 0o600, func(w io.Writer) error { io.WriteString(w, "half"); return cut }); !errors.Is(err, cut) || exists(name) {
		t.Errorf("got %v, and the file is there: %v", err, exists(name))
	}
	out := filepath.Join(t.TempDir(), "booker")
	if err := os.WriteFile(out+".key", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeProof(out, []byte("leaf"), []byte("proof"), []byte("key"))
	if err == nil || exitCode(err) != exitUsage || exists(out+".leaf") || exists(out+".proof") {
		t.Errorf("got %v, and files are left", err)
	}
	if text, err := os.ReadFile(out + ".key"); err != nil || string(text) != "old" {
		t.Errorf("the file that was there is %q, %v", text, err)
	}
}
