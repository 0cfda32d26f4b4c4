package frame

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"gazetteer/internal/lookalike"
)

// escapeText returns an untrusted text as HTML that shows all of it: markup is escaped, and each
// character that would hide, reorder or blank out its neighbors is shown as a mark with its code
// point.
func escapeText(s string) template.HTML {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for part, marked := range splitHidden(s) {
		if marked {
			b.WriteString(`<span class="mark">`)
			b.WriteString(part)
			b.WriteString(`</span>`)
			continue
		}
		markup.WriteString(&b, part)
	}
	return template.HTML(b.String())
}

// markup escapes the characters that begin markup in a text. Quotation marks begin none there, and
// pages of programs are full of them; in an attribute the template escapes them, too.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// PlainText returns an untrusted text for places without markup (a title, an attribute, a line of a
// preformatted block): hidden characters are written as "U+202E". The template escapes it as usual.
func PlainText(s string) string {
	var b strings.Builder
	for part := range splitHidden(s) {
		b.WriteString(part)
	}
	return b.String()
}

// maxUnbroken is the number of characters of a word that fits the narrowest window as a heading.
const maxUnbroken = 16

// breakable is escapeText for names, hosts and prose: a word of more than [maxUnbroken] characters may
// be broken after each of its separators, so that a narrow window does not break it elsewhere.
func breakable(s string) template.HTML { return breakLongWords(s, maxUnbroken) }

// clipEscaped is breakable for lists: it shortens a text of more than n characters, so that
// one service cannot push the others off the page.
func clipEscaped(n int, s string) template.HTML {
	return breakable(clipWords(n, s))
}

// clipPath is clipEscaped for a path, an address or an id, which may be broken after each
// separator.
func clipPath(n int, s string) template.HTML {
	return breakLongWords(clipWords(n, s), 0)
}

// separators are the characters after which a name or an address may be broken.
const separators = "/._:@?&="

// breakLongWords escapes s as escapeText does, and allows a break after each run of separators in a
// word of more than longest characters. It keeps in one line what browsers break at its hyphen.
func breakLongWords(s string, longest int) template.HTML {
	return template.HTML(hyphenated.Replace(string(breakAtSeparators(s, longest))))
}

// hyphenated keeps words in one line.
var hyphenated = strings.NewReplacer("well-known", `<span class="one-line">well-known</span>`, "P-256", `<span class="one-line">P-256</span>`, "P-384", `<span class="one-line">P-384</span>`,
	"YYYY-MM-DD", `<span class="one-line">YYYY-MM-DD</span>`)

// maxWhole is the number of characters of a member's name that fits a line of the narrowest window.
const maxWhole = 34

func breakAtSeparators(s string, longest int) template.HTML {
	if len(s) <= longest || !strings.ContainsAny(s, separators) {
		return escapeText(s)
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		end := strings.IndexAny(rest, " \n\t\r")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		end += len(rest[end:]) - len(strings.TrimLeft(rest[end:], " \n\t\r"))
		space := rest[len(word):end]
		rest = rest[end:]
		length := utf8.RuneCountInString(word)
		member := 0 < longest && longest < length && length <= maxWhole && strings.Contains(word, "_") && !strings.ContainsAny(word, "./:")
		if member { // such as pre_auth_discovery: whole on the next line, if it fits there
			b.WriteString(`<span class="name">`)
		}
		for utf8.RuneCountInString(word) > longest {
			name := strings.TrimLeft(word, separators) // a slash at the beginning is not left behind
			i := strings.IndexAny(name, separators)
			if i < 0 {
				break
			}
			i += len(word) - len(name)
			i += len(word[i:]) - len(strings.TrimLeft(word[i:], separators))
			if i == len(word) {
				break
			}
			b.WriteString(string(escapeText(word[:i])))
			b.WriteString("<wbr>")
			word = word[i:]
		}
		b.WriteString(string(escapeText(word)))
		if member {
			b.WriteString("</span>")
		}
		b.WriteString(space)
	}
	return template.HTML(b.String())
}

