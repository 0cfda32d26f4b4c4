// Package altarkit is for writing a runtime of an Altar Host: a process that executes tools which the
// Host's operator has a contract for.
//
//	r := altarkit.Runtime{URL: "ws://127.0.0.1:8080/altar/v1/runtimes", Token: token, ID: "billing"}
//	r.Handle("create_invoice", func(ctx context.Context, c *altarkit.Call) (any, error) {
//		var in struct{ Amount int64 }
//		if err := c.Decode(&in); err != nil {
//			return nil, err
//		}
//		return createInvoice(ctx, in.Amount)
//	})
//	err := r.Run(ctx)
//
// It depends on package protocol/altar and on a WebSocket library alone.
package altarkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gazetteer/protocol/altar"
)

// A Runtime connects to one Host and executes its calls. Set the fields, add the tools, then call Run.
type Runtime struct {
	// URL is the address of the Host, such as "ws://127.0.0.1:8080/altar/v1/runtimes".
	URL string
	// Token is the bearer token of the runtime's identity; empty with a client certificate in HTTP.
	Token string
	// ID is the runtime_id: the identity's, or one that begins with it and a dash.
	ID string
	// HTTP opens the connection; http.DefaultClient when nil.
	HTTP *http.Client
	Log  *slog.Logger // nil: silent

	tools map[string]tool
}

// tool executes a call.
type tool struct {
	answer func(ctx context.Context, c *Call) (any, error)
	stream func(ctx context.Context, c *Call, send func(payload any) error) error
}

// A Call is one call of a tool.
type Call struct {
	InvocationID string
	SessionID    string
	ToolName     string // as it was added, without the id of the runtime
	Parameters   json.RawMessage
	// ClientInvocationID is the id that the client chose. A client that tries a call again sends the
	// same one in the same session; each attempt has an InvocationID of its own.
	ClientInvocationID string
}

// Decode decodes the parameters, which the Host has checked against the contract.
func (c *Call) Decode(v any) error { return json.Unmarshal(c.Parameters, v) }

// Handle adds a tool that answers once. An *altar.Error keeps its code; every other error is
// EXECUTION_FAILED, or EXECUTION_TIMEOUT if it is that of ctx at its deadline. ctx ends at the
// deadline of the call and when no client waits for it any more.
func (r *Runtime) Handle(name string, answer func(ctx context.Context, c *Call) (any, error)) {
	r.addTool(name, tool{answer: answer})
}

// HandleStream adds a tool that answers in chunks, each handed to send. The contract must be streaming.
func (r *Runtime) HandleStream(name string, stream func(ctx context.Context, c *Call, send func(payload any) error) error) {
	r.addTool(name, tool{stream: stream})
}

func (r *Runtime) addTool(name string, t tool) {
	if r.tools == nil {
		r.tools = map[string]tool{}
	}
	r.tools[name] = t
}

// A RefusedError says that the Host does not take the runtime: its identity, its id or its version; or that
// the Host uses a version which the kit cannot serve.
// Trying again does not help.
type RefusedError struct {
	Reason string
	// connected says that the Host still has a connection of this id.
	connected bool
}

// Error implements error.
func (e *RefusedError) Error() string { return "the Host refuses the runtime: " + e.Reason }

const (
	// Delays between attempts to connect.
	minDelay = 100 * time.Millisecond
	maxDelay = 30 * time.Second
	// pingInterval is the time between two pings, and the time that the Host has to answer one.
	pingInterval = 20 * time.Second
)

