// Package owner does what the owner of a host wishes of the crawler: not to be
// visited any more, or to be visited after all. Begin at [New] and [Owners.OptOut].
//
// A stranger may not wish either in the owner's place, so a wish counts when the
// host or its registrable domain says the same where only its owner can write:
//
//	gazetteer-opt-out=www.example.com     the host alone
//	gazetteer-opt-out=*.example.com       it and all hosts below
//	gazetteer-opt-in=www.example.com      the end of either
//
// as one value of a TXT record, or one line of a file over HTTPS (proof.go); or
// when the request is signed by a key that the host publishes in its DID document
// (signature.go). What is published is a wish, not the answer to a challenge: it
// needs no second secret, can be published before it is asked for, and can be
// read by every crawler. The request only makes us look now.
//
// A wish that is proved becomes a [crawler.Block], or ends one.
package owner
