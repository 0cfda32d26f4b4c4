// Package owner carries out what the owner of a host asks of the crawler: not to visit it any more,
// or to visit it after all. Start with [New] and [Owners.OptOut].
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
// in advance, and every crawler can read it. The API call only makes us look now.
//
// A proved request becomes a [crawler.Block], or ends one.
package owner
