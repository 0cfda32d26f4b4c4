package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
	"gazetteer/registry/directory"
	"gazetteer/store"
)

// tagAgents marks the routes of the AIR registry. Their paths, shapes and error
// words are those of the public reference, with members added, so that its
// clients work unchanged.
const tagAgents = "agents"

// maxAgentBody is the largest body of a registration or an update. The longest
// valid one has some 30 KB.
const maxAgentBody = 64 << 10

// bodyTimeout is how long a body may take to arrive.
const bodyTimeout = 10 * time.Second

func (a *API) agentRoutes(h huma.API) {
	register := tagAsAgents(huma.Operation{
		OperationID: "register-agent", Method: http.MethodPost, Path: "/api/v1/agents/register", DefaultStatus: http.StatusCreated,
		Summary: "Register an agent; the answer shows its secret this once",
	})
	register.Responses = map[string]*huma.Response{"202": {
		Description: "The registration waits for the operator's approval; application is where to ask for it.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[RegistrationAnswer](h)}},
	}}
	addRoute(a, h, register, a.registerAgent)
	describeBody[RegistrationBody](h, h.OpenAPI().Paths[register.Path].Post)
	addRoute(a, h, tagAsAgents(getOperation("list-agents", "/api/v1/agents", "Agents, those of which most is proved or observed first")), a.listAgents)
	addRoute(a, h, tagAsAgents(getOperation("check-name", "/api/v1/agents/check-name", "Which agents have a name; names are not unique")), a.checkName)
	addRoute(a, h, tagAsAgents(getOperation("check-username", "/api/v1/agents/check-username", "Whether a handle can be claimed")), a.checkUsername)
	addRoute(a, h, tagAsAgents(getOperation("agent-by-username", "/api/v1/agents/by-username/{username}", "The public record of the agent that holds a handle")), a.getAgentByUsername)
	addRoute(a, h, tagAsAgents(getOperation("agent", "/api/v1/agents/{air_id}", "The public record of an agent")), a.getAgent)
	update := tagAsAgents(huma.Operation{
		OperationID: "update-agent", Method: http.MethodPut, Path: "/api/v1/agents/{air_id}",
		Summary: "Change an agent's record; signed by its key, or with its secret",
	})
	addRoute(a, h, update, a.updateAgent)
	describeBody[UpdateBody](h, h.OpenAPI().Paths[update.Path].Put)
	addRoute(a, h, tagAsAgents(getOperation("did-document", "/api/v1/agents/{air_id}/did-document", "The DID document of an agent")), a.getDIDDocument)
	addRoute(a, h, tagAsAgents(getOperation("trust-score", "/api/v1/agents/{air_id}/trust-score", "The reference's score of what an agent says of itself")), a.getTrustScore)
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

// tagAsAgents marks an operation as one of the registry's.
func tagAsAgents(op huma.Operation) huma.Operation {
	op.Tags = []string{tagAgents}
	return op
}

// describeBody adds a JSON body to the description of an operation. It is done
// after huma has set the operation up, for huma must not read it: it would let
// duplicate members and other spellings of a name pass.
func describeBody[T any](h huma.API, op *huma.Operation) {
	op.RequestBody = &huma.RequestBody{
		Required: true,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](h)}},
	}
}

// RegistrationBody documents the members of a registration.
// [registry.ReadRegistration] reads it.
type RegistrationBody struct {
	Name                   string                     `json:"name" doc:"of the agent"`
	PublicKey              string                     `json:"public_key,omitempty" doc:"Ed25519, 32 bytes in base64url; needed unless creator_did is a did:key"`
	CreatorDID             string                     `json:"creator_did,omitempty" doc:"who stands behind the agent; left out, the agent's own DID is minted"`
	CreatorName            string                     `json:"creator_name,omitempty"`
	CreatorType            string                     `json:"creator_type,omitempty"`
	Description            string                     `json:"description,omitempty"`
	Capabilities           []string                   `json:"capabilities,omitempty"`
	SecurityCertifications []string                   `json:"security_certifications,omitempty"`
	OpenSource             bool                       `json:"open_source,omitempty"`
	CodeRepository         string                     `json:"code_repository,omitempty"`
	DocumentationURL       string                     `json:"documentation_url,omitempty"`
	ServiceEndpoints       []registry.ServiceEndpoint `json:"service_endpoints,omitempty"`
	RecoveryCommitment     string                     `json:"recovery_commitment,omitempty" doc:"sha-256: and base64url of the SHA-256 of the public key that can take over"`
	NoSecret               bool                       `json:"no_secret,omitempty" doc:"true to get no secret: every write is signed; the key must be proved"`
	Proof                  *ProofBody                 `json:"proof,omitempty" doc:"the answer to a challenge; a signature of the request takes its place"`
}

