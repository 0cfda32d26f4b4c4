package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/english"
)

// A Request is the parsed free text of a query.
type Request struct {
	Language string // of the words, where they are translated; "" for English
	Words    []Word // what to look for
	Act      Act    // what the client wants done
	// Acts contains the acts of the clauses, by number. A request for one thing has one act.
	Acts []Act
	// refersBack says for each clause, by number, whether it refers to an earlier one.
	refersBack []bool
	// sought is the end of the words that ask for who does something: see [seekingLength].
	sought int
	// Prohibitions contains the forbidden acts. The search does not look for their words.
	Prohibitions []Prohibition
}

// placePrepositions precede the name of a place, which is not an identifier: in Vienna.
var placePrepositions = strings.Fields("across around at in inside near outside through within")

// ParseRequest reads the free text of a query. It removes polite words and words without a term
// (stop words, punctuation). It separates prohibitions from the task, and gives values (numbers,
// dates, quoted texts, names) less weight than the words for the task.
func ParseRequest(a analysis.Analyzer, text string) Request {
	text = tokens.PlainText(text)
	code, isCode := splitCode(text)
	isHTTP := isCode && code.method != "" && len(code.prose) == 0 // PUT /users/5/email is no French
	if language := translate.Detect(text); language != "" && !isHTTP && !(isCode && code.isEnglish(text)) {
		return parseForeign(a, language, text)
	}
	if isCode {
		return parseCode(a, code)
	}
	fields := strings.Fields(text)
	from, to := trimPoliteness(fields)
	r := Request{}
	seeking := seekingLength(fields[from:to])
	if from += seeking; seeking > 0 {
		fields, r.sought = withBaseVerb(fields, from), from
	}
	clauses := numberClauses(fields)
	weights := weighFields(fields, from, to)
	lower := make([]string, to)
	for i := range lower {
		lower[i] = normalizeWord(fields[i])
	}
	if from < to && clauses[from] == NoClause && opensSentence(fields[from:]) {
		for i := from; i < to && clauses[i] == NoClause; i++ {
			weights[i] = min(weights[i], reasonWeight)
		}
	}
	weighPredicate(lower, weights, from)
	weighRequirements(lower, weights, from)
	weighEnds(fields, lower, weights, from)
	weighContents(lower, weights, from, clauses)
	weighLightVerbs(lower, weights, from, clauses)
	weighChoosing(lower, weights, from)
	weighEnumerations(fields, lower, weights, from, clauses)
	weighUnknownVerb(lower, weights, from)
	expressions := findExpressions(fields, lower, weights, from, clauses)
	forbidden := r.addProhibitions(fields[:to], lower, weights, from, expressions)
	left := maxTerms
	for i := from; i < to; i++ {
		if weights[i] == 0 {
			continue
		}
		asked := fields[i]
		terms := tokens.Tokenize(a, tokens.PrepareText(asked))
		if len(terms) == 0 && strings.Contains(asked, "-") { // to-do
			terms = tokens.Tokenize(a, strings.ReplaceAll(asked, "-", ""))
		}
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		if len(terms) > 0 {
			w := Word{Asked: strings.TrimFunc(asked, unicode.IsPunct), Terms: terms, Clause: clauses[i], Weight: weights[i]}
			w.Name = weights[i] == 1 && isNameIn(fields, i, from)
			w.Identifies = weights[i] == valueWeight && isIdentifier(asked) || w.Name && (i == from || !slices.Contains(placePrepositions, lower[i-1]))
			if code := languageCodes[lower[i]]; code != "" {
				w.Name = false
				w.Meanings = append(slices.Clone(terms), tokens.Tokenize(a, code)...)
			}
			if near := nearMeaning(a, lower, i, from); near != nil {
				w.Terms, w.Meanings, w.Weight = nil, near, min(w.Weight, contextWeight)
			} else if w.Meanings == nil {
				w.Meanings = otherForms(a, lower[i])
			}
			w.Synonyms = synonymsAt(a, expressions, i)
			if single := particleMeaning(lower[i:]); single != "" && (i == from || clauses[i-1] != clauses[i]) {
				r.Words = append(r.Words, Word{Asked: asked, Meanings: tokens.Tokenize(a, single), Clause: clauses[i], Weight: singleVerbWeight})
				w.Weight *= particleVerbWeight
			}
			r.Words = append(r.Words, w)
		}
	}
	if seeking > 0 {
		r.addSeeking(a, fields[from-seeking:from], clauses[from])
	}
	r.addPhrases(a)
	expressions = slices.DeleteFunc(expressions, func(e expression) bool { return forbidden[e.start] })
	r.addExpressions(a, expressions, fields, clauses)
	r.addQuestions(a, fields, from, clauses)
	r.addQuantities(a, lower, fields, clauses, from)
	r.addConversion(a, lower, from, clauses)
	r.addValues(a, fields, lower, from, clauses)
	r.addMedium(a, lower, from, clauses)
	r.addRenouncement(a, lower[from:])
	r.addTranslation(a, lower)
	r.setActs(fields, weights, from, to, clauses, expressions, forbidden)
	r.addTimes(a, lower, from, clauses)
	return r
}

