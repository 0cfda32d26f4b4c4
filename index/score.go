package index

import (
	"cmp"
	"context"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/protocol/effect"
	"math"
	"math/bits"
	"slices"
)

// An operation's score has two parts. The first is a sum over the query's stems,
// and over the fields of the operation and of its service:
//
//	sum of  weight(field) · idf(stem) · tf·(k1+1) / (tf + k1·(1 − b + b·length/pivot(field)))
//
// which is BM25 by field with fixed pivots in place of average lengths, and with
// idf from the operations that are alive now; it is taken as a share of the best
// there is. The second part is the cosine of the meanings of query and operation.
// So a score depends on what the index holds and on nothing else: not on its
// history, not on its segments.
const (
	k1 = 1.2
	b  = 0.3
	// maxCount is how often a term counts in a field: repeating it more often
	// only makes the field longer, and so the score lower.
	maxCount = 3
	// cosineWeight is how much a cosine counts beside the share of words.
	cosineWeight = 2
)

// A weighing is how much a field counts, and its usual length in terms, measured
// over 100,000 operations.
type fieldWeight struct{ weight, pivot float64 }

var (
	fieldWeights  = [numFields]fieldWeight{actField: {1, 5}, whatField: {1, 12}, ctxField: {0.4, 12}, heldField: {1, 6}}
	serviceWeight = fieldWeight{0.7, 30}
)

// termWeight returns the part of the score that depends on the posting alone,
// which is kept with it.
func termWeight(f field, ofService bool, count, length int) float32 {
	w := fieldWeights[f]
	if ofService {
		w = serviceWeight
	}
	tf := float64(min(count, maxCount))
	return float32(w.weight * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(length)/w.pivot)))
}

