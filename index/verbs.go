package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/protocol/english"
)

// Verbs returns all offered verbs, sorted, each with the number of operations and of services that
// offer it. Operations that a search would not return (aliases, superseded ones) do not count.
func (x *Index) Verbs(ctx context.Context) ([]VerbCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var verbs []VerbCount
	err := x.withSnapshot(func(v *view.View, _ uint64) (err error) {
		verbs, err = countVerbs(v)
		return err
	})
	return verbs, err
}

// countVerbs returns the verbs of a view.
func countVerbs(v *view.View) ([]VerbCount, error) {
	list, err := v.CountValues(query.VerbField)
	verbs := make([]VerbCount, len(list))
	for i, c := range list {
		verbs[i] = VerbCount{Verb: c.Value, Operations: c.Operations, Services: c.Services}
	}
	return verbs, err
}

const (
	// maxProposals is the maximum number of proposed verbs.
	maxProposals = 5
	// minCommonPrefix is the minimum length of the common prefix of a word and a verb that is
	// proposed for it.
	minCommonPrefix = 4
)

// proposeVerbs proposes offered verbs for a query that found nothing: first those related to a word
// of the query, then those that a word may be a typing error of, then those with the same
// beginning.
func (s *searcher) proposeVerbs() ([]string, error) {
	verbs, err := countVerbs(s.view)
	if err != nil {
		return nil, err
	}
	var asked []*proposal
	seen := map[string]bool{}
	add := func(word string) { // once: a request may repeat a word very often
		if !seen[word] {
			seen[word] = true
			asked = append(asked, newProposal(word))
		}
	}
	for _, w := range s.request.Words {
		add(strings.TrimFunc(w.Asked, notLetter))
		for _, m := range w.Meanings { // of a foreign or misspelled word
			add(m.Surface)
		}
	}
	if s.request.Act.Verb != "" {
		add(s.request.Act.Verb)
	}
	for _, verb := range s.query.Verbs {
		add(verb)
	}
	type candidate struct {
		VerbCount
		distance int // the rank of the relation, then of the similarity
	}
	var candidates []candidate
	for _, o := range verbs {
		best := -1
		for _, word := range asked {
			if d := word.proposalRank(o.Verb); d >= 0 && (best < 0 || d < best) {
				best = d
			}
		}
		if best >= 0 {
			candidates = append(candidates, candidate{o, best})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.Operations, a.Operations))
	})
	var near []string
	for _, c := range candidates[:min(maxProposals, len(candidates))] {
		near = append(near, c.Verb)
	}
	return s.addNearVerbs(near, verbs), nil
}

// minVerbCosine is the minimum cosine of a request and a verb that is proposed for it.
const minVerbCosine = 0.3

// addNearVerbs fills up proposals with the verbs that are nearest to the request in meaning.
func (s *searcher) addNearVerbs(near []string, offered []VerbCount) []string {
	if s.embedding == nil || s.embedding.Whole.Scale == 0 {
		return near
	}
	type candidate struct {
		verb   string
		cosine float32
	}
	var candidates []candidate
	for _, o := range offered {
		if slices.Contains(near, o.Verb) {
			continue
		}
		e := s.index.lexicon.EmbedForms([]string{strings.ToLower(o.Verb)}, []float32{1})
		if c := e.Cosine(s.embedding.Whole); c >= minVerbCosine {
			candidates = append(candidates, candidate{o.Verb, c})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.cosine, a.cosine) })
	for _, c := range candidates {
		if len(near) == maxProposals {
			break
		}
		near = append(near, c.verb)
	}
	return near
}

// A proposal is a word for which a verb may be proposed.
type proposal struct {
	word, lower string
	// meant returns the English verbs that the word may be a typing error of. Comparing a word with
	// all of them takes a tenth of a millisecond, so it is done for a word that an offered verb is
	// near.
	meant func() []string
}

func newProposal(word string) *proposal {
	lower := strings.ToLower(word)
	return &proposal{word, lower, sync.OnceValue(func() []string { return english.Near(lower, maxProposals) })}
}

// isMisspelled reports whether the word is probably a typing error of an offered verb, which is in lower
// case.
func (s *proposal) isMisspelled(offered string) bool {
	return english.IsNear(s.lower, offered) && slices.Contains(s.meant(), offered)
}

// proposalRank orders how near an offered verb is to a word; -1 is not near at all.
func (s *proposal) proposalRank(offered string) int {
	if r := semantic.RelateVerb(s.word, offered); r != "" && r != semantic.RelationAntonym {
		return semantic.RelationRank(r)
	}
	if s.isMisspelled(strings.ToLower(offered)) {
		return len(semantic.Relations)
	}
	common := commonPrefix(strings.ToUpper(s.word), offered)
	if common >= minCommonPrefix || common > 0 && common == utf8.RuneCountInString(offered) && common > 2 {
		return len(semantic.Relations) + 1 + max(0, 32-common)
	}
	return -1
}

// commonPrefix counts the characters of the common prefix of a and b.
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
