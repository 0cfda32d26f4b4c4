package aidiscovery

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

func (c *checker) readCapabilities(root *protocol.Node) {
	n := root.Member("capabilities")
	if auth := root.Member("auth").Member("type").Str(); auth != "" && auth != "none" {
		c.credentials = true
	}
	switch {
	case n == nil:
		c.addMissing("AI216", root, "capabilities", "add an array with at least one capability")
		return
	case n.Kind != protocol.Array:
		c.Add("AI217", n, "capabilities is "+describeKind(n.Kind)+", not an array", "write it as an array of objects, each with its own id")
		return
	case len(n.Items) == 0:
		c.Add("AI218", n, "capabilities is empty", "add at least one capability")
		return
	case len(n.Items) > maxCapabilities:
		c.Add("AI426", n, fmt.Sprintf("there are %d capabilities; only the first %d are indexed", len(n.Items), maxCapabilities), "split the service into smaller services, each with its own document")
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		if item.Kind != protocol.Object {
			c.Add("AI401", item, "a capability is "+describeKind(item.Kind)+", not an object", "write an object with id, description, endpoint and method")
			continue
		}
		c.doc.Capabilities = append(c.doc.Capabilities, c.readCapability(item, seen))
	}
}

func (c *checker) readCapability(n *protocol.Node, seen map[string]bool) Capability {
	c.checkNestedMembers(n, "/capabilities/*")
	item := Capability{
		ID:          c.readID(n, seen),
		Description: c.readTextMember(n, "description", textRule{missing: "AI407", kind: "AI408", length: "AI409", max: 200}),
		Endpoint:    c.readEndpoint(n),
		Method:      c.readMethod(n),
		Params:      c.readParams(n.Member("params")),
		Returns:     c.readReturns(n),
		Pointer:     n.Pointer,
	}
	c.pathParams(n, item)
	return item
}

// isID reports whether all of s matches ^[a-z][a-z0-9_]*$; a final line feed is not allowed.
func isID(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && consistsOf(s, func(c byte) bool { return c >= 'a' && c <= 'z' || isDigit(c) || c == '_' })
}

// idFault describes why a text is not an id.
func idFault(text string) string {
	if text == "" {
		return "is empty"
	}
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
		case r >= 'A' && r <= 'Z':
			return "contains the uppercase letter " + protocol.Quote(string(r))
		default:
			return "holds the character " + protocol.Quote(string(r))
		}
	}
	return "does not begin with a letter"
}

// maxID is the highest number of characters of an id.
const maxID = 64

// suggestID returns "did you mean find_note? " for findNote, Find-Note and the like, and "" for a text
// that no id is clearly meant by.
func suggestID(text string) string {
	if len(text) > maxID {
		return ""
	}
	var id strings.Builder
	gap, small := false, false
	for _, r := range protocol.WithoutMarks(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z':
			if id.Len() > 0 && (gap || small && unicode.IsUpper(r)) {
				id.WriteByte('_')
			}
			id.WriteRune(unicode.ToLower(r))
			gap, small = false, !unicode.IsUpper(r)
		case r < unicode.MaxASCII:
			gap = true
		default:
			return ""
		}
	}
	if !isID(id.String()) {
		return ""
	}
	return "did you mean " + id.String() + "? "
}

func (c *checker) readID(parent *protocol.Node, seen map[string]bool) string {
	n := parent.Member("id")
	const help = "use lowercase letters, digits and underscores, a letter first, at most 64 characters"
	switch {
	case n == nil:
		c.addMissing("AI402", parent, "id", help)
		return ""
	case n.Kind != protocol.String:
		c.Add("AI403", n, "id is "+describeKind(n.Kind)+", not a string", help)
		return ""
	}
	if !isID(n.Text) {
		c.Add("AI404", n, "the id "+protocol.Quote(n.Text)+" "+idFault(n.Text), suggestID(n.Text)+help)
	}
	if l := protocol.Length(n.Text); l > maxID {
		c.Add("AI405", n, fmt.Sprintf("the id has %d characters, more than 64", l), help)
	}
	if seen[n.Text] {
		c.Add("AI406", n, "the id "+protocol.Quote(n.Text)+" is used twice", "give each capability its own id")
	}
	seen[n.Text] = true
	for word := range strings.SplitSeq(n.Text, "_") {
		if internalWords[word] {
			c.Add("AI907", n, "the id "+protocol.Quote(n.Text)+" points at an internal function", "leave out what agents in general should not call")
			break
		}
	}
	return n.Text
}

// EndpointForm is the form of an endpoint text.
type EndpointForm uint8

// The forms of an endpoint.
const (
	BadForm     EndpointForm = iota
	Relative                 // a path on the host of the document
	Absolute                 // an http or https URI with a host
	NetworkPath              // looks like a path but names another host
	BadScheme                // a URI that is not http or https, or has no host
)

