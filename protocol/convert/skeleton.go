package convert

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// aiToAGIS makes the skeleton of an AGIS document out of an AI Discovery
// document. A capability says of itself what an operation of OpenAPI does (an
// id, a sentence, an HTTP method, a path, parameters), so it is handed on as
// one: verbs, paths and semantic blocks are derived by the same means.
func aiToAGIS(text []byte, o Options) (Output, error) {
	doc, _, err := aidiscovery.Parse(text, aidiscovery.Options{})
	if err != nil {
		return Output{}, err
	}
	if len(doc.Capabilities) == 0 {
		return Output{}, fmt.Errorf("make an AGIS document: the AI Discovery document has no capabilities")
	}
	s := skeleton{doc: doc}
	a, err := newOpenAPI(s.openAPI(o))
	if err != nil {
		return Output{}, fmt.Errorf("make an AGIS document of the capabilities: %w", err)
	}
	b := newAGISBuilder(a, o)
	b.reword = ofCapability
	b.foreword = "a skeleton: verbs, paths, outcomes and errors are derived from ids, endpoints and HTTP methods; go through all of it"
	out, err := b.build()
	if err != nil {
		return Output{}, fmt.Errorf("make an AGIS document of the capabilities: %w", err)
	}
	return out, nil
}

var pathNumber = regexp.MustCompile(`#[0-9]+\z`)

// ofCapability says in the words of AI Discovery what a review says in those of
// OpenAPI.
func ofCapability(message string) string {
	return strings.Replace(pathNumber.ReplaceAllString(message, ""), "from the operationId", "from the capability id", 1)
}

type skeleton struct{ doc *aidiscovery.Document }

// openAPI describes the capabilities as operations, each at a path of its own:
// what tells two of them apart that share an endpoint stands behind a #.
func (s *skeleton) openAPI(o Options) *protocol.Node {
	root := newObject()
	put(root, "openapi", strNode("3.1.0"))
	info := put(root, "info", newObject())
	put(info, "title", strNode(s.doc.Service.Name))
	put(info, "description", strNode(s.doc.Service.Description))
	if server := s.server(o); server != "" {
		entry := newObject()
		put(entry, "url", strNode(server))
		put(root, "servers", newArray(entry))
	}
	paths := put(root, "paths", newObject())
	for i, c := range s.doc.Capabilities {
		item := newObject()
		put(item, strings.ToLower(httpMethod(c.Method)), s.operation(c))
		put(paths, fmt.Sprintf("%s#%d", endpointPath(c), i), item)
	}
	return root
}

// server returns the address of the service: where the document is from, or else
// the host of the first endpoint that names one.
func (s *skeleton) server(o Options) string {
	if o.URL != "" {
		return o.URL
	}
	for _, c := range s.doc.Capabilities {
		if u, err := url.Parse(c.Endpoint); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return u.Scheme + "://" + u.Host
		}
	}
	return ""
}

// httpMethod returns the method of a capability; a document with errors may have
// none, or another.
func httpMethod(method string) string {
	switch method = strings.ToUpper(method); method {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return method
	}
	return "POST"
}

// endpointPath returns the path of an endpoint with its parameters as {name};
// an endpoint without a path has the id of its capability.
func endpointPath(c aidiscovery.Capability) string {
	path := c.Endpoint
	if _, rest, ok := strings.Cut(path, "://"); ok {
		_, path, _ = strings.Cut(rest, "/")
	}
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, ":"); ok && name != "" {
			segments[i] = "{" + name + "}"
		}
	}
	if len(segments) == 1 && segments[0] == "" {
		segments[0] = strings.ReplaceAll(snake(c.ID, 60), "_", "-")
	}
	return "/" + strings.Join(segments, "/")
}

func (s *skeleton) operation(c aidiscovery.Capability) *protocol.Node {
	op := newObject()
	put(op, "operationId", strNode(c.ID))
	put(op, "summary", strNode(c.Description))
	put(op, "tags", strList(s.doc.Service.Category...))
	parameters, body := newArray(), newObject()
	var required []string
	inPath := aidiscovery.PathParams(c.Endpoint)
	method := httpMethod(c.Method)
	seen := map[string]bool{}
	for _, p := range c.Params {
		if seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		switch {
		case slices.Contains(inPath, p.Name):
			parameters.Items = append(parameters.Items, openAPIParameter("path", p))
		case method == "GET" || method == "DELETE":
			parameters.Items = append(parameters.Items, openAPIParameter("query", p))
		default:
			put(body, p.Name, paramSchema(p.Param))
			if p.Required {
				required = append(required, p.Name)
			}
		}
	}
	put(op, "parameters", parameters)
	if len(body.Items) > 0 {
		schema := newObject()
		put(schema, "type", strNode("object"))
		put(schema, "properties", body)
		put(schema, "required", strList(required...))
		put(op, "requestBody", jsonContent(schema))
	}
	put(op, "responses", s.responses(c, len(inPath) > 0))
	return op
}

