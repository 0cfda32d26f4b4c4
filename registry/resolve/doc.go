// Package resolve finds DID documents of other hosts: the key that verifies a sender's signature,
// and the inbox of the receiver.
//
// Begin with [New] and [Resolver.Resolve]. The DID of a host in the table of registries is
// requested from that registry, as A2A draft-1 §3.3 says. Any other did:wba or did:web is requested
// over HTTPS at the place that its method defines ([gazetteer/protocol/did.Web.Addresses]).
// Answers are cached for 50 to 70 seconds (A2A §4.5), never longer; a missing or unusable document is
// cached for 10 seconds. Callers that ask for the same DID at the same time share one request.
//
// The answering host is not trusted: redirects are refused, and a document must fit in 64 KiB and
// have the requested DID as its id. The given dialler decides which addresses may be connected to.
//
//	resolve.go	the resolver and its cache
//	https.go	  one request over HTTPS, with a record of the answer
package resolve
