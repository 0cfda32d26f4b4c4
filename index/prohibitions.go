package index

import (
	"slices"
	"strings"

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
func (s *searcher) applyProhibitions(masks []view.Bitset) ([]view.Bitset, []LeftOut, error) {
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
		rule := newForbiddance(p, s.request.Act, effects.Classes, verbs.All)
		count := 0
		for i := range masks {
			masks[i].ForEach(func(number uint32) {
				at := view.EntryRef{Segment: i, Number: number}
				if rule.classes[effects.Values.ValueNumber(at)] || rule.verbs[verbs.ValueNumber(at)] {
					masks[i].Remove(number)
					count++
				}
			})
		}
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
func (s *searcher) removeMentions(masks []view.Bitset, effects *view.EffectColumn, verb string) (int, error) {
	found, err := s.view.FindPostings(tokens.StemOf(verb))
	if err != nil {
		return 0, err
	}
	count := 0
	for i, p := range found {
		for _, at := range p.All {
			class := effect.Class(0)
			if masks[i].Has(at.Number) {
				class = effects.ClassOf(view.EntryRef{Segment: i, Number: at.Number})
			}
			if class&^query.Reading != 0 && class&query.Reading == 0 {
				masks[i].Remove(at.Number)
				count++
			}
		}
	}
	return count, nil
}

// A forbiddance says which values of the columns of effects and of verbs a prohibition forbids.
type forbiddance struct {
	classes, verbs []bool
}

func newForbiddance(p query.Prohibition, act query.Act, classes []effect.Class, verbs []string) forbiddance {
	f := forbiddance{make([]bool, len(classes)), make([]bool, len(verbs))}
	for i, class := range classes {
		if p.ReadOnly && class != 0 && class&query.Reading == 0 {
			f.classes[i] = true
		}
		for _, verb := range p.Verbs {
			if effect.Of(verb) == effect.End && class == effect.End && !act.Ends {
				f.classes[i] = true
			}
		}
	}
	for i, offered := range verbs {
		if offered == "" || effect.Of(offered)&^query.Reading == 0 {
			continue
		}
		for _, verb := range p.Verbs {
			switch semantic.RelateVerb(verb, strings.ToLower(offered)) {
			case semantic.RelationExact, semantic.RelationStem, semantic.RelationSynonym:
				f.verbs[i] = true
			case semantic.RelationHypernym:
				f.verbs[i] = effect.Of(verb) == effect.End
			}
		}
	}
	return f
}
