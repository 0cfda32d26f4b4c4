package convert

import (
	"slices"
	"strings"

	"gazetteer/protocol"
)

// version2 reports whether a tree is a description of OpenAPI 2 (Swagger).
func version2(root *protocol.Node) bool {
	v := root.Member("swagger")
	return v != nil && isKind(root, protocol.Object) && (v.Text == "2.0" || v.Text == "2")
}

// upgrade says in OpenAPI 3.0 what a description of OpenAPI 2 says. The nodes of
// the old tree become part of the new one. What is referred to stays at its
// place (#/definitions/Pet), so that references need no rewriting.
func upgrade(root *protocol.Node) *protocol.Node {
	u := upgrader{root: root, known: map[*protocol.Node]*protocol.Node{}}
	out := newObject()
	put(out, "openapi", strNode("3.0.3"))
	for _, m := range root.Items {
		switch m.Key {
		case "swagger", "openapi", "servers", "components", "host", "basePath", "schemes", "consumes", "produces", "securityDefinitions":
		case "paths":
			put(out, "paths", u.paths(m))
		case "responses":
			put(out, "responses", u.responses(m, root.Member("produces")))
		default:
			put(out, m.Key, m)
		}
	}
	if address := u.server(); address != "" {
		entry := newObject()
		put(entry, "url", strNode(address))
		put(out, "servers", newArray(entry))
	}
	components := put(out, "components", newObject())
	put(components, "securitySchemes", u.securitySchemes())
	return out
}

type upgrader struct {
	root *protocol.Node
	// known holds parameters that were rewritten: many operations may refer to
	// one, and share its new form.
	known map[*protocol.Node]*protocol.Node
}

// server joins host, basePath and the best of the schemes.
func (u upgrader) server() string {
	host, base := u.root.Member("host").Str(), u.root.Member("basePath").Str()
	if host == "" {
		return base
	}
	scheme := "https"
	if schemes := u.root.Member("schemes").Strs(); len(schemes) > 0 && !slices.Contains(schemes, scheme) {
		scheme = schemes[0]
	}
	return scheme + "://" + host + "/" + strings.Trim(base, "/")
}

func (u upgrader) securitySchemes() *protocol.Node {
	out := newObject()
	for _, m := range membersOf(u.root.Member("securityDefinitions")) {
		scheme := newObject()
		for _, member := range membersOf(m) {
			if member.Key == "type" && member.Str() == "basic" {
				put(scheme, "type", strNode("http"))
				put(scheme, "scheme", strNode("basic"))
			} else if member.Key != "scheme" {
				put(scheme, member.Key, member)
			}
		}
		put(out, m.Key, scheme)
	}
	return out
}

func (u upgrader) paths(paths *protocol.Node) *protocol.Node {
	if !isKind(paths, protocol.Object) {
		return paths
	}
	out := newObject()
	for _, item := range paths.Items {
		if !isKind(item, protocol.Object) || strings.HasPrefix(item.Key, "x-") {
			put(out, item.Key, item)
			continue
		}
		shared := item.Member("parameters").Elements()
		path := newObject()
		for _, m := range item.Items {
			switch {
			case m.Key == "parameters":
			case slices.Contains(httpMethods, m.Key) && isKind(m, protocol.Object):
				put(path, m.Key, u.operation(m, shared))
			default:
				put(path, m.Key, m)
			}
		}
		put(out, item.Key, path)
	}
	return out
}

