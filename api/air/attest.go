package air

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/registry"

	"github.com/danielgtaylor/huma/v2"
)

// attestationRoutes declares the routes of attestations between agents.
func (a *Routes) attestationRoutes(h huma.API) {
	route.HandleBody[AttestationBody](a.Mux, h, route.Complete(huma.Operation{OperationID: "attest", DefaultStatus: http.StatusCreated}), a.addAttestation)
	route.Handle(a.Mux, h, route.Op("list-attestations"), a.listAttestations)
	route.Handle(a.Mux, h, route.Op("revoke-attestation"), a.revokeAttestation)
	route.Handle(a.Mux, h, route.Op("recent-attestations"), a.listRecentAttestations)
	route.Handle(a.Mux, h, route.Op("agent-graph"), a.getAttestationGraph)
	route.Handle(a.Mux, h, route.Op("agent-dependents"), a.listDependents)
	route.Handle(a.Mux, h, route.Op("graph-stats"), a.getGraphStats)
}

// AttestationBody documents the members of an attestation.
// [airjson.ReadAttestation] reads it.
type AttestationBody struct {
	AttesterAirID   string `json:"attester_air_id" doc:"who attests"`
	AttestationType string `json:"attestation_type" enum:"identity_verification,operator_confirmation,dependency,safety_review"`
	SignedAt        string `json:"signed_at" doc:"when it was signed, in ISO 8601; at most an hour ago"`
	Statement       string `json:"statement,omitempty" doc:"in words"`
	Signature       string `json:"signature_multibase" doc:"z and base58btc of the Ed25519 signature over the canonical JSON (RFC 8785) of attestation_type, attester_air_id, signed_at, statement and subject_air_id"`
}

func (a *Routes) addAttestation(ctx context.Context, in *updateInput) (*route.Output[airjson.AttestedView], error) {
	request, err := airjson.ReadAttestation(in.Text)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	t, subject, err := a.Answers.Registry.Attest(ctx, in.AirID, request, a.ReadCredentials(&in.RequestBody, in.Secret))
	if err != nil {
		if view, ok := airjson.NewAttestationErrorView(err, answer.CleanText(in.AirID, 60)); ok {
			return nil, route.AgentProblemIn(err, view).WithCause(err)
		}
		return nil, err
	}
	out := route.Written(a.Mux, airjson.NewAttestedView(t, subject))
	out.Status = http.StatusCreated
	return out, nil
}

func (a *Routes) listAttestations(ctx context.Context, in *agentInput) (*route.Output[airjson.AttestationListView], error) {
	return agentOutput(a, ctx, in.AirID, func(ctx context.Context, agent registry.Agent) (airjson.AttestationListView, error) {
		return airjson.NewAttestationListView(ctx, a.Answers.Registry, agent)
	})
}

// agentOutput answers with a view of an agent.
func agentOutput[T any](a *Routes, ctx context.Context, airID string, view func(context.Context, registry.Agent) (T, error)) (*route.Output[T], error) {
	agent, _, err := a.Answers.Registry.Agent(ctx, airID)
	if err != nil {
		return nil, route.WithAirID(err, airID)
	}
	return route.JSONResult(view(ctx, agent))
}

type revokeInput struct {
	AirID  string `path:"air_id" doc:"the AIR ID of the agent that is attested"`
	N      string `path:"n" doc:"the number of the attestation, from 1"`
	Secret string `header:"X-Agent-Secret" doc:"the attester's secret; not needed by a signed request"`
	route.EmptyBody
}

func (a *Routes) revokeAttestation(ctx context.Context, in *revokeInput) (*route.Output[airjson.RevokedView], error) {
	n, err := strconv.Atoi(in.N)
	if err != nil || n < 1 {
		return nil, route.NewProblem(route.BadParameter, "invalid attestation_id", "it is a whole number from 1").WithLocation(route.Location{Parameter: "n"})
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	t, subject, err := a.Answers.Registry.RevokeAttestation(ctx, in.AirID, n, a.ReadCredentials(&in.RequestBody, in.Secret))
	if err != nil {
		if view, ok := airjson.NewRevocationErrorView(err, answer.CleanText(in.AirID, 60)); ok {
			return nil, route.AgentProblemIn(err, view).WithCause(err)
		}
		return nil, err
	}
	return route.Written(a.Mux, airjson.NewRevokedView(t, subject)), nil
}

type recentInput struct {
	Limit int `query:"limit" minimum:"1" default:"50" doc:"how many, 1 to 200; more are not given"`
}

func (a *Routes) listRecentAttestations(ctx context.Context, in *recentInput) (*route.Output[airjson.RecentView], error) {
	return route.JSONResult(airjson.NewRecentView(ctx, a.Answers.Registry, min(in.Limit, 200)))
}

func (a *Routes) getAttestationGraph(ctx context.Context, in *agentInput) (*route.Output[airjson.GraphView], error) {
	return agentOutput(a, ctx, in.AirID, func(ctx context.Context, agent registry.Agent) (airjson.GraphView, error) {
		return airjson.NewGraphView(ctx, a.Answers.Registry, agent)
	})
}

type dependentsInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Depth int    `query:"depth" minimum:"1" default:"6" doc:"the number of steps, 1 to 10"`
	Limit int    `query:"limit" minimum:"1" default:"500" doc:"how many agents, 1 to 1,000; more are not given"`
}

func (a *Routes) listDependents(ctx context.Context, in *dependentsInput) (*route.Output[airjson.DependentsView], error) {
	return agentOutput(a, ctx, in.AirID, func(ctx context.Context, agent registry.Agent) (airjson.DependentsView, error) {
		return airjson.NewDependentsView(ctx, a.Answers.Registry, agent, min(in.Depth, 10), min(in.Limit, 1000))
	})
}

// countInterval is the time for which the counts of all attestations are cached: counting reads
// every attestation.
const countInterval = 10 * time.Second

// attestationCounts caches the counts of all attestations.
type attestationCounts struct {
	mu    sync.Mutex // guards the following fields; one request counts for all
	until time.Time
	view  airjson.GraphStatsView
}

func (a *Routes) getGraphStats(ctx context.Context, _ *struct{}) (*route.Output[airjson.GraphStatsView], error) {
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	if now := a.Now(); !now.Before(a.counts.until) {
		v, err := airjson.NewGraphStatsView(ctx, a.Answers.Registry)
		if err != nil {
			return nil, err
		}
		a.counts.view, a.counts.until = v, now.Add(countInterval)
	}
	return route.JSON(a.counts.view), nil
}
