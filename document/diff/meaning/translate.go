package meaning

import (
	"slices"
	"strings"

	"gazetteer/index/translate"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/wording"
)

// verbLast are the languages whose sentences end with the verb; their nouns can look like verbs.
var verbLast = wording.WordSet("ja ko tr hi")

// germanVerb returns the translation of a German verb in the third person, with a prefix of its own
// for "leiht … aus": "Entfernt" at the beginning of a sentence is "removes", and a participle
// elsewhere. It returns nil if there is no such verb.
func germanVerb(word, prefix string) []translate.Translation {
	stem, found := strings.CutSuffix(strings.ToLower(word), "t")
	if !found {
		return nil
	}
	verb := translate.Translate("de", prefix+strings.TrimSuffix(stem, "e")+"en")
	if len(verb) != 1 || len(verb[0].Meanings) == 0 || effect.Of(verb[0].Meanings[0]) == 0 {
		return nil
	}
	return verb
}

// translateText returns the likeliest English words of a text in another language.
func translateText(language, text string) string {
	if language == "" {
		return text
	}
	var out []string
	fields := strings.Fields(text)
	for i, field := range fields {
		words := translate.Translate(language, field)
		if i == 0 && language == "de" {
			for _, prefix := range []string{"", strings.TrimRight(fields[len(fields)-1], ".")} {
				if verb := germanVerb(field, prefix); verb != nil {
					words = verb
				}
			}
		}
		for _, w := range words {
			switch {
			case len(w.Meanings) == 0:
				out = append(out, w.Text)
			case w.Meanings[0] != translate.Nothing && w.Meanings[0] != translate.Question && w.Meanings[0] != translate.Negation:
				out = append(out, w.Meanings[0])
			}
		}
	}
	// The readers of English expect the verb first.
	isVerb := func(w string) bool { return effect.Of(w) != 0 }
	i := slices.IndexFunc(out, isVerb)
	if verbLast[language] {
		for i = len(out) - 1; i >= 0 && !isVerb(out[i]); i-- {
		}
	}
	if i < 0 {
		return strings.Join(out, " ")
	}
	return strings.Join(append([]string{out[i]}, slices.Delete(slices.Clone(out), i, i+1)...), " ")
}
