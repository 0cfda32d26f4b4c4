package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/crawler"
)

// A Standing is how the server stands, for everybody.
type Standing struct {
	At      time.Time `json:"at" doc:"when this was so"`
	Started time.Time `json:"started" doc:"since when the server runs"`
	Version string    `json:"version"`
	Ready   bool      `json:"ready" doc:"answers may be relied on"`
	// Store and Index are sequence numbers: what is stored, and what answers are
	// based on.
	Store uint64 `json:"store" doc:"the newest sequence of the store"`
	Index uint64 `json:"index" doc:"the sequence that answers are based on"`
	// Crawler is absent in a process that does not crawl.
	Crawler *crawler.Status `json:"crawler,omitempty"`
}

// Standing says how the server stands now.
func (a *API) Standing() Standing {
	store, index := a.answers.Store.Head(), a.answers.Index.Cursor()
	s := Standing{
		At: a.now().UTC(), Started: a.started.UTC(), Version: a.version,
		Ready: a.ready.observe(index, store), Store: store.Seq, Index: index.Seq,
	}
	if a.answers.Crawler != nil {
		status := a.answers.Crawler.Status()
		s.Crawler = &status
	}
	return s
}

// maxStreams is how many clients may follow the standing at a time, streamTime
// how long one of them may before it has to ask again, and streamEvery how often
// it is told.
const (
	maxStreams  = 64
	streamTime  = 30 * time.Minute
	streamEvery = time.Second
)

// streamPath has no HEAD: there would be nothing to wait for.
const streamPath = "/api/v1/status/stream"

// standingRoutes declares how the server stands, once and as a stream.
func (a *API) standingRoutes(h huma.API) {
	handle(a, h, get("standing", "/api/v1/status", "How the crawl, the store and the index stand"), a.standing)
	op := get("standing-stream", streamPath, "The same every second, as server-sent events")
	op.Responses = map[string]*huma.Response{"200": {
		Description: "An event named status each second; its data is the JSON of /api/v1/status. Ends after half an hour at the latest.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	handle(a, h, op, a.standingStream)
}

func (a *API) standing(context.Context, *struct{}) (*output[Standing], error) {
	out := answer(a.Standing())
	out.CacheControl = "no-store"
	return out, nil
}

func (a *API) standingStream(context.Context, *struct{}) (*streamOutput, error) {
	select {
	case a.streams <- struct{}{}:
	default:
		return nil, refuse(unavailable, "too many clients follow the status already", "ask /api/v1/status instead").after(time.Minute)
	}
	return &streamOutput{Body: a.streamStanding}, nil
}

// streamStanding sends the standing until the client leaves, its time is over or
// the server ends.
func (a *API) streamStanding(ctx huma.Context) {
	defer func() { <-a.streams }()
	c := humagin.Unwrap(ctx)
	c.Header("Content-Type", "text/event-stream")
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusOK)
	control := http.NewResponseController(c.Writer)
	end := time.NewTimer(streamTime)
	defer end.Stop()
	tick := time.NewTicker(streamEvery)
	defer tick.Stop()
	for {
		data, err := json.Marshal(a.Standing())
		if err != nil {
			a.log.Error("write the status", "error", err)
			return
		}
		control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := c.Writer.WriteString("event: status\ndata: " + string(data) + "\n\n"); err != nil {
			return
		}
		c.Writer.Flush()
		select {
		case <-tick.C:
		case <-end.C:
			return
		case <-a.ending:
			return
		case <-c.Request.Context().Done():
			return
		}
	}
}

// EndStreams ends the answers that would go on for ever, so that the server can
// finish the others; [http.Server.RegisterOnShutdown] is the place for it.
func (a *API) EndStreams() { a.endOnce.Do(func() { close(a.ending) }) }
