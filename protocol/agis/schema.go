package agis

import (
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// shape is the kind of value that a dialect of JSON Schema allows for a keyword.
type shape uint8

const (
	anything      shape = iota
	schema              // an object, true or false
	schemaArray         // a non-empty array of schemas
	schemaOrArray       // a schema, or a non-empty array of schemas
	schemaMap           // an object whose values are schemas
	schemaOrNames       // an object whose values are schemas or arrays of strings
	patternMap          // an object of patterns whose values are schemas
	stringArray         // an array of distinct strings
	stringListMap       // an object whose values are arrays of distinct strings
	flagMap             // an object of addresses whose values are true or false
	typeNames           // a type name, or a non-empty array of distinct ones
	text                // a string
	address             // a reference to an address (RFC 3986 §4.1)
	wholeAddress        // an address with its scheme (RFC 3986 §3)
	identifier          // such a reference without a fragment
	anchorName          // a name for a place in the document
	anchor              // such a name that no other place has
	pattern             // a regular expression
	number              // a number
	positive            // a number above zero
	count               // a whole number from zero
	flag                // true or false
	list                // an array
	reference           // an address that must lead somewhere
)

// keywords maps the keywords of JSON Schema 2020-12 to the values that its meta-schema allows: the
// vocabularies core, applicator, unevaluated, validation, meta-data, format and content, and the
// retired names that it still defines.
var keywords = map[string]shape{
	"$schema": wholeAddress, "$id": identifier, "$ref": reference, "$anchor": anchor, "$dynamicRef": reference,
	"$dynamicAnchor": anchor, "$vocabulary": flagMap, "$comment": text, "$defs": schemaMap,
	"prefixItems": schemaArray, "items": schema, "contains": schema, "additionalProperties": schema,
	"properties": schemaMap, "patternProperties": patternMap, "dependentSchemas": schemaMap, "propertyNames": schema,
	"if": schema, "then": schema, "else": schema, "allOf": schemaArray, "anyOf": schemaArray, "oneOf": schemaArray, "not": schema,
	"unevaluatedItems": schema, "unevaluatedProperties": schema,
	"type": typeNames, "const": anything, "enum": list, "multipleOf": positive, "maximum": number, "exclusiveMaximum": number,
	"minimum": number, "exclusiveMinimum": number, "maxLength": count, "minLength": count, "pattern": pattern,
	"maxItems": count, "minItems": count, "uniqueItems": flag, "maxContains": count, "minContains": count,
	"maxProperties": count, "minProperties": count, "required": stringArray, "dependentRequired": stringListMap,
	"title": text, "description": text, "default": anything, "deprecated": flag, "readOnly": flag, "writeOnly": flag, "examples": list,
	"format": text, "contentEncoding": text, "contentMediaType": text, "contentSchema": schema,
	"definitions": schemaMap, "dependencies": schemaOrNames, "$recursiveAnchor": anchorName, "$recursiveRef": address,
}

// older holds the dialects before 2020-12 that a schema may name with $schema, each with the
// keywords that differ. anything is for keywords that the dialect does not define.
var older = map[string]map[string]shape{
	"https://json-schema.org/draft/2019-09/schema": {
		"items": schemaOrArray, "additionalItems": schema, "prefixItems": anything, "$dynamicRef": anything, "$dynamicAnchor": anything,
		"$recursiveAnchor": flag, "$recursiveRef": reference,
	},
	"http://json-schema.org/draft-07/schema": {
		"items": schemaOrArray, "additionalItems": schema, "prefixItems": anything, "$dynamicRef": anything, "$dynamicAnchor": anything,
		"$recursiveAnchor": anything, "$recursiveRef": anything, "$id": address, "$anchor": anything, "$vocabulary": anything,
		"$defs": anything, "dependentSchemas": anything, "dependentRequired": anything, "unevaluatedItems": anything,
		"unevaluatedProperties": anything, "maxContains": anything, "minContains": anything, "deprecated": anything, "contentSchema": anything,
	},
}

var schemaTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// checkSchema checks the input or output of an endpoint (pass 8).
func (c *checker) checkSchema(n *protocol.Node) {
	if n.Kind != protocol.Object {
		c.Add("AGIS804", n, n.Key+" is "+describeKind(n.Kind)+", not a JSON Schema object", "write a JSON Schema, for example {type: object, properties: {…}}")
		return
	}
	if isShorthand(n) {
		c.Add("AGIS809", n, n.Key+" has no keyword of JSON Schema, so it does not describe the data", "put the names under properties: {type: object, properties: {name: {type: string}}}")
		return
	}
	c.checkSchemaBlock(n)
	c.checkRequired(n)
}

// isShorthand reports whether a mapping names the fields of the data instead of describing them:
// title: string is such a field, even though title is a keyword too. An empty schema is none.
func isShorthand(n *protocol.Node) bool {
	for _, m := range n.Items {
		named := (m.Key == "title" || m.Key == "description") && (slices.Contains(schemaTypes, m.Str()) || otherTypes[m.Str()] != "")
		if _, ok := keywords[m.Key]; ok && !named {
			return false
		}
	}
	return len(n.Items) > 0
}

// sharedSchemas checks the schemas below schemas, and all others to which references lead.
func (c *checker) sharedSchemas(root *protocol.Node) {
	for _, m := range tree.Members(root.Member("schemas")) {
		if wrong := c.blockValue(m); wrong != "" {
			c.Add("AGIS804", m, "the shared schema "+protocol.Quote(m.Key)+" must be "+wrong, "write a JSON Schema, for example {type: object, properties: {…}}")
		}
	}
	for i := 0; i < len(c.schemas.targets); i++ { // checking one may find more
		if n := c.schemas.targets[i]; !c.schemas.visited[n] {
			if wrong := c.blockValue(n); wrong != "" {
				c.Add("AGIS804", n, "a reference leads here, so this must be "+wrong, "refer to a schema under schemas")
			}
		}
	}
}

func (c *checker) blockValue(n *protocol.Node) string {
	if n.Kind == protocol.Object {
		c.checkSchemaBlock(n)
		return ""
	}
	return messageUnless(n.Kind == protocol.Bool, "a schema: a mapping, true or false")
}

// schemaCheck is the state of checking one block of schemas.
type schemaCheck struct {
	scope   scope
	dialect map[string]shape // the keywords that differ from 2020-12, nil for none
	anchors map[string]*protocol.Node
	// visited and targets belong to the whole document and are used only if it has references: the
	// schemas that were checked, and those still to check.
	visited  map[*protocol.Node]bool
	targets  []*protocol.Node
	patterns int // bytes of patterns that may still be parsed
}

// checkSchemaBlock checks a schema that is not part of another.
func (c *checker) checkSchemaBlock(n *protocol.Node) {
	c.schemas.scope = scope{block: n}
	c.schemas.anchors = nil
	c.schemas.dialect = nil
	if m := n.Member("$schema"); m != nil && m.Kind == protocol.String {
		name := strings.TrimSuffix(m.Text, "#")
		differs, known := older[name]
		switch {
		case known:
			c.schemas.dialect = differs
		case strings.Contains(name, "://json-schema.org/") && name != "https://json-schema.org/draft/2020-12/schema":
			return // a dialect older than those we know, or a newer one
		case name != "https://json-schema.org/draft/2020-12/schema":
			c.Add("AGIS804", m, "the dialect "+protocol.Quote(m.Text)+" is not known, and it is never fetched", `leave $schema out, or write "https://json-schema.org/draft/2020-12/schema"`)
			return
		}
	}
	c.checkKeywords(n)
}

// checkKeywords checks a schema and the schemas inside it.
func (c *checker) checkKeywords(n *protocol.Node) {
	if c.schemas.visited != nil {
		c.schemas.visited[n] = true
	}
	outer := c.schemas.scope
	if id := n.Member("$id").Str(); id != "" && id[0] != '#' {
		c.schemas.scope.resource, c.schemas.scope.base = n, resolveAddress(outer.base, id)
	}
	for _, m := range n.Items {
		s, ok := c.schemas.dialect[m.Key]
		if !ok {
			s = keywords[m.Key]
		}
		if s == anything {
			continue
		}
		wrong := c.checkShape(m, s)
		if s == anchor && wrong == "" {
			wrong = c.noteAnchor(m.Text, n)
		}
		if wrong != "" {
			c.Add("AGIS804", m, "in JSON Schema "+m.Key+" must be "+wrong, schemaHelp(m, s))
		}
	}
	c.schemas.scope = outer
}

// otherTypes maps names of types from other languages to those of JSON Schema.
var otherTypes = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number",
	"bool": "boolean", "str": "string", "text": "string", "dict": "object", "map": "object", "list": "array", "none": "null", "nil": "null",
	"date": "string, format: date", "datetime": "string, format: date-time", "date-time": "string, format: date-time",
	"timestamp": "string, format: date-time", "iso8601": "string, format: date-time", "time": "string, format: time",
	"uuid": "string, format: uuid", "email": "string, format: email", "uri": "string, format: uri", "url": "string, format: uri",
}

