// Package protocol has the common base of all drafts: a [Finding] is one violation of a draft by a
// document, a [Node] is one value in a document's text with its place, and [Limits] bounds the work
// that untrusted bytes may cause.
//
// Start with [ReadJSON], which reads bytes into a tree of nodes. The packages below (aidiscovery,
// agis, did) apply their rules to that tree, so each finding has its line and column. [WriteJSON]
// writes a tree, [Tokens] estimates the number of tokens of a text, and [Instruction] finds text
// that addresses a model. No package in protocol stores, waits or logs.
package protocol
