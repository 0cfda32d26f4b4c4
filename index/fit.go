package index

import (
	"math"
	"strings"
	"unicode"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// A ranking always has a first place, even where nothing in the index does what is asked. The fit says
// how well an operation does it, from the operation and the request alone: which words of the request it
// covers, each word weighted by the length of its vector (which training makes long for words that tell
// much), how near its embedding is, and whether it does the kind of thing that is asked for. Nothing in
// it depends on what else the index holds, so one threshold holds for an index of any size.

// FarFit is the fit below which a hit is marked as far.
//
// It is calibrated on the development sets of everyday and agents' requests: about 4 % of the requests
// that the index answers have only far hits among their first three. docs/search.md has the figures, for
// several sizes of the index.
const FarFit = 0.295

const (
	// nearMatch is how much a word counts that is matched by another word of near meaning.
	nearMatch = 0.3
	// contextMatch is how much a word counts that only the service or a parameter has.
	contextMatch = 0.4
	// cosineShare is how much the cosine counts in the fit, beside the words that are covered, and
	// fullCosine the cosine of an operation that fits in full.
	cosineShare = 0.2
	fullCosine  = 0.7
	// otherKind is the share of its fit that an operation keeps which does another kind of thing than
	// what is asked for, such as one that reads where something must be made.
	otherKind = 0.7
	// changesAnswer is the fit that an operation has at most which only changes something where a question
	// is asked: it is far.
	changesAnswer = 0.29
	// anyPost is the verb that says least: operations that work an answer out from what is posted to them
	// bear it, too.
	anyPost = "CREATE"
	// shortRequest is the importance of the words of a short request, three words that tell much. A longer
	// one has details that no document says, so its share of covered words grows with its length to the
	// power of detailPower.
	shortRequest = 4.5
	detailPower  = 0.3
	fitDigits    = 1e4 // a fit has four decimals
)

// The importance of words whose vector says nothing of it.
const (
	unknownWord = 1.5 // no vector: a rare word, which tells much
	unknownCode = 0.3 // no vector, with a digit: a value
	nameShare   = 0.5 // a name counts for half of a word
)

// fitOf returns how well an operation fits, 0 to 1, from the words that were found in it and the cosine
// of its embedding and that of the request.
func (s *searcher) fitOf(why *Why, verb string, class effect.Class, cosine float32) float64 {
	if len(s.request.Words) == 0 {
		return 1
	}
	if len(s.importance) != len(s.request.Words) {
		s.importance = s.importance[:0]
		for i := range s.request.Words {
			s.importance = append(s.importance, s.index.importanceOf(&s.request.Words[i]))
		}
	}
	var covered, all float64
	for i, importance := range s.importance {
		all += importance
		covered += importance * why.creditOf(s.request.Words[i].Asked)
	}
	fit := 1.0
	if all > 0 {
		share := min(1, covered/all*math.Pow(max(1, all/shortRequest), detailPower))
		fit = cosineShare*min(1, max(0, float64(cosine)/fullCosine)) + (1-cosineShare)*share
	}
	if wanted := s.request.Act.Wanted; wanted != 0 && class != 0 && wanted&class == 0 {
		fit *= otherKind
		if s.request.Act.Question && verb != anyPost {
			fit = min(fit, changesAnswer)
		}
	}
	return math.Round(fit*fitDigits) / fitDigits
}

// creditOf returns how well a word of the request was found, 0 to 1.
func (w *Why) creditOf(asked string) float64 {
	credit := 0.0
	for _, m := range w.Matched {
		switch {
		case m.Term != asked:
		case m.Kind == matchVector:
			credit = max(credit, nearMatch)
		case m.Field == entry.CtxField.String():
			credit = max(credit, contextMatch)
		default:
			credit = 1
		}
	}
	return credit
}

// importanceOf returns how much a word of the request tells.
func (x *Index) importanceOf(w *query.Word) float64 {
	length := float32(0)
	for _, terms := range [...][]tokens.Token{w.Terms, w.Meanings} {
		for i := range terms {
			length = max(length, x.lexicon.WordVector(terms[i].Form).Length)
		}
	}
	importance := float64(length)
	switch {
	case length > 0:
	case strings.ContainsFunc(w.Asked, unicode.IsDigit):
		return unknownCode
	default:
		importance = unknownWord
	}
	if w.Name {
		importance *= nameShare
	}
	return importance * float64(w.Weight)
}
