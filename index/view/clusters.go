package view

import (
	"math"
	"slices"
	"sync"

	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
)

// Embeddings are stored by cluster. The centroids are the same for every index with one table of
// words, so that a query compares the clusters near it and not every entry. The cluster of an entry
// depends on its own embedding alone: the candidates of a query depend neither on the segments of
// the index nor on the order in which entries were written.

// A clusterIndex holds the operations of a segment by cluster, with their codes side by side:
// reading codes from all over the memory would take ten times as long as comparing them.
type clusterIndex struct {
	from    []uint32 // the start of each cluster in the following, and the end of the last one
	numbers []uint32
	codes   []semantic.SignCode // of numbers
}

// NewClusterIndex sorts the operations of a segment with known embeddings by cluster.
func NewClusterIndex(centroids []semantic.Centroid, m *SegmentEmbeddings, operations bitset.Set) clusterIndex {
	c := clusterIndex{from: make([]uint32, len(centroids)+1)}
	type placed struct {
		number  uint32
		cluster uint32
		code    semantic.SignCode
	}
	var known []placed
	operations.ForEach(func(number uint32) {
		meaning := m.EmbeddingOf(number)
		if meaning.Scale == 0 {
			return
		}
		p := placed{number: number, code: semantic.SignCodeOf(meaning.Vector)}
		p.cluster = uint32(semantic.NearestCentroid(centroids, &meaning, &p.code))
		known = append(known, p)
		c.from[p.cluster+1]++
	})
	for i := range centroids {
		c.from[i+1] += c.from[i]
	}
	c.numbers, c.codes = make([]uint32, len(known)), make([]semantic.SignCode, len(known))
	next := slices.Clone(c.from)
	for i := range known {
		p := &known[i]
		at := next[p.cluster]
		c.numbers[at], c.codes[at] = p.number, p.code
		next[p.cluster]++
	}
	return c
}

// The minimum number of operations that a query's embedding is compared with: the search opens the
// nearest clusters until it has compared that many, or one in probeShare of all operations.
const (
	MinProbes  = 8192
	probeShare = 16
)

// NearestOperations returns the operations in masks whose codes are nearest to the code of the query:
// about EmbeddingPool of those in the clusters around it. The result does not depend on their positions:
// it compares whole clusters, and includes all operations at the same distance. The buffer holds the
// distances of the compared operations.
func (v *View) NearestOperations(centroids []semantic.Centroid, query semantic.Embedding, masks []bitset.Set, room *[]uint8) []EntryRef {
	if query.Scale == 0 {
		return nil
	}
	enough := max(MinProbes, v.Operations/probeShare)
	code := semantic.SignCodeOf(query.Vector)
	var histogram [notAllowed]int // how many at each distance
	met, asked := slices.Grow((*room)[:0], enough+enough/4), 0
	order, width := clusterOrder(centroids, query, v.Operations <= enough)
	opened := 0
	for ; opened < len(order) && asked < enough; opened++ {
		for i := range v.Segments {
			numbers, codes := v.Segments[i].Meanings.Clusters.clusterMembers(order[opened], width)
			mask, from := masks[i], len(met)
			met = slices.Grow(met, len(numbers))[:from+len(numbers)]
			distances, codes := met[from:][:len(numbers)], codes[:len(numbers)]
			for at, number := range numbers {
				if !mask.Has(number) {
					distances[at] = notAllowed
					continue
				}
				d := uint8(min(codes[at].Distance(&code), notAllowed-1))
				histogram[d]++
				distances[at] = d
				asked++
			}
		}
	}
	*room = met
	limit, taken := 0, 0
	for ; limit < len(histogram)-1 && taken+histogram[limit] <= EmbeddingPool; limit++ {
		taken += histogram[limit]
	}
	if taken < EmbeddingPool/2 && histogram[limit] < 8*EmbeddingPool {
		taken += histogram[limit]
		limit++ // many operations have the same distance
	}
	near, least := make([]EntryRef, 0, taken), uint8(limit)
	for _, cluster := range order[:opened] {
		for i := range v.Segments {
			numbers, _ := v.Segments[i].Meanings.Clusters.clusterMembers(cluster, width)
			distances := met[:len(numbers)]
			for at, d := range distances {
				if d < least {
					near = append(near, EntryRef{i, numbers[at]})
				}
			}
			met = met[len(numbers):]
		}
	}
	return near
}

// clusterOrder returns the numbers of the clusters, the nearest first, and how many of them to open
// together: if all are opened, all at once, because their members lie side by side.
func clusterOrder(centroids []semantic.Centroid, query semantic.Embedding, all bool) (order []uint64, width int) {
	if all {
		return []uint64{0}, len(centroids)
	}
	return semantic.ClustersByDistance(centroids, query), 1
}

// A QueryEmbedding has the embeddings of a query and of its clauses, and the
// operations nearest to them.
type QueryEmbedding struct {
	centroids []semantic.Centroid
	buffers   *sync.Pool // of *[]uint8, for NearestOperations
	Whole     semantic.Embedding
	Clauses   []Clause     // when it asks for several things
	awaitNear func() error // until near is known
	near      []EntryRef   // to the whole and to each clause
	ends      []int        // the ends in near of those of the whole and of each clause
}

// EmbedQuery returns the embedding of a query's words and those of its clauses.
func (l *Directory) EmbedQuery(words []query.Word) *QueryEmbedding {
	return &QueryEmbedding{
		centroids: l.lexicon.Centroids(),
		buffers:   &l.distanceBuffers,
		Whole:     l.lexicon.EmbedForms(query.WordForms(words)),
		Clauses:   EmbedClauses(l.lexicon, words),
		awaitNear: func() error { return nil },
	}
}

// StartNearest starts a concurrent search for the operations in masks that are nearest to the query
// and to each of its clauses. The caller must call stop before the masks change or the view is
// closed.
func (s *QueryEmbedding) StartNearest(v *View, masks []bitset.Set) (stop func()) {
	s.awaitNear = damage.RecoverConcurrent(func() error {
		buffer, _ := s.buffers.Get().(*[]uint8)
		if buffer == nil {
			buffer = new([]uint8)
		}
		defer s.buffers.Put(buffer)
		s.near = v.NearestOperations(s.centroids, s.Whole, masks, buffer)
		s.ends = append(s.ends, len(s.near))
		for _, w := range s.Clauses {
			s.near = append(s.near, v.NearestOperations(s.centroids, w.embedding, masks, buffer)...)
			s.ends = append(s.ends, len(s.near))
		}
		return nil
	})
	return func() { _ = s.awaitNear() } // the caller that needs the answer has waited for it
}

// CopyNearest reports whether a finished search among the same operations has those nearest to the
// query. If so, the query needs no search of its own.
func (s *QueryEmbedding) CopyNearest(from *QueryEmbedding) bool {
	if len(s.Clauses) > 0 || len(from.ends) != 1+len(from.Clauses) {
		return false
	}
	for i, c := range from.Clauses {
		if c.embedding.Scale == s.Whole.Scale && slices.Equal(c.embedding.Vector, s.Whole.Vector) {
			s.near = from.near[from.ends[i]:from.ends[i+1]]
			return true
		}
	}
	return false
}

// notAllowed is the distance of an operation that the query's filters exclude.
const notAllowed = math.MaxUint8

// clusterMembers returns the operations of a cluster and of those that follow it, width in all, and
// their codes.
func (c *clusterIndex) clusterMembers(cluster uint64, width int) ([]uint32, []semantic.SignCode) {
	from, to := c.from[cluster], c.from[int(cluster)+width]
	return c.numbers[from:to], c.codes[from:to]
}
