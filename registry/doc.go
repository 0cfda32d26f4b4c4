// Package registry keeps agents: who they are, which key is theirs, and where
// they take mail. It gives out AIR IDs, lends out handles, computes the DID
// document through which others find an agent's inbox (A2A draft-1 §3), and says
// of everything that it tells about an agent whether it is claimed, proved or
// observed.
//
// Begin with [Registry.Register], [Registry.Update] and [Registry.DIDDocument].
// Bodies from the network come in through [ReadRegistration] and its like; what
// goes back over HTTP, in the shapes of the public AIR reference, is in views.go.
//
//	agent.go        what is stored of an agent
//	credentials.go  who sent a request: HTTP signature, or the once-shown secret
//	prove.go        possession of the key at registration: signature or challenge
//	statement.go    the texts that keys sign to rotate, recover, register
//	keys.go         rotation, recovery, which key was in use when
//	handle.go       names, kept back for 30 days when they are given back
//	attest.go       what agents say of each other
//	domain.go       proof of a domain by DNS or a file, and what came back
//	observe.go      what is seen of an agent elsewhere
//	evidence.go     all of that as signals, and as a filter
//	directory.go    agents by name, capability and evidence, in memory
//	hosts.go        what ties an agent to a host, and agents by host
//	caretaker.go    looks again on time: domains, observations, recoveries
//	end.go          deactivation, suspension, erasure
//	merge.go        two agents of one owner become one
//	export.go       an agent with its whole history as lines of JSON
//	import.go       and back, verified
//	door.go         who gets in: open, after approval, or nobody
//	approve.go      registrations that wait for the operator
//	ban.go          block lists
//	limits.go       how often what may be done
//	report.go       abuse reports and their clock
//	change.go       how a change becomes one write of the store
//	entry.go        the history of an agent
//
// The registry has no state of its own but for challenges and the budgets of
// networks: package store lists the keys of its records. Every change is one Apply, on condition that nobody
// wrote any of its records meanwhile, so of any number of claims to a handle, a
// key, a nonce or a rotation one wins; and it holds an [Entry] that is never
// overwritten, of which package audit makes a leaf of the transparency log.
//
// A client of the public reference registers without proof and writes with its
// secret; that works unchanged. What it says is then listed as claimed.
package registry
