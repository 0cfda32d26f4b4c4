package agis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// checkPaths is pass 4 (§5).
func (c *checker) checkPaths(endpoints []*protocol.Node) {
	seen := map[string]bool{}
	for i, endpoint := range endpoints {
		n := endpoint.Member("path")
		if isEmpty(n) || n.Kind != protocol.String {
			message := "an endpoint has no path"
			if !isEmpty(n) {
				message = "the path of an endpoint is " + describeKind(n.Kind) + ", not a string"
			}
			c.Add("AGIS401", placeOfAbsence(n, endpoint), message, "add path: the noun that the method acts on, for example /reservation")
			continue
		}
		e := c.doc.Endpoints[i]
		c.checkPath(n, e.Method)
		c.pathInput(n, e)
		if e.Method == "" {
			continue
		}
		key := strings.ToUpper(e.Method) + " " + removeParameterNames(n.Text)
		if seen[key] {
			c.Add("AGIS411", n, "another endpoint has the same method and path", "merge the two, or give one of them another path")
		}
		seen[key] = true
	}
}

// removeParameterNames returns a path without the names of its parameters.
func removeParameterNames(path string) string {
	if !strings.Contains(path, "{") {
		return path
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(path, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte('{')
		if end := strings.IndexAny(rest, "{}/"); end > 0 && rest[end] == '}' {
			rest = rest[end:]
		}
		path = rest
	}
}

// parameterSegment is the only form of a parameter (§5(d)).
var parameterSegment = regexp.MustCompile(`\A\{([A-Za-z_][A-Za-z0-9_\-]*)\}\z`)

// parameterName finds the intended name of a parameter in any notation.
var parameterName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{0,40}`)

// maxSegments is the number of segments of a path that are checked.
const maxSegments = 100

// checkPath judges the text of one path.
func (c *checker) checkPath(n *protocol.Node, method string) {
	path := n.Text
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		c.Add("AGIS403", n, "the path contains a query or a fragment", "end the path before it and put the inputs into the input schema")
		path = path[:i]
	}
	if !strings.HasPrefix(path, "/") {
		c.Add("AGIS402", n, "the path "+protocol.Quote(path)+" does not begin with /", "write "+protocol.Quote("/"+strings.ToLower(strings.TrimLeft(path, "./ "))))
	}
	segments := strings.SplitN(strings.TrimPrefix(path, "/"), "/", maxSegments+1)
	segments = segments[:min(len(segments), maxSegments)]
	switch first := segments[0]; {
	case len(segments) == 1 && first == "":
		c.Add("AGIS409", n, "the path names nothing", "begin it with a noun, for example /reservation")
		return
	case isParameter(first):
		c.Add("AGIS409", n, "the path begins with a parameter", "begin it with a noun, for example /reservation/{id}")
	}
	// Each rule reports at most one finding, even if several segments break it.
	found := map[string]bool{}
	report := func(code, message, help string) {
		if !found[code] {
			found[code] = true
			c.Add(code, n, message, help)
		}
	}
	for _, s := range segments {
		switch {
		case s == "":
			report("AGIS410", "the path has an empty segment or ends in /", "remove the extra /")
		case isParameter(s):
			if !parameterSegment.MatchString(s) {
				report("AGIS407", "the parameter "+protocol.Quote(s)+" is not in the form {name}", "write a separate segment in braces, for example {"+cmp.Or(parameterName.FindString(s), "id")+"}")
			}
		default:
			nounSegment(s, method, report)
		}
	}
}

// isParameter reports whether a segment is intended as a parameter, in any notation.
func isParameter(s string) bool {
	return strings.ContainsAny(s, "{}<>[]()*") || strings.HasPrefix(s, ":") || strings.HasPrefix(s, "$")
}

// apiVerbs are verbs of API names that are so rare as nouns that in a path they are verbs. Words
// that are both, such as order or report, are allowed as segments, and so are nouns that these
// verbs form with a particle (add-on).
var apiVerbs = map[string]bool{
	"get": true, "create": true, "delete": true, "fetch": true, "retrieve": true, "remove": true, "submit": true,
	"generate": true, "calculate": true, "validate": true, "verify": true, "authenticate": true, "authorize": true,
	"modify": true, "find": true, "send": true, "cancel": true, "add": true, "edit": true, "insert": true,
	"revoke": true, "begin": true, "initiate": true,
}

// heads are nouns that follow a verb to name a purpose: an unsubscribe link, an activate button.
// Nouns that verbs also act on are not in the list, because revoke-token describes an act on a
// token.
var heads = map[string]bool{
	"link": true, "button": true, "form": true, "page": true, "screen": true, "attempt": true,
}

// verbForm reports whether a segment of these words begins with a verb: one of API names, a word
// that English uses as nothing else, or such a word in the third person (exists, is-open) or with
// -ing (creating-order).
func verbForm(words []string) bool {
	first, last := words[0], words[len(words)-1]
	if len(words) > 1 && (slices.Contains(particles, words[1]) || slices.Contains(particles, strings.TrimSuffix(words[1], "s"))) {
		return false // add-on, follow-ups
	}
	if apiVerbs[first] {
		return true
	}
	if len(words) > 1 && (heads[last] || heads[strings.TrimSuffix(last, "s")]) {
		return false
	}
	if len(words) > 1 && states[first] || onlyVerb(first) {
		return true
	}
	gerund := strings.HasSuffix(first, "ing")
	if !gerund && !strings.HasSuffix(first, "s") || english.Lookup(first).Known() || listed().noun[first] || english.Singular(first) != "" {
		return false
	}
	bases := english.Base(first)
	if gerund && slices.ContainsFunc(bases, func(base string) bool { return apiVerbs[base] }) {
		return true
	}
	return len(bases) == 1 && onlyVerb(bases[0])
}

// states are the first words of names that ask whether something is true.
var states = map[string]bool{"is": true, "are": true, "was": true, "has": true}

// onlyVerb reports whether a word is only a verb, both in the dictionary and in the English of
// programmers.
func onlyVerb(word string) bool {
	use := english.Lookup(word)
	return use.Verb && !use.Noun && !use.Adjective && !use.Adverb && !listed().noun[word]
}

// commandInOne reports whether a segment joins a verb of API names and a noun in one word: getuser,
// createorder.
func commandInOne(segment string) bool {
	if len(segment) > longestMethod || english.Lookup(segment).Known() || english.Lookup(english.Singular(segment)).Known() {
		return false
	}
	words := splitCompound(segment)
	return len(words) > 1 && apiVerbs[words[0]]
}

// runsOn reports whether a segment joins the method and a noun in one word: bookreservation, but
// not bookkeeping.
func runsOn(segment, method string) bool {
	rest, ok := strings.CutPrefix(segment, strings.ToLower(method))
	return ok && method != "" && len(rest) > 2 && english.Lookup(rest).Noun && !english.Lookup(segment).Known() && !english.Lookup(english.Singular(segment)).Known()
}

// segmentSeparators are characters that join words of a segment. Only the hyphen is allowed (§5(c)).
const segmentSeparators = "-_.+ ,;:~@|&="

var separated = regexp.MustCompile(`[A-Za-z0-9][_+ ,;:~@|&=]+[A-Za-z0-9]|[A-Za-z][_.+ ]+[A-Za-z]|%20|[^\S ]|--|\A[-_]|[-_]\z`)

// nounSegment checks a segment that is not a parameter.
func nounSegment(s, method string, report func(code, message, help string)) {
	words := splitSegment(s)
	quoted := protocol.Quote(s)
	if strings.ContainsFunc(s, unicode.IsUpper) {
		report("AGIS405", "the segment "+quoted+" contains an uppercase letter", "write "+protocol.Quote(strings.Join(words, "-")))
	}
	if strings.ContainsAny(s, segmentSeparators+"%\t\n\f\r") && separated.MatchString(s) {
		report("AGIS406", "the words of the segment "+quoted+" are not joined by single hyphens", "write "+protocol.Quote(strings.Join(words, "-")))
	}
	if len(words) == 0 {
		return
	}
	repeats := method != "" && strings.EqualFold(words[0], method) || runsOn(s, method)
	camel := len(words) > 1 && !strings.ContainsAny(s, segmentSeparators)
	if verbForm(words) || repeats && camel || len(words) == 1 && commandInOne(words[0]) {
		begins := " begins with a verb"
		if len(words) == 1 && !commandInOne(words[0]) {
			begins = " is a verb"
		}
		report("AGIS404", "the segment "+quoted+begins, "name the object, for example /reservation: the method names the action")
	}
	if repeats {
		report("AGIS408", "the segment "+quoted+" repeats the method", "name the thing only, for example BOOK /reservation")
	}
}

// splitSegment splits a segment into its words, in lower case: at separators and where a capital
// follows a lowercase letter.
func splitSegment(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range strings.ReplaceAll(s, "%20", " ") {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		if strings.ContainsRune(segmentSeparators, r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// pathInput reports path parameters that the input does not require.
func (c *checker) pathInput(n *protocol.Node, e Endpoint) {
	input := c.doc.Resolve(e.Input, e.Input)
	if input == nil || input.Kind != protocol.Object || input.Member("allOf") != nil || input.Member("anyOf") != nil || input.Member("oneOf") != nil {
		return // where a property may be defined is not settled
	}
	if !strings.Contains(n.Text, "{") {
		return
	}
	required := c.requiredOf(input)
	for _, segment := range strings.SplitN(n.Text, "/", maxSegments) {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		m := parameterSegment.FindStringSubmatch(segment)
		if m != nil && !required[m[1]] {
			c.Add("AGIS412", n, "the path parameter "+protocol.Quote(m[1])+" is not a required input", "define it under input.properties and list it in input.required")
		}
	}
}

// requiredOf returns the names that a schema requires.
func (c *checker) requiredOf(schema *protocol.Node) map[string]bool {
	if required, ok := c.inputs[schema]; ok {
		return required
	}
	required := map[string]bool{}
	for _, name := range schema.Member("required").Strs() {
		required[name] = true
	}
	if c.inputs == nil {
		c.inputs = map[*protocol.Node]map[string]bool{}
	}
	c.inputs[schema] = required
	return required
}
