package index

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/index/blevefiles"
	"gazetteer/index/query"
	"gazetteer/internal/teststore"
)

// mergeSegments merges the segments of an index into one, so that nothing merges them later.
func mergeSegments(t *testing.T, x *Index) {
	t.Helper()
	merger, ok := x.currentDirectory().Advanced.(*scorch.Scorch)
	if !ok {
		t.Fatalf("the index is no scorch index but %T", x.currentDirectory().Advanced)
	}
	if err := merger.ForceMerge(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// Stored embeddings give the same answers as computed ones, damaged ones are computed again, and
// those of former segments are removed.
func TestStoredEmbeddings(t *testing.T) {
	docs := manyServices(t, 300)
	s := teststore.New(t)
	put(t, s, docs...)
	dir := t.TempDir()
	x := openIndex(t, s, dir, io.Discard)
	catchUpOnce(t, x, s)
	mergeSegments(t, x)
	answersOf := func() (answers []string) {
		t.Helper()
		for _, words := range []string{"list all open issues", "send a text message", "weather", "delete a user and create a team"} {
			r, err := x.Search(t.Context(), query.Query{Words: words})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				answers = append(answers, fmt.Sprint(h.Host, h.Operation.ID, h.Score, h.Fit, h.Why))
			}
		}
		return answers
	}
	// reopen opens the index again and returns what was logged of its embeddings. While it is closed,
	// nothing merges its segments.
	reopen := func(whileClosed ...func()) (said []string) {
		t.Helper()
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		for _, do := range whileClosed {
			do()
		}
		var log strings.Builder
		var err error
		x, err = Open(t.Context(), Options{Dir: dir, Store: s, Log: slog.New(slog.NewTextHandler(&log, nil)), storedFrom: 1})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "embeddings") {
				said = append(said, line)
			}
		}
		return said
	}
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	stored := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, blevefiles.StoreDir, "*.embeddings*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}

	want := answersOf()
	if len(want) < 20 || len(stored()) > 0 {
		t.Fatalf("%d answers; a small index stored %q", len(want), stored())
	}
	if said := reopen(); len(said) != 1 || !strings.Contains(said[0], "no such file") {
		t.Errorf("of missing embeddings it said %q", said)
	}
	if got := answersOf(); !slices.Equal(got, want) {
		t.Errorf("when they are stored:\n%q\nwant\n%q", got, want)
	}
	names := stored()
	if len(names) == 0 {
		t.Fatal("nothing is stored")
	}
	before, err := os.Stat(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, blevefiles.StoreDir, "ffffffffffff.zap.embeddings"), []byte("of a former segment"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := reopen(); len(said) > 0 {
		t.Errorf("of stored embeddings it said %q", said)
	}
	if got := answersOf(); !slices.Equal(got, want) {
		t.Errorf("when they are mapped:\n%q\nwant\n%q", got, want)
	}
	if after, err := os.Stat(names[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("they were computed again: %v", err)
	}
	if now := stored(); !slices.Equal(now, names) {
		t.Errorf("stored are %q, want %q", now, names)
	}
	change := func(at func(text []byte) int) {
		t.Helper()
		for _, name := range stored() {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text[at(text)] ^= 4
			if err := os.WriteFile(name+".changed", text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(name+".changed", name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, at := range map[string]func([]byte) int{
		"damaged":            func(text []byte) int { return len(text) - 100 },
		"of another version": func([]byte) int { return 0 },
	} {
		if said := reopen(func() { change(at) }); len(said) != 1 || !strings.Contains(said[0], "damaged, or of another version") {
			t.Errorf("of embeddings that are %s it said %q", what, said)
		}
		if got := answersOf(); !slices.Equal(got, want) {
			t.Errorf("when they are %s:\n%q\nwant\n%q", what, got, want)
		}
	}
}
