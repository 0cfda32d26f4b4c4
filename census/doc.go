// Package census counts what the hosts of a store publish: how many serve which format, in which of
// the five states they are, which rules their documents break, what they offer, how long they last
// and how often they change.
//
// Begin with [Write], which makes a folder for a date: figures with plots, the data that they are
// counted from, the definitions, and checksums. The same store and date give the same bytes.
// [Live] follows the log and knows the same figures at any moment, for pages and the API.
//
// Both read the same facts of a host ([Facts]) and turn them into the same features (the table of
// [Families]): a figure is how many hosts have a feature, so the list behind a figure is the list of
// those hosts.
//
//	facts.go     what the census knows of one host, from its records
//	features.go  the table of families, and which features a host has
//	figures.go   counts features, ages and changes
//	series.go    the same over time, week by week
//	compare.go   compares the versions of the last 30 days with the versions before them
//	walk.go      the facts of all hosts of a store, one after the other
//	tables.go    the figures as tables
//	rows.go      the lines of the files of facts
//	report.go    what the pages and the folder say about the tables
//	folder.go    the folder: data, tables, plots, definitions, checksums
//	live.go      the follower: opening, following, figures on request
//	livehosts.go what the follower holds of each host, and how a record changes it
//	livestats.go the figures that it makes of them every few seconds
//	services.go  lists of services
//	snapshot.go  the follower across a restart
package census
