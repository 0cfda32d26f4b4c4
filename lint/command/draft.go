package command

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"gazetteer/convert"
	"gazetteer/internal/psl"
	"gazetteer/lint"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// A draft holds what is known of a service while a document is created. A document can be written
// at any time: missing answers have a harmless value, so each answer is checked by the rules of the
// draft at once.
type draft struct {
	format initFormat
	now    time.Time

	name, description, host string
	domain                  string   // AGIS
	languages               []string // AI Discovery
	authType, authHeader    string   // AI Discovery
	operations              []operation

	reviews []convert.Review // of proposals that were taken
}

// operation is one operation of the service.
type operation struct {
	verb, noun, intent string
	english            string // the English verb of a verb in another language, "" if unknown
	inputs, outputs    []field

	method, path    string   // AI Discovery: how it is called over HTTP
	form            bool     // AI Discovery: the inputs are sent as the form of a page
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

// parseFields parses "table_id, guests: integer, note?: text". The notes say which names are written
// in another way than they were given.
func parseFields(answer string) (fields []field, notes, wrong []protocol.Finding) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(answer, ",") {
		given, typ, _ := strings.Cut(part, ":")
		given, typ = strings.TrimSpace(given), strings.ToLower(strings.TrimSpace(typ))
		name := plainName(given)
		if name == "" && typ == "" {
			continue
		}
		f := field{name: strings.TrimSuffix(name, "?"), typ: strings.TrimSuffix(typ, "?")}
		f.required = f.name == name && f.typ == typ
		f.typ = cmp.Or(f.typ, "string")
		known, _ := jsonType(f.typ)
		switch {
		case !fieldName.MatchString(f.name):
			return nil, nil, newFault("%s is not a name for a field: %s", protocol.Quote(f.name), nameAdvice(f.name))
		case seen[f.name]:
			return nil, nil, newFault("%s is named twice", protocol.Quote(f.name))
		case known == "":
			return nil, nil, newFault("%s is not a type: use %s", protocol.Quote(f.typ), typeNames())
		}
		seen[f.name] = true
		fields = append(fields, f)
		if name != given {
			notes = append(notes, newNote("%s is written as %s: names of fields have plain lowercase letters", protocol.Quote(strings.TrimSuffix(given, "?")), f.name)...)
		}
	}
	return fields, notes, nil
}

// plainName returns a name without marks, and without the capital letter that begins it or with all
// letters small. It leaves names in mixed case, such as guestCount, for the person to decide.
func plainName(given string) string {
	plain := protocol.WithoutMarks(given)
	if lower := strings.ToLower(plain); plain == strings.ToUpper(plain) || plain[1:] == lower[1:] {
		return lower
	}
	return plain
}

// nameAdvice suggests a field name made of the words given.
func nameAdvice(given string) string {
	all := splitWords(given)
	if name := strings.Join(all, "_"); len(all) <= 3 && fieldName.MatchString(name) {
		return "write " + name
	}
	return "use lowercase letters, digits and underscores, a letter first, and a comma between two fields; for example guests, date"
}

// jsonType returns the JSON type and the format of a type, "" for an unknown one.
func jsonType(name string) (typ, format string) {
	for _, t := range fieldTypes {
		if t.name == name {
			return t.json, t.format
		}
	}
	return "", ""
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
	capabilities := tree.Array()
	for _, o := range s.operationsOrExample() {
		capabilities.Items = append(capabilities.Items, o.buildCapability())
	}
	auth := tree.Object("type", cmp.Or(s.authType, "apikey"))
	if s.authHeader != "" {
		tree.Put(auth, "header", tree.String(s.authHeader))
	}
	service := tree.Object("name", cmp.Or(s.name, "Service"), "description", cmp.Or(s.description, "A service for agents"))
	if len(s.languages) > 0 {
		tree.Put(service, "language", tree.Strings(s.languages...))
	}
	return tree.Object(
		"aiendpoint", "1.0",
		"service", service,
		"capabilities", capabilities, "auth", auth,
		"meta", tree.Object("last_updated", s.now.Format(time.DateOnly)),
	)
}

