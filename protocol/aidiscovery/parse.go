package aidiscovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/english"
)

// Sizes of §4.5, in bytes: 64 and 256 kilobytes.
const (
	SoftSize = 65536
	HardSize = 262144
)

// maxCapabilities is the number of capabilities that a reader should process (§6.5).
const maxCapabilities = 100

// Options gives [Parse] information that the bytes lack. The zero value is usable.
type Options struct {
	Limits protocol.Limits
	// Host is the host that the document was requested from, for example "example.com". If it is
	// empty, rules about foreign endpoints are skipped.
	Host string
	// SameSite reports whether two hosts belong to one registrable domain. If it is nil, rules
	// about foreign endpoints are skipped.
	SameSite func(a, b string) bool
	// Now is compared with meta.last_updated, unless it is zero.
	Now time.Time
}

// Parse reads one document and applies the rules of the draft to it. Problems of the document are
// findings. The error is for bytes that are not an AI Discovery document: it wraps
// [protocol.ErrUnreadable] or [protocol.ErrOtherFormat]; the document is then nil and the findings
// say why.
func Parse(text []byte, o Options) (*Document, []protocol.Finding, error) {
	o.Limits = o.Limits.OrDefault()
	c := &checker{Report: protocol.NewReport(rules, o.Limits), o: o}
	size := len(text)
	text, marked := protocol.TrimBOM(text)
	if marked {
		c.Add("AI202", nil, "the document begins with a byte order mark", "save the file as UTF-8 without a byte order mark (RFC 8259 §8.1)")
	}
	root, err := protocol.ReadJSON(text, o.Limits)
	if err != nil {
		c.reportUnreadable(err)
		return nil, c.Findings(), fmt.Errorf("read AI Discovery document: %w: %w", protocol.ErrUnreadable, err)
	}
	if root.Kind != protocol.Object {
		c.Add("AI204", root, "the document is "+describeKind(root.Kind)+", not an object", "put the members aiendpoint, service and capabilities into one JSON object")
		return nil, c.Findings(), fmt.Errorf("read AI Discovery document: %w: top level is %s", protocol.ErrUnreadable, describeKind(root.Kind))
	}
	if name, ok := otherFormat(root); ok {
		c.Add("AI120", root, "this is a document of another format: "+name, "nothing is wrong with that; an AI Discovery document has the member aiendpoint")
		return nil, c.Findings(), fmt.Errorf("read AI Discovery document: %w: %s", protocol.ErrOtherFormat, name)
	}
	c.checkSize(root, size)
	return c.readDocument(root), c.Findings(), nil
}

// checker runs the rules on a tree and fills the typed document.
type checker struct {
	*protocol.Report
	o   Options
	doc Document
	// strict is set for a document of version 1.0: later versions may have members that this reader
	// does not define (§4.4).
	strict bool
	// credentials says that auth requires callers to send credentials.
	credentials bool
}

func (c *checker) reportUnreadable(err error) {
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok {
		syntax = &protocol.SyntaxError{Message: err.Error()}
	}
	switch syntax.Problem {
	case protocol.NotUTF8:
		c.AddSyntax("AI201", syntax, "save the file as UTF-8")
	case protocol.Duplicate:
		c.AddSyntax("AI205", syntax, "remove one of the two: readers differ in which one they see")
	case protocol.TooDeep:
		c.AddSyntax("AI206", syntax, "a conforming document nests four levels deep")
	case protocol.TooMany, protocol.TooLongNumber:
		c.AddSyntax("AI207", syntax, "a conforming document stays far below this limit")
	case protocol.TooLarge:
		c.AddSyntax("AI116", syntax, "split the service into smaller services, each with its own document")
	default:
		c.AddSyntax("AI203", syntax, cmp.Or(protocol.DescribeJSONRepair(syntax.Message), "serve a single JSON object"))
	}
}

func (c *checker) checkSize(root *protocol.Node, size int) {
	switch {
	case size > HardSize:
		c.Add("AI116", root, fmt.Sprintf("the document has %d bytes, more than %d", size, HardSize), "split the service into smaller services, each with its own document")
	case size > SoftSize:
		c.Add("AI115", root, fmt.Sprintf("the document has %d bytes, more than %d", size, SoftSize), "shorten the texts or split the service")
	}
}

// formats lists other published formats that occur at this address, each with the members that
// identify it.
var formats = []struct {
	name string
	all  []string // all of these
}{
	{"Rootz AI discovery (specVersion, organization)", []string{"specVersion", "organization"}},
	{"OpenAPI", []string{"openapi"}},
	{"OpenAPI 2 (Swagger)", []string{"swagger"}},
	{"AI plugin manifest", []string{"schema_version", "name_for_model"}},
	{"A2A agent card", []string{"skills", "protocolVersion"}},
	{"AGIS summary", []string{"agis", "agis_document"}},
	{"AGIS document", []string{"agis", "endpoints"}},
}

