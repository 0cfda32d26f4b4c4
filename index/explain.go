package index

import (
	"cmp"
	"slices"
	"strings"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/wordvec"
)

// An askedWord is a word of a request, prepared for comparison with many operations.
type askedWord struct {
	query.Word
	stems   uint64                // of its terms and its meanings; see stemBits
	vectors []semantic.WordVector // of its terms and its first meaning, without unknown ones
}

// prepareWords prepares the words of a request for [Index.explainHit].
func (x *Index) prepareWords(words []query.Word) []askedWord {
	asked := make([]askedWord, 0, len(words))
	for _, w := range words {
		a := askedWord{Word: w, stems: stemBits(w.Terms) | stemBits(w.Meanings)}
		for _, terms := range [...][]tokens.Token{w.Terms, w.Meanings[:min(1, len(w.Meanings))]} {
			for i := range terms {
				if v := x.lexicon.WordVector(terms[i].Form); v.Length > 0 {
					a.vectors = append(a.vectors, v)
				}
			}
		}
		asked = append(asked, a)
	}
	return asked
}

// stemBits returns a set of some of the stems of terms: two lists that share a stem share a bit.
func stemBits(terms []tokens.Token) uint64 {
	var bits uint64
	for i := range terms {
		if s := terms[i].Stem; s != "" {
			bits |= 1 << ((uint(s[0])*31 + uint(s[len(s)/2])*7 + uint(s[len(s)-1])*3 + uint(len(s))) % 64)
		}
	}
	return bits
}

// explainHit explains why an operation of a document matches, from the query's words and the
// operation's own texts, without its verb. It is computed only for the shown hits.
func (x *Index) explainHit(t *storedDocument, o *preparedOperation, words []askedWord) Why {
	why := Why{Coverage: 1}
	if len(words) == 0 {
		return why
	}
	ofService, serviceStems := t.serviceTerms(x.analyzer)
	why.Matched = make([]Match, 0, 2*len(words))
	for i := range words {
		w := &words[i]
		missing := true
		for f, terms := range o.terms {
			var also []tokens.Token
			stems := o.stems[f]
			if entry.Field(f) == entry.CtxField {
				terms, also = ofService, terms
				stems |= serviceStems
			}
			if stems&w.stems == 0 {
				continue
			}
			if at, kind, ok := matchTerms(&w.Word, terms, also); ok {
				why.Matched = append(why.Matched, Match{Term: w.Asked, Field: entry.Field(f).String(), Kind: kind, Text: at})
				missing = false
			}
		}
		if missing {
			if m, ok := nearestWord(w, o); ok {
				why.Matched = append(why.Matched, m)
				missing = false
			}
		}
		if missing {
			why.Missing = append(why.Missing, w.Asked)
		}
	}
	why.Coverage = float64(len(words)-len(why.Missing)) / float64(len(words))
	return why
}

// matchTerms looks for a word among the terms of a field, which come in two parts, and
// returns the word found there. An exact match is preferred over one of the stem.
func matchTerms(w *query.Word, parts ...[]tokens.Token) (text, kind string, ok bool) {
	if text, kind, ok = matchAny(w.Terms, parts...); ok {
		return text, kind, true
	}
	if text, _, ok = matchAny(w.Meanings, parts...); ok {
		return text, matchMeaning, true
	}
	return "", "", false
}

// matchAny looks for one of the requested terms.
func matchAny(all []tokens.Token, parts ...[]tokens.Token) (text, kind string, ok bool) {
	for i := range all {
		asked := &all[i]
		for _, terms := range parts {
			for k := range terms {
				t := &terms[k]
				if t.Stem != asked.Stem {
					continue
				}
				if strings.EqualFold(t.Surface, asked.Surface) {
					return t.Surface, semantic.RelationExact, true
				}
				if !ok {
					text, kind, ok = t.Surface, semantic.RelationStem, true
				}
			}
		}
	}
	return text, kind, ok
}

// The kinds of a match besides the relations exact and stem.
const (
	matchMeaning = "meaning" // of a translation of a foreign word or a correction of a misspelt one
	matchVector  = "vector"  // of another word with a near vector
)

// minWordCosine is the minimum cosine of the vectors of two words of similar meaning.
const minWordCosine = 0.5

// nearestWord returns the word of an operation's name or intent with the vector nearest to that of
// a word of the query, if their cosine is at least minWordCosine.
func nearestWord(w *askedWord, o *preparedOperation) (Match, bool) {
	best, m := float32(minWordCosine), Match{Term: w.Asked, Kind: matchVector}
	for _, a := range w.vectors {
		for f, vectors := range o.vectors {
			for i := range vectors {
				b := &vectors[i]
				if b.Length == 0 {
					continue
				}
				if c := wordvec.Dot(a.Vector, b.Vector) / (a.Length * b.Length); c > best {
					best, m.Text, m.Field = c, o.terms[f][i].Surface, entry.Field(f).String()
				}
			}
		}
	}
	return m, m.Text != ""
}

// explainVerb returns the relation of the offered verb to the requested one: the verb of the
// filter, or the most closely related word of the query. It returns nil if no requested verb is
// related.
func (x *Index) explainVerb(offered string, q query.Query, words []query.Word) *Verb {
	if offered == "" {
		return nil
	}
	if slices.Contains(q.Verbs, offered) {
		return &Verb{Asked: offered, Offered: offered, Relation: semantic.RelationExact}
	}
	var best *Verb
	for _, w := range words {
		relation := x.verbs.RelateVerb(strings.TrimFunc(w.Asked, notLetter), offered)
		for _, m := range w.Meanings[:min(1, len(w.Meanings))] {
			relation = cmp.Or(relation, x.verbs.RelateVerb(m.Surface, offered))
		}
		if relation != "" && (best == nil || semantic.RelationRank(relation) < semantic.RelationRank(best.Relation)) {
			best = &Verb{Asked: w.Asked, Offered: offered, Relation: relation}
		}
	}
	return best
}

// fieldLabels describes the fields of matches in words.
var fieldLabels = map[string]string{
	entry.ActField.String():  "its name",
	entry.WhatField.String(): "what it does",
	entry.CtxField.String():  "its service or parameters",
	entry.HeldField.String(): "its data",
}

// String says in one line why a hit matches, such as "book in its name; table (tables) in its name;
// not found: friday". It contains words of strangers.
func (w Why) String() string {
	var parts []string
	if w.Clause != "" {
		parts = append(parts, "answers "+w.Clause)
	}
	if w.Verb != nil && w.Verb.Relation != semantic.RelationExact {
		parts = append(parts, w.Verb.Offered+" (a "+w.Verb.Relation+") for "+w.Verb.Asked)
	}
	for i, m := range w.Matched {
		if slices.ContainsFunc(w.Matched[:i], func(o Match) bool { return o.Term == m.Term }) {
			continue // the first field is the most significant one
		}
		text := m.Term
		if m.Text != "" && !strings.EqualFold(m.Text, m.Term) {
			text += " (" + m.Text + ")"
		}
		parts = append(parts, text+" in "+cmp.Or(fieldLabels[m.Field], m.Field))
	}
	if len(w.Missing) > 0 {
		parts = append(parts, "not found: "+strings.Join(w.Missing, ", "))
	}
	if len(parts) == 0 {
		return "passes the filters"
	}
	return strings.Join(parts, "; ")
}
