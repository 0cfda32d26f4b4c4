package main

import (
	"context"
	"log/slog"
	"time"

	"gazetteer/fetch"
)

// A recorder writes the requests that visitors caused into the ledger of the
// hosts that got them. Whoever fetches does not wait for the store.
type recorder struct {
	made   chan fetch.Made
	record func(ctx context.Context, why string, made ...fetch.Made) error
	log    *slog.Logger
}

// maxUnrecorded is how many requests may wait to be written: more than all
// visitors together can cause while one write lasts.
const maxUnrecorded = 4096

func newRecorder(record func(ctx context.Context, why string, made ...fetch.Made) error, l *slog.Logger) *recorder {
	return &recorder{made: make(chan fetch.Made, maxUnrecorded), record: record, log: l}
}

// note takes a request; it never blocks.
func (r *recorder) note(m fetch.Made) {
	select {
	case r.made <- m:
	default:
		r.log.Error("a request is missing in the ledger: too many wait to be written", "url", m.URL)
	}
}

// run writes until ctx ends, and then what is still there.
func (r *recorder) run(ctx context.Context) error {
	for {
		select {
		case m := <-r.made:
			r.write(ctx, m)
		case <-ctx.Done():
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			for len(r.made) > 0 {
				r.write(rest, <-r.made)
			}
			return nil
		}
	}
}

// write writes a request and those that wait behind it.
func (r *recorder) write(ctx context.Context, m fetch.Made) {
	all := []fetch.Made{m}
	for len(all) < 100 && len(r.made) > 0 {
		all = append(all, <-r.made)
	}
	if err := r.record(context.WithoutCancel(ctx), "a visitor asked for a check", all...); err != nil {
		r.log.Error("requests are missing in the ledger", "requests", len(all), "error", err)
	}
}
