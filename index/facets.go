package index

import (
	"cmp"
	"context"
	"math"

	"gazetteer/index/query"
	"gazetteer/index/view"
)

// maxCounts is the number of values of a facet in a search.
const maxCounts = 20

// Explore counts the values of fields over all operations that a query finds,
// without showing any: the most frequent first, at most limit of each (20 when 0,
// at most 1,000). A query without words and filters explores everything. The
// error is as of [Index.Search].
func (x *Index) Explore(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]view.Count, error) {
	limit = cmp.Or(limit, maxCounts)
	if limit < 1 || limit > maxExplored {
		return nil, &query.Error{Message: "a limit out of range", Help: "ask for 1 to 1,000 values of a field"}
	}
	return x.exploreFacets(ctx, q, fields, limit)
}

// Hosts returns the hosts of all operations that a query finds, ordered by their number of
// operations. The error is as of [Index.Search].
func (x *Index) Hosts(ctx context.Context, q query.Query) ([]string, error) {
	counts, err := x.exploreFacets(ctx, q, []string{query.HostKey}, math.MaxInt)
	hosts := make([]string, 0, len(counts[query.HostKey]))
	for _, c := range counts[query.HostKey] {
		hosts = append(hosts, c.Value)
	}
	return hosts, err
}

func (x *Index) exploreFacets(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]view.Count, error) {
	q.Facets, q.Offset, q.Limit = fields, 0, 1
	if q.IsEmpty() {
		q.States = []string{query.StateValid, query.StateFlawed, query.StateInvalid} // which all have
	}
	q, err := q.Canonical()
	if err != nil {
		return nil, err
	}
	facets := view.NoCounts(fields)
	request := query.ParseRequest(x.analyzer, q.Text())
	if len(request.Words) == 0 && !q.Filtered() {
		return facets, nil // a search for these words finds nothing
	}
	err = x.withSnapshot(func(v *view.View, _ uint64) error {
		s := &searcher{index: x, view: v, query: q, request: request, maxCounts: limit}
		p, err := s.findPage(ctx)
		facets = p.facets
		return err
	})
	return facets, err
}

// maxExplored is the maximum number of values of a field in [Index.Explore].
const maxExplored = 1000
