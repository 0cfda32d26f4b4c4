// Package fetch makes single requests under the rules that every program of this project obeys when
// it asks a stranger's host for a document. Start with [Transport]: it makes a [Connection] to one
// host, and [Connection.Send] makes a request over it and judges the answer. What a site does is an
// [Outcome], never an error.
//
//	resolver.go	  addresses of names
//	guard.go	     the addresses that are never dialed
//	robots.go	    what a robots.txt allows (RFC 9309)
//	ask.go	       one thing to fetch, redirect by redirect
//	redirect.go	  which redirects are followed
//	judge.go	     what status, media type and failures mean
//	header.go	    Retry-After, freshness, validators
//	transport.go	 the bytes: HTTPS, size limits, gzip
//	connection.go	the connection and its time limits
//	head.go	      headers that readers interpret differently
//	verify.go	    certificates, with a cache of intermediates
//	tls.go	       the TLS side of a connection, as data
//	outcome.go	   the result, as data; findings.go what its publisher should know
//	client.go	    one document on behalf of a person; hostlocks.go one request at a time to a host
//
// The package keeps nothing between requests and waits for nobody: the caller decides when and how
// often a host is asked. A document is only requested when a [RobotsPolicy] on the host's robots.txt
// allows it.
package fetch
