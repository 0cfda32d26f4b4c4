package index

import (
	"context"
	"fmt"
	"slices"

	"gazetteer/index/pace"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
)

// maxVerified is the number of operations that are read to check for a phrase. The index stores no
// positions of words: phrases are rare, and positions would double the size of the index.
const maxVerified = 1000

// applyPhrases removes the found operations that do not contain all phrases word by word. It reads
// them from the store, those with the best words first. If there are more than maxVerified, it
// omits the others and the result says so.
func (s *searcher) applyPhrases(ctx context.Context, f *view.MatchSet) (note string, err error) {
	v := s.view
	phrases := make([][]string, 0, len(s.query.Phrases))
	for _, p := range s.query.Phrases {
		var stems []string
		for _, t := range tokens.Tokenize(s.index.analyzer, tokens.PrepareText(p)) {
			stems = append(stems, t.Stem)
		}
		if len(stems) > 0 {
			phrases = append(phrases, stems)
		}
	}
	if len(phrases) == 0 {
		return "", nil // only words that are too common to look for
	}
	for _, stems := range phrases {
		if err := pace.Yield(ctx); err != nil {
			return "", err
		}
		if err := v.RequireStems(f.Masks, stems); err != nil {
			return "", err
		}
	}
	total := 0
	for _, m := range f.Masks {
		total += m.Count()
	}
	look, _ := v.BestByWords(f.Words, f.Masks, maxVerified)
	if total > maxVerified {
		note = fmt.Sprintf("%d operations have the words of the phrase; the phrase was looked for in the best %d of them", total, maxVerified)
	}
	for i := range f.Masks {
		clear(f.Masks[i])
	}
	for _, r := range look {
		if err := pace.Yield(ctx); err != nil {
			return "", err
		}
		stands, err := s.index.containsPhrases(ctx, v, r.EntryRef, phrases)
		if err != nil {
			return "", err
		}
		if stands {
			f.Masks[r.Segment].Add(r.Number)
		}
	}
	return note, nil
}

// containsPhrases reports whether all phrases occur in the texts of an operation or of its service.
func (x *Index) containsPhrases(ctx context.Context, v *view.View, p view.EntryRef, phrases [][]string) (bool, error) {
	t, o, err := x.readOperation(ctx, v, p)
	if t == nil || err != nil {
		return false, err
	}
	texts := append([]termList{*t.serviceTerms(x.analyzer)}, o.terms[:]...)
	for _, stems := range phrases {
		if !slices.ContainsFunc(texts, func(l termList) bool { return containsSequence(l.terms[:len(l.terms)-l.translations], stems) }) {
			return false, nil
		}
	}
	return true, nil
}

// containsSequence reports whether the stems follow one another in terms.
func containsSequence(terms []tokens.Token, stems []string) bool {
	for from := 0; from+len(stems) <= len(terms); from++ {
		same := true
		for i, stem := range stems {
			same = same && terms[from+i].Stem == stem
		}
		if same {
			return true
		}
	}
	return false
}
