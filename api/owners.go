package api

import (
	"context"
	"net/http"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler/owner"
	"gazetteer/protocol"

	"github.com/danielgtaylor/huma/v2"
)

// ownerRoutes declares the requests that owners of hosts can make of the crawler.
func (a *API) ownerRoutes(h huma.API) {
	for _, o := range []struct {
		id, description string
		wish            owner.RequestKind
	}{
		{"opt-out", "Ask once to learn what to publish, publish it, and ask again. " +
			"Or sign the request (RFC 9421) with a key of the host's DID document: then it is done at once.", owner.OptOut},
		{"opt-in", "The proof is the same as for the opt-out. Remove the value of the opt-out.", owner.OptIn},
	} {
		op := route.Respond(route.Op(o.id), "202", "Nothing has changed: the answer lists the places that were checked, and the value to publish.", "application/json", route.SchemaOf[owner.RequestResult](h))
		op.Description = o.description
		route.HandleBody[OptOutBody](a.Mux, h, op, func(ctx context.Context, in *ownerRequestInput) (*route.Output[owner.RequestResult], error) {
			return a.handleOwnerRequest(ctx, o.wish, in)
		})
		h.OpenAPI().Paths[op.Path].Post.RequestBody.Required = false
	}
	route.Handle(a.Mux, h, route.Complete(huma.Operation{OperationID: "recrawl", DefaultStatus: http.StatusAccepted, Description: "After a not-found answer a path is not requested again within 24 hours, unless the request is signed (RFC 9421) with a key of the host's " +
		"DID document."}), a.recrawlHost)
}

// OptOutBody documents the body of an opt-out or opt-in, which may be left out.
type OptOutBody struct {
	Subdomains bool `json:"subdomains,omitempty" doc:"true: for all hosts below this one, too; counts for opt-out"`
}

type ownerRequestInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	route.OptionalBody
}

func (a *API) handleOwnerRequest(ctx context.Context, wish owner.RequestKind, in *ownerRequestInput) (*route.Output[owner.RequestResult], error) {
	subdomains, err := readSubdomains(in.Text)
	if err != nil {
		return nil, err
	}
	found, err := a.Answers.HandleOwnerRequest(ctx, wish, in.Host, subdomains, in.Client, a.SignedRequest(&in.RequestBody))
	if err != nil {
		return nil, err
	}
	out := route.JSON(found)
	if !found.Done {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// readSubdomains reads the body of an owner request, strictly; an empty body means the host alone.
func readSubdomains(text []byte) (bool, error) {
	if len(text) == 0 {
		return false, nil
	}
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: 4 << 10, Depth: 4, Members: 16})
	if err != nil {
		return false, err
	}
	n := root.Member("subdomains")
	switch {
	case root.Kind == protocol.Object && len(root.Items) == 0:
		return false, nil
	case root.Kind == protocol.Object && len(root.Items) == 1 && n != nil && n.Kind == protocol.Bool:
		return n.True(), nil
	}
	return false, route.NewProblem(route.BadField, "the body may be left out, or be an object with the one member subdomains, true or false", `for example {"subdomains": true}`).
		WithLocation(route.Location{Pointer: "/subdomains"})
}

type recrawlInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	route.EmptyBody
}

func (a *API) recrawlHost(ctx context.Context, in *recrawlInput) (*route.Output[answer.Submission], error) {
	s, err := a.Answers.Recrawl(ctx, in.Host, in.Client, a.SignedRequest(&in.RequestBody))
	if err != nil {
		return nil, err
	}
	out := route.JSON(s)
	out.Status = http.StatusAccepted
	return out, nil
}