// clipWords cuts a text to n characters, at the end of a word unless that word is long.
func clipWords(n int, s string) string {
	chars := []rune(s)
	if len(chars) <= n {
		return s
	}
	cut := string(chars[:n])
	if i := strings.LastIndexByte(cut, ' '); chars[n] != ' ' && i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// ClipPlain is PlainText, shortened to n characters.
func ClipPlain(n int, s string) string {
	return PlainText(clipWords(n, s))
}

// maxCombining is the number of combining marks on one character. Written languages use up to four;
// hundreds cover the lines above.
const maxCombining = 4

// firstCombining is the first combining mark of Unicode.
const firstCombining = '\u0300'

// splitHidden yields s as runs of ordinary text and, with marked set, the code points of its hidden
// characters.
func splitHidden(s string) func(yield func(part string, marked bool) bool) {
	return func(yield func(string, bool) bool) {
		start, combining := 0, 0
		prev := rune(0)
		for i := 0; i < len(s); {
			r, size := utf8.DecodeRuneInString(s[i:])
			combining++
			if r < firstCombining || !unicode.In(r, unicode.Mn, unicode.Me) {
				combining = 0
			}
			broken := r == utf8.RuneError && size == 1
			if broken || combining > maxCombining || isHidden(r, prev, s[i+size:]) {
				if start < i && !yield(s[start:i], false) {
					return
				}
				if !yield(fmt.Sprintf("U+%04X", r), true) {
					return
				}
				start = i + size
			}
			prev = r
			i += size
		}
		if start < len(s) {
			yield(s[start:], false)
		}
	}
}

// isHidden reports whether r cannot be seen or changes how its neighbors are seen.
func isHidden(r, prev rune, rest string) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	switch r {
	case '\n', '\t', '\r':
		return false
	case '\u200C', '\u200D':
		// Joiners are how Persian, Hindi and many emoji are written. Beside a
		// letter of a script that does not use them they only hide.
		next, _ := utf8.DecodeRuneInString(rest)
		return !isJoiner(prev) || !isJoiner(next)
	case '\u034F', '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800', '\u2028', '\u2029':
		// Fillers and blanks that Unicode does not count as format characters,
		// and the separators that break a line where none is.
		return true
	}
	if r >= '\U000E0100' && r <= '\U000E01EF' { // a form of an ideograph, or hidden bytes
		return !unicode.Is(unicode.Han, prev)
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co) || r >= '\uFE00' && r <= '\uFE0D'
}

func isJoiner(r rune) bool {
	return r >= '\u0600' && r != utf8.RuneError && unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk)
}

// CaretIndent returns white space as wide as before, so that a caret after it points at what
// follows before.
func CaretIndent(before string) string {
	var b strings.Builder
	for _, r := range before {
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			b.WriteRune('\u3000')
			continue
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// maxColumns is the number of characters of a line of a document that are shown.
const maxColumns = 600

// formatSourceLine returns one line of a text with its spaces. A long line is cut.
func formatSourceLine(line string) template.HTML {
	return clipCode(maxColumns, strings.ReplaceAll(line, "\t", "    "))
}

// clipCode is clipEscaped for a preformatted block, whose lines are broken by the style sheet alone.
func clipCode(n int, s string) template.HTML {
	return escapeText(clipWords(n, s))
}

// MarkWords returns at most n characters of an untrusted text as HTML, like the templates of
// [Frame], with each of the words in a mark element. It compares them without regard to case. A word of
// several parts, such as "doctor's", is marked only as a whole.
func MarkWords(n int, s string, words []string) template.HTML {
	if utf8.RuneCountInString(s) > n {
		s = strings.TrimSpace(string([]rune(s)[:n])) + "…"
	}
	text := make([]rune, 0, len(s)) // in lower case
	at := make([]int, 0, len(s)+1)  // the offset of each of its characters
	for i, r := range s {
		text, at = append(text, unicode.ToLower(r)), append(at, i)
	}
	at = append(at, len(s))
	marked := make([]bool, len(text)+1) // the last one ends the last run
	for _, w := range words {
		word := []rune(strings.Map(unicode.ToLower, strings.TrimFunc(w, isSeparator)))
		for i := range text {
			if end := i + prefixLength(text[i:], word); end > i && isWordEdge(text, i) && isWordEdge(text, end) {
				for k := i; k < end; k++ {
					marked[k] = true
				}
			}
		}
	}
	var b strings.Builder
	for start := 0; start < len(text); {
		end := start + 1
		for end < len(text) && marked[end] == marked[start] {
			end++
		}
		part := string(escapeText(s[at[start]:at[end]]))
		if marked[start] {
			part = "<mark>" + part + "</mark>"
		}
		b.WriteString(part)
		start = end
	}
	return template.HTML(b.String())
}

// prefixLength returns the number of characters of a text that are a word, 0 if the text does not begin
// with it. Separators between the parts of the word stand for any separators.
func prefixLength(text, word []rune) int {
	n := 0
	for i, r := range word {
		switch {
		case isSeparator(r):
			if i > 0 && isSeparator(word[i-1]) {
				continue
			}
			from := n
			for n < len(text) && isSeparator(text[n]) {
				n++
			}
			if n == from {
				return 0
			}
		case n < len(text) && text[n] == r:
			n++
		default:
			return 0
		}
	}
	return n
}

// isWordEdge reports whether a word can begin or end before the character i of a text.
func isWordEdge(text []rune, i int) bool {
	if i == 0 || i == len(text) {
		return true
	}
	for _, r := range text[i-1 : i+1] {
		if isSeparator(r) || unicode.In(r, unspaced...) {
			return true
		}
	}
	return false
}

// unspaced are the scripts whose words have no spaces between them, or particles at their ends.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// isSeparator reports whether r separates words.
func isSeparator(r rune) bool {
	joiner := r == '\u200C' || r == '\u200D' // which stand inside of words
	return !joiner && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.M, r)
}

// describeLookalike says in what way the name of a host can be mistaken for another, "" when it
// cannot.
func describeLookalike(host string) string {
	if l, found := lookalike.FindHost(host); found {
		return l.String()
	}
	return ""
}
