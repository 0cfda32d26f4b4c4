package route

import (
	"context"
	"errors"
	"fmt"
	"gazetteer/limit"
	"net/netip"
	"sync"
	"time"
)

// How many clients may follow the standing at a time, in all and from one network
// (an IPv4 address, an IPv6 /64), how long one of them may before it has to ask
// again, and how often it is told.
const (
	maxStreams     = 1024
	maxStreamsEach = 64
	StreamTime     = 30 * time.Minute
	StreamEvery    = time.Second
)

// The stream has no HEAD: there would be nothing to wait for.
const (
	StatusPath = "/api/v1/status"
	StreamPath = StatusPath + "/stream"
)

// streams are the clients that follow the status. Each event is made once for all of them.
type streams struct {
	slots  *limit.Slots
	Ending chan struct{} // closed when streams have to end
	once   sync.Once

	Mu    sync.Mutex // guards what follows
	Event []byte     // the newest
	Made  time.Time  // when it was made
}

func newStreams(limits *limit.Set) *streams {
	return &streams{
		slots:  limits.Slots(limit.SlotRule{Name: "status-stream", All: maxStreams, Each: maxStreamsEach, Retry: time.Minute}),
		Ending: make(chan struct{}),
	}
}

// Follow takes a slot for a client.
func (s *streams) Follow(ctx context.Context, client netip.Addr) (release func(), err error) {
	release, err = s.slots.Acquire(ctx, client)
	e, exceeded := errors.AsType[*limit.ExceededError](err)
	switch {
	case !exceeded:
		return release, err
	case e.All:
		return nil, NewProblem(Unavailable, "too many clients follow the status already", "ask "+StatusPath+" instead").WithRetry(e.Wait)
	default:
		return nil, NewProblem(rateLimited, fmt.Sprintf("%d clients of your network follow the status already", e.Quota), "ask "+StatusPath+" instead").WithRetry(e.Wait)
	}
}

// EndStreams ends the answers that have no end of their own, so that the server can finish the
// others; [http.Server.RegisterOnShutdown] is the place for it.
func (a *Mux) EndStreams() { a.Streams.once.Do(func() { close(a.Streams.Ending) }) }
