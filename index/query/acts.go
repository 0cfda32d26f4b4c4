package query

import (
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// An Act is the kind of thing that a request, or one clause of it, wants done.
type Act struct {
	// Verb is the verb that the request begins with, in its base form; "" when there is none.
	Verb string
	// Wanted contains the allowed effects of an operation that does the task; 0 if the request does
	// not say.
	Wanted effect.Class
	// Object is the stem of the object to end; "" if the request ends nothing.
	Object string
	// Container is the stem of what the object is taken out of, which stays: the project that somebody
	// is removed from. It is "" if the request names none.
	Container string
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
	// Forbids reports whether the request forbids something: only the price, do not send it.
	Forbids bool
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

// setActs finds the act of the request and of each of its clauses. A prohibition at the beginning of
// a clause is not its act.
func (r *Request) setActs(fields []string, weights []float32, from, to int, clauses []int, expressions []expression, forbidden []bool) {
	polite := fields[r.sought:from]
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
			for len(part) > 1 && forbidden[end-len(part)] {
				part, kept = part[1:], kept[1:]
			}
			if start > from || len(part) < end-start {
				skip, _ := skipToClause(part)
				polite = part[:skip]
				part, kept = part[skip:], kept[skip:]
			}
			if forbidden[end-1] && len(part) > 0 && !slices.Contains(forbidden[start:end], false) {
				start = end
				continue // it only forbids
			}
			r.Acts[n] = actOf(polite, part, kept)
			if start == r.sought && r.Acts[n].Verb == "" && start > 0 && len(part) > 0 {
				r.Acts[n].takeVerb(normalizeWord(part[0])) // an agent that books tables
			}
			if n > 0 && start > 0 && r.Acts[n].Verb == "" && ordersBareNoun(fields[start-1:end]) {
				r.Acts[n].takeVerb(normalizeWord(part[0])) // "and order sushi"
			}
			if e := expressionAt(expressions, end-len(part)); e != nil {
				r.Acts[n].readIdiom(e, part)
			}
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
		if r.Act.Makes { // a draft that is not put on the market is created
			p.Verbs = slices.DeleteFunc(p.Verbs, func(v string) bool { return v == "create" && !strings.Contains(strings.ToLower(p.Text), v) })
		}
		// The request still asks for an action: the prohibition is about something else.
		p.ReadOnly = p.ReadOnly && (p.tells || r.Act.Wanted == 0 || r.Act.Wanted&Reading != 0)
		if p.ReadOnly {
			r.Act.Wanted = Reading
		}
	}
	if r.Act.Forbids = len(r.Prohibitions) > 0; r.Act.Forbids {
		for i := range r.Acts {
			r.Acts[i].Forbids = true
		}
	}
}

// takeVerb makes a word the verb of an act if it can be one.
func (a *Act) takeVerb(word string) {
	if class := effect.Of(word); class != 0 && english.Lookup(word).Verb {
		a.Verb, a.Wanted = word, class
	}
}

// readIdiom corrects the act of a clause that begins with an expression whose words do not mean what
// they say: "make me laugh" makes nothing, and "drop the backdrop" removes something.
func (a *Act) readIdiom(e *expression, clause []string) {
	if a.Question || e.Length > len(clause) || renounces(lowerWords(clause)) {
		return
	}
	stands := strings.Fields(e.Stands)
	if tokens.StemOf(stands[0]) == tokens.StemOf(normalizeWord(clause[0])) {
		return // the expression begins with the word that it stands for: tickets for the match
	}
	if a.Verb != "" && slices.ContainsFunc(stands, func(w string) bool { return strings.HasPrefix(w, a.Verb) || tokens.StemOf(w) == tokens.StemOf(a.Verb) }) {
		return // rent a car: car rental
	}
	words := stands
	for i, w := range lowerWords(clause) {
		if i >= e.Length || e.InGap(i) {
			words = append(words, w)
		}
	}
	a.Verb, a.Wanted = parseImperative(words)
	if a.Ends = endsSomething(words, 0); a.Verb == "" && effect.Of(words[0])&effect.End != 0 {
		a.takeVerb(words[0]) // block a card
	}
	if a.Object = ""; a.Ends {
		a.Object = tokens.StemOf(ObjectOf(words[1:]))
	}
}

// lowerWords returns words in their normal form.
func lowerWords(words []string) []string {
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = normalizeWord(w)
	}
	return lower
}

// expressionAt returns the expression of several words that begins at a place, nil if there is none.
func expressionAt(found []expression, at int) *expression {
	for i := range found {
		if found[i].start == at && found[i].Length > 1 {
			return &found[i]
		}
	}
	return nil
}

