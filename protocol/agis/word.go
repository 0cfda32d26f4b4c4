package agis

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"gazetteer/protocol/english"
)

// This file distinguishes verbs from other words, for passes 2 and 3. Its steps run in this order,
// and the first match decides:
//
//	1. words that the draft or words.txt lists;
//	2. verbs in base form, before any check of endings, so that BRING, EMBED and ADDRESS are safe;
//	3. inflected forms of verbs;
//	4. a verb and its particle in one word;
//	5. other words of the dictionary;
//	6. unknown words, which may be compounds of known ones.
//
// An error needs a reason that a dictionary can give. A word that is merely unknown is a warning:
// it may be a new, foreign or mistyped verb (§13 allows any language).

//go:embed words.txt
var wordLists string

// lists are the words of words.txt.
type lists struct {
	existence, state, function, command, short, noun map[string]bool
	vague                                            map[string]string // what to write instead
}

var listed = sync.OnceValue(func() lists {
	l := lists{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}}
	sets := map[string]map[string]bool{"existence": l.existence, "state": l.state, "function": l.function, "command": l.command, "short": l.short, "noun": l.noun}
	for line := range strings.Lines(wordLists) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if kind == "vague" {
			word, instead, _ := strings.Cut(rest, " ")
			l.vague[word] = instead
		}
		for word := range strings.FieldsSeq(rest) {
			if set := sets[kind]; set != nil {
				set[word] = true
			}
		}
	}
	return l
})

// The frequencies from which a word counts as common, and the ratios from which one use counts as
// the only one that a reader thinks of. They were chosen on the labeled words of
// testdata/verbs.tsv and methods.tsv.
const (
	commonNoun    = 4 // a noun used this often is not a new verb in the making
	writtenNoun   = 5 // the same, with the uses in the dictionary's explanations
	tenTimes      = 10
	nounOnly      = 10 // uses of a noun that is never used as the verb it may be
	onlyAdjective = 25 // READY and BUSY; FINE, THIN and WARM are verbs too
	mostlyVerb    = 5  // uses as a verb for each as a noun
	longestMethod = 40
)

// wordFault checks a word of the letters a to z in lower case that the draft does not list. The
// messages here follow "the method ...".
func wordFault(word string) methodError {
	l := listed()
	switch {
	case l.existence[word]:
		return methodError{"AGIS303", "expresses being, having or depending, not an action", "say what is to be done, for example CHECK or FIND"}
	case l.state[word]:
		return methodError{"AGIS302", "describes a state, not an action", "say what is to be done, for example CHECK"}
	case l.function[word]:
		return methodError{"AGIS304", "is not a verb but a function word", "say what is to be done in one verb, for example FIND"}
	case len(word) > longestMethod:
		return methodError{"AGIS305", "is longer than any verb", oneVerb}
	}
	use := english.Lookup(word)
	if use.Verb {
		return verbFault(word, use)
	}
	if base := verbOf(word); base != "" && !nounBefore(base, use) {
		return inflectedFault(base)
	}
	if verb, particle := splitPhrasal(word); verb != "" {
		return particleFault(verb, particle)
	}
	if use.Known() {
		return nameFault(word, use)
	}
	return unknownFault(word)
}

// verbFault checks the base form of a verb.
func verbFault(word string, use english.Use) methodError {
	for _, base := range english.Irregular(word) {
		if english.Lookup(base).VerbCount > use.VerbCount && base != word {
			upper := strings.ToUpper(base)
			return methodError{"AGIS208", "is a verb, and also a past form of " + upper,
				"if " + upper + " is meant, write " + upper + "; otherwise another verb is clearer" + suggestVerbs(english.Synonyms(word, 2))}
		}
	}
	if hint, ok := listed().vague[word]; ok {
		return methodError{"AGIS306", "is vague, or may describe a state", "use a more specific verb, for example " + hint}
	}
	switch {
	case use.Modern:
		return methodError{}
	case isMostlyAdjective(use):
		return methodError{"AGIS302", "is read as an adjective, which describes a state", "say what is to be done" + suggestVerbs(english.Synonyms(word, 1))}
	case use.Noun && use.VerbCount == 0 && use.NounCount+use.Written >= nounOnly:
		return methodError{"AGIS306", "is read as a noun; it is hardly used as a verb", "use a verb for the action" + suggestVerbs(english.Synonyms(word, 2))}
	}
	return methodError{}
}

func inflectedFault(base string) methodError {
	upper := strings.ToUpper(base)
	f := methodError{"AGIS206", "is an inflected form of " + upper, "write the base form " + upper}
	if of := methodFault(upper); of.code != "" { // GETTING, BELONGS
		f.help = "the base form is not a method either; " + of.help
	}
	return f
}

