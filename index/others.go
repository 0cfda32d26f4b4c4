package index

import (
	"context"
	"slices"
)

// maxOthers is how many services and how many data classes a result names.
const maxOthers = 3

// addOthers adds the services and data classes with the best words of their own.
// One service stands behind many operations, so they are few.
func (x *Index) addOthers(ctx context.Context, v *view, f *found, result *Result) error {
	services, classes := make([]bitset, len(v.segments)), make([]bitset, len(v.segments))
	for i := range v.segments {
		s := &v.segments[i]
		services[i], classes[i] = s.others(f, i, s.services), s.others(f, i, s.classes)
	}
	top, _ := v.best(f.scores, services, maxOthers)
	for _, r := range top {
		run := v.run(r.place)
		t, err := x.texts.find(ctx, run.source)
		if err != nil {
			return err
		}
		if t != nil && t.print == run.print {
			result.Services = append(result.Services, ServiceHit{
				Host: run.host, Kind: run.kind, Service: t.Service, Operations: len(t.operations), Score: float64(r.score) * scoreUnit,
			})
		}
	}
	top, _ = v.best(f.scores, classes, maxOthers)
	for _, r := range top {
		run, n := v.run(r.place), v.ordinal(r.place)
		t, err := x.texts.find(ctx, run.source)
		if err != nil {
			return err
		}
		if t != nil && t.print == run.print && n < len(t.DataClasses) {
			result.Classes = append(result.Classes, ClassHit{
				Host: run.host, Kind: run.kind, Class: t.DataClasses[n], Score: float64(r.score) * scoreUnit,
			})
		}
	}
	return nil
}

// others returns the entries of one sort that share words with the query and
// stand for documents of which an operation may be returned.
func (s *viewSegment) others(f *found, segment int, sort bitset) bitset {
	b := newBitset(s.n)
	scores := f.scores[s.base : s.base+s.n]
	sort.each(func(n uint32) {
		if scores[n] <= 0 || s.deleted.has(n) {
			return
		}
		if slices.ContainsFunc(s.operationsOf(s.runOf[n]), f.masks[segment].has) {
			b.add(n)
		}
	})
	return b
}
