package air

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"gazetteer/store"

	"github.com/danielgtaylor/huma/v2"
)

func (a *Routes) Declare(h huma.API) {
	register := route.Complete(huma.Operation{OperationID: "register-agent", DefaultStatus: http.StatusCreated})
	for status, what := range map[string]string{
		"200": "The same signed request has registered the agent before, and its answer was lost: this is the agent, without its secret.",
		"202": "The registration waits for the operator's approval; application is the address of its state.",
	} {
		register = route.Respond(register, status, what, "application/json", route.SchemaOf[RegistrationAnswer](h))
	}
	route.HandleBody[RegistrationBody](a.Mux, h, register, a.registerAgent)
	route.Handle(a.Mux, h, route.Op("list-agents"), a.listAgents)
	route.Handle(a.Mux, h, route.Op("check-name"), a.checkName)
	route.Handle(a.Mux, h, route.Op("check-username"), a.checkUsername)
	route.Handle(a.Mux, h, route.Op("agent-by-username"), a.getAgentByUsername)
	route.Handle(a.Mux, h, route.Op("agent"), a.getAgent)
	route.HandleBody[UpdateBody](a.Mux, h, route.Op("update-agent"), a.updateAgent)
	route.Handle(a.Mux, h, route.Op("did-document"), a.getDIDDocument)
	route.Handle(a.Mux, h, route.Op("trust-score"), a.getTrustScore)
	a.attestationRoutes(h)
	a.keyRoutes(h)
	a.domainRoutes(h)
	a.waitingRoutes(h)
	a.reportRoutes(h)
	a.moveRoutes(h)
	a.identifierRoutes(h)
	a.logRoutes(h)
	a.witnessRoutes(h)
	a.registryRoutes(h)
}

// RegistrationBody documents the members of a registration.
// [airjson.ReadRegistration] reads it.
type RegistrationBody struct {
	Name        string `json:"name" doc:"of the agent"`
	PublicKey   string `json:"public_key,omitempty" doc:"Ed25519, 32 bytes in base64url; needed unless creator_did is a did:key"`
	CreatorDID  string `json:"creator_did,omitempty" doc:"the DID of the agent's creator; by default the agent's own DID is minted"`
	CreatorName string `json:"creator_name,omitempty" doc:"who is responsible for the agent"`
	CreatorType string `json:"creator_type,omitempty" doc:"individual, the default, or organization"`
	Description string `json:"description,omitempty" doc:"what the agent does"`
	registry.Editable
	RecoveryCommitment string     `json:"recovery_commitment,omitempty" doc:"sha-256: and base64url of the SHA-256 of the recovery key's public part"`
	NoSecret           bool       `json:"no_secret,omitempty" doc:"true to get no secret: every write is signed; the key must be proved"`
	Proof              *ProofBody `json:"proof,omitempty" doc:"the answer to a challenge; a signature of the request replaces it"`
}

// ProofBody documents the answer to a challenge.
type ProofBody struct {
	Challenge string `json:"challenge" doc:"from /api/v1/challenges"`
	Signature string `json:"signature" doc:"multibase (z, base58btc) of the Ed25519 signature over the statement of the challenge"`
}

// UpdateBody documents the members of an update: at least one of them.
// [airjson.ReadUpdate] reads it.
type UpdateBody struct {
	Username    *string `json:"username,omitempty" doc:"a handle to claim; null gives it back"`
	Description string  `json:"description,omitempty" doc:"what the agent does"`
	registry.Editable
	RecoveryCommitment string `json:"recovery_commitment,omitempty" doc:"for an agent that has none yet"`
	MovedTo            string `json:"moved_to,omitempty" doc:"the DID under which the agent continues elsewhere; an empty text withdraws it; the request must be signed"`
	NoSecret           bool   `json:"no_secret,omitempty" doc:"true switches the secret off for good; the request must be signed"`
}

type registerInput struct {
	Work string `header:"Registration-Work" maxLength:"100" doc:"CHALLENGE.NUMBER: the solution of the work that a refusal requires while very many agents are being registered"`
	Wait int    `query:"wait" minimum:"0" maximum:"10" default:"0" doc:"seconds to wait until the transparency log has the registration, at most 10; the answer then has the proof of inclusion"`
	route.JSONBody
}