// schemaHelp says how to correct the value of a keyword.
func schemaHelp(m *protocol.Node, s shape) string {
	if t := otherTypes[strings.ToLower(m.Str())]; m.Key == "type" && t != "" {
		return "write {type: " + t + "}"
	}
	if m.Key == "required" && m.Kind == protocol.Bool {
		return "list the required names in the schema around this one: required: [name, …]"
	}
	if m.Key == "items" && m.Kind == protocol.Array {
		return "write prefixItems for a list with a schema for each place, or items: {…} for one schema for all"
	}
	if help := shapeHelp[s]; help != "" {
		return help
	}
	return "write " + m.Key + " as JSON Schema 2020-12 has it, or leave it out"
}

// shapeHelp shows how the values of a keyword are written.
var shapeHelp = map[shape]string{
	schema: "write a schema, for example {type: string}", schemaOrArray: "write a schema, for example {type: string}",
	schemaArray: "write a list of schemas, for example [{type: string}, {type: integer}]",
	schemaMap:   "write names with their schemas, for example {size: {type: integer}}", patternMap: "write patterns with their schemas, for example {\"^x_\": {type: string}}",
	typeNames: "write for example type: string, or type: [string, \"null\"]", stringArray: "write a list of names, for example [size, when]",
	text: "put the text in quotes", pattern: patternHelp, number: "write a number without quotes", positive: "write a number above zero, without quotes",
	count: "write a whole number such as 1, without quotes", flag: "write true or false, without quotes", list: "write the values as a list, for example [small, large]",
}

