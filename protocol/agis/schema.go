package agis

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
)

// maxRefs is how many references in a row are followed before they count as a
// circle.
const maxRefs = 8

// Resolve follows the $ref of a schema within the document. The draft does not
// say what a reference is relative to, so the block it stands in is tried
// before the document. A schema without $ref is returned as it is; nil when the
// reference leads nowhere.
func (d *Document) Resolve(schema, block *protocol.Node) *protocol.Node {
	for range maxRefs {
		ref := schema.Member("$ref")
		if ref.Str() == "" {
			return schema
		}
		if schema = d.lookup(ref.Text, block); schema == nil {
			return nil
		}
	}
	return nil
}

// lookup finds the schema that a reference names. References to other documents
// are never fetched.
func (d *Document) lookup(ref string, block *protocol.Node) *protocol.Node {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if fragment != "" && fragment[0] != '/' {
		return d.anchors[fragment]
	}
	if n := at(block, fragment); n != nil {
		return n
	}
	return d.targets[fragment]
}

// at follows a JSON Pointer; nil when it leads nowhere.
func at(tree *protocol.Node, pointer string) *protocol.Node {
	if pointer == "" || tree == nil {
		return tree
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch tree.Kind {
		case protocol.Object:
			tree = tree.Member(token)
		case protocol.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(tree.Items) {
				return nil
			}
			tree = tree.Items[i]
		default:
			return nil
		}
		if tree == nil {
			return nil
		}
	}
	return tree
}

// names notes the $anchor and $id of every schema and where each $ref leads, so
// that a document full of references costs no more than one without.
func (d *Document) names(n *protocol.Node) {
	if name := n.Member("$anchor").Str(); name != "" && d.anchors[name] == nil {
		d.anchors[name] = n
	}
	if id, _, _ := strings.Cut(n.Member("$id").Str(), "#"); id != "" {
		d.ids[id] = true
	}
	if pointer, ok := strings.CutPrefix(n.Member("$ref").Str(), "#"); ok && (pointer == "" || pointer[0] == '/') {
		pointer, err := url.PathUnescape(pointer)
		if _, known := d.targets[pointer]; err == nil && !known {
			d.targets[pointer] = at(d.Root, pointer)
		}
	}
	for _, item := range n.Items {
		d.names(item)
	}
}

// shape is what JSON Schema 2020-12 allows as the value of a keyword.
type shape uint8

const (
	anything      shape = iota
	schema              // an object, true or false
	schemaArray         // a non-empty array of schemas
	schemaMap           // an object whose values are schemas
	stringArray         // an array of distinct strings
	typeNames           // a type name, or a non-empty array of distinct ones
	text                // a string
	number              // a number
	positive            // a number above zero
	count               // a whole number from zero
	flag                // true or false
	list                // an array
	stringListMap       // an object whose values are arrays of strings
)

// keywords are those of JSON Schema 2020-12 with what they hold, as its
// meta-schema says, and the ones of earlier drafts that are still met.
var keywords = map[string]shape{
	"$schema": text, "$id": text, "$ref": text, "$anchor": text, "$dynamicRef": text, "$dynamicAnchor": text,
	"$comment": text, "$defs": schemaMap, "definitions": schemaMap, "$vocabulary": anything,
	"allOf": schemaArray, "anyOf": schemaArray, "oneOf": schemaArray, "prefixItems": schemaArray,
	"not": schema, "if": schema, "then": schema, "else": schema, "items": schema, "contains": schema,
	"additionalProperties": schema, "propertyNames": schema, "unevaluatedItems": schema, "unevaluatedProperties": schema,
	"contentSchema": schema, "properties": schemaMap, "patternProperties": schemaMap, "dependentSchemas": schemaMap,
	"type": typeNames, "required": stringArray, "dependentRequired": stringListMap, "enum": list, "const": anything,
	"multipleOf": positive, "maximum": number, "minimum": number, "exclusiveMaximum": number, "exclusiveMinimum": number,
	"maxLength": count, "minLength": count, "maxItems": count, "minItems": count, "maxContains": count,
	"minContains": count, "maxProperties": count, "minProperties": count, "pattern": text, "uniqueItems": flag,
	"format": text, "title": text, "description": text, "default": anything, "examples": list, "deprecated": flag,
	"readOnly": flag, "writeOnly": flag, "contentEncoding": text, "contentMediaType": text,
}

var schemaTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// schema checks the input or output of an endpoint (pass 8).
func (c *checker) schema(n *protocol.Node) {
	if n.Kind != protocol.Object {
		c.Add("AGIS804", n, n.Key+" is "+article(n.Kind)+", not a JSON Schema object", "write a JSON Schema, for example {type: object, properties: {…}}")
		return
	}
	if len(n.Items) > 0 && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { _, ok := keywords[m.Key]; return ok || m.Key == "optional" }) {
		c.Add("AGIS809", n, n.Key+" holds no keyword of JSON Schema, so it says nothing about the data", "put the names under properties: {type: object, properties: {name: {type: string}}}")
		return
	}
	if dialect := n.Member("$schema").Str(); dialect != "" && !strings.Contains(dialect, "2020-12") {
		return // another dialect has other rules
	}
	c.keywords(n, n)
	c.required(n)
}

