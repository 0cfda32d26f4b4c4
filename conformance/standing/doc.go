// Package standing follows the store and knows, in memory, the present states of every host, how
// many hosts have each, and which hosts name one another as related services. Start with [Open], run
// [Follower.Run], and ask [Follower.Host], [Follower.List], [Follower.Figures] or [Follower.Links]:
// none of them reads the store.
//
// The follower reads four kinds of records: host/ (the states, see crawler.Host.Track), doc/ (the
// links), block/ (hosts that are not visited) and turn/ (since when there is a history). It writes
// what it knows to a file from time to time, with the cursor of that state. At start it reads the file
// and later changes; without a usable file it reads all records, with the same result.
package standing
