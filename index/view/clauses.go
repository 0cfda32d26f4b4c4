package view

import (
	"slices"
	"strings"

	"gazetteer/index/query"
	"gazetteer/index/semantic"
)

// A query may contain several requests: "find a hotel in Rome and book a taxi to it". The sum of
// all its words represents none of them, so each clause has its own embedding in addition to that
// of the whole query, and the best clause decides the score of an operation.

const (
	// clauseWeight is the weight of the nearest clause in the cosine of an operation, relative to
	// the whole query.
	clauseWeight = 0.3
	// MaxClauses bounds the work of one query.
	MaxClauses = 4
)

// A Clause is one of several requests in a query.
type Clause struct {
	Text      string // its words, as asked
	embedding semantic.Embedding
}

// EmbedClauses returns the clauses of a query with their embeddings, nil if the query has only one.
func EmbedClauses(l *semantic.Lexicon, words []query.Word) []Clause {
	if len(words) == 0 || !slices.ContainsFunc(words, func(w query.Word) bool { return w.Clause != words[0].Clause }) {
		return nil // most queries have one clause, which is not embedded again
	}
	var clauses []Clause
	for rest := words; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Clause == rest[0].Clause {
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		if part[0].Clause == query.NoClause || len(part) < query.MinClauseWords || len(clauses) == MaxClauses {
			continue
		}
		if m := l.EmbedForms(query.WordForms(part)); m.Scale != 0 {
			clauses = append(clauses, Clause{joinAskedWords(part), m})
		}
	}
	if len(clauses) < 2 {
		return nil
	}
	return clauses
}

// joinAskedWords returns the original words; of a long text it returns the first ones.
func joinAskedWords(words []query.Word) string {
	var texts []string
	for _, w := range words[:min(MaxShownWords, len(words))] {
		texts = append(texts, w.Asked)
	}
	if len(words) > MaxShownWords {
		texts = append(texts, "…")
	}
	return strings.Join(texts, " ")
}

// MaxShownWords is the number of words of a clause that are shown with each operation.
const MaxShownWords = 8

// NearestClause returns the clause nearest to an operation's embedding, and the cosine. There must
// be at least one clause.
func NearestClause(clauses []Clause, m semantic.Embedding) (nearest int, cosine float32) {
	cosine = clauses[0].embedding.Cosine(m)
	for i := range clauses[1:] {
		if c := clauses[1+i].embedding.Cosine(m); c > cosine {
			nearest, cosine = 1+i, c
		}
	}
	return nearest, cosine
}
