package command

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"gazetteer/convert"
	"gazetteer/lint"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/wording"
)

// A draft holds what is known of a service while a document is created. A document can be written
// at any time: missing answers have a harmless value, so each answer is checked by the rules of the
// draft at once.
type draft struct {
	format initFormat
	now    time.Time

	name, description, host string
	domain                  string // AGIS
	authType, authHeader    string // AI Discovery
	operations              []operation

	reviews []convert.Review // of proposals that were taken
}

// operation is one operation of the service.
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

// fieldTypes are the types that a person may name, with JSON type and format.
var fieldTypes = []struct{ name, json, format string }{
	{"string", "string", ""}, {"text", "string", ""}, {"integer", "integer", ""}, {"number", "number", ""},
	{"boolean", "boolean", ""}, {"date", "string", "date"}, {"time", "string", "time"}, {"datetime", "string", "date-time"},
	{"email", "string", "email"}, {"uri", "string", "uri"}, {"uuid", "string", "uuid"},
}

var fieldName = regexp.MustCompile(`\A[a-z][a-z0-9_]{0,63}\z`)

// parseFields parses "table_id, guests: integer, note?: text".
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
		f.typ = cmp.Or(f.typ, "string")
		switch {
		case !fieldName.MatchString(f.name):
			return nil, newFault("%s is not a name for a field: %s", protocol.Quote(f.name), nameAdvice(f.name))
		case seen[f.name]:
			return nil, newFault("%s is named twice", protocol.Quote(f.name))
		case jsonType(f.typ) == "":
			return nil, newFault("%s is not a type: use %s", protocol.Quote(f.typ), typeNames())
		}
		seen[f.name] = true
		fields = append(fields, f)
	}
	return fields, nil
}

