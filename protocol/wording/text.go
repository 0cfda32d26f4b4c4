package wording

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// OneLine makes one line of a text: what is no UTF-8 and control characters
// become spaces, and runs of white space one space.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if _, bad := protocol.ControlRune(string(r)); bad || r == utf8.RuneError || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	return strings.Join(strings.Fields(s), " ")
}

var (
	inlineTag    = regexp.MustCompile(`(?i)</?(?:a|abbr|b|code|em|font|i|kbd|small|span|strong|sub|sup|tt|u)(?:\s[^<>]{0,200})?>`)
	htmlTag      = regexp.MustCompile(`<[A-Za-z/!][^<>]{0,200}>`)
	markdownLink = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*\)`)
	markdownMark = regexp.MustCompile("`+|\\*\\*+|(?m:^\\s*(?:#+|>|[-*]) +)")
)

// maxProse is how many bytes of a description are looked at; what is taken from
// it is its first sentence.
const maxProse = 8192

// StripMarkup takes the markup out of a description (OpenAPI allows CommonMark, and
// HTML is met) and makes one line of it.
func StripMarkup(s string) string {
	if len(s) > maxProse {
		s = strings.ToValidUTF8(s[:maxProse], "")
	}
	if strings.ContainsRune(s, '<') {
		s = inlineTag.ReplaceAllString(s, "")
		s = htmlTag.ReplaceAllString(s, " ")
	}
	if strings.ContainsRune(s, '[') {
		s = markdownLink.ReplaceAllString(s, "$1")
	}
	if strings.ContainsAny(s, "`*#>-") {
		s = markdownMark.ReplaceAllString(s, "")
	}
	return OneLine(s)
}

// DropInstruction returns a text, or "" when it speaks to a model rather than describing
// something.
func DropInstruction(s string) string {
	if _, found := protocol.Instruction(s); found {
		return ""
	}
	return s
}

var (
	sentenceStop  = regexp.MustCompile(`[.!?]["')\]]*\s+["'(\[]*\p{Lu}|[。！？]`)
	noSentenceEnd = regexp.MustCompile(`(?i)(?:^|[\s("'\[])(?:\pL|\d+|e\.g|i\.e|etc|vs|no|nr|dr|mr|mrs|ms|st|inc|ltd|corp|co|approx|jr|sr|dept|est|max|min|incl|excl|resp|p\.m|a\.m|u\.s|u\.k)\.$`)
)

// FirstSentence returns a plain text up to the end of its first sentence,
// without the full stop.
func FirstSentence(s string) string {
	from := 0
	for {
		m := sentenceStop.FindStringIndex(s[from:])
		if m == nil {
			break
		}
		at := from + m[0]
		_, size := utf8.DecodeRuneInString(s[at:])
		if size > 1 || !noSentenceEnd.MatchString(s[:at+1]) {
			s = s[:at]
			break
		}
		from = at + 1
	}
	return strings.TrimRight(s, ".。!！ ")
}

// Shorten shortens a text to so many characters, at the end of a word where
// there is one, and marks the cut.
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)[:most-1]
	end := len(runes)
	for i := end - 1; i > end/2; i-- {
		if unicode.IsSpace(runes[i]) {
			end = i
			break
		}
	}
	return strings.TrimRight(string(runes[:end]), " ,;:.-") + "…"
}

// IdentifierWords splits an identifier into its words, in lower case: at
// everything that is neither letter nor digit, and where a capital begins a
// word (getPetByID: get, pet, by, id).
func IdentifierWords(s string) []string {
	var out []string
	runes := []rune(s)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			afterSmall := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
			acronymEnds := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterSmall || acronymEnds {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return out
}

// ASCIIWords keeps of words what the letters a to z and digits can say. Letters
// with marks lose these: händler becomes handler.
func ASCIIWords(words []string) []string {
	var out []string
	for _, w := range words {
		w = norm.NFKD.String(strings.ReplaceAll(w, "ß", "ss"))
		w = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, strings.ToLower(w))
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// SnakeCase makes a lower-case name of letters, digits and underscores that begins
// with a letter and has at most so many characters; "" when nothing is left.
func SnakeCase(s string, most int) string {
	return JoinWords(IdentifierWords(s), "_", most)
}

// JoinWords joins what ASCII can say of the words, a letter first.
func JoinWords(words []string, separator string, most int) string {
	name := strings.Join(ASCIIWords(words), separator)
	name = strings.TrimLeft(name, "0123456789"+separator)
	if len(name) > most {
		name = strings.TrimRight(name[:most], separator)
	}
	return name
}

// UniqueName returns name, or name with the first number behind it that makes it
// new among taken, within so many characters, and takes it.
func UniqueName(name string, most int, taken map[string]bool) string {
	candidate := name
	for i := 2; taken[candidate]; i++ {
		suffix := "_" + strconv.Itoa(i)
		candidate = strings.TrimRight(name[:min(len(name), most-len(suffix))], "_") + suffix
	}
	taken[candidate] = true
	return candidate
}

// ThirdPerson returns "books" for "book".
func ThirdPerson(verb string) string {
	switch {
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "x") || strings.HasSuffix(verb, "z") ||
		strings.HasSuffix(verb, "ch") || strings.HasSuffix(verb, "sh") || verb == "do" || verb == "go" || verb == "undo" || verb == "redo":
		return verb + "es"
	default:
		return verb + "s"
	}
}

var pastEnding = regexp.MustCompile(`ne?\z`)

// participles are those of irregular verbs.
var participles = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for form := range english.Words() {
		for _, verb := range english.Irregular(form) {
			old := out[verb]
			switch {
			case strings.HasSuffix(form, "ing"):
				if form == verb+verb[len(verb)-1:]+"ing" && old == "" {
					out[verb] = verb // set, setting: unless a form of the past comes as well
				}
			// Of several forms (wrote, written; did, done; began, begun) the
			// participle ends in n or ne, or has a u.
			case strings.HasSuffix(form, "s"):
			case old == "" || old == verb || pastEnding.MatchString(form) && !pastEnding.MatchString(old) ||
				strings.Contains(form, "u") && !strings.Contains(old+verb, "u"):
				out[verb] = form
			}
		}
	}
	for verb := range strings.FieldsSeq("read spread run bid come become quit") {
		out[verb] = verb
	}
	return out
})

