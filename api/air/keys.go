package air

import (
	"context"
	"net/http"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/registry"

	"github.com/danielgtaylor/huma/v2"
)

// keyRoutes declares the routes with which an owner manages the keys of an agent and deactivates
// it.
func (a *Routes) keyRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("new-challenge"), a.createChallenge)
	route.Handle(a.Mux, h, route.Op("agent-keys"), a.listKeys)
	route.HandleBody[RotationBody](a.Mux, h, route.Op("rotate-key"), a.rotateKey)
	recovery := route.Op("recover-agent")
	recovery.DefaultStatus = http.StatusAccepted
	route.HandleBody[RecoveryBody](a.Mux, h, recovery, a.recoverKey)
	route.Handle(a.Mux, h, route.Op("deactivate-agent"), a.deactivateAgent)
	route.Handle(a.Mux, h, route.Op("erase-agent"), a.eraseAgent)
}

func (a *Routes) createChallenge(_ context.Context, in *route.EmptyBody) (*route.Output[registry.Challenge], error) {
	return route.JSONResult(a.Answers.Registry.Challenge())
}

func (a *Routes) listKeys(ctx context.Context, in *agentInput) (*route.Output[airjson.KeysView], error) {
	return agentOutput(a, ctx, in.AirID, func(_ context.Context, agent registry.Agent) (airjson.KeysView, error) {
		return airjson.NewKeysView(a.Answers.Registry, agent), nil
	})
}

// RotationBody documents the members of a rotation. [airjson.ReadRotation]
// reads it.
type RotationBody struct {
	Agent        string `json:"agent" doc:"the DID of the agent"`
	CurrentKey   string `json:"current_key" doc:"the key in use, as a multikey or in base64url"`
	PublicKey    string `json:"public_key" doc:"the new key"`
	Created      string `json:"created" doc:"UTC in whole seconds, 2026-01-31T12:00:00Z; at most five minutes ago"`
	Nonce        string `json:"nonce" doc:"8 to 128 characters that were never used before"`
	Commitment   string `json:"recovery_commitment,omitempty" doc:"to a recovery key, for an agent that has none yet"`
	OldSignature string `json:"old_signature" doc:"multibase signature of the statement by the key in use"`
	NewSignature string `json:"new_signature" doc:"multibase signature of the statement by the new key"`
}

// RecoveryBody documents the members of a recovery. [airjson.ReadRecovery]
// reads it.
type RecoveryBody struct {
	Agent             string `json:"agent" doc:"the DID of the agent"`
	CurrentKey        string `json:"current_key" doc:"the key that is to be replaced"`
	PublicKey         string `json:"public_key,omitempty" doc:"the new key; left out to withdraw the recovery under way"`
	RecoveryKey       string `json:"recovery_key" doc:"the key that the agent committed to"`
	NextCommitment    string `json:"next_commitment,omitempty" doc:"to the next recovery key"`
	Created           string `json:"created" doc:"UTC in whole seconds"`
	Nonce             string `json:"nonce" doc:"8 to 128 characters that were never used before"`
	RecoverySignature string `json:"recovery_signature" doc:"multibase signature of the statement by the recovery key"`
	NewSignature      string `json:"new_signature,omitempty" doc:"multibase signature of the statement by the new key"`
}

func (a *Routes) rotateKey(ctx context.Context, in *updateInput) (*route.Output[airjson.KeysView], error) {
	x, err := airjson.ReadRotation(in.Text)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	x.Client = in.Client
	agent, err := a.Answers.Registry.Rotate(ctx, in.AirID, x)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.Written(a.Mux, airjson.NewKeysView(a.Answers.Registry, agent)), nil
}

func (a *Routes) recoverKey(ctx context.Context, in *updateInput) (*route.Output[airjson.KeysView], error) {
	x, err := airjson.ReadRecovery(in.Text)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	x.Client = in.Client
	agent, err := a.Answers.Registry.Recover(ctx, in.AirID, x)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	out := route.Written(a.Mux, airjson.NewKeysView(a.Answers.Registry, agent))
	out.Status = http.StatusAccepted
	return out, nil
}

// AgentStatusAnswer is the state of an agent that was taken out of service.
type AgentStatusAnswer struct {
	AirID   string    `json:"air_id"`
	Status  string    `json:"status" enum:"deactivated,erased,suspended,active"`
	Updated time.Time `json:"updated"`
	Message string    `json:"message"`
}

func (a *Routes) deactivateAgent(ctx context.Context, in *ownerInput) (*route.Output[AgentStatusAnswer], error) {
	return a.endAgent(ctx, in, a.Answers.Registry.Deactivate, "The agent is deactivated permanently. Its keys and history stay, so that its signatures can still be verified.")
}

func (a *Routes) eraseAgent(ctx context.Context, in *ownerInput) (*route.Output[AgentStatusAnswer], error) {
	return a.endAgent(ctx, in, a.Answers.Registry.Erase, "The agent is erased. Only its AIR ID, which is never assigned again, and hashes in the transparency log are kept.")
}

func (a *Routes) endAgent(ctx context.Context, in *ownerInput, end func(context.Context, string, registry.Credentials) (registry.Agent, error), message string) (*route.Output[AgentStatusAnswer], error) {
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	agent, err := end(ctx, in.AirID, a.ReadCredentials(&in.RequestBody, in.Secret))
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.Written(a.Mux, AgentStatusAnswer{AirID: agent.AirID, Status: agent.Status, Updated: agent.Updated, Message: message}), nil
}
