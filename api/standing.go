package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/crawler"
)

// A Standing is how the server stands, for everybody.
type ServerStatus struct {
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

// ServerStatus says how the server stands now.
func (a *API) ServerStatus() ServerStatus {
	store, index := a.answers.Store.Head(), a.answers.Index.Cursor()
	s := ServerStatus{
		At: a.now().UTC(), Started: a.started.UTC(), Version: a.version,
		Ready: a.ready.observeCursors(index, store), Store: store.Seq, Index: index.Seq,
	}
	if a.answers.Crawler != nil {
		status := a.answers.Crawler.Status()
		s.Crawler = &status
	}
	return s
}

// statusRoutes declares how the server stands, once and as a stream.
func (a *API) statusRoutes(h huma.API) {
	addRoute(a, h, getOperation("standing", statusPath, "How the crawl, the store and the index stand"), a.getStatus)
	op := getOperation("standing-stream", streamPath, "The same every second, as server-sent events")
	op.Responses = map[string]*huma.Response{"200": {
		Description: "An event named status each second; its data is the JSON of /api/v1/status. Ends after half an hour at the latest, " +
			"and when a client does not read for a minute; it goes on with Last-Event-ID.",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	addRoute(a, h, op, a.followStatus)
}

func (a *API) getStatus(context.Context, *struct{}) (*output[ServerStatus], error) {
	out := jsonOutput(a.ServerStatus())
	out.CacheControl = "no-store"
	return out, nil
}
