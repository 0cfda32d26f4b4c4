package wording

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
	"gazetteer/protocol/tree"
)

// HTTPVerbs maps HTTP methods, as they occur in operation names, to the AGIS verbs with the same
// meaning (§4.3, C.3(a)). The first verb is the default.
var HTTPVerbs = map[string][]string{
	"get": {"RETRIEVE", "FETCH"}, "post": {"CREATE", "SEND"}, "put": {"REPLACE", "STORE"}, "delete": {"REMOVE", "CANCEL"},
	"patch": {"MODIFY", "UPDATE"}, "head": {"CHECK"}, "options": {"DESCRIBE"}, "connect": {"LINK", "JOIN"}, "trace": {"TRACK"},
}

// ActionWords are words that English uses as nouns as well, but that are actions in operation names
// and at the end of a path.
var ActionWords = WordSet("list search query book cancel update check lookup find add remove create sync export import upload " +
	"download login logout register send submit run start stop restart pause resume lock unlock archive restore publish " +
	"unpublish subscribe unsubscribe approve reject accept decline confirm verify validate calculate estimate convert " +
	"translate analyze summarize merge split copy clone move rename enable disable activate deactivate reset refresh " +
	"transfer refund capture charge redeem assign unassign invite track scan render generate retry revoke rotate " +
	"execute invoke trigger schedule reschedule batch bulk browse compare suggest recommend")

// emptyVerbs have no meaning of their own; the words after them name the action.
var emptyVerbs = WordSet("allow let provide perform do make handle manage use used call return returns give obtain " +
	"have be is are has can will should must please this the a an endpoint operation api method batch bulk")

// readingVerbs are actions at the beginning of a name or summary. Elsewhere in a name they may be
// nouns.
var readingVerbs = WordSet("read fetch show view display")

// answerVerbs are verbs of answering. "Returns" may also mean that something is brought back, so it
// is replaced.
var answerVerbs = WordSet("get gets return returns give gives")

// remarkOpenings begin sentences that do not describe the operation: "This is documentation for the
// old version", "Please use the new one".
var remarkOpenings = WordSet("this these there it we you please note deprecated warning important see")

// vagueAction holds action words that are not verbs on their own.
var vagueAction = WordSet("batch bulk")

// WordSet returns the set of the words of a text, which spaces separate.
func WordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// IsMethodVerb reports whether a word in lower case may be an AGIS method: passes 2 and 3 accept
// it, and the dictionary knows it as a verb.
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

// clearVerb reports whether a word that is alone or last is more likely a verb than a noun.
func clearVerb(word string) bool {
	if vagueAction[word] || !IsMethodVerb(word) {
		return false
	}
	u := english.Lookup(word)
	return ActionWords[word] || !u.Noun && !u.Adjective || u.VerbCount > 2*u.NounCount && effect.Of(word) != 0
}

