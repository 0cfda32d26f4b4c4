// Package meaning compares two descriptions of an operation: whether they say the same in other words
// or describe two operations. Package diff asks it whether an operation of an unchanged name was
// replaced by another.
//
// Begin with [Compare]. It reads each text as a description: its main verb, the object of the verb and
// the other things that the text names (description.go). The rules for verbs are in verbs.go, those for
// objects in objects.go, those for texts that are alike but for a few words in exchange.go, and those
// for what is denied, left out or widened in negation.go. Texts in other languages are translated word by
// word (translate.go). The tables of words are in vocabulary.go.
package meaning

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/translate"
	"gazetteer/index/wordvec"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// Relation is the relation between two descriptions of an operation.
type Relation uint8

// The relations between two descriptions.
const (
	Same      Relation = iota
	Rewritten          // the same meaning in other words, as far as can be told
	Replaced           // they describe two operations
)

// Limits for the similarity of two texts, as the cosine of the sums of their words' vectors. They
// were chosen on the labelled pairs of the tests: rewritten descriptions without a common word are
// above farObjects, descriptions of different things below it.
const (
	farObjects    = 0.36
	farNamed      = 0.48 // if both name an object
	farTranslated = 0.2  // word by word, a translation loses some of them
	farHeads      = 0.4
	farTexts      = 0.5
	farExchanged  = 0.62 // one noun instead of another, all else the same
)

// Compare reports whether two descriptions describe the same operation. Verbs decide first: an
// operation that ends or removes something is not one that does not. Then the objects decide: if
// the descriptions share none and are about different topics, they describe two operations. If it
// cannot tell, for example for a text in an unknown language, it assumes the same meaning in other
// words.
func Compare(a, b string) Relation {
	if NormalizeSpace(a) == NormalizeSpace(b) {
		return Same
	}
	if HaveSameLetters(a, b) || strings.TrimSpace(a) == "" || strings.TrimSpace(b) == "" || haveSameWords(a, b) {
		return Rewritten
	}
	x, y := readDescription(a), readDescription(b)
	if x.differsFrom(y) {
		return Replaced
	}
	return Rewritten
}

// haveSameWords reports whether two texts have the same words in the same order, the plural of nouns
// and an "s" behind verbs aside. Most descriptions that change do not change more.
func haveSameWords(a, b string) bool {
	x, y := strings.FieldsFunc(strings.ToLower(a), isBetweenWords), strings.FieldsFunc(strings.ToLower(b), isBetweenWords)
	return slices.EqualFunc(x, y, func(v, w string) bool { return v == w || v == w+"s" || w == v+"s" })
}

// differsFrom reports whether two descriptions speak of two operations.
func (d description) differsFrom(o description) bool {
	if d.restricts(o) || o.restricts(d) || d.negates(o) || o.negates(d) || d.losesSafeguard(o) || o.losesSafeguard(d) || d.onlyPrepares(o) || o.onlyPrepares(d) || d.widensAct(o) || o.widensAct(d) || d.reverses(o) || d.addsAct(o) || o.addsAct(d) {
		return true
	}
	verbs := d.compareVerbs(o)
	switch verbs {
	case otherVerb:
		return true
	case unclearVerb:
		if d.contradicts(o) || o.contradicts(d) || d.actsUnlike(o) || d.endsAlone(o) || o.endsAlone(d) || d.actsWhileReads(o) || o.actsWhileReads(d) {
			return true
		}
	}
	if x, y, one := d.exchanges(o); one {
		return !areRelated(x, y)
	}
	if d.exchangesSpan(o) || d.reachesOther(o) || d.tellsOther(o) || d.givesRights(o) || o.givesRights(d) {
		return true
	}
	if d.readsAspect(o) || o.readsAspect(d) {
		return true
	}
	named := d.verb != o.verb && (d.names(o) || o.names(d) || d.undoes(o) || o.undoes(d) || d.isTitled(o.verb) || o.isTitled(d.verb))
	if !named && (d.actsOnOther(o) || d.readsOther(o) || o.readsOther(d)) {
		return true
	}
	if named || d.sharesObject(o) || verbs == sameVerb && (len(d.object) == 0 || len(o.object) == 0) {
		return false
	}
	far := float32(farObjects)
	if d.translated || o.translated {
		far = farTranslated
	}
	if far == farObjects && len(d.object) > 0 && len(o.object) > 0 {
		far = farNamed
	}
	near, known := textSimilarity(d.things, o.things)
	return known && near < far || !known && verbs == sameVerb && !d.translated && !o.translated && len(d.object) > 0 && len(o.object) > 0 &&
		!strings.Contains(strings.Join(d.things, ""), strings.Join(o.object, "")) && !strings.Contains(strings.Join(o.things, ""), strings.Join(d.object, ""))
}

