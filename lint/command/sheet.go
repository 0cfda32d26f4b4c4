package command

import (
	"regexp"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
)

// A sheet holds what is known of a service while a document is made of it. A
// document can be made at any time: what was not asked yet has a harmless value,
// so that each answer can be judged by the rules of the draft as soon as it is
// given.
type sheet struct {
	kind document.Kind // document.AI or document.AGIS
	now  time.Time

	name, description, host string
	domain                  string // AGIS
	authType, authHeader    string // AI Discovery
	operations              []operation
}

// operation is one thing that the service can be asked to do.
type operation struct {
	verb, noun, intent string
	inputs, outputs    []field

	method, path    string   // AI Discovery: how it is called over HTTP
	outcome, impact string   // AGIS
	failures        []string // AGIS
}

// field is one input or output.
type field struct {
	name, typ string
	required  bool
}

// fieldTypes are the types a person may name, with the JSON type and the format
// that each stands for.
var fieldTypes = []struct{ name, json, format string }{
	{"string", "string", ""}, {"text", "string", ""}, {"integer", "integer", ""}, {"number", "number", ""},
	{"boolean", "boolean", ""}, {"date", "string", "date"}, {"time", "string", "time"}, {"datetime", "string", "date-time"},
	{"email", "string", "email"}, {"uri", "string", "uri"}, {"uuid", "string", "uuid"},
}

var fieldName = regexp.MustCompile(`\A[a-z][a-z0-9_]{0,63}\z`)

// parseFields reads "table_id, guests: integer, note?: text".
func parseFields(answer string) ([]field, []protocol.Finding) {
	var fields []field
	seen := map[string]bool{}
	for part := range strings.SplitSeq(answer, ",") {
		name, typ, _ := strings.Cut(part, ":")
		name, typ = strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(typ))
		if name == "" && typ == "" {
			continue
		}
		f := field{name: strings.TrimSuffix(name, "?"), typ: strings.TrimSuffix(typ, "?")}
		f.required = f.name == name && f.typ == typ
		if f.typ == "" {
			f.typ = "string"
		}
		switch {
		case !fieldName.MatchString(f.name):
			return nil, fault("%s is no name for a field: %s", protocol.Quote(f.name), nameAdvice(f.name))
		case seen[f.name]:
			return nil, fault("%s is named twice", protocol.Quote(f.name))
		case jsonType(f.typ) == "":
			return nil, fault("%s is no type: use %s", protocol.Quote(f.typ), typeNames())
		}
		seen[f.name] = true
		fields = append(fields, f)
	}
	return fields, nil
}

// nameAdvice says how to write the name of a field: the words that were given,
// where they may be one.
func nameAdvice(given string) string {
	all := words(given)
	if name := strings.Join(all, "_"); len(all) <= 3 && fieldName.MatchString(name) {
		return "write " + name
	}
	return "use lower-case letters, digits and underscores, a letter first, and a comma between two fields; for example guests, date"
}

func jsonType(name string) string {
	for _, t := range fieldTypes {
		if t.name == name {
			return t.json
		}
	}
	return ""
}

func jsonFormat(name string) string {
	for _, t := range fieldTypes {
		if t.name == name {
			return t.format
		}
	}
	return ""
}

