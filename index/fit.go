package index

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/siblings"
	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// A ranking always has a first place, even if no operation in the index does the task. The fit says
// how well an operation does the task, from the operation and the request alone: the words of the
// request that it covers, each weighted by the length of its vector (which training makes long for
// significant words), the cosine of its embedding, and whether it has the requested kind of effect,
// the requested verb and its object.
// A word that it lacks counts more if no operation in the index has it: the topic is unknown here.
// Nothing else depends on other content of the index, so one threshold suits an index of any size.

// FarFit is the threshold of the fit: hits below it are marked as far.
//
// It is calibrated on the development sets of everyday and agents' requests: about 3.5 % of the
// requests that the index answers have only far hits among their first three. docs/search.md has
// the figures, for several sizes of the index.
const FarFit = 0.29

const (
	// nearMatch is the weight of a word that matches another word of similar meaning.
	nearMatch = 0.3
	// synonymMatch is the weight of a word that services may use instead (see [query.Word]).
	synonymMatch = 0.6
	// contextMatch is the weight of a word that occurs only in the service or in a parameter.
	contextMatch = 0.4
	// cosineShare is the weight of the cosine in the fit, relative to the covered words. fullCosine
	// is the cosine of a perfect fit.
	cosineShare = 0.8
	fullCosine  = 0.8
	// missingObject is the factor of the fit of an operation that has none of the things that
	// something is to be done to: renew a passport, RENEW /loan.
	missingObject = 0.7
	// endsOther is the factor of the fit of an operation that ends something, and has none of the things
	// that the request ends.
	endsOther = 0.4
	// missingVerb is the factor of the fit of an operation that has neither the verb of the request nor
	// a related one, if that verb has the importance minVerb: tow a car, FIND /cars. otherAct and
	// minOtherVerb are the same for an operation that changes something, which would do something else
	// than what was asked: vaccinate a dog, BOOK /walk. otherIrreversibleAct is the factor if that
	// cannot be undone: open a support ticket, BUY /ticket.
	missingVerb, minVerb   = 0.7, 1.3
	otherAct, minOtherVerb = 0.5, 0.5
	otherIrreversibleAct   = 0.4
	// minObject is the minimum importance of an object of the verb.
	minObject = 0.6
	// otherKind is the factor of the fit of an operation with another kind of effect than the
	// requested one, for example one that reads although something must be created.
	otherKind = 0.5
	// noAnswer is the maximum fit of an operation that does not answer a question, because it changes the
	// world, or does not have what the question asks for (when does the library close, FIND /books), and
	// of one that undoes what the request wants: such an operation is far.
	noAnswer = 0.19
	// shortRequest is the importance of the words of a short request, three words that tell much. A
	// longer one has details that no document says, so its share of covered words grows with its
	// length to the power of detailPower.
	shortRequest = 4.5
	detailPower  = 0.3
	fitDigits    = 1e4 // a fit has four decimals
	// fewOperations is the number of operations in an index of which it says half as much as in a
	// large one that none has a word.
	fewOperations = 300
)

// The importance of words without a significant vector.
const (
	unknownWord = 1.5 // no vector: a rare and significant word
	unknownCode = 0.3 // no vector, with a digit: a value
	nameShare   = 0.5 // a name counts for half of a word
)

// pronouns stand for what the request does not name. They say nothing of the task.
var pronouns = strings.Fields("anybody anyone anything everybody everyone everything somebody someone something")

// numbers are arguments, as digits are.
var numbers = strings.Fields("two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand dozen")

// weighRequest sets the importance of the words of the request, and marks those that nothing in the
// index has.
func (s *searcher) weighRequest() error {
	s.importance, s.absent, s.embedded, s.verb = s.importance[:0], s.absent[:0], s.embedded[:0], s.request.VerbWord()
	s.comparer = siblings.NewComparer(&s.request, &s.index.verbs)
	for i := range s.request.Words {
		w := &s.request.Words[i]
		absent, err := s.isAbsent(w)
		if err != nil {
			return err
		}
		importance, embedded := s.index.importanceOf(w)
		s.importance, s.absent, s.embedded = append(s.importance, importance), append(s.absent, absent), append(s.embedded, embedded)
	}
	return nil
}

// isAbsent reports whether no operation and no service has a word of the request. Names and values are
// arguments, of which nothing says whether there is an operation for them.
func (s *searcher) isAbsent(w *query.Word) (bool, error) {
	if w.Name || w.Whole || w.Weight <= query.NameWeight || slices.Contains(numbers, strings.ToLower(w.Asked)) {
		return false, nil
	}
	meanings := w.Meanings
	if w.Expression {
		meanings = meanings[:1] // what the request is about
	}
	for _, terms := range [...][]tokens.Token{w.Terms, meanings} {
		for i := range terms {
			found, err := s.view.FindPostings(terms[i].Stem)
			if err != nil || s.view.DocumentFrequency(terms[i].Stem, found) > 0 {
				return false, err
			}
		}
	}
	return true, nil
}

