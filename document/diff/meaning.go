package diff

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/translate"
	"gazetteer/index/wordvec"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// meaning says how two descriptions of an operation stand to each other.
type meaning uint8

const (
	same      meaning = iota
	rewritten         // the same meaning in other words, as far as can be told
	replaced          // they describe two operations
)

// Nearness of two texts, as the cosine of the sums of their words' vectors. Set by the labelled
// pairs of the tests: rewritten descriptions that share no word lie above farObjects, descriptions
// of other things below it.
const (
	farObjects = 0.36
	farHeads   = 0.2
	farTexts   = 0.5
)

// judgeMeaning tells whether two descriptions speak of one operation. Verbs decide first: an
// operation that ends or removes something is not one that does not. Then the things it is done to:
// if the descriptions share none and speak of different matters, they describe two operations. What
// cannot be told, such as a text in an unknown language, is taken for the same in other words.
func judgeMeaning(a, b string) meaning {
	if normalizeSpace(a) == normalizeSpace(b) {
		return same
	}
	if isSameText(a, b) || strings.TrimSpace(a) == "" || strings.TrimSpace(b) == "" {
		return rewritten
	}
	x, y := readDescription(a), readDescription(b)
	switch {
	case x.contradicts(y) || y.contradicts(x) || x.actsUnlike(y),
		x.negates(y) || y.negates(x),
		x.widensEnd(y) || y.widensEnd(x),
		x.endsAlone(y) || y.endsAlone(x),
		x.actsOnOther(y):
		return replaced
	}
	if !x.sharesObject(y) {
		if near, known := textSimilarity(x.things, y.things); known && near < farObjects {
			return replaced
		}
	}
	return rewritten
}

// description is the text of an operation, taken apart.
type description struct {
	text string // in English
	verb string // its main verb, "" if none was found
	// verbs are the main verb and those that stand beside it: "Closes the account and deletes it".
	verbs []string
	words []string
	// things are the words but for the verb and those without a meaning of their own.
	things []string
	// object is what the main verb is done to: the words behind it, up to the next preposition.
	object []string
	// translated is set when the words are likely ones of a text in another language.
	translated bool
}

// anyMethod is a method that no verb contradicts: effect.Compare finds the main verb of a sentence
// beside it.
const anyMethod = "DO"

func readDescription(text string) description {
	d := description{text: text, verb: effect.Compare(anyMethod, text).Verb}
	if effect.Of(d.verb) == 0 {
		if language := translate.Detect(text); language != "" {
			d.text, d.translated = translateText(language, text), true
			d.verb = effect.Compare(anyMethod, d.text).Verb
		}
	}
	d.words = strings.FieldsFunc(strings.ToLower(d.text), isBetweenWords)
	d.verbs = d.findVerbs()
	for _, w := range d.words {
		if emptyWords[w] || w == d.verb || slices.Contains(english.Base(w), d.verb) {
			continue
		}
		if one := english.Singular(w); one != "" {
			w = one
		}
		d.things = append(d.things, w)
	}
	d.object = d.findObject()
	return d
}

// endsObject are words behind which the object of a verb is over, containers those that stand before
// the object itself: "a list of".
var (
	endsObject = setOf("for in on from to by with that which within at using based given per whose under into onto as via where when if so because about between against during through is are was were be can will used")
	containers = setOf("list set batch number collection array page group series detail information info data summary content overview metadata copy record instance object resource")
)

// findObject returns the words of the object of the main verb, in the singular, of the first sentence.
func (d description) findObject() []string {
	sentence, _, _ := strings.Cut(d.text, ". ")
	words := strings.FieldsFunc(strings.ToLower(sentence), isBetweenWords)
	at := slices.IndexFunc(words, func(w string) bool { return d.verb != "" && isFormOf(d.verb, w) })
	if at < 0 {
		return nil
	}
	var object []string
	for _, w := range words[at+1:] {
		one := cmp.Or(english.Singular(w), w)
		switch {
		case w == "of" || w == "about" || w == "on":
			if len(object) > 0 && !containers[object[len(object)-1]] {
				return object
			}
			object = nil // "details of an order" are of the order
		case endsObject[w]:
			if len(object) > 0 {
				return object
			}
		case !emptyWords[w]:
			object = append(object, one)
		}
	}
	return object
}

// actsOnOther reports whether the objects of both main verbs are far from each other, and neither is
// mentioned by the other description.
func (d description) actsOnOther(o description) bool {
	if len(d.object) == 0 || len(o.object) == 0 {
		return false
	}
	x, y := strings.Join(d.object, ""), strings.Join(o.object, "")
	if mentions(o.things, d.object[len(d.object)-1]) || mentions(d.things, o.object[len(o.object)-1]) || strings.Contains(x, y) || strings.Contains(y, x) {
		return false
	}
	near, known := textSimilarity(d.object, o.object)
	return known && near < farHeads
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-'
}

// findVerbs returns the main verb and those that a conjunction puts beside it.
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

// emptyWords say nothing of what an operation is about.
var emptyWords = setOf("a an the of for to from in on at by with and or is are be now this that it its your my our their any all new one as which not no " +
	"using via based given per into onto about also only matching specified requested behalf agent caller user requesting")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// translateText returns the likeliest English words of a text in another language.
