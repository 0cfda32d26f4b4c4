package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A domain is also read from the address of its web server; a part of a host is no domain.
func TestDomainOfAddress(t *testing.T) {
	for _, text := range []string{"example.com", "https://example.com", "https://example.com/", "HTTPS://example.com:443/", "example.com/", "example.com:443"} {
		if name, err := readDomain(text); name != "example.com" || err != nil {
			t.Errorf("%s is read as %q, %v", text, name, err)
		}
	}
	for text, want := range map[string]string{
		"https://example.com/agents": "gazetteer agent prove example.com", "example.com:8443": "gazetteer agent prove example.com",
		"ftp://example.com": "a name such as example.com",
	} {
		if _, err := readDomain(text); err == nil || !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func isUsage(err error) bool {
	e, ok := errors.AsType[*exit.Error](err)
	return ok && e.Code == exit.Usage
}
