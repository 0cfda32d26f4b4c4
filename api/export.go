package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/call"
	"gazetteer/protocol"
)

// maxExport is how many operations one export may have.
const maxExport = 100

// exportRoute declares the export of chosen operations in a form for callers.
func (a *API) exportRoute(h huma.API) {
	op := route.Complete(huma.Operation{OperationID: "export-operations", Description: "Names are unique within the answer and have at most 64 characters of a-z, A-Z, 0-9, _ and -. Schemas are copied " +
		"from the document. Texts that try to instruct a model are omitted. A line for curl is safe to paste; replace {name} by a value.", Responses: map[string]*huma.Response{"200": {
		Description: "The operations in the requested form and order.",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{route.SchemaOf[call.MCP](h), route.SchemaOf[call.Functions](h)}}},
			"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}}})
	route.HandleBody[ExportBody](a.Mux, h, op, a.exportByBody)
}

// ExportBody documents the body of an export.
type ExportBody struct {
	Operations []string `json:"operations" nullable:"false" minItems:"1" maxItems:"100" doc:"ids of operations, from the hits of a search: host/kind/id; at most 100"`
	As         string   `json:"as" enum:"mcp,functions,curl" doc:"the form"`
}

func (a *API) exportByBody(ctx context.Context, in *route.JSONBody) (*route.PageOutput, error) {
	ids, as, err := readExport(in.Text)
	if err != nil {
		return nil, err
	}
	var chosen []call.ToolSource
	met := map[string]bool{}
	for _, n := range ids {
		o, err := a.Answers.Offer(ctx, n.Text)
		if errors.Is(err, answer.ErrNoOperation) {
			return nil, route.NewProblem(route.NoOperation, fmt.Sprintf("no operation has the id %.200q now", n.Text), "use the id of a hit of /api/v1/search: host/kind/id").WithLocation(route.BodyLocation(n))
		}
		if err != nil {
			return nil, err
		}
		if met[o.ID] { // the host in another spelling
			return nil, route.NewProblem(route.BadField, "the operation is listed twice", "list it once").WithLocation(route.BodyLocation(n))
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
		w := route.BodyLocation(n)
		w.Pointer += pointer
		return route.NewProblem(route.BadField, message, help).WithLocation(w)
	}
	const form = `send {"operations": ["host/kind/id"], "as": "mcp"}`
	if root.Kind != protocol.Object {
		return nil, "", route.NewProblem(route.BadBody, "the body is no JSON object", form).WithLocation(route.BodyLocation(root))
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
		return nil, "", bad(n, "", fmt.Sprintf("as: %.60q is not one of mcp, functions, curl", n.Text), "it is the form of the answer")
	default:
		as = n.Text
	}
	n := root.Member("operations")
	switch {
	case n == nil:
		return nil, "", bad(root, "/operations", "operations is missing", form)
	case n.Kind != protocol.Array || len(n.Items) == 0:
		return nil, "", bad(n, "", "operations is not a list of one or more ids", form)
	case len(n.Items) > maxExport:
		return nil, "", bad(n, "", fmt.Sprintf("operations has %d ids", len(n.Items)), fmt.Sprintf("send at most %d", maxExport))
	}
	met := map[string]bool{}
	for _, item := range n.Items {
		if item.Kind != protocol.String || len(item.Text) > route.MaxParameter {
			return nil, "", bad(item, "", "this is no id of an operation", "use the id of a hit of /api/v1/search: host/kind/id")
		}
		if met[item.Text] {
			return nil, "", bad(item, "", "the operation is listed twice", "list it once")
		}
		met[item.Text] = true
	}
	return n.Items, as, nil
}

// callOffers returns the operations of hits for export.
func callOffers(hits []answer.Hit) []call.ToolSource {
	out := make([]call.ToolSource, len(hits))
	for i, h := range hits {
		out[i] = call.ToolSource{ID: h.ID, Host: h.Host, Service: h.Service, Operation: h.Operation, Ends: h.Effect.Destructive}
	}
	return out
}

// exportOperations writes operations in a form for callers.
func (a *API) exportOperations(ctx context.Context, as string, chosen []call.ToolSource, next, link string) (*route.PageOutput, error) {
	if err := a.completeOffers(ctx, as, chosen); err != nil {
		return nil, err
	}
	return writeTools(as, chosen, next, link)
}

// exportWithin writes as many operations as fit the tokens, in their order, in a form for callers.
// next makes the cursor and Link of the page after the first n of them.
func (a *API) exportWithin(ctx context.Context, as string, chosen []call.ToolSource, tokens int, next func(n int) (next, link string)) (*route.PageOutput, error) {
	if err := a.completeOffers(ctx, as, chosen); err != nil {
		return nil, err
	}
	var best *route.PageOutput
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
		return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("within_tokens: the next result alone takes %d tokens in this form", takes), fmt.Sprintf("ask for %d tokens or more, or leave within_tokens or as out", takes)).
			WithLocation(route.Location{Parameter: "within_tokens"})
	}
	// The size grows with n, so binary search finds the largest n that fits.
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
func writeTools(as string, chosen []call.ToolSource, next, link string) (*route.PageOutput, error) {
	tools := call.Tools(chosen)
	switch as {
	case "mcp":
		return route.JSONPage(call.ToMCP(tools, next), link)
	case "functions":
		return route.JSONPage(call.ToFunctions(tools, next), link)
	default:
		return &route.PageOutput{ContentType: "text/plain; charset=utf-8", Link: link, Body: []byte(call.ToCurl(tools))}, nil
	}
}

// completeOffers prefers calls over HTTP, and adds the schemas of their documents to the offers for the
// forms that contain schemas.
func (a *API) completeOffers(ctx context.Context, as string, chosen []call.ToolSource) error {
	if err := a.Answers.PreferHTTP(ctx, chosen); err != nil {
		return err
	}
	if as == "curl" {
		return nil
	}
	return a.Answers.AddSchemas(ctx, chosen)
}
