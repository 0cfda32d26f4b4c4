package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/registry"
	"gazetteer/registry/attestation"
)

const (
	agentsPath   = "/api/v1/agents/"
	operatorPath = "/api/v1/admin/"
)

// isOperatorRoute reports whether a request is one that the reference takes from
// its operator. Here they answer only where the operator's other routes do,
// whatever key comes with them: a key in a header can be guessed and leaked.
func isOperatorRoute(method, path string) bool {
	id, ofAgents := strings.CutPrefix(path, agentsPath+"AIR-")
	return strings.HasPrefix(path, operatorPath) || ofAgents && method == http.MethodDelete && !strings.Contains(id, "/")
}

// operatorOnly refuses what only the operator may ask.
func operatorOnly() *problemError {
	r := newProblem(unauthorized, "Unauthorized", "the operator's routes answer only on the Unix socket in the data directory; owners of an agent use /deactivate and /erase")
	r.plain = true
	return r
}

// agentAdminRoutes declares what the operator does with agents: in the
// reference's paths, and below /admin what it has no word for.
func (a *API) agentAdminRoutes(h huma.API) {
	addRoute(a, h, tagAsAgents(huma.Operation{OperationID: "delete-agent", Method: http.MethodDelete, Path: agentsPath + "{air_id}", Summary: "Delete an agent softly: its history stays"}), markAttended(a, a.deleteAgent))
	addRoute(a, h, tagAsAgents(getOperation("registry-stats", operatorPath+"stats", "Active agents, counted")), markAttended(a, a.registryStats))
	addRoute(a, h, tagAsAgents(getOperation("recent-registrations", operatorPath+"recent", "The newest active agents")), markAttended(a, a.recentRegistrations))
	addRoute(a, h, tagAsAgents(huma.Operation{OperationID: "attend-agents", Method: http.MethodPost, Path: operatorPath + "cron/did-wba-resolve",
		Summary: "Look again at what is due of each agent, which also happens by itself"}), markAttended(a, a.recheckAgents))
	addRoute(a, h, tagAsAgents(huma.Operation{OperationID: "publish-anchor", Method: http.MethodPost, Path: operatorPath + "cron/publish-anchor",
		Summary: "Ask the witnesses to cosign the newest tree of the log, which also happens by itself"}), markAttended(a, a.publishAnchor))
	suspend := tagAsAgents(huma.Operation{OperationID: "suspend-agent", Method: http.MethodPost, Path: "/admin/agents/{air_id}/suspend", Summary: "Take an agent out of service until it is restored"})
	addRoute(a, h, suspend, markAttended(a, a.suspendAgent))
	describeBody[SuspensionBody](h, h.OpenAPI().Paths[suspend.Path].Post)
	addRoute(a, h, tagAsAgents(huma.Operation{OperationID: "restore-agent", Method: http.MethodPost, Path: "/admin/agents/{air_id}/restore", Summary: "Put a suspended agent back into service"}), markAttended(a, a.restoreAgent))
	addRoute(a, h, tagAsAgents(huma.Operation{OperationID: "erase-agent-by-operator", Method: http.MethodPost, Path: "/admin/agents/{air_id}/erase",
		Summary: "Remove what an agent is and was, for an owner who has lost every key"}), markAttended(a, a.eraseAgentByOperator))
	a.operatorRoutes(h)
}

type deleteInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Reason string `query:"reason" maxLength:"500" doc:"why, for the record"`
	body   requestBody
}