// readsAspect reports whether d reads something about what o reads: "price history", "price".
func (d description) readsAspect(o description) bool {
	if len(o.object) == 0 || len(d.object) < 2 || d.translated || o.translated || reading[d.verb] == nil || reading[o.verb] == nil {
		return false
	}
	head, of := d.object[len(d.object)-1], d.object[len(d.object)-2]
	return of == o.object[len(o.object)-1] && !containers[head] && !general[head] && !mentions(o.things, head)
}

// readsOther reports whether both read, and d something that o does not name, of what o reads: "Get the
// reviews of a product", "Get a product".
func (d description) readsOther(o description) bool {
	if len(d.object) == 0 || len(o.object) == 0 || d.translated || o.translated || reading[d.verb] == nil || reading[o.verb] == nil {
		return false
	}
	head, other := d.object[len(d.object)-1], o.object[len(o.object)-1]
	if containers[head] || general[head] && !retrieving[o.verb] || containers[other] || mentions(d.object, other) || !mentions(d.things, other) ||
		slices.ContainsFunc(d.object, func(w string) bool { return mentions(o.things, w) }) {
		return false
	}
	near, known := textSimilarity(d.object, o.object)
	return !known || near < farExchanged
}

// isTitled reports whether d is a noun phrase about an act: "Currency conversion".
func (d description) isTitled(act string) bool {
	return act != "" && (d.verb == "" || d.isHeadedByNoun()) && d.isNamedAfter(act)
}

// description is the parsed text of an operation.
type description struct {
	text string // in English
	verb string // its main verb, "" if none was found
	// verbs are the main verb and the verbs joined to it: "Closes the account and deletes it".
	verbs []string
	words []string
	// things are the words but for the verb and those without a meaning of their own.
	things []string
	// object is the object of the main verb: the words after it, up to the next preposition.
	object []string
	// translated says that the words are likely translations of a text in another language.
	translated bool
	// unsureVerb says that the main verb can be a noun of the text that was translated.
	unsureVerb bool
	// sureVerb says that the text was translated and begins or ends with its main verb.
	sureVerb bool
}

// anyMethod is a method that no verb contradicts, so that effect.Compare only finds the main verb
// of a sentence.
const anyMethod = "DO"

// introduction are words before what an operation does: "This endpoint allows agents to".
var introduction = regexp.MustCompile(`(?i)^(?:description:\s*)?(?:(?:this|the|an?) (?:rest )?(?:action|operation|endpoint|api|method|function|call|tool|service|request|capability)\s+)?(?:(?:is |can be |may be )?used to |(?:allows?|lets|enables) (?:(?:an? |the |your )?(?:agents?|users?|callers?|clients?|you|one) (?:to )?|to ))?`)

// allowance is before an act that is named by a gerund: "Allows searching".
var allowance = regexp.MustCompile(`(?i)^(?:allows?|enables) (?:the )?([a-z]+ing )`)

// readPerformed makes the main verb out of the noun of an act that is performed: "Performs a search of
// the archive".
func (d *description) readPerformed() {
	if !performing[d.verb] {
		return
	}
	for i, w := range d.words[1:min(len(d.words), maxPerformed)] {
		if endsObject[w] {
			return
		}
		for _, v := range append([]string{w}, english.VerbsOf(w)...) {
			if effect.Of(v) != 0 && english.Lookup(w).Noun && (i+2 == len(d.words) || endsObject[d.words[i+2]] || d.words[i+2] == "of") {
				d.words = append([]string{v}, slices.Concat(d.words[i+2:], d.words[1:i+1])...)
				d.verb, d.text = v, strings.Join(d.words, " ")
				return
			}
		}
	}
}

// readCausative makes the main verb out of the participle of what is had done: "Has a room cleaned". What
// one leaves for others to read is written.
func (d *description) readCausative() {
	switch d.verb {
	case "have":
		for i := 2; i < min(len(d.words), maxPerformed); i++ {
			w := d.words[i]
			if bases := english.Base(w); isParticiple(w) && len(bases) > 0 && effect.Of(bases[0]) != 0 {
				d.verb, d.words = bases[0], append([]string{bases[0]}, slices.Concat(d.words[1:i], d.words[i+1:])...)
				d.text = strings.Join(d.words, " ")
				return
			}
		}
	case "leave":
		for i := 1; i < min(len(d.words), maxPerformed); i++ {
			if written[d.words[i]] {
				d.verb, d.words[0] = "write", "write"
				d.text = strings.Join(d.words, " ")
				return
			}
		}
	}
}

// written are things that one leaves for others to read.
var written = setOf("comment review note message feedback rating reply remark")

// performing are verbs that say no more than that an act takes place; maxPerformed is the number of words
// within which the noun of the act stands.
var performing = setOf("perform conduct carry_out do")

const maxPerformed = 6

// splitName returns the words of a name: "Mark-Message-As-Read", "getHotelOffers".
func splitName(name string) string {
	var out strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case r == '-' || r == '_':
			r = ' '
		case lower && unicode.IsUpper(r):
			out.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		out.WriteRune(r)
	}
	return out.String()
}