// operation splits the parameters into those of OpenAPI 3 and a request body.
func (u upgrader) operation(op *protocol.Node, shared []*protocol.Node) *protocol.Node {
	out := newObject()
	for _, m := range op.Items {
		switch m.Key {
		case "parameters", "requestBody", "consumes", "produces", "schemes", "servers":
		case "responses":
			produces := op.Member("produces")
			if produces == nil {
				produces = u.root.Member("produces")
			}
			put(out, m.Key, u.responses(m, produces))
		default:
			put(out, m.Key, m)
		}
	}
	consumes := op.Member("consumes").Strs()
	if consumes == nil {
		consumes = u.root.Member("consumes").Strs()
	}
	var parameters, form []*protocol.Node
	var body *protocol.Node
	seen := map[string]bool{}
	for _, p := range slices.Concat(op.Member("parameters").Elements(), shared) { // those of the operation count
		p = u.parameter(p)
		key := p.Member("in").Str() + " " + p.Member("name").Str()
		if seen[key] {
			continue
		}
		seen[key] = true
		switch p.Member("in").Str() {
		case "body":
			body = p
		case "formData":
			form = append(form, p)
		default:
			parameters = append(parameters, u.threeParameter(p))
		}
	}
	put(out, "parameters", newArray(parameters...))
	switch {
	case body != nil:
		put(out, "requestBody", requestBody(body.Member("schema"), consumes, "application/json", body.Member("required").True()))
	case form != nil:
		put(out, "requestBody", requestBody(u.formSchema(form), consumes, "multipart/form-data", true))
	}
	return out
}

// parameter follows a reference to one of the parameters of the document.
func (u upgrader) parameter(p *protocol.Node) *protocol.Node {
	if name, ok := strings.CutPrefix(p.Member("$ref").Str(), "#/parameters/"); ok {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if target := u.root.Member("parameters").Member(name); target != nil {
			return target
		}
	}
	return p
}

// threeParameter puts what a parameter says of its values into a schema.
func (u upgrader) threeParameter(p *protocol.Node) *protocol.Node {
	if p.Member("$ref") != nil || !isKind(p, protocol.Object) {
		return p
	}
	if out := u.known[p]; out != nil {
		return out
	}
	out, schema := newObject(), newObject()
	for _, m := range p.Items {
		switch m.Key {
		case "name", "in", "required", "description":
			put(out, m.Key, m)
		case "schema", "collectionFormat", "allowEmptyValue":
		default:
			put(schema, m.Key, m)
		}
	}
	put(out, "schema", schema)
	u.known[p] = out
	return out
}

// formSchema makes one object of the fields of a form.
func (u upgrader) formSchema(fields []*protocol.Node) *protocol.Node {
	properties := newObject()
	var required []string
	seen := map[string]bool{}
	for _, f := range fields {
		name := f.Member("name").Str()
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		schema := u.threeParameter(f).Member("schema")
		if schema == nil {
			continue
		}
		if d := f.Member("description"); d != nil && schema.Member("description") == nil {
			put(schema, "description", d)
		}
		put(properties, name, schema)
		if f.Member("required").True() {
			required = append(required, name)
		}
	}
	out := newObject()
	put(out, "type", strNode("object"))
	put(out, "properties", properties)
	put(out, "required", strList(required...))
	return out
}

// requestBody wraps a schema in the first media type of a list.
func requestBody(schema *protocol.Node, media []string, otherwise string, required bool) *protocol.Node {
	out := newObject()
	put(out, "required", boolNode(required))
	put(out, "content", contentOf(schema, media, otherwise))
	return out
}

func contentOf(schema *protocol.Node, media []string, otherwise string) *protocol.Node {
	name := otherwise
	if len(media) > 0 {
		name = media[0]
	}
	if slices.Contains(media, "application/json") {
		name = "application/json"
	}
	content, entry := newObject(), newObject()
	put(content, name, entry)
	if schema != nil {
		put(entry, "schema", schema)
	}
	return content
}

// responses wraps the schemas of responses in their media type.
func (u upgrader) responses(responses, produces *protocol.Node) *protocol.Node {
	if !isKind(responses, protocol.Object) {
		return responses
	}
	out := newObject()
	for _, r := range responses.Items {
		schema := r.Member("schema")
		if schema == nil {
			put(out, r.Key, r)
			continue
		}
		response := newObject()
		for _, m := range r.Items {
			if m.Key != "schema" && m.Key != "content" {
				put(response, m.Key, m)
			}
		}
		key := r.Key
		put(response, "content", contentOf(schema, produces.Strs(), "application/json"))
		put(out, key, response)
	}
	return out
}
