package hosthttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"gazetteer/protocol"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// Limits of the connection of a runtime.
const (
	maxFrame      = 1 << 20
	maxQueueBytes = 16 << 20 // of frames that wait to be sent
	closeTime     = 5 * time.Second
	maxPings      = 100         // of the runtime, between two of ours
	keptBuffer    = 64 << 10    // a larger buffer is given back after its frame
	maxReason     = 120         // bytes of the reason of a close frame, of 123 with "…"
	cutTime       = time.Second // between the close frame and the end of a connection in mid frame
)

// connectRuntime is GET /altar/v1/runtimes.
func (h *Handler) connectRuntime(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Upgrade", "websocket")
		writeError(w, r, http.StatusUpgradeRequired, altar.Errorf(altar.InvalidParameters, "a runtime connects with a WebSocket (RFC 6455)"))
		return
	}
	done, ok := h.Host.AddConnection(nil)
	if !ok {
		writeError(w, r, http.StatusServiceUnavailable, altar.Errorf(altar.RuntimeUnavailable, "the Host stops"))
		return
	}
	defer done()
	c := &runtimeConn{timeout: h.RuntimeTimeout, closing: make(chan struct{})}
	hijacker := &queuingHijacker{ResponseWriter: w}
	ws, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{OnPingReceived: c.countPing})
	if err != nil {
		h.Log.Debug("a runtime did not connect", "identity", who.ID, "error", err)
		if hijacker.refused != 0 {
			writeError(w, r, hijacker.refused, altar.Errorf(altar.InvalidParameters, "%s", strings.TrimSpace(string(hijacker.reason))))
		}
		return
	}
	ws.SetReadLimit(maxFrame)
	c.ws, c.conn, c.runtime = ws, hijacker.conn, h.Host.Attach(who, c)
	// The connection outlives the request's context, which has nothing to say after the upgrade.
	c.serveFrames(context.WithoutCancel(r.Context()))
}

// runtimeConn is the WebSocket of one runtime. Three goroutines serve it: readFrames reads,
// [queuedConn.sendQueued] sends what waits, watchLiveness checks that the runtime is alive and closes
// the connection.
type runtimeConn struct {
	ws      *websocket.Conn
	conn    *queuedConn // what ws writes to
	runtime *toolhost.Runtime
	timeout time.Duration // [Options.RuntimeTimeout]

	closing  chan struct{}
	stopPing context.CancelFunc
	cut      *time.Timer // closes it without a close frame, some time after closing; set with code
	once     sync.Once
	code     websocket.StatusCode // set before closing is closed
	reason   string

	announced atomic.Bool
	reading   atomic.Int64 // when the frame that is being read began, in ns; 0 for none
	pings     atomic.Int64 // since the last look
}

// Send implements [toolhost.Conn].
func (c *runtimeConn) Send(frame []byte, lone bool) bool {
	select {
	case <-c.closing:
		return false
	default:
	}
	if !c.conn.reserve(len(frame)) {
		return false
	}
	defer c.conn.release(len(frame))
	c.conn.lone.Store(lone)
	return c.ws.Write(context.Background(), websocket.MessageText, frame) == nil // it does not wait
}

// Close implements [toolhost.Conn].
func (c *runtimeConn) Close(kind toolhost.CloseKind, reason string) {
	code := websocket.StatusPolicyViolation
	if kind == toolhost.CloseStopping {
		code = websocket.StatusGoingAway
	}
	c.closeWith(code, reason)
}

// closeWith closes the connection after the queued bytes; the first reason counts.
func (c *runtimeConn) closeWith(code websocket.StatusCode, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, protocol.ClipBytes(reason, maxReason)
		c.cut = time.AfterFunc(2*closeTime, func() { c.conn.Close() }) // CloseNow would wait for Close
		close(c.closing)
		c.stopPing()
	})
}