// onOrOff is a switch in both directions: "Turns a lamp on or off".
var onOrOff = regexp.MustCompile(`(?i)^(?:switch|turn)(?:es|s)? (?:on or off )?(.*?)(?: on or off)?$`)

func readDescription(text string) description {
	if !strings.Contains(strings.TrimSpace(text), " ") {
		text = splitName(text)
	}
	text = allowance.ReplaceAllString(introduction.ReplaceAllString(putTitleLast(text), ""), "$1")
	if strings.Contains(text, " on or off") {
		text = onOrOff.ReplaceAllString(text, "Toggles $1")
	}
	d := description{text: text, verb: effect.Compare(anyMethod, text).Verb}
	if effect.Of(d.verb) == 0 {
		language := translate.Detect(text)
		verb, rest := foreignVerb(text)
		if first, _, _ := strings.Cut(strings.ToLower(text), " "); language == "" && english.Lookup(first).Known() {
			verb = ""
		}
		switch {
		case verb != "":
			d.text, d.verb, d.translated, d.sureVerb = verb+" "+translateText(language, rest), verb, true, true
		case language != "":
			d.text, d.translated = translateText(language, text), true
			first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
			d.unsureVerb = language != "de" || germanVerb(first, "") == nil
			d.verb = effect.Compare(anyMethod, d.text).Verb
		}
	}
	d.words = strings.FieldsFunc(strings.ToLower(d.text), isBetweenWords)
	if d.verb == "" && len(d.words) > 2 && determiners[d.words[1]] && !endsObject[d.words[0]] && !emptyWords[d.words[0]] && !questions[d.words[0]] {
		d.verb = d.words[0] // a verb that no dictionary has: "Deallocates a machine"
	}
	d.readPerformed()
	d.readCausative()
	d.verbs = d.findVerbs()
	for _, w := range d.words {
		if emptyWords[w] || !d.isHeadedByNoun() && (slices.Contains(strings.Fields(d.verb), w) || slices.Contains(english.Base(w), d.verb)) {
			continue
		}
		d.things = append(d.things, singular(w))
	}
	d.object = d.findObject()
	return d
}

// longestTitle is how many words a title before a description has at most.
const longestTitle = 5

// putTitleLast moves a title before a sentence that begins with a verb behind it: "Service health. Tests
// whether the service is up".
func putTitleLast(text string) string {
	title, rest, found := strings.Cut(strings.TrimSpace(text), ". ")
	words := strings.Fields(title)
	if !found || len(words) == 0 || len(words) > longestTitle || strings.TrimSpace(rest) == "" || len(words) > 1 && determiners[words[1]] && effect.Of(strings.ToLower(words[0])) != 0 {
		return text
	}
	if v := effect.Compare(anyMethod, title).Verb; v != "" && isFormOf(v, strings.ToLower(words[0])) && english.Lookup(strings.ToLower(words[0])).VerbCount >= english.Lookup(strings.ToLower(words[0])).NounCount {
		return text
	}
	first, _, _ := strings.Cut(rest, " ")
	if bases := english.Base(strings.ToLower(first)); !strings.HasSuffix(first, "s") || len(bases) == 0 || effect.Of(bases[0]) == 0 {
		return text
	}
	return strings.TrimRight(rest, ". ") + ". " + title
}

// endsObject are words that end the object of a verb; containers are words before the object
// itself: "a list of".
var (
	endsObject = setOf("for near in on from to by with that which within at using based given per whose under into onto as via where when if so because about between against during through after before until since without is are was were be can will used including containing leaving having belonging")
	giving     = setOf("send give grant offer show tell issue hand assign award pay lend sell email mail text write bring")
	articles   = setOf("a an the your")
	pronouns   = setOf("you me us him her them it somebody someone something anybody anyone anything everybody everyone")
	containers = setOf("property attribute field list set batch number collection array page group series detail information info data summary content overview metadata copy record instance object resource name number entry item document account file code value service")
)

// findObject returns the words of the object of the main verb, in the singular, of the first sentence.
func (d description) findObject() []string {
	if d.asks() {
		return nil
	}
	if len(d.words) > 0 && d.leadingVerb() == "" && (d.verb == "" || d.isHeadedByNoun()) {
		return d.findHead()
	}
	sentence, _, _ := strings.Cut(d.text, ". ")
	if clause, _, found := strings.Cut(sentence, ","); found && strings.Count(clause, " ") > 1 {
		sentence = clause
	}
	words := strings.FieldsFunc(strings.ToLower(sentence), isBetweenWords)
	at := slices.IndexFunc(words, func(w string) bool { return d.verb != "" && isFormOf(d.verbHead(), w) })
	if at < 0 {
		return nil
	}
	for _, particle := range strings.Fields(d.verb)[1:] {
		if at+1 < len(words) && words[at+1] == particle {
			at++
		}
	}
	var object []string
	reads := reading[d.verb] != nil
	for _, w := range words[at+1:] {
		one := singular(w)
		switch {
		case w == "s": // "a guest's address"
			object = nil
		case w == "of" || w == "about" || w == "on":
			if len(object) > 0 && (!containers[object[len(object)-1]] || len(object) > 1 && w == "of" && !reads) {
				return object
			}
			object = nil // "details of an order" are of the order
		case (w == "and" || w == "or") && len(object) == 1 && isAdjective(object[0]): // "high and low tides"
		case pronouns[w] || questions[w] || len(object) > 0 && (w == "and" || isParticiple(w) && !isParticiple(object[len(object)-1])):
			return object
		case articles[w] && len(object) > 0 && (giving[d.verb] || words[at+1] == "or" || words[at+1] == "and"): // "sends a guest an offer", "adds or changes a rule"
			object = nil
		case endsObject[w] || articles[w]: // "the card an order is charged to"
			if len(object) > 0 {
				return object
			}
		case !emptyWords[w]:
			object = append(object, one)
		}
	}
	return object
}

