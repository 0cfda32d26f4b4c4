package spelling

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"gazetteer/index/tokens"
)

const (
	// minLength is the minimum length of a word that may be corrected, minAnyEdit that for any wrong
	// letter, and minTwoEdits that for two wrong letters. A shorter word is many edits of others by chance.
	minLength, minAnyEdit, minTwoEdits = 3, 4, 6
	// minOtherFirst is the minimum length of a word whose first letter may be wrong.
	minOtherFirst = 6
	// maxLength is the length up to which words are compared, in letters.
	maxLength = 24
)

// IsCorrectable reports whether spelling correction applies to a word.
func IsCorrectable(word string) bool {
	return len(word) >= minLength && len(word) <= maxLength && letterMask(word) != 0
}

// A WordList has words to compare others with, ordered by their first letter, their length and their
// letters. The mask of a word has a bit for each of its letters: two words whose masks differ in many
// bits are many edits apart.
type WordList struct {
	words  []string
	masks  []uint32
	groups [groups + 1]uint32 // where the words of each group begin, and the end of the last one
	rests  []wordRest         // in the order of their hashes
}

// A group has the words with a first letter and a length.
const (
	lengths = maxLength - minLength + 1
	groups  = 26 * lengths
)

// groupOf returns the number of the group of a word.
func groupOf(word string) int { return int(word[0]-'a')*lengths + len(word) - minLength }

// A wordRest is the hash of what follows the first letter of a word.
type wordRest struct{ hash, word uint32 }

// NewWordList returns the list of some words, which it sorts and then owns. [IsCorrectable] must be
// true for each of them.
func NewWordList(words []string) WordList {
	slices.SortFunc(words, compareInList)
	l := WordList{words: slices.Compact(words)}
	l.masks, l.rests = make([]uint32, len(l.words)), make([]wordRest, len(l.words))
	for i, w := range l.words {
		l.masks[i], l.rests[i] = letterMask(w), wordRest{tokens.HashText(w[1:]), uint32(i)}
		l.groups[groupOf(w)+1]++
	}
	for i := range l.groups[1:] {
		l.groups[i+1] += l.groups[i]
	}
	slices.SortFunc(l.rests, func(a, b wordRest) int { return cmp.Compare(a.hash, b.hash) })
	return l
}

// compareInList orders words as a list does.
func compareInList(a, b string) int {
	return cmp.Or(cmp.Compare(groupOf(a), groupOf(b)), strings.Compare(a, b))
}

// findLengths returns the range of the words with a first letter and a length.
func (l *WordList) findLengths(letter byte, least, most int) (from, to int) {
	least, most = max(least, minLength), min(most, maxLength)
	if least > most {
		return 0, 0
	}
	at := int(letter-'a')*lengths - minLength
	return int(l.groups[at+least]), int(l.groups[at+most+1])
}

// findPair returns the range of the words with two first letters and a length.
func (l *WordList) findPair(first, second byte, length int) (from, to int) {
	start, end := l.findLengths(first, length, length)
	words := l.words[start:end]
	from = sort.Search(len(words), func(i int) bool { return words[i][1] >= second })
	to = from + sort.Search(len(words)-from, func(i int) bool { return words[from+i][1] > second })
	return start + from, start + to
}

// findWord returns a word of the list; ok is false if the list does not have it.
func (l *WordList) findWord(word string) (found string, ok bool) {
	from, to := l.findLengths(word[0], len(word), len(word))
	i, ok := slices.BinarySearch(l.words[from:to], word)
	if !ok {
		return "", false
	}
	return l.words[from+i], true
}

// Has reports whether the list has a word. [IsCorrectable] must be true for it.
func (l *WordList) Has(word string) bool {
	_, ok := l.findWord(word)
	return ok
}

// letterMask returns the letters of a word, 0 when it has other characters.
func letterMask(word string) uint32 {
	var mask uint32
	for i := range len(word) {
		c := word[i]
		if c < 'a' || c > 'z' {
			return 0
		}
		mask |= 1 << (c - 'a')
	}
	return mask
}

// The costs of typing errors, in edits.
const (
	doubleCost      = 0.5  // of letters that are doubled or should be
	swapCost        = 0.6  // of two swapped letters
	soundCost       = 0.7  // of a letter that can sound like the right one
	vowelCost       = 0.85 // of a missing vowel
	missingCost     = 0.95 // of another missing letter
	firstLetterCost = 0.5  // of a wrong first letter, besides the edit
)

// A Correction is a word near a misspelt word, and the cost of the errors between them, in edits.
type Correction struct {
	Text string
	Cost float64
}

// Compare orders words by their cost, and those of the same cost by their letters.
func (c Correction) Compare(other Correction) int {
	return cmp.Or(cmp.Compare(c.Cost, other.Cost), strings.Compare(c.Text, other.Text))
}

