package index

import (
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// The score of an entry is a sum over the query's terms and the three fields:
//
//	sum of  weight(field) · idf(term) · tf·(k1+1) / (tf + k1·(1 − b + b·length/pivot(field)))
//
// which is BM25 by field with fixed pivots in place of average lengths, and with
// idf from the entries that are alive now. So the score of an entry depends on what the
// index holds and on nothing else: not on its history, not on its segments.
const (
	k1 = 1.2
	b  = 0.5
	// maxCount is how often a term counts in a field: repeating it more often
	// only makes the field longer, and so the score lower.
	maxCount = 3
)

// fieldWeights and pivots are per field, in the order act, what, ctx. A pivot is
// the usual length in terms, measured over 100,000 operations.
func fieldWeight(f field) float64 { return [numFields]float64{1, 1, 0.6}[f] }
func pivot(f field) float64       { return [numFields]float64{5, 12, 40}[f] }

// termWeight returns the part of the score that depends on the posting alone,
// which is kept with it.
func termWeight(f field) func(count, length int) float32 {
	p := pivot(f)
	return func(count, length int) float32 {
		tf := float64(min(count, maxCount))
		return float32(tf * (k1 + 1) / (tf + k1*(1-b+b*float64(length)/p)))
	}
}

// idf is how much a term tells that df of n entries have.
func idf(df, n int) float64 {
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// score adds up the scores of all entries for the stems. The result has one
// number for each entry of the view; 0 is no match.
func (l *live) score(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, stems []string) ([]float32, error) {
	scores := make([]float32, v.size)
	segments := snapshot.Segments()
	found := make([][numFields][]posting, len(segments))
	for _, stem := range stems {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		df := 0 // in the field where the term is most usual
		for f := range numFields {
			n := 0
			for i, s := range segments {
				p, err := l.find(s, f.String(), stem, termWeight(f))
				if err != nil {
					return nil, err
				}
				found[i][f] = p
				n += v.segments[i].countLive(p)
			}
			df = max(df, n)
		}
		rarity := idf(df, v.live)
		for f := range numFields {
			weight := float32(fieldWeight(f) * rarity)
			for i := range found {
				base := scores[v.segments[i].base:]
				for _, at := range found[i][f] {
					base[at.number] += weight * at.weight
				}
			}
		}
	}
	return scores, nil
}

// countLive counts the postings of entries that are not deleted.
func (s *viewSegment) countLive(p []posting) int {
	if s.dead == 0 {
		return len(p)
	}
	n := 0
	for _, at := range p {
		if !s.deleted.has(at.number) {
			n++
		}
	}
	return n
}

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

// best returns the n best of the entries in masks (one for each segment), in
// order, and how many have a score at all.
func (v *view) best(scores []float32, masks []bitset, n int) (top []ranked, total int) {
	h := &worstFirst{view: v}
	least := 0.0 // what is below cannot be among the best any more
	for i := range v.segments {
		s := &v.segments[i]
		for number, score := range scores[s.base : s.base+s.n] {
			if score <= 0 || !masks[i].has(uint32(number)) {
				continue
			}
			total++
			if float64(score) < least {
				continue
			}
			r := ranked{place{i, uint32(number)}, int64(math.Round(float64(score) / scoreUnit))}
			switch {
			case len(h.items) < n:
				heap.Push(h, r)
			case r.score >= h.items[0].score && r.before(v, h.items[0]):
				h.items[0] = r
				heap.Fix(h, 0)
			}
			if len(h.items) == n {
				// A unit less, because scores are rounded.
				least = float64(h.items[0].score-1) * scoreUnit
			}
		}
	}
	slices.SortFunc(h.items, func(a, b ranked) int {
		if a.before(v, b) {
			return -1
		}
		return 1
	})
	return h.items, total
}

// worstFirst is a heap of the best entries so far, the worst of them on top.
type worstFirst struct {
	view  *view
	items []ranked
}

func (h *worstFirst) Len() int           { return len(h.items) }
func (h *worstFirst) Less(i, j int) bool { return h.items[j].before(h.view, h.items[i]) }
func (h *worstFirst) Swap(i, j int)      { h.items[i], h.items[j] = h.items[j], h.items[i] }
func (h *worstFirst) Push(x any)         { h.items = append(h.items, x.(ranked)) }
func (h *worstFirst) Pop() any {
	last := h.items[len(h.items)-1]
	h.items = h.items[:len(h.items)-1]
	return last
}

// perService is how many operations of one service a ranking by words shows.
// Without it a large service fills every page; a host: filter lifts it.
const perService = 3

// rank returns the first n entries of the ranking in which a service has at most
// perService places (any number when grouped is false), whether there are more,
// and how many entries match in all.
func (v *view) rank(scores []float32, masks []bitset, n int, grouped bool) (page []ranked, more bool, total int) {
	// The best few entries usually hold enough services; if they do not, look
	// at more of them.
	for take := max(64, 2*(n+1)); ; take *= 4 {
		var top []ranked
		top, total = v.best(scores, masks, take)
		page = top
		if grouped {
			page = v.group(top)
		}
		if len(page) > n || len(top) == total {
			more = len(page) > n
			return page[:min(n, len(page))], more, total
		}
	}
}

// group keeps the first perService entries of each host.
func (v *view) group(top []ranked) []ranked {
	seen := make(map[string]int)
	var kept []ranked
	for _, r := range top {
		host := v.run(r.place).host
		if seen[host]++; seen[host] <= perService {
			kept = append(kept, r)
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
	next := make([]int, len(v.segments)) // into the order of each segment
	for at := 0; at < min(to, total); at++ {
		first := -1
		var least place
		for i := range v.segments {
			s := &v.segments[i]
			for next[i] < s.n && !masks[i].has(s.order[next[i]]) {
				next[i]++
			}
			if next[i] == s.n {
				continue
			}
			if p := (place{i, s.order[next[i]]}); first < 0 || v.before(p, least) {
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
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		mask := vs.searched
		if q.Aliases {
			mask = vs.withAliases
		}
		mask = slices.Clone(mask)
		for _, f := range filters {
			values := *f.values(&q)
			if len(values) == 0 || f.field == "" {
				continue
			}
			any := newBitset(vs.n)
			for _, value := range values {
				found, err := l.find(s, f.field, value, nil)
				if err != nil {
					return nil, err
				}
				for _, at := range found {
					any.add(at.number)
				}
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
			for _, n := range s.order[r.from:r.to] {
				b.add(n)
			}
		}
	}
	return b
}
