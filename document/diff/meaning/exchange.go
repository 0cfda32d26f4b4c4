package meaning

import (
	"slices"
	"strings"

	"gazetteer/protocol/wording"
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

// tellsOther reports whether d and o tell of something, in the same words, that differs: "that the
// party is cancelled", "that the party takes place".
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

// headOfPhrase returns the last noun of a short phrase, in the singular, "" if the words are not a
// phrase.
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
var rights = wording.WordSet("ownership permission right access control privilege")

// maxSpans is how many words two exchanged spans have together at most.
const maxSpans = 5

// areRelated reports whether two nouns may mean the same.
func areRelated(x, y string) bool {
	near, known := textSimilarity([]string{x}, []string{y})
	return haveOneStem(x, y) || shareGroup(nounGroups, x, y) || strings.Contains(x, y) || strings.Contains(y, x) || known && near >= farExchanged
}
