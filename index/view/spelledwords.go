package view

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/entry"
	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

const (
	// minSpelled is the minimum length of a word that may be corrected, and minTwoEdits the minimum
	// length for two wrong letters.
	minSpelled, minTwoEdits = 4, 6
	// minOtherFirst is the minimum length of a word whose first letter may be wrong.
	minOtherFirst = 6
	// maxSpelled is the length up to which words are compared, in letters.
	maxSpelled = 24
)

// IsSpelled reports whether spelling correction applies to a word.
func IsSpelled(word string) bool {
	return len(word) >= minSpelled && len(word) <= maxSpelled && letterMask(word) != 0
}

// A wordList has words to compare others with, in order. The mask of a word has a bit for each of its
// letters: two words whose masks differ in many bits are many edits apart.
type wordList struct {
	words  []string
	masks  []uint32
	byRest []uint32 // the words, in the order of what follows their first letter
}

// newWordList returns the list of some words, which it sorts.
func newWordList(words []string) wordList {
	slices.Sort(words)
	l := wordList{words: slices.Compact(words)}
	l.masks, l.byRest = make([]uint32, len(l.words)), make([]uint32, len(l.words))
	for i, w := range l.words {
		l.masks[i], l.byRest[i] = letterMask(w), uint32(i)
	}
	slices.SortFunc(l.byRest, func(a, b uint32) int { return strings.Compare(l.words[a][1:], l.words[b][1:]) })
	return l
}

// findPrefix returns the range of the words with a prefix of ASCII letters.
func (l wordList) findPrefix(prefix string) (from, to int) {
	from, _ = slices.BinarySearch(l.words, prefix)
	to, _ = slices.BinarySearch(l.words, prefix+"{") // the character after z
	return from, to
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

// spelling has the words of a segment. It is filled on first use and stays valid because a segment
// never changes.
type spelling struct {
	mu     sync.Mutex // guards the following fields
	filled bool
	words  wordList
}

// spelledWords returns the words of a segment.
func (d *SegmentData) spelledWords(s *scorch.SegmentSnapshot) (wordList, error) {
	d.spelling.mu.Lock()
	defer d.spelling.mu.Unlock()
	if d.spelling.filled {
		return d.spelling.words, nil
	}
	var words []string
	for _, f := range []entry.Field{entry.ActField, entry.WhatField, entry.CtxField} {
		err := eachTerm(s, f.String(), func(_ segment.TermDictionary, form string) error {
			if IsSpelled(form) {
				words = append(words, form)
			}
			return nil
		})
		if err != nil {
			return wordList{}, err
		}
	}
	d.spelling.words, d.spelling.filled = newWordList(words), true
	return d.spelling.words, nil
}

// NearestSpelling returns the most likely correction of a misspelt word, "" if no word is near. A
// view caches the answers.
func (v *View) NearestSpelling(word string) (string, error) {
	v.mu.Lock()
	used, ok := v.corrections[word]
	v.mu.Unlock()
	if ok {
		return used, nil
	}
	candidates := v.Directory.lexiconSpelling()
	best := spellingChoice{cost: math.Inf(1)}
	compare := func(words wordList, inIndex bool) error {
		for _, c := range words.nearSpellings(word) {
			frequency := 0
			if inIndex {
				stem := tokens.StemOf(c.text)
				found, err := v.FindPostings(stem)
				if err != nil {
					return err
				}
				frequency = v.DocumentFrequency(stem, found)
			}
			common := wordFrequency(c.text)
			if common < minUsage && frequency < minFrequency || c.cost > 1.5 && frequency == 0 {
				continue // a rarer word than the original
			}
			best.offer(c.text, c.cost-frequencyWeight*math.Log10(1+float64(frequency))-usageWeight*common)
		}
		return nil
	}
	if err := compare(candidates, false); err != nil {
		return "", err
	}
	for i, s := range v.snapshot.Segments() {
		words, err := v.Segments[i].spelledWords(s)
		if err != nil {
			return "", err
		}
		if err := compare(words, true); err != nil {
			return "", err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.corrections == nil || len(v.corrections) >= maxFrequencies {
		v.corrections = make(map[string]string)
	}
	v.corrections[word] = best.text
	return best.text, nil
}

// A word is a correction only if it is used: in the index, or in English.
const (
	minFrequency = 3
	minUsage     = 2
)

// The weights of the evidence for a correction, in edits.
const (
	frequencyWeight = 0.3  // for each power of ten of operations that have it
	usageWeight     = 0.15 // for each power of two of its uses in English
	swapCost        = 0.6  // of two swapped letters, the most common typing error
	firstLetterCost = 0.5  // of a wrong first letter, besides the edit
)

// modernUses is the assumed number of uses of a word that is newer than the counts.
const modernUses = 15

// wordFrequency returns how common a word is in English, as a power of two.
func wordFrequency(word string) float64 {
	count := 0
	for _, w := range append(english.Base(word), word) {
		u := english.Lookup(w)
		count = max(count, u.NounCount+u.VerbCount+u.AdjectiveCount)
		if u.Modern {
			count = max(count, modernUses)
		}
	}
	return math.Log2(1 + float64(count))
}

// A spellingChoice is the best of the offered words; of several with the same cost the first in
// order.
type spellingChoice struct {
	text string
	cost float64
}

func (c *spellingChoice) offer(text string, cost float64) {
	if cost < c.cost || cost == c.cost && text < c.text {
		c.text, c.cost = text, cost
	}
}

// nearSpellings returns the words that are few edits from a word, and their cost, at most maxNearSpellings
// of the nearest. It compares the words with the same first letter, or with the first two letters
// swapped. Words that differ in the first letter alone are looked up.
func (l wordList) nearSpellings(word string) []spellingChoice {
	allowed := 1
	if len(word) >= minTwoEdits {
		allowed = 2
	}
	mask := letterMask(word)
	var near []spellingChoice
	compare := func(from, to int) {
		for i, m := range l.masks[from:to] {
			if bits.OnesCount32(m&^mask) > allowed || bits.OnesCount32(mask&^m) > allowed {
				continue // an edit adds at most one letter to the set, and takes at most one out
			}
			w := l.words[from+i]
			if len(w)-len(word) > allowed || len(word)-len(w) > allowed {
				continue
			}
			if d := EditDistance(word, w, allowed); d <= allowed {
				cost := float64(d)
				if d == 1 && len(word) == len(w) && mask == m {
					cost = swapCost
				}
				near = append(near, spellingChoice{w, cost})
			}
		}
	}
	compare(l.findPrefix(word[:1]))
	if word[0] != word[1] {
		compare(l.findPrefix(string([]byte{word[1], word[0]})))
	}
	if len(word) >= minOtherFirst {
		near = l.appendOtherFirst(near, word)
	}
	slices.SortFunc(near, func(a, b spellingChoice) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), strings.Compare(a.text, b.text))
	})
	return near[:min(len(near), maxNearSpellings)]
}

