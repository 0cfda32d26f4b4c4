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
	compare := func(near []spelling.Correction, inIndex bool) error {
		for _, c := range near {
			if !c.MayCorrect(inIndex) {
				continue
			}
			frequency, usage := 0, v.Directory.usages.UsageOf(c.Text)
			if inIndex {
				found, err := v.FindPostings(usage.Stem)
				if err != nil {
					return err
				}
				frequency = v.DocumentFrequency(usage.Stem, found)
			}
			cost, ok := c.Weigh(word, usage, frequency)
			if !ok {
				continue
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

// minLexiconWord is the minimum length of a word whose correction may be one that no operation has.
const minLexiconWord = 4

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
