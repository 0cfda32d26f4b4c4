package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// A Prohibition is an act that a request forbids: "do not send it yet".
type Prohibition struct {
	Text string // as asked
	// Verbs contains the forbidden verbs in their base form.
	Verbs []string
	// ReadOnly reports whether the request forbids all changes.
	ReadOnly bool
	// tells is set where the request asks to be told something instead of what it says before.
	tells bool
}

// A prohibitionSpan is a prohibition and its words.
type prohibitionSpan struct {
	Prohibition
	start, end int
	keep       bool     // the search also looks for the words
	pending    []string // verbs of a list whose end is not known yet
}

var (
	negations = strings.Fields("not never don't dont without no nothing none neither nor avoid cannot can't mustn't won't")
	// beforeNegation are words that belong to the negation that follows them.
	beforeNegation = strings.Fields("do does must may should shall can could will but and yet please kindly")
	// notNegated are words that follow "no" and "not" without a prohibition.
	notNegated = strings.Fields("longer more later matter only just yet sure")
	// everything lists words for things that must not change at all.
	everything = strings.Fields("nothing anything neither everything")
	// readOnlyWords are words that forbid all changes.
	readOnlyWords = strings.Fields("read-only readonly view-only dry-run")
)

// findProhibitions returns the prohibitions in words.
func findProhibitions(words []string) []prohibitionSpan {
	var spans []prohibitionSpan
	start := 0
	if s, ok := findCorrection(words); ok {
		spans, start = append(spans, s), s.end
	}
	for start < len(words) {
		end := endOfPhrase(words, start)
		if s, ok := findProhibition(words, start, end, len(spans) > 0 || start > 0); ok {
			if s.end == end && len(s.Verbs) > 0 {
				s.extendList(words)
				end = s.end
			}
			spans = append(spans, s)
		}
		start = end
	}
	return spans
}

// extendList adds the rest of a list of forbidden acts that commas separate: do not book, pay or
// cancel anything. Its last act follows "or" or "nor". If the first act has its own object, the verbs
// after the comma are the request: do not cancel it, move or rebook it.
func (s *prohibitionSpan) extendList(words []string) {
	if !s.endsWithVerb(words) && (s.end == len(words) || !slices.Contains(alternatives, normalizeWord(words[s.end]))) {
		return
	}
	for end := s.end; end > s.start && end < len(words) && lastRune(words[end-1]) == ","; {
		start := end
		end = endOfPhrase(words, start)
		var lower []string
		for _, w := range words[start:end] {
			lower = append(lower, normalizeWord(w))
		}
		if slices.Contains(alternatives, lower[0]) {
			lower = lower[1:]
		}
		if len(lower) == 0 || !isForbidden(lower[0]) {
			return
		}
		last := len(lower) < end-start // it began with "or"
		for i := 1; i+1 < len(lower) && !last; i++ {
			last = slices.Contains(alternatives, lower[i]) && isForbidden(lower[i+1])
		}
		if !last && len(lower) > 1 {
			return // another request: do not book, cancel my old room
		}
		if last {
			verbs := forbiddenVerbs(append([]string{"not"}, lower...))
			for i, w := range lower[1:] {
				if slices.Contains(alternatives, lower[i]) && isForbidden(w) {
					verbs = append(verbs, baseVerb(w))
				}
			}
			s.end, s.Verbs = end, appendNew(s.Verbs, append(s.pending, verbs...))
			return
		}
		s.pending = append(s.pending, baseVerb(lower[0]))
	}
}

// endsWithVerb reports whether the first phrase of a prohibition ends with its verb: do not book.
func (s *prohibitionSpan) endsWithVerb(words []string) bool {
	if s.end-s.start < 2 || !isForbidden(normalizeWord(words[s.end-1])) {
		return false
	}
	before := normalizeWord(words[s.end-2])
	u := english.Lookup(before)
	return slices.Contains(negations, before) || slices.Contains(beforeNegation, before) || slices.Contains(alternatives, before) ||
		before == "to" || u.Adverb && !u.Noun && !u.Verb
}