// checkReference checks that a reference resolves (AGIS805).
func (c *checker) checkReference(ref *protocol.Node) {
	const help = `put the schema under schemas and refer to it as "#/schemas/NAME"`
	target := c.doc.refs.resolveReference(ref.Text, c.schemas.scope)
	switch {
	case target != nil:
		if !c.schemas.visited[target] {
			c.schemas.targets = append(c.schemas.targets, target)
		}
	case strings.HasPrefix(ref.Text, "#"):
		c.Add("AGIS805", ref, "the reference "+protocol.Quote(ref.Text)+" leads nowhere in this document", help)
	default:
		c.Add("AGIS805", ref, "the reference "+protocol.Quote(ref.Text)+" leads out of the document; such references are never fetched", help)
	}
}

// checkShape checks the value of one keyword and the schemas inside it. It returns a description of
// the value that is required, or "" if the value is valid.
func (c *checker) checkShape(n *protocol.Node, s shape) string {
	switch s {
	case schema:
		return c.checkSubschema(n)
	case schemaOrArray:
		if n.Kind == protocol.Array {
			return c.checkShape(n, schemaArray)
		}
		return c.checkSubschema(n)
	case schemaArray:
		if n.Kind != protocol.Array || len(n.Items) == 0 {
			return "a list of schemas that is not empty"
		}
		return c.checkSubschemas(n)
	case schemaMap:
		if n.Kind != protocol.Object {
			return "a mapping of names to schemas"
		}
		return c.checkSubschemas(n)
	case patternMap:
		if n.Kind != protocol.Object {
			return "a mapping of patterns to schemas"
		}
		for _, m := range n.Items {
			if wrong := c.checkPattern(m.Key); wrong != "" {
				c.AddKey("AGIS804", m, "the name "+protocol.Quote(m.Key)+" must be "+wrong, patternHelp)
			}
		}
		return c.checkSubschemas(n)
	case schemaOrNames:
		if n.Kind != protocol.Object {
			return "a mapping of names to schemas or lists of names"
		}
		for _, m := range n.Items {
			if !distinctStrings(m) {
				if wrong := c.checkSubschema(m); wrong != "" {
					return "a mapping of names to schemas or lists of different names"
				}
			}
		}
	case reference:
		if n.Kind != protocol.String || !isAddress(n.Text) {
			return `a reference such as "#/schemas/NAME"`
		}
		c.checkReference(n)
	case pattern:
		if n.Kind != protocol.String {
			return "a regular expression in quotes"
		}
		return c.checkPattern(n.Text)
	default:
		return checkLeaf(n, s)
	}
	return ""
}

