package lookalike

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ReadsLikeIdentifier reports whether a name contains what people take for a DID, an AIR ID or a
// handle ("@name"). It compares the shapes of characters: letters of other scripts, with accents or
// set apart by spaces, and other signs in place of dashes and colons. Its tables have the signs of
// "AIR", "did:" and "@" alone: a name in letters of other shapes can still look like an identifier
// in some typefaces.
func ReadsLikeIdentifier(name string) bool {
	shape := joinSpaced(identifierShape(name))
	if didShape.MatchString(shape) || handleShape.MatchString(shape) || dashedShape.MatchString(shape) {
		return true
	}
	// Names in plain words ("Air taxi ride book", "Repair-shop-fast-food") have the groups of an AIR ID,
	// too, but no digits.
	if strings.ContainsAny(separatedShape.FindString(shape), digits) || knownDIDShape.MatchString(shape) {
		return true
	}
	return slices.ContainsFunc(attachedShape.FindAllString(shape, -1), func(id string) bool { return strings.ContainsAny(id, digits) })
}

const digits = "0123456789"

var (
	didShape    = regexp.MustCompile(`\bd[il1|]d ?: ?[a-z0-9-]+ ?:`)
	handleShape = regexp.MustCompile(`(^|[^a-z0-9])@ ?[a-z0-9-]{3}`)
	dashedShape = regexp.MustCompile(`(^|[^a-z])a[il1|]r( ?- ?[a-z0-9]{4}){3}\b`)
	// attachedShape and knownDIDShape may have letters before and after them.
	attachedShape = regexp.MustCompile(`a[il1|]r( ?- ?[a-z0-9]{4}){3}`)
	knownDIDShape = regexp.MustCompile(`d[il1|]d:(web|wba|key):`)
	// separatedShape has other signs in place of the dashes, or none.
	separatedShape = regexp.MustCompile(`(^|[^a-z])a[^a-z0-9]{0,2}[il1|][^a-z0-9]{0,2}r([^a-z0-9]{0,3}[a-z0-9]{4}){3}\b`)
	// spacedShape is a sequence of single letters or digits, as in "A I R - 1 2 3 4".
	spacedShape   = regexp.MustCompile(`\b[a-z0-9|]([^a-z0-9|]+[a-z0-9|]){4,}\b`)
	betweenSpaced = regexp.MustCompile(`[^a-z0-9|:@]+`)
)

// joinSpaced removes what stands between single letters.
func joinSpaced(shape string) string {
	return spacedShape.ReplaceAllStringFunc(shape, func(s string) string { return betweenSpaced.ReplaceAllString(s, "") })
}

// identifierShape returns a text in lower case, without marks and invisible characters, and with the
// ASCII character in place of each one that looks like it.
func identifierShape(text string) string {
	var b strings.Builder
	for _, c := range norm.NFKD.String(text) {
		c = unicode.ToLower(c)
		ascii, known := sameShape[c]
		switch {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point):
		case known:
			b.WriteByte(ascii)
		case signShapes[c] != 0:
			b.WriteByte(signShapes[c])
		case unicode.Is(unicode.Pd, c):
			b.WriteByte('-')
		case unicode.IsSpace(c), c == 0x2800: // the empty braille pattern
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// signShapes are characters that look like those of "AIR-" and "did:", besides the letters of
// sameShape. Capitals of scripts without small letters, and letters whose small form has
// another shape, are here.
var signShapes = map[rune]byte{
	'ꭺ': 'a', 'ᗅ': 'a', 'ꓮ': 'a', '🅰': 'a', '🄰': 'a', 'ꭱ': 'r', 'ꮢ': 'r', 'ᖇ': 'r', 'ꓣ': 'r', 'ꓤ': 'r', '🅁': 'r', '🆁': 'r',
	'ꓲ': 'i', 'ⵏ': 'i', 'ǀ': 'i', 'ו': 'i', 'ן': 'i', 'ا': 'i', '∣': 'i', '│': 'i', 'ⲓ': 'i', '🄸': 'i', '🅸': 'i', 'ꮷ': 'd', 'ꓒ': 'd', 'ᑯ': 'd', 'ɗ': 'd', 'đ': 'd', 'ɖ': 'd',
	'−': '-', '⁃': '-', '˗': '-', '‧': '-', '·': '-', '•': '-', 'ー': '-', '一': '-', 'ᅳ': '-', 'ㅡ': '-', '─': '-', '━': '-', '➖': '-', 'ⲻ': '-',
	'ᐨ': '-', 'ㆍ': '-', '_': '-', '‿': '-', '~': '-', '⁓': '-', '∼': '-', '・': '-',
	'ː': ':', '˸': ':', '꞉': ':', '∶': ':', '։': ':', '׃': ':', '⁚': ':', '᛬': ':', '܃': ':', '፡': ':', '჻': ':', '᠄': ':',
}