// hasScheme reports whether text begins with a scheme and a colon (RFC 3986
// §3.1).
func hasScheme(text string) bool {
	scheme, _, ok := strings.Cut(text, ":")
	return ok && scheme != "" && isAlpha(scheme[0]) && consistsOf(scheme, func(c byte) bool { return isAlphanumeric(c) || c == '+' || c == '-' || c == '.' })
}

// isPort reports whether the digits of an address's port are "" or the number of a port.
func isPort(digits string) bool {
	_, err := strconv.ParseUint(digits, 10, 16)
	return digits == "" || err == nil
}

// Endpoint returns the form of an endpoint (§3.3). The URI is nil unless the form is Absolute.
func Endpoint(text string) (EndpointForm, *url.URL) {
	// Browsers drop control characters from an address, so "/\t/host" would
	// become a network path.
	if _, ok := protocol.ControlRune(text); ok {
		return BadForm, nil
	}
	if strings.HasPrefix(text, "//") || strings.HasPrefix(text, `/\`) {
		return NetworkPath, nil
	}
	if strings.HasPrefix(text, "/") {
		return Relative, nil
	}
	// A space ends an address (RFC 3986 §2): what follows is text.
	if !hasScheme(text) || strings.Contains(text, " ") {
		return BadForm, nil
	}
	u, err := url.Parse(text)
	if err != nil || !isPort(u.Port()) {
		return BadForm, nil
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return BadScheme, nil
	}
	return Absolute, u
}

func (c *checker) readEndpoint(parent *protocol.Node) string {
	n := parent.Member("endpoint")
	const help = `write a path such as "/api/notes" or an absolute https address`
	switch {
	case n == nil:
		c.addMissing("AI410", parent, "endpoint", help)
		return ""
	case n.Kind != protocol.String:
		c.Add("AI411", n, "endpoint is "+describeKind(n.Kind)+", not a string", help)
		return ""
	case n.Text == "":
		c.Add("AI412", n, "endpoint is empty", help)
		return ""
	}
	form, u := Endpoint(n.Text)
	path := n.Text
	if _, err := url.Parse(n.Text); form == Relative && (err != nil || strings.Contains(n.Text, " ")) {
		c.Add("AI413", n, "the endpoint "+protocol.Quote(n.Text)+" has a space or a broken escape", "write %20 for a space, and two hexadecimal digits after each %")
	}
	switch form {
	case BadForm:
		c.Add("AI413", n, "the endpoint "+protocol.Quote(n.Text)+" is neither a path that begins with / nor an absolute URI", help)
	case BadScheme:
		c.Add("AI414", n, "the endpoint "+protocol.Quote(n.Text)+" is not an http or https address with a host", help)
	case NetworkPath:
		c.Add("AI415", n, "the endpoint "+protocol.Quote(n.Text)+" looks like a path but leads to another host", "write the address in full, beginning with https://, or a path with one /")
	case Absolute:
		path = u.Path
		c.checkAbsoluteEndpoint(n, u)
	}
	if segment, ok := adminSegment(path); ok && (form == Relative || form == Absolute) {
		c.Add("AI907", n, "the endpoint's path holds "+protocol.Quote(segment)+", which indicates an internal function", "leave out what agents in general should not call")
	}
	return n.Text
}

// checkAbsoluteEndpoint applies the rules for endpoints that name a host.
func (c *checker) checkAbsoluteEndpoint(n *protocol.Node, u *url.URL) {
	if u.Scheme == "http" {
		what := "the endpoint is called without encryption"
		if c.credentials {
			what += ", and the caller's credentials are sent along for anybody to read"
		}
		c.Add("AI903", n, what, "serve it over https, and begin its address with https://")
	}
	if isPrivateHost(u.Hostname()) {
		c.Add("AI906", n, "the endpoint's host "+protocol.Quote(u.Hostname())+" is on a private network", "use a host that callers can reach")
		return
	}
	host := strings.ToLower(u.Hostname())
	if c.o.SameSite != nil && c.o.Host != "" && host != strings.ToLower(c.o.Host) && !c.o.SameSite(c.o.Host, host) {
		c.Add("AI905", n, "the endpoint belongs to another site: "+protocol.Quote(host), "callers may want to know why; nothing is wrong")
	}
}

// internalWords are names of functions that agents in general must not call (§6.1).
var internalWords = map[string]bool{
	"admin": true, "administration": true, "administrator": true, "superadmin": true, "wp-admin": true,
	"internal": true, "debug": true, "actuator": true,
}

// adminSegment finds a path segment that names an internal function. "test"
// counts only in front: /lab/test is a medical test.
func adminSegment(path string) (string, bool) {
	path, _, _ = strings.Cut(path, "?")
	path = strings.Trim(path, "/")
	front := true
	for s := range strings.SplitSeq(path, "/") {
		name := strings.ToLower(strings.Trim(s, "_."))
		if internalWords[name] || front && name == "test" {
			return s, true
		}
		front = false
	}
	return "", false
}

func (c *checker) readMethod(parent *protocol.Node) string {
	n := parent.Member("method")
	const help = "use GET, POST, PUT, DELETE or PATCH, in uppercase"
	switch {
	case n == nil:
		c.addMissing("AI416", parent, "method", help)
		return ""
	case n.Kind != protocol.String:
		c.Add("AI417", n, "method is "+describeKind(n.Kind)+", not a string", help)
		return ""
	}
	if slices.Contains(methods, n.Text) {
		return n.Text
	}
	meant := ""
	// FETCH resembles PATCH and does not mean it.
	if near := english.NearName(strings.TrimSpace(n.Text), methods); near != "" && strings.EqualFold(strings.TrimSpace(n.Text)[:1], near[:1]) {
		meant = "did you mean " + near + "? "
	}
	c.Add("AI418", n, "the method "+protocol.Quote(n.Text)+" is not one of the five methods of the draft", meant+help)
	return n.Text
}

// methods are the methods of the draft (§3.3).
var methods = []string{"GET", "POST", "PUT", "DELETE", "PATCH"}

func (c *checker) readParams(n *protocol.Node) []NamedParam {
	if n == nil {
		return nil
	}
	if n.Kind != protocol.Object {
		c.Add("AI419", n, "params is "+describeKind(n.Kind)+", not an object", `write "params": {"name": "string, required -- what it is"}`)
		return nil
	}
	var params []NamedParam
	for _, m := range n.Items {
		if m.Kind != protocol.String {
			c.Add("AI419", m, "the description of parameter "+protocol.Quote(m.Key)+" is "+describeKind(m.Kind)+", not a string", `write "string, required -- what it is"`)
			continue
		}
		p := ParseParam(m.Text)
		switch base, _, _ := strings.Cut(p.Type, "["); {
		case p.Dialect != Draft:
			c.Add("AI420", m, "the description of parameter "+protocol.Quote(m.Key)+" does not follow the pattern of the draft", "write <type>, <required or optional>[, <constraints>] [-- <description>]")
		case !slices.Contains(paramTypes, base):
			c.Add("AI421", m, "the type "+protocol.Quote(p.Type)+" of parameter "+protocol.Quote(m.Key)+" is not one of the draft", english.DidYouMean(p.Type, []string{"string", "integer", "number", "boolean", "array"})+"use string, integer, number, boolean or array")
		}
		params = append(params, NamedParam{Name: m.Key, Text: m.Text, Param: p})
	}
	return params
}

func (c *checker) readReturns(parent *protocol.Node) string {
	n := parent.Member("returns")
	if n == nil {
		c.addMissing("AI424", parent, "returns", `name the fields of the answer, for example "notes[] {id, text}"`)
		return ""
	}
	if n.Kind != protocol.String {
		c.Add("AI422", n, "returns is "+describeKind(n.Kind)+", not a string", "describe the answer in one string")
		return ""
	}
	if l := protocol.Length(n.Text); l > 300 {
		c.Add("AI423", n, fmt.Sprintf("returns has %d characters, more than 300", l), "name only the fields that matter")
	} else if !NamesFields(n.Text) {
		c.Add("AI424", n, "returns does not say which fields the answer has", `name them, for example "notes[] {id, text}"`)
	}
	return n.Text
}

// PathParams returns the names of the :name and {name} segments of an endpoint,
// in order.
func PathParams(endpoint string) []string {
	endpoint, _, _ = strings.Cut(endpoint, "?")
	var names []string
	for segment := range strings.SplitSeq(endpoint, "/") {
		if name, ok := strings.CutPrefix(segment, ":"); ok && name != "" {
			names = append(names, name)
			continue
		}
		for {
			_, rest, ok := strings.Cut(segment, "{")
			if !ok {
				break
			}
			name, after, ok := strings.Cut(rest, "}")
			if !ok {
				break
			}
			if name != "" {
				names = append(names, name)
			}
			segment = after
		}
	}
	return names
}

func (c *checker) pathParams(n *protocol.Node, item Capability) {
	form, _ := Endpoint(item.Endpoint)
	if form != Relative && form != Absolute {
		return
	}
	names := PathParams(item.Endpoint)
	if len(names) == 0 {
		return
	}
	required := map[string]bool{}
	for _, p := range item.Params {
		required[p.Name] = p.Required || !p.Stated
	}
	for _, name := range names {
		if !required[name] {
			required[name] = true // said once
			c.Add("AI425", n.Member("endpoint"), "params does not declare the path parameter "+protocol.Quote(name)+" as required", "add it to params: "+protocol.Quote(name)+`: "string, required"`)
		}
	}
}
