package index

import (
	"context"
	"gazetteer/index/query"
	"slices"
	"strings"
)

// A ValueCount is one value of a listing, with the number of operations and of
// services that have it.
type ValueCount struct {
	Value      string `json:"value"`
	Operations int    `json:"operations"`
	Services   int    `json:"services"`
}

// Namespaces returns all namespaces that qualify verbs (AGIS §8.2), sorted. What a
// search would not return (aliases, superseded documents) does not count.
func (x *Index) Namespaces(ctx context.Context) ([]ValueCount, error) {
	return x.listValues(ctx, query.NamespaceField)
}

// DataClasses returns all data classes that services say they hold (AGIS §8.3),
// sorted; otherwise as [Index.Namespaces].
func (x *Index) DataClasses(ctx context.Context) ([]ValueCount, error) {
	return x.listValues(ctx, query.ClassField)
}

func (x *Index) listValues(ctx context.Context, field string) ([]ValueCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var values []ValueCount
	err := x.withSnapshot(func(v *view, _ uint64) (err error) {
		values, err = v.countValues(field)
		return err
	})
	return slices.Clone(values), err
}

// countValues counts the values of a field over all that a search may return. A view
// counts each field once.
func (v *view) countValues(field string) ([]ValueCount, error) {
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
	for i, s := range v.snapshot.Segments() {
		vs := &v.segments[i]
		c, err := vs.readColumn(s, field)
		if err != nil {
			return nil, err
		}
		perRun := make([]int, len(vs.runs))
		vs.searchable.forEach(func(n uint32) {
			r := vs.runOf[n]
			perRun[r]++
			if at := c.valueOf(n); at > 0 {
				count(c.values[at], vs.runs[r].host, 1)
			}
		})
		for r, n := range perRun {
			for _, at := range c.runs[r] {
				if n > 0 {
					count(c.values[at], vs.runs[r].host, n)
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
