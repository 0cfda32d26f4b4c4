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

// Limits of streams: how many clients follow the status at a time, in all and from one network (an
// IPv4 address, an IPv6 /64) as long as most are free, how long one of them can stay before it must ask
// again, and how often events are sent.
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
	// ChangesPath is the feed of changes.
	ChangesPath = "/api/v1/changes"
)

// streams are the clients that follow the status or the changes. Each event of the status is made
// once for all of them.
type streams struct {
	slots *limit.Slots
	// changes are the slots of clients that follow the changes.
	changes *limit.Slots
	Ending  chan struct{} // closed when streams have to end
	once    sync.Once

	Mu    sync.Mutex // guards what follows
	Event []byte     // the newest
	Made  time.Time  // when it was made
}

func newStreams(limits *limit.Set) *streams {
	slots := func(name string) *limit.Slots {
		return limits.Slots(limit.SlotRule{Name: name, All: maxStreams, Each: maxStreamsEach, Fair: maxStreams / maxStreamsEach / 2, Retry: time.Minute})
	}
	return &streams{
		slots:   slots("status-stream"),
		changes: slots("change-stream"),
		Ending:  make(chan struct{}),
	}
}

// Follow takes a slot for a client that follows the status.
func (s *streams) Follow(ctx context.Context, client netip.Addr) (release func(), err error) {
	return acquireStream(ctx, s.slots, client, "the status", StatusPath)
}

// FollowChanges takes a slot for a client that follows the changes.
func (s *streams) FollowChanges(ctx context.Context, client netip.Addr) (release func(), err error) {
	return acquireStream(ctx, s.changes, client, "the changes", ChangesPath)
}

// acquireStream takes a slot. The refusal names the path at which a client without a slot can ask
// for pages instead.
func acquireStream(ctx context.Context, slots *limit.Slots, client netip.Addr, what, path string) (release func(), err error) {
	release, err = slots.Acquire(ctx, client)
	e, exceeded := errors.AsType[*limit.ExceededError](err)
	switch {
	case !exceeded:
		return release, err
	case e.All:
		return nil, NewProblem(Unavailable, "too many clients follow "+what+" already", "ask "+path+" instead").WithRetry(e.Wait)
	default:
		return nil, NewProblem(rateLimited, fmt.Sprintf("%d clients of your network follow %s already", e.Quota, what), "ask "+path+" instead").WithRetry(e.Wait)
	}
}

// EndStreams ends the answers without an end of their own, so that the server can finish the
// others. Register it with [http.Server.RegisterOnShutdown].
func (a *Mux) EndStreams() { a.Streams.once.Do(func() { close(a.Streams.Ending) }) }
