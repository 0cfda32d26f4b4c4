package index

import (
	"context"
	"math/bits"
	"slices"
)

// maxOthers is how many services and how many data classes a result names.
const maxOthers = 3

// addOthers adds the services and data classes with the best words of their own.
// One service stands behind many operations, so they are few.
func (x *Index) addOthers(ctx context.Context, v *view, q Query, f *found, result *Result) error {
	all := !q.Aliases && !q.narrowed() // no operation of theirs has to be looked for
	services, classes := candidates{n: 4 * maxOthers}, candidates{n: 4 * maxOthers}
	for i := range v.segments {
		s := &v.segments[i]
		scores := f.words.scores[s.base : s.base+s.n]
		offered := s.offered
		if q.Aliases {
			offered = slices.Clone(s.others)
			offered.without(s.deleted)
		}
		for at, met := range f.words.met[i] {
			for met &= offered[at]; met != 0; met &= met - 1 {
				n := uint32(at*64 + bits.TrailingZeros64(met))
				to := &classes
				if s.services.has(n) {
					to = &services
				}
				if score := scores[n]; score >= to.least && (all || f.masks[i].hasAny(s.operationsOf(s.runOf[n]))) {
					to.add(candidate{place{i, n}, score})
				}
			}
		}
	}
	top := services.ranked(v)
	top = top[:min(maxOthers, len(top))]
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
	top = classes.ranked(v)
	top = top[:min(maxOthers, len(top))]
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
