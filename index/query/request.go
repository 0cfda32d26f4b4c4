package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
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
	// Prohibitions contains the forbidden acts. The search does not look for their words.
	Prohibitions []Prohibition
}

// An Act is the kind of thing that a request, or one clause of it, wants done.
type Act struct {
	// Verb is the verb that the request begins with, in its base form; "" when there is none.
	Verb string
	// Wanted contains the allowed effects of an operation that does the task; 0 if the request does
	// not say.
	Wanted effect.Class
	// Object is the stem of the object to end; "" if the request ends nothing.
	Object string
	// All reports whether the request ends all things of a kind.
	All bool
	// Makes reports whether the request creates something new.
	Makes bool
	// HasValue reports whether the request has a value that may identify a thing: a number, a name.
	HasValue bool
	// Question reports whether the request is a question, or asks to be told something.
	Question bool
	// Method contains the effects of what a question asks a method for ("how do I book a table"); 0
	// if it asks for a fact.
	Method effect.Class
	// NamesMethod reports whether the verb of a question for a method says what is to be done:
	// book, not get.
	NamesMethod bool
	// Permission reports whether the request asks whether something can be done: can I pay in cash.
	Permission bool
	// Shows reports whether the request has no verb and names something to be told: the status of
	// my order.
	Shows bool
	// Ends reports whether the request ends or removes something.
	Ends bool
}

// IsNotAnsweredBy reports whether the act is a question that an operation does not answer, because it
// changes the world. A question for a method may be answered by what does it.
func (a *Act) IsNotAnsweredBy(class effect.Class, changes bool) bool {
	return a.Question && changes && (class&a.Method == 0 || class&effect.End&^a.Method != 0)
}

// OnlyShows reports whether the request asks to see what there is: list my reminders. One that asks
// to find or check something may want more.
func (a *Act) OnlyShows() bool {
	return a.Shows || slices.Contains(showingVerbs, a.Verb) && a.Wanted&^Reading == 0
}

var showingVerbs = strings.Fields("display list read show view")

// Reading is the class of operations that change nothing.
const Reading = effect.Read | effect.Compute

// placePrepositions precede the name of a place, which is no identifier: in Vienna.
var placePrepositions = strings.Fields("across around at in inside near outside through within")

// A Prohibition is an act that a request forbids: "do not send it yet".
type Prohibition struct {
	Text string // as asked
	// Verbs contains the forbidden verbs in their base form.
	Verbs []string
	// ReadOnly reports whether the request forbids all changes.
	ReadOnly bool
}

// ParseRequest reads the free text of a query. It removes polite words and words without a term
// (stop words, punctuation). It separates prohibitions from the task, and gives values (numbers,
// dates, quoted texts, names) less weight than the words for the task.
func ParseRequest(a analysis.Analyzer, text string) Request {
	text = PlainText(text)
	if language := translate.Detect(text); language != "" {
		return parseForeign(a, language, text)
	}
	if fields, weights, ok := splitCode(text); ok {
		return parseCode(a, fields, weights)
	}
	fields := strings.Fields(text)
	from, to := trimPoliteness(fields)
	clauses := numberClauses(fields)
	r := Request{}
	weights := weighFields(fields, from, to)
	lower := make([]string, to)
	for i := range lower {
		lower[i] = normalizeWord(fields[i])
	}
	weighPredicate(lower, weights, from)
	weighRequirements(lower, weights, from)
	weighEnds(fields, lower, weights, from)
	weighContents(lower, weights, from, clauses)
	weighLightVerbs(lower, weights, from, clauses)
	expressions := findExpressions(lower, weights, from, clauses)
	for _, s := range findProhibitions(fields[from:to]) {
		if s.end-s.start == to-from {
			continue // the request contains nothing else
		}
		p := s.Prohibition
		p.Text = strings.Join(fields[from+s.start:from+s.end], " ")
		r.Prohibitions = append(r.Prohibitions, p)
		for i := s.start; i < s.end && !s.keep; i++ {
			weights[from+i] *= contextWeight // the task is about the same things
			if s.forbidsWord(normalizeWord(fields[from+i])) {
				weights[from+i] = 0
			}
		}
	}
	left := maxTerms
	for i := from; i < to; i++ {
		if weights[i] == 0 {
			continue
		}
		asked := fields[i]
		terms := tokens.Tokenize(a, tokens.PrepareText(asked))
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
				r.Words = append(r.Words, Word{Asked: asked, Meanings: tokens.Tokenize(a, single), Clause: clauses[i], Weight: phraseWeight})
			}
			r.Words = append(r.Words, w)
		}
	}
	r.addPhrases(a)
	r.addExpressions(a, expressions, fields, clauses)
	r.addQuestions(a, fields, from, clauses)
	r.addQuantities(a, lower, fields, clauses, from)
	r.addConversion(a, lower, from, clauses)
	r.addMedium(a, lower, from, clauses)
	r.addRenouncement(a, lower[from:])
	r.addTranslation(a, lower)
	r.setActs(fields, weights, from, to, clauses)
	return r
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

