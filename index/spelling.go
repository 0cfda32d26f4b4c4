package index

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"gazetteer/index/query"
	"gazetteer/index/spelling"
	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/english"
)

// A Correction says that a query was answered as if some of its words were spelt otherwise.
type Correction struct {
	Query string          `json:"query"` // with the replaced words
	Words []correctedWord `json:"words"`
}

// A correctedWord is an unknown word and its replacement.
type correctedWord struct {
	Asked string `json:"asked"`
	Used  string `json:"used"`
}

const (
	// maxCorrections bounds the words of one query that are corrected.
	maxCorrections = 6
	// minCapitals is the minimum length of a word in capitals that is corrected: shorter ones are abbreviations.
	minCapitals = 4
)

// correctSpelling replaces the unknown words of the query by similar words of the index or of the
// table of words. The search looks for the original words, too.
func (s *searcher) correctSpelling() (*Correction, error) {
	if s.query.Verbatim || len(s.request.Words) == 0 {
		return nil, nil
	}
	if s.request.Language == translate.Korean {
		return s.correctHangul()
	}
	if s.request.Language != "" {
		return nil, nil
	}
	fields := strings.Fields(tokens.PlainText(s.query.Words))
	isMixed := strings.ContainsFunc(s.query.Words, unicode.IsLower) // then a word in capitals is an abbreviation
	var correction Correction
	replaced := make(map[string]string) // by the replacement: as it was asked
	for i, field := range fields {
		asked := strings.TrimFunc(field, unicode.IsPunct)
		word := strings.ToLower(asked)
		if len(correction.Words) == maxCorrections || !spelling.IsCorrectable(word) || i > 0 && asked != word && asked != strings.ToUpper(word) ||
			len(word) < minCapitals && asked != word || asked == strings.ToUpper(word) && asked != word && isMixed {
			continue
		}
		used, err := s.correctionOf(word, i == 0)
		if err != nil {
			return nil, err
		}
		if used == "" {
			continue
		}
		correction.Words = append(correction.Words, correctedWord{asked, used})
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

// questionWords are looked for in no operation, but at the beginning of a request they say what it asks for.
var questionWords = sync.OnceValue(func() spelling.WordList {
	return spelling.NewWordList(strings.Fields("how what when where which who whose why"))
})

// correctionOf returns the word to use instead of a misspelled one, "" for a word that is spelt right or
// has no likely correction.
func (s *searcher) correctionOf(word string, isFirst bool) (string, error) {
	unknown, err := s.isUnknown(word)
	if err != nil {
		return "", err
	}
	if questions := questionWords(); unknown && isFirst {
		if near := questions.AppendNear(nil, word); len(near) > 0 && near[0].Cost < 1 {
			return near[0].Text, nil
		}
	}
	inDictionary := isWord(word)
	if !unknown && (inDictionary && !isRare(word) || len(tokens.Tokenize(s.index.analyzer, word)) == 0) {
		return "", nil // it is spelt right, or nothing looks for it
	}
	used, err := s.view.NearestSpelling(word)
	if err != nil || used.Text == "" || unknown {
		return used.Text, err
	}
	if !inDictionary && tokens.StemOf(used.Text) == tokens.StemOf(word) {
		if isVerb(used.Text) {
			return used.Text, nil // the stem finds the same, but a verb is read in its right form: delet
		}
		return "", nil
	}
	// A wrong form of a frequent word: it may be in a few texts, or its stem may be that of another word.
	if used.Cost > 1 || used.Frequency < minCorrected || !isWord(used.Text) {
		return "", nil
	}
	written, err := s.view.HasForm(word)
	if err != nil {
		return "", err
	}
	if !written && !inDictionary {
		return used.Text, nil // recipie, which has the stem of recipient
	}
	own, err := s.frequencyOf(tokens.Tokenize(s.index.analyzer, word))
	if err != nil || used.Cost > maxFormCost && (own > 0 || used.Cost >= 1) || own*minCorrected > used.Frequency {
		return "", err
	}
	return used.Text, nil // calender, adress
}

const (
	// minCorrected is the minimum number of operations that have the correction of a wrong form, and how
	// many times as many they must be.
	minCorrected = 5
	// maxFormCost is the maximum cost of the correction of a wrong form that a text or the dictionary has:
	// a letter that is doubled, swapped or sounds alike.
	maxFormCost = 0.7
)

// rareUses is the maximum number of uses of a word in the dictionary's explanations that says that it
// is rare.
const rareUses = 1

// isRare reports whether the dictionary has a word that is hardly used (calender), or takes it for a
// form of a verb that it is not (shiping).
func isRare(word string) bool {
	u := english.Lookup(word)
	if !u.Known() {
		return english.Singular(word) == "" && !slices.ContainsFunc(english.Base(word), func(base string) bool {
			return base+"ing" != word && base+"ed" != word || !endsShort(base)
		})
	}
	return u.NounCount == 0 && u.VerbCount == 0 && u.AdjectiveCount == 0 && !u.Modern && u.Written <= rareUses &&
		len(english.Base(word)) == 0 && english.Singular(word) == ""
}

// endsShort reports whether a verb ends with a short vowel and a consonant, which its forms double: ship.
func endsShort(verb string) bool {
	n := len(verb)
	const vowels, undoubled = "aeiou", "wxy"
	return n >= 3 && !strings.Contains(vowels, verb[n-3:n-2]) && strings.Contains(vowels, verb[n-2:n-1]) && !strings.Contains(vowels+undoubled, verb[n-1:])
}

// correctHangul replaces the Korean words that neither the table of translations nor the index
// knows by similar words of the table.
func (s *searcher) correctHangul() (*Correction, error) {
	fields := strings.Fields(tokens.PlainText(s.query.Words))
	var correction Correction
	for i, field := range fields {
		if len(correction.Words) == maxCorrections {
			break
		}
		used := translate.CorrectHangul(field)
		if used == "" {
			continue
		}
		indexed, err := s.isIndexed(field)
		if err != nil {
			return nil, err
		}
		if indexed {
			continue
		}
		correction.Words = append(correction.Words, correctedWord{field, used})
		fields[i] = used
	}
	if len(correction.Words) == 0 {
		return nil, nil
	}
	correction.Query = strings.Join(fields, " ")
	s.request = query.ParseRequest(s.index.analyzer, strings.Join(append([]string{correction.Query}, s.query.Phrases...), " "))
	return &correction, nil
}

// isIndexed reports whether operations have every term of a word.
func (s *searcher) isIndexed(word string) (bool, error) {
	for _, t := range tokens.Tokenize(s.index.analyzer, tokens.PrepareText(word)) {
		found, err := s.view.FindPostings(t.Stem)
		if err != nil {
			return false, err
		}
		if s.view.DocumentFrequency(t.Stem, found) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// isUnknown reports whether the index, the table of words and the dictionary all lack a word. A
// word that the dictionary has but nobody uses ("wether") is also unknown.
func (s *searcher) isUnknown(word string) (bool, error) {
	if u := english.Lookup(word); u.Known() && (u.NounCount > 0 || u.VerbCount > 0 || u.AdjectiveCount > 0 || u.Written > 0 || u.Modern) {
		return false, nil
	}
	if len(english.Base(word)) > 0 || english.Singular(word) != "" || isDerived(word) || s.index.lexicon.KnowsStem(tokens.StemOf(word)) {
		return false, nil
	}
	stem := tokens.StemOf(word)
	found, err := s.view.FindPostings(stem)
	if err != nil {
		return false, err
	}
	return s.view.DocumentFrequency(stem, found) == 0, nil
}

// derivingPrefixes make a verb of another one: repaint, unsubscribe.
var derivingPrefixes = []string{"mis", "over", "pre", "re", "un"}

// isDerived reports whether a word is a verb in use with a prefix, which no dictionary lists.
func isDerived(word string) bool {
	for _, prefix := range derivingPrefixes {
		if verb, ok := strings.CutPrefix(word, prefix); ok && len(verb) >= minDerived {
			for _, base := range append(english.Base(verb), verb) {
				if english.Lookup(base).VerbCount > 0 {
					return true
				}
			}
		}
	}
	return false
}

// minDerived is the minimum length of a verb that a prefix changes. Shorter ones are in misspelled
// words by chance.
const minDerived = 4

// isWord reports whether the dictionary has a word or its base form.
func isWord(word string) bool {
	return english.Lookup(word).Known() || len(english.Base(word)) > 0 || english.Singular(word) != ""
}

// isVerb reports whether a word is a verb and nothing else.
func isVerb(word string) bool {
	u := english.Lookup(word)
	return u.Verb && !u.Noun
}
