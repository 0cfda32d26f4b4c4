package corpus

import (
	"regexp"
	"slices"
	"strings"
)

// This file derives the outcome of an AGIS endpoint: from the object of its text in testdata/texts.txt
// if it has one, and otherwise from the last noun of its path.

// outcomeText returns the outcome of an endpoint without a written text.
func outcomeText(does action, noun string, one bool) string {
	words := strings.ReplaceAll(noun, "-", " ")
	thing := singularOf(words)
	switch does {
	case reads:
		if one {
			return "Details of the requested " + thing + " are returned and nothing is changed"
		}
		return "The requested data on " + words + " is returned and nothing is changed"
	case searches:
		return "A list of matching results among " + words + " is returned and nothing is changed"
	case computes:
		return "A result for the given " + thing + " is returned and nothing is changed"
	case creates:
		return "A" + withArticle(thing)[1:] + " exists with the given content and its identifier is returned"
	case changes:
		return "The " + thing + " has the given content"
	case ends:
		return "The " + thing + " is no longer in effect"
	case sends:
		return "The " + thing + " is accepted for delivery and its status is returned"
	case transacts:
		return "The " + thing + " is carried out and a confirmation is returned"
	default:
		return "The " + thing + " is in the requested state"
	}
}

// outcomeOfText returns the outcome of a written text: "Creates a webhook that is told of messages"
// becomes "The webhook is created and its identifier is returned".
func outcomeOfText(does action, text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	if strings.HasSuffix(verb, "ly") { // "Permanently deletes"
		verb, rest, _ = strings.Cut(rest, " ")
	}
	verb = strings.ToLower(verb)
	object, several := "", false
	if !strings.HasSuffix(verb, ",") { // not "Starts, stops or pauses a recording"
		object, several = objectOf(strings.TrimPrefix(rest, "for "))
	}
	is := " is "
	if several {
		is = " are "
	}
	done := is + participle(verb)
	if particle, after, _ := strings.Cut(rest, " "); particle == "in" || particle == "out" { // "Logs out a user"
		object, _ = objectOf(after)
		done += " " + particle
	}
	if _, state, ok := strings.Cut(rest, " as "); ok && verb == "marks" {
		done += " as " + state
	}
	switch {
	case does == reads && object != "":
		return "The " + object + is + "returned and nothing is changed"
	case does == reads:
		return "The answer is returned and nothing is changed"
	case does == searches && several:
		return "The matching " + object + " are returned and nothing is changed"
	case does == searches:
		return "The matching results are returned and nothing is changed"
	case does == computes && (verb == "checks" || verb == "validates" || verb == "verifies"):
		return "The result of the check is returned and nothing is changed"
	case does == computes:
		return "The result is returned and nothing is changed"
	case object == "":
		return "The request is carried out and its status is returned"
	case does == creates && actions[writtenVerb(verb)] == creates && several:
		return "The " + object + done + " and their identifiers are returned"
	case does == creates && actions[writtenVerb(verb)] == creates:
		return "The " + object + done + " and its identifier is returned"
	case does == creates, does == sends:
		return "The " + object + done + " and the status is returned"
	case does == transacts:
		return "The " + object + done + " and a confirmation is returned"
	default:
		return "The " + object + done
	}
}

// objectEnds are the words that end the object of a text, or stand where none is: prepositions,
// pronouns and adverbs.
var objectEnds = wordSet(`about above after again against aloud as at because before below between by close down
	during everyone everything for from how if in inside into most near nearby nearest not now of off offline on online
	out over since so such than that then through to towards up until what when where whether which while who whom whose
	why with within without you`)

// quantities stand in front of an object and not behind "The".
var quantities = wordSet(`a an the all any both each every many one several some your`)

// verbObjects follow a word behind "and" that is a verb, as in "and sends it".
var verbObjects = wordSet(`a an the it its one them their`)

// objectOf returns the object that a text begins with, without its article or quantity, and whether it
// is more than one thing. It returns "" if the text begins with something else or with a list of things.
func objectOf(text string) (object string, several bool) {
	fields := strings.Fields(text)
	for len(fields) > 0 && quantities[strings.ToLower(fields[0])] {
		fields = fields[1:]
	}
	var words []string
	for i, field := range fields {
		word := strings.TrimRight(field, ",:;")
		lower := strings.ToLower(word)
		if (lower == "and" || lower == "or") && (i == 0 || i+2 < len(fields) && beginsWithVerb(fields[i+1]) && verbObjects[fields[i+2]]) {
			break
		}
		if quantities[lower] && (fields[i-1] == "and" || fields[i-1] == "or") {
			continue
		}
		if objectEnds[lower] || quantities[lower] || strings.HasSuffix(lower, "ed") && slices.ContainsFunc(words, isPlural) {
			break
		}
		words = append(words, word)
		if word == field {
			continue
		}
		if strings.HasSuffix(field, ",") && listedThings.MatchString(strings.Join(fields[i+1:], " ")) {
			return "", false
		}
		break
	}
	for len(words) > 0 && (words[len(words)-1] == "and" || words[len(words)-1] == "or") {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return "", false
	}
	return strings.Join(words, " "), slices.Contains(words, "and") || isPlural(words[len(words)-1])
}

// listedThings matches what follows the first of at least three things.
var listedThings = regexp.MustCompile(`^(?:[\w-]+(?: [\w-]+)?, )*[\w-]+(?: [\w-]+)? (?:and|or) `)

// isPlural is good enough for the nouns of testdata/texts.txt.
func isPlural(noun string) bool {
	noun = strings.ToLower(noun)
	switch {
	case noun == "people", noun == "children", noun == "indices":
		return true
	case strings.HasSuffix(noun, "ss"), strings.HasSuffix(noun, "us"), strings.HasSuffix(noun, "is"),
		noun == "news", noun == "series", noun == "dns", noun == "sms", noun == "mms", noun == "gas":
		return false
	}
	return strings.HasSuffix(noun, "s")
}

// participle returns the past participle of a verb in the third person: "created" of "creates".
func participle(verb string) string {
	if done, irregular := participles[verb]; irregular {
		return done
	}
	base := strings.ToLower(writtenVerb(verb))
	if base == verb { // not a verb of our lists
		base = strings.TrimSuffix(verb, "s")
	}
	switch {
	case strings.HasSuffix(base, "e"):
		return base + "d"
	case strings.HasSuffix(base, "y") && !strings.ContainsAny(base[len(base)-2:len(base)-1], "aeiou"):
		return base[:len(base)-1] + "ied"
	default:
		return base + "ed"
	}
}

// participles are irregular, or double their last letter.
var participles = map[string]string{
	"builds": "built", "cancels": "cancelled", "leaves": "left", "logs": "logged", "makes": "made", "pays": "paid", "pins": "pinned",
	"plans": "planned", "resets": "reset", "sends": "sent", "sets": "set", "ships": "shipped", "splits": "split", "stops": "stopped",
	"submits": "submitted", "takes": "taken", "transfers": "transferred", "unbans": "unbanned",
	"attaches": "attached", "detaches": "detached", "matches": "matched", "switches": "switched",
}
