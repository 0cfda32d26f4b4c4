package relayhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gazetteer/relay"
)

// Times of a stream: how often a line is sent while there is no mail, how long one write may take, how
// long a stream lasts, and how many envelopes are read at a time.
const (
	heartbeat   = 30 * time.Second
	writeTime   = 20 * time.Second
	streamTime  = 30 * time.Minute
	streamBatch = 20
)

// stream sends mail as server-sent events until the client leaves, does not read, or its time is over.
// Sending is not acknowledging: mail stays until the client acknowledges it, so a connection that is
// half open loses nothing. A client goes on after the number in Last-Event-ID or since.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, d dialect) {
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
		d.writeError(w, r, relay.Accepted{}, err)
		return
	}
	defer release()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no")
	s := &eventWriter{w: w, control: http.NewResponseController(w)}
	s.write(": ready\n\n")
	h.sendMail(r, reader, after, s)
}

func (h *Handler) sendMail(r *http.Request, reader *relay.Reader, after uint64, s *eventWriter) {
	end := time.NewTimer(streamTime)
	defer end.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for s.err == nil {
		pushed, stop := reader.Watch() // before the look, so that no push is missed
		page, err := reader.Pull(r.Context(), after, streamBatch)
		if err != nil {
			stop()
			return // the client comes again and is told then
		}
		for _, m := range page.Mail {
			s.writeMail(m)
			after = m.Number
		}
		if len(page.Mail) > 0 {
			stop()
			continue
		}
		select {
		case <-pushed:
		case <-beat.C:
			s.write(": heartbeat\n\n")
		case <-end.C:
			s.err = http.ErrHandlerTimeout
		case <-h.ending.Done():
			s.err = http.ErrServerClosed
		case <-r.Context().Done():
			s.err = r.Context().Err()
		}
		stop()
	}
}

// eventWriter writes events. Each write has its time, so that a client that does not read is cut off
// and nothing is buffered for it.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (s *eventWriter) write(text string) {
	if s.err != nil {
		return
	}
	s.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}

func (s *eventWriter) writeMail(m relay.Mail) {
	data, err := json.Marshal(messageOf(m))
	if err != nil {
		s.err = err
		return
	}
	s.write(fmt.Sprintf("id: %s\nevent: envelope\ndata: %s\n\n", strconv.FormatUint(m.Number, 10), data))
}
