package meaning

import (
	"slices"
	"strings"

	"gazetteer/protocol/effect"
	"gazetteer/protocol/wording"
)

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
		return false // the recipient of a text is not a message
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
var messaging = wording.WordSet("text email mail message phone call notify inform tell alert remind ask")

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

// sharesObject reports whether both texts name the same thing, by the same word or a synonym.
func (d description) sharesObject(o description) bool {
	return slices.ContainsFunc(d.things, func(w string) bool { return mentions(o.things, w) })
}
