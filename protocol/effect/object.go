package effect

import "strings"

// classOf returns the class of a verb with its object. The object can decide the meaning: to return
// a list is to read, to return money is not.
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
	case "join", "play", "request":
		if c.isMethod(p.verb) && len(o.words) > 0 && !o.isInformation() {
			class &^= Read | Compute // a club, not tables; a song; a prescription
		}
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

// classifyTransfer returns the class of a verb of giving, by the thing that is given.
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

// isInformation reports whether the object is information and not a thing: a list, a price, a
// clause, or several things, which are given as data.
func (o object) isInformation() bool {
	return o.clause || information.has(o.head) || o.plural && !goods.has(o.head)
}

// isAnswer reports whether telling this object is an answer: a user who is told a price has asked
// for it.
func (o object) isAnswer(verb string) bool {
	return (verb == "tell" || verb == "inform" || verb == "show") && subjects.has(o.recipient) && o.isInformation()
}

// isUnsure reports whether the object leaves the meaning of the verb open.
func (c *comparison) isUnsure(p phrase) bool {
	switch p.verb {
	case "return", "get", "give", "provide", "supply", "offer", "present", "receive", "obtain":
		return made.has(p.object.head) && c.class&(Commit|Change) != 0
	}
	return false
}

// actionNouns returns the nouns of an object that may name the action: its head, and the noun
// before a carrier.
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

// classOfNoun returns the class of the verb from which the object's noun is derived: reservation,
// from reserve. It is 0 for a noun that is not an action.
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

// actionNoun reports whether a noun has the ending of an action noun, or is a short one that is
// spelled like its verb.
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
