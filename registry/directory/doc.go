// Package directory finds agents by their names, capabilities, hosts and evidence. A [Directory] is a
// view of the store in memory: [Directory.Run] fills it and keeps it up to date, [Directory.Search] and
// [Directory.AtHost] read it.
//
// Agents are listed in the order of how many signals are proved or observed, then of age, and never by
// scores that agents can give themselves. Attestations count only outside rings of attesters, see
// endorsements.go.
package directory
