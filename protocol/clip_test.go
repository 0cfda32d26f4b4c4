package protocol

import "testing"

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text, bytes, runes string
	}{
		{"", "", ""}, {"abcd", "abcd", "abcd"}, {"abcde", "abcd…", "abc…"}, {"äöüß", "äö…", "äöüß"}, {"ab  cd", "ab  …", "ab…"}, {"a\xff", "a\xff", "a\xff"}, {"aa\xff\xffb", "aa…", "aa\uFFFD…"},
	} {
		if got := ClipBytes(c.text, 4); got != c.bytes {
			t.Errorf("ClipBytes(%q) = %q, want %q", c.text, got, c.bytes)
		}
		if got := ClipRunes(c.text, 4); got != c.runes {
			t.Errorf("ClipRunes(%q) = %q, want %q", c.text, got, c.runes)
		}
	}
}