// verbOf returns the verb whose inflected form word is, or "".
func verbOf(word string) string {
	if bases := english.Base(word); len(bases) > 0 {
		return bases[0]
	}
	verb := ""
	english.Stems(word, func(stem string) bool {
		if stem != word && isPrefixedVerb(stem) {
			verb = stem
		}
		return verb == ""
	})
	return verb
}

// nounBefore reports whether a word that could be a form of verb is a noun far
// more often than that verb is used at all: evening is not a form of even.
func nounBefore(verb string, use english.Use) bool {
	return use.NounCount >= commonNoun && use.NounCount >= tenTimes*english.Lookup(verb).VerbCount
}

// particles are words that follow a verb to make another verb.
var particles = []string{"up", "out", "in", "on", "off", "over", "back", "down", "away", "through", "around", "along", "together"}

// splitPhrasal splits a verb and its particle written as one word, where the
// dictionary has the two as a verb: checkout is check out, but cabin is not cab in.
func splitPhrasal(word string) (verb, particle string) {
	for _, p := range particles {
		verb, ok := strings.CutSuffix(word, p)
		if !ok || len(verb) < 2 {
			continue
		}
		if english.Phrasal(verb, p) {
			return verb, p
		}
	}
	return "", ""
}

func particleFault(verb, particle string) methodError {
	two := strings.ToUpper(verb + " " + particle)
	return methodError{"AGIS207", "is the verb phrase " + two + " written as one word",
		"use one verb with the same meaning" + suggestVerbs(english.Synonyms(verb, 1))}
}

// nameFault checks a word that the dictionary has, but not as a verb.
func nameFault(word string, use english.Use) methodError {
	verbs := english.VerbsOf(word)
	switch {
	case use.Adjective && (!use.Noun || use.AdjectiveCount > use.NounCount):
		return methodError{"AGIS302", "is an adjective: it describes a state, not an action", "say what is to be done" + suggestVerbs(verbs)}
	case !use.Noun:
		return methodError{"AGIS304", "is an adverb, not a verb", "say what is to be done in one verb, for example FIND"}
	case use.NounCount >= commonNoun, use.NounCount+use.Written >= writtenNoun, use.Modern, hasNounEnding(word),
		len(verbs) > 0 && (use.Written > 0 || !hasInfinitiveEnding(word)):
		return nounFault(verbs)
	default:
		return methodError{"AGIS305", "is known as a noun only, and a rare one", "if it is used as a verb, keep it; otherwise name the action" + suggestVerbs(verbs)}
	}
}

func nounFault(verbs []string) methodError {
	if len(verbs) > 0 {
		return methodError{"AGIS304", "is a noun, not an action", "use the verb" + suggestVerbs(verbs)}
	}
	return methodError{"AGIS304", "is a noun, not an action", "put it into the path and say what is to be done with it, for example RETRIEVE"}
}

// hasInfinitiveEnding reports whether a word ends like a verb of French, Spanish or
// Portuguese, as rare English nouns do as well: vender, lever.
func hasInfinitiveEnding(word string) bool {
	return strings.HasSuffix(word, "er") || strings.HasSuffix(word, "ar") || strings.HasSuffix(word, "ir")
}

// hasNounEnding reports whether a word has the ending of a noun that is derived from another word
// and is never a verb in base form.
func hasNounEnding(word string) bool {
	for _, ending := range []string{"tion", "sion", "ness", "ment", "ity", "ship", "hood", "ism", "ist", "logy", "ance", "ence", "ancy", "ency", "cracy", "graphy", "dom", "eer", "ess", "ician", "itis", "ics", "tor", "sor"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) >= 3 {
			return true
		}
	}
	return false
}

// unknownFault checks a word that the dictionary does not have.
func unknownFault(word string) methodError {
	if single := strings.TrimSuffix(word, "s"); english.Singular(word) != "" || single != word && english.Lookup(single).AdjectiveCount > 0 { // financials
		return nounFault(nil)
	}
	if base := english.Positive(word); base != "" && english.Lookup(base).AdjectiveCount > 0 {
		return methodError{"AGIS302", "compares: it is a form of the adjective " + strings.ToUpper(base), "say what is to be done, for example SORT"}
	}
	if isPrefixedVerb(word) || verbEnding(word) {
		return methodError{}
	}
	if verb, adjective := verbDerivedFrom(word); verb != "" {
		if adjective {
			return methodError{"AGIS302", "is an adjective: it describes a state, not an action", "use the verb" + suggestVerbs([]string{verb, "check"})}
		}
		return nounFault([]string{verb})
	}
	if words := splitCompound(word); words != nil {
		return methodError{"AGIS204", "is several words in one: " + strings.ToUpper(strings.Join(words, " ")), adviseSeparation(words)}
	}
	return methodError{"AGIS305", "is not in the word list, so it may not be a verb", "check the spelling; a verb that people know serves more agents"}
}

