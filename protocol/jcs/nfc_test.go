package jcs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestNeverChanges(t *testing.T) {
	known := 0
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !neverChanges(r) || !utf8.ValidRune(r) {
			continue
		}
		known++
		p := norm.NFC.PropertiesString(string(r))
		if !norm.NFC.IsNormalString(string(r)) || p.CCC() != 0 || r >= 0x300 && !p.BoundaryBefore() {
			t.Fatalf("U+%04X can change", r)
		}
	}
	if known < 30000 {
		t.Errorf("only %d runes", known)
	}
}

// TestComposition checks our Normalization Form C against x/text, except where x/text inserts
// marks.
func TestComposition(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		p := norm.NFC.PropertiesString(string(r))
		if !utf8.ValidRune(r) || p.CCC() == 0 && p.BoundaryBefore() && p.Decomposition() == nil && r%97 != 0 {
			continue // nothing happens to most runes: some of them will do
		}
		for _, text := range []string{string(r), string(r) + "\u0301", "a\u0323" + string(r)} {
			if got, want := string(appendComposed(nil, decomposeText([]byte(text)))), norm.NFC.String(text); got != want {
				t.Fatalf("%+q becomes %+q, want %+q", text, got, want)
			}
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	pool := []rune("aeo가각\u1100\u1161\u11a8\u0301\u0300\u0323\u0327\u0345\u0344\u0f71\u0f72\u0f73\u0958\u09c7\u09be\u3099か\u1e69\u01d5𑂚\U0001d15e\u0390ﬁ")
	for range 50000 {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteRune(pool[random.IntN(len(pool))])
		}
		text := b.String()
		want := norm.NFC.String(text)
		if got := string(appendComposed(nil, decomposeText([]byte(text)))); got != want {
			t.Fatalf("%+q becomes %+q, want %+q", text, got, want)
		}
		if got, changed := normalizeNFC([]byte(text)); changed != (text != want) || string(got) != want {
			t.Fatalf("%+q becomes %+q, changed: %v", text, got, changed)
		}
	}
}

// x/text inserts U+034F after thirty marks. Normalization Form C does not.
func TestManyMarks(t *testing.T) {
	marks := strings.Repeat("\u0301", 100)
	text := "e" + marks
	want := "\u00e9" + marks[2:]
	if got := string(appendNFC(nil, []byte(text))); got != want {
		t.Errorf("%+q", got)
	}
	if _, changed := normalizeNFC([]byte(want)); changed {
		t.Error("a composed text with many marks is not seen as normal")
	}
	mixed := "a" + strings.Repeat("\u0315\u0327", 40)
	want = "a" + strings.Repeat("\u0327", 40) + strings.Repeat("\u0315", 40)
	if got := string(appendNFC(nil, []byte(mixed))); got != want {
		t.Errorf("%+q", got)
	}
	if strings.Contains(norm.NFC.String(text), "\u034f") == false {
		t.Error("x/text inserts nothing any more: appendComposed is not needed")
	}
}
