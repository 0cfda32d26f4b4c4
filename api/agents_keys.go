package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/registry"
)

// keyRoutes declares what an owner does with the keys of an agent, and how an
// agent ends.
func (a *API) keyRoutes(h huma.API) {
	post := func(id, path, summary string) huma.Operation {
		return tagAsAgents(huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary})
	}
	challenge := post("new-challenge", "/api/v1/challenges", "A challenge, to prove possession of a key at registration")
	addRoute(a, h, challenge, a.createChallenge)
	addRoute(a, h, tagAsAgents(getOperation("agent-keys", "/api/v1/agents/{air_id}/keys", "The keys of an agent, the current one first, with when each was in use")), a.listKeys)
	rotate := post("rotate-key", "/api/v1/agents/{air_id}/keys", "Put a new key in the place of the current one; signed by both")
	addRoute(a, h, rotate, a.rotateKey)
	describeBody[RotationBody](h, h.OpenAPI().Paths[rotate.Path].Post)
	recovery := post("recover-agent", "/api/v1/agents/{air_id}/recovery", "Take an agent over with its recovery key, after a delay; or withdraw that")
	recovery.DefaultStatus = http.StatusAccepted
	addRoute(a, h, recovery, a.recoverKey)
	describeBody[RecoveryBody](h, h.OpenAPI().Paths[recovery.Path].Post)
	addRoute(a, h, post("deactivate-agent", "/api/v1/agents/{air_id}/deactivate", "End an agent for good; its keys and history stay"), a.deactivateAgent)
	addRoute(a, h, post("erase-agent", "/api/v1/agents/{air_id}/erase", "Remove what an agent is and was; hashes in the log stay. It cannot be undone"), a.eraseAgent)
}

type emptyInput struct{ body requestBody }

// Resolve takes the request without a body (huma.Resolver).
func (in *emptyInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

func (a *API) createChallenge(_ context.Context, in *emptyInput) (*output[registry.Challenge], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	c, err := a.answers.Registry.Challenge()
	if err != nil {
		return nil, err
	}
	out := jsonOutput(c)
	out.CacheControl = "no-store"
	return out, nil
}

func (a *API) listKeys(ctx context.Context, in *agentInput) (*output[registry.KeysView], error) {
	return agentOutput(a, ctx, in.AirID, func(_ context.Context, agent registry.Agent) (registry.KeysView, error) {
		return a.answers.Registry.KeysView(agent), nil
	})
}

// RotationBody documents the members of a rotation. [registry.ReadRotation]
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

// RecoveryBody documents the members of a recovery. [registry.ReadRecovery]
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

func (a *API) rotateKey(ctx context.Context, in *updateInput) (*output[registry.KeysView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	x, err := registry.ReadRotation(in.body.text)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	x.Client = in.body.client
	agent, err := a.answers.Registry.Rotate(ctx, in.AirID, x)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return writeOutput(a, a.answers.Registry.KeysView(agent)), nil
}

func (a *API) recoverKey(ctx context.Context, in *updateInput) (*output[registry.KeysView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	x, err := registry.ReadRecovery(in.body.text)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	x.Client = in.body.client
	agent, err := a.answers.Registry.Recover(ctx, in.AirID, x)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	out := writeOutput(a, a.answers.Registry.KeysView(agent))
	out.Status = http.StatusAccepted
	return out, nil
}

type ownerInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret string `header:"X-Agent-Secret" doc:"the secret that the registration answered; not needed by a signed request"`
	body   requestBody
}

// Resolve takes the request without a body (huma.Resolver).
func (in *ownerInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

// AgentStatusAnswer says how an agent stands that was taken out of service.
type AgentStatusAnswer struct {
	AirID   string    `json:"air_id"`
	Status  string    `json:"status" enum:"deactivated,erased,suspended,active"`
	Updated time.Time `json:"updated"`
	Message string    `json:"message"`
}

func (a *API) deactivateAgent(ctx context.Context, in *ownerInput) (*output[AgentStatusAnswer], error) {
	return a.endAgent(ctx, in, a.answers.Registry.Deactivate, "The agent is deactivated for good. Its keys and history stay, so that what it signed can still be judged.")
}

func (a *API) eraseAgent(ctx context.Context, in *ownerInput) (*output[AgentStatusAnswer], error) {
	return a.endAgent(ctx, in, a.answers.Registry.Erase, "The agent is erased. Only its AIR ID is kept, so that nobody else gets it, and hashes in the transparency log.")
}

func (a *API) endAgent(ctx context.Context, in *ownerInput, end func(context.Context, string, registry.Credentials) (registry.Agent, error), message string) (*output[AgentStatusAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	agent, err := end(ctx, in.AirID, a.readCredentials(&in.body, in.Secret))
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return writeOutput(a, AgentStatusAnswer{AirID: agent.AirID, Status: agent.Status, Updated: agent.Updated, Message: message}), nil
}
