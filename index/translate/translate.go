// Package translate translates words of other languages to English, so that a request in one of
// them finds operations that are described in English. Start with [Detect] and [Translate].
//
// The table holds some 90,000 words of German, Spanish, French, Portuguese, Italian, Japanese, Korean
// and Chinese.
// README.md names their origin and licences.
package translate

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol/english"
)

//go:embed table.txt.gz
var packedTable []byte

//go:embed everyday.txt
var everyday string

// The languages of the table.
const (
	German     = "de"
	Spanish    = "es"
	French     = "fr"
	Portuguese = "pt"
	Italian    = "it"
	Japanese   = "ja"
	Korean     = "ko"
	Chinese    = "zh"
)

// latinLanguages are the languages that detectLatin distinguishes from English.
var latinLanguages = []string{German, Spanish, French, Portuguese, Italian}

// Marks that are used instead of English words.
const (
	Nothing  = "-" // a word without searchable content
	Question = "?" // a word that asks
	Negation = "!" // a word that forbids
)

// tables holds the words of each language.
type tables map[string]map[string][]string

var unpacked = sync.OnceValue(func() tables {
	t := make(tables)
	r, err := gzip.NewReader(bytes.NewReader(packedTable))
	if err != nil {
		panic(err) // the table is part of the program
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	t.addLines(string(text), func(line string) (words, meanings []string) {
		word, english, _ := strings.Cut(line, "\t")
		return []string{word}, strings.Fields(english)
	})
	t.addLines(everyday, func(line string) (words, meanings []string) {
		list, english, _ := strings.Cut(line, ": ")
		return strings.Split(list, ","), strings.Fields(english)
	})
	return t
})

// addLines adds the lines of a text in which "# de" begins the words of a language.
func (t tables) addLines(text string, parse func(line string) (words, meanings []string)) {
	language := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if code, ok := strings.CutPrefix(line, "# "); ok {
			if language = ""; len(code) == 2 {
				language = code
				if t[language] == nil {
					t[language] = make(map[string][]string)
				}
			}
			continue
		}
		if language == "" || line == "" {
			continue
		}
		words, meanings := parse(line)
		for _, w := range words {
			w, next, limited := strings.Cut(w, " (")
			t[language][w] = meanings
			if limited {
				t.limit(language, w, strings.Fields(strings.TrimSuffix(next, ")")))
			}
		}
	}
}

// The marks of what may follow an expression besides words: a number, or nothing.
const (
	aNumber = "#"
	anEnd   = "."
)

// nextWords is added to a language for the table of the words that its expressions stand before.
const nextWords = "+"

// limit lets an expression count only before some words.
func (t tables) limit(language, expression string, next []string) {
	if t[language+nextWords] == nil {
		t[language+nextWords] = make(map[string][]string)
	}
	t[language+nextWords][expression] = next
}

// standsBefore reports whether an expression that ends with last may stand before the fields after it.
func standsBefore(language, expression, last string, after []string) bool {
	allowed := unpacked()[language+nextWords][expression]
	if allowed == nil {
		return true
	}
	if r, _ := utf8.DecodeLastRuneInString(last); len(after) == 0 || unicode.IsPunct(r) {
		return slices.Contains(allowed, anEnd)
	}
	next := trimmed(after[0])
	if r, _ := utf8.DecodeRuneInString(next); unicode.IsDigit(r) {
		return slices.Contains(allowed, aNumber)
	}
	return slices.Contains(allowed, next)
}

// trimmed returns text in lower case without punctuation around it.
func trimmed(text string) string { return strings.ToLower(strings.TrimFunc(text, unicode.IsPunct)) }

// Phrase returns a single word with the meaning of an English noun of two words, "" if there is
// none: "cash machine" is an atm.
func Phrase(first, second string) string {
	if m := unpacked()["en"][first+" "+second]; len(m) > 0 {
		return m[0]
	}
	return ""
}

// A Translation is a part of a text with its translations.
type Translation struct {
	Text     string
	Meanings []string // English words, the likeliest first, or one of the marks; nil for an unknown word
}

