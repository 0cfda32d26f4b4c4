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
}

var (
	// callLike matches the beginning of a request in the form of a call.
	callLike = regexp.MustCompile(`^\s*[\p{L}_][\p{L}\p{N}_.]*(?:-[\p{L}\p{N}]+)*\(`)
	// pluralMark matches the beginning of a word with an optional ending, which is no call: book(s).
	pluralMark = regexp.MustCompile(`^\s*\p{L}+\((?:s|es|er|in|innen|r|n|x)\)`)
	// httpLike matches an HTTP request, or a verb and a path as AGIS writes them.
	httpLike = regexp.MustCompile(`^\s*(?:curl\s+-X\s*)?([A-Za-z]+)\s+["']?((?:https?://[^\s/]+)?/[^\s"']*)["']?`)
	// nameLike matches a name of several words at the beginning of a request.
	nameLike = regexp.MustCompile(`^\s*(\p{L}[\p{L}\p{N}]*(?:[_.-]\p{L}[\p{L}\p{N}]*)*)(?:[\s:,;]|$)`)
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
	case arrow || callLike.MatchString(text) && !pluralMark.MatchString(text):
		c.splitCall(call, returned)
	case !c.splitHTTP(text) && !c.splitName(text):
		return c, false
	}
	return c, len(c.fields) > 0
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
	if end := strings.LastIndexByte(parameters, ')'); end >= 0 {
		c.prose = strings.Fields(strings.TrimLeftFunc(parameters[end+1:], unicode.IsPunct))
		parameters = parameters[:end]
	}
	if at := strings.IndexAny(returned, ",;.—"); at >= 0 { // lat, lng, and do not store them
		if words := strings.Fields(returned[at+1:]); len(findProhibitions(words)) > 0 {
			returned, c.prose = returned[:at], words
		}
	}
	c.add(name, 1)
	c.name = strings.Fields(strings.ToLower(tokens.PrepareName(strings.Join(c.fields, " "))))
	c.add(parameters, parameterWeight)
	c.add(returned, returnedWeight)
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
	if verb := singularOf(last[0]); c.method == "create" && actionOf(verb) != 0 && (verb == last[0] || len(last) == 1) {
		c.method = verb // POST /refunds
	}
	if c.method == "retrieve" && !c.hasID && english.Singular(last[len(last)-1]) != "" {
		c.method = "list"
	}
	c.name = append([]string{c.method}, last...)
	if verb := singularOf(last[0]); verb == c.method {
		if c.name = last; verb != last[0] {
			c.name = append([]string{verb}, last[1:]...)
		}
		if len(last) == 1 && len(parts) > 1 { // cancel: its object is before it
			c.name = append(slices.Clone(c.name), parts[len(parts)-2]...)
		}
	} else {
		c.fields, c.weights = append(c.fields, c.method), append(c.weights, methodWeight)
	}
	ofParent := len(last) == 1 && (singularOf(last[0]) == c.method || slices.Contains(knownNouns, last[0])) // cancel, status
	for i, words := range parts {
		weight := float32(parentWeight)
		if i == len(parts)-1 || ofParent && i == len(parts)-2 {
			weight = 1
		}
		c.addWords(words, weight)
	}
	c.add(parameters, parameterWeight)
	c.addRest(text[m[1]:])
	return true
}