// prefixes form a verb from another verb.
var prefixes = []string{"re", "un", "de", "pre", "dis", "mis", "over", "under", "out", "auto", "co", "counter", "cross", "inter", "trans", "sub", "up", "down", "non", "multi", "bulk", "self"}

// isPrefixedVerb reports whether a word is a common verb with a productive prefix: reprice,
// undeploy, preapprove. Words of the dictionary do not count: transaction is not to act across.
func isPrefixedVerb(word string) bool {
	if use := english.Lookup(word); use.Known() {
		return use.Verb
	}
	for _, p := range prefixes {
		rest, ok := strings.CutPrefix(word, p)
		if !ok || len(rest) < 3 {
			continue
		}
		if use := english.Lookup(rest); use.Verb && (use.VerbCount+use.Written > 0 || use.Modern) {
			return true
		}
	}
	return false
}

// verbEnding reports whether a word has an ending that only verbs have, on a pronounceable stem:
// anonymize, ratify.
func verbEnding(word string) bool {
	for _, ending := range []string{"ize", "ify"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) >= 3 && strings.ContainsAny(stem, "aeiouy") {
			return true
		}
	}
	stem, ok := strings.CutSuffix(word, "ise") // the British spelling of a known one
	return ok && english.Lookup(stem+"ize").Verb
}

// derivations are endings that form a noun or an adjective from a verb, with the ending that each
// replaces. Those in -er are left out, because French verbs end in it.
var derivations = []struct {
	ending, verbEnding string
	adjective          bool
}{
	{"ization", "ize", false}, {"isation", "ize", false}, {"ification", "ify", false}, {"ation", "ate", false}, {"ation", "e", false},
	{"ation", "", false}, {"ion", "", false}, {"ion", "e", false}, {"ment", "", false}, {"ability", "", false}, {"ability", "e", false},
	{"able", "", true}, {"able", "e", true}, {"ible", "", true}, {"ible", "e", true},
}

// verbDerivedFrom returns the verb that an unknown word is derived from, or "".
func verbDerivedFrom(word string) (verb string, adjective bool) {
	for _, d := range derivations {
		stem, ok := strings.CutSuffix(word, d.ending)
		if !ok || len(stem) < 3 {
			continue
		}
		candidates := []string{stem + d.verbEnding}
		if n := len(stem); d.verbEnding == "" && stem[n-1] == stem[n-2] { // cancellable, shippable
			candidates = append(candidates, stem[:n-1])
		}
		for _, verb := range candidates {
			if english.Lookup(verb).Verb || isPrefixedVerb(verb) {
				return verb, d.adjective
			}
		}
	}
	return "", false
}

// suggestVerbs names up to three verbs to write in place of a word, the most
// frequent first, as the end of a sentence; "" when there are none.
func suggestVerbs(verbs []string) string {
	good := slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return !isRecommendable(v) })
	if len(good) == 0 {
		return ""
	}
	slices.SortStableFunc(good, func(a, b string) int { return english.Lookup(b).VerbCount - english.Lookup(a).VerbCount })
	return ", for example " + joinAlternatives(good[:min(3, len(good))])
}

// isRecommendable reports whether a verb can be recommended: it breaks no rule itself and is not
// vague.
func isRecommendable(verb string) bool {
	l, upper := listed(), strings.ToUpper(verb)
	_, vague := l.vague[verb]
	_, prohibited := prohibited[upper]
	_, http := httpMethods[upper]
	use := english.Lookup(verb)
	return len(verb) > 2 && !vague && !prohibited && !http && !l.existence[verb] && !l.state[verb] && !l.function[verb] && use.Verb && !isMostlyAdjective(use)
}

// isMostlyAdjective reports whether readers understand a verb as an adjective.
func isMostlyAdjective(use english.Use) bool {
	return !use.Modern && use.AdjectiveCount > use.NounCount && use.AdjectiveCount >= onlyAdjective*max(use.VerbCount, 1)
}

// joinAlternatives joins verbs to a phrase: A, B or C.
func joinAlternatives(verbs []string) string {
	last := len(verbs) - 1
	if last == 0 {
		return strings.ToUpper(verbs[0])
	}
	return strings.ToUpper(strings.Join(verbs[:last], ", ")) + " or " + strings.ToUpper(verbs[last])
}
