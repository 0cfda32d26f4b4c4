package entry

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// ClassOf infers the effects of an operation from its verb and its intent. The more dangerous reading
// counts, so that no text can make an operation look safe. If the verb can mean both reading and writing,
// the HTTP method GET decides: it is safe (RFC 9110 §9.2.1).
func ClassOf(o *document.Operation) (class effect.Class, from string) {
	class, from = classOfWords(o)
	if reads := class & query.Reading; o.Call.Method == http.MethodGet && reads != 0 && reads != class {
		return reads, "method GET"
	}
	return class, from
}

// classOfWords infers the effects from words, and from the method DELETE.
func classOfWords(o *document.Operation) (class effect.Class, from string) {
	j := effect.Compare(o.Verb, o.Intent)
	verb, intent := j.MethodClass, j.Class
	ofVerb, ofIntent := "verb "+o.Verb, "intent: "+j.Verb
	switch {
	case verb == effect.End:
		return effect.End, ofVerb
	case intent == effect.End:
		return effect.End, ofIntent
	case o.Call.Method == http.MethodDelete && (verb|intent)&effect.End != 0:
		return effect.End, "method DELETE"
	}
	if ends := endingSentence(o); ends != "" {
		return effect.End, "intent: " + ends
	}
	if j.Verb == "" {
		if ends := endingTranslation(o); ends != "" {
			return effect.End, "intent: " + ends
		}
	}
	if j.Verb == "" || j.Verdict == effect.NotJudged {
		if told := titleClass(o); told != 0 || j.Verb == "" {
			intent = told
		} else if verb != 0 && verb&^query.Reading == 0 {
			intent = 0 // RETRIEVE: "Seat maps"
		}
	}
	if j.Verb != "" && (isOverwriting(o.Verb) || isOverwriting(j.Verb)) && !namesEnding(o.Intent) {
		verb, intent = withoutEnd(o.Verb, verb), withoutEnd(j.Verb, intent)
	}
	switch {
	case intent == 0:
		return verb, ofVerb
	case verb == 0:
		return intent, ofIntent
	case verb&^query.Reading == 0 && intent&query.Reading == 0:
		// A verb that reads, with an intent that changes something.
		return intent | effect.Of(j.Verb)&effect.Tell, ofIntent
	case strings.EqualFold(o.Verb, anyPost) && intent == effect.Commit|effect.Tell:
		return intent, ofIntent // CREATE: "Sends a message"
	case verb&intent != 0:
		return verb & intent, ofVerb
	default:
		return verb | intent, ofVerb
	}
}

// overwritingVerbs end something only if their sentence says what: SET "the status to cancelled".
var overwritingVerbs = []string{"complete", "replace", "set"}

func isOverwriting(verb string) bool { return slices.Contains(overwritingVerbs, strings.ToLower(verb)) }

// withoutEnd returns the class of an overwriting verb without the end, other classes as they are.
func withoutEnd(verb string, class effect.Class) effect.Class {
	if isOverwriting(verb) {
		return class &^ effect.End
	}
	return class
}

// namesEnding reports whether a word of an intent is a form of a verb that ends something.
func namesEnding(intent string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(intent), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, verb := range append(english.Base(word), word) {
			if class := effect.Of(verb); class&effect.End != 0 && class&^(effect.Change|effect.End) == 0 {
				return true
			}
		}
	}
	return false
}

// anyPost is the verb of operations of which nothing is known but that they are posted to. Those
// that only work something out from what is posted have it, too.
const anyPost = "CREATE"

// Changes reports whether an operation changes the world, and so does not answer a question: as its
// document declares, or by its verb or its intent, if one of them says nothing of reading. Its class is
// that of [ClassOf].
func Changes(o *document.Operation, class effect.Class) bool {
	if class == effect.Tell && o.Intent == "" {
		return false // TELL /joke: nothing says that somebody else is told
	}
	if o.Effect == document.Reversible || o.Effect == document.Irreversible || class != 0 && class&query.Reading == 0 {
		return true
	}
	if strings.HasPrefix(o.Intent, "Reports a ") || strings.HasPrefix(o.Intent, "Reports an ") {
		return true // somebody is told of a thing; to report what is known has another article
	}
	verb := effect.Of(strings.ToLower(o.Verb))
	return verb != 0 && verb&query.Reading == 0 && !strings.EqualFold(o.Verb, anyPost)
}

// titleClass returns the effects that the sentence after a title tells ("Sentiment analysis.
// Evaluates the tone of a text"), 0 if the intent does not begin with a title. With a verb that
// only reads, the sentence must begin with its verb: "This data is made available" is not what is
// done.
func titleClass(o *document.Operation) effect.Class {
	title, sentence, ok := strings.Cut(o.Intent, ". ")
	if !ok {
		return 0
	}
	if j := effect.Compare(o.Verb, title); j.Verb != "" && j.Verdict != effect.NotJudged {
		return 0
	}
	sentence, _, _ = strings.Cut(sentence, ". ")
	sentence = withoutSubject(strings.ToLower(sentence))
	j := effect.Compare(o.Verb, sentence)
	if j.MethodClass != 0 && j.MethodClass&^query.Reading == 0 && !beginsWith(sentence, j.Verb) {
		return 0
	}
	return j.Class
}

// beginsWith reports whether a sentence begins with a form of a verb.
func beginsWith(sentence, verb string) bool {
	first, _, _ := strings.Cut(sentence, " ")
	return verb != "" && !strings.HasSuffix(first, "ed") && strings.HasPrefix(first, verb[:len(verb)-1])
}

