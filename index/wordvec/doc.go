// Package wordvec converts words to vectors whose sums can be compared: a query and the text of an
// operation are near each other if they are about the same thing, even if they share no word.
//
// Start with [Embedded], the table that comes with the program, or [Read], which reads an
// operator's larger one. [Table.Sum] adds up the vectors of a text's words, [Normalize] scales the
// sum to unit length, and [Dot] of two such sums is their cosine. [Quantize] and [DotInt8] do the
// same in a quarter of the memory.
//
// The length of a vector is the weight of its word: "the" is short, "invoice" is long. So the
// vectors of single words are never normalized, only their sums are.
//
// The embedded table was trained as a retriever by the program tools/wordvec; README.md describes
// the data, the method, and the variants that brought no gain.
package wordvec

//go:generate go -C ../../tools run ./wordvec -dict=$WORDNET -encoder=$ENCODER -glove=$GLOVE -out=../index/wordvec/vectors.bin
//go:generate go -C ../../tools run ./wordvec -samples=../index/wordvec/samples.txt
