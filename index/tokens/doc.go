// Package tokens cuts texts into the terms that the index holds, the same way for documents and
// queries. [PrepareText] and [PrepareName] split compounds, [NewAnalyzer] returns the analyzer for
// prepared texts, and [Tokenize] adds each term's stem.
package tokens
