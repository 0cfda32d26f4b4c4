package index

import (
	"slices"
	"strings"

	"gazetteer/index/bitset"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/protocol/effect"
)

// LeftOut describes the operations that a request forbids, with the number of omitted ones.
type LeftOut struct {
	Text       string `json:"text"` // the words that forbid them, as asked
	Operations int    `json:"operations"`
}

// applyProhibitions removes the operations that the request forbids from masks. It returns new
// masks.
func (s *searcher) applyProhibitions(masks []bitset.Set) ([]bitset.Set, []LeftOut, error) {
	if len(s.request.Prohibitions) == 0 {
		return masks, nil, nil
	}
	effects, err := s.view.Effects()
	if err != nil {
		return nil, nil, err
	}
	verbs, err := s.view.JoinColumns(query.VerbField)
	if err != nil {
		return nil, nil, err
	}
	masks = slices.Clone(masks)
	for i := range masks {
		masks[i] = slices.Clone(masks[i])
	}
	var left []LeftOut
	for _, p := range s.request.Prohibitions {
		count := effects.Values.RemoveMarked(masks, forbiddenClasses(p, s.request.Act, effects.Classes))
		count += verbs.RemoveMarked(masks, s.forbiddenVerbs(p, verbs))
		for _, verb := range p.Verbs {
			if effect.Of(verb) == effect.End {
				continue // its class says so
			}
			n, err := s.removeMentions(masks, effects, verb)
			if err != nil {
				return nil, nil, err
			}
			count += n
		}
		left = append(left, LeftOut{p.Text, count})
	}
	return masks, left, nil
}

// removeMentions removes from masks the operations that do more than read and have a verb among
// their words. It returns their number.
func (s *searcher) removeMentions(masks []bitset.Set, effects *view.EffectColumn, verb string) (int, error) {
	found, err := s.view.FindPostings(tokens.StemOf(verb))
	if err != nil {
		return 0, err
	}
	count := 0
	for i, p := range found {
		for number := range p.Numbers() {
			class := effect.Class(0)
			if masks[i].Has(number) {
				class = effects.ClassOf(view.EntryRef{Segment: i, Number: number})
			}
			if s.request.Act.Ends && class == effect.End {
				continue // do not book, cancel the old booking
			}
			if class&^query.Reading != 0 && class&query.Reading == 0 {
				masks[i].Remove(number)
				count++
			}
		}
	}
	return count, nil
}

// forbiddenClasses tells which values of the column of effects a prohibition forbids.
func forbiddenClasses(p query.Prohibition, act query.Act, classes []effect.Class) []bool {
	forbidden := make([]bool, len(classes))
	for i, class := range classes {
		if p.ReadOnly && class != 0 && class&query.Reading == 0 {
			forbidden[i] = true
		}
		for _, verb := range p.Verbs {
			if effect.Of(verb) == effect.End && class == effect.End && !act.Ends {
				forbidden[i] = true
			}
		}
	}
	return forbidden
}

// forbiddenVerbs tells which of the offered verbs a prohibition forbids.
func (s *searcher) forbiddenVerbs(p query.Prohibition, verbs *view.FieldValues) []bool {
	const isForbidden = 1
	numbers := verbs.Memoize("\x00not "+strings.Join(p.Verbs, " "), func(offered string) (forbidden float64) {
		if offered == "" || effect.Of(offered)&^query.Reading == 0 {
			return 0
		}
		for _, verb := range p.Verbs {
			switch s.index.verbs.RelateVerb(verb, offered) {
			case semantic.RelationExact, semantic.RelationStem, semantic.RelationSynonym:
				forbidden = isForbidden
			case semantic.RelationHypernym:
				if forbidden = 0; effect.Of(verb) == effect.End {
					forbidden = isForbidden
				}
			}
		}
		return forbidden
	})
	marked := make([]bool, len(numbers))
	for i, n := range numbers {
		marked[i] = n == isForbidden
	}
	return marked
}
