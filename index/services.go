package index

import (
	"context"
	"gazetteer/index/query"
	"math/bits"
	"slices"
)

// maxOtherHits is how many services and how many data classes a result names.
const maxOtherHits = 3

// findServicesAndClasses adds the services and data classes with the best words of their own.
// One service stands behind many operations, so they are few.
func (x *Index) findServicesAndClasses(ctx context.Context, v *view, q query.Query, f *matchSet, result *Result) error {
	all := !q.Aliases && !q.Narrowed() // no operation of theirs has to be looked for
	services, classes := candidates{n: 4 * maxOtherHits}, candidates{n: 4 * maxOtherHits}
	for i := range v.segments {
		s := &v.segments[i]
		scores := f.words.scores[s.base : s.base+s.n]
		offered := s.reachable
		if q.Aliases {
			offered = slices.Clone(s.nonOperations)
			offered.removeAll(s.deleted)
		}
		for at, met := range f.words.matched[i] {
			for met &= offered[at]; met != 0; met &= met - 1 {
				n := uint32(at*64 + bits.TrailingZeros64(met))
				to := &classes
				if s.services.has(n) {
					to = &services
				}
				if score := scores[n]; score >= to.threshold && (all || f.masks[i].hasAny(s.operationsOf(s.runOf[n]))) {
					to.addCandidate(candidate{entryRef{i, n}, score})
				}
			}
		}
	}
	top := services.sortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run := v.runOf(r.entryRef)
		t, err := x.documents.readDocument(ctx, run.source)
		if err != nil {
			return err
		}
		if t != nil && t.fingerprint == run.fingerprint {
			result.Services = append(result.Services, ServiceHit{
				Host: run.host, Kind: run.kind, Service: t.Service, Operations: len(t.operations), Score: float64(r.score) * scoreUnit,
			})
		}
	}
	top = classes.sortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run, n := v.runOf(r.entryRef), v.ordinalOf(r.entryRef)
		t, err := x.documents.readDocument(ctx, run.source)
		if err != nil {
			return err
		}
		if t != nil && t.fingerprint == run.fingerprint && n < len(t.DataClasses) {
			result.Classes = append(result.Classes, ClassHit{
				Host: run.host, Kind: run.kind, Class: t.DataClasses[n], Score: float64(r.score) * scoreUnit,
			})
		}
	}
	return nil
}
