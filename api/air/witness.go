package air

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/registry/audit/witness"
)

// witnessRoutes declares the routes of a witness (C2SP tlog-witness), and two routes for
// information about it.
func (a *Routes) witnessRoutes(h huma.API) {
	text := func(id, description string) huma.Operation {
		return route.Respond(route.Op(id), "200", description, "text/plain", route.TextSchema())
	}
	route.Handle(a.Mux, h, text("witness-key", "OK"), a.witnessKey)
	route.Handle(a.Mux, h, text("witness-checkpoint", "OK"), a.witnessCheckpoint)
	add := route.Respond(text("add-checkpoint", "The cosignature, a line."), "409", "It does not begin where the last one ended: the size of that.", "text/x.tlog.size", route.TextSchema())
	route.Handle(a.Mux, h, add, a.addCheckpoint)
	h.OpenAPI().Paths[add.Path].Post.RequestBody = &huma.RequestBody{Required: true, Content: route.Content("text/plain", route.TextSchema()),
		Description: `A line "old" and the size cosigned before, the hashes of the proof from there a line each, an empty line, and the signed checkpoint.`}
}

func (a *Routes) witnessKey(context.Context, *struct{}) (*route.RawOutput, error) {
	if a.Answers.Witness == nil {
		return nil, route.NoWitness()
	}
	return &route.RawOutput{ContentType: "text/plain; charset=utf-8", Body: []byte(a.Answers.Witness.Public() + "\n")}, nil
}

type witnessCheckpointInput struct {
	Origin string `query:"origin" doc:"the first line of the log's checkpoints, such as registry.example/log"`
}

func (a *Routes) witnessCheckpoint(_ context.Context, in *witnessCheckpointInput) (*route.RawOutput, error) {
	if a.Answers.Witness == nil {
		return nil, route.NoWitness()
	}
	signed := a.Answers.Witness.Checkpoint(in.Origin)
	if signed == nil {
		return nil, route.NewProblem(route.NoName, "no checkpoint of that log was cosigned here",
			"origin is the first line of the log's checkpoints; the operator lists the logs that are cosigned in registry.witness_for").WithLocation(route.Location{Parameter: "origin"})
	}
	return &route.RawOutput{ContentType: "text/plain; charset=utf-8", Body: signed}, nil
}

type checkpointInput struct {
	text []byte
	err  error
}

// Resolve reads the body with any media type: C2SP tlog-witness specifies none (huma.Resolver).
func (in *checkpointInput) Resolve(ctx huma.Context) []error {
	in.text, in.err = route.ReadBody(ctx)
	return nil
}

func (a *Routes) addCheckpoint(ctx context.Context, in *checkpointInput) (*route.StreamOutput, error) {
	if in.err != nil {
		return nil, in.err
	}
	if a.Answers.Witness == nil {
		return nil, route.NoWitness()
	}
	status, mediaType := http.StatusOK, "text/plain; charset=utf-8"
	line, err := a.Answers.Witness.Add(ctx, in.text)
	if e, refused := errors.AsType[*witness.Refusal](err); refused {
		if e.Status != http.StatusConflict {
			return nil, route.CosignProblem(e)
		}
		status, mediaType, line, err = e.Status, "text/x.tlog.size", fmt.Appendf(nil, "%d\n", e.Size), nil
	}
	if err != nil {
		return nil, err
	}
	return &route.StreamOutput{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", mediaType)
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetStatus(status)
		ctx.BodyWriter().Write(line)
	}}, nil
}