// noteAnchor records the anchor of a schema, which must be unique in its block.
func (c *checker) noteAnchor(name string, n *protocol.Node) string {
	if other := c.schemas.anchors[name]; other != nil && other != n {
		return "a name that is used only once in a schema"
	}
	if c.schemas.anchors == nil {
		c.schemas.anchors = map[string]*protocol.Node{}
	}
	c.schemas.anchors[name] = n
	return ""
}

// checkLeaf checks a value that contains no schemas.
func checkLeaf(n *protocol.Node, s shape) string {
	switch s {
	case stringArray:
		return messageUnless(distinctStrings(n), "a list of different names")
	case typeNames:
		return messageUnless(typeNamesValid(n), "one of "+strings.Join(schemaTypes, ", ")+", or a list of them")
	case stringListMap:
		return messageUnless(n.Kind == protocol.Object && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !distinctStrings(m) }),
			"a mapping of names to lists of different names")
	case flagMap:
		return messageUnless(n.Kind == protocol.Object && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return m.Kind != protocol.Bool || !isWholeAddress(m.Key) }),
			"a mapping of addresses to true or false")
	case text:
		return messageUnless(n.Kind == protocol.String, "a string")
	case address:
		return messageUnless(n.Kind == protocol.String && isAddress(n.Text), "an address")
	case wholeAddress:
		return messageUnless(n.Kind == protocol.String && isWholeAddress(n.Text), "an address with its scheme")
	case identifier:
		before, after, _ := strings.Cut(n.Str(), "#")
		return messageUnless(n.Kind == protocol.String && isAddress(before) && after == "", "an address without a fragment")
	case anchor, anchorName:
		return messageUnless(n.Kind == protocol.String && anchorForm.MatchString(n.Text), "a name of letters, digits, underscores, hyphens and dots")
	case flag:
		return messageUnless(n.Kind == protocol.Bool, "true or false")
	case list:
		return messageUnless(n.Kind == protocol.Array, "a list")
	case number:
		return messageUnless(n.Kind == protocol.Number, "a number")
	case positive:
		return messageUnless(n.Kind == protocol.Number && signOf(n.Text) > 0, "a number above zero")
	case count:
		return messageUnless(n.Kind == protocol.Number && signOf(n.Text) >= 0 && isWhole(n.Text), "a whole number from zero")
	}
	return ""
}

var anchorForm = regexp.MustCompile(`\A[A-Za-z_][-A-Za-z0-9._]*\z`)