// alternatives join the last act of a list of forbidden ones.
var alternatives = []string{"or", "nor"}

// isForbidden reports whether a word after a negation is a verb that does more than read.
func isForbidden(word string) bool { return len(forbiddenVerbs([]string{"not", word})) > 0 }

// appendNew appends the words that a list lacks.
func appendNew(list, words []string) []string {
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// onlyForbids reports whether words are a prohibition and nothing else: please do not pay yet.
func onlyForbids(words []string) bool {
	spans := findProhibitions(words)
	return len(spans) == 1 && spans[0].start == 0 && spans[0].end == len(words) && !spans[0].keep
}

// forbidsInOrder reports whether words begin with an order not to do something, and do not complain
// that it is impossible: do not send it, never send it.
func forbidsInOrder(words []string) bool {
	for i, w := range lowerWords(words) {
		switch {
		case w == "don't" || w == "dont" || w == "never" || w == "not" && i > 0 && normalizeWord(words[i-1]) == "do":
			return i+1 < len(words) && isForbidden(normalizeWord(words[i+1])) && english.Lookup(normalizeWord(words[i+1])).Verb
		case !slices.Contains(beforeNegation, w):
			return false
		}
	}
	return false
}

// endOfPhrase returns the end of the phrase that begins at start: after a comma or another mark, or
// before "but".
func endOfPhrase(words []string, start int) int {
	for i := start; i < len(words); i++ {
		last, _ := utf8.DecodeLastRuneInString(words[i])
		if strings.ContainsRune(",;:.!?—–", last) && len(words[i]) > 1 {
			return i + 1
		}
		if i > start && (normalizeWord(words[i]) == "but" || words[i] == "—" || words[i] == "–" || words[i] == "-") {
			return i
		}
	}
	return len(words)
}

// corrections take back what is said before them: cancel it, no wait, show it.
var corrections = [][]string{{"no", "wait"}, {"wait", "no"}, {"scratch", "that"}}

// findCorrection returns what a request takes back.
func findCorrection(words []string) (prohibitionSpan, bool) {
	for i := 1; i+2 < len(words); i++ {
		if strings.ContainsAny(lastRune(words[i-1]), ",;:.!?—–-") && slices.ContainsFunc(corrections, func(c []string) bool { return slices.Equal(c, lowerWords(words[i:i+2])) }) {
			s := prohibitionSpan{end: i + 2}
			first := strings.Fields(strings.ToLower(tokens.PrepareName(words[0]))) // cancel_order
			s.Verbs = forbiddenVerbs(append(append([]string{"not"}, first...), lowerWords(words[1:i])...))
			return s, len(s.Verbs) > 0
		}
	}
	return prohibitionSpan{}, false
}

// findProhibition looks for a prohibition in one phrase. After another phrase, "only the price"
// forbids everything else.
func findProhibition(words []string, start, end int, follows bool) (prohibitionSpan, bool) {
	lower := make([]string, end-start)
	for i := range lower {
		lower[i] = normalizeWord(words[start+i])
	}
	hasVerbs := true // whether verbs may follow
	for i, w := range lower {
		next := ""
		if i+1 < len(lower) {
			next = lower[i+1]
		}
		switch {
		case slices.Contains(readOnlyWords, w), w == "read" && next == "only", w == "only" && next == "read", words[start+i] == "GET" && next == "only", w == "dry" && next == "run":
			n := 1
			if !slices.Contains(readOnlyWords, w) {
				n = 2
			}
			return prohibitionSpan{Prohibition{ReadOnly: true}, start + i, start + i + n, false, nil}, true
		case follows && (i == 0 || i == 1 && lower[0] == "but") && (w == "only" || w == "just") && slices.Contains(determiners, next):
			return prohibitionSpan{Prohibition{ReadOnly: true}, start, end, true, nil}, true
		case follows && (w == "only" || w == "just") && asksOnlyToKnow(lower[i+1:]):
			return prohibitionSpan{Prohibition{ReadOnly: true, tells: true}, start, end, true, nil}, true
		case i > 0 && (w == "instead" && next == "of" || w == "rather" && next == "than"):
			other := skipAdverbs(lower[i+2:])
			verbs := forbiddenVerbs(append([]string{"not"}, other[:min(1, len(other))]...))
			if len(verbs) == 0 || slices.Contains(verbs, baseVerb(lower[0])) {
				continue // book the window seat instead of booking the aisle
			}
			return prohibitionSpan{Prohibition{Verbs: verbs}, start + i, end, false, nil}, true
		case !slices.Contains(negations, w) || slices.Contains(notNegated, next) || statesInability(lower, i):
			continue
		}
		from := i
		for from > 0 && slices.Contains(beforeNegation, lower[from-1]) {
			from--
		}
		if (w == "nothing" || w == "none") && from > 0 && len(forbiddenVerbs(lower[from-1:from])) > 0 {
			from-- // delete nothing
			hasVerbs = true
		}
		if !hasVerbs {
			continue
		}
		p := Prohibition{Verbs: forbiddenVerbs(lower[from:])}
		if w == "no" && i == 0 && follows && len(lower) == 2 { // only the price, no order
			p.Verbs = verbsOfAct(next)
		}
		if slices.Contains(needing, next) && lower[len(lower)-1] == "yet" { // I do not want one yet
			return prohibitionSpan{Prohibition{ReadOnly: true}, start + from, end, false, nil}, true
		}
		if hasVerbs = len(p.Verbs) > 0; !hasVerbs {
			continue // nor has a later negation
		}
		p.ReadOnly = slices.ContainsFunc(lower[from:], func(w string) bool { return slices.Contains(everything, w) }) &&
			slices.ContainsFunc(p.Verbs, func(v string) bool { return effect.Of(v) != effect.End })
		return prohibitionSpan{p, start + from, end, false, nil}, true
	}
	return prohibitionSpan{}, false
}

// asksOnlyToKnow reports whether words behind "only" ask to be told something: tell me the price, want to
// know it.
func asksOnlyToKnow(words []string) bool {
	for len(words) > 2 && (slices.Contains(needing, words[0]) || words[0] == "to") {
		words = words[1:]
	}
	return len(words) > 1 && (words[0] == "know" || slices.Contains(tellPhrases, words[0]) && slices.Contains(objectPronouns, words[1]))
}

// skipAdverbs returns words without those at their beginning that weaken what follows.
func skipAdverbs(words []string) []string {
	for len(words) > 0 && slices.Contains(weakening, words[0]) {
		words = words[1:]
	}
	return words
}

var weakening = strings.Fields("just merely only simply")

// verbsOfAct returns the verbs that do more than read for a noun that names an act: order, bookings.
func verbsOfAct(noun string) (verbs []string) {
	noun = singularOf(noun)
	for _, verb := range append(english.VerbsOf(noun), noun) {
		if actionOf(verb) != 0 {
			verbs = appendNew(verbs, []string{baseVerb(verb)})
		}
	}
	return verbs
}

// forbiddenVerbs returns the verbs of a prohibition that do more than read, in their base form.
func forbiddenVerbs(words []string) []string {
	var verbs []string
	for i, w := range words {
		if slices.Contains(negations, w) || slices.Contains(beforeNegation, w) || slices.Contains(auxiliaries, w) || w == "be" || w == "is" {
			continue
		}
		base := w
		if bases := english.Base(w); len(bases) > 0 {
			base = bases[0]
		}
		u := english.Lookup(w)
		inflected := base != w
		verbal := inflected && (strings.HasSuffix(w, "ing") || strings.HasSuffix(w, "ed") || !u.Noun && english.Singular(w) == "")
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		verbal = verbal || inflected && (before == "be" || before == "is" || before == "are" || before == "being" || slices.Contains(everything, before))
		if !inflected && u.Verb {
			verbal = i == 0 || slices.Contains(negations, before) && before != "no" || slices.Contains(beforeNegation, before) || before == "to" ||
				before == "be" || u.VerbCount > u.NounCount
		}
		if class := effect.Of(base); verbal && class != 0 && class&^Reading != 0 && !slices.Contains(verbs, base) {
			verbs = append(verbs, base)
		}
	}
	return verbs
}

// forbidsWord reports whether a word expresses the prohibition, not its object.
func (s prohibitionSpan) forbidsWord(word string) bool {
	return slices.Contains(negations, word) || slices.Contains(beforeNegation, word) || slices.Contains(everything, word) ||
		slices.Contains(readOnlyWords, word) || word == "only" || word == "wait" || slices.Contains(s.Verbs, baseVerb(word)) || slices.ContainsFunc(english.Base(word), func(b string) bool { return slices.Contains(s.Verbs, b) })
}

// The weights of words that are not the main content of a request.
const (
	valueWeight   = 0.25 // numbers, identifiers, quoted texts
	contextWeight = 0.5  // the object of a prohibition
	reasonWeight  = 0.5  // words after because, before and similar words
	// TimeWeight is the weight of days, months and codes of currencies.
	TimeWeight = 0.4
	// NameWeight is the weight of a capitalized word that is not a service's name.
	NameWeight = 0.35
	// KnownNameWeight is the weight of a capitalized word that operations mention.
	KnownNameWeight = 0.7
)

var (
	timeWords = strings.Fields(`today tomorrow tonight yesterday now weekend monday tuesday wednesday thursday friday saturday sunday
		january february march april june july august september october november december
		am pm a.m p.m o'clock morning afternoon evening cet utc gmt eur usd gbp chf jpy`)
	reasonWords = strings.Fields("because since so before until while whereas although")
	// beforeReason are words before a "that" which begins a reason: now that it has left.
	beforeReason = strings.Fields("given now provided")
)

// weighFields returns the weight of each word from from up to to: 1 for words for the task, less
// for values.
func weighFields(fields []string, from, to int) []float32 {
	weights := make([]float32, len(fields))
	quoted, reason := false, false
	for i := from; i < to; i++ {
		w := fields[i]
		weights[i] = 1
		opens := strings.IndexAny(w, "'‘“") == 0 && len(w) > 1
		quoted = quoted || opens && closesQuote(fields[i:to])
		lower := normalizeWord(w)
		if i > from && (slices.Contains(reasonWords, lower) || lower == "that" && slices.Contains(beforeReason, normalizeWord(fields[i-1]))) {
			reason = true
		}
		switch {
		case quoted, isValue(w):
			weights[i] = valueWeight
		case slices.Contains(timeWords, lower):
			weights[i] = TimeWeight
		case reason:
			weights[i] = reasonWeight
		}
		if trimmed := strings.TrimRight(w, ",;:.!?)"); quoted && strings.LastIndexAny(trimmed, "'’”") == len(trimmed)-len(lastRune(trimmed)) && trimmed != "" {
			quoted = false
		}
		if last, _ := utf8.DecodeLastRuneInString(w); strings.ContainsRune(",;.!?", last) {
			reason = false
		}
	}
	if !slices.Contains(weights, 1) { // only values: they are the main content
		for i := from; i < to; i++ {
			weights[i] = 1
		}
	}
	return weights
}

// closesQuote reports whether a quotation that begins in the first word ends in one of the next.
func closesQuote(words []string) bool {
	for i, w := range words[:min(len(words), 12)] {
		w = strings.TrimRight(w, ",;:.!?)")
		if last := lastRune(w); (last == "'" || last == "’" || last == "”") && (i > 0 || utf8.RuneCountInString(w) > 2) {
			return true
		}
	}
	return false
}

func lastRune(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[len(s)-size:]
}

// isValue reports whether a word is a number, an address or an identifier.
func isValue(w string) bool {
	if strings.Contains(w, "@") || strings.Contains(w, "://") {
		return true
	}
	digits, letters, capitals := 0, 0, 0
	for _, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r):
			letters, capitals = letters+1, capitals+1
		case unicode.IsLetter(r):
			letters++
		}
	}
	if digits == 0 {
		return false
	}
	return letters <= digits || letters == capitals && (digits > 1 || strings.ContainsAny(w, "-/#")) || digits >= minNumber && strings.Contains(w, "-") // winter-2022
}

