package toolhost

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/altar"
)

// An invocation is one call of a tool.
type invocation struct {
	id       string // the client's
	hostID   string // the id towards the runtime
	session  *session
	contract *contract
	digest   [sha256.Size]byte // of the tool and the parameters
	begun    time.Time
	deadline time.Time
	timer    *time.Timer
	details  json.RawMessage // the parameters for the audit trail; nil unless it wants them

	mu      sync.Mutex // guards the following
	runtime *Runtime   // who executes it
	callers map[*Caller]bool
	done    bool
	// cancelled says that it was ended by somebody else than its runtime.
	cancelled bool
	replay    bool // its outcome answers calls of the same id
	expires   time.Time
	payload   json.RawMessage
	meta      json.RawMessage
	err       *altar.Error
	audited   uint64 // the entry of its outcome in the audit trail

	chunks  []altar.StreamChunk // those that are kept
	base    int                 // the number of the first of them
	total   int                 // bytes of all payloads so far
	kept    int                 // bytes of those that are kept
	stalled time.Duration       // how long the runtime was made to wait for callers
	space   chan struct{}       // receives when a caller has taken chunks
}

// A Caller waits for one invocation. Several may wait for the same one.
type Caller struct {
	h       *Host
	inv     *invocation
	streams bool
	wake    chan struct{}

	// inv.mu guards the following.
	next int // the number of the chunk that it takes next
	cut  *altar.Error
	left bool
}

// An outcome ends an invocation.
type outcome struct {
	payload json.RawMessage
	meta    json.RawMessage
	err     *altar.Error
	cancel  string // why the runtime is told to stop; "" when it need not be
	last    *altar.StreamChunk
	again   bool // nothing is replayed: the next call of the same id begins anew
}

// Limits of calls.
const (
	maxInvocationID = 128
	maxAggregate    = 1 << 20 // bytes of the chunks that a client gets at once, and of those that are replayed
	maxPending      = 4 << 20 // bytes of chunks that wait for the slowest caller
	replayTime      = 5 * time.Minute
	maxReplays      = 262_144
	maxReplayBytes  = 256 << 20
	confirmTime     = time.Minute
	// A full queue makes the runtime wait, and with it its other calls: for this long, and for a tenth
	// of the time of the stream.
	stallBudget = 500 * time.Millisecond
	stallStep   = 50 * time.Millisecond
)

// Call begins a call of a client, or joins the one that runs or ran with the same id. streams says that
// the client takes chunks as they come.
func (h *Host) Call(ctx context.Context, client, sessionID string, call altar.ToolCall, streams bool) (*Caller, *altar.Error) {
	if call.InvocationID == "" || len(call.InvocationID) > maxInvocationID {
		return nil, altar.ParametersError([]altar.Problem{{Path: "/invocation_id", Message: fmt.Sprintf("want 1 to %d characters", maxInvocationID)}})
	}
	pinned, tool := "", call.ToolName
	if i := strings.LastIndexByte(tool, '/'); i >= 0 {
		pinned, tool = tool[:i], tool[i+1:]
	}
	h.mu.Lock()
	s, refused := h.findSession(client, sessionID)
	c := h.contracts[tool]
	if refused == nil && c != nil && !c.allows(client, s) {
		refused = altar.Errorf(altar.AuthorizationFailed, "you may not call %s in this session", tool)
	}
	if refused == nil && h.draining {
		refused = errDraining
	}
	h.mu.Unlock()
	if refused != nil {
		return nil, refused
	}
	if h.o.AdmitClient != nil {
		if err := h.o.AdmitClient(ctx, client); err != nil {
			return nil, altar.Errorf(altar.AuthorizationFailed, "%v", err)
		}
	}
	if len(call.Parameters) == 0 {
		call.Parameters = json.RawMessage("{}")
	}
	parameters, err := altar.ReadValue(call.Parameters)
	if err != nil {
		return nil, altar.ParametersError([]altar.Problem{{Path: "", Message: err.Error()}})
	}
	inv := &invocation{id: call.InvocationID, session: s, contract: c, begun: time.Now(), digest: digestCall(call.ToolName, parameters)}
	if caller, err := h.join(inv, streams); caller != nil || err != nil {
		return caller, err
	}
	if err := h.checkCall(ctx, inv, pinned, tool, parameters, call.Confirmation); err != nil {
		return nil, err
	}
	call.Parameters = altar.AppendValue(make([]byte, 0, len(call.Parameters)), parameters)
	return h.begin(ctx, inv, pinned, call, streams)
}

