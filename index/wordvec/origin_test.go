package wordvec

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The embedded table is the one that the generator wrote, and what it learned from
// has not changed since, as far as that is in the repository.
func TestTableMatchesSources(t *testing.T) {
	lines, err := os.ReadFile("vectors.sha256")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(lines)) {
		want, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("vectors.sha256: %q", line)
		}
		path, zipped := name, false
		switch {
		case strings.HasPrefix(name, "data."), strings.HasPrefix(name, "group1-shard"), strings.HasPrefix(name, "wink-embeddings-"),
			name == "model.json", name == "vocab.json":
			continue // WordNet's, the encoder's and GloVe's: not in the repository
		case strings.HasPrefix(name, "tools/"):
			path = filepath.Join("..", "..", name)
		case strings.HasSuffix(name, ".jsonl"):
			path, zipped = filepath.Join("..", "..", "internal", "fakenet", "testdata", name+".zst"), true
		}
		if got := digest(t, path, zipped); got != want {
			t.Errorf("%s has the digest %s, the table was made with %s: run go generate", path, got, want)
		}
		checked++
	}
	if checked != 5 {
		t.Errorf("%d files checked, want the table and four that it was made from", checked)
	}
}

func digest(t *testing.T, path string, zipped bool) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = file
	if zipped {
		z, err := zstd.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		in = z
	}
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