// Resolve takes the request without a body (huma.Resolver).
func (in *deleteInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

// DeletedAgent answers a deletion, in the reference's shape.
type DeletedAgent struct {
	AirID     string    `json:"air_id"`
	Name      string    `json:"name"`
	Status    string    `json:"status"`
	DeletedAt time.Time `json:"deleted_at"`
	Message   string    `json:"message"`
}

func (a *API) deleteAgent(ctx context.Context, in *deleteInput) (*output[DeletedAgent], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	agent, err := a.answers.Registry.Delete(ctx, in.AirID, in.Reason)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return writeOutput(a, DeletedAgent{AirID: agent.AirID, Name: agent.Name, Status: agent.Status, DeletedAt: agent.Updated,
		Message: "Agent deleted (soft delete). Its history is kept."}), nil
}

// RegistryStats counts active agents, in the reference's shape.
type RegistryStats struct {
	Total        int            `json:"total_agents"`
	Real         int            `json:"real_agents"`
	Demo         int            `json:"demo_agents"`
	Verified     int            `json:"verified"`
	Unverified   int            `json:"unverified"`
	Recent       int            `json:"registered_last_7_days"`
	AverageScore int            `json:"average_trust_score"`
	Grades       map[string]int `json:"grade_distribution"`
}

func (a *API) registryStats(ctx context.Context, _ *struct{}) (*output[RegistryStats], error) {
	v := RegistryStats{Grades: map[string]int{}}
	week := a.now().Add(-7 * 24 * time.Hour)
	sum := 0
	err := a.eachAgent(ctx, func(agent registry.Agent) error {
		score := registry.TrustScore(agent)
		sum += score.Total
		v.Total++
		v.Grades[score.Grade]++
		if attestation.NewVerifiedStatus(agent).Verified {
			v.Verified++
		}
		if agent.Created.After(week) {
			v.Recent++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v.Real, v.Unverified = v.Total, v.Total-v.Verified
	if v.Total > 0 {
		v.AverageScore = (sum + v.Total/2) / v.Total
	}
	out := jsonOutput(v)
	out.CacheControl = "no-store"
	return out, nil
}

// eachAgent calls visit with every active agent.
func (a *API) eachAgent(ctx context.Context, visit func(registry.Agent) error) error {
	for after, more := "", true; more; more = after != "" {
		found, next, err := a.answers.Registry.List(ctx, registry.Filter{}, after, registry.MaxList)
		if err != nil {
			return err
		}
		for _, agent := range found {
			if err := visit(agent); err != nil {
				return err
			}
		}
		after = next
	}
	return nil
}

type recentAgentsInput struct {
	Limit int `query:"limit" minimum:"1" default:"20" doc:"how many agents, 1 to 100; more are not given"`
}

// RecentRegistrations lists the newest agents, in the reference's shape.
type RecentRegistrations struct {
	Agents []RecentRegistration `json:"recent_registrations"`
	Count  int                  `json:"count"`
}

// RecentRegistration is one of them.
type RecentRegistration struct {
	AirID             string `json:"air_id"`
	Name              string `json:"name"`
	CreatorDID        string `json:"creator_did"`
	CreatorName       string `json:"creator_name"`
	CreatorType       string `json:"creator_type"`
	Verified          bool   `json:"verified"`
	IsDemo            bool   `json:"is_demo"`
	VerificationLevel string `json:"verification_level"`
	TrustScore        int    `json:"trust_score"`
	TrustGrade        string `json:"trust_grade"`
	Registered        string `json:"registered"`
}

func (a *API) recentRegistrations(ctx context.Context, in *recentAgentsInput) (*output[RecentRegistrations], error) {
	limit := min(in.Limit, registry.MaxList)
	var newest []registry.Agent
	trim := func() {
		slices.SortFunc(newest, func(x, y registry.Agent) int {
			return cmp.Or(y.Created.Compare(x.Created), cmp.Compare(x.AirID, y.AirID))
		})
		newest = newest[:min(len(newest), limit)]
	}
	err := a.eachAgent(ctx, func(agent registry.Agent) error {
		if newest = append(newest, agent); len(newest) > 10*registry.MaxList {
			trim()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	trim()
	list := RecentRegistrations{Agents: []RecentRegistration{}, Count: len(newest)}
	for _, agent := range newest {
		row := registry.NewRowView(agent)
		list.Agents = append(list.Agents, RecentRegistration{AirID: row.AirID, Name: row.Name, CreatorDID: agent.CreatorDID,
			CreatorName: cmp.Or(agent.CreatorName, "(none)"), CreatorType: agent.CreatorType, Verified: attestation.NewVerifiedStatus(agent).Verified,
			IsDemo: row.IsDemo, VerificationLevel: row.VerificationLevel, TrustScore: row.TrustScore, TrustGrade: row.TrustGrade, Registered: row.Created})
	}
	out := jsonOutput(list)
	out.CacheControl = "no-store"
	return out, nil
}

// RecheckCount tells how many agents were looked at.
type RecheckCount struct {
	Checked int `json:"attended" doc:"agents of which something was due"`
}

func (a *API) recheckAgents(ctx context.Context, in *emptyInput) (*output[RecheckCount], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	var v RecheckCount
	now := a.now()
	err := a.eachAgent(ctx, func(agent registry.Agent) error {
		if next := a.answers.Registry.NextCheck(agent); next.IsZero() || next.After(now) {
			return nil
		}
		v.Checked++
		return a.answers.Registry.Recheck(ctx, agent.AirID)
	})
	if err != nil {
		return nil, err
	}
	return writeOutput(a, v), nil
}

func (a *API) publishAnchor(ctx context.Context, in *emptyInput) (*output[AnchorAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	if a.publish == nil {
		return nil, newProblem(unavailable, "no witness is configured", "name one in registry.witnesses of the configuration").withRetry(time.Hour)
	}
	if a.answers.Log != nil {
		a.awaitLog(ctx) // what was acknowledged before is in the tree
	}
	if err := a.publish(ctx); err != nil {
		return nil, newProblem(unavailable, fmt.Sprintf("no witness has cosigned: %.1000s", err), "see the log of the server").withRetry(time.Minute).withCause(err)
	}
	return writeOutput(a, AnchorAnswer{a.newestAnchor()}), nil
}

// SuspensionBody documents the body of a suspension.
type SuspensionBody struct {
	Reason string `json:"reason" doc:"why, which its owner is shown; at most 500 characters"`
}

type operatorInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	body  requestBody
}

// Resolve reads the body (huma.Resolver).
func (in *operatorInput) Resolve(ctx huma.Context) []error {
	in.body.readJSON(ctx, maxAgentBody)
	return nil
}

func (a *API) suspendAgent(ctx context.Context, in *operatorInput) (*output[AgentStatusAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	values, err := readTexts(in.body.text, []string{"reason"}, nil)
	if err != nil {
		return nil, err
	}
	agent, err := a.answers.Registry.Suspend(ctx, in.AirID, values["reason"])
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is suspended until it is restored.")
}

func (a *API) restoreAgent(ctx context.Context, in *ownerInput) (*output[AgentStatusAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	agent, err := a.answers.Registry.Restore(ctx, in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is back in service.")
}

func (a *API) eraseAgentByOperator(ctx context.Context, in *ownerInput) (*output[AgentStatusAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	agent, err := a.answers.Registry.EraseByOperator(ctx, in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is erased.")
}

// agentStatusOutput tells how an agent stands now.
func (a *API) agentStatusOutput(agent registry.Agent, err error, airID, message string) (*output[AgentStatusAnswer], error) {
	if err != nil {
		return nil, withAirID(err, airID)
	}
	return writeOutput(a, AgentStatusAnswer{AirID: agent.AirID, Status: agent.Status, Updated: agent.Updated, Message: message}), nil
}