// RegistrationAnswer answers a registration.
type RegistrationAnswer struct {
	airjson.RegistrationView
	DID         string   `json:"did" doc:"of the agent itself"`
	Warnings    []string `json:"warnings,omitempty" doc:"what the owner may want to know"`
	Log         *Logged  `json:"log,omitempty" doc:"the registration in the transparency log; absent while it waits for approval, and on servers without a log"`
	Application string   `json:"application,omitempty" doc:"where to ask whether the operator has approved it; absent when the agent is registered"`
}

func (a *Routes) registerAgent(ctx context.Context, in *registerInput) (*route.Output[RegistrationAnswer], error) {
	registration, err := airjson.ReadRegistration(in.Text)
	if err != nil {
		return nil, err
	}
	warnings := append(a.warnOfSameName(registration.Name), warnOfIgnoredMembers(registration.Ignored)...)
	registration.Request, registration.Client, registration.Work = a.SignedRequest(&in.RequestBody), in.Client, in.Work
	agent, again, err := a.Answers.Registry.EarlierRegistration(ctx, registration)
	if err != nil {
		return nil, err
	}
	secret := ""
	if again {
		warnings = warnRegisteredBefore
	} else if agent, secret, err = a.Answers.Registry.Register(ctx, registration); err != nil {
		// The same request may have been registered meanwhile: a proxy sent it twice.
		var earlier error
		if agent, again, earlier = a.Answers.Registry.EarlierRegistration(ctx, registration); earlier != nil || !again {
			return nil, err
		}
		warnings = warnRegisteredBefore
	}
	out := route.Written(a.Mux, RegistrationAnswer{RegistrationView: airjson.NewRegistrationView(a.Answers.Registry, agent, secret), DID: a.Answers.Registry.DID(agent.AirID), Warnings: warnings})
	if !again {
		out.Status = http.StatusCreated
	}
	if agent.Status == registry.Pending {
		out.Status, out.Body.Application = http.StatusAccepted, applicationPath(agent.AirID)
		return out, nil
	}
	if out.Body.Log, err = a.logRegistration(ctx, agent.AirID, time.Duration(in.Wait)*time.Second); err != nil {
		// The agent is registered, so the answer must say so. A disconnected client or a shutdown
		// is no failure.
		if ctx.Err() == nil {
			a.Mux.Log.Error("the registration was not looked up in the transparency log", "error", err)
		}
	}
	if out.Body.Log == nil && a.Answers.Log != nil {
		out.Body.Warnings = append(out.Body.Warnings, "The transparency log signs nothing at the moment, so it has not promised to include this registration.")
	}
	return out, nil
}

var warnRegisteredBefore = []string{"This request has registered the agent before; nothing was changed. A secret is shown only in the first answer."}

// warnOfSameName warns of agents that already have the name. It does not wait for the directory:
// names are not unique, and a warning must not delay a registration.
func (a *Routes) warnOfSameName(name string) []string {
	if a.Answers.Directory == nil {
		return nil
	}
	v, err := a.Answers.Directory.CheckName(name)
	if err != nil || !v.Exists {
		return nil // the registration reports an invalid name
	}
	return []string{fmt.Sprintf("An agent named '%s' already exists (%d existing). Your agent has been assigned a unique AIR ID.", v.Name, v.Count)}
}

// warnOfIgnoredMembers warns of members that a registration ignores: a mistyped one, or a handle,
// which is claimed later.
func warnOfIgnoredMembers(names []string) []string {
	const most = 5
	var out []string
	for i, name := range names {
		switch {
		case i == most:
			return append(out, fmt.Sprintf("%d more members are not known in a registration and were left out.", len(names)-most))
		case name == "username":
			out = append(out, "username was left out: claim a handle with PUT once the agent is registered.")
		default:
			out = append(out, fmt.Sprintf("%q is not known in a registration and was left out.", answer.CleanText(name, 40)))
		}
	}
	return out
}

