package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gazetteer/api/route"
	"gazetteer/fetch"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// Handler serves the public routes. Requests to the tool host bypass the request log and the
// response cache: the audit trail is their log, and calls must be fast. Of calls with equal headers on
// one connection, only the first passes what wraps the tool host.
func (a *API) Handler() http.Handler { return a.withTools(a.Mux.Handler(), false) }

// OperatorHandler returns the handler of [route.Mux] with the tool host, where the operator is the
// client.
func (a *API) OperatorHandler() http.Handler { return a.withTools(a.Mux.OperatorHandler(), true) }

// LocalOperatorHandler returns the handler of [route.Mux]; the tool host does not answer there.
func (a *API) LocalOperatorHandler(address string) http.Handler {
	return a.Mux.LocalOperatorHandler(address)
}

func (a *API) withTools(next http.Handler, operator bool) http.Handler {
	if a.toolsHTTP == nil {
		return next
	}
	tools := route.AllowUpgrades(a.toolsHTTP)
	if operator {
		tools = hosthttp.AsOperator(tools)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.toolsHTTP.Serves(r.URL.Path) && !r.URL.IsAbs() && r.Method != http.MethodOptions {
			tools.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// altarRoutes declares the routes of the tool host, if there is one.
func (a *API) altarRoutes(h huma.API) {
	if a.toolsHTTP == nil {
		return
	}
	for _, row := range route.Table {
		if !row.Altar {
			continue
		}
		path := strings.NewReplacer("{", ":", "}", "").Replace(row.Path)
		a.Public.Handle(row.Method, path, func(c *gin.Context) { a.toolsHTTP.ServeHTTP(c.Writer, c.Request) })
		op := route.Op(row.ID)
		describeAltar(h, &op, row)
		h.OpenAPI().AddOperation(&op)
	}
}

// describeAltar describes an operation of the tool host.
func describeAltar(h huma.API, op *huma.Operation, row route.Route) {
	body := func(schema *huma.Schema) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{"application/json": {Schema: schema}}
	}
	object := &huma.Schema{Type: huma.TypeObject}
	failure := route.SchemaOf[altar.Error](h)
	status, description, content := "200", "OK", body(object)
	switch row.ID {
	case "connect-runtime":
		status, description, content = "101", "The connection is a WebSocket; its frames are described in docs/altar.md.", nil
	case "create-session":
		op.RequestBody = &huma.RequestBody{Content: body(route.SchemaOf[altar.CreateSession](h))}
		status, content = "201", body(route.SchemaOf[altar.SessionCreated](h))
	case "destroy-session":
		content = body(route.SchemaOf[altar.SessionDestroyed](h))
	case "call-tool":
		op.RequestBody = &huma.RequestBody{Required: true, Content: body(route.SchemaOf[ToolCallBody](h))}
		failure = route.SchemaOf[altar.ToolResult](h)
		content = body(failure)
		content["text/event-stream"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "a StreamChunk an event, whose id is its chunk_id"}}
	case "altar-mcp":
		op.RequestBody = &huma.RequestBody{Required: true, Content: body(object)}
		description = "A response of JSON-RPC 2.0."
	}
	if strings.Contains(row.Path, "{session_id}") {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "session_id", In: "path", Required: true, Description: "the session, of SessionCreated", Schema: &huma.Schema{Type: huma.TypeString}})
	}
	op.Parameters = append(op.Parameters, &huma.Param{Name: "Authorization", In: "header", Description: "Bearer and the token of an identity, unless the client presents a certificate", Schema: &huma.Schema{Type: huma.TypeString}})
	op.Responses = map[string]*huma.Response{
		status:    {Description: description, Content: content},
		"default": {Description: "An error of Altar (appendix A of its draft).", Content: body(failure)},
	}
}

// ToolCallBody is the call of a tool as a client sends it. A ToolCall to a runtime has two more members,
// which the host refuses from clients.
type ToolCallBody struct {
	Type         string          `json:"type,omitempty" doc:"ToolCall; may be absent"`
	InvocationID string          `json:"invocation_id" doc:"an id of the client's choice, best a UUID: a repeated request with it gets the same result for five minutes"`
	SessionID    string          `json:"session_id,omitempty" doc:"that of the address; may be absent"`
	ToolName     string          `json:"tool_name" doc:"the name of a contract, or RUNTIME/NAME for one runtime"`
	Parameters   json.RawMessage `json:"parameters" doc:"a JSON object with the parameters of the contract"`
	Confirmation string          `json:"confirmation,omitempty" doc:"details.confirmation of the refusal of a call that cannot be undone"`
}

