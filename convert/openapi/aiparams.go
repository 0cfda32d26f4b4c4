package openapi

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// maxParams is the highest number of parameters of one capability.
const maxParams = 40

// buildParams describes the parameters in the dialect of the draft, required ones first.
func (b *aiBuilder) buildParams(op *operation) *protocol.Node {
	type described struct {
		name     string
		text     string
		required bool
	}
	var list []described
	seen := map[string]bool{}
	add := func(name string, required bool, schema *protocol.Node, where, text string) {
		if name == "" || seen[name] || !conversion.IsUsableKey(name) {
			return
		}
		seen[name] = true
		list = append(list, described{name, b.describeParam(op, required, schema, where, text), required})
	}
	for _, p := range op.parameters {
		if p.in == "cookie" || p.in == "header" && (headersOfTransport[strings.ToLower(p.name)] || strings.EqualFold(p.name, b.header)) {
			continue
		}
		where := ""
		switch {
		case p.in == "header":
			where = "header"
		case p.in == "query" && op.method != "get" && op.method != "delete":
			where = "query"
		case p.in == "path" && !strings.Contains(op.path, "{"+p.name+"}"):
			continue
		}
		add(p.name, p.required, p.schema, where, p.description)
	}
	for _, name := range aidiscovery.PathParams(op.path) {
		add(name, true, nil, "", "")
	}
	b.addBodyParams(op, add)
	slices.SortStableFunc(list, func(x, y described) int { return boolInt(y.required) - boolInt(x.required) })
	most := maxParams
	if b.shortening >= 3 {
		most = 12
	}
	out := tree.Object()
	for i, p := range list {
		if i >= most && !p.required {
			b.notes.Add(out, fmt.Sprintf("%d optional parameters are left out", len(list)-i))
			break
		}
		if i >= 4*most {
			break
		}
		tree.Put(out, p.name, tree.String(p.text))
	}
	return out
}

// addBodyParams adds the properties of the request body, or the body as a whole.
func (b *aiBuilder) addBodyParams(op *operation, add func(name string, required bool, schema *protocol.Node, where, text string)) {
	schema, media, required := op.body.schema, op.body.media, op.body.required
	if media == "" {
		return
	}
	whole := b.api.refs.MergeAllOf(schema)
	needed := map[string]bool{}
	for _, name := range whole.Member("required").Strs() {
		needed[name] = required || op.method != "patch"
	}
	where := ""
	if !strings.Contains(strings.ToLower(media), "json") && !strings.HasPrefix(media, "*") {
		where = "sent as " + strings.Map(func(r rune) rune {
			if r == ',' || r == '(' || r == ')' {
				return -1
			}
			return r
		}, wording.Shorten(wording.OneLine(media), 60))
	}
	members := tree.Members(whole.Member("properties"))
	if len(members) == 0 {
		add("body", required, schema, where, "the request body")
		return
	}
	for _, m := range members {
		if !b.schemas.isReadOnly(m) {
			add(m.Key, needed[m.Key], m, where, wording.StripMarkup(b.api.refs.Resolve(m).Member("description").Str()))
		}
	}
}

// describeParam returns one description: type, requirement, constraints, text.
func (b *aiBuilder) describeParam(op *operation, required bool, schema *protocol.Node, where, text string) string {
	n := b.api.refs.MergeAllOf(schema)
	parts := []string{paramType(conversion.TypesOf(n)), "optional"}
	if required {
		parts[1] = "required"
	}
	if slices.Contains(conversion.TypesOf(n), "object") {
		parts = append(parts, "JSON object")
	}
	if b.shortening < maxShortening {
		parts = append(parts, describeConstraints(n)...)
		if items := b.api.refs.Resolve(n.Member("items")); parts[0] == "array" && items != nil {
			parts = append(parts, describeConstraints(items)...)
		}
	}
	if where != "" {
		parts = append(parts, where)
	}
	out := strings.Join(parts, ", ")
	most := 120
	if b.shortening >= 1 {
		most = 60
	}
	text = wording.Shorten(wording.DropInstruction(wording.FirstSentence(text)), most)
	if text != "" && b.levels[op] < conversion.PlainContract && b.shortening < 3 {
		out += " -- " + text
	}
	return out
}

