package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/translate"
)

// An askedWord is a word of a request, prepared for comparison with many operations.
type askedWord struct {
	query.Word
	terms, meanings termList
	bits            stemBits      // of both
	vectors         []askedVector // of its terms and its first meaning, without unknown ones
}

// An askedVector is the vector of a word of a request, with the words that are known to be unlike it.
type askedVector struct {
	semantic.WordVector
	unlike *semantic.UnlikeWords
}

// A termList has the terms of a text, prepared for comparison by stem.
type termList struct {
	terms  []tokens.Token
	hashes []uint32 // of the stems of terms
	bits   stemBits

	// translations is the number of the last terms that are English meanings of words of the text. Each
	// has the word of the text as its surface.
	translations int
}

// stemBits has a bit for the hash of each stem: two lists that share a stem share a bit.
type stemBits [4]uint64

// overlaps reports whether two lists with these bits may share a stem.
func (b *stemBits) overlaps(o *stemBits) bool {
	return b[0]&o[0]|b[1]&o[1]|b[2]&o[2]|b[3]&o[3] != 0
}

// addBits adds the bits of another list.
func (b *stemBits) addBits(o *stemBits) {
	for i := range b {
		b[i] |= o[i]
	}
}

// hashTerms prepares terms.
func hashTerms(terms []tokens.Token) termList {
	l := termList{terms: terms, hashes: make([]uint32, len(terms))}
	for i := range terms {
		h := tokens.HashText(terms[i].Stem)
		l.hashes[i] = h
		l.bits[h/64%4] |= 1 << (h % 64)
	}
	return l
}

// hashTranslated prepares the terms of a text with the English meanings of its words.
func hashTranslated(a analysis.Analyzer, text string, words []translate.Translation) termList {
	terms := tokens.Tokenize(a, text)
	if len(words) == 0 {
		return hashTerms(terms)
	}
	terms = slices.Clone(terms)
	own := len(terms)
	words = slices.SortedStableFunc(slices.Values(words), func(a, b translate.Translation) int { return len(b.Text) - len(a.Text) })
	meanings := make([][]tokens.Token, len(words))
	for i, w := range words {
		for _, m := range w.Meanings {
			for _, t := range tokens.Tokenize(a, m) {
				t.Surface = w.Text
				meanings[i] = append(meanings[i], t)
			}
		}
	}
	// The main meanings of all words come first, those of longer expressions before others: in "vereinbart
	// einen Termin beim Arzt", the appointment is that of the last three words.
	for rank, left := 0, len(words); left > 0; rank++ {
		left = 0
		for _, m := range meanings {
			if rank < len(m) {
				terms = append(terms, m[rank])
				left++
			}
		}
	}
	l := hashTerms(terms)
	l.translations = len(terms) - own
	return l
}

// prepareWords prepares the words of a request for [Index.explainHit].
func (x *Index) prepareWords(words []query.Word) []askedWord {
	asked := make([]askedWord, 0, len(words))
	for _, w := range words {
		a := askedWord{Word: w, terms: hashTerms(w.Terms), meanings: hashTerms(w.Meanings)}
		a.bits = a.terms.bits
		a.bits.addBits(&a.meanings.bits)
		for _, terms := range [...][]tokens.Token{w.Terms, w.Meanings[:min(1, len(w.Meanings))]} {
			for i := range terms {
				if v := x.lexicon.WordVector(terms[i].Form); v.Length > 0 {
					a.vectors = append(a.vectors, askedVector{v, x.lexicon.UnlikeOf(v.Number)})
				}
			}
		}
		asked = append(asked, a)
	}
	return asked
}

// askedWords returns the prepared words of the request.
func (s *searcher) askedWords() []askedWord {
	if s.asked == nil {
		s.asked = s.index.prepareWords(s.request.Words)
	}
	return s.asked
}