// asks reports whether a text is a question, which the operation answers: "Who acted in a film".
func (d description) asks() bool {
	if len(d.words) < 3 {
		return false
	}
	next := d.words[1]
	if telling[d.verb] && (questions[next] || next == "if") {
		return true // "Says whether a shop is open"
	}
	return questions[d.words[0]] || auxiliaries[d.words[0]] || reading[d.verb] != nil && (questions[next] || questions[d.words[2]] && (pronouns[next] || next == "out" || next == "up"))
}

// telling are verbs that ask or answer a question if a question word follows them.
var telling = setOf("decide say report estimate explain state indicate determine calculate compute work_out figure_out find_out verify test learn predict forecast measure detect")

var auxiliaries = setOf("is are was were does did has")

var questions = setOf("who what which where when how why whether")

// findHead returns the words up to the first preposition of a text that begins with a noun: "Weather
// warnings for a region".
func (d description) findHead() []string {
	var head []string
	for _, w := range d.words {
		if (w == "of" || w == "about" || w == "on") && len(head) > 0 && containers[head[len(head)-1]] {
			head = nil
			continue
		}
		if (endsObject[w] || w == "of" || w == "and" || w == "or" || isParticiple(w)) && len(head) > 0 {
			break
		}
		if !emptyWords[w] && !endsObject[w] {
			head = append(head, singular(w))
		}
	}
	return head
}

// isParticiple reports whether a word behind a noun begins a clause: "the balance held by a wallet".
func isParticiple(w string) bool {
	return strings.HasSuffix(w, "ed") && english.Base(w) != nil || english.Irregular(w) != nil && !english.Lookup(w).Noun
}

// isAdjective reports whether a word is one and hardly ever a noun or a verb.
func isAdjective(w string) bool {
	use := english.Lookup(w)
	return use.Adjective && use.NounCount == 0 && use.VerbCount == 0
}

// singular returns the singular of a noun. Nouns of the groups are singular, "sms" too.
func singular(noun string) string {
	if nounGroups[noun] != nil {
		return noun
	}
	return cmp.Or(english.Singular(noun), noun)
}

// actsOnOther reports whether the objects of both main verbs are far from each other, and neither is
// mentioned by the other description.
func (d description) actsOnOther(o description) bool {
	if len(d.object) == 0 || len(o.object) == 0 {
		return false
	}
	x, y := strings.Join(d.object, ""), strings.Join(o.object, "")
	head, other := d.object[len(d.object)-1], o.object[len(o.object)-1]
	if reading[d.verb] == nil && reading[o.verb] == nil && (d.actsOnPart(o) || o.actsOnPart(d)) {
		return true
	}
	if d.verb == o.verb && effect.Of(d.verb) == effect.End && !areRelated(head, other) && mentions(d.things, other) && mentions(o.things, head) && !mentions(d.object, other) && !mentions(o.object, head) {
		return true // "Removes a tag from a photo", "Removes a photo with a tag"
	}
	if messaging[d.verb] || messaging[o.verb] {
		return false // whom one texts is no message
	}
	ends := effect.Of(d.verb) == effect.End && effect.Of(o.verb) == effect.End && !d.translated && !o.translated
	if ends && (!mentions(o.things, head) && !mentions(d.object, other) || !mentions(d.things, other) && !mentions(o.object, head)) {
		return true // "Removes the background of an image", "Deletes an image"
	}
	if mentions(o.things, head) || mentions(d.things, other) || strings.Contains(x, y) || strings.Contains(y, x) || haveOneStem(head, other) {
		return false
	}
	heads, others := []string{head}, []string{other}
	if slices.ContainsFunc(d.object, func(w string) bool { return mentions(o.object, w) }) {
		heads, others = d.object, o.object // "parking space" and "parking spot" share a word
	}
	far := float32(farHeads)
	switch {
	case d.translated || o.translated:
		far = farTranslated
	case d.verb == o.verb:
		far = farExchanged // authors who rewrite a text rarely keep its verb and exchange its object
	}
	if d.differsOnlyInObject(o) && !d.translated && !o.translated {
		heads, others, far = []string{head}, []string{other}, farExchanged
	}
	near, known := textSimilarity(heads, others)
	if whole, knownWhole := textSimilarity(d.object, o.object); far == farHeads && knownWhole && whole > near {
		near = whole
	}
	return known && near < far
}

