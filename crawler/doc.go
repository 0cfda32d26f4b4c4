// Package crawler visits hosts, politely, and stores what they publish for
// agents. Begin at [Crawler]: [New], then [Crawler.Run] in a goroutine of the
// caller, then [Crawler.Add] or [Crawler.Crawl].
//
// The unit of work is a host session (session.go): one TLS connection on which
// robots.txt, /.well-known/ai (/ai after a 404), /.well-known/agis.json and the
// AGIS document that the summary names are asked for, one after the other. The
// parts, in the order a visit meets them:
//
//	hostlist.go    lists of hosts to begin with
//	frontier.go    which host is next; owned by the goroutine of Run
//	hosttable.go   what it knows of a million hosts, in little memory
//	snapshot.go    the frontier across a restart
//	journal.go     the visits under way across a crash
//	politeness.go  when a session with a host may begin
//	session.go     what is asked of it, in turn
//	settle.go      what an answer comes to
//	read.go        documents that were read, kept, or are no longer current
//	crosscheck.go  whether the summary and the full document agree
//	result.go      the record and the result at the end of a visit
//	canary.go      whether the host tells one path from another
//	verdicts.go    what its robots.txt allows, for as long as that holds
//	executor.go    one request of a session, carried out by colly
//	revisit.go     when each document may be asked for again
//	recrawl.go     an owner's wish to be visited again
//	commit.go      results into the store, in batches
//	budget.go      how many hosts links may add below one domain
//	ledger.go      every request that was made, for the owner of the host
//	optout.go      hosts that are not visited, and what is removed with them
//	metrics.go     counters
//
// What one request is held to (names, addresses, robots.txt, redirects, limits)
// is package fetch.
//
// The durable state of a host is its [Host] record. It changes only in the same
// store.Apply as the documents of the visit, so a host stays due until its
// result is committed: a process that dies in between repeats the visit, and
// loses nothing.
package crawler
