package toolhost

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/protocol/altar"
)

// Limits of the finished calls that are kept to answer, or to refuse, a call of the same id.
const (
	replayTime     = 5 * time.Minute
	maxReplays     = 262_144
	maxReplayBytes = 256 << 20
)

// An outcome ends an invocation.
type outcome struct {
	payload json.RawMessage
	meta    json.RawMessage
	err     *altar.Error
	cancel  string // why the runtime is told to stop; "" when it need not be
	last    *altar.StreamChunk
	again   bool // nothing is replayed: the next call of the same id and values begins anew
}

// knownError returns the error of a runtime with a code of appendix A. What only the host can know is
// not taken from a runtime: that a session has ended, and the token that confirms a call.
func knownError(e *altar.Error) *altar.Error {
	delete(e.Details, "confirmation")
	if e.Code.Known() && e.Code != altar.SessionInvalid {
		return e
	}
	known := altar.Errorf(altar.ExecutionFailed, "%s", e.Message).With("code", string(e.Code))
	if e.Details != nil {
		known.With("details", e.Details)
	}
	return known
}

// receiveResult ends a call with the result of its runtime. A result for a call that does not run there
// is counted and dropped.
func (r *Runtime) receiveResult(m altar.ToolResult) {
	inv := r.findCall(m.InvocationID)
	if inv == nil {
		r.h.dropped.Add(1)
		return
	}
	o := outcome{payload: m.Payload}
	switch jsontext.Value(m.RuntimeMetadata).Kind() {
	case '{':
		o.meta = m.RuntimeMetadata
	case 'n', 0: // null and absent are the same
	default:
		r.sendError(m.InvocationID, altar.Errorf(altar.InvalidParameters, "runtime_metadata is no object, and is omitted").With("path", "/runtime_metadata"))
	}
	switch {
	case m.Status == altar.Failure && m.Error != nil:
		o.err = knownError(m.Error)
		o.payload = nil
	case m.Status == altar.Failure:
		o.err = altar.Errorf(altar.ExecutionFailed, "the runtime gives no reason")
		o.payload = nil
	case m.Status != altar.Success:
		o = outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a result with the status %.40q", m.Status)}
		r.sendError(m.InvocationID, altar.Errorf(altar.InvalidParameters, "status is %.40q, want success or error", m.Status).With("path", "/status"))
	case m.Error != nil:
		o = outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a result with the status success and an error")}
		r.sendError(m.InvocationID, altar.Errorf(altar.InvalidParameters, "a result with the status success has no error").With("path", "/error"))
	}
	if o.err == nil && inv.hasChunks() {
		o = outcome{err: altar.Errorf(altar.InternalError, "the runtime ended a stream without a final chunk")}
	}
	o.again = mayRunAgain(o.err)
	r.h.finishCall(inv, o)
}

// mayRunAgain reports whether a call that a runtime ended with this error begins anew under its id.
func mayRunAgain(err *altar.Error) bool {
	return err != nil && (err.Code == altar.RuntimeUnavailable || err.Code == altar.ExecutionTimeout)
}

// finishCall ends an invocation; only the first outcome counts.
func (h *Host) finishCall(inv *invocation, o outcome) {
	inv.mu.Lock()
	if inv.done {
		inv.mu.Unlock()
		return
	}
	inv.done, inv.payload, inv.meta, inv.err = true, o.payload, o.meta, o.err
	inv.canceled = o.cancel != ""
	inv.replay, inv.expires = !o.again, h.o.Now().Add(replayTime)
	switch {
	case o.last != nil:
		inv.chunks = append(inv.chunks, *o.last)
		inv.total += len(o.last.Payload)
	case o.err != nil && inv.base+len(inv.chunks) > 0:
		inv.chunks = append(inv.chunks, altar.StreamChunk{InvocationID: inv.id, ChunkID: int64(inv.base + len(inv.chunks)), Error: o.err, IsFinal: true})
	}
	inv.audited = h.audit.addEntry(h.entryOf(inv, "end", o.err))
	notify := make([]func(), 0, 4)
	for _, c := range inv.callers {
		if c.then != nil {
			notify = append(notify, c.then)
		} else {
			c.wakeUp()
		}
	}
	runtime, timer, size := inv.runtime, inv.timer, len(o.payload)+inv.kept
	// Finished calls stay in memory for replays; drop what a replay does not need.
	inv.timer, inv.runtime, inv.details = nil, nil, nil
	if inv.base > 0 {
		size = 0
	}
	inv.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if runtime != nil {
		runtime.removeCall(inv)
		if o.cancel != "" {
			runtime.sendMessage(altar.CancelCall{InvocationID: inv.hostID, Reason: o.cancel})
		}
	}
	h.releaseCall(inv, o.again, size)
	for _, then := range notify {
		then()
	}
}

// releaseCall removes a finished call from the counts, and keeps it for replays. If again is set, it
// keeps only what refuses another call of the same id.
func (h *Host) releaseCall(inv *invocation, again bool, size int) {
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
	if s.ended || again && s.calls[inv.id] != inv {
		return
	}
	if again {
		inv = &invocation{id: inv.id, session: s, digest: inv.digest, done: true, expires: inv.expires}
		s.calls[inv.id], size = inv, 0
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
