package effect

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol/english"
)

// Limits on the part of a sentence that is read. The longest intent that AGIS §6.1 could mean by "a
// single sentence" is far shorter.
const (
	maxBytes = 2000
	maxWords = 64
)

// A token is a word of the sentence.
type token struct {
	text    string // in lower case, without a possessive 's
	written string
	gap     bool // a mark such as a comma or a bracket stands before it
	kind    kind
	reading reading
	infl    inflection // as a verb, where reading says so
}

// A reading says whether a token was tried as a verb, and with which result.
type reading uint8

const (
	unread reading = iota
	verbForm
	noVerb
)

// A sentence is the first sentence of an intent, in words.
type sentence []token

// tokenizeSentence splits the first sentence of a text into words. It returns false for a question,
// for a text with invisible characters, and for one that is far too long for a sentence.
func tokenizeSentence(text string) (sentence, bool) {
	if len(text) > maxBytes || !utf8.ValidString(text) {
		return nil, false
	}
	s := make(sentence, 0, 16)
	gap := false
	for i := 0; i < len(text) && len(s) < maxWords; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isLetter(r):
			end := i + wordLength(text[i:])
			written := text[i:end]
			word := strings.ToLower(trimPossessive(written))
			s = append(s, token{text: word, written: written, gap: gap, kind: kindOf(word)})
			i, gap = end, false
			continue
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r):
			return nil, false
		case r == '?':
			return nil, false // a question asks; it does not say what is done
		case r == '.' || r == '!' || r == '。':
			if next := strings.TrimLeft(text[i+size:], `"')]`); len(s) > 0 && (next == "" || unicode.IsSpace(rune(next[0]))) {
				return s, true
			}
			gap = true
		case !unicode.IsSpace(r):
			gap = true
		}
		i += size
	}
	return s, true
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordLength returns the length of the word at the beginning of a text: letters and digits, and the
// characters that join them.
func wordLength(text string) int {
	end := 0
	for i, r := range text {
		if isLetter(r) || unicode.IsMark(r) {
			end = i + utf8.RuneLen(r)
			continue
		}
		if r != '-' && r != '\'' && r != '’' && r != '_' || i != end {
			break
		}
	}
	return end
}

func trimPossessive(word string) string {
	for _, s := range []string{"'s", "’s"} {
		if cut, ok := strings.CutSuffix(word, s); ok {
			return cut
		}
	}
	return strings.TrimRight(word, "'’")
}

// wordAt returns the word at i, and "" outside the sentence.
func (s sentence) wordAt(i int) string {
	if i < 0 || i >= len(s) {
		return ""
	}
	return s[i].text
}

// isKind reports whether the word at i is of a kind; it is false outside the sentence.
func (s sentence) isKind(i int, k kind) bool { return i >= 0 && i < len(s) && s[i].kind&k != 0 }

// verbFormAt reads the word at i as a form of a verb.
func (s sentence) verbFormAt(i int) (inflection, bool) {
	if i < 0 || i >= len(s) {
		return inflection{}, false
	}
	t := &s[i]
	if t.reading == unread {
		infl, ok := readVerbForm(t.text)
		t.infl, t.reading = infl, noVerb
		if ok {
			t.reading = verbForm
		}
	}
	return t.infl, t.reading == verbForm
}

// hasGap reports whether a punctuation mark or the end of the sentence precedes word i.
func (s sentence) hasGap(i int) bool { return i >= len(s) || i > 0 && s[i].gap }

// isDenial reports whether the sentence begins by denying something: "Does not book a table".
func (s sentence) isDenial() bool {
	switch s.wordAt(0) {
	case "does", "do", "will", "would", "can", "may", "must":
		return s.wordAt(1) == "not" || s.wordAt(1) == "never"
	case "doesn't", "doesn’t", "won't", "won’t", "cannot", "can't", "can’t", "never":
		return true
	}
	return false
}

// skipFillers returns the first position from i on that is not a filler.
func (s sentence) skipFillers(i int) int {
	for i < len(s) && s[i].kind&fillers != 0 {
		i++
	}
	return i
}

// isForeign reports whether the sentence seems to be in a language other than
// English.
func (s sentence) isForeign() bool {
	n := 0
	for i, t := range s {
		if t.kind&foreign != 0 && t.text == t.written {
			n++
			if i == 1 || n > 1 {
				return true
			}
		}
	}
	return false
}

// A phrase is a verb of the sentence with its particle and its object.
type phrase struct {
	verb    string // base form: "turn off"
	written string
	form    form
	at, end int // the words of the verb, an adjacent particle included
	// nominal says that the word may also be a noun: "Orders of a customer".
	nominal bool
	passive bool
	// idiom says that the words around the verb may give it a meaning that is not in the table.
	idiom  bool
	object object
}