func openAPIParameter(in string, p aidiscovery.NamedParam) *protocol.Node {
	n := newObject()
	put(n, "name", strNode(p.Name))
	put(n, "in", strNode(in))
	put(n, "required", boolNode(p.Required || in == "path"))
	put(n, "schema", paramSchema(p.Param))
	return n
}

// jsonContent wraps a schema as OpenAPI does the bodies of requests and answers.
func jsonContent(schema *protocol.Node) *protocol.Node {
	n := newObject()
	media := newObject()
	put(media, "schema", schema)
	content := put(n, "content", newObject())
	put(content, "application/json", media)
	return n
}

// paramSchema says in JSON Schema what a parameter description says.
func paramSchema(p aidiscovery.Param) *protocol.Node {
	n := newObject()
	base, item, list := strings.Cut(strings.TrimSuffix(p.Type, "]"), "[")
	t, known := typeWords[base]
	if !known {
		t = wordType{typ: "string"}
	}
	if of, ok := typeWords[item]; list && (base == "array" || item == "") {
		put(n, "type", strNode("array"))
		items := put(n, "items", newObject())
		switch {
		case base == "array" && ok:
			of.put(items)
		case base != "array":
			t.put(items)
		}
	} else {
		t.put(n)
	}
	description := p.Description
	for _, c := range p.Constraints {
		one := aidiscovery.Param{Constraints: []string{c}}.Meaning()
		if list || !putMeaning(n, one) {
			description = strings.TrimPrefix(description+", "+c, ", ")
		}
	}
	if !list && p.Dialect == aidiscovery.Draft {
		putMeaning(n, p.Meaning()) // the draft's own examples write some behind the dash
	}
	if description != "" {
		put(n, "description", strNode(description))
	}
	return n
}

// putMeaning writes into a schema what constraints mean, as far as it is new to
// the schema and its type can have it. It reports whether the schema says all of
// it.
func putMeaning(n *protocol.Node, m aidiscovery.Meaning) bool {
	said := 0
	add := func(given bool, name string, value *protocol.Node) {
		if given && value != nil {
			said++
			if n.Member(name) == nil {
				put(n, name, value)
			}
		}
	}
	typ := n.Member("type").Str()
	lowest, highest := "minimum", "maximum"
	if typ == "string" {
		lowest, highest = "minLength", "maxLength"
	}
	add(m.Min != "", lowest, boundNode(typ, m.Min))
	add(m.Max != "", highest, boundNode(typ, m.Max))
	add(m.HasDefault, "default", valueNode(typ, m.Default))
	if values := slices.Clone(m.Enum); n.Member("format") == nil && distinct(values) {
		choices := newArray()
		for _, v := range values {
			if c := valueNode(typ, v); c != nil {
				choices.Items = append(choices.Items, c)
			}
		}
		add(len(values) > 1 && len(choices.Items) == len(values), "enum", choices)
	}
	return said > 0
}

// boundNode returns a bound on the values of a type; nil where it can have none.
func boundNode(typ, literal string) *protocol.Node {
	switch typ {
	case "integer", "number":
		return valueNode(typ, literal)
	case "string":
		if v, err := strconv.ParseUint(literal, 10, 31); err == nil {
			return numNode(strconv.FormatUint(v, 10))
		}
	}
	return nil
}

// valueNode returns a value of a type; nil for a text that is none.
func valueNode(typ, text string) *protocol.Node {
	switch typ {
	case "string":
		return strNode(text)
	case "boolean":
		if text == "true" || text == "false" {
			return boolNode(text == "true")
		}
	case "integer":
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return numNode(strconv.FormatInt(v, 10))
		}
	case "number":
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return numNode(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return nil
}

// distinct trims the values and reports whether they are names that differ.
func distinct(values []string) bool {
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

// responses says what is answered, and what may go wrong as far as the document
// lets one expect.
func (s *skeleton) responses(c aidiscovery.Capability, inPath bool) *protocol.Node {
	n := newObject()
	answer := newObject()
	if c.Returns != "" {
		schema := newObject()
		put(schema, "description", strNode(c.Returns))
		answer = jsonContent(schema)
	}
	put(n, "200", answer)
	failure := func(status, description string) {
		f := newObject()
		put(f, "description", strNode(description))
		put(n, status, f)
	}
	if len(c.Params) > 0 {
		failure("400", "A parameter is missing or has a value that is not allowed")
	}
	if s.doc.Auth != nil && s.doc.Auth.Type != "none" {
		failure("401", "The caller is not authenticated")
	}
	if inPath {
		failure("404", "What the path names does not exist")
	}
	if s.doc.RateLimits.RequestsPerMinute > 0 {
		failure("429", "The caller asks too often")
	}
	return n
}