// paramType returns the type word of the draft for a schema. The draft has no word for objects and
// null; objects are sent as JSON text.
func paramType(types []string) string {
	for _, t := range types {
		switch t {
		case "string", "integer", "number", "boolean", "array":
			return t
		}
	}
	return "string"
}

// describeConstraints returns the constraints of a schema in the words of the draft.
func describeConstraints(n *protocol.Node) []string {
	var out []string
	// Readers end a constraint at a comma or a dash.
	safe := func(s string) bool {
		return s != "" && len(s) <= 40 && !strings.ContainsAny(s, ",|()") && !strings.Contains(s, "--") &&
			!strings.ContainsAny(s, "—–") && wording.OneLine(s) == s
	}
	var choices []string
	for _, item := range n.Member("enum").Elements() {
		if item.Kind != protocol.Null && conversion.IsShortScalar(item) && safe(item.Text) {
			choices = append(choices, item.Text)
		}
	}
	const most = 12
	if len(choices) > 0 && len(choices) <= most {
		out = append(out, strings.Join(choices, "|"))
	}
	for _, c := range []struct{ keyword, word, unit string }{
		{"default", "default ", ""}, {"minimum", "min ", ""}, {"maximum", "max ", ""},
		{"minLength", "min ", " characters"}, {"maxLength", "max ", " characters"},
		{"minItems", "min ", " items"}, {"maxItems", "max ", " items"},
	} {
		if v := n.Member(c.keyword); v != nil && v.Kind != protocol.Null && conversion.IsShortScalar(v) && safe(v.Text) && (c.keyword == "default" || v.Kind == protocol.Number) {
			out = append(out, c.word+v.Text+c.unit)
		}
	}
	if f := n.Member("format").Str(); f == "date" || f == "date-time" || f == "time" || f == "uuid" || f == "email" || f == "uri" || f == "binary" {
		out = append(out, "format "+f)
	}
	return out
}

// describeReturns lists the fields of a successful answer: "pets[] {id, name}".
func (b *aiBuilder) describeReturns(op *operation) string {
	const most = 300
	success := op.successResponse()
	n := b.api.refs.MergeAllOf(success.schema)
	if slices.Contains(conversion.TypesOf(n), "array") {
		if fields := b.listFields(b.api.refs.MergeAllOf(n.Member("items")), most-10); fields != "" {
			return "[] " + fields
		}
		return "[]"
	}
	if fields := b.listFields(n, most); fields != "" {
		return fields
	}
	if success.status == "204" || success.status == "205" { // RFC 9110 15.3.5: no content
		return "nothing"
	}
	if types := conversion.TypesOf(n); len(types) > 0 && !slices.Contains(types, "object") {
		return types[0]
	}
	text := wording.Shorten(wording.DropInstruction(wording.FirstSentence(wording.StripMarkup(success.description))), 100)
	if !aidiscovery.NamesFields(text) {
		return "" // a text such as "Successful operation" has no content for a caller
	}
	return text
}

// listFields lists the properties of a schema in braces, and those of objects in a list if there is
// room.
func (b *aiBuilder) listFields(n *protocol.Node, most int) string {
	members := tree.Members(n.Member("properties"))
	var parts []string
	size := len("{}")
	for _, m := range members {
		if !conversion.IsUsableKey(m.Key) || len(m.Key) > 60 || m.Member("writeOnly").True() {
			continue
		}
		part := m.Key
		property := b.api.refs.MergeAllOf(m)
		if slices.Contains(conversion.TypesOf(property), "array") {
			part += "[]"
			if inner := listPropertyNames(b.api.refs.MergeAllOf(property.Member("items")), 6); inner != "" && size+len(part)+len(inner) < most*2/3 {
				part += " " + inner
			}
		}
		if size += len(part) + len(", "); size > most-len(", …") {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// listPropertyNames lists the first properties of a schema in braces.
func listPropertyNames(n *protocol.Node, most int) string {
	var parts []string
	for _, m := range tree.Members(n.Member("properties")) {
		if len(parts) == most {
			parts = append(parts, "…")
			break
		}
		if conversion.IsUsableKey(m.Key) && len(m.Key) <= 60 {
			parts = append(parts, m.Key)
		}
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
