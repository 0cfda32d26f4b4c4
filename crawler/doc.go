// Package crawler visits hosts politely and stores what they publish for agents. Start with
// [Crawler]: call [New], run [Crawler.Run] in a goroutine of your own, then call [Crawler.Add] or
// [Crawler.Crawl].
//
// The unit of work is a host session (session.go). On one TLS connection it asks for robots.txt,
// /.well-known/ai (/ai after a 404), /.well-known/agis.json and the AGIS document that the summary
// names, in this order. The parts, in the order in which a visit meets them:
//
//	crawler.go	   the crawler and its goroutines; options.go its options
//	seeds.go	  hosts to start with; package hostlist reads lists of them
//	frontierloop.go	the goroutine that owns the frontier
//	snapshot.go	  the frontier across a restart
//	session.go	   the requests of a session, in order
//	settle.go	    what an answer means
//	read.go	      documents that were read, kept, or are no longer current
//	crosscheck.go	whether the documents of a host agree
//	result.go	    the record and the result at the end of a visit
//	host.go	      the record of a host
//	canary.go	    whether the host tells paths apart
//	robotscache.go	  what its robots.txt allows, for as long as that holds
//	executor.go	  one request of a session, executed by colly
//	revisit.go	   when each document may be asked for again; rate.go estimates how often it changes
//	recrawl.go	   requests to visit a host again; preview.go describes such a visit
//	commit.go	    results into the store, in batches
//	domainquota.go	how many hosts links may add below one domain
//	crawllog.go	  every request that was made, for the owner of the host
//	optout.go	    hosts that are not visited, and what is removed with them
//	clock.go	     a clock that is set; pause.go a process that did not run
//	status.go	    the current activity, for the operator
//	metrics.go	   counters
//
// Package frontier orders the hosts by when they are due, journal carries the running visits across
// a crash, and politeness decides when a session with a host may begin. Package fetch has the rules for
// a single request: names, addresses, robots.txt, redirects, limits.
//
// The durable state of a host is its [Host] record. It changes only in the same store.Apply as the
// documents of the visit, so a host stays due until its result is committed: a process that ends in
// between repeats the visit and loses nothing.
package crawler
