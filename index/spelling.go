package index

import (
	"strings"
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

// maxCorrections bounds the words of one query that are corrected.
const maxCorrections = 6

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
	fields := strings.Fields(query.PlainText(s.query.Words))
	var correction Correction
	replaced := make(map[string]string) // by the replacement: as it was asked
	for i, field := range fields {
		asked := strings.TrimFunc(field, unicode.IsPunct)
		word := strings.ToLower(asked)
		if len(correction.Words) == maxCorrections || !spelling.IsCorrectable(word) || i > 0 && asked != word && asked != strings.ToUpper(word) {
			continue
		}
		unknown, err := s.isUnknown(word)
		if err != nil {
			return nil, err
		}
		if !unknown && (isWord(word) || len(tokens.Tokenize(s.index.analyzer, word)) == 0) {
			continue // it is spelt right, or nothing looks for it
		}
		used, err := s.view.NearestSpelling(word)
		if err != nil {
			return nil, err
		}
		if used == "" || !unknown && (!isVerb(used) || tokens.StemOf(used) != tokens.StemOf(word)) {
			continue // the stem finds the same, but a verb is read in its right form: delet
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

// correctHangul replaces the Korean words that neither the table of translations nor the index
// knows by similar words of the table.
func (s *searcher) correctHangul() (*Correction, error) {
	fields := strings.Fields(query.PlainText(s.query.Words))
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

// minDerived is the minimum length of a verb that a prefix changes. Shorter ones are in misspelt
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
