package view

import (
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

// A spelledWord is a word to compare others with. Its mask has a bit for each of its letters: two
// words whose masks differ in many bits are many edits apart.
type spelledWord struct {
	text string
	mask uint32
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
	mu     sync.Mutex // guards following
	filled bool
	words  []spelledWord
}

// spelledWords returns the words of a segment.
func (d *SegmentData) spelledWords(s *scorch.SegmentSnapshot) ([]spelledWord, error) {
	d.spelling.mu.Lock()
	defer d.spelling.mu.Unlock()
	if d.spelling.filled {
		return d.spelling.words, nil
	}
	var words []spelledWord
	for _, f := range []entry.Field{entry.ActField, entry.WhatField, entry.CtxField} {
		err := eachTerm(s, f.String(), func(_ segment.TermDictionary, form string) error {
			if IsSpelled(form) {
				words = append(words, spelledWord{form, letterMask(form)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(words, func(a, b spelledWord) int { return strings.Compare(a.text, b.text) })
	d.spelling.words, d.spelling.filled = slices.Compact(words), true
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
	compare := func(words []spelledWord, inIndex bool) error {
		for _, c := range nearSpellings(words, word) {
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

// nearSpellings returns the words that are few edits from a word, with the number of edits: at most
// maxNearSpellings of the nearest.
func nearSpellings(words []spelledWord, word string) []spellingChoice {
	allowed := 1
	if len(word) >= minTwoEdits {
		allowed = 2
	}
	mask := letterMask(word)
	var near []spellingChoice
	for i := range words {
		w := &words[i]
		// An edit changes two letters of the set at most.
		if bits.OnesCount32(w.mask^mask) > 2*allowed || len(w.text)-len(word) > allowed || len(word)-len(w.text) > allowed {
			continue
		}
		if d := EditDistance(word, w.text, allowed); d <= allowed {
			cost := float64(d)
			if d == 1 && len(word) == len(w.text) && mask == w.mask {
				cost = swapCost
			}
			if word[0] != w.text[0] && !(word[0] == w.text[1] && word[1] == w.text[0]) {
				if len(word) < minOtherFirst || d > 1 {
					continue
				}
				cost += firstLetterCost
			}
			near = append(near, spellingChoice{w.text, cost})
		}
	}
	slices.SortFunc(near, func(a, b spellingChoice) int {
		if a.cost != b.cost {
			return int(2 * (a.cost - b.cost))
		}
		return strings.Compare(a.text, b.text)
	})
	return near[:min(len(near), maxNearSpellings)]
}

// maxNearSpellings bounds the words whose frequency is looked up.
const maxNearSpellings = 32

// EditDistance counts the letters to insert, remove, replace or swap with their neighbour to change
// a to b. Above limit it returns a number above limit.
func EditDistance(a, b string, limit int) int {
	var rows [3][maxSpelled + 2]int
	before, last, row := rows[0][:], rows[1][:], rows[2][:]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// lexiconSpelling returns the English words of the table of word vectors.
func (l *Directory) lexiconSpelling() []spelledWord {
	l.spellingOnce.Do(func() {
		for w := range l.lexicon.Table.Unsorted() {
			if utf8.RuneCountInString(w) == len(w) && IsSpelled(w) {
				l.spelling = append(l.spelling, spelledWord{w, letterMask(w)})
			}
		}
	})
	return l.spelling
}
