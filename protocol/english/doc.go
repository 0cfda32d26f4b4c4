// Package english is a dictionary of English words: their parts of speech, how often each is used,
// the base forms of inflected verbs, and the relations between verbs (same sense, opposite, more
// general) and to the nouns derived from them.
//
// Begin with [Lookup] and [Base]. The validator of AGIS checks method names with them
// (protocol/agis), and protocol/effect derives the effect of a verb from related verbs.
//
// The words come from WordNet 3.0 of Princeton University (its licence is the file LICENSE-wordnet)
// and, for newer words, from supplement.txt. The program tools/english generates the table;
// layout.go describes its format. It is unpacked on first use, never changes, and is safe for
// concurrent use.
package english

//go:generate go -C ../../tools run ./english -dict=$WORDNET -supplement=../protocol/english/supplement.txt -out=../protocol/english/words.zlib
