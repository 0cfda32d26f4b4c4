// Package store defines the keyed log that everything else is built on: records by key, each write
// with the next sequence number. [Store.Changes] replays the latest record of each key in the order of
// the sequence and then waits for new writes. Derived data (the search index, the frontier's order,
// figures) follows it with its own [Cursor] and can be rebuilt by following from zero. Deletions up to
// a horizon are forgotten, see [Store.Forget]: a follower that has not read that far rebuilds.
// Package follow runs such followers, boltstore is the implementation, and storetest has the tests
// that every implementation must pass.
//
// # Keys
//
// A key is text without NUL, in parts separated by "/". Hosts are reversed ("com.example.www"), so
// that the keys of a registrable domain are neighbors. This is the whole list; each has a function
// in keys.go:
//
//	host/{rev}                       crawler.Host: when due, failures, robots, outcomes (JSON)
//	doc/{rev}/{kind}                 document.Document as last fetched (JSON)
//	ver/{rev}/{kind}/{time}-{digest} one stored version: when it was first seen (JSON), never overwritten
//	turn/{rev}/{time}                conformance.Turn: a change of a host's class or states, or its first sight (JSON), never overwritten
//	blob/{digest}                    raw bytes of a document, never overwritten
//	log/{rev}/{time}-{host}          crawler.CrawlLogEntry: the requests to {rev} during a visit to {host} (JSON), for 90 days
//	block/{rev}                      crawler.Block: why a host is not visited, and its removed documents (JSON)
//	domain/{rev}                     crawler.Domain: hosts that links added below a registrable domain (JSON)
//	agent/{air id}                   registry.Agent (JSON)
//	agent/{air id}/{n}               registry.HistoryEntry: a change of the agent, n from 00000001 (JSON), never overwritten
//	handle/{handle}                  AIR ID that holds the handle, or held it until a time (text)
//	key/{multikey}                   AIR ID that has proved that the key is its own, now or before (text)
//	attestation/{n}                  registry.Attestation, n from 0000000001 (JSON)
//	admission                        admission.StoredPolicy: how new agents are taken, when the operator was last active (JSON)
//	mail                             the position of the queue of mail, within a minute
//	witness/<hash>                   the size of the newest tree that this server has cosigned, by its witness key and the log
//	checkpoint                       the newest signed checkpoint of the transparency log (C2SP tlog-checkpoint), within a minute
//	pending/{air id}                 admission.Application: a registration that waits for the operator (JSON)
//	ban/{kind}/{value}               admission.Ban: an entry of the registry's block lists (JSON)
//	report/{time}-{hex}              admission.Report: an abuse report about an agent (JSON)
//	contract/{name}                  toolhost.Contract: a tool that the operator has been offered, approved or revoked (JSON)
//
// {rev} is [ReverseHost], {kind} a document.Kind, {digest} "sha256:" and hex, {time} UTC as
// 20060102T150405.000Z.
package store
