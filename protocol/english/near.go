package english

import (
	"math/bits"
	"slices"
)

// Near returns up to n verbs that word may be a misspelling of: one letter missing, added, changed
// or swapped with its neighbour, or two such errors in a word of five letters or more. The nearest
// come first, then the most frequent.
func Near(word string, n int) []string {
	reach := errorsIn(word)
	if n <= 0 || reach == 0 {
		return nil
	}
	t := unpacked()
	type match struct {
		verb            string
		distance, count int
	}
	var found []match
	wanted := letterMask(word)
	for i, m := range t.mask {
		// Each error gives each word at most one letter that the other lacks. This fast test
		// excludes nearly every verb.
		if bits.OnesCount32(m&^wanted) > reach || bits.OnesCount32(wanted&^m) > reach {
			continue
		}
		at := t.verbs[i]
		if size := int(t.start[at+1] - t.start[at]); size < 3 || size > len(word)+reach || size < len(word)-reach {
			continue
		}
		verb := t.wordAt(at)
		if d := editDistance(word, verb); d <= reach {
			found = append(found, match{verb, d, t.verbFrequency(at)})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return b.count - a.count
	})
	var out []string
	for _, m := range found[:min(n, len(found))] {
		out = append(out, m.verb)
	}
	return out
}

// IsNear reports whether word may be a misspelling of a verb, as [Near] understands it.
func IsNear(word, verb string) bool {
	reach := errorsIn(word)
	return reach > 0 && len(verb) >= 3 && len(verb) <= len(word)+reach && len(verb) >= len(word)-reach && editDistance(word, verb) <= reach
}

// errorsIn returns how many errors a word may have; none if it is too short or too long.
func errorsIn(word string) int {
	switch {
	case len(word) < 3 || len(word) > longestNear:
		return 0
	case len(word) >= 5:
		return 2
	}
	return 1
}

// verbFrequency returns how often a word is used as a verb according to the table.
func (t *table) verbFrequency(at uint32) int {
	n := 0
	if c := t.tagged[at]; c > 0 {
		n = int(t.counts[c-1][0])
	}
	if t.bits[at]&bitModern != 0 {
		n += modernCount
	}
	return n
}

// modernCount is the count of a verb in the supplement, for comparison with the counts from older
// texts.
const modernCount = 20

// letterMask is the set of letters in a word; other characters share the last bits.
func letterMask(word string) uint32 {
	m := uint32(0)
	for i := range len(word) {
		m |= 1 << ((word[i] - 'a') & 31)
	}
	return m
}

const longestNear = 24

// editDistance is the number of errors between two words: letters missing, added,
// changed, or swapped with their neighbour (optimal string alignment).
func editDistance[T string | []byte](a, b T) int {
	var rows [3][longestNear + 4]int8
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = int8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = int8(i)
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return int(last[len(b)])
}
