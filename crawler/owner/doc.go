// Package owner carries out the requests of the owners of hosts to the crawler: not to visit a host, or
// to visit it again. Start with [New] and [Owners.OptOut].
//
// A stranger may ask for neither, so a request counts only when the host or its registrable domain
// says the same in a place where only its owner can write:
//
//	gazetteer-opt-out=www.example.com	   the host alone
//	gazetteer-opt-out=*.example.com	     it and all hosts below
//	gazetteer-opt-in=www.example.com	    the end of either
//
// as one value of a TXT record, or one line of a file over HTTPS (proof.go), or when the request is
// signed by a key that the host publishes in its DID document (signature.go). The published value
// is the request itself, not the answer to a challenge: it needs no second secret, can be published
// in advance, and every crawler can read it. The API call only triggers the check.
//
// A proved request becomes a [crawler.Block], or ends one.
package owner