// digestCall makes a digest that is the same for equal values.
func digestCall(tool string, parameters any) [sha256.Size]byte {
	text := append(make([]byte, 0, 512), tool...)
	text = append(text, 0)
	return sha256.Sum256(altar.AppendCanonical(text, parameters))
}

// join returns a caller of the invocation that has the id of inv already, nil when there is none.
func (h *Host) join(inv *invocation, streams bool) (*Caller, *altar.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.joinLocked(inv, streams)
}

// joinLocked is join with h.mu held.
func (h *Host) joinLocked(inv *invocation, streams bool) (*Caller, *altar.Error) {
	old := inv.session.calls[inv.id]
	if old == nil {
		return nil, nil
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	if old.done && (!old.replay || time.Now().After(old.expires)) {
		return nil, nil
	}
	if old.digest != inv.digest {
		return nil, altar.Errorf(altar.InvalidParameters, "the invocation_id was used for another call in this session").With("path", "/invocation_id")
	}
	if old.base > 0 {
		return nil, altar.Errorf(altar.InternalError, "the call ran already, and its stream is too large to be sent again").With("reason", "not_replayable")
	}
	return old.addCaller(h, streams), nil
}

// addCaller adds a caller. inv.mu is held.
func (inv *invocation) addCaller(h *Host, streams bool) *Caller {
	c := &Caller{h: h, inv: inv, streams: streams, wake: make(chan struct{}, 1)}
	if inv.done {
		c.signal()
	}
	if inv.callers == nil {
		inv.callers = map[*Caller]bool{}
	}
	inv.callers[c] = true
	return c
}

// checkCall checks all that can refuse a call before it begins.
func (h *Host) checkCall(ctx context.Context, inv *invocation, pinned, tool string, parameters any, confirmation string) *altar.Error {
	if inv.contract == nil {
		return altar.Errorf(altar.ToolNotFound, "there is no tool %.140q", tool)
	}
	h.mu.Lock()
	runtime, lost := h.chooseRuntime(inv.session, tool, pinned, nil)
	h.mu.Unlock()
	if pin := inv.contract.Pin; pin != nil && h.o.Blocked != nil {
		if blocked, err := h.o.Blocked(ctx, pin.Host); err != nil || blocked {
			return altar.Errorf(altar.RuntimeUnavailable, "the contract is suspended: %s", suspendedReason(pin.Host)).With("reason", Suspended)
		}
	}
	if runtime == nil && !lost {
		return altar.Errorf(altar.ToolNotFound, "no runtime fulfils %.280q in this session", joinName(pinned, tool))
	}
	if err := inv.contract.checkParameters(parameters); err != nil {
		return err
	}
	if inv.contract.irreversible && !h.confirmed(inv, confirmation) {
		return altar.Errorf(altar.AuthorizationFailed, "what %s does cannot be undone: send the same call again with this confirmation within %d seconds", tool, int(confirmTime.Seconds())).
			With("confirmation", h.confirmationFor(inv, time.Now().Add(confirmTime))).With("reason", "confirmation")
	}
	if h.calls != nil {
		if err := h.calls.TakeKey(ctx, inv.session.client+" "+tool); err != nil {
			wait := time.Second
			if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
				wait = exceeded.Wait
			}
			return quotaError("you have called "+tool+" too often", wait)
		}
	}
	return nil
}

func joinName(pinned, tool string) string {
	if pinned == "" {
		return tool
	}
	return pinned + "/" + tool
}