// VerbWord returns the index of the word for the verb of the act, -1 if there is none, or if it leaves
// open what is done: get.
func (r *Request) VerbWord() int {
	verb, _, _ := strings.Cut(r.Act.Verb, " ")
	if verb == "" || slices.Contains(lightVerbs, verb) {
		return -1
	}
	return slices.IndexFunc(r.Words, func(w Word) bool {
		return strings.EqualFold(w.Asked, verb) || r.Language != "" && slices.ContainsFunc(w.Meanings, func(t tokens.Token) bool { return t.Surface == verb })
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
		says := i > 0 && slices.Contains(languagePrepositions, lower[i-1]) && slices.ContainsFunc(lower[:i], func(w string) bool { return slices.Contains(sayingVerbs, w) })
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

// parseCode reads a request in the form of a function.
func parseCode(a analysis.Analyzer, fields []string, weights []float32) Request {
	r := Request{}
	left := maxTerms
	name := 0 // the number of fields of the name
	for i, field := range fields {
		if weights[i] == 1 {
			name = i + 1
		}
		terms := tokens.Tokenize(a, tokens.PrepareName(field))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		for _, t := range terms {
			w := Word{Asked: t.Surface, Terms: []tokens.Token{t}, Weight: weights[i], Argument: weights[i] == parameterWeight}
			if long := abbreviations[strings.ToLower(t.Surface)]; long != "" {
				w.Meanings = tokens.Tokenize(a, long)
			}
			r.Words = append(r.Words, w)
		}
	}
	words := strings.Fields(strings.ToLower(tokens.PrepareName(strings.Join(fields[:name], " "))))
	if len(words) > 0 {
		r.Act.Verb, r.Act.Wanted = parseImperative(words)
		if slices.Contains(gettingNames, words[0]) {
			r.Act.Wanted = Reading // getUser makes none
		}
		r.Act.Ends = endsSomething(words[:1], 0)
	}
	r.Acts = []Act{r.Act}
	return r
}

// gettingNames begin the names of functions that only read.
var gettingNames = strings.Fields("fetch find get list load lookup query read retrieve search")

// setActs finds the act of the request and of each of its clauses.
func (r *Request) setActs(fields []string, weights []float32, from, to int, clauses []int) {
	polite := fields[:from]
	for start := from; start < to; {
		end := start + 1
		for end < to && clauses[end] == clauses[start] {
			end++
		}
		if n := clauses[start]; n != NoClause {
			for len(r.Acts) <= n {
				r.Acts = append(r.Acts, Act{})
				r.refersBack = append(r.refersBack, false)
			}
			r.refersBack[n] = r.refersBack[n] || refersBack(fields[start:end])
			part, kept := fields[start:end], weights[start:end]
			if start > from {
				skip, _ := skipToClause(part)
				polite = part[:skip]
				part, kept = part[skip:], kept[skip:]
			}
			r.Acts[n] = actOf(polite, part, kept)
		}
		start = end
	}
	for i, act := range r.Acts {
		switch {
		case i == 0:
			r.Act = act
		case act.Wanted == 0 || r.Act.Wanted == 0:
			r.Act.Wanted = 0 // any operation may do the act of one of the clauses
		default:
			r.Act.Wanted |= act.Wanted
		}
		r.Act.Ends = r.Act.Ends || act.Ends
	}
	r.Act.Question = r.Act.Question && len(r.Acts) == 1
	for i := range r.Acts {
		r.Acts[i].HasValue = slices.ContainsFunc(r.Words, func(w Word) bool { return w.Clause == i && w.Identifies })
		r.Act.HasValue = r.Act.HasValue || r.Acts[i].HasValue
		r.Acts[i].Makes = slices.Contains(makingVerbs, r.Acts[i].Verb)
		r.Act.Makes = r.Act.Makes && r.Acts[i].Makes || i == 0 && r.Acts[i].Makes
	}
	for i := range r.Prohibitions {
		p := &r.Prohibitions[i]
		// The request still asks for an action: the prohibition is about something else.
		p.ReadOnly = p.ReadOnly && (r.Act.Wanted == 0 || r.Act.Wanted&Reading != 0)
		if p.ReadOnly {
			r.Act.Wanted = Reading
		}
	}
}

// actOf finds the act of a clause. weights contains the weights of its words, 0 for words of a
// prohibition. polite contains the polite words before it.
func actOf(polite, words []string, weights []float32) Act {
	act := Act{}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = normalizeWord(w)
		if weights[i] > 0 && endsSomething(lower, i) {
			act.Ends = true
		}
	}
	if len(lower) == 0 {
		return act
	}
	first := lower[0]
	if name, arguments, ok := strings.Cut(words[0], "("); ok && name != "" && !strings.HasPrefix(arguments, " ") {
		first, _, _ = strings.Cut(strings.ToLower(tokens.PrepareName(name)), " ") // createUser(name)
	}
	switch {
	case len(lower) > 1 && lower[1] == "about" && (first == "how" || first == "what"): // a proposal
	case first == "who" && len(lower) > 1 && !slices.Contains(auxiliaries, lower[1]) && actionOf(lower[1]) != 0 && !isPast(lower[1]):
		act.Verb, act.Wanted = baseVerb(lower[1]), actionOf(lower[1]) // who repairs bicycles
		act.Question, act.Method = true, (act.Wanted|making)&^effect.End
	case len(polite) > 0 && slices.Contains(wishes, normalizeWord(polite[len(polite)-1])):
		act.Verb, act.Wanted = parseImperative(lower) // I want what I am listening to
	case len(lower) > 2 && slices.Contains(modals, first) && lower[1] == "you":
		asked := lower[2:] // can you book it, will you help me book it
		if len(asked) > 2 && asked[0] == "help" && (asked[1] == "me" || asked[1] == "us") {
			asked = asked[2:]
		}
		act.Verb, act.Wanted = parseImperative(asked)
	case slices.Contains(questionWords, first), len(lower) > 1 && beginsQuestion(first, lower[1]):
		act.Wanted, act.Question, act.Method = Reading, true, methodOf(lower)
	case introducesQuestion(lower) > 0: // find out how far it is
		_, act.Wanted = parseImperative(lower)
		if act.Wanted &= Reading; act.Wanted == 0 {
			act.Wanted = Reading
		}
		act.Question, act.Method = true, methodOf(lower[introducesQuestion(lower):])
	case asksForMethod(polite): // how do I, can we
		if act.Verb, act.Wanted = parseImperative(lower); act.Verb == "" && english.Lookup(lower[0]).Verb {
			act.Verb, act.Wanted = lower[0], effect.Of(lower[0]) // only a verb follows "can I"
		}
		act.Question, act.Method = true, methodClass(lower)
		act.NamesMethod = !slices.Contains(lightVerbs, lower[0])
		act.Permission = slices.Contains(permissions, normalizeWord(polite[0])) || normalizeWord(polite[0]) == "where"
		if act.Ends && act.Method&making != 0 {
			act.Method |= effect.End // how do I make a cancellation
		}
	case slices.ContainsFunc(polite, asksToBeTold):
		act.Wanted, act.Question = Reading, true
	default:
		act.Verb, act.Wanted = parseImperative(lower)
		act.Question = act.Verb == "" && len(words) <= maxTopic && strings.HasSuffix(words[len(words)-1], "?")
		if act.Verb == "" && act.Wanted == 0 && slices.Contains(knownNouns, objectOf(lower)) {
			act.Shows, act.Wanted = true, Reading // the status of my order
		}
		if act.Question && act.Wanted == 0 {
			act.Wanted = Reading
		}
	}
	if act.Wanted == 0 && renounces(lower) {
		act.Verb, act.Wanted, act.Ends = "cancel", effect.End, true
	}
	if act.Ends {
		act.Object = tokens.StemOf(objectOf(lower[1:]))
		act.All = slices.ContainsFunc(lower, func(w string) bool { return slices.Contains(allWords, w) })
	}
	if act.Wanted == 0 && act.Ends {
		act.Wanted = effect.End
	}
	if act.Wanted&effect.End != 0 && act.Wanted&Reading == 0 {
		act.Ends = act.Ends || act.Wanted == effect.End
	}
	for i, w := range lower {
		if w == "without" && weights[i] > 0 && act.Wanted != 0 { // a picture without its background
			act.Ends, act.Wanted = true, act.Wanted|effect.End
		}
	}
	if act.Question && act.Method&effect.End == 0 {
		act.Ends = false // "which flights are cancelled today"
	}
	return act
}

// beginsQuestion reports whether a question begins with two words that are not question words: is
// there, has my, have they.
func beginsQuestion(first, next string) bool {
	if first == "have" || first == "had" {
		return slices.Contains(subjects, next)
	}
	return slices.Contains(auxiliaries, first) || slices.Contains(otherAuxiliaries, first)
}

// knownNouns are things that a request without a verb wants to be told.
var knownNouns = strings.Fields("age availability balance count date definition details distance duration forecast history info information level list location meaning name news number price prices rate rates result results schedule score scores state statistics status synonyms temperature time timetable times weather")

// maxTopic is the number of words of a topic with a question mark: "my account balance?"
const maxTopic = 4

// isPast reports whether a word is a verb in the past: who deleted it.
func isPast(word string) bool {
	return !strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ing") && baseVerb(word) != word
}

// methodOf returns the effects of what a question asks a method for: "how do I", "where can we",
// "may I". The words begin a question. A verb that changes something may be done by any change.
func methodOf(words []string) effect.Class {
	if len(words) > 4 && words[1] == "it" && words[3] == "to" {
		return methodClass(words[4:]) // is it possible to
	}
	i := 0
	if words[0] == "how" || words[0] == "where" { // when asks for a time
		i = 1
	}
	if i < len(words) && words[i] == "to" {
		return methodClass(words[i+1:])
	}
	if i > 0 && i+2 < len(words) && slices.Contains(subjects, words[i]) && slices.Contains(modals, words[i+1]) {
		return methodClass(words[i+2:]) // how I can
	}
	if i+1 < len(words) && (slices.Contains(modals, words[i]) || i > 0 && words[i] == "do") && slices.Contains(subjects, words[i+1]) {
		return methodClass(words[i+2:])
	}
	return 0
}

// asksForMethod reports whether a polite opening asks how, where or whether something can be done:
// how do I, can we.
func asksForMethod(polite []string) bool {
	for i, w := range polite {
		w = normalizeWord(w)
		if w == "how" || w == "where" || i+1 < len(polite) && slices.Contains(permissions, w) && slices.Contains(speakers, normalizeWord(polite[i+1])) {
			return true
		}
	}
	return false
}

// methodClass returns the effects of the verb that words begin with, and of others that do the same.
func methodClass(words []string) effect.Class {
	if len(words) == 0 {
		return 0
	}
	class := effect.Of(words[0])
	if class&(making|effect.End) != 0 || slices.Contains(lightVerbs, words[0]) {
		class |= making
	}
	return class
}

// making are the effects of operations that do something for the caller without an end of anything.
const making = effect.Commit | effect.Change | effect.Tell

// Words of questions: auxiliaries that only begin questions, those that ask for a method, who does
// it, and verbs that leave open what is done.
var (
	otherAuxiliaries = strings.Fields("am has was were isn't aren't wasn't weren't doesn't didn't hasn't")
	modals           = strings.Fields("can could may might must shall should will would")
	permissions      = strings.Fields("can could may might")
	speakers         = strings.Fields("i we one")
	subjects         = strings.Fields("i we you one they he she")
	wishes           = strings.Fields("want need like love wish")
	lightVerbs       = strings.Fields("get have obtain receive become be go make do use")
)

// allWords ask for all things of a kind.
var allWords = strings.Fields("all every everything entire whole empty clear purge bulk")

// prepositions end the object of a verb.
var prepositions = strings.Fields("about after at before by for from in into of off on over since to under until with without that which who")

// objectOf returns the last word of the noun phrase that words begin with.
func objectOf(words []string) string {
	object := ""
	for _, w := range words {
		if slices.Contains(prepositions, w) && object != "" {
			break
		}
		if !slices.Contains(determiners, w) && !slices.Contains(prepositions, w) && (english.Lookup(w).Noun || english.Singular(w) != "") {
			object = w
		}
	}
	return object
}

// parseImperative reads the verb at the beginning of an imperative clause.
func parseImperative(words []string) (verb string, wanted effect.Class) {
	first, next := words[0], ""
	if len(words) > 1 {
		next = words[1]
	}
	if next != "" {
		if class := effect.Of(first + " " + next); class != 0 {
			return first + " " + next, class // sign up, turn off
		}
		if single := particleVerbs[first+" "+next]; effect.Of(single) != 0 {
			return single, effect.Of(single) // get rid of
		}
		// switch the lights off
		for _, particle := range words[2:min(len(words), 6)] {
			if particle == "off" || particle == "on" || particle == "up" || particle == "down" || particle == "out" {
				if class := effect.Of(first + " " + particle); class != 0 {
					return first, class
				}
			}
		}
		// bring the car back
		if single := particleMeaning(words); effect.Of(single) != 0 && words[1] != "to" {
			return single, effect.Of(single)
		}
	}
	u := english.Lookup(first)
	isVerb := u.Verb && (u.VerbCount > u.NounCount || !u.Noun || next == "" || slices.Contains(determiners, next) || startsValue(next))
	if !isVerb {
		if base := english.Base(first); len(base) == 1 && strings.HasSuffix(first, "ing") && effect.Of(base[0]) != 0 {
			return base[0], effect.Of(base[0]) // translating a letter
		}
		if class := effect.Of(first); class != 0 && !u.Noun && !u.Adjective {
			return first, class
		}
		return "", 0
	}
	if (first == "make" || first == "take") && (next == "a" || next == "an") {
		return "create", effect.Of(first) // make a playlist
	}
	return first, effect.Of(first)
}

// startsValue reports whether a word can only begin an object.
func startsValue(word string) bool {
	return word != "" && (unicode.IsDigit(rune(word[0])) || slices.Contains(objectStarts, word))
}

var (
	objectStarts = strings.Fields("one two three four five six seven eight nine ten twenty fifty hundred no new every each both some any")
	tellPhrases  = strings.Fields("show tell know what which")
)

// makingVerbs are verbs that create something new.
var makingVerbs = []string{"add", "book", "build", "buy", "compose", "create", "design", "draw", "file", "generate", "launch", "make", "open", "order", "post", "produce", "publish",
	"register", "render", "rent", "reserve", "schedule", "send", "set up", "sign up", "start", "submit", "take", "upload", "write"}

// asksToBeTold reports whether a polite opening asks for an answer: show me, do you know.
func asksToBeTold(word string) bool { return slices.Contains(tellPhrases, normalizeWord(word)) }

// actionOf returns the effects of a verb in any of its forms, 0 for a word that is no verb or a
// verb that only reads.
func actionOf(word string) effect.Class {
	class := effect.Of(baseVerb(word))
	if class&^Reading == 0 {
		return 0
	}
	return class
}

// baseVerb returns the base form of a verb.
func baseVerb(word string) string {
	if bases := english.Base(word); len(bases) > 0 && effect.Of(word) == 0 {
		return bases[0]
	}
	return word
}

// endsSomething reports whether the i-th word means an end: cancel, cancellation, removed.
func endsSomething(words []string, i int) bool {
	w := words[i]
	if effect.Of(w) == effect.End || effect.Of(baseVerb(w)) == effect.End {
		return true
	}
	if i > 0 && effect.Of(words[i-1]+" "+w) == effect.End || i+1 < len(words) && effect.Of(w+" "+words[i+1]) == effect.End {
		return true
	}
	if class := effect.Of(w); i == 0 && class&effect.End != 0 && class&Reading == 0 && english.Lookup(w).Verb {
		return true
	}
	for _, verb := range english.VerbsOf(w) {
		if effect.Of(verb) == effect.End {
			return true
		}
	}
	return false
}
