// Package relay keeps the mail of agents that are not always reachable (A2A draft-1 §7). It
// verifies each envelope when it arrives, holds it until it is pulled and acknowledged, and deletes
// it when it expires. Start with [New], then [Relay.Accept] for senders and [Relay.Read],
// [Reader.Pull] and [Reader.Acknowledge] for recipients.
//
//	sender ──Accept──▶ form, rate, recipient, signature, clock, policy ──▶ Queue
//	                                       receipt ◀── signed with the time of receipt
//	recipient ──Read──▶ signature of the inbox's key ──▶ Pull, Watch, Acknowledge
//
//	relay.go    Accept, and the methods of recipients
//	rules.go    the rules by which recipients limit senders
//	wake.go     requests that tell recipients about new mail
//	queue.go    the contract of the queue; package boltqueue implements it
//	signature.go verifies signatures fast
//	receipts.go signs receipts, several at once
//	errors.go   refusals, in the words of both dialects
//	metrics.go  counters
//
// Package relayhttp serves both HTTP dialects. A new rule about senders belongs into
// Relay.admitSender, a new rule of the draft about envelopes into package a2a, and everything that
// must survive a restart into [Queue].
//
// The relay knows the registry only through two interfaces: [a2a.KeyFinder] finds the keys of
// senders, [Inboxes] finds the inbox of a name (package relay/recipients). Mail is in a [Queue], a
// file of its own beside the store. Bodies may be sealed, so the state of threads is the business
// of the two agents.
package relay
