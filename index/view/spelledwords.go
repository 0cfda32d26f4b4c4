package view

import (
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/entry"
	"gazetteer/index/spelling"
	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

// segmentWords has the words of a segment. It is filled on first use and stays valid because a
// segment never changes.
type segmentWords struct {
	mu     sync.Mutex // guards the following fields
	filled bool
	words  spelling.WordList
}

// spelledWords returns the words of a segment.
func (d *SegmentData) spelledWords(s *scorch.SegmentSnapshot) (*spelling.WordList, error) {
	d.spelled.mu.Lock()
	defer d.spelled.mu.Unlock()
	if d.spelled.filled {
		return &d.spelled.words, nil
	}
	var words []string
	for _, f := range []entry.Field{entry.ActField, entry.WhatField, entry.CtxField} {
		err := eachTerm(s, f.String(), func(_ segment.TermDictionary, form string) error {
			if spelling.IsCorrectable(form) {
				words = append(words, form)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	d.spelled.words, d.spelled.filled = spelling.NewWordList(words), true
	return &d.spelled.words, nil
}

// A Respelling is the most likely correction of a word.
type Respelling struct {
	spelling.Correction
	// Frequency is the number of operations that have it, or a form of it.
	Frequency int
}

// NearestSpelling returns the most likely correction of a misspelled word, with Text "" if no word is near
// or [spelling.IsCorrectable] is false for it. A view caches the answers.
func (v *View) NearestSpelling(word string) (Respelling, error) {
	if !spelling.IsCorrectable(word) {
		return Respelling{}, nil
	}
	v.mu.Lock()
	used, ok := v.corrections[word]
	v.mu.Unlock()
	if ok {
		return used, nil
	}
	var best Respelling
	least := math.Inf(1)
	isLong := len(word) >= minLongWord
	compare := func(near []spelling.Correction, inIndex bool) error {
		for _, c := range near {
			if c.Cost > 1.5 && !inIndex || c.Cost == 0 {
				continue // too far for a word that no operation has, or the word itself
			}
			frequency, word := 0, v.Directory.spelledWordOf(c.Text)
			if inIndex {
				found, err := v.FindPostings(word.stem)
				if err != nil {
					return err
				}
				frequency = v.DocumentFrequency(word.stem, found)
			}
			rare := word.usage < minUsage && frequency < minFrequency && (frequency == 0 || c.Cost > 1 || !word.known)
			if rare && !(word.known && (isLong && c.Cost <= 1 || c.Cost <= slipCost)) || c.Cost > 1.5 && frequency == 0 {
				continue // a rarer word than the original
			}
			evidence := frequencyWeight*math.Log10(1+float64(frequency)) + usageWeight*word.usage
			cost := c.Cost - maxEvidence*evidence/(1+evidence)
			if frequency == 0 {
				cost += absentCost
			}
			if cost < least || cost == least && c.Text < best.Text {
				least, best = cost, Respelling{c, frequency}
			}
		}
		return nil
	}
	if len(word) >= minLexiconWord {
		if err := compare(v.Directory.spelledLexicon().AppendNear(nil, word), false); err != nil {
			return Respelling{}, err
		}
	}
	var near []spelling.Correction
	for i, s := range v.snapshot.Segments() {
		words, err := v.Segments[i].spelledWords(s)
		if err != nil {
			return Respelling{}, err
		}
		near = words.AppendNear(near, word)
	}
	slices.SortFunc(near, spelling.Correction.Compare) // a word that several segments have is compared once
	if err := compare(slices.Compact(near), true); err != nil {
		return Respelling{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.corrections == nil || len(v.corrections) >= maxFrequencies {
		v.corrections = make(map[string]Respelling)
	}
	v.corrections[word] = best
	return best, nil
}

// A word is a correction only if it is used: in the index, or in English.
const (
	minFrequency = 3
	minUsage     = 2
	// minLongWord is the minimum length of a word that is hardly another one by chance: one error in it is
	// corrected to any word of the dictionary.
	minLongWord = 8
	// minLexiconWord is the minimum length of a word that may be one that no operation has.
	minLexiconWord = 4
)

// HasForm reports whether an operation has a word as it is written, not another form of it. It is false
// if [spelling.IsCorrectable] is.
func (v *View) HasForm(word string) (bool, error) {
	if !spelling.IsCorrectable(word) {
		return false, nil
	}
	for i, s := range v.snapshot.Segments() {
		words, err := v.Segments[i].spelledWords(s)
		if err != nil || words.Has(word) {
			return err == nil, err
		}
	}
	return false, nil
}

// The weights of the evidence for a correction, in edits.
const (
	frequencyWeight = 0.3  // for each power of ten of operations that have it
	usageWeight     = 0.15 // for each power of two of its uses in English
	// maxEvidence is the limit of both together: a frequent word does not outweigh an edit.
	maxEvidence = 0.5
	// absentCost is the cost of a correction that no operation has.
	absentCost = 0.25
	// slipCost is the maximum cost of a doubled, swapped or similar letter: it leads to any word of the
	// dictionary.
	slipCost = 0.7
)

// modernUses is the assumed number of uses of a word that is newer than the counts.
const modernUses = 15

// A spelledWord is a word that may be a correction.
type spelledWord struct {
	stem  string
	usage float64 // see wordFrequency
	known bool    // whether the dictionary has it
}

// maxSpelledWords bounds the cached words that may be corrections, about 3 MB.
const maxSpelledWords = 1 << 15

// spelledWordOf returns the stem of a word and how common it is. Misspelled words have the same
// neighbors again and again.
func (l *Directory) spelledWordOf(word string) spelledWord {
	l.spelledMu.RLock()
	w, ok := l.spelled[word]
	l.spelledMu.RUnlock()
	if ok {
		return w
	}
	w = spelledWord{tokens.StemOf(word), wordFrequency(word), english.Lookup(word).Known()}
	l.spelledMu.Lock()
	defer l.spelledMu.Unlock()
	if l.spelled == nil || len(l.spelled) >= maxSpelledWords {
		l.spelled = make(map[string]spelledWord)
	}
	l.spelled[word] = w
	return w
}

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

// spelledLexicon returns the English words of the table of word vectors.
func (l *Directory) spelledLexicon() *spelling.WordList {
	l.lexiconOnce.Do(func() {
		var words []string
		for w := range l.lexicon.Table().Unsorted() {
			if utf8.RuneCountInString(w) == len(w) && spelling.IsCorrectable(w) {
				words = append(words, w)
			}
		}
		l.lexiconWords = spelling.NewWordList(words)
	})
	return &l.lexiconWords
}