// addProhibitions separates the prohibitions from the task: it adds them, and gives their words less
// weight or none. The result says for each of fields, whose first from are polite words, whether it
// belongs to a prohibition.
func (r *Request) addProhibitions(fields, lower []string, weights []float32, from int, expressions []expression) []bool {
	to := len(fields)
	forbidden := make([]bool, to)
	for _, s := range findProhibitions(fields[from:to]) {
		whole := s.end-s.start == to-from // the request contains nothing else
		if negates(expressions, lower, from+s.start, from+s.end) || whole && (!forbidsInOrder(fields[from:to]) || renounces(lower[from:])) {
			continue
		}
		p := s.Prohibition
		if p.Verbs = appendNew(p.Verbs, verbsOfExpressions(expressions, from+s.start, from+s.end)); whole {
			p.Text = strings.Join(fields[from:to], " ")
			r.Prohibitions = append(r.Prohibitions, p)
			for i := from; i < to; i++ {
				forbidden[i] = true
			}
			break
		}
		p.Text = strings.Join(fields[from+s.start:from+s.end], " ")
		r.Prohibitions = append(r.Prohibitions, p)
		for i := s.start; i < s.end && !s.keep; i++ {
			forbidden[from+i] = true
			weights[from+i] *= contextWeight // the task is about the same things
			if s.forbidsWord(normalizeWord(fields[from+i])) {
				weights[from+i] = 0
			}
		}
	}
	return forbidden
}

// lightReads are verbs that ask for any kind of answer, so that the words after them say more.
var lightReads = strings.Fields("check")

// weighLightVerbs lowers the weights of light verbs at the beginning of clauses.
func weighLightVerbs(lower []string, weights []float32, from int, clauses []int) {
	for i := from; i+1 < len(lower); i++ {
		if weights[i] == 1 && (i == from || clauses[i-1] != clauses[i]) && slices.Contains(lightReads, lower[i]) {
			weights[i] = lightWeight
		}
	}
}

// lightWeight is the weight of a light verb.
const lightWeight = 0.6

// Clauses returns the parts of a request for several things, nil for a request for one thing.
func (r Request) Clauses() []Request {
	var clauses []Request
	for n, act := range r.Acts {
		if act.Wanted == 0 {
			continue
		}
		c := Request{Language: r.Language, Act: act, Acts: []Act{act}, Prohibitions: r.Prohibitions}
		for _, w := range r.Words {
			if w.Clause == n {
				c.Words = append(c.Words, w)
			}
		}
		own := len(c.Words)
		if n < len(r.refersBack) && r.refersBack[n] {
			c.Words = append(c.Words, r.earlierNouns(n)...)
		}
		if own >= MinClauseWords || own > 0 && len(c.Words) > own {
			clauses = append(clauses, c)
		}
	}
	if len(clauses) < 2 {
		return nil
	}
	return clauses
}

// VerbWord returns the index of the word for the verb of the act, which may be an everyday expression
// for it, -1 if there is none, or if it leaves open what is done: get.
func (r *Request) VerbWord() int {
	verb, _, _ := strings.Cut(r.Act.Verb, " ")
	if verb == "" || slices.Contains(lightVerbs, verb) {
		return -1
	}
	return slices.IndexFunc(r.Words, func(w Word) bool {
		return strings.EqualFold(w.Asked, verb) || (w.Expression || r.Language != "") && slices.ContainsFunc(w.Meanings, func(t tokens.Token) bool { return t.Surface == verb })
	})
}

// earlierNouns returns the words before the n-th clause that may be nouns, with the weight of an
// object. The verbs that the clauses begin with are none.
func (r Request) earlierNouns(n int) []Word {
	var nouns []Word
	for i, w := range r.Words {
		asked := strings.ToLower(w.Asked)
		if w.Clause >= n || w.Weight <= valueWeight || (i == 0 || r.Words[i-1].Clause != w.Clause) && english.Lookup(asked).Verb {
			continue
		}
		if singular := english.Singular(asked); singular != "" {
			asked = singular
		}
		if english.Lookup(asked).Noun {
			w.Weight *= contextWeight
			nouns = append(nouns, w)
		}
	}
	return nouns
}

// A verb with a particle counts less than the single verb with the same meaning: give back, return.
const (
	singleVerbWeight   = 0.8
	particleVerbWeight = 0.6
)

// phraseWeight is the weight of a single word with the same meaning as two words of the request.
const phraseWeight = 0.6

// addPhrases adds single words with the same meaning as two words of the request.
func (r *Request) addPhrases(a analysis.Analyzer) {
	var implied []Word
	for i := range max(len(r.Words)-1, 0) {
		first, second := r.Words[i], &r.Words[i+1]
		if single := translate.Phrase(strings.ToLower(first.Asked), strings.ToLower(second.Asked)); single != "" {
			implied = append(implied, Word{Asked: first.Asked + " " + second.Asked, Meanings: tokens.Tokenize(a, single), Weight: phraseWeight * min(first.Weight, second.Weight), Clause: second.Clause})
		}
	}
	r.Words = append(r.Words, implied...)
}

// addTranslation adds a word for the translation that a request for an expression in another
// language wants: "how do I say it in Portuguese", "the Polish word for it".
func (r *Request) addTranslation(a analysis.Analyzer, lower []string) {
	for i, w := range lower {
		if languageCodes[w] == "" {
			continue
		}
		isEnd := i+1 == len(lower) || !english.Lookup(lower[i+1]).Noun && english.Singular(lower[i+1]) == ""
		says := isEnd && i > 0 && slices.Contains(languagePrepositions, lower[i-1]) && slices.ContainsFunc(lower[:i], func(w string) bool { return slices.Contains(sayingVerbs, w) })
		if says || i+2 < len(lower) && lower[i+1] == "word" && lower[i+2] == "for" {
			r.Words = append(r.Words, Word{Asked: w, Meanings: tokens.Tokenize(a, "translate"), Weight: 1})
			return
		}
	}
}

var (
	languagePrepositions = strings.Fields("in into")
	sayingVerbs          = strings.Fields("say said call called mean put render pronounce spell write")
)
