package air

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/registry"
)

// waitingRoutes declares the route for the state of a registration that waits for the operator.
func (a *Routes) waitingRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("agent-application"), a.getApplication)
}

// applicationPath returns the path for the state of an agent's registration.
func applicationPath(airID string) string { return route.AgentsPath + airID + "/application" }

// ApplicationAnswer is the state of a registration.
type ApplicationAnswer struct {
	AirID   string    `json:"air_id"`
	Status  string    `json:"status" enum:"waiting,refused,expired,approved"`
	Asked   time.Time `json:"asked,omitzero"`
	Expires time.Time `json:"expires,omitzero" doc:"until when it waits"`
	Refused time.Time `json:"refused,omitzero"`
	Reason  string    `json:"reason,omitempty" doc:"why the operator has refused it"`
	Note    string    `json:"note,omitempty" doc:"the operator's note for applicants"`
	Agent   string    `json:"agent,omitempty" doc:"where the record of an approved agent is"`
}

func (a *Routes) getApplication(ctx context.Context, in *agentInput) (*route.Output[ApplicationAnswer], error) {
	p, err := a.Answers.Registry.Application(ctx, in.AirID)
	if errors.Is(err, registry.ErrNotFound) {
		agent, _, agentErr := a.Answers.Registry.Agent(ctx, in.AirID)
		if agentErr != nil {
			return nil, route.WithAirID(err, in.AirID)
		}
		return route.JSON(ApplicationAnswer{AirID: agent.AirID, Status: "approved", Agent: route.AgentsPath + agent.AirID}), nil
	}
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	v := ApplicationAnswer{AirID: in.AirID, Status: "waiting", Asked: p.Asked, Expires: p.Expires, Refused: p.Refused, Reason: p.Reason}
	switch {
	case !p.Refused.IsZero():
		v.Status = "refused"
	case !a.Now().Before(p.Expires):
		v.Status = "expired"
	default:
		door, err := a.Answers.Registry.RegistrationPolicy(ctx)
		if err != nil {
			return nil, err
		}
		v.Note = door.Note
	}
	return route.JSON(v), nil
}
