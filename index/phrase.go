package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// maxVerified is how many operations are read to see whether a phrase stands in
// them. The index keeps no places of words: phrases are rare, and the places
// would take as much room as all else.
const maxVerified = 1000

// keepPhrases takes out of what was found the operations in which a phrase does
// not stand word by word. They are read from the store, those with the best words
// first; if there are more than maxVerified, the others are left out and the
// result says so.
func (x *Index) keepPhrases(ctx context.Context, l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, f *found, result *Result) error {
	phrases := make([][]string, 0, len(q.Phrases))
	for _, p := range q.Phrases {
		var stems []string
		for _, t := range termsOf(x.analyzer, splitText(p)) {
			stems = append(stems, t.stem)
		}
		if len(stems) > 0 {
			phrases = append(phrases, stems)
		}
	}
	if len(phrases) == 0 {
		return nil // nothing but words that are too common to look for
	}
	for _, stems := range phrases {
		if err := giveWay(ctx); err != nil {
			return err
		}
		if err := l.keepStems(snapshot, v, f.masks, stems); err != nil {
			return err
		}
	}
	total := 0
	for _, m := range f.masks {
		total += m.count()
	}
	look, _ := v.best(f.words, f.masks, maxVerified)
	if total > maxVerified {
		result.Note = fmt.Sprintf("%d operations have the words of the phrase; the phrase was looked for in the best %d of them", total, maxVerified)
	}
	for i := range f.masks {
		clear(f.masks[i])
	}
	for _, r := range look {
		if err := giveWay(ctx); err != nil {
			return err
		}
		stands, err := x.stands(ctx, v, r.place, phrases)
		if err != nil {
			return err
		}
		if stands {
			f.masks[r.segment].add(r.number)
		}
	}
	return nil
}

// keepStems takes the operations out of masks that lack one of the stems.
func (l *live) keepStems(snapshot *scorch.IndexSnapshot, v *view, masks []bitset, stems []string) error {
	for _, stem := range stems {
		found, err := l.find(snapshot, v, stem)
		if err != nil {
			return err
		}
		for i, p := range found {
			have := newBitset(v.segments[i].n)
			for _, at := range p.all {
				v.segments[i].spread(at.number, have.add)
			}
			masks[i].and(have)
		}
	}
	return nil
}

// stands reports whether all phrases stand in the texts of an operation or of its
// service.
func (x *Index) stands(ctx context.Context, v *view, p place, phrases [][]string) (bool, error) {
	t, o, err := x.operation(ctx, v, p)
	if t == nil || err != nil {
		return false, err
	}
	texts := append([][]term{t.serviceTerms(x.analyzer)}, o.terms[:]...)
	for _, stems := range phrases {
		if !slices.ContainsFunc(texts, func(terms []term) bool { return standsIn(terms, stems) }) {
			return false, nil
		}
	}
	return true, nil
}

// standsIn reports whether the stems follow one another in terms.
func standsIn(terms []term, stems []string) bool {
	for from := 0; from+len(stems) <= len(terms); from++ {
		same := true
		for i, stem := range stems {
			same = same && terms[from+i].stem == stem
		}
		if same {
			return true
		}
	}
	return false
}