// ProofBody documents the answer to a challenge.
type ProofBody struct {
	Challenge string `json:"challenge" doc:"from /api/v1/challenges"`
	Signature string `json:"signature" doc:"multibase (z, base58btc) of the Ed25519 signature over the statement of the challenge"`
}

// UpdateBody documents the members of an update: at least one of them.
// [registry.ReadUpdate] reads it.
type UpdateBody struct {
	Username               *string                    `json:"username,omitempty" doc:"a handle to claim; null gives it back"`
	Description            string                     `json:"description,omitempty"`
	Capabilities           []string                   `json:"capabilities,omitempty"`
	SecurityCertifications []string                   `json:"security_certifications,omitempty"`
	OpenSource             bool                       `json:"open_source,omitempty"`
	CodeRepository         string                     `json:"code_repository,omitempty"`
	DocumentationURL       string                     `json:"documentation_url,omitempty"`
	ServiceEndpoints       []registry.ServiceEndpoint `json:"service_endpoints,omitempty"`
	RecoveryCommitment     string                     `json:"recovery_commitment,omitempty" doc:"for an agent that has none yet"`
	NoSecret               bool                       `json:"no_secret,omitempty" doc:"true switches the secret off for good; the request must be signed"`
}

// A body is the raw body of a request, read when huma resolves the input. Its
// error waits there until the handler returns it.
type requestBody struct {
	text    []byte
	client  netip.Addr
	request httpsig.Message // all of it, for a signature
	err     error
}

// readJSON reads the body, at most limit bytes of JSON.
func (b *requestBody) readJSON(ctx huma.Context, limit int64) {
	c := humagin.Unwrap(ctx)
	b.client = clientAddress(c)
	b.text, b.err = readBody(c, limit, "application/json")
	b.request = httpsig.FromRequest(c.Request, b.text)
}

// readOptional is read for a body that may be left out.
func (b *requestBody) readOptional(ctx huma.Context, limit int64) {
	if c := humagin.Unwrap(ctx); c.Request.ContentLength == 0 {
		b.client, b.request = clientAddress(c), httpsig.FromRequest(c.Request, nil)
		return
	}
	b.readJSON(ctx, limit)
}

// readEmpty takes a request that needs no body, and refuses one that has one: a
// signature would have to cover it.
func (b *requestBody) readEmpty(ctx huma.Context) {
	c := humagin.Unwrap(ctx)
	b.client = clientAddress(c)
	if c.Request.ContentLength != 0 {
		text, err := io.ReadAll(io.LimitReader(c.Request.Body, 3))
		if b.text = text; err != nil || len(text) > 0 && string(text) != "{}" {
			closeAfter(c)
			b.err = newProblem(badBody, "this request takes no body", "send it without one")
			return
		}
	}
	b.request = httpsig.FromRequest(c.Request, b.text)
}

// readCredentials are what the request shows of who sent it.
func (a *API) readCredentials(b *requestBody, secret string) registry.Credentials {
	return registry.Credentials{Secret: secret, Request: a.signedRequest(b), Client: b.client}
}

// signedRequest is the request as its sender saw it: behind a proxy that ends TLS only
// the public URL tells the scheme.
func (a *API) signedRequest(b *requestBody) *httpsig.Message {
	m := b.request
	if a.publicHost != "" && strings.EqualFold(m.Authority, a.publicHost) {
		m.Scheme = a.publicScheme
	}
	return &m
}

// readBody reads a body of one of the media types (of any, when none is named), of
// at most limit bytes.
func readBody(c *gin.Context, limit int64, mediaTypes ...string) ([]byte, error) {
	r := c.Request
	err := checkCoding(r.Header)
	if len(mediaTypes) > 0 {
		err = checkMediaType(r.Header, mediaTypes)
	}
	if err != nil {
		closeAfter(c)
		return nil, err
	}
	tooLarge := newProblem(bodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit), "send less")
	if r.ContentLength > limit {
		closeAfter(c)
		return nil, tooLarge
	}
	// The deadline of the connection is restored by the server for the next
	// request.
	http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(bodyTimeout))
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		closeAfter(c)
		return nil, newProblem(bodyTimeoutProblem, "the body did not arrive in time", "send it at once")
	case err != nil:
		closeAfter(c)
		return nil, newProblem(badBody, "the body was cut off or is not well formed", "send the whole body")
	case int64(len(text)) > limit:
		closeAfter(c)
		return nil, tooLarge
	}
	return text, nil
}

