package main

import (
	"slices"
	"strings"

	"gazetteer/internal/fakenet/corpus"
)

// samples returns the words of so many operations, of those that say something of
// themselves, evenly taken: where the meanings of operations lie.
func samples(services []corpus.Service, n int) []string {
	var all []string
	for _, s := range services {
		for _, op := range s.Operations {
			sentence := wordsOf(op.Intent)
			if len(sentence) < 3 {
				continue
			}
			words := slices.Concat(wordsOf(op.ID), sentence)
			all = append(all, strings.Join(words[:min(len(words), sampleWords)], " "))
		}
	}
	out := make([]string, min(n, len(all)))
	for i := range out {
		out[i] = all[i*len(all)/len(out)]
	}
	return out
}

// How many operations are taken, and how many words of one at most.
const (
	sampleSize  = 3000
	sampleWords = 12
)