// Detect returns the language of a text, "" for English and for languages that the table lacks.
func Detect(text string) string {
	hangul, kana, han := 0, 0, 0
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		}
	}
	switch {
	case hangul > 0 && hangul >= han+kana:
		return Korean
	case kana > 0:
		return Japanese
	case han > 0:
		return Chinese
	}
	return detectLatin(text)
}

// The weights of the evidence for a language: a word such as "the", a word of the dictionary, and a
// word that English lacks.
const (
	functionEvidence = 2
	wordEvidence     = 1
	foreignEvidence  = 1.5
)

// possessive is the English ending that would be read as the French word s' (today's menu).
var possessive = regexp.MustCompile(`['’]s\b`)

// detectLatin distinguishes the languages in Latin letters by the number of their words in a text.
func detectLatin(text string) string {
	if text = strings.ToLower(text); strings.ContainsAny(text, "'’") {
		text = possessive.ReplaceAllString(text, "")
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	ofEnglish, ofOthers, known := 0.0, 0.0, make([]bool, len(words))
	ofForeign, ofThis := foreignFunctionWords(), englishFunctionWords()
	for i, w := range words {
		known[i] = ofThis[w] || isEnglish(w)
		switch {
		case ofForeign[w]:
			ofOthers += functionEvidence
		case known[i]:
			ofOthers += wordEvidence
		default:
			ofOthers += foreignEvidence
		}
		switch {
		case ofThis[w]:
			ofEnglish += functionEvidence
		case known[i]:
			ofEnglish += wordEvidence
		}
	}
	if ofOthers <= ofEnglish {
		return "" // no language has more evidence
	}
	best, language := ofEnglish, ""
	for _, l := range latinLanguages {
		if mostEvidence(l, words, known) <= best {
			continue
		}
		score := 0.0
		for i, w := range words {
			meanings := lookupWord(l, w)
			switch {
			case len(meanings) == 0 && l == German && !known[i] && isCompound(w):
				score += foreignEvidence
			case len(meanings) == 0:
			case isFunctionWord(meanings):
				score += functionEvidence
			case known[i]:
				score += wordEvidence
			default:
				score += foreignEvidence
			}
		}
		if score > best {
			best, language = score, l
		}
	}
	return language
}

// isCompound reports whether a word is a German compound of two nouns of the table, one of which
// English lacks: Klavierlehrer. A name such as Rosenheim is none, and a word with one error is
// rather an English one.
func isCompound(word string) bool {
	parts := splitCompound(word)
	if len(parts) < 2 || isEnglish(parts[0].Text) && isEnglish(parts[1].Text) || !isNoun(parts[0].Meanings[0], 1) {
		return false
	}
	head := parts[1].Meanings
	isHead := func(meaning string) bool { return isNoun(meaning, maxVerbShare) }
	return slices.ContainsFunc(head[:min(2, len(head))], isHead) && !isName(word, surnameEndings) && !isMisspelt(word)
}

// maxVerbShare is how many times as often the head of a compound may be used as a verb in English: Hotelsuche.
const maxVerbShare = 4

// isNoun reports whether an English word is a noun, and at most some times as often something else.
func isNoun(word string, share int) bool {
	u := english.Lookup(word)
	return u.Noun && share*u.NounCount >= max(u.VerbCount, u.AdjectiveCount)
}

// The endings of names that have the form of a compound. Common words end like surnames: Kinderwagen.
var (
	townEndings    = strings.Fields("berg berge berger brück brücken burg burger egger furt furth hausen heim")
	surnameEndings = strings.Fields("bach bauer baum feld mann stadt stein wagen")
)

// isName reports whether a word has the ending of a town, or one of the others.
func isName(word string, others []string) bool {
	has := func(ending string) bool { return strings.HasSuffix(word, ending) }
	return slices.ContainsFunc(townEndings, has) || slices.ContainsFunc(others, has)
}

// isMisspelt reports whether a word is an English one but for a letter that is missing, added, changed
// or swapped with its neighbour.
func isMisspelt(word string) bool {
	known := func(w string) bool { return english.Lookup(w).Known() }
	for at := range len(word) {
		if known(word[:at]+word[at+1:]) || at > 0 && known(word[:at-1]+word[at:at+1]+word[at-1:at]+word[at+1:]) {
			return true
		}
	}
	for letter := 'a'; letter <= 'z'; letter++ {
		for at := range len(word) + 1 {
			if known(word[:at]+string(letter)+word[at:]) || at > 0 && known(word[:at-1]+string(letter)+word[at:]) {
				return true
			}
		}
	}
	return false
}

// mostEvidence returns the maximum evidence of words for a language, without a lookup of their base
// forms; english tells which of them are English.
func mostEvidence(language string, words []string, english []bool) (most float64) {
	table := unpacked()[language]
	for i, w := range words {
		switch m := table[w]; {
		case m != nil && isFunctionWord(m):
			most += functionEvidence
		case english[i]:
			most += wordEvidence
		default:
			most += foreignEvidence
		}
	}
	return most
}

// foreignFunctionWords returns the function words of the languages that detectLatin distinguishes from
// English.
var foreignFunctionWords = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for _, l := range latinLanguages {
		for w, meanings := range unpacked()[l] {
			if len(meanings) > 0 && isFunctionWord(meanings) {
				set[w] = true
			}
		}
	}
	return set
})

