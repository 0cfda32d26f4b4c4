package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Verbs returns all verbs that are offered, sorted, each with the number of
// operations and of services that offer it. Operations that a search would not
// return (aliases, superseded ones) do not count.
func (x *Index) Verbs(ctx context.Context) ([]VerbCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var verbs []VerbCount
	err := x.read(func(l *live, _ uint64, snapshot *scorch.IndexSnapshot, v *view) (err error) {
		verbs, err = l.verbs(snapshot, v)
		return err
	})
	return slices.Clone(verbs), err
}

// verbs counts the verbs of a view, once.
func (l *live) verbs(snapshot *scorch.IndexSnapshot, v *view) ([]VerbCount, error) {
	v.verbsOnce.Do(func() { v.verbs, v.verbsErr = l.countVerbs(snapshot, v) })
	return v.verbs, v.verbsErr
}

func (l *live) countVerbs(snapshot *scorch.IndexSnapshot, v *view) ([]VerbCount, error) {
	operations := make(map[string]int)
	services := make(map[string]map[string]bool)
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		err := eachTerm(s, verbField, func(dictionary segment.TermDictionary, verb string) error {
			hosts := services[verb]
			return eachPosting(s, dictionary, verb, false, func(number uint32, _, _ int) {
				if !vs.searched.has(number) {
					return
				}
				if hosts == nil {
					hosts = make(map[string]bool)
					services[verb] = hosts
				}
				operations[verb]++
				hosts[v.run(place{i, number}).host] = true
			})
		})
		if err != nil {
			return nil, err
		}
	}
	verbs := make([]VerbCount, 0, len(operations))
	for verb, n := range operations {
		verbs = append(verbs, VerbCount{Verb: verb, Operations: n, Services: len(services[verb])})
	}
	slices.SortFunc(verbs, func(a, b VerbCount) int { return strings.Compare(a.Verb, b.Verb) })
	return verbs, nil
}

const (
	// maxNear is how many verbs are proposed.
	maxNear = 5
	// nearPrefix is how many letters a verb must begin with in common with a
	// word to be proposed for it.
	nearPrefix = 4
)

// near proposes verbs that are offered, for a query that found nothing: those
// with the stem of a word that was asked for, then those that begin alike.
func (x *Index) near(l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, words []word) ([]string, error) {
	verbs, err := l.verbs(snapshot, v)
	if err != nil {
		return nil, err
	}
	asked := slices.Clone(words)
	for _, verb := range q.Verbs {
		asked = append(asked, word{verb, termsOf(x.analyzer, splitName(verb))})
	}
	type candidate struct {
		VerbCount
		common int // letters in common at the beginning
	}
	var candidates []candidate
	for _, offered := range verbs {
		stems := termsOf(x.analyzer, splitName(offered.Verb))
		best := 0
		for _, w := range asked {
			if _, _, same := match(w, stems); same {
				best = utf8.RuneCountInString(offered.Verb)
			}
			for _, t := range w.terms {
				best = max(best, commonPrefix(strings.ToUpper(t.surface), offered.Verb))
			}
		}
		if best >= nearPrefix || best > 0 && best == utf8.RuneCountInString(offered.Verb) {
			candidates = append(candidates, candidate{offered, best})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.common, a.common), cmp.Compare(b.Operations, a.Operations))
	})
	var near []string
	for _, c := range candidates[:min(maxNear, len(candidates))] {
		near = append(near, c.Verb)
	}
	return near, nil
}

// commonPrefix counts the characters in which a and b begin alike.
func commonPrefix(a, b string) int {
	n := 0
	for a != "" && b != "" {
		ra, size := utf8.DecodeRuneInString(a)
		rb, _ := utf8.DecodeRuneInString(b)
		if ra != rb {
			break
		}
		a, b, n = a[size:], b[size:], n+1
	}
	return n
}
