package index

import (
	"math"
	"slices"
	"strings"
	"sync"

	"gazetteer/index/wordvec"
)

// Meanings are kept in cells, around centres that are the same for every index
// with one table of words, so that a query looks at the cells near it and not at
// every entry. What lies in which cell depends on an entry's own meaning alone:
// the candidates of a query do not depend on how entries lie in segments, nor on
// the order in which they came.

const (
	// numClusters is how many cells there are: of a million operations one has some
	// four thousand.
	numClusters = 256
	// clusterRounds is how often the centres are moved to the middle of their texts.
	clusterRounds = 4
	// clusterCandidates is how many centres are tried that seem nearest by their codes.
	clusterCandidates = 8
)

// A centre is the middle of a cell.
type centroid struct {
	embedding
	code signCode
}

func newCentroid(sum []float32) centroid {
	m := newEmbedding(sum)
	return centroid{m, signCodeOf(m.vector)}
}

// computeCentroids returns those of cells. Real texts of operations are gathered around
// the nearest centre, which moves to the middle of them, and again. Words alone
// would not do: their sums all lie to one side of them.
func (l *lexicon) computeCentroids() []centroid {
	var texts []centroid
	for _, text := range wordvec.Samples() {
		if m := l.embedForms(strings.Fields(text)); m.scale > 0 {
			texts = append(texts, centroid{m, signCodeOf(m.vector)})
		}
	}
	centres := make([]centroid, min(numClusters, len(texts)))
	for i := range centres {
		centres[i] = texts[i*len(texts)/len(centres)]
	}
	for range clusterRounds {
		sums := make([][]float32, len(centres))
		for i := range texts {
			at := nearestCentroid(centres, &texts[i].embedding, &texts[i].code)
			if sums[at] == nil {
				sums[at] = make([]float32, l.table.Dim())
			}
			for k, x := range texts[i].vector {
				sums[at][k] += texts[i].scale * float32(x)
			}
		}
		for i, sum := range sums {
			if sum != nil {
				centres[i] = newCentroid(sum)
			}
		}
	}
	return centres
}

// nearestCentroid returns the place of the centre nearest to a meaning, of those
// whose codes are.
func nearestCentroid(centres []centroid, m *embedding, c *signCode) int {
	var tries [clusterCandidates]struct{ at, distance int }
	n := 0
	for i := range centres {
		d := centres[i].code.Distance(c)
		if n == clusterCandidates && d >= tries[n-1].distance {
			continue
		}
		if n < clusterCandidates {
			n++
		}
		k := n - 1
		for ; k > 0 && tries[k-1].distance > d; k-- {
			tries[k] = tries[k-1]
		}
		tries[k].at, tries[k].distance = i, d
	}
	best, most := 0, float32(-2)
	for _, t := range tries[:n] {
		if cosine := centres[t.at].Cosine(*m); cosine > most {
			best, most = t.at, cosine
		}
	}
	return best
}

// clustersByDistance returns the places of the centres, those nearest to m first.
func clustersByDistance(centres []centroid, m embedding) []uint64 {
	order := make([]uint64, len(centres))
	for i := range centres {
		// The bits of positive numbers are in the order of the numbers, so that whole
		// numbers can be sorted: less is nearer, and of the same the first.
		order[i] = uint64(math.Float32bits(2-centres[i].Cosine(m)))<<32 | uint64(i)
	}
	slices.Sort(order)
	for i := range order {
		order[i] &= math.MaxUint32
	}
	return order
}

// A clusterIndex has a segment's operations by cell, their codes beside each other:
// to gather them from all over the memory would take ten times as long as to
// compare them.
type clusterIndex struct {
	from    []uint32 // where each cell begins in the following, and where the last ends
	numbers []uint32
	codes   []signCode // of numbers
}

// newClusterIndex sorts the operations of a segment whose meaning is known.
func newClusterIndex(centres []centroid, m *segmentEmbeddings, operations bitset) clusterIndex {
	c := clusterIndex{from: make([]uint32, len(centres)+1)}
	type placed struct {
		number uint32
		cell   uint32
		code   signCode
	}
	var known []placed
	operations.forEach(func(number uint32) {
		if m.scales[number] == 0 {
			return
		}
		meaning := m.embeddingOf(number)
		p := placed{number: number, code: signCodeOf(meaning.vector)}
		p.cell = uint32(nearestCentroid(centres, &meaning, &p.code))
		known = append(known, p)
		c.from[p.cell+1]++
	})
	for i := range centres {
		c.from[i+1] += c.from[i]
	}
	c.numbers, c.codes = make([]uint32, len(known)), make([]signCode, len(known))
	next := slices.Clone(c.from)
	for i := range known {
		p := &known[i]
		at := next[p.cell]
		c.numbers[at], c.codes[at] = p.number, p.code
		next[p.cell]++
	}
	return c
}