// isFunctionWord reports whether a word has only a grammatical function, according to its meanings.
func isFunctionWord(meanings []string) bool {
	return len(meanings[0]) == 1 && !unicode.IsLetter(rune(meanings[0][0]))
}

// isEnglish reports whether a word is English.
func isEnglish(w string) bool { return english.Lookup(w).Known() || len(english.Base(w)) > 0 }

var englishFunctionWords = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq("the a an and as come or of to in on at for with from by is are was be my me i you your we our it this that what where when who how can do does not no please want need would like will have has some any all") {
		set[w] = true
	}
	return set
})

// lookupWord returns the translations of a word in its written form or one of its base forms.
func lookupWord(language, word string) []string {
	table := unpacked()[language]
	if m := table[word]; m != nil {
		return m
	}
	return lookupBase(table, language, word)
}

// maxPhrase is the number of words of the longest expression that is translated as a whole.
const maxPhrase = 5

// JoinPhrases joins the words of expressions that have a translation of their own: "tipo de cambio"
// is an exchange rate.
func JoinPhrases(language string, fields []string) []string {
	table := unpacked()[language]
	joined := make([]string, 0, len(fields))
	for len(fields) > 0 {
		n := min(maxPhrase, len(fields))
		for ; n > 1; n-- {
			expression := trimmed(strings.Join(fields[:n], " "))
			if table[expression] != nil && standsBefore(language, expression, fields[n-1], fields[n:]) {
				break
			}
		}
		joined, fields = append(joined, strings.Join(fields[:n], " ")), fields[n:]
	}
	return joined
}

// separableParticles end a German sentence whose verb they belong to: "sag den Termin ab" is absagen.
var separableParticles = strings.Fields("ab an auf aus ein her hin hinzu nach um vor weg zu zurück zusammen")

// JoinSeparated joins the particle at the end of a German sentence to the verb at its beginning, if
// the dictionary has the verb.
func JoinSeparated(fields []string) []string {
	last := len(fields) - 1
	if last < 2 {
		return fields
	}
	particle := trimmed(fields[last])
	if !slices.Contains(separableParticles, particle) {
		return fields
	}
	for _, ending := range []string{"en", "n", ""} {
		verb := particle + strings.TrimSuffix(trimmed(fields[0]), "e") + ending
		if words := Translate(German, verb); len(words) == 1 && words[0].Meanings != nil {
			return append([]string{verb}, fields[1:last]...)
		}
	}
	return fields
}

