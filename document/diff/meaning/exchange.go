package meaning

// Rules that find another operation behind the same verb: one word exchanged for another, something
// denied, a safeguard left out, more of it taken away.

import (
	"slices"
	"strings"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// exchanges reports whether two descriptions have the same words but for one noun, and which it is in
// each.
func (d description) exchanges(o description) (x, y string, one bool) {
	if len(d.words) != len(o.words) {
		return "", "", false
	}
	for i, w := range d.words {
		v := o.words[i]
		if singular(w) == singular(v) || isFormOf(w, v) || endsObject[w] && (endsObject[v] || v == "of") || w == "of" && endsObject[v] {
			continue
		}
		if x != "" || emptyWords[w] || emptyWords[v] || isFormOf(d.verbHead(), w) || isFormOf(o.verbHead(), v) {
			return "", "", false
		}
		x, y = singular(w), singular(v)
	}
	return x, y, x != "" && slices.Contains(d.object, x) && slices.Contains(o.object, y)
}

// exchangesSpan reports whether two descriptions that read are the same but for some words before the
// head of their object, which mean other things: "Get the UV index forecast", "Get the air quality
// forecast".
func (d description) exchangesSpan(o description) bool {
	if d.verb != o.verb || reading[d.verb] == nil || d.translated || o.translated {
		return false
	}
	first, last := 0, 0
	for first < min(len(d.words), len(o.words)) && d.words[first] == o.words[first] {
		first++
	}
	for last < min(len(d.words), len(o.words))-first && d.words[len(d.words)-1-last] == o.words[len(o.words)-1-last] {
		last++
	}
	x, y := d.words[first:len(d.words)-last], o.words[first:len(o.words)-last]
	if first == 0 || last == 0 || len(x) == 0 || len(y) == 0 || len(x)+len(y) > maxSpans || len(x)+len(y) > first+last {
		return false
	}
	for _, span := range [][]string{x, y} {
		if slices.ContainsFunc(span, func(w string) bool { return emptyWords[w] || endsObject[w] || isParticiple(w) }) {
			return false
		}
	}
	inObject := func(object []string, span []string) bool {
		return len(object) > 0 && slices.Contains(object, singular(span[len(span)-1]))
	}
	near, known := textSimilarity(x, y)
	return inObject(d.object, x) && inObject(o.object, y) && known && near < farHeads
}

// reachesOther reports whether two descriptions of an act are the same but for whom it reaches: "Sends
// a reminder to the customer", "Sends a reminder to the manager".
func (d description) reachesOther(o description) bool {
	before := "to"
	if d.verb == "share" {
		before = "with"
	}
	at := slices.Index(d.words, before)
	if d.verb != o.verb || reading[d.verb] != nil || at < 1 || at != slices.Index(o.words, before) || !slices.Equal(d.words[:at], o.words[:at]) {
		return false
	}
	whom, other := headOfPhrase(firstPhrase(d.words[at+1:])), headOfPhrase(firstPhrase(o.words[at+1:]))
	return whom != "" && other != "" && !areRelated(whom, other)
}

// tellsOther reports whether d and o tell of something, in the same words, that differs: "that the party is
// cancelled", "that the party takes place".
func (d description) tellsOther(o description) bool {
	same := 0
	for same < min(len(d.words), len(o.words)) && d.words[same] == o.words[same] {
		same++
	}
	x, y := d.words[same:], o.words[same:]
	if !slices.Contains(d.words[:same], "that") || len(x) == 0 || len(y) == 0 || len(x)+len(y) > maxSpans || slices.ContainsFunc(x, func(w string) bool { return mentions(y, w) }) {
		return false
	}
	near, known := textSimilarity(x, y)
	return known && near < farObjects
}

// firstPhrase returns the words up to the first preposition.
func firstPhrase(words []string) []string {
	if end := slices.IndexFunc(words, func(w string) bool { return endsObject[w] }); end > 0 {
		return words[:end]
	}
	return words
}

// headOfPhrase returns the last noun of a short phrase, in the singular, "" if the words are no phrase.
func headOfPhrase(words []string) string {
	for len(words) > 1 && (determiners[words[0]] || emptyWords[words[0]]) {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > 3 || slices.ContainsFunc(words, func(w string) bool { return endsObject[w] || emptyWords[w] || pronouns[w] }) {
		return ""
	}
	return singular(words[len(words)-1])
}

// givesRights reports whether d acts on the rights to a thing, and o on the thing itself.
func (d description) givesRights(o description) bool {
	return len(d.object) > 0 && len(o.object) > 0 && reading[d.verb] == nil && reading[o.verb] == nil && rights[d.object[len(d.object)-1]] &&
		!slices.ContainsFunc(o.words, func(w string) bool { return rights[singular(w)] || shareGroup(nounGroups, singular(w), "right") })
}

// rights are nouns for what one may do with a thing.
var rights = setOf("ownership permission right access control privilege")

// maxSpans is how many words two exchanged spans have together at most.
const maxSpans = 5

// areRelated reports whether two nouns may mean the same.
func areRelated(x, y string) bool {
	near, known := textSimilarity([]string{x}, []string{y})
	return haveOneStem(x, y) || shareGroup(nounGroups, x, y) || strings.Contains(x, y) || strings.Contains(y, x) || known && near >= farExchanged
}

// reverses reports whether d and o go in opposite directions: by a word that excludes the one of the
// other, or because one turns this into that and the other that into this.
func (d description) reverses(o description) bool {
	if d.excludes(o) {
		return true
	}
	if len(d.object) == 0 || len(o.object) == 0 {
		return false
	}
	head, other := d.object[len(d.object)-1], o.object[len(o.object)-1]
	return head != other && d.target() == other && o.target() == head || d.exchangesEnds(o)
}

// exchangesEnds reports whether what d goes from is what o goes to and the other way round: "from the
// first account to another one", "from another account to the first one".
func (d description) exchangesEnds(o description) bool {
	from, to := d.ends()
	back, forth := o.ends()
	onlyIn := func(w string, in, besides []string) bool {
		return slices.Contains(in, w) && !slices.Contains(besides, w)
	}
	meets := func(one, against, other, behind []string) bool {
		return slices.ContainsFunc(one, func(w string) bool { return onlyIn(w, one, against) && onlyIn(w, other, behind) })
	}
	return meets(from, to, forth, back) && meets(to, from, back, forth)
}

// ends returns the words of what a description goes from, or its object, and those of what it goes to.
func (d description) ends() (from, to []string) {
	from = d.object
	for i := 0; i < len(d.words); i++ {
		var into *[]string
		switch d.words[i] {
		case "from":
			from, into = nil, &from
		case "to", "into":
			into = &to
		default:
			continue
		}
		for i+1 < len(d.words) && !endsObject[d.words[i+1]] {
			i++
			if !articles[d.words[i]] && d.words[i] != "s" {
				*into = append(*into, singular(d.words[i]))
			}
		}
	}
	return from, to
}

// restricts reports whether d and o both read, and d only what is no longer current: "historical
// rates", "rates".
func (d description) restricts(o description) bool {
	return slices.ContainsFunc(d.words, func(w string) bool {
		return former[w] && !slices.ContainsFunc(o.words, func(v string) bool { return former[v] || haveOneStem(v, w) })
	}) && reading[d.verb] != nil && reading[o.verb] != nil
}

// former are words for what is no longer current.
var former = setOf("historical historic archived deleted expired")

// excludes reports whether d and o have words that exclude each other, and each only one of them.
func (d description) excludes(o description) bool {
	denies := func(words []string, i int) bool { return i > 0 && (negations[words[i-1]] || words[i-1] == "no") }
	for i, w := range d.words {
		for j, v := range o.words {
			if v != w && shareGroup(exclusive, w, v) && !isFormOf(d.verbHead(), w) && !isFormOf(o.verbHead(), v) && !denies(d.words, i) && !denies(o.words, j) && !slices.Contains(d.words, v) && !slices.Contains(o.words, w) {
				return true
			}
		}
	}
	return d.limitsPublic(o) || o.limitsPublic(d) || d.goesAgainst(o)
}

// goesAgainst reports whether d and o say the same of something but for a preposition that excludes the
// other: "before the order ships", "when the order ships".
func (d description) goesAgainst(o description) bool {
	for i, w := range d.words[:max(0, len(d.words)-2)] {
		for j, v := range o.words[:max(0, len(o.words)-2)] {
			if v != w && shareGroup(opposing, w, v) && slices.Equal(d.words[i+1:i+3], o.words[j+1:j+3]) && !slices.Contains(d.words, v) && !slices.Contains(o.words, w) {
				return true
			}
		}
	}
	return false
}

// opposing are prepositions and conjunctions that exclude each other before the same words.
var opposing = groupWords("before when", "before after", "before once", "for against", "to from", "into from", "above below", "over under", "until after")

// limitsPublic reports whether an act of d reaches everybody and that of o only some: "for everyone",
// "for members only".
func (d description) limitsPublic(o description) bool {
	return slices.ContainsFunc(d.words, func(w string) bool { return everybody[w] }) && slices.Contains(o.words, "only") &&
		!slices.Contains(d.words, "only") && !slices.ContainsFunc(o.words, func(w string) bool { return everybody[w] })
}

// everybody are words for all people.
var everybody = setOf("everyone everybody anyone anybody public publicly")

// undoes reports whether d takes away what the verb of o denies: "Removes a like", "Unlikes".
func (d description) undoes(o description) bool {
	act, found := strings.CutPrefix(o.verb, "un")
	return found && undoing[d.verb] && slices.ContainsFunc(d.words, func(w string) bool { return isFormOf(w, act) || slices.Contains(english.VerbsOf(w), act) })
}

// undoing are verbs that, with the noun of an act, mean its opposite.
var undoing = setOf("remove delete undo stop lift cancel withdraw revoke take end drop")

// negations are words that negate the next one.
var negations = setOf("not without never cannot")

// negates reports whether d denies something that o does: "without charging the card".
func (d description) negates(o description) bool {
	if len(d.words) == len(o.words)+1 && slices.Equal(slices.DeleteFunc(slices.Clone(d.words), func(w string) bool { return negations[w] }), o.words) {
		return true // "that are not selected", "that are selected"
	}
	for i, w := range d.words {
		if i+1 == len(d.words) || !negations[w] && w != "no" {
			continue
		}
		denied := d.words[i+1]
		if w == "no" { // "no refunds"
			if slices.ContainsFunc(o.verbs, func(v string) bool { return reading[v] == nil && isFormOf(v, denied) }) && !o.foregoesAct(denied) {
				return true
			}
			continue
		}
		if slices.ContainsFunc(o.verbs, func(v string) bool { return isFormOf(v, denied) }) || w == "without" && (o.affirms(d.words[i+1:]) || moneyWords[denied] && slices.ContainsFunc(o.verbs, func(v string) bool { return takingMoney[v] })) {
			return true
		}
	}
	return false
}

// losesSafeguard reports whether d does without something that protects people, and o does not say so:
// "Charges the card without asking the guest".
func (d description) losesSafeguard(o description) bool {
	return d.foregoes() && !o.foregoes()
}

// foregoes reports whether a description says that a safeguard is left out.
func (d description) foregoes() bool {
	for i, w := range d.words {
		if w == "without" || w == "no" {
			for _, next := range d.words[i+1 : min(len(d.words), i+4)] {
				if safeguards[next] {
					return true
				}
			}
		}
	}
	return false
}

// safeguards are what an act waits for that somebody could regret.
var safeguards = setOf("asking confirmation confirming approval consent permission notice notification notifying warning review verification verifying authorization authentication agreement")

// onlyPrepares reports whether d leaves something as a draft and o carries it out.
func (d description) onlyPrepares(o description) bool {
	isDraft := func(w string) bool { return w == "draft" || w == "drafts" || w == "later" }
	return slices.ContainsFunc(d.words, isDraft) && !slices.ContainsFunc(o.words, isDraft) && slices.ContainsFunc(o.verbs, func(v string) bool { return releasing[v] }) &&
		!slices.ContainsFunc(d.verbs, func(v string) bool { return releasing[v] })
}

// releasing are verbs of acts after which a draft is one no more.
var releasing = setOf("send publish post submit deliver mail email issue release execute sign broadcast")

// foregoesAct reports whether a description denies an act too.
func (d description) foregoesAct(act string) bool {
	for i, w := range d.words[1:] {
		if (negations[d.words[i]] || d.words[i] == "no") && isFormOf(w, act) {
			return true
		}
	}
	return false
}

// takingMoney are verbs of acts that cost somebody money.
var takingMoney = setOf("charge pay bill debit")

// affirms reports whether a description speaks of the first thing of a phrase and does not deny it.
func (d description) affirms(phrase []string) bool {
	for _, thing := range phrase {
		if articles[thing] || emptyWords[thing] {
			continue
		}
		at := slices.Index(d.words, thing)
		return at > 0 && !slices.ContainsFunc(d.words[max(0, at-3):at], func(w string) bool { return negations[w] || w == "no" })
	}
	return false
}

// widening are words that let an operation take away more than before.
var widening = setOf("all every everything entire whole permanently irrevocably forever")

// mayOnlyRead reports whether the main verb can mean to read or to work something out, or is unknown.
func (d description) mayOnlyRead() bool {
	class := effect.Of(d.verb)
	return class == 0 || class&effect.End == 0 && class&(effect.Read|effect.Compute) != 0
}

// widensAct reports whether d and o both do something, and o to more of it.
func (d description) widensAct(o description) bool {
	if d.mayOnlyRead() || o.mayOnlyRead() {
		return false
	}
	for i, w := range o.words {
		if i+1 < len(o.words) && o.words[i+1] == "or" {
			continue // "all or part of it"
		}
		if widening[w] && !slices.Contains(d.words, w) && !slices.ContainsFunc(d.words, func(v string) bool { return widening[v] }) {
			return true
		}
	}
	return false
}
