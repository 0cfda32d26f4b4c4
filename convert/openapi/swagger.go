package openapi

import (
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// version2 reports whether a tree is a description of OpenAPI 2 (Swagger).
func version2(root *protocol.Node) bool {
	v := root.Member("swagger")
	return v != nil && tree.IsKind(root, protocol.Object) && (v.Text == "2.0" || v.Text == "2")
}

// upgrade says in OpenAPI 3.0 what a description of OpenAPI 2 says. The nodes of
// the old tree become part of the new one. What is referred to stays at its
// place (#/definitions/Pet), so that references need no rewriting.
func upgrade(root *protocol.Node) *protocol.Node {
	u := upgrader{root: root, known: map[*protocol.Node]*protocol.Node{}}
	out := tree.Object()
	tree.Put(out, "openapi", tree.String("3.0.3"))
	for _, m := range root.Items {
		switch m.Key {
		case "swagger", "openapi", "servers", "components", "host", "basePath", "schemes", "consumes", "produces", "securityDefinitions":
		case "paths":
			tree.Put(out, "paths", u.paths(m))
		case "responses":
			tree.Put(out, "responses", u.responses(m, root.Member("produces")))
		default:
			tree.Put(out, m.Key, m)
		}
	}
	if address := u.server(); address != "" {
		entry := tree.Object()
		tree.Put(entry, "url", tree.String(address))
		tree.Put(out, "servers", tree.Array(entry))
	}
	components := tree.Put(out, "components", tree.Object())
	tree.Put(components, "securitySchemes", u.securitySchemes())
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
	out := tree.Object()
	for _, m := range tree.Members(u.root.Member("securityDefinitions")) {
		scheme := tree.Object()
		for _, member := range tree.Members(m) {
			if member.Key == "type" && member.Str() == "basic" {
				tree.Put(scheme, "type", tree.String("http"))
				tree.Put(scheme, "scheme", tree.String("basic"))
			} else if member.Key != "scheme" {
				tree.Put(scheme, member.Key, member)
			}
		}
		tree.Put(out, m.Key, scheme)
	}
	return out
}

func (u upgrader) paths(paths *protocol.Node) *protocol.Node {
	if !tree.IsKind(paths, protocol.Object) {
		return paths
	}
	out := tree.Object()
	for _, item := range paths.Items {
		if !tree.IsKind(item, protocol.Object) || strings.HasPrefix(item.Key, "x-") {
			tree.Put(out, item.Key, item)
			continue
		}
		shared := item.Member("parameters").Elements()
		path := tree.Object()
		for _, m := range item.Items {
			switch {
			case m.Key == "parameters":
			case slices.Contains(httpMethods, m.Key) && tree.IsKind(m, protocol.Object):
				tree.Put(path, m.Key, u.operation(m, shared))
			default:
				tree.Put(path, m.Key, m)
			}
		}
		tree.Put(out, item.Key, path)
	}
	return out
}

// operation splits the parameters into those of OpenAPI 3 and a request body.
func (u upgrader) operation(op *protocol.Node, shared []*protocol.Node) *protocol.Node {
	out := tree.Object()
	for _, m := range op.Items {
		switch m.Key {
		case "parameters", "requestBody", "consumes", "produces", "schemes", "servers":
		case "responses":
			produces := op.Member("produces")
			if produces == nil {
				produces = u.root.Member("produces")
			}
			tree.Put(out, m.Key, u.responses(m, produces))
		default:
			tree.Put(out, m.Key, m)
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
	tree.Put(out, "parameters", tree.Array(parameters...))
	switch {
	case body != nil:
		tree.Put(out, "requestBody", requestBody(body.Member("schema"), consumes, "application/json", body.Member("required").True()))
	case form != nil:
		tree.Put(out, "requestBody", requestBody(u.formSchema(form), consumes, "multipart/form-data", true))
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
	if p.Member("$ref") != nil || !tree.IsKind(p, protocol.Object) {
		return p
	}
	if out := u.known[p]; out != nil {
		return out
	}
	out, schema := tree.Object(), tree.Object()
	for _, m := range p.Items {
		switch m.Key {
		case "name", "in", "required", "description":
			tree.Put(out, m.Key, m)
		case "schema", "collectionFormat", "allowEmptyValue":
		default:
			tree.Put(schema, m.Key, m)
		}
	}
	tree.Put(out, "schema", schema)
	u.known[p] = out
	return out
}

// formSchema makes one object of the fields of a form.
func (u upgrader) formSchema(fields []*protocol.Node) *protocol.Node {
	properties := tree.Object()
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
			tree.Put(schema, "description", d)
		}
		tree.Put(properties, name, schema)
		if f.Member("required").True() {
			required = append(required, name)
		}
	}
	out := tree.Object()
	tree.Put(out, "type", tree.String("object"))
	tree.Put(out, "properties", properties)
	tree.Put(out, "required", tree.Strings(required...))
	return out
}

// requestBody wraps a schema in the first media type of a list.
func requestBody(schema *protocol.Node, media []string, otherwise string, required bool) *protocol.Node {
	out := tree.Object()
	tree.Put(out, "required", tree.Bool(required))
	tree.Put(out, "content", contentOf(schema, media, otherwise))
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
	content, entry := tree.Object(), tree.Object()
	tree.Put(content, name, entry)
	if schema != nil {
		tree.Put(entry, "schema", schema)
	}
	return content
}

// responses wraps the schemas of responses in their media type.
func (u upgrader) responses(responses, produces *protocol.Node) *protocol.Node {
	if !tree.IsKind(responses, protocol.Object) {
		return responses
	}
	out := tree.Object()
	for _, r := range responses.Items {
		schema := r.Member("schema")
		if schema == nil {
			tree.Put(out, r.Key, r)
			continue
		}
		response := tree.Object()
		for _, m := range r.Items {
			if m.Key != "schema" && m.Key != "content" {
				tree.Put(response, m.Key, m)
			}
		}
		key := r.Key
		tree.Put(response, "content", contentOf(schema, produces.Strs(), "application/json"))
		tree.Put(out, key, response)
	}
	return out
}
