package index

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

// A Correction says that a query was answered as if some of its words were spelt otherwise.
type Correction struct {
	Query string          `json:"query"` // with the words that were looked for
	Words []CorrectedWord `json:"words"`
}

// A CorrectedWord is a word that nothing has, and the one that was looked for beside it.
type CorrectedWord struct {
	Asked string `json:"asked"`
	Used  string `json:"used"`
}

const (
	// minSpelled is how many letters a word has at least that may be corrected, and minTwoEdits how
	// many when two of its letters may be wrong.
	minSpelled, minTwoEdits = 4, 6
	// minOtherFirst is how many letters a word has at least of which the first may be wrong.
	minOtherFirst = 6
	// maxSpelled is the length up to which words are compared, in letters.
	maxSpelled = 24
	// maxCorrections bounds the words of one query that are corrected.
	maxCorrections = 6
)

// correctSpelling answers as if the words of the query that nothing is known of were spelt as words
// of the index or of the table of words. The words as they were asked are looked for, too.
func (s *searcher) correctSpelling() (*Correction, error) {
	if s.query.Verbatim || s.request.Language != "" || len(s.request.Words) == 0 {
		return nil, nil
	}
	fields := strings.Fields(s.query.Words)
	var correction Correction
	replaced := make(map[string]string) // by the replacement: as it was asked
	for i, field := range fields {
		asked := strings.TrimFunc(field, unicode.IsPunct)
		word := strings.ToLower(asked)
		if len(correction.Words) == maxCorrections || !isSpelled(word) || i > 0 && asked != word && asked != strings.ToUpper(word) {
			continue
		}
		unknown, err := s.isUnknown(word)
		if err != nil {
			return nil, err
		}
		if !unknown {
			continue
		}
		used, err := s.view.nearestSpelling(word)
		if err != nil {
			return nil, err
		}
		if used == "" {
			continue
		}
		correction.Words = append(correction.Words, CorrectedWord{asked, used})
		fields[i] = strings.Replace(field, asked, used, 1)
		replaced[used] = asked
	}
	if len(correction.Words) == 0 {
		return nil, nil
	}
	correction.Query = strings.Join(fields, " ")
	request := query.ParseRequest(s.index.analyzer, strings.Join(append([]string{correction.Query}, s.query.Phrases...), " "))
	for i := range request.Words {
		w := &request.Words[i]
		if asked, ok := replaced[w.Asked]; ok {
			w.Asked, w.Meanings = asked, w.Terms
			w.Terms = tokens.Tokenize(s.index.analyzer, tokens.PrepareText(asked))
		}
	}
	s.request = request
	return &correction, nil
}

// isSpelled reports whether a word is one that spelling can be wrong of.
func isSpelled(word string) bool {
	return len(word) >= minSpelled && len(word) <= maxSpelled && letterMask(word) != 0
}

// isUnknown reports whether neither the index nor the table of words nor a dictionary knows a word.
// Of a word that the dictionary has and nobody uses ("wether"), it is true all the same.
func (s *searcher) isUnknown(word string) (bool, error) {
	if u := english.Lookup(word); u.Known() && (u.NounCount > 0 || u.VerbCount > 0 || u.AdjectiveCount > 0 || u.Written > 0 || u.Modern) {
		return false, nil
	}
	if len(english.Base(word)) > 0 || s.index.lexicon.KnowsStem(tokens.StemOf(word)) {
		return false, nil
	}
	if english.Singular(word) != "" {
		return false, nil
	}
	stem := tokens.StemOf(word)
	found, err := s.view.findPostings(stem)
	if err != nil {
		return false, err
	}
	return s.view.documentFrequency(stem, found) == 0, nil
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

// spelling has the words of a segment. It is filled when it is first needed, and stays true as the
// segment does.
type spelling struct {
	mu     sync.Mutex // guards following
	filled bool
	words  []spelledWord
}

// spelledWords returns the words of a segment.
func (d *segmentData) spelledWords(s *scorch.SegmentSnapshot) ([]spelledWord, error) {
	d.spelling.mu.Lock()
	defer d.spelling.mu.Unlock()
	if d.spelling.filled {
		return d.spelling.words, nil
	}
	var words []spelledWord
	for _, f := range []field{actField, whatField, ctxField} {
		err := eachTerm(s, f.String(), func(_ segment.TermDictionary, form string) error {
			if isSpelled(form) {
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

// nearestSpelling returns the word that a misspelt one most likely stands for, "" when none is near.
// A view remembers its answers.
func (v *view) nearestSpelling(word string) (string, error) {
	v.mu.Lock()
	used, ok := v.corrections[word]
	v.mu.Unlock()
	if ok {
		return used, nil
	}
	candidates := v.dir.lexiconSpelling()
	best := spellingChoice{cost: math.Inf(1)}
	compare := func(words []spelledWord, inIndex bool) error {
		for _, c := range nearSpellings(words, word) {
			frequency := 0
			if inIndex {
				stem := tokens.StemOf(c.text)
				found, err := v.findPostings(stem)
				if err != nil {
					return err
				}
				frequency = v.documentFrequency(stem, found)
			}
			common := usage(c.text)
			if common < minUsage && frequency < minFrequency || c.cost > 1.5 && frequency == 0 {
				continue // a rarer word than what was written
			}
			best.offer(c.text, c.cost-frequencyWeight*math.Log10(1+float64(frequency))-usageWeight*common)
		}
		return nil
	}
	if err := compare(candidates, false); err != nil {
		return "", err
	}
	for i, s := range v.snapshot.Segments() {
		words, err := v.segments[i].spelledWords(s)
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

// A word stands for another one only when it is used: in the index, or in English.
const (
	minFrequency = 3
	minUsage     = 2
)

// The weights of what speaks for a word, in edits.
const (
	frequencyWeight = 0.3  // for each power of ten of operations that have it
	usageWeight     = 0.15 // for each power of two of its uses in English
	swapCost        = 0.6  // of two letters that are swapped, the commonest slip
	firstLetterCost = 0.5  // of a wrong first letter, besides the edit
)

// modernUses stands for the uses of a word that is younger than the counts.
const modernUses = 15

// usage returns how common a word is in English, as a power of two.
func usage(word string) float64 {
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

// A spellingChoice is the best of the words offered to it; of the same cost the first in order.
type spellingChoice struct {
	text string
	cost float64
}

func (c *spellingChoice) offer(text string, cost float64) {
	if cost < c.cost || cost == c.cost && text < c.text {
		c.text, c.cost = text, cost
	}
}

// nearSpellings returns the words that are few edits from a word, and how many, at most
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
		if d := editDistance(word, w.text, allowed); d <= allowed {
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

// maxNearSpellings bounds the words of which the frequency is looked up.
const maxNearSpellings = 32

// editDistance counts the letters to insert, remove, replace or swap with their neighbour to make b of
// a, and returns more than limit when there are more than that.
func editDistance(a, b string, limit int) int {
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
func (l *directory) lexiconSpelling() []spelledWord {
	l.spellingOnce.Do(func() {
		for w := range l.lexicon.Table.Unsorted() {
			if utf8.RuneCountInString(w) == len(w) && isSpelled(w) {
				l.spelling = append(l.spelling, spelledWord{w, letterMask(w)})
			}
		}
	})
	return l.spelling
}
