package index

import (
	"cmp"
	"context"
	"gazetteer/index/query"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

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
func (x *Index) Explore(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]Count, error) {
	if limit == 0 {
		limit = maxCounts
	}
	if limit < 1 || limit > maxExplored {
		return nil, &query.Error{Message: "a limit out of range", Help: "ask for 1 to 1,000 values of a field"}
	}
	return x.exploreFacets(ctx, q, fields, limit)
}

// Hosts returns the hosts of all operations that a query finds, those with the most
// first. The error is as of [Index.Search].
func (x *Index) Hosts(ctx context.Context, q query.Query) ([]string, error) {
	counts, err := x.exploreFacets(ctx, q, []string{query.HostKey}, math.MaxInt)
	hosts := make([]string, 0, len(counts[query.HostKey]))
	for _, c := range counts[query.HostKey] {
		hosts = append(hosts, c.Value)
	}
	return hosts, err
}

func (x *Index) exploreFacets(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]Count, error) {
	q.Facets, q.Offset, q.Limit = fields, 0, 1
	if q.IsEmpty() {
		q.States = []string{query.StateValid, query.StateFlawed, query.StateInvalid} // which all have
	}
	q, err := q.Canonical()
	if err != nil {
		return nil, err
	}
	facets := noCounts(fields)
	request := query.ParseRequest(x.analyzer, q.Text())
	if len(request.Words) == 0 && !q.Filtered() {
		return facets, nil // a search for these words finds nothing
	}
	err = x.withSnapshot(func(v *view, _ uint64) error {
		s := &searcher{index: x, view: v, query: q, request: request, maxCounts: limit}
		p, err := s.findPage(ctx)
		facets = p.facets
		return err
	})
	return facets, err
}

// maxExplored is how many values of a field [Index.Explore] names at most.
const maxExplored = 1000

// A column has the values that a segment's operations have of one keyword field,
// as numbers. An operation has at most one of its own; a service has any number,
// which are those of each of its operations.
type column struct {
	values []string
	own    []uint32   // by entry: a value's number, and 0 for none; nil when none has one
	same   []uint32   // by run: the number that all of its operations have, or several; nil as own
	runs   [][]uint32 // by run: the numbers of its service's values
}

// mixedValues stands for a run whose operations differ in a value.
const mixedValues = math.MaxUint32

// valueOf returns the number of an operation's own value.
func (c *column) valueOf(n uint32) uint32 {
	if c.own == nil {
		return 0
	}
	return c.own[n]
}

// columns are read when they are first needed.
type columns struct {
	mu   sync.Mutex // guards following
	read map[string]*column
}

// readColumn returns a column of a segment.
func (d *segmentData) readColumn(s *scorch.SegmentSnapshot, field string) (*column, error) {
	d.columns.mu.Lock()
	defer d.columns.mu.Unlock()
	if c, ok := d.columns.read[field]; ok {
		return c, nil
	}
	if field == query.HostKey {
		return d.hostColumn(), nil
	}
	c := &column{values: []string{""}, runs: make([][]uint32, len(d.runs))}
	err := eachTerm(s, field, func(dictionary segment.TermDictionary, value string) error {
		at := uint32(len(c.values))
		c.values = append(c.values, value)
		return d.eachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
			if d.services.has(number) {
				r := d.runOf[number]
				c.runs[r] = append(c.runs[r], at)
				return
			}
			if c.own == nil {
				c.own = make([]uint32, len(d.numbers))
			}
			c.own[number] = at
		})
	})
	if err != nil {
		return nil, err
	}
	if c.own != nil {
		c.same = make([]uint32, len(d.runs))
		for r := range d.runs {
			c.same[r] = sameOf(c.own[d.runs[r].start:d.runs[r].operationsEnd])
		}
	}
	if d.columns.read == nil {
		d.columns.read = make(map[string]*column)
	}
	d.columns.read[field] = c
	return c, nil
}

// sameOf returns the number that all of own are, or several.
func sameOf(own []uint32) uint32 {
	for _, at := range own {
		if at != own[0] {
			return mixedValues
		}
	}
	if len(own) == 0 {
		return mixedValues
	}
	return own[0]
}

// hostColumn has the hosts, which no field of the index holds but the runs do.
// Runs are in the order of their hosts.
func (d *segmentData) hostColumn() *column {
	c := &column{values: []string{""}, runs: make([][]uint32, len(d.runs))}
	for r := range d.runs {
		if host := d.runs[r].host; host != c.values[len(c.values)-1] {
			c.values = append(c.values, host)
		}
		c.runs[r] = []uint32{uint32(len(c.values) - 1)}
	}
	return c
}

