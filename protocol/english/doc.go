// Package english tells what a dictionary knows of an English word: which kinds
// of word it is, how often each is used, the base form of an inflected verb,
// and how verbs stand to each other (same sense, opposite, more general, made
// from which noun).
//
// Begin with [Lookup] and [Base]. The validator of AGIS judges method names
// with them (protocol/agis), and the effect of a verb is told from its
// neighbours (protocol/effect).
//
// The words come from WordNet 3.0 of Princeton University (its licence is the
// file LICENSE-wordnet) and, for what the web has added since, from
// supplement.txt. The program tools/english makes the table out of them; layout.go
// says what the table looks like. It is unpacked on first use, never changes, and
// may be used by many goroutines at once.
package english

//go:generate go -C ../../tools run ./english -dict=$WORDNET -supplement=../protocol/english/supplement.txt -out=../protocol/english/words.zlib