// closeAfter ends the connection after the answer: the rest of the body is not
// worth reading. The server would read a part of it before it closes, so it gets
// a moment only, in which the client can see the answer.
func closeAfter(c *gin.Context) {
	c.Writer.Header().Set("Connection", "close")
	http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(500 * time.Millisecond))
}

// checkMediaType takes UTF-8 of the media types and nothing compressed.
func checkMediaType(h http.Header, mediaTypes []string) error {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || !slices.Contains(mediaTypes, mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return newProblem(wrongMediaType, "the body must be "+bodyForms(mediaTypes)+" in UTF-8", "send it with the header Content-Type: "+mediaTypes[0]).
			withLocation(Location{Header: "Content-Type"})
	}
	return checkCoding(h)
}

// checkCoding takes nothing compressed.
func checkCoding(h http.Header) error {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return newProblem(wrongMediaType, "a compressed body is not taken", "send it without Content-Encoding").withLocation(Location{Header: "Content-Encoding"})
	}
	return nil
}

// bodyForms names what a body may be.
func bodyForms(mediaTypes []string) string {
	if slices.Contains(mediaTypes, "application/yaml") {
		return "JSON or YAML"
	}
	return "JSON"
}

type registerInput struct{ body requestBody }

// Resolve reads the body (huma.Resolver).
func (in *registerInput) Resolve(ctx huma.Context) []error {
	in.body.readJSON(ctx, maxAgentBody)
	return nil
}

// RegistrationAnswer answers a registration.
type RegistrationAnswer struct {
	registry.RegistrationView
	DID         string   `json:"did" doc:"of the agent itself"`
	Warnings    []string `json:"warnings,omitempty" doc:"what the owner may want to know"`
	Application string   `json:"application,omitempty" doc:"where to ask whether the operator has approved it; absent when the agent is registered"`
}

