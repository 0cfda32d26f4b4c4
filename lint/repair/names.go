package repair

import (
	"slices"
	"strings"

	"gazetteer/protocol"
)

// findRenames lists the members that differ from a defined and absent name only in letter case,
// hyphens and underscores.
func findRenames(r *reading) []Repair {
	findings := map[string][]protocol.Finding{}
	for _, f := range r.findings {
		findings[f.Pointer] = append(findings[f.Pointer], f)
	}
	var out []Repair
	var walk func(n *protocol.Node)
	walk = func(n *protocol.Node) {
		if n.Kind == protocol.Object {
			if names := r.format.Kind.MemberNames(n.Pointer); names != nil {
				out = append(out, r.renamesIn(n, names, findings)...)
			}
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(r.root)
	return out
}

func (r *reading) renamesIn(object *protocol.Node, names []string, findings map[string][]protocol.Finding) []Repair {
	var out []Repair
	taken := map[string]bool{}
	for _, m := range object.Items {
		if slices.Contains(names, m.Key) {
			continue
		}
		folded := normalizeName(m.Key)
		i := slices.IndexFunc(names, func(name string) bool { return normalizeName(name) == folded })
		if i < 0 || taken[names[i]] || object.Member(names[i]) != nil || m.KeyEnd == 0 || m.KeyEnd > len(r.body) {
			continue
		}
		if f, ok := findingOf(findings, m, object, names[i]); ok {
			taken[names[i]] = true
			out = append(out, Repair{f, []protocol.Edit{{Offset: m.KeyOffset, End: m.KeyEnd, Text: quoteLike(r.body[m.KeyOffset], names[i])}}})
		}
	}
	return out
}

// findingOf returns the finding about a misspelled member, or about the member that is missing
// instead.
func findingOf(findings map[string][]protocol.Finding, m, object *protocol.Node, name string) (protocol.Finding, bool) {
	if own := findings[m.Pointer]; len(own) > 0 {
		return own[0], true
	}
	for _, f := range findings[object.Pointer] {
		if strings.Contains(f.Message, name) {
			return f, true
		}
	}
	return protocol.Finding{}, false
}