func typeNames() string {
	names := make([]string, len(fieldTypes))
	for i, t := range fieldTypes {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// faults judges the document that the sheet makes and returns what weighs at
// the places asked for, or below them.
func (s *sheet) faults(pointers ...string) []protocol.Finding {
	r := lint.Check(lint.Input{Name: "draft", Text: protocol.WriteJSON(s.tree(), ""), Kind: s.kind, URL: "https://" + s.hostOr() + "/"}, lint.Options{Today: s.now})
	var out []protocol.Finding
	for _, f := range r.Findings {
		for _, p := range pointers {
			if f.Severity >= protocol.Warning && (f.Pointer == p || strings.HasPrefix(f.Pointer, p+"/")) {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

func (s *sheet) hostOr() string { return or(s.host, "www.example.com") }

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// Trees are built with these.
func object(key string, members ...*protocol.Node) *protocol.Node {
	n := &protocol.Node{Kind: protocol.Object, Key: key}
	for _, m := range members {
		if m != nil {
			n.Items = append(n.Items, m)
		}
	}
	return n
}

func array(key string, items ...*protocol.Node) *protocol.Node {
	return &protocol.Node{Kind: protocol.Array, Key: key, Items: items}
}

func text(key, value string) *protocol.Node {
	return &protocol.Node{Kind: protocol.String, Key: key, Text: value}
}

func literal(key string, kind protocol.Kind, value string) *protocol.Node {
	return &protocol.Node{Kind: kind, Key: key, Text: value}
}

func texts(key string, values []string) *protocol.Node {
	n := array(key)
	for _, v := range values {
		n.Items = append(n.Items, text("", v))
	}
	return n
}

func (s *sheet) tree() *protocol.Node {
	if s.kind == document.AGIS {
		return s.agisTree()
	}
	return s.aiTree()
}

// text is the document as it is written: JSON for AI Discovery, YAML for AGIS.
func (s *sheet) text() []byte {
	if s.kind == document.AGIS {
		return agis.WriteYAML(s.tree())
	}
	return protocol.WriteJSON(s.tree(), "  ")
}

// blank stands in for what was not asked yet.
var blank = operation{verb: "find", noun: "thing", intent: "Finds things", method: "GET", path: "/things", outcome: "Things are listed", impact: "informational", failures: []string{"thing_not_found"}}

// all are the operations, or a stand-in while there is none.
func (s *sheet) all() []operation {
	if len(s.operations) == 0 {
		return []operation{blank}
	}
	return s.operations
}

// aiTree is the AI Discovery document.
func (s *sheet) aiTree() *protocol.Node {
	capabilities := array("capabilities")
	for _, o := range s.all() {
		capabilities.Items = append(capabilities.Items, o.capability())
	}
	auth := object("auth", text("type", or(s.authType, "apikey")))
	if s.authHeader != "" {
		auth.Items = append(auth.Items, text("header", s.authHeader))
	}
	return object("",
		text("aiendpoint", "1.0"),
		object("service", text("name", or(s.name, "Service")), text("description", or(s.description, "A service for agents"))),
		capabilities, auth,
		object("meta", text("last_updated", s.now.Format(time.DateOnly))),
	)
}

func (o operation) capability() *protocol.Node {
	noun := words(or(o.noun, blank.noun))
	var params *protocol.Node
	for _, f := range o.inputs {
		if params == nil {
			params = object("params")
		}
		params.Items = append(params.Items, text(f.name, f.param()))
	}
	returns := strings.Join(noun, "_")
	if len(o.outputs) > 0 {
		var names []string
		for _, f := range o.outputs {
			names = append(names, f.name)
		}
		returns += " {" + strings.Join(names, ", ") + "}"
	}
	return object("",
		text("id", strings.ToLower(strings.Join(append(words(or(o.verb, blank.verb)), noun...), "_"))),
		text("description", or(o.intent, blank.intent)),
		text("endpoint", or(o.path, "/"+slug(or(o.noun, blank.noun)))),
		text("method", or(o.method, "POST")),
		params,
		text("returns", returns),
	)
}

// param describes an input in the small grammar of AI Discovery §3.3.
func (f field) param() string {
	requirement := "optional"
	if f.required {
		requirement = "required"
	}
	out := jsonType(f.typ) + ", " + requirement
	if form := jsonFormat(f.typ); form != "" {
		out += ", " + form
	}
	return out
}

// agisTree is the full AGIS document.
func (s *sheet) agisTree() *protocol.Node {
	endpoints := array("endpoints")
	var verbs []string
	seen := map[string]bool{}
	for _, o := range s.all() {
		endpoints.Items = append(endpoints.Items, o.endpoint())
		if verb := o.token(); !seen[verb] {
			seen[verb] = true
			verbs = append(verbs, verb)
		}
	}
	return object("",
		text("agis", "1.0"),
		text("service", or(s.name, "Service")),
		text("agtp", "agtp://"+s.hostOr()),
		text("version", "1.0.0"),
		text("description", or(s.description, "A service for agents")),
		endpoints,
		object("vocabulary",
			texts("declared_verbs", verbs),
			text("domain", or(s.domain, "general")),
			text("namespace", s.namespace()),
			text("version", "1.0.0"),
		),
	)
}

func (s *sheet) namespace() string { return or(slug(s.name), "service") }

func (o operation) token() string { return strings.ToUpper(or(o.verb, blank.verb)) }

func (o operation) endpoint() *protocol.Node {
	impact := or(o.impact, o.usualImpact())
	failures := array("errors")
	for _, name := range o.failures {
		failures.Items = append(failures.Items, object("", text("name", name), text("description", sentence(name))))
	}
	if len(o.failures) == 0 {
		failures.Items = append(failures.Items, object("", text("name", "thing_not_found"), text("description", "Thing not found")))
	}
	return object("",
		text("method", o.token()),
		text("path", "/"+slug(or(o.noun, blank.noun))),
		object("semantic",
			text("intent", or(o.intent, sentence(or(o.verb, blank.verb)))),
			text("actor", "agent"),
			text("outcome", or(o.outcome, blank.outcome)),
			text("capability", o.class()),
			literal("confidence_guidance", protocol.Number, confidence[impact]),
			text("impact_tier", impact),
			literal("is_idempotent", protocol.Bool, map[bool]string{true: "true", false: "false"}[o.idempotent()]),
		),
		schema("input", o.inputs),
		schema("output", o.outputs),
		failures,
	)
}

// schema is the JSON Schema of fields.
func schema(key string, fields []field) *protocol.Node {
	properties, required := object("properties"), array("required")
	for _, f := range fields {
		p := object(f.name, text("type", jsonType(f.typ)))
		if form := jsonFormat(f.typ); form != "" {
			p.Items = append(p.Items, text("format", form))
		}
		properties.Items = append(properties.Items, p)
		if f.required {
			required.Items = append(required.Items, text("", f.name))
		}
	}
	n := object(key, text("type", "object"), properties)
	if len(required.Items) > 0 && key == "input" {
		n.Items = append(n.Items, required)
	}
	return n
}

// confidence is how sure an agent should be before it acts. AGIS §6.2 gives no
// numbers but wants more of it where nothing can be undone.
var confidence = map[string]string{"informational": "0.5", "reversible": "0.8", "irreversible": "0.9"}

func (o operation) effect() effect.Class { return effect.Of(strings.ToLower(o.verb)) }

// usualImpact is what doing such a verb usually comes to.
func (o operation) usualImpact() string {
	switch c := o.effect(); {
	case c&(effect.End|effect.Tell) != 0:
		return "irreversible"
	case c&(effect.Commit|effect.Change) != 0:
		return "reversible"
	case c != 0:
		return "informational"
	default:
		return "irreversible" // nobody knows: the careful one
	}
}

// idempotent is whether doing it twice usually comes to the same as once.
func (o operation) idempotent() bool {
	c := o.effect()
	return c != 0 && c&(effect.Commit|effect.Tell) == 0
}

// class is the capability class of AGIS §6.2.
func (o operation) class() string {
	switch c := o.effect(); {
	case c&effect.Commit != 0:
		return "transaction"
	case c&(effect.Change|effect.End) != 0:
		return "modification"
	case c&effect.Tell != 0:
		return "notification"
	case c&effect.Compute != 0:
		return "analysis"
	case c&effect.Read != 0:
		return "discovery"
	default:
		return "transaction"
	}
}

// usualMethod is the HTTP method for such a verb.
func (o operation) usualMethod() string {
	switch c := o.effect(); {
	case c == effect.Read:
		return "GET"
	case c == effect.End:
		return "DELETE"
	case c == effect.Change:
		return "PATCH"
	default:
		return "POST"
	}
}

// words splits a phrase where something else than a letter or a digit stands.
func words(phrase string) []string {
	return strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f)
	})
}

// slug is a phrase as a segment of a path.
func slug(phrase string) string { return strings.Join(words(phrase), "-") }

// sentence makes words of a name: "no_table_free" is "No table free".
func sentence(name string) string {
	w := strings.Join(words(name), " ")
	if w == "" {
		return ""
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// summaryTree is the summary of an AGIS document for /.well-known/agis.json
// (AGIS §11.1). It says of the service what the document says.
func summaryTree(d *agis.Document, address string) *protocol.Node {
	var classes, data []string
	seen := map[string]bool{}
	for _, e := range d.Endpoints {
		if c := e.Semantic.Capability; c != "" && !seen[c] {
			seen[c] = true
			classes = append(classes, c)
		}
	}
	preAuth := false
	if d.DataManifest != nil {
		preAuth = d.DataManifest.PreAuthDiscovery
		for _, c := range d.DataManifest.Available {
			data = append(data, c.Class)
		}
	}
	protocols := []string{"request"}
	if d.Vocabulary.Negotiable {
		protocols = append(protocols, "negotiate")
	}
	truth := func(key string, b bool) *protocol.Node {
		return literal(key, protocol.Bool, map[bool]string{true: "true", false: "false"}[b])
	}
	return object("",
		text("agis", "1.0"),
		text("service", d.Service),
		text("agtp", d.AGTP),
		text("agis_document", address),
		texts("methods", d.Vocabulary.DeclaredVerbs),
		text("domain", d.Vocabulary.Domain),
		text("namespace", d.Vocabulary.Namespace),
		truth("negotiable", d.Vocabulary.Negotiable),
		texts("capability_summary", classes),
		texts("data_classes", data),
		truth("pre_auth_discovery", preAuth),
		text("version", d.ServiceVersion),
		texts("interaction_protocols", protocols),
	)
}
