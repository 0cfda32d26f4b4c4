package view

import (
	"cmp"
	"math"
	"slices"
)

// A Candidate is an entry and its score.
type Candidate struct {
	EntryRef
	Score float32
}

// Candidates collects the n best entries, and all others with the score of the last of them, so
// that the result does not depend on the order of insertion.
type Candidates struct {
	N         int
	list      []Candidate
	Threshold float32 // entries below it cannot be among the best
	limit     int     // the length at which the list is pruned

	scores []float32 // room for those of the list
}

func (k *Candidates) AddCandidate(c Candidate) {
	if k.list == nil {
		k.limit = 4 * k.N
		k.list = make([]Candidate, 0, min(k.limit, 4096))
	}
	k.list = append(k.list, c)
	if len(k.list) < k.limit {
		return
	}
	// Scores that are equal after rounding stay together.
	k.Threshold = max(k.Threshold, nthLargest(k.copyScores(), k.N)-2*ScoreUnit)
	k.list = slices.DeleteFunc(k.list, func(c Candidate) bool { return c.Score < k.Threshold })
	k.limit = max(4*k.N, 2*len(k.list))
}

// copyScores returns a copy of the scores of the list, which the caller may reorder.
func (k *Candidates) copyScores() []float32 {
	if cap(k.scores) < len(k.list) {
		k.scores = make([]float32, 2*len(k.list))
	}
	scores := k.scores[:len(k.list)]
	for i, c := range k.list {
		scores[i] = c.Score
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

// SortedTop returns the n best, in order.
func (k *Candidates) SortedTop(v *View) []RankedEntry {
	top := k.appendRounded(nil)
	v.SortRanked(top)
	return top[:min(k.N, len(top))]
}

// unsortedTop returns the n best, in any order, in the given room if it suffices.
func (k *Candidates) unsortedTop(v *View, room []RankedEntry) []RankedEntry {
	top := k.appendRounded(room)
	if len(top) <= k.N {
		return top
	}
	// Entries that are better than the last by more than a tie are among them; only those with its
	// score have to be ordered.
	least := roundScore(nthLargest(k.copyScores(), k.N))
	better := 0
	for i, r := range top {
		if r.Score > least {
			top[better], top[i] = r, top[better]
			better++
		}
	}
	ties := slices.DeleteFunc(top[better:], func(r RankedEntry) bool { return r.Score < least })
	v.SortRanked(ties)
	return top[:k.N]
}

func (k *Candidates) appendRounded(room []RankedEntry) []RankedEntry {
	top := slices.Grow(room[:0], len(k.list))
	for _, c := range k.list {
		top = append(top, RankedEntry{c.EntryRef, roundScore(c.Score)})
	}
	return top
}

func roundScore(score float32) int64 { return int64(math.Round(float64(score) / ScoreUnit)) }
