package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// FacetFields are the fields whose values can be counted, sorted. They are the
// keys of the query language that have a field, and two that only describe:
// category and capability.
func FacetFields() []string {
	fields := []string{categoryField, capabilityField}
	for _, f := range filters {
		if f.field != "" {
			fields = append(fields, f.field)
		}
	}
	slices.Sort(fields)
	return fields
}

// A Count says how many operations of a result have a value.
type Count struct {
	Value      string `json:"value"`
	Operations int    `json:"operations"`
}

// maxCounts is how many values of a facet a search names.
const maxCounts = 20

// Explore counts the values of fields over all operations that a query finds,
// without showing any: the most frequent first, at most limit of each (20 when 0,
// at most 1,000). A query without words and filters explores everything. The
// error is as of [Index.Search].
func (x *Index) Explore(ctx context.Context, q Query, fields []string, limit int) (map[string][]Count, error) {
	if limit == 0 {
		limit = maxCounts
	}
	if limit < 1 || limit > maxExplored {
		return nil, &QueryError{Message: "a limit out of range", Help: "ask for 1 to 1,000 values of a field"}
	}
	q.Facets, q.Offset, q.Limit = fields, 0, 1
	if q.empty() {
		q.States = []string{stateValid, stateFlawed, stateInvalid} // which all have
	}
	q, err := q.canonical()
	if err != nil {
		return nil, err
	}
	var counts map[string][]Count
	words := queryWords(x.analyzer, q.text())
	err = x.read(func(l *live, _ uint64, snapshot *scorch.IndexSnapshot, v *view) error {
		found, err := x.match(ctx, l, snapshot, v, q, words)
		if err != nil {
			return err
		}
		defer found.done()
		counts, err = l.facets(snapshot, v, found, fields, limit)
		return err
	})
	return counts, err
}

// maxExplored is how many values of a field [Index.Explore] names at most.
const maxExplored = 1000

// A column has the values that a segment's operations have of one keyword field,
// as numbers. An operation has at most one of its own; a service has any number,
// which are those of each of its operations.
type column struct {
	values []string
	own    []uint32   // by entry: a value's number, and 0 for none
	runs   [][]uint32 // by run: the numbers of its service's values
}

// columns are read when they are first needed.
type columns struct {
	mu   sync.Mutex // guards following
	read map[string]*column
}

// column returns a column of a segment.
func (d *segmentData) column(s *scorch.SegmentSnapshot, field string) (*column, error) {
	d.columns.mu.Lock()
	defer d.columns.mu.Unlock()
	if c, ok := d.columns.read[field]; ok {
		return c, nil
	}
	c := &column{values: []string{""}, own: make([]uint32, len(d.order)), runs: make([][]uint32, len(d.runs))}
	err := eachTerm(s, field, func(dictionary segment.TermDictionary, value string) error {
		at := uint32(len(c.values))
		c.values = append(c.values, value)
		return eachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
			if d.services.has(number) {
				r := d.runOf[number]
				c.runs[r] = append(c.runs[r], at)
			} else {
				c.own[number] = at
			}
		})
	})
	if err != nil {
		return nil, err
	}
	if d.columns.read == nil {
		d.columns.read = make(map[string]*column)
	}
	d.columns.read[field] = c
	return c, nil
}

// facets counts the values of fields over what was found.
func (l *live) facets(snapshot *scorch.IndexSnapshot, v *view, f *found, fields []string, limit int) (map[string][]Count, error) {
	facets := make(map[string][]Count, len(fields))
	for _, field := range fields {
		facets[field] = nil
	}
	sums := make(map[string]map[string]int, len(fields))
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		numbers := f.numbers(i, vs)
		if len(numbers) == 0 {
			continue
		}
		perRun := make([]uint32, len(vs.runs))
		for _, n := range numbers {
			perRun[vs.runOf[n]]++
		}
		for field := range facets {
			c, err := vs.column(s, field)
			if err != nil {
				return nil, err
			}
			counts := c.count(numbers, perRun)
			sum := sums[field]
			if sum == nil {
				sum = make(map[string]int)
				sums[field] = sum
			}
			for at, n := range counts {
				if n > 0 && at > 0 {
					sum[c.values[at]] += int(n)
				}
			}
		}
	}
	for field, sum := range sums {
		facets[field] = mostFrequent(sum, limit)
	}
	return facets, nil
}

// count counts values over entries, of which perRun has the number in each run.
func (c *column) count(numbers, perRun []uint32) []uint32 {
	counts := make([]uint32, len(c.values))
	for _, n := range numbers {
		counts[c.own[n]]++
	}
	for r, n := range perRun {
		if n > 0 {
			for _, at := range c.runs[r] {
				counts[at] += n
			}
		}
	}
	return counts
}

// mostFrequent returns the values with the highest counts, in order.
func mostFrequent(sum map[string]int, limit int) []Count {
	counts := make([]Count, 0, len(sum))
	for value, n := range sum {
		counts = append(counts, Count{value, n})
	}
	order := func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Value, b.Value))
	}
	if len(counts) > 4*limit {
		// Most values are rare: only those as frequent as the last one shown
		// need sorting.
		frequencies := make([]int, len(counts))
		for i, c := range counts {
			frequencies[i] = c.Operations
		}
		slices.Sort(frequencies)
		least := frequencies[len(frequencies)-limit]
		counts = slices.DeleteFunc(counts, func(c Count) bool { return c.Operations < least })
	}
	slices.SortFunc(counts, order)
	return slices.Clip(counts[:min(limit, len(counts))])
}
