// Package meaning compares two descriptions of an operation: whether they say the same in other words
// or describe two operations. Package diff asks it whether an operation of an unchanged name was
// replaced by another.
//
// Begin with [Compare], or with [CompareCall] if the call is known, whose names are evidence too
// (call.go). It reads each text as a description: its main verb, the object of the verb and
// the other things that the text names (description.go). The rules for verbs are in verbs.go, those for
// objects in objects.go, and those for texts that are alike but for a few words in exchange.go; words
// that exclude each other are in opposites.go, and what is denied, left out or widened in negation.go.
// Texts in other languages are translated word by word (translate.go). What English says about single
// words is in words.go, and the tables of words are in vocabulary.go.
package meaning

import (
	"slices"
	"strings"
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

// haveSameWords reports whether two texts have the same words in the same order, the plural of nouns,
// an "s" behind verbs and the amounts of prices aside. Most descriptions that change do not change more.
func haveSameWords(a, b string) bool {
	x, y := strings.FieldsFunc(strings.ToLower(a), isBetweenWords), strings.FieldsFunc(strings.ToLower(b), isBetweenWords)
	if len(x) != len(y) {
		return false
	}
	for i, v := range x {
		if w := y[i]; v != w && v != w+"s" && w != v+"s" && !(isAmount(x, i) && isAmount(y, i)) {
			return false
		}
	}
	return true
}

// currencies are the words for money beside an amount, in lower case.
var currencies = strings.Fields("eur euro euros usd dollar dollars gbp pound pounds chf franken pln zł czk kč sek nok dkk kr huf ft ron lei bgn try jpy yen cny inr brl reais mxn pesos aud cad nzd zar uah")

// isAmount reports whether a word is a number beside the name of a currency.
func isAmount(words []string, at int) bool {
	if strings.Trim(words[at], "0123456789") != "" {
		return false
	}
	return at > 0 && slices.Contains(currencies, words[at-1]) || at+1 < len(words) && slices.Contains(currencies, words[at+1])
}

// differsFrom reports whether two descriptions speak of two operations.
func (d description) differsFrom(o description) bool {
	if d.contradictsWhole(o) {
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
	if d.exchangesOther(o) {
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

// contradictsWhole reports whether one description denies, restricts, widens or reverses the other, or
// adds an act to it.
func (d description) contradictsWhole(o description) bool {
	return d.restricts(o) || o.restricts(d) || d.negates(o) || o.negates(d) || d.losesSafeguard(o) || o.losesSafeguard(d) || d.onlyPrepares(o) || o.onlyPrepares(d) || d.widensAct(o) || o.widensAct(d) || d.widensCircle(o) || o.widensCircle(d) ||
		d.reverses(o) || d.addsAct(o) || o.addsAct(d)
}

// exchangesOther reports whether one description has another part, receiver, information, right or
// aspect in the place of that of the other.
func (d description) exchangesOther(o description) bool {
	return d.exchangesSpan(o) || d.reachesOther(o) || d.tellsOther(o) || d.givesRights(o) || o.givesRights(d) || d.readsAspect(o) || o.readsAspect(d)
}

// differsSurely reports whether two descriptions speak of two operations whatever else the operation
// has.
func (d description) differsSurely(o description) bool {
	if d.contradictsWhole(o) || d.exchangesOther(o) || d.readsOther(o) || o.readsOther(d) {
		return true
	}
	x, y, one := d.exchanges(o)
	return one && !areRelated(x, y)
}