// inverseFrequency is how much a term tells that df of n entries have.
func inverseFrequency(df, n int) float64 {
	df = min(df, n)
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// wordScores are the first parts of the scores of a view's entries.
type wordScores struct {
	scores  []float32 // by where an entry lies in the view: see at
	matched []bitset  // for each segment: the entries with a score, deleted ones too
	maximum float32   // about what an operation would have that has all words

	ranked   bitset       // by where an entry lies in the view: those that rank has looked at
	bits     bitset       // of the other sets
	counting countBuffers // for facets
	pool     candidates   // room for the next

	// byEmbedding are the operations that rank found by their meaning alone.
	byEmbedding []entryRef
}

// reset makes room for the entries of a view and leaves nothing in it.
func (s *wordScores) reset(v *view) {
	if cap(s.scores) < v.size {
		s.scores = make([]float32, v.size)
	}
	s.scores, s.maximum, s.byEmbedding = s.scores[:v.size], 0, s.byEmbedding[:0]
	clear(s.scores)
	room := bitsetLen(v.size)
	for i := range v.segments {
		room += bitsetLen(v.segments[i].n)
	}
	if cap(s.bits) < room {
		s.bits = make(bitset, room)
	}
	left := s.bits[:room]
	clear(left)
	take := func(n int) (set bitset) {
		set, left = left[:bitsetLen(n)], left[bitsetLen(n):]
		return set
	}
	s.ranked, s.matched = take(v.size), s.matched[:0]
	for i := range v.segments {
		s.matched = append(s.matched, take(v.segments[i].n))
	}
}

// scoreWords adds up the first parts of the scores of all entries for the stems.
func (v *view) scoreWords(ctx context.Context, stems []query.Stem, to *wordScores) error {
	swept := 0
	for _, stem := range stems {
		if swept >= postingsPerTurn {
			swept = 0
			if err := yieldTurn(ctx); err != nil {
				return err
			}
		}
		found, err := v.findPostings(stem.Text)
		if err != nil {
			return err
		}
		rarity := stem.Weight * float32(inverseFrequency(v.documentFrequency(stem.Text, found), v.operations))
		if !stem.Optional {
			to.maximum += rarity
		}
		for i, p := range found {
			s := &v.segments[i]
			swept += len(p.all) + len(p.services)
			scores, met := to.scores[s.base:s.base+s.n], to.matched[i]
			for _, at := range p.all {
				scores[at.number] += rarity * at.weight
				met.add(at.number)
			}
			for _, at := range p.services {
				more := rarity * at.weight
				met.addRange(at.from, at.to)
				of := scores[at.from:at.to]
				for n := range of {
					of[n] += more
				}
			}
		}
	}
	return nil
}

// postingsPerTurn is how many postings are gone through before others may go first, a
// tenth of a millisecond or so.
const postingsPerTurn = 1 << 16

// documentFrequency counts the live operations that a stem occurs in, themselves or through
// their service; one in which it occurs in both ways counts twice.
func (v *view) documentFrequency(stem string, found []*termPostings) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n, ok := v.frequencies[stem]; ok {
		return n
	}
	n := 0
	for i, p := range found {
		s := &v.segments[i]
		for _, at := range p.all {
			if s.operations.has(at.number) && !s.deleted.has(at.number) {
				n++
			}
		}
		for _, at := range p.services {
			if !s.deleted.has(at.number) {
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

// maxFrequencies bounds how many stems' frequencies a view keeps.
const maxFrequencies = 1 << 16

// A ranked is an entry and its score in millionths. Scores that differ by less
// are ties, broken by host, kind and ordinal.
type rankedEntry struct {
	entryRef
	score int64
}

const scoreUnit = 1e-6

// ranksBefore orders better entries first.
func (r rankedEntry) ranksBefore(v *view, o rankedEntry) bool {
	if r.score != o.score {
		return r.score > o.score
	}
	return v.entryLess(r.entryRef, o.entryRef)
}

// bestByWords returns the n best of the entries in masks (one for each segment) by their
// words, in order, and how many have a score at all.
func (v *view) bestByWords(words *wordScores, masks []bitset, n int) (top []rankedEntry, total int) {
	kept, total := v.collectCandidates(words, masks, n)
	return kept.sortedTop(v), total
}

// collectCandidates gathers the n best, and how many have a score at all. They lie in the
// room of words: what was gathered before is gone.
func (v *view) collectCandidates(words *wordScores, masks []bitset, n int) (kept candidates, total int) {
	kept = candidates{n: n, limit: 4 * n, list: words.pool.list[:0], scores: words.pool.scores}
	defer func() { words.pool = kept }() // who has it is done with it before the next
	for i := range v.segments {
		s := &v.segments[i]
		scores := words.scores[s.base : s.base+s.n]
		mask := masks[i]
		for at, met := range words.matched[i] {
			met &= mask[at]
			total += bits.OnesCount64(met)
			for ; met != 0; met &= met - 1 {
				number := at*64 + bits.TrailingZeros64(met)
				if score := scores[number]; score >= kept.threshold {
					kept.addCandidate(candidate{entryRef{i, uint32(number)}, score})
				}
			}
		}
	}
	return kept, total
}

// A candidate is an entry and its score.
type candidate struct {
	entryRef
	score float32
}

// candidates gathers the n best, and as many more as share the score of the last
// of them, so that what is kept does not depend on the order of what came.
type candidates struct {
	n         int
	list      []candidate
	threshold float32 // nothing below it can be among the best any more
	limit     int     // the length at which the list is pruned

	scores []float32 // room for those of the list
}

func (k *candidates) addCandidate(c candidate) {
	if k.list == nil {
		k.limit = 4 * k.n
		k.list = make([]candidate, 0, min(k.limit, 4096))
	}
	k.list = append(k.list, c)
	if len(k.list) < k.limit {
		return
	}
	// Scores that are a tie when they are rounded stay together.
	k.threshold = max(k.threshold, nthLargest(k.copyScores(), k.n)-2*scoreUnit)
	k.list = slices.DeleteFunc(k.list, func(c candidate) bool { return c.score < k.threshold })
	k.limit = max(4*k.n, 2*len(k.list))
}

// copyScores returns the scores of the list, to be put in another order.
func (k *candidates) copyScores() []float32 {
	if cap(k.scores) < len(k.list) {
		k.scores = make([]float32, 2*len(k.list))
	}
	scores := k.scores[:len(k.list)]
	for i, c := range k.list {
		scores[i] = c.score
	}
	return scores
}

// nthLargest returns the n-th largest number, counted from 1, and changes the order
// of all (Hoare's selection).
func nthLargest[T cmp.Ordered](all []T, n int) T {
	from, to, at := 0, len(all)-1, n-1
	for from < to {
		middle := all[(from+to)/2]
		i, j := from, to
		for i <= j {
			for all[i] > middle {
				i++
			}
			for all[j] < middle {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			to = j
		case at >= i:
			from = i
		default:
			return all[at]
		}
	}
	return all[at]
}

// sortedTop returns the n best, in order.
func (k *candidates) sortedTop(v *view) []rankedEntry {
	top := k.roundedAll(0)
	v.sortRanked(top)
	return top[:min(k.n, len(top))]
}

// unsortedTop returns the n best, in any order, with room for so many more.
func (k *candidates) unsortedTop(v *view, more int) []rankedEntry {
	top := k.roundedAll(more)
	if len(top) <= k.n {
		return top
	}
	// What is better than the last of them by more than a tie is among them; only
	// those that share its score have to be put in order.
	least := roundScore(nthLargest(k.copyScores(), k.n))
	better := 0
	for i, r := range top {
		if r.score > least {
			top[better], top[i] = r, top[better]
			better++
		}
	}
	ties := slices.DeleteFunc(top[better:], func(r rankedEntry) bool { return r.score < least })
	v.sortRanked(ties)
	return top[:k.n]
}

func (k *candidates) roundedAll(more int) []rankedEntry {
	top := make([]rankedEntry, 0, len(k.list)+more)
	for _, c := range k.list {
		top = append(top, rankedEntry{c.entryRef, roundScore(c.score)})
	}
	return top
}

func roundScore(score float32) int64 { return int64(math.Round(float64(score) / scoreUnit)) }

// perService is how many operations of one service a ranking by words shows.
// Without it a large service fills every page; a host: filter lifts it.
const perService = 3

// How many operations are looked at closely: those with the best words, and those
// whose meaning seems nearest. The rest keeps the order of its words.
const (
	wordPool      = 128
	embeddingPool = 256
)

// How near the meaning of an operation must be that shares no word with the
// query, to be an answer at all: by itself, and as a share of the nearest.
const (
	minCosine      = 0.13
	minCosineShare = 0.3
)

// A ranking is what is ranked, and by what.
type ranking struct {
	words       *wordScores
	query       *queryEmbedding     // the operations nearest to it are being looked for
	opposed     func(entryRef) bool // operations that lose some of their score; may be nil
	masks       []bitset            // the operations to rank, for each segment
	limit       int                 // how many are asked for
	grouped     bool                // whether a service has at most perService places
	effects     *effectColumn       // what operations do to the world
	act         query.Act           // what is asked for
	verbs       *fieldValues        // the verbs of operations; nil when the verb does not matter
	mentions    []bitset            // the operations that mention what an end is asked of; nil when none is
	verbFactors []float64           // by the number of a verb
}

// rankOperations orders the operations in masks (one for each segment) by both parts of the
// score, and returns the first n of them, where a service has at most perService
// places (any number when grouped is false), whether there are more, and how many
// operations match in all. What is near in meaning is being looked for.
//
// Operations that opposed tells of lose some of their score; it may be nil.
func (v *view) rankOperations(r ranking) (page []rankedEntry, more bool, total int, err error) {
	words, meant, opposed, masks, n, grouped := r.words, r.query, r.opposed, r.masks, r.limit, r.grouped
	wishes := meant.clauses
	mentions := r.mentions
	verbs, verbFactors := r.verbs, r.verbFactors
	effects, factors := r.effects, r.effects.factorsFor(r.act)
	kept, total := v.collectCandidates(words, masks, wordPool)
	pool := kept.unsortedTop(v, embeddingPool)
	scores, seen := words.scores, words.ranked
	clear(seen)
	most := float32(0)
	if len(pool) > 0 {
		first := pool[0]
		for _, r := range pool[1:] {
			if r.ranksBefore(v, first) {
				first = r
			}
		}
		most = max(scores[v.scoreIndex(first.entryRef)], minMaximumShare*words.maximum)
	}
	highest := float32(0) // cosine
	look := func(p entryRef) (r rankedEntry, cosine float32) {
		m := v.embeddingOf(p)
		cosine = m.Cosine(meant.whole)
		if len(wishes) > 0 {
			_, best := nearestClause(wishes, m)
			cosine += clauseWeight * (best - cosine)
		}
		highest = max(highest, cosine)
		seen.add(uint32(v.scoreIndex(p)))
		r = rankedEntry{p, combineScores(scores[v.scoreIndex(p)], most, cosine)}
		if m.Doubtful {
			r.score = int64(float64(r.score) * doubtfulFactor)
		}
		factor := factors[effects.values.valueNumber(p)]
		if verbs != nil {
			factor *= verbFactors[verbs.valueNumber(p)]
		}
		if mentions != nil && effects.classOf(p) == effect.End && !mentions[p.segment].has(p.number) {
			factor *= endsOther
		}
		r.score = int64(float64(r.score) * factor)
		if opposed != nil && opposed(p) {
			r.score = int64(float64(r.score) * opposedFactor)
		}
		return r, cosine
	}
	for i := range pool {
		pool[i], _ = look(pool[i].entryRef)
	}
	type wordless struct {
		rankedEntry
		cosine float32
	}
	var others []wordless
	if err := meant.awaitNear(); err != nil {
		return nil, false, 0, err
	}
	for _, p := range meant.near {
		if seen.has(uint32(v.scoreIndex(p))) {
			continue
		}
		if r, cosine := look(p); scores[v.scoreIndex(p)] > 0 {
			pool = append(pool, r)
		} else {
			others = append(others, wordless{r, cosine})
		}
	}
	var faint []rankedEntry
	for _, o := range others {
		if o.cosine >= max(minCosine, minCosineShare*highest) {
			pool = append(pool, o.rankedEntry)
			words.byEmbedding = append(words.byEmbedding, o.entryRef)
			total++
		} else {
			faint = append(faint, o.rankedEntry)
		}
	}
	v.penalizeHubs(pool, faint)
	if first := v.sortTop(pool, perPage*(n+1)); first < len(pool) {
		if page = v.firstEntries(pool[:first], n+1, grouped); len(page) > n {
			return page[:n], true, total, nil
		}
		v.sortRanked(pool)
	}
	for take := 4 * wordPool; ; take *= 4 {
		page = v.firstEntries(pool, n+1, grouped)
		if len(page) > n || len(pool) == total {
			more = len(page) > n
			return page[:min(n, len(page))], more, total, nil
		}
		// Go on with those that were not looked at closely.
		rest, _ := v.bestByWords(words, masks, take)
		for _, r := range rest {
			if at := uint32(v.scoreIndex(r.entryRef)); !seen.has(at) {
				seen.add(at)
				r.score = min(combineScores(scores[v.scoreIndex(r.entryRef)], most, 0), pool[len(pool)-1].score)
				pool = append(pool, r)
			}
		}
	}
}

// scoreIndex is where an entry's score lies.
func (v *view) scoreIndex(p entryRef) int { return v.segments[p.segment].base + int(p.number) }

func (v *view) embeddingOf(p entryRef) semantic.Embedding {
	return v.segments[p.segment].meanings.embeddingOf(p.number)
}

// doubtfulFactor is the part of its score that an operation keeps whose name and
// intent have nothing in common.
const doubtfulFactor = 0.8

// opposedFactor is the part of its score that an operation keeps whose verb is the
// opposite of one that was asked for: who wants to buy has no use for SELL, though
// the two are said of the same things.
const opposedFactor = 0.8

// minMaximumShare keeps the best from counting as a full match that has only a small
// part of what was asked for.
const minMaximumShare = 0.4

// combineScores is a score in its unit, 0 to 1: the share that an operation's words
// have of the most there is, and its cosine.
func combineScores(words, most, cosine float32) int64 {
	var score float64
	if most > 0 {
		score = float64(words / most)
	}
	score += cosineWeight * float64(max(0, cosine))
	return int64(math.Round(score / (1 + cosineWeight) / scoreUnit))
}

func (v *view) sortRanked(list []rankedEntry) {
	slices.SortFunc(list, func(a, b rankedEntry) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		if v.entryLess(a.entryRef, b.entryRef) {
			return -1
		}
		return 1
	})
}

// sortTop puts about the n best before all others, in order, and returns how many
// they are: as many more as share the score of the last of them.
func (v *view) sortTop(list []rankedEntry, n int) int {
	if n >= len(list) {
		v.sortRanked(list)
		return len(list)
	}
	scores := make([]int64, len(list))
	for i, r := range list {
		scores[i] = r.score
	}
	least, first := nthLargest(scores, n), 0
	for i, r := range list {
		if r.score >= least {
			list[first], list[i] = r, list[first]
			first++
		}
	}
	v.sortRanked(list[:first])
	return first
}

// perPage is how many of the best are put in order for each that is shown. More are
// only where one service has most of them.
const perPage = 6

// firstEntries returns the first n entries, of each host perService when they are grouped.
func (v *view) firstEntries(list []rankedEntry, n int, grouped bool) []rankedEntry {
	if grouped {
		return v.limitPerService(list, n)
	}
	return list[:min(n, len(list))]
}

// limitPerService keeps the first perService entries of each host, n in all.
func (v *view) limitPerService(top []rankedEntry, n int) []rankedEntry {
	seen := make(map[string]int)
	var kept []rankedEntry
	for _, r := range top {
		host := v.runOf(r.entryRef).host
		if seen[host]++; seen[host] <= perService {
			if kept = append(kept, r); len(kept) == n {
				break
			}
		}
	}
	return kept
}

// listInOrder returns entries from to to of those in masks, by host, kind and
// ordinal, and how many there are.
func (v *view) listInOrder(masks []bitset, from, to int) (page []rankedEntry, total int) {
	for i := range masks {
		total += masks[i].count()
	}
	next := make([]int, len(v.segments)) // in each segment
	for at := 0; at < min(to, total); at++ {
		first := -1
		var least entryRef
		for i := range v.segments {
			s := &v.segments[i]
			for next[i] < s.n && !masks[i].has(uint32(next[i])) {
				next[i]++
			}
			if next[i] == s.n {
				continue
			}
			if p := (entryRef{i, uint32(next[i])}); first < 0 || v.entryLess(p, least) {
				first, least = i, p
			}
		}
		next[first]++
		if at >= from {
			page = append(page, rankedEntry{entryRef: least})
		}
	}
	return page, total
}

// applyFilters returns for each segment the entries that a query's filters let
// through.
func (v *view) applyFilters(q query.Query) ([]bitset, error) {
	masks := make([]bitset, len(v.segments))
	narrowed := q.Narrowed()
	for i, s := range v.snapshot.Segments() {
		vs := &v.segments[i]
		mask := vs.searchable
		if q.Aliases {
			mask = vs.withAliases
		}
		if narrowed {
			mask = slices.Clone(mask) // and is changed, here and by what comes after
		}
		for _, f := range query.Filters() {
			values := *f.Values(&q)
			if len(values) == 0 || f.Field == "" {
				continue
			}
			any := newBitset(vs.n)
			for _, value := range values {
				found, err := v.dir.operationsWithValue(s, vs.segmentData, f.Field, value)
				if err != nil {
					return nil, err
				}
				any.addAll(found)
			}
			mask.intersect(any)
		}
		if len(q.Hosts) > 0 {
			mask.intersect(vs.ofHosts(q.Hosts))
		}
		masks[i] = mask
	}
	return masks, nil
}

// ofHosts returns the entries of some hosts. Ids begin with the host, so no
// field is needed for it.
func (s *viewSegment) ofHosts(hosts []string) bitset {
	b := newBitset(s.n)
	for _, host := range hosts {
		for _, r := range s.hostRuns(host) {
			b.addRange(r.start, r.operationsEnd)
		}
	}
	return b
}
