// Package limit bounds what clients may do: how often ([Limiter]) and how many at a time ([Slots]).
// Every part of the program that refuses a client because of a rate or a number uses it, so that
// the rules, the time of the next attempt, the metrics and the RateLimit headers are the same
// everywhere.
//
// Make the limits of one program with one [Set]: it holds their clock and lists them for the
// metrics. A refused client gets an [*ExceededError], which says which limit it was and how long
// to wait.
//
// [ReadAll] and [ReadOrDrain] bound the size of what is read.
//
// Limits are kept in memory. A restart forgets them, and two processes count apart.
package limit
