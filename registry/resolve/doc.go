// Package resolve finds the DID documents of others: the key that judges a
// sender's signature, and the inbox of the receiver.
//
// Begin with [New] and [Resolver.Resolve]. A DID of a host that the table of
// registries names is asked of that registry, as A2A draft-1 §3.3 says; any other
// did:wba or did:web is looked for over HTTPS where its method has it
// ([gazetteer/protocol/did.Web.Addresses]). Answers, those that say no included,
// are kept for 50 to 70 seconds (A2A §4.5), never longer. Callers that ask for
// the same DID at the same time share one request.
//
// Nothing is taken on trust from the host that answers: redirects are refused, a
// document must fit in 64 KiB and carry the very DID that was asked for as its
// id. Which addresses may be connected to is for the dialler that is handed in.
//
//	resolve.go  the resolver and its cache
//	https.go    one request over HTTPS, with a record of what came back
package resolve