func (o operation) buildCapability() *protocol.Node {
	noun := splitWords(cmp.Or(o.noun, blank.noun))
	n := tree.Object(
		"id", protocol.WithoutMarks(strings.Join(append(splitWords(cmp.Or(o.verb, blank.verb)), noun...), "_")),
		"description", cmp.Or(o.intent, blank.intent),
		"endpoint", cmp.Or(o.path, "/"+pathSegment(cmp.Or(o.noun, blank.noun))),
		"method", cmp.Or(o.method, "POST"),
	)
	params := tree.Object()
	for _, f := range o.inputs {
		text := f.describeParam()
		if o.form && !strings.Contains(o.path, "{"+f.name+"}") {
			text += ", sent as application/x-www-form-urlencoded" // as conversions from OpenAPI write it
		}
		tree.Put(params, f.name, tree.String(text))
	}
	if len(o.inputs) > 0 {
		tree.Put(n, "params", params)
	}
	if len(o.outputs) > 0 { // without any nothing is guessed
		var names []string
		for _, f := range o.outputs {
			names = append(names, f.name)
		}
		tree.Put(n, "returns", tree.String(protocol.WithoutMarks(strings.Join(noun, "_"))+" {"+strings.Join(names, ", ")+"}"))
	}
	return n
}

// describeParam returns an input in the grammar of AI Discovery §3.3.
func (f field) describeParam() string {
	requirement := "optional"
	if f.required {
		requirement = "required"
	}
	typ, form := jsonType(f.typ)
	if form != "" {
		requirement += ", format " + form // as conversions from OpenAPI write it
	}
	return typ + ", " + requirement
}

// agisTree returns the full AGIS document.
func (s *draft) agisTree() *protocol.Node {
	endpoints := tree.Array()
	var verbs []string
	for _, o := range s.operationsOrExample() {
		endpoints.Items = append(endpoints.Items, o.buildEndpoint())
		if verb := o.operationID(); !slices.Contains(verbs, verb) {
			verbs = append(verbs, verb)
		}
	}
	return tree.Object(
		"agis", "1.0",
		"service", cmp.Or(s.name, "Service"),
		"agtp", "agtp://"+s.hostOr(),
		"version", "1.0.0",
		"description", cmp.Or(s.description, "A service for agents"),
		"endpoints", endpoints,
		"vocabulary", tree.Object(
			"declared_verbs", tree.Strings(verbs...),
			"domain", cmp.Or(s.domain, "general"),
			"namespace", proposeNamespace(s.name, s.host),
			"version", "1.0.0",
		),
	)
}

func (o operation) operationID() string { return strings.ToUpper(cmp.Or(o.verb, blank.verb)) }

func (o operation) buildEndpoint() *protocol.Node {
	impact := cmp.Or(o.impact, o.usualImpact())
	names := o.failures
	if len(names) == 0 {
		names = blank.failures
	}
	failures := tree.Array()
	for _, name := range names {
		failures.Items = append(failures.Items, tree.Object("name", name, "description", nameToWords(name)))
	}
	return tree.Object(
		"method", o.operationID(),
		"path", "/"+pathSegment(cmp.Or(o.noun, blank.noun)),
		"semantic", tree.Object(
			"intent", cmp.Or(o.intent, nameToWords(cmp.Or(o.verb, blank.verb))),
			"actor", "agent",
			"outcome", cmp.Or(o.outcome, blank.outcome),
			"capability", o.capabilityClass(),
			"confidence_guidance", tree.Number(confidence[impact]),
			"impact_tier", impact,
			"is_idempotent", o.isIdempotent(),
		),
		"input", fieldsSchema(o.inputs, true),
		"output", fieldsSchema(o.outputs, false),
		"errors", failures,
	)
}

