package index

import (
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/view"
)

// A ranking always has a first place, also where nothing in the index does what is asked. How well an
// operation fits is therefore told by what it has itself: how much of the request its words cover,
// each word by how rare it is, and how near its embedding lies.

// Hits with a smaller fit are marked as far.
//
// It is calibrated on the development sets of everyday and agents' requests: 4 % of the requests that the
// index answers have only such hits among their first three, and half of those that it does not.
const farFit = 0.37

const (
	// nearMatch is how much a word counts that is matched by another of near meaning.
	nearMatch = 0.3
	// contextMatch is how much a word counts that only the service or a parameter has.
	contextMatch = 0.4
	// cosineShare is how much the cosine counts in the fit, beside the words that are covered, and
	// fullCosine the cosine of what fits in full.
	cosineShare = 0.6
	fullCosine  = 0.7
)

// fitOf returns how well an operation fits, from the words that were found in it and the cosine of
// its embedding and that of the request.
func (s *searcher) fitOf(why *Why, cosine float32) (float64, error) {
	if len(s.request.Words) == 0 {
		return 1, nil
	}
	var covered, all float64
	for i := range s.request.Words {
		w := &s.request.Words[i]
		rarity, err := s.rarityOf(w)
		if err != nil {
			return 0, err
		}
		all += rarity
		share := 0.0
		for _, m := range why.Matched {
			switch {
			case m.Term != w.Asked:
			case m.Kind == matchVector:
				share = max(share, nearMatch)
			case m.Field == entry.CtxField.String():
				share = max(share, contextMatch)
			default:
				share = 1
			}
		}
		covered += share * rarity
	}
	if all == 0 {
		return 1, nil
	}
	near := min(1, max(0, float64(cosine)/fullCosine))
	return cosineShare*near + (1-cosineShare)*covered/all, nil
}

// rarityOf returns how much a word of the request tells: its weight by its rarity.
func (s *searcher) rarityOf(w *query.Word) (float64, error) {
	terms := w.Terms
	if len(w.Meanings) > 0 {
		terms = w.Meanings[:1]
	}
	rarity := 0.0
	for _, t := range terms {
		found, err := s.view.FindPostings(t.Stem)
		if err != nil {
			return 0, err
		}
		rarity = max(rarity, view.InverseFrequency(s.view.DocumentFrequency(t.Stem, found), s.view.Operations))
	}
	return rarity * rarity * float64(w.Weight), nil
}
