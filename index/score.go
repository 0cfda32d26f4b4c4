package index

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
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
	// meaningWeight is how much a cosine counts beside the share of words.
	meaningWeight = 2
)

// A weighing is how much a field counts, and its usual length in terms, measured
// over 100,000 operations.
type weighing struct{ weight, pivot float64 }

var (
	weighings       = [numFields]weighing{actField: {1, 5}, whatField: {1, 12}, ctxField: {0.4, 12}, heldField: {1, 6}}
	serviceWeighing = weighing{0.7, 30}
)

// termWeight returns the part of the score that depends on the posting alone,
// which is kept with it.
func termWeight(f field, ofService bool, count, length int) float32 {
	w := weighings[f]
	if ofService {
		w = serviceWeighing
	}
	tf := float64(min(count, maxCount))
	return float32(w.weight * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(length)/w.pivot)))
}

// idf is how much a term tells that df of n entries have.
func idf(df, n int) float64 {
	df = min(df, n)
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// sums are the first parts of the scores of a view's entries.
type sums struct {
	scores []float32 // by where an entry lies in the view: see at
	met    []bitset  // for each segment: the entries with a score, deleted ones too
	whole  float32   // about what an operation would have that has all words

	seen   bitset     // by where an entry lies in the view: those that rank has looked at
	room   bitset     // of the other sets
	counts countRoom  // for facets
	kept   candidates // room for the next

	// wordless are the operations that rank found by their meaning alone.
	wordless []place
}

// empty makes room for the entries of a view and leaves nothing in it.
func (s *sums) empty(v *view) {
	if cap(s.scores) < v.size {
		s.scores = make([]float32, v.size)
	}
	s.scores, s.whole, s.wordless = s.scores[:v.size], 0, s.wordless[:0]
	clear(s.scores)
	room := bitsetLen(v.size)
	for i := range v.segments {
		room += bitsetLen(v.segments[i].n)
	}
	if cap(s.room) < room {
		s.room = make(bitset, room)
	}
	left := s.room[:room]
	clear(left)
	take := func(n int) (set bitset) {
		set, left = left[:bitsetLen(n)], left[bitsetLen(n):]
		return set
	}
	s.seen, s.met = take(v.size), s.met[:0]
	for i := range v.segments {
		s.met = append(s.met, take(v.segments[i].n))
	}
}

// score adds up the first parts of the scores of all entries for the stems.
func (l *live) score(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, stems []string, to *sums) error {
	swept := 0
	for _, stem := range stems {
		if swept >= sweptAtOnce {
			swept = 0
			if err := giveWay(ctx); err != nil {
				return err
			}
		}
		found, err := l.find(snapshot, v, stem)
		if err != nil {
			return err
		}
		rarity := float32(idf(v.df(stem, found), v.live))
		to.whole += rarity
		for i, p := range found {
			s := &v.segments[i]
			swept += len(p.all) + len(p.services)
			scores, met := to.scores[s.base:s.base+s.n], to.met[i]
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

// sweptAtOnce is how many postings are gone through before others may go first, a
// tenth of a millisecond or so.
const sweptAtOnce = 1 << 16

// df counts the live operations that a stem occurs in, themselves or through
// their service; one in which it occurs in both ways counts twice.
func (v *view) df(stem string, found []*termPostings) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n, ok := v.dfs[stem]; ok {
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
	if len(v.dfs) >= maxFrequencies {
		clear(v.dfs)
	}
	v.dfs[stem] = n
	return n
}

// maxFrequencies bounds how many stems' frequencies a view keeps.
const maxFrequencies = 1 << 16

// A ranked is an entry and its score in millionths. Scores that differ by less
// are ties, broken by host, kind and ordinal.
type ranked struct {
	place
	score int64
}

const scoreUnit = 1e-6

// before orders better entries first.
func (r ranked) before(v *view, o ranked) bool {
	if r.score != o.score {
		return r.score > o.score
	}
	return v.before(r.place, o.place)
}

// best returns the n best of the entries in masks (one for each segment) by their
// words, in order, and how many have a score at all.
func (v *view) best(words *sums, masks []bitset, n int) (top []ranked, total int) {
	kept, total := v.candidates(words, masks, n)
	return kept.ranked(v), total
}

// candidates gathers the n best, and how many have a score at all. They lie in the
// room of words: what was gathered before is gone.
func (v *view) candidates(words *sums, masks []bitset, n int) (kept candidates, total int) {
	kept = candidates{n: n, limit: 4 * n, list: words.kept.list[:0], scores: words.kept.scores}
	defer func() { words.kept = kept }() // who has it is done with it before the next
	for i := range v.segments {
		s := &v.segments[i]
		scores := words.scores[s.base : s.base+s.n]
		mask := masks[i]
		for at, met := range words.met[i] {
			met &= mask[at]
			total += bits.OnesCount64(met)
			for ; met != 0; met &= met - 1 {
				number := at*64 + bits.TrailingZeros64(met)
				if score := scores[number]; score >= kept.least {
					kept.add(candidate{place{i, uint32(number)}, score})
				}
			}
		}
	}
	return kept, total
}

// A candidate is an entry and its score.
type candidate struct {
	place
	score float32
}

// candidates gathers the n best, and as many more as share the score of the last
// of them, so that what is kept does not depend on the order of what came.
type candidates struct {
	n     int
	list  []candidate
	least float32 // nothing below it can be among the best any more
	limit int     // the length at which the list is pruned

	scores []float32 // room for those of the list
}

func (k *candidates) add(c candidate) {
	if k.list == nil {
		k.limit = 4 * k.n
		k.list = make([]candidate, 0, min(k.limit, 4096))
	}
	k.list = append(k.list, c)
	if len(k.list) < k.limit {
		return
	}
	// Scores that are a tie when they are rounded stay together.
	k.least = max(k.least, nthLargest(k.listed(), k.n)-2*scoreUnit)
	k.list = slices.DeleteFunc(k.list, func(c candidate) bool { return c.score < k.least })
	k.limit = max(4*k.n, 2*len(k.list))
}

// listed returns the scores of the list, to be put in another order.
func (k *candidates) listed() []float32 {
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

// ranked returns the n best, in order.
func (k *candidates) ranked(v *view) []ranked {
	top := k.all(0)
	v.sort(top)
	return top[:min(k.n, len(top))]
}

// some returns the n best, in any order, with room for so many more.
func (k *candidates) some(v *view, more int) []ranked {
	top := k.all(more)
	if len(top) <= k.n {
		return top
	}
	// What is better than the last of them by more than a tie is among them; only
	// those that share its score have to be put in order.
	least := rounded(nthLargest(k.listed(), k.n))
	better := 0
	for i, r := range top {
		if r.score > least {
			top[better], top[i] = r, top[better]
			better++
		}
	}
	ties := slices.DeleteFunc(top[better:], func(r ranked) bool { return r.score < least })
	v.sort(ties)
	return top[:k.n]
}

func (k *candidates) all(more int) []ranked {
	top := make([]ranked, 0, len(k.list)+more)
	for _, c := range k.list {
		top = append(top, ranked{c.place, rounded(c.score)})
	}
	return top
}

func rounded(score float32) int64 { return int64(math.Round(float64(score) / scoreUnit)) }

// perService is how many operations of one service a ranking by words shows.
// Without it a large service fills every page; a host: filter lifts it.
const perService = 3

// How many operations are looked at closely: those with the best words, and those
// whose meaning seems nearest. The rest keeps the order of its words.
const (
	wordPool    = 128
	meaningPool = 256
)

// How near the meaning of an operation must be that shares no word with the
// query, to be an answer at all: by itself, and as a share of the nearest.
const (
	leastCosine = 0.13
	leastShare  = 0.3
)

// rank orders the operations in masks (one for each segment) by both parts of the
// score, and returns the first n of them, where a service has at most perService
// places (any number when grouped is false), whether there are more, and how many
// operations match in all. What is near in meaning is being looked for.
//
// Operations that opposed tells of lose some of their score; it may be nil.
func (v *view) rank(words *sums, meant *sense, opposed func(place) bool, masks []bitset, n int, grouped bool) (page []ranked, more bool, total int, err error) {
	wishes := meant.wishes
	kept, total := v.candidates(words, masks, wordPool)
	pool := kept.some(v, meaningPool)
	scores, seen := words.scores, words.seen
	clear(seen)
	most := float32(0)
	if len(pool) > 0 {
		first := pool[0]
		for _, r := range pool[1:] {
			if r.before(v, first) {
				first = r
			}
		}
		most = max(scores[v.at(first.place)], leastWhole*words.whole)
	}
	highest := float32(0) // cosine
	look := func(p place) (r ranked, cosine float32) {
		m := v.meaning(p)
		cosine = m.cosine(meant.whole)
		if len(wishes) > 0 {
			_, best := nearestWish(wishes, m)
			cosine += wishShare * (best - cosine)
		}
		highest = max(highest, cosine)
		seen.add(uint32(v.at(p)))
		r = ranked{p, combined(scores[v.at(p)], most, cosine)}
		if m.doubtful {
			r.score = int64(float64(r.score) * ofDoubtful)
		}
		if opposed != nil && opposed(p) {
			r.score = int64(float64(r.score) * ofOpposed)
		}
		return r, cosine
	}
	for i := range pool {
		pool[i], _ = look(pool[i].place)
	}
	type wordless struct {
		ranked
		cosine float32
	}
	var others []wordless
	if err := meant.wait(); err != nil {
		return nil, false, 0, err
	}
	for _, p := range meant.near {
		if seen.has(uint32(v.at(p))) {
			continue
		}
		if r, cosine := look(p); scores[v.at(p)] > 0 {
			pool = append(pool, r)
		} else {
			others = append(others, wordless{r, cosine})
		}
	}
	var faint []ranked
	for _, o := range others {
		if o.cosine >= max(leastCosine, leastShare*highest) {
			pool = append(pool, o.ranked)
			words.wordless = append(words.wordless, o.place)
			total++
		} else {
			faint = append(faint, o.ranked)
		}
	}
	v.thin(pool, faint)
	if first := v.sortFirst(pool, perPage*(n+1)); first < len(pool) {
		if page = v.cut(pool[:first], n+1, grouped); len(page) > n {
			return page[:n], true, total, nil
		}
		v.sort(pool)
	}
	for take := 4 * wordPool; ; take *= 4 {
		page = v.cut(pool, n+1, grouped)
		if len(page) > n || len(pool) == total {
			more = len(page) > n
			return page[:min(n, len(page))], more, total, nil
		}
		// Go on with those that were not looked at closely.
		rest, _ := v.best(words, masks, take)
		for _, r := range rest {
			if at := uint32(v.at(r.place)); !seen.has(at) {
				seen.add(at)
				r.score = min(combined(scores[v.at(r.place)], most, 0), pool[len(pool)-1].score)
				pool = append(pool, r)
			}
		}
	}
}

// at is where an entry's score lies.
func (v *view) at(p place) int { return v.segments[p.segment].base + int(p.number) }

func (v *view) meaning(p place) meaning { return v.segments[p.segment].meanings.at(p.number) }

// ofDoubtful is the part of its score that an operation keeps whose name and
// intent have nothing in common.
const ofDoubtful = 0.8

// ofOpposed is the part of its score that an operation keeps whose verb is the
// opposite of one that was asked for: who wants to buy has no use for SELL, though
// the two are said of the same things.
const ofOpposed = 0.8

// leastWhole keeps the best from counting as a full match that has only a small
// part of what was asked for.
const leastWhole = 0.4

// combined is a score in its unit, 0 to 1: the share that an operation's words
// have of the most there is, and its cosine.
func combined(words, most, cosine float32) int64 {
	var score float64
	if most > 0 {
		score = float64(words / most)
	}
	score += meaningWeight * float64(max(0, cosine))
	return int64(math.Round(score / (1 + meaningWeight) / scoreUnit))
}

func (v *view) sort(list []ranked) {
	slices.SortFunc(list, func(a, b ranked) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		if v.before(a.place, b.place) {
			return -1
		}
		return 1
	})
}

// sortFirst puts about the n best before all others, in order, and returns how many
// they are: as many more as share the score of the last of them.
func (v *view) sortFirst(list []ranked, n int) int {
	if n >= len(list) {
		v.sort(list)
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
	v.sort(list[:first])
	return first
}

// perPage is how many of the best are put in order for each that is shown. More are
// only where one service has most of them.
const perPage = 6

// cut returns the first n entries, of each host perService when they are grouped.
func (v *view) cut(list []ranked, n int, grouped bool) []ranked {
	if grouped {
		return v.group(list, n)
	}
	return list[:min(n, len(list))]
}

// group keeps the first perService entries of each host, n in all.
func (v *view) group(top []ranked, n int) []ranked {
	seen := make(map[string]int)
	var kept []ranked
	for _, r := range top {
		host := v.run(r.place).host
		if seen[host]++; seen[host] <= perService {
			if kept = append(kept, r); len(kept) == n {
				break
			}
		}
	}
	return kept
}

// inOrder returns entries from to to of those in masks, by host, kind and
// ordinal, and how many there are.
func (v *view) inOrder(masks []bitset, from, to int) (page []ranked, total int) {
	for i := range masks {
		total += masks[i].count()
	}
	next := make([]int, len(v.segments)) // in each segment
	for at := 0; at < min(to, total); at++ {
		first := -1
		var least place
		for i := range v.segments {
			s := &v.segments[i]
			for next[i] < s.n && !masks[i].has(uint32(next[i])) {
				next[i]++
			}
			if next[i] == s.n {
				continue
			}
			if p := (place{i, uint32(next[i])}); first < 0 || v.before(p, least) {
				first, least = i, p
			}
		}
		next[first]++
		if at >= from {
			page = append(page, ranked{place: least})
		}
	}
	return page, total
}

// filter returns for each segment the entries that a query's filters let
// through.
func (l *live) filter(snapshot *scorch.IndexSnapshot, v *view, q Query) ([]bitset, error) {
	masks := make([]bitset, len(v.segments))
	narrowed := q.narrowed()
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		mask := vs.searched
		if q.Aliases {
			mask = vs.withAliases
		}
		if narrowed {
			mask = slices.Clone(mask) // and is changed, here and by what comes after
		}
		for _, f := range filters {
			values := *f.values(&q)
			if len(values) == 0 || f.field == "" {
				continue
			}
			any := newBitset(vs.n)
			for _, value := range values {
				found, err := l.having(s, vs.segmentData, f.field, value)
				if err != nil {
					return nil, err
				}
				any.or(found)
			}
			mask.and(any)
		}
		if len(q.Hosts) > 0 {
			mask.and(vs.ofHosts(q.Hosts))
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
			b.addRange(r.from, r.to)
		}
	}
	return b
}
