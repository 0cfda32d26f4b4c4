package corpus

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file turns the directory's summary of an operation into the intent of an AGIS endpoint: one
// sentence that begins with a verb in the third person. The operations that fakenet keeps have texts in
// testdata/texts.txt, which come first.

// verbAndIntent returns the verb and the intent, which must not contradict each other
// (AGIS 6.3): where the text begins with a verb of another effect, that one wins.
func (op Operation) verbAndIntent(params, nouns []string) (verb, intent string) {
	verb = op.Verb
	if _, known := actions[verb]; !known {
		verb = methodVerb(op.Method, len(params) > 0 && strings.HasSuffix(op.Path, "}"))
	}
	if op.text != "" {
		word, _, _ := strings.Cut(op.text, " ")
		return chooseVerb(baseVerb(word), verb), op.text
	}
	text := dropLabels(chooseSentence(spellOutID(plainText(op.Intent))))
	if text == "" {
		text = strings.ReplaceAll(strings.Join(nouns, " "), "-", " ")
	}
	word, rest, _ := strings.Cut(text, " ")
	base := baseVerb(strings.TrimRight(word, ",:;"))
	second, tail, _ := strings.Cut(rest, " ")
	isClause := rest != "" && op.Method != "GET" // "Open orders" that are read are no opening
	switch {
	case conditional.MatchString(text), isClause && clauseVerbs[strings.ToLower(word)], textVerbs[strings.ToLower(word)] && strings.HasSuffix(word, "s"):
		intent = text
	case isClause && clauseVerbs[strings.ToLower(word)+"s"], textVerbs[strings.ToLower(word)]:
		intent = word + "s " + rest
	case base == "" && strings.HasSuffix(word, "ly") && second != "" && baseVerb(second) != "": // "Permanently delete"
		verb = chooseVerb(baseVerb(second), verb)
		intent = word + " " + thirdPerson(writtenVerb(second)) + " " + tail
	case base == "" && verbOfGerund(word) != "" && rest != "": // "Deleting droplets"
		verb = chooseVerb(verbOfGerund(word), verb)
		intent = thirdPerson(verbOfGerund(word)) + " " + rest
	case rest == "" || base == "":
		intent = spokenVerb(verb) + " " + nominalVerb.ReplaceAllString(lowerFirst(text), "")
	case second == "of": // "List of currencies": a noun
		verb = chooseVerb(base, verb)
		intent = spokenVerb(verb) + " " + tail
	default:
		verb = chooseVerb(base, verb)
		intent = spokenVerb(base) + " " + rest
	}
	first, size := utf8.DecodeRuneInString(intent)
	return verb, correctArticles(string(unicode.ToUpper(first)) + intent[size:])
}

