package api

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/registry"
)

// orchestrateRoutes declares the route for orchestrators.
func (a *API) orchestrateRoutes(h huma.API) {
	op := addFilterParameters(route.Op("orchestrate"), query.FiltersOf(OrchestrateFilters()...), 10)
	route.Handle(a.Mux, h, op, a.orchestrateOperations)
}

// OrchestrateFilters are the keys of the filters that the route accepts.
func OrchestrateFilters() []string { return []string{"verb", "ns", "class", "host", "protocol"} }

// orchestrateInput documents the parameters except the filters.
type orchestrateInput struct {
	Q       string  `query:"q" doc:"what is to be done: words and filters, as in a search"`
	Exact   bool    `query:"exact" doc:"true to disable spelling correction"`
	Safe    bool    `query:"safe" doc:"true to leave out operations that end or remove something or cannot be undone, as declared or by inference"`
	MinFit  float64 `query:"min_fit" minimum:"0" maximum:"1" doc:"the least fit of an operation, 0 to 1; others are left out, so a page can be shorter"`
	Require string  `query:"require" doc:"required evidence of an agent, separated by commas: key, age, domain, did, inbox, agis, repository, attestations; domain and agis refer to the service of the hit: its domain is proved, its documents name the agent"`
	Join    string  `query:"join" enum:"proved,mutual,claimed" default:"claimed" doc:"the weakest accepted association: proved (the owner of the domain names the agent), mutual (service and agent name each other) or claimed (one of them says so)"`
	Joined  bool    `query:"joined" doc:"true to leave out operations that have no such agent; join alone does so, too"`
	Limit   int     `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many operations on one page, 1 to 100"`
	Cursor  string  `query:"cursor" doc:"where the page begins, from the answer before"`
	client  netip.Addr
}

// Resolve reads the parameters that huma does not (huma.Resolver).
func (in *orchestrateInput) Resolve(ctx huma.Context) []error {
	in.client = route.ClientAddress(humagin.Unwrap(ctx))
	return nil
}

// OrchestratePage is the answer to an orchestrator.
type OrchestratePage struct {
	answer.ServedOperations
	Require []string      `json:"require,omitempty" doc:"the required evidence"`
	Join    join.Strength `json:"join" doc:"the weakest accepted association"`
	Next    string        `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

func (a *API) orchestrateOperations(ctx context.Context, in *orchestrateInput) (*route.Output[OrchestratePage], error) {
	q, err := readQuery(route.Query(ctx))
	if err != nil {
		return nil, err
	}
	if q.Words == "" && len(q.Phrases) == 0 && !q.Filtered() {
		return nil, route.NewProblem(route.BadQuery, "there is nothing to look for", "give words in q, or a filter: "+route.JoinWords(OrchestrateFilters())).WithLocation(route.Location{Parameter: "q"})
	}
	require, err := registry.ParseRequire(in.Require)
	if err != nil {
		return nil, route.InParameter(err, "require")
	}
	least, ok := join.ParseStrength(in.Join)
	if !ok {
		return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("join: there is no join %.40q", in.Join), "write proved, mutual or claimed").WithLocation(route.Location{Parameter: "join"})
	}
	c, err := a.ReadCursor(ctx, in.Cursor, "orchestrate")
	if err != nil {
		return nil, err
	}
	if _, err := a.CurrentDirectory(ctx); err != nil {
		return nil, err
	}
	q.Limit, q.Offset = in.Limit, c.Offset
	offers, err := a.Answers.Orchestrate(ctx, q, join.Want{Require: require, Least: least, Admit: a.AdmitLookup(ctx, in.client)}, in.Joined || route.Query(ctx).Has("join"), a.Now())
	if err != nil {
		return nil, err
	}
	out := route.JSON(OrchestratePage{ServedOperations: offers, Require: require, Join: least})
	if offers.More && offers.NextOffset < route.MaxOffset {
		out.Body.Next, out.Link = a.NextPage(ctx, "/api/v1/orchestrate", "orchestrate", route.Cursor{Offset: offers.NextOffset})
	}
	return out, nil
}
