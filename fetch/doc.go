// Package fetch makes one request under our rules: what every program of the
// project that asks a stranger's host for a document holds itself to. Begin at
// [Transport]: a [Wire] from it is one connection to one host, and [Wire.Ask]
// makes a request over it and judges the answer. What a site does is an
// [Outcome], never an error.
//
//	hostname.go   which names may be asked at all
//	guard.go      the addresses that are never dialled
//	robots.go     what a robots.txt allows (RFC 9309)
//	ask.go        one thing to be fetched, redirect by redirect
//	redirect.go   which addresses are gone on to
//	judge.go      what status, media type and failures mean
//	header.go     Retry-After, freshness, validators
//	transport.go  the bytes: HTTPS, limits in size, gzip
//	wire.go       the connection they come over, limits in time
//	head.go       headers that readers take differently
//	verify.go     certificates, with a memory for intermediates
//	outcome.go    what came of it, as data
//
// The package keeps nothing between requests and waits for nobody: when a host
// may be asked again, and how often, is for the caller. A document is asked for
// only when a [Verdict] on the robots.txt of the host allows it.
package fetch
