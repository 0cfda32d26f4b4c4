// Package semantic compares texts by meaning. A [Lexicon] converts words to an [Embedding], a unit
// vector of small integers. [SignCodeOf] and [Centroid] find candidates among many embeddings.
// [RelateVerb] returns the relation of two verbs.
package semantic
