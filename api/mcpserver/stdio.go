package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gazetteer/internal/mcphttp"
)

// drainTime is the time that running calls have after the client has closed its side.
const drainTime = 30 * time.Second

// RunStdio serves one client over a pair of streams until the client closes its side or ctx ends. Calls
// that were sent before the end are answered, so that messages can come from a pipe.
func RunStdio(ctx context.Context, s *Server, in io.ReadCloser, out io.WriteCloser) error {
	open := &openCalls{changed: make(chan struct{}, 1)}
	answers := &answerWriter{WriteCloser: out, calls: open}
	return s.Run(ctx, &mcp.IOTransport{Reader: &callReader{Closer: in, lines: bufio.NewReader(in), out: answers, ctx: ctx, calls: open}, Writer: answers})
}

// openCalls counts the calls that have no answer yet.
type openCalls struct {
	mu      sync.Mutex // guards n
	n       int
	changed chan struct{} // has room for one: something was answered
}

// add adds to the number of open calls and reports the new number.
func (c *openCalls) add(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	return c.n
}

// A callReader reads messages, one a line, and counts the calls among them. It answers a line that is
// no message with an error, because the transport would end at it. The end of the stream waits for the
// answers.
type callReader struct {
	io.Closer
	lines *bufio.Reader
	out   *answerWriter
	ctx   context.Context // of the session
	calls *openCalls
	rest  []byte // of the last message
	end   error  // of the stream
}

func (r *callReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.end != nil {
			r.awaitAnswers()
			return 0, r.end
		}
		var line []byte
		line, r.end = r.lines.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if refusal := mcphttp.CheckMessages(line); refusal != nil {
			if _, err := r.out.writeLocked(append(refusal.JSON(), '\n')); err != nil {
				return 0, err
			}
			continue
		}
		if isCall(line) {
			r.calls.add(1)
		}
		r.rest = append(line, '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// awaitAnswers waits until every call is answered, for a while.
func (r *callReader) awaitAnswers() {
	late := time.NewTimer(drainTime)
	defer late.Stop()
	for r.calls.add(0) > 0 {
		select {
		case <-r.calls.changed:
		case <-late.C:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// isCall reports whether a message needs an answer.
func isCall(line []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.Unmarshal(line, &m) == nil && m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null"
}

// An answerWriter writes messages and counts the answers among them.
type answerWriter struct {
	mu sync.Mutex // held while a message is written
	io.WriteCloser
	calls *openCalls
}

// Write writes whole messages: the transport hands over one at a time.
func (w *answerWriter) Write(p []byte) (int, error) {
	if _, err := w.writeLocked(mcphttp.RewordError(p)); err != nil {
		return 0, err
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(p, &m) == nil && m.Method == "" && len(m.ID) > 0 && string(m.ID) != "null" {
		w.calls.add(-1)
		select {
		case w.calls.changed <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

// writeLocked writes messages without counting them.
func (w *answerWriter) writeLocked(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
