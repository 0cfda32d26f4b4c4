package diff

import (
	"regexp"
	"slices"
	"strings"

	"gazetteer/document/diff/meaning"
	"gazetteer/protocol"
)

// compareReturns compares the returns of a capability: the names of its structural notation,
// "products[] {id, name}" (AI Discovery §3.3), or its text where it is prose.
func (c *comparison) compareReturns(p pair) {
	a, b := nilIfNull(p.a.node.Member("returns")), nilIfNull(p.b.node.Member("returns"))
	switch {
	case equalValues(a, b):
		return
	case b == nil:
		c.addChange(ResultRemoved, p.a.name, valueOf(a), value{})
		return
	case a == nil:
		c.addChange(ResultAdded, p.a.name, value{}, valueOf(b))
		return
	}
	namesA, structuralA := returnedNames(a.Str())
	namesB, structuralB := returnedNames(b.Str())
	if !structuralA || !structuralB {
		c.addChange(TextChanged, p.a.name, valueOf(a), valueOf(b))
		return
	}
	before := len(c.changes)
	for _, name := range missingNames(namesA, namesB) {
		c.addChange(ResultRemoved, p.a.name, textValue(a, name), value{})
	}
	for _, name := range missingNames(namesB, namesA) {
		// A change between a list and a single value is reported with the removed members.
		if !slices.ContainsFunc(namesA, func(had string) bool { return withoutLists(had) == withoutLists(name) }) {
			c.addAt(ResultAdded, p.a.name, a, value{}, textValue(b, name))
		}
	}
	if len(c.changes) == before && !slices.Equal(sortedNames(namesA), sortedNames(namesB)) {
		c.addChange(TextChanged, p.a.name, valueOf(a), valueOf(b))
	}
}

// missingNames returns the names that others lack, without those inside one that they lack too.
func missingNames(names, others []string) []string {
	var missing []string
	for _, name := range names {
		if !slices.Contains(others, name) && !slices.ContainsFunc(names, func(outer string) bool {
			return strings.HasPrefix(name, outer+".") && !slices.Contains(others, outer)
		}) {
			missing = append(missing, name)
		}
	}
	return missing
}

func withoutLists(name string) string { return strings.ReplaceAll(name, "[]", "") }

func sortedNames(names []string) []string { return slices.Sorted(slices.Values(names)) }

var (
	returnsToken = regexp.MustCompile(`[\p{L}_$][\p{L}\p{N}_$-]*(?:\[\])?\??|[{}(),:|]|[^\s]`)
	returnsName  = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$-]*(?:\[\])?\??$`)
)

// returnedNames returns the names of a structural notation with their outer names in front, and
// whether the text is one. Two words in a row make a text prose.
func returnedNames(text string) (names []string, structural bool) {
	var outer []string
	last, name := "", ""
	for _, token := range returnsToken.FindAllString(text, -1) {
		switch {
		case returnsName.MatchString(token):
			if returnsName.MatchString(last) {
				return nil, false
			}
			if last != ":" && last != "|" { // what follows a colon is a type
				name = strings.TrimSuffix(strings.TrimSuffix(token, "?"), "[]")
				if strings.HasSuffix(strings.TrimSuffix(token, "?"), "[]") {
					name += "[]"
				}
				names = append(names, strings.Join(append(slices.Clone(outer), name), "."))
			}
		case token == "{":
			if last == "," || last == "" || last == "{" || last == ":" {
				name = ""
			}
			outer = append(outer, name)
		case token == "}":
			if len(outer) == 0 {
				return nil, false
			}
			outer = outer[:len(outer)-1]
		case token == "," || token == ":" || token == "|" || token == "(" || token == ")" || token == "[" || token == "]":
		default:
			return nil, false
		}
		last = token
	}
	return names, len(outer) == 0 && len(names) > 0
}

// compareErrors compares the error conditions of an endpoint (AGIS §7), each by its name.
func (c *comparison) compareErrors(p pair) {
	after := map[string]*protocol.Node{}
	for _, n := range p.b.node.Member("errors").Elements() {
		after[errorName(n)] = n
	}
	for _, n := range p.a.node.Member("errors").Elements() {
		other := after[errorName(n)]
		delete(after, errorName(n))
		if describeError(n) != describeError(other) || other == nil {
			c.addChange(TextChanged, p.a.name, valueOf(n), valueOf(other))
		}
	}
	for _, n := range p.b.node.Member("errors").Elements() {
		if after[errorName(n)] == n {
			c.addChange(TextChanged, p.a.name, value{}, valueOf(n))
		}
	}
}

func errorName(n *protocol.Node) string { return n.Str() + n.Member("name").Str() }

func describeError(n *protocol.Node) string {
	return meaning.NormalizeSpace(n.Member("description").Str())
}
