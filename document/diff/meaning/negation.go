package meaning

import (
	"slices"
	"strings"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/wording"
)

// undoes reports whether d takes away what the verb of o denies: "Removes a like", "Unlikes".
func (d description) undoes(o description) bool {
	act, found := strings.CutPrefix(o.verb, "un")
	return found && undoing[d.verb] && slices.ContainsFunc(d.words, func(w string) bool { return isFormOf(w, act) || slices.Contains(english.VerbsOf(w), act) })
}

// undoing are verbs that, with the noun of an act, mean its opposite.
var undoing = wording.WordSet("remove delete undo stop lift cancel withdraw revoke take end drop")

// negations are words that negate the next one.
var negations = wording.WordSet("not without never cannot")

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
var safeguards = wording.WordSet("asking confirmation confirming approval consent permission notice notification notifying warning review verification verifying authorization authentication agreement")

// onlyPrepares reports whether d leaves something as a draft and o carries it out.
func (d description) onlyPrepares(o description) bool {
	isDraft := func(w string) bool { return w == "draft" || w == "drafts" || w == "later" }
	return slices.ContainsFunc(d.words, isDraft) && !slices.ContainsFunc(o.words, isDraft) && slices.ContainsFunc(o.verbs, func(v string) bool { return releasing[v] }) &&
		!slices.ContainsFunc(d.verbs, func(v string) bool { return releasing[v] })
}

// releasing are verbs of acts after which a draft is one no more.
var releasing = wording.WordSet("send publish post submit deliver mail email issue release execute sign broadcast")

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
var takingMoney = wording.WordSet("charge pay bill debit")

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
var widening = wording.WordSet("all every everything entire whole permanently irrevocably forever")

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

var (
	oneself  = wording.WordSet("own my myself yourself")
	everyone = wording.WordSet("all every other others")
	people   = wording.WordSet("user customer member people person employee tenant client patient student colleague")
)

// widensCircle reports whether d is about what belongs to the caller, and o about what belongs to
// everybody: "Export your own data", "Export the data of all users".
func (d description) widensCircle(o description) bool {
	belongs := func(w string) bool { return oneself[w] }
	if !slices.ContainsFunc(d.words, belongs) || slices.ContainsFunc(o.words, belongs) {
		return false
	}
	for i, w := range o.words {
		if everybody[w] || everyone[w] && i+1 < len(o.words) && people[singular(o.words[i+1])] {
			return true
		}
	}
	return false
}
