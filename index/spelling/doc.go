// Package spelling finds words that differ from a misspelt word in few letters, and weighs them by how
// common they are. Start with [NewWordList], [WordList.AppendNear] and [Correction.Weigh].
package spelling
