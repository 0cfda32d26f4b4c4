package meaning

import (
	"slices"

	"gazetteer/protocol/wording"
)

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
var former = wording.WordSet("historical historic archived deleted expired")

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
var everybody = wording.WordSet("everyone everybody anyone anybody public publicly")
