package effect

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"

	"gazetteer/protocol/english"
)

//go:embed verbs.txt
var verbsText string

//go:embed opposites.txt
var oppositesText string

// Fingerprint returns a name of the table of verbs, 16 hexadecimal digits: what a program has stored of
// the effects that this package infers is out of date when it changes.
func Fingerprint() string {
	sum := sha256.Sum256([]byte(verbsText + "\x00" + oppositesText))
	return hex.EncodeToString(sum[:8])
}

// A form is the grammatical form of an inflected verb.
type form uint8

const (
	base       form = iota // book
	third                  // books
	gerund                 // booking
	participle             // booked
)

// An inflection is the reading of a word as a form of a verb.
type inflection struct {
	verb string
	form form
}

// tables holds the embedded texts, unpacked.
type tables struct {
	classes map[string]Class // by verb; a phrasal verb is "turn off", and also "turnoff" for methods
	loose   map[string]bool  // verbs too common to contradict anything
	// inflections reads the regular forms of the verbs in classes.
	inflections map[string]inflection
	// particles holds, for the first word of each phrasal verb, what may follow
	// it, longest first: "turn" -> "off", "on".
	particles map[string][][]string
	opposite  map[[2]string]bool
	kinds     map[string]kind
}

var unpacked = sync.OnceValue(func() *tables {
	t := &tables{
		classes:     map[string]Class{},
		loose:       map[string]bool{},
		inflections: map[string]inflection{},
		particles:   map[string][][]string{},
		opposite:    map[[2]string]bool{},
		kinds:       map[string]kind{},
	}
	for line := range strings.Lines(verbsText) {
		verb, names, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		names, loose := strings.CutSuffix(names, " loose")
		t.addVerb(verb, parseClass(names))
		if loose {
			t.loose[verb] = true
		}
	}
	t.addInflections()
	for line := range strings.Lines(oppositesText) {
		left, right, ok := strings.Cut(line, "|")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, a := range splitPhrases(left) {
			for _, b := range splitPhrases(right) {
				t.opposite[[2]string{a, b}] = true
				t.opposite[[2]string{b, a}] = true
			}
		}
	}
	for _, k := range kinds {
		for word := range strings.FieldsSeq(k.words) {
			t.kinds[word] |= k.kind
		}
	}
	return t
})

func parseClass(names string) Class {
	var c Class
	for name := range strings.FieldsSeq(names) {
		for _, e := range effects {
			if e.name == name {
				c |= e.class
			}
		}
	}
	return c
}

func (t *tables) addVerb(verb string, c Class) {
	t.classes[verb] = c
	first, rest, phrasal := strings.Cut(verb, " ")
	if !phrasal {
		return
	}
	words := strings.Fields(rest)
	i := 0
	for i < len(t.particles[first]) && len(t.particles[first][i]) >= len(words) {
		i++
	}
	all := append(t.particles[first], nil)
	copy(all[i+1:], all[i:])
	all[i] = words
	t.particles[first] = all
	if joined := first + strings.Join(words, ""); t.classes[joined] == 0 {
		t.classes[joined] = c
	}
}

// addInflections adds the regular forms of every verb. A form that is itself a verb ("found") stays
// one.
func (t *tables) addInflections() {
	verbs := make([]string, 0, len(t.classes)+len(t.particles))
	for verb := range t.classes {
		if !strings.Contains(verb, " ") {
			verbs = append(verbs, verb)
		}
	}
	verbs = slices.AppendSeq(verbs, maps.Keys(t.particles))
	for _, verb := range verbs {
		t.inflections[verb] = inflection{verb, base}
	}
	for _, verb := range verbs {
		for _, f := range regularForms(verb) {
			if have, taken := t.inflections[f.verb]; !taken || have.form != base && verb < have.verb {
				t.inflections[f.verb] = inflection{verb, f.form}
			}
		}
	}
}

