package wording

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// OneLine returns a text as one line: invalid UTF-8, control characters and runs of white space
// become one space each.
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

// maxProse is how many bytes of a description are read. Only its first sentence is used.
const maxProse = 8192

// StripMarkup removes CommonMark and HTML markup from a description and returns it as one line.
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

// DropInstruction returns the text, or "" for a text that addresses a language model instead of
// describing something.
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

// FirstSentence returns the first sentence of a plain text, without its full stop.
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

// Shorten cuts a text to at most that many characters, at a word boundary where possible, and ends
// a cut text with "…".
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

// IdentifierWords splits an identifier into words in lower case: at every character that is neither
// letter nor digit, and before capitals that begin a word (getPetByID: get, pet, by, id).
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

// ASCIIWords reduces words to the letters a to z and digits. Letters with marks lose the marks:
// händler becomes handler.
func ASCIIWords(words []string) []string {
	var out []string
	for _, w := range words {
		w = norm.NFKD.String(protocol.WithoutMarks(w))
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

// SnakeCase returns a lowercase name of letters, digits and underscores that begins with a letter
// and has at most that many characters; "" when nothing remains.
func SnakeCase(s string, most int) string {
	return JoinWords(IdentifierWords(s), "_", most)
}

// JoinWords joins the ASCII form of the words. The result begins with a letter.
func JoinWords(words []string, separator string, most int) string {
	name := strings.Join(ASCIIWords(words), separator)
	name = strings.TrimLeft(name, "0123456789"+separator)
	if len(name) > most {
		name = strings.TrimRight(name[:most], separator)
	}
	return name
}

// UniqueName returns the name, with a number added if it is taken, in at most that many characters,
// and marks it as taken.
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

// participles maps irregular verbs to their past participles.
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

// pastParticiple returns "booked" for "book" and "sent" for "send", and "" for a word that the
// dictionary does not know as a verb.
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

// doublesConsonant matches verbs of several syllables with the stress on the last.
var doublesConsonant = regexp.MustCompile(`(?:[^io]mit|[bd]mit|[^f]fer|trol|pel|cur|quip)\z`)

// baseOfThird returns "book" for "books", and "" for a word that is not the third person of a verb.
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

// soundsLikeYou matches words that begin with the sound of "you" or "one".
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

// firstWord splits a text into its first word, without surrounding punctuation, and the rest.
func firstWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, unicode.IsSpace)
	if end < 0 {
		return strings.Trim(s, `"'(),.;:!?`), ""
	}
	return strings.Trim(s[:end], `"'(),.;:!?`), strings.TrimSpace(s[end:])
}

// mayBeEnglish reports whether a text is almost entirely ASCII, and so may be judged as English.
func mayBeEnglish(s string) bool {
	others := 0
	for _, r := range s {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			others++
		}
	}
	return others*10 <= len(s)
}

// functionWords are words of English without content, as far as other languages do not have them.
var functionWords = WordSet("the of for and with from by your this that is are or to")

// isOtherLanguage reports whether a text is not English: by its letters, or because a dictionary of
// English has at most two of five of its words.
func isOtherLanguage(s string) bool {
	if !mayBeEnglish(s) {
		return true
	}
	words, known := 0, 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if w == strings.ToUpper(w) {
			continue // an abbreviation
		}
		words++
		w = strings.ToLower(w)
		if functionWords[w] {
			return false
		}
		for _, form := range []string{w, strings.TrimSuffix(w, "s")} {
			if u := english.Lookup(form); u.VerbCount+u.NounCount+u.AdjectiveCount > 0 {
				known++
				break
			}
		}
	}
	return words >= 2 && 5*known <= 2*words
}

// MostFrequent returns the most frequent text of a list; of several, the first.
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
