package english

import (
	"iter"
	"slices"
	"strings"
)

// Use says how often a word is used as each part of speech. The counts are uses in the texts that
// WordNet's authors annotated word by word (about 230,000 uses, mostly from the 1960s to 1990s), so
// 0 means rare, not never.
type Use struct {
	Verb, Noun, Adjective, Adverb bool // Verb: in this very form
	VerbCount                     int
	NounCount                     int
	AdjectiveCount                int
	Written                       int    // uses of the word, as any kind, in the dictionary's own explanations; 255 for more
	Stative                       bool   // the first sense as a verb is a state, not a doing
	Modern                        bool   // common today, whatever the counts say; from the supplement
	Field                         string // what the first sense as a verb is about, one of [Fields]; "" for other words
}

// Known reports whether the word is in the dictionary at all.
func (u Use) Known() bool { return u.Verb || u.Noun || u.Adjective || u.Adverb }

// Fields are the semantic fields of verbs in WordNet, in its order.
var Fields = []string{
	"body", "change", "cognition", "communication", "competition", "consumption", "contact", "creation",
	"emotion", "motion", "perception", "possession", "social", "stative", "weather",
}

// firstField is the number that WordNet gives to the first of [Fields].
const firstField = 29

// Lookup returns the use of a word in lower case. It returns the zero Use for unknown words, and
// for inflected forms that are not words of their own.
func Lookup(word string) Use {
	t := unpacked()
	at, ok := t.findWord(word)
	if !ok {
		return Use{}
	}
	bits := t.bits[at]
	u := Use{
		Written:   int(t.written[at]),
		Verb:      bits&bitVerb != 0,
		Noun:      bits&bitNoun != 0,
		Adjective: bits&bitAdjective != 0,
		Adverb:    bits&bitAdverb != 0,
		Modern:    bits&bitModern != 0,
	}
	if n := t.tagged[at]; n > 0 {
		c := t.counts[n-1]
		u.VerbCount, u.NounCount, u.AdjectiveCount = int(c[0]), int(c[1]), int(c[2])
	}
	if v := t.verb[at]; v > 0 && t.field[v-1] >= firstField {
		u.Field = Fields[t.field[v-1]-firstField]
		u.Stative = u.Field == "stative"
	}
	return u
}

// Words yields all words in alphabetical order, irregular forms among them.
func Words() iter.Seq[string] {
	return func(yield func(string) bool) {
		t := unpacked()
		for i := range t.bits {
			if !yield(t.wordAt(uint32(i))) {
				return
			}
		}
	}
}

// SameSense reports whether two verbs share a sense (book, reserve), or are the same.
func SameSense(a, b string) bool {
	t := unpacked()
	v, ok := t.findVerb(a)
	w, both := t.findVerb(b)
	if !ok || !both {
		return false
	}
	for _, sense := range t.senses.of(v) {
		if slices.Contains(t.senses.of(w), sense) {
			return true
		}
	}
	return v == w
}

// Antonyms reports whether two verbs are opposites (lend, borrow).
func Antonyms(a, b string) bool {
	t := unpacked()
	v, ok := t.findVerb(a)
	w, both := t.findVerb(b)
	return ok && both && slices.Contains(t.antonyms[uint16(v)], uint16(w))
}

// Opposites returns the verbs that are opposites of a verb; nil when there are none.
func Opposites(verb string) []string {
	t := unpacked()
	v, ok := t.findVerb(verb)
	if !ok {
		return nil
	}
	var out []string
	for _, w := range t.antonyms[uint16(v)] {
		out = append(out, t.wordAt(t.verbs[w]))
	}
	return out
}

// VerbsOf returns the verbs that a noun or adjective is derived from, or that are derived from it
// (cancellation: cancel), the most frequent first; nil if there are none.
func VerbsOf(word string) []string {
	t := unpacked()
	at, ok := t.findWord(word)
	if !ok {
		return nil
	}
	i, ok := slices.BinarySearch(t.related, at)
	if !ok {
		return nil
	}
	var out []string
	for _, v := range t.relatedTo.of(i) {
		out = append(out, t.wordAt(v))
	}
	return out
}

// Synonyms returns the verbs that share one of the first n senses of a verb, those of the first
// sense first, without the verb itself.
func Synonyms(verb string, n int) []string {
	t := unpacked()
	v, ok := t.findVerb(verb)
	if !ok {
		return nil
	}
	var out []string
	for _, sense := range firstItems(t.senses.of(v), n) {
		out = t.appendVerbs(out, sense, verb)
	}
	return out
}

// Hypernyms returns the verbs one step more general than the first senses of a verb (at most
// three), those of the first sense first: whisper, then speak and talk. Call it again on a result
// for the next step; at the top it returns nil.
func Hypernyms(verb string) []string {
	t := unpacked()
	v, ok := t.findVerb(verb)
	if !ok {
		return nil
	}
	var out []string
	for _, sense := range firstItems(t.senses.of(v), 3) {
		for _, up := range t.above.of(int(sense)) {
			out = t.appendVerbs(out, up, verb)
		}
	}
	return out
}

func firstItems(list []uint32, n int) []uint32 { return list[:max(0, min(n, len(list)))] }

