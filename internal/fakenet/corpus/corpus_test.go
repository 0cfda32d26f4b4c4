package corpus

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
)

// TestGeneratedIsCurrent checks that the embedded files equal the output of the generator.
func TestGeneratedIsCurrent(t *testing.T) {
	want, err := generateFiles("../../..")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string][]byte{}
	total := 0
	err = filepath.WalkDir("../testdata/services", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		total += len(text)
		have[strings.TrimPrefix(filepath.ToSlash(name), "../testdata/")] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if have["hosts.json"], err = os.ReadFile("../testdata/hosts.json"); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if string(have[name]) != string(want[name]) {
			t.Errorf("testdata/%s is not what the generator makes: run go generate ./internal/fakenet/corpus/corpus", name)
		}
		delete(have, name)
	}
	for name := range have {
		t.Errorf("testdata/%s is not made by the generator: run go generate ./internal/fakenet/corpus/corpus", name)
	}
	if total > 3<<20 {
		t.Errorf("the embedded documents are %d bytes, want at most 3 MiB", total)
	}
}

func TestRead(t *testing.T) {
	const enough = 4000
	docs, err := Read("../../..", enough)
	if err != nil {
		t.Fatal(err)
	}
	total, agis := 0, 0
	hosts := map[string]bool{}
	for i, d := range docs {
		if hosts[d.Host] {
			t.Errorf("%s occurs twice", d.Host)
		}
		hosts[d.Host] = true
		total += d.Operations
		if d.AGIS != nil {
			agis++
		}
		if i%5 != 0 {
			continue
		}
		read, err := document.Read(document.Input{Kind: document.AI, Host: d.Host, Bytes: d.AI})
		if err != nil || len(read.Operations) != d.Operations {
			t.Errorf("%s: %d operations, want %d, error %v", d.Host, len(read.Operations), d.Operations, err)
		}
		if d.AGIS == nil {
			continue
		}
		if read, err = document.Read(document.Input{Kind: document.AGIS, Host: d.Host, Bytes: d.AGIS}); err != nil || len(read.Operations) == 0 {
			t.Errorf("%s: AGIS: %d operations, error %v", d.Host, len(read.Operations), err)
		}
	}
	if total < enough || total > enough+corpusOperations || agis < len(docs)/2 {
		t.Errorf("%d documents, %d with AGIS, %d operations", len(docs), agis, total)
	}
	if _, err := Read(t.TempDir(), 1); err == nil {
		t.Error("a root without the directory gave no error")
	}
}
