package openapi

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// A detail says how much of the schemas is copied. A large description does not fit into one
// document.
type detail uint8

const (
	fullDetail    detail = iota // all keywords
	noTexts                     // without the texts inside schemas
	shallow                     // without references; deeper schemas have only their type
	namesAndTypes               // names and types of parameters, type of the output
	notedOnce                   // and one review for the guesses about all endpoints
)

// maxNodes is the highest number of values in the schemas of one document. Readers refuse a
// document with more for its size.
const maxNodes = 80000

// A schemaWriter converts the schemas of a description to JSON Schema 2020-12. It collects schemas
// that are the target of a reference under their names.
type schemaWriter struct {
	api    *description
	detail detail
	notes  *conversion.Notes
	// names holds the names of collected schemas.
	names map[*protocol.Node]string
	taken map[string]bool
	// waiting holds the schemas that have a name but are not written.
	waiting []*protocol.Node
	nodes   int // written so far
}

func newSchemaWriter(a *description, d detail, n *conversion.Notes) *schemaWriter {
	return &schemaWriter{api: a, detail: d, notes: n, names: map[*protocol.Node]string{}, taken: map[string]bool{}}
}

// isOverLimit reports whether more is written than a document can hold.
func (s *schemaWriter) isOverLimit() bool { return s.nodes > maxNodes }

