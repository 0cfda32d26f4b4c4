// Package registry keeps agents: who they are, which key is theirs, and where
// they take mail. It gives out AIR IDs, guards each record with a secret that is
// shown once, lends out handles, and computes the DID document through which
// others find an agent's inbox (A2A draft-1 §3).
//
// Begin with [Registry.Register] and [Registry.DIDDocument]. Bodies from the
// network come in through [ReadRegistration] and [ReadUpdate]; what goes back
// over HTTP, in the shapes of the public AIR reference, is in views.go.
//
// The registry has no state of its own: agents lie in the store under
// "agent/{air id}", the holder of a handle under "handle/{handle}". Both are
// written in one Apply on condition that nobody wrote them meanwhile, so of any
// number of claims to a handle one wins.
//
// What an agent says of itself is taken as said: nothing here proves that the
// registrant holds the key or the creator's domain.
package registry