// regularForms returns the regular forms of a verb, each in the field verb. If a last consonant can
// be doubled, it returns both spellings: cancelled, canceled.
func regularForms(verb string) []inflection {
	n := len(verb)
	if n < 2 {
		return nil
	}
	last, before := verb[n-1], verb[n-2]
	vowel := func(b byte) bool { return strings.IndexByte("aeiou", b) >= 0 }
	s, stem := verb+"s", verb
	switch {
	case strings.HasSuffix(verb, "ch") || strings.HasSuffix(verb, "sh") || last == 's' || last == 'x' || last == 'z' || last == 'o':
		s = verb + "es"
	case last == 'y' && !vowel(before):
		s = verb[:n-1] + "ies"
	}
	out := []inflection{{s, third}}
	switch {
	case last == 'e':
		stem = verb[:n-1]
		out = append(out, inflection{verb + "d", participle}, inflection{stem + "ing", gerund})
		if before == 'e' || before == 'o' || before == 'y' { // free, shoe, dye
			out = append(out, inflection{verb + "ing", gerund})
		}
	case last == 'y' && !vowel(before):
		out = append(out, inflection{verb[:n-1] + "ied", participle}, inflection{verb + "ing", gerund})
	default:
		out = append(out, inflection{stem + "ed", participle}, inflection{stem + "ing", gerund})
	}
	if n > 2 && !vowel(last) && strings.IndexByte("hwxy", last) < 0 && vowel(before) && last != 'e' {
		double := verb + string(last)
		out = append(out, inflection{double + "ed", participle}, inflection{double + "ing", gerund})
	}
	if strings.HasSuffix(verb, "z") && vowel(before) { // quiz
		out = append(out, inflection{verb + "zes", third})
	}
	return out
}

// splitPhrases splits a text into words; words in quotes stay together.
func splitPhrases(s string) []string {
	var out []string
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// Of returns the class of a verb in its base form, in any letter case, and 0
// when it is unknown. A phrasal verb is written with a space or as one word:
// "check in", "CHECKIN".
func Of(verb string) Class {
	t := unpacked()
	verb = strings.ToLower(verb)
	if c := t.classes[verb]; c != 0 {
		return c
	}
	if usual := normalizeSpelling(verb); usual != verb {
		if c := t.classes[usual]; c != 0 {
			return c
		}
	}
	return t.classOfDerived(verb)
}

// normalizeSpelling returns a verb with the ending that the table uses: organise as organize.
func normalizeSpelling(verb string) string {
	for _, ending := range [...][2]string{{"ise", "ize"}, {"yse", "yze"}} {
		if stem, ok := strings.CutSuffix(verb, ending[0]); ok {
			return stem + ending[1]
		}
	}
	return verb
}

// classOfDerived returns the class of a verb with a prefix. Doing something again has the effect of
// the verb, or changes what exists (resend, recompute); undoing changes or ends something
// (unassign).
func (t *tables) classOfDerived(verb string) Class {
	for _, p := range []struct {
		prefix string
		class  func(Class) Class
	}{
		{"re", func(c Class) Class { return c | Change }},
		{"un", func(Class) Class { return Change | End }},
		{"pre", func(c Class) Class { return c }},
	} {
		rest, ok := strings.CutPrefix(verb, p.prefix)
		if !ok || len(rest) <= 3 {
			continue
		}
		if c := t.classes[rest]; c != 0 {
			return p.class(c)
		}
	}
	return 0
}

// AreOpposed reports whether two verbs in lower case exclude each other regardless of their
// classes: hire, return.
func AreOpposed(a, b string) bool {
	t := unpacked()
	if t.opposite[[2]string{a, b}] || a == "un"+b && t.classes[b] != vague || b == "un"+a && t.classes[a] != vague {
		return true
	}
	return !strings.Contains(a, " ") && !strings.Contains(b, " ") && english.Antonyms(a, b)
}

// readVerbForm reads a word as a form of a verb, and returns false for a word that is not one.
func readVerbForm(word string) (inflection, bool) {
	t := unpacked()
	if i, ok := t.inflections[word]; ok {
		return i, true
	}
	if !isASCIIWord(word) {
		return inflection{}, false
	}
	if english.Lookup(word).Verb {
		return inflection{word, base}, true
	}
	verbs := english.Base(word)
	if len(verbs) == 0 {
		return readPrefixedForm(t, word)
	}
	verb := verbs[0]
	for _, v := range verbs { // "found": find is in the table, found is rarer
		if t.classes[v] != 0 {
			verb = v
			break
		}
	}
	switch {
	case strings.HasSuffix(word, "ing"):
		return inflection{verb, gerund}, true
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		return inflection{verb, third}, true
	default:
		return inflection{verb, participle}, true
	}
}

// readPrefixedForm reads forms of verbs with a prefix that the table lacks: unreserves, rebinds.
func readPrefixedForm(t *tables, word string) (inflection, bool) {
	for _, prefix := range []string{"un", "re"} {
		rest, ok := strings.CutPrefix(word, prefix)
		if infl, known := t.inflections[rest]; ok && known && len(rest) > 3 {
			return inflection{prefix + infl.verb, infl.form}, true
		}
	}
	return inflection{}, false
}

// isASCIIWord reports whether a word has only lowercase ASCII letters and hyphens.
func isASCIIWord(word string) bool {
	for i := range len(word) {
		if b := word[i]; (b < 'a' || b > 'z') && b != '-' {
			return false
		}
	}
	return word != ""
}
