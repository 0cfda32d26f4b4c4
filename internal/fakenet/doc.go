// Package fakenet is a small internet on loopback, for the demo and for tests.
// It has hosts under .test, each with its own certificate, real TLS and HTTP/2,
// robots files, redirects and faults, and it keeps a log of every request, which
// is the judge of politeness: the crawler's own claims do not count.
//
// [Open] starts it and [Net.Close] stops it. Without options it holds the
// standard hosts ([Net.Hosts]), built from real service descriptions; with
// Options.Empty a test adds its own with [Net.Handle] or [Net.Serve]:
//
//	internet, err := fakenet.Open(fakenet.Options{Empty: true})
//	defer internet.Close()
//	internet.Handle("shop.test", handler)
//	client := &http.Client{Transport: &http.Transport{
//		DialContext:     internet.Dial(nil),
//		TLSClientConfig: &tls.Config{RootCAs: internet.Roots()},
//	}}
//
// Names resolve only in the function that [Net.Dial] returns, so nothing but a
// program that was handed it can reach these hosts. The certificate authority
// is made anew by each Open, lives in memory, and may sign for .test alone.
//
// A flow, from the name to the log:
//
//	Dial("a.test:443") ── known? ── loopback ── TLS, leaf by SNI ── Site.Handler ── Requests
//	       │                 └─ no: *net.DNSError, not found
//	       └─ "a.test:80": plain HTTP, same handler, logged with TLS false
//
// The files: net.go, log.go and pipe.go are the machinery, authority.go the certificates, dns.go
// the TXT records, nameserver.go a name server for tests that need a real one, script.go the
// answers of a test vector, addresses.go addresses that must never be dialed; hosts.go, site.go,
// reservations.go and misbehaving.go are the standard hosts. testdata/README.md says where their
// documents come from.
package fakenet