// messaging are verbs whose object is whom a message reaches, or the message.
var messaging = setOf("text email mail message phone call notify inform tell alert remind ask")

// actsOnPart reports whether d acts on something of what o acts on: "Creates an evaluation of a
// bundle", "Creates a bundle".
func (d description) actsOnPart(o description) bool {
	head, other := d.object[len(d.object)-1], o.object[len(o.object)-1]
	return d.verb == o.verb && effect.Of(d.verb)&effect.Change == 0 && !containers[head] && !d.translated && !o.translated && !mentions(o.things, head) && slices.Contains(d.things, other) && !slices.Contains(d.object, other)
}

// differsOnlyInObject reports whether two descriptions are the same but for their objects. They mean
// other things then, unless the objects are synonyms.
func (d description) differsOnlyInObject(o description) bool {
	besides := func(things, object []string) []string {
		return slices.DeleteFunc(slices.Clone(things), func(w string) bool { return slices.Contains(object, w) })
	}
	x, y := besides(d.things, d.object), besides(o.things, o.object)
	if len(d.object) != len(o.object) && !slices.ContainsFunc(d.object, func(w string) bool { return slices.Contains(o.object, w) }) {
		return false
	}
	sameVerb := d.verb == o.verb || reading[d.verb] != nil && reading[o.verb] != nil
	return sameVerb && len(x) == len(y) && !slices.ContainsFunc(x, func(w string) bool { return !mentions(y, w) })
}

// haveOneStem reports whether two words begin alike: "player" and "playback".
func haveOneStem(a, b string) bool {
	return len(a) >= stemLength && len(b) >= stemLength && a[:stemLength] == b[:stemLength]
}

// stemLength is how many bytes words of one stem share.
const stemLength = 4

// target returns the first thing that a description names behind "to" or "into", in the singular.
func (d description) target() string {
	for i, w := range d.words {
		if w != "to" && w != "into" {
			continue
		}
		for _, thing := range d.words[i+1:] {
			if !emptyWords[thing] {
				return singular(thing)
			}
		}
	}
	return ""
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-'
}

// findVerbs returns the main verb and the verbs that a conjunction joins to it.
func (d description) findVerbs() []string {
	var verbs []string
	if d.verb != "" {
		verbs = append(verbs, d.verb)
	}
	for i, w := range d.words {
		if i == 0 || d.words[i-1] != "and" && d.words[i-1] != "then" && d.words[i-1] != "or" {
			continue
		}
		for _, base := range append(english.Base(w), w) {
			if effect.Of(base) != 0 {
				verbs = append(verbs, base)
				break
			}
		}
	}
	return verbs
}

// verbComparison says how the verbs of two descriptions stand to each other.
type verbComparison uint8

const (
	unclearVerb verbComparison = iota // one is unknown or only tells what is there
	sameVerb
	otherVerb
)

// compareVerbs compares what two descriptions do, by the groups of verbs and by english.SameSense.
func (d description) compareVerbs(o description) verbComparison {
	if d.names(o) || o.names(d) || d.undoes(o) || o.undoes(d) {
		return sameVerb
	}
	result := unclearVerb
	for i, v := range d.verbs {
		for j, w := range o.verbs {
			switch {
			case i > 0 && j > 0: // may be nouns: "the address and phone number"
			case i > 0 && reading[v] != nil || j > 0 && reading[w] != nil: // "and returns it"
			case v == w || (english.SameSense(v, w) && (reading[v] == nil) == (reading[w] == nil) || areSynonyms(v, w)) && (v != "return" || d.bringsBack()) && (w != "return" || o.bringsBack()):
				return sameVerb
			case i == 0 && j == 0 && d.isAct(v) && o.isAct(w):
				result = otherVerb
			}
		}
	}
	return result
}

// isAct reports whether a verb of d names an act of its own and does not only tell what is there.
func (d description) isAct(verb string) bool {
	if d.isHeadedByNoun() || d.asks() {
		return false
	}
	if verb == "return" {
		return d.bringsBack()
	}
	if verb == "give" && slices.Contains(d.words, "to") {
		return true
	}
	if reading[verb] != nil {
		return false
	}
	return verbGroups[verb] != nil || verbSynonyms[verb] != nil || effect.Of(verb)&^effect.Read != 0 || effect.Of(verb) == 0 && d.isImperative()
}

