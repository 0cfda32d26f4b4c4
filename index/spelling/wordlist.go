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
	// minLength is the minimum length of a word that may be corrected, and minTwoEdits the minimum
	// length for two wrong letters.
	minLength, minTwoEdits = 4, 6
	// minOtherFirst is the minimum length of a word whose first letter may be wrong.
	minOtherFirst = 6
	// maxLength is the length up to which words are compared, in letters.
	maxLength = 24
)

// IsCorrectable reports whether spelling correction applies to a word.
func IsCorrectable(word string) bool {
	return len(word) >= minLength && len(word) <= maxLength && letterMask(word) != 0
}

// A WordList has words to compare others with, in order. The mask of a word has a bit for each of
// its letters: two words whose masks differ in many bits are many edits apart.
type WordList struct {
	words   []string
	masks   []uint32
	letters [27]uint32 // where the words with each first letter begin, and the end of the last ones
	rests   []wordRest // in the order of their hashes
}

// A wordRest is the hash of what follows the first letter of a word.
type wordRest struct{ hash, word uint32 }

// NewWordList returns the list of some words, which it sorts and then owns. [IsCorrectable] must be
// true for each of them.
func NewWordList(words []string) WordList {
	slices.Sort(words)
	l := WordList{words: slices.Compact(words)}
	l.masks, l.rests = make([]uint32, len(l.words)), make([]wordRest, len(l.words))
	for i, w := range l.words {
		l.masks[i], l.rests[i] = letterMask(w), wordRest{tokens.HashText(w[1:]), uint32(i)}
		l.letters[w[0]-'a'+1]++
	}
	for i := range l.letters[1:] {
		l.letters[i+1] += l.letters[i]
	}
	slices.SortFunc(l.rests, func(a, b wordRest) int { return cmp.Compare(a.hash, b.hash) })
	return l
}

// findLetter returns the range of the words with a first letter.
func (l *WordList) findLetter(letter byte) (from, to int) {
	return int(l.letters[letter-'a']), int(l.letters[letter-'a'+1])
}

// findPair returns the range of the words with two first letters.
func (l *WordList) findPair(first, second byte) (from, to int) {
	start, end := l.findLetter(first)
	words := l.words[start:end] // of at least minLength letters
	from = sort.Search(len(words), func(i int) bool { return words[i][1] >= second })
	to = from + sort.Search(len(words)-from, func(i int) bool { return words[from+i][1] > second })
	return start + from, start + to
}

// findWord returns a word of the list; ok is false if the list does not have it.
func (l *WordList) findWord(word string) (found string, ok bool) {
	from, to := l.findLetter(word[0])
	i, ok := slices.BinarySearch(l.words[from:to], word)
	if !ok {
		return "", false
	}
	return l.words[from+i], true
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
	swapCost        = 0.6 // of two swapped letters, the most common error
	soundCost       = 0.7 // of a letter that can sound like the right one
	firstLetterCost = 0.5 // of a wrong first letter, besides the edit
)

// A Candidate is a word near a misspelt word, and the cost of the errors between them, in edits.
type Candidate struct {
	Text string
	Cost float64
}

// Compare orders words by their cost, and those of the same cost by their letters.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(c.Cost, other.Cost), strings.Compare(c.Text, other.Text))
}

// AppendNear appends the words that are few edits from a word, and their cost, at most maxCandidates
// of the nearest. [IsCorrectable] must be true for the word. It compares the words with the same first
// letter, or with the first two letters swapped. Words that differ in the first letter alone are
// looked up.
func (l *WordList) AppendNear(to []Candidate, word string) []Candidate {
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
			if len(w)-len(word) > allowed || len(word)-len(w) > allowed {
				continue
			}
			if d := editDistance(word, w, allowed); d <= allowed {
				cost := float64(d)
				switch {
				case d != 1 || len(word) != len(w):
				case mask == m:
					cost = swapCost
				case soundsAlike(word, w):
					cost = soundCost
				}
				to = append(to, Candidate{w, cost})
			}
		}
	}
	compare(l.findLetter(word[0]))
	if word[0] != word[1] {
		compare(l.findPair(word[1], word[0]))
	}
	if len(word) >= minOtherFirst {
		to = l.appendOtherFirst(to, word)
	}
	slices.SortFunc(to[before:], Candidate.Compare)
	return to[:min(len(to), before+maxCandidates)]
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
func (l *WordList) appendOtherFirst(near []Candidate, word string) []Candidate {
	const cost = 1 + firstLetterCost
	if rest := word[1:]; rest[0] != word[0] && rest[1] != word[0] {
		if w, ok := l.findWord(rest); ok {
			near = append(near, Candidate{w, cost})
		}
	}
	for _, rest := range [...]string{word[1:], word} {
		hash := tokens.HashText(rest)
		at := sort.Search(len(l.rests), func(i int) bool { return l.rests[i].hash >= hash })
		for ; at < len(l.rests) && l.rests[at].hash == hash; at++ {
			if w := l.words[l.rests[at].word]; w[1:] == rest && w[0] != word[0] {
				near = append(near, Candidate{w, cost})
			}
		}
	}
	return near
}

// maxCandidates bounds the words whose frequency is looked up.
const maxCandidates = 32

// editDistance counts the letters to insert, remove, replace or swap with their neighbour to change
// a to b, words of at most maxLength letters. Above limit it returns a number above limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
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
	var rows [3][maxLength + 3]uint8
	before, last, row := &rows[0], &rows[1], &rows[2]
	most := uint8(limit) + 1
	for j := range min(len(b), limit) + 1 {
		last[j] = uint8(j)
	}
	last[min(len(b), limit)+1] = most
	for i := 1; i <= len(a); i++ {
		// Only what is near the diagonal can stay within the limit.
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[from-1] = most
		if from == 1 {
			row[0] = uint8(i)
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost = min(cost, last[j], row[j-1]) + 1
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cost = min(cost, before[j-2]+1)
			}
			row[j] = cost
			least = min(least, cost)
		}
		row[to+1] = most
		if least > uint8(limit) {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(limit+1, int(last[len(b)]))
}
