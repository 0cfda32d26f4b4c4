package view

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/pace"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/protocol/effect"
)

// An operation's score has two parts. The first is a sum over the query's stems, and over the
// fields of the operation and of its service:
//
//	sum of	weight(field) · idf(stem) · tf·(k1+1) / (tf + k1·(1 − b + b·length/pivot(field)))
//
// This is BM25 by field with fixed pivots instead of average lengths, and with idf from the
// operations that are live now. It is divided by the maximum possible score. The second part is the
// cosine of the embeddings of query and operation. So a score depends only on the live content of
// the index, not on its history or its segments.
const (
	k1 = 1.2
	b  = 0.3
	// maxCount is the number of occurrences of a term in a field that count: further repetitions
	// only make the field longer, and so lower the score.
	maxCount = 3
	// cosineWeight is the weight of a cosine relative to the score of words.
	cosineWeight = 2.5
)

// A fieldWeight is the weight of a field, and its usual length in terms, measured over 100,000
// operations.
type fieldWeight struct{ Weight, pivot float64 }

var (
	FieldWeights  = [entry.NumFields]fieldWeight{entry.ActField: {1, 5}, entry.WhatField: {1, 12}, entry.CtxField: {0.4, 12}, entry.HeldField: {1, 6}}
	serviceWeight = fieldWeight{0.7, 30}
)

// termWeight returns the part of the score that depends on the posting alone and is stored with it.
func termWeight(f entry.Field, ofService bool, count, length int) float32 {
	w := FieldWeights[f]
	if ofService {
		w = serviceWeight
	}
	tf := float64(min(count, maxCount))
	return float32(w.Weight * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(length)/w.pivot)))
}

// inverseFrequency returns the significance of a term that occurs in df of n entries.
func inverseFrequency(df, n int) float64 {
	df = min(df, n)
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// wordScores has the first parts of the scores of a view's entries.
type wordScores struct {
	Scores  []float32    // by the position of an entry in the view: see ScoreIndex
	Matched []bitset.Set // for each segment: the entries with a score, including deleted ones
	maximum float32      // about the score of an operation that has all words

	ranked   bitset.Set   // by the position of an entry in the view: those that the ranking has scored
	bits     bitset.Set   // of the other sets
	counting countBuffers // for facets
	pool     Candidates   // room for the next
	entries  []RankedEntry
	wordless []wordlessEntry
	faint    []RankedEntry

	// ByEmbedding has the operations that the ranking found by their embedding alone.
	ByEmbedding []EntryRef
}

// reset resizes the scores for the entries of a view and clears them.
func (s *wordScores) reset(v *View) {
	if cap(s.Scores) < v.Size {
		s.Scores = make([]float32, v.Size)
	}
	s.Scores, s.maximum, s.ByEmbedding = s.Scores[:v.Size], 0, s.ByEmbedding[:0]
	clear(s.Scores)
	room := bitset.Words(v.Size)
	for i := range v.Segments {
		room += bitset.Words(v.Segments[i].N)
	}
	if cap(s.bits) < room {
		s.bits = make(bitset.Set, room)
	}
	left := s.bits[:room]
	clear(left)
	take := func(n int) (set bitset.Set) {
		set, left = left[:bitset.Words(n)], left[bitset.Words(n):]
		return set
	}
	s.ranked, s.Matched = take(v.Size), s.Matched[:0]
	for i := range v.Segments {
		s.Matched = append(s.Matched, take(v.Segments[i].N))
	}
}

// ScoreWords adds up the first parts of the scores of all entries for the stems.
func (v *View) ScoreWords(ctx context.Context, stems []query.Stem, to *wordScores) error {
	swept := 0
	for _, stem := range stems {
		found, err := v.FindPostings(stem.Text)
		if err != nil {
			return err
		}
		rarity := stem.Weight * float32(inverseFrequency(v.DocumentFrequency(stem.Text, found), v.Operations))
		if !stem.Optional {
			to.maximum += rarity
		}
		for i, p := range found {
			if swept >= postingsPerTurn {
				swept = 0
				if err := pace.Yield(ctx); err != nil {
					return err
				}
			}
			swept += p.count() + len(p.Services)
			s := &v.Segments[i]
			p.addScores(to.Scores[s.Base:s.Base+s.N], to.Matched[i], rarity)
		}
	}
	return nil
}

// postingsPerTurn is the number of postings that are processed before a yield, about a tenth of a
// millisecond.
const postingsPerTurn = 1 << 16

// DocumentFrequency counts the live operations in which a stem occurs, themselves or through their
// service; an operation with both occurrences counts twice.
func (v *View) DocumentFrequency(stem string, found []*TermPostings) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n, ok := v.frequencies[stem]; ok {
		return n
	}
	n := 0
	for i, p := range found {
		s := &v.Segments[i]
		for number := range p.Numbers() {
			if s.Operations.Has(number) && !s.Deleted.Has(number) {
				n++
			}
		}
		for _, at := range p.Services {
			if !s.Deleted.Has(at.number) {
				n += int(at.to - at.from)
			}
		}
	}
	if len(v.frequencies) >= maxFrequencies {
		clear(v.frequencies)
	}
	v.frequencies[stem] = n
	return n
}

