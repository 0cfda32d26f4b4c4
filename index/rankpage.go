package index

import (
	"context"
	"slices"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/siblings"
	"gazetteer/index/view"
)

// rankPage orders the matches of words, and sets the entries of the page. The first page also gets
// the matching services and data classes.
func (s *searcher) rankPage(ctx context.Context, found *view.MatchSet, p *page) (err error) {
	q := s.query
	named, err := s.findNamed(found.Masks)
	if err != nil {
		return err
	}
	if q.Offset == 0 {
		if p.services, p.classes, err = s.findServicesAndClasses(ctx, found, named); err != nil {
			return err
		}
	}
	limit := q.Offset + q.Limit
	p.entries, p.more, p.total, err = s.rankFound(found, max(limit, s.comparedArguments(), siblings.Places))
	if err != nil {
		return err
	}
	if err := s.preferArguments(p.entries); err != nil {
		return err
	}
	if err := s.orderSiblings(ctx, p.entries); err != nil {
		return err
	}
	if len(p.entries) > limit {
		p.entries, p.more = p.entries[:limit], true
	}
	if named != nil {
		err = s.putNamedFirst(ctx, named, p)
	} else {
		err = s.shareBetweenClauses(ctx, found.Masks, p)
	}
	if err != nil {
		return err
	}
	p.entries = p.entries[min(q.Offset, len(p.entries)):]
	return nil
}

// rankFound returns the first matches, in order.
func (s *searcher) rankFound(found *view.MatchSet, limit int) (entries []view.RankedEntry, more bool, total int, err error) {
	opposed, err := s.findOpposedVerbs()
	if err != nil {
		return nil, false, 0, err
	}
	effects, err := s.view.Effects()
	if err != nil {
		return nil, false, 0, err
	}
	verbs, verbFactors, err := s.verbFactors()
	if err != nil {
		return nil, false, 0, err
	}
	mentions, err := s.objectMentions()
	if err != nil {
		return nil, false, 0, err
	}
	return s.view.RankOperations(view.Ranking{
		Mentions:    mentions,
		Verbs:       verbs,
		VerbFactors: verbFactors,
		Words:       found.Words,
		Query:       s.embedding,
		Opposed:     opposed,
		Masks:       found.Masks,
		Effects:     effects,
		Act:         s.request.Act,
		Language:    s.request.Language,
		Limit:       limit,
		Grouped:     len(s.query.Hosts) == 0,
	})
}

const (
	// argumentPlaces is the number of first operations that are compared by the arguments of a
	// request in the form of a function.
	argumentPlaces = 16
	// sameArguments is the factor of the score of an operation that mentions all arguments.
	sameArguments = 1.06
)

// comparedArguments returns the number of first operations to compare by arguments, 0 for a request
// without any.
func (s *searcher) comparedArguments() int {
	if slices.ContainsFunc(s.request.Words, func(w query.Word) bool { return w.Argument }) {
		return argumentPlaces
	}
	return 0
}

// preferArguments reorders the first entries: of operations that do nearly the same, those come
// first that take what the request has, lookup(lat, lng).
func (s *searcher) preferArguments(entries []view.RankedEntry) error {
	entries = entries[:min(len(entries), s.comparedArguments())]
	if len(entries) == 0 {
		return nil
	}
	arguments, mentioned := 0, make([]int, len(entries))
	for _, w := range s.request.Words {
		if !w.Argument {
			continue
		}
		arguments++
		found := make([]bool, len(entries))
		for _, t := range slices.Concat(w.Terms, w.Meanings) {
			postings, err := s.view.FindPostings(t.Stem)
			if err != nil {
				return err
			}
			for i, e := range entries {
				found[i] = found[i] || postings[e.Segment].HasEntry(e.Number)
			}
		}
		for i := range entries {
			if found[i] {
				mentioned[i]++
			}
		}
	}
	for i := range entries {
		entries[i].Score = int64(float64(entries[i].Score) * (1 + (sameArguments-1)*float64(mentioned[i])/float64(arguments)))
	}
	s.view.SortRanked(entries)
	return nil
}

