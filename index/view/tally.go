package view

import (
	"cmp"
	"slices"
	"strings"
)

// FacetCounts has the counts of the values of fields.
type FacetCounts map[string]fieldTally

type fieldTally struct {
	*FieldValues
	counts []int // by the index of a value in All
	room   *countBuffers
}

// CountFacets counts the values of fields over the matches of filters and words.
func (v *View) CountFacets(f *MatchSet, fields []string) (FacetCounts, error) {
	room := &countBuffers{}
	if f.Words != nil {
		room = &f.Words.counting
	}
	sums, total := make(FacetCounts, len(fields)), 0
	for _, field := range fields {
		all, err := v.JoinColumns(field)
		if err != nil {
			return nil, err
		}
		total += len(all.All)
		sums[field] = fieldTally{FieldValues: all, room: room}
	}
	counts := room.zeroCounts(total)
	for field, sum := range sums {
		sum.counts, counts = counts[:len(sum.All)], counts[len(sum.All):]
		sums[field] = sum
	}
	for i := range v.Segments {
		room.operations = f.appendOperations(i, room.operations[:0])
		room.runs = runsOf(room.operations, v.Segments[i].RunOf, room.runs[:0])
		for _, sum := range sums {
			sum.columns[i].countValues(room.operations, room.runs, sum.of[i], sum.counts)
		}
	}
	return sums, nil
}

// AddEntries also counts operations that were found in another way.
func (t FacetCounts) AddEntries(v *View, operations []EntryRef) {
	if len(t) == 0 {
		return
	}
	for _, p := range operations {
		one, run := []uint32{p.Number}, []runCount{{v.Segments[p.Segment].RunOf[p.Number], 0, 1}}
		for _, sum := range t {
			sum.columns[p.Segment].countValues(one, run, sum.of[p.Segment], sum.counts)
		}
	}
}

// MostFrequent returns the most frequent values of each field, and the number of all its values.
func (t FacetCounts) MostFrequent(limit int) (facets map[string][]Count, values map[string]int) {
	facets, values = make(map[string][]Count, len(t)), make(map[string]int, len(t))
	for field, sum := range t {
		facets[field], values[field] = sum.mostFrequent(limit), sum.countDistinct()
	}
	return facets, values
}

// countDistinct returns the number of values that an operation has.
func (t fieldTally) countDistinct() int {
	distinct := 0
	for _, n := range t.counts[1:] { // the first is no value
		if n > 0 {
			distinct++
		}
	}
	return distinct
}

// NoCounts returns the counts of fields over no operation.
func NoCounts(fields []string) map[string][]Count {
	facets := make(map[string][]Count, len(fields))
	for _, field := range fields {
		facets[field] = []Count{}
	}
	return facets
}

// A runCount is the number of the found operations of a run, and the index of the first of them
// among all found operations of the segment.
type runCount struct {
	run         uint32
	from, found int
}

// A countBuffers has buffers for counting, which are reused.
type countBuffers struct {
	counts     []int
	several    []int
	operations []uint32
	runs       []runCount
}

// zeroCounts returns n counts of 0.
func (r *countBuffers) zeroCounts(n int) []int {
	if cap(r.counts) < n {
		r.counts = make([]int, n)
	}
	counts := r.counts[:n]
	clear(counts)
	return counts
}

// runsOf appends the runs of operations, which are sorted.
func runsOf(operations, runOf []uint32, to []runCount) []runCount {
	for from := 0; from < len(operations); {
		r, end := runOf[operations[from]], from+1
		for end < len(operations) && runOf[operations[end]] == r {
			end++
		}
		to = append(to, runCount{r, from, end - from})
		from = end
	}
	return to
}

// countValues counts values over operations, which are sorted and belong to these runs. to maps
// each value to its count.
func (c *column) countValues(operations []uint32, runs []runCount, to []uint32, counts []int) {
	if c.own != nil {
		for _, r := range runs {
			if at := c.same[r.run]; at != mixedValues {
				counts[to[at]] += r.found
				continue
			}
			for _, n := range operations[r.from : r.from+r.found] {
				counts[to[c.own[n]]]++
			}
		}
	}
	for _, r := range runs {
		for _, at := range c.runs[r.run] {
			counts[to[at]] += r.found
		}
	}
}

// mostFrequent returns the values with the highest counts, in order.
func (t fieldTally) mostFrequent(limit int) []Count {
	counts := []Count{}
	order := func() {
		slices.SortFunc(counts, func(a, b Count) int {
			return cmp.Or(cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Value, b.Value))
		})
		counts = counts[:min(limit, len(counts))]
	}
	least := 1
	several := t.room.several[:0] // the values that occur more than once
	for at, n := range t.counts {
		if at > 0 && n > 1 {
			several = append(several, n)
		}
	}
	t.room.several = several
	if len(several) > limit {
		least = nthLargest(several, limit)
	}
	for at, n := range t.counts {
		if at == 0 || n < least {
			continue
		}
		counts = append(counts, Count{t.All[at], n})
		if len(counts)/4 >= limit { // many are as rare as the last one
			order()
		}
	}
	order()
	return slices.Clip(counts)
}
