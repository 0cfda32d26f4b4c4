// Package wordvec turns words into vectors whose sums can be compared: a query
// and the text of an operation lie near each other when they speak of the same
// thing, though they may share no word.
//
// Begin with [Embedded], the table that comes with the program, or [Read], which
// reads an operator's larger one. [Table.Sum] adds up the vectors of a text's
// words, [Normalize] makes the sum unit length, and [Dot] of two such sums is
// their cosine. [Quantize] and [DotInt8] do the same in a quarter of the memory.
//
// A vector's length is its word's weight: "the" is short, "invoice" is long. So
// the vectors of single words are never normalised, only their sums are.
//
// The embedded table was trained as a retriever by the program tools/wordvec;
// README.md tells from what and how, and what was tried without gain.
package wordvec

//go:generate go -C ../../tools run ./wordvec -dict=$WORDNET -encoder=$ENCODER -glove=$GLOVE -out=../index/wordvec/vectors.bin
//go:generate go -C ../../tools run ./wordvec -samples=../index/wordvec/samples.txt
