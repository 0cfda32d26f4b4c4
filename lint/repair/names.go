package repair

import (
	"regexp"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/protocol"
)

// objectNames are the member names of one object that a draft defines.
type objectNames struct {
	kinds   []document.Kind
	pointer *regexp.Regexp
	names   []string
}

func newObjectNames(kinds []document.Kind, pointer, names string) objectNames {
	return objectNames{kinds, regexp.MustCompile(`\A` + pointer + `\z`), strings.Fields(names)}
}

var (
	ai      = []document.Kind{document.AI, document.AIAlias}
	full    = []document.Kind{document.AGIS}
	summary = []document.Kind{document.AGISSummary}
)

// definedObjects lists the objects whose members the drafts define (AI Discovery §3; AGIS §6, §8,
// §11.1).
var definedObjects = []objectNames{
	newObjectNames(ai, ``, "aiendpoint service capabilities auth token_hints rate_limits meta"),
	newObjectNames(ai, `/service`, "name description category language"),
	newObjectNames(ai, `/capabilities/\d+`, "id description endpoint method params returns"),
	newObjectNames(ai, `/auth`, "type header docs"),
	newObjectNames(ai, `/token_hints`, "compact_mode field_filtering delta_support"),
	newObjectNames(ai, `/rate_limits`, "requests_per_minute agent_tier_available"),
	newObjectNames(ai, `/meta`, "last_updated changelog status"),

	newObjectNames(full, ``, "agis service agtp description version endpoints vocabulary schemas data_manifest"),
	newObjectNames(full, `/endpoints/\d+`, "method path semantic input output errors proposed"),
	newObjectNames(full, `/endpoints/\d+/semantic`, "intent actor outcome capability confidence_guidance impact_tier is_idempotent parameter_hints state_transition mcp_tool_name"),
	newObjectNames(full, `/vocabulary`, "declared_verbs domain namespace version negotiable"),
	newObjectNames(full, `/data_manifest`, "available_data pre_auth_discovery"),
	newObjectNames(full, `/data_manifest/available_data/\d+`, "class description formats sensitivity requires_authorization"),

	newObjectNames(summary, ``, "agis service agtp agis_document methods domain namespace negotiable capability_summary data_classes "+
		"interaction_protocols pre_auth_discovery version related_services mcp_tools_list"),
}

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
			if names := r.namesOf(n.Pointer); names != nil {
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

func (r *reading) namesOf(pointer string) []string {
	if strings.Count(pointer, "/") > 3 {
		return nil // nothing is defined at that depth
	}
	for _, p := range definedObjects {
		if slices.Contains(p.kinds, r.kind) && p.pointer.MatchString(pointer) {
			return p.names
		}
	}
	return nil
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
