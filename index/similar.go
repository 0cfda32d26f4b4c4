package index

import (
	"cmp"
	"context"
	"slices"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/view"
)

// A SimilarService is a service with many of the same operations as another.
type SimilarService struct {
	Host    string           `json:"host"`
	Kind    document.Kind    `json:"kind"`
	Service document.Service `json:"service"`
	Score   float64          `json:"score"` // 0 to 1
	// Classes and Verbs are those that both have, sorted.
	Classes []string `json:"classes,omitempty"`
	Verbs   []string `json:"verbs,omitempty"`
}

// Similar returns the services most similar to that of a host, at most limit (10 when 0, at most
// 100), best first. It is empty for an unknown host. Hosts are compared document by document, and
// each is listed once.
func (x *Index) Similar(ctx context.Context, host string, limit int) ([]SimilarService, error) {
	limit = cmp.Or(limit, 10)
	if limit < 1 || limit > query.MaxLimit {
		return nil, &query.Error{Message: "a limit out of range", Help: "ask for 1 to 100 services"}
	}
	similar := []SimilarService{}
	err := x.withSnapshot(func(v *view.View, _ uint64) error {
		profiles, err := v.ListProfiles(ctx)
		if err != nil {
			return err
		}
		for _, l := range view.MostSimilar(profiles, query.CanonicalHost(host), limit) {
			s, err := x.similarService(ctx, v, l)
			if err != nil {
				return err
			}
			similar = append(similar, s)
		}
		return nil
	})
	return similar, err
}

// similarService converts a similarity to the form of an answer.
func (x *Index) similarService(ctx context.Context, v *view.View, l view.Similarity) (SimilarService, error) {
	s := SimilarService{Host: l.Other.Host, Kind: l.Other.Kind, Score: l.Score,
		Classes: slices.Collect(view.IntersectSorted(l.Own.Classes, l.Other.Classes)), Verbs: slices.Collect(view.IntersectSorted(l.Own.Verbs, l.Other.Verbs))}
	t, err := x.documents.readDocument(ctx, l.Other.Source)
	if t != nil && err == nil {
		s.Service, err = x.documents.serviceOf(ctx, v, t)
	}
	return s, err
}
