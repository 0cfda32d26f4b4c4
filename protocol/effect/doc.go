// Package effect says what doing a verb does to the world, and whether a
// sentence about an operation describes the same kind of effect as the verb the
// operation is named by.
//
// AGIS §6.3 wants the method and the intent of an endpoint to be consistent:
// BOOK may not be described as "Returns a list of available restaurants".
// Nearness of topic cannot tell (that sentence is all about booking), so verbs
// are put into six classes by their effect, from [Read] to [Tell], and only
// classes that exclude each other contradict.
//
// Begin at [Compare]. It finds the main verb of the sentence, follows the ways
// in which English hides it ("Allows the agent to cancel", "Makes a
// reservation", "Sets the status to cancelled", "Turns the alarm off"), and
// answers with a [Judgement]. What is not sure to contradict is doubtful or not
// judged: a sentence in another language, a heading without a verb and a verb
// that nobody has put into the table are never held against their author.
//
// The table is verbs.txt, one verb a line with its classes; [Class] says what
// each means. A verb has several classes when it may be meant in several ways
// (to REVIEW a film is to write something, to REVIEW a file is to read it).
// A verb marked loose has too many uses for any contradiction.
// opposites.txt holds verbs that exclude each other although their classes do
// not. What a dictionary knows beyond them, such as synonyms, comes from
// protocol/english.
package effect