// An object is the object of a verb in the sentence.
type object struct {
	at, end   int
	head      string
	words     []string // all of it, without determiners
	plural    bool     // or all, every, each
	clause    bool     // "that a table is free", "whether a table is free"
	question  bool     // the latter
	recipient string   // to whom
}

// mainVerb finds the verb that names the action. others are verbs that introduce it, like allow in
// "Allows the agent to book".
func (s sentence) mainVerb() (main phrase, others []phrase, ok bool) {
	i := s.skipCondition()
	led := i > 0  // the preceding words announce a verb
	for range 8 { // each step takes one lead-in away
		i = s.skipFillers(i)
		if j := s.skipIntroduction(i); j > i {
			i, led = j, true
			continue
		}
		if s.isKind(i, copulas) && i > 0 {
			if s.isKind(i-1, selves) {
				return phrase{}, nil, false
			}
			return s.findPassive(i, others)
		}
		infl, verb := s.verbFormAt(i)
		if !verb || s.isKind(i+1, copulas) || s.isKind(i+1, modals) {
			return s.findPassive(i, others)
		}
		j, lead := s.handOn(i, infl)
		if j == 0 {
			main := s.readPhrase(i, infl)
			main.nominal = main.nominal && !led
			return main, others, true
		}
		if lead {
			others = append(others, s.readPhrase(i, infl))
		}
		i, led = j, true
	}
	return phrase{}, nil, false
}

// skipCondition returns the position after an opening such as "Given a word,", 0 if there is none.
func (s sentence) skipCondition() int {
	if s.wordAt(0) != "given" {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if s.hasGap(i) {
			return i
		}
	}
	return 0
}

// skipIntroduction returns the position after a word or a subject at i that only introduces the
// verb, or i if there is none.
func (s sentence) skipIntroduction(i int) int {
	word := s.wordAt(i)
	switch {
	case word == "to" || i > 0 && (word == "for" || word == "that" || word == "which" || word == "who"):
		return i + 1
	case modals.has(word):
		return i + 1
	case copulas.has(word) && i > 0 || word == "used" || word == "able":
		j := i
		if copulas.has(word) {
			j = s.skipFillers(i + 1)
		}
		if next := s.wordAt(j + 1); s.isKind(j, tries) && (next == "to" || next == "for") {
			return j + 2
		}
		return i
	}
	return s.skipSubject(i)
}

// skipSubject returns the position after the subject: "This endpoint", "The booking agent".
func (s sentence) skipSubject(i int) int {
	last := i
	if s.isKind(i, determiners) {
		last = i + 4
	}
	for j := i; j <= last && j < len(s); j++ {
		if j > i && s.hasGap(j) || !s.isKind(j, subjects) {
			continue
		}
		next := s.wordAt(s.skipFillers(j + 1))
		if modals.has(next) || copulas.has(next) || next == "that" || next == "which" || next == "who" {
			return j + 1
		}
		infl, ok := readVerbForm(next)
		if !ok || infl.form > third {
			continue
		}
		// Without a determiner the word may be the verb itself ("Requests"), or
		// be the first noun of a heading ("User posts").
		if _, verb := s.verbFormAt(j); j > i || s.isKind(j, pronouns) || s.wordAt(j) == "this" || s.wordAt(j) == "agent" || !verb && pluralNoun(s.wordAt(j)) {
			return j + 1
		}
	}
	return i
}

// handOn returns the position of the verb that the verb at i introduces, 0 if it introduces none.
// lead says that the first verb also has a meaning of its own.
func (s sentence) handOn(i int, infl inflection) (place int, lead bool) {
	switch verb := infl.verb; {
	case lets.has(verb) || verb == "use" || verb == "invoke" || verb == "call":
		if j := s.findInfinitive(i+1, 8); j > 0 {
			return j, lets.has(verb)
		}
		if verb == "let" || verb == "help" || lets.has(verb) && s.isKind(i+1, pronouns) {
			if j := s.bareInfinitive(i + 1); j > 0 {
				return j, true
			}
		}
	case verb == "give" || verb == "provide" || verb == "offer" || verb == "make" || verb == "have" || verb == "grant":
		for j := i + 1; j < i+7 && j < len(s); j++ {
			if next := s.wordAt(j + 1); s.isKind(j, tries) && (next == "to" && s.verbAt(j+2, base) || (next == "for" || next == "of") && s.verbAt(j+2, gerund)) {
				return j + 2, false
			}
		}
	}
	return 0, false
}

func (s sentence) verbAt(i int, f form) bool {
	infl, ok := s.verbFormAt(i)
	return ok && infl.form == f
}

