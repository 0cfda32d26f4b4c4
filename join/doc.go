// Package join says which agents serve which service: it answers, for the host of
// a service, with the agents that may be written to about it, and by what each is
// joined to it.
//
// Begin with [New] and [Joiner.Join]. An agent is joined by what was published or
// proved, never because two names are alike:
//
//	the agent    ── proves the domain, has an endpoint or its creator's DID there ──▶ the host
//	the host     ── names the agent in its documents ──▶ the agent's DID
//
// Both arrows make a [Mutual] join, a proof of the domain makes a [Proved] one,
// and a single arrow is only [Claimed], no matter who states it: a stranger's agent
// whose endpoint is at a bank's host is listed as one that says so, behind all
// others, and not at all for a caller who wants more.
//
// Agents of this registry are found through the directory, which files them by
// host, and read again from the store before they are offered: one that is
// suspended or gone is never among them, and the key is that of this moment.
// Agents of other registries are known only where a document of the service names
// their DID; it is resolved while the caller waits, for two seconds at most, and
// what is not known by then is said to be unknown.
//
//	join.go       hosts in, agents out
//	agent.go      what is told of an agent
//	documents.go  whom the documents of a host name
//	foreign.go    agents of other registries
package join