type listInput struct {
	Limit      int    `query:"limit" minimum:"1" default:"20" doc:"how many agents on one page, 1 to 100; more are not given"`
	Offset     int    `query:"offset" minimum:"0" doc:"how many agents to leave out"`
	Q          string `query:"q" maxLength:"200" doc:"words that the name, handle, description, creator's name, capabilities or AIR ID must contain"`
	Capability string `query:"capability" maxLength:"200" doc:"a capability that the agent lists"`
	Verb       string `query:"verb" maxLength:"200" doc:"a verb such as BOOK that is offered at a domain which the agent has shown to be its own"`
	Require    string `query:"require" doc:"required evidence, separated by commas: key, age, domain, did, inbox, agis, repository, attestations"`
}

// AgentList is one page of agents.
type AgentList struct {
	Agents []airjson.RowView `json:"agents" doc:"sorted by the amount of proved or observed evidence, then by age; never by claimed points"`
	Total  int               `json:"total"`
	Limit  int               `json:"limit"`
	Offset int               `json:"offset"`
	// Rows are those of the AIR reference, which have no handle.
	Handles []AgentHandle `json:"handles,omitempty" doc:"the handles of the agents of this page; absent if none has one"`
}

// AgentHandle is the handle of an agent.
type AgentHandle struct {
	AirID  string `json:"air_id"`
	Handle string `json:"handle"`
}

// Name returns the AIR ID of an agent of the list, with the handle if it has one.
func (l AgentList) Name(airID string) string {
	if i := slices.IndexFunc(l.Handles, func(h AgentHandle) bool { return h.AirID == airID }); i >= 0 {
		return airID + " @" + l.Handles[i].Handle
	}
	return airID
}

func (a *Routes) listAgents(ctx context.Context, in *listInput) (*route.Output[AgentList], error) {
	require, err := registry.ParseRequire(in.Require)
	if err != nil {
		return nil, err
	}
	d, err := a.CurrentDirectory(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := a.Answers.HostsOffering(ctx, strings.TrimSpace(in.Verb))
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, registry.MaxList)
	found, total := d.Search(directory.Query{Words: in.Q, Capability: in.Capability, Hosts: hosts, Require: require, Offset: in.Offset, Limit: limit})
	list := AgentList{Agents: []airjson.RowView{}, Total: total, Limit: limit, Offset: in.Offset}
	for _, agent := range found {
		row := airjson.NewRowView(agent.Agent)
		row.Verified = airjson.NewVerifiedStatus(agent.Agent).Verified
		list.Agents = append(list.Agents, row)
		if agent.Handle != "" {
			list.Handles = append(list.Handles, AgentHandle{agent.AirID, agent.Handle})
		}
	}
	return route.JSON(list), nil
}

type nameInput struct {
	Name string `query:"name" doc:"the name of an agent"`
}

func (a *Routes) checkName(ctx context.Context, in *nameInput) (*route.Output[directory.NameView], error) {
	if strings.TrimSpace(in.Name) == "" {
		return nil, route.NewProblem(route.BadParameter, "Query parameter 'name' is required", "add ?name= and the name").WithLocation(route.Location{Parameter: "name"})
	}
	d, err := a.CurrentDirectory(ctx)
	if err != nil {
		return nil, err
	}
	v, err := d.CheckName(in.Name)
	if err != nil {
		return nil, route.InParameter(err, "name")
	}
	return route.JSON(v), nil
}

type usernameQuery struct {
	Username string `query:"username" doc:"a handle, in any spelling"`
}

func (a *Routes) checkUsername(ctx context.Context, in *usernameQuery) (*route.Output[registry.UsernameView], error) {
	if strings.TrimSpace(in.Username) == "" {
		return nil, route.NewProblem(route.BadParameter, "Query parameter 'username' is required", "add ?username= and the handle").WithLocation(route.Location{Parameter: "username"})
	}
	return route.JSONResult(a.Answers.Registry.CheckUsername(ctx, in.Username))
}

type usernameInput struct {
	Username string `path:"username" doc:"a handle, in any spelling"`
	Require  string `query:"require" doc:"required evidence, separated by commas"`
}