// maxFrequencies is the maximum number of stems whose frequencies a view caches.
const maxFrequencies = 1 << 16

// A RankedEntry is an entry and its score in millionths. Entries whose scores differ by less are
// ties, ordered by host, kind and ordinal.
type RankedEntry struct {
	EntryRef
	Score int64
}

const ScoreUnit = 1e-6

// ScoresPerUnit is the reverse of [ScoreUnit]. A score that is divided by it has few digits.
const ScoresPerUnit = 1e6

// ranksBefore orders better entries first.
func (r RankedEntry) ranksBefore(v *View, o RankedEntry) bool {
	if r.Score != o.Score {
		return r.Score > o.Score
	}
	return v.entryLess(r.EntryRef, o.EntryRef)
}

// BestByWords returns the n entries in masks (one for each segment) with the best word scores, in
// order, and the number of entries with a score.
func (v *View) BestByWords(words *wordScores, masks []bitset.Set, n int) (top []RankedEntry, total int) {
	kept, total := v.collectCandidates(words, masks, n)
	return kept.SortedTop(v), total
}

// collectCandidates collects the n best entries and counts the entries with a score. They use the
// buffer of words: the result of the previous call becomes invalid.
func (v *View) collectCandidates(words *wordScores, masks []bitset.Set, n int) (kept Candidates, total int) {
	kept = Candidates{N: n, limit: 4 * n, list: words.pool.list[:0], scores: words.pool.scores}
	defer func() { words.pool = kept }() // its user is done before the next call
	for i := range v.Segments {
		s := &v.Segments[i]
		scores := words.Scores[s.Base : s.Base+s.N]
		mask := masks[i]
		for at, met := range words.Matched[i] {
			met &= mask[at]
			total += bits.OnesCount64(met)
			for ; met != 0; met &= met - 1 {
				number := at*64 + bits.TrailingZeros64(met)
				if score := scores[number]; score >= kept.Threshold {
					kept.AddCandidate(Candidate{EntryRef{i, uint32(number)}, score})
				}
			}
		}
	}
	return kept, total
}

// perService is the number of operations of one service in a ranking by words. Without it a large
// service fills every page; a host: filter lifts it.
const perService = 3

// perDomain is the number of operations below one registered domain that come before those of other
// domains. One record in DNS gives a domain any number of hosts, which would fill the first page; so do
// the free names below the domain of a provider.
const perDomain = 5

// The number of operations that are scored in full: those with the best words, and those whose
// embedding seems nearest. The others keep the order of their words.
const (
	wordPool      = 128
	EmbeddingPool = 256
)

// The minimum cosine of an operation that shares no word with the query: by itself, and as a share
// of the nearest.
const (
	MinCosine      = 0.13
	minCosineShare = 0.3
)

// A Ranking has the input of [View.RankOperations].
type Ranking struct {
	Words       *wordScores
	Query       *QueryEmbedding     // with the running search for the nearest operations
	Opposed     func(EntryRef) bool // tells which operations get a lower score; may be nil
	Masks       []bitset.Set        // the operations to rank, for each segment
	Limit       int                 // the number of requested entries
	Grouped     bool                // whether a service has at most perService places
	Effects     *EffectColumn       // the inferred effects of operations
	Act         query.Act           // the requested act
	Language    string              // of the request; "" for English
	Verbs       *FieldValues        // the verbs of operations; nil when the verb does not matter
	Mentions    []bitset.Set        // the operations that mention the object that the request ends; nil if it ends nothing
	VerbFactors []float64           // by the number of a verb
}

