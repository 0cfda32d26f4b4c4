package server

import (
	"context"
	"log/slog"
	"time"

	"gazetteer/fetch"
)

// A recorder writes the requests that visitors caused into the ledger of the
// hosts that got them. The request does not wait for the store.
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

// maxUnrecorded is how many requests may wait to be written: more than all
// visitors together can cause while one write lasts.
const maxUnrecorded = 4096

func newRecorder(record func(ctx context.Context, why string, made ...fetch.Made) error, l *slog.Logger) *recorder {
	return &recorder{requests: make(chan recordedRequest, maxUnrecorded), record: record, log: l}
}

// recordCheck takes a request for a check; it never blocks.
func (r *recorder) recordCheck(m fetch.Made) { r.enqueueRequest(m, "a visitor asked for a check") }

// enqueueRequest takes a request; it never blocks.
func (r *recorder) enqueueRequest(m fetch.Made, why string) {
	select {
	case r.requests <- recordedRequest{m, why}:
	default:
		r.log.Error("a request is missing in the ledger: too many wait to be written", "url", m.URL)
	}
}

// Run writes until ctx ends, and then what is still there.
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

// writeBatch writes a request and those that wait behind it.
func (r *recorder) writeBatch(ctx context.Context, m recordedRequest) {
	all := map[string][]fetch.Made{m.why: {m.made}}
	for n := 1; n < 100 && len(r.requests) > 0; n++ {
		m = <-r.requests
		all[m.why] = append(all[m.why], m.made)
	}
	for why, made := range all {
		if err := r.record(context.WithoutCancel(ctx), why, made...); err != nil {
			r.log.Error("requests are missing in the ledger", "requests", len(made), "error", err)
		}
	}
}