// minNumber is the minimum number of digits of a number that may identify something.
const minNumber = 4

// isIdentifier reports whether a value may identify a thing: an address, a code, a long number, a
// quoted text. Short numbers count or measure something.
func isIdentifier(w string) bool {
	if strings.ContainsAny(w, "@#'‘“_") || strings.Contains(w, "://") {
		return true
	}
	digits, letters := 0, 0
	for _, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits >= minNumber || digits > 1 && letters > 0 && !strings.HasSuffix(strings.ToLower(w), "m") || digits == 0 && letters > 0
}

// isNameIn reports whether the i-th word is capitalized in a sentence of words that are not.
func isNameIn(fields []string, i, from int) bool {
	if i == from || len(fields) < 4 || i > 0 && endsSentence(fields[i-1]) {
		return false
	}
	capitalized, words := 0, 0
	for k, f := range fields {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(f, unicode.IsPunct))
		if !unicode.IsLetter(r) {
			continue
		}
		words++
		if unicode.IsUpper(r) && k > from {
			capitalized++
		}
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(fields[i], unicode.IsPunct))
	return unicode.IsUpper(r) && capitalized*2 < words
}

// Words of statements that something that was arranged is not wanted: I no longer need the cab, the
// cleaner should not come.
var (
	renounced = strings.Fields("attend be come coming go going make need needed needing wanted want")
	notToDo   = strings.Fields("can't cannot don't doesn't longer needn't shouldn't won't not")
	notYet    = strings.Fields("can could did do does has have longer may might must need needs should will would i'm we're am are is be")
)