// Run connects and executes calls until ctx ends, which is no error. It connects again when the
// connection is lost. The error is a [*RefusedError].
func (r *Runtime) Run(ctx context.Context) error {
	delay, known := minDelay, false
	for {
		begun := time.Now()
		accepted, err := r.serveConnection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		known = known || accepted
		// A Host that has not noticed the end of the last connection takes the next one later.
		if refused, ok := errors.AsType[*RefusedError](err); ok && !(refused.connected && known) {
			return refused
		}
		if time.Since(begun) > maxDelay {
			delay = minDelay
		}
		r.logger().Warn("there is no connection to the Host", "error", err, "again_in", delay)
		timer := time.NewTimer(delay/2 + rand.N(delay/2+1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		delay = min(2*delay, maxDelay)
	}
}

func (r *Runtime) logger() *slog.Logger {
	if r.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Log
}

const (
	maxFrame   = 2 << 20        // bytes of the largest frame that a Host sends
	maxPayload = 1<<20 - 16<<10 // bytes of a payload: a Host closes the connection at a frame of more than 1 MiB
	maxMessage = 2 << 10        // characters of the message of an error
)

// connection is one connection to the Host.
type connection struct {
	r        *Runtime
	ws       *websocket.Conn
	work     sync.WaitGroup // calls and pings
	accepted bool           // the Host has acknowledged the runtime; owned by serveConnection
	general  bool           // the tools of every session have been announced; owned by serveConnection

	mu      sync.Mutex // guards the following fields
	running map[string]context.CancelFunc
}

// serveConnection connects once. accepted says that the Host took the runtime.
func (r *Runtime) serveConnection(ctx context.Context) (accepted bool, err error) {
	header := http.Header{}
	if r.Token != "" {
		header.Set("Authorization", "Bearer "+r.Token)
	}
	ws, response, err := websocket.Dial(ctx, r.URL, &websocket.DialOptions{HTTPClient: r.HTTP, HTTPHeader: header})
	if err != nil {
		if response != nil && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden) {
			refusal := &altar.Error{}
			if json.NewDecoder(response.Body).Decode(refusal) == nil && refusal.Code.Known() {
				return false, &RefusedError{Reason: refusal.Error()}
			}
			return false, &RefusedError{Reason: response.Status}
		}
		return false, err
	}
	defer ws.CloseNow()
	ws.SetReadLimit(maxFrame)
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{r: r, ws: ws, running: map[string]context.CancelFunc{}}
	defer c.work.Wait()
	defer cancel()
	if err := c.sendMessage(ctx, r.newAnnouncement()); err != nil {
		return false, err
	}
	c.work.Go(func() { c.pingHost(ctx) })
	for {
		_, text, err := ws.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusGoingAway {
				err = errors.New("the Host stops")
			}
			return c.accepted, err
		}
		m, err := altar.ReadMessage(text, false)
		if err != nil {
			r.logger().Warn("the Host sent a frame that cannot be read", "error", err)
			continue
		}
		if err := c.receiveMessage(ctx, m); err != nil {
			return c.accepted, err
		}
	}
}

// pingHost ends the connection when the Host does not answer any more.
func (c *connection) pingHost(ctx context.Context) {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		waiting, cancel := context.WithTimeout(ctx, pingInterval)
		err := c.ws.Ping(waiting)
		cancel()
		if err != nil {
			c.ws.CloseNow()
			return
		}
	}
}

func (r *Runtime) newAnnouncement() altar.AnnounceRuntime {
	m := altar.AnnounceRuntime{RuntimeID: r.ID, Language: "go", ProtocolVersion: altar.Current, Capabilities: []string{}}
	for _, t := range r.tools {
		if t.stream != nil {
			m.Capabilities = []string{altar.Streaming}
		}
	}
	return m
}

func (c *connection) sendMessage(ctx context.Context, m altar.Message) error {
	return c.ws.Write(ctx, websocket.MessageText, altar.Encode(m))
}

// receiveMessage handles one message of the Host.
func (c *connection) receiveMessage(ctx context.Context, m altar.Message) error {
	switch m := m.(type) {
	case altar.AcknowledgeRuntime:
		if err := checkVersion(m.ProtocolVersion); err != nil {
			return &RefusedError{Reason: err.Error()}
		}
		c.accepted = true
		c.r.logger().Info("connected to the Host", "runtime", c.r.ID)
	case altar.RequestFulfillment:
		if m.SessionID != "" && c.general {
			return nil // what was said for all sessions holds there, too
		}
		c.general = c.general || m.SessionID == ""
		names := []string{}
		for name := range c.r.tools {
			names = append(names, c.r.ID+"/"+name)
		}
		return c.sendMessage(ctx, altar.FulfillTools{SessionID: m.SessionID, ToolNames: names})
	case altar.ToolCall:
		c.startCall(ctx, m)
	case altar.CancelCall:
		c.mu.Lock()
		cancel := c.running[m.InvocationID]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case altar.ProtocolError:
		if m.InReplyTo == (altar.AnnounceRuntime{}).MessageType() && m.Error != nil && m.Error.Code != altar.RuntimeUnavailable {
			return &RefusedError{m.Error.Error(), m.Error.Details["reason"] == "connected"}
		}
		c.r.logger().Warn("the Host reports an error", "error", m.Error, "in_reply_to", m.InReplyTo)
	}
	return nil
}

