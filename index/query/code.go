package query

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// A request may have the form of code: a function with its parameters and results, as in
// geocode(address) -> lat, lng, a name as in list_unpaid_invoices, or an HTTP request such as
// DELETE /v1/users/42. The name or the end of the path is the main content.

const (
	parameterWeight = 0.5
	returnedWeight  = 0.4
	// proseWeight is the weight of what is said after the code.
	proseWeight = 0.45
	// methodWeight is the weight of the verb that an HTTP method stands for.
	methodWeight = 0.4
	// parentWeight is the weight of the resources that contain the one that a path leads to.
	parentWeight = 0.6
)

// A codeRequest is a request in the form of code, by its parts.
type codeRequest struct {
	fields  []string
	weights []float32
	name    []string // the words that say what is to be done, the verb first
	method  string   // the verb for an HTTP method, "" for a function
	hasID   bool     // a path leads to one thing of a collection
	isSafe  bool     // an HTTP method that changes nothing
	prose   []string // what is said after the code
	isBare  bool     // a name without parentheses or parameters
}

var (
	// callLike matches the beginning of a request in the form of a call.
	callLike = regexp.MustCompile(`^\s*[\p{L}_][\p{L}\p{N}_.]*(?:-[\p{L}\p{N}]+)*\(`)
	// optionalEnding matches the beginning of a word with an ending in parentheses: book(s), child(ren).
	optionalEnding = regexp.MustCompile(`^\s*(\p{L}+)\((\p{Ll}{1,5})\)`)
	// httpLike matches an HTTP request, or a verb and a path as AGIS writes them.
	httpLike = regexp.MustCompile(`^\s*(?:curl\s+-X\s*)?([A-Za-z]+)\s+["']?((?:https?://[^\s/]+)?/[^\s"']*)["']?`)
	// nameLike matches a name of several words at the beginning of a request.
	nameLike = regexp.MustCompile(`^\s*(\p{L}[\p{L}\p{N}]*(?:[_./-]\p{L}[\p{L}\p{N}]*)*)(?:[\s:,;]|$)`)
	// assignment matches a parameter with a value.
	assignment = regexp.MustCompile(`^-{0,2}[\p{L}_][\p{L}\p{N}_-]*[=:]\S*$`)
	// parameterName matches a parameter without a value.
	parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]*,?$`)
	// version matches the parts of a path that say nothing: v1, api.
	version = regexp.MustCompile(`^(?:v\d[\d.]*|api|rest)$`)
)

// httpMethods are the verbs for the methods of HTTP. The last part of a path tells more of a POST.
var httpMethods = map[string]string{"GET": "retrieve", "HEAD": "check", "POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}

// typeWords are types of parameters and results in programming languages; they name nothing.
var typeWords = strings.Fields("string str int integer float double number bool boolean array list dict object void null none any")

// abbreviations are abbreviations that programmers use in names.
var abbreviations = map[string]string{
	"addr": "address", "amt": "amount", "auth": "authentication", "cfg": "configuration", "config": "configuration",
	"curr": "currency", "desc": "description", "dest": "destination", "dir": "directory", "dob": "birthday", "doc": "document",
	"env": "environment", "img": "image", "lang": "language", "lat": "latitude", "lng": "longitude", "loc": "location",
	"lon": "longitude", "msg": "message", "org": "organization", "param": "parameter", "perm": "permission", "pic": "picture",
	"pwd": "password", "qty": "quantity", "recv": "receive", "repo": "repository", "src": "source", "temp": "temperature",
	"txn": "transaction", "tz": "timezone", "usr": "user", "var": "variable", "vid": "video",
}

// splitCode returns the parts of a request in the form of code; ok is false for other requests.
func splitCode(text string) (c codeRequest, ok bool) {
	if !strings.ContainsAny(text, "(/_.>-") && !strings.ContainsFunc(strings.TrimLeftFunc(text, unicode.IsLower), unicode.IsUpper) {
		return c, false // words only
	}
	call, returned, arrow := strings.Cut(text, "->")
	switch {
	case arrow || callLike.MatchString(text) && !hasOptionalEnding(text):
		c.splitCall(call, returned)
		if !arrow && len(c.name) > 0 && effect.Of(c.name[0]) == 0 && len(c.prose) > 0 && len(findProhibitions(c.prose)) == 0 {
			return codeRequest{}, false // apartment(2br) to rent in Lisbon
		}
	case !c.splitHTTP(text) && !c.splitName(text):
		return c, false
	}
	return c, len(c.fields) > 0
}

// endings are those that German and other languages write in parentheses after a word: Freund(in).
var endings = strings.Fields("s es er in innen r n x")

// isEnglish reports whether the name of a function in Latin letters begins with an English verb. Short
// names of parameters are words of many languages: lang, text, data.
func (c *codeRequest) isEnglish(text string) bool {
	isOther := func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }
	return len(c.name) > 0 && effect.Of(c.name[0]) != 0 && english.Lookup(c.name[0]).Verb && !strings.ContainsFunc(text, isOther)
}

// hasOptionalEnding reports whether a text begins with a word with an ending in parentheses, which is no
// call.
func hasOptionalEnding(text string) bool {
	m := optionalEnding.FindStringSubmatch(text)
	return m != nil && (slices.Contains(endings, m[2]) || isEnglishWord(strings.ToLower(m[1])+m[2]))
}

// add adds the words of a part of the request, unless they are names of types.
func (c *codeRequest) add(part string, weight float32) {
	for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return strings.ContainsRune("()[]{},:;=<>\"'|* \t\n", r) }) {
		if !slices.Contains(typeWords, strings.ToLower(word)) && strings.Trim(word, "-_.?") != "" {
			c.fields, c.weights = append(c.fields, word), append(c.weights, weight)
		}
	}
}

// addWords adds the words of a name.
func (c *codeRequest) addWords(words []string, weight float32) {
	for _, w := range words {
		c.fields, c.weights = append(c.fields, w), append(c.weights, weight)
	}
}

// splitCall splits a function with its parameters, and its results or what is said after it.
func (c *codeRequest) splitCall(call, returned string) {
	name, parameters, _ := strings.Cut(call, "(")
	if end := closingBracket(parameters, '(', ')'); end < len(parameters) {
		c.prose = strings.Fields(strings.TrimLeftFunc(parameters[end+1:], unicode.IsPunct))
		parameters = parameters[:end]
	}
	words := strings.Fields(returned)
	if spans := findProhibitions(words); len(spans) > 0 { // lat, lng, and do not store them
		start := spans[0].start
		returned, c.prose = strings.Join(words[:start], " "), append(c.prose, words[start:]...)
	}
	c.add(name, 1)
	c.name = strings.Fields(strings.ToLower(tokens.PrepareName(strings.Join(c.fields, " "))))
	c.add(parameters, parameterWeight)
	c.add(returned, returnedWeight)
}

// closingBracket returns the index of the bracket that closes one before the text, the length of the text if
// there is none.
func closingBracket(text string, open, end rune) int {
	depth := 1
	for i, r := range text {
		switch r {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// splitHTTP splits an HTTP request. A path in it is what GET and DELETE act on, and a verb at its end
// says what POST does: POST /orders/{id}/cancel.
func (c *codeRequest) splitHTTP(text string) bool {
	m := httpLike.FindStringSubmatchIndex(text)
	if m == nil {
		return false
	}
	method, path := text[m[2]:m[3]], text[m[4]:m[5]]
	c.method = httpMethods[strings.ToUpper(method)]
	c.isSafe = c.method == "retrieve" || c.method == "check"
	isUpper := method == strings.ToUpper(method)
	switch {
	case c.method != "" && (isUpper || path[0] == '/'):
	case isUpper && effect.Of(strings.ToLower(method)) != 0:
		c.method = strings.ToLower(method) // a verb of AGIS
	default:
		c.method = ""
		return false
	}
	if _, rest, isURL := strings.Cut(path, "://"); isURL {
		_, path, _ = strings.Cut(rest, "/")
	}
	path, parameters, _ := strings.Cut(path, "?")
	var parts [][]string // the words of the parts that name something
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == ':' }) {
		lower := strings.ToLower(part)
		switch {
		case version.MatchString(lower):
		case strings.ContainsAny(part, "{}<>$*"):
			c.hasID = len(parts) > 0
			c.add(strings.Trim(part, "{}<>$*"), parameterWeight)
		case isValue(part):
			c.hasID = len(parts) > 0
		default:
			c.hasID = false
			parts = append(parts, strings.Fields(strings.ToLower(tokens.PrepareName(part))))
		}
	}
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	verb, length := verbOfPath(last)
	if verb != "" && (c.method == "create" || c.method == "update" && len(parts) > 1 && verb == last[0] && isCommand(verb)) {
		c.method = verb // POST /refunds, PUT /orders/17/cancel
	}
	if c.method == "create" && !c.hasID && slices.ContainsFunc(last, func(w string) bool {
		return slices.Contains(sentThings, w) || slices.Contains(sentThings, singularOf(w))
	}) {
		c.method = "send" // POST /messages
	}
	if c.method == "retrieve" && !c.hasID && english.Singular(last[len(last)-1]) != "" {
		c.method = "list"
	}
	c.name = append([]string{c.method}, last...)
	isVerb := verb == c.method
	if isVerb {
		c.name = append([]string{verb}, last[1:]...)
		if len(last) == length && len(parts) > 1 { // cancel: its object is before it
			c.name = append(c.name, parts[len(parts)-2]...)
		}
	} else {
		c.fields, c.weights = append(c.fields, c.method), append(c.weights, methodWeight)
	}
	ofParent := isVerb && len(last) == length || len(last) == 1 && slices.Contains(knownNouns, last[0]) // cancel, status
	for i, words := range parts {
		weight := float32(parentWeight)
		if i == len(parts)-1 || ofParent && i == len(parts)-2 {
			weight = 1
		}
		c.addWords(words, weight)
	}
	c.add(parameters, parameterWeight)
	c.addRest(text[m[1]:])
	if !isUpper && len(c.otherProse()) > 0 {
		*c = codeRequest{} // delete /tmp/old.log from the server
		return false
	}
	return true
}

// sentThings are sent by a POST.
var sentThings = strings.Fields("email mail message mms notification sms")

// verbOfPath returns the verb that the last part of a path begins with and its number of words, "" if it
// names things: cancel, turn-off, refunds, bookings.
func verbOfPath(part []string) (verb string, length int) {
	if len(part) > 1 && particles[part[1]] && effect.Of(part[0]+" "+part[1]) != 0 {
		return part[0], 2
	}
	verb = singularOf(part[0])
	switch u := english.Lookup(verb); {
	case strings.HasSuffix(verb, "ing") && effect.Of(verb) == 0 && actionOf(verb)&(effect.Change|effect.End) != 0: // settings, heating
	case actionOf(verb) != 0 && (verb == part[0] && effect.Of(verb) != 0 || len(part) == 1):
		return baseVerb(verb), 1
	case verb == part[0] && u.Verb && (!u.Noun || effect.Of(verb) != 0 && u.VerbCount >= u.NounCount): // search, geocode
		return verb, 1
	}
	return "", 0
}

// isCommand reports whether a verb is rarely a noun, or ends or reads something.
func isCommand(verb string) bool {
	u := english.Lookup(verb)
	return u.Verb && (!u.Noun || effect.Of(verb) == effect.End || slices.Contains(gettingNames, verb) || u.NounCount == 0 && u.VerbCount > 0)
}

// nounsOfActs end names of things that have to do with an act: refund_policy.
var nounsOfActs = strings.Fields("charge charges club code count date deadline fee fees form history limit limits policies policy reason reasons rule rules terms")

// isNoun reports whether a name without parameters is that of a thing, though it begins with a verb.
func (c *codeRequest) isNoun(first, last string) bool {
	return c.isBare && slices.Contains(nounsOfActs, last) && (english.Lookup(first).Noun || slices.Contains(knownNouns, last)) && !slices.Contains(gettingNames, first)
}

// otherProse returns what is said after the code, without its prohibitions.
func (c *codeRequest) otherProse() (words []string) {
	at := 0
	for _, s := range findProhibitions(c.prose) {
		words = append(words, c.prose[at:s.start]...)
		at = s.end
	}
	words = append(words, c.prose[at:]...)
	return slices.DeleteFunc(words, func(w string) bool {
		w = normalizeWord(w)
		return w == "" || slices.Contains(beforeNegation, w) || slices.Contains(clauseJoiners, w)
	})
}

// addRest adds what follows a name or a path: parameters, and what else is said.
func (c *codeRequest) addRest(rest string) {
	rest = strings.TrimLeft(rest, " \t\n,;:.—–-")
	if body, ok := strings.CutPrefix(rest, "{"); ok {
		end := closingBracket(body, '{', '}')
		c.add(body[:end], parameterWeight)
		rest = strings.TrimLeftFunc(body[end:], unicode.IsPunct)
	}
	bare := strings.Contains(rest, "_")
	for field := range strings.FieldsSeq(rest) {
		name, _, _ := strings.Cut(strings.TrimLeft(field, "-"), "=")
		if len(c.prose) == 0 && (assignment.MatchString(field) || bare && parameterName.MatchString(field)) {
			c.add(strings.TrimSuffix(name, ":"), parameterWeight)
			continue
		}
		c.prose = append(c.prose, field)
	}
}

// splitName splits a name of several words, if nothing but parameters and prohibitions follows it:
// list_unpaid_invoices, tasks.insert, get-exchange-rate base=USD.
func (c *codeRequest) splitName(text string) bool {
	m := nameLike.FindStringSubmatchIndex(text)
	if m == nil {
		return false
	}
	name := strings.ReplaceAll(text[m[2]:m[3]], "/", ".") // tasks/complete
	words := strings.Fields(strings.ToLower(tokens.PrepareName(name)))
	after := strings.Fields(text[m[3]:])
	spans := findProhibitions(after)
	if len(words) < 2 || !isNameOfFunction(name, words, len(after) > 0 && (len(spans) == 0 || spans[0].start > 0)) {
		return false
	}
	bare := strings.Contains(name, "_") && strings.Contains(text[m[3]:], "_") && effect.Of(words[0]) != 0 // parameters without values
	quote := ""                                                                                           // that of a value whose end follows: text='the build is green'
	for i, field := range after {
		isForbidden := len(spans) > 0 && spans[0].start <= i
		if isForbidden && i+1 == spans[0].end {
			spans = spans[1:]
		}
		inValue := quote != ""
		if _, value, ok := strings.Cut(field, "="); !inValue && ok && value != "" && strings.ContainsAny(value[:1], "'\"") {
			quote = value[:1]
		}
		if quote != "" && strings.Count(field, quote)%2 == 0 != inValue {
			quote = "" // it ends here
		}
		if !inValue && !isForbidden && !(bare && parameterName.MatchString(field)) && !assignment.MatchString(field) && strings.Trim(field, ",;:.-—'\"") != "" && !slices.Contains(clauseJoiners, normalizeWord(field)) {
			return false
		}
	}
	if last := len(words) - 1; strings.Contains(name, ".") && (effect.Of(words[0]) == 0 || isResource(words[0])) { // orders.cancel
		at := strings.LastIndexByte(name, '.')
		own := strings.Fields(strings.ToLower(tokens.PrepareName(name[at+1:])))
		words = append(own, words[:last+1-len(own)]...)
	}
	c.name = words
	c.addWords(words, 1)
	c.addRest(text[m[3]:])
	c.isBare = len(c.fields) == len(words)
	return true
}

// isNameOfFunction reports whether a name of several words is that of a function, and neither that of
// a brand or a host nor a compound of the language: eBay, example.com, check-in. Most brands and hosts
// have no parameters.
func isNameOfFunction(name string, words []string, hasParameters bool) bool {
	first, last := words[0], words[len(words)-1]
	isVerb := func(w string) bool { return effect.Of(w) != 0 && english.Lookup(w).Verb }
	switch {
	case strings.Contains(name, "_"):
		return true
	case strings.Contains(name, "."):
		parts := strings.Split(name, ".")
		own := strings.Fields(strings.ToLower(tokens.PrepareName(parts[len(parts)-1])))
		isPlural := func(part string) bool { return english.Singular(strings.ToLower(part)) != "" }
		return len(own) > 0 && len(own[0]) > 2 && isVerb(own[0]) && (!isVerb(first) || isResource(first)) &&
			(hasParameters || len(own) > 1 || slices.ContainsFunc(parts[:len(parts)-1], isPlural) || first != "www" && english.Lookup(first).Noun && !slices.Contains(domainVerbs, own[0])) // acme.design is a host
	case strings.Contains(name, "-"):
		return isVerb(first) && !particles[words[1]] && english.Lookup(last).Noun && !slices.Contains(readOnlyWords, strings.ToLower(name)) &&
			(hasParameters || english.Singular(last) != "" || isCommand(first)) &&
			!slices.ContainsFunc(words, func(w string) bool { return w == "per" || slices.Contains(prepositions, w) })
	}
	r := []rune(name)
	if !unicode.IsLower(r[0]) || !isVerb(first) || slices.Contains(words, "my") {
		return false // cleanMyMac
	}
	return hasParameters || isCommand(first) || len(words) > 2 // payPal is a brand
}

// isResource reports whether the first word of a name with a dot is what a function belongs to, though
// it may be a verb: chat.send, message.reply.
func isResource(word string) bool {
	return english.Lookup(word).Noun && effect.Of(word)&(effect.End|effect.Read) == 0 && !slices.Contains(gettingNames, word)
}

// domainVerbs are verbs that are top-level domains, too: cars.rent.
var domainVerbs = strings.Fields("bid book build buy call chat click contact dance date deal design exchange fit fly guide host link live map meet open pay play read rent repair report review run save search select show study support talk trade travel vote watch work zip")

// particles follow a verb in compounds: a check-in, a built-in.
var particles = map[string]bool{
	"about": true, "around": true, "away": true, "back": true, "by": true, "down": true, "in": true, "off": true, "on": true, "out": true, "over": true,
	"through": true, "to": true, "together": true, "up": true,
}

// singularOf returns the singular of a noun in the plural, and another word as it is.
func singularOf(word string) string {
	if singular := english.Singular(word); singular != "" {
		return singular
	}
	return word
}

// parseCode reads a request in the form of code.
func parseCode(a analysis.Analyzer, c codeRequest) Request {
	r := Request{}
	c.addWords(c.otherProse(), proseWeight)
	left := maxTerms
	for i, field := range c.fields {
		terms := tokens.Tokenize(a, tokens.PrepareName(field))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		for _, t := range terms {
			w := Word{Asked: t.Surface, Terms: []tokens.Token{t}, Weight: c.weights[i], Argument: c.weights[i] == parameterWeight}
			if long := abbreviations[strings.ToLower(t.Surface)]; long != "" {
				w.Meanings = tokens.Tokenize(a, long)
			}
			r.Words = append(r.Words, w)
		}
	}
	if len(c.name) > 0 {
		r.Act = c.act()
		if single := particleMeaning(c.name[:min(len(c.name), 2)]); single != "" && r.Act.Verb != "" {
			r.Words = append(r.Words, Word{Asked: strings.Join(c.name[:2], " "), Meanings: tokens.Tokenize(a, single), Weight: phraseWeight})
		}
	}
	r.Act.Question = c.isSafe // GET changes nothing
	r.Act.HasValue = c.hasID
	for _, s := range findProhibitions(c.prose) {
		p := s.Prohibition
		p.Text = strings.Join(c.prose[s.start:s.end], " ")
		r.Prohibitions = append(r.Prohibitions, p)
	}
	r.Acts = []Act{r.Act}
	return r
}

// act returns the act that the name says.
func (c *codeRequest) act() Act {
	first, last := c.name[0], c.name[len(c.name)-1]
	u := english.Lookup(first)
	switch {
	case len(c.name) == 3 && particles[c.name[1]] && slices.Contains(timesOfActs, last):
		return Act{Shows: true, Wanted: Reading} // check_in_date
	case c.isNoun(first, last):
		return Act{} // refund_policy
	}
	act := Act{}
	act.Verb, act.Wanted = parseImperative(c.name)
	switch {
	case act.Verb == "" && (c.method != "" || u.Verb && effect.Of(first) != 0 && (!u.Noun || !slices.Contains(knownNouns, last))):
		act.Verb, act.Wanted = first, effect.Of(first)
	case act.Verb == "" && act.Wanted == 0 && slices.Contains(knownNouns, last):
		act.Shows, act.Wanted = true, Reading // order_status
	}
	if slices.Contains(gettingNames, act.Verb) {
		act.Wanted = Reading // getUser makes none
	}
	if act.Ends = act.Wanted == effect.End || endsSomething(c.name[:min(len(c.name), 2)], 0); act.Ends && len(c.name) > 1 && !particles[last] && !slices.Contains(prepositions, last) {
		act.Object = tokens.StemOf(singularOf(last))
	}
	act.Makes = slices.Contains(makingVerbs, act.Verb)
	return act
}

// timesOfActs follow a verb with a particle in names of things: check_out_time.
var timesOfActs = []string{"date", "time", "times"}

// gettingNames begin the names of functions that only read.
var gettingNames = strings.Fields("fetch find get list load lookup query read retrieve search")
