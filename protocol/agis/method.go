package agis

import (
	"strings"

	"gazetteer/protocol"
)

// A methodError is what is wrong with a method identifier.
type methodError struct{ code, message, help string }

// prohibited are the methods that the draft itself rules out: the HTTP methods
// of §4.3, and the examples of §4.2 with the stop words of §9.2(b).
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

// httpMethods are the names of §4.3, each with verbs that say the same.
var httpMethods = map[string]string{
	"GET": "RETRIEVE or FIND", "POST": "CREATE or SEND", "PUT": "REPLACE or STORE", "DELETE": "REMOVE or CANCEL",
	"PATCH": "MODIFY or UPDATE", "HEAD": "CHECK", "OPTIONS": "DESCRIBE", "CONNECT": "LINK or JOIN", "TRACE": "TRACK",
}

// methodFault tells why an identifier cannot be a method, as far as that can be
// told without a dictionary: the form of the token (pass 2) and the methods
// that the draft itself prohibits (pass 3). The code is "" when nothing is
// wrong with it.
func methodFault(method string) methodError {
	const one = "use one imperative verb of the letters A to Z and put the noun into the path, for example BOOK /reservation"
	quoted := "the method " + protocol.Quote(method) + " "
	if strings.ContainsFunc(method, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == 0xA0 || r == 0x3000 }) {
		return methodError{"AGIS202", quoted + "holds white space", one}
	}
	capital := false
	for i := range len(method) {
		b := method[i]
		if !lower(b) && !upper(b) {
			return methodError{"AGIS203", quoted + "holds a character other than the letters A to Z", one}
		}
		capital = capital || i > 0 && upper(b) && lower(method[i-1])
	}
	if capital {
		return methodError{"AGIS204", quoted + "is several words in one", one}
	}
	name := strings.ToUpper(method)
	if verbs, ok := httpMethods[name]; ok {
		return methodError{"AGIS301", quoted + "is an HTTP method, which is prohibited", "use a verb that says what happens, for example " + verbs}
	}
	if f, ok := prohibited[name]; ok {
		return methodError{f.code, quoted + f.message, f.help}
	}
	return methodError{}
}

func lower(b byte) bool { return b >= 'a' && b <= 'z' }
func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

// method is passes 2 and 3 for one endpoint.
func (c *checker) method(endpoint *protocol.Node, method string) {
	n := endpoint.Member("method")
	if method == "" {
		c.Add("AGIS201", place(n, endpoint), "an endpoint has no method", "add method: one imperative verb, for example BOOK")
		return
	}
	f := methodFault(method)
	if f.code != "" {
		c.Add(f.code, n, f.message, f.help)
		return // its letter case is the least of it
	}
	if strings.ToUpper(method) != method {
		c.Add("AGIS205", n, "the method "+protocol.Quote(method)+" is not in upper case", "write "+protocol.Quote(strings.ToUpper(method)))
	}
	if strings.EqualFold(method, "PROCESS") {
		c.Add("AGIS306", n, "PROCESS may name an intent or a state", "use a more specific verb")
	}
}
