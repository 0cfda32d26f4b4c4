package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltstore"
)

// Compactor is the part of a compactable store that the operator's routes and the metrics need.
type Compactor interface {
	Compact(ctx context.Context, keep time.Duration) (boltstore.Compaction, error)
	Upkeep(ctx context.Context) (boltstore.Upkeep, error)
}

// CompactResult is the result of a compaction.
type CompactResult struct {
	Forgotten   int     `json:"forgotten" doc:"deletions that were dropped from the log"`
	Horizon     uint64  `json:"horizon" doc:"deletions up to this sequence are forgotten: a follower further behind is rebuilt"`
	BytesBefore int64   `json:"bytes_before" doc:"size of the store's file"`
	BytesAfter  int64   `json:"bytes_after"`
	TookMS      float64 `json:"took_ms" doc:"all of it, in milliseconds"`
	PauseMS     float64 `json:"pause_ms" doc:"for how long no write could begin, in milliseconds"`
	// Left is empty after a complete compaction.
	Left []Uncompacted `json:"left,omitempty" doc:"the parts of the data directory that may still have deleted content"`
}

// An Uncompacted is a part of the data directory that could not be compacted.
type Uncompacted struct {
	Part   string `json:"part" doc:"for example: the index"`
	Reason string `json:"reason,omitempty"`
}

type compactInput struct {
	Keep string `query:"keep" doc:"how long deletions are kept, for example 168h; by default store.horizon of the configuration"`
}

// Resolve lifts the time limits of the connection (huma.Resolver).
func (in *compactInput) Resolve(ctx huma.Context) []error {
	route.LiftTimeLimits(ctx)
	return nil
}

func (a *Operator) compactStore(ctx context.Context, in *compactInput) (*route.Output[CompactResult], error) {
	s, ok := a.Answers.Store.(Compactor)
	if !ok {
		return nil, route.NewProblem(route.Unavailable, "this store cannot be compacted", "use the tools of the database that holds it")
	}
	keep := a.options.Horizon
	if in.Keep != "" {
		var err error
		if keep, err = time.ParseDuration(in.Keep); err != nil || keep < 0 {
			return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("keep=%s is not a duration", in.Keep), "give hours or minutes, for example keep=168h").WithLocation(route.Location{Parameter: "keep"})
		}
	}
	c, err := s.Compact(ctx, keep)
	if errors.Is(err, boltfile.ErrRebuilding) {
		return nil, route.NewProblem(route.Unavailable, "a backup or another compaction is copying the store", "repeat this when that has ended").WithRetry(time.Minute)
	}
	if err != nil {
		return nil, err
	}
	var left []Uncompacted
	if a.options.CompactViews != nil {
		if left, err = a.options.CompactViews(ctx); err != nil {
			return nil, err
		}
	}
	return route.JSON(CompactResult{
		Forgotten: c.Forgotten, Horizon: c.Horizon.Seq, BytesBefore: c.Before, BytesAfter: c.After,
		TookMS: milliseconds(c.Took), PauseMS: milliseconds(c.Pause), Left: left,
	}), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
