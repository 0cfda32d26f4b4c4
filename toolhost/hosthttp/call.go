package hosthttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/internal/eventstream"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// Times of an answer: the limit for one write, and the interval of the lines that are sent while
// there is no chunk.
const (
	writeTime = 20 * time.Second
	heartbeat = 15 * time.Second
)

// callTool is POST /altar/v1/sessions/{id}/calls.
func (h *Handler) callTool(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, status, refused := readBody(w, r, maxCallBody, *buffer)
	if refused != nil {
		writeError(w, r, status, refused)
		return
	}
	if cap(text) <= keptBuffer {
		*buffer = text[:0]
	}
	session, streams := r.PathValue("id"), wantsEvents(r.Header.Values("Accept"))
	caller, failed, status := h.beginCall(r.Context(), who, session, text, streams)
	if failed != nil {
		setRetry(w, failed.Error)
		writeResult(w, status, failed)
		return
	}
	defer caller.Leave()
	if streams {
		h.sendEvents(w, r, caller)
		return
	}
	result, err := caller.Wait(r.Context())
	if err != nil {
		return // the client has left
	}
	if result.Error == nil {
		if c := h.takeOver(w, r, session); c != nil {
			c.begin(&result)
			return
		}
	}
	if server := serverOf(r); server == nil || server.WriteTimeout < bodyTime+caller.Timeout()+writeTime {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	}
	writeResult(w, statusOfResult(&result), &result)
}

// beginCall begins the call that a body describes, or returns the answer that refuses it.
func (h *Handler) beginCall(ctx context.Context, who toolhost.Identity, session string, body []byte, streams bool) (caller *toolhost.Caller, failed *altar.ToolResult, status int) {
	in, err := altar.ReadCall(body)
	if err != nil {
		failed = &altar.ToolResult{Status: altar.Failure}
		if bad, ok := errors.AsType[*altar.FrameError](err); ok {
			failed.InvocationID = bad.InvocationID
		}
		status, failed.Error = statusOfBody(err)
		return nil, failed, status
	}
	var refused *altar.Error
	if in.SessionID != "" && in.SessionID != session {
		refused = otherSession()
	} else {
		caller, refused = h.Host.Call(ctx, who.ID, session, in, streams)
	}
	if refused != nil {
		return nil, &altar.ToolResult{InvocationID: in.InvocationID, Status: altar.Failure, Error: refused}, statusOf(refused)
	}
	return caller, nil, 0
}

func statusOfResult(r *altar.ToolResult) int {
	if r.Error == nil {
		return http.StatusOK
	}
	return statusOf(r.Error)
}

// wantsEvents reports whether a client prefers server-sent events to JSON. Without a preference the one
// that it names first counts.
func wantsEvents(accept []string) bool {
	best, events := 0.0, false
	for _, line := range accept {
		for item := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			q := 1.0
			for p := range strings.SplitSeq(parameters, ";") {
				if value, found := strings.CutPrefix(strings.TrimSpace(p), "q="); found {
					if f, err := strconv.ParseFloat(value, 64); err == nil {
						q = f
					}
				}
			}
			name = strings.ToLower(strings.TrimSpace(name))
			switch name {
			case "text/event-stream", "text/*":
				if q > best {
					best, events = q, true
				}
			case "application/json", "application/*", "*/*":
				if q > best {
					best, events = q, false
				}
			}
		}
	}
	return events
}

// sendEvents sends the chunks of a call as events. What fails before the first payload is answered
// with the status of its error.
func (h *Handler) sendEvents(w http.ResponseWriter, r *http.Request, caller *toolhost.Caller) {
	s := eventStream{w: w, out: eventstream.NewWriter(w, writeTime)}
	var buffer []altar.StreamChunk
	for {
		chunks, ended, err := s.nextChunks(r.Context(), caller, buffer)
		if err != nil {
			return // the client has left
		}
		if ended && !s.begun && (len(chunks) == 0 || chunks[0].Error != nil) {
			result, err := caller.Wait(r.Context())
			if err != nil {
				return
			}
			if result.Error != nil {
				setRetry(w, result.Error)
				http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
				writeResult(w, statusOf(result.Error), &result)
				return
			}
			chunks = []altar.StreamChunk{{InvocationID: result.InvocationID, Payload: result.Payload, IsFinal: true}}
		}
		for i := range chunks {
			s.writeChunk(&chunks[i])
		}
		if !s.flushEvents() || ended {
			return
		}
		buffer = chunks
	}
}

// eventStream writes events. Each write has its time, so that a client that does not read is cut off.
type eventStream struct {
	w     http.ResponseWriter
	out   *eventstream.Writer
	begun bool // the first chunk is here
	text  []byte
}

// nextChunks waits for chunks, and sends a line for proxies while none come.
func (s *eventStream) nextChunks(ctx context.Context, caller *toolhost.Caller, buffer []altar.StreamChunk) ([]altar.StreamChunk, bool, error) {
	for {
		if !s.begun {
			return caller.Next(ctx, buffer)
		}
		waiting, cancel := context.WithTimeout(ctx, heartbeat)
		chunks, ended, err := caller.Next(waiting, buffer)
		cancel()
		if err == nil || ctx.Err() != nil {
			return chunks, ended, err
		}
		s.text = append(s.text, ": waiting\n\n"...)
		if !s.flushEvents() {
			return nil, false, context.Canceled
		}
	}
}

// writeChunk writes a chunk into the buffer.
func (s *eventStream) writeChunk(c *altar.StreamChunk) {
	if !s.begun {
		s.begun = true
		header := s.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("X-Accel-Buffering", "no")
	}
	c.Payload = singleLine(c.Payload)
	s.text = append(s.text, "id: "...)
	s.text = strconv.AppendInt(s.text, c.ChunkID, 10)
	s.text = append(s.text, "\ndata: "...)
	s.text = altar.AppendStreamChunk(s.text, c)
	s.text = append(s.text, "\n\n"...)
}

// singleLine returns JSON without line ends, which would end the data of an event.
func singleLine(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	v := jsontext.Value(bytes.Clone(raw))
	if v.Compact() != nil {
		return raw
	}
	return json.RawMessage(v)
}

// flushEvents sends the buffer. It returns false if the client does not read it.
func (s *eventStream) flushEvents() bool {
	if len(s.text) == 0 {
		return true
	}
	err := s.out.Send(s.text)
	if cap(s.text) > 1<<20 {
		s.text = nil
	}
	s.text = s.text[:0]
	return err == nil
}
