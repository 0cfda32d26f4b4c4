// Package mailbox keeps the mail of one agent beside its key file: what it received and sent, what it
// must not accept twice, and how each negotiation stands. Start with [Open], then [Puller.Collect]
// for what a relay holds, [Mailbox.Send] for what goes out, and [Mailbox.Thread] and [Mailbox.Search]
// for what is there.
//
//	relay ──Pull──▶ verify (A2A §6.2) ──▶ open with current and retired keys ──▶ one transaction:
//	                                      mail, replay window, thread ──▶ Acknowledge
//	agent ──Send──▶ check against the thread ──▶ mail, thread ──▶ deliver ──▶ outcome
//
// Mail is stored before it is acknowledged, so a crash in between only brings it again, and it counts
// once. A message is stored before it is sent: after a crash it is marked [Sending]: it may or may not
// have arrived, and can be sent again under the same id.
//
// # The directory
//
//	mailbox.bolt   the file below, in the form of package boltfile, with FORMAT, HEAD and LOCK
//	keys/          retired keys as key files, so that mail sealed to them still opens
//
// It is private to its owner (mode 0700). Messages and threads are encrypted (cipher.go) under a random
// key of the mailbox, which is stored under a key that is derived from the agent's. When the agent's
// key is rotated, the next [Open] stores it under the new one. Without the agent's key the directory
// shows who the agent is, how many messages there are, and the ids of messages and threads.
//
// The file is one bbolt file and not plain files, because a message, its entries in the replay window
// and its thread must be there together or not at all. Each operation opens the file, does one thing
// and closes it. Several processes therefore take turns: one that waits for mail keeps nobody out.
//
//	mail      number              → encrypted: header (JSON), envelope, opened body, receipt,
//	                              text to search (record.go)
//	ids       id 0 number         → nothing
//	threads   thread 0 number     → nothing
//	states    thread              → encrypted: the thread (JSON)
//	seen      'i' hash            → digest: a sender's id is used once
//	          'n' hash            → digest: and a nonce once in a thread
//	          's' hash, 't' hash  → entries of a sender, and of a sender in a thread
//	due       expiry 'i' hash     → 'n' hash, 's' hash, 't' hash: what goes when the entry expires
//	state     "sequence"          → the last number
//	          "owner"             → the agent's DID
//	          "key"               → an agent's public key, and the key of the mailbox under it
//	          "stale"             → free pages hold what must not stay: the file is to be copied
//
// Search looks through the text of every message: ten thousand take less than 0.1 s
// (BenchmarkSearch), so there is no index that could fall out of step.
package mailbox