// rankSeparately returns the first entries for a separate request among the operations in masks. known
// has the nearest operations of clauses among the same operations; it may be nil.
func (s *searcher) rankSeparately(ctx context.Context, request query.Request, masks []bitset.Set, limit int, known *view.QueryEmbedding) ([]view.RankedEntry, error) {
	one := *s
	one.request = request
	one.embedding = s.view.Directory.EmbedQuery(request.Words)
	if known == nil || !one.embedding.CopyNearest(known) {
		defer one.embedding.StartNearest(s.view, masks)()
	}
	found, err := s.view.MatchWords(ctx, request.Words, masks)
	if err != nil {
		return nil, err
	}
	defer found.Release()
	entries, _, _, err := one.rankFound(found, limit)
	return entries, err
}

// findNamed returns the operations in masks of the services that the whole request names, by their host or
// by a name; nil if there is none.
func (s *searcher) findNamed(masks []bitset.Set) ([]bitset.Set, error) {
	if host := entry.NamedHost(s.query.Words); host != "" {
		if named := s.view.OperationsOfHost(host, masks); named != nil {
			return named, nil
		}
	}
	return s.view.OperationsOfNamed(entry.ServiceName(s.query.Words), masks)
}

// maxListedOfNamed is the maximum number of listed operations of named services that match no word
// of the request.
const maxListedOfNamed = 3

// putNamedFirst puts operations of the services that the request calls by their name before all
// others, which keep their order.
func (s *searcher) putNamedFirst(ctx context.Context, named []bitset.Set, p *page) error {
	limit := s.query.Offset + s.query.Limit
	var entries []view.RankedEntry
	for _, masks := range s.splitByDomain(named) {
		first, err := s.rankSeparately(ctx, s.request, masks, limit, nil)
		if err != nil {
			return err
		}
		if len(first) == 0 { // a service called by its host has none of the words
			first, _ = s.view.ListInOrder(masks, 0, min(limit, maxListedOfNamed))
		}
		entries = append(entries, first...)
	}
	for _, e := range p.entries {
		if !named[e.Segment].Has(e.Number) {
			entries = append(entries, e)
		}
	}
	if len(s.query.Hosts) == 0 {
		entries = s.view.DeferDomains(entries)
	}
	p.more = p.more || len(entries) > limit
	p.entries = entries[:min(limit, len(entries))]
	return nil
}

// splitByDomain divides the operations of named services: those below a domain of that name come before
// those of services that only call themselves so, which anyone can do.
func (s *searcher) splitByDomain(named []bitset.Set) [][]bitset.Set {
	own, others := make([]bitset.Set, len(named)), make([]bitset.Set, len(named))
	for i, found := range named {
		own[i], others[i] = bitset.New(64*len(found)), bitset.New(64*len(found))
		found.ForEach(func(n uint32) {
			if s.hasNamedDomain(view.EntryRef{Segment: i, Number: n}) {
				own[i].Add(n)
			} else {
				others[i].Add(n)
			}
		})
	}
	return [][]bitset.Set{own, others}
}

// hasNamedDomain reports whether the request is the name of the domain of an entry's host.
func (s *searcher) hasNamedDomain(p view.EntryRef) bool {
	return entry.HostName(s.view.RunOf(p).Host) == entry.ServiceName(s.query.Words)
}

// shareBetweenClauses distributes the places between the clauses of a request for several things:
// the best operation for each, then the second best for each, and so on. Other operations follow in
// unchanged order.
func (s *searcher) shareBetweenClauses(ctx context.Context, masks []bitset.Set, p *page) error {
	clauses := s.request.Clauses()
	if len(clauses) < 2 || len(clauses) > view.MaxClauses {
		return nil
	}
	limit := s.query.Offset + s.query.Limit
	known := s.embedding
	if len(s.query.Phrases) > 0 {
		known = nil // phrases remove operations from the masks
	}
	var lists [][]view.RankedEntry
	for _, c := range clauses {
		entries, err := s.rankSeparately(ctx, c, masks, limit, known)
		if err != nil {
			return err
		}
		lists = append(lists, entries)
	}
	p.entries = s.view.MergeLists(append(lists, p.entries), len(clauses), limit, len(s.query.Hosts) == 0)
	return nil
}
