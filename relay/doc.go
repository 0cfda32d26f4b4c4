// Package relay keeps the mail of agents that are not always reachable (A2A draft-1 §7). It verifies
// each envelope when it arrives, holds it until it is pulled and acknowledged, and forgets it in time.
// Start with [New], then [Relay.Accept] for senders and [Relay.Read], [Relay.Pull] and
// [Relay.Acknowledge] for recipients. Package relay/relayhttp serves both HTTP dialects.
//
//	sender ──Accept──▶ form, rate, recipient, signature, clock, policy ──▶ Queue
//	                                       receipt ◀── signed with the time of receipt
//	recipient ──Read──▶ signature of the inbox's key ──▶ Pull, Watch, Acknowledge
//
// The relay knows the registry only through two interfaces: [a2a.KeyFinder] finds the keys of senders,
// [Inboxes] knows whose inbox a name is. Mail lives in a [Queue], a file of its own beside the store.
// Bodies may be sealed, so the state of threads is the participants' business.
package relay