func translateText(language, text string) string {
	var out []string
	for _, field := range strings.Fields(text) {
		for _, w := range translate.Translate(language, field) {
			switch {
			case len(w.Meanings) == 0:
				out = append(out, w.Text)
			case w.Meanings[0] != translate.Nothing && w.Meanings[0] != translate.Question && w.Meanings[0] != translate.Negation:
				out = append(out, w.Meanings[0])
			}
		}
	}
	// Many languages put the verb last; the readers of English expect it first.
	for i, w := range out {
		if effect.Of(w) != 0 {
			return strings.Join(append([]string{w}, slices.Delete(slices.Clone(out), i, i+1)...), " ")
		}
	}
	return strings.Join(out, " ")
}

// contradicts reports whether the verb of d excludes what o describes.
func (d description) contradicts(o description) bool {
	return d.verb != "" && d.verb != o.verb && effect.Compare(strings.ReplaceAll(d.verb, " ", ""), o.text).Verdict == effect.Contradicts
}

// retrieving are verbs that, at the head of a description, tell what is there: the sense in which
// people get a taxi or return a parcel is not that of an interface.
var retrieving = setOf("get return obtain download retrieve fetch")

// returnable are the things that are returned to where they came from.
var returnable = setOf("item purchase parcel goods merchandise car vehicle bike scooter rental equipment")

// effects returns what the verbs of a description do, 0 if one of them is not known.
func (d description) effects() effect.Class {
	if d.isHeadedByNoun() {
		return 0
	}
	var all effect.Class
	for _, v := range d.verbs {
		class := effect.Of(v)
		if retrieving[v] && (v != "return" || !slices.ContainsFunc(d.things, func(w string) bool { return returnable[w] })) {
			class = effect.Read
		}
		if class == 0 {
			return 0
		}
		all |= class
	}
	return all
}

// isHeadedByNoun reports whether what looks like the main verb may be a noun: "Places to eat".
func (d description) isHeadedByNoun() bool {
	return len(d.words) > 1 && d.words[0] != d.verb && isFormOf(d.verb, d.words[0]) && english.Lookup(d.verb).Noun && d.words[1] != "for" && endsObject[d.words[1]]
}

// compatible holds, for each effect, those that a description of the same operation may speak of.
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
	if x == 0 || y == 0 || d.translated || o.translated {
		return false
	}
	for class, others := range compatible {
		if x&class != 0 && y&others != 0 {
			return false
		}
	}
	return true
}

// negations are words that deny the one that follows.
var negations = setOf("not without never cannot")

// negates reports whether d denies something that o does: "without charging the card".
func (d description) negates(o description) bool {
	for i, w := range d.words {
		if negations[w] && i+1 < len(d.words) && slices.ContainsFunc(o.verbs, func(v string) bool { return isFormOf(v, d.words[i+1]) }) {
			return true
		}
	}
	return false
}

// isFormOf reports whether two words are forms of one verb.
func isFormOf(a, b string) bool {
	if a == b {
		return true
	}
	x, y := append(english.Base(a), a), append(english.Base(b), b)
	return slices.ContainsFunc(x, func(v string) bool { return slices.Contains(y, v) })
}

// widening are words that let an operation take away more than before.
var widening = setOf("all every everything entire whole permanently irrevocably forever")

// widensEnd reports whether d and o both end something, and o more of it.
func (d description) widensEnd(o description) bool {
	if effect.Of(d.verb)&effect.End == 0 || effect.Of(o.verb)&effect.End == 0 {
		return false
	}
	for _, w := range o.words {
		if widening[w] && !slices.Contains(d.words, w) && !slices.ContainsFunc(d.words, func(v string) bool { return widening[v] }) {
			return true
		}
	}
	return false
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

// sharesObject reports whether both speak of one thing by the same word or one that is used for it.
func (d description) sharesObject(o description) bool {
	return slices.ContainsFunc(d.things, func(w string) bool { return mentions(o.things, w) })
}

// nounGroups are nouns that services use for one thing. The word vectors are too coarse for them.
var nounGroups = groupWords(
	"product item article good merchandise", "order purchase", "customer client user account member person profile holder", "parcel package shipment delivery",
	"bill invoice", "case ticket issue", "job position vacancy", "message text sms mail email", "stock share equity quote", "direction route path",
	"term keyword word phrase query", "text sentence article passage document paragraph", "fund money balance amount cash", "quantity number amount count many much",
	"forecast weather condition", "doctor physician", "table seat reservation booking", "restaurant place venue eatery", "photo image picture", "car vehicle",
	"trip journey ride travel", "hotel room lodging accommodation", "file document", "price cost rate fee", "appointment visit meeting event slot", "comment review rating",
	"film movie", "song track music", "city place location town", "team group", "company business organization firm", "basket cart", "city place", "state status",
	"info information detail", "setting configuration option preference", "directory list catalog catalogue", "server machine host instance", "plan subscription", "employee worker staff",
)

// groupWords returns the numbers of the groups that each word is in.
func groupWords(groups ...string) map[string][]int {
	of := map[string][]int{}
	for i, group := range groups {
		for _, w := range strings.Fields(group) {
			of[w] = append(of[w], i)
		}
	}
	return of
}

// mentions reports whether a word or one that is used for the same thing is among others.
func mentions(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == word || slices.ContainsFunc(nounGroups[w], func(group int) bool { return slices.Contains(nounGroups[word], group) })
	})
}