// Translate splits a part of a text without spaces into words, and returns their translations.
func Translate(language, field string) []Translation {
	field = trimmed(field)
	switch language {
	case Japanese, Chinese, Korean:
		return segmentText(language, field)
	}
	var words []Translation
	for _, part := range strings.FieldsFunc(field, func(r rune) bool { return r == '\'' || r == '’' }) {
		words = append(words, translateWord(language, part)...)
	}
	return words
}

// translateWord translates a word, or the two parts of a German compound.
func translateWord(language, word string) []Translation {
	if m := lookupWord(language, word); m != nil {
		return []Translation{{word, m}}
	}
	if language == German {
		if parts := splitCompound(word); parts != nil {
			return parts
		}
	}
	return []Translation{{word, lookupAccented(language, word)}}
}

// splitCompound returns the two parts of a German compound, nil for another word and for the name of a
// town. The last part is the head, the first part modifies it.
func splitCompound(word string) []Translation {
	if len(word) > maxCompound || isName(word, nil) {
		return nil
	}
	for at := len(word) - minPart; at >= minPart; at-- {
		if !utf8.RuneStart(word[at]) {
			continue
		}
		first, last := word[:at], lookupWord(German, word[at:])
		if last == nil || len(last[0]) == 1 {
			continue
		}
		for _, link := range []string{"", "s", "es", "n", "en"} {
			stem, ok := strings.CutSuffix(first, link)
			if !ok {
				continue
			}
			if m := lookupWord(German, stem); m != nil && len(m[0]) > 1 {
				return []Translation{{stem, m}, {word[at:], last}}
			}
			if m := lookupWord(German, stem+"e"); m != nil && len(m[0]) > 1 {
				return []Translation{{stem, m}, {word[at:], last}}
			}
		}
	}
	return nil
}

// maxCompound is the maximum number of bytes of a compound.
const maxCompound = 64

// minPart is the minimum number of bytes of a part of a compound.
const minPart = 4

// maxWord is the maximum length in characters of a word that is looked up in a text without spaces.
const maxWord = 8

// unknownCost is the cost of a character that the table lacks, relative to that of a word.
const unknownCost = 3

// segmentText splits a text into words that the table knows: as few as possible, with as few
// characters that it lacks as possible. Those remain as words of their own.
func segmentText(language, text string) []Translation {
	runes := []rune(text)
	table := unpacked()[language]
	meaningsOf := func(at, n int) []string {
		if m := table[string(runes[at:at+n])]; m != nil {
			return m
		}
		return translateInflected(language, table, runes[at:at+n], runes[at+n:])
	}
	costs := make([]int, len(runes)+1)   // of the rest of the text, by its start
	lengths := make([]int, len(runes)+1) // of its first word, 0 for an unknown character
	for at := len(runes) - 1; at >= 0; at-- {
		costs[at] = unknownCost + costs[at+1]
		for n := 1; n <= min(maxWord, len(runes)-at); n++ {
			if cost := 1 + costs[at+n]; cost <= costs[at] && meaningsOf(at, n) != nil {
				costs[at], lengths[at] = cost, n
			}
		}
	}
	var words []Translation
	unknown := 0 // the start of the characters that the table lacks
	flush := func(to int) {
		if unknown < to {
			words = append(words, Translation{string(runes[unknown:to]), nil})
		}
	}
	for at := 0; at < len(runes); {
		n := lengths[at]
		if n == 0 {
			at++
			continue
		}
		flush(at)
		words = append(words, Translation{string(runes[at : at+n]), meaningsOf(at, n)})
		at += n
		unknown = at
	}
	flush(len(runes))
	return words
}

// translateInflected returns the meanings of a Japanese verb or adjective from its stem in a text:
// the part in Han characters without the ending.
func translateInflected(language string, table map[string][]string, stem, rest []rune) []string {
	if language != Japanese || len(rest) == 0 || !unicode.Is(unicode.Hiragana, rest[0]) || !unicode.Is(unicode.Han, stem[0]) {
		return nil
	}
	for _, ending := range []string{"う", "く", "ぐ", "す", "つ", "ぬ", "ぶ", "む", "る", "い", "える", "べる", "める", "ける", "げる"} {
		if m := table[string(stem)+ending]; m != nil {
			return m
		}
	}
	return nil
}

