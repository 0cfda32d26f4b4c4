package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/limit"
)

// How many clients may follow the standing at a time, in all and from one network
// (an IPv4 address, an IPv6 /64), how long one of them may before it has to ask
// again, and how often it is told.
const (
	maxStreams     = 1024
	maxStreamsEach = 64
	streamTime     = 30 * time.Minute
	streamEvery    = time.Second
)

// The stream has no HEAD: there would be nothing to wait for.
const (
	statusPath = "/api/v1/status"
	streamPath = statusPath + "/stream"
)

// streams are the clients that follow the status. Each event is made once for all of them.
type streams struct {
	slots  *limit.Slots
	ending chan struct{} // closed when streams have to end
	once   sync.Once

	mu    sync.Mutex // guards what follows
	event []byte     // the newest
	made  time.Time  // when it was made
}

func newStreams(limits *limit.Set) *streams {
	return &streams{
		slots:  limits.Slots(limit.SlotRule{Name: "status-stream", All: maxStreams, Each: maxStreamsEach, Retry: time.Minute}),
		ending: make(chan struct{}),
	}
}

// followStream takes a slot for a client.
func (s *streams) followStream(ctx context.Context, client netip.Addr) (release func(), err error) {
	release, err = s.slots.Acquire(ctx, client)
	e, exceeded := errors.AsType[*limit.ExceededError](err)
	switch {
	case !exceeded:
		return release, err
	case e.All:
		return nil, newProblem(unavailable, "too many clients follow the status already", "ask "+statusPath+" instead").withRetry(e.Wait)
	default:
		return nil, newProblem(rateLimited, fmt.Sprintf("%d clients of your network follow the status already", e.Quota), "ask "+statusPath+" instead").withRetry(e.Wait)
	}
}

type streamInput struct {
	client netip.Addr
	Last   string `header:"Last-Event-ID" doc:"the id of the last event that was read, to go on after a stream that ended"`
}

// Resolve sees who asks (huma.Resolver). Two ids are none of ours.
func (in *streamInput) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	in.client, in.Last = clientAddress(c), strings.Join(c.Request.Header.Values("Last-Event-ID"), ", ")
	return nil
}

// followStatus lets a client in that begins, or that goes on after an event of
// ours. Each event tells all, so nobody misses anything but what was between.
func (a *API) followStatus(ctx context.Context, in *streamInput) (*streamOutput, error) {
	if in.Last != "" {
		if _, err := a.cursors.decodeCursor(in.Last, streamPath, nil, a.answers.Store.Head()); err != nil {
			r := problemFor(err).withLocation(Location{Header: "Last-Event-ID"})
			r.current = statusPath
			r.problem.Help = "ask " + statusPath + " for how it stands, and follow the stream again without Last-Event-ID"
			return nil, r
		}
	}
	release, err := a.streams.followStream(ctx, in.client)
	if err != nil {
		return nil, err
	}
	return &streamOutput{Body: func(ctx huma.Context) {
		defer release()
		a.streamStatus(ctx)
	}}, nil
}

// streamStatus sends the standing until the client leaves or does not read for
// writeTime, its time is over or the server ends.
func (a *API) streamStatus(ctx huma.Context) {
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
		event, err := a.statusEvent()
		if err != nil {
			a.log.Error("write the status", "error", err)
			return
		}
		control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := c.Writer.Write(event); err != nil {
			return
		}
		c.Writer.Flush()
		select {
		case <-tick.C:
		case <-end.C:
			return
		case <-a.streams.ending:
			return
		case <-c.Request.Context().Done():
			return
		}
	}
}

// statusEvent is the event of this half second. Its id is where the store was.
func (a *API) statusEvent() ([]byte, error) {
	s := a.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.made) >= streamEvery/2 {
		head := a.answers.Store.Head()
		data, err := json.Marshal(a.ServerStatus())
		if err != nil {
			return nil, err
		}
		id := a.cursors.encodeCursor(cursor{Log: head, Seq: head.Seq}, streamPath, nil)
		s.event, s.made = fmt.Appendf(nil, "event: status\nid: %s\ndata: %s\n\n", id, data), now
	}
	return s.event, nil
}

// EndStreams ends the answers that would go on for ever, so that the server can
// finish the others; [http.Server.RegisterOnShutdown] is the place for it.
func (a *API) EndStreams() { a.streams.once.Do(func() { close(a.streams.ending) }) }