// explainHit explains why an operation of a document matches, from the query's words and the
// operation's own texts, without its verb. It is computed only for the shown hits. All of them have the
// required phrases, so no word of a phrase is missing.
func (x *Index) explainHit(t *storedDocument, o *preparedOperation, words []askedWord, phrases []string) Why {
	why := Why{Coverage: 1}
	if len(words) == 0 {
		return why
	}
	why.Matched = make([]Match, 0, len(words)+2)
	texts := t.serviceTerms(x.analyzer).bits // of all texts
	for f := range o.terms {
		texts.addBits(&o.terms[f].bits)
	}
	for i := range words {
		w := &words[i]
		missing := true
		for f := range o.terms {
			if !w.bits.overlaps(&texts) {
				break
			}
			first, second := &o.terms[f], (*termList)(nil)
			if entry.Field(f) == entry.CtxField {
				first, second = t.serviceTerms(x.analyzer), first
			}
			if at, kind, ok := w.matchTerms(first, second); ok {
				why.Matched = append(why.Matched, Match{Term: w.Asked, Field: entry.Field(f).String(), Kind: kind, Text: at})
				if missing = false; w.Expression {
					break // one match tells enough of a word that nobody typed
				}
			}
		}
		if missing && (w.Expression || slices.ContainsFunc(phrases, w.IsPartOf)) {
			continue
		}
		if missing {
			if m, ok := nearestWord(w, o); ok {
				why.Matched = append(why.Matched, m)
				missing = false
			}
		}
		if missing {
			if why.Missing == nil {
				why.Missing = make([]string, 0, len(words)-i)
			}
			if !slices.Contains(why.Missing, w.Asked) { // turn off: turn, and the single verb for both
				why.Missing = append(why.Missing, w.Asked)
			}
		}
	}
	for i := range why.Matched {
		m := &why.Matched[i]
		if k := slices.IndexFunc(words, func(w askedWord) bool { return w.Asked == m.Term && (w.Expression || len(w.Synonyms) > 0) }); k >= 0 {
			m.credit = words[k].meaningCredit(t.serviceTerms(x.analyzer), o)
		}
	}
	why.Coverage = float64(len(words)-len(why.Missing)) / float64(len(words))
	return why
}

// meaningCredit returns the share of an everyday word or expression that an operation has: the sum of
// the weights of those words that it stands for, at most 1. Of a haircut (hairdresser, salon,
// appointment), an appointment alone is little.
func (w *askedWord) meaningCredit(service *termList, o *preparedOperation) float64 {
	credit := 0.0
	for i, hash := range w.meanings.hashes {
		stem := w.meanings.terms[i].Stem
		if len(w.Synonyms) > 0 { // the meanings also contain the word itself, and lack rare synonyms
			i = max(0, slices.IndexFunc(w.Synonyms, func(t tokens.Token) bool { return t.Stem == stem }))
		}
		weight := float64(query.MeaningWeight(i))
		inOperation := slices.ContainsFunc(o.terms[:entry.CtxField], func(l termList) bool { return l.has(hash, stem) })
		switch {
		case inOperation:
			credit += weight
		case service.has(hash, stem) || o.terms[entry.CtxField].has(hash, stem):
			credit += weight * contextMatch
		}
	}
	return min(1, credit)
}

// has reports whether a list has a stem.
func (l *termList) has(hash uint32, stem string) bool {
	for i, h := range l.hashes {
		if h == hash && l.terms[i].Stem == stem {
			return true
		}
	}
	return false
}

// matchTerms looks for a word among the terms of a field, which come in two parts, and
// returns the word found there. An exact match is preferred over one of the stem.
func (w *askedWord) matchTerms(first, second *termList) (text, kind string, ok bool) {
	if text, kind, ok = w.terms.matchAny(first, second); ok {
		return text, kind, true
	}
	if text, _, ok = w.meanings.matchAny(first, second); ok {
		return text, matchMeaning, true
	}
	return "", "", false
}

