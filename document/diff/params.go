package diff

import (
	"regexp"
	"slices"
	"strings"

	"gazetteer/document/diff/meaning"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// compareParams compares the params of a capability (AI Discovery §3.3). A parameter in the path is
// required, whatever its text says.
func (c *comparison) compareParams(p pair) {
	inPathA, inPathB := pathParameters(p.a), pathParameters(p.b)
	paramsA, paramsB := p.a.node.Member("params"), p.b.node.Member("params")
	if isSchema(paramsA) && isSchema(paramsB) {
		c.compareSchemas(schemaPlace{operation: p.a.name, input: true}, paramsA, paramsB)
		return
	}
	paramsA, paramsB = paramsByName(paramsA), paramsByName(paramsB)
	c.eachMember(paramsA, paramsB, func(name string, ma, mb *protocol.Node) {
		if ma == nil && mb == nil {
			return
		}
		// A parameter that only the path had before is not new.
		if ma == nil && inPathA[name] || mb == nil && inPathB[name] {
			return
		}
		c.compareParam(p.a.name, ma, mb, inPathA[name], inPathB[name])
	})
	declaredA, declaredB := indexMembers(paramsA), indexMembers(paramsB)
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

// isSchema reports whether params are one JSON Schema, as other formats have it.
func isSchema(n *protocol.Node) bool {
	return n.Member("type").Str() == "object" && n.Member("properties") != nil && n.Member("properties").Kind == protocol.Object
}

// paramsByName converts params from a list of objects with names to the object that the draft
// requires.
func paramsByName(n *protocol.Node) *protocol.Node {
	if n == nil || n.Kind != protocol.Array {
		return n
	}
	object := &protocol.Node{Kind: protocol.Object, Pointer: n.Pointer, Line: n.Line, Column: n.Column, Key: n.Key}
	for _, item := range n.Items {
		name := item.Member("name").Str()
		if name == "" {
			continue
		}
		named := *item
		named.Key = name
		object.Items = append(object.Items, &named)
	}
	return object
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
	for _, name := range aidiscovery.PathParams(strings.TrimSpace(o.node.Member("endpoint").Str())) {
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
		c.compareRequired(operation, na, nb, paramOf(na).Required || inPathA, paramOf(nb).Required || inPathB)
		c.compareSchemas(schemaPlace{operation: operation, input: true}, na, nb)
		return
	}
	a, b := paramOf(na), paramOf(nb)
	before := len(c.changes)
	c.compareRequired(operation, na, nb, a.Required || inPathA, b.Required || inPathB)
	if typeChanged(a.Type, b.Type) || narrowsMeaning(a.Meaning(), b.Meaning()) || keepsOneValue(a, b) {
		c.addChange(ParameterTypeChanged, operation, valueOf(na), valueOf(nb))
	}
	if len(c.changes) == before && (a.Type == "") != (b.Type == "") {
		c.addChange(TextChanged, operation, valueOf(na), valueOf(nb))
	}
	textA, textB := a, b
	textA.Required, textA.Stated, textA.Type, textA.Dialect = false, false, "", 0
	textB.Required, textB.Stated, textB.Type, textB.Dialect = false, false, "", 0
	if len(c.changes) == before && meaning.NormalizeSpace(describeParam(textA)) != meaning.NormalizeSpace(describeParam(textB)) {
		c.addChange(TextChanged, operation, valueOf(na), valueOf(nb))
	}
}

func (c *comparison) compareRequired(operation string, na, nb *protocol.Node, a, b bool) {
	switch {
	case b && !a:
		c.addChange(ParameterRequiredAdded, operation, valueOf(na), valueOf(nb))
	case a && !b:
		c.addChange(ParameterMadeOptional, operation, valueOf(na), valueOf(nb))
	}
}

func paramOf(n *protocol.Node) aidiscovery.Param {
	if n.Kind != protocol.Object {
		return parseParam(n.Text)
	}
	p := aidiscovery.Param{Type: n.Member("type").Str(), Required: n.Member("required").True(), Description: n.Member("description").Str()}
	for keyword, word := range schemaConstraints {
		if v := n.Member(keyword); v != nil && isScalar(v) {
			p.Constraints = append(p.Constraints, word+" "+v.Text)
		}
	}
	var values []string
	for _, v := range n.Member("enum").Elements() {
		values = append(values, v.Text)
	}
	if len(values) > 0 {
		p.Constraints = append(p.Constraints, strings.Join(append(values, ""), "|")) // a bar at the end makes one value a list
	}
	return p
}

// schemaConstraints are the words that the draft has for keywords of JSON Schema.
var schemaConstraints = map[string]string{"minimum": "min", "maximum": "max", "default": "default"}

var (
	spacedBar = regexp.MustCompile(`\s*\|\s*`)
	bareType  = regexp.MustCompile(`(?s)^(\pL[\pL\d]*(?:\[[^\]]*\])?)\s*(?:(?:--|[—–])(.*))?$`)
)

// parseParam reads the text of a parameter. One that begins with a type and does not say whether it is
// required is optional.
func parseParam(text string) aidiscovery.Param {
	p := aidiscovery.ParseParam(spacedBar.ReplaceAllString(text, "|"))
	if p.Dialect != aidiscovery.FreeText {
		return p
	}
	if m := bareType.FindStringSubmatch(p.Description); m != nil && isTypeName(m[1]) {
		p.Type, p.Description = strings.ToLower(m[1]), strings.TrimSpace(m[2])
	}
	return p
}

// isTypeName reports whether a word without brackets is the name of a type.
func isTypeName(word string) bool {
	word, _, _ = strings.Cut(word, "[")
	switch name := typeName(word); name {
	case "string", "integer", "number", "boolean", "array", "object":
		return true
	}
	return false
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
		values := strings.Split(strings.TrimSuffix(text, "|"), "|")
		slices.Sort(values)
		constraints = append(constraints, strings.Join(values, "|"))
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

// typeChanged reports whether two types differ; a missing type differs from none.
func typeChanged(a, b string) bool { return a != "" && b != "" && typeName(a) != typeName(b) }

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

// keepsOneValue reports whether one of several values is left, written without a bar.
func keepsOneValue(a, b aidiscovery.Param) bool {
	values := a.Meaning().Enum
	if len(values) < 2 || len(b.Meaning().Enum) > 0 {
		return false
	}
	first, _, _ := strings.Cut(b.Description, ",")
	return slices.ContainsFunc(append([]string{first}, b.Constraints...), func(text string) bool { return slices.Contains(values, strings.TrimSpace(text)) })
}

// boundRaised reports whether a lower bound increased, boundLowered whether an upper bound
// decreased. An empty text is not a bound.
func boundRaised(a, b string) bool {
	x, y := parseNumber(a), parseNumber(b)
	return y != nil && (x == nil || y.Cmp(x) > 0)
}

func boundLowered(a, b string) bool {
	x, y := parseNumber(a), parseNumber(b)
	return y != nil && (x == nil || y.Cmp(x) < 0)
}
