package diff

import (
	"math/big"
	"slices"

	"gazetteer/protocol"
	"gazetteer/protocol/wording"
)

// schemaPlace says to what the compared schema belongs.
type schemaPlace struct {
	operation string
	// input is true for values that callers send, false for values that they receive.
	input bool
	// blockA and blockB are the outermost schemas, which references may be relative to.
	blockA, blockB *protocol.Node
	depth          int
}

// maxSchemaDepth bounds how deep schemas are compared: schemas may refer to themselves.
const maxSchemaDepth = 24

// schemaRules are the keywords that restrict a value, except those that have a rule of their own.
var (
	lowerBounds = []string{"minLength", "minItems", "minProperties"}
	upperBounds = []string{"maxLength", "maxItems", "maxProperties"}
	rangeBounds = []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}
	// exactRules are compared as a whole: a change may restrict the accepted values.
	exactRules = []string{"format", "pattern", "const", "multipleOf", "oneOf", "anyOf", "allOf", "not", "if", "then", "else",
		"patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "contains", "prefixItems"}
	// ownRules have a rule of their own, or only help others to refer to a schema.
	ownRules = wording.WordSet("type enum properties required items additionalProperties uniqueItems $ref $defs definitions $id $anchor $schema nullable")
)

// compareSchemas compares two JSON Schemas (AGIS §7).
func (c *comparison) compareSchemas(at schemaPlace, a, b *protocol.Node) {
	if at.blockA == nil {
		at.blockA, at.blockB = a, b
	}
	a, b = c.a.resolveSchema(a, at.blockA), c.b.resolveSchema(b, at.blockB)
	if a == nil || b == nil || at.depth > maxSchemaDepth || equalTrees(a, b) && !hasReference(a) && !hasReference(b) || !c.spendNode() {
		return
	}
	at.depth++
	switch {
	case at.input && valueNarrowed(a, b) || !at.input && (valueReplaced(a, b) || lacksValue(a, b)):
		c.addChange(at.changedType(), at.operation, valueOf(a), valueOf(b))
	case !at.input && lacksValue(b, a):
		c.addChange(ResultAdded, at.operation, valueOf(a), valueOf(b))
	default:
		c.compareSchemaTexts(at, a, b)
	}
	c.compareProperties(at, a, b)
	for _, keyword := range innerSchemas {
		ia, ib := a.Member(keyword), b.Member(keyword)
		switch {
		case ia == nil || ib == nil || keyword != "items" && !equalValues(ia, ib): // a difference of the rules is already reported
		case ia.Kind == protocol.Object && ib.Kind == protocol.Object:
			c.compareSchemas(at, ia, ib)
		case ia.Kind == protocol.Array && ib.Kind == protocol.Array && len(ia.Items) == len(ib.Items):
			for i := range ia.Items {
				c.compareSchemas(at, ia.Items[i], ib.Items[i])
			}
		}
	}
}

// innerSchemas are the keywords whose values are schemas of parts of the value or of the value itself.
// With equal texts, the schemas that they refer to can differ.
var innerSchemas = []string{"items", "prefixItems", "additionalProperties", "oneOf", "anyOf"}

// changedType is the kind of a changed type: callers that read a result of another type have lost
// the one they read.
func (at schemaPlace) changedType() Kind {
	if at.input {
		return ParameterTypeChanged
	}
	return ResultRemoved
}

func (v *version) resolveSchema(n, block *protocol.Node) *protocol.Node {
	if v.agis != nil && n != nil {
		n = v.agis.Resolve(n, block)
	}
	if n.Member("allOf") == nil {
		return n
	}
	return v.mergeAllOf(n, block)
}

// mergeAllOf returns a schema with the rules of all schemas of its allOf in one, and the schema itself
// if two of them contradict each other or one cannot be found.
func (v *version) mergeAllOf(n, block *protocol.Node) *protocol.Node {
	if merged, known := v.merged[n]; known {
		return merged
	}
	if v.merged == nil {
		v.merged = map[*protocol.Node]*protocol.Node{}
	}
	v.merged[n] = n // for one that refers to itself
	rest := *n
	rest.Items = slices.DeleteFunc(slices.Clone(n.Items), func(m *protocol.Node) bool { return m.Key == "allOf" })
	merged := &protocol.Node{Kind: protocol.Object, Pointer: n.Pointer, Line: n.Line, Column: n.Column, Key: n.Key}
	for _, part := range append([]*protocol.Node{&rest}, n.Member("allOf").Elements()...) {
		if part != &rest {
			part = v.resolveSchema(part, block)
		}
		if part == nil || part.Kind != protocol.Object || !mergeRules(merged, part) {
			return n
		}
	}
	v.merged[n] = merged
	return merged
}