// matchAny looks for one of the terms in two lists, the second of which may be nil.
func (l *termList) matchAny(first, second *termList) (text, kind string, ok bool) {
	for i, hash := range l.hashes {
		asked := &l.terms[i]
		for _, in := range [...]*termList{first, second} {
			if in == nil || !in.bits.overlaps(&l.bits) {
				continue
			}
			for k, h := range in.hashes {
				if h != hash || in.terms[k].Stem != asked.Stem {
					continue
				}
				t := &in.terms[k]
				if k >= len(in.terms)-in.translations {
					if !ok {
						text, kind, ok = t.Surface, matchMeaning, true
					}
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
	matchMeaning = "meaning" // of a translation of a foreign word, here or there, or a correction of a misspelled one
	matchVector  = "vector"  // of another word with a near vector
)

// nearestWord returns the word of an operation's name or intent with the vector nearest to that of
// a word of the query, if their cosine is more than [semantic.MinWordCosine].
func nearestWord(w *askedWord, o *preparedOperation) (Match, bool) {
	best, m := float32(semantic.MinWordCosine), Match{Term: w.Asked, Kind: matchVector}
	for i := range w.vectors {
		a := &w.vectors[i]
		for k := range o.vectors {
			b := &o.vectors[k]
			if a.unlike.Has(b.Number) {
				continue
			}
			switch c := a.Cosine(&b.WordVector); {
			case c <= semantic.MinWordCosine:
				a.unlike.Add(b.Number)
			case c > best:
				best, m.Text, m.Field = c, o.terms[b.field].terms[b.term].Surface, b.field.String()
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

// repeats reports whether a match of an expression, such as "rent a car", found only what another match
// already names.
func (w *Why) repeats(expression *Match) bool {
	if !strings.Contains(expression.Term, " ") {
		return false
	}
	for i := range w.Matched {
		o := &w.Matched[i]
		if !strings.Contains(o.Term, " ") && (strings.EqualFold(o.Text, expression.Text) || strings.EqualFold(o.Term, expression.Text)) {
			return true
		}
	}
	return false
}

// read reports whether a word that was not found as it is was read as something that was found: itself,
// as "tomorrow" of a forecast, or as part of an expression.
func (w *Why) read(word string) bool {
	for i := range w.Matched {
		if term := w.Matched[i].Term; term == word || strings.Contains(term, " ") && slices.Contains(strings.Fields(term), word) {
			return true
		}
	}
	return false
}

// String says in one line why a hit matches, such as "book in its name; table (tables) in its name;
// not found: friday". It contains words of strangers.
func (w Why) String() string { return string(w.AppendText(nil)) }

// AppendText appends what [Why.String] returns.
func (w *Why) AppendText(to []byte) []byte {
	begin := len(to)
	next := func(texts ...string) {
		if len(to) > begin {
			to = append(to, "; "...)
		}
		for _, text := range texts {
			to = append(to, text...)
		}
	}
	if w.Clause != "" {
		next("answers ", w.Clause)
	}
	if w.Verb != nil && w.Verb.Relation != semantic.RelationExact {
		next(w.Verb.Offered, " (a ", w.Verb.Relation, ") for ", w.Verb.Asked)
	}
	for i := range w.Matched {
		m := &w.Matched[i]
		if slices.ContainsFunc(w.Matched[:i], func(o Match) bool { return o.Term == m.Term }) || w.repeats(m) {
			continue // the first field is the most significant one
		}
		field := cmp.Or(fieldLabels[m.Field], m.Field)
		if m.Text != "" && !strings.EqualFold(m.Text, m.Term) {
			next(m.Term, " (", m.Text, ") in ", field)
		} else {
			next(m.Term, " in ", field)
		}
	}
	before := "not found: "
	for _, missing := range w.Missing {
		if w.read(missing) {
			continue
		}
		if before != ", " {
			next(before, missing)
			before = ", "
		} else {
			to = append(append(to, before...), missing...)
		}
	}
	if len(to) == begin {
		next("passes the filters")
	}
	return to
}