// actsWhileReads reports whether d does something and o only tells what is there.
func (d description) actsWhileReads(o description) bool {
	act := d.leadingVerb()
	if act == "" || d.translated && !d.sureVerb || o.translated && !o.sureVerb || !o.onlyReads() {
		return false
	}
	if renaming[act] {
		return !slices.ContainsFunc(o.words, func(w string) bool { return haveOneStem(w, act) || areSynonyms(w, act) })
	}
	if act == "request" && slices.ContainsFunc(d.words, func(w string) bool { return containers[singular(w)] }) {
		return false // "Request a list of orders"
	}
	return reading[act] == nil && !derived[act] && (effect.Of(act)&^(effect.Read|effect.Compute) != 0 || effect.Of(act) == 0 && d.isImperative() && determiners[d.words[1]]) && !o.isNamedAfter(act)
}

// onlyReads reports whether a description tells what is there: by its main verb, or by a noun.
func (d description) onlyReads() bool {
	if d.asks() {
		return true
	}
	if lead := d.leadingVerb(); lead != "" {
		return reading[lead] != nil && !vagueVerbs[lead] && (lead != "return" || !d.bringsBack())
	}
	return d.verb == "" || d.isHeadedByNoun()
}

// vagueVerbs are among the reading ones and can mean to do something.
var vagueVerbs = setOf("give use handle manage process obtain")

// isNamedAfter reports whether a word of d is a noun of the act: "payment" of "pay".
func (d description) isNamedAfter(act string) bool {
	state := effect.Of(act)&(effect.Read|effect.Compute) == 0
	return slices.ContainsFunc(d.words, func(w string) bool {
		if state && isParticiple(w) {
			return false // "published articles" tells of what was published before
		}
		if slices.ContainsFunc(english.VerbsOf(w), func(v string) bool {
			return v != w && !manySenses[v] && !manySenses[act] && (areSynonyms(v, act) || english.SameSense(v, act))
		}) {
			return true
		}
		return slices.Contains(english.VerbsOf(w), act) || slices.Contains(english.VerbsOf(singular(w)), act) || strings.HasPrefix(w, strings.ReplaceAll(act, " ", "-"))
	})
}

// leadingVerb returns the main verb if the text begins with it and names its object, or says that the
// operation does it: "Lets agents book a room"; else "".
func (d description) leadingVerb() string {
	for i, w := range d.words[:max(0, len(d.words)-1)] {
		if !isFormOf(d.verbHead(), w) {
			continue
		}
		next := d.words[i+1]
		switch {
		case d.verb == "" || d.asks() || i == 0 && (next == "of" || next == "on" || (next == "and" || next == "or") && len(d.verbs) < 2 || d.isHeadedByNoun()):
			return ""
		case i == 0 || d.words[i-1] == "to" || subjects[d.words[0]] || subjects[d.words[i-1]]:
			return d.verb
		}
		return ""
	}
	return ""
}

// verbHead returns the main verb without its particle: "look" of "look up".
func (d description) verbHead() string {
	head, _, _ := strings.Cut(d.verb, " ")
	return head
}

// subjects are first words of sentences about what an operation does.
var subjects = setOf("this the it endpoint operation method function api service allows lets enables permits used helps can")

// addsAct reports whether o does one more thing than d that cannot be taken back or that others
// notice: "Creates a draft", "Creates a draft and sends it".
func (d description) addsAct(o description) bool {
	for i, w := range o.words {
		if i == 0 || i+1 == len(o.words) || o.words[i-1] != "and" && o.words[i-1] != "then" || !determiners[o.words[i+1]] {
			continue
		}
		for _, act := range append(english.Base(w), w) {
			if grave[act] && !d.speaksOf(act, widening[o.words[i+1]]) {
				return true
			}
		}
	}
	return false
}

// speaksOf reports whether a word of d names an act or means the same; strictly, whether one names it.
func (d description) speaksOf(act string, strictly bool) bool {
	return slices.ContainsFunc(d.words, func(w string) bool {
		if isFormOf(w, act) || haveOneStem(w, act) || slices.Contains(english.VerbsOf(w), act) {
			return true
		}
		if strictly {
			return false
		}
		return moneyWords[act] && (moneyWords[w] || isFormOf(w, "pay")) || slices.ContainsFunc(append(english.Base(w), w), func(v string) bool {
			return english.SameSense(v, act) || !manySenses[v] && areSynonyms(v, act)
		})
	})
}

var (
	moneyWords  = setOf("charge pay bill debit payment cost fee price")
	manySenses  = setOf("create make write set put update change modify add")
	grave       = setOf("send publish delete remove erase cancel charge pay transfer revoke terminate close sell buy order submit share email post deploy execute replace overwrite refund block forfeit")
	determiners = setOf("it them a an the all its their your this that any every each one an to")
)

// isImperative reports whether the text begins with its main verb, and the verb with an object.
func (d description) isImperative() bool {
	return len(d.words) > 1 && d.verb != "" && isFormOf(d.words[0], d.verb) && len(d.object) > 0 && !endsObject[d.words[1]] && d.words[1] != "of" && d.words[1] != "and"
}

