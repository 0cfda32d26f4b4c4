package operator

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/census"
)

// CensusLine is one line of the answer to a census: its progress, its result, or its error.
type CensusLine struct {
	Progress *census.Progress `json:"progress,omitempty" doc:"how far it is"`
	Result   *census.Result   `json:"result,omitempty" doc:"the last line of a census that was written"`
	Error    string           `json:"error,omitempty" doc:"the last line of one that was not; nothing is left of it"`
}

type censusInput struct {
	Dir string `query:"dir" required:"true" doc:"an absolute path on the machine of the server, of a directory that does not exist"`
	At  string `query:"at" doc:"the date, as 2026-11-22 (to its end in UTC) or 2026-11-22T15:00:00Z; left out, it is today"`
}

func (a *Operator) censusRoutes(h huma.API) {
	op := route.Respond(route.Op("write-census"), "200", "One line of JSON for each step, the result or the error last. A connection that is cut before its end did not finish.",
		"application/x-ndjson", route.SchemaOf[CensusLine](h))
	route.Handle(a.Mux, h, op, a.writeCensus)
}

func (a *Operator) writeCensus(_ context.Context, in *censusInput) (*route.StreamOutput, error) {
	if !filepath.IsAbs(in.Dir) {
		return nil, route.NewProblem(route.BadParameter, "dir is not an absolute path", "give the whole path of a directory that does not exist").WithLocation(route.Location{Parameter: "dir"})
	}
	at := census.EndOfDay(a.Now())
	if in.At != "" {
		var err error
		if at, err = census.ReadDate(in.At, a.Now()); err != nil {
			return nil, route.NewProblem(route.BadParameter, err.Error(), "without a date, it is today's census").WithLocation(route.Location{Parameter: "at"})
		}
	}
	dir := filepath.Clean(in.Dir)
	if census.CheckFolder(dir) != nil {
		return nil, route.NewProblem(route.BadParameter, census.ErrExists.Error(), "").WithLocation(route.Location{Parameter: "dir"})
	}
	return &route.StreamOutput{Body: func(ctx huma.Context) { a.streamCensus(ctx, dir, at) }}, nil
}

// streamCensus writes a census and reports its progress line by line. It takes as long as the store
// is large, so the time limit of an answer does not apply.
func (a *Operator) streamCensus(ctx huma.Context, dir string, at time.Time) {
	c := route.BeginLines(ctx)
	working, cancel := context.WithCancel(ctx.Context())
	defer cancel()
	encoder := json.NewEncoder(c.Writer)
	send := func(l CensusLine) {
		if encoder.Encode(l) != nil {
			cancel() // nobody reads any more
		}
		c.Writer.Flush()
	}
	begun := time.Now()
	result, err := census.Write(working, census.Options{Store: a.Answers.Store, At: at, Dir: dir, Describe: a.options.DescribeTable, Program: a.options.Program, Progress: func(p census.Progress) { send(CensusLine{Progress: &p}) }})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.Log.Warn("the census was not written", "dir", dir, "error", err)
		}
		send(CensusLine{Error: err.Error()})
		return
	}
	a.Log.Info("census written", "dir", dir, "at", at, "hosts", result.Hosts, "took", time.Since(begun))
	send(CensusLine{Result: &result})
}
