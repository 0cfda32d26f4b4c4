package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/mcp"
	"gazetteer/store"
)

const exportPath = "/api/v1/export"

// maxExport is how many operations one export takes.
const maxExport = 100

// exportRoute declares how chosen operations are written for callers.
func (a *API) exportRoute(h huma.API) {
	op := huma.Operation{
		OperationID: "export-operations", Method: http.MethodPost, Path: exportPath,
		Summary: "Chosen operations as tools of MCP, functions with a JSON Schema, or lines for curl",
		Description: "Names are unique within the answer and have at most 64 characters of a-z, A-Z, 0-9, _ and -. A schema is that of the document, " +
			"where it has one. Texts that try to instruct a model are left out. A line for curl is safe to paste; {name} stands for a value.",
		Responses: map[string]*huma.Response{"200": {
			Description: "The operations in the form that was asked for, in their order.",
			Content: map[string]*huma.MediaType{
				"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{schemaOf[call.MCP](h), schemaOf[call.Functions](h)}}},
				"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
			},
		}},
	}
	addRoute(a, h, op, a.exportByBody)
	describeBody[ExportBody](h, h.OpenAPI().Paths[exportPath].Post)
}

// ExportBody documents the body of an export.
type ExportBody struct {
	Operations []string `json:"operations" nullable:"false" minItems:"1" maxItems:"100" doc:"ids of operations, from the hits of a search: host/kind/id; at most 100"`
	As         string   `json:"as" enum:"mcp,functions,curl" doc:"the form"`
}

// ErrNoOperation: no document has that operation now. Test with errors.Is.
var ErrNoOperation = errors.New("no such operation")

func (a *API) exportByBody(ctx context.Context, in *bodyInput) (*pageOutput, error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	ids, as, err := readExport(in.body.text)
	if err != nil {
		return nil, err
	}
	var chosen []call.Offer
	met := map[string]bool{}
	for _, n := range ids {
		o, err := a.answers.Offer(ctx, n.Text)
		if errors.Is(err, ErrNoOperation) {
			return nil, newProblem(noOperation, fmt.Sprintf("no operation has the id %.200q now", n.Text), "take the id of a hit of /api/v1/search: host/kind/id").withLocation(locationOf(n))
		}
		if err != nil {
			return nil, err
		}
		if met[o.ID] { // the host in another spelling
			return nil, newProblem(badField, "the operation is listed twice", "list it once").withLocation(locationOf(n))
		}
		met[o.ID] = true
		chosen = append(chosen, o)
	}
	return a.exportOperations(ctx, as, chosen, "", "")
}

// readExport reads the body of an export.
func readExport(text []byte) (ids []*protocol.Node, as string, err error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil {
		return nil, "", err
	}
	bad := func(n *protocol.Node, pointer, message, help string) error {
		w := locationOf(n)
		w.Pointer += pointer
		return newProblem(badField, message, help).withLocation(w)
	}
	const form = `send {"operations": ["host/kind/id"], "as": "mcp"}`
	if root.Kind != protocol.Object {
		return nil, "", newProblem(badBody, "the body is no JSON object", form).withLocation(locationOf(root))
	}
	for _, m := range root.Items {
		if m.Key != "operations" && m.Key != "as" {
			return nil, "", bad(m, "", fmt.Sprintf("there is no member %.60q here", m.Key), "known are: as and operations")
		}
	}
	forms := []string{"mcp", "functions", "curl"}
	switch n := root.Member("as"); {
	case n == nil:
		return nil, "", bad(root, "/as", "as is missing", "it is one of mcp, functions and curl")
	case n.Kind != protocol.String || !slices.Contains(forms, n.Text):
		return nil, "", bad(n, "", "as is none of the forms", "it is one of mcp, functions and curl")
	default:
		as = n.Text
	}
	n := root.Member("operations")
	switch {
	case n == nil:
		return nil, "", bad(root, "/operations", "operations is missing", form)
	case n.Kind != protocol.Array || len(n.Items) == 0:
		return nil, "", bad(n, "", "operations is no list of ids", form)
	case len(n.Items) > maxExport:
		return nil, "", bad(n, "", fmt.Sprintf("operations has %d ids", len(n.Items)), fmt.Sprintf("send at most %d", maxExport))
	}
	met := map[string]bool{}
	for _, item := range n.Items {
		if item.Kind != protocol.String || len(item.Text) > maxParameter {
			return nil, "", bad(item, "", "this is no id of an operation", "take the id of a hit of /api/v1/search: host/kind/id")
		}
		if met[item.Text] {
			return nil, "", bad(item, "", "the operation is listed twice", "list it once")
		}
		met[item.Text] = true
	}
	return n.Items, as, nil
}

// callOffers are the operations of hits, to be exported.
func callOffers(hits []Hit) []call.Offer {
	out := make([]call.Offer, len(hits))
	for i, h := range hits {
		out[i] = call.Offer{ID: h.ID, Host: h.Host, Service: h.Service, Operation: h.Operation}
	}
	return out
}

