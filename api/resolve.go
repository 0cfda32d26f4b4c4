package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/index/query"
	"gazetteer/registry"
)

// resolveRoute declares how names are resolved to addresses.
func (a *API) resolveRoute(h huma.API) {
	resolve := route.Respond(route.Op("resolve"), "300", "More than one service bears the name: the caller chooses among the candidates.", "application/json", route.SchemaOf[answer.Resolution](h))
	route.Handle(a.Mux, h, resolve, a.resolveName)
}

type resolveInput struct {
	Name   string `query:"name" required:"true" doc:"an AIR ID, a handle with or without @, a did:wba or did:web, or NAMESPACE.VERB"`
	client netip.Addr
	fresh  bool // the client has a reason not to trust what is cached
}

// Resolve reads what huma does not (huma.Resolver).
func (in *resolveInput) Resolve(ctx huma.Context) []error {
	in.client = route.ClientAddress(humagin.Unwrap(ctx))
	in.fresh = strings.Contains(ctx.Header("Cache-Control"), "no-cache")
	return nil
}

func (a *API) resolveName(ctx context.Context, in *resolveInput) (*route.Output[answer.Resolution], error) {
	if err := checkName(strings.TrimSpace(in.Name)); err != nil {
		return nil, err
	}
	r, err := a.Answers.Resolve(ctx, in.Name, a.AdmitLookup(ctx, in.client), in.fresh, a.Now())
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == "id" {
		return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("%.80q is no AIR ID, no handle, no DID and no NAMESPACE.VERB", answer.CleanText(in.Name, 80)), e.Help+", or "+verbForm).
			WithLocation(route.Location{Parameter: "name"})
	}
	if errors.Is(err, answer.ErrNoName) {
		return nil, a.nameProblem(ctx, in.Name, err)
	}
	if errors.Is(err, registry.ErrNoAgent) {
		near, listing := a.Answers.NearHandles(ctx, strings.TrimSpace(in.Name))
		return nil, cmp.Or(listing, error(route.ProblemFor(err).WithAlternatives(near)))
	}
	if err != nil {
		return nil, err
	}
	out := route.JSON(r)
	if r.Ambiguous {
		out.Status = http.StatusMultipleChoices
	}
	return out, nil
}

// verbForm describes how the name of a verb is written.
const verbForm = "NAMESPACE.VERB with the last dot between the two, such as acme-reservations.BOOK"

// checkName refuses an empty name and one half of NAMESPACE.VERB.
func checkName(name string) error {
	bad := func(message string, column int) error {
		return route.NewProblem(route.BadParameter, message, "write "+verbForm+"; or an AIR ID, a handle or a DID").WithLocation(route.Location{Parameter: "name", Column: column})
	}
	switch dot := strings.LastIndexByte(name, '.'); {
	case name == "":
		return bad("name is missing", 1)
	case strings.Trim(name, ".") == "":
		return bad("there is nothing before and after the dot", 1)
	case strings.ContainsAny(name, ":@") || dot < 0:
		return nil
	case strings.TrimSpace(name[:dot]) == "":
		return bad("before the dot there is no namespace", 1)
	case strings.TrimSpace(name[dot+1:]) == "":
		return bad("there is no verb after the last dot", utf8.RuneCountInString(name[:dot])+1)
	}
	return nil
}

// nameProblem suggests alternatives to a NAMESPACE.VERB that nobody offers.
func (a *API) nameProblem(ctx context.Context, name string, cause error) error {
	r := route.ProblemFor(cause)
	namespace, _, _ := answer.SplitVerb(strings.TrimSpace(name))
	counts, err := a.Answers.Index.Explore(ctx, query.Query{Namespaces: []string{namespace}}, []string{"verb"}, route.DefaultLimit)
	if err != nil {
		return err
	}
	var verbs []string
	for _, c := range counts["verb"] {
		verbs = append(verbs, c.Value)
	}
	if len(verbs) > 0 {
		return route.NewProblem(route.NoName, fmt.Sprintf("the namespace %.80q has no such verb", namespace), "it has "+route.JoinWords(verbs)).WithAlternatives(verbs).WithCause(r.Cause)
	}
	alike, err := a.Answers.NearNamespaces(ctx, strings.ToLower(namespace))
	if err != nil {
		return err
	}
	if len(alike) > 0 {
		return route.NewProblem(route.NoName, fmt.Sprintf("there is no namespace %.80q", namespace), "nearly like it are "+route.JoinWords(alike)).WithAlternatives(alike).WithCause(r.Cause)
	}
	return route.NewProblem(route.NoName, fmt.Sprintf("there is no namespace %.80q", namespace), "every namespace is listed at /api/v1/namespaces; /api/v1/search finds operations by words").WithCause(r.Cause)
}
