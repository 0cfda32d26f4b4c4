// Package registry keeps agents: who they are, which keys they have, and where they receive mail.
// It assigns AIR IDs, lends handles, and computes the DID documents through which others find an
// agent's inbox (A2A draft-1 §3). This package is the core: it stores agents, changes them and
// keeps their history. The other parts of the registry are packages of their own, and
// [gazetteer/registry/registrar] puts them together:
//
//	registry/admission    takes new agents: policy, approval, block lists, rate limits, abuse reports
//	registry/evidence     proves domains, observes agents elsewhere, checks both again in time
//	registry/attestation  what agents attest about each other
//	registry/transfer     export, import and merging of agents
//	registry/directory    finds agents by name, capability, host and evidence, in memory
//	registry/audit        the transparency log of what the registry writes
//
// Start with [Agent], which is the stored record, and [Change], which is how every record is
// changed. Then read [Registry.Update], the simplest change. [gazetteer/api/airjson] reads bodies
// from the network and makes answers in the shapes of the public AIR reference.
//
// The registry has no state of its own except open challenges: package store lists the keys of its
// records. Every change is one Apply, on the condition that nobody else wrote any of the records
// meanwhile. So one of any number of claims to a handle, a key, a nonce or a rotation succeeds. Every
// change also writes a [HistoryEntry], which is never overwritten and becomes a leaf of the
// transparency log.
//
// The core knows nothing of the other parts. It asks an [AdmissionPolicy] whether a change is admitted.
package registry