// Offer finds an operation by its id, host/kind/id. The error is [ErrNoOperation]
// when there is none.
func (a *Answers) Offer(ctx context.Context, id string) (call.Offer, error) {
	name, kind, operation, ok := splitOperationID(id)
	host, err := fetch.CheckHost(name)
	if !ok || err != nil {
		return call.Offer{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	d, found, err := a.readDocument(ctx, host, kind)
	if err != nil {
		return call.Offer{}, err
	}
	at := slices.IndexFunc(d.Operations, func(o document.Operation) bool { return o.ID == operation })
	if !found || at < 0 {
		return call.Offer{}, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	return call.Offer{ID: operationID(host, kind, operation), Host: host, Service: d.Service, Operation: d.Operations[at]}, nil
}

// readDocument reads the current document of a kind; false when there is none.
func (a *Answers) readDocument(ctx context.Context, host string, kind document.Kind) (document.Document, bool, error) {
	record, err := a.Store.Get(ctx, store.DocumentKey(host, string(kind)))
	if errors.Is(err, store.ErrNotFound) {
		return document.Document{}, false, nil
	}
	if err != nil {
		return document.Document{}, false, fmt.Errorf("read %s of %s: %w", kind, host, err)
	}
	d, err := decodeRecord[document.Document](record)
	return d, true, err
}

// exportOperations writes operations in a form for callers.
func (a *API) exportOperations(ctx context.Context, as string, chosen []call.Offer, next, link string) (*pageOutput, error) {
	if err := a.addSchemas(ctx, as, chosen); err != nil {
		return nil, err
	}
	return writeTools(as, chosen, next, link)
}

// exportWithin writes as many of the operations in a form for callers as fit the
// tokens, in their order. next makes the cursor and Link of the page behind the
// first n of them.
func (a *API) exportWithin(ctx context.Context, as string, chosen []call.Offer, tokens int, next func(n int) (next, link string)) (*pageOutput, error) {
	if err := a.addSchemas(ctx, as, chosen); err != nil {
		return nil, err
	}
	var best *pageOutput
	write := func(n int) (takes int, err error) {
		cursor, link := next(n)
		out, err := writeTools(as, chosen[:n], cursor, link)
		if err != nil {
			return 0, err
		}
		if takes = protocol.Tokens(string(out.Body)); takes <= tokens {
			best = out
		}
		return takes, nil
	}
	takes, err := write(min(1, len(chosen)))
	if err != nil {
		return nil, err
	}
	if best == nil {
		return nil, newProblem(badParameter, fmt.Sprintf("within_tokens: the next result alone takes %d tokens in this form", takes), fmt.Sprintf("ask for %d tokens or more, or leave within_tokens or as out", takes)).
			withLocation(Location{Parameter: "within_tokens"})
	}
	// What n of them take grows with n, so that the most that fit are found by halves.
	for fit, most := 1, len(chosen); fit < most; {
		middle := (fit + most + 1) / 2
		takes, err := write(middle)
		if err != nil {
			return nil, err
		}
		if takes <= tokens {
			fit = middle
		} else {
			most = middle - 1
		}
	}
	return best, nil
}

// writeTools writes operations, which have their schemas, in a form for callers.
func writeTools(as string, chosen []call.Offer, next, link string) (*pageOutput, error) {
	tools := call.Tools(chosen)
	switch as {
	case "mcp":
		return jsonPage(call.ToMCP(tools, next), link)
	case "functions":
		return jsonPage(call.ToFunctions(tools, next), link)
	default:
		return &pageOutput{ContentType: "text/plain; charset=utf-8", Link: link, Body: []byte(call.ToCurl(tools))}, nil
	}
}

// addSchemas gives the offers the schemas of their documents, for the forms that
// have some.
func (a *API) addSchemas(ctx context.Context, as string, chosen []call.Offer) error {
	if as == "curl" {
		return nil
	}
	return a.answers.addSchemas(ctx, chosen)
}

// addSchemas gives the offers the schemas of their documents, as far as these have
// some: a full AGIS document has one for each operation.
func (a *Answers) addSchemas(ctx context.Context, offers []call.Offer) error {
	schemas := map[string]map[string]json.RawMessage{} // by host and pointer
	for i := range offers {
		o := &offers[i]
		host, kind, _, _ := splitOperationID(o.ID)
		if kind != document.AGIS {
			continue
		}
		if _, read := schemas[host]; !read {
			raw, err := a.Document(ctx, host, kind, "")
			if errors.Is(err, ErrNoDocument) || errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrCorrupt) {
				schemas[host] = nil // what the operation itself says has to do
				continue
			}
			if err != nil {
				return err
			}
			schemas[host] = inputSchemas(raw.Bytes)
		}
		o.Input = schemas[host][o.Operation.Pointer]
	}
	return nil
}

// inputSchemas are the schemas of the inputs of an AGIS document, by the pointers
// of its endpoints; references are resolved.
func inputSchemas(text []byte) map[string]json.RawMessage {
	converted, err := mcp.FromAGIS(text, conversion.Options{})
	if err != nil {
		return nil // the parameters have to do
	}
	var list struct {
		Tools []struct {
			Input json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	d, _, parseErr := agis.Parse(text, agis.Options{})
	if json.Unmarshal(converted.Text, &list) != nil || parseErr != nil || len(d.Endpoints) != len(list.Tools) {
		return nil
	}
	schemas := map[string]json.RawMessage{}
	for i, e := range d.Endpoints {
		var b bytes.Buffer
		if json.Compact(&b, list.Tools[i].Input) == nil {
			schemas[e.Pointer] = b.Bytes()
		}
	}
	return schemas
}
