// Package eventstream serves server-sent events (HTML Living Standard, section 9.2) within limits:
// how long a stream lasts, and how long one write may take. A [Stream] holds the events that it is
// about to send and no more, so a client that does not read costs little until it is cut off.
package eventstream

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// A Stream is an endless answer to one client. WriteTime, Every, Duration and Next are required.
type Stream struct {
	// Duration is how long the stream lasts; the client then connects again.
	Duration time.Duration
	// Every is the time between two calls of Next while nothing changes.
	Every time.Duration
	// WriteTime is how long one write may take.
	WriteTime time.Duration
	// Ending ends the stream when it is closed.
	Ending <-chan struct{}
	// First is sent first, and Idle when Next has no events after Every.
	First, Idle string
	// Changed returns a channel that is closed when there may be more events, and a function that
	// releases it. It is called before Next. nil: there are new events after Every.
	Changed func() (changed <-chan struct{}, release func())
	// Next returns the next events, none when there are none now, and whether it has more of them. The
	// stream does not change them, so streams can share them. An error ends the stream.
	Next func(ctx context.Context) (events [][]byte, more bool, err error)
}

// Serve sends events until the client leaves or does not read for WriteTime, Duration is over, or
// Ending is closed. Header fields that are not set yet get their usual values.
func (s Stream) Serve(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if w.Header().Get(name) == "" {
			w.Header().Set(name, value)
		}
	}
	out := NewWriter(w, s.WriteTime)
	w.WriteHeader(http.StatusOK)
	end := time.NewTimer(s.Duration)
	defer end.Stop()
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	err := out.Send([]byte(s.First))
	for idle := ""; err == nil; {
		changed, release := s.watch()
		if err = s.sendEvents(r.Context(), out, idle); err == nil {
			select {
			case <-changed:
				idle = ""
			case <-tick.C:
				idle = s.Idle
			case <-end.C:
				err = http.ErrHandlerTimeout
			case <-s.Ending:
				err = http.ErrServerClosed
			case <-r.Context().Done():
				err = r.Context().Err()
			}
		}
		release()
	}
}

func (s Stream) watch() (changed <-chan struct{}, release func()) {
	if s.Changed == nil {
		return nil, func() {}
	}
	return s.Changed()
}

// sendEvents sends the events that there are now, or idle when there are none.
func (s Stream) sendEvents(ctx context.Context, out *Writer, idle string) error {
	for more := true; more; {
		events, again, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			events = [][]byte{[]byte(idle)}
		}
		if err := out.Send(events...); err != nil {
			return err
		}
		idle, more = "", again
	}
	return nil
}

// A Writer writes to one client, with a time for each write.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

// NewWriter returns a writer that fails when one write takes longer than limit.
func NewWriter(w http.ResponseWriter, limit time.Duration) *Writer {
	return &Writer{w, http.NewResponseController(w), limit}
}

// Send writes texts and flushes them. If all are empty, nothing is written. The limit is that of all
// texts together.
func (w *Writer) Send(texts ...[]byte) error {
	if !slices.ContainsFunc(texts, func(text []byte) bool { return len(text) > 0 }) {
		return nil
	}
	w.control.SetWriteDeadline(time.Now().Add(w.limit)) // a writer without deadlines is one of a test
	for _, text := range texts {
		if _, err := w.w.Write(text); err != nil {
			return err
		}
	}
	return w.control.Flush()
}
