// Package changefeed is the public feed of changes: what became known, changed, went or came back,
// one [Item] for each event, in the order of the store. It is a projection: no item holds a record
// of the store, and so none of its secrets.
//
// Begin with [Open]. [Feed.Run] follows the store, [Feed.After] and [Feed.Before] return pages, and
// [Feed.Moved] says when there is more. JSON pages, server-sent events, Atom and JSON Feed all show
// the same items.
//
// # Positions
//
// The position of an item is the sequence of the store's record that it was made from, and each record
// makes at most one item. So a position means the same after the feed was rebuilt from the store, and
// in every feed of one store. A position of another store or incarnation means nothing.
//
// # What is kept
//
// The feed keeps the newest items in a file of its own (file.go), and which items have which host,
// verb, namespace, rule, severity, agent and kind in memory (postings.go). Items beyond the limit
// are dropped, the oldest first. When the owner of a host opts out, or an agent is erased, its items
// go and one remains that says so. A document whose versions alternate is one item that counts
// (flap.go).
//
// # Rebuilding
//
// A feed whose file is lost, damaged or of another store is rebuilt from what the store still has:
// every version of every document, the removals that are not forgotten, every entry of every agent.
// A document that disappeared and returned unchanged then has one item fewer. The severities of the
// new items are by the current rules, [diff.RulesVersion]; otherwise an item keeps the severity
// that its readers have seen.
package changefeed
