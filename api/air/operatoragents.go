package air

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/registry"

	"github.com/danielgtaylor/huma/v2"
)

// DeclareOperator declares the operator's routes about agents: under the reference's paths, and
// under /admin for operations that the reference does not have.
func (a *Routes) DeclareOperator(h huma.API) {
	route.Handle(a.Mux, h, route.Op("delete-agent"), markAttended(a, a.deleteAgent))
	route.Handle(a.Mux, h, route.Op("registry-stats"), markAttended(a, a.registryStats))
	route.Handle(a.Mux, h, route.Op("recent-registrations"), markAttended(a, a.recentRegistrations))
	route.Handle(a.Mux, h, route.Op("recheck-agents"), markAttended(a, a.recheckAgents))
	route.Handle(a.Mux, h, route.Op("publish-anchor"), markAttended(a, a.publishAnchor))
	route.HandleBody[SuspensionBody](a.Mux, h, route.Op("suspend-agent"), markAttended(a, a.suspendAgent))
	route.Handle(a.Mux, h, route.Op("restore-agent"), markAttended(a, a.restoreAgent))
	route.Handle(a.Mux, h, route.Op("erase-agent-by-operator"), markAttended(a, a.eraseAgentByOperator))
	a.operatorRoutes(h)
}

type deleteInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Reason string `query:"reason" maxLength:"500" doc:"why, for the record"`
	route.EmptyBody
}

// DeletedAgent answers a deletion, in the reference's shape.
type DeletedAgent struct {
	AirID     string    `json:"air_id"`
	Name      string    `json:"name"`
	Status    string    `json:"status"`
	DeletedAt time.Time `json:"deleted_at"`
	Message   string    `json:"message"`
}

func (a *Routes) deleteAgent(ctx context.Context, in *deleteInput) (*route.Output[DeletedAgent], error) {
	agent, err := a.Answers.Registry.Delete(ctx, in.AirID, in.Reason)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.Written(a.Mux, DeletedAgent{AirID: agent.AirID, Name: agent.Name, Status: agent.Status, DeletedAt: agent.Updated,
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

func (a *Routes) registryStats(ctx context.Context, _ *struct{}) (*route.Output[RegistryStats], error) {
	v := RegistryStats{Grades: map[string]int{}}
	week := a.Now().Add(-7 * 24 * time.Hour)
	sum := 0
	err := a.eachAgent(ctx, func(agent registry.Agent) error {
		score := registry.TrustScore(agent)
		sum += score.Total
		v.Total++
		v.Grades[score.Grade]++
		if airjson.NewVerifiedStatus(agent).Verified {
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
	return route.JSON(v), nil
}

// eachAgent calls visit with every active agent.
func (a *Routes) eachAgent(ctx context.Context, visit func(registry.Agent) error) error {
	for after, more := "", true; more; more = after != "" {
		found, next, err := a.Answers.Registry.List(ctx, registry.Filter{}, after, registry.MaxList)
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

// RecentRegistration is one row of it.
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

func (a *Routes) recentRegistrations(ctx context.Context, in *recentAgentsInput) (*route.Output[RecentRegistrations], error) {
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
		row := airjson.NewRowView(agent)
		list.Agents = append(list.Agents, RecentRegistration{AirID: row.AirID, Name: row.Name, CreatorDID: agent.CreatorDID,
			CreatorName: cmp.Or(agent.CreatorName, "(none)"), CreatorType: agent.CreatorType, Verified: airjson.NewVerifiedStatus(agent).Verified,
			IsDemo: row.IsDemo, VerificationLevel: row.VerificationLevel, TrustScore: row.TrustScore, TrustGrade: row.TrustGrade, Registered: row.Created})
	}
	return route.JSON(list), nil
}

// RecheckCount is the number of checked agents.
type RecheckCount struct {
	Checked int `json:"checked" doc:"agents that were due for a check"`
}

func (a *Routes) recheckAgents(ctx context.Context, in *route.EmptyBody) (*route.Output[RecheckCount], error) {
	var v RecheckCount
	now := a.Now()
	err := a.eachAgent(ctx, func(agent registry.Agent) error {
		if next := a.Answers.Registry.NextCheck(agent); next.IsZero() || next.After(now) {
			return nil
		}
		v.Checked++
		return a.Answers.Registry.Recheck(ctx, agent.AirID)
	})
	if err != nil {
		return nil, err
	}
	return route.Written(a.Mux, v), nil
}

func (a *Routes) publishAnchor(ctx context.Context, in *route.EmptyBody) (*route.Output[AnchorAnswer], error) {
	if a.publish == nil {
		return nil, route.NewProblem(route.Unavailable, "no witness is configured", "name one in registry.witnesses of the configuration").WithRetry(time.Hour)
	}
	if a.Answers.Log != nil {
		a.awaitLog(ctx) // acknowledged writes are in the tree
	}
	if err := a.publish(ctx); err != nil {
		return nil, route.NewProblem(route.Unavailable, fmt.Sprintf("a witness has not cosigned: %.1000s", err), "check that the witness runs at its URL in registry.witnesses; gazetteer registry shows the state of each").WithRetry(time.Minute).WithCause(err)
	}
	return route.Written(a.Mux, AnchorAnswer{a.newestAnchor()}), nil
}

// SuspensionBody documents the body of a suspension.
type SuspensionBody struct {
	Reason string `json:"reason" doc:"why, which its owner is shown; at most 500 characters"`
}

func (a *Routes) suspendAgent(ctx context.Context, in *operatorInput) (*route.Output[AgentStatusAnswer], error) {
	values, err := readTexts(in.Text, []string{"reason"}, nil)
	if err != nil {
		return nil, err
	}
	agent, err := a.Answers.Registry.Suspend(ctx, in.AirID, values["reason"])
	a.logAction(err, "agent suspended", in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is suspended until it is restored.")
}

func (a *Routes) restoreAgent(ctx context.Context, in *ownerInput) (*route.Output[AgentStatusAnswer], error) {
	agent, err := a.Answers.Registry.Restore(ctx, in.AirID)
	a.logAction(err, "agent restored", in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is back in service.")
}

func (a *Routes) eraseAgentByOperator(ctx context.Context, in *ownerInput) (*route.Output[AgentStatusAnswer], error) {
	agent, err := a.Answers.Registry.EraseByOperator(ctx, in.AirID)
	a.logAction(err, "agent erased by the operator", in.AirID)
	return a.agentStatusOutput(agent, err, in.AirID, "The agent is erased.")
}

// logAction writes a line for what the operator has done to an agent, unless it failed.
func (a *Routes) logAction(err error, what, airID string) {
	if err == nil {
		a.Log.Info(what, "air_id", airID)
	}
}

// agentStatusOutput answers with the current state of an agent.
func (a *Routes) agentStatusOutput(agent registry.Agent, err error, airID, message string) (*route.Output[AgentStatusAnswer], error) {
	if err != nil {
		return nil, route.WithAirID(err, airID)
	}
	return route.Written(a.Mux, AgentStatusAnswer{AirID: agent.AirID, Status: agent.Status, Updated: agent.Updated, Message: message}), nil
}
