package wording

import (
	"iter"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
)

// HTTPVerbs are the names of HTTP methods as they stand in the names of
// operations, with the verbs of AGIS that say the same (§4.3, C.3(a)). The first
// verb is the one to take.
var HTTPVerbs = map[string][]string{
	"get": {"RETRIEVE", "FETCH"}, "post": {"CREATE", "SEND"}, "put": {"REPLACE", "STORE"}, "delete": {"REMOVE", "CANCEL"},
	"patch": {"MODIFY", "UPDATE"}, "head": {"CHECK"}, "options": {"DESCRIBE"}, "connect": {"LINK", "JOIN"}, "trace": {"TRACK"},
}

// ActionWords are words that English uses more as nouns than as verbs, or as both,
// while in the names of operations and at the end of a path they are the action.
var ActionWords = WordSet("list search query book cancel update check lookup find add remove create sync export import upload " +
	"download login logout register send submit run start stop restart pause resume lock unlock archive restore publish " +
	"unpublish subscribe unsubscribe approve reject accept decline confirm verify validate calculate estimate convert " +
	"translate analyze summarize merge split copy clone move rename enable disable activate deactivate reset refresh " +
	"transfer refund capture charge redeem assign unassign invite track scan render generate retry revoke rotate " +
	"execute invoke trigger schedule reschedule batch bulk browse compare suggest recommend")

// emptyVerbs verbs say nothing of what is done; what stands behind them does.
var emptyVerbs = WordSet("allow let provide perform do make handle manage use used call return returns give obtain " +
	"have be is are has can will should must please this the a an endpoint operation api method batch bulk")

// readingVerbs begin the names and summaries of operations that read; elsewhere in a
// name they may be nouns.
var readingVerbs = WordSet("read fetch show view display")

// answerVerbs words say that something is answered. "Returns" alone may also mean
// that something is brought back, so it is put more plainly.
var answerVerbs = WordSet("get gets return returns give gives")

// remarkOpenings begins sentences that are about something else than what is done: "This
// is documentation for the old version", "Please use the new one".
var remarkOpenings = WordSet("this these there it we you please note deprecated warning important see")

// vagueAction holds the words of actions that are no verb on their own.
var vagueAction = WordSet("batch bulk")

func WordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// IsMethodVerb reports whether a word in lower case may be a method: passes 2 and
// 3 find nothing against it, and somebody knows it as a verb.
func IsMethodVerb(word string) bool {
	if len(word) < 2 || len(word) > 24 || !knownVerb(word) || HTTPVerbs[word] != nil {
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
	if vagueAction[word] || !IsMethodVerb(word) {
		return false
	}
	u := english.Lookup(word)
	return ActionWords[word] || !u.Noun && !u.Adjective || u.VerbCount > 2*u.NounCount && effect.Of(word) != 0
}

// verbOfID finds the action in an operationId or the like: a word that is
// returned in lower case, also when it is the name of an HTTP method. "" means
// that no action was found. In this order: the first word (createOrder,
// listPets), what stands behind the name of the method of the call
// (post_cancel_order), the last word (orderCreate, pets.list), the first word of
// a part (StockController_findAll), and a first word that is rather a noun when
// the summary agrees (book_table: "Book a table").
func verbOfID(id, summary, httpMethod string) string {
	words := IdentifierWords(id)
	if len(words) == 0 {
		return ""
	}
	first, last := words[0], words[len(words)-1]
	switch {
	case HTTPVerbs[first] != nil:
		return behindHTTPWord(words, httpMethod)
	case pureVerb(first), readingVerbs[first], first == "return" && httpMethod == "post":
		return first
	case beginsWithVerb(first, summary) && IsMethodVerb(first) && !emptyVerbs[first] && (httpMethod != "get" || usesAsVerb(first, summary)):
		return first
	}
	if n := len(words); n > 3 && words[n-2] == "or" { // config_create_or_update
		last = words[n-3]
		if lastVerb(last, httpMethod) {
			return last
		}
	}
	plainest := plainestPart(id, httpMethod)
	if clearVerb(first) && (ActionWords[first] && HTTPVerbs[plainest] == nil && plainest != "list" ||
		plainest == "" && httpMethod != "get" && VerbOfSummary(summary, httpMethod) == "") {
		return first
	}
	if plainest != "" {
		return plainest
	}
	if HTTPVerbs[last] != nil || lastVerb(last, httpMethod) {
		return last
	}
	for part := range idParts(id) {
		if w := IdentifierWords(part); len(w) > 0 && ActionWords[w[0]] && clearVerb(w[0]) && httpMethod != "get" {
			return w[0]
		}
	}
	if IsMethodVerb(first) && !emptyVerbs[first] && ratherVerb(first) && httpMethod != "get" {
		return first
	}
	return ""
}

// lastVerb reports whether a word at the end of a name is the action of it. What
// a GET ends with is only when reading is what it does.
func lastVerb(word, httpMethod string) bool {
	return clearVerb(word) && (httpMethod != "get" || readsVerb(word) || pureVerb(word))
}

// idParts yields what an identifier's marks separate.
func idParts(id string) iter.Seq[string] {
	return strings.FieldsFuncSeq(id, func(r rune) bool { return strings.ContainsRune("_.-/: ", r) })
}

// plainestPart returns the word that is the action without doubt where a part of
// an identifier, after the first, begins with it: an HTTP name or list, else a
// word that is nothing but a verb. The method of the call at the very end is no
// action (login_user_login_post).
func plainestPart(id, httpMethod string) string {
	parts := slices.Collect(idParts(id))
	plainest := ""
	for i, part := range parts {
		w := IdentifierWords(part)
		if i == 0 || len(w) == 0 {
			continue
		}
		first := w[0]
		if first == "list" || HTTPVerbs[first] != nil && (first != httpMethod || i < len(parts)-1) {
			return first
		}
		if plainest == "" && pureVerb(first) && english.Lookup(first).Known() {
			plainest = first
		}
	}
	return plainest
}

// behindHTTPWord finds the action in an identifier that begins with an HTTP
// name. Where that is the method of the call it says nothing by itself, as in
// post_delete_pet; where it is another one, as in getBalance with POST, it is the
// action.
func behindHTTPWord(words []string, httpMethod string) string {
	first, last := words[0], words[len(words)-1]
	if first != httpMethod || len(words) == 1 {
		return first
	}
	next := words[1]
	if (next == "get" || next == "delete") && first != "delete" || pureVerb(next) || ActionWords[next] && (httpMethod != "get" || len(words) == 2 && readsVerb(next)) {
		return next
	}
	if first == "post" && ActionWords[last] && lastVerb(last, httpMethod) {
		return last
	}
	return first
}

// pureVerb reports whether a word may be a method and is hardly met as anything
// but a verb.
func pureVerb(word string) bool {
	u := english.Lookup(word)
	return clearVerb(word) && !emptyVerbs[word] && (!u.Noun && !u.Adjective || commonActions[word])
}

// commonActions are actions that have a noun beside them, which nobody means in
// the name of an operation.
var commonActions = WordSet("find add remove update cancel create send start stop")

// ratherVerb reports whether a word that may be a noun as well is met as a verb
// at least as often.
func ratherVerb(word string) bool {
	u := english.Lookup(word)
	return !u.Noun || u.VerbCount >= u.NounCount && (u.VerbCount > 0 || effect.Of(word) != 0)
}

// beginsWithVerb reports whether a summary begins with a verb.
func beginsWithVerb(verb, summary string) bool {
	opening, _ := firstWord(strings.ToLower(summary))
	return opening == verb || opening == ThirdPerson(verb)
}

// determiners show that the word in front of them is a verb.
var determiners = WordSet("a an the this that these those one all any some each every your their its new existing specified")

// usesAsVerb reports whether a summary that begins with a word, or with its third
// person, means the verb: "Books a table", not "Books" or "Book of the day".
func usesAsVerb(verb, summary string) bool {
	_, rest := firstWord(strings.ToLower(summary))
	next, _ := firstWord(rest)
	return pureVerb(verb) && next != "of" || determiners[next]
}

// VerbOfSummary finds the verb that a summary begins with, in its base form.
func VerbOfSummary(summary, httpMethod string) string {
	if !mayBeEnglish(summary) {
		return ""
	}
	summary = strings.ToLower(leadIn(summary))
	word, rest := firstWord(summary)
	if next, _ := firstWord(rest); word == "returns" && determiners[next] {
		return "get"
	}
	if rest == "" && !clearVerb(word) || emptyVerbs[word] || strings.Contains(summary, word+":") {
		return "" // Slides: change a shape
	}
	if HTTPVerbs[word] != nil {
		return word
	}
	base := word
	if !IsMethodVerb(word) {
		base = baseOfThird(word)
	}
	switch {
	case base == "" || emptyVerbs[base]:
		return ""
	case HTTPVerbs[base] != nil:
		return base
	case !IsMethodVerb(base) || !clearVerb(base) && !ratherVerb(base) && !usesAsVerb(base, summary):
		return ""
	}
	next, _ := firstWord(rest)
	if next == "of" && base != "list" && english.Lookup(base).Noun {
		return "" // a map of the city
	}
	reads := effect.Of(base)&(effect.Read|effect.Compute) != 0 && (ActionWords[base] || pureVerb(base))
	if httpMethod == "get" && !determiners[next] && !readingVerbs[base] && !reads {
		return "" // order status, follow status
	}
	return base
}

// leadIn drops the beginning of "Allows the caller to book …" and "Used to
// book …".
func leadIn(summary string) string {
	word, rest := firstWord(summary)
	switch strings.ToLower(word) {
	case "allow", "allows", "enables", "use", "used", "let", "lets":
	default:
		return summary
	}
	const most = 8
	for range most {
		word, rest = firstWord(rest)
		if strings.EqualFold(word, "to") && rest != "" {
			return rest
		}
	}
	return summary
}

// VerbOfWords chooses between what a name and a sentence say: the name counts
// unless it says no more than an HTTP method does. "" means that neither tells.
func VerbOfWords(name, sentence, httpMethod string) (verb string, fromSentence bool) {
	word := verbOfID(name, sentence, httpMethod)
	if word != "" && HTTPVerbs[word] == nil && !emptyVerbs[word] {
		return word, false
	}
	said := VerbOfSummary(sentence, httpMethod)
	switch class := effect.Of(said); {
	case said == "", word == "" && said == httpMethod:
	case (said == "get" || said == "delete") && (word == "" || word == httpMethod):
		return said, true
	case HTTPVerbs[said] != nil:
	case word == "delete" && class&effect.End == 0: // "Used to create and delete overviews"
	case word == "get" && class&(effect.Read|effect.Compute) == 0:
	default:
		return said, true
	}
	if emptyVerbs[word] {
		word = ""
	}
	return word, false
}

// DefaultVerb is the verb that an HTTP method stands for (AGIS appendix B, and
// the defaults of other converters).
func DefaultVerb(httpMethod string, many bool) string {
	switch httpMethod {
	case "get":
		if many {
			return "LIST"
		}
		return "RETRIEVE"
	case "head":
		return "CHECK"
	default:
		if verbs := HTTPVerbs[httpMethod]; verbs != nil {
			return verbs[0]
		}
		return "SEND"
	}
}

// IntentOf makes the intent of an endpoint out of a summary: one sentence in the
// third person. generic is what is said when the summary cannot be used, and
// put in front of one that names no action. guessed reports that the summary
// was not taken as it is, but for the form of its verb.
func IntentOf(verb, summary, generic string) (intent string, guessed bool) {
	const most = 240
	summary = Shorten(DropInstruction(FirstSentence(summary)), most)
	if words := IdentifierWords(summary); len(words) > 2 && !strings.ContainsRune(summary, ' ') && mayBeEnglish(summary) {
		summary = strings.Join(words, " ") // getLatestCountryData
	}
	word, rest := firstWord(summary)
	lower := strings.ToLower(word)
	if summary == "" || remarkOpenings[lower] {
		return generic, true
	}
	base := ""
	switch {
	case !mayBeEnglish(summary):
	case rest == "" && (HTTPVerbs[lower] != nil || clearVerb(lower)):
		return generic, true
	case rest == "":
	case answerVerbs[lower] && effect.Of(verb)&^(effect.Read|effect.Compute) == 0:
		base = "retrieve"
	case HTTPVerbs[lower] != nil && lower != "delete":
		base = strings.ToLower(verb)
	case strings.EqualFold(lower, verb), HTTPVerbs[lower] != nil:
		base = lower
	case IsMethodVerb(lower) && (clearVerb(lower) || english.Lookup(lower).VerbCount > english.Lookup(lower).NounCount):
		base = lower
	default:
		if third := baseOfThird(lower); third != "" && (strings.EqualFold(third, verb) || third == "delete" || clearVerb(third) || emptyVerbs[third]) {
			return Capitalize(summary), false
		}
	}
	if base != "" {
		return Capitalize(ThirdPerson(base)) + " " + rest, false
	}
	return Shorten(generic+": "+summary, most), true
}

// GenericIntent says what a verb does to a thing: "Lists pets", "Cancels an
// order".
func GenericIntent(verb string, noun []string, many bool) string {
	third := Capitalize(ThirdPerson(strings.ToLower(verb)))
	return third + " " + nounPhrase(noun, many)
}

// nounPhrase names a thing with an article, or many of them.
func nounPhrase(noun []string, many bool) string {
	if len(noun) == 0 {
		noun = []string{NoNoun}
	}
	words := slices.Clone(noun)
	last := &words[len(words)-1]
	if many {
		if !IsPlural(*last) && SingularOf(*last) == *last && !strings.HasSuffix(*last, "s") && *last != "data" {
			*last = ThirdPerson(*last) // plurals are spelled like it
		}
		return strings.Join(words, " ")
	}
	if IsPlural(*last) && english.Lookup(SingularOf(*last)).Noun {
		*last = SingularOf(*last)
	}
	if unknownPlural(*last) {
		return strings.Join(words, " ")
	}
	return WithArticle(strings.Join(words, " "))
}

// unknownPlural reports whether a word looks like the plural of one that the
// dictionary does not know (gamevariants).
func unknownPlural(word string) bool {
	return strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is") &&
		len(word) > 3 && !english.Lookup(word).Known()
}

// A nature is what is derived of an endpoint from its verb (AGIS §6.2).
type VerbClass struct {
	capability string
	Tier       string
	Confidence string
	Outcome    string
}

// ClassifyVerb classes an endpoint by the effect of its verb. safe says that the
// call is said to change nothing; that is believed unless the verb denies it, as
// where a GET deletes.
func ClassifyVerb(verb string, noun []string, many, safe bool) VerbClass {
	verb = strings.ToLower(verb)
	class := effect.Of(verb)
	thing := strings.TrimPrefix(strings.TrimPrefix(nounPhrase(noun, many), "a "), "an ")
	const (
		reads    = effect.Read
		computes = effect.Compute
	)
	switch {
	case class != 0 && class&^computes == 0:
		return VerbClass{"analysis", "informational", "0.6", "The caller has received what was worked out about the " + thing}
	case safe && (class == 0 || class&(reads|computes) != 0), class != 0 && class&^(reads|computes) == 0:
		capability := "retrieval"
		if many || slices.Contains([]string{"list", "search", "find", "browse", "discover", "query", "explore"}, verb) {
			capability = "discovery"
		}
		return VerbClass{capability, "informational", "0.6", "The caller has received the " + thing}
	case class == effect.Tell:
		return VerbClass{"notification", "irreversible", "0.9", "Those concerned have been told about the " + thing}
	case class&effect.End != 0 && class&effect.Commit == 0:
		return VerbClass{"modification", "irreversible", "0.9", describeOutcome(verb, thing, many)}
	case class&effect.Commit != 0:
		return VerbClass{"transaction", "reversible", "0.8", describeOutcome(verb, thing, many)}
	default:
		return VerbClass{"modification", "reversible", "0.8", describeOutcome(verb, thing, many)}
	}
}

// describeOutcome says that a verb was carried out on a thing: "The order has been
// cancelled".
func describeOutcome(verb, thing string, many bool) string {
	has := " has been "
	if many || unknownPlural(thing[strings.LastIndexByte(thing, ' ')+1:]) {
		has = " have been "
	}
	if done := pastParticiple(verb); done != "" && thing != NoNoun {
		return "The " + thing + has + done
	}
	return "The request to " + verb + " the " + thing + " has been carried out"
}

// Verb returns the method of AGIS that an operation with a name, a sentence
// about it and an HTTP method stands for: the action that the name holds, else
// the verb that the sentence begins with, else what the HTTP method usually
// means. Each of the three may be empty; "" means that none of them tells. The
// words are judged as English, by passes 2 and 3 of AGIS (§9.2, §9.3).
func Verb(name, sentence, httpMethod string) string {
	httpMethod = strings.ToLower(httpMethod)
	word, _ := VerbOfWords(name, StripMarkup(sentence), httpMethod)
	if word == "" {
		word = httpMethod
	}
	switch {
	case word == "":
		return ""
	case HTTPVerbs[word] != nil:
		return DefaultVerb(word, false)
	default:
		return strings.ToUpper(word)
	}
}

// SemanticBlock builds the semantic declaration of an endpoint.
func SemanticBlock(intent string, n VerbClass, idempotent bool) *protocol.Node {
	s := tree.Object()
	tree.Put(s, "intent", tree.String(intent))
	tree.Put(s, "actor", tree.String("agent"))
	tree.Put(s, "outcome", tree.String(n.Outcome))
	tree.Put(s, "capability", tree.String(n.capability))
	tree.Put(s, "confidence_guidance", tree.Number(n.Confidence))
	tree.Put(s, "impact_tier", tree.String(n.Tier))
	tree.Put(s, "is_idempotent", tree.Bool(idempotent))
	return s
}
