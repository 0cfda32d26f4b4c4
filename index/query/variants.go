package query

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// spellingPairs are parts of words that British and American English spell differently.
var spellingPairs = [...][2]string{
	{"avour", "avor"}, {"olour", "olor"}, {"abour", "abor"}, {"ehaviour", "ehavior"}, {"eighbour", "eighbor"}, {"onour", "onor"}, {"umour", "umor"},
	{"entre", "enter"}, {"eatre", "eater"}, {"ibre", "iber"}, {"icence", "icense"}, {"efence", "efense"}, {"ogue", "og"}, {"programme", "program"},
	{"cheque", "check"}, {"jewellery", "jewelry"}, {"enrol", "enroll"}, {"fulfil", "fulfill"},
	{"isation", "ization"}, {"ise", "ize"}, {"ising", "izing"}, {"ised", "ized"}, {"elling", "eling"}, {"elled", "eled"}, {"eller", "eler"},
}

// minVariant is the minimum length of a word with another spelling.
const minVariant = 6

// otherSpelling returns the American spelling of a British word or the reverse, "" if there is none:
// favourite, favorite. Endings that both have are replaced only in words that the dictionary has in
// both spellings.
func otherSpelling(word string) string {
	if len(word) < minVariant || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}
	for _, pair := range spellingPairs {
		for from, to := range [2]string{pair[1], pair[0]} {
			at := strings.LastIndex(word, pair[from])
			if at < 0 || strings.Contains(word, to) || len(word)-at-len(pair[from]) > len("able") {
				continue
			}
			if other := word[:at] + to + word[at+len(pair[from]):]; isEnglishWord(other) && isEnglishWord(word) {
				return other
			}
		}
	}
	return ""
}

func isEnglishWord(word string) bool {
	return english.Lookup(word).Known() || len(english.Base(word)) > 0 || english.Singular(word) != ""
}

// otherForms returns the terms of other ways to write a word: its spelling in the other English,
// and a word with a hyphen as one (sub-account, subaccount).
func otherForms(a analysis.Analyzer, word string) []tokens.Token {
	first, second, hyphen := strings.Cut(word, "-")
	if hyphen && tokens.IsLetters(first) && tokens.IsLetters(second) && len(first) > 1 && len(second) > 1 {
		return tokens.Tokenize(a, first+second)
	}
	if other := otherSpelling(word); other != "" && tokens.StemOf(other) != tokens.StemOf(word) {
		return tokens.Tokenize(a, other)
	}
	return nil
}

// statesInability reports whether the i-th word says what somebody cannot do, which is not a prohibition: I
// can't come, cancel it; why can't I cancel it.
func statesInability(words []string, i int) bool {
	isSpeaker := func(at int) bool { return at >= 0 && at < len(words) && (words[at] == "i" || words[at] == "we") }
	return slices.Contains(inabilities, words[i]) && (isSpeaker(i-1) || isSpeaker(i+1))
}

var inabilities = strings.Fields("can't cannot couldn't")

// nearness are phrases that say that something is near, which none of their words says: the town
// close to it, the shops around here.
var nearness = map[string]string{
	"close": "by to", "around": "here me us there", "near": "here me us", "next": "to", "round": "here",
}

// nearMeaning returns the terms for a phrase that says that something is near, nil if no such
// phrase begins at the i-th word.
func nearMeaning(a analysis.Analyzer, words []string, i, from int) []tokens.Token {
	if i > from && i+1 < len(words) && slices.Contains(strings.Fields(nearness[words[i]]), words[i+1]) {
		return tokens.Tokenize(a, "near")
	}
	return nil
}

// travelWords precede two places: the route from home to the office.
var travelWords = strings.Fields("bus buses cycle directions distance drive flight flights fly go journey path ride route routes train trains travel trip walk way")

// weighEnds lowers the weights of the two ends of a way: they are arguments, and no names.
func weighEnds(fields, lower []string, weights []float32, from int) {
	start := slices.Index(lower, "from")
	if start <= from || !slices.ContainsFunc(lower[from:start], func(w string) bool { return slices.Contains(travelWords, w) }) {
		return
	}
	to := slices.Index(lower[start:], "to")
	if to < 0 {
		return
	}
	for i := start + 1; i < min(len(lower), start+to+maxPlace); i++ {
		if fields[i] == lower[i] && weights[i] == 1 { // a name has its own weight
			weights[i] = contextWeight
		}
		if i > start+to && strings.HasSuffix(fields[i], ",") {
			return
		}
	}
}

// contents are words before what a message or a reminder says, by the verb of the request.
var contents = map[string]string{
	"remind": "to that about", "tell": "that", "inform": "that", "notify": "that", "text": "that", "message": "that", "email": "that", "write": "that", "announce": "that", "post": "that",
}

// contentsWeight is the weight of the words of a message or a reminder: they are an argument.
const contentsWeight = 0.4

// weighContents lowers the weights of what a message or a reminder says: remind me to call my mother.
func weighContents(lower []string, weights []float32, from int, clauses []int) {
	before, said := []string(nil), false
	for i := from; i < len(lower); i++ {
		switch {
		case i == from || clauses[i] != clauses[i-1]:
			before, said = strings.Fields(contents[lower[i]]), false
		case said && weights[i] == 1:
			weights[i] = contentsWeight
		case slices.Contains(before, lower[i]):
			said = true
		}
	}
}

