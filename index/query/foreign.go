package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
)

// parseForeign reads a request in a language other than English, or in several. The search looks
// for each word unchanged and for its English translations.
func parseForeign(a analysis.Analyzer, language, text string) Request {
	r := Request{Language: language}
	left := maxTerms
	var spoken []string // the request in English words, in their order
	asks := false
	add := func(asked string, meanings []string) {
		terms := tokens.Tokenize(a, tokens.PrepareText(asked))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		w := Word{Asked: strings.TrimFunc(asked, unicode.IsPunct), Terms: terms, Weight: 1}
		if isValue(asked) {
			w.Weight = valueWeight
		}
		for _, m := range meanings {
			for _, t := range tokens.Tokenize(a, m) {
				t.Surface = m
				if left > 0 {
					w.Meanings = append(w.Meanings, t)
					left--
				}
			}
		}
		if len(w.Terms) > 0 || len(w.Meanings) > 0 {
			r.Words = append(r.Words, w)
		}
	}
	for _, field := range strings.Fields(text) {
		of := language
		if script := translate.Detect(field); script == translate.Korean || script == translate.Japanese || script == translate.Chinese {
			if language != translate.Japanese || script == translate.Korean { // Han characters alone may be either
				of = script
			}
		}
		parts := translate.Translate(of, field)
		var meanings []string
		for _, p := range parts {
			switch {
			case len(p.Meanings) == 0:
				if of != translate.Korean {
					add(p.Text, nil)
				}
			case p.Meanings[0] == translate.Nothing:
			case p.Meanings[0] == translate.Question:
				asks = true
			case p.Meanings[0] == translate.Negation:
				spoken = append(spoken, "not")
			default:
				spoken = append(spoken, p.Meanings[0])
				if of != translate.Korean {
					add(p.Text, p.Meanings)
				}
				meanings = append(meanings, p.Meanings...)
			}
		}
		// A Korean word includes its particle, and is looked for as a whole.
		if of == translate.Korean && (len(meanings) > 0 || !slices.ContainsFunc(parts, isMark)) {
			add(field, meanings)
		}
	}
	r.Act = foreignAct(language, spoken, asks)
	r.Acts = []Act{r.Act}
	return r
}

// isMark reports whether a part of a text has no searchable content.
func isMark(w translate.Word) bool {
	return len(w.Meanings) > 0 && len(w.Meanings[0]) == 1
}

// foreignAct finds the act of a request in the English translations of its words. In Japanese and
// Korean the verb is last.
func foreignAct(language string, spoken []string, asks bool) Act {
	act := Act{}
	for i, w := range spoken {
		class := effect.Of(w)
		if endsSomething(spoken, i) && (i == 0 || spoken[i-1] != "not") {
			act.Ends = true
		}
		if class == 0 || class&Reading != 0 && class&^Reading != 0 {
			continue
		}
		if act.Verb == "" || language == translate.Japanese || language == translate.Korean {
			act.Verb, act.Wanted = w, class
		}
	}
	if act.Ends && !asks {
		act.Wanted = effect.End
	}
	if asks && act.Wanted&^Reading == 0 || asks && act.Wanted == 0 {
		act.Wanted, act.Question = Reading, true
	}
	return act
}
