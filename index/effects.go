package index

import (
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/protocol/effect"
)

// The effect of an operation decides whether it may answer a request at all: CANCEL applies to the
// same objects as BOOK, and an agent that uses the first hit must not cancel instead of booking.

// The values of [Effect.Source].
const (
	EffectDeclared = "declared" // the document says it
	EffectInferred = "inferred" // it follows from the verb or the intent
)

// An Effect is the effect of performing an operation.
type Effect struct {
	// Value is informational, reversible or irreversible where the document declares it, otherwise
	// the classes of package effect: read, compute, commit, change, end, tell; or unknown.
	Value  string `json:"value"`
	Source string `json:"source"`         // declared or inferred
	From   string `json:"from,omitempty"` // the basis of the inference: "verb CANCEL", "intent: deletes"
	// Destructive reports whether the operation ends or removes something, by its verb, its intent
	// or its document, whichever is the most dangerous.
	Destructive bool `json:"destructive,omitempty"`
}

// EffectOf returns the effect of an operation as a hit shows it.
func EffectOf(o *document.Operation) Effect {
	class, from := entry.ClassOf(o)
	return effectOf(o, class, from)
}

// effectOf returns the effect of an operation of which [entry.ClassOf] returns class and from.
func effectOf(o *document.Operation, class effect.Class, from string) Effect {
	e := Effect{Value: class.String(), Source: EffectInferred, Destructive: class == effect.End || o.Effect == document.Irreversible}
	if class != 0 {
		e.From = from
	}
	if o.Effect != "" && o.Effect != document.EffectUnknown && !(o.Effect == document.Informational && class == effect.End) {
		e.Value, e.Source, e.From = string(o.Effect), EffectDeclared, ""
	}
	return e
}

// verbFactors returns for each offered verb the factor of the scores of its operations, nil if the
// request has a verb that only reads, or none and asks for something else than a thing.
func (s *searcher) verbFactors() (*view.FieldValues, []float64, error) {
	act := s.request.Act
	isThing := act.Verb == "" && act.Wanted == 0 && !act.Ends
	if !isThing && (act.Verb == "" || act.Wanted&^query.Reading == 0) {
		return nil, nil, nil
	}
	offered, err := s.view.JoinColumns(query.VerbField)
	if err != nil {
		return nil, nil, err
	}
	if isThing {
		return offered, s.thingFactors(offered), nil
	}
	first := query.SingleVerb(act.Verb)
	var others []string // the verbs of the other acts
	for _, a := range s.request.Acts {
		if a.Verb != "" && a.Verb != act.Verb {
			others = append(others, a.Verb)
		}
	}
	return offered, offered.Memoize(strings.Join(append(others, act.Verb), " "), func(verb string) float64 {
		switch s.index.verbs.RelateVerb(first, verb) {
		case semantic.RelationExact, semantic.RelationStem:
			return sameVerb
		case semantic.RelationSynonym, semantic.RelationHypernym:
			return similarVerb
		}
		offered := strings.ToLower(verb)
		destroys := slices.Contains(reversibleEnds, first) && slices.Contains(destroyingVerbs, offered)
		if (destroys || effect.AreOpposed(act.Verb, offered) || effect.AreOpposed(first, offered)) && !slices.Contains(others, offered) {
			return oppositeVerb
		}
		return 1
	}), nil
}

// gettingVerbs are what somebody may want who only names a thing: tickets for the match, a car in Lyon.
var gettingVerbs = strings.Fields("borrow buy hire order pay rent")

// thingFactors returns the factors for a request that names a thing only: an operation that undoes
// getting it (REFUND) counts less, unless a word of the request names its verb.
func (s *searcher) thingFactors(offered *view.FieldValues) []float64 {
	undoing := offered.Memoize("\x00undoes getting", func(verb string) float64 {
		verb = strings.ToLower(verb)
		mayRead := effect.Of(verb)&query.Reading != 0 // RETURN also returns data
		if !mayRead && slices.ContainsFunc(gettingVerbs, func(get string) bool { return effect.AreOpposed(get, verb) }) {
			return oppositeVerb
		}
		return 1
	})
	var named []int
	for i, factor := range undoing {
		if factor < 1 && s.mentions(tokens.StemOf(strings.ToLower(offered.All[i]))) {
			named = append(named, i)
		}
	}
	if named == nil {
		return undoing
	}
	factors := slices.Clone(undoing) // the other list is shared
	for _, i := range named {
		factors[i] = 1
	}
	return factors
}

// mentions reports whether a word of the request, or a translation of it, has a stem.
func (s *searcher) mentions(stem string) bool {
	hasStem := func(t tokens.Token) bool { return t.Stem == stem }
	return slices.ContainsFunc(s.request.Words, func(w query.Word) bool {
		return slices.ContainsFunc(w.Terms, hasStem) || slices.ContainsFunc(w.Meanings, hasStem)
	})
}

// Verbs of reversible ends, and those that destroy what these keep: to archive a channel is not to delete it.
var (
	reversibleEnds  = strings.Fields("archive block deactivate disable freeze hide lock mute pause suspend")
	destroyingVerbs = strings.Fields("clear delete destroy erase purge remove wipe")
)

// objectMentions returns for each segment the operations that mention the object that the request
// ends, nil if the request ends nothing.
func (s *searcher) objectMentions() ([]bitset.Set, error) {
	if s.request.Act.Object == "" {
		return nil, nil
	}
	found, err := s.view.FindPostings(s.request.Act.Object)
	if err != nil {
		return nil, err
	}
	mentions, any := make([]bitset.Set, len(found)), false
	for i, p := range found {
		mentions[i] = bitset.New(s.view.Segments[i].N)
		for number := range p.Numbers() {
			mentions[i].Add(number)
			any = true
		}
	}
	if !any {
		return nil, nil
	}
	return mentions, nil
}

// The factors of operations with the requested verb or a similar one. Verbs that read are too
// common to be significant.
const (
	sameVerb    = 1.12
	similarVerb = 1.06
	// oppositeVerb is the factor of operations that undo what the request wants: RETURN, where
	// something is rented.
	oppositeVerb = 0.4
)
