package agis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// A methodError is one problem of a method identifier.
type methodError struct{ code, message, help string }

// prohibited are the methods that the draft forbids by name: the HTTP methods of §4.3, and the
// examples of §4.2 with the stop words of §9.2(b).
var prohibited = map[string]methodError{
	"AVAILABLE": {"AGIS302", "describes a state, not an action", "say what is to be done, for example CHECK"},
	"ACTIVE":    {"AGIS302", "describes a condition, not an action", "say what is to be done, for example ACTIVATE or LIST"},
	"OPEN":      {"AGIS302", "is listed by the draft as a state", "say what is to be done, for example START, CREATE or UNLOCK"},
	"VALID":     {"AGIS302", "describes a state, not an action", "say what is to be done, for example VALIDATE"},
	"EXISTS":    {"AGIS303", "expresses existence, not an action", "say what is to be done, for example CHECK"},
	"IS":        {"AGIS303", "expresses being, not an action", "say what is to be done, for example CHECK"},
	"HAS":       {"AGIS303", "expresses having, not an action", "say what is to be done, for example CHECK"},
	"DATA":      {"AGIS304", "is a noun, not an action", "say what is to be done with the data, for example RETRIEVE"},
	"STATUS":    {"AGIS304", "is a noun, not an action", "say what is to be done, for example CHECK or TRACK"},
	"INFO":      {"AGIS304", "is a noun, not an action", "say what is to be done, for example DESCRIBE"},
}

// httpMethods maps the names of §4.3 to verbs with the same meaning.
var httpMethods = map[string]string{
	"GET": "RETRIEVE or FIND", "POST": "CREATE or SEND", "PUT": "REPLACE or STORE", "DELETE": "REMOVE or CANCEL",
	"PATCH": "MODIFY or UPDATE", "HEAD": "CHECK", "OPTIONS": "DESCRIBE", "CONNECT": "LINK or JOIN", "TRACE": "TRACK",
}

// oneVerb is the help for a method that is not a single word.
const oneVerb = "use one imperative verb of the letters A to Z and put the noun into the path, for example BOOK /reservation"

// methodFault returns the reason why passes 2 and 3 refuse an identifier as a method. The code is
// "" if there is no problem, or only a warning.
func methodFault(method string) methodError {
	f := judgeMethod(method)
	if rules[f.code].Severity < protocol.Error {
		return methodError{}
	}
	return f
}

// judgeMethod applies passes 2 and 3 to an identifier that is not empty. The code is "" if there is
// no finding.
func judgeMethod(method string) methodError {
	f := findFault(method)
	if f.code != "" {
		f.message = "the method " + protocol.Quote(method) + " " + f.message
	}
	return f
}

// findFault returns the first problem: in the form of the token, then among the names that the
// draft prohibits, then in the word itself. The message lacks its subject.
func findFault(method string) methodError {
	if f := formFault(method); f.code != "" {
		return f
	}
	name := strings.ToUpper(method)
	if verbs, ok := httpMethods[name]; ok {
		return methodError{"AGIS301", "is an HTTP method, which is prohibited", "use a verb for the action, for example " + verbs}
	}
	if f, ok := prohibited[name]; ok {
		return f
	}
	return wordFault(strings.ToLower(method))
}

// formFault checks the form of a token, without a dictionary (§4.1).
func formFault(method string) methodError {
	letters, capital := true, false
	for i := range len(method) {
		b := method[i]
		letters = letters && (isLower(b) || isUpper(b))
		capital = capital || i > 0 && isUpper(b) && isLower(method[i-1])
	}
	switch {
	case letters && !capital:
		return methodError{}
	case letters:
		return methodError{"AGIS204", "is several words in one", adviseSeparation(splitIdentifier(method))}
	case strings.ContainsFunc(method, unicode.IsSpace):
		return methodError{"AGIS202", "contains white space", adviseSeparation(splitIdentifier(method))}
	default:
		return methodError{"AGIS203", "holds " + describeForeignCharacter(method) + ", not only the letters A to Z", adviseSeparation(splitIdentifier(method))}
	}
}

// describeForeignCharacter describes the first character that a method must not contain.
func describeForeignCharacter(method string) string {
	for _, r := range method {
		switch {
		case r < utf8.RuneSelf && (isLower(byte(r)) || isUpper(byte(r))):
			continue
		case r == utf8.RuneError:
			return "bytes that are not UTF-8"
		case unicode.IsDigit(r):
			return "the digit " + protocol.Quote(string(r))
		default:
			return "the character " + protocol.Quote(string(r))
		}
	}
	return "nothing"
}