// addRest adds what follows a name or a path: parameters, and what else is said.
func (c *codeRequest) addRest(rest string) {
	rest = strings.TrimLeft(rest, " \t\n,;:.—–-")
	if strings.HasPrefix(rest, "{") { // a body
		c.add(rest, parameterWeight)
		return
	}
	for field := range strings.FieldsSeq(rest) {
		name, _, _ := strings.Cut(strings.TrimLeft(field, "-"), "=")
		if len(c.prose) == 0 && (assignment.MatchString(field) || strings.Contains(rest, "_") && parameterName.MatchString(field)) {
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
	name := text[m[2]:m[3]]
	words := strings.Fields(strings.ToLower(tokens.PrepareName(name)))
	if len(words) < 2 || !isNameOfFunction(name, words) {
		return false
	}
	after := strings.Fields(text[m[3]:])
	spans := findProhibitions(after)
	bare := strings.Contains(name, "_") && strings.Contains(text[m[3]:], "_") && effect.Of(words[0]) != 0 // parameters without values
	for i, field := range after {
		isForbidden := slices.ContainsFunc(spans, func(s prohibitionSpan) bool { return s.start <= i && i < s.end })
		if !isForbidden && !(bare && parameterName.MatchString(field)) && !assignment.MatchString(field) && strings.Trim(field, ",;:.-—'\"") != "" && !slices.Contains(clauseJoiners, normalizeWord(field)) && !endsAssignment(after[:i+1]) {
			return false
		}
	}
	if last := len(words) - 1; strings.Contains(name, ".") && effect.Of(words[0]) == 0 { // orders.cancel
		at := strings.LastIndexByte(name, '.')
		own := strings.Fields(strings.ToLower(tokens.PrepareName(name[at+1:])))
		words = append(own, words[:last+1-len(own)]...)
	}
	c.name = words
	c.addWords(words, 1)
	c.addRest(text[m[3]:])
	return true
}

// endsAssignment reports whether the last of words belongs to a quoted value that begins in one
// before: text='the build is green'.
func endsAssignment(words []string) bool {
	for i := len(words) - 1; i >= 0; i-- {
		_, value, ok := strings.Cut(words[i], "=")
		if ok && value != "" && strings.ContainsRune("'\"", rune(value[0])) {
			return strings.Count(strings.Join(words[i:len(words)-1], " "), value[:1])%2 == 1
		}
	}
	return false
}

// isNameOfFunction reports whether a name of several words is that of a function, and neither that of
// a brand or a host nor a compound of the language: eBay, example.com, check-in.
func isNameOfFunction(name string, words []string) bool {
	first, last := words[0], words[len(words)-1]
	isVerb := func(w string) bool { return effect.Of(w) != 0 && english.Lookup(w).Verb }
	switch {
	case strings.Contains(name, "_"):
		return true
	case strings.Contains(name, "."):
		_, last, _ := strings.Cut(name[strings.LastIndexByte(name, '.'):], ".")
		own := strings.Fields(strings.ToLower(tokens.PrepareName(last)))
		return len(own) > 0 && len(own[0]) > 2 && isVerb(own[0]) && !isVerb(words[0])
	case strings.Contains(name, "-"):
		return isVerb(first) && !particles[words[1]] && english.Lookup(last).Noun && !slices.Contains(readOnlyWords, strings.ToLower(name)) &&
			(len(words) > 2 || english.Singular(last) != "" || !english.Lookup(first).Noun)
	}
	r := []rune(name)
	return unicode.IsLower(r[0]) && isVerb(first)
}

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
		first, last := c.name[0], c.name[len(c.name)-1]
		r.Act.Verb, r.Act.Wanted = parseImperative(c.name)
		if u := english.Lookup(first); c.method != "" || u.Verb && effect.Of(first) != 0 && (!u.Noun || !slices.Contains(knownNouns, last)) {
			r.Act.Verb, r.Act.Wanted = first, effect.Of(first)
		}
		if r.Act.Verb == "" && r.Act.Wanted == 0 && slices.Contains(knownNouns, last) {
			r.Act.Shows, r.Act.Wanted = true, Reading // order_status
		}
		if slices.Contains(gettingNames, c.name[0]) {
			r.Act.Wanted = Reading // getUser makes none
		}
		if r.Act.Ends = endsSomething(c.name[:1], 0); r.Act.Ends && len(c.name) > 1 {
			r.Act.Object = tokens.StemOf(singularOf(last))
		}
		r.Act.Makes = slices.Contains(makingVerbs, r.Act.Verb)
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

// gettingNames begin the names of functions that only read.
var gettingNames = strings.Fields("fetch find get list load lookup query read retrieve search")