func (a *API) registerAgent(ctx context.Context, in *registerInput) (*output[RegistrationAnswer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	registration, err := registry.ReadRegistration(in.body.text)
	if err != nil {
		return nil, err
	}
	warnings := append(a.warnOfSameName(registration.Name), warnOfIgnoredMembers(registration.Ignored)...)
	registration.Request, registration.Client = a.signedRequest(&in.body), in.body.client
	agent, secret, err := a.answers.Registry.Register(ctx, registration)
	if err != nil {
		return nil, err
	}
	out := writeOutput(a, RegistrationAnswer{RegistrationView: a.answers.Registry.RegistrationView(agent, secret), DID: a.answers.Registry.DID(agent.AirID), Warnings: warnings})
	out.Status = http.StatusCreated
	if agent.Status == registry.Pending {
		out.Status, out.Body.Application = http.StatusAccepted, applicationPath(agent.AirID)
	}
	return out, nil
}

// warnOfSameName warns of agents that have the name already. It does not wait for the
// directory: names are not unique, and a registration must not be slow for a
// warning.
func (a *API) warnOfSameName(name string) []string {
	if a.answers.Directory == nil {
		return nil
	}
	v, err := a.answers.Directory.CheckName(name)
	if err != nil || !v.Exists {
		return nil // what is wrong with a name is said by the registration
	}
	return []string{fmt.Sprintf("An agent named '%s' already exists (%d existing). Your agent has been assigned a unique AIR ID.", v.Name, v.Count)}
}

// warnOfIgnoredMembers warns of members that a registration has in vain: one that was
// mistyped, or a handle, which is claimed afterwards.
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

// noteWrite notes that something was written, so that lists wait for it.
func (a *API) noteWrite() {
	head := a.answers.Store.Head().Seq
	for {
		old := a.written.Load()
		if old >= head || a.written.CompareAndSwap(old, head) {
			return
		}
	}
}

// directoryTimeout is how long a list waits for what was just written here.
const directoryTimeout = time.Second

// currentDirectory returns the directory of agents, with all that was written through
// this API: who registers and then looks finds the agent.
func (a *API) currentDirectory(ctx context.Context) (*directory.Directory, error) {
	d := a.answers.Directory
	if d == nil {
		return nil, answer.ErrNoDirectory
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	filled := min(1, a.answers.Store.Head().Seq)
	// A directory that is behind answers nearly everything.
	if err := d.WaitFor(ctx, max(a.written.Load(), filled)); err != nil && d.WaitFor(ctx, filled) != nil {
		return nil, newProblem(notReady, "the agents are still being read after the start", "ask again in a moment").withRetry(time.Second)
	}
	return d, nil
}

type listInput struct {
	Limit      int    `query:"limit" minimum:"1" default:"20" doc:"how many agents on one page, 1 to 100; more are not given"`
	Offset     int    `query:"offset" minimum:"0" doc:"how many agents to leave out"`
	Q          string `query:"q" maxLength:"200" doc:"words that must stand in the name, handle, description, creator's name, capabilities or AIR ID"`
	Capability string `query:"capability" maxLength:"200" doc:"a capability that the agent lists"`
	Verb       string `query:"verb" maxLength:"200" doc:"a verb such as BOOK that is offered at a domain which the agent has shown to be its own"`
	Require    string `query:"require" doc:"evidence that must hold, with commas between: key, age, domain, did, inbox, agis, repository, attestations"`
}

// AgentList is one page of agents.
type AgentList struct {
	Agents []registry.RowView `json:"agents" doc:"those of which most is proved or observed first, then the oldest; never by claimed points"`
	Total  int                `json:"total"`
	Limit  int                `json:"limit"`
	Offset int                `json:"offset"`
}

func (a *API) listAgents(ctx context.Context, in *listInput) (*output[AgentList], error) {
	require, err := registry.ParseRequire(in.Require)
	if err != nil {
		return nil, err
	}
	d, err := a.currentDirectory(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := a.answers.HostsOffering(ctx, strings.TrimSpace(in.Verb))
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, registry.MaxList)
	found, total := d.Search(directory.Query{Words: in.Q, Capability: in.Capability, Hosts: hosts, Require: require, Offset: in.Offset, Limit: limit})
	list := AgentList{Agents: []registry.RowView{}, Total: total, Limit: limit, Offset: in.Offset}
	for _, agent := range found {
		row := registry.NewRowView(agent.Agent)
		row.Verified = attestation.NewVerifiedStatus(agent.Agent).Verified
		list.Agents = append(list.Agents, row)
	}
	return jsonOutput(list), nil
}

type nameInput struct {
	Name string `query:"name" doc:"the name of an agent"`
}

func (a *API) checkName(ctx context.Context, in *nameInput) (*output[directory.NameView], error) {
	if strings.TrimSpace(in.Name) == "" {
		return nil, newProblem(badParameter, "Query parameter 'name' is required", "add ?name= and the name").withLocation(Location{Parameter: "name"})
	}
	d, err := a.currentDirectory(ctx)
	if err != nil {
		return nil, err
	}
	v, err := d.CheckName(in.Name)
	if err != nil {
		return nil, withParameter(err, "name")
	}
	return jsonOutput(v), nil
}

// withParameter says that the value which err is about came as a parameter.
func withParameter(err error, name string) error {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return newProblem(badParameter, e.Message, e.Help).withRule(e.Code, "").withLocation(Location{Parameter: name}).withCause(err)
	}
	return err
}

type usernameQuery struct {
	Username string `query:"username" doc:"a handle, in any spelling"`
}

func (a *API) checkUsername(ctx context.Context, in *usernameQuery) (*output[registry.UsernameView], error) {
	if strings.TrimSpace(in.Username) == "" {
		return nil, newProblem(badParameter, "Query parameter 'username' is required", "add ?username= and the handle").withLocation(Location{Parameter: "username"})
	}
	v, err := a.answers.Registry.CheckUsername(ctx, in.Username)
	if err != nil {
		return nil, err
	}
	return jsonOutput(v), nil
}

type usernameInput struct {
	Username string `path:"username" doc:"a handle, in any spelling"`
	Require  string `query:"require" doc:"evidence that must hold, with commas between"`
}

func (a *API) getAgentByUsername(ctx context.Context, in *usernameInput) (*output[registry.RecordView], error) {
	agent, _, err := a.answers.Registry.ByHandle(ctx, in.Username)
	if errors.Is(err, registry.ErrNoAgent) {
		return nil, newProblem(noAgent, "No agent with that username", "check the spelling; a handle that was given back is nobody's for a while")
	}
	if err != nil {
		return nil, withParameter(err, "username")
	}
	if err := a.requireEvidence(ctx, agent, in.Require); err != nil {
		return nil, err
	}
	return jsonOutput(a.answers.Registry.RecordView(agent)), nil
}

// requireEvidence refuses an agent that does not show the evidence which the caller
// needs.
func (a *API) requireEvidence(ctx context.Context, agent registry.Agent, text string) error {
	signals, err := registry.ParseRequire(text)
	if err != nil {
		return err
	}
	missing, err := a.answers.Registry.MissingSignals(ctx, agent, signals)
	if err != nil || len(missing) == 0 {
		return err
	}
	r := newProblem(noEvidence, "the agent does not show "+joinWords(missing), "see /api/v1/agents/"+agent.AirID+"/evidence for what it shows")
	r.problem.AirID, r.problem.Missing = agent.AirID, missing
	return r
}

type agentInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
}