func (a *Routes) getAgentByUsername(ctx context.Context, in *usernameInput) (*route.Output[airjson.RecordView], error) {
	agent, _, err := a.Answers.Registry.ByHandle(ctx, in.Username)
	if errors.Is(err, registry.ErrNoAgent) {
		return nil, route.NewProblem(route.NoAgent, "No agent with that username", "check the spelling; a released handle stays reserved for a while")
	}
	if err != nil {
		return nil, route.InParameter(err, "username")
	}
	if err := a.requireEvidence(ctx, agent, in.Require); err != nil {
		return nil, err
	}
	return route.JSON(airjson.NewRecordView(a.Answers.Registry, agent)), nil
}

// requireEvidence refuses an agent without the evidence that the caller requires.
func (a *Routes) requireEvidence(ctx context.Context, agent registry.Agent, text string) error {
	signals, err := registry.ParseRequire(text)
	if err != nil {
		return err
	}
	missing, err := a.Answers.Registry.MissingSignals(ctx, agent, signals)
	if err != nil || len(missing) == 0 {
		return err
	}
	r := route.NewProblem(route.NoEvidence, "the agent does not show "+route.JoinWords(missing), "see /api/v1/agents/"+agent.AirID+"/evidence for what it shows")
	r.Problem.AirID, r.Problem.Missing = agent.AirID, missing
	return r
}

type lookupInput struct {
	AirID   string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Require string `query:"require" doc:"required evidence, separated by commas"`
}

// findAgent returns an agent with the required evidence, and makes the answer about it cacheable.
func (a *Routes) findAgent(ctx context.Context, in *lookupInput) (registry.Agent, error) {
	agent, seq, err := a.Answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return agent, route.WithAirID(err, in.AirID)
	}
	if agent.Recovery == nil { // which takes effect when its time comes, without a request
		route.MarkCacheable(ctx, store.AgentKey(agent.AirID), seq)
	}
	return agent, a.requireEvidence(ctx, agent, in.Require)
}

func (a *Routes) getAgent(ctx context.Context, in *lookupInput) (*route.Output[airjson.RecordView], error) {
	agent, err := a.findAgent(ctx, in)
	if err != nil {
		return nil, err
	}
	if agent.Status == registry.Erased {
		return nil, route.WithAirID(agent.Usable(), in.AirID)
	}
	return route.JSON(airjson.NewRecordView(a.Answers.Registry, agent)), nil
}

func (a *Routes) updateAgent(ctx context.Context, in *updateInput) (*route.Output[airjson.UpdateView], error) {
	update, err := airjson.ReadUpdate(in.Text)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	if len(in.ifMatch) > 0 {
		update.If = func(now registry.Agent) error { return a.checkIfMatch(now, in.ifMatch) }
	}
	agent, fields, err := a.Answers.Registry.Update(ctx, in.AirID, a.ReadCredentials(&in.RequestBody, in.Secret), update)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.Written(a.Mux, airjson.NewUpdateView(agent, fields)), nil
}

// checkIfMatch refuses to change an agent whose record differs from the one that the caller has
// read.
func (a *Routes) checkIfMatch(now registry.Agent, ifMatch []string) error {
	tags, err := route.JSONETags(airjson.NewRecordView(a.Answers.Registry, now))
	if err != nil || route.MatchesETag(ifMatch, tags) {
		return err
	}
	return route.NewProblem(route.OtherVersion, "the agent's record was changed since it was read: its ETag is "+tags[0]+" now", "read it again, and send the change with its ETag, or without If-Match").
		WithLocation(route.Location{Header: "If-Match"})
}

func (a *Routes) getDIDDocument(ctx context.Context, in *lookupInput) (*route.Output[did.Document], error) {
	agent, err := a.findAgent(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := agent.Resolvable(); err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	out := route.JSON(a.Answers.Registry.DIDDocument(agent))
	out.CacheControl = documentCache
	return out, nil
}

// documentCache: senders cache a document for 50 to 70 seconds; no intermediate cache may extend
// that (A2A §4.5).
const documentCache = "public, max-age=50"

func (a *Routes) getTrustScore(ctx context.Context, in *agentInput) (*route.Output[airjson.TrustScoreView], error) {
	agent, _, err := a.Answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.JSON(airjson.NewTrustScoreView(a.Answers.Registry, agent)), nil
}