// dropTitle returns a summary without the title that chooseSentence drops and without words about the
// operation itself, but with all its sentences and with its verb as it stands.
func dropTitle(text string) string {
	_, rest, more := strings.Cut(text, ". ")
	sentence := chooseSentence(text)
	switch {
	case more && strings.HasPrefix(dropSelfReference(rest), sentence):
		text = dropSelfReference(rest)
	default:
		text = dropSelfReference(text)
	}
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// chooseSentence returns the first sentence of a summary. A title of one or two words gives way to
// the sentence that explains it, if that one begins with a verb.
func chooseSentence(text string) string {
	title, rest, more := strings.Cut(text, ". ")
	if !more {
		title, rest, more = strings.Cut(text, ": ")
	}
	if more && strings.Count(title, " ") < 3 && title != "DEPRECATED" {
		sentence := dropSelfReference(firstSentence(rest))
		if strings.Contains(sentence, " ") && beginsWithVerb(sentence) && haveSameEffect(title, sentence) {
			return sentence
		}
	}
	return dropSelfReference(firstSentence(text))
}

// beginsWithVerb reports whether a text begins with a verb that an intent may begin with, or with an
// adverb and such a verb.
func beginsWithVerb(text string) bool {
	word, rest, _ := strings.Cut(text, " ")
	lower := strings.ToLower(word)
	if strings.HasSuffix(lower, "ly") && rest != "" {
		return beginsWithVerb(rest)
	}
	return baseVerb(word) != "" || verbOfGerund(word) != "" || clauseVerbs[lower] || clauseVerbs[lower+"s"] || textVerbs[lower]
}

// haveSameEffect reports whether a title and its explanation do not begin with verbs that do different
// things to the world, as "Start training" and "Returns an address" do.
func haveSameEffect(title, sentence string) bool {
	says, known := actionOfText(title)
	if !known {
		return true
	}
	explains, known := actionOfText(sentence)
	if !known || says <= searches && explains <= searches {
		return says <= searches
	}
	return says == explains
}

// actionOfText returns what the verb in front of a text does, and false if no verb is there.
func actionOfText(text string) (action, bool) {
	word, rest, _ := strings.Cut(text, " ")
	if strings.HasSuffix(word, "ly") && rest != "" {
		return actionOfText(rest)
	}
	verb := baseVerb(word)
	if other, ok := otherVerbs[verb]; ok {
		verb = other
	}
	does, known := actions[verb]
	return does, known
}

// selfReferences match words about the operation itself, such as "This method", "Use this endpoint
// to", "The Delete operation", "The method devicelist" and "This endpoint allows the client to".
var selfReferences = []*regexp.Regexp{
	regexp.MustCompile(`^(?i:(?:you can )?use this (?:[a-z]+ )?(?:endpoint|method|api|call|operation) to )`),
	regexp.MustCompile(`^(?i:uses? [\w/ ]{1,60}? to )`),
	regexp.MustCompile(`^(?i:allows (?:the |a )?(?:(?:client|caller|user|you)s? )?to )`),
	regexp.MustCompile(`^(?i:the method [a-z]+ )`),
	regexp.MustCompile(`^(?i:(?:this|the) (?:[\w./-]+ ){0,3}?(?:endpoint|method|api|call|operation|resource) (?:will )?` +
		`(?:(?:can be|is) used to |lets you |allows (?:the |a )?(?:(?:client|caller|user|you)s? )?(?:to )?)?)`),
}

// dropSelfReference takes words about the operation itself from the front of a text, if a verb
// follows them.
func dropSelfReference(text string) string {
	for _, r := range selfReferences {
		if rest := r.ReplaceAllString(text, ""); rest != text && beginsWithVerb(rest) {
			return rest
		}
	}
	return text
}

var methodLabel = regexp.MustCompile(` \((?:GET|POST|PUT|DELETE|v\d)\)$`)

// dropLabels takes away what says nothing about the task: the HTTP method at the end.
func dropLabels(text string) string { return methodLabel.ReplaceAllString(text, "") }

// verbOfGerund returns the upper-case base form of a verb with -ing, and "" for any other word. Words
// that are nouns as well, such as "Listing", are none.
func verbOfGerund(word string) string {
	stem, ok := strings.CutSuffix(strings.ToUpper(word), "ING")
	if !ok || gerundNouns[strings.ToLower(word)] {
		return ""
	}
	for _, form := range []string{stem, stem + "E"} {
		if baseVerb(form) == form {
			return form
		}
	}
	return ""
}

var gerundNouns = wordSet("listing tracking building ordering charging filtering monitoring booking")

// writtenVerb is the base form of a verb as the text has it: "deletes" is DELETE, not REMOVE.
func writtenVerb(word string) string {
	word = strings.ToUpper(word)
	for _, form := range []string{word, strings.TrimSuffix(word, "S"), strings.TrimSuffix(word, "ES"), strings.TrimSuffix(word, "IES") + "Y"} {
		if baseVerb(form) == form {
			return form
		}
	}
	return word
}

var (
	vowelAfterA      = regexp.MustCompile(`\b([Aa]) ([aio][a-z]|e[a-tv-z])`)
	consonantAfter   = regexp.MustCompile(`\b([Aa])n ([bcdfgjklmnpqrstvwxyz][aeiouylr])`)
	secondImperative = regexp.MustCompile(` and ([a-z]+) (a|an|the|its|their|all) `)
)

// correctArticles corrects "a access token", "an delivery note" and "Stores details and submit a
// payout".
func correctArticles(text string) string {
	text = strings.ReplaceAll(text, " a one", " a\u00a0one") // said with a consonant
	text = vowelAfterA.ReplaceAllString(text, "${1}n $2")
	text = strings.ReplaceAll(text, "\u00a0", " ")
	text = consonantAfter.ReplaceAllString(text, "$1 $2")
	return secondImperative.ReplaceAllStringFunc(text, func(part string) string {
		word := strings.Fields(part)[1]
		if _, known := actions[strings.ToUpper(word)]; !known && word != "get" {
			return part
		}
		return strings.Replace(part, word, thirdPerson(word), 1)
	})
}

// idAsText matches an identifier in front of a text: "getCards()", "createRefund. Issues a refund".
var idAsText = regexp.MustCompile(`^([a-z]+(?:[A-Z][a-z0-9]*)+)(?:\(\))?(?:\.? |$)|^((?:[A-Z][a-z0-9]*){2,})(?:\. |$)`)

// wordOfID matches the end of a word inside an identifier in camel case.
var wordOfID = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// spellOutID replaces an identifier that stands in front of a text: by nothing if a sentence that
// begins with a verb follows, otherwise by its words.
func spellOutID(text string) string {
	id := idAsText.FindStringSubmatch(text)
	if id == nil {
		return text
	}
	verb, words, _ := strings.Cut(wordOfID.ReplaceAllString(id[1]+id[2], "$1 $2"), " ")
	if id[2] != "" && baseVerb(verb) == "" {
		return text // a name, such as PayPal
	}
	rest := strings.TrimPrefix(strings.TrimSpace(text[len(id[0]):]), "is used to ")
	if first, _, _ := strings.Cut(rest, " "); clauseVerbs[strings.ToLower(first)] || baseVerb(first) != "" {
		return strings.ToUpper(first[:1]) + rest[1:]
	}
	if rest != "" {
		rest = ": " + lowerFirst(rest)
	}
	return strings.ToUpper(verb[:1]) + verb[1:] + " " + strings.ToLower(words) + rest
}

// conditional matches a text that is a whole sentence of its own, with its condition first.
var conditional = regexp.MustCompile(`^(?i:once|if|when) .*, `)

// nominalVerb matches a verb that was made a noun: "creation of a message".
var nominalVerb = regexp.MustCompile(`^(?:the )?(?:creation|deletion|removal|retrieval|listing|update|updating) of `)

// spokenVerb is the third person of a verb as a person would say it: to get and to list are what
// programs do.
func spokenVerb(verb string) string {
	switch verb {
	case "GET", "LIST", "FETCH":
		return "Shows"
	}
	return thirdPerson(verb)
}

// chooseVerb chooses between the verb that the text begins with and the one the
// directory has: the latter stays when it does the same to the world.
func chooseVerb(spoken, given string) string {
	if other, ok := otherVerbs[spoken]; ok {
		spoken = other
	}
	if spoken == "" || actions[spoken] == actions[given] || actions[spoken] <= searches && actions[given] <= searches {
		return given
	}
	return spoken
}

// firstSentence makes one sentence of a summary, which is often a title followed by
// an explanation.
func firstSentence(text string) string {
	first, rest, more := strings.Cut(text, ". ")
	if more && strings.Count(first, " ") < 2 {
		second, _, _ := strings.Cut(rest, ". ")
		first += ": " + lowerFirst(strings.TrimSpace(second))
	}
	first = strings.NewReplacer("! ", ", ", "? ", ", ", " > ", " ").Replace(first)
	return clipText(strings.TrimRight(first, ".:;!? "), 200)
}

// lowerFirst lowers the first letter, unless the word is an abbreviation.
func lowerFirst(text string) string {
	r := []rune(text)
	if len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}