// mergeRules adds the rules of a schema to another one. It reports false if they contradict each
// other.
func mergeRules(into, schema *protocol.Node) bool {
	for _, m := range schema.Items {
		have := into.Member(m.Key)
		switch {
		case have == nil:
			added := *m
			added.Items = slices.Clone(m.Items)
			into.Items = append(into.Items, &added)
		case m.Key == "required" && have.Kind == m.Kind:
			have.Items = append(have.Items, m.Items...)
		case m.Key == "properties" && have.Kind == m.Kind:
			for _, property := range m.Items {
				if other := have.Member(property.Key); other == nil {
					have.Items = append(have.Items, property)
				} else if !equalValues(other, property) {
					return false
				}
			}
		case m.Key == "title" || m.Key == "description":
		case !equalValues(have, m):
			return false
		}
	}
	return true
}

// hasReference reports whether a schema has a reference somewhere: equal texts may then mean
// different schemas.
func hasReference(n *protocol.Node) bool {
	if n.Key == "$ref" {
		return true
	}
	return slices.ContainsFunc(n.Items, hasReference)
}

// maxNodes is the number of pairs of schemas that one comparison visits, because references can
// make small texts large.
const maxNodes = 20000

func (c *comparison) spendNode() bool {
	c.nodes++
	return c.nodes <= maxNodes
}

// valueNarrowed reports whether the value itself, its properties aside, is of another type or more
// bounded than before.
func valueNarrowed(a, b *protocol.Node) bool {
	if rangeNarrowed(a, b, "minimum", "exclusiveMinimum", 1) || rangeNarrowed(a, b, "maximum", "exclusiveMaximum", -1) {
		return true
	}
	for _, keyword := range lowerBounds {
		if boundRaised(boundOf(a, keyword), boundOf(b, keyword)) {
			return true
		}
	}
	for _, keyword := range upperBounds {
		if boundLowered(boundOf(a, keyword), boundOf(b, keyword)) {
			return true
		}
	}
	return valueReplaced(a, b) || enumNarrowed(a.Member("enum"), b.Member("enum")) || b.Member("uniqueItems").True() && !a.Member("uniqueItems").True() || closesProperties(a, b)
}

// rangeNarrowed reports whether the numbers that b accepts end earlier on one side than those of a:
// the lower one for the direction 1, the upper one for -1. The narrower of both bounds of a side
// counts.
func rangeNarrowed(a, b *protocol.Node, including, excluding string, direction int) bool {
	endOf := func(n *protocol.Node) (end *big.Rat, excluded bool) {
		end, other := parseNumber(boundOf(n, including)), parseNumber(boundOf(n, excluding))
		if other == nil || end != nil && other.Cmp(end)*direction < 0 {
			return end, false
		}
		return other, true
	}
	x, outsideA := endOf(a)
	y, outsideB := endOf(b)
	if x == nil || y == nil {
		return y != nil
	}
	order := y.Cmp(x) * direction
	return order > 0 || order == 0 && outsideB && !outsideA
}

// lacksValue reports whether both list their values, and b lacks one of a.
func lacksValue(a, b *protocol.Node) bool {
	return len(a.Member("enum").Elements()) > 0 && enumNarrowed(a.Member("enum"), b.Member("enum"))
}

// valueReplaced reports whether the type or form of the value changed. Closer bounds do not affect
// callers who read a result.
func valueReplaced(a, b *protocol.Node) bool {
	return !slices.Equal(typesOf(a), typesOf(b)) || slices.ContainsFunc(exactRules, func(keyword string) bool {
		x, y := a.Member(keyword), b.Member(keyword)
		return y != nil && !equalValues(x, y)
	})
}

// closesProperties reports whether additional properties were allowed and are not now.
func closesProperties(a, b *protocol.Node) bool {
	x, y := a.Member("additionalProperties"), b.Member("additionalProperties")
	return !isOpen("additionalProperties", y) && (isOpen("additionalProperties", x) || !equalValues(x, y))
}