// lookupBase returns the translations of an inflected word by one of the forms under which a dictionary
// may have it, nil if the table has none of them. It allocates nothing.
func lookupBase(table map[string][]string, language, word string) []string {
	rules := inflections[language]
	if rules == nil {
		return nil
	}
	if m := rules.lookupVerb(table, word); m != nil {
		return m
	}
	for _, r := range rules.endings {
		stem, ok := strings.CutSuffix(word, r.ending)
		if !ok || utf8.RuneCountInString(stem) < 3 {
			continue
		}
		for _, replacement := range r.replacements {
			if m := lookupJoined(table, stem, replacement); m != nil {
				return m
			}
		}
	}
	if rest, ok := strings.CutPrefix(word, "ge"); ok && language == German {
		return lookupJoined(table, strings.TrimSuffix(rest, "t"), "en")
	}
	return nil
}

// lookupJoined returns the translations of a stem with an ending, nil if the table has none.
func lookupJoined(table map[string][]string, stem, ending string) []string {
	var room [64]byte
	if m := table[string(append(append(room[:0], stem...), ending...))]; m != nil && m[0] != Nothing {
		return m
	}
	return nil
}

// An inflection is what a language adds to the form of a dictionary.
type inflection struct {
	endings []endingRule
	added   []string // what the stem of a verb takes
	clitics []string // pronouns after a verb that ends in r
	restore string   // what the verb loses before them
}

// An endingRule replaces an ending by those of dictionary forms.
type endingRule struct {
	ending       string
	replacements []string
}

// lookupVerb returns the translations of the stem of a verb, or of a verb with a pronoun behind it.
func (l *inflection) lookupVerb(table map[string][]string, word string) []string {
	for _, added := range l.added {
		if m := lookupJoined(table, word, added); m != nil && utf8.RuneCountInString(word) > 3 {
			return m
		}
	}
	for _, clitic := range l.clitics {
		if stem, ok := strings.CutSuffix(word, clitic); ok && (clitic[0] == '-' || strings.HasSuffix(stem, "r")) {
			if m := lookupJoined(table, stem, l.restore); m != nil {
				return m
			}
		}
	}
	return nil
}

// endings returns a rule for each ending of pairs of endings and their replacements; "_" is none.
func endings(pairs ...string) (rules []endingRule) {
	for i := 0; i < len(pairs); i += 2 {
		replacements := strings.Fields(pairs[i+1])
		for k, r := range replacements {
			replacements[k] = strings.Trim(r, "_")
		}
		for ending := range strings.FieldsSeq(pairs[i]) {
			rules = append(rules, endingRule{ending, replacements})
		}
	}
	return rules
}

// inflections are those of the languages in Latin letters.
var inflections = map[string]*inflection{
	German: {endings("e t st et est te en", "en n _", "en n er e es em s ern", "_ e"), strings.Fields("en n"), nil, ""},
	Spanish: {endings("os as o a", "o a _", "es s", "_",
		"o as a amos an e es en emos imos ando iendo ado ido é ó", "ar er ir"),
		nil, strings.Fields("melo nos me te le lo la se"), ""},
	Portuguese: {endings("os as o a", "o a _", "ões ães", "ão", "es s", "_", "is", "l",
		"o as a amos am e es em emos imos ando endo indo ado ido ei ou i eu iu", "ar er ir"),
		nil, strings.Fields("-me -nos -te -lhe -se -lo -la"), ""},
	Italian: {endings("i e a o", "o a e", "chi che", "co ca", "ghi ghe", "go ga",
		"o i a e iamo ano ono ando endo ato uto ito ami imi", "are ere ire"),
		nil, strings.Fields("melo mela ci mi ti vi gli lo la li le si ne"), "e"},
	French: {endings("es s x", "_", "e es ons ez ent é ée és ées er", "er ir re", "is it issons issez", "ir re", "aux", "al"), nil, nil, ""},
}
