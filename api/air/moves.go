package air

import (
	"context"
	"errors"
	"net/http"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/transfer"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// exportType is the media type of an export: one JSON object per line.
const exportType = "application/x-ndjson"

// exportOp describes an operation that answers with an export.
func exportOp(id string) huma.Operation {
	return route.Respond(route.Op(id), "200", "One JSON object a line: what it is, each entry of the history, attestations, the agent, and a digest of all before. A connection that is cut before that line did not finish.",
		exportType, route.TextSchema())
}

// moveRoutes declares the routes with which an owner merges two agents, or moves one to another
// registry.
func (a *Routes) moveRoutes(h huma.API) {
	route.HandleBody[MergeBody](a.Mux, h, route.Op("merge-agent"), a.mergeAgents)
	route.Handle(a.Mux, h, exportOp("export-agent"), a.exportAgentByOwner)
}

// MergeBody documents the members of a merge. [airjson.ReadMerge] reads it.
type MergeBody struct {
	From          string `json:"from" doc:"the DID of the agent that ends"`
	FromKey       string `json:"from_key" doc:"its key in use, as a multikey or in base64url"`
	Into          string `json:"into" doc:"the DID of the agent that stays"`
	IntoKey       string `json:"into_key" doc:"its key in use"`
	Created       string `json:"created" doc:"UTC in whole seconds, 2026-01-31T12:00:00Z; at most five minutes ago"`
	Nonce         string `json:"nonce" doc:"8 to 128 characters that were never used before"`
	FromSignature string `json:"from_signature" doc:"multibase signature of the statement by from_key"`
	IntoSignature string `json:"into_signature" doc:"multibase signature of the statement by into_key"`
}

func (a *Routes) mergeAgents(ctx context.Context, in *operatorInput) (*route.Output[AgentStatusAnswer], error) {
	x, err := airjson.ReadMerge(in.Text)
	if err != nil {
		return nil, err
	}
	x.Client = in.Client
	if err := a.Answers.Registry.AdmitChange(ctx, x.Client); err != nil {
		return nil, err
	}
	agent, err := a.Answers.Registry.Merge(ctx, in.AirID, x)
	into := in.AirID
	if owner, err := did.ParseWeb(x.Into); err == nil {
		if airID, ok := owner.AirID(); ok {
			into = airID
		}
	}
	return a.mergeOutput(ctx, agent, err, in.AirID, into)
}

// mergeOutput returns the answer to a merge, or the error with the AIR ID of the agent that is not known.
func (a *Routes) mergeOutput(ctx context.Context, agent registry.Agent, err error, from, into string) (*route.Output[AgentStatusAnswer], error) {
	about := from
	if errors.Is(err, registry.ErrNoAgent) {
		if _, _, unknown := a.Answers.Registry.Agent(ctx, from); unknown == nil {
			about = into
		}
	}
	return a.agentStatusOutput(agent, err, about, from+" is merged into this agent.")
}

func (a *Routes) exportAgentByOwner(ctx context.Context, in *ownerInput) (*route.StreamOutput, error) {
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err // it costs more than a change
	}
	agent, _, err := a.Answers.Registry.Agent(ctx, in.AirID)
	if err == nil {
		err = a.Answers.Registry.VerifyRead(agent, *a.SignedRequest(&in.RequestBody))
	}
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return a.exportAgent(in.AirID, transfer.ExportOptions{}), nil
}

// exportTimeout bounds the time in which a client reads an export.
const exportTimeout = 10 * time.Minute

// exportAgent answers with an export. It sends the export while reading it: a history may exceed
// the size of a buffered answer and its time limit.
func (a *Routes) exportAgent(airID string, o transfer.ExportOptions) *route.StreamOutput {
	return &route.StreamOutput{Body: func(ctx huma.Context) {
		c := humagin.Unwrap(ctx)
		http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(exportTimeout))
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context()), exportTimeout)
		defer cancel()
		out := &exportWriter{c: c, name: airID + ".jsonl"}
		err := a.Answers.Registry.Export(reading, airID, out, o)
		switch {
		case err == nil:
		case out.begun:
			// Only a broken connection shows that the export is incomplete.
			panic(http.ErrAbortHandler)
		default:
			r := a.CompleteProblem(ctx.Context(), ctx.Operation().Path, route.WithAirID(err, airID))
			r.Plain = true
			route.WriteProblem(ctx, r)
		}
	}}
}

// exportWriter is an export in progress. The answer begins with the first line, so that earlier
// errors still get a proper answer.
type exportWriter struct {
	c     *gin.Context
	name  string
	begun bool
}

func (w *exportWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.c.Header("Content-Type", exportType)
		w.c.Header("Content-Disposition", `attachment; filename="`+w.name+`"`)
		w.c.Header("Cache-Control", "no-store")
		w.c.Status(http.StatusOK)
		w.c.Writer.Flush()
	}
	return w.c.Writer.Write(p)
}