// names reports whether d says by a light verb and a noun what the main verb of o says: "give a
// rating", "rate".
func (d description) names(o description) bool {
	if !lightVerbs[d.verb] || reading[o.verb] != nil {
		return false
	}
	named := d.words
	if end := slices.IndexFunc(named, func(w string) bool { return endsObject[w] }); end > 0 && makingVerbs[d.verb] {
		named = named[:end]
	}
	return slices.ContainsFunc(named, func(w string) bool {
		particle, compound := strings.CutPrefix(w, o.verb)
		return isFormOf(o.verb, w) || w == strings.ReplaceAll(o.verb, " ", "") || len(o.verb) > stemLength && haveOneStem(o.verb, w) || compound && particles[particle] || slices.Contains(english.VerbsOf(w), o.verb)
	}) ||
		slices.ContainsFunc(d.object, func(w string) bool { return shareGroup(verbGroups, w, o.verb) })
}

var (
	// lightVerbs leave it to their object to say what is done.
	lightVerbs = setOf("initiate submit produce generate send issue file add begin cast create do give make mark move perform place put run set start take")
	// particles end nouns of an act: "playback".
	particles = setOf("back up off in out down over")
	// makingVerbs are those that leave it to their object alone: "sends an invitation".
	makingVerbs = setOf("initiate submit produce generate send")
	// reading are verbs that tell what is there. They can describe the result of most others.
	reading = groupWords("browse check describe display fetch find get give handle list locate look_up manage obtain process provide query read retrieve return search see show tell use view")
)

// verbLast are the languages whose sentences end with the verb; their nouns can look like verbs.
var verbLast = setOf("ja ko tr hi")

// germanVerb returns the translation of a German verb in the third person, with a prefix of its own
// for "leiht … aus": "Entfernt" at the beginning of a sentence is "removes", and a participle
// elsewhere. It returns nil if there is no such verb.
func germanVerb(word, prefix string) []translate.Word {
	stem, found := strings.CutSuffix(strings.ToLower(word), "t")
	if !found {
		return nil
	}
	verb := translate.Translate("de", prefix+strings.TrimSuffix(stem, "e")+"en")
	if len(verb) != 1 || len(verb[0].Meanings) == 0 || effect.Of(verb[0].Meanings[0]) == 0 {
		return nil
	}
	return verb
}

// translateText returns the likeliest English words of a text in another language.
func translateText(language, text string) string {
	if language == "" {
		return text
	}
	var out []string
	fields := strings.Fields(text)
	for i, field := range fields {
		words := translate.Translate(language, field)
		if i == 0 && language == "de" {
			for _, prefix := range []string{"", strings.TrimRight(fields[len(fields)-1], ".")} {
				if verb := germanVerb(field, prefix); verb != nil {
					words = verb
				}
			}
		}
		for _, w := range words {
			switch {
			case len(w.Meanings) == 0:
				out = append(out, w.Text)
			case w.Meanings[0] != translate.Nothing && w.Meanings[0] != translate.Question && w.Meanings[0] != translate.Negation:
				out = append(out, w.Meanings[0])
			}
		}
	}
	// The readers of English expect the verb first.
	isVerb := func(w string) bool { return effect.Of(w) != 0 }
	i := slices.IndexFunc(out, isVerb)
	if verbLast[language] {
		for i = len(out) - 1; i >= 0 && !isVerb(out[i]); i-- {
		}
	}
	if i < 0 {
		return strings.Join(out, " ")
	}
	return strings.Join(append([]string{out[i]}, slices.Delete(slices.Clone(out), i, i+1)...), " ")
}

// contradicts reports whether the verb of d excludes what o describes.
func (d description) contradicts(o description) bool {
	answers := o.asks() && effect.Of(d.verb)&(effect.Read|effect.Compute) != 0 || d.asks() && effect.Of(o.verb)&(effect.Read|effect.Compute) != 0
	return d.verb != "" && d.verb != o.verb && !answers && !d.isHeadedByNoun() && !(reading[d.verb] != nil && reading[o.verb] != nil) && effect.Compare(strings.ReplaceAll(d.verb, " ", ""), o.text).Verdict == effect.Contradicts
}

// retrieving are verbs that mean to read at the beginning of a description. There, get and return
// do not have the sense of getting a taxi or returning a parcel.
var retrieving = setOf("get return obtain download retrieve fetch")

// returnable are things that people give back.
var returnable = setOf("package item purchase parcel goods merchandise car vehicle bike book scooter rental equipment")

// bringsBack reports whether "return" means to bring a thing back.
func (d description) bringsBack() bool {
	return slices.ContainsFunc(d.things, func(w string) bool { return returnable[w] })
}

// effects returns the effects of the verbs of a description, 0 if one of them is unknown.
func (d description) effects() effect.Class {
	if d.isHeadedByNoun() {
		return 0
	}
	var all effect.Class
	for _, v := range d.verbs {
		class := effect.Of(v)
		if retrieving[v] && (v != "return" || !d.bringsBack()) {
			class = effect.Read
		}
		if class == 0 {
			return 0
		}
		all |= class
	}
	return all
}

