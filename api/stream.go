package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gazetteer/api/route"
	"gazetteer/internal/eventstream"
)

// followStatus starts a stream, at the beginning or after one of our events. Each event has the
// whole status, so a client misses nothing but the events between.
func (a *API) followStatus(ctx context.Context, in *route.StreamInput) (*route.StreamOutput, error) {
	if in.Last != "" {
		if _, err := a.Cursors.DecodeCursor(in.Last, route.StreamPath, nil, a.Answers.Store.Head()); err != nil {
			r := route.ProblemFor(err).WithLocation(route.Location{Header: "Last-Event-ID"})
			r.Current = route.StatusPath
			r.Problem.Help = "ask " + route.StatusPath + " for the state, and follow the stream again without Last-Event-ID"
			return nil, r
		}
	}
	release, err := a.Streams.Follow(ctx, in.Client)
	if err != nil {
		return nil, err
	}
	stream := eventstream.Stream{
		Duration: route.StreamTime, Every: route.StreamEvery, WriteTime: route.WriteTime, Ending: a.Streams.Ending,
		Next: func(context.Context) ([][]byte, bool, error) {
			event, err := a.statusEvent()
			if err != nil {
				a.Log.Error("write the status", "error", err)
			}
			return [][]byte{event}, false, err
		},
	}
	return route.Stream(stream, release), nil
}

// statusEvent returns the event of this half second. Its id is the sequence of the store.
func (a *API) statusEvent() ([]byte, error) {
	s := a.Streams
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if now := time.Now(); now.Sub(s.Made) >= route.StreamEvery/2 {
		head := a.Answers.Store.Head()
		data, err := json.Marshal(a.ServerStatus())
		if err != nil {
			return nil, err
		}
		id := a.Cursors.EncodeCursor(route.Cursor{Log: head, Seq: head.Seq}, route.StreamPath, nil)
		s.Event, s.Made = fmt.Appendf(nil, "event: status\nid: %s\ndata: %s\n\n", id, data), now
	}
	return s.Event, nil
}
