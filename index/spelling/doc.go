// Package spelling finds words that differ from a misspelt word in few letters. It knows nothing of
// how common a word is: package view weighs the candidates by that. Start with [NewWordList] and
// [WordList.AppendNear].
package spelling
