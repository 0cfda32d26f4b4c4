package index

import (
	"context"
	"slices"
	"strings"

	"gazetteer/index/entry"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/protocol/effect"
)

const (
	// narrowPlaces is the number of first operations that are compared by their names.
	narrowPlaces = 6
	// narrowShare is the minimum score of an operation, as a share of that of another one of its host,
	// to come before it for its name.
	narrowShare = 0.8
)

// preferNarrower reorders the first entries. Of two operations of one host with the same kind of
// effect, it puts first the one whose name shares the same words with the request and has fewer others:
// "create an issue" asks for create_issue and not for create_issue_type.
func (s *searcher) preferNarrower(ctx context.Context, entries []view.RankedEntry) error {
	entries = entries[:min(len(entries), narrowPlaces)]
	names := make([]nameWords, len(entries))
	for i, e := range entries {
		// Without a second operation of its host there is nothing to compare.
		run := s.view.RunOf(e.EntryRef)
		if !slices.ContainsFunc(entries, func(o view.RankedEntry) bool {
			return o.EntryRef != e.EntryRef && s.view.RunOf(o.EntryRef).Host == run.Host
		}) {
			continue
		}
		_, operation, err := s.index.readOperation(ctx, s.view, e.EntryRef)
		if err != nil {
			return err
		}
		if operation != nil {
			names[i] = s.compareName(operation)
		}
	}
	for i := 1; i < len(entries); i++ {
		for j := i; j > 0; j-- {
			before, after := entries[j-1], entries[j]
			if s.view.RunOf(before.EntryRef).Host != s.view.RunOf(after.EntryRef).Host || !names[j].isNarrowerThan(names[j-1]) ||
				float64(after.Score) < narrowShare*float64(before.Score) {
				break
			}
			// It takes the place and the score of the other, so that scores keep falling.
			entries[j-1], entries[j] = view.RankedEntry{EntryRef: after.EntryRef, Score: before.Score}, view.RankedEntry{EntryRef: before.EntryRef, Score: after.Score}
			names[j-1], names[j] = names[j], names[j-1]
		}
	}
	return nil
}

// nameWords are the words of an operation's name: which words of the request it has, and how many other
// things.
type nameWords struct {
	asked  []bool
	others int
	class  effect.Class
}

func (s *searcher) compareName(o *preparedOperation) nameWords {
	n := nameWords{asked: make([]bool, len(s.request.Words)), class: o.class}
	verb := tokens.StemOf(strings.ToLower(o.Verb))
	for _, t := range o.terms[entry.ActField].terms {
		known := t.Stem == verb // another verb does not make it another thing
		for i, w := range s.request.Words {
			has := func(term tokens.Token) bool { return term.Stem == t.Stem }
			if slices.ContainsFunc(w.Terms, has) || slices.ContainsFunc(w.Meanings, has) {
				n.asked[i], known = true, true
			}
		}
		if !known {
			n.others++
		}
	}
	return n
}

// isNarrowerThan reports whether a name has all words of the request that another one has, and fewer
// other ones. It compares only operations with the same kind of effect, which the ranking has judged.
func (n nameWords) isNarrowerThan(o nameWords) bool {
	if n.asked == nil || o.asked == nil || n.class != o.class || n.others >= o.others {
		return false
	}
	for i, has := range o.asked {
		if has && !n.asked[i] {
			return false
		}
	}
	return true
}
