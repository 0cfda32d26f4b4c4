package web

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/web/frame"
)

// suggestion is one completion: the new text of the whole field.
type suggestion struct{ Text, Label string }

// maxSuggestions is the number of suggestions: people do not read more while they type.
const maxSuggestions = 8

// suggestedKeys are the keys of the query language whose values are suggested.
var suggestedKeys = map[string]string{
	index.SuggestVerb: "verb", index.SuggestNamespace: "ns", index.SuggestClass: "class", index.SuggestService: "host",
}

var suggestedLabels = map[string]string{
	index.SuggestVerb: "verb", index.SuggestNamespace: "namespace", index.SuggestClass: "class of data", index.SuggestService: "service", index.SuggestNoun: "word",
}

// makeSuggestions completes the last word of a query, or the value of its last filter. A text that
// ends in a space or a quoted text has no completion.
func (p *Pages) makeSuggestions(ctx context.Context, text string) ([]suggestion, error) {
	at := strings.LastIndexFunc(text, unicode.IsSpace) + 1
	before, word := text[:at], text[at:]
	word, without := strings.CutPrefix(word, "-")
	if without {
		before += "-"
	}
	key, typed, filter := strings.Cut(word, ":")
	if !filter {
		key, typed = "", word
	}
	if typed == "" || strings.Count(text, `"`) > 0 {
		return nil, nil
	}
	var kinds []string
	switch {
	case without && filter:
		return nil, nil // no filter can be left out
	case without:
		kinds = []string{index.SuggestVerb, index.SuggestNoun}
	case filter:
		for kind, k := range suggestedKeys {
			if k == strings.ToLower(key) {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) == 0 {
			return nil, nil // the values of this key are not suggested
		}
	case endsWithArticle(before):
		kinds = []string{index.SuggestNoun}
	case strings.TrimSpace(before) != "":
		kinds = []string{index.SuggestVerb, index.SuggestNoun} // a sentence goes on with a word
	}
	found, err := p.catalog.Suggest(ctx, before, typed, maxSuggestions, kinds...)
	if _, odd := errors.AsType[*query.Error](err); odd {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []suggestion
	seen := map[string]bool{text: true}
	for _, s := range found {
		whole := before + completeValue(s, strings.ToLower(key))
		if whole == before || seen[whole] || frame.PlainText(whole) != whole {
			continue
		}
		seen[whole] = true
		list = append(list, suggestion{whole, suggestedLabels[s.Kind] + ", " + frame.FormatCount(s.Operations, "operation")})
	}
	return list, nil
}

// endsWithArticle reports whether the last word of a text is an article or a possessive, which a noun
// follows.
func endsWithArticle(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	return len(words) > 0 && slices.Contains(articles, words[len(words)-1])
}

var articles = strings.Fields("a an the my our your his her their this that these those")

// isWord reports whether a suggestion is a word of operations.
func isWord(s index.Suggestion) bool {
	return s.Kind == index.SuggestVerb || s.Kind == index.SuggestNoun
}

// completeValue returns a suggestion as a word or, if a key was typed or nothing else would find
// it, as a filter; "" if it does not fit the key or cannot be expressed.
func completeValue(s index.Suggestion, key string) string {
	own := suggestedKeys[s.Kind]
	if key == "" && isWord(s) {
		return strings.ToLower(s.Text)
	}
	if own == "" || key != "" && key != own {
		return ""
	}
	q, ok := query.Query{}.Toggled(own, s.Text)
	if own == "host" { // which is no facet: its values are counted nowhere
		q, ok = query.Query{Hosts: []string{s.Text}}, true
	}
	if !ok {
		return ""
	}
	return q.String()
}
