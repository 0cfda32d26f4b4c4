package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
)

// The kinds of a [Suggestion].
const (
	SuggestVerb      = "verb"
	SuggestNoun      = "noun" // a word of operations' names or, in scripts without spaces, of their descriptions
	SuggestClass     = "class"
	SuggestService   = "service" // a host
	SuggestNamespace = "namespace"
)

// suggestKinds are the kinds in the order of an answer: words for the task come before words that
// narrow it.
var suggestKinds = [...]string{SuggestVerb, SuggestNoun, SuggestClass, SuggestService, SuggestNamespace}

// A Suggestion is an existing value that begins with the typed text.
type Suggestion struct {
	Text       string `json:"text"`
	Kind       string `json:"kind"`
	Operations int    `json:"operations"`
}

// Suggest completes the typed text, in any letter case: at most limit (10 when 0, at most 100)
// verbs, nouns, data classes, services and namespaces, or only those of the given kinds. An exact
// match comes first, then the kinds in this order, with the most offered first in each. No kind
// uses up the places of another: a fifth of the limit is reserved for each kind that has enough. An
// empty text has no completions. Nouns of operations that have a word of the text before come first:
// behind "book a", table before task.
func (x *Index) Suggest(ctx context.Context, before, typed string, limit int, kinds ...string) ([]Suggestion, error) {
	limit = cmp.Or(limit, 10)
	if limit < 1 || limit > query.MaxLimit {
		return nil, &query.Error{Query: typed, Message: fmt.Sprintf("a limit of %d", limit), Help: fmt.Sprintf("ask for 1 to %d suggestions", query.MaxLimit)}
	}
	typed = strings.ToLower(tokens.PrepareName(strings.TrimSpace(typed)))
	if typed == "" || len(typed) > 4*view.MaxPrefix {
		return []Suggestion{}, ctx.Err()
	}
	var found map[string][]Suggestion
	err := x.withSnapshot(func(v *view.View, _ uint64) (err error) {
		found, err = x.collectSuggestions(ctx, v, before, typed)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(kinds) > 0 {
		for _, kind := range suggestKinds {
			if !slices.Contains(kinds, kind) {
				delete(found, kind)
			}
		}
	}
	return distributePlaces(found, typed, limit), nil
}

// collectSuggestions returns all suggestions by kind that begin with the typed text, which is in
// lower case and split like names.
func (x *Index) collectSuggestions(ctx context.Context, v *view.View, before, typed string) (map[string][]Suggestion, error) {
	found := make(map[string][]Suggestion)
	verbs := make(map[string]int)
	for kind, field := range map[string]string{SuggestVerb: query.VerbField, SuggestNamespace: query.NamespaceField, SuggestClass: query.ClassField} {
		values, err := v.CountValues(field)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if !hasTypedPrefix(value.Value, typed) {
				continue
			}
			found[kind] = append(found[kind], Suggestion{value.Value, kind, value.Operations})
			if kind == SuggestVerb {
				verbs[strings.ToLower(value.Value)] = value.Operations
			}
		}
	}
	for host, n := range v.HostsWithLabel(typed) {
		found[SuggestService] = append(found[SuggestService], Suggestion{host, SuggestService, n})
	}
	nouns, err := view.CountTerms(ctx, v, entry.ActField, typed)
	if err != nil {
		return nil, err
	}
	view.DropOtherNumber(nouns, typed)
	for noun, n := range nouns {
		// A word that is always the verb is not a noun.
		if n > verbs[noun] {
			found[SuggestNoun] = append(found[SuggestNoun], Suggestion{noun, SuggestNoun, n})
		}
	}
	beside, err := view.CountTermsBeside(ctx, v, wordsBefore(before), typed, nouns)
	if err != nil {
		return nil, err
	}
	pairs, err := x.suggestBigrams(ctx, v, typed)
	for _, s := range pairs {
		if _, named := nouns[s.Text]; !named {
			found[SuggestNoun] = append(found[SuggestNoun], s)
		}
	}
	for kind, s := range found {
		slices.SortFunc(s, func(a, b Suggestion) int {
			// A noun that is also a verb counts only where it is not the verb.
			besides := func(s Suggestion) int {
				if s.Kind == SuggestNoun {
					return s.Operations - verbs[s.Text]
				}
				return s.Operations
			}
			together := 0
			if kind == SuggestNoun {
				together = cmp.Compare(beside[b.Text], beside[a.Text])
			}
			return cmp.Or(-compareBool(isExactly(a.Text, typed), isExactly(b.Text, typed)), together, cmp.Compare(besides(b), besides(a)), strings.Compare(a.Text, b.Text))
		})
	}
	return found, err
}

// maxWordsBefore is the number of words before a typed one that say which nouns are meant.
const maxWordsBefore = 3

// wordsBefore returns the last words of a text in lower case, without those that operations have for their
// grammar and without filters.
func wordsBefore(text string) []string {
	words := slices.DeleteFunc(strings.Fields(strings.ToLower(text)), func(w string) bool {
		return len(w) < 3 || strings.ContainsAny(w, `:"-`) || grammarWords[w]
	})
	return words[max(0, len(words)-maxWordsBefore):]
}

// grammarWords say nothing about the noun behind them.
var grammarWords = map[string]bool{"the": true, "and": true, "for": true, "with": true, "from": true, "into": true, "that": true, "this": true,
	"its": true, "our": true, "your": true, "their": true, "his": true, "her": true, "want": true, "need": true, "please": true}

// distributePlaces makes one list of suggestions by kind: a fifth of the places for each kind, and
// the remaining places for the first kinds.
func distributePlaces(found map[string][]Suggestion, typed string, limit int) []Suggestion {
	taken, left := [len(suggestKinds)]int{}, limit
	for i, kind := range suggestKinds {
		taken[i] = min(len(found[kind]), limit/len(suggestKinds))
		left -= taken[i]
	}
	out := make([]Suggestion, 0, limit-left)
	for i, kind := range suggestKinds {
		more := min(len(found[kind])-taken[i], left)
		left -= more
		out = append(out, found[kind][:taken[i]+more]...)
	}
	slices.SortStableFunc(out, func(a, b Suggestion) int {
		return -compareBool(isExactly(a.Text, typed), isExactly(b.Text, typed))
	})
	return out
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// isExactly reports whether a value equals the typed text, in any letter case.
func isExactly(value, typed string) bool {
	return strings.EqualFold(value, typed) || strings.EqualFold(tokens.PrepareName(value), typed)
}

// hasTypedPrefix reports whether a value, in its own or its split form, begins with the typed text.
func hasTypedPrefix(value, typed string) bool {
	return hasPrefixFold(value, typed) || hasPrefixFold(tokens.PrepareName(value), typed)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

const (
	// maxBigrams is the number of character pairs that are checked, and maxBigramChecks the number
	// of operations checked for each.
	maxBigrams      = 20
	maxBigramChecks = 3
)

// suggestBigrams completes text in a script whose pairs of characters are indexed (Korean, Chinese,
// Japanese, Thai). The drafts require Latin names of operations, so these are words of
// descriptions. A pair from the middle of a word is not a suggestion.
func (x *Index) suggestBigrams(ctx context.Context, v *view.View, typed string) ([]Suggestion, error) {
	if first, _ := utf8.DecodeRuneInString(typed); utf8.RuneCountInString(typed) > 2 || !tokens.IsBigramScript(first) && !unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return nil, nil
	}
	counts, err := view.CountTerms(ctx, v, entry.WhatField, typed)
	if err != nil {
		return nil, err
	}
	var pairs []Suggestion
	for pair, n := range counts {
		if n > 0 && utf8.RuneCountInString(pair) == 2 {
			pairs = append(pairs, Suggestion{pair, SuggestNoun, n})
		}
	}
	slices.SortFunc(pairs, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Text, b.Text))
	})
	var out []Suggestion
	for _, s := range pairs[:min(len(pairs), maxBigrams)] {
		begins, err := x.beginsWord(ctx, v, s.Text)
		if err != nil {
			return nil, err
		}
		if begins {
			out = append(out, s)
		}
	}
	return out, nil
}

// beginsWord reports whether a word begins with a pair in one of the first
// operations that have it.
func (x *Index) beginsWord(ctx context.Context, v *view.View, pair string) (bool, error) {
	var places []view.EntryRef
	err := view.EachTermWith(ctx, v, entry.WhatField, pair, func(i int, s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string) error {
		if term != pair {
			return nil
		}
		return v.Segments[i].EachPosting(s, dictionary, term, false, func(number uint32, _, _ int) {
			if len(places) < maxBigramChecks && v.Segments[i].Searchable.Has(number) {
				places = append(places, view.EntryRef{Segment: i, Number: number})
			}
		})
	})
	if err != nil {
		return false, err
	}
	for _, p := range places {
		_, o, err := x.readOperation(ctx, v, p)
		if err != nil {
			return false, err
		}
		if o != nil && slices.ContainsFunc(o.terms[entry.WhatField].terms, func(t tokens.Token) bool { return t.Form == pair && hasPrefixFold(t.Surface, pair) }) {
			return true, nil
		}
	}
	return false, nil
}
