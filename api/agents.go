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

	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

// tagAgents marks the routes of the AIR registry. Their paths, shapes and error
// words are those of the public reference, with members added, so that its
// clients work unchanged.
const tagAgents = "agents"

// maxAgentBody is the largest body of a registration or an update. The longest
// valid one has some 30 KB.
const maxAgentBody = 64 << 10

// bodyTime is how long a body may take to arrive.
const bodyTime = 10 * time.Second

func (a *API) agentRoutes(h huma.API) {
	agents := func(op huma.Operation) huma.Operation {
		op.Tags = []string{tagAgents}
		return op
	}
	register := agents(huma.Operation{
		OperationID: "register-agent", Method: http.MethodPost, Path: "/api/v1/agents/register", DefaultStatus: http.StatusCreated,
		Summary: "Register an agent; the answer shows its secret this once",
	})
	handle(a, h, register, a.register)
	describeBody[RegistrationBody](h, h.OpenAPI().Paths[register.Path].Post)
	handle(a, h, agents(get("agent", "/api/v1/agents/{air_id}", "The public record of an agent")), a.agent)
	update := agents(huma.Operation{
		OperationID: "update-agent", Method: http.MethodPut, Path: "/api/v1/agents/{air_id}",
		Summary: "Change an agent's record; needs its secret",
	})
	handle(a, h, update, a.update)
	describeBody[UpdateBody](h, h.OpenAPI().Paths[update.Path].Put)
	handle(a, h, agents(encoded[did.Document](h, get("did-document", "/api/v1/agents/{air_id}/did-document", "The DID document of an agent"))), a.didDocument)
	handle(a, h, agents(get("trust-score", "/api/v1/agents/{air_id}/trust-score", "The reference's score of what an agent says of itself")), a.trustScore)
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
}

// A body is the raw body of a request, read when huma resolves the input. Its
// error waits there until the handler returns it.
type body struct {
	text   []byte
	client netip.Addr
	err    error
}

// read reads the body, at most limit bytes of JSON.
func (b *body) read(ctx huma.Context, limit int64) {
	c := humagin.Unwrap(ctx)
	b.client = address(c)
	b.text, b.err = readBody(c, limit, "application/json")
}

// readBody reads a body of one of the media types, of at most limit bytes.
func readBody(c *gin.Context, limit int64, mediaTypes ...string) ([]byte, error) {
	r := c.Request
	if err := checkMediaType(r.Header, mediaTypes); err != nil {
		closeAfter(c)
		return nil, err
	}
	tooLarge := refuse(bodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit), "send less")
	if r.ContentLength > limit {
		closeAfter(c)
		return nil, tooLarge
	}
	// The deadline of the connection is restored by the server for the next
	// request.
	http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(bodyTime))
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		closeAfter(c)
		return nil, refuse(bodyTimeout, "the body did not arrive in time", "send it at once")
	case err != nil:
		closeAfter(c)
		return nil, refuse(badBody, "the body was cut off or is not well formed", "send the whole body")
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
		return refuse(wrongMediaType, "the body must be "+bodyForms(mediaTypes)+" in UTF-8", "send it with the header Content-Type: "+mediaTypes[0]).
			at(Where{Header: "Content-Type"})
	}
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(wrongMediaType, "a compressed body is not taken", "send it without Content-Encoding").at(Where{Header: "Content-Encoding"})
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

type registerInput struct{ body body }

// Resolve reads the body (huma.Resolver).
func (in *registerInput) Resolve(ctx huma.Context) []error {
	in.body.read(ctx, maxAgentBody)
	return nil
}

func (a *API) register(ctx context.Context, in *registerInput) (*output[registry.RegistrationView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	registration, err := registry.ReadRegistration(in.body.text)
	if err != nil {
		return nil, err
	}
	if err := a.admit(in.body.client); err != nil {
		return nil, err
	}
	agent, secret, err := a.answers.Registry.Register(ctx, registration)
	if err != nil {
		return nil, err
	}
	out := answer(a.answers.Registry.RegistrationView(agent, secret))
	out.Status, out.CacheControl = http.StatusCreated, "no-store"
	return out, nil
}

// admit counts a registration, or refuses it and says when to come back. The
// owner of the machine, who comes over the Unix socket and has no address, is
// not counted.
func (a *API) admit(client netip.Addr) error {
	if !client.IsValid() {
		return nil
	}
	over := a.quota.take(network(client))
	if over == nil {
		return nil
	}
	detail := fmt.Sprintf("Rate limit exceeded: at most %d registrations an hour from one address", a.quota.each)
	if over.all {
		detail = "Rate limit exceeded: the registry takes no more registrations at the moment"
	}
	return refuse(rateLimited, detail, "wait as long as Retry-After says").after(over.wait)
}

type agentInput struct {
	AirID string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
}

func (a *API) agent(ctx context.Context, in *agentInput) (*output[registry.RecordView], error) {
	agent, _, err := a.answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return nil, asked(err, in.AirID)
	}
	return answer(a.answers.Registry.RecordView(agent)), nil
}

type updateInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Secret string `header:"X-Agent-Secret" doc:"the secret that the registration answered"`
	body   body
}

// Resolve reads the body (huma.Resolver).
func (in *updateInput) Resolve(ctx huma.Context) []error {
	in.body.read(ctx, maxAgentBody)
	return nil
}

func (a *API) update(ctx context.Context, in *updateInput) (*output[registry.UpdateView], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	update, err := registry.ReadUpdate(in.body.text)
	if err != nil {
		return nil, err
	}
	agent, fields, err := a.answers.Registry.Update(ctx, in.AirID, registry.BySecret(in.Secret), update)
	if err != nil {
		return nil, asked(err, in.AirID)
	}
	out := answer(registry.NewUpdateView(agent, fields))
	out.CacheControl = "no-store"
	return out, nil
}

func (a *API) didDocument(ctx context.Context, in *agentInput) (*rawOutput, error) {
	if err := did.CheckAirID(in.AirID); err != nil {
		return nil, asked(registry.ErrNoAgent, in.AirID)
	}
	body, err := a.keeper.answer(ctx, store.AgentKey(in.AirID), func() (any, error) {
		agent, _, err := a.answers.Registry.Agent(ctx, in.AirID)
		if err != nil {
			return nil, err
		}
		if len(agent.PublicKey) == 0 {
			return nil, registry.ErrNoKey
		}
		return a.answers.Registry.DIDDocument(agent), nil
	})
	if err != nil {
		return nil, asked(err, in.AirID)
	}
	// Senders keep a document for 50 to 70 seconds; no cache on the way may
	// make that longer (A2A §4.5).
	return &rawOutput{ContentType: "application/json", CacheControl: "public, max-age=50", Body: body}, nil
}

func (a *API) trustScore(ctx context.Context, in *agentInput) (*output[registry.TrustScoreView], error) {
	agent, _, err := a.answers.Registry.Agent(ctx, in.AirID)
	if err != nil {
		return nil, asked(err, in.AirID)
	}
	return answer(a.answers.Registry.TrustScoreView(agent)), nil
}

// asked adds the AIR ID that was asked for to what is said of err, where the
// reference has it.
func asked(err error, airID string) error {
	r := refusalFor(err)
	if r.problem.Status == http.StatusNotFound {
		r.problem.AirID = clean(airID, 60)
	}
	return r
}
