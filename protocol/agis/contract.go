package agis

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// checkContract is pass 8 for one endpoint (§7).
func (c *checker) checkContract(endpoint *protocol.Node) {
	for _, block := range []struct{ field, missing string }{{"input", "AGIS801"}, {"output", "AGIS802"}} {
		n := endpoint.Member(block.field)
		if n == nil || n.Kind == protocol.Null {
			c.Add(block.missing, placeOfAbsence(n, endpoint), block.field+" is missing", "add a JSON Schema, for example "+block.field+": {type: object, properties: {…}}")
			continue
		}
		c.checkSchema(n)
	}
	n := endpoint.Member("errors")
	if n == nil || n.Kind == protocol.Null {
		c.Add("AGIS803", placeOfAbsence(n, endpoint), "errors is missing", "list the names of possible errors, for example [reservation_unavailable]")
		return
	}
	c.checkErrors(n)
}

// genericErrors are names of errors that do not tell what went wrong (§7).
var genericErrors = map[string]bool{
	"error": true, "errors": true, "failure": true, "failed": true, "unknown": true, "exception": true,
	"unknown_error": true, "general_error": true, "generic_error": true,
	"err": true, "fail": true, "other": true, "generic": true, "unspecified": true, "unspecified_error": true,
	"internal_error": true, "internal_server_error": true, "server_error": true,
}

// isGenericError reports whether a name of an error does not tell what went wrong, however its
// words are joined.
func isGenericError(name string) bool {
	return len(name) <= maxKnownError && genericErrors[strings.Join(splitSegment(name), "_")]
}

// maxKnownError is the length up to which a name is looked up among the generic ones.
const maxKnownError = 32

func (c *checker) checkErrors(n *protocol.Node) {
	const help = "write a list of names, or of mappings with name and description"
	if n.Kind != protocol.Array || len(n.Items) == 0 {
		message := "errors is " + describeKind(n.Kind) + ", not a list"
		if n.Kind == protocol.Array {
			message = "errors lists nothing"
		}
		c.Add("AGIS806", n, message, help)
		return
	}
	seen := map[string]bool{}
	var generic []*protocol.Node
	named, described := 0, true
	for _, item := range n.Items {
		name := item.Str()
		if item.Kind == protocol.Object {
			name = item.Member("name").Str()
		}
		described = described && item.Member("description").Str() != ""
		if strings.TrimSpace(name) == "" {
			c.Add("AGIS806", item, "an error has no name", help)
			continue
		}
		named++
		if seen[name] {
			c.Add("AGIS815", item, "the error "+protocol.Quote(name)+" is listed twice", "remove one of them")
		}
		seen[name] = true
		if isGenericError(name) {
			generic = append(generic, item)
		}
	}
	switch {
	case len(generic) > 0 && len(generic) == named:
		c.Add("AGIS807", n, "every error name is generic", "name the error, for example reservation_unavailable")
	case len(generic) > 0:
		c.Add("AGIS808", generic[0], "the error name "+protocol.Quote(generic[0].Str()+generic[0].Member("name").Str())+" is generic", "name the error, for example reservation_unavailable")
	}
	if !described {
		c.Add("AGIS814", n, "an error has no description", "write {name: …, description: …}")
	}
}

// checkRequired checks the names of an input or output (AGIS810 to 813).
func (c *checker) checkRequired(n *protocol.Node) {
	if m := n.Member("optional"); m != nil {
		c.AddKey("AGIS811", m, "JSON Schema has no keyword optional; a reader ignores it", "leave the name out of required instead")
	}
	properties := n.Member("properties")
	if n.Key == "input" {
		if t := n.Member("type"); t != nil && !slices.Contains(append(t.Strs(), t.Str()), "object") && typeNamesValid(t) {
			c.Add("AGIS812", t, "input is "+protocol.Quote(typeOf(n))+", not an object", "write type: object and put the parameters under properties")
		}
		if p := tree.Members(properties); len(p) > MaxParameters {
			c.AddKey("AGIS106", properties, fmt.Sprintf("the input has %d parameters; only the first %d are indexed", len(p), MaxParameters), "group them, or split the endpoint")
		}
		for _, m := range tree.Members(properties) {
			if !snakeCase(m.Key) {
				c.AddKey("AGIS813", m, "the parameter name "+protocol.Quote(m.Key)+" is not snake_case", "write it in lowercase with underscores")
			}
		}
	}
	// Names may also be defined by a reference or a combination of schemas.
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties", "additionalProperties", "if"} {
		if n.Member(keyword) != nil {
			return
		}
	}
	for _, item := range n.Member("required").Elements() {
		if item.Kind == protocol.String && c.doc.refs.findMember(properties, item.Text) == nil {
			c.Add("AGIS810", item, "required lists "+protocol.Quote(item.Text)+", which properties does not define", "define it under properties")
		}
	}
}

// snakeCase reports whether s consists of words of lowercase letters and digits joined by single
// underscores and begins with a letter.
func snakeCase(s string) bool {
	if s == "" || !isLower(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		joint := s[i] == '_' && s[i-1] != '_' && i+1 < len(s)
		if !isLower(s[i]) && !(s[i] >= '0' && s[i] <= '9') && !joint {
			return false
		}
	}
	return true
}