// isAddress reports whether s is a reference to an address.
func isAddress(s string) bool {
	if strings.HasPrefix(s, "#/") && !strings.Contains(s, "%") {
		return true // what nearly all are
	}
	_, err := url.Parse(s)
	return err == nil && !strings.Contains(s, `\`)
}

// isWholeAddress reports whether s is an address with its scheme.
func isWholeAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}

// Limits of the regular expressions that are parsed: a class such as \pL takes kilobytes.
const (
	maxPattern  = 1000
	maxPatterns = 16384 // all patterns of a document together, in bytes
)

const patternHelp = "use what every engine can match in linear time (RE2): no look-around, no back-references, repetitions up to 1000"

// checkPattern checks a regular expression by the grammar of RE2, which matches in linear time.
func (c *checker) checkPattern(s string) string {
	if len(s) > maxPattern {
		return fmt.Sprintf("a regular expression of at most %d bytes; this one has %d", maxPattern, len(s))
	}
	if c.schemas.patterns += len(s); c.schemas.patterns > maxPatterns {
		return fmt.Sprintf("left out here: all regular expressions of a document may have %d bytes together", maxPatterns)
	}
	if _, err := syntax.Parse(s, syntax.Perl); err != nil {
		return "a regular expression that can be matched safely; this one is refused: " + describePatternError(err)
	}
	return ""
}

// describePatternError explains why a pattern was refused.
func describePatternError(err error) string {
	e, ok := err.(*syntax.Error)
	if !ok {
		return err.Error()
	}
	return string(e.Code) + " in " + protocol.Quote(e.Expr)
}

func messageUnless(ok bool, wrong string) string {
	if ok {
		return ""
	}
	return wrong
}

func (c *checker) checkSubschema(n *protocol.Node) string {
	if n.Kind == protocol.Object {
		c.checkKeywords(n)
		return ""
	}
	return messageUnless(n.Kind == protocol.Bool, "a schema: a mapping, true or false")
}

func (c *checker) checkSubschemas(n *protocol.Node) string {
	for _, item := range n.Items {
		if wrong := c.checkSubschema(item); wrong != "" {
			help := shapeHelp[schema]
			if t := otherTypes[strings.ToLower(item.Str())]; t != "" {
				help = "write {type: " + t + "}"
			} else if slices.Contains(schemaTypes, item.Str()) {
				help = "write {type: " + item.Text + "}"
			}
			c.Add("AGIS804", item, "this must be "+wrong, help)
		}
	}
	return ""
}

// fewStrings is the number of strings up to which they are compared in pairs.
const fewStrings = 8

func distinctStrings(n *protocol.Node) bool {
	if n.Kind != protocol.Array || slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return m.Kind != protocol.String }) {
		return false
	}
	if len(n.Items) <= fewStrings {
		for i, item := range n.Items {
			if slices.ContainsFunc(n.Items[:i], func(m *protocol.Node) bool { return m.Text == item.Text }) {
				return false
			}
		}
		return true
	}
	seen := make(map[string]bool, len(n.Items))
	for _, item := range n.Items {
		if seen[item.Text] {
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
	return n.Kind == protocol.Array && len(n.Items) > 0 && len(n.Items) <= len(schemaTypes) && distinctStrings(n) &&
		!slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !slices.Contains(schemaTypes, m.Text) })
}

// signOf returns -1, 0 or 1 for a number literal below, at or above zero.
func signOf(literal string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	switch {
	case strings.Trim(mantissa, "+-0.") == "":
		return 0
	case strings.HasPrefix(literal, "-"):
		return -1
	default:
		return 1
	}
}

// isWhole reports whether a number literal is a whole number, which 1.0, 1e2
// and 100e-2 are too.
func isWhole(literal string) bool {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(strings.TrimLeft(literal, "+-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	zeros := len(digits) - len(strings.TrimRight(digits, "0"))
	if zeros == len(digits) {
		return true
	}
	power := 0
	if scaled {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil { // beyond all measure
			return !strings.HasPrefix(exponent, "-")
		}
	}
	return power >= len(fraction)-zeros
}
