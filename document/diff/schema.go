package diff

import (
	"slices"

	"gazetteer/protocol"
)

// schemaPlace says whose schema is compared.
type schemaPlace struct {
	operation string
	// input is true for what callers send, false for what they get.
	input bool
	// blockA and blockB are the outermost schemas, which references may be relative to.
	blockA, blockB *protocol.Node
	depth          int
}

// maxSchemaDepth bounds how deep schemas are compared: schemas may refer to themselves.
const maxSchemaDepth = 24

// schemaRules are the keywords that bound what a value may be, beside those that have a rule of
// their own.
var (
	lowerBounds = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
	upperBounds = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
	// exactRules are compared as a whole: a change may narrow what is accepted.
	exactRules = []string{"format", "pattern", "const", "multipleOf", "oneOf", "anyOf", "allOf", "not", "if", "then", "else",
		"patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "contains", "prefixItems"}
	// ownRules have a rule of their own, or only help others to refer to a schema.
	ownRules = setOf("type enum properties required items additionalProperties uniqueItems $ref $defs definitions $id $anchor $schema nullable")
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
	if ia, ib := a.Member("items"), b.Member("items"); ia != nil && ib != nil {
		c.compareSchemas(at, ia, ib)
	}
}

// changedType is the kind of a changed type: callers that read a result of another type have lost
// the one they read.
func (at schemaPlace) changedType() Kind {
	if at.input {
		return ParameterTypeChanged
	}
	return ResultRemoved
}

func (v *version) resolveSchema(n, block *protocol.Node) *protocol.Node {
	if v.agis == nil || n == nil {
		return n
	}
	return v.agis.Resolve(n, block)
}

// hasReference reports whether a schema has a reference somewhere: equal texts may then mean
// different schemas.
func hasReference(n *protocol.Node) bool {
	if n.Key == "$ref" {
		return true
	}
	return slices.ContainsFunc(n.Items, hasReference)
}

// mostNodes bounds how many pairs of schemas one comparison looks at, as references can make small
// texts large.
const mostNodes = 20000

func (c *comparison) spendNode() bool {
	c.nodes++
	return c.nodes <= mostNodes
}

// valueNarrowed reports whether the value itself, its properties aside, is of another type or more
// bounded than before.
func valueNarrowed(a, b *protocol.Node) bool {
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

// lacksValue reports whether both list their values, and b lacks one of a.
func lacksValue(a, b *protocol.Node) bool {
	return len(a.Member("enum").Elements()) > 0 && enumNarrowed(a.Member("enum"), b.Member("enum"))
}

// valueReplaced reports whether the value itself is of another type or form. Those who read a result
// do not mind closer bounds.
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
var zeroByDefault = setOf("minLength minItems minProperties")

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

// compareSchemaTexts records one change of what a schema says beside its type: its texts, or bounds
// that were widened.
func (c *comparison) compareSchemaTexts(at schemaPlace, a, b *protocol.Node) {
	changed := false
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		switch {
		case changed || equalValues(ma, mb):
		case name == "additionalProperties" || falseInSchemas[name]:
			changed = !isOpen(name, ma) || !isOpen(name, mb)
		case name == "enum":
			changed = !sameElements(ma, mb)
		case slices.Contains(lowerBounds, name) || slices.Contains(upperBounds, name):
			changed = boundOf(a, name) != boundOf(b, name)
		case !ownRules[name]:
			changed = true
		}
	})
	if changed {
		c.addChange(TextChanged, at.operation, valueOf(a), valueOf(b))
	}
}

// falseInSchemas are the keywords that mean false when they are left out.
var falseInSchemas = setOf("uniqueItems deprecated readOnly writeOnly")

// isOpen reports whether a keyword is left out or says what leaving it out would say.
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