// serveFrames handles the frames of the runtime until the connection ends.
func (c *runtimeConn) serveFrames(ctx context.Context) {
	pinging, stopPing := context.WithCancel(ctx)
	defer stopPing()
	c.stopPing = stopPing
	sending, stopSending := context.WithCancel(ctx)
	var sender, watcher sync.WaitGroup
	sender.Go(func() {
		if c.conn.sendQueued(sending) != nil {
			c.closeWith(websocket.StatusNormalClosure, "")
			c.ws.CloseNow()
		}
	})
	watcher.Go(func() { c.watchLiveness(pinging) })
	c.readFrames(ctx)
	c.runtime.Detach()
	c.closeWith(websocket.StatusProtocolError, "") // does nothing where a close frame has come or was sent
	watcher.Wait()
	c.cut.Stop()
	c.ws.CloseNow()
	stopSending()
	sender.Wait()
}

func (c *runtimeConn) readFrames(ctx context.Context) {
	var buffer bytes.Buffer
	for {
		kind, reader, err := c.ws.Reader(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			c.refuseFrame(websocket.StatusUnsupportedData, "frames are JSON in text, not binary")
			return
		}
		c.reading.Store(time.Now().UnixNano())
		buffer.Reset()
		_, err = buffer.ReadFrom(reader)
		c.reading.Store(0)
		if err != nil {
			return // also when it is too large: then the library closes with 1009
		}
		if !utf8.Valid(buffer.Bytes()) {
			c.refuseFrame(websocket.StatusInvalidFramePayloadData, "the text is not UTF-8")
			return
		}
		c.runtime.Receive(buffer.Bytes())
		if c.runtime.Announced() {
			c.announced.Store(true)
		}
		if buffer.Cap() > keptBuffer {
			buffer = bytes.Buffer{}
		}
	}
}

// refuseFrame answers with an error and closes the connection.
func (c *runtimeConn) refuseFrame(code websocket.StatusCode, reason string) {
	c.Send(altar.Encode(altar.ProtocolError{Error: altar.Errorf(altar.InvalidParameters, "%s", reason)}), false)
	c.closeWith(code, reason)
}

// watchLiveness ends a connection whose runtime does not announce itself, does not answer pings, sends
// a frame too slowly or pings without end. It sends the close frame behind what waits.
func (c *runtimeConn) watchLiveness(ctx context.Context) {
	look := time.NewTimer(c.timeout / 2)
	defer look.Stop()
	var pinging sync.WaitGroup
	defer pinging.Wait()
	pong := make(chan bool, 1) // whether a ping was answered
	begun, pinged, waiting := time.Now(), time.Now(), false
	for {
		select {
		case <-c.closing:
			c.ws.Close(c.code, c.reason) // waits for a bounded time
			return
		case alive := <-pong:
			if !alive {
				c.closeWith(websocket.StatusPolicyViolation, "no answer to a ping")
				c.ws.CloseNow()
				return
			}
			waiting = false
			continue
		case <-look.C:
		}
		now, next := time.Now(), c.timeout/2
		at := c.reading.Load()
		if at != 0 {
			left := c.timeout - now.Sub(time.Unix(0, at))
			if left <= 0 {
				c.closeWith(websocket.StatusPolicyViolation, "a frame takes too long")
				c.cut.Reset(cutTime) // the answer would be behind the frame
				continue
			}
			next = min(next, left)
		}
		look.Reset(next)
		if !c.announced.Load() && now.Sub(begun) >= c.timeout {
			c.closeWith(websocket.StatusPolicyViolation, "the runtime did not announce itself in time")
			continue
		}
		if at == 0 && !waiting && now.Sub(pinged) >= c.timeout { // a frame that arrives needs no ping
			pinged, waiting = now, true
			c.pings.Store(0)
			pinging.Go(func() { pong <- c.pingRuntime(ctx) })
		}
	}
}

// pingRuntime reports whether the runtime answers a ping in time.
func (c *runtimeConn) pingRuntime(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err := c.ws.Ping(ctx)
	return err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// countPing answers a ping of the runtime, unless there are too many.
func (c *runtimeConn) countPing(context.Context, []byte) bool {
	if c.pings.Add(1) <= maxPings {
		return true
	}
	c.closeWith(websocket.StatusPolicyViolation, "too many pings")
	return false
}

var _ toolhost.Conn = (*runtimeConn)(nil)
