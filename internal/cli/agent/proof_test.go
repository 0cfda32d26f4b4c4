package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
)

// TestProofIsWrittenAtomically checks that nothing is written where a file of the same name is in
// the way, which stays as it is.
func TestProofIsWrittenAtomically(t *testing.T) {
	out := filepath.Join(t.TempDir(), "booker")
	if err := os.WriteFile(out+".key", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeProof(out, []byte("leaf"), []byte("proof"), []byte("key"))
	if err == nil || !isUsage(err) || cli.FileExists(out+".leaf") || cli.FileExists(out+".proof") {
		t.Errorf("got %v, and files are left", err)
	}
	if text, err := os.ReadFile(out + ".key"); err != nil || string(text) != "old" {
		t.Errorf("the file that was there is %q, %v", text, err)
	}
}

func isUsage(err error) bool {
	e, ok := errors.AsType[*exit.Error](err)
	return ok && e.Code == exit.Usage
}
