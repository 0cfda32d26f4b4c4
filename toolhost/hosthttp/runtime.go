package hosthttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// Limits of the connection of a runtime.
const (
	maxFrame      = 1 << 20
	maxQueued     = 4096     // frames that wait to be sent
	maxQueueBytes = 16 << 20 // their bytes
	closeTime     = 5 * time.Second
	maxPings      = 100      // of the runtime, between two of ours
	keptBuffer    = 64 << 10 // a larger buffer is given back after its frame
	maxReason     = 120      // bytes of the reason of a close frame
)

// connectRuntime is GET /altar/v1/runtimes.
func (h *Handler) connectRuntime(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Upgrade", "websocket")
		writeError(w, r, http.StatusUpgradeRequired, altar.Errorf(altar.InvalidParameters, "a runtime connects with a WebSocket (RFC 6455)"))
		return
	}
	done, ok := h.Host.AddConnection()
	if !ok {
		writeError(w, r, http.StatusServiceUnavailable, altar.Errorf(altar.RuntimeUnavailable, "the Host stops"))
		return
	}
	defer done()
	c := &runtimeConn{timeout: h.RuntimeTimeout, queue: make(chan []byte, maxQueued), closing: make(chan struct{})}
	hijacker := &batchHijacker{ResponseWriter: w}
	ws, err := websocket.Accept(hijacker, r, &websocket.AcceptOptions{OnPingReceived: c.countPing})
	if err != nil {
		h.Log.Debug("a runtime did not connect", "identity", who.ID, "error", err)
		return
	}
	ws.SetReadLimit(maxFrame)
	c.ws, c.conn, c.runtime = ws, hijacker.conn, h.Host.Attach(who, c)
	// The connection outlives the request's context, which has nothing to say after the upgrade.
	c.serveFrames(context.WithoutCancel(r.Context()))
}

// runtimeConn is the WebSocket of one runtime. Three goroutines serve it: serve reads, write sends what
// is queued, watch looks whether it lives.
type runtimeConn struct {
	ws      *websocket.Conn
	conn    *batchConn // what ws writes to
	runtime *toolhost.Runtime
	timeout time.Duration // [Options.RuntimeTimeout]

	queue   chan []byte
	queued  atomic.Int64 // bytes in queue
	closing chan struct{}
	cut     *time.Timer // closes it without a close frame, some time after closing; set with code
	once    sync.Once
	code    websocket.StatusCode // set before closing is closed
	reason  string

	announced atomic.Bool
	reading   atomic.Int64 // when the frame that is being read began, in ns; 0 for none
	pings     atomic.Int64 // since the last look
}

// Send implements [toolhost.Conn].
func (c *runtimeConn) Send(frame []byte) bool {
	select {
	case <-c.closing:
		return false
	default:
	}
	size := int64(len(frame))
	if c.queued.Add(size) > maxQueueBytes {
		c.queued.Add(-size)
		return false
	}
	select {
	case c.queue <- frame:
		return true
	default:
		c.queued.Add(-size)
		return false
	}
}

// Close implements [toolhost.Conn].
func (c *runtimeConn) Close(reason string) { c.closeWith(websocket.StatusPolicyViolation, reason) }

// closeWith closes the connection after what is queued; the first reason counts.
func (c *runtimeConn) closeWith(code websocket.StatusCode, reason string) {
	c.once.Do(func() {
		if len(reason) > maxReason {
			reason = reason[:maxReason]
		}
		if reason == "the Host stops" {
			code = websocket.StatusGoingAway
		}
		c.code, c.reason = code, reason
		c.cut = time.AfterFunc(2*closeTime, func() { c.ws.CloseNow() })
		close(c.closing)
	})
}

// serveFrames handles the frames of the runtime until the connection ends.
func (c *runtimeConn) serveFrames(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { c.writeFrames(ctx) })
	work.Go(func() { c.watchLiveness(ctx) })
	c.readFrames(ctx)
	c.runtime.Detach()
	c.closeWith(websocket.StatusProtocolError, "") // does nothing where a close frame has come or was sent
	work.Wait()
	c.cut.Stop()
	c.ws.CloseNow()
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
	c.Send(altar.Encode(altar.ProtocolError{Error: altar.Errorf(altar.InvalidParameters, "%s", reason)}))
	c.closeWith(code, reason)
}

// writeFrames sends what is queued, and the close frame behind it. Frames that wait together go out in
// one write.
func (c *runtimeConn) writeFrames(ctx context.Context) {
	for {
		select {
		case frame := <-c.queue:
			if err := c.sendBatch(ctx, frame); err != nil {
				c.closeWith(websocket.StatusNormalClosure, "")
				c.ws.CloseNow()
				return
			}
		case <-c.closing:
			c.writeRest(ctx)
			return
		}
	}
}

// sendBatch sends a frame, and those that wait behind it: also those of callers that are about to queue
// theirs.
func (c *runtimeConn) sendBatch(ctx context.Context, frame []byte) error {
	runtime.Gosched()
	if len(c.queue) == 0 {
		return c.sendFrame(ctx, frame)
	}
	c.conn.hold()
	err := c.sendFrame(ctx, frame)
	for range len(c.queue) {
		if err != nil {
			break
		}
		err = c.sendFrame(ctx, <-c.queue) // nobody else receives from the queue
	}
	return errors.Join(err, c.conn.release())
}

func (c *runtimeConn) sendFrame(ctx context.Context, frame []byte) error {
	c.queued.Add(-int64(len(frame)))
	return c.ws.Write(ctx, websocket.MessageText, frame)
}

// writeRest sends what is left in the queue and closes the connection, in a bounded time.
func (c *runtimeConn) writeRest(ctx context.Context) {
	cut := time.AfterFunc(closeTime, func() { c.ws.CloseNow() })
	defer cut.Stop()
	for {
		select {
		case frame := <-c.queue:
			if c.sendFrame(ctx, frame) == nil {
				continue
			}
		default:
		}
		break
	}
	c.ws.Close(c.code, c.reason)
}

// watchLiveness ends a connection whose runtime does not announce itself, does not answer pings, sends a frame
// too slowly or pings without end.
func (c *runtimeConn) watchLiveness(ctx context.Context) {
	tick := time.NewTicker(c.timeout / 2)
	defer tick.Stop()
	begun, pinged := time.Now(), time.Now()
	for {
		select {
		case <-c.closing:
			return
		case <-tick.C:
		}
		now := time.Now()
		if at := c.reading.Load(); at != 0 && now.Sub(time.Unix(0, at)) > c.timeout {
			c.closeWith(websocket.StatusPolicyViolation, "a frame takes too long")
			return
		}
		if !c.announced.Load() && now.Sub(begun) >= c.timeout {
			c.closeWith(websocket.StatusPolicyViolation, "the runtime did not announce itself in time")
			return
		}
		if now.Sub(pinged) < c.timeout {
			continue
		}
		pinged = now
		c.pings.Store(0)
		if !c.pingRuntime(ctx) {
			c.closeWith(websocket.StatusPolicyViolation, "no answer to a ping")
			c.ws.CloseNow()
			return
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
