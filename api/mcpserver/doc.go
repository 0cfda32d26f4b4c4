// Package mcpserver offers the registry to language models over the Model Context Protocol: over
// stateless streamable HTTP at /mcp and over standard input and output. Start with [New].
//
// A tool call becomes a request of the HTTP API, so the rules, limits and errors are the same. The
// package shapes the answer for a model:
//
//	model → tools/call → [Requester] → API → shape, clean, fit into within_tokens → model
//
// Services write their own names and descriptions, and a model must not follow instructions in them.
// All text of strangers is therefore in members called "untrusted", without control characters and
// invisible characters, and a text that speaks to a model is left out. The other members are ours,
// or identifiers: host names, verbs, AIR IDs, DIDs, digests and percent-encoded operation ids.
package mcpserver
