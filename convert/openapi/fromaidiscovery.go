package openapi

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
	b.keepPrefix = true // an endpoint has the whole path, also that of its base address
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
	return strings.NewReplacer("from the operationId", "from the capability id", "from the summary", "from the description").Replace(pathNumber.ReplaceAllString(message, ""))
}

type descriptionWriter struct{ doc *aidiscovery.Document }

// writeDescription describes the capabilities as operations with distinct paths: a number after #
// distinguishes capabilities with the same endpoint.
func (s *descriptionWriter) writeDescription(o conversion.Options) *protocol.Node {
	root := tree.Object("openapi", "3.1.0")
	tree.Put(root, "info", tree.Object("title", s.doc.Service.Name, "description", s.doc.Service.Description))
	if server := s.serviceAddress(o); server != "" {
		tree.Put(root, "servers", tree.Array(tree.Object("url", server)))
	}
	if auth := s.doc.Auth; auth != nil && auth.Type != "" {
		tree.Put(root, "components", tree.Object("securitySchemes", tree.Object("auth", tree.Object("type", auth.Type))))
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
	op := tree.Object("operationId", c.ID, "summary", c.Description, "tags", tree.Strings(s.doc.Service.Category...))
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
			tree.Put(body, p.Name, conversion.ParamSchema(p.Param))
			if p.Required {
				required = append(required, p.Name)
			}
		}
	}
	tree.Put(op, "parameters", parameters)
	if len(body.Items) > 0 {
		schema := tree.Object("type", "object", "properties", body, "required", tree.Strings(required...))
		putJSON(tree.Put(op, "requestBody", tree.Object()), schema)
	}
	tree.Put(op, "responses", s.writeResponses(c, len(inPath) > 0))
	return op
}

func openAPIParameter(in string, p aidiscovery.NamedParam) *protocol.Node {
	n := tree.Object("name", p.Name, "in", in, "required", p.Required || in == "path", "schema", conversion.ParamSchema(p.Param))
	return n
}

// writeResponses returns the responses that the document lets a caller expect.
func (s *descriptionWriter) writeResponses(c aidiscovery.Capability, inPath bool) *protocol.Node {
	n := tree.Object()
	answer := tree.Put(n, "200", tree.Object())
	if c.Returns != "" {
		putJSON(answer, tree.Object("description", c.Returns))
	}
	failure := func(status, description string) {
		tree.Put(n, status, tree.Object("description", description))
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