// RankOperations orders the operations in masks (one for each segment) by both parts of the score.
// It returns the first Limit of them, with at most perService of each service if Grouped is set,
// whether there are more, and the number of all matching operations. It waits for the search for
// the nearest operations.
func (v *View) RankOperations(r Ranking) (page []RankedEntry, more bool, total int, err error) {
	words, masks, n, grouped := r.Words, r.Masks, r.Limit, r.Grouped
	kept, total := v.collectCandidates(words, masks, wordPool)
	pool := kept.unsortedTop(v, words.entries)
	defer func() { words.entries = pool }() // no result keeps a part of it
	scores, seen := words.Scores, words.ranked
	clear(seen)
	most := float32(0)
	if len(pool) > 0 {
		first := pool[0]
		for _, r := range pool[1:] {
			if r.ranksBefore(v, first) {
				first = r
			}
		}
		most = max(scores[v.ScoreIndex(first.EntryRef)], minMaximumShare*words.maximum)
	}
	scorer := candidateScorer{view: v, ranking: &r, most: most, factors: r.Effects.factorsFor(r.Act, r.Language)}
	for i := range pool {
		pool[i], _ = scorer.scoreCandidate(pool[i].EntryRef)
	}
	if err := r.Query.awaitNear(); err != nil {
		return nil, false, 0, err
	}
	before := len(words.ByEmbedding)
	pool, faint := scorer.addNear(pool)
	total += len(words.ByEmbedding) - before
	v.PenalizeHubs(pool, faint)
	if r.Act.Question || r.Act.OnlyShows() {
		r.putAnswersFirst(pool)
	} else {
		lowerBelow(pool, answerPlaces, 0, r.isReverse)
		if r.Act.Forbids && r.Act.Wanted&^query.Reading == 0 {
			lowerBelow(pool, answerPlaces, 0, func(e RankedEntry) bool { return r.Effects.changesWorld(e.EntryRef) })
		}
	}
	if first := v.SortTop(pool, perPage*(n+1)); first < len(pool) {
		if page = v.firstEntries(pool[:first], n+1, grouped); len(page) > n {
			return page[:n], true, total, nil
		}
		v.SortRanked(pool)
	}
	for take := 4 * wordPool; ; take *= 4 {
		page = v.firstEntries(pool, n+1, grouped)
		if grouped && len(page) <= n && (take > 4*wordPool || len(pool) == total) { // one extension in search of other domains
			page = v.addDeferred(page, pool, n+1)
		}
		if len(page) > n || len(pool) == total {
			more = len(page) > n
			return page[:min(n, len(page))], more, total, nil
		}
		// Continue with the operations that were not scored in full.
		rest, _ := v.BestByWords(words, masks, take)
		for _, r := range rest {
			if at := uint32(v.ScoreIndex(r.EntryRef)); !seen.Has(at) {
				seen.Add(at)
				r.Score = min(combineScores(scores[v.ScoreIndex(r.EntryRef)], most, 0), pool[len(pool)-1].Score)
				pool = append(pool, r)
			}
		}
	}
}

// A candidateScorer scores candidates by words and by embedding.
type candidateScorer struct {
	view    *View
	ranking *Ranking
	most    float32 // the word score that counts as 1
	highest float32 // the largest cosine of all scored operations
	factors []float64
}

// scoreCandidate returns an operation with its score, and its cosine to the query.
func (c *candidateScorer) scoreCandidate(p EntryRef) (r RankedEntry, cosine float32) {
	v, o := c.view, c.ranking
	m := v.EmbeddingOf(p)
	cosine = m.Cosine(o.Query.Whole)
	if clauses := o.Query.Clauses; len(clauses) > 0 {
		_, best := NearestClause(clauses, m)
		cosine += clauseWeight * (best - cosine)
	}
	c.highest = max(c.highest, cosine)
	at := v.ScoreIndex(p)
	o.Words.ranked.Add(uint32(at))
	r = RankedEntry{p, combineScores(o.Words.Scores[at], c.most, cosine)}
	if m.Doubtful {
		r.Score = int64(float64(r.Score) * doubtfulFactor)
	}
	factor := c.factors[o.Effects.Values.ValueNumber(p)]
	if o.Verbs != nil {
		factor *= o.VerbFactors[o.Verbs.ValueNumber(p)]
	}
	if o.Mentions != nil && o.Effects.ClassOf(p) == effect.End && !o.Mentions[p.Segment].Has(p.Number) {
		factor *= endsOther
	}
	r.Score = int64(float64(r.Score) * factor)
	if o.Opposed != nil && o.Opposed(p) {
		r.Score = int64(float64(r.Score) * opposedFactor)
	}
	return r, cosine
}

// A wordlessEntry is an operation without a word of the query, with its cosine.
type wordlessEntry struct {
	RankedEntry
	cosine float32
}

// addNear scores the operations whose embeddings are near to the query and that are not in the
// pool, and adds them to it. Operations without a word of the query must be near enough; the others
// are returned as faint, until the next ranking of the words.
func (c *candidateScorer) addNear(pool []RankedEntry) (all, faint []RankedEntry) {
	words := c.ranking.Words
	others, faint := words.wordless[:0], words.faint[:0]
	pool = slices.Grow(pool, len(c.ranking.Query.near))
	for _, p := range c.ranking.Query.near {
		at := c.view.ScoreIndex(p)
		if words.ranked.Has(uint32(at)) {
			continue
		}
		if r, cosine := c.scoreCandidate(p); words.Scores[at] > 0 {
			pool = append(pool, r)
		} else {
			others = append(others, wordlessEntry{r, cosine})
		}
	}
	for _, o := range others {
		if o.cosine >= max(MinCosine, minCosineShare*c.highest) {
			pool = append(pool, o.RankedEntry)
			words.ByEmbedding = append(words.ByEmbedding, o.EntryRef)
		} else {
			faint = append(faint, o.RankedEntry)
		}
	}
	words.wordless, words.faint = others, faint
	return pool, faint
}

