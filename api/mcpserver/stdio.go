package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTime is the time that running calls have after the client has closed its side.
const drainTime = 30 * time.Second

// RunStdio serves one client over a pair of streams until the client closes its side or ctx ends. Calls
// that were sent before the end are answered, so that messages can come from a pipe.
func RunStdio(ctx context.Context, s *mcp.Server, in io.ReadCloser, out io.WriteCloser) error {
	open := &openCalls{changed: make(chan struct{}, 1)}
	return s.Run(ctx, &mcp.IOTransport{Reader: &callReader{ReadCloser: in, ctx: ctx, calls: open}, Writer: &answerWriter{out, open}})
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

// A callReader reads messages, one a line, and counts the calls among them. The end of the stream
// waits for their answers.
type callReader struct {
	io.ReadCloser
	ctx   context.Context // of the session
	calls *openCalls
	line  []byte
}

func (r *callReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.line = append(r.line, p[:n]...)
	for {
		line, rest, found := bytes.Cut(r.line, []byte{'\n'})
		if !found {
			break
		}
		if isCall(line) {
			r.calls.add(1)
		}
		r.line = rest
	}
	if err != nil && n == 0 {
		r.awaitAnswers()
	}
	if n > 0 {
		return n, nil // the error comes again
	}
	return 0, err
}

// awaitAnswers waits until every call is answered, for a while.
func (r *callReader) awaitAnswers() {
	if isCall(r.line) { // without an end of line
		r.calls.add(1)
	}
	r.line = nil
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
	io.WriteCloser
	calls *openCalls
}

// Write writes whole messages: the transport hands over one at a time.
func (w *answerWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(p, &m) == nil && m.Method == "" && len(m.ID) > 0 {
		w.calls.add(-1)
		select {
		case w.calls.changed <- struct{}{}:
		default:
		}
	}
	return n, err
}
