package query

import (
	"slices"
	"strings"
)

// particleVerbs maps English verbs with a particle to single verbs of the same meaning. Names of
// operations use the single verb more often than people do.
var particleVerbs = map[string]string{
	"back out": "cancel", "back up": "backup", "bring back": "return", "call off": "cancel", "call up": "phone", "check in": "register", "check out": "pay", "clean up": "remove", "come back": "return",
	"figure out": "determine", "fill in": "complete", "fill out": "complete", "find out": "retrieve", "get back": "recover", "get rid": "delete",
	"give back": "return", "hand back": "return", "hand in": "submit", "hand over": "transfer", "hold back": "pause", "kick off": "start", "leave out": "exclude",
	"log in": "authenticate", "log out": "logout", "look for": "search", "look up": "search", "make up": "generate", "opt out": "unsubscribe", "pass on": "forward",
	"pay back": "refund", "pick out": "select", "pick up": "collect", "pull out": "withdraw", "put off": "postpone", "put up": "publish", "roll back": "revert",
	"send back": "return", "send out": "send", "set off": "trigger", "set up": "create", "shut down": "stop", "sign in": "authenticate",
	"sign off": "approve", "sign up": "register", "switch off": "disable", "switch on": "enable", "take back": "withdraw", "take down": "remove",
	"take off": "remove", "throw away": "delete", "throw out": "delete", "turn down": "reject", "turn into": "convert", "turn off": "disable",
	"turn on": "enable", "wipe out": "delete", "work out": "calculate", "write down": "record",
}

// maxParticleDistance is the maximum number of words between a verb and its particle.
const maxParticleDistance = 4

// particleMeaning returns the single verb for the verb at the beginning of words and its particle,
// "" for none: switch the lights on.
func particleMeaning(words []string) string {
	for i := 1; i < len(words) && i <= maxParticleDistance; i++ {
		if single := particleVerbs[words[0]+" "+words[i]]; single != "" && (i == 1 || slices.Contains(splitParticles, words[i])) {
			return single
		}
		if slices.Contains(prepositions, words[i]) && !slices.Contains(splitParticles, words[i]) {
			return ""
		}
	}
	return ""
}

// SingleVerb returns the single verb for a verb that may have a particle: return, for give back. It
// is the verb without its particle if no other has the same meaning.
func SingleVerb(verb string) string {
	if single := particleVerbs[verb]; single != "" {
		return single
	}
	first, _, _ := strings.Cut(verb, " ")
	return first
}

// splitParticles may follow the object of their verb.
var splitParticles = strings.Fields("on off up down out back away over in")

// predicateWeight is the weight of the predicate of a question relative to its subject: the
// question whether the air is clean is about the air.
const predicateWeight = 0.5

// weighPredicate lowers the weight of the adjective or participle that a question ends its subject
// with: "is the air clean in Delhi", "which films are shown tonight".
func weighPredicate(lower []string, weights []float32, from int) {
	be := from
	switch {
	case from >= len(lower):
		return
	case slices.Contains(questionWords, lower[from]):
		for be = from + 1; be < len(lower) && !isFormOfBe(lower[be]); be++ {
		}
		if be >= len(lower)-1 || be == from+1 || be > from+4 {
			return
		}
		lowerPredicate(lower, weights, be+1)
	case isFormOfBe(lower[from]):
		// The subject is a determiner and its noun.
		if from+3 < len(lower) && slices.Contains(determiners, lower[from+1]) && lower[from+1] != "there" {
			lowerPredicate(lower, weights, from+3)
		}
	}
}

func isFormOfBe(word string) bool {
	return word == "is" || word == "are" || word == "was" || word == "were"
}

// lowerPredicate lowers the weight of the word at i if nothing, a preposition or a time follows.
func lowerPredicate(lower []string, weights []float32, i int) {
	if i >= len(lower) || slices.Contains(determiners, lower[i]) || slices.Contains(prepositions, lower[i]) {
		return
	}
	if i+1 == len(lower) || slices.Contains(prepositions, lower[i+1]) || slices.Contains(timeWords, lower[i+1]) {
		weights[i] *= predicateWeight
	}
}

// languageCodes are the codes of languages by their English names: a path contains /es/ and a
// request says Spanish.
var languageCodes = map[string]string{
	"arabic": "ar", "bulgarian": "bg", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
	"estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
	"indonesian": "id", "italian": "it", "japanese": "ja", "korean": "ko", "latvian": "lv", "lithuanian": "lt", "norwegian": "no", "polish": "pl",
	"portuguese": "pt", "romanian": "ro", "russian": "ru", "slovak": "sk", "slovenian": "sl", "spanish": "es", "swedish": "sv", "thai": "th",
	"turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
}

// requirementWeight is the weight of the words of a requirement on the service: they state the
// manner of the task, not the task.
const requirementWeight = 0.3

// requirementNouns are things that a service may require of its callers.
var requirementNouns = strings.Fields("account authentication credentials key keys login registration signup subscription")

// remainderLength returns the number of words that say that all else stays as it is, 0 for other words:
// leave the rest as it is, keep everything else.
func remainderLength(lower []string) int {
	if !slices.Contains(staying, lower[0]) {
		return 0
	}
	for n := 2; n <= min(len(lower), 3); n++ {
		if slices.Contains(remainders, strings.Join(lower[1:n], " ")) {
			return n
		}
	}
	return 0
}

// What stays, and the words before it.
var (
	staying    = strings.Fields("keep keeping leave leaves leaving")
	remainders = []string{"everything else", "all else", "the rest", "the others", "others"}
)

// weighRequirements lowers the weight of words for things that a service must not require: "without
// an API key", "no login".
func weighRequirements(lower []string, weights []float32, from int) {
	for i := from; i < len(lower); i++ {
		for k := range remainderLength(lower[i:]) {
			weights[i+k] *= requirementWeight
		}
		if w := lower[i]; (w == "without" || w == "no") && i > from {
			for n := i + 1; n < len(lower) && n <= i+4; n++ {
				if slices.Contains(requirementNouns, lower[n]) {
					for k := i; k <= n; k++ {
						weights[k] *= requirementWeight
					}
					break
				}
			}
		}
	}
}
