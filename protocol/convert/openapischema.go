package convert

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
)

// A detail says how much of the schemas of a description is taken over. A large
// description does not fit into a document whole.
type detail uint8

const (
	full    detail = iota // everything JSON Schema has
	spare                 // without the texts inside schemas
	shallow               // without references; what nests deeper is named by its type alone
	bare                  // the names and types of the parameters, and the type of the output
	brief                 // and what is guessed of every endpoint is remarked once
)

// maxNodes is how many values the schemas of one document may have in all; a
// document of more would be refused for its size anyway.
const maxNodes = 80000

// A schemaWriter turns the schemas of a description into those of JSON Schema
// 2020-12. Schemas that are referred to are collected under their names.
type schemaWriter struct {
	api    *openAPI
	detail detail
	notes  *notes
	// names of the schemas referred to, by where they stand in the text.
	names map[*protocol.Node]string
	taken map[string]bool
	// waiting are those that are named but not written yet.
	waiting []*protocol.Node
	nodes   int // written so far
}

func newSchemaWriter(a *openAPI, d detail, n *notes) *schemaWriter {
	return &schemaWriter{api: a, detail: d, notes: n, names: map[*protocol.Node]string{}, taken: map[string]bool{}}
}

// over reports that more was written than a document can hold.
func (s *schemaWriter) over() bool { return s.nodes > maxNodes }

