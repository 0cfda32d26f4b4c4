// Package tokens splits texts into the terms of the index, in the same way for documents and
// queries. [PrepareText] and [PrepareName] split compounds, [NewAnalyzer] returns the analyzer for
// prepared texts, and [Tokenize] adds each term's stem.
package tokens
