package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
)

// attestationRoutes declares what agents say of each other.
func (a *API) attestationRoutes(h huma.API) {
	attest := tagAsAgents(huma.Operation{
		OperationID: "attest", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/attestations", DefaultStatus: http.StatusCreated,
		Summary: "Attest another agent; signed with the attester's key, sent by the attester",
	})
	addRoute(a, h, attest, a.addAttestation)
	describeBody[AttestationBody](h, h.OpenAPI().Paths[attest.Path].Post)
	addRoute(a, h, tagAsAgents(getOperation("list-attestations", "/api/v1/agents/{air_id}/attestations", "What others attest of an agent, oldest first")), a.listAttestations)
	addRoute(a, h, tagAsAgents(huma.Operation{
		OperationID: "revoke-attestation", Method: http.MethodDelete, Path: "/api/v1/agents/{air_id}/attestations/{n}",
		Summary: "Take an attestation back; only its attester may",
	}), a.revokeAttestation)
	addRoute(a, h, tagAsAgents(getOperation("recent-attestations", "/api/v1/attestations/recent", "The newest attestations of all")), a.listRecentAttestations)
	addRoute(a, h, tagAsAgents(getOperation("agent-graph", "/api/v1/agents/{air_id}/graph", "Who attests an agent, and whom it attests")), a.getAttestationGraph)
	addRoute(a, h, tagAsAgents(getOperation("agent-dependents", "/api/v1/agents/{air_id}/dependents", "Who depends on an agent, step by step")), a.listDependents)
	addRoute(a, h, tagAsAgents(getOperation("graph-stats", "/api/v1/graph/stats", "All active attestations, counted")), a.getGraphStats)
}

// AttestationBody documents the members of an attestation.
// [attestation.ReadRequest] reads it.
type AttestationBody struct {
	AttesterAirID   string `json:"attester_air_id" doc:"who attests"`
	AttestationType string `json:"attestation_type" enum:"identity_verification,operator_confirmation,dependency,safety_review"`
	SignedAt        string `json:"signed_at" doc:"when it was signed, in ISO 8601; at most an hour ago"`
	Statement       string `json:"statement,omitempty" doc:"in words"`
	Signature       string `json:"signature_multibase" doc:"z and base58btc of the Ed25519 signature over the canonical JSON (RFC 8785) of attestation_type, attester_air_id, signed_at, statement and subject_air_id"`
}

func (a *API) addAttestation(ctx context.Context, in *updateInput) (*output[attestation.AttestedView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	request, err := attestation.ReadRequest(in.body.text)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	t, subject, err := a.answers.Registry.Attest(ctx, in.AirID, request, a.readCredentials(&in.body, in.Secret))
	if err != nil {
		if view, ok := attestation.ErrorView(err, answer.CleanText(in.AirID, 60)); ok {
			return nil, agentProblemIn(err, view).withCause(err)
		}
		return nil, err
	}
	out := writeOutput(a, attestation.NewAttestedView(t, subject))
	out.Status = http.StatusCreated
	return out, nil
}

func (a *API) listAttestations(ctx context.Context, in *agentInput) (*output[attestation.ListView], error) {
	return agentOutput(a, ctx, in.AirID, a.answers.Registry.AttestationsView)
}

// agentOutput answers with a view of an agent.
func agentOutput[T any](a *API, ctx context.Context, airID string, view func(context.Context, registry.Agent) (T, error)) (*output[T], error) {
	agent, _, err := a.answers.Registry.Agent(ctx, airID)
	if err != nil {
		return nil, withAirID(err, airID)
	}
	v, err := view(ctx, agent)
	if err != nil {
		return nil, err
	}
	return jsonOutput(v), nil
}

type revokeInput struct {
	AirID  string `path:"air_id" doc:"the AIR ID of the agent that is attested"`
	N      string `path:"n" doc:"the number of the attestation, from 1"`
	Secret string `header:"X-Agent-Secret" doc:"the attester's secret; not needed by a signed request"`
	body   requestBody
}

// Resolve takes the request without a body (huma.Resolver).
func (in *revokeInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

func (a *API) revokeAttestation(ctx context.Context, in *revokeInput) (*output[attestation.RevokedView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	n, err := strconv.Atoi(in.N)
	if err != nil || n < 1 {
		return nil, newProblem(badParameter, "invalid attestation_id", "it is a whole number from 1").withLocation(Location{Parameter: "n"})
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	t, subject, err := a.answers.Registry.RevokeAttestation(ctx, in.AirID, n, a.readCredentials(&in.body, in.Secret))
	if err != nil {
		if view, ok := attestation.RevocationErrorView(err, answer.CleanText(in.AirID, 60)); ok {
			return nil, agentProblemIn(err, view).withCause(err)
		}
		return nil, err
	}
	return writeOutput(a, attestation.NewRevokedView(t, subject)), nil
}

type recentInput struct {
	Limit int `query:"limit" minimum:"1" default:"50" doc:"how many, 1 to 200; more are not given"`
}

func (a *API) listRecentAttestations(ctx context.Context, in *recentInput) (*output[attestation.RecentView], error) {
	v, err := a.answers.Registry.RecentView(ctx, min(in.Limit, 200))
	if err != nil {
		return nil, err
	}
	return jsonOutput(v), nil
}

func (a *API) getAttestationGraph(ctx context.Context, in *agentInput) (*output[attestation.GraphView], error) {
	return agentOutput(a, ctx, in.AirID, a.answers.Registry.GraphView)
}

type dependentsInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Depth int    `query:"depth" minimum:"1" default:"6" doc:"how many steps, 1 to 10; more are not taken"`
	Limit int    `query:"limit" minimum:"1" default:"500" doc:"how many agents, 1 to 1,000; more are not given"`
}

func (a *API) listDependents(ctx context.Context, in *dependentsInput) (*output[attestation.DependentsView], error) {
	return agentOutput(a, ctx, in.AirID, func(ctx context.Context, agent registry.Agent) (attestation.DependentsView, error) {
		return a.answers.Registry.DependentsView(ctx, agent, min(in.Depth, 10), min(in.Limit, 1000))
	})
}

// countInterval is how long the counts of all attestations are kept: making them
// reads every one.
const countInterval = 10 * time.Second

// attestationCounts keeps the counts of all attestations.
type attestationCounts struct {
	mu    sync.Mutex // guards following, and lets one request count for all
	until time.Time
	view  attestation.GraphStatsView
}

func (a *API) getGraphStats(ctx context.Context, _ *struct{}) (*output[attestation.GraphStatsView], error) {
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	if now := a.now(); !now.Before(a.counts.until) {
		v, err := a.answers.Registry.GraphStatsView(ctx)
		if err != nil {
			return nil, err
		}
		a.counts.view, a.counts.until = v, now.Add(countInterval)
	}
	return jsonOutput(a.counts.view), nil
}