// appendVerbs appends the verbs of a sense that are not yet in out, nor except.
func (t *table) appendVerbs(out []string, sense uint32, except string) []string {
	for _, v := range t.members.of(int(sense)) {
		word := t.wordAt(t.verbs[v])
		if word != except && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// Phrasal reports whether a verb and a particle make a verb of two words
// (check, out).
func Phrasal(verb, particle string) bool {
	t := unpacked()
	v, ok := t.findVerb(verb)
	p, both := t.findWord(particle)
	if !ok || !both {
		return false
	}
	i, ok := slices.BinarySearch(t.phrasal, uint16(v))
	return ok && slices.Contains(t.phrasalWith.of(i), p)
}

// Base returns the verbs whose inflected form word is: booked is a form of book, found of find
// (found is also a verb with forms of its own). It returns nil if there are none. The word itself
// is never among them, and irregular bases come before regular ones, as in left: leave.
func Base(word string) []string {
	t := unpacked()
	out := t.irregularBases(word, bitVerb)
	Stems(word, func(stem string) bool {
		if _, ok := t.findVerb(stem); ok && stem != word && !slices.Contains(out, stem) {
			out = append(out, stem)
		}
		return true
	})
	return out
}

// irregularBases returns the bases of a form in the exception lists.
func (t *table) irregularBases(word string, bit byte) []string {
	at, ok := t.findWord(word)
	if !ok {
		return nil
	}
	var out []string
	i, _ := slices.BinarySearch(t.forms, at)
	for ; i < len(t.forms) && t.forms[i] == at; i++ {
		if t.kinds[i] == bit {
			out = append(out, t.wordAt(t.bases[i]))
		}
	}
	return out
}

// Irregular returns the verbs whose irregular form word is in the dictionary's list, without the
// rules of spelling: find for found.
func Irregular(word string) []string { return unpacked().irregularBases(word, bitVerb) }

// Stems calls yield with each possible base form of word by the rules of spelling, likely ones
// first, whether or not they are words: planned gives plan, plann, planne. It ends when yield
// returns false.
func Stems(word string, yield func(string) bool) {
	for _, ending := range []string{"ing", "ed", "s"} {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < 2 || !strings.ContainsAny(stem, "aeiouy") {
			continue
		}
		if ending == "s" {
			undoThirdPerson(stem, yield)
		} else {
			undoParticiple(stem, ending, yield)
		}
		return
	}
}

// undoThirdPerson removes the ending -s of a verb.
func undoThirdPerson(stem string, yield func(string) bool) {
	switch body, es := strings.CutSuffix(stem, "e"); {
	case strings.HasSuffix(stem, "s"): // passs
	case es && strings.HasSuffix(body, "i"): // tries, ties
		_ = yield(body[:len(body)-1]+"y") && yield(stem)
	case es && endsInSibilant(body): // passes, caches, fixes
		_ = yield(body) && yield(stem) && (!endsInDouble(body) || yield(body[:len(body)-1]))
	case es: // goes, moves
		_ = yield(stem) && yield(body)
	default:
		yield(stem)
	}
}

// endsInSibilant reports whether a word forms its -s form with -es.
func endsInSibilant(s string) bool {
	return strings.HasSuffix(s, "s") || strings.HasSuffix(s, "x") || strings.HasSuffix(s, "z") ||
		strings.HasSuffix(s, "ch") || strings.HasSuffix(s, "sh") || strings.HasSuffix(s, "o")
}

// undoParticiple removes the ending -ing or -ed of a verb.
func undoParticiple(stem, ending string, yield func(string) bool) {
	last := len(stem) - 1
	switch {
	case ending == "ed" && strings.HasSuffix(stem, "i"): // tried, skied
		_ = yield(stem[:last]+"y") && yield(stem)
	case endsInDouble(stem): // planned, passed, freeing
		_ = yield(stem) && yield(stem[:last]) && yield(stem+"e")
	case strings.HasSuffix(stem, "ck"): // packed, panicked
		_ = yield(stem) && yield(stem[:last]) && yield(stem+"e")
	case ending == "ing" && strings.HasSuffix(stem, "y"): // playing, dying
		_ = yield(stem) && yield(stem[:last]+"ie") && yield(stem+"e")
	default: // booked, moving
		_ = yield(stem) && yield(stem+"e")
	}
}

func endsInDouble(s string) bool { return len(s) > 2 && s[len(s)-1] == s[len(s)-2] }

// Singular returns the noun whose plural word is, or "" if the dictionary has none.
func Singular(word string) string {
	return unpacked().firstBase(word, bitNoun, func(yield func(string) bool) {
		if stem, ok := strings.CutSuffix(word, "s"); ok && len(stem) > 1 {
			undoThirdPerson(stem, yield)
		}
	})
}

// Positive returns the adjective whose comparative or superlative word is (faster, latest), or ""
// if there is none.
func Positive(word string) string {
	return unpacked().firstBase(word, bitAdjective, func(yield func(string) bool) {
		stem, ok := strings.CutSuffix(word, "est")
		if !ok {
			stem, ok = strings.CutSuffix(word, "er")
		}
		if ok && len(stem) > 1 {
			undoParticiple(stem, "ed", yield)
		}
	})
}

// firstBase returns the first word of a part of speech whose form word is.
func (t *table) firstBase(word string, bit byte, stems func(func(string) bool)) string {
	if irregular := t.irregularBases(word, bit); len(irregular) > 0 {
		return irregular[0]
	}
	found := ""
	stems(func(stem string) bool {
		if at, ok := t.findWord(stem); ok && t.bits[at]&bit != 0 {
			found = stem
		}
		return found == ""
	})
	return found
}