// ScoreIndex is the position of an entry in the scores of the view.
func (v *View) ScoreIndex(p EntryRef) int { return v.Segments[p.Segment].Base + int(p.Number) }

func (v *View) EmbeddingOf(p EntryRef) semantic.Embedding {
	return v.Segments[p.Segment].Meanings.EmbeddingOf(p.Number)
}

// doubtfulFactor is the factor of the score of an operation whose name and intent have nothing in
// common.
const doubtfulFactor = 0.8

// opposedFactor is the factor of the score of an operation whose verb is the opposite of a
// requested one: a client that wants to buy does not want SELL, although the texts are about the
// same things.
const opposedFactor = 0.8

// minMaximumShare keeps the best operation from counting as a full match if it has only a small
// part of the request.
const minMaximumShare = 0.5

// combineScores returns the score in its unit, 0 to 1, from an operation's share of the maximum
// word score and from its cosine.
func combineScores(words, most, cosine float32) int64 {
	var score float64
	if most > 0 {
		score = float64(words / most)
	}
	score += cosineWeight * float64(max(0, cosine))
	return int64(math.Round(score / (1 + cosineWeight) / ScoreUnit))
}

func (v *View) SortRanked(list []RankedEntry) {
	slices.SortFunc(list, func(a, b RankedEntry) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		if v.entryLess(a.EntryRef, b.EntryRef) {
			return -1
		}
		return 1
	})
}

// SortTop moves about the n best before all others, in order, and returns their number: it includes
// all entries with the score of the last of them.
func (v *View) SortTop(list []RankedEntry, n int) int {
	if n >= len(list) {
		v.SortRanked(list)
		return len(list)
	}
	var room [1024]int64
	scores := room[:0]
	for _, r := range list {
		scores = append(scores, r.Score)
	}
	least, first := nthLargest(scores, n), 0
	for i, r := range list {
		if r.Score >= least {
			list[first], list[i] = r, list[first]
			first++
		}
	}
	v.SortRanked(list[:first])
	return first
}

// perPage is the number of best entries to order for each shown one. More are needed only if one
// service has most of them.
const perPage = 6

// firstEntries returns the first n entries, if grouped at most perService of each host and, if there
// are several domains, perDomain of each one.
func (v *View) firstEntries(list []RankedEntry, n int, grouped bool) []RankedEntry {
	switch {
	case grouped && v.domains:
		return v.limitPerService(list, n, perDomain)
	case grouped:
		return v.limitPerService(list, n, n)
	default:
		return slices.Clone(list[:min(n, len(list))])
	}
}

// limitPerService keeps the first perService entries of each host, and so many of each domain, at most
// n in all.
func (v *View) limitPerService(top []RankedEntry, n, perDomain int) []RankedEntry {
	kept := make([]RankedEntry, 0, min(n, len(top)))
	domains := make(map[string]int)
	for _, r := range top {
		run, same := v.RunOf(r.EntryRef), 0
		for _, k := range kept {
			if v.RunOf(k.EntryRef).hasHostOf(run) {
				same++
			}
		}
		if same >= perService {
			continue
		}
		if domains[run.domain] >= perDomain {
			continue
		}
		domains[run.domain]++
		if kept = append(kept, r); len(kept) == n {
			break
		}
	}
	return kept
}

// addDeferred fills a page with the entries that were left out because of their domain, up to n. Their
// scores become lower than those of the page, so that they stay behind it.
func (v *View) addDeferred(page, list []RankedEntry, n int) []RankedEntry {
	least := int64(0)
	if len(page) > 0 {
		least = page[len(page)-1].Score - 1
	}
	for _, r := range v.limitPerService(list, n, n) {
		if len(page) < n && !slices.ContainsFunc(page, func(p RankedEntry) bool { return p.EntryRef == r.EntryRef }) {
			r.Score = min(r.Score, least)
			page = append(page, r)
		}
	}
	return page
}

// DeferDomains puts the entries beyond perDomain of each domain after all others.
func (v *View) DeferDomains(list []RankedEntry) []RankedEntry {
	first, deferred := make([]RankedEntry, 0, len(list)), []RankedEntry(nil)
	domains := make(map[string]int)
	for _, r := range list {
		domain := v.RunOf(r.EntryRef).domain
		if domains[domain]++; domains[domain] > perDomain {
			deferred = append(deferred, r)
		} else {
			first = append(first, r)
		}
	}
	return append(first, deferred...)
}
