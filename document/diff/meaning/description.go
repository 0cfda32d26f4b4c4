package meaning

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/wording"
)

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

// readCausative makes the main verb out of the participle of what is had done: "Has a room
// cleaned". What one leaves for others to read is written.
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
var written = wording.WordSet("comment review note message feedback rating reply remark")

// performing are verbs that say no more than that an act takes place; maxPerformed is the number of
// words within which the noun of the act stands.
var performing = wording.WordSet("perform conduct carry_out do")

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
		verb, rest := wording.ForeignVerb(text)
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

// putTitleLast moves a title before a sentence that begins with a verb behind it: "Service health.
// Tests whether the service is up".
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
	endsObject = wording.WordSet("for near in on from to by with that which within at using based given per whose under into onto as via where when if so because about between against during through after before until since without is are was were be can will used including containing leaving having belonging")
	giving     = wording.WordSet("send give grant offer show tell issue hand assign award pay lend sell email mail text write bring")
	articles   = wording.WordSet("a an the your")
	pronouns   = wording.WordSet("you me us him her them it somebody someone something anybody anyone anything everybody everyone")
	containers = wording.WordSet("property attribute field list set batch number collection array page group series detail information info data summary content overview metadata copy record instance object resource name number entry item document account file code value service")
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
	if handing[d.verbHead()] {
		for i, w := range d.words[:len(d.words)-2] {
			if w == "and" && telling[d.words[i+1]] && (questions[d.words[i+2]] || d.words[i+2] == "if") {
				return true // "Upload a file and learn whether it is infected"
			}
		}
	}
	if telling[d.verb] && (questions[next] || next == "if") {
		return true // "Says whether a shop is open"
	}
	return questions[d.words[0]] || auxiliaries[d.words[0]] || reading[d.verb] != nil && (questions[next] || questions[d.words[2]] && (pronouns[next] || next == "out" || next == "up"))
}

// handing are verbs that say how a question is put.
var handing = wording.WordSet("upload give pass provide enter paste supply")

// telling are verbs that ask or answer a question if a question word follows them.
var telling = wording.WordSet("decide say report estimate explain state indicate determine calculate compute work_out figure_out find_out verify test learn predict forecast measure detect")

var auxiliaries = wording.WordSet("is are was were does did has")

var questions = wording.WordSet("who what which where when how why whether")

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
var subjects = wording.WordSet("this the it endpoint operation method function api service allows lets enables permits used helps can")

// isImperative reports whether the text begins with its main verb, and the verb with an object.
func (d description) isImperative() bool {
	return len(d.words) > 1 && d.verb != "" && isFormOf(d.words[0], d.verb) && len(d.object) > 0 && !endsObject[d.words[1]] && d.words[1] != "of" && d.words[1] != "and"
}

// isHeadedByNoun reports whether what looks like the main verb may be a noun or an adjective:
// "Places to eat", "Aggregated figures", "Short summary".
func (d description) isHeadedByNoun() bool {
	if len(d.words) < 2 {
		return false
	}
	first, next := d.words[0], d.words[1]
	if use := english.Lookup(first); first == d.verb && (use.Noun || use.Adjective) && effect.Of(next) == 0 && strings.HasPrefix(strings.ToLower(d.text), first+", ") {
		return true // "Open, high, low and close of a share", but "Open, close or lock a door"
	}
	if next == "that" && telling[d.verb] {
		return false // "Reports that the gate is open"
	}
	if one := singular(first); first == d.verb && one != first && effect.Of(first) == 0 && english.Lookup(one).Noun && english.Lookup(one).VerbCount == 0 {
		return true // "Vacancies that match a title"
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