// altarOperatorRoutes declares how the operator runs the tool host.
func (a *API) altarOperatorRoutes(h huma.API) {
	if a.tools == nil {
		return
	}
	route.Handle(a.Mux, h, route.Op("list-contracts"), a.listContracts)
	route.HandleBody[[]toolhost.ContractFile](a.Mux, h, route.Op("add-contracts"), a.addContracts)
	route.HandleBody[ProposalBody](a.Mux, h, route.Op("propose-contracts"), a.proposeContracts)
	route.HandleBody[ApprovalBody](a.Mux, h, route.Op("approve-contract"), a.approveContract)
	route.Handle(a.Mux, h, route.Op("revoke-contract"), a.revokeContract)
	route.Handle(a.Mux, h, route.Op("list-contract-changes"), a.listContractChanges)
	route.Handle(a.Mux, h, route.Op("list-identities"), a.listIdentities)
	route.HandleBody[IdentityBody](a.Mux, h, route.Op("add-identity"), a.addIdentity)
	route.Handle(a.Mux, h, route.Op("remove-identity"), a.removeIdentity)
	route.Handle(a.Mux, h, route.Op("list-runtimes"), a.listRuntimes)
}

// ContractList holds contracts of the tool host.
type ContractList struct {
	Contracts []toolhost.ContractStatus `json:"contracts" doc:"in order of name"`
}

func (a *API) listContracts(ctx context.Context, _ *struct{}) (*route.Output[ContractList], error) {
	list, err := a.tools.ContractStatuses(ctx)
	if err != nil {
		return nil, err
	}
	return route.JSON(ContractList{list}), nil
}

func (a *API) addContracts(ctx context.Context, in *route.JSONBody) (*route.Output[ContractList], error) {
	list, err := toolhost.ReadContracts(in.Text)
	if err == nil {
		err = a.tools.AddContracts(ctx, list)
	}
	if err != nil {
		return nil, contractProblem(err)
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	added := []toolhost.ContractStatus{}
	for _, c := range a.tools.Contracts() {
		if slices.Contains(names, c.Name) {
			added = append(added, toolhost.ContractStatus{Contract: c})
		}
	}
	return route.JSON(ContractList{added}), nil
}

// contractProblem returns the problem for a contract that cannot be used.
func contractProblem(err error) error {
	return route.NewProblem(route.BadField, err.Error(), `a contract is written as {"name": "add", "parameters": [{"name": "a", "type": "integer"}]}; docs/altar.md has all members`)
}

// IdentityList holds the identities of the tool host.
type IdentityList struct {
	Identities []toolhost.Identity `json:"identities"`
}

func (a *API) listIdentities(context.Context, *struct{}) (*route.Output[IdentityList], error) {
	list := a.tools.Identities()
	if list == nil {
		list = []toolhost.Identity{}
	}
	return route.JSON(IdentityList{list}), nil
}

// IdentityBody describes an identity that is added.
type IdentityBody struct {
	ID          string `json:"id" doc:"1 to 128 letters, digits, dots, colons, _ or -"`
	Kind        string `json:"kind" doc:"runtime or client"`
	Token       string `json:"token_sha256,omitempty" doc:"the SHA-256 of its bearer token, in hex"`
	Certificate string `json:"certificate_sha256,omitempty" doc:"the SHA-256 of its client certificate in DER, in hex"`
	// Tenants are those of a client; nil keeps those that it has.
	Tenants []string `json:"tenants,omitempty" doc:"the tenants in whose name a client may open sessions; * stands for every one"`
}

func (a *API) addIdentity(ctx context.Context, in *route.JSONBody) (*route.Output[toolhost.Identity], error) {
	var body IdentityBody
	if err := readStrictly(in.Text, &body); err != nil {
		return nil, identityProblem(err)
	}
	identity := toolhost.Identity{ID: body.ID, Kind: body.Kind, Token: strings.ToLower(body.Token), Certificate: strings.ToLower(body.Certificate), Tenants: body.Tenants}
	for _, hash := range []string{identity.Token, identity.Certificate} {
		if hash != "" && (len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "") {
			return nil, identityProblem(errors.New("want a SHA-256 as 64 hex digits"))
		}
	}
	if err := a.tools.AddIdentity(ctx, identity); err != nil {
		return nil, identityProblem(err)
	}
	return route.JSON(identity), nil
}

// identityProblem returns the problem for an identity that cannot be added or removed.
func identityProblem(err error) error {
	switch {
	case errors.Is(err, toolhost.ErrNoIdentity):
		return route.NewProblem(route.NoName, err.Error(), "gazetteer altar identity list shows those that there are")
	case errors.Is(err, toolhost.ErrIdentityExists):
		return route.NewProblem(route.BadField, err.Error(), "give each identity its own token or certificate")
	}
	return route.NewProblem(route.BadField, err.Error(), "gazetteer altar identity add --help explains how to add an identity")
}

type removeIdentityInput struct {
	ID string `path:"id" maxLength:"128" doc:"the id of an identity"`
	route.EmptyBody
}

func (a *API) removeIdentity(ctx context.Context, in *removeIdentityInput) (*route.Output[IdentityList], error) {
	if err := a.tools.RemoveIdentity(ctx, in.ID); err != nil {
		return nil, identityProblem(err)
	}
	return a.listIdentities(ctx, nil)
}

// RuntimeList holds the connected runtimes of the tool host.
type RuntimeList struct {
	Runtimes []toolhost.RuntimeStatus `json:"runtimes" doc:"in order of id"`
	Figures  toolhost.Counts          `json:"figures"`
}

func (a *API) listRuntimes(context.Context, *struct{}) (*route.Output[RuntimeList], error) {
	return route.JSON(RuntimeList{a.tools.Runtimes(), a.tools.Figures()}), nil
}

// ProposalBody says which operations are to become contracts.
type ProposalBody struct {
	Host      string `json:"host" doc:"a host that was crawled"`
	Operation string `json:"operation,omitempty" doc:"the id of one of its operations; all when it is missing"`
}

// Proposals are contracts that wait for the operator.
type Proposals struct {
	Contracts []toolhost.Contract `json:"contracts"`
	Skipped   map[string]string   `json:"skipped" doc:"operations that are not proposed, with the reason"`
}

func (a *API) proposeContracts(ctx context.Context, in *route.JSONBody) (*route.Output[Proposals], error) {
	var body ProposalBody
	if err := readStrictly(in.Text, &body); err != nil {
		return nil, contractProblem(err)
	}
	host, err := fetch.CheckHost(body.Host)
	if err != nil {
		return nil, err
	}
	proposed, skipped, err := a.tools.Propose(ctx, host, body.Operation)
	if err != nil {
		return nil, toolProblem(err)
	}
	if proposed == nil {
		proposed = []toolhost.Contract{}
	}
	return route.JSON(Proposals{proposed, skipped}), nil
}

// readStrictly decodes a body and refuses unknown members.
func readStrictly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("the body does not fit: %w", err)
	}
	return nil
}

