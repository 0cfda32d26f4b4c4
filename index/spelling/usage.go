package spelling

import (
	"math"
	"sync"

	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

// A Usage tells how common a word is in English.
type Usage struct {
	Stem   string
	powers float64 // of two, of the number of its uses
	known  bool    // whether the dictionary has it
}

// maxUsages bounds the words of a [UsageCache], about 3 MB.
const maxUsages = 1 << 15

// A UsageCache remembers how common words are: misspelled words have the same neighbors again and
// again. Its zero value is ready for use, also by several goroutines.
type UsageCache struct {
	mu     sync.RWMutex // guards usages
	usages map[string]Usage
}

// UsageOf returns how common a word is.
func (c *UsageCache) UsageOf(word string) Usage {
	c.mu.RLock()
	u, ok := c.usages[word]
	c.mu.RUnlock()
	if ok {
		return u
	}
	u = Usage{tokens.StemOf(word), powersOfUse(word), english.Lookup(word).Known()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usages == nil || len(c.usages) >= maxUsages {
		c.usages = make(map[string]Usage)
	}
	c.usages[word] = u
	return u
}

// modernUses is the assumed number of uses of a word that is newer than the counts.
const modernUses = 15

// powersOfUse returns how common a word is in English, as a power of two.
func powersOfUse(word string) float64 {
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

// A word is a correction only if it is used: in the index, or in English.
const (
	minFrequency = 3
	minUsage     = 2
	// minLongWord is the minimum length of a word that is hardly another one by chance: one error in it is
	// corrected to any word of the dictionary.
	minLongWord = 8
	// maxUnindexedCost is the maximum cost of a correction that no operation has.
	maxUnindexedCost = 1.5
	// slipCost is the maximum cost of a doubled, swapped or similar letter: it leads to any word of the
	// dictionary.
	slipCost = 0.7
)

// The weights of the evidence for a correction, in edits.
const (
	frequencyWeight = 0.3  // for each power of ten of operations that have it
	usageWeight     = 0.15 // for each power of two of its uses in English
	// maxEvidence is the limit of both together: a frequent word does not outweigh an edit.
	maxEvidence = 0.5
	// absentCost is the cost of a correction that no operation has.
	absentCost = 0.25
)

// MayCorrect reports whether a near word may be a correction. inIndex tells whether an operation has it.
func (c Correction) MayCorrect(inIndex bool) bool {
	return c.Cost > 0 && (inIndex || c.Cost <= maxUnindexedCost)
}

// Weigh returns the cost of a correction of a misspelled word in edits, less what the usage and the
// frequency of the correction (the number of operations that have it) say for it. ok is false for a
// rarer word than the original may be.
func (c Correction) Weigh(misspelled string, u Usage, frequency int) (cost float64, ok bool) {
	isLong := len(misspelled) >= minLongWord
	rare := u.powers < minUsage && frequency < minFrequency && (frequency == 0 || c.Cost > 1 || !u.known)
	if rare && !(u.known && (isLong && c.Cost <= 1 || c.Cost <= slipCost)) || c.Cost > maxUnindexedCost && frequency == 0 {
		return 0, false
	}
	evidence := frequencyWeight*math.Log10(1+float64(frequency)) + usageWeight*u.powers
	cost = c.Cost - maxEvidence*evidence/(1+evidence)
	if frequency == 0 {
		cost += absentCost
	}
	return cost, true
}