// How many operations a query's meaning is held against: the cells nearest to it
// are opened until so many were met, or one in probeShare of all.
const (
	minProbes  = 8192
	probeShare = 16
)

// nearestOperations returns the operations in masks whose codes are nearest that of the
// query, about embeddingPool of those in the cells around it. Which they are does not
// depend on where they lie: a whole cell and a whole distance is taken or left.
// The room is for the distances of those that were met.
func (v *view) nearestOperations(centres []centroid, query embedding, masks []bitset, room *[]uint8) []entryRef {
	if query.scale == 0 {
		return nil
	}
	enough := max(minProbes, v.operations/probeShare)
	code := signCodeOf(query.vector)
	var histogram [notAllowed]int // how many at each distance
	met, asked := slices.Grow((*room)[:0], enough+enough/4), 0
	order := clustersByDistance(centres, query)
	opened := 0
	for ; opened < len(order) && asked < enough; opened++ {
		for i := range v.segments {
			numbers, codes := v.segments[i].meanings.clusters.clusterMembers(order[opened])
			mask := masks[i]
			for at, number := range numbers {
				d := uint8(notAllowed)
				if mask.has(number) {
					d = uint8(min(codes[at].Distance(&code), notAllowed-1))
					histogram[d]++
					asked++
				}
				met = append(met, d)
			}
		}
	}
	*room = met
	limit, taken := 0, 0
	for ; limit < len(histogram)-1 && taken+histogram[limit] <= embeddingPool; limit++ {
		taken += histogram[limit]
	}
	if taken < embeddingPool/2 && histogram[limit] < 8*embeddingPool {
		taken += histogram[limit]
		limit++ // one distance is shared by many
	}
	near := make([]entryRef, 0, taken)
	for _, cell := range order[:opened] {
		for i := range v.segments {
			numbers, _ := v.segments[i].meanings.clusters.clusterMembers(cell)
			for at, d := range met[:len(numbers)] {
				if int(d) < limit {
					near = append(near, entryRef{i, numbers[at]})
				}
			}
			met = met[len(numbers):]
		}
	}
	return near
}

// A sense is what a query means, and what lies near that.
type queryEmbedding struct {
	centres   []centroid
	rooms     *sync.Pool // of *[]uint8, for nearest
	whole     embedding
	clauses   []clause     // when it asks for several things
	awaitNear func() error // until near is known
	near      []entryRef
}

// embedQuery returns the sense of a query's words.
func (l *lexicon) embedQuery(words []queryWord) *queryEmbedding {
	return &queryEmbedding{centres: l.centroids, rooms: &l.distanceBuffers, whole: l.embedForms(wordForms(words)), clauses: l.embedClauses(words), awaitNear: func() error { return nil }}
}

// startNearest begins to look for the operations in masks that are nearest to the query
// and to each of its wishes, beside what its caller does. The caller must call
// stop before the masks change or the view is closed.
func (s *queryEmbedding) startNearest(v *view, masks []bitset) (stop func()) {
	s.awaitNear = startConcurrent(func() error {
		room, _ := s.rooms.Get().(*[]uint8)
		if room == nil {
			room = new([]uint8)
		}
		defer s.rooms.Put(room)
		s.near = v.nearestOperations(s.centres, s.whole, masks, room)
		for _, w := range s.clauses {
			s.near = append(s.near, v.nearestOperations(s.centres, w.embedding, masks, room)...)
		}
		return nil
	})
	return func() { _ = s.awaitNear() } // whoever needs the answer has waited for it
}

// notAllowed stands for a distance where a query's filters do not let an operation
// through.
const notAllowed = math.MaxUint8

// clusterMembers returns the operations of a cell, and their codes.
func (c *clusterIndex) clusterMembers(cell uint64) ([]uint32, []signCode) {
	from, to := c.from[cell], c.from[cell+1]
	return c.numbers[from:to], c.codes[from:to]
}
