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
	made   chan caused
	record func(ctx context.Context, why string, made ...fetch.Made) error
	log    *slog.Logger
}

// A caused request is one that was made because of a visitor, and why.
type caused struct {
	made fetch.Made
	why  string
}

// maxUnrecorded is how many requests may wait to be written: more than all
// visitors together can cause while one write lasts.
const maxUnrecorded = 4096

func newRecorder(record func(ctx context.Context, why string, made ...fetch.Made) error, l *slog.Logger) *recorder {
	return &recorder{made: make(chan caused, maxUnrecorded), record: record, log: l}
}

// note takes a request for a check; it never blocks.
func (r *recorder) note(m fetch.Made) { r.take(m, "a visitor asked for a check") }

// take takes a request; it never blocks.
func (r *recorder) take(m fetch.Made, why string) {
	select {
	case r.made <- caused{m, why}:
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
func (r *recorder) write(ctx context.Context, m caused) {
	all := map[string][]fetch.Made{m.why: {m.made}}
	for n := 1; n < 100 && len(r.made) > 0; n++ {
		m = <-r.made
		all[m.why] = append(all[m.why], m.made)
	}
	for why, made := range all {
		if err := r.record(context.WithoutCancel(ctx), why, made...); err != nil {
			r.log.Error("requests are missing in the ledger", "requests", len(made), "error", err)
		}
	}
}