// splitIdentifier returns the words of an identifier that is not one word, in lower
// case, when it is a few words of plain letters; otherwise nil.
func splitIdentifier(method string) []string {
	if len(method) > longestMethod {
		return nil
	}
	var words []string
	begin := true
	for i := range len(method) {
		b := method[i]
		switch {
		case b >= utf8.RuneSelf:
			return nil
		case !isLower(b) && !isUpper(b):
			begin = true
			continue
		case begin || isUpper(b) && isLower(method[i-1]):
			words = append(words, "")
			begin = false
		}
		words[len(words)-1] += strings.ToLower(method[i : i+1])
	}
	return words
}

// adviseSeparation says how to write the words of one identifier as a method
// and a path.
func adviseSeparation(words []string) string {
	if len(words) == 1 && methodFault(strings.ToUpper(words[0])).code == "" {
		return "write " + strings.ToUpper(words[0])
	}
	if len(words) < 2 || len(words) > 5 || !english.Lookup(words[0]).Verb && verbOf(words[0]) == "" {
		return oneVerb
	}
	verb := strings.ToUpper(words[0])
	if base := verbOf(words[0]); base != "" && !english.Lookup(words[0]).Verb {
		verb = strings.ToUpper(base)
	}
	others := ""
	if verbs, ok := httpMethods[verb]; ok {
		verb, _, _ = strings.Cut(verbs, " ")
		others = " (" + strings.ToUpper(words[0]) + " itself is prohibited)"
	}
	if methodFault(verb).code != "" {
		return oneVerb
	}
	return "use one verb and put the noun into the path: " + verb + " /" + strings.Join(words[1:], "-") + others
}

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }
func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

// suggestions is the number of searches for similarly spelled verbs in one document: they are slow
// compared with all other checks.
const suggestions = 100

// checkMethod is passes 2 and 3 for one endpoint.
func (c *checker) checkMethod(endpoint *protocol.Node, method string) {
	n := endpoint.Member("method")
	if method == "" {
		c.refuseMethod(endpoint)
		message := "an endpoint has no method"
		if !isEmpty(n) {
			message = "the method of an endpoint is " + describeKind(n.Kind) + ", not a string"
		}
		c.Add("AGIS201", placeOfAbsence(n, endpoint), message, "write method: and one imperative verb, for example BOOK")
		return
	}
	f := judgeMethod(method)
	if f.code == "AGIS305" && c.suggested < suggestions {
		c.suggested++
		if declared := MeantVerb(method, c.doc.Root.Member("vocabulary").Member("declared_verbs").Strs()); declared != "" {
			c.meantVerb(endpoint, declared)
			f.help = "did you mean " + declared + "? The vocabulary declares it"
		} else if near := suggestVerbs(english.Near(strings.ToLower(method), 3)); near != "" {
			f.help += near
		}
	}
	if f.code != "" {
		c.Add(f.code, n, f.message, f.help)
	}
	if rules[f.code].Severity == protocol.Error {
		c.refuseMethod(endpoint)
		return // its letter case is the least of it
	}
	if strings.ToUpper(method) != method {
		c.Add("AGIS205", n, "the method "+protocol.Quote(method)+" is not in uppercase", "write "+protocol.Quote(strings.ToUpper(method)))
	}
}

// meantVerb records that the method of an endpoint is probably a misspelled verb of the vocabulary.
func (c *checker) meantVerb(endpoint *protocol.Node, verb string) {
	if c.meant == nil {
		c.meant = map[*protocol.Node]string{}
	}
	c.meant[endpoint] = verb
}

// MeantVerb returns the declared verb that a method probably means, if the method is an unknown word
// (AGIS305) that is not declared itself; "" otherwise.
func MeantVerb(method string, declared []string) string {
	if judgeMethod(method).code != "AGIS305" || slices.ContainsFunc(declared, func(v string) bool { return strings.EqualFold(v, method) }) {
		return ""
	}
	verb := strings.ToUpper(english.NearName(method, declared))
	if verb == "" || judgeMethod(verb).code != "" {
		return ""
	}
	return verb
}

// refuseMethod records that the method of an endpoint has an error, so that no later pass treats it
// as a verb.
func (c *checker) refuseMethod(endpoint *protocol.Node) {
	if c.refused == nil {
		c.refused = map[*protocol.Node]bool{}
	}
	c.refused[endpoint] = true
}