// otherFormat recognizes documents of other projects, so that they are not
// reported as broken ones (§4.3).
func otherFormat(root *protocol.Node) (string, bool) {
	if root.Member("aiendpoint") != nil {
		return "", false
	}
	for _, f := range formats {
		found := 0
		for _, name := range f.all {
			if root.Member(name) != nil {
				found++
			}
		}
		if found == len(f.all) {
			return f.name, true
		}
	}
	schema := root.Member("$schema").Str()
	if schema != "" && !strings.Contains(schema, "aiendpoint") {
		return "JSON with $schema " + protocol.Quote(schema), true
	}
	return "", false
}

// memberNames are the members that the draft defines (§3), by the shape of the pointer of their
// object.
var memberNames = map[string][]string{
	"":                {"aiendpoint", "service", "capabilities", "auth", "token_hints", "rate_limits", "meta"},
	"/service":        {"name", "description", "category", "language"},
	"/capabilities/*": {"id", "description", "endpoint", "method", "params", "returns"},
	"/auth":           {"type", "header", "docs"},
	"/token_hints":    {"compact_mode", "field_filtering", "delta_support"},
	"/rate_limits":    {"requests_per_minute", "agent_tier_available"},
	"/meta":           {"last_updated", "changelog", "status"},
}

// MemberNames returns the members that the draft defines for the object at a JSON Pointer, nil if it
// defines no object there.
func MemberNames(pointer string) []string { return memberNames[protocol.PointerShape(pointer)] }

func (c *checker) readDocument(root *protocol.Node) *Document {
	c.checkVersion(root)
	if c.strict {
		for _, m := range root.Items {
			if top := memberNames[""]; !slices.Contains(top, m.Key) {
				c.AddKey("AI219", m, "the draft has no top-level member "+protocol.Quote(m.Key), suggestPlace("", m.Key))
			}
		}
	}
	c.readService(root)
	c.readCapabilities(root)
	c.readAuth(root)
	c.tokenHints(root)
	c.rateLimits(root)
	c.readMeta(root)
	c.checkTexts(root)
	c.doc.Root = root
	return &c.doc
}

func (c *checker) checkVersion(root *protocol.Node) {
	n := root.Member("aiendpoint")
	const help = `write "aiendpoint": "1.0"`
	switch {
	case n == nil:
		c.addMissing("AI210", root, "aiendpoint", help)
	case n.Kind != protocol.String:
		c.strict = n.Kind == protocol.Number // 1.0 without quotes
		c.Add("AI211", n, "aiendpoint is "+describeKind(n.Kind)+", not a string", help)
	case n.Text == "1.0":
		c.strict = true
	case newerVersion(n.Text):
		c.Add("AI213", n, "aiendpoint "+protocol.Quote(n.Text)+" is newer than 1.0; the document is read by the rules of 1.0", "")
	default:
		c.strict = true
		c.Add("AI212", n, "aiendpoint "+protocol.Quote(n.Text)+" is not a known version", help)
	}
	c.doc.Version = n.Str()
}

// newerVersion reports whether s is a dotted version above 1.0, compared by component: 1.10 is above
// 1.9. A component has any number of digits; zeros lead only those after the first, as in 2026.09.
func newerVersion(s string) bool {
	first, _, _ := strings.Cut(s, ".")
	if first == "" || first[0] == '0' {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || !consistsOf(part, isDigit) {
			return false
		}
	}
	return first != "1" || strings.Trim(s[len(first):], ".0") != ""
}

// readObject returns the optional member of that name if it is an object, and
// reports it if it is anything else.
func (c *checker) readObject(root *protocol.Node, name string) *protocol.Node {
	n := root.Member(name)
	if n == nil || n.Kind == protocol.Object {
		return n
	}
	c.Add("AI221", n, name+" is "+describeKind(n.Kind)+", not an object", "make it an object or leave it out")
	return nil
}

// checkNestedMembers warns of members of the object of a shape that the draft does not define (its
// JSON Schema forbids them, its text does not).
func (c *checker) checkNestedMembers(n *protocol.Node, shape string) {
	if !c.strict {
		return
	}
	for _, m := range n.Items {
		if !slices.Contains(memberNames[shape], m.Key) {
			c.AddKey("AI220", m, "the draft does not define "+protocol.Quote(m.Key)+" here", suggestPlace(shape, m.Key))
		}
	}
}

