// Package join finds the agents that serve a service, and shows the evidence for each link between
// the two.
//
// Begin with [New] and [Joiner.Join]. An agent is joined to a service by what was published or
// proved, never because their names are alike:
//
//	the agent	  ── proves the domain, has an endpoint or its creator's DID there ──▶ the host
//	the host	   ── names the agent in its documents ──▶ the agent's DID
//
// Both arrows make a [Mutual] join, a proof of the domain makes a [Proved] one, and a single arrow
// is only [Claimed], no matter which side states it. An agent that claims a bank's host as its
// endpoint is therefore listed behind all others, and is left out for callers that require more.
//
// Agents of this registry are found in the directory, by host, and read again from the store before
// they are offered. So a suspended or deleted agent is never offered, and the key is the current
// one. Agents of other registries are known only if a document of the service names their DID. The
// DID is resolved while the caller waits, for two seconds at most; after that the agent is marked
// as unresolved.
//
//	join.go	     hosts in, agents out
//	agent.go	    the description of an agent
//	documents.go	the agents that the documents of a host name
//	foreign.go	  agents of other registries
package join
