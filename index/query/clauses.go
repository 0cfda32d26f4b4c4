package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

const (
	// MinClauseWords is the minimum number of significant words of a clause.
	MinClauseWords = 2
	// NoClause is the clause number of words that belong to no clause, such as a statement before
	// the first one.
	NoClause = -1
)

// numberClauses returns for each word of a query the number of its clause. A clause begins at the
// start of a sentence or after a word such as "and", if a request, a question or an imperative
// follows. Other sentences after it ("it should be near the station") belong to it.
func numberClauses(words []string) []int {
	numbers := make([]int, len(words))
	if endOfSegment(words, 0) == len(words) {
		return numbers
	}
	n, current := 0, NoClause
	for from := 0; from < len(words); {
		to := endOfSegment(words, from)
		start, is := findClauseStart(words[from:to])
		switch {
		case is:
		case from == 0:
			is = english.Lookup(normalizeWord(words[0])).Verb // "mail her the receipt" follows, so "store the card" is one
		case ordersBareNoun(words[from:to]):
			is = true
		}
		if is && n > 0 && onlyForbids(words[from+start:to]) {
			is = false // it is about the clause before it
		}
		if is {
			current = n
			n++
		} else {
			start = 0
		}
		for i := from; i < to; i++ {
			numbers[i] = current
			if i < from+start {
				numbers[i] = NoClause
			}
		}
		from = to
	}
	return numbers
}

// endOfSegment returns the end of the segment of words that begins at from.
func endOfSegment(words []string, from int) int {
	for i := from + MinClauseWords; i < len(words); i++ {
		if endsSentence(words[i-1]) || strings.ContainsAny(lastRune(words[i-1]), ",:") && asksQuestion(words[i:]) ||
			lastRune(words[i-1]) == "," && (asksForNext(words[i:]) || ordersAfterStatement(words[from:i], words[i:])) {
			return i
		}
		if !slices.Contains(clauseJoiners, normalizeWord(words[i])) || slices.Contains(articles, normalizeWord(words[i-1])) {
			continue // the next train
		}
		if start, ok := skipToClause(words[i:]); ok && start < len(words)-i {
			return i
		}
		if ordersBareNoun(words[i:]) && slices.ContainsFunc(words[from:i], func(w string) bool { return slices.Contains(articles, normalizeWord(w)) }) {
			return i // "translate a menu and order sushi": as nouns, they would have an article, too
		}
	}
	return len(words)
}

// ordersBareNoun reports whether words after a conjunction can be a verb that a service may do, though
// more often a noun, and its object without an article: and order sushi.
func ordersBareNoun(words []string) bool {
	at := slices.IndexFunc(words, func(w string) bool { return !slices.Contains(clauseJoiners, normalizeWord(w)) })
	if at < 1 || at+1 >= len(words) {
		return false
	}
	verb, next := normalizeWord(words[at]), normalizeWord(words[at+1])
	object := english.Lookup(next)
	return english.Lookup(verb).Verb && effect.Of(verb) != 0 && !slices.Contains(prepositions, next) && (!object.Verb || object.NounCount >= object.VerbCount)
}

// asksQuestion reports whether words begin like a question: what is it about, is the author angry.
// A word that may begin a relative clause ("a flight, which is cheap") needs a question mark.
func asksQuestion(words []string) bool {
	if len(words) < 2 {
		return false
	}
	if slices.Contains(relatives, normalizeWord(words[0])) && !slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "?") }) {
		return false
	}
	first, next := normalizeWord(words[0]), normalizeWord(words[1])
	return slices.Contains(questionWords, first) && slices.Contains(auxiliaries, next) ||
		slices.Contains(auxiliaries, first) && slices.Contains(determiners, next)
}

// asksForNext reports whether words that follow a comma ask for a further act on a thing that was
// named: remove its background, upload it.
func asksForNext(words []string) bool {
	if len(words) < 2 {
		return false
	}
	first := normalizeWord(words[0])
	return english.Lookup(first).Verb && effect.Of(first) != 0 && refersBack(words[1:2])
}

// ordersAfterStatement reports whether words that follow a statement and a comma are a request: the
// soup was cold, cancel the order.
func ordersAfterStatement(statement, words []string) bool {
	if len(words) < 2 || len(statement) < MinClauseWords+1 {
		return false
	}
	first := normalizeWord(words[0])
	u, hasObject := english.Lookup(first), slices.Contains(determiners, normalizeWord(words[1]))
	if !u.Verb || effect.Of(first) == 0 {
		return false
	}
	return hasObject && isStatement(statement) || (hasObject || u.VerbCount > 2*u.NounCount) && opensSentence(statement)
}

// opensSentence reports whether words say when, why or on which condition the rest of a sentence is to
// be done: since it never arrived, before he lands, for their anniversary.
func opensSentence(words []string) bool {
	first := normalizeWord(words[0])
	return slices.Contains(openings, first) && !slices.Contains(auxiliaries, normalizeWord(words[1]))
}