// collected writes the schemas that were referred to, and those that they refer
// to; nil when there are none.
func (s *schemaWriter) collected() *protocol.Node {
	out := newObject()
	for len(s.waiting) > 0 && !s.over() {
		n := s.waiting[0]
		s.waiting = s.waiting[1:]
		put(out, s.names[n], s.schema(n, 1))
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

// maxNesting is how deep schemas nest inside one another, at most; readers of
// documents stop at 64 levels of values.
const maxNesting = 16

// depthOf is how deep schemas nest at each level of detail.
func (s *schemaWriter) depthOf() int {
	switch s.detail {
	case full, spare:
		return maxNesting
	case shallow:
		return 2
	default:
		return 1
	}
}

// anything is the schema that says nothing.
func anything() *protocol.Node { return newObject() }

// schema writes one schema. depth counts the schemas around it.
func (s *schemaWriter) schema(n *protocol.Node, depth int) *protocol.Node {
	s.nodes++
	switch {
	case s.over(), n == nil:
		return anything()
	case n.Kind == protocol.Bool:
		return boolNode(n.True())
	case n.Kind != protocol.Object:
		return anything()
	}
	if ref := n.Member("$ref"); isKind(ref, protocol.String) {
		return s.reference(n, ref.Text, depth)
	}
	if depth > s.depthOf() {
		return s.outline(n)
	}
	return s.object(n, depth)
}

// reference writes a $ref.
func (s *schemaWriter) reference(n *protocol.Node, ref string, depth int) *protocol.Node {
	target := s.api.follow(n)
	if !isKind(target, protocol.Object) && !isKind(target, protocol.Bool) {
		out := anything()
		s.notes.add(out, "the reference "+protocol.Quote(ref)+" leads nowhere in the description; anything is accepted here")
		return out
	}
	if s.detail >= shallow {
		if depth > s.depthOf() {
			return s.outline(target)
		}
		return s.object(target, depth)
	}
	out := newObject()
	put(out, "$ref", strNode("#/schemas/"+s.name(target, ref)))
	return out
}

var unsafeInName = regexp.MustCompile(`[^A-Za-z0-9_.\-]+`)

// name returns the name under which a schema is collected.
func (s *schemaWriter) name(target *protocol.Node, ref string) string {
	if name, ok := s.names[target]; ok {
		return name
	}
	name := target.Key
	if name == "" || name == "schema" {
		name = strings.TrimSuffix(ref, "/schema")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	name = strings.Trim(unsafeInName.ReplaceAllString(name, "_"), "_")
	if name == "" {
		name = "Schema"
	}
	const most = 80
	name = unique(name[:min(len(name), most)], most, s.taken)
	s.names[target] = name
	s.waiting = append(s.waiting, target)
	return name
}

// outline writes the type of a schema and nothing else.
func (s *schemaWriter) outline(n *protocol.Node) *protocol.Node {
	s.nodes++
	out := newObject()
	if names := s.types(s.merged(n)); names != nil {
		put(out, "type", typeNode(names))
	}
	return out
}

// jsonTypes are the types of JSON Schema.
var jsonTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// types returns the types that a schema allows; nil when it does not say. A
// schema with properties is taken for an object, one with items for an array.
func (s *schemaWriter) types(n *protocol.Node) []string {
	t := n.Member("type")
	var names []string
	for _, name := range append(t.Strs(), t.Str()) {
		if name == "file" { // OpenAPI 2 wrote uploads like this
			name = "string"
		}
		if slices.Contains(jsonTypes, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		switch {
		case isKind(n.Member("properties"), protocol.Object):
			names = []string{"object"}
		case n.Member("items") != nil:
			names = []string{"array"}
		}
	}
	if names != nil && n.Member("nullable").True() && !slices.Contains(names, "null") {
		names = append(names, "null")
	}
	return names
}

func typeNode(names []string) *protocol.Node {
	if len(names) == 1 {
		return strNode(names[0])
	}
	return strList(names...)
}

// object writes the keywords of a schema, each only as far as its value is one
// that the keyword may have.
func (s *schemaWriter) object(n *protocol.Node, depth int) *protocol.Node {
	out := newObject()
	if names := s.types(n); names != nil {
		s.put(out, "type", typeNode(names))
	}
	for _, m := range n.Items {
		if m.Key == "type" || m.Key == "$ref" {
			continue
		}
		if value := s.keyword(n, m, depth); value != nil {
			s.put(out, m.Key, value)
		}
	}
	s.bounds(n, out)
	return out
}

func (s *schemaWriter) put(out *protocol.Node, name string, value *protocol.Node) {
	s.nodes++
	put(out, name, value)
}

const (
	// maxSchemaText is how long a description inside a schema may be.
	maxSchemaText = 200
	// maxChoices is how many members of a list or an object in a schema are
	// taken.
	maxChoices = 500
	// maxLiteral is the longest number that readers take.
	maxLiteral = 32
	// maxKey is the longest name of a property.
	maxKey = 128
)

// keyword returns the value of one keyword, or nil where it is to be left out.
func (s *schemaWriter) keyword(parent, m *protocol.Node, depth int) *protocol.Node {
	switch m.Key {
	case "description":
		return s.text(m)
	case "format", "contentEncoding", "contentMediaType":
		if t := oneLine(m.Str()); t != "" && len(t) <= 60 {
			return strNode(t)
		}
	case "pattern":
		if goodPattern(m.Str()) {
			return strNode(m.Text)
		}
	case "minimum", "maximum":
		if exclusive := parent.Member("exclusive" + capital(m.Key)); !exclusive.True() && number(m) {
			return numNode(m.Text)
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if number(m) {
			return numNode(m.Text)
		}
	case "multipleOf":
		if v, err := strconv.ParseFloat(m.Text, 64); number(m) && err == nil && v > 0 {
			return numNode(m.Text)
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if v, err := strconv.ParseUint(m.Text, 10, 53); number(m) && err == nil {
			return numNode(strconv.FormatUint(v, 10))
		}
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		if m.True() {
			return boolNode(true)
		}
	case "enum":
		return s.choices(parent, m)
	case "const", "default":
		if s.detail == full && scalar(m) {
			return dup(m)
		}
	case "required":
		return requiredNames(m)
	case "properties", "patternProperties", "dependentSchemas":
		return s.schemaMap(m, depth)
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties":
		if m.Kind == protocol.Object || m.Kind == protocol.Bool {
			return s.schema(m, depth+1)
		}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return s.schemaList(m, depth)
	case "dependentRequired":
		return dependentRequired(m)
	}
	return nil
}

// text returns a description inside a schema.
func (s *schemaWriter) text(m *protocol.Node) *protocol.Node {
	if s.detail > full {
		return nil
	}
	if t := honest(plain(m.Str())); t != "" {
		return strNode(cutWords(t, maxSchemaText))
	}
	return nil
}

// goodPattern reports whether Go's regular expressions, which take time linear
// in the text, know the pattern.
func goodPattern(pattern string) bool {
	if pattern == "" || len(pattern) > 500 {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

// number reports whether n is a number that a document can hold.
func number(n *protocol.Node) bool {
	return isKind(n, protocol.Number) && len(n.Text) <= maxLiteral
}

// scalar reports whether n is a short value without parts.
func scalar(n *protocol.Node) bool {
	switch n.Kind {
	case protocol.Array, protocol.Object:
		return false
	case protocol.Number:
		return number(n)
	default:
		return len(n.Text) <= 500
	}
}

// choices returns the values of an enum that are no objects or arrays.
func (s *schemaWriter) choices(parent, m *protocol.Node) *protocol.Node {
	out := newArray()
	seen := map[string]bool{}
	null := false
	for _, item := range m.Elements() {
		key := item.Kind.String() + item.Text
		if !scalar(item) || seen[key] {
			continue
		}
		if len(out.Items) == maxChoices {
			return nil // part of a list of choices would forbid the others
		}
		seen[key] = true
		null = null || item.Kind == protocol.Null
		s.nodes++
		out.Items = append(out.Items, dup(item))
	}
	if len(out.Items) == 0 || len(seen) < len(m.Items) && slices.ContainsFunc(m.Items, func(n *protocol.Node) bool { return !scalar(n) }) {
		return nil
	}
	if parent.Member("nullable").True() && !null {
		out.Items = append(out.Items, &protocol.Node{Kind: protocol.Null})
	}
	return out
}

// usableKey reports whether a property's name is short and holds nothing that a
// person does not see.
func usableKey(name string) bool {
	_, control := protocol.ControlRune(name)
	return len(name) <= maxKey && !control && honest(name) == name
}

// requiredNames returns the different names of a list; nil when there are none.
func requiredNames(m *protocol.Node) *protocol.Node {
	seen := map[string]bool{}
	out := newArray()
	for _, name := range m.Strs() {
		if !seen[name] && usableKey(name) && len(seen) < maxChoices {
			seen[name] = true
			out.Items = append(out.Items, strNode(name))
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

func (s *schemaWriter) schemaMap(m *protocol.Node, depth int) *protocol.Node {
	out := newObject()
	for _, item := range membersOf(m) {
		if !usableKey(item.Key) || len(out.Items) == maxChoices || m.Key == "patternProperties" && !goodPattern(item.Key) {
			continue
		}
		s.put(out, item.Key, s.schema(item, depth+1))
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

func (s *schemaWriter) schemaList(m *protocol.Node, depth int) *protocol.Node {
	out := newArray()
	for _, item := range m.Elements() {
		if len(out.Items) < maxChoices && (item.Kind == protocol.Object || item.Kind == protocol.Bool) {
			out.Items = append(out.Items, s.schema(item, depth+1))
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

func dependentRequired(m *protocol.Node) *protocol.Node {
	out := newObject()
	for _, item := range membersOf(m) {
		if names := requiredNames(item); names != nil && usableKey(item.Key) {
			put(out, item.Key, names)
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

// bounds writes the bounds of OpenAPI 3.0 that are marked as exclusive by a
// boolean.
func (s *schemaWriter) bounds(n, out *protocol.Node) {
	for _, name := range []string{"minimum", "maximum"} {
		keyword := "exclusive" + capital(name)
		if bound := n.Member(name); n.Member(keyword).True() && number(bound) {
			s.put(out, keyword, numNode(bound.Text))
		}
	}
}

// maxParts is how many schemas of an allOf are put together.
const maxParts = 64

// merged puts the parts of an allOf together, as far as they are plain objects,
// so that their properties can be seen at once. A schema without allOf is
// returned as it is, with its reference followed. nil when a reference leads
// nowhere.
func (s *schemaWriter) merged(n *protocol.Node) *protocol.Node {
	n = s.api.follow(n)
	if !isKind(n.Member("allOf"), protocol.Array) {
		return n
	}
	out := newObject()
	properties := newObject()
	seen := map[string]bool{}
	var required []string
	parts := 0
	var collect func(n *protocol.Node, depth int)
	collect = func(n *protocol.Node, depth int) {
		n = s.api.follow(n)
		parts++
		if n == nil || parts > maxParts || depth > maxChain {
			return
		}
		for _, part := range n.Member("allOf").Elements() {
			collect(part, depth+1)
		}
		for _, m := range membersOf(n.Member("properties")) {
			if !seen[m.Key] {
				seen[m.Key] = true
				properties.Items = append(properties.Items, m)
			}
		}
		required = append(required, n.Member("required").Strs()...)
		if t := s.types(n); t != nil && out.Member("type") == nil {
			put(out, "type", typeNode(t))
		}
	}
	collect(n, 0)
	if len(properties.Items) > 0 {
		put(out, "properties", properties)
	}
	put(out, "required", strList(required...))
	return out
}
