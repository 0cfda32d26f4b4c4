package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/internal/need"
)

// A WordNet of five words: to book means to reserve, which is to keep; keeping
// is the opposite of losing; a booking is of book.
var small = map[string]string{
	"index.verb": `  1 licence
book v 1 1 @ 1 1 00000001
keep v 1 0 1 1 00000002
lose v 1 0 1 0 00000004
reserve v 1 1 @ 1 0 00000001
turn_in v 1 0 1 0 00000003
`,
	"data.verb": `00000001 41 v 02 book 0 reserve 0 002 @ 00000003 v 0000 + 00000009 n 0101 00 | to book
00000002 40 v 01 keep 0 001 ! 00000004 v 0101 00 | hold
00000003 40 v 01 turn_in 0 001 @ 00000002 v 0000 00 | a phrase
00000004 40 v 01 lose 0 000 00 | fail to keep a booking
`,
	"index.noun": "booking n 1 0 1 1 00000009\n",
	"data.noun":  "00000009 04 n 01 booking 0 000 | bookings that someone books\n",
	"index.adj":  "", "data.adj": "", "index.adv": "", "data.adv": "",
	"cntlist.rev": "book%2:41:00:: 1 7\nbooking%1:04:00:: 1 3\n",
	"verb.exc":    "kept keep\nlost lose\n", "noun.exc": "", "adj.exc": "",
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDictionary(t *testing.T) {
	dir := write(t, small)
	d, err := readDictionary(dir)
	if err != nil {
		t.Fatal(err)
	}
	book, booking := d.words["book"], d.words["booking"]
	switch {
	case book == nil || book.bits != verb|tagged || book.counts[0] != 7 || book.field != 41:
		t.Errorf("book is %+v", book)
	case booking == nil || booking.counts[1] != 3 || booking.glossed != 2:
		t.Errorf("booking is %+v", booking)
	case !d.verbsOf["booking"]["book"] || !d.antonyms[[2]string{"keep", "lose"}] || !d.phrasal["turn"]["in"]:
		t.Errorf("relations: %v %v %v", d.verbsOf, d.antonyms, d.phrasal)
	case len(d.inflections) != 2 || d.words["kept"] == nil:
		t.Errorf("irregular forms: %v", d.inflections)
	}
	// The sense above book has no single word, so the one above that counts.
	if up := (&encoder{dictionary: d}).named(1, map[synset]int{1: 0, 2: 1, 4: 2}, 0); len(up) != 1 || up[0] != 2 {
		t.Errorf("above book stand %v", up)
	}
	again, err := readDictionary(dir)
	if err != nil || !bytes.Equal(d.encode(), again.encode()) {
		t.Errorf("the same files gave another table (%v)", err)
	}
}

func TestSupplement(t *testing.T) {
	for text, want := range map[string]string{
		"verb: triage\nphrasal: book_out\n# a remark\n\nnoun: webhook\n": "",
		"verbs: triage\n":       "a line begins with",
		"verb: re-book\n":       "other than a to z",
		"phrasal: nothing_at\n": "is not verb_particle",
	} {
		d, err := readDictionary(write(t, small))
		if err != nil {
			t.Fatal(err)
		}
		dir := write(t, map[string]string{"supplement.txt": text})
		err = d.readSupplement(filepath.Join(dir, "supplement.txt"))
		switch {
		case want == "" && (err != nil || d.words["triage"].bits != verb|modern || !d.phrasal["book"]["out"]):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want one about %q", text, err, want)
		}
	}
}

// TestReproducible checks that the table is the output for WordNet and the supplement, if WordNet
// is installed.
func TestReproducible(t *testing.T) {
	dict := os.Getenv("WORDNET")
	if dict == "" {
		dict = "/usr/share/wordnet"
	}
	if _, err := os.Stat(filepath.Join(dict, "index.verb")); err != nil {
		need.Missing(t, "no WordNet here; see the comment of package main for how to get it")
	}
	out := filepath.Join(t.TempDir(), "words.zlib")
	if err := generate(dict, "../../protocol/english/supplement.txt", out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../protocol/english/words.zlib")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("words.zlib is not what the generator writes: run go generate")
	}
}