// maxPlace bounds the words from "to" to the end of the name of a place.
const maxPlace = 4

// choosing are words that choose between things and do not say which kind they are.
var choosing = strings.Fields("another any best better cheap cheaper cheapest closest different easiest fastest favourite favorite good last latest nearest new newest next nice other quickest some top")

// choosingWeight is the factor of the weight of a word that only chooses: the cheapest flight is about
// flights.
const choosingWeight = 0.5

// weighChoosing lowers the weights of words that only choose, if the thing follows.
func weighChoosing(lower []string, weights []float32, from int) {
	for i := from; i+1 < len(lower); i++ {
		if weights[i] == 1 && slices.Contains(choosing, lower[i]) && !slices.Contains(prepositions, lower[i+1]) {
			weights[i] *= choosingWeight
		}
	}
}

// destinations are prepositions before what something is added to.
var destinations = strings.Fields("into on onto to")

// weighEnumerations lowers the weights of three things that are enumerated, or of two with a
// destination, so that together they count hardly more than one: add milk and eggs to the list.
func weighEnumerations(fields, lower []string, weights []float32, from int, clauses []int) {
	for i := from + 2; i+1 < len(lower); i++ {
		if lower[i] != "and" && lower[i] != "or" || clauses[i-1] != clauses[i+1] || slices.Contains(articles, lower[i+1]) {
			continue
		}
		if last := english.Lookup(lower[i+1]); last.VerbCount > last.NounCount {
			continue // call and read
		}
		first := i - 1
		for first > from+1 && strings.HasSuffix(fields[first-1], ",") {
			first--
		}
		isPair, hasDestination := first == i-1, i+2 < len(lower) && slices.Contains(destinations, lower[i+2])
		if isPair && !hasDestination || slices.Contains(determiners, lower[first-1]) {
			continue // between the depot and ten customers
		}
		share := float32(1 / math.Sqrt(float64(i-first+1)))
		for k := first; k <= i+1; k++ {
			if k != i && weights[k] == 1 {
				weights[k] = share
			}
		}
	}
}

// verbalWeight is the weight of a word at the beginning of a request that can only be a verb.
const verbalWeight = 2

// weighUnknownVerb raises the weight of the first word of a request if only the determiner after it says
// that it is a verb: ocr this invoice.
func weighUnknownVerb(lower []string, weights []float32, from int) {
	if from+1 >= len(lower) || weights[from] != 1 || !slices.Contains(pointers, lower[from+1]) {
		return
	}
	if word := lower[from]; effect.Of(word) == 0 && !english.Lookup(word).Verb && len(english.Base(word)) == 0 && !slices.Contains(prepositions, word) && len(word) > 2 && !slices.Contains(questionWords, word) {
		weights[from] = verbalWeight
	}
}

// pointers are determiners before an object that is known.
var pointers = strings.Fields("my that the these this those")

// domainWords say that a host in a request is meant as a domain.
var domainWords = strings.Fields("available belong belongs bought buy dns expire expires free own owned owner owns register registered registrant registrar renew taken whois")

// addValues adds the words for what values are: the file report.docx is a document. An identifier is an
// argument as a rule; with at most one other word in its clause, the request is about its kind.
func (r *Request) addValues(a analysis.Analyzer, fields, lower []string, from int, clauses []int) {
	for i := from; i < len(lower); i++ {
		asked := strings.TrimFunc(fields[i], unicode.IsPunct)
		kind, weight := tokens.KindOfValue(fields[i]), float32(questionWeight)
		if kind == "" && tokens.IsHost(fields[i]) && slices.ContainsFunc(lower, func(w string) bool { return slices.Contains(domainWords, w) }) {
			kind = "domain"
		}
		if others := r.countTopics(clauses[i]); kind == "" && others <= 1 {
			kind = tokens.KindOfIdentifier(joinNumber(fields[i:len(lower)]))
			if others > 0 {
				weight = contextWeight
			}
		}
		about, _, _ := strings.Cut(kind, " ")
		if kind == "" || slices.Contains(lower, about) {
			continue
		}
		for k := range r.Words {
			if w := &r.Words[k]; w.Asked == asked && w.Clause == clauses[i] {
				w.Weight, w.Identifies, w.Name = min(w.Weight, valueWeight), true, false
			}
		}
		r.Words = append(r.Words, Word{Asked: asked, Meanings: tokens.Tokenize(a, kind), Clause: clauses[i], Weight: weight})
	}
}

// countTopics returns the number of words of a clause that are neither values nor implied.
func (r *Request) countTopics(clause int) (n int) {
	for _, w := range r.Words {
		if w.Clause == clause && len(w.Terms) > 0 && !w.Identifies && !isValue(w.Asked) {
			n++
		}
	}
	return n
}

// joinNumber returns the first word, with the groups of digits after it if it begins a telephone number.
func joinNumber(fields []string) string {
	n := 1
	for strings.HasPrefix(fields[0], "+") && n < len(fields) && strings.Trim(fields[n], "0123456789-/.?") == "" {
		n++
	}
	return strings.Join(fields[:n], "")
}