// maxSentences is the number of sentences of an intent that are read.
const maxSentences = 8

// endingSentence returns the verb at the beginning of a later sentence of the intent if it ends
// something, so that an earlier sentence cannot hide it. It returns "" if there is none.
func endingSentence(o *document.Operation) string {
	sentences := strings.FieldsFunc(o.Intent, func(r rune) bool { return strings.ContainsRune(".;:!?\n。！？", r) })
	for _, sentence := range sentences[min(1, len(sentences)):min(maxSentences, len(sentences))] {
		sentence = withoutSubject(strings.ToLower(strings.TrimSpace(sentence)))
		j := effect.Compare(o.Verb, sentence)
		if j.Class == effect.End && beginsWith(sentence, j.Verb) && !isParticipleClause(sentence) {
			return j.Verb
		}
	}
	return ""
}

// endingTranslation returns the English verb of an intent in another language if it ends something, ""
// otherwise.
func endingTranslation(o *document.Operation) string {
	for _, verb := range translate.Verbs(translate.LanguageOf(o.Intent), o.Intent) {
		if effect.Of(verb) == effect.End {
			return verb
		}
	}
	return ""
}

// isParticipleClause reports whether a sentence says what follows from an act, as "excluding the
// tag will return all" does.
func isParticipleClause(sentence string) bool {
	first, rest, _ := strings.Cut(sentence, " ")
	return strings.HasSuffix(first, "ing") && (strings.Contains(rest, " will ") || strings.Contains(rest, " may ") || strings.Contains(rest, " can "))
}

// withoutSubject returns a sentence in lower case without a subject that stands for the operation:
// "this operation deletes all events" deletes all events.
func withoutSubject(sentence string) string {
	words := strings.Fields(sentence)
	if len(words) > 2 && (words[0] == "this" || words[0] == "the") {
		switch words[1] {
		case "api", "call", "command", "endpoint", "function", "method", "operation", "request", "resource":
			return strings.Join(words[2:], " ")
		}
	}
	return sentence
}

// ClassField is the keyword field of the inferred effects and the language, as a number.
const ClassField = "effectclass"

// classValue is the value of [ClassField] of an operation that is described in a language.
func classValue(o *document.Operation, class effect.Class, language string) string {
	value := int(class)
	if needsIdentifier(o) {
		value |= IdentifierFlag
	}
	if class == effect.End && endsMany(o) {
		value |= ManyFlag
	}
	switch {
	case Changes(o, class):
		value |= ChangesFlag
	case class != 0 && strings.EqualFold(o.Verb, anyPost):
		value |= PostFlag
	}
	value |= translate.LanguageNumber(language) << languageShift
	return strconv.Itoa(value)
}

// The number of the language of an operation's description is in the bits of its class value from
// this one; see [translate.LanguageNumber].
const languageShift = 12

// LanguageNumberOf returns the number of the language in a value of [ClassField].
func LanguageNumberOf(value int) int { return value >> languageShift }

// ChangesFlag marks an operation that changes the world; see [Changes].
const ChangesFlag = 1 << 10

// PostFlag marks an operation that works something out from what is posted.
const PostFlag = 1 << 11

// ManyFlag marks an operation that ends all things of a kind.
const ManyFlag = 1 << 9

// endsMany reports whether an operation that ends something ends more than one thing.
func endsMany(o *document.Operation) bool {
	switch strings.ToUpper(o.Verb) {
	case "CLEAR", "PURGE", "EMPTY", "WIPE", "RESET":
		return true
	}
	for word := range strings.FieldsSeq(strings.ToLower(o.Intent)) {
		switch strings.Trim(word, ".,;:") {
		case "all", "every", "entire", "everything", "bulk", "permanently":
			return true
		}
	}
	return false
}

// IdentifierFlag marks an operation that needs the identifier of its object.
const IdentifierFlag = 1 << 8

// needsIdentifier reports whether an operation works on one thing of which the caller must know the
// identifier: the last segment of its path is a parameter, or its name says "by id".
func needsIdentifier(o *document.Operation) bool {
	path := strings.TrimRight(o.Path, "/")
	if strings.HasSuffix(path, "}") {
		return !isKnownToClient(path[strings.LastIndexByte(path, '{')+1 : len(path)-1])
	}
	name := strings.ToLower(o.ID)
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "byid") || strings.HasSuffix(name, "_by_id")
}

// knownToClients are words in the names of parameters whose values a client knows without asking
// the service: a place, a time, a word, a format.
var knownToClients = strings.Fields(`address amount area city coordinates country currency date day destination domain extension ext format from
	ip isbn language latitude lang location longitude month origin phone place position postcode query region search state station symbol term text
	time to town type url vat version word year zip`)

// isKnownToClient reports whether a client knows the value of a parameter without asking the service.
func isKnownToClient(name string) bool {
	words := strings.Fields(strings.ToLower(tokens.PrepareName(name)))
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return w == "id" || w == "key" || w == "code" || w == "number" || w == "uuid" }) &&
		slices.ContainsFunc(words, func(w string) bool { return slices.Contains(knownToClients, w) })
}

// EffectValue returns the value of the filter effect: the declared effect, unless the class that
// [ClassOf] inferred is more dangerous.
func EffectValue(o *document.Operation, class effect.Class) string {
	switch {
	case class == effect.End:
		return string(document.Irreversible)
	case o.Effect == "":
		return string(document.EffectUnknown)
	default:
		return string(o.Effect)
	}
}