// nameAdvice suggests a field name made of the words given.
func nameAdvice(given string) string {
	all := splitWords(given)
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

// findFaults checks the document of the draft and returns the errors and warnings at or below the
// pointers.
func (s *draft) findFaults(pointers ...string) []protocol.Finding {
	r := lint.Check(lint.Input{Name: "draft", Text: protocol.WriteJSON(s.format.buildTree(s), ""), Kind: s.format.kind, URL: "https://" + s.hostOr() + "/"}, lint.Options{Today: s.now})
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

func (s *draft) hostOr() string { return cmp.Or(s.host, "www.example.com") }

// objectNode and the functions below build trees.
func objectNode(key string, members ...*protocol.Node) *protocol.Node {
	n := &protocol.Node{Kind: protocol.Object, Key: key}
	for _, m := range members {
		if m != nil {
			n.Items = append(n.Items, m)
		}
	}
	return n
}

func arrayNode(key string, items ...*protocol.Node) *protocol.Node {
	return &protocol.Node{Kind: protocol.Array, Key: key, Items: items}
}

func textNode(key, value string) *protocol.Node {
	return &protocol.Node{Kind: protocol.String, Key: key, Text: value}
}

func literalNode(key string, kind protocol.Kind, value string) *protocol.Node {
	return &protocol.Node{Kind: kind, Key: key, Text: value}
}

func textsNode(key string, values []string) *protocol.Node {
	n := arrayNode(key)
	for _, v := range values {
		n.Items = append(n.Items, textNode("", v))
	}
	return n
}

// blank replaces operations that are not known yet.
var blank = operation{verb: "find", noun: "thing", intent: "Finds things", method: "GET", path: "/things", outcome: "Things are listed", impact: "informational", failures: []string{"thing_not_found"}}

// operationsOrExample returns the operations, or blank while there are none.
func (s *draft) operationsOrExample() []operation {
	if len(s.operations) == 0 {
		return []operation{blank}
	}
	return s.operations
}

// aiTree returns the AI Discovery document.
func (s *draft) aiTree() *protocol.Node {
	capabilities := arrayNode("capabilities")
	for _, o := range s.operationsOrExample() {
		capabilities.Items = append(capabilities.Items, o.buildCapability())
	}
	auth := objectNode("auth", textNode("type", cmp.Or(s.authType, "apikey")))
	if s.authHeader != "" {
		auth.Items = append(auth.Items, textNode("header", s.authHeader))
	}
	return objectNode("",
		textNode("aiendpoint", "1.0"),
		objectNode("service", textNode("name", cmp.Or(s.name, "Service")), textNode("description", cmp.Or(s.description, "A service for agents"))),
		capabilities, auth,
		objectNode("meta", textNode("last_updated", s.now.Format(time.DateOnly))),
	)
}

func (o operation) buildCapability() *protocol.Node {
	noun := splitWords(cmp.Or(o.noun, blank.noun))
	var params *protocol.Node
	for _, f := range o.inputs {
		if params == nil {
			params = objectNode("params")
		}
		params.Items = append(params.Items, textNode(f.name, f.describeParam()))
	}
	var returns *protocol.Node // absent without outputs: nothing is guessed
	if len(o.outputs) > 0 {
		var names []string
		for _, f := range o.outputs {
			names = append(names, f.name)
		}
		returns = textNode("returns", strings.Join(noun, "_")+" {"+strings.Join(names, ", ")+"}")
	}
	return objectNode("",
		textNode("id", strings.ToLower(strings.Join(append(splitWords(cmp.Or(o.verb, blank.verb)), noun...), "_"))),
		textNode("description", cmp.Or(o.intent, blank.intent)),
		textNode("endpoint", cmp.Or(o.path, "/"+pathSegment(cmp.Or(o.noun, blank.noun)))),
		textNode("method", cmp.Or(o.method, "POST")),
		params,
		returns,
	)
}

// describeParam returns an input in the grammar of AI Discovery §3.3.
func (f field) describeParam() string {
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

// agisTree returns the full AGIS document.
func (s *draft) agisTree() *protocol.Node {
	endpoints := arrayNode("endpoints")
	var verbs []string
	seen := map[string]bool{}
	for _, o := range s.operationsOrExample() {
		endpoints.Items = append(endpoints.Items, o.buildEndpoint())
		if verb := o.operationID(); !seen[verb] {
			seen[verb] = true
			verbs = append(verbs, verb)
		}
	}
	return objectNode("",
		textNode("agis", "1.0"),
		textNode("service", cmp.Or(s.name, "Service")),
		textNode("agtp", "agtp://"+s.hostOr()),
		textNode("version", "1.0.0"),
		textNode("description", cmp.Or(s.description, "A service for agents")),
		endpoints,
		objectNode("vocabulary",
			textsNode("declared_verbs", verbs),
			textNode("domain", cmp.Or(s.domain, "general")),
			textNode("namespace", s.chooseNamespace()),
			textNode("version", "1.0.0"),
		),
	)
}

func (s *draft) chooseNamespace() string { return cmp.Or(pathSegment(s.name), "service") }

func (o operation) operationID() string { return strings.ToUpper(cmp.Or(o.verb, blank.verb)) }

func (o operation) buildEndpoint() *protocol.Node {
	impact := cmp.Or(o.impact, o.usualImpact())
	failures := arrayNode("errors")
	for _, name := range o.failures {
		failures.Items = append(failures.Items, objectNode("", textNode("name", name), textNode("description", nameToWords(name))))
	}
	if len(o.failures) == 0 {
		failures.Items = append(failures.Items, objectNode("", textNode("name", "thing_not_found"), textNode("description", "Thing not found")))
	}
	return objectNode("",
		textNode("method", o.operationID()),
		textNode("path", "/"+pathSegment(cmp.Or(o.noun, blank.noun))),
		objectNode("semantic",
			textNode("intent", cmp.Or(o.intent, nameToWords(cmp.Or(o.verb, blank.verb)))),
			textNode("actor", "agent"),
			textNode("outcome", cmp.Or(o.outcome, blank.outcome)),
			textNode("capability", o.capabilityClass()),
			literalNode("confidence_guidance", protocol.Number, confidence[impact]),
			textNode("impact_tier", impact),
			literalNode("is_idempotent", protocol.Bool, map[bool]string{true: "true", false: "false"}[o.isIdempotent()]),
		),
		fieldsSchema("input", o.inputs),
		fieldsSchema("output", o.outputs),
		failures,
	)
}

// fieldsSchema returns the JSON Schema of fields.
func fieldsSchema(key string, fields []field) *protocol.Node {
	properties, required := objectNode("properties"), arrayNode("required")
	for _, f := range fields {
		p := objectNode(f.name, textNode("type", jsonType(f.typ)))
		if form := jsonFormat(f.typ); form != "" {
			p.Items = append(p.Items, textNode("format", form))
		}
		properties.Items = append(properties.Items, p)
		if f.required {
			required.Items = append(required.Items, textNode("", f.name))
		}
	}
	n := objectNode(key, textNode("type", "object"), properties)
	if len(required.Items) > 0 && key == "input" {
		n.Items = append(n.Items, required)
	}
	return n
}

// confidence is the confidence that an agent needs before it acts. AGIS §6.2 gives no numbers but
// requires more for irreversible actions.
var confidence = map[string]string{"informational": "0.5", "reversible": "0.8", "irreversible": "0.9"}

func (o operation) verbEffect() effect.Class { return effect.Of(strings.ToLower(o.verb)) }

// usualImpact returns the usual impact of the verb.
func (o operation) usualImpact() string {
	switch c := o.verbEffect(); {
	case wording.IsPayment(o.verb), c&(effect.End|effect.Tell) != 0:
		return "irreversible"
	case c&(effect.Commit|effect.Change) != 0:
		return "reversible"
	case c != 0:
		return "informational"
	default:
		return "irreversible" // unknown: the cautious value
	}
}

// isIdempotent reports whether repeating the verb usually has no further effect.
func (o operation) isIdempotent() bool {
	c := o.verbEffect()
	return c != 0 && c&(effect.Commit|effect.Tell) == 0
}

// capabilityClass returns the capability class of AGIS §6.2.
func (o operation) capabilityClass() string {
	switch c := o.verbEffect(); {
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

// usualMethod returns the usual HTTP method of the verb.
func (o operation) usualMethod() string {
	switch c := o.verbEffect(); {
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

// splitWords splits a phrase at characters other than letters and digits.
func splitWords(phrase string) []string {
	return strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f)
	})
}

// pathSegment returns a phrase as a path segment.
func pathSegment(phrase string) string { return strings.Join(splitWords(phrase), "-") }

// nameToWords returns a name as words: "No table free" for "no_table_free".
func nameToWords(name string) string {
	w := strings.Join(splitWords(name), " ")
	if w == "" {
		return ""
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// summaryTree returns the summary of an AGIS document for /.well-known/agis.json (AGIS §11.1).
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
		return literalNode(key, protocol.Bool, map[bool]string{true: "true", false: "false"}[b])
	}
	return objectNode("",
		textNode("agis", "1.0"),
		textNode("service", d.Service),
		textNode("agtp", d.AGTP),
		textNode("agis_document", address),
		textsNode("methods", d.Vocabulary.DeclaredVerbs),
		textNode("domain", d.Vocabulary.Domain),
		textNode("namespace", d.Vocabulary.Namespace),
		truth("negotiable", d.Vocabulary.Negotiable),
		textsNode("capability_summary", classes),
		textsNode("data_classes", data),
		truth("pre_auth_discovery", preAuth),
		textNode("version", d.ServiceVersion),
		textsNode("interaction_protocols", protocols),
	)
}
