package index

import (
	"context"
	"math/bits"
	"slices"
)

// maxOtherHits is how many services and how many data classes a result names.
const maxOtherHits = 3

// findServicesAndClasses adds the services and data classes with the best words of their own.
// One service stands behind many operations, so they are few.
func (s *searcher) findServicesAndClasses(ctx context.Context, f *matchSet) (serviceHits []ServiceHit, classHits []ClassHit, err error) {
	v, q := s.view, s.query
	all := !q.Aliases && !q.Narrowed() // no operation of theirs has to be looked for
	services, classes := candidates{n: 4 * maxOtherHits}, candidates{n: 4 * maxOtherHits}
	for i := range v.segments {
		segment := &v.segments[i]
		scores := f.words.scores[segment.base : segment.base+segment.n]
		offered := segment.reachable
		if q.Aliases {
			offered = slices.Clone(segment.nonOperations)
			offered.removeAll(segment.deleted)
		}
		for at, met := range f.words.matched[i] {
			for met &= offered[at]; met != 0; met &= met - 1 {
				n := uint32(at*64 + bits.TrailingZeros64(met))
				to := &classes
				if segment.services.has(n) {
					to = &services
				}
				if score := scores[n]; score >= to.threshold && (all || f.masks[i].hasAny(segment.operationsOf(segment.runOf[n]))) {
					to.addCandidate(candidate{entryRef{i, n}, score})
				}
			}
		}
	}
	top := services.sortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run := v.runOf(r.entryRef)
		t, err := s.index.documents.readDocument(ctx, run.source)
		if err != nil {
			return nil, nil, err
		}
		if t != nil && t.fingerprint == run.fingerprint {
			serviceHits = append(serviceHits, ServiceHit{
				Host: run.host, Kind: run.kind, Service: t.Service, Operations: len(t.operations), Score: float64(r.score) * scoreUnit,
			})
		}
	}
	top = classes.sortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run, n := v.runOf(r.entryRef), v.ordinalOf(r.entryRef)
		t, err := s.index.documents.readDocument(ctx, run.source)
		if err != nil {
			return nil, nil, err
		}
		if t != nil && t.fingerprint == run.fingerprint && n < len(t.DataClasses) {
			classHits = append(classHits, ClassHit{
				Host: run.host, Kind: run.kind, Class: t.DataClasses[n], Score: float64(r.score) * scoreUnit,
			})
		}
	}
	return serviceHits, classHits, nil
}
