package semantic

import (
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"gazetteer/index/wordvec"
)

const (
	// maxClusters is the number of clusters, unless there are fewer texts. In an index of a million
	// operations a cluster has about four thousand.
	maxClusters = 256
	// clusterRounds is the number of rounds that move each centroid to the mean of its texts.
	clusterRounds = 4
	// clusterCandidates is the number of nearest centroids by sign code that are compared exactly.
	clusterCandidates = 8
)

// A Centroid is the mean of a cluster.
type Centroid struct {
	Embedding
	code SignCode
}

func newCentroid(sum []float32) Centroid {
	m := NewEmbedding(sum)
	return Centroid{m, SignCodeOf(m.Vector)}
}

// computeCentroids returns the centroids of the clusters. Each round assigns real texts of
// operations to the nearest centroid and moves the centroid to their mean. Words instead of texts
// do not work: the sums of words all lie to one side of the words.
func (l *Lexicon) computeCentroids() []Centroid {
	var texts []Centroid
	for _, text := range wordvec.Samples() {
		if m := l.embedForms(strings.Fields(text), nil, samplePower); m.Scale > 0 {
			texts = append(texts, Centroid{m, SignCodeOf(m.Vector)})
		}
	}
	centroids := make([]Centroid, min(maxClusters, len(texts)))
	for i := range centroids {
		centroids[i] = texts[i*len(texts)/len(centroids)]
	}
	for range clusterRounds {
		sums := make([][]float32, len(centroids))
		for i := range texts {
			at := NearestCentroid(centroids, &texts[i].Embedding, &texts[i].code)
			if sums[at] == nil {
				sums[at] = make([]float32, l.Table().Dim())
			}
			for k, x := range texts[i].Vector {
				sums[at][k] += texts[i].Scale * float32(x)
			}
		}
		for i, sum := range sums {
			if sum != nil {
				centroids[i] = newCentroid(sum)
			}
		}
	}
	return centroids
}

// NearestCentroid returns the number of the centroid nearest to an embedding, among those with the
// nearest codes.
func NearestCentroid(centroids []Centroid, m *Embedding, c *SignCode) int {
	var tries [clusterCandidates]struct{ at, distance int }
	n := 0
	for i := range centroids {
		d := centroids[i].code.Distance(c)
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
		if cosine := centroids[t.at].Cosine(*m); cosine > most {
			best, most = t.at, cosine
		}
	}
	return best
}

// ClustersByDistance returns the numbers of the centroids, nearest to m first.
func ClustersByDistance(centroids []Centroid, m Embedding) []uint64 {
	order := make([]uint64, len(centroids))
	for i := range centroids {
		// Positive floating-point numbers have the same order as their bits, so that integers can
		// be sorted: a smaller one is nearer, and the index breaks ties.
		order[i] = uint64(math.Float32bits(2-centroids[i].Cosine(m)))<<32 | uint64(i)
	}
	slices.Sort(order)
	for i := range order {
		order[i] &= math.MaxUint32
	}
	return order
}

// centroidsFile has the centroids of the built-in table, which [Lexicon.computeCentroids] returned
// and TestEmbeddedCentroids wrote: for each one its scale, a float32, and its vector, an int8 for
// each dimension. Computing them would take each process as long as many searches.
//
//go:embed centroids.bin
var centroidsFile []byte

// scaleBytes is the size of a scale in centroidsFile.
const scaleBytes = 4

// embeddedCentroids returns the centroids of the built-in table.
func embeddedCentroids() []Centroid {
	row := scaleBytes + wordvec.Embedded().Dim()
	centroids := make([]Centroid, len(centroidsFile)/row)
	for i := range centroids {
		raw := centroidsFile[i*row:][:row]
		m := Embedding{Vector: make([]int8, row-scaleBytes), Scale: math.Float32frombits(binary.LittleEndian.Uint32(raw))}
		for k, b := range raw[scaleBytes:] {
			m.Vector[k] = int8(b)
		}
		centroids[i] = Centroid{m, SignCodeOf(m.Vector)}
	}
	return centroids
}
