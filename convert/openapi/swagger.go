package openapi

import (
	"slices"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/low"
	v2 "github.com/pb33f/libopenapi/datamodel/low/v2"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// isSwagger reports whether a tree is a description of OpenAPI 2 (Swagger).
func isSwagger(root *protocol.Node) bool {
	v := root.Member("swagger")
	return v != nil && tree.IsKind(root, protocol.Object) && (v.Text == "2.0" || v.Text == "2")
}

// swaggerServers returns host, basePath and the best of the schemes as a list of servers.
func swaggerServers(root *protocol.Node) *protocol.Node {
	address := root.Member("basePath").Str()
	if host := root.Member("host").Str(); host != "" {
		scheme := "https"
		if schemes := root.Member("schemes").Strs(); len(schemes) > 0 && !slices.Contains(schemes, scheme) {
			scheme = schemes[0]
		}
		address = scheme + "://" + host + "/" + strings.Trim(address, "/")
	}
	if address == "" {
		return nil
	}
	entry := tree.Object("url", address)
	return tree.Array(entry)
}

// swaggerSecurity returns the security definitions in the form of OpenAPI 3.
func swaggerSecurity(root *protocol.Node) *protocol.Node {
	out := tree.Object()
	for _, m := range tree.Members(root.Member("securityDefinitions")) {
		scheme := tree.Object()
		for _, member := range tree.Members(m) {
			if member.Key == "type" && member.Str() == "basic" {
				tree.Put(scheme, "type", tree.String("http"))
				tree.Put(scheme, "scheme", tree.String("basic"))
			} else if member.Key != "scheme" {
				tree.Put(scheme, member.Key, tree.Clone(member))
			}
		}
		tree.Put(out, m.Key, scheme)
	}
	return out
}

// readSwaggerOperation reads one operation of OpenAPI 2. It fails if the library refuses the
// operation.
func (l *library) readSwaggerOperation(root, path, n *protocol.Node) (*operation, error) {
	object, err := buildObject[v2.Operation](l, n)
	if err != nil {
		return nil, err
	}
	shared, _, _, err := low.ExtractArray[*v2.Parameter](l.ctx, "parameters", l.copies[path], l.index)
	if err != nil {
		return nil, err
	}
	o := &operation{
		id: object.OperationId.Value, summary: object.Summary.Value, description: object.Description.Value,
		deprecated: object.Deprecated.Value, tags: textsOf(object.Tags.Value),
	}
	consumes := listTexts(n.Member("consumes"), root.Member("consumes"))
	var parameters, form parameterList
	for _, list := range [][]low.ValueReference[*v2.Parameter]{object.Parameters.Value, shared} {
		seen := len(parameters.list) + len(form.list) // the parameters of the operation come first
		for _, item := range list {
			p := parameter{item.Value.Name.Value, item.Value.In.Value, item.Value.Required.Value, nil, item.Value.Description.Value}
			switch {
			case seen > 0 && (parameters.hasParameter(p) || form.hasParameter(p)):
			case p.in == "body":
				if o.body.media == "" {
					o.body = requestBody{preferredName(consumes, "application/json"), l.schemaOf(item.ValueNode), p.required}
				}
			case p.in == "formData":
				p.schema = valueSchema(l.nodes[item.ValueNode])
				form.addParameter(p)
			default:
				p.schema = valueSchema(l.nodes[item.ValueNode])
				parameters.addParameter(p)
			}
		}
	}
	o.parameters = parameters.list
	if len(form.list) > 0 && o.body.media == "" {
		o.body = requestBody{preferredName(consumes, "multipart/form-data"), formSchema(form.list), true}
	}
	if responses := object.Responses.Value; responses != nil {
		for status, r := range responses.Codes.FromOldest() {
			o.responses = append(o.responses, response{strings.ToUpper(status.Value), r.Value.Description.Value, l.schemaOf(r.ValueNode)})
		}
		if r := responses.Default.Value; r != nil {
			o.responses = append(o.responses, response{"DEFAULT", r.Description.Value, l.schemaOf(responses.Default.ValueNode)})
		}
	}
	return o, nil
}

// hasParameter reports whether the list has a parameter of that name and place.
func (l *parameterList) hasParameter(p parameter) bool {
	_, known := l.index[p.in+" "+p.name]
	return known
}

// listTexts returns the texts of the first list that exists.
func listTexts(lists ...*protocol.Node) []string {
	for _, n := range lists {
		if n != nil {
			return n.Strs()
		}
	}
	return nil
}

// preferredName picks JSON from a list of media types, else the first, else another one.
func preferredName(media []string, otherwise string) string {
	switch {
	case slices.Contains(media, "application/json"):
		return "application/json"
	case len(media) > 0:
		return media[0]
	default:
		return otherwise
	}
}

// valueSchema returns what a parameter of OpenAPI 2 says of its values, as a schema.
func valueSchema(p *protocol.Node) *protocol.Node {
	out := tree.Object()
	for _, m := range tree.Members(p) {
		switch m.Key {
		case "name", "in", "required", "description", "schema", "collectionFormat", "allowEmptyValue":
		default:
			tree.Put(out, m.Key, tree.Clone(m))
		}
	}
	return out
}

// formSchema returns one object that has the fields of a form as properties.
func formSchema(fields []parameter) *protocol.Node {
	properties := tree.Object()
	var required []string
	for _, f := range fields {
		if f.description != "" && f.schema.Member("description") == nil {
			tree.Put(f.schema, "description", tree.String(f.description))
		}
		tree.Put(properties, f.name, f.schema)
		if f.required {
			required = append(required, f.name)
		}
	}
	out := tree.Object("type", "object", "properties", properties, "required", tree.Strings(required...))
	return out
}