// isHeadedByNoun reports whether what looks like the main verb may be a noun or an adjective:
// "Places to eat", "Aggregated figures", "Short summary".
func (d description) isHeadedByNoun() bool {
	if len(d.words) < 2 {
		return false
	}
	first, next := d.words[0], d.words[1]
	if next == "that" && telling[d.verb] {
		return false // "Reports that the gate is open"
	}
	if first == d.verb {
		use := english.Lookup(first)
		if use.NounCount > use.VerbCount && (next == "by" || next == "between" || isParticiple(next)) {
			return true // "Route by car"
		}
		if effect.Of(first) == 0 && use.NounCount > use.VerbCount && !determiners[next] {
			return true
		}
		return effect.Of(first)&^(effect.Read|effect.Compute) == 0 && reading[first] == nil && !determiners[next] && (use.Adjective || use.Noun && use.NounCount > use.VerbCount)
	}
	if strings.HasSuffix(first, "ed") && len(first) > 4 {
		return true
	}
	return isFormOf(d.verb, first) && english.Lookup(d.verb).Noun && next != "for" && next != "if" && !questions[next] && (endsObject[next] || effect.Of(d.verb) == 0 && (next == "and" || next == "of"))
}

// compatible holds, for each effect, the effects that another description of the same operation may
// have.
var compatible = map[effect.Class]effect.Class{
	effect.Read:    effect.Read | effect.Compute | effect.Tell,
	effect.Compute: effect.Read | effect.Compute | effect.Tell,
	effect.Commit:  effect.Commit | effect.Change | effect.Tell,
	effect.Change:  effect.Commit | effect.Change | effect.End | effect.Tell,
	effect.End:     effect.Change | effect.End,
	effect.Tell:    effect.Read | effect.Compute | effect.Commit | effect.Change | effect.Tell,
}

// actsUnlike reports whether no verb of d does anything like one of o.
func (d description) actsUnlike(o description) bool {
	x, y := d.effects(), o.effects()
	if x == 0 || y == 0 || d.unsureVerb || o.unsureVerb {
		return false
	}
	for class, others := range compatible {
		if x&class != 0 && y&others != 0 {
			return false
		}
	}
	return true
}

// isFormOf reports whether two words are forms of one verb.
func isFormOf(a, b string) bool {
	if a == b {
		return true
	}
	x, y := append(english.Base(a), a), append(english.Base(b), b)
	return slices.ContainsFunc(x, func(v string) bool { return slices.Contains(y, v) })
}

// vagueEnds are verbs that may end something and mostly do not.
var vagueEnds = setOf("put set replace return")

// endsAlone reports whether d ends something and o does not, or hardly.
func (d description) endsAlone(o description) bool {
	x, y := effect.Of(d.verb), effect.Of(o.verb)
	if d.endsPurely() && !o.endsSomehow() {
		return true
	}
	if x&effect.End == 0 || vagueEnds[d.verb] || y == 0 || d.verb == o.verb || english.SameSense(d.verb, o.verb) {
		return false
	}
	if x == effect.End && y != effect.End {
		return true
	}
	if y&effect.End != 0 || x&effect.Read != 0 || y&effect.Read != 0 {
		return false
	}
	near, known := textSimilarity(d.words, o.words)
	return known && near < farTexts
}

// textSimilarity returns how near two texts are, and whether words of both are known.
func textSimilarity(a, b []string) (float32, bool) {
	table := wordvec.Embedded()
	x, y := make([]float32, table.Dim()), make([]float32, table.Dim())
	if table.Sum(x, a, nil) == 0 || table.Sum(y, b, nil) == 0 {
		return 0, false
	}
	wordvec.Normalize(x)
	wordvec.Normalize(y)
	return wordvec.Dot(x, y), true
}

// endsPurely reports whether one of the verbs can mean nothing but to end something, endsSomehow
// whether one can mean it.
func (d description) endsPurely() bool {
	return slices.ContainsFunc(d.verbs, func(v string) bool { return effect.Of(v) == effect.End })
}

func (d description) endsSomehow() bool {
	return slices.ContainsFunc(d.verbs, func(v string) bool { return effect.Of(v)&effect.End != 0 })
}

// sharesObject reports whether both texts name the same thing, by the same word or a synonym.
func (d description) sharesObject(o description) bool {
	return slices.ContainsFunc(d.things, func(w string) bool { return mentions(o.things, w) })
}

// mentions reports whether others has a word or a synonym of it.
func mentions(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == word || haveOneStem(w, word) || shareGroup(nounGroups, w, word)
	})
}

// areSynonyms reports whether two verbs may be used for the same act.
func areSynonyms(a, b string) bool {
	return shareGroup(verbGroups, a, b) || slices.Contains(verbSynonyms[a], b)
}

// shareGroup reports whether two words are in one group.
func shareGroup(groups map[string][]int, a, b string) bool {
	return slices.ContainsFunc(groups[a], func(group int) bool { return slices.Contains(groups[b], group) })
}
