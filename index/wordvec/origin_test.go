package wordvec

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// vectors.sha256 names what the table was made from. What of it is in the
// repository must be as it was then.
func TestOrigin(t *testing.T) {
	record, err := os.ReadFile("vectors.sha256")
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for line := range strings.Lines(string(record)) {
		digest, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || len(digest) != 64 {
			t.Errorf("%q is not a digest and a name", line)
		}
		digests[name] = digest
	}
	for _, name := range []string{"vectors.bin", "gen/korean.txt", "gen/frames.txt"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != digests[name] {
			t.Errorf("%s has digest %s, recorded is %s: run go generate, which writes table and record", name, got, digests[name])
		}
	}
	for _, name := range []string{"data.noun", "data.verb", "data.adj", "data.adv", "openapi-services.jsonl"} {
		if digests[name] == "" {
			t.Errorf("no digest of %s", name)
		}
	}
	if licence, err := os.ReadFile("LICENSE-wordnet"); err != nil || !strings.Contains(string(licence), "Copyright 2006 by Princeton University") {
		t.Errorf("the licence of WordNet must stand beside what was made from it: %v", err)
	}
}