// fitOf returns the fit of an operation, 0 to 1, from the matched words, the relation of its verb, nil
// for none, and the cosine of its embedding to that of the request.
func (s *searcher) fitOf(why *Why, verb *Verb, operation *preparedOperation, cosine float32) float64 {
	if len(s.importance) == 0 {
		return 1
	}
	var covered, absent, literal, all float64
	answers := true
	for i, importance := range s.importance {
		credit := why.creditOf(&s.request.Words[i])
		all += importance
		if !s.embedded[i] {
			literal += importance * credit
		}
		covered += importance * credit
		if s.absent[i] && credit <= nearMatch {
			absent += importance * (1 - credit)
		}
		if s.request.Words[i].Essential && credit <= nearMatch {
			answers = false
		}
	}
	fit := 1.0
	if all > 0 {
		share := min(1, covered/all*math.Pow(max(1, all/shortRequest), detailPower))
		byCosine := cosineShare * (1 - literal/all)
		fit = byCosine*min(1, max(0, float64(cosine)/fullCosine)) + (1-byCosine)*share
		n := float64(s.view.Operations)
		fit *= 1 - n/(n+fewOperations)*absent/all
	}
	class := operation.class
	fit *= s.actFactor(why, verb, operation)
	if class&effect.End != 0 && s.lacksEndedObject(why) {
		fit *= endsOther
	}
	if wanted := s.request.Act.Wanted; wanted != 0 && class != 0 && wanted&class == 0 {
		fit *= otherKind
	}
	undoes := s.comparer.Undoes(operation.verb.Form, class, operation.terms[entry.ActField].terms)
	if !answers || undoes || s.request.Act.IsNotAnsweredBy(class, operation.changes) {
		fit = min(fit, noAnswer)
	}
	return math.Round(fit*fitDigits) / fitDigits
}

// actFactor returns the factor of the fit for an object that an operation lacks, and for a verb if its
// own verb is not related either.
func (s *searcher) actFactor(why *Why, verb *Verb, operation *preparedOperation) float64 {
	if s.verb < 0 {
		return 1
	}
	objects, found := 0, false
	for i, w := range s.request.Words {
		if i == s.verb || w.Name || w.Weight <= query.TimeWeight || s.importance[i] < minObject {
			continue
		}
		objects++
		found = found || why.creditOf(&w) > nearMatch
	}
	factor := 1.0
	if objects > 0 && !found {
		factor *= missingObject
	}
	if verb != nil || s.request.Language != "" || why.creditOf(&s.request.Words[s.verb]) > nearMatch {
		return factor // a translated verb has other meanings, too
	}
	switch importance := s.importance[s.verb]; {
	case operation.class != 0 && operation.class&effect.Read == 0:
		switch {
		case importance < minOtherVerb:
		case operation.effect.Destructive:
			factor *= otherIrreversibleAct
		default:
			factor *= otherAct
		}
	case importance >= minVerb:
		factor *= missingVerb
	}
	return factor
}

// lacksEndedObject reports whether an operation has neither the word for what the request ends nor one
// that stands for it.
func (s *searcher) lacksEndedObject(why *Why) bool {
	object := s.request.Act.Object
	at := slices.IndexFunc(s.request.Words, func(w query.Word) bool {
		return !w.Expression && !w.Name && slices.ContainsFunc(w.Terms, func(t tokens.Token) bool { return t.Stem == object })
	})
	return object != "" && at >= 0 && why.creditOf(&s.request.Words[at]) <= nearMatch
}

// creditOf returns the quality of the match of a word of the request, 0 to 1.
func (w *Why) creditOf(asked *query.Word) float64 {
	credit := 0.0
	for _, m := range w.Matched {
		switch {
		case m.Term != asked.Asked && (asked.Compound == "" || m.Term != asked.Compound):
		case asked.Expression:
			credit = max(credit, m.credit)
		case m.Kind == matchVector:
			credit = max(credit, nearMatch)
		case m.Kind == matchMeaning && len(asked.Synonyms) > 0:
			credit = max(credit, synonymMatch*m.credit)
		case m.Field == entry.CtxField.String():
			credit = max(credit, contextMatch)
		default:
			credit = 1
		}
	}
	return credit
}

// importanceOf returns the importance of a word of the request, and whether its embedding has the word.
func (x *Index) importanceOf(w *query.Word) (importance float64, embedded bool) {
	length := float32(0)
	for _, terms := range [...][]tokens.Token{w.Terms, w.Meanings} {
		for i := range terms {
			length = max(length, x.lexicon.WordVector(terms[i].Form).Length)
		}
	}
	importance = float64(length)
	switch {
	case w.Whole, slices.Contains(pronouns, strings.ToLower(w.Asked)):
		return 0, false
	case slices.Contains(numbers, strings.ToLower(w.Asked)):
		return unknownCode, false
	case length > 0:
	case strings.ContainsFunc(w.Asked, unicode.IsDigit):
		return unknownCode, false
	default:
		importance = unknownWord
	}
	if w.Name {
		importance *= nameShare
	}
	return importance * float64(w.Weight), length > 0
}
