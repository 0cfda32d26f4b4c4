package meaning

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/wordvec"
	"gazetteer/protocol/english"
)

// isParticiple reports whether a word behind a noun begins a clause: "the balance held by a wallet".
func isParticiple(w string) bool {
	return strings.HasSuffix(w, "ed") && english.Base(w) != nil || english.Irregular(w) != nil && !english.Lookup(w).Noun
}

// isAdjective reports whether a word is one and hardly ever a noun or a verb.
func isAdjective(w string) bool {
	use := english.Lookup(w)
	return use.Adjective && use.NounCount == 0 && use.VerbCount == 0
}

// singular returns the singular of a noun. Nouns of the groups are singular, "sms" too.
func singular(noun string) string {
	if nounGroups[noun] != nil {
		return noun
	}
	return cmp.Or(english.Singular(noun), noun)
}

// haveOneStem reports whether two words begin alike: "player" and "playback".
func haveOneStem(a, b string) bool {
	return len(a) >= stemLength && len(b) >= stemLength && a[:stemLength] == b[:stemLength]
}

// stemLength is how many bytes words of one stem share.
const stemLength = 4

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-'
}

// isFormOf reports whether two words are forms of one verb.
func isFormOf(a, b string) bool {
	if a == b {
		return true
	}
	x, y := append(english.Base(a), a), append(english.Base(b), b)
	return slices.ContainsFunc(x, func(v string) bool { return slices.Contains(y, v) })
}

// textSimilarity returns how near two texts are, and whether words of both are known.
func textSimilarity(a, b []string) (float32, bool) {
	table := wordvec.Embedded()
	x, y := make([]float32, table.Dim()), make([]float32, table.Dim())
	if table.Sum(x, a, nil) == 0 || table.Sum(y, b, nil) == 0 {
		return 0, false
	}
	wordvec.Normalize(x)
	wordvec.Normalize(y)
	return wordvec.Dot(x, y), true
}

// mentions reports whether others has a word or a synonym of it.
func mentions(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == word || haveOneStem(w, word) || shareGroup(nounGroups, w, word)
	})
}

// areSynonyms reports whether two verbs may be used for the same act.
func areSynonyms(a, b string) bool {
	return shareGroup(verbGroups, a, b) || slices.Contains(verbSynonyms[a], b)
}

// shareGroup reports whether two words are in one group.
func shareGroup(groups map[string][]int, a, b string) bool {
	return slices.ContainsFunc(groups[a], func(group int) bool { return slices.Contains(groups[b], group) })
}
