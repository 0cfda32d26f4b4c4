// Package call tells how an operation is called, and writes operations in the
// forms that callers take: tools of MCP, functions with a JSON Schema, and
// command lines for curl.
//
// Begin with [Of], which says where a request goes and where each parameter
// belongs, or with [Tools], which gives a set of operations names that are unique
// among them. All text comes from strangers: what goes into a command line is
// reduced to characters that no shell reads as its own, and what speaks to a model
// instead of describing something is left out of tools (see [Caution]).
package call
