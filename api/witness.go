package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/registry/audit"
)

// witnessPrefix is where this server is a witness of the logs of others.
const witnessPrefix = "/witness"

// witnessRoutes declares what a witness answers (C2SP tlog-witness), and two
// questions about it.
func (a *API) witnessRoutes(h huma.API) {
	text := func(description string) *huma.Response {
		return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	plain := func(op huma.Operation) huma.Operation {
		op.Responses = map[string]*huma.Response{"200": text("OK")}
		return op
	}
	addRoute(a, h, plain(getOperation("witness-key", witnessPrefix+"/key", "The public key that this server cosigns the checkpoints of other logs with; trust one that you have from elsewhere more")), a.witnessKey)
	addRoute(a, h, plain(getOperation("witness-checkpoint", witnessPrefix+"/checkpoint", "The newest checkpoint of another log that was cosigned here")), a.witnessCheckpoint)
	add := huma.Operation{OperationID: "add-checkpoint", Method: http.MethodPost, Path: witnessPrefix + "/add-checkpoint",
		Summary: "Have a checkpoint cosigned that contains the one before (C2SP tlog-witness)", Responses: map[string]*huma.Response{
			"200": text("The cosignature, a line."),
			"409": {Description: "It does not begin where the last one ended: the size of that.", Content: map[string]*huma.MediaType{"text/x.tlog.size": {Schema: &huma.Schema{Type: huma.TypeString}}}},
		}}
	addRoute(a, h, add, a.addCheckpoint)
	h.OpenAPI().Paths[add.Path].Post.RequestBody = &huma.RequestBody{Required: true, Content: text("").Content,
		Description: `A line "old" and the size cosigned before, the hashes of the proof from there a line each, an empty line, and the signed checkpoint.`}
}

func (a *API) witnessKey(context.Context, *struct{}) (*rawOutput, error) {
	if a.answers.Witness == nil {
		return nil, errNoWitness()
	}
	return &rawOutput{ContentType: "text/plain; charset=utf-8", Body: []byte(a.answers.Witness.Public() + "\n")}, nil
}

type witnessCheckpointInput struct {
	Origin string `query:"origin" doc:"the first line of the log's checkpoints, such as registry.example/log"`
}

func (a *API) witnessCheckpoint(_ context.Context, in *witnessCheckpointInput) (*rawOutput, error) {
	if a.answers.Witness == nil {
		return nil, errNoWitness()
	}
	signed := a.answers.Witness.Checkpoint(in.Origin)
	if signed == nil {
		return nil, newProblem(noName, "no checkpoint of that log was cosigned here",
			"origin is the first line of the log's checkpoints; the operator lists the logs that are cosigned in registry.witness_for").withLocation(Location{Parameter: "origin"})
	}
	return &rawOutput{ContentType: "text/plain; charset=utf-8", Body: signed}, nil
}

type checkpointInput struct {
	text []byte
	err  error
}

// Resolve reads the body, of whatever media type: C2SP tlog-witness names none
// (huma.Resolver).
func (in *checkpointInput) Resolve(ctx huma.Context) []error {
	in.text, in.err = readBody(humagin.Unwrap(ctx), audit.MaxAdd)
	return nil
}

func (a *API) addCheckpoint(ctx context.Context, in *checkpointInput) (*streamOutput, error) {
	if in.err != nil {
		return nil, in.err
	}
	if a.answers.Witness == nil {
		return nil, errNoWitness()
	}
	status, mediaType := http.StatusOK, "text/plain; charset=utf-8"
	line, err := a.answers.Witness.Add(ctx, in.text)
	if e, refused := errors.AsType[*audit.WitnessError](err); refused {
		if e.Status != http.StatusConflict {
			return nil, cosignProblem(e)
		}
		status, mediaType, line, err = e.Status, "text/x.tlog.size", fmt.Appendf(nil, "%d\n", e.Size), nil
	}
	if err != nil {
		return nil, err
	}
	return &streamOutput{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", mediaType)
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetStatus(status)
		ctx.BodyWriter().Write(line)
	}}, nil
}

// cosignProblem tells a log why its checkpoint was not cosigned.
func cosignProblem(e *audit.WitnessError) *problemError {
	switch e.Status {
	case http.StatusForbidden:
		return newProblem(notSigned, e.Problem, "sign it with the key that the operator of this witness was given").withCause(e)
	case http.StatusNotFound:
		return newProblem(noName, e.Problem, "the operator lists the logs that are cosigned in registry.witness_for").withCause(e)
	case http.StatusUnprocessableEntity:
		return newProblem(badProof, e.Problem, "send the consistency proof from the size that was cosigned last").withCause(e)
	}
	return newProblem(badBody, e.Problem, "it is written as C2SP tlog-witness has it").withCause(e)
}

func errNoWitness() *problemError {
	return newProblem(unavailable, "this server is no witness", "ask the operator of this server").withRetry(time.Hour)
}