// confirmationFor makes the token that confirms one call of one client until a time.
func (h *Host) confirmationFor(inv *invocation, until time.Time) string {
	token := binary.BigEndian.AppendUint64(nil, uint64(until.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(token, h.signConfirmation(inv, token)...))
}

func (h *Host) signConfirmation(inv *invocation, until []byte) []byte {
	mac := hmac.New(sha256.New, h.key)
	for _, part := range [][]byte{until, []byte(inv.session.client), []byte(inv.session.id), []byte(inv.id), inv.digest[:]} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func (h *Host) confirmed(inv *invocation, token string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 8+sha256.Size {
		return false
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(raw[:8])))
	return hmac.Equal(raw[8:], h.signConfirmation(inv, raw[:8])) && time.Now().Before(until)
}

// begin registers a call and sends it to a runtime.
func (h *Host) begin(ctx context.Context, inv *invocation, pinned string, call altar.ToolCall, streams bool) (*Caller, *altar.Error) {
	timeout := h.o.CallTimeout
	if ms := inv.contract.TimeoutMS; ms > 0 {
		timeout = h.o.MaxTimeout
		if ms < h.o.MaxTimeout.Milliseconds() {
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	inv.deadline = inv.begun.Add(timeout)
	inv.hostID = h.prefix + strconv.FormatUint(h.counter.Add(1), 10)
	if h.o.AuditParameters {
		inv.details = call.Parameters
	}
	if inv.contract.Streaming {
		inv.space = make(chan struct{}, 1)
	}
	caller, joined, err := h.registerCall(inv, streams)
	if err != nil || joined {
		return caller, err
	}
	if inv.contract.irreversible {
		if err := h.audit.sync(ctx, h.audit.add(h.entryOf(inv, "begin", nil))); err != nil {
			h.o.Log.Error("a call is refused because the audit trail cannot be written", "error", err)
			h.finish(inv, outcome{err: altar.Errorf(altar.InternalError, "the call cannot be recorded"), again: true})
			return caller, nil
		}
	}
	timer := time.AfterFunc(time.Until(inv.deadline), func() {
		h.finish(inv, outcome{err: altar.Errorf(altar.ExecutionTimeout, "the tool did not end within %s", timeout).With("timeout_ms", timeout.Milliseconds()), cancel: "timeout", again: true})
	})
	inv.mu.Lock()
	inv.timer = timer
	if inv.done {
		timer.Stop()
	}
	inv.mu.Unlock()
	h.dispatch(inv, pinned, call)
	return caller, nil
}

// registerCall registers a call, or joins one of the same id that was faster.
func (h *Host) registerCall(inv *invocation, streams bool) (caller *Caller, joined bool, err *altar.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := inv.session
	if s.ended {
		return nil, false, errSession(s.id)
	}
	if h.draining {
		return nil, false, errDraining
	}
	if caller, err := h.joinLocked(inv, streams); caller != nil || err != nil {
		return caller, true, err
	}
	state := h.stateOf(s.client)
	if state.calls >= h.o.CallsPerClient {
		return nil, false, quotaError(fmt.Sprintf("you have %d calls running, which is the most", state.calls), time.Second)
	}
	state.calls++
	h.running++
	if s.calls == nil {
		s.calls = map[string]*invocation{}
	}
	s.calls[inv.id] = inv
	return inv.addCaller(h, streams), false, nil // nobody else knows inv yet
}

// dispatch sends a call to a runtime, and to another when it cannot be sent.
func (h *Host) dispatch(inv *invocation, pinned string, call altar.ToolCall) {
	var tried map[*Runtime]bool
	for {
		h.mu.Lock()
		runtime, _ := h.chooseRuntime(inv.session, inv.contract.Name, pinned, tried)
		h.mu.Unlock()
		left := time.Until(inv.deadline)
		if runtime == nil || left <= 0 {
			h.finish(inv, outcome{err: altar.Errorf(altar.RuntimeUnavailable, "no runtime that executes %.280q is connected", joinName(pinned, inv.contract.Name)), again: true})
			return
		}
		inv.mu.Lock()
		if inv.done {
			inv.mu.Unlock()
			return
		}
		inv.runtime = runtime
		inv.mu.Unlock()
		frame := altar.AppendToolCall(make([]byte, 0, len(call.Parameters)+256), &altar.ToolCall{
			InvocationID: inv.hostID, SessionID: inv.session.id, ToolName: inv.contract.Name, Parameters: call.Parameters, TimeoutMS: max(left.Milliseconds(), 1),
		})
		if runtime.dispatch(inv, frame) {
			inv.mu.Lock()
			cancelled := inv.cancelled
			inv.mu.Unlock()
			if cancelled && runtime.forget(inv) { // it ended before the runtime knew it
				runtime.send(altar.CancelCall{InvocationID: inv.hostID, Reason: "cancelled"})
			}
			return
		}
		if tried == nil {
			tried = map[*Runtime]bool{}
		}
		tried[runtime] = true
	}
}

// knownError returns the error of a runtime with a code of appendix A.
func knownError(e *altar.Error) *altar.Error {
	if e.Code.Known() {
		return e
	}
	return &altar.Error{Code: altar.ExecutionFailed, Message: e.Message, Details: map[string]any{"code": string(e.Code), "details": e.Details}}
}

// payloadOf returns a payload; null is none.
func payloadOf(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// receiveResult ends a call with the result of its runtime. A result for a call that does not run there
// is counted and dropped.
func (r *Runtime) receiveResult(m altar.ToolResult) {
	inv := r.running(m.InvocationID)
	if inv == nil {
		r.h.dropped.Add(1)
		return
	}
	o := outcome{payload: payloadOf(m.Payload), meta: payloadOf(m.RuntimeMetadata)}
	switch {
	case m.Status == altar.Failure && m.Error != nil:
		o.err = knownError(m.Error)
		o.payload = nil
	case m.Status == altar.Failure:
		o.err = altar.Errorf(altar.ExecutionFailed, "the runtime gives no reason")
		o.payload = nil
	case m.Status != altar.Success:
		o = outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a result with the status %.40q", m.Status)}
		r.refuse(m.InvocationID, altar.Errorf(altar.InvalidParameters, "status is %.40q, want success or error", m.Status))
	}
	if o.err == nil && inv.hasChunks() {
		o = outcome{err: altar.Errorf(altar.InternalError, "the runtime ended a stream without a final chunk")}
	}
	if o.err != nil && (o.err.Code == altar.RuntimeUnavailable || o.err.Code == altar.ExecutionTimeout) {
		o.again = true
	}
	r.h.finish(inv, o)
}

func (inv *invocation) hasChunks() bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.base+len(inv.chunks) > 0
}

// receiveChunk hands a chunk to the callers. One out of order ends the stream.
func (r *Runtime) receiveChunk(m altar.StreamChunk) {
	inv := r.running(m.InvocationID)
	if inv == nil {
		r.h.dropped.Add(1)
		return
	}
	if !inv.contract.Streaming {
		r.h.finish(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a chunk for %s, which does not stream", inv.contract.Name), cancel: "protocol error"})
		return
	}
	inv.mu.Lock()
	next := int64(inv.base + len(inv.chunks))
	if inv.done || m.ChunkID != next {
		inv.mu.Unlock()
		r.h.finish(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent chunk %d where chunk %d was due", m.ChunkID, next), cancel: "protocol error"})
		return
	}
	m.InvocationID, m.Payload = inv.id, payloadOf(m.Payload)
	if m.Error != nil {
		m.Error, m.Payload, m.IsFinal = knownError(m.Error), nil, true
	}
	if m.IsFinal {
		inv.mu.Unlock()
		r.h.finish(inv, outcome{err: m.Error, last: &m, again: m.Error != nil && (m.Error.Code == altar.RuntimeUnavailable || m.Error.Code == altar.ExecutionTimeout)})
		return
	}
	inv.append(m)
	over := inv.makeRoom()
	inv.mu.Unlock()
	if over != nil {
		r.h.finish(inv, outcome{err: over, cancel: "nobody takes the chunks"})
	}
}

// append adds a chunk and wakes the callers. inv.mu is held.
func (inv *invocation) append(m altar.StreamChunk) {
	inv.chunks = append(inv.chunks, m)
	inv.total += len(m.Payload)
	inv.kept += len(m.Payload) + chunkOverhead
	for c := range inv.callers {
		if c.streams {
			c.signal()
		}
	}
}

// chunkOverhead is what a chunk without payload counts.
const chunkOverhead = 96

// makeRoom bounds what is kept: callers that want all at once are refused above maxAggregate, and those
// that do not take chunks as fast as they come make the runtime wait for a short time, then they are
// cut off. It returns an error when no caller is left. inv.mu is held.
func (inv *invocation) makeRoom() *altar.Error {
	if inv.total <= maxAggregate && inv.kept <= maxPending {
		return nil
	}
	tooLarge := altar.Errorf(altar.InternalError, "the chunks are larger than %d bytes together: take them as a stream (Accept: text/event-stream)", maxAggregate).With("limit", maxAggregate)
	for c := range inv.callers {
		if !c.streams {
			inv.cutCaller(c, tooLarge)
		}
	}
	if len(inv.callers) == 0 {
		return tooLarge
	}
	inv.trim()
	for inv.kept > maxPending && !inv.done {
		budget := stallBudget + time.Since(inv.begun)/10 - inv.stalled
		if budget <= 0 {
			break
		}
		begun := time.Now()
		inv.mu.Unlock()
		timer := time.NewTimer(min(budget, stallStep))
		select {
		case <-inv.space:
		case <-timer.C:
		}
		timer.Stop()
		inv.mu.Lock()
		inv.stalled += time.Since(begun)
		inv.trim()
	}
	if inv.done || inv.kept <= maxPending {
		return nil
	}
	slow := altar.Errorf(altar.InternalError, "the client reads the stream too slowly").With("reason", "slow_client")
	for c := range inv.callers {
		if c.next <= inv.base {
			inv.cutCaller(c, slow)
		}
	}
	if len(inv.callers) == 0 {
		return slow
	}
	inv.trim()
	return nil
}

// cutCaller ends one caller with an error. inv.mu is held.
func (inv *invocation) cutCaller(c *Caller, err *altar.Error) {
	c.cut = err
	delete(inv.callers, c)
	c.signal()
}

// trim forgets the chunks that every caller has taken, once they are too many to be sent again. inv.mu
// is held.
func (inv *invocation) trim() {
	if inv.total <= maxAggregate && inv.kept <= maxPending {
		return
	}
	first := inv.base + len(inv.chunks)
	for c := range inv.callers {
		first = min(first, c.next)
	}
	n := first - inv.base
	if n <= 0 {
		return
	}
	for _, m := range inv.chunks[:n] {
		inv.kept -= len(m.Payload) + chunkOverhead
	}
	clear(inv.chunks[:n]) // or the array keeps the payloads
	inv.chunks, inv.base = inv.chunks[n:], first
}

// finish ends an invocation; only the first outcome counts.
func (h *Host) finish(inv *invocation, o outcome) {
	inv.mu.Lock()
	if inv.done {
		inv.mu.Unlock()
		return
	}
	inv.done, inv.payload, inv.meta, inv.err = true, o.payload, o.meta, o.err
	inv.cancelled = o.cancel != ""
	inv.replay, inv.expires = !o.again, time.Now().Add(replayTime)
	switch {
	case o.last != nil:
		inv.chunks = append(inv.chunks, *o.last)
		inv.total += len(o.last.Payload)
	case o.err != nil && inv.base+len(inv.chunks) > 0:
		inv.chunks = append(inv.chunks, altar.StreamChunk{InvocationID: inv.id, ChunkID: int64(inv.base + len(inv.chunks)), Error: o.err, IsFinal: true})
	}
	inv.audited = h.audit.add(h.entryOf(inv, "end", o.err))
	for c := range inv.callers {
		c.signal()
	}
	runtime, timer, size := inv.runtime, inv.timer, len(o.payload)+inv.kept
	if inv.base > 0 {
		size = 0
	}
	inv.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if runtime != nil {
		runtime.forget(inv)
		if o.cancel != "" {
			runtime.send(altar.CancelCall{InvocationID: inv.hostID, Reason: o.cancel})
		}
	}
	h.endCall(inv, o.again, size)
}

// endCall takes a finished call out of the counts, and keeps it for replays unless it may be tried anew.
func (h *Host) endCall(inv *invocation, again bool, size int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if h.running == 0 && h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
	s := inv.session
	h.stateOf(s.client).calls--
	h.releaseState(s.client)
	if again || s.ended {
		if s.calls[inv.id] == inv {
			delete(s.calls, inv.id)
		}
		return
	}
	h.replays = append(h.replays, inv)
	h.replayBytes += size
	for len(h.replays) > maxReplays || h.replayBytes > maxReplayBytes && len(h.replays) > 1 {
		h.forgetOldest()
	}
}

// forgetOldest forgets the result that was kept the longest. h.mu is held.
func (h *Host) forgetOldest() {
	inv := h.replays[0]
	h.replays[0] = nil
	h.replays = h.replays[1:]
	inv.mu.Lock()
	if inv.base == 0 {
		h.replayBytes -= len(inv.payload) + inv.kept
	}
	inv.mu.Unlock()
	if inv.session.calls[inv.id] == inv {
		delete(inv.session.calls, inv.id)
	}
}

// forgetResults forgets results whose time is over.
func (h *Host) forgetResults(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.replays) > 0 {
		inv := h.replays[0]
		inv.mu.Lock()
		expired := now.After(inv.expires) || inv.session.ended
		inv.mu.Unlock()
		if !expired {
			return
		}
		h.forgetOldest()
	}
}

// signal wakes a caller.
func (c *Caller) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Deadline returns when the call ends at the latest.
func (c *Caller) Deadline() time.Time { return c.inv.deadline }

// Irreversible reports whether the call had to be confirmed.
func (c *Caller) Irreversible() bool { return c.inv.contract.irreversible }

// Leave ends the caller's wait. The call ends when nobody waits for it any more.
func (c *Caller) Leave() {
	inv := c.inv
	inv.mu.Lock()
	if c.left {
		inv.mu.Unlock()
		return
	}
	c.left = true
	delete(inv.callers, c)
	abandoned := len(inv.callers) == 0 && !inv.done
	inv.mu.Unlock()
	if abandoned {
		c.h.finish(inv, outcome{err: altar.Errorf(altar.ExecutionFailed, "the caller has left"), cancel: "cancelled", again: true})
	}
}

// Wait returns the result of the call. A stream is returned as the array of its payloads. It ends early
// with the error of ctx.
func (c *Caller) Wait(ctx context.Context) (altar.ToolResult, error) {
	for {
		c.inv.mu.Lock()
		done, cut := c.inv.done, c.cut
		c.inv.mu.Unlock()
		if done || cut != nil {
			break
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return altar.ToolResult{}, ctx.Err()
		}
	}
	if err := c.awaitAudit(ctx); err != nil {
		return altar.ToolResult{}, err
	}
	return c.result(), nil
}

// awaitAudit waits until the outcome of an irreversible call is in the audit trail. A trail that cannot
// be written does not take the result back: it is logged.
func (c *Caller) awaitAudit(ctx context.Context) error {
	if !c.inv.contract.irreversible {
		return nil
	}
	c.inv.mu.Lock()
	entry := c.inv.audited
	c.inv.mu.Unlock()
	if err := c.h.audit.sync(ctx, entry); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.h.o.Log.Error("the outcome of an irreversible call is not in the audit trail", "error", err)
	}
	return nil
}

// result returns the outcome of an invocation that is done.
func (c *Caller) result() altar.ToolResult {
	inv := c.inv
	inv.mu.Lock()
	defer inv.mu.Unlock()
	r := altar.ToolResult{InvocationID: inv.id, Status: altar.Success, Payload: inv.payload, RuntimeMetadata: inv.meta}
	err := inv.err
	if c.cut != nil {
		err = c.cut
	}
	if err == nil && inv.total > maxAggregate {
		err = altar.Errorf(altar.InternalError, "the chunks are larger than %d bytes together: take them as a stream (Accept: text/event-stream)", maxAggregate).With("limit", maxAggregate)
	}
	if err != nil {
		r.Status, r.Error, r.Payload = altar.Failure, err, nil
		return r
	}
	if len(inv.chunks) > 0 {
		list := append(make([]byte, 0, inv.total+len(inv.chunks)+2), '[')
		for _, m := range inv.chunks {
			if len(m.Payload) == 0 {
				continue // the last one is often empty
			}
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, m.Payload...)
		}
		r.Payload = append(list, ']')
	}
	return r
}

// Next returns the chunks that have come since the last Next, waiting for at least one. The last has
// is_final. ended is true when nothing follows: then the outcome is that of [Caller.Wait], which has no
// chunks if the call was refused, failed before the first one, or does not stream.
func (c *Caller) Next(ctx context.Context, buffer []altar.StreamChunk) (chunks []altar.StreamChunk, ended bool, err error) {
	inv := c.inv
	for {
		inv.mu.Lock()
		chunks = append(buffer[:0], inv.chunks[max(c.next-inv.base, 0):]...)
		c.next = inv.base + len(inv.chunks)
		done := inv.done
		if c.cut != nil {
			next := c.next
			inv.mu.Unlock()
			return append(buffer[:0], altar.StreamChunk{InvocationID: inv.id, ChunkID: int64(next), Error: c.cut, IsFinal: true}), true, nil
		}
		inv.mu.Unlock()
		if len(chunks) > 0 && inv.space != nil {
			select {
			case inv.space <- struct{}{}:
			default:
			}
		}
		if done {
			return chunks, true, c.awaitAudit(ctx)
		}
		if len(chunks) > 0 {
			return chunks, false, nil
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}
