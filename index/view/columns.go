package view

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/bitset"
	"gazetteer/index/query"
)

// A Count says how many operations of a result have a value.
type Count struct {
	Value      string `json:"value"`
	Operations int    `json:"operations"`
}

// A column has the values of one keyword field for a segment's operations, as numbers. An operation
// has at most one value of its own. A service has any number of values, which apply to each of its
// operations.
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

// columns are read on first use.
type columns struct {
	mu   sync.Mutex // guards the following fields
	read map[string]*column
}

// readColumn returns a column of a segment.
func (d *SegmentData) readColumn(s *scorch.SegmentSnapshot, field string) (*column, error) {
	d.columns.mu.Lock()
	defer d.columns.mu.Unlock()
	if c, ok := d.columns.read[field]; ok {
		return c, nil
	}
	if field == query.HostKey {
		return d.hostColumn(), nil
	}
	c := &column{values: []string{""}, runs: make([][]uint32, len(d.Runs))}
	err := eachTerm(s, field, func(dictionary segment.TermDictionary, value string) error {
		at := uint32(len(c.values))
		c.values = append(c.values, value)
		return d.EachPosting(s, dictionary, value, false, func(number uint32, _, _ int) {
			if d.Services.Has(number) {
				r := d.RunOf[number]
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
		c.same = make([]uint32, len(d.Runs))
		for r := range d.Runs {
			c.same[r] = sameOf(c.own[d.Runs[r].start:d.Runs[r].operationsEnd])
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

// hostColumn returns the hosts. They are not a field of the index but known from the runs, which
// are in the order of their hosts.
func (d *SegmentData) hostColumn() *column {
	c := &column{values: []string{""}, runs: make([][]uint32, len(d.Runs))}
	for r := range d.Runs {
		if host := d.Runs[r].Host; host != c.values[len(c.values)-1] {
			c.values = append(c.values, host)
		}
		c.runs[r] = []uint32{uint32(len(c.values) - 1)}
	}
	return c
}

// FieldValues are all that a field has in a view.
type FieldValues struct {
	All     []string // the first is "", of no value
	columns []*column
	of      [][]uint32 // for each segment: where its values stand in all
	// Folded tells where the values stand in all that are a text in lower case.
	Folded func() map[string][]int

	memoMu sync.Mutex // guards the following fields
	memo   map[string][]float64
}

// maxMemo bounds the cached lists of numbers of a field's values.
const maxMemo = 256

// Memoize returns a number for each value, computed by compute. The numbers are computed once for
// each key; the caller must not change them.
func (v *FieldValues) Memoize(key string, compute func(value string) float64) []float64 {
	v.memoMu.Lock()
	defer v.memoMu.Unlock()
	if numbers, ok := v.memo[key]; ok {
		return numbers
	}
	numbers := make([]float64, len(v.All))
	for i, value := range v.All {
		numbers[i] = compute(value)
	}
	if v.memo == nil || len(v.memo) >= maxMemo {
		v.memo = make(map[string][]float64)
	}
	v.memo[key] = numbers
	return numbers
}

func (v *FieldValues) indexFolded() map[string][]int {
	folded := make(map[string][]int, len(v.All))
	for at, value := range v.All {
		lower := strings.ToLower(value)
		folded[lower] = append(folded[lower], at)
	}
	return folded
}

// ValueNumber returns the index of an operation's own value in All.
func (v *FieldValues) ValueNumber(p EntryRef) uint32 {
	return v.of[p.Segment][v.columns[p.Segment].valueOf(p.Number)]
}

// RemoveMarked removes from masks the operations whose own value is marked, by its index in All. It
// returns their number.
func (v *FieldValues) RemoveMarked(masks []bitset.Set, marked []bool) (count int) {
	for i, mask := range masks {
		c, own := v.columns[i], make([]bool, len(v.of[i])) // marked, by the numbers of the segment
		for n, at := range v.of[i] {
			own[n] = marked[at]
		}
		if !slices.Contains(own, true) {
			continue // the usual case: "I can't believe it"
		}
		mask.ForEach(func(number uint32) {
			if own[c.valueOf(number)] {
				mask.Remove(number)
				count++
			}
		})
	}
	return count
}

// JoinColumns joins the columns of a field, once for a view.
func (v *View) JoinColumns(field string) (*FieldValues, error) {
	v.listMu.Lock()
	defer v.listMu.Unlock()
	if joined, ok := v.joined[field]; ok {
		return joined, nil
	}
	labels := v.Directory.hostLabels()
	var shared *sharedColumns
	if field != query.IsKey {
		var err error
		if shared, err = v.columnsOf(field); err != nil {
			return nil, err
		}
	}
	joined := &FieldValues{All: []string{""}}
	joined.Folded = sync.OnceValue(joined.indexFolded)
	places := map[string]uint32{"": 0}
	for i := range v.Segments {
		var c *column
		if field == query.IsKey {
			c = v.Segments[i].stateColumn(labels)
		} else {
			c = shared.columns[i]
		}
		of := make([]uint32, len(c.values))
		for n, value := range c.values {
			at, met := places[value]
			if !met {
				at = uint32(len(joined.All))
				places[value] = at
				joined.All = append(joined.All, value)
			}
			of[n] = at
		}
		joined.columns, joined.of = append(joined.columns, c), append(joined.of, of)
	}
	if field == query.IsKey {
		return joined, nil
	}
	if v.joined == nil {
		v.joined = make(map[string]*FieldValues)
	}
	v.joined[field] = joined
	return joined, nil
}

// A ValueCount is one value of a listing, with the number of operations and of
// services that have it.
type ValueCount struct {
	Value      string `json:"value"`
	Operations int    `json:"operations"`
	Services   int    `json:"services"`
}

// CountValues counts the values of a field over all operations that a search may return. A view
// counts each field once.
func (v *View) CountValues(field string) ([]ValueCount, error) {
	v.listMu.Lock()
	defer v.listMu.Unlock()
	if list, ok := v.lists[field]; ok {
		return list, nil
	}
	operations := make(map[string]int)
	hosts := make(map[string]map[string]bool)
	count := func(value, host string, n int) {
		if hosts[value] == nil {
			hosts[value] = make(map[string]bool)
		}
		operations[value] += n
		hosts[value][host] = true
	}
	shared, err := v.columnsOf(field)
	if err != nil {
		return nil, err
	}
	for i, c := range shared.columns {
		vs := &v.Segments[i]
		perRun := make([]int, len(vs.Runs))
		vs.Searchable.ForEach(func(n uint32) {
			r := vs.RunOf[n]
			perRun[r]++
			if at := c.valueOf(n); at > 0 {
				count(c.values[at], vs.Runs[r].Host, 1)
			}
		})
		for r, n := range perRun {
			for _, at := range c.runs[r] {
				if n > 0 {
					count(c.values[at], vs.Runs[r].Host, n)
				}
			}
		}
	}
	list := make([]ValueCount, 0, len(operations))
	for value, n := range operations {
		list = append(list, ValueCount{value, n, len(hosts[value])})
	}
	slices.SortFunc(list, func(a, b ValueCount) int { return strings.Compare(a.Value, b.Value) })
	if v.lists == nil {
		v.lists = make(map[string][]ValueCount)
	}
	v.lists[field] = list
	return list, nil
}

// valueNames returns values of the column, sorted and without duplicates and the empty value.
func (c *column) valueNames(at []uint32) []string {
	at = slices.Clone(at)
	slices.Sort(at) // as the values are
	var names []string
	for _, i := range slices.Compact(at) {
		if c.values[i] != "" {
			names = append(names, c.values[i])
		}
	}
	return names
}
