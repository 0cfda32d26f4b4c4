package effect

import "strings"

// classOf returns the class of a verb where it stands. Some verbs mean different
// things with different objects: who returns a list reads, who returns money
// does not.
func (c *comparison) classOf(p phrase) Class {
	class, o := Of(p.verb), p.object
	if p.passive {
		return class
	}
	switch p.verb {
	case "return", "get", "give", "provide", "supply", "offer", "deliver", "present":
		return transfer(p.verb, class, o)
	case "make", "perform", "carry out", "do", "conduct", "run", "execute", "process", "handle", "take", "have":
		if named := nominalization(o); named != 0 && !generic.has(c.method) {
			return named
		}
	case "allow", "enable", "permit", "authorize", "authorise", "let", "help":
		if named := nominalization(o); named != 0 {
			return class | named // "Allows a search"
		}
	case "add": // to a thing that the method changes
		class |= c.class & Change
	case "create":
		if versions.has(o.head) {
			class |= c.class & Change
		}
	case "set", "update", "change", "modify", "put", "switch", "turn", "flag", "mark", "transition":
		for _, word := range o.words {
			if statuses.has(word) {
				return class | Commit | Change | End
			}
		}
	}
	first, _, _ := strings.Cut(p.verb, " ")
	if class&Tell != 0 && (callers.has(o.recipient) || o.question || o.answers(p.verb)) {
		class |= Read
	}
	if creating.has(first) && derivable.has(o.head) {
		class |= Compute
	}
	if creating.has(first) && messages.has(o.head) {
		class |= Tell
	}
	if light.has(first) {
		class |= nominalization(o)
	}
	if class == Commit|Tell && c.looks() && !messages.has(o.head) && !information.has(o.head) {
		class = Commit // who sends or issues a thing does more than tell
	}
	if class&End != 0 && nominalization(o)&End != 0 {
		class |= Commit | Change // "Cancels a scheduled deletion"
	}
	return class
}

// transfer classes a verb that hands something over by what is handed over.
func transfer(verb string, class Class, o object) Class {
	other := o.recipient != "" && !callers.has(o.recipient)
	switch {
	case o.informs() && !(goods.has(o.head) && (other || !information.has(o.head))):
		switch verb {
		case "return", "get":
			return Read
		case "deliver":
			return class | Read | Tell
		default:
			if other && !subjects.has(o.recipient) {
				return Read | Tell | Commit // "Provides information to the authority"
			}
			return Read | Tell
		}
	case verb == "return" && goods.has(o.head):
		return Commit | Change | End
	case verb == "give":
		return Commit | Change
	}
	return class
}

// informs reports whether the object is something to know rather than to have:
// a list, a price, a clause, or several things, which are handed over as data.
func (o object) informs() bool {
	return o.clause || information.has(o.head) || o.plural && !goods.has(o.head)
}

// answers reports whether to tell this is to answer: who tells a user a price
// was asked for it.
func (o object) answers(verb string) bool {
	return (verb == "tell" || verb == "inform" || verb == "show") && subjects.has(o.recipient) && o.informs()
}

// unsure reports whether the object leaves open what the verb means.
func (c *comparison) unsure(p phrase) bool {
	o := p.object
	switch p.verb {
	case "return", "get", "give", "provide", "supply", "offer", "present", "receive", "obtain":
	default:
		return false
	}
	if p.passive {
		return true
	}
	if !o.informs() && (o.recipient == "" || o.head == "") {
		return true
	}
	if o.plural {
		return false
	}
	if made.has(o.head) && c.class&(Commit|Change) != 0 {
		return true
	}
	for _, word := range o.words { // "Returns the created booking"
		if infl, ok := read(word); ok && infl.form == participle && c.like(infl.verb) {
			return true
		}
	}
	return false
}

// nominalization returns the class of the verb that the object's noun is made
// from: reservation, from reserve. It is 0 for a noun that is no action.
func nominalization(o object) Class {
	var class Class
	for _, noun := range o.names() {
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
