// Package protocol holds what the drafts share: a [Finding] is one thing a
// document does against its draft, a [Node] is one place in a document's text,
// and [Limits] bounds what a stranger's bytes may cost before they are read.
//
// Start with [ReadJSON], which turns bytes into a tree of nodes. The packages
// below (aidiscovery, agis, did) run their rules on that tree, so each finding
// knows its line and column. [WriteJSON] writes a tree, [Tokens] estimates what
// a text costs a model, [Instruction] finds text that speaks to one. Nothing in
// protocol stores, waits or logs.
package protocol