func boundOf(n *protocol.Node, keyword string) string {
	bound := n.Member(keyword)
	if bound == nil || bound.Kind != protocol.Number {
		return ""
	}
	if zeroByDefault[keyword] && scalarText(bound) == "0" {
		return ""
	}
	return bound.Text
}

// zeroByDefault are the bounds that mean nothing at zero.
var zeroByDefault = wording.WordSet("minLength minItems minProperties")

// typesOf returns the types of a schema in their order, by their usual names.
func typesOf(n *protocol.Node) []string {
	t := n.Member("type")
	words := append(t.Strs(), t.Str())
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, typeName(w))
		}
	}
	if len(out) == 0 && n.Member("properties") != nil {
		out = append(out, "object")
	}
	if n.Member("nullable").True() {
		out = append(out, "null")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// enumNarrowed reports whether a list of values lacks one that was allowed.
func enumNarrowed(a, b *protocol.Node) bool {
	if len(b.Elements()) == 0 {
		return false
	}
	if len(a.Elements()) == 0 {
		return true
	}
	return slices.ContainsFunc(a.Elements(), func(x *protocol.Node) bool {
		return !slices.ContainsFunc(b.Elements(), func(y *protocol.Node) bool { return equalValues(x, y) })
	})
}

// compareSchemaTexts records one change of the rest of a schema: its texts, or bounds that were
// widened.
func (c *comparison) compareSchemaTexts(at schemaPlace, a, b *protocol.Node) {
	changed := false
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		switch {
		case changed || equalValues(ma, mb):
		case name == "additionalProperties" || falseInSchemas[name]:
			changed = !isOpen(name, ma) || !isOpen(name, mb)
		case name == "enum":
			changed = !sameElements(ma, mb)
		case slices.Contains(lowerBounds, name) || slices.Contains(upperBounds, name) || slices.Contains(rangeBounds, name):
			changed = boundOf(a, name) != boundOf(b, name)
		case !ownRules[name]:
			changed = true
		}
	})
	if changed {
		c.addChange(TextChanged, at.operation, valueOf(a), valueOf(b))
	}
}

// falseInSchemas are the keywords whose default is false.
var falseInSchemas = wording.WordSet("uniqueItems deprecated readOnly writeOnly")

// isOpen reports whether a keyword is absent or has its default value.
func isOpen(keyword string, n *protocol.Node) bool {
	open := "false"
	if keyword == "additionalProperties" {
		open = "true"
		if n != nil && n.Kind == protocol.Object && len(n.Items) == 0 {
			return true // the empty schema accepts everything
		}
	}
	return n == nil || n.Kind == protocol.Bool && n.Text == open
}

func sameElements(a, b *protocol.Node) bool {
	return !enumNarrowed(a, b) && !enumNarrowed(b, a) && len(a.Elements()) > 0 == (len(b.Elements()) > 0)
}

// compareProperties compares the properties of two schemas and which of them are required.
func (c *comparison) compareProperties(at schemaPlace, a, b *protocol.Node) {
	requiredA, requiredB := a.Member("required"), b.Member("required")
	c.eachMember(a.Member("properties"), b.Member("properties"), func(name string, ma, mb *protocol.Node) {
		wasRequired, isRequired := listsName(requiredA, name), listsName(requiredB, name)
		switch {
		case ma == nil && mb == nil:
		case mb == nil && at.input:
			c.addChange(ParameterRemoved, at.operation, valueOf(ma), value{})
		case mb == nil:
			c.addChange(ResultRemoved, at.operation, valueOf(ma), value{})
		case ma == nil && at.input && isRequired:
			c.addChange(ParameterRequiredAdded, at.operation, value{}, valueOf(mb))
		case ma == nil && at.input:
			c.addChange(ParameterOptionalAdded, at.operation, value{}, valueOf(mb))
		case ma == nil:
			c.addChange(ResultAdded, at.operation, value{}, valueOf(mb))
		default:
			if at.input {
				c.compareRequired(at.operation, ma, mb, wasRequired, isRequired)
			} else if wasRequired != isRequired {
				c.addChange(TextChanged, at.operation, textValue(ma, describeRequired(wasRequired)), textValue(mb, describeRequired(isRequired)))
			}
			c.compareSchemas(at, ma, mb)
		}
	})
}

func describeRequired(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

func listsName(list *protocol.Node, name string) bool { return slices.Contains(list.Strs(), name) }
