package agis

import "gazetteer/protocol/english"

// splitCompound returns the parts of an unknown word if they show that it is not a verb: a verb and
// its object (findrestaurant), or nouns only (orderstatus). It returns nil for words such as
// crowdsource, which are compounds but verbs, and for words that only look like compounds.
func splitCompound(word string) []string {
	s := splitter{word: word}
	for end := 3; end <= len(word)-2; end++ {
		first := word[:end]
		use := english.Lookup(first)
		strong := strongVerb(first, use)
		weak := use.Verb && (use.Modern || use.VerbCount >= 3)
		if (strong || weak) && s.matchRest(end, 3, strong) {
			return append([]string{first}, s.words...)
		}
	}
	for end := 4; end <= len(word)-2; end++ {
		first := english.Lookup(word[:end])
		if (first.NounCount >= commonNoun || first.Noun && first.Modern) && isOnlyNoun(word[end:]) {
			return []string{word[:end], word[end:]}
		}
	}
	return nil
}

// isOnlyNoun reports whether a word is a common noun that is not a verb, or the
// plural of a common noun.
func isOnlyNoun(word string) bool {
	if len(word) < 4 {
		return listed().short[word] && !english.Lookup(word).Verb
	}
	use, single := english.Lookup(word), english.Singular(word)
	return !use.Verb && (use.Noun && (use.NounCount >= commonNoun || use.Modern) ||
		len(single) >= 4 && english.Lookup(single).NounCount >= commonNoun)
}

// strongVerb reports whether readers understand a word at the beginning of a name as a verb, not as
// a noun.
func strongVerb(word string, use english.Use) bool {
	return listed().command[word] || use.VerbCount >= 3 && use.VerbCount >= mostlyVerb*use.NounCount && len(word) > 3
}

// splitter finds words that together fill the end of a text.
type splitter struct {
	word  string
	words []string // the words found
}

// matchRest reports whether the text from at on is a name, with at most more words before it that
// can modify one. strong says that a strong verb precedes it, so that the name may also be a verb
// (create test).
func (s *splitter) matchRest(at, more int, strong bool) bool {
	if last := s.word[at:]; isObjectName(last, strong) {
		s.words = []string{last}
		return true
	}
	if more == 0 {
		return false
	}
	for end := at + 2; end <= len(s.word)-2; end++ {
		middle := s.word[at:end]
		if canStandBetween(middle) && s.matchRest(end, more-1, strong) {
			s.words = append([]string{middle}, s.words...)
			return true
		}
	}
	return false
}

// isObjectName reports whether a word can be the object of a verb.
func isObjectName(word string, strong bool) bool {
	if len(word) < 4 && !listed().short[word] {
		return false
	}
	use := english.Lookup(word)
	if !use.Known() {
		single := english.Singular(word)
		return single != "" && len(single) >= 3 && isFrequentNoun(english.Lookup(single))
	}
	if use.Adjective && use.AdjectiveCount > 0 && !use.Verb {
		return true
	}
	asVerb := use.VerbCount >= 5 && 3*use.VerbCount >= use.NounCount
	return use.Noun && isFrequentNoun(use) && (strong || !asVerb)
}

func isFrequentNoun(use english.Use) bool {
	return use.Noun && (use.NounCount > 0 || use.Modern || use.Written > 1)
}

// canStandBetween reports whether a word can come between a verb and a name: a preposition or
// article, an adjective, another name.
func canStandBetween(word string) bool {
	if listed().function[word] {
		return true
	}
	if len(word) < 4 && !listed().short[word] {
		return false
	}
	use := english.Lookup(word)
	if english.Lookup(english.Positive(word)).AdjectiveCount >= commonNoun { // nearest
		return true
	}
	return !use.Known() && isObjectName(word, true) || use.NounCount >= commonNoun || use.AdjectiveCount >= commonNoun || use.Noun && use.Modern
}