// AppendNear appends the words that are few edits from a word, and their cost, at most maxCandidates
// of the nearest. [IsCorrectable] must be true for the word. It compares the words of about its length
// with the same first letter, or with the first two letters swapped. Words that differ in the first
// letter alone are looked up.
func (l *WordList) AppendNear(to []Correction, word string) []Correction {
	allowed := 1
	if len(word) >= minTwoEdits {
		allowed = 2
	}
	mask, before := letterMask(word), len(to)
	compare := func(start, end int) {
		for i, m := range l.masks[start:end] {
			if bits.OnesCount32(m^mask) > 2*allowed || bits.OnesCount32(m&^mask) > allowed || bits.OnesCount32(mask&^m) > allowed {
				continue // an edit adds at most one letter to the set, and takes at most one out
			}
			w := l.words[start+i]
			d := editDistance(word, w, allowed)
			if d > allowed {
				continue
			}
			if cost := costOf(word, w, d); cost <= vowelCost && cost != soundCost || min(len(word), len(w)) >= minAnyEdit {
				to = append(to, Correction{w, cost})
			}
		}
	}
	least, most := len(word)-allowed, len(word)+allowed
	compare(l.findLengths(word[0], least, most))
	if word[0] != word[1] {
		for n := least; n <= most; n++ {
			compare(l.findPair(word[1], word[0], n))
		}
	}
	if len(word) >= minOtherFirst {
		to = l.appendOtherFirst(to, word)
	}
	slices.SortFunc(to[before:], Correction.Compare)
	return to[:min(len(to), before+maxCandidates)]
}

// costOf returns the cost of the errors between a misspelt word and a word that is some edits away.
func costOf(word, right string, edits int) float64 {
	switch {
	case edits == 0:
		return 0
	case differInDoubles(word, right):
		return doubleCost
	case edits > 1:
	case len(word) == len(right) && letterMask(word) == letterMask(right):
		return swapCost
	case len(word) == len(right) && soundsAlike(word, right):
		return soundCost
	case len(word) < len(right):
		at := 0
		for at < len(word) && word[at] == right[at] {
			at++
		}
		if strings.IndexByte("aeiou", right[at]) >= 0 {
			return vowelCost
		}
		return missingCost
	}
	return float64(edits)
}

// differInDoubles reports whether two words are the same if a doubled letter counts once: adress, address.
func differInDoubles(a, b string) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) && a[i] == b[j] {
		c := a[i]
		for i < len(a) && a[i] == c {
			i++
		}
		for j < len(b) && b[j] == c {
			j++
		}
	}
	return i == len(a) && j == len(b)
}

// similarSounds are pairs of letters that can sound alike in English.
var similarSounds = strings.Fields("cs ck kq sz gj iy ei ae ao ou dt bp fv mn")

// soundsAlike reports whether the letters in which two words of the same length differ can sound
// alike: parsel, parcel.
func soundsAlike(a, b string) bool {
	for i := range len(a) {
		if a[i] != b[i] && !slices.Contains(similarSounds, string([]byte{min(a[i], b[i]), max(a[i], b[i])})) {
			return false
		}
	}
	return true
}

// appendOtherFirst appends the words that differ from a word in the first letter alone: it is another
// one, missing or too many.
func (l *WordList) appendOtherFirst(near []Correction, word string) []Correction {
	const cost = 1 + firstLetterCost
	if rest := word[1:]; rest[0] != word[0] && rest[1] != word[0] {
		if w, ok := l.findWord(rest); ok {
			near = append(near, Correction{w, cost})
		}
	}
	for _, rest := range [...]string{word[1:], word} {
		hash := tokens.HashText(rest)
		at := sort.Search(len(l.rests), func(i int) bool { return l.rests[i].hash >= hash })
		for ; at < len(l.rests) && l.rests[at].hash == hash; at++ {
			if w := l.words[l.rests[at].word]; w[1:] == rest && w[0] != word[0] {
				near = append(near, Correction{w, cost})
			}
		}
	}
	return near
}

// maxCandidates bounds the words whose frequency is looked up.
const maxCandidates = 32

// editDistance counts the letters to insert, remove, replace or swap with their neighbour to change
// a to b. Above limit it returns a number above limit. The limit is small, so to try each kind of edit
// at the first difference takes fewer steps than a table.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	if limit == 0 {
		if a == b {
			return 0
		}
		return 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	least := editDistance(a[1:], b[1:], limit-1)
	least = min(least, editDistance(a[1:], b, limit-1), editDistance(a, b[1:], limit-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, editDistance(a[2:], b[2:], limit-1))
	}
	return 1 + least
}
