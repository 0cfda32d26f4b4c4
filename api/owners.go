package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/protocol"
)

// ownerRoutes declares what owners of hosts may ask of the crawler.
func (a *API) ownerRoutes(h huma.API) {
	for _, o := range []struct {
		id, summary, description string
		wish                     owner.RequestKind
	}{
		{"opt-out", "Have a host visited no more, and what it published removed", "Ask once to learn what to publish, publish it, and ask again. " +
			"Or sign the request (RFC 9421) with a key of the host's DID document: then it is done at once.", owner.OptOut},
		{"opt-in", "Withdraw that: the host may be visited again", "Proved as the opt-out is. The value of the opt-out must be taken away.", owner.OptIn},
	} {
		op := huma.Operation{OperationID: o.id, Method: http.MethodPost, Path: "/api/v1/services/{host}/" + o.id, Summary: o.summary, Description: o.description}
		op.Responses = map[string]*huma.Response{"202": {
			Description: "Nothing has changed: the answer says what was looked at, and what to publish.",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[owner.Answer](h)}},
		}}
		addRoute(a, h, op, func(ctx context.Context, in *ownerRequestInput) (*output[owner.Answer], error) {
			return a.handleOwnerRequest(ctx, o.wish, in)
		})
		post := h.OpenAPI().Paths[op.Path].Post
		describeBody[OptOutBody](h, post)
		post.RequestBody.Required = false
	}
	addRoute(a, h, huma.Operation{
		OperationID: "recrawl", Method: http.MethodPost, Path: "/api/v1/services/{host}/recrawl", DefaultStatus: http.StatusAccepted,
		Summary: "Have a host visited again now, at most once in 10 minutes",
		Description: "What was not found is not asked for again within 24 hours, unless the request is signed (RFC 9421) with a key of the host's " +
			"DID document.",
	}, a.recrawlHost)
}

// OptOutBody documents the body of an opt-out or opt-in, which may be left out.
type OptOutBody struct {
	Subdomains bool `json:"subdomains,omitempty" doc:"true: for all hosts below this one, too; counts for opt-out"`
}

type ownerRequestInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	body requestBody
}

// Resolve reads the body, if there is one (huma.Resolver).
func (in *ownerRequestInput) Resolve(ctx huma.Context) []error {
	in.body.readOptional(ctx, 4<<10)
	return nil
}

func (a *API) handleOwnerRequest(ctx context.Context, wish owner.RequestKind, in *ownerRequestInput) (*output[owner.Answer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	subdomains, err := readSubdomains(in.body.text)
	if err != nil {
		return nil, err
	}
	found, err := a.answers.HandleOwnerRequest(ctx, wish, in.Host, subdomains, in.body.client, a.signedRequest(&in.body))
	if err != nil {
		return nil, err
	}
	out := jsonOutput(found)
	out.CacheControl = "no-store"
	if !found.Done {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// readSubdomains reads the body of a wish, strictly; an empty one wishes nothing
// beside.
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
	return false, newProblem(badField, "the body may be left out, or be an object with the one member subdomains, true or false", `for example {"subdomains": true}`).
		withLocation(Location{Pointer: "/subdomains"})
}

type recrawlInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	body requestBody
}

// Resolve takes the request without a body (huma.Resolver).
func (in *recrawlInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

func (a *API) recrawlHost(ctx context.Context, in *recrawlInput) (*output[answer.Submission], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	s, err := a.answers.Recrawl(ctx, in.Host, in.body.client, a.signedRequest(&in.body))
	if err != nil {
		return nil, err
	}
	out := jsonOutput(s)
	out.Status, out.CacheControl = http.StatusAccepted, "no-store"
	return out, nil
}

// ownerProblem covers what owners ask for.
func ownerProblem(err error) *problemError {
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		if e.Block.By == crawler.ByOwner {
			return newProblem(optedOut, e.Why(), e.Help())
		}
		return newProblem(blockedHost, e.Why(), e.Help())
	}
	if e, ok := errors.AsType[*crawler.SoonError](err); ok {
		return newProblem(rateLimited, e.Error(), "wait as long as Retry-After says").withRetry(e.Wait)
	}
	if e, ok := errors.AsType[*owner.CoveredError](err); ok {
		return newProblem(notOptedOut, e.Error(), "withdraw that one: POST /api/v1/services/"+e.By+"/opt-in")
	}
	switch {
	case errors.Is(err, owner.ErrNotOut):
		return newProblem(notOptedOut, "the owner of this host has not opted out, so there is nothing to withdraw", "name the host to have it visited: POST /api/v1/submissions")
	case errors.Is(err, owner.ErrOperator):
		return newProblem(blockedHost, "it is the operator of this server who does not visit the host", "ask the operator; the page /bot says where")
	case errors.Is(err, crawler.ErrBlocked): // by somebody who was faster
		return newProblem(blockedHost, "the host is not visited", "ask for the host itself to learn whose wish that is")
	case errors.Is(err, answer.ErrNoOwnerRequests):
		return newProblem(unavailable, "wishes of owners are not taken here", "ask the operator; the page /bot says where").withRetry(time.Hour)
	}
	return nil
}