// findInfinitive finds "to" and a verb within n words from i.
func (s sentence) findInfinitive(i, n int) int {
	for j := i; j < i+n && j < len(s); j++ {
		if k := s.skipFillers(j + 1); s.wordAt(j) == "to" && s.verbAt(k, base) && !s.isKind(k, determiners) {
			return k
		}
	}
	return 0
}

// bareInfinitive finds the verb in "Lets the guest reserve a room": a base form with a known class,
// after its subject.
func (s sentence) bareInfinitive(i int) int {
	first := i + 1
	if s.isKind(i, determiners) {
		first = i + 2
	}
	for j := first; j < first+3 && j < len(s) && !s.hasGap(j); j++ {
		if infl, ok := s.verbFormAt(j); ok && infl.form == base && unpacked().classes[infl.verb] != 0 && !s.isKind(j, prepositions) {
			return j
		}
	}
	return 0
}

// findPassive finds the verb of "A table is reserved for the guest".
func (s sentence) findPassive(i int, others []phrase) (phrase, []phrase, bool) {
	for start := i; i < len(s) && i < start+16 && !s.isKind(i, openers) && (i == start || !s.hasGap(i)); i++ {
		if !s.isKind(i, copulas) {
			continue
		}
		j := s.skipFillers(i + 1)
		for s.isKind(j, copulas) {
			j = s.skipFillers(j + 1)
		}
		infl, ok := s.verbFormAt(j)
		if !ok || infl.form != participle && !(infl.form == base && strings.HasSuffix(s.wordAt(j), "t")) || s.isKind(j, determiners) {
			return phrase{}, nil, false
		}
		p := s.readPhrase(j, infl)
		p.passive, p.nominal = true, false
		return p, others, true
	}
	return phrase{}, nil, false
}

// readPhrase reads the verb at i with its particle. [sentence.readObjectOf] reads its object.
func (s sentence) readPhrase(i int, infl inflection) phrase {
	p := phrase{verb: infl.verb, written: s[i].written, form: infl.form, at: i, end: i + 1}
	verb, end, found := s.joinParticle(i, infl.verb)
	if found {
		p.verb, p.end = verb, end
	} else {
		p.nominal = s.isNominal(i, infl)
	}
	if infl.verb == "let" && !found {
		for j := i + 1; j < i+6; j++ {
			if s.wordAt(j) == "know" {
				p.verb = "inform"
			}
		}
	}
	return p
}

// readObjectOf reads the object of p.
func (s sentence) readObjectOf(p *phrase) {
	first, _, phrasal := strings.Cut(p.verb, " ")
	p.object = s.readObject(p.end, ditransitive.has(first))
	p.idiom = !phrasal && s.isIdiom(*p)
}

// isIdiom reports whether p may be a fixed phrase: a verb of many idioms whose object has no "the"
// and is followed by a preposition ("Keeps an eye on").
func (s sentence) isIdiom(p phrase) bool {
	if !idiomatic.has(p.verb) || s.hasGap(p.object.end) || !s.isKind(p.object.end, prepositions) {
		return false
	}
	first := s.wordAt(p.object.at)
	return !determiners.has(first) || first == "a" || first == "an" || first == "no"
}

// joinParticle joins a verb with its particle, next to it ("Turns off the alarm") or after its
// object ("Turns the alarm off"). end is the position after the words next to the verb. Of two
// particles ("Switches the lights on or off") neither says what the verb does.
func (s sentence) joinParticle(i int, verb string) (phrasal string, end int, found bool) {
	for _, words := range unpacked().particles[verb] {
		if s.matchWords(i+1, words) {
			if s.hasOtherParticle(i+1+len(words), verb) {
				return "", 0, false
			}
			return verb + " " + strings.Join(words, " "), i + 1 + len(words), true
		}
		if prepositional.has(words[0]) && len(words) == 1 {
			continue
		}
		for j := i + 1; j < i+9 && j < len(s) && !s.hasGap(j) && !s.isKind(j, conjunctions) && !s.isKind(j, openers); j++ {
			next := j + len(words)
			if j > i+1 && s.matchWords(j, words) && (len(words) > 1 || !movable.has(words[0]) || s.hasGap(next) || s.isKind(next, prepositions) || s.isKind(next, conjunctions)) {
				if s.hasOtherParticle(next, verb) {
					return "", 0, false
				}
				return verb + " " + strings.Join(words, " "), i + 1, true
			}
		}
	}
	return "", 0, false
}

// hasOtherParticle reports whether a conjunction at i is followed by another particle of a verb.
func (s sentence) hasOtherParticle(i int, verb string) bool {
	return s.isKind(i, conjunctions) && slices.ContainsFunc(unpacked().particles[verb], func(words []string) bool { return s.matchWords(i+1, words) })
}

func (s sentence) matchWords(i int, words []string) bool {
	for k, w := range words {
		if s.wordAt(i+k) != w || s.hasGap(i+k) {
			return false
		}
	}
	return true
}

