package relayhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"gazetteer/internal/eventstream"
	"gazetteer/relay"
)

// Limits of a stream: how often a line is sent while there is no mail, how long one write may take
// unless the options say otherwise, how long a stream lasts, and how many envelopes are read at a
// time.
const (
	heartbeat   = 30 * time.Second
	writeTime   = 20 * time.Second
	streamTime  = 30 * time.Minute
	streamBatch = 20
)

// streamMail sends mail as server-sent events until the client disconnects, stops reading, or its
// time is over. Sending is not acknowledging: mail stays until the client acknowledges it, so a
// half-open connection loses nothing. A client continues after the number in Last-Event-ID or
// since.
func (h *Handler) streamMail(w http.ResponseWriter, r *http.Request, d dialect) {
	q := r.URL.Query()
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.Set("since", last)
	}
	after, _, _, err := readPullQuery(q)
	var reader *relay.Reader
	if err == nil {
		reader, err = h.openInbox(r, nil, d)
	}
	var release func()
	if err == nil {
		if release, err = h.streams.Acquire(r.Context(), h.Client(r)); err != nil {
			err = refuseSlots(err)
		}
	}
	if err != nil {
		d.writeError(w, relay.Accepted{}, err)
		return
	}
	defer release()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	eventstream.Stream{
		Duration: streamTime, Every: heartbeat, WriteTime: h.StreamWriteTime, Ending: h.ending.Done(),
		First: ": ready\n\n", Idle: ": heartbeat\n\n",
		Changed: reader.Watch,
		Next: func(ctx context.Context) (events [][]byte, more bool, err error) {
			if err := reader.CheckAccess(ctx); err != nil {
				return nil, false, err
			}
			page, err := reader.Pull(ctx, after, streamBatch)
			for _, m := range page.Mail {
				data, err := json.Marshal(messageOf(m))
				if err != nil {
					return nil, false, err
				}
				events = append(events, fmt.Appendf(nil, "id: %d\nevent: envelope\ndata: %s\n\n", m.Number, data))
				after = m.Number
			}
			return events, len(events) > 0, err // the client comes again and learns the error then
		},
	}.Serve(w, r)
}
