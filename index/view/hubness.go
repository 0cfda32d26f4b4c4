package view

import (
	"slices"

	"gazetteer/index/semantic"
)

// An operation that many services offer is less significant than one that few offer: common words
// alone make it near to many queries (a hub). For words, the inverse document frequency corrects
// this. For embeddings, this file does so among the first of a ranking, by the cosine to the
// nearest other services.

const (
	// HubnessPool is the number of first operations that are compared with each other.
	HubnessPool = 40
	// hubnessNeighbors is the number of nearest other services that determine the hubness.
	hubnessNeighbors = 10
	// hubnessPenalty is the factor of the cosine to the neighbors that is subtracted from the
	// cosine to the query. No operation loses more than half of its score.
	hubnessPenalty = 0.2
)

// PenalizeHubs lowers the scores of a pool by the hubness of the operations. The operation with the
// least hubness keeps its score. Operations with scores too low for an answer still count as
// neighbors. The operations after the first HubnessPool stay behind them.
func (v *View) PenalizeHubs(pool, faint []RankedEntry) {
	best := v.SortTop(pool, HubnessPool)
	company := slices.Concat(pool[:min(HubnessPool, best)], faint)
	best = v.SortTop(company, HubnessPool)
	company = company[:min(HubnessPool, best)]
	var ofPool [HubnessPool]bool // which is in the same order
	n := 0
	for i, r := range company {
		if ofPool[i] = n < len(pool) && r.EntryRef == pool[n].EntryRef; ofPool[i] {
			n++
		}
	}
	first := v.hubness(company, ofPool[:len(company)])
	if len(first) == 0 {
		return
	}
	least, most := slices.Min(first), slices.Max(first)
	for i := range pool {
		measured := most
		if i < len(first) {
			measured = first[i]
		}
		less := hubnessPenalty * float64(measured-least) * cosineWeight / (1 + cosineWeight)
		pool[i].Score -= min(int64(less/ScoreUnit), pool[i].Score/2)
	}
}

// hubness returns for the asked ones of at most HubnessPool operations the mean cosine to the nearest
// one of each of the nearest other services, from 0 to 1. The operations of the same service do not count,
// because a complete description would lower its rank. Each other service counts once.
func (v *View) hubness(of []RankedEntry, asked []bool) []float32 {
	var meanings [HubnessPool]semantic.Embedding
	var hostOf [HubnessPool]int
	hosts := make([]*DocumentRun, 0, HubnessPool) // a run of each
	for i, r := range of {
		meanings[i] = v.EmbeddingOf(r.EntryRef)
		run := v.RunOf(r.EntryRef)
		if hostOf[i] = slices.IndexFunc(hosts, run.hasHostOf); hostOf[i] < 0 {
			hostOf[i] = len(hosts)
			hosts = append(hosts, run)
		}
	}
	var room [HubnessPool * HubnessPool]float32
	nearest := room[:len(of)*len(hosts)] // by operation and host
	for i := range of {
		for j := range i {
			if hostOf[i] == hostOf[j] || !asked[i] && !asked[j] {
				continue
			}
			cosine := meanings[i].Cosine(meanings[j])
			for _, at := range [...]int{i*len(hosts) + hostOf[j], j*len(hosts) + hostOf[i]} {
				nearest[at] = max(nearest[at], cosine)
			}
		}
	}
	crowds := make([]float32, 0, len(of))
	near := min(hubnessNeighbors, len(hosts)-1)
	for i := range of {
		switch {
		case !asked[i]:
		case near > 0:
			crowds = append(crowds, meanOfLargest(nearest[i*len(hosts):(i+1)*len(hosts)], near))
		default:
			crowds = append(crowds, 0)
		}
	}
	return crowds
}

// meanOfLargest returns the mean of the n largest of some numbers that are not
// negative, n being at most hubnessNeighbors.
func meanOfLargest(all []float32, n int) float32 {
	var room [hubnessNeighbors]float32
	largest := room[:n] // in falling order
	for _, x := range all {
		at := n - 1
		if x <= largest[at] {
			continue
		}
		for ; at > 0 && largest[at-1] < x; at-- {
			largest[at] = largest[at-1]
		}
		largest[at] = x
	}
	var sum float32
	for _, x := range largest {
		sum += x
	}
	return sum / float32(n)
}
