package diff

import (
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// compareMembers compares the members of two objects that have no rule of their own. It skips the
// members named in known. Either node may be nil.
func (c *comparison) compareMembers(operation string, a, b *protocol.Node, known map[string]bool) {
	c.eachMember(a, b, func(name string, ma, mb *protocol.Node) {
		if !known[name] {
			c.compareMember(operation, name, ma, mb)
		}
	})
}

// eachMember calls do for every member of two objects, with nil for a missing one.
func (c *comparison) eachMember(a, b *protocol.Node, do func(name string, ma, mb *protocol.Node)) {
	after := indexMembers(b)
	for _, ma := range tree.Members(a) {
		mb := after[ma.Key]
		delete(after, ma.Key)
		do(ma.Key, nilIfNull(ma), nilIfNull(mb))
	}
	for _, mb := range tree.Members(b) {
		if after[mb.Key] != nil {
			do(mb.Key, nil, nilIfNull(mb))
		}
	}
}

func indexMembers(n *protocol.Node) map[string]*protocol.Node {
	members := make(map[string]*protocol.Node)
	for _, m := range tree.Members(n) {
		members[m.Key] = m
	}
	return members
}

// compareMember compares two values of one name.
func (c *comparison) compareMember(operation, name string, a, b *protocol.Node) {
	if equalValues(a, b) || equalLinks(a, b) || isDefault(name, a) && isDefault(name, b) {
		return
	}
	switch {
	case isPriceName(name):
		c.comparePrices(operation, a, b)
	case isLimitName(name):
		c.compareLimits(operation, a, b)
	case isAuthenticationName(name):
		c.compareAuthentication(operation, a, b)
	case a != nil && b != nil && a.Kind == protocol.Object && b.Kind == protocol.Object:
		if kind := kindOfMember(name, nil, nil); kind != TextChanged {
			c.addChange(kind, operation, valueOf(a), valueOf(b))
			return
		}
		c.compareMembers(operation, a, b, nil)
	case a != nil && b != nil && a.Kind == protocol.Array && b.Kind == protocol.Array:
		c.compareLists(kindOfMember(name, a, b), operation, a, b)
	default:
		c.addChange(kindOfMember(name, a, b), operation, valueOf(a), valueOf(b))
	}
}

// falseByDefault are the members whose default is false (AI Discovery §3.5, §3.6; AGIS §8.2).
var falseByDefault = wording.WordSet("compact_mode field_filtering delta_support agent_tier_available negotiable is_idempotent proposed pre_auth_discovery")

// isDefault reports whether a member is absent or has its default value.
func isDefault(name string, n *protocol.Node) bool {
	if n == nil {
		return true
	}
	if n.Kind == protocol.Array {
		return len(n.Items) == 0
	}
	if n.Kind == protocol.String && n.Text == "" {
		return true
	}
	if n.Kind == protocol.Object {
		return !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !isDefault(m.Key, m) })
	}
	return falseByDefault[name] && n.Kind == protocol.Bool && n.Text == "false"
}

// kindOfMember returns the kind of the change of a member, by its name and values.
func kindOfMember(name string, a, b *protocol.Node) Kind {
	name = strings.ToLower(name)
	switch {
	case isBool(a) || isBool(b): // "delta_support"
		return TextChanged
	case containsAny(name, "contact", "email", "e-mail", "phone", "maintainer", "support") && !strings.HasPrefix(name, "supported") || hasPrefix("mailto:", a, b):
		return ContactChanged
	case containsAny(name, "version", "updated", "modified", "revision") || name == "date":
		return VersionChanged
	case containsAny(name, "url", "uri", "link", "href", "homepage", "website", "docs", "documentation", "changelog", "status", "terms", "privacy", "related_services", "agis_document", "mcp_tools_list", "logo", "icon"),
		hasPrefix("https://", a, b), hasPrefix("http://", a, b), hasPrefix("agtp://", a, b):
		return LinkChanged
	default:
		return TextChanged
	}
}

func isBool(n *protocol.Node) bool { return n != nil && n.Kind == protocol.Bool }

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// hasPrefix reports whether each text that is there begins so, and one is.
func hasPrefix(prefix string, a, b *protocol.Node) bool {
	found := false
	for _, n := range []*protocol.Node{a, b} {
		if n == nil {
			continue
		}
		if !strings.HasPrefix(strings.ToLower(n.Str()), prefix) {
			return false
		}
		found = true
	}
	return found
}

// compareLists compares two lists whose order means nothing: elements that only one of them has are
// paired in their order.
func (c *comparison) compareLists(kind Kind, operation string, a, b *protocol.Node) {
	counts := map[string]int{}
	for _, n := range b.Elements() {
		counts[elementKey(n)]++
	}
	var gone, come []*protocol.Node
	for _, n := range a.Elements() {
		if counts[elementKey(n)]--; counts[elementKey(n)] < 0 {
			gone = append(gone, n)
		}
	}
	counts = map[string]int{}
	for _, n := range a.Elements() {
		counts[elementKey(n)]++
	}
	for _, n := range b.Elements() {
		if counts[elementKey(n)]--; counts[elementKey(n)] < 0 {
			come = append(come, n)
		}
	}
	for i := range max(len(gone), len(come)) {
		var from, to *protocol.Node
		if i < len(gone) {
			from = gone[i]
		}
		if i < len(come) {
			to = come[i]
		}
		c.addChange(kind, operation, valueOf(from), valueOf(to))
	}
}

// elementKey returns the text that identifies an element of a list.
func elementKey(n *protocol.Node) string {
	if n.Kind == protocol.String {
		if link := canonicalLink(n.Text); link != "" {
			return link
		}
	}
	return canonicalText(n)
}

// compareText records a change of a text, but for its white space.
func (c *comparison) compareText(kind Kind, operation string, a, b *protocol.Node) {
	if a, b = nilIfNull(a), nilIfNull(b); !equalValues(a, b) {
		c.addChange(kind, operation, valueOf(a), valueOf(b))
	}
}

// namedNodes are values by name, in the order of the text.
type namedNodes struct {
	names []string
	nodes map[string]*protocol.Node
}

func (l *namedNodes) addNode(name string, n *protocol.Node) {
	if l.nodes == nil {
		l.nodes = map[string]*protocol.Node{}
	}
	if l.nodes[name] == nil {
		l.names = append(l.names, name)
	}
	l.nodes[name] = n
}

// removeName removes a name and returns its value, nil for none.
func (l *namedNodes) removeName(name string) *protocol.Node {
	n := l.nodes[name]
	delete(l.nodes, name)
	l.names = slices.DeleteFunc(l.names, func(have string) bool { return have == name })
	return n
}

// eachWith calls do for every name in l or other, with nil for a missing one.
func (l namedNodes) eachWith(other namedNodes, do func(name string, a, b *protocol.Node)) {
	for _, name := range l.names {
		do(name, l.nodes[name], other.nodes[name])
	}
	for _, name := range other.names {
		if l.nodes[name] == nil {
			do(name, nil, other.nodes[name])
		}
	}
}
