package main

import (
	"fmt"
	"strings"
	"unicode"
)

// koreanRows reads the list of Korean words and gives each, and the pairs of
// syllables in them, the vector that lies between those of its English words. Its
// length is their mean.
func koreanRows(list string, english []row) ([]row, error) {
	vectors := map[string][]float32{}
	for _, r := range english {
		vectors[r.word] = r.vector
	}
	meanings := map[string][][]float32{}
	var order []string
	for i, line := range strings.Split(list, "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		korean, meaning, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("line %d: no colon and blank between the Korean words and the English ones", i+1)
		}
		var parts [][]float32
		for _, w := range strings.Fields(meaning) {
			if v := vectors[w]; v != nil {
				parts = append(parts, v)
			}
		}
		if len(parts) == 0 {
			return nil, fmt.Errorf("line %d: none of %q has a vector", i+1, meaning)
		}
		between := middle(parts)
		for _, w := range strings.Split(korean, ",") {
			if !hangul(w) {
				return nil, fmt.Errorf("line %d: %q is not written in Hangul alone", i+1, w)
			}
			if meanings[w] == nil {
				order = append(order, w)
			}
			meanings[w] = append(meanings[w], between)
		}
	}
	var out []row
	for _, w := range order {
		out = append(out, row{word: w, vector: middle(meanings[w])})
	}
	return append(out, pairRows(out)...), nil
}

// pairRows returns a row for each pair of neighbouring syllables in the words
// that is no word itself, between those of the words it stands in. It has half
// their length: a word has several pairs.
func pairRows(words []row) []row {
	within := map[string][][]float32{}
	var order []string
	for _, w := range words {
		within[w.word] = nil
	}
	for _, w := range words {
		syllables := []rune(w.word)
		for i := range len(syllables) - 1 {
			pair := string(syllables[i : i+2])
			in, known := within[pair]
			if known && in == nil {
				continue // a word
			}
			if !known {
				order = append(order, pair)
			}
			within[pair] = append(in, w.vector)
		}
	}
	var out []row
	for _, pair := range order {
		v := middle(within[pair])
		for i := range v {
			v[i] /= 2
		}
		out = append(out, row{word: pair, vector: v})
	}
	return out
}

// wanted returns the English words that the list of Korean words and the frames
// are made of: what they say can be said only with vectors for these.
func wanted(list string, frames []string) []string {
	words := wordsOf(strings.Join(frames, " "))
	for _, line := range strings.Split(list, "\n") {
		if _, meaning, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "# ") {
			words = append(words, strings.Fields(meaning)...)
		}
	}
	return words
}

func hangul(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !unicode.Is(unicode.Hangul, r) }) < 0
}

// middle returns a vector with the direction of the sum and the mean length.
func middle(vectors [][]float32) []float32 {
	sum := make([]float32, len(vectors[0]))
	var length float32
	for _, v := range vectors {
		addScaled(sum, v, 1)
		length += sqrt(dot(v, v))
	}
	factor := length / float32(len(vectors)) / (sqrt(dot(sum, sum)) + 1e-9)
	for i := range sum {
		sum[i] *= factor
	}
	return sum
}