// fieldsSchema returns the JSON Schema of fields.
func fieldsSchema(fields []field, input bool) *protocol.Node {
	properties := tree.Object()
	var required []string
	for _, f := range fields {
		typ, form := jsonType(f.typ)
		p := tree.Put(properties, f.name, tree.Object("type", typ))
		if form != "" {
			tree.Put(p, "format", tree.String(form))
		}
		if f.required {
			required = append(required, f.name)
		}
	}
	n := tree.Object("type", "object", "properties", properties)
	if len(required) > 0 && input {
		tree.Put(n, "required", tree.Strings(required...))
	}
	return n
}

// confidence is the confidence that an agent needs before it acts. AGIS §6.2 gives no numbers but
// requires more for irreversible actions.
var confidence = map[string]string{"informational": "0.5", "reversible": "0.8", "irreversible": "0.9"}

func (o operation) verbEffect() effect.Class {
	if c := effect.Of(strings.ToLower(o.verb)); c != 0 {
		return c
	}
	return effect.Of(o.english)
}

// usualImpact returns the usual impact of the verb.
func (o operation) usualImpact() string {
	switch c := o.verbEffect(); {
	case wording.IsPayment(o.verb), wording.IsPayment(o.english), c&(effect.End|effect.Tell) != 0:
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

// setMethod sets the HTTP method, or that of the form of a page.
func (o *operation) setMethod(answer string) {
	o.method, o.form = answer, strings.EqualFold(answer, "form")
	if o.form {
		o.method = "POST"
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
func pathSegment(phrase string) string {
	return protocol.WithoutMarks(strings.Join(splitWords(phrase), "-"))
}

// proposeNamespace returns a namespace for a service: its name, after the name of the domain of its host,
// so that it does not look like the name of somebody else's domain. "Hotel Anil" at anil.example is
// anil-hotel.
func proposeNamespace(service, host string) string {
	domain, _, found := strings.Cut(psl.Domain(strings.ToLower(host)), ".")
	segment := pathSegment(service)
	if !found || segment == domain || strings.HasPrefix(segment, domain+"-") {
		return cmp.Or(segment, "service")
	}
	words := strings.FieldsFunc(segment, func(r rune) bool { return r == '-' })
	words = cutWordsOf(words, strings.ReplaceAll(domain, "-", ""))
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(strings.Split(domain, "-"), word) })
	return strings.Join(append([]string{domain}, words...), "-")
}

// cutWordsOf leaves out the words that together are the name of the domain, with the short ones beside
// them: nothing remains of "la", "ruche", "d", "or" at ruche-dor.example.
func cutWordsOf(words []string, domain string) []string {
	for from := range words {
		for to := from + 1; to <= len(words); to++ {
			if strings.Join(words[from:to], "") != domain || to-from == 1 {
				continue
			}
			rest := slices.Concat(words[:from], words[to:])
			return slices.DeleteFunc(rest, func(word string) bool { return len(word) <= 2 && word[0] > '9' })
		}
	}
	return words
}

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
	for _, e := range d.Endpoints {
		if c := e.Semantic.Capability; c != "" && !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	if d.DataManifest != nil {
		for _, c := range d.DataManifest.Available {
			data = append(data, c.Class)
		}
	}
	protocols := []string{"request"}
	if d.Vocabulary.Negotiable {
		protocols = append(protocols, "negotiate")
	}
	return tree.Object(
		"agis", "1.0",
		"service", d.Service,
		"agtp", d.AGTP,
		"agis_document", address,
		"methods", tree.Strings(d.Vocabulary.DeclaredVerbs...),
		"domain", d.Vocabulary.Domain,
		"namespace", d.Vocabulary.Namespace,
		"negotiable", d.Vocabulary.Negotiable,
		"capability_summary", tree.Strings(classes...),
		"data_classes", tree.Strings(data...),
		"pre_auth_discovery", d.PreAuthDiscovery,
		"version", d.ServiceVersion,
		"interaction_protocols", tree.Strings(protocols...),
	)
}