// toolProblem returns the problem for a contract that does not exist or cannot be made.
func toolProblem(err error) error {
	if errors.Is(err, toolhost.ErrNoProposal) {
		return route.NewProblem(route.NoName, err.Error(), "gazetteer show HOST shows the operations of a host, and gazetteer crawl HOST visits it")
	}
	if errors.Is(err, toolhost.ErrBlocked) {
		return route.NewProblem(route.NoName, err.Error(), "gazetteer crawler blocked lists the blocked hosts, and who blocked them")
	}
	if errors.Is(err, toolhost.ErrNoContract) {
		return route.NewProblem(route.NoName, err.Error(), "gazetteer contracts list shows the contracts that there are")
	}
	return err
}

// ApprovalBody says who may use a contract that is approved.
type ApprovalBody struct {
	Allow    []string `json:"allow,omitempty" doc:"ids of the clients that may call it; unchanged if this is missing"`
	Runtimes []string `json:"runtimes,omitempty" doc:"ids of the runtimes that may execute it, or any; unchanged if this is missing. A new contract from a document starts with http, the runtime inside the program"`
}

type approvalInput struct {
	Name string `path:"name" maxLength:"64" doc:"the name of a contract"`
	route.JSONBody
}

func (a *API) approveContract(ctx context.Context, in *approvalInput) (*route.Output[toolhost.Contract], error) {
	var body ApprovalBody
	if err := readStrictly(in.Text, &body); err != nil {
		return nil, contractProblem(err)
	}
	c, err := a.tools.Approve(ctx, in.Name, toolhost.Approval(body))
	if err != nil {
		return nil, toolProblem(err)
	}
	return route.JSON(c), nil
}

type contractInput struct {
	Name string `path:"name" maxLength:"64" doc:"the name of a contract"`
	route.EmptyBody
}

func (a *API) revokeContract(ctx context.Context, in *contractInput) (*route.Output[toolhost.Contract], error) {
	c, err := a.tools.Revoke(ctx, in.Name)
	if err != nil {
		return nil, toolProblem(err)
	}
	return route.JSON(c), nil
}

// ContractChanges are what owners changed behind contracts.
type ContractChanges struct {
	Changes []toolhost.Change `json:"changes" doc:"in order of contract"`
}

func (a *API) listContractChanges(ctx context.Context, _ *struct{}) (*route.Output[ContractChanges], error) {
	list, err := a.tools.Changes(ctx)
	if err != nil {
		return nil, err
	}
	return route.JSON(ContractChanges{list}), nil
}