// writeCollected writes the collected schemas and those that they refer to, nil when there are
// none.
func (s *schemaWriter) writeCollected() *protocol.Node {
	out := tree.Object()
	for len(s.waiting) > 0 && !s.isOverLimit() {
		n := s.waiting[0]
		s.waiting = s.waiting[1:]
		tree.Put(out, s.names[n], s.writeSchema(n, 1))
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

// maxNesting is the greatest nesting of schemas; readers stop at 64 levels of values.
const maxNesting = 16

// maxDepth returns the greatest nesting of schemas at the current detail.
func (s *schemaWriter) maxDepth() int {
	switch s.detail {
	case fullDetail, noTexts:
		return maxNesting
	case shallow:
		return 2
	default:
		return 1
	}
}

// writeSchema writes one schema. depth is the number of schemas around it.
func (s *schemaWriter) writeSchema(n *protocol.Node, depth int) *protocol.Node {
	s.nodes++
	switch {
	case s.isOverLimit(), n == nil:
		return conversion.AnySchema()
	case n.Kind == protocol.Bool:
		return tree.Bool(n.True())
	case n.Kind != protocol.Object:
		return conversion.AnySchema()
	}
	if ref := n.Member("$ref"); tree.IsKind(ref, protocol.String) {
		return s.writeReference(n, ref.Text, depth)
	}
	if depth > s.maxDepth() {
		return s.outlineSchema(n)
	}
	return s.writeObject(n, depth)
}

// writeReference writes a $ref.
func (s *schemaWriter) writeReference(n *protocol.Node, ref string, depth int) *protocol.Node {
	target := s.api.refs.Resolve(n)
	if !tree.IsKind(target, protocol.Object) && !tree.IsKind(target, protocol.Bool) {
		out := conversion.AnySchema()
		s.notes.Add(out, "the reference "+protocol.Quote(ref)+" leads nowhere in the description; anything is accepted here")
		return out
	}
	if s.detail >= shallow {
		if depth > s.maxDepth() {
			return s.outlineSchema(target)
		}
		return s.writeObject(target, depth)
	}
	out := tree.Object("$ref", "#/schemas/"+s.nameOf(target, ref))
	return out
}

// nameOf returns the name under which a schema is collected.
func (s *schemaWriter) nameOf(target *protocol.Node, ref string) string {
	if name, ok := s.names[target]; ok {
		return name
	}
	name := target.Key
	if name == "" || name == "schema" {
		name = strings.TrimSuffix(ref, "/schema")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	name = strings.Trim(conversion.UnsafeNameRunes.ReplaceAllString(name, "_"), "_")
	name = cmp.Or(name, "Schema")
	const most = 80
	name = wording.UniqueName(name[:min(len(name), most)], most, s.taken)
	s.names[target] = name
	s.waiting = append(s.waiting, target)
	return name
}

// writeObject writes the keywords of a schema that have a legal value.
func (s *schemaWriter) writeObject(n *protocol.Node, depth int) *protocol.Node {
	out := tree.Object()
	if names := conversion.TypesOf(n); names != nil {
		s.putCounted(out, "type", conversion.TypeNode(names))
	}
	for _, m := range n.Items {
		if m.Key == "type" || m.Key == "$ref" {
			continue
		}
		if value := s.writeKeyword(n, m, depth); value != nil {
			s.putCounted(out, m.Key, value)
		}
	}
	s.writeExclusiveBounds(n, out)
	return out
}

func (s *schemaWriter) putCounted(out *protocol.Node, name string, value *protocol.Node) {
	s.nodes++
	tree.Put(out, name, value)
}

// writeKeyword returns the value of one keyword, nil to leave it out.
func (s *schemaWriter) writeKeyword(parent, m *protocol.Node, depth int) *protocol.Node {
	switch m.Key {
	case "description":
		return s.writeText(m)
	case "format", "contentEncoding", "contentMediaType":
		if t := wording.OneLine(m.Str()); t != "" && len(t) <= 60 {
			return tree.String(t)
		}
	case "pattern":
		if isGoodPattern(m.Str()) {
			return tree.String(m.Text)
		}
	case "minimum", "maximum":
		if exclusive := parent.Member("exclusive" + wording.Capitalize(m.Key)); !exclusive.True() && conversion.IsShortNumber(m) {
			return tree.Number(m.Text)
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if conversion.IsShortNumber(m) {
			return tree.Number(m.Text)
		}
	case "multipleOf":
		if v, err := strconv.ParseFloat(m.Text, 64); conversion.IsShortNumber(m) && err == nil && v > 0 {
			return tree.Number(m.Text)
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if v, err := strconv.ParseUint(m.Text, 10, 53); conversion.IsShortNumber(m) && err == nil {
			return tree.Number(strconv.FormatUint(v, 10))
		}
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		if m.True() {
			return tree.Bool(true)
		}
	case "enum":
		return s.writeEnum(parent, m)
	case "const", "default":
		if s.detail == fullDetail && conversion.IsShortScalar(m) {
			return tree.Clone(m)
		}
	case "required":
		return conversion.RequiredNames(m)
	case "properties", "patternProperties", "dependentSchemas":
		return s.schemaMap(m, depth)
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties":
		if m.Kind == protocol.Object || m.Kind == protocol.Bool {
			return s.writeSchema(m, depth+1)
		}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return s.schemaList(m, depth)
	case "dependentRequired":
		return dependentRequired(m)
	}
	return nil
}

// writeText returns the description of a schema.
func (s *schemaWriter) writeText(m *protocol.Node) *protocol.Node {
	if s.detail > fullDetail {
		return nil
	}
	if t := wording.DropInstruction(wording.StripMarkup(m.Str())); t != "" {
		return tree.String(wording.Shorten(t, conversion.MaxSchemaText))
	}
	return nil
}

// isGoodPattern reports whether Go's regular expressions accept the pattern. They take linear time.
func isGoodPattern(pattern string) bool {
	if pattern == "" || len(pattern) > 500 {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

// writeEnum returns the scalar values of an enum.
func (s *schemaWriter) writeEnum(parent, m *protocol.Node) *protocol.Node {
	out := tree.Array()
	seen := map[string]bool{}
	null := false
	for _, item := range m.Elements() {
		key := item.Kind.String() + item.Text
		if !conversion.IsShortScalar(item) || seen[key] {
			continue
		}
		if len(out.Items) == conversion.MaxChoices {
			return nil // a shortened list would forbid the other values
		}
		seen[key] = true
		null = null || item.Kind == protocol.Null
		s.nodes++
		out.Items = append(out.Items, tree.Clone(item))
	}
	if len(out.Items) == 0 || len(seen) < len(m.Items) && slices.ContainsFunc(m.Items, func(n *protocol.Node) bool { return !conversion.IsShortScalar(n) }) {
		return nil
	}
	if parent.Member("nullable").True() && !null {
		out.Items = append(out.Items, &protocol.Node{Kind: protocol.Null})
	}
	return out
}

func (s *schemaWriter) schemaMap(m *protocol.Node, depth int) *protocol.Node {
	out := tree.Object()
	for _, item := range tree.Members(m) {
		if !conversion.IsUsableKey(item.Key) || len(out.Items) == conversion.MaxChoices || m.Key == "patternProperties" && !isGoodPattern(item.Key) {
			continue
		}
		s.putCounted(out, item.Key, s.writeSchema(item, depth+1))
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

func (s *schemaWriter) schemaList(m *protocol.Node, depth int) *protocol.Node {
	out := tree.Array()
	for _, item := range m.Elements() {
		if len(out.Items) < conversion.MaxChoices && (item.Kind == protocol.Object || item.Kind == protocol.Bool) {
			out.Items = append(out.Items, s.writeSchema(item, depth+1))
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

func dependentRequired(m *protocol.Node) *protocol.Node {
	out := tree.Object()
	for _, item := range tree.Members(m) {
		if names := conversion.RequiredNames(item); names != nil && conversion.IsUsableKey(item.Key) {
			tree.Put(out, item.Key, names)
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out
}

// writeExclusiveBounds writes the bounds of OpenAPI 3.0, where a boolean makes a bound exclusive.
func (s *schemaWriter) writeExclusiveBounds(n, out *protocol.Node) {
	for _, name := range []string{"minimum", "maximum"} {
		keyword := "exclusive" + wording.Capitalize(name)
		if bound := n.Member(name); n.Member(keyword).True() && conversion.IsShortNumber(bound) {
			s.putCounted(out, keyword, tree.Number(bound.Text))
		}
	}
}

// outlineSchema writes only the type of a schema.
func (s *schemaWriter) outlineSchema(n *protocol.Node) *protocol.Node {
	s.nodes++
	return s.api.refs.OutlineSchema(n)
}
