package index

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol/english"
)

// A query may ask for several things: "find a hotel in Rome and book a taxi to
// it". The sum of all its words means neither of them, so that each wish has a
// meaning of its own beside that of the whole, and an operation is as near as the
// wish that it answers best lets it be.

// A wish is one of several things that a query asks for.
type wish struct {
	text    string // its words, as asked
	meaning meaning
}

const (
	// wishShare is how much the nearest wish counts in the cosine of an operation,
	// beside the whole query.
	wishShare = 0.3
	// leastWish is how many words that tell something make a wish.
	leastWish = 2
	// maxWishes bounds the work of one query.
	maxWishes = 4
	// noWish is the number of words that belong to no wish, such as what is told
	// before the first.
	noWish = -1
)

// wishes returns what a query asks for when these are several things, nil when it
// is one.
func (l *lexicon) wishes(words []word) []wish {
	var wishes []wish
	for rest := words; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].wish == rest[0].wish {
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		if part[0].wish == noWish || len(part) < leastWish || len(wishes) == maxWishes {
			continue
		}
		if m := l.of(forms(part)); m.scale != 0 {
			wishes = append(wishes, wish{asked(part), m})
		}
	}
	if len(wishes) < 2 {
		return nil
	}
	return wishes
}

// asked returns words as they were asked, of a long text the first ones.
func asked(words []word) string {
	var texts []string
	for _, w := range words[:min(shownWords, len(words))] {
		texts = append(texts, w.asked)
	}
	if len(words) > shownWords {
		texts = append(texts, "…")
	}
	return strings.Join(texts, " ")
}

// shownWords is how many words of a wish are shown with each operation.
const shownWords = 8

// nearestWish returns the wish that lies nearest to an operation's meaning, and how
// near. There must be one.
func nearestWish(wishes []wish, m meaning) (nearest int, cosine float32) {
	cosine = wishes[0].meaning.cosine(m)
	for i := range wishes[1:] {
		if c := wishes[1+i].meaning.cosine(m); c > cosine {
			nearest, cosine = 1+i, c
		}
	}
	return nearest, cosine
}

// wishesIn gives each word of a query the number of the wish it belongs to. A wish
// begins where a sentence does, or after a word such as "and", if it reads as one:
// with a request, a question or a verb that tells somebody what to do. What follows
// it and is none ("it should be near the station") belongs to it.
func wishesIn(words []string) []int {
	numbers := make([]int, len(words))
	if endOfPart(words, 0) == len(words) {
		return numbers
	}
	n, current := 0, noWish
	for from := 0; from < len(words); {
		to := endOfPart(words, from)
		start, is := wishAt(words[from:to])
		if is {
			current = n
			n++
		} else {
			start = 0
		}
		for i := from; i < to; i++ {
			numbers[i] = current
			if i < from+start {
				numbers[i] = noWish
			}
		}
		from = to
	}
	return numbers
}

// endOfPart returns where the part of words that begins at from ends.
func endOfPart(words []string, from int) int {
	for i := from + leastWish; i < len(words); i++ {
		if endsSentence(words[i-1]) {
			return i
		}
		if !slices.Contains(joiners, bare(words[i])) {
			continue
		}
		if start, ok := wishStart(words[i:]); ok && start < len(words)-i {
			return i
		}
	}
	return len(words)
}

// wishAt reports whether a part of a query is a wish, and where in it what is
// wished begins.
func wishAt(part []string) (start int, is bool) {
	start, is = wishStart(part)
	last := strings.TrimRightFunc(part[len(part)-1], func(r rune) bool { return unicode.IsPunct(r) && r != '?' })
	return start, is || strings.HasSuffix(last, "?")
}

// wishStart passes over what joins a wish to the one before it and over what is
// said for politeness, and reports whether what follows reads as the beginning of
// a wish.
func wishStart(words []string) (start int, is bool) {
	for start < len(words)-1 && slices.Contains(joiners, bare(words[start])) {
		start++
	}
	if polite, _ := withoutPoliteness(words[start:]); polite > 0 {
		return start + polite, true
	}
	first, next := bare(words[start]), ""
	if start+1 < len(words) {
		next = bare(words[start+1])
	}
	if slices.Contains(questions, first) {
		return start, true
	}
	if slices.Contains(pointers, next) {
		return start, slices.Contains(auxiliaries, first) || english.Lookup(first).Verb
	}
	u := english.Lookup(first)
	return start, u.Verb && u.VerbCount > u.NounCount
}

var (
	joiners     = strings.Fields("additionally afterwards also and besides finally furthermore moreover next plus then")
	questions   = strings.Fields("how what what's when when's where where's which who who's whose why")
	auxiliaries = strings.Fields("are can could did do does is may should will would")
	// pointers stand after a verb that is one: "book a table", "is there a bus".
	pointers = strings.Fields("a all an another any each every her him his i it its me my our some that the their them there these they this those us we you your")
)

// bare returns a word in lower case without the marks around it.
func bare(word string) string {
	return strings.ToLower(strings.TrimFunc(strings.ReplaceAll(word, "’", "'"), unicode.IsPunct))
}

// leastSentence is how many letters a word has at least that ends a sentence with a
// full stop: a shorter one is cut short (St., No., p.m.).
const leastSentence = 3

// endsSentence reports whether a sentence ends after a word.
func endsSentence(word string) bool {
	word = strings.TrimRight(word, "\"')]”’")
	r, size := utf8.DecodeLastRuneInString(word)
	switch r {
	case '?', '!', ';', '。':
		return true
	case '.':
		return utf8.RuneCountInString(word[:len(word)-size]) >= leastSentence
	}
	return false
}
