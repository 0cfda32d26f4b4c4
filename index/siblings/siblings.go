// Package siblings orders those operations of one host that stand among the first answers to a
// request. The ranking compares operations of all hosts by the words that they share with the request.
// Operations of one host share most words, so that their verbs, their objects and the other words of
// their names decide.
package siblings

import (
	"slices"
	"strings"

	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// Places is the number of first operations to compare.
const Places = 6

const (
	// narrowerShare is the minimum score of an operation, as a share of that of another one of its
	// host, to come before it for its name, verbShare for its verb, and endShare because only it ends
	// something.
	narrowerShare = 0.85
	verbShare     = 0.8
	endShare      = 0.6
	// equalShare is the same for an operation that only reads, where that is what the request wants,
	// and the other one may change something.
	equalShare = 0.98
)

// An Operation is one of the first operations.
type Operation struct {
	Host   string
	Verb   tokens.Token // see [VerbToken]
	Intent string
	Class  effect.Class   // its inferred effects
	Name   []tokens.Token // the terms of its name
	// IsNear reports whether a term of its name has a meaning near to that of a word of the request
	// that the name lacks: captions, where subtitles are wanted. has tells which words the name has.
	IsNear func(term int, has []bool) bool
}

// VerbToken prepares the verb of an operation: its form is in lower case.
func VerbToken(verb string) tokens.Token {
	form := strings.ToLower(verb)
	return tokens.Token{Surface: verb, Form: form, Stem: tokens.StemOf(form)}
}

// A Comparer compares operations with one request.
type Comparer struct {
	request *query.Request
	verbs   *semantic.RelationCache
	// undoable is the verb of the request if an operation may undo it; its form is "" otherwise.
	undoable tokens.Token
}

// NewComparer returns a comparer for a request, which must not get another act afterwards.
func NewComparer(request *query.Request, verbs *semantic.RelationCache) Comparer {
	c := Comparer{request: request, verbs: verbs}
	if mayBeUndone(request) {
		c.undoable = VerbToken(query.SingleVerb(request.Act.Verb))
	}
	return c
}

// Order returns the order of the first operations: the numbers of operations, of which the scores
// fall. An operation that is nil keeps its place. An operation takes the place of another one of its
// host if it [comparison.comesBefore] it. Those that an earlier one [comparison.rulesOut], and those
// that undo what the request wants ([Comparer.Undoes]), come last.
func (r *Comparer) Order(operations []*Operation, scores []int64) []int {
	order := make([]int, len(operations))
	compared := make([]*comparison, len(operations))
	for i, o := range operations {
		order[i] = i
		if o != nil {
			compared[i] = r.compare(o)
		}
	}
	for i := range order {
		for j := i; j > 0; {
			k := j - 1 // the sibling before it
			for k >= 0 && !compared[order[j]].isSibling(compared[order[k]]) {
				k--
			}
			if k < 0 || !compared[order[j]].comesBefore(compared[order[k]], float64(scores[j])/float64(scores[k])) {
				break
			}
			order[j], order[k] = order[k], order[j]
			j = k
		}
	}
	var last []int
	first := order[:0:0]
	for i, number := range order {
		ruledOut := compared[number] != nil && compared[number].undoes || slices.ContainsFunc(order[:i], func(before int) bool {
			return compared[before].isSibling(compared[number]) && compared[before].rulesOut(compared[number])
		})
		if ruledOut {
			last = append(last, number)
		} else {
			first = append(first, number)
		}
	}
	return append(first, last...)
}

// A comparison compares an operation with the request.
type comparison struct {
	*Operation
	asked  []bool // the words of the request that its name has
	others int    // the number of other things in its name
	match  verbMatch
	ends   endedObject
	named  bool // whether a word of the request has its verb
	undoes bool // whether it undoes what the request wants
	// For a request that only reads: whether the operation only reads, and whether it may change
	// something; and whether the request asks to see what there is.
	onlyReads, mayChange, shows bool
}

// verbMatch compares the verb of an operation with that of the request.
type verbMatch int

const (
	noVerb verbMatch = iota // the request has none
	sameVerb
	similarVerb
	unrelatedVerb
)

// endedObject tells what an operation ends, for a request that ends something.
type endedObject int

const (
	endsUnknown endedObject = iota // its name and its intent do not tell what, or the request ends nothing
	endsObject                     // what the request ends
	endsAnother
	endsMore // all things of the kind of which the request ends one
)

func (r *Comparer) compare(o *Operation) *comparison {
	request := r.request
	c := &comparison{Operation: o, asked: make([]bool, len(request.Words)), match: r.matchVerb(o.Verb.Surface), ends: compareEnds(request, o), undoes: r.Undoes(o.Verb.Form, o.Class, o.Name) || endsContainer(request, o)}
	if wanted := request.Act.Wanted; wanted != 0 && wanted&^query.Reading == 0 && o.Class != 0 {
		c.mayChange = o.Class&^query.Reading != 0
		c.onlyReads = !c.mayChange
		c.shows = request.Act.OnlyShows() || request.Act.Question && request.Act.Method == 0
	}
	var others []int
	for k, t := range o.Name {
		known := t.Stem == o.Verb.Stem // another verb does not make it another thing
		for i, w := range request.Words {
			has := func(term tokens.Token) bool { return term.Stem == t.Stem }
			if slices.ContainsFunc(w.Terms, has) || slices.ContainsFunc(w.Meanings, has) {
				c.asked[i], known = true, true
				c.named = c.named || t.Stem == o.Verb.Stem
			}
		}
		if !known {
			others = append(others, k)
		}
	}
	for _, k := range others {
		if !o.IsNear(k, c.asked) {
			c.others++
		}
	}
	return c
}

// Undoes reports whether an operation with a verb in lower case and a name undoes what the request
// wants, or does what the request wants undone: pin_message, where a message is to be unpinned. Its
// name tells, too, if it has the verb of the request with a prefix (CREATE /unban-member), or without
// one and it neither reads nor ends what the name says (CREATE /blocked-numbers, but not DELETE
// /follows), or ends with the opposite (charge_refund).
func (r *Comparer) Undoes(offered string, class effect.Class, name []tokens.Token) bool {
	if !r.MayBeUndone() {
		return false
	}
	if effect.AreOpposed(r.undoable.Form, offered) {
		return true
	}
	if len(name) > 0 && effect.AreOpposed(r.undoable.Form, name[len(name)-1].Form) {
		return true // charge_refund
	}
	stem := r.undoable.Stem
	does := class != 0 && class&(query.Reading|effect.End) == 0
	return slices.ContainsFunc(name, func(t tokens.Token) bool { return isReversed(stem, t.Stem) || does && isReversed(t.Stem, stem) })
}

// MayBeUndone reports whether an operation may undo what the request wants.
func (r *Comparer) MayBeUndone() bool { return r.undoable.Form != "" }

// mayBeUndone reports whether a request has a verb that an operation may undo, and no other one, which
// may be the opposite.
func mayBeUndone(request *query.Request) bool {
	act := request.Act
	return act.Verb != "" && act.Wanted&^query.Reading != 0 &&
		!slices.ContainsFunc(request.Acts, func(other query.Act) bool { return other.Verb != "" && other.Verb != act.Verb })
}

// reversingPrefixes make a verb that undoes another one.
var reversingPrefixes = strings.Fields("de dis un")

// isReversed reports whether a verb is another one with a prefix that reverses it.
func isReversed(verb, reversed string) bool {
	return slices.ContainsFunc(reversingPrefixes, func(p string) bool { return reversed == p+verb })
}

func (r *Comparer) matchVerb(offered string) verbMatch {
	if r.request.Act.Verb == "" {
		return noVerb
	}
	switch r.verbs.RelateVerb(query.SingleVerb(r.request.Act.Verb), offered) {
	case semantic.RelationExact, semantic.RelationStem:
		return sameVerb
	case semantic.RelationSynonym, semantic.RelationHypernym:
		return similarVerb
	}
	return unrelatedVerb
}

// compareEnds compares what the intent of an operation says it ends with what the request ends.
func compareEnds(request *query.Request, o *Operation) endedObject {
	asked := request.Act.Object
	if asked == "" || o.Class&effect.End == 0 {
		return endsUnknown
	}
	words := strings.Fields(strings.ToLower(o.Intent))
	if len(words) < 2 {
		return endsUnknown
	}
	switch object := query.ObjectOf(words[1:]); {
	case object == "":
		return endsUnknown
	case tokens.StemOf(object) != asked:
		// What a name ends with is what the operation is about: DELETE /files/folders.
		if lastOf(o.Name, asked) > lastOf(o.Name, tokens.StemOf(object)) {
			return endsUnknown
		}
		return endsAnother
	case !request.Act.All && (query.MeansAll(words[1]) || query.MeansAll(o.Verb.Form)):
		return endsMore
	case o.Class == effect.End:
		return endsObject
	}
	return endsUnknown
}

// endsContainer reports whether an operation ends what the request takes something out of: it deletes the
// project, where somebody is to be removed from it.
func endsContainer(request *query.Request, o *Operation) bool {
	container := request.Act.Container
	if container == "" || container == request.Act.Object || o.Class != effect.End {
		return false
	}
	words := strings.Fields(strings.ToLower(o.Intent))
	if at := slices.Index(words, "from"); at > 0 {
		words = words[:at] // it takes something out of it, too
	}
	return len(words) > 1 && tokens.StemOf(query.ObjectOf(words[1:])) == container
}

// lastOf returns the place of the last term with a stem, -1 if there is none.
func lastOf(terms []tokens.Token, stem string) int {
	for i, t := range slices.Backward(terms) {
		if t.Stem == stem {
			return i
		}
	}
	return -1
}

func (c *comparison) isSibling(o *comparison) bool {
	return c != nil && o != nil && c.Host == o.Host
}

// comesBefore reports whether an operation comes before another one of its host, which has a higher
// score: share is its own score as a share of that. It does in these cases:
//   - It ends what the request ends, and the other one something else, or more.
//   - It ends what the request ends, and the verb of the other one is unrelated to ending.
//   - It has the verb of the request, and the other one an unrelated verb.
//   - It only reads, as the request wants, and the other one, with nearly the same score, may change
//     something.
//   - Its name shares the same words with the request and has fewer others: "create an issue" asks for
//     create_issue and not for create_issue_type. Only the same kinds of effect are compared by name,
//     because the ranking has judged the kinds.
func (c *comparison) comesBefore(o *comparison, share float64) bool {
	switch {
	case c.ends == endsObject && (o.ends == endsAnother || o.ends == endsMore):
		return true
	case c.ends == endsObject && o.Class != effect.End && o.match == unrelatedVerb && share >= endShare:
		return true
	case c.match == sameVerb && o.match == unrelatedVerb && share >= verbShare:
		return true
	case c.onlyReads && o.mayChange && share >= equalShare:
		return true
	case c.Class != o.Class || c.others >= o.others || share < narrowerShare:
		return false
	}
	for i, has := range o.asked {
		if has && !c.asked[i] {
			return false
		}
	}
	return true
}

// makes reports whether an operation creates something or tells somebody something, and nothing else.
func (c *comparison) makes() bool {
	return c.Class != 0 && c.Class&^(effect.Commit|effect.Tell) == 0
}

// rulesOut reports whether an operation, which does what the request wants, makes it unlikely that
// another one of its host is meant, which could do harm instead:
//   - The first one ends what the request ends, and the other one ends something else, or more, or
//     creates something.
//   - The first one has the verb of the request, and the other one ends something and has an unrelated
//     verb.
//   - The first one only reads, where the request asks to see what there is or has its verb, and the
//     other one may change something.
//   - The other one undoes what the first one does: BUY and REFUND. If the request does not have the
//     verb of the first one, it also has to end something.
func (c *comparison) rulesOut(o *comparison) bool {
	switch {
	case c.ends == endsObject && (o.ends == endsAnother || o.ends == endsMore || o.makes()):
		return true
	case c.match == sameVerb && o.match == unrelatedVerb && o.Class&effect.End != 0 && o.Class&query.Reading == 0:
		return true
	case c.onlyReads && (c.shows || c.match == sameVerb) && o.mayChange:
		return true
	}
	certain := c.named || c.match == sameVerb || c.match == similarVerb || c.match == noVerb && o.Class&effect.End != 0
	return certain && effect.AreOpposed(c.Verb.Form, o.Verb.Form)
}
