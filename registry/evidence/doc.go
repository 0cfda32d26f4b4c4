// Package evidence collects what there is to judge an agent by beside its own words: proofs of domains by
// DNS or a file, and observations of the creator's DID document, the inbox, the code repository and the
// documents that a domain publishes. Each piece of evidence is claimed, proved or observed, and says what
// it takes to fake it.
//
// Start with [Collector.Evidence], which lists the evidence about an agent. [Collector.ProveDomain] adds
// to it, [Collector.Run] checks it again in time, and [Collector.Associations] says how an agent belongs
// to a host.
package evidence