// renounces reports whether a statement says that something is not wanted or that somebody does not
// come. "did not come" complains, and "don't want to" forbids.
func renounces(lower []string) bool {
	if len(lower) > 3 && slices.Contains(notToDo, lower[0]) && slices.Contains(needing, lower[1]) && saysNoLonger(lower[2:]) {
		return true // don't need the cab any more
	}
	for i := 1; i+1 < len(lower); i++ {
		w, next := lower[i], lower[i+1]
		if !slices.Contains(notToDo, w) || !slices.Contains(renounced, next) || i+2 < len(lower) && lower[i+2] == "to" && next != "need" {
			continue
		}
		if lower[len(lower)-1] == "yet" {
			return false // do not want one yet: it forbids
		}
		if w != "not" && (w != "longer" || lower[i-1] == "no") || w == "not" && slices.Contains(notYet, lower[i-1]) && lower[i-1] != "did" {
			return true
		}
	}
	return false
}

// needing are the verbs of statements that something is no longer wanted, which may lack their subject.
var needing = strings.Fields("need want")

// saysNoLonger reports whether words end with "any more" or the like.
func saysNoLonger(lower []string) bool {
	text := " " + strings.Join(lower, " ")
	return slices.ContainsFunc([]string{" any more", " anymore", " any longer", " after all"}, func(end string) bool { return strings.HasSuffix(text, end) })
}

// addRenouncement adds what is to be done about what is no longer wanted.
func (r *Request) addRenouncement(a analysis.Analyzer, lower []string) {
	if renounces(lower) && !slices.Contains(lower, "cancel") {
		r.Words = append(r.Words, Word{Asked: "not", Meanings: tokens.Tokenize(a, "cancel"), Weight: 1})
	}
}