// actOf finds the act of a clause. weights contains the weights of its words, 0 for words of a
// prohibition. polite contains the polite words before it.
func actOf(polite, words []string, weights []float32) Act {
	act := Act{}
	if after := afterCorrection(words); after > 0 {
		words, weights = words[after:], weights[after:]
	}
	lower := lowerWords(words)
	for i := range lower {
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
		if act.Verb == "" && act.Wanted == 0 && (slices.Contains(knownNouns, ObjectOf(lower)) || isTopic(lower)) {
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
		object, container := cutContainer(lower[1:phraseEnd(words)])
		act.Object, act.Container = tokens.StemOf(ObjectOf(object)), tokens.StemOf(ObjectOf(container))
		act.All = slices.ContainsFunc(lower, MeansAll)
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

// afterCorrection returns the number of words that a clause takes back: "delete it... no, show it" asks
// to show something.
func afterCorrection(words []string) int {
	for i, w := range words {
		if i > 0 && i+1 < len(words) && strings.EqualFold(w, "no,") {
			return i + 1
		}
	}
	return 0
}

// phraseEnd returns the number of words, of two or more, up to the first comma or other mark that ends
// a phrase: "delete this task, the list has to stay" deletes no list.
func phraseEnd(words []string) int {
	for i, w := range words {
		if i > 0 && strings.ContainsAny(w[len(w)-1:], ",;:.!?") {
			return i + 1
		}
	}
	return len(words)
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

// existing are words before a thing that exists and is to be found: the nearest pharmacy.
var existing = strings.Fields("closest latest nearest newest upcoming")

// isTopic reports whether words are a noun and what it is about: a podcast on beekeeping. A new card on
// the board is to be made.
func isTopic(words []string) bool {
	if slices.Contains(existing, words[0]) && len(words) > 1 {
		return true
	}
	if slices.Contains(words, "new") || slices.Contains(words, "another") {
		return false
	}
	for i, w := range words[1:] {
		if before := words[i]; w == "of" || w == "on" || w == "about" {
			return english.Lookup(before).Noun || english.Singular(before) != ""
		}
	}
	return false
}

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

// MeansAll reports whether a word in lower case says that an act ends all things of a kind.
func MeansAll(word string) bool { return slices.Contains(allWords, word) }

// prepositions end the object of a verb.
var prepositions = strings.Fields("about after as at before by for from in into of off on over since to under until with without that which who")

// cutContainer cuts off what something is taken out of: her | the project, of "her from the project".
func cutContainer(words []string) (object, container []string) {
	for i, w := range words {
		takes := w == "from" || w == "off" || w == "of" && i > 0 && words[i-1] == "out"
		if takes && i > 0 && i+2 < len(words) && slices.Contains(determiners, words[i+1]) {
			return words[:i], words[i+1:]
		}
	}
	return words, nil
}

// ObjectOf returns the last word of the noun phrase that words begin with.
func ObjectOf(words []string) string {
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
		single := particleVerbs[first+" "+next]
		if class := effect.Of(first + " " + next); class != 0 {
			if effect.Of(single) == class {
				return single, withoutReading(class) // bring back
			}
			return first + " " + next, withoutReading(class) // sign up, turn off
		}
		if effect.Of(single) != 0 {
			return single, withoutReading(effect.Of(single)) // get rid of
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
			return single, withoutReading(effect.Of(single))
		}
	}
	if first == "have" || first == "get" {
		if verb := causedVerb(words); verb != "" {
			class := effect.Of(verb)
			if class != effect.End {
				class |= effect.Commit // somebody is engaged to do it
			}
			return verb, class
		}
	}
	u := english.Lookup(first)
	class := effect.Of(first)
	onlyReads := class != 0 && class&^Reading == 0 && english.Singular(next) != "" // list customers
	isVerb := u.Verb && (u.VerbCount > u.NounCount || !u.Noun || next == "" || slices.Contains(determiners, next) || startsValue(next) || onlyReads || namesObject(words) || tellsTo(words))
	if !isVerb {
		if base := english.Base(first); len(base) == 1 && strings.HasSuffix(first, "ing") && effect.Of(base[0]) != 0 {
			return base[0], effect.Of(base[0]) // translating a letter
		}
		if class != 0 && !u.Noun && !u.Adjective {
			return first, class
		}
		return "", 0
	}
	if (first == "make" || first == "take") && (next == "a" || next == "an") {
		return "create", effect.Of(first) // make a playlist
	}
	return first, effect.Of(first)
}

// namesObject reports whether the second word is the kind of thing that the third one identifies:
// archive ticket 12. An order number is no act.
func namesObject(words []string) bool {
	return len(words) > 2 && isValue(words[2]) && !isValue(words[1]) && !slices.Contains(numberWords, words[1]) && effect.Of(words[0])&^Reading != 0
}

// tellsTo reports whether words tell something to somebody: post the minutes to the team, text hello to
// Anna. As nouns, such words are rarely sent anywhere.
func tellsTo(words []string) bool {
	class := effect.Of(words[0])
	return class&effect.Tell != 0 && class&Reading == 0 && slices.Contains(words[:min(len(words), maxTold)], "to")
}

// maxTold is the number of words among which the receiver begins.
const maxTold = 8

// numberWords are nouns before a number.
var numberWords = strings.Fields("code id line no no. nr number ref reference")

// withoutReading returns the effects of a verb with a particle. If it can do something, it is not meant to read:
// who brings the car back wants no list of cars.
func withoutReading(class effect.Class) effect.Class {
	if class&^Reading == 0 {
		return class
	}
	return class &^ effect.Read
}

// causedVerb returns the verb of what words ask to have done, "" if they ask for a thing: have the tap
// fixed, have a driver collect her.
func causedVerb(words []string) string {
	for i := 2; i < min(len(words), maxCaused); i++ {
		w, before := words[i], words[i-1]
		if slices.Contains(prepositions, w) || slices.Contains(determiners, w) {
			return ""
		}
		base, u := baseVerb(w), english.Lookup(w)
		isDone := isPast(w) && english.Singular(w) == "" && !u.Adjective
		does := words[0] == "have" && base == w && u.VerbCount > u.NounCount && english.Lookup(before).Noun
		if class := effect.Of(base); (isDone || does) && class&^Reading != 0 {
			return base
		}
	}
	return ""
}

// maxCaused is the number of words among which the verb of what is to be done stands.
const maxCaused = 7

// startsValue reports whether a word can only begin an object.
func startsValue(word string) bool {
	return word != "" && (unicode.IsDigit(rune(word[0])) || slices.Contains(objectStarts, word))
}

var (
	objectStarts = strings.Fields("one two three four five six seven eight nine ten twenty fifty hundred no new every each both some any")
	tellPhrases  = strings.Fields("show tell know what which")
)

// makingVerbs are verbs that create something new.
var makingVerbs = []string{"add", "book", "build", "buy", "compose", "create", "design", "draft", "draw", "file", "generate", "launch", "make", "open", "order", "post", "produce", "publish",
	"register", "render", "rent", "reserve", "schedule", "send", "set up", "sign up", "start", "submit", "take", "upload", "write"}

// asksToBeTold reports whether a polite opening asks for an answer: show me, do you know.
func asksToBeTold(word string) bool { return slices.Contains(tellPhrases, normalizeWord(word)) }

// actionOf returns the effects of a verb in any of its forms, 0 for a word that is not a verb or a
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

// Verbs that end nothing with a pronoun behind them.
var (
	figurative     = strings.Fields("kill killing kills")
	objectPronouns = strings.Fields("me us him her them")
)

// tellers are the subjects of sentences that tell what has happened.
var tellers = strings.Fields("i we he she they")

// endsSomething reports whether the i-th word means an end: cancel, cancellation, removed.
func endsSomething(words []string, i int) bool {
	w := words[i]
	if slices.Contains(figurative, w) && i+1 < len(words) && slices.Contains(objectPronouns, words[i+1]) {
		return false // my tooth is killing me
	}
	if i > 0 && slices.Contains(tellers, words[i-1]) && isPast(w) {
		return false // I lost my card, they cancelled my flight: it has happened
	}
	if effect.Of(w) == effect.End || effect.Of(baseVerb(w)) == effect.End {
		return true
	}
	if i > 0 && effect.Of(words[i-1]+" "+w) == effect.End || i+1 < len(words) && effect.Of(w+" "+words[i+1]) == effect.End {
		return true
	}
	class := effect.Of(w)
	if i+1 < len(words) {
		if phrase := effect.Of(w + " " + words[i+1]); phrase != 0 {
			class &= phrase // turn on ends nothing
		}
	}
	if i == 0 && class&effect.End != 0 && class&(Reading|effect.Commit) == 0 && english.Lookup(w).Verb {
		return true
	}
	return slices.ContainsFunc(english.VerbsOf(w), func(verb string) bool { return effect.Of(verb) == effect.End })
}
