package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/air"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/relay"
)

// A ServerStatus is the state of the server at a moment: its version, whether it is ready, how far
// the index is behind.
type ServerStatus struct {
	At      time.Time `json:"at" doc:"when this was so"`
	Started time.Time `json:"started" doc:"since when the server runs"`
	Version string    `json:"version"`
	Ready   bool      `json:"ready" doc:"answers may be relied on"`
	// Store and Index are sequence numbers: of the newest record, and of the newest one in the
	// answers.
	Store uint64 `json:"store" doc:"the newest sequence number of the store"`
	Index uint64 `json:"index" doc:"the sequence that answers are based on"`
	// Work lists which kinds of work are possible.
	Work route.Work `json:"work"`
	// Log is absent in a process without a transparency log.
	Log *LogStatus `json:"log,omitempty"`
	// Crawler is absent in a process that does not crawl.
	Crawler *crawler.Status `json:"crawler,omitempty"`
	// Relay is absent in a process without a relay, and while its queue cannot be read.
	Relay *relay.Status `json:"relay,omitempty"`
}

// RegistryStatus returns the admission policy and what waits for the operator.
func (a *API) RegistryStatus(ctx context.Context) (air.RegistryStatus, error) {
	return a.registry.RegistryStatus(ctx)
}

// ServerStatus returns the present state of the server.
func (a *API) ServerStatus() ServerStatus {
	store, index := a.Answers.Store.Head(), a.Answers.Index.Cursor()
	s := ServerStatus{
		At: a.Now().UTC(), Started: a.Started.UTC(), Version: a.Version,
		Ready: a.Ready.ObserveCursors(index, store), Store: store.Seq, Index: index.Seq,
	}
	s.Log = a.logStatus()
	s.Work = a.possibleWork(s.Ready, s.Log)
	if a.Answers.Crawler != nil && !a.noCrawl {
		status := a.Answers.Crawler.Status()
		s.Crawler = &status
	}
	if a.relay != nil {
		status, err := a.relay.Relay.Status(context.Background())
		if err != nil {
			a.Log.Error("count the mail", "error", err)
			return s
		}
		s.Relay = &status
	}
	return s
}

// statusRoutes declares the state of the server, as one answer and as a stream.
func (a *API) statusRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("status"), a.getStatus)
	op := route.Respond(route.Op("status-stream"), "200", "An event named status each second; its data is the JSON of /api/v1/status. Ends after half an hour at the latest, "+
		"and when a client does not read for a minute; it goes on with Last-Event-ID.", "text/event-stream", route.TextSchema())
	route.Handle(a.Mux, h, op, a.followStatus)
}

func (a *API) getStatus(context.Context, *struct{}) (*route.Output[ServerStatus], error) {
	return route.JSON(a.ServerStatus()), nil
}