// A tally counts the values of fields.
type facetCounts map[string]fieldTally

type fieldTally struct {
	*fieldValues
	counts []int // by where a value stands in all
	room   *countBuffers
}

// countFacets counts the values of fields over what filters and words found.
func (v *view) countFacets(f *matchSet, fields []string) (facetCounts, error) {
	room := &countBuffers{}
	if f.words != nil {
		room = &f.words.counting
	}
	sums, total := make(facetCounts, len(fields)), 0
	for _, field := range fields {
		all, err := v.joinColumns(field)
		if err != nil {
			return nil, err
		}
		total += len(all.all)
		sums[field] = fieldTally{fieldValues: all, room: room}
	}
	counts := room.zeroCounts(total)
	for field, sum := range sums {
		sum.counts, counts = counts[:len(sum.all)], counts[len(sum.all):]
		sums[field] = sum
	}
	for i := range v.segments {
		room.operations = f.appendOperations(i, room.operations[:0])
		room.runs = runsOf(room.operations, v.segments[i].runOf, room.runs[:0])
		for _, sum := range sums {
			sum.columns[i].countValues(room.operations, room.runs, sum.of[i], sum.counts)
		}
	}
	return sums, nil
}

// addEntries counts operations that were found in another way.
func (t facetCounts) addEntries(v *view, operations []entryRef) {
	for _, p := range operations {
		one, run := []uint32{p.number}, []runCount{{v.segments[p.segment].runOf[p.number], 0, 1}}
		for _, sum := range t {
			sum.columns[p.segment].countValues(one, run, sum.of[p.segment], sum.counts)
		}
	}
}

// mostFrequent names the most frequent values of each field.
func (t facetCounts) mostFrequent(limit int) map[string][]Count {
	facets := make(map[string][]Count, len(t))
	for field, sum := range t {
		facets[field] = sum.mostFrequent(limit)
	}
	return facets
}

// noCounts are the counts of fields over nothing.
func noCounts(fields []string) map[string][]Count {
	facets := make(map[string][]Count, len(fields))
	for _, field := range fields {
		facets[field] = []Count{}
	}
	return facets
}

// fieldValues are all that a field has in a view.
type fieldValues struct {
	all     []string // the first is "", of no value
	columns []*column
	of      [][]uint32 // for each segment: where its values stand in all
	// folded tells where the values stand in all that are a text in lower case.
	folded func() map[string][]int
}

func (v *fieldValues) indexFolded() map[string][]int {
	folded := make(map[string][]int, len(v.all))
	for at, value := range v.all {
		lower := strings.ToLower(value)
		folded[lower] = append(folded[lower], at)
	}
	return folded
}

// valueNumber tells where an operation's own value stands in all.
func (v *fieldValues) valueNumber(p entryRef) uint32 {
	return v.of[p.segment][v.columns[p.segment].valueOf(p.number)]
}

// joinColumns joins the columns of a field, once for a view.
func (v *view) joinColumns(field string) (*fieldValues, error) {
	v.listMu.Lock()
	defer v.listMu.Unlock()
	if joined, ok := v.joined[field]; ok {
		return joined, nil
	}
	joined := &fieldValues{all: []string{""}}
	joined.folded = sync.OnceValue(joined.indexFolded)
	places := map[string]uint32{"": 0}
	for i, s := range v.snapshot.Segments() {
		c, err := v.segments[i].readColumn(s, field)
		if err != nil {
			return nil, err
		}
		of := make([]uint32, len(c.values))
		for n, value := range c.values {
			at, met := places[value]
			if !met {
				at = uint32(len(joined.all))
				places[value] = at
				joined.all = append(joined.all, value)
			}
			of[n] = at
		}
		joined.columns, joined.of = append(joined.columns, c), append(joined.of, of)
	}
	if v.joined == nil {
		v.joined = make(map[string]*fieldValues)
	}
	v.joined[field] = joined
	return joined, nil
}

// A runCount says how many of a run's operations were found, and where they begin
// among all of the segment that were.
type runCount struct {
	run         uint32
	from, found int
}

// A countBuffers is room for counting, which is used again.
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

// runsOf appends the runs of operations, which are in order.
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

// countValues counts values over operations, which are in order and of these runs. to
// says where each value is counted.
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
	several := t.room.several[:0] // what is counted more than once
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
		counts = append(counts, Count{t.all[at], n})
		if len(counts)/4 >= limit { // many are as rare as the last of them
			order()
		}
	}
	order()
	return slices.Clip(counts)
}
