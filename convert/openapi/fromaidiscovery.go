package openapi

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
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// AIDiscoveryToAGIS converts an AI Discovery document to the skeleton of an AGIS document. A
// capability states what an OpenAPI operation states (id, sentence, HTTP method, path, parameters),
// so it is converted as one.
func AIDiscoveryToAGIS(text []byte, o conversion.Options) (conversion.Output, error) {
	doc, _, err := aidiscovery.Parse(text, aidiscovery.Options{})
	if err != nil {
		return conversion.Output{}, err
	}
	if len(doc.Capabilities) == 0 {
		return conversion.Output{}, fmt.Errorf("make an AGIS document: the AI Discovery document has no capabilities")
	}
	s := descriptionWriter{doc: doc}
	a, err := newOpenAPI(s.writeDescription(o))
	if err != nil {
		return conversion.Output{}, fmt.Errorf("make an AGIS document of the capabilities: %w", err)
	}
	b := newAGISBuilder(a, o)
	b.rewordReview = rewordForCapability
	b.foreword = "a skeleton: verbs, paths, outcomes and errors are derived from ids, endpoints and HTTP methods; go through all of it"
	out, err := b.buildDocument()
	if err != nil {
		return conversion.Output{}, fmt.Errorf("make an AGIS document of the capabilities: %w", err)
	}
	return out, nil
}

var pathNumber = regexp.MustCompile(`#[0-9]+\z`)

// rewordForCapability replaces OpenAPI terms in a review by those of AI Discovery.
func rewordForCapability(message string) string {
	return strings.Replace(pathNumber.ReplaceAllString(message, ""), "from the operationId", "from the capability id", 1)
}

type descriptionWriter struct{ doc *aidiscovery.Document }

// writeDescription describes the capabilities as operations with distinct paths: a number after #
// distinguishes capabilities with the same endpoint.
func (s *descriptionWriter) writeDescription(o conversion.Options) *protocol.Node {
	root := tree.Object()
	tree.Put(root, "openapi", tree.String("3.1.0"))
	info := tree.Put(root, "info", tree.Object())
	tree.Put(info, "title", tree.String(s.doc.Service.Name))
	tree.Put(info, "description", tree.String(s.doc.Service.Description))
	if server := s.serviceAddress(o); server != "" {
		entry := tree.Object()
		tree.Put(entry, "url", tree.String(server))
		tree.Put(root, "servers", tree.Array(entry))
	}
	paths := tree.Put(root, "paths", tree.Object())
	for i, c := range s.doc.Capabilities {
		item := tree.Object()
		tree.Put(item, strings.ToLower(httpMethod(c.Method)), s.writeOperation(c))
		tree.Put(paths, fmt.Sprintf("%s#%d", endpointPath(c), i), item)
	}
	return root
}

// serviceAddress returns the address of the service: the source of the document, else the host of
// the first absolute endpoint.
func (s *descriptionWriter) serviceAddress(o conversion.Options) string {
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

// httpMethod returns the HTTP method of a capability, POST for a missing or unknown one.
func httpMethod(method string) string {
	switch method = strings.ToUpper(method); method {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return method
	}
	return "POST"
}

// endpointPath returns the path of an endpoint with parameters as {name}. The id of the capability
// replaces an empty path.
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
		segments[0] = strings.ReplaceAll(wording.SnakeCase(c.ID, 60), "_", "-")
	}
	return "/" + strings.Join(segments, "/")
}

func (s *descriptionWriter) writeOperation(c aidiscovery.Capability) *protocol.Node {
	op := tree.Object()
	tree.Put(op, "operationId", tree.String(c.ID))
	tree.Put(op, "summary", tree.String(c.Description))
	tree.Put(op, "tags", tree.Strings(s.doc.Service.Category...))
	parameters, body := tree.Array(), tree.Object()
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
			tree.Put(body, p.Name, paramSchema(p.Param))
			if p.Required {
				required = append(required, p.Name)
			}
		}
	}
	tree.Put(op, "parameters", parameters)
	if len(body.Items) > 0 {
		schema := tree.Object()
		tree.Put(schema, "type", tree.String("object"))
		tree.Put(schema, "properties", body)
		tree.Put(schema, "required", tree.Strings(required...))
		tree.Put(op, "requestBody", jsonContent(schema))
	}
	tree.Put(op, "responses", s.writeResponses(c, len(inPath) > 0))
	return op
}

func openAPIParameter(in string, p aidiscovery.NamedParam) *protocol.Node {
	n := tree.Object()
	tree.Put(n, "name", tree.String(p.Name))
	tree.Put(n, "in", tree.String(in))
	tree.Put(n, "required", tree.Bool(p.Required || in == "path"))
	tree.Put(n, "schema", paramSchema(p.Param))
	return n
}

// jsonContent wraps a schema as the content of a request or response.
func jsonContent(schema *protocol.Node) *protocol.Node {
	n := tree.Object()
	media := tree.Object()
	tree.Put(media, "schema", schema)
	content := tree.Put(n, "content", tree.Object())
	tree.Put(content, "application/json", media)
	return n
}

// paramSchema converts a parameter description to JSON Schema.
func paramSchema(p aidiscovery.Param) *protocol.Node {
	n := tree.Object()
	base, item, list := strings.Cut(strings.TrimSuffix(p.Type, "]"), "[")
	t, known := conversion.NamedTypes[base]
	if !known {
		t = conversion.NamedType{Type: "string"}
	}
	if of, ok := conversion.NamedTypes[item]; list && (base == "array" || item == "") {
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
	add(m.Min != "", lowest, boundNode(typ, m.Min))
	add(m.Max != "", highest, boundNode(typ, m.Max))
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

// boundNode returns a bound for values of a type, nil if the type has none.
func boundNode(typ, literal string) *protocol.Node {
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

// writeResponses returns the responses that the document lets a caller expect.
func (s *descriptionWriter) writeResponses(c aidiscovery.Capability, inPath bool) *protocol.Node {
	n := tree.Object()
	answer := tree.Object()
	if c.Returns != "" {
		schema := tree.Object()
		tree.Put(schema, "description", tree.String(c.Returns))
		answer = jsonContent(schema)
	}
	tree.Put(n, "200", answer)
	failure := func(status, description string) {
		f := tree.Object()
		tree.Put(f, "description", tree.String(description))
		tree.Put(n, status, f)
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
