package meaning

import (
	"slices"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// CompareCall is [Compare] for two descriptions of a call that is otherwise the same. names are words
// that the call has in both versions: those of its path, parameters and results. A description in
// words of its own that are words of the call is likely of the same operation.
func CompareCall(a, b string, names []string) Relation {
	relation := Compare(a, b)
	if relation != Replaced || len(names) == 0 {
		return relation
	}
	x, y := readDescription(a), readDescription(b)
	if x.differsSurely(y) || x.differsGravely(y) || !y.speaksOfCall(x, names) {
		return Replaced
	}
	return Rewritten
}

// fewOfCall is how many words a description must have in common with the call and not with the
// description before it.
const fewOfCall = 2

// speaksOfCall reports whether d describes by words of its own what the call takes and returns. An
// object of d that the call does not name is another one, whatever words follow: "Lists the marks of a
// pupil", "Lists the absences of a pupil by course and day".
func (d description) speaksOfCall(before description, names []string) bool {
	isNamed := func(w string) bool {
		return !general[w] && !containers[w] && slices.ContainsFunc(names, func(n string) bool { return n == w || singular(n) == w || shareGroup(nounGroups, n, w) })
	}
	if len(before.object) > 0 && len(d.object) > 0 && !slices.ContainsFunc(d.object, isNamed) {
		return false
	}
	var own []string
	for _, w := range d.things {
		if isNamed(w) && !mentions(before.things, w) && !mentions(own, w) {
			own = append(own, w)
		}
	}
	return len(own) >= fewOfCall
}

// differsGravely reports whether only one of two descriptions speaks of an act that cannot be taken
// back or that others notice, or only one of them merely reads.
func (d description) differsGravely(o description) bool {
	return d.actsGravely() != o.actsGravely() || d.merelyReads() != o.merelyReads() || d.actsGravely() && d.compareVerbs(o) != sameVerb
}

// actsGravely reports whether a word of d can be a verb of such an act.
func (d description) actsGravely() bool {
	return slices.ContainsFunc(d.words, func(w string) bool {
		return !slices.Contains(d.object, singular(w)) && slices.ContainsFunc(append(english.Base(w), w), func(v string) bool {
			class := effect.Of(v)
			return grave[v] || class == effect.End || class&effect.Tell != 0 && class&effect.Read == 0
		})
	})
}

// merelyReads reports whether d tells what is there or derives it from that.
func (d description) merelyReads() bool {
	if d.onlyReads() {
		return true
	}
	class := effect.Of(d.verb)
	return class != 0 && class&^(effect.Read|effect.Compute) == 0
}