// checkVersion checks that the Host uses a version that the kit can serve.
func checkVersion(host string) error {
	theirs, err := altar.ParseVersion(host)
	if err != nil {
		return err
	}
	own, err := altar.ParseVersion(altar.Current)
	if err != nil {
		return err
	}
	_, err = altar.Negotiate(theirs, own)
	return err
}

// startCall executes a call in a goroutine of its own.
func (c *connection) startCall(ctx context.Context, m altar.ToolCall) {
	var cancel context.CancelFunc
	if m.TimeoutMS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.TimeoutMS)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	c.mu.Lock()
	c.running[m.InvocationID] = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer func() {
			cancel()
			c.mu.Lock()
			delete(c.running, m.InvocationID)
			c.mu.Unlock()
		}()
		last := c.runTool(ctx, &Call{
			InvocationID: m.InvocationID, SessionID: m.SessionID,
			ToolName: strings.TrimPrefix(m.ToolName, c.r.ID+"/"), Parameters: m.Parameters, ClientInvocationID: m.ClientInvocationID,
		})
		// The answer has a time of its own: ctx may have ended by the deadline of the call.
		answering, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		if err := c.sendMessage(answering, last); err != nil {
			c.r.logger().Debug("an answer was not sent", "error", err)
		}
	})
}

// runTool runs a tool and returns the last message of its answer.
func (c *connection) runTool(ctx context.Context, call *Call) (last altar.Message) {
	next := int64(0)
	t := c.r.tools[call.ToolName]
	fail := func(err error) altar.Message {
		known, ok := errors.AsType[*altar.Error](err)
		switch {
		case ok:
		case errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded):
			known = altar.Errorf(altar.ExecutionTimeout, "the tool did not end in time") // as the Host says at the same moment
		default:
			known = altar.Errorf(altar.ExecutionFailed, "%.*s", maxMessage, err)
		}
		if t.stream != nil {
			return altar.StreamChunk{InvocationID: call.InvocationID, ChunkID: next, Error: known, IsFinal: true}
		}
		return altar.ToolResult{InvocationID: call.InvocationID, Status: altar.Failure, Error: known}
	}
	defer func() {
		if p := recover(); p != nil {
			last = fail(fmt.Errorf("the tool panicked: %v", p))
		}
	}()
	switch {
	case t.stream != nil:
		err := t.stream(ctx, call, func(payload any) error {
			text, err := encodePayload(payload)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			chunk := altar.StreamChunk{InvocationID: call.InvocationID, ChunkID: next, Payload: text}
			next++
			return c.sendMessage(context.WithoutCancel(ctx), chunk)
		})
		if err != nil {
			return fail(err)
		}
		return altar.StreamChunk{InvocationID: call.InvocationID, ChunkID: next, IsFinal: true}
	case t.answer != nil:
		payload, err := t.answer(ctx, call)
		if err != nil {
			return fail(err)
		}
		text, err := encodePayload(payload)
		if err != nil {
			return fail(err)
		}
		return altar.ToolResult{InvocationID: call.InvocationID, Status: altar.Success, Payload: text}
	default:
		return fail(altar.Errorf(altar.ToolNotFound, "this runtime has no tool %s", call.ToolName))
	}
}

// encodePayload encodes what a tool returns.
func encodePayload(payload any) (json.RawMessage, error) {
	text, err := json.Marshal(payload)
	if err == nil && len(text) > maxPayload {
		err = fmt.Errorf("the payload has %d bytes, and a Host takes %d at once", len(text), maxPayload)
	}
	return text, err
}