// isNominal reports whether the word at i, read as a verb, may be a noun or an adjective. The
// sentence may then be a heading.
func (s sentence) isNominal(i int, infl inflection) bool {
	if s.isTitle() {
		return true
	}
	next := s.wordAt(s.skipFillers(i + 1))
	if determiners.has(next) || pronouns.has(next) || openers.has(next) {
		return false
	}
	if infl.form == gerund || infl.form == participle {
		return true
	}
	if !nounLike(infl.verb) {
		return false
	}
	if s.hasGap(i+1) || prepositions.has(next) || conjunctions.has(next) {
		return true
	}
	if infl.form == third {
		return s.verbAt(i+1, participle) && s.isKind(i+2, prepositions) // "Orders placed by"
	}
	use := english.Lookup(next)
	return !(use.Adjective && !use.Noun)
}

// beginsWithFree reports whether a sentence begins with free things, such as "Free places for cars": a
// method that reads frees nothing.
func (s sentence) beginsWithFree(p phrase) bool {
	next := s.wordAt(p.end)
	return p.at == 0 && p.verb == "free" && p.form == base && !determiners.has(next) && !pronouns.has(next)
}

// isTitle reports whether the sentence has the form of a page title, like "Backups List".
func (s sentence) isTitle() bool {
	for _, t := range s {
		if r, _ := utf8.DecodeRuneInString(t.written); !unicode.IsUpper(r) && t.kind&prepositions == 0 && t.kind&determiners == 0 && t.kind&conjunctions == 0 {
			return false
		}
	}
	return len(s) > 1 && len(s) < 8
}

// nounLike reports whether a word is used as a noun often enough to count as one.
func nounLike(word string) bool {
	use := english.Lookup(word)
	return use.Noun && use.NounCount*20 >= use.VerbCount
}

// readObject reads the object after a verb. two says that the verb may have an indirect object
// before it.
func (s sentence) readObject(i int, two bool) object {
	i = s.skipFillers(i)
	o := s.nounPhrase(i)
	if two && o.head != "" && !s.hasGap(o.end) {
		if next := s.wordAt(o.end); openers.has(next) && next != "that" {
			return object{at: o.end, end: len(s), clause: true, question: true, recipient: o.head} // "Tells the owner whether"
		} else if determiners.has(next) && next != "that" || pronouns.has(o.head) && next != "" && !prepositions.has(next) && !conjunctions.has(next) {
			second := s.nounPhrase(o.end)
			second.recipient = o.head // "Sends the patient a reminder"
			return second
		}
	}
	for j := o.end; j < o.end+8 && j < len(s) && !s.hasGap(j); {
		if s.wordAt(j) == "to" {
			if !s.verbAt(j+1, base) {
				o.recipient = s.nounPhrase(j + 1).head
			}
			break
		}
		j = max(j+1, s.nounPhrase(j+1).end)
	}
	return o
}

// nounPhrase reads one noun phrase that begins at i.
func (s sentence) nounPhrase(i int) object {
	o := object{at: i, end: i}
	for ; i < len(s) && i < o.at+10; i++ {
		word := s.wordAt(i)
		if s.hasGap(i) && i > o.at {
			break
		}
		if determiners.has(word) {
			if o.head != "" {
				break
			}
			o.plural = o.plural || word == "all" || word == "every" || word == "each" || word == "any"
			o.end = i + 1
			continue
		}
		if prepositions.has(word) || conjunctions.has(word) || openers.has(word) || copulas.has(word) || modals.has(word) {
			break
		}
		o.end = i + 1
		o.head, o.words = word, append(o.words, word)
	}
	o.plural = o.plural || pluralNoun(o.head)
	return o
}

func pluralNoun(word string) bool {
	return len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") &&
		!strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is")
}

// findJoined finds the verbs that are joined to p: "Finds and books a table".
func (s sentence) findJoined(p phrase) []phrase {
	var out []phrase
	for i := p.end; i < len(s); i++ {
		j := s.skipFillers(i + 1)
		if c := s.wordAt(i); c != "and" && c != "or" && c != "then" && !s.hasGap(i) {
			continue
		} else if s.hasGap(i) && c != "and" && c != "or" && c != "then" {
			j = i // a comma
		}
		infl, ok := s.verbFormAt(j)
		if !ok || infl.form != p.form && max(infl.form, p.form) > third {
			continue
		}
		other := s.readPhrase(j, infl)
		next := s.wordAt(s.skipFillers(other.end))
		direct := i == p.end // "Finds and books", where a noun could not stand
		if direct || determiners.has(next) || pronouns.has(next) || !nounLike(infl.verb) {
			other.nominal = !direct && other.nominal
			out = append(out, other)
		}
	}
	return out
}