// keywords checks a schema and those inside it. block is the input or output.
func (c *checker) keywords(n, block *protocol.Node) {
	for _, m := range members(n) {
		s, ok := keywords[m.Key]
		if !ok {
			continue
		}
		if wrong := c.shape(m, s, block); wrong != "" {
			c.Add("AGIS804", m, "in JSON Schema "+m.Key+" must be "+wrong, "mend the schema; a JSON Schema checker for 2020-12 shows more")
		}
	}
	if ref := n.Member("$ref"); ref != nil && ref.Kind == protocol.String {
		c.ref(ref, block)
	}
}

// ref checks that a reference resolves (AGIS805).
func (c *checker) ref(ref, block *protocol.Node) {
	id, _, _ := strings.Cut(ref.Text, "#")
	const help = `put the schema under schemas and refer to it as "#/schemas/NAME"`
	switch {
	case id != "" && !c.doc.ids[id]:
		c.Add("AGIS805", ref, "the reference "+protocol.Quote(ref.Text)+" leads out of the document; such references are never fetched", help)
	case id == "" && c.doc.lookup(ref.Text, block) == nil:
		c.Add("AGIS805", ref, "the reference "+protocol.Quote(ref.Text)+" leads nowhere in this document", help)
	}
}

// shape checks one keyword's value and goes down into schemas. It returns what
// the value should have been, or "".
func (c *checker) shape(n *protocol.Node, s shape, block *protocol.Node) string {
	switch s {
	case schema:
		return c.subschema(n, block)
	case schemaArray:
		if n.Kind != protocol.Array || len(n.Items) == 0 {
			return "a list of schemas that is not empty"
		}
		return c.subschemas(n, block)
	case schemaMap:
		if n.Kind != protocol.Object {
			return "a mapping of names to schemas"
		}
		return c.subschemas(n, block)
	case stringArray:
		if !distinctStrings(n) {
			return "a list of different names"
		}
	case typeNames:
		if !typeNamesValid(n) {
			return "one of " + strings.Join(schemaTypes, ", ") + ", or a list of them"
		}
	case stringListMap:
		if n.Kind != protocol.Object || slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !distinctStrings(m) }) {
			return "a mapping of names to lists of different names"
		}
	case text:
		return unless(n.Kind == protocol.String, "a string")
	case flag:
		return unless(n.Kind == protocol.Bool, "true or false")
	case list:
		return unless(n.Kind == protocol.Array, "a list")
	case number:
		return unless(n.Kind == protocol.Number, "a number")
	case positive:
		return unless(n.Kind == protocol.Number && isAbove(n.Text, false), "a number above zero")
	case count:
		return unless(n.Kind == protocol.Number && isAbove(n.Text, true) && isWhole(n.Text), "a whole number from zero")
	}
	return ""
}

func unless(ok bool, wrong string) string {
	if ok {
		return ""
	}
	return wrong
}

func (c *checker) subschema(n, block *protocol.Node) string {
	if n.Kind == protocol.Object {
		c.keywords(n, block)
		return ""
	}
	return unless(n.Kind == protocol.Bool, "a schema: a mapping, true or false")
}

func (c *checker) subschemas(n, block *protocol.Node) string {
	for _, item := range n.Items {
		if wrong := c.subschema(item, block); wrong != "" {
			c.Add("AGIS804", item, "this must be "+wrong, "mend the schema; a JSON Schema checker for 2020-12 shows more")
		}
	}
	return ""
}

func distinctStrings(n *protocol.Node) bool {
	if n.Kind != protocol.Array {
		return false
	}
	seen := map[string]bool{}
	for _, item := range n.Items {
		if item.Kind != protocol.String || seen[item.Text] {
			return false
		}
		seen[item.Text] = true
	}
	return true
}

func typeNamesValid(n *protocol.Node) bool {
	if n.Kind == protocol.String {
		return slices.Contains(schemaTypes, n.Text)
	}
	return distinctStrings(n) && len(n.Items) > 0 &&
		!slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !slices.Contains(schemaTypes, m.Text) })
}

// isAbove reports whether a number literal is above zero, or at zero if that is
// allowed.
func isAbove(literal string, zero bool) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	if strings.Trim(mantissa, "+-0.") == "" {
		return zero
	}
	return !strings.HasPrefix(literal, "-")
}

// isWhole reports whether a number literal is a whole number. Beyond 10^15 every
// float is one.
func isWhole(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	return err == nil && (f > 1e15 || f == float64(int64(f)))
}

// required checks the names of an input or output (AGIS810 to 813).
func (c *checker) required(n *protocol.Node) {
	if m := n.Member("optional"); m != nil {
		c.AddKey("AGIS811", m, "JSON Schema has no keyword optional; a reader ignores it", "leave the name out of required instead")
	}
	properties := n.Member("properties")
	if n.Key == "input" {
		if t := n.Member("type"); t != nil && !slices.Contains(append(t.Strs(), t.Str()), "object") && typeNamesValid(t) {
			c.Add("AGIS812", t, "input is "+protocol.Quote(typeOf(n))+", not an object", "write type: object and put the parameters under properties")
		}
		if p := members(properties); len(p) > MaxParameters {
			c.AddKey("AGIS106", properties, fmt.Sprintf("the input has %d parameters; only the first %d are indexed", len(p), MaxParameters), "group them, or split the endpoint")
		}
		for _, m := range members(properties) {
			if !snakeCase(m.Key) {
				c.AddKey("AGIS813", m, "the parameter name "+protocol.Quote(m.Key)+" is not snake_case", "write it in lower case with underscores")
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
		if item.Kind == protocol.String && properties.Member(item.Text) == nil {
			c.Add("AGIS810", item, "required lists "+protocol.Quote(item.Text)+", which properties does not define", "define it under properties")
		}
	}
}
