package effect

import "strings"

// classOf returns the class of a verb where it stands. Some verbs mean different
// things with different objects: who returns a list reads, who returns money
// does not.
func (c *comparison) classOf(p phrase) Class {
	class, o := Of(p.verb), p.object
	switch p.verb {
	case "return", "get", "give", "provide", "supply", "offer", "deliver", "present":
		return classifyTransfer(p.verb, class, o)
	case "make", "perform", "carry out", "do", "conduct", "run", "execute", "process", "handle", "take", "have":
		if named := classOfNoun(o); named != 0 {
			return named
		}
	case "add": // to a thing that the method changes
		class |= c.class & Change
	case "create":
		if versions.has(o.head) {
			class |= c.class & Change
		}
	}
	first, _, _ := strings.Cut(p.verb, " ")
	if class&Tell != 0 && (callers.has(o.recipient) || o.question || o.isAnswer(p.verb)) {
		class |= Read
	}
	if creating.has(first) && derivable.has(o.head) {
		class |= Compute
	}
	if light.has(first) {
		class |= classOfNoun(o)
	}
	if class == Commit|Tell && c.isReadOnly() {
		class = Commit // who sends or issues a thing does more than tell
	}
	if class&End != 0 && classOfNoun(o)&End != 0 {
		class |= Commit | Change // "Cancels a scheduled deletion"
	}
	return class
}

// classifyTransfer classes a verb that hands something over by what is handed over.
func classifyTransfer(verb string, class Class, o object) Class {
	known := information.has(o.head) && (o.recipient == "" || callers.has(o.recipient))
	switch {
	case !o.isInformation() || goods.has(o.head) && !known:
		return class
	case verb == "return" || verb == "get":
		return Read
	default:
		return Read | Tell
	}
}

// isInformation reports whether the object is something to know rather than to have:
// a list, a price, a clause, or several things, which are handed over as data.
func (o object) isInformation() bool {
	return o.clause || information.has(o.head) || o.plural && !goods.has(o.head)
}

// isAnswer reports whether to tell this is to answer: who tells a user a price
// was asked for it.
func (o object) isAnswer(verb string) bool {
	return (verb == "tell" || verb == "inform" || verb == "show") && subjects.has(o.recipient) && o.isInformation()
}

// isUnsure reports whether the object leaves open what the verb means.
func (c *comparison) isUnsure(p phrase) bool {
	switch p.verb {
	case "return", "get", "give", "provide", "supply", "offer", "present", "receive", "obtain":
		return made.has(p.object.head) && c.class&(Commit|Change) != 0
	}
	return false
}

// actionNouns are the nouns of an object that may name what is done: its head, and
// what a carrier stands for.
func (o object) actionNouns() []string {
	if len(o.words) == 0 {
		return nil
	}
	n := len(o.words) - 1
	if n > 0 && carriers.has(o.head) {
		return o.words[n-1:]
	}
	return o.words[n:]
}

// classOfNoun returns the class of the verb that the object's noun is made
// from: reservation, from reserve. It is 0 for a noun that is no action.
func classOfNoun(o object) Class {
	var class Class
	for _, noun := range o.actionNouns() {
		if carriers.has(noun) || !actionNoun(noun) {
			continue
		}
		for _, verb := range verbsOf(noun) {
			if of := Of(verb); of != vague {
				class |= of
			}
		}
	}
	return class
}

// actionNoun reports whether a noun has the ending of a name of an action, or is
// one of the short ones that are verbs as they stand.
func actionNoun(noun string) bool {
	switch noun {
	case "search", "check", "lookup", "query", "transfer", "purchase", "order", "refund", "update", "change", "payment":
		return true
	}
	noun = strings.TrimSuffix(noun, "s")
	for _, ending := range []string{"tion", "sion", "ment", "ance", "ence", "ing", "sis", "al"} {
		if len(noun) > len(ending)+3 && strings.HasSuffix(noun, ending) {
			return true
		}
	}
	return false
}
