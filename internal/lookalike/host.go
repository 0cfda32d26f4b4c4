// Package lookalike finds names that people mistake for others: names of hosts with letters of other
// scripts, names that readers see as the same, and names of agents that read like an identifier.
package lookalike

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// A Host says why people can mistake the name of a host for another name.
type Host struct {
	Other   string   // the other name, in ASCII; "" when only scripts are mixed
	Scripts []string // of the letters that differ from it, or of the part that mixes them, in order
}

// String returns a sentence without its subject, the name of the host.
func (l Host) String() string {
	switch {
	case l.Other == "":
		return "mixes " + joinWords(l.Scripts) + " letters in one word"
	case slices.Equal(l.Scripts, []string{"Latin"}):
		return fmt.Sprintf("reads like %s, but contains other Latin letters", l.Other)
	}
	return fmt.Sprintf("reads like %s, but contains %s letters", l.Other, joinWords(l.Scripts))
}

func joinWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// FindHost reports whether a host name in ASCII, as fetch.CheckHost returns it, reads like another
// one: its letters have the shapes of ASCII letters, or a label mixes scripts that have letters of
// the same shape. Names that are plain ASCII (paypa1.com) are not compared.
func FindHost(host string) (Host, bool) {
	if !strings.HasPrefix(host, "xn--") && !strings.Contains(host, ".xn--") {
		return Host{}, false
	}
	name, err := idna.Punycode.ToUnicode(host)
	if err != nil {
		return Host{}, false
	}
	if shape, scripts := asciiShape(name); shape != "" {
		return Host{Other: shape, Scripts: scripts}, true
	}
	for label := range strings.SplitSeq(name, ".") {
		if scripts := scriptsOf(label); mixed(scripts) {
			return Host{Scripts: scripts}, true
		}
	}
	return Host{}, false
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

// similarASCII maps what sans-serif typefaces draw alike to one character.
var similarASCII = strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "rn", "m", "vv", "w")

// Skeleton reduces a name to the characters that a reader sees at a glance: names with the same
// skeleton are easily confused. It is "" for a name without letters and digits.
func Skeleton(name string) string {
	return similarASCII.Replace(strings.Map(func(r rune) rune {
		if ascii, known := sameShape[r]; known {
			return rune(ascii)
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, strings.ToLower(norm.NFKC.String(name))))
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