// openings begin what stands before an order.
var openings = strings.Fields("after although as at because before for if in on once since until when while")

// isStatement reports whether words have a subject and a finite verb: the soup was cold, somebody
// took it.
func isStatement(words []string) bool {
	if first := normalizeWord(words[0]); !slices.Contains(determiners, first) && !slices.Contains(statementSubjects, first) {
		return false
	}
	for _, w := range words[1:] {
		if w = normalizeWord(w); isFormOfBe(w) || slices.Contains(finiteForms, w) || isPast(w) && english.Lookup(baseVerb(w)).Verb {
			return true
		}
	}
	return false
}

// statementSubjects begin statements, beside determiners. finiteForms are verbs that only statements
// have after their subject.
var (
	statementSubjects = strings.Fields("he nobody she somebody someone")
	finiteForms       = strings.Fields("has have had isn't aren't wasn't weren't hasn't haven't didn't doesn't don't won't can't cannot does did will must mustn't should shouldn't would wouldn't could couldn't")
)

// refersBack reports whether a clause refers to an object of an earlier one: what lands there, send
// it.
func refersBack(words []string) bool {
	for i, w := range words {
		w = normalizeWord(w)
		if slices.Contains(anaphora, w) || w == "one" && i > 0 && normalizeWord(words[i-1]) == "the" {
			return true
		}
	}
	return false
}

// anaphora are words that refer to something named before.
var anaphora = strings.Fields("it its there them they their theirs this these that those")

// findClauseStart reports whether a part of a query is a clause, and where its content begins.
func findClauseStart(part []string) (start int, is bool) {
	start, is = skipToClause(part)
	last := strings.TrimRightFunc(part[len(part)-1], func(r rune) bool { return unicode.IsPunct(r) && r != '?' })
	return start, is || strings.HasSuffix(last, "?")
}

// skipToClause skips conjunctions and polite words at the beginning of a clause, and reports
// whether the rest reads like the beginning of a clause.
func skipToClause(words []string) (start int, is bool) {
	for start < len(words)-1 && slices.Contains(clauseJoiners, normalizeWord(words[start])) {
		start++
	}
	if polite, _ := trimPoliteness(words[start:]); polite > 0 {
		return start + polite, true
	}
	first, next := normalizeWord(words[start]), ""
	if start+1 < len(words) {
		next = normalizeWord(words[start+1])
	}
	if slices.Contains(questionWords, first) {
		return start, true
	}
	if slices.Contains(determiners, next) {
		return start, slices.Contains(auxiliaries, first) || english.Lookup(first).Verb
	}
	u := english.Lookup(first)
	return start, u.Verb && u.VerbCount > u.NounCount
}

var (
	clauseJoiners = strings.Fields("additionally afterwards also and besides finally furthermore moreover next plus then")
	questionWords = strings.Fields("how what what's when when's where where's which who who's whose why")
	auxiliaries   = strings.Fields("are can could did do does is may should will would")
	// articles and possessives are followed by a noun: the next train.
	articles = strings.Fields("a an her his its my our the their your")
	// relatives are question words that begin relative clauses, too.
	relatives = strings.Fields("when where which who whose")
	// determiners follow a word that is used as a verb: "book a table", "is there a bus".
	determiners = strings.Fields("a all an another any each every her him his i it its me my our some that the their them there these they this those us we you your")
)

// normalizeWord returns a word in lower case without the punctuation around it.
func normalizeWord(word string) string {
	word = strings.ToLower(strings.TrimFunc(strings.ReplaceAll(word, "’", "'"), unicode.IsPunct))
	if contraction := contractions[word]; contraction != "" {
		return contraction
	}
	return word
}

// contractions are those that people write without their apostrophe, unless that is another word.
var contractions = map[string]string{
	"arent": "aren't", "cant": "can't", "couldnt": "couldn't", "didnt": "didn't", "doesnt": "doesn't", "dont": "don't", "hasnt": "hasn't",
	"havent": "haven't", "hows": "how's", "im": "i'm", "isnt": "isn't", "ive": "i've", "shouldnt": "shouldn't", "thats": "that's", "wasnt": "wasn't",
	"werent": "weren't", "whats": "what's", "whens": "when's", "wheres": "where's", "whos": "who's", "wouldnt": "wouldn't",
}

// minSentenceWord is the minimum number of letters of a word that ends a sentence with a full stop.
// Shorter words are abbreviations (St., No., p.m.).
const minSentenceWord = 3

// endsSentence reports whether a sentence ends after a word.
func endsSentence(word string) bool {
	word = strings.TrimRight(word, "\"')]”’")
	r, size := utf8.DecodeLastRuneInString(word)
	switch r {
	case '?', '!', ';', '。':
		return true
	case '.':
		return utf8.RuneCountInString(word[:len(word)-size]) >= minSentenceWord
	}
	return false
}