type lookupInput struct {
	AirID   string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Require string `query:"require" doc:"evidence that must hold, with commas between"`
}

// findAgent returns an agent that shows the required evidence, and lets the answer
// about it be kept.
func (a *API) findAgent(ctx context.Context, in *lookupInput) (registry.Agent, error) {
	agent, seq, err := a.answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return agent, withAirID(err, in.AirID)
	}
	if agent.Recovery == nil { // which comes into force by time alone
		markCacheable(ctx, store.AgentKey(agent.AirID), seq)
	}
	return agent, a.requireEvidence(ctx, agent, in.Require)
}

func (a *API) getAgent(ctx context.Context, in *lookupInput) (*output[registry.RecordView], error) {
	agent, err := a.findAgent(ctx, in)
	if err != nil {
		return nil, err
	}
	if agent.Status == registry.Erased {
		return nil, withAirID(agent.Usable(), in.AirID)
	}
	return jsonOutput(a.answers.Registry.RecordView(agent)), nil
}

type updateInput struct {
	AirID   string   `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret  string   `header:"X-Agent-Secret" doc:"the secret that the registration answered; not needed by a signed request"`
	IfMatch string   `header:"If-Match" doc:"the ETag of the record that is to be changed; another one meanwhile is a 412"`
	ifMatch []string // all lines of it
	body    requestBody
}

// Resolve reads the body (huma.Resolver).
func (in *updateInput) Resolve(ctx huma.Context) []error {
	in.ifMatch = humagin.Unwrap(ctx).Request.Header.Values("If-Match")
	in.body.readJSON(ctx, maxAgentBody)
	return nil
}

func (a *API) updateAgent(ctx context.Context, in *updateInput) (*output[registry.UpdateView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	update, err := registry.ReadUpdate(in.body.text)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Registry.AdmitChange(ctx, in.body.client); err != nil {
		return nil, err
	}
	if len(in.ifMatch) > 0 {
		update.If = func(now registry.Agent) error { return a.checkIfMatch(now, in.ifMatch) }
	}
	agent, fields, err := a.answers.Registry.Update(ctx, in.AirID, a.readCredentials(&in.body, in.Secret), update)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return writeOutput(a, registry.NewUpdateView(agent, fields)), nil
}

// checkIfMatch refuses to change an agent whose record is another one than the caller
// has read.
func (a *API) checkIfMatch(now registry.Agent, ifMatch []string) error {
	tags, err := jsonETags(a.answers.Registry.RecordView(now))
	if err != nil || matchesETag(ifMatch, tags) {
		return err
	}
	return newProblem(otherVersion, "the agent's record was changed since it was read: its ETag is "+tags[0]+" now", "read it again, and send the change with its ETag, or without If-Match").
		withLocation(Location{Header: "If-Match"})
}

// writeOutput is the answer to a write.
func writeOutput[T any](a *API, v T) *output[T] {
	a.noteWrite()
	out := jsonOutput(v)
	out.CacheControl = "no-store"
	return out
}

func (a *API) getDIDDocument(ctx context.Context, in *lookupInput) (*output[did.Document], error) {
	agent, err := a.findAgent(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := agent.Resolvable(); err != nil {
		return nil, withAirID(err, in.AirID)
	}
	out := jsonOutput(a.answers.Registry.DIDDocument(agent))
	out.CacheControl = documentCache
	return out, nil
}

// documentCache: senders keep a document for 50 to 70 seconds; no cache on the
// way may make that longer (A2A §4.5).
const documentCache = "public, max-age=50"

func (a *API) getTrustScore(ctx context.Context, in *agentInput) (*output[registry.TrustScoreView], error) {
	agent, _, err := a.answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return jsonOutput(a.answers.Registry.TrustScoreView(agent)), nil
}
