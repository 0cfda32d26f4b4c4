package fetch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// A Lookalike says why people can mistake the name of a host for another name.
type Lookalike struct {
	Host    string   // the other name, in ASCII; "" when only scripts are mixed
	Scripts []string // of the letters that differ from it, or of the part that mixes them, in order
}

// String returns a sentence without its subject, the name of the host.
func (l Lookalike) String() string {
	switch {
	case l.Host == "":
		return "mixes " + joinWords(l.Scripts) + " letters in one word"
	case slices.Equal(l.Scripts, []string{"Latin"}):
		return fmt.Sprintf("reads like %s, but contains other Latin letters", l.Host)
	}
	return fmt.Sprintf("reads like %s, but contains %s letters", l.Host, joinWords(l.Scripts))
}

func joinWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// FindLookalike reports whether a host name in ASCII, as [CheckHost] returns it, reads like another
// one: its letters have the shapes of ASCII letters, or a label mixes scripts that have letters of
// the same shape. Names that are plain ASCII (paypa1.com) are not compared.
func FindLookalike(host string) (Lookalike, bool) {
	if !strings.HasPrefix(host, "xn--") && !strings.Contains(host, ".xn--") {
		return Lookalike{}, false
	}
	name, err := idna.Punycode.ToUnicode(host)
	if err != nil {
		return Lookalike{}, false
	}
	if shape, scripts := asciiShape(name); shape != "" {
		return Lookalike{Host: shape, Scripts: scripts}, true
	}
	for label := range strings.SplitSeq(name, ".") {
		if scripts := scriptsOf(label); mixed(scripts) {
			return Lookalike{Scripts: scripts}, true
		}
	}
	return Lookalike{}, false
}

// asciiShape returns the ASCII name with the shape of name, "" if there is none, and the scripts of
// the letters that differ.
func asciiShape(name string) (shape string, scripts []string) {
	var b, replaced strings.Builder
	afterReplaced := false
	for _, r := range norm.NFD.String(name) {
		ascii, known := sameShape[r]
		switch {
		case r < unicode.MaxASCII:
			b.WriteRune(r)
			afterReplaced = false
		case known:
			b.WriteByte(ascii)
			replaced.WriteRune(r)
			afterReplaced = true
		case !afterReplaced || !unicode.Is(unicode.Mn, r): // ё is read as e, but é in a Latin word is seen
			return "", nil
		}
	}
	return b.String(), scriptsOf(replaced.String())
}

// ASCIIShape returns the ASCII letter or digit that most typefaces draw like a small letter of another
// script, if there is one.
func ASCIIShape(r rune) (byte, bool) {
	ascii, known := sameShape[r]
	return ascii, known
}

// sameShape are the letters that most typefaces draw like an ASCII letter, among those that a host
// name may contain: a selection from the confusables of UTS #39.
var sameShape = map[rune]byte{
	// Cyrillic
	'а': 'a', 'ь': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'п': 'n',
	'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ս': 'u', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y', 'ү': 'y',
	'м': 'm', 'ө': 'o', 'ҫ': 'c', 'ҽ': 'e', 'ԍ': 'g', 'ґ': 'r', 'ӷ': 'r', 'ӽ': 'x', 'з': '3', 'б': '6',
	// Greek
	'α': 'a', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'ϳ': 'j', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'τ': 't',
	'υ': 'u', 'χ': 'x', 'γ': 'y', 'ω': 'w',
	// Armenian
	'ց': 'g', 'հ': 'h', 'օ': 'o', 'ո': 'n', 'ռ': 'n', 'զ': 'q', 'յ': 'j', 'ք': 'p',
	// Latin
	'ı': 'i', 'ɩ': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ʟ': 'l', 'ɴ': 'n', 'ʏ': 'y', 'ʀ': 'r', 'ɪ': 'i', 'ᴏ': 'o', 'ᴄ': 'c', 'ᴜ': 'u',
	'ᴠ': 'v', 'ᴡ': 'w', 'ᴢ': 'z', 'ꜱ': 's', 'ᴅ': 'd', 'ᴋ': 'k', 'ᴍ': 'm', 'ᴘ': 'p', 'ᴛ': 't', 'ᴀ': 'a', 'ᴇ': 'e', 'ᴊ': 'j', 'ʙ': 'b', 'ʜ': 'h',
}

// likeLatin are the scripts with many letters of the shape of Latin ones.
var likeLatin = []string{"Armenian", "Cherokee", "Coptic", "Cyrillic", "Greek", "Lisu"}

// eastAsian are the sets of scripts in which Chinese, Japanese and Korean are written.
var eastAsian = [][]string{{"Bopomofo", "Han"}, {"Han", "Hiragana", "Katakana"}, {"Han", "Hangul"}}

// mixed reports whether a label with letters of these scripts is not a word of any writing system. One
// script that does not resemble Latin may stand beside it.
func mixed(scripts []string) bool {
	others := slices.DeleteFunc(slices.Clone(scripts), func(s string) bool { return s == "Latin" })
	if len(others) < 2 {
		return len(others) < len(scripts) && len(others) == 1 && slices.Contains(likeLatin, others[0])
	}
	return !slices.ContainsFunc(eastAsian, func(set []string) bool {
		return !slices.ContainsFunc(others, func(s string) bool { return !slices.Contains(set, s) })
	})
}

// scriptsOf returns the names of the scripts of the letters of s, in order and once each.
func scriptsOf(s string) []string {
	var found []string
	for _, r := range s {
		for name, table := range unicode.Scripts {
			if name != "Common" && name != "Inherited" && !slices.Contains(found, name) && unicode.Is(table, r) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}
