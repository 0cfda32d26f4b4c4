package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/route"
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
}

type compactInput struct {
	Keep string `query:"keep" doc:"how long deletions are kept, for example 168h; store.horizon of the configuration when it is left out"`
}

// Resolve lifts the time limits of the connection (huma.Resolver).
func (in *compactInput) Resolve(ctx huma.Context) []error {
	control := http.NewResponseController(humagin.Unwrap(ctx).Writer)
	control.SetReadDeadline(time.Time{})
	control.SetWriteDeadline(time.Time{})
	return nil
}

func (a *API) compactRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("compact"), a.compactStore)
}

func (a *API) compactStore(ctx context.Context, in *compactInput) (*route.Output[CompactResult], error) {
	s, ok := a.Answers.Store.(Compactor)
	if !ok {
		return nil, route.NewProblem(route.Unavailable, "this store cannot be compacted", "use the tools of the database that holds it")
	}
	keep := a.horizon
	if in.Keep != "" {
		var err error
		if keep, err = time.ParseDuration(in.Keep); err != nil || keep < 0 {
			return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("keep=%s is not a duration", in.Keep), "give hours or minutes, for example keep=168h").WithLocation(route.Location{Parameter: "keep"})
		}
	}
	c, err := s.Compact(ctx, keep)
	if err != nil {
		return nil, err
	}
	if a.compactViews != nil {
		if err := a.compactViews(ctx); err != nil {
			return nil, err
		}
	}
	out := route.JSON(CompactResult{
		Forgotten: c.Forgotten, Horizon: c.Horizon.Seq, BytesBefore: c.Before, BytesAfter: c.After,
		TookMS: milliseconds(c.Took), PauseMS: milliseconds(c.Pause),
	})
	out.CacheControl = "no-store"
	return out, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// writeStoreMetrics writes the size of the store's file and the compactions since the start.
func (a *API) writeStoreMetrics(ctx context.Context, b *bytes.Buffer, gauge func(string, float64)) {
	gauge("store_horizon", float64(a.Answers.Store.Horizon().Seq))
	s, ok := a.Answers.Store.(Compactor)
	if !ok {
		return
	}
	u, err := s.Upkeep(ctx)
	if err != nil {
		return // the store is closed or has failed, which other metrics say
	}
	gauge("store_bytes", float64(u.Usage.Bytes))
	gauge("store_free_bytes", float64(u.Usage.FreeBytes))
	metrics.WriteCounterUint64(b, `gazetteer_store_writes_refused_total{reason="disk_full"}`, u.Refused)
	if u.DiskFree >= 0 {
		gauge("disk_free_bytes", float64(u.DiskFree))
	}
	metrics.WriteCounterUint64(b, "gazetteer_store_deletions_forgotten_total", uint64(u.Forgotten))
	metrics.WriteCounterUint64(b, "gazetteer_store_compactions_total", uint64(u.Compactions))
	metrics.WriteCounterUint64(b, "gazetteer_store_compaction_failures_total", uint64(u.Failures))
	if u.Compactions > 0 {
		gauge("store_last_compaction_time_seconds", float64(u.Last.UnixNano())/1e9)
		gauge("store_last_compaction_duration_seconds", u.LastTook.Seconds())
		gauge("store_last_compaction_pause_seconds", u.LastPause.Seconds())
	}
}
