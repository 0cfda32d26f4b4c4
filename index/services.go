package index

import (
	"context"
	"math/bits"
	"slices"

	"gazetteer/index/bitset"
	"gazetteer/index/view"
)

// maxOtherHits is the maximum number of services, and of data classes, in a result.
const maxOtherHits = 3

// namedFactor raises the scores of services that the request calls by their name above all others.
const namedFactor = 16

// findServicesAndClasses adds the services and data classes that match the words best, after the
// services whose operations are named. A service has many operations, so there are few services.
func (s *searcher) findServicesAndClasses(ctx context.Context, f *view.MatchSet, named []bitset.Set) (serviceHits []ServiceHit, classHits []ClassHit, err error) {
	v, q := s.view, s.query
	all := !q.Aliases && !q.Narrowed() // no operation of theirs has to be looked for
	services, classes := view.Candidates{N: 4 * maxOtherHits}, view.Candidates{N: 4 * maxOtherHits}
	for i := range v.Segments {
		segment := &v.Segments[i]
		scores := f.Words.Scores[segment.Base : segment.Base+segment.N]
		offered := segment.Reachable
		if q.Aliases {
			offered = slices.Clone(segment.NonOperations)
			offered.RemoveAll(segment.Deleted)
		}
		for at, met := range f.Words.Matched[i] {
			if named != nil {
				met |= segment.Services[at] // a service called by its host has none of the words
			}
			for met &= offered[at]; met != 0; met &= met - 1 {
				n := uint32(at*64 + bits.TrailingZeros64(met))
				to, score := &classes, scores[n]
				if segment.Services.Has(n) {
					to = &services
					if named != nil && named[i].HasAny(segment.OperationsOf(segment.RunOf[n])) {
						score = (score + 1) * namedFactor
						if s.hasNamedDomain(view.EntryRef{Segment: i, Number: n}) {
							score *= namedFactor // others can only call themselves so
						}
					}
				}
				if score > 0 && score >= to.Threshold && (all || v.HasOperationOf(view.EntryRef{Segment: i, Number: n}, f.Masks)) {
					to.AddCandidate(view.Candidate{EntryRef: view.EntryRef{Segment: i, Number: n}, Score: score})
				}
			}
		}
	}
	top := services.SortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run := v.RunOf(r.EntryRef)
		t, err := s.index.documents.readDocument(ctx, run.Source)
		if err != nil {
			return nil, nil, err
		}
		if t != nil && t.fingerprint == run.Fingerprint {
			service, err := s.index.documents.serviceOf(ctx, v, t)
			if err != nil {
				return nil, nil, err
			}
			serviceHits = append(serviceHits, ServiceHit{
				Host: run.Host, Kind: run.Kind, Service: service, Operations: len(t.operations), Score: float64(r.Score) * view.ScoreUnit,
			})
		}
	}
	top = classes.SortedTop(v)
	top = top[:min(maxOtherHits, len(top))]
	for _, r := range top {
		run, n := v.RunOf(r.EntryRef), v.OrdinalOf(r.EntryRef)
		t, err := s.index.documents.readDocument(ctx, run.Source)
		if err != nil {
			return nil, nil, err
		}
		if t != nil && t.fingerprint == run.Fingerprint && n < len(t.DataClasses) {
			classHits = append(classHits, ClassHit{
				Host: run.Host, Kind: run.Kind, Class: t.DataClasses[n], Score: float64(r.Score) * view.ScoreUnit,
			})
		}
	}
	return serviceHits, classHits, nil
}
