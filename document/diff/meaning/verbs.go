package meaning

import (
	"slices"
	"strings"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/wording"
)

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
	if o.asks() && effect.Of(act) != 0 && effect.Of(act)&^(effect.Read|effect.Compute) == 0 {
		return false // "Compare the rates of carriers", "Returns what each carrier would charge"
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
var vagueVerbs = wording.WordSet("give use handle manage process obtain")

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
	moneyWords  = wording.WordSet("charge pay bill debit payment cost fee price")
	manySenses  = wording.WordSet("create make write set put update change modify add")
	grave       = wording.WordSet("send publish delete remove erase cancel charge pay transfer revoke terminate close sell buy order submit share email post deploy execute replace overwrite refund block forfeit")
	determiners = wording.WordSet("it them a an the all its their your this that any every each one an to")
)

// isTitled reports whether d is a noun phrase about an act: "Currency conversion".
func (d description) isTitled(act string) bool {
	return act != "" && (d.verb == "" || d.isHeadedByNoun()) && d.isNamedAfter(act)
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
	lightVerbs = wording.WordSet("initiate submit produce generate send issue file add begin cast create do give make mark move perform place put run set start take")
	// particles end nouns of an act: "playback".
	particles = wording.WordSet("back up off in out down over")
	// makingVerbs are those that leave it to their object alone: "sends an invitation".
	makingVerbs = wording.WordSet("initiate submit produce generate send")
	// reading are verbs that tell what is there. They can describe the result of most others.
	reading = groupWords("browse check describe display fetch find get give handle list locate look_up manage obtain process provide query read retrieve return search see show tell use view")
)

// contradicts reports whether the verb of d excludes what o describes.
func (d description) contradicts(o description) bool {
	answers := o.asks() && effect.Of(d.verb)&(effect.Read|effect.Compute) != 0 || d.asks() && effect.Of(o.verb)&(effect.Read|effect.Compute) != 0
	return d.verb != "" && d.verb != o.verb && !answers && !d.isHeadedByNoun() && !(reading[d.verb] != nil && reading[o.verb] != nil) && effect.Compare(strings.ReplaceAll(d.verb, " ", ""), o.text).Verdict == effect.Contradicts
}

// retrieving are verbs that mean to read at the beginning of a description. There, get and return
// do not have the sense of getting a taxi or returning a parcel.
var retrieving = wording.WordSet("get return obtain download retrieve fetch")

// returnable are things that people give back.
var returnable = wording.WordSet("package item purchase parcel goods merchandise car vehicle bike book scooter rental equipment")

// bringsBack reports whether "return" means to bring a thing back.
func (d description) bringsBack() bool {
	return slices.ContainsFunc(d.things, func(w string) bool { return returnable[w] })
}

// effects returns the effects of the verbs of a description, 0 if one of them is unknown.
func (d description) effects() effect.Class {
	if d.isHeadedByNoun() {
		return 0
	}
	if d.asks() {
		return effect.Read
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

// vagueEnds are verbs that may end something and mostly do not.
var vagueEnds = wording.WordSet("put set replace return")

// endsAlone reports whether d ends something and o does not, or hardly.
func (d description) endsAlone(o description) bool {
	if d.asks() {
		return false // "Whether a flight is late or cancelled"
	}
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

// endsPurely reports whether one of the verbs can mean nothing but to end something, endsSomehow
// whether one can mean it.
func (d description) endsPurely() bool {
	return slices.ContainsFunc(d.verbs, func(v string) bool { return effect.Of(v) == effect.End })
}

func (d description) endsSomehow() bool {
	return slices.ContainsFunc(d.verbs, func(v string) bool { return effect.Of(v)&effect.End != 0 })
}
