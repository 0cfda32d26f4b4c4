package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// depth is how many hits of a query are looked at.
const depth = 10

// figures are the four measures, of one query or a mean of many.
type figures struct {
	Hit1    float64 `json:"hit@1"`    // the first hit is judged relevant
	Recall5 float64 `json:"recall@5"` // the share of the relevant records among the first five
	MRR10   float64 `json:"mrr@10"`   // one by the place of the first relevant hit
	NDCG10  float64 `json:"ndcg@10"`  // discounted gain, 2^grade − 1, by that of the best order
	Queries int     `json:"queries"`  // how many the mean is of
}

// judge measures one ranking of record ids.
func judge(ranking []string, grades map[string]int) figures {
	f := figures{Queries: 1}
	var gain float64
	for i, id := range ranking[:min(depth, len(ranking))] {
		grade := grades[id]
		if grade == 0 {
			continue
		}
		if i == 0 {
			f.Hit1 = 1
		}
		if i < 5 {
			f.Recall5 += 1 / float64(len(grades))
		}
		if f.MRR10 == 0 {
			f.MRR10 = 1 / float64(i+1)
		}
		gain += discounted(grade, i)
	}
	var best []int
	for _, grade := range grades {
		best = append(best, grade)
	}
	slices.Sort(best)
	slices.Reverse(best)
	var ideal float64
	for i, grade := range best[:min(depth, len(best))] {
		ideal += discounted(grade, i)
	}
	if ideal > 0 {
		f.NDCG10 = gain / ideal
	}
	return f
}

func discounted(grade, at int) float64 {
	return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(at)+2)
}

// mean is the plain mean; Queries are added up.
func mean(all []figures) figures {
	var m figures
	for _, f := range all {
		m.Hit1 += f.Hit1 / float64(len(all))
		m.Recall5 += f.Recall5 / float64(len(all))
		m.MRR10 += f.MRR10 / float64(len(all))
		m.NDCG10 += f.NDCG10 / float64(len(all))
		m.Queries += f.Queries
	}
	return m
}

// An interval is a difference of nDCG@10 and where it lies in 95 of 100 draws.
type interval struct {
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// draws is how often the bootstrap draws.
const draws = 2000

// bootstrap compares two runs of the same queries, given as the differences in
// nDCG@10 of the queries of each set: queries are drawn with repetition within
// their set, and the mean over the sets is taken.
func bootstrap(differences [][]float64) interval {
	random := rand.New(rand.NewPCG(1, 2)) // the same draws for everybody
	var drawn []float64
	for range draws {
		var macro float64
		for _, set := range differences {
			var sum float64
			for range set {
				sum += set[random.IntN(len(set))]
			}
			macro += sum / float64(len(set)) / float64(len(differences))
		}
		drawn = append(drawn, macro)
	}
	slices.Sort(drawn)
	var d float64
	for _, set := range differences {
		var sum float64
		for _, x := range set {
			sum += x
		}
		d += sum / float64(len(set)) / float64(len(differences))
	}
	return interval{d, drawn[draws/40], drawn[draws-1-draws/40]}
}