// appendOtherFirst appends the words that differ from a word in the first letter alone: it is another one,
// missing or too many.
func (l wordList) appendOtherFirst(near []spellingChoice, word string) []spellingChoice {
	const cost = 1 + firstLetterCost
	if rest := word[1:]; rest[0] != word[0] && rest[1] != word[0] {
		if i, ok := slices.BinarySearch(l.words, rest); ok {
			near = append(near, spellingChoice{l.words[i], cost})
		}
	}
	for _, rest := range [...]string{word[1:], word} {
		at, _ := slices.BinarySearchFunc(l.byRest, rest, func(i uint32, rest string) int { return strings.Compare(l.words[i][1:], rest) })
		for ; at < len(l.byRest) && l.words[l.byRest[at]][1:] == rest; at++ {
			if w := l.words[l.byRest[at]]; w[0] != word[0] {
				near = append(near, spellingChoice{w, cost})
			}
		}
	}
	return near
}

// maxNearSpellings bounds the words whose frequency is looked up.
const maxNearSpellings = 32

// EditDistance counts the letters to insert, remove, replace or swap with their neighbour to change
// a to b. Above limit it returns a number above limit.
func EditDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][maxSpelled + 3]uint8
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

// lexiconSpelling returns the English words of the table of word vectors.
func (l *Directory) lexiconSpelling() wordList {
	l.spellingOnce.Do(func() {
		var words []string
		for w := range l.lexicon.Table.Unsorted() {
			if utf8.RuneCountInString(w) == len(w) && IsSpelled(w) {
				words = append(words, w)
			}
		}
		l.spelling = newWordList(words)
	})
	return l.spelling
}
