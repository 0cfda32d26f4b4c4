package server

import (
	"context"
	"log/slog"
	"time"

	"gazetteer/fetch"
)

// A recorder writes the requests that visitors caused into the crawl logs of the requested hosts. A
// request does not wait for the store.
type recorder struct {
	requests chan recordedRequest
	record   func(ctx context.Context, why string, made ...fetch.Made) error
	log      *slog.Logger
}

// A recordedRequest is a request to a host that a visitor caused, and the reason for it.
type recordedRequest struct {
	made fetch.Made
	why  string
}

// maxUnrecorded is the number of requests that may wait to be written: more than all visitors
// together can cause during one write.
const maxUnrecorded = 4096

func newRecorder(record func(ctx context.Context, why string, made ...fetch.Made) error, l *slog.Logger) *recorder {
	return &recorder{requests: make(chan recordedRequest, maxUnrecorded), record: record, log: l}
}

// recordCheck queues the record of a request for a check. It never blocks.
func (r *recorder) recordCheck(m fetch.Made) { r.enqueueRequest(m, "a visitor requested a check") }

// enqueueRequest queues the record of a request. It never blocks.
func (r *recorder) enqueueRequest(m fetch.Made, why string) {
	select {
	case r.requests <- recordedRequest{m, why}:
	default:
		r.log.Error("a request is missing in the crawl log: too many wait to be written", "url", m.URL)
	}
}

// Run writes requests until ctx ends, and then those that still wait.
func (r *recorder) Run(ctx context.Context) error {
	for {
		select {
		case m := <-r.requests:
			r.writeBatch(ctx, m)
		case <-ctx.Done():
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			for len(r.requests) > 0 {
				r.writeBatch(rest, <-r.requests)
			}
			return nil
		}
	}
}

// writeBatch writes a request and all requests that wait behind it.
func (r *recorder) writeBatch(ctx context.Context, m recordedRequest) {
	all := map[string][]fetch.Made{m.why: {m.made}}
	for n := 1; n < 100 && len(r.requests) > 0; n++ {
		m = <-r.requests
		all[m.why] = append(all[m.why], m.made)
	}
	for why, made := range all {
		if err := r.record(context.WithoutCancel(ctx), why, made...); err != nil {
			r.log.Error("requests are missing in the crawl log", "requests", len(made), "error", err)
		}
	}
}
