package conversion

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/tree"
)

// paramFormats are the formats of JSON Schema that a description of a parameter can name: "format date".
var paramFormats = []string{"date", "date-time", "time", "email", "uri", "uuid"}

// ParamSchema converts a parameter description to JSON Schema.
func ParamSchema(p aidiscovery.Param) *protocol.Node {
	n := tree.Object()
	base, item, list := strings.Cut(strings.TrimSuffix(p.Type, "]"), "[")
	t, known := NamedTypes[base]
	if !known {
		t = NamedType{Type: "string"}
	}
	if of, ok := NamedTypes[item]; list && (base == "array" || item == "") {
		tree.Put(n, "type", tree.String("array"))
		items := tree.Put(n, "items", tree.Object())
		switch {
		case base == "array" && ok:
			of.ApplyTo(items)
		case base != "array":
			t.ApplyTo(items)
		}
	} else {
		t.ApplyTo(n)
	}
	description := p.Description
	for _, c := range p.Constraints {
		if f, named := strings.CutPrefix(c, "format "); named && !list && n.Member("format") == nil && slices.Contains(paramFormats, f) && n.Member("type").Str() == "string" {
			tree.Put(n, "format", tree.String(f))
			continue
		}
		one := aidiscovery.Param{Constraints: []string{c}}.Meaning()
		if list || !putConstraints(n, one) {
			description = strings.TrimPrefix(description+", "+c, ", ")
		}
	}
	if !list && p.Dialect == aidiscovery.Draft {
		putConstraints(n, p.Meaning()) // the examples of the draft have some after the dash
	}
	if description != "" {
		tree.Put(n, "description", tree.String(description))
	}
	return n
}

// putConstraints adds constraints to a schema if its type allows them, and reports whether it added
// or found any.
func putConstraints(n *protocol.Node, m aidiscovery.Meaning) bool {
	said := 0
	add := func(given bool, name string, value *protocol.Node) {
		if given && value != nil {
			said++
			if n.Member(name) == nil {
				tree.Put(n, name, value)
			}
		}
	}
	typ := n.Member("type").Str()
	lowest, highest := "minimum", "maximum"
	if typ == "string" {
		lowest, highest = "minLength", "maxLength"
	}
	add(m.Min != "", lowest, newBoundNode(typ, m.Min))
	add(m.Max != "", highest, newBoundNode(typ, m.Max))
	add(m.HasDefault, "default", valueNode(typ, m.Default))
	if values := slices.Clone(m.Enum); n.Member("format") == nil && trimDistinct(values) {
		choices := tree.Array()
		for _, v := range values {
			if c := valueNode(typ, v); c != nil {
				choices.Items = append(choices.Items, c)
			}
		}
		add(len(values) > 1 && len(choices.Items) == len(values), "enum", choices)
	}
	return said > 0
}

// newBoundNode returns a bound for values of a type, nil if the type has none.
func newBoundNode(typ, literal string) *protocol.Node {
	switch typ {
	case "integer", "number":
		return valueNode(typ, literal)
	case "string":
		if v, err := strconv.ParseUint(literal, 10, 31); err == nil {
			return tree.Number(strconv.FormatUint(v, 10))
		}
	}
	return nil
}

// valueNode returns a value of a type, nil if the text is not one.
func valueNode(typ, text string) *protocol.Node {
	switch typ {
	case "string":
		return tree.String(text)
	case "boolean":
		if text == "true" || text == "false" {
			return tree.Bool(text == "true")
		}
	case "integer":
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return tree.Number(strconv.FormatInt(v, 10))
		}
	case "number":
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return tree.Number(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return nil
}

// trimDistinct trims the values and reports whether they are distinct and not empty.
func trimDistinct(values []string) bool {
	seen := map[string]bool{}
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
		if values[i] == "" || seen[values[i]] {
			return false
		}
		seen[values[i]] = true
	}
	return true
}
