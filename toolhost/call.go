package toolhost

import (
	"bytes"
	"context"
	"crypto/sha256"
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

	mu      sync.Mutex // guards the following fields
	runtime *Runtime   // who executes it
	callers []*Caller
	done    bool
	// canceled says that it was ended by somebody else than its runtime.
	canceled bool
	replay   bool      // its outcome answers calls of the same id
	expires  time.Time // until then the id is for calls with the same values
	payload  json.RawMessage
	meta     json.RawMessage
	err      *altar.Error
	audited  uint64 // the entry of its outcome in the audit trail

	chunks  []altar.StreamChunk // those that are kept
	base    int                 // the number of the first of them
	total   int                 // bytes of all payloads so far
	kept    int                 // bytes of those that are kept
	stalled time.Duration       // how long the runtime was made to wait for callers
	space   chan struct{}       // receives when a caller has taken chunks
}

// maxInvocationID is the longest invocation_id, in bytes.
const maxInvocationID = 128

// Call begins a call of a client, or joins the one that runs or ran with the same id. streams says that
// the client takes chunks as they come. Nothing of call is kept.
func (h *Host) Call(ctx context.Context, client, sessionID string, call altar.ToolCall, streams bool) (*Caller, *altar.Error) {
	if call.InvocationID == "" || len(call.InvocationID) > maxInvocationID {
		return nil, altar.ParametersError([]altar.Problem{{Path: "/invocation_id", Message: fmt.Sprintf("want 1 to %d characters", maxInvocationID)}})
	}
	pinned, tool := "", call.ToolName
	if i := strings.LastIndexByte(tool, '/'); i >= 0 {
		pinned, tool = tool[:i], tool[i+1:]
	}
	begun := time.Now()
	h.mu.Lock()
	s, refused := h.findSession(client, sessionID, h.o.Now())
	c := h.contracts[tool]
	if refused == nil && c != nil && !c.allowsClient(client, s) {
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
	parameters := call.Values
	if parameters == nil {
		var err error
		if parameters, err = altar.ReadValue(call.Parameters); err != nil {
			return nil, altar.ParametersError([]altar.Problem{{Path: "", Message: err.Error()}})
		}
	}
	inv := &invocation{id: call.InvocationID, session: s, contract: c, begun: begun, digest: digestCall(call.ToolName, parameters)}
	h.mu.Lock()
	caller, refused := h.joinCall(inv, streams)
	if caller != nil || refused != nil {
		h.mu.Unlock()
		return caller, refused
	}
	runtime, lost := h.chooseRuntime(s, tool, pinned, nil)
	h.mu.Unlock()
	if runtime == nil && c != nil {
		if runtime, lost, refused = h.awaitRuntime(ctx, s, tool, pinned); refused != nil {
			return nil, refused
		}
	}
	if err := h.checkCall(ctx, inv, joinName(pinned, tool), runtime != nil || lost, parameters, call.Confirmation); err != nil {
		return nil, err
	}
	if bytes.Contains(call.Parameters, []byte("-0")) { // checkCall has replaced a negative zero, perhaps
		call.Parameters = altar.AppendValue(make([]byte, 0, len(call.Parameters)), parameters)
	}
	return h.startCall(ctx, inv, pinned, runtime, call, streams)
}

// digestCall makes a digest that is the same for equal values.
func digestCall(tool string, parameters any) [sha256.Size]byte {
	text := append(make([]byte, 0, 512), tool...)
	text = append(text, 0)
	return sha256.Sum256(altar.AppendCanonical(text, parameters))
}

// joinCall returns a caller of the invocation that has the id of inv already, nil when there is none or
// the call is to be tried anew.
// h.mu is held.
func (h *Host) joinCall(inv *invocation, streams bool) (*Caller, *altar.Error) {
	old := inv.session.calls[inv.id]
	if old == nil {
		return nil, nil
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	if old.done && h.o.Now().After(old.expires) {
		return nil, nil
	}
	if old.digest != inv.digest {
		return nil, altar.Errorf(altar.InvalidParameters, "the invocation_id was used for another call in this session").With("path", "/invocation_id")
	}
	if old.done && !old.replay {
		return nil, nil
	}
	if old.base > 0 {
		return nil, altar.Errorf(altar.InternalError, "the call ran already, and its stream is too large to be sent again").With("reason", "not_replayable")
	}
	return old.addCaller(h, streams), nil
}

// addCaller adds a caller. inv.mu is held.
func (inv *invocation) addCaller(h *Host, streams bool) *Caller {
	c := &Caller{h: h, inv: inv, streams: streams, wake: h.newWake()}
	if inv.done {
		c.wakeUp()
	}
	inv.callers = append(inv.callers, c)
	h.callers.Add(1)
	return c
}

// checkCall checks all that can refuse a call before it begins. fulfilled says that a runtime executes
// the tool, or did until it was lost.
func (h *Host) checkCall(ctx context.Context, inv *invocation, name string, fulfilled bool, parameters any, confirmation string) *altar.Error {
	if inv.contract == nil {
		return h.errUnknownTool(inv.session, name)
	}
	tool := inv.contract.Name
	if err := h.checkSuspension(ctx, inv.contract); err != nil {
		return err
	}
	if !fulfilled {
		return altar.Errorf(altar.ToolNotFound, "no runtime fulfills %.280q in this session", name)
	}
	if err := inv.contract.checkParameters(parameters); err != nil {
		return err
	}
	if inv.contract.irreversible && !h.checkConfirmation(inv, confirmation) {
		return altar.Errorf(altar.AuthorizationFailed, "what %s does cannot be undone: send the same call again with this confirmation within %d seconds", tool, int(confirmTime.Seconds())).
			With("confirmation", h.confirmationFor(inv, h.o.Now().Add(confirmTime))).With("reason", "confirmation")
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

// startCall registers a call and sends it to a runtime: to that one if it is not nil and takes it.
func (h *Host) startCall(ctx context.Context, inv *invocation, pinned string, runtime *Runtime, call altar.ToolCall, streams bool) (*Caller, *altar.Error) {
	timeout := h.o.CallTimeout
	if ms := inv.contract.TimeoutMS; ms > 0 {
		timeout = h.o.MaxTimeout
		if ms < h.o.MaxTimeout.Milliseconds() {
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	inv.deadline = inv.begun.Add(timeout)
	inv.hostID = h.newCallID()
	if h.o.AuditParameters {
		inv.details = bytes.Clone(call.Parameters)
	}
	if inv.contract.Streaming {
		inv.space = make(chan struct{}, 1)
	}
	caller, joined, err := h.registerCall(inv, streams)
	if err != nil || joined {
		return caller, err
	}
	if inv.contract.irreversible {
		if err := h.audit.waitSynced(ctx, h.audit.addEntry(h.entryOf(inv, "begin", nil))); err != nil {
			h.o.Log.Error("a call is refused because the audit trail cannot be written", "error", err)
			h.finishCall(inv, outcome{err: altar.Errorf(altar.InternalError, "the call cannot be recorded"), again: true})
			return caller, nil
		}
	}
	left := time.Until(inv.deadline)
	timer := time.AfterFunc(left, func() {
		h.finishCall(inv, outcome{err: altar.Errorf(altar.ExecutionTimeout, "the tool did not end within %s", timeout).With("timeout_ms", timeout.Milliseconds()), cancel: "timeout", again: true})
	})
	inv.mu.Lock()
	inv.timer = timer
	if inv.done {
		timer.Stop()
	}
	inv.mu.Unlock()
	h.dispatchCall(inv, pinned, runtime, call, left)
	return caller, nil
}

// newCallID returns an invocation id towards a runtime: a UUID of version 8, whose last 12 digits count
// the calls.
func (h *Host) newCallID() string {
	id := append(make([]byte, 0, 40), h.prefix...)
	id = strconv.AppendUint(id, 1<<48|h.counter.Add(1)&(1<<48-1), 16) // 13 digits
	id[len(h.prefix)] = '-'
	return string(id)
}

// newCallPrefix returns what all ids of [Host.newCallID] begin with.
func newCallPrefix() string {
	r := randomHex(9)
	return r[:8] + "-" + r[8:12] + "-8" + r[12:15] + "-8" + r[15:]
}

// frames holds buffers for frames of calls, of at most keptFrame bytes each.
var frames = sync.Pool{New: func() any { return new([]byte) }}

const keptFrame = 64 << 10

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
	if caller, err := h.joinCall(inv, streams); caller != nil || err != nil {
		return caller, true, err
	}
	if h.contracts[inv.contract.Name] != inv.contract {
		return nil, false, altar.Errorf(altar.ToolNotFound, "the contract %s was changed while the call was checked: read the tools again", inv.contract.Name)
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

// dispatchCall sends a call to a runtime, and to another when it cannot be sent. left is the time until
// its deadline.
func (h *Host) dispatchCall(inv *invocation, pinned string, runtime *Runtime, call altar.ToolCall, left time.Duration) {
	buffer := frames.Get().(*[]byte)
	defer frames.Put(buffer)
	var tried map[*Runtime]bool
	for ; ; left = time.Until(inv.deadline) {
		if runtime == nil {
			h.mu.Lock()
			runtime, _ = h.chooseRuntime(inv.session, inv.contract.Name, pinned, tried)
			h.mu.Unlock()
		}
		if left <= 0 {
			return // the timer ends the call
		}
		if runtime == nil {
			h.finishCall(inv, outcome{err: altar.Errorf(altar.RuntimeUnavailable, "no runtime that executes %.280q is connected", joinName(pinned, inv.contract.Name)), again: true})
			return
		}
		inv.mu.Lock()
		if inv.done {
			inv.mu.Unlock()
			return
		}
		inv.runtime = runtime
		inv.mu.Unlock()
		frame := altar.AppendToolCall((*buffer)[:0], &altar.ToolCall{
			InvocationID: inv.hostID, SessionID: inv.session.runtimeID, ToolName: inv.contract.Name, Parameters: call.Parameters, TimeoutMS: max(left.Milliseconds(), 1), ClientInvocationID: inv.id,
		})
		if cap(frame) <= keptFrame {
			*buffer = frame
		}
		if runtime.sendCall(inv, frame) {
			inv.mu.Lock()
			canceled := inv.canceled
			inv.mu.Unlock()
			if canceled && runtime.removeCall(inv) { // it ended before the runtime knew it
				runtime.sendMessage(altar.CancelCall{InvocationID: inv.hostID, Reason: "cancelled"})
			}
			return
		}
		if tried == nil {
			tried = map[*Runtime]bool{}
		}
		tried[runtime], runtime = true, nil
	}
}
