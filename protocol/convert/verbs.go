package convert

import (
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// httpWords are the names of HTTP methods as they stand in the names of
// operations, with the verbs of AGIS that say the same (§4.3, C.3(a)). The first
// verb is the one to take.
var httpWords = map[string][]string{
	"get": {"RETRIEVE", "FETCH"}, "post": {"CREATE", "SEND"}, "put": {"REPLACE", "STORE"}, "delete": {"REMOVE", "CANCEL"},
	"patch": {"MODIFY", "UPDATE"}, "head": {"CHECK"}, "options": {"DESCRIBE"}, "connect": {"LINK", "JOIN"}, "trace": {"TRACK"},
}

// actions are words that English uses more as nouns than as verbs, or as both,
// while in the names of operations and at the end of a path they are the action.
var actions = wordSet("list search query book cancel update check lookup find add remove create sync export import upload " +
	"download login logout register send submit run start stop restart pause resume lock unlock archive restore publish " +
	"unpublish subscribe unsubscribe approve reject accept decline confirm verify validate calculate estimate convert " +
	"translate analyze summarize merge split copy clone move rename enable disable activate deactivate reset refresh " +
	"transfer refund capture charge redeem assign unassign invite track scan render generate retry revoke rotate " +
	"execute invoke trigger schedule reschedule batch bulk browse compare suggest recommend")

// hollow verbs say nothing of what is done; what stands behind them does.
var hollow = wordSet("allow enable let provide perform do make handle manage use used call return returns give obtain " +
	"have be is are has can will should must please this the a an endpoint operation api method batch bulk")

// reporting words say that something is answered. "Returns" alone may also mean
// that something is brought back, so it is put more plainly.
var reporting = wordSet("get gets return returns give gives")

// vagueAction holds the words of actions that are no verb on their own.
var vagueAction = wordSet("batch bulk")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// methodVerb reports whether a word in lower case may be a method: passes 2 and
// 3 find nothing against it, and somebody knows it as a verb.
func methodVerb(word string) bool {
	if len(word) < 2 || len(word) > 24 || !knownVerb(word) || httpWords[word] != nil {
		return false
	}
	return !slices.ContainsFunc(agis.CheckMethod(strings.ToUpper(word)), func(f protocol.Finding) bool {
		return f.Severity == protocol.Error || f.Code == "AGIS305"
	})
}

func knownVerb(word string) bool {
	u := english.Lookup(word)
	return u.Verb && !u.Stative || effect.Of(word) != 0
}

// clearVerb reports whether a word is rather meant as a verb than as a noun when
// it stands alone or last.
func clearVerb(word string) bool {
	if vagueAction[word] || !methodVerb(word) {
		return false
	}
	u := english.Lookup(word)
	return actions[word] || !u.Noun && !u.Adjective || u.VerbCount > 2*u.NounCount && effect.Of(word) != 0
}

// verbOfID finds the action in an operationId: its first word, the first word
// of one of its parts (StockController_findAll), or its last word (orderCreate,
// pets.list). A first word that is rather a noun counts when the summary begins
// with it as well. An HTTP name is returned as it is, in lower case. "" means
// that no action was found.
func verbOfID(id, summary string) string {
	is := func(word string) bool { return httpWords[word] != nil || clearVerb(word) }
	words := identifierWords(id)
	if len(words) == 0 {
		return ""
	}
	first := words[0]
	if is(first) {
		return first
	}
	if opening, _ := firstWord(strings.ToLower(summary)); methodVerb(first) && !hollow[first] && (opening == first || opening == thirdPerson(first)) {
		return first
	}
	for part := range strings.FieldsFuncSeq(id, func(r rune) bool { return strings.ContainsRune("_.-/: ", r) }) {
		if w := identifierWords(part); len(w) > 0 && is(w[0]) {
			return w[0]
		}
	}
	if last := words[len(words)-1]; is(last) {
		return last
	}
	if methodVerb(first) && !hollow[first] && ratherVerb(first) {
		return first
	}
	return ""
}

// ratherVerb reports whether a word that may be a noun as well is met as a verb
// at least as often.
func ratherVerb(word string) bool {
	u := english.Lookup(word)
	return !u.Noun || u.VerbCount >= u.NounCount && (u.VerbCount > 0 || effect.Of(word) != 0)
}

// verbOfSummary finds the verb that a summary begins with, in its base form.
func verbOfSummary(summary string) string {
	if !mayBeEnglish(summary) {
		return ""
	}
	word, rest := firstWord(summary)
	word = strings.ToLower(word)
	if rest == "" && !clearVerb(word) || hollow[word] {
		return ""
	}
	if httpWords[word] != nil {
		return word
	}
	if methodVerb(word) {
		if clearVerb(word) || ratherVerb(word) {
			return word
		}
		return ""
	}
	if base := baseOfThird(word); base != "" && !hollow[base] && (httpWords[base] != nil || clearVerb(base)) {
		return base
	}
	return ""
}

// defaultVerb is the verb that an HTTP method stands for (AGIS appendix B, and
// the defaults of other converters).
func defaultVerb(httpMethod string, many bool) string {
	switch httpMethod {
	case "get":
		if many {
			return "LIST"
		}
		return "RETRIEVE"
	case "head":
		return "CHECK"
	default:
		if verbs := httpWords[httpMethod]; verbs != nil {
			return verbs[0]
		}
		return "SEND"
	}
}

// intentOf makes the intent of an endpoint out of a summary: one sentence in the
// third person. generic is what is said when the summary cannot be used, and
// put in front of one that names no action. guessed reports that the summary
// was not taken as it is, but for the form of its verb.
func intentOf(verb, summary, generic string) (intent string, guessed bool) {
	const most = 240
	summary = cutWords(honest(firstSentence(summary)), most)
	if summary == "" {
		return generic, true
	}
	word, rest := firstWord(summary)
	lower := strings.ToLower(word)
	base := ""
	switch {
	case !mayBeEnglish(summary):
	case rest == "" && (httpWords[lower] != nil || clearVerb(lower)):
		return generic, true
	case rest == "":
	case reporting[lower] && effect.Of(verb)&^(effect.Read|effect.Compute) == 0:
		base = "retrieve"
	case httpWords[lower] != nil && lower != "delete":
		base = strings.ToLower(verb)
	case strings.EqualFold(lower, verb), httpWords[lower] != nil:
		base = lower
	case methodVerb(lower) && (clearVerb(lower) || english.Lookup(lower).VerbCount > english.Lookup(lower).NounCount):
		base = lower
	default:
		if third := baseOfThird(lower); third != "" && (strings.EqualFold(third, verb) || clearVerb(third) || hollow[third]) {
			return capital(summary), false
		}
	}
	if base != "" {
		return capital(thirdPerson(base)) + " " + rest, false
	}
	return cutWords(generic+": "+summary, most), true
}

// genericIntent says what a verb does to a thing: "Lists pets", "Cancels an
// order".
func genericIntent(verb string, noun []string, many bool) string {
	third := capital(thirdPerson(strings.ToLower(verb)))
	return third + " " + nounPhrase(noun, many)
}

// nounPhrase names a thing with an article, or many of them.
func nounPhrase(noun []string, many bool) string {
	if len(noun) == 0 {
		noun = []string{noNoun}
	}
	words := slices.Clone(noun)
	last := &words[len(words)-1]
	if many {
		if !plural(*last) && singular(*last) == *last && !strings.HasSuffix(*last, "s") && *last != "data" {
			*last = thirdPerson(*last) // plurals are spelled like it
		}
		return strings.Join(words, " ")
	}
	if plural(*last) && english.Lookup(singular(*last)).Noun {
		*last = singular(*last)
	}
	return withArticle(strings.Join(words, " "))
}

// A nature is what is derived of an endpoint from its verb (AGIS §6.2).
type nature struct {
	capability string
	tier       string
	confidence string
	outcome    string
}

// natureOf classes an endpoint by the effect of its verb. safe says that the
// call is known to change nothing.
func natureOf(verb string, noun []string, many, safe bool) nature {
	verb = strings.ToLower(verb)
	class := effect.Of(verb)
	thing := strings.TrimPrefix(strings.TrimPrefix(nounPhrase(noun, many), "a "), "an ")
	const (
		reads    = effect.Read
		computes = effect.Compute
	)
	switch {
	case class != 0 && class&^computes == 0:
		return nature{"analysis", "informational", "0.6", "The caller has received what was worked out about the " + thing}
	case safe, class != 0 && class&^(reads|computes) == 0:
		capability := "retrieval"
		if many || slices.Contains([]string{"list", "search", "find", "browse", "discover", "query", "explore"}, verb) {
			capability = "discovery"
		}
		return nature{capability, "informational", "0.6", "The caller has received the " + thing}
	case class == effect.Tell:
		return nature{"notification", "irreversible", "0.9", "Those concerned have been told about the " + thing}
	case class&effect.End != 0 && class&effect.Commit == 0:
		return nature{"modification", "irreversible", "0.9", "The request to " + verb + " the " + thing + " has been carried out"}
	case class&effect.Commit != 0:
		return nature{"transaction", "reversible", "0.8", "The request to " + verb + " the " + thing + " has been carried out"}
	default:
		return nature{"modification", "reversible", "0.8", "The request to " + verb + " the " + thing + " has been carried out"}
	}
}

// semanticBlock builds the semantic declaration of an endpoint.
func semanticBlock(intent string, n nature, idempotent bool) *protocol.Node {
	s := newObject()
	put(s, "intent", strNode(intent))
	put(s, "actor", strNode("agent"))
	put(s, "outcome", strNode(n.outcome))
	put(s, "capability", strNode(n.capability))
	put(s, "confidence_guidance", numNode(n.confidence))
	put(s, "impact_tier", strNode(n.tier))
	put(s, "is_idempotent", boolNode(idempotent))
	return s
}