// verbOfID returns the action in an operationId in lower case, which may be the name of an HTTP
// method, or "" when there is none. It looks, in this order, at the first word (createOrder,
// listPets), the word after the HTTP method of the call (post_cancel_order), the last word
// (orderCreate, pets.list), the first word of a part (StockController_findAll), and a first word
// that may be a noun if the summary agrees (book_table: "Book a table").
func verbOfID(id, summary, httpMethod string) string {
	words := IdentifierWords(id)
	if len(words) == 0 {
		return ""
	}
	first, last := words[0], words[len(words)-1]
	switch {
	case HTTPVerbs[first] != nil:
		return behindHTTPWord(words, summary, httpMethod)
	case httpMethod == "get" && len(words) > 1 && readsThing(first, summary):
		return ""
	case pureVerb(first), readingVerbs[first], first == "return" && httpMethod == "post":
		return first
	case beginsWithVerb(first, summary) && IsMethodVerb(first) && !emptyVerbs[first] && !namesThing(first, summary) && (httpMethod != "get" || usesAsVerb(first, summary)):
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
	if IsMethodVerb(first) && !emptyVerbs[first] && ratherVerb(first) && !namesThing(first, summary) && httpMethod != "get" {
		return first
	}
	return ""
}

// lastVerb reports whether the last word of a name is its action. In the name of a GET only a verb
// that reads counts.
func lastVerb(word, httpMethod string) bool {
	return clearVerb(word) && (httpMethod != "get" || readsVerb(word) || pureVerb(word))
}

// idParts yields the parts of an identifier between separators.
func idParts(id string) iter.Seq[string] {
	return strings.FieldsFuncSeq(id, func(r rune) bool { return strings.ContainsRune("_.-/: ", r) })
}

// plainestPart returns the first unambiguous action that begins a part of an identifier after the
// first: an HTTP method or list, else a word that is only a verb. The method of the call at the
// very end is not an action (login_user_login_post).
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

// behindHTTPWord returns the action of an identifier that begins with an HTTP method. The method of
// the call itself says nothing, as in post_delete_pet. Another method is the action, as in
// getBalance with POST. A get that is followed by a word such as stop reads, unless the summary begins
// with that verb.
func behindHTTPWord(words []string, summary, httpMethod string) string {
	first, last := words[0], words[len(words)-1]
	if first != httpMethod || len(words) == 1 {
		return first
	}
	next := words[1]
	if first == "get" && !readsVerb(next) && effect.Of(next)&(effect.Read|effect.Compute) == 0 && HTTPVerbs[next] == nil && !beginsWithVerb(next, summary) {
		return first // the schedule of a stop
	}
	if (next == "get" || next == "delete") && first != "delete" || pureVerb(next) || ActionWords[next] && (httpMethod != "get" || len(words) == 2 && readsVerb(next)) {
		return next
	}
	if first == "post" && ActionWords[last] && lastVerb(last, httpMethod) {
		return last
	}
	return first
}

// pureVerb reports whether a word may be a method and is almost never used as anything but a verb.
func pureVerb(word string) bool {
	u := english.Lookup(word)
	return clearVerb(word) && !emptyVerbs[word] && (!u.Noun && !u.Adjective || commonActions[word])
}

// commonActions are actions with a noun of the same spelling that no operation name means.
var commonActions = WordSet("find add remove update cancel create send start stop")

// readsThing reports whether a common action at the beginning of the name of a GET is a noun there, as in
// stop_times: whether its summary begins with another word and has that noun further on ("Times of a stop").
// Without that the name counts: a call that ends something must not look like one that reads.
func readsThing(word, summary string) bool {
	if !commonActions[word] || !english.Lookup(word).Noun || effect.Of(word)&(effect.Read|effect.Compute) != 0 || beginsWithVerb(word, trimIntroduction(summary)) {
		return false
	}
	before := ""
	for next, rest := firstWord(strings.ToLower(summary)); next != ""; next, rest = firstWord(rest) {
		if (next == word || next == word+"s") && (determiners[before] || nounPrepositions[before]) {
			return true
		}
		before = next
	}
	return false
}

// nounPrepositions mark the word behind them as a noun.
var nounPrepositions = WordSet("at by for from in near of on per")

// ratherVerb reports whether a word is used as a verb at least as often as a noun.
func ratherVerb(word string) bool {
	u := english.Lookup(word)
	return !u.Noun || u.VerbCount >= u.NounCount && (u.VerbCount > 0 || effect.Of(word) != 0)
}

// namesThing reports whether a word at the beginning of a name is more likely a thing
// (text_analysis, email): a word that is used as a noun at least as often as a verb, unless the
// summary begins with it followed by an object ("Email the customer").
func namesThing(word, summary string) bool {
	u := english.Lookup(word)
	if !u.Noun || u.NounCount < u.VerbCount || ActionWords[word] || word == "order" {
		return false
	}
	_, rest := firstWord(strings.ToLower(summary))
	next, _ := firstWord(rest)
	return !beginsWithVerb(word, summary) || !determiners[next] && !persons[next]
}

// persons are nouns for people that can be the object of an action.
var persons = WordSet("somebody someone anybody anyone everybody everyone people me you him her us them customers users")

// beginsWithVerb reports whether a summary begins with the verb or its third person.
func beginsWithVerb(verb, summary string) bool {
	opening, _ := firstWord(strings.ToLower(summary))
	return opening == verb || opening == ThirdPerson(verb)
}

// determiners mark the word before them as a verb.
var determiners = WordSet("a an the this that these those one all any some each every your their its new existing specified")

// usesAsVerb reports whether a summary that begins with a word uses it as a verb: "Books a table",
// not "Books" or "Book of the day".
func usesAsVerb(verb, summary string) bool {
	_, rest := firstWord(strings.ToLower(summary))
	next, _ := firstWord(rest)
	return pureVerb(verb) && next != "of" || determiners[next]
}

// VerbOfSummary returns the base form of the verb that a summary begins with, "" when there is
// none.
func VerbOfSummary(summary, httpMethod string) string {
	if verb := verbOfForeignSummary(summary); verb != "" {
		return verb
	}
	if !mayBeEnglish(summary) {
		return ""
	}
	summary = strings.ToLower(trimIntroduction(summary))
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
	case base == "" || emptyVerbs[base] || namesThing(base, summary):
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
	if httpMethod == "get" && !determiners[next] && !readingVerbs[base] && !reads && !pureVerb(base) {
		return "" // order status, follow status
	}
	return base
}

// operationNames are the words with which a summary speaks of its operation.
var operationNames = WordSet("action api call command endpoint function method operation request route service")

// dropSubject removes a label and a subject that is the operation itself: "DEPRECATED: Get meetings",
// "This operation cancels a job". It keeps the subject before anything but a verb.
func dropSubject(summary string) string {
	summary = effect.TrimLabel(summary)
	word, rest := firstWord(summary)
	if !strings.EqualFold(word, "this") {
		return summary
	}
	if word, rest = firstWord(rest); !operationNames[strings.ToLower(word)] {
		return summary
	}
	if verb, action := firstWord(rest); strings.EqualFold(verb, "will") {
		rest = action
	}
	verb, _ := firstWord(strings.ToLower(rest))
	if third := baseOfThird(verb); third != "" && (IsMethodVerb(third) || HTTPVerbs[third] != nil || emptyVerbs[third]) || HTTPVerbs[verb] != nil || clearVerb(verb) {
		return rest
	}
	return summary
}

// trimIntroduction removes beginnings such as "Allows the caller to book …" and "Used to book …".
func trimIntroduction(summary string) string {
	summary = dropSubject(summary)
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

// VerbOfWords chooses between the action in a name and the one in a sentence: the name wins unless
// it only repeats an HTTP method. "" means that neither has one.
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
	case word == "get" && class&(effect.Read|effect.Compute) == 0 && !pureVerb(said):
	default:
		return said, true
	}
	if emptyVerbs[word] {
		word = ""
	}
	return word, false
}

