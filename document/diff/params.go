package diff

import (
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// compareParams compares the params of a capability (AI Discovery §3.3). A parameter that stands in
// the path is required, whatever its text says.
func (c *comparison) compareParams(p pair) {
	inPathA, inPathB := pathParameters(p.a), pathParameters(p.b)
	c.eachMember(p.a.node.Member("params"), p.b.node.Member("params"), func(name string, ma, mb *protocol.Node) {
		if ma == nil && mb == nil {
			return
		}
		// A parameter that only the path named before is no new one.
		if ma == nil && inPathA[name] || mb == nil && inPathB[name] {
			return
		}
		c.compareParam(p.a.name, ma, mb, inPathA[name], inPathB[name])
	})
	declaredA, declaredB := indexMembers(p.a.node.Member("params")), indexMembers(p.b.node.Member("params"))
	for _, name := range slices.Sorted(keys(inPathA)) {
		if !inPathB[name] && declaredA[name] == nil && declaredB[name] == nil {
			c.addChange(ParameterRemoved, p.a.name, textValue(p.a.node.Member("endpoint"), name), value{})
		}
	}
	for _, name := range slices.Sorted(keys(inPathB)) {
		if !inPathA[name] && declaredA[name] == nil && declaredB[name] == nil {
			c.addChange(ParameterRequiredAdded, p.a.name, value{}, textValue(p.b.node.Member("endpoint"), name))
		}
	}
}

func keys(set map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range set {
			if !yield(k) {
				return
			}
		}
	}
}

func pathParameters(o *operation) map[string]bool {
	set := map[string]bool{}
	for _, name := range aidiscovery.PathParams(o.node.Member("endpoint").Str()) {
		set[name] = true
	}
	return set
}

func (c *comparison) compareParam(operation string, na, nb *protocol.Node, inPathA, inPathB bool) {
	switch {
	case nb == nil:
		c.addChange(ParameterRemoved, operation, valueOf(na), value{})
		return
	case na == nil:
		kind := ParameterOptionalAdded
		if paramOf(nb).Required || inPathB {
			kind = ParameterRequiredAdded
		}
		c.addChange(kind, operation, value{}, valueOf(nb))
		return
	case equalValues(na, nb):
		return
	case na.Kind == protocol.Object && nb.Kind == protocol.Object:
		c.compareSchemas(schemaPlace{operation: operation, input: true}, na, nb)
		return
	}
	a, b := paramOf(na), paramOf(nb)
	before := len(c.changes)
	c.compareRequired(operation, na, nb, a.Required || inPathA, b.Required || inPathB)
	if typeChanged(a.Type, b.Type) || narrowsMeaning(a.Meaning(), b.Meaning()) {
		c.addChange(ParameterTypeChanged, operation, valueOf(na), valueOf(nb))
	}
	textA, textB := a, b
	textA.Required, textA.Stated, textA.Type, textA.Dialect = false, false, "", 0
	textB.Required, textB.Stated, textB.Type, textB.Dialect = false, false, "", 0
	if len(c.changes) == before && normalizeSpace(describeParam(textA)) != normalizeSpace(describeParam(textB)) {
		c.addChange(TextChanged, operation, valueOf(na), valueOf(nb))
	}
}

func (c *comparison) compareRequired(operation string, na, nb *protocol.Node, a, b bool) {
	switch {
	case b && !a:
		c.addChange(ParameterRequiredAdded, operation, valueOf(na), valueOf(nb))
	case a && !b:
		c.addChange(ParameterOptionalAdded, operation, valueOf(na), valueOf(nb))
	}
}

func paramOf(n *protocol.Node) aidiscovery.Param {
	if n.Kind == protocol.Object {
		return aidiscovery.Param{Type: n.Member("type").Str(), Required: n.Member("required").True(), Description: n.Member("description").Str()}
	}
	return aidiscovery.ParseParam(n.Text)
}

// describeParam returns the constraints and the description of a parameter, whose order means
// nothing.
func describeParam(p aidiscovery.Param) string {
	constraints := make([]string, 0, len(p.Constraints))
	for _, text := range p.Constraints {
		word, number, found := strings.Cut(text, " ")
		if r := parseNumber(number); found && r != nil {
			text = word + " " + r.RatString()
		}
		constraints = append(constraints, text)
	}
	slices.Sort(constraints)
	return strings.Join(constraints, ", ") + " -- " + p.Description
}

// typeNames are other names of the types, as authors write them.
var typeNames = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number",
	"bool": "boolean", "str": "string", "text": "string", "list": "array", "dict": "object", "map": "object",
}

func typeName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if name := typeNames[s]; name != "" {
		return name
	}
	return s
}

func typeChanged(a, b string) bool { return typeName(a) != typeName(b) }

// narrowsMeaning reports whether a parameter accepts less than before.
func narrowsMeaning(a, b aidiscovery.Meaning) bool {
	if boundRaised(a.Min, b.Min) || boundLowered(a.Max, b.Max) {
		return true
	}
	if len(b.Enum) == 0 {
		return false
	}
	if len(a.Enum) == 0 {
		return true
	}
	return slices.ContainsFunc(a.Enum, func(v string) bool { return !slices.Contains(b.Enum, v) })
}

// boundRaised reports whether a lower bound went up, boundLowered whether an upper bound went down.
// An empty text is no bound.
func boundRaised(a, b string) bool {
	x, y := parseNumber(a), parseNumber(b)
	return y != nil && (x == nil || y.Cmp(x) > 0)
}

func boundLowered(a, b string) bool {
	x, y := parseNumber(a), parseNumber(b)
	return y != nil && (x == nil || y.Cmp(x) < 0)
}
