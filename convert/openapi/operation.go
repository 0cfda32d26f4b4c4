package openapi

import (
	"strings"

	"github.com/pb33f/libopenapi/datamodel/low"
	v3 "github.com/pb33f/libopenapi/datamodel/low/v3"
	"github.com/pb33f/libopenapi/orderedmap"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// An operation is one HTTP method of one path.
type operation struct {
	node        *protocol.Node // as the description has it
	path        string
	method      string // in lower case
	id          string
	action      string // the id without the name of the service in front
	summary     string // one line without markup, from the description where there is none
	description string // one line without markup
	tags        []string
	deprecated  bool
	parameters  []parameter
	body        requestBody
	responses   []response
	servers     *protocol.Node // of the operation or its path; nil where those of the document hold
}

// A parameter of an operation, resolved.
type parameter struct {
	name, in    string
	required    bool
	schema      *protocol.Node // nil when there is none
	description string
}

// A requestBody is what an operation is sent. It has no media type where nothing is sent.
type requestBody struct {
	media    string
	schema   *protocol.Node // nil when there is none
	required bool
}

// A response of an operation, resolved.
type response struct {
	status      string // "200", "4XX", "DEFAULT"
	description string
	schema      *protocol.Node // nil when there is none
}

// textsOf returns the texts of a list.
func textsOf(list []low.ValueReference[string]) (texts []string) {
	for _, item := range list {
		texts = append(texts, item.Value)
	}
	return texts
}

// readOperation reads one operation of OpenAPI 3. It fails if the library refuses the operation.
func (l *library) readOperation(path, n *protocol.Node) (*operation, error) {
	object, err := buildObject[v3.Operation](l, n)
	if err != nil {
		return nil, err
	}
	shared, _, _, err := low.ExtractArray[*v3.Parameter](l.ctx, "parameters", l.copies[path], l.index)
	if err != nil {
		return nil, err
	}
	o := &operation{
		id: object.OperationId.Value, summary: object.Summary.Value, description: object.Description.Value,
		deprecated: object.Deprecated.Value, tags: textsOf(object.Tags.Value),
	}
	var parameters parameterList
	for _, list := range [][]low.ValueReference[*v3.Parameter]{shared, object.Parameters.Value} {
		for _, item := range list {
			p := item.Value
			schema := l.schemaOf(p.RootNode)
			if first := p.Content.Value.First(); schema == nil && first != nil {
				schema = l.schemaOf(first.Value().Value.RootNode)
			}
			parameters.addParameter(parameter{p.Name.Value, p.In.Value, p.Required.Value, schema, p.Description.Value})
		}
	}
	o.parameters = parameters.list
	if body := object.RequestBody.Value; body != nil {
		o.body.media, o.body.schema = l.preferredMedia(body.Content.Value)
		o.body.required = body.Required.Value
	}
	if responses := object.Responses.Value; responses != nil {
		for status, r := range responses.Codes.FromOldest() {
			_, schema := l.preferredMedia(r.Value.Content.Value)
			o.responses = append(o.responses, response{strings.ToUpper(status.Value), r.Value.Description.Value, schema})
		}
		if r := responses.Default.Value; r != nil {
			_, schema := l.preferredMedia(r.Content.Value)
			o.responses = append(o.responses, response{"DEFAULT", r.Description.Value, schema})
		}
	}
	return o, nil
}

// addContext adds what an operation of any version has from its place in the description.
func (o *operation) addContext(path, n *protocol.Node, method string) {
	o.node, o.path, o.method = n, path.Key, method
	o.summary, o.description = wording.StripMarkup(o.summary), wording.StripMarkup(o.description)
	for i := range o.parameters {
		o.parameters[i].description = wording.StripMarkup(o.parameters[i].description)
	}
	o.action = o.id
	if o.servers = n.Member("servers"); o.servers == nil {
		o.servers = path.Member("servers")
	}
	if o.summary == "" {
		o.summary = o.description
	}
	if o.summary == "" {
		o.summary = wording.StripMarkup(path.Member("summary").Str())
	}
}

// A parameterList collects parameters. One of the same name and place replaces an earlier one, as
// those of an operation replace those of its path.
type parameterList struct {
	list  []parameter
	index map[string]int
}

func (l *parameterList) addParameter(p parameter) {
	if p.name == "" || p.in == "" || len(p.name) > 100 {
		return
	}
	if p.in == "path" {
		p.required = true
	}
	key := p.in + " " + p.name
	if i, known := l.index[key]; known {
		l.list[i] = p
		return
	}
	if len(l.list) == conversion.MaxParameters {
		return
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.index[key] = len(l.list)
	l.list = append(l.list, p)
}

// preferredMedia picks the media type that is most like JSON, and its schema.
func (l *library) preferredMedia(content *orderedmap.Map[low.KeyReference[string], low.ValueReference[*v3.MediaType]]) (media string, schema *protocol.Node) {
	best := 0
	for key, value := range content.FromOldest() {
		if rank := rankMedia(key.Value); rank > best {
			best, media, schema = rank, key.Value, l.schemaOf(value.Value.RootNode)
		}
	}
	return media, schema
}

// rankMedia ranks a media type: JSON first, then forms, then all others.
func rankMedia(media string) int {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	switch media = strings.TrimSpace(media); {
	case media == "application/json":
		return 5
	case strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "/json"):
		return 4
	case media == "*/*" || media == "application/*":
		return 3
	case strings.Contains(media, "form"):
		return 2
	default:
		return 1
	}
}

// successResponse returns the response that says the call was carried out: the lowest 2xx with a
// schema, else the lowest 2xx, else the default one; the zero response when there is none.
func (o *operation) successResponse() response {
	var best, fallback response
	for _, r := range o.responses {
		switch {
		case strings.HasPrefix(r.status, "2"):
			better := r.schema != nil && best.schema == nil
			if best.status == "" || better || (r.schema != nil) == (best.schema != nil) && r.status < best.status {
				best = r
			}
		case r.status == "DEFAULT":
			fallback = r
		}
	}
	if best.status == "" {
		return fallback
	}
	return best
}

// listCallbacks returns the names of the callbacks of an operation.
func (o *operation) listCallbacks() []*protocol.Node { return tree.Members(o.node.Member("callbacks")) }