// DefaultVerb returns the verb that corresponds to an HTTP method (AGIS appendix B).
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

// IntentOf turns a summary into the intent of an endpoint: one sentence in the third person.
// generic is used when the summary cannot be, and precedes a summary that names no action. A summary in
// another language stays as it is. guessed reports that more than the form of the verb was changed.
func IntentOf(verb, summary, generic string) (intent string, guessed bool) {
	summary = shortSummary(summary)
	if words := IdentifierWords(summary); len(words) > 2 && !strings.ContainsRune(summary, ' ') && mayBeEnglish(summary) {
		summary = strings.Join(words, " ") // getLatestCountryData
	}
	word, rest := firstWord(summary)
	lower := strings.ToLower(word)
	if summary == "" || remarkOpenings[lower] {
		return generic, true
	}
	if isOtherLanguage(summary) || verbOfForeignSummary(summary) != "" {
		return Capitalize(summary), false
	}
	base := ""
	switch {
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
	return LabelledIntent(generic, summary), true
}

// maxIntent is the number of characters of an intent that is made from a summary.
const maxIntent = 240

// shortSummary returns what the first sentence of a summary says of the operation.
func shortSummary(summary string) string {
	return Shorten(DropInstruction(FirstSentence(dropSubject(summary))), maxIntent)
}

// LabelledIntent returns a generic intent with the summary behind it, unless the summary has no other
// words: "Retrieves a port: Opening hours", "Lists ports".
func LabelledIntent(generic, summary string) string {
	summary = shortSummary(summary)
	known := map[string]bool{}
	for _, word := range IdentifierWords(generic) {
		known[SingularOf(word)] = true
	}
	for _, word := range IdentifierWords(summary) {
		if !known[SingularOf(word)] {
			return Shorten(generic+": "+summary, maxIntent)
		}
	}
	return generic
}

// GenericIntent returns what a verb does to a thing: "Lists pets", "Cancels an order".
func GenericIntent(verb string, noun []string, many bool) string {
	third := Capitalize(ThirdPerson(strings.ToLower(verb)))
	return third + " " + nounPhrase(noun, many)
}

// nounPhrase returns a noun with its article, or in the plural.
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

// unknownPlural reports whether a word looks like the plural of a word that the dictionary does not
// know (gamevariants).
func unknownPlural(word string) bool {
	return strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is") &&
		len(word) > 3 && !english.Lookup(word).Known()
}

// A VerbClass holds the properties that follow from the verb of an endpoint (AGIS §6.2).
type VerbClass struct {
	capability string
	Tier       string
	Confidence string
	Outcome    string
}

var paymentVerbs = WordSet("pay charge purchase buy donate tip remit transfer wire settle refund repay payout")

// IsPayment reports whether a verb moves money, which only the other side can undo.
func IsPayment(verb string) bool { return paymentVerbs[strings.ToLower(verb)] }

// ClassifyVerb derives the class of an endpoint from the effect of its verb. safe says that the
// call is declared to change nothing, which holds unless the verb contradicts it, as in a GET that
// deletes.
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
	case IsPayment(verb):
		return VerbClass{"transaction", "irreversible", "0.9", describeOutcome(verb, thing, many)}
	case class&effect.Commit != 0:
		return VerbClass{"transaction", "reversible", "0.8", describeOutcome(verb, thing, many)}
	default:
		return VerbClass{"modification", "reversible", "0.8", describeOutcome(verb, thing, many)}
	}
}

// describeOutcome returns the outcome of a verb: "The order has been canceled".
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

// Verb returns the AGIS method for an operation: the action in its name, else the verb at the
// beginning of its sentence, else the usual meaning of its HTTP method. Each argument may be empty;
// it returns "" if none of them names an action. Words are read as English, by passes 2 and 3 of
// AGIS (§9.2, §9.3).
func Verb(name, sentence, httpMethod string) string {
	httpMethod = strings.ToLower(httpMethod)
	word, _ := VerbOfWords(name, StripMarkup(sentence), httpMethod)
	word = cmp.Or(word, httpMethod)
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
	s := tree.Object(
		"intent", intent, "actor", "agent", "outcome", n.Outcome, "capability", n.capability,
		"confidence_guidance", tree.Number(n.Confidence), "impact_tier", n.Tier, "is_idempotent", idempotent,
	)
	return s
}
