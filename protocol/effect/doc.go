// Package effect classifies verbs by their effect on the world, and checks whether a sentence about
// an operation describes the same kind of effect as the verb that names the operation.
//
// AGIS §6.3 requires the method and the intent of an endpoint to be consistent: BOOK may not be
// described as "Returns a list of available restaurants". Similarity of topic is not enough (that
// sentence is about booking, too), so verbs have one or more of six classes of effects, from [Read]
// to [Tell], and only classes that exclude each other contradict.
//
// Begin with [Compare]. It finds the main verb of the sentence, including the ways in which English
// hides it ("Allows the agent to cancel", "Makes a reservation", "Sets the status to cancelled",
// "Turns the alarm off"), and returns a [Comparison]. An uncertain contradiction is doubtful or not
// judged: a sentence in another language, a heading without a verb or a verb outside the table
// never counts against the author.
//
// The table is verbs.txt, one verb a line with its classes; [Class] describes each of them. A verb
// has several classes if it has several meanings (to REVIEW a film is to write something, to REVIEW
// a file is to read it). A verb marked loose has too many meanings for any contradiction.
// opposites.txt lists verbs that exclude each other although their classes do not. Further
// knowledge, such as synonyms, comes from protocol/english.
package effect
