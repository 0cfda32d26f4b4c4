// Package semantic compares texts by meaning. A [Lexicon] turns words into an [Embedding], a unit
// vector of small integers; [SignCodeOf] and [Centroid] find candidates among many embeddings; and
// [RelateVerb] says how two verbs are related.
package semantic
