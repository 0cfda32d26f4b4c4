// Package evidence collects evidence about an agent beside its own claims: proofs of domains by DNS
// or a file, and observations of the creator's DID document, the inbox, the code repository and the
// documents that a domain publishes. Each piece of evidence is claimed, proved or observed, and
// says how it could be faked.
//
// Start with [Collector.Evidence], which lists the evidence about an agent. [Collector.ProveDomain]
// adds to it, [Collector.Run] checks it again when it is due, and [Collector.Associations] returns
// the associations of an agent with a host.
package evidence