// pastParticiple returns "booked" for "book", "sent" for "send"; "" for a word that
// English does not know as a verb.
func pastParticiple(verb string) string {
	if p := participles()[verb]; p != "" {
		return p
	}
	for _, prefix := range []string{"re", "un", "over"} {
		if rest, ok := strings.CutPrefix(verb, prefix); ok && english.Lookup(rest).Verb {
			return prefix + pastParticiple(rest)
		}
	}
	if !english.Lookup(verb).Verb {
		return ""
	}
	last := len(verb) - 1
	vowel := func(i int) bool { return i >= 0 && strings.IndexByte("aeiou", verb[i]) >= 0 }
	short := last == 2 || last == 3 && !vowel(0)
	switch {
	case last < 1:
		return ""
	case verb[last] == 'e':
		return verb + "d"
	case verb[last] == 'y' && !vowel(last-1):
		return verb[:last] + "ied"
	case vowel(last-1) && !vowel(last-2) && !vowel(last) && strings.IndexByte("wxy", verb[last]) < 0 && (short || doublesConsonant.MatchString(verb)):
		return verb + verb[last:] + "ed" // planned, submitted
	default:
		return verb + "ed"
	}
}

// doublesConsonant matches verbs of several syllables that are stressed on the last.
var doublesConsonant = regexp.MustCompile(`(?:[^io]mit|[bd]mit|[^f]fer|trol|pel|cur|quip)\z`)

// baseOfThird returns "book" for "books" when that is how a verb is inflected,
// else "".
func baseOfThird(word string) string {
	for _, base := range english.Base(word) {
		if ThirdPerson(base) == word {
			return base
		}
	}
	return ""
}

// SingularOf returns the singular of an English noun, or the word itself.
func SingularOf(word string) string {
	if s := english.Singular(word); s != "" {
		return s
	}
	return word
}

// IsPlural reports whether a word is the plural of a noun.
func IsPlural(word string) bool {
	return SingularOf(word) != word
}

// soundsLikeYou matches words whose u or eu is spoken as in "you".
var soundsLikeYou = regexp.MustCompile(`\A(?:u(?:ni|s|r[il]|t[ei])|eu|one)`)

// WithArticle returns "a pet", "an order".
func WithArticle(noun string) string {
	first, _, _ := strings.Cut(noun, " ")
	spelled := !strings.ContainsAny(first, "aeiouy") // hsm is spoken letter by letter
	if noun != "" && (strings.ContainsRune("aeiou", rune(noun[0])) && !soundsLikeYou.MatchString(noun) ||
		spelled && strings.ContainsRune("fhlmnrsx", rune(noun[0]))) {
		return "an " + noun
	}
	return "a " + noun
}

// Capitalize returns the text with its first letter in upper case.
func Capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// firstWord splits a text into its first word, without what stands around it,
// and the rest.
func firstWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, unicode.IsSpace)
	if end < 0 {
		return strings.Trim(s, `"'(),.;:!?`), ""
	}
	return strings.Trim(s[:end], `"'(),.;:!?`), strings.TrimSpace(s[end:])
}

// mayBeEnglish reports whether a text may be judged as English: it holds hardly
// anything but ASCII.
func mayBeEnglish(s string) bool {
	others := 0
	for _, r := range s {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			others++
		}
	}
	return others*10 <= len(s)
}

// MostFrequent returns the text that stands most often in a list; of equals, the
// first.
func MostFrequent(texts []string) string {
	count := map[string]int{}
	for _, t := range texts {
		count[t]++
	}
	best := ""
	for _, t := range texts {
		if count[t] > count[best] {
			best = t
		}
	}
	return best
}

// SortedKeys returns the keys of a set in order.
func SortedKeys(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
