package agis

import (
	"regexp"
	"strings"
	"unicode"

	"gazetteer/protocol"
)

// paths is pass 4 (§5).
func (c *checker) paths(endpoints []*protocol.Node) {
	seen := map[string]bool{}
	for i, endpoint := range endpoints {
		n := endpoint.Member("path")
		if n == nil || n.Kind != protocol.String {
			c.Add("AGIS401", place(n, endpoint), "an endpoint has no path", "add path: the noun that the method acts on, for example /reservation")
			continue
		}
		e := c.doc.Endpoints[i]
		c.path(n, e.Method)
		c.pathInput(n, e)
		if e.Method == "" {
			continue
		}
		key := strings.ToUpper(e.Method) + " " + parameter.ReplaceAllString(n.Text, "{}")
		if seen[key] {
			c.Add("AGIS411", n, "another endpoint has the same method and path", "merge the two, or give one of them another path")
		}
		seen[key] = true
	}
}

var parameter = regexp.MustCompile(`\{[^{}/]*\}`)

// parameterSegment is the only form of a parameter (§5(d)).
var parameterSegment = regexp.MustCompile(`\A\{([A-Za-z_][A-Za-z0-9_\-]*)\}\z`)

// path judges the text of one path.
func (c *checker) path(n *protocol.Node, method string) {
	path := n.Text
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		c.Add("AGIS403", n, "the path holds a query or a fragment", "put inputs into the input schema")
		path = path[:i]
	}
	if !strings.HasPrefix(path, "/") {
		c.Add("AGIS402", n, "the path "+protocol.Quote(path)+" does not begin with /", "write "+protocol.Quote("/"+strings.ToLower(path)))
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch first := segments[0]; {
	case len(segments) == 1 && first == "":
		c.Add("AGIS409", n, "the path names nothing", "begin it with a noun, for example /reservation")
		return
	case isParameter(first):
		c.Add("AGIS409", n, "the path begins with a parameter", "begin it with a noun, for example /reservation/{id}")
	}
	// One finding a rule, however many segments break it.
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
				report("AGIS407", "the parameter "+protocol.Quote(s)+" is not in the form {name}", "write a segment of its own, for example {id}")
			}
		default:
			nounSegment(s, method, report)
		}
	}
}

// isParameter reports whether a segment means to be a parameter, in whatever
// notation.
func isParameter(s string) bool {
	return strings.ContainsAny(s, "{}<>") || strings.HasPrefix(s, ":")
}

// apiVerbs are verbs of API names that are no nouns. Words that are both, such
// as order or report, stay legal as segments.
var apiVerbs = map[string]bool{
	"get": true, "create": true, "delete": true, "fetch": true, "retrieve": true, "remove": true, "submit": true,
	"generate": true, "calculate": true, "validate": true, "verify": true, "authenticate": true, "authorize": true,
	"modify": true,
}

var separated = regexp.MustCompile(`[A-Za-z][_.+ ]+[A-Za-z]|%20|[^\S ]`)

// nounSegment judges a segment that is not a parameter.
func nounSegment(s, method string, report func(code, message, help string)) {
	words := split(s)
	quoted := protocol.Quote(s)
	if strings.ContainsFunc(s, unicode.IsUpper) {
		report("AGIS405", "the segment "+quoted+" holds an upper-case letter", "write "+protocol.Quote(strings.Join(words, "-")))
	}
	if separated.MatchString(s) {
		report("AGIS406", "the words of the segment "+quoted+" are not joined by hyphens", "write "+protocol.Quote(strings.Join(words, "-")))
	}
	if len(words) == 0 {
		return
	}
	repeats := method != "" && strings.EqualFold(words[0], method)
	camel := len(words) > 1 && !strings.ContainsAny(s, "-_.+ ")
	if apiVerbs[words[0]] || repeats && camel {
		report("AGIS404", "the segment "+quoted+" begins with a verb", "name the thing: the method says what is done with it")
	}
	if repeats {
		report("AGIS408", "the segment "+quoted+" repeats the method", "name the thing only, for example BOOK /reservation")
	}
}

// split cuts a segment into its words, in lower case: at separators and where a
// capital follows a small letter.
func split(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range s {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		if strings.ContainsRune("-_.+", r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// pathInput warns of path parameters that the input does not require.
func (c *checker) pathInput(n *protocol.Node, e Endpoint) {
	input := c.doc.Resolve(e.Input, e.Input)
	if input == nil || input.Kind != protocol.Object || input.Member("allOf") != nil || input.Member("anyOf") != nil || input.Member("oneOf") != nil {
		return // where a property may be defined is not settled
	}
	required := c.requiredOf(input)
	for segment := range strings.SplitSeq(n.Text, "/") {
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