// otherNames are names that other formats use for members of the draft, in lower case without
// underscores and hyphens.
var otherNames = map[string]string{
	"url": "endpoint", "uri": "endpoint", "path": "endpoint", "href": "endpoint",
	"verb": "method", "httpmethod": "method",
	"parameters": "params", "arguments": "params", "args": "params", "input": "params", "inputs": "params", "inputschema": "params",
	"response": "returns", "responses": "returns", "result": "returns", "output": "returns", "outputs": "returns", "outputschema": "returns",
	"operationid": "id", "summary": "description",
	"authentication": "auth", "authorization": "auth", "security": "auth",
	"categories": "category", "tags": "category", "languages": "language", "lang": "language", "locale": "language",
	"tools": "capabilities", "endpoints": "capabilities", "operations": "capabilities", "actions": "capabilities", "skills": "capabilities",
	"updated": "last_updated", "lastmodified": "last_updated",
}

// maxKnownName is the maximum length of a name that the draft or another format has.
const maxKnownName = 32

var wordSeparators = strings.NewReplacer("_", "", "-", "")

// noPlace is the help for a member that has no place in the draft.
const noPlace = "remove it, or move it into meta"

// suggestPlace returns the help for a member that the draft does not define in the object of a
// shape: its name there, the object that has it, or else the place for members of one's own.
func suggestPlace(shape, name string) string {
	if near := english.NearName(name, memberNames[shape]); near != "" {
		return "did you mean " + near + "? Otherwise " + noPlace
	}
	if len(name) > maxKnownName {
		return noPlace
	}
	draftName := cmp.Or(otherNames[strings.ToLower(wordSeparators.Replace(name))], name)
	if draftName != name && slices.Contains(memberNames[shape], draftName) {
		return "the draft calls it " + draftName
	}
	for _, of := range []struct{ shape, move string }{
		{"", "move it to the top level of the document"},
		{"/service", "move it into service"},
		{"/auth", "move it into auth"},
		{"/rate_limits", "move it into rate_limits"},
		{"/token_hints", "move it into token_hints"},
		{"/meta", "move it into meta"},
		{"/capabilities/*", "move it into a capability"},
	} {
		if of.shape == shape || !slices.Contains(memberNames[of.shape], draftName) {
			continue
		}
		if draftName != name {
			return of.move + ", where the draft calls it " + draftName
		}
		return of.move
	}
	return noPlace
}

// addMissing reports a member that an object does not have.
func (c *checker) addMissing(code string, object *protocol.Node, name, help string) {
	c.Add(code, object, name+" is missing", helpForMissing(object, name, help))
}

// helpForMissing puts in front of the help for a missing member that another one probably stands for
// it under a wrong name, if there is one.
func helpForMissing(object *protocol.Node, name, help string) string {
	names := []string{name}
	for other, draftName := range otherNames {
		if draftName == name {
			names = append(names, other)
		}
	}
	known := memberNames[protocol.PointerShape(object.Pointer)]
	for _, m := range object.Items {
		if len(m.Key) > maxKnownName || slices.Contains(known, m.Key) {
			continue
		}
		if english.NearName(m.Key, names) != "" {
			return "rename " + protocol.Quote(m.Key) + " to " + name + ", or " + help
		}
	}
	return help
}

// describeKind returns the name of a kind with its article: "an array".
func describeKind(k protocol.Kind) string {
	switch k {
	case protocol.Null:
		return "null"
	case protocol.Array, protocol.Object:
		return "an " + k.String()
	default:
		return "a " + k.String()
	}
}

// exampleArray returns an array with the value of a member that is no array, or with a value that the
// member can have.
func exampleArray(n *protocol.Node) string {
	text := strings.TrimSpace(n.Str())
	if n.Key == "language" {
		if !WellFormedLanguage(text) || !namesLanguage(text) {
			text = cmp.Or(likelyLanguage(text), "de")
		}
		return "[" + protocol.Quote(text) + "]"
	}
	if category := strings.ToLower(text); slices.Contains(categories, category) {
		return "[" + protocol.Quote(category) + "]"
	}
	return `["travel"], with one or more of: ` + strings.Join(categories, ", ")
}

// stringArray reads an array of strings and reports other elements under code.
func (c *checker) stringArray(n *protocol.Node, code string) []string {
	if n.Kind != protocol.Array {
		c.Add(code, n, n.Key+" is "+describeKind(n.Kind)+", not an array of strings", "write it as an array, for example "+exampleArray(n))
		return nil
	}
	for _, item := range n.Items {
		if item.Kind != protocol.String {
			c.Add(code, item, "an element of "+n.Key+" is "+describeKind(item.Kind)+", not a string", "put the value in quotes")
		}
	}
	return n.Strs()
}
