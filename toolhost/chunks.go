package toolhost

import (
	"slices"
	"time"

	"gazetteer/protocol/altar"
)

// Limits of the chunks of one call.
const (
	maxAggregate = 1 << 20 // bytes of the chunks that a client gets at once, and of those that are replayed
	maxPending   = 4 << 20 // bytes of chunks that wait for the slowest caller
	// A full queue stalls the runtime and its other calls: for at most maxStall plus a tenth of the
	// stream's duration.
	maxStall  = 500 * time.Millisecond
	stallStep = 50 * time.Millisecond
)

func (inv *invocation) hasChunks() bool {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.base+len(inv.chunks) > 0
}

// receiveChunk hands a chunk to the callers. One out of order ends the stream.
func (r *Runtime) receiveChunk(m altar.StreamChunk) {
	inv := r.findCall(m.InvocationID)
	if inv == nil {
		r.h.dropped.Add(1)
		return
	}
	if !inv.contract.Streaming {
		r.h.finishCall(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a chunk for %s, which does not stream", inv.contract.Name), cancel: "protocol error"})
		return
	}
	inv.mu.Lock()
	next := int64(inv.base + len(inv.chunks))
	if inv.done || m.ChunkID != next {
		inv.mu.Unlock()
		r.h.finishCall(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent chunk %d where chunk %d was due", m.ChunkID, next), cancel: "protocol error"})
		return
	}
	m.InvocationID = inv.id
	if m.IsFinal && string(m.Payload) == "null" { // many serializers write an absent member so
		m.Payload = nil
	}
	if m.Error != nil {
		m.Error, m.Payload, m.IsFinal = knownError(m.Error), nil, true
	}
	if m.IsFinal {
		inv.mu.Unlock()
		r.h.finishCall(inv, outcome{err: m.Error, last: &m, again: mayRunAgain(m.Error)})
		return
	}
	inv.appendChunk(m)
	over := inv.boundChunks()
	inv.mu.Unlock()
	if over != nil {
		r.h.finishCall(inv, outcome{err: over, cancel: "the caller does not read the chunks"})
	}
}

// appendChunk adds a chunk and wakes the callers. inv.mu is held.
func (inv *invocation) appendChunk(m altar.StreamChunk) {
	inv.chunks = append(inv.chunks, m)
	inv.total += len(m.Payload)
	inv.kept += len(m.Payload) + chunkOverhead
	for _, c := range inv.callers {
		if c.streams {
			c.wakeUp()
		}
	}
}

// chunkOverhead is what a chunk without payload counts.
const chunkOverhead = 96

// boundChunks bounds the buffered chunks: callers that want all at once are refused above
// maxAggregate. Callers that do not read chunks as fast as they arrive delay the runtime for a
// short time and are then disconnected. It returns an error if no caller is left. inv.mu is held.
func (inv *invocation) boundChunks() *altar.Error {
	if inv.total <= maxAggregate && inv.kept <= maxPending {
		return nil
	}
	tooLarge := altar.Errorf(altar.InternalError, "the chunks are larger than %d bytes together: request a stream (Accept: text/event-stream)", maxAggregate).With("limit", maxAggregate)
	for _, c := range slices.Clone(inv.callers) {
		if !c.streams {
			inv.cutCaller(c, tooLarge)
		}
	}
	if len(inv.callers) == 0 {
		return tooLarge
	}
	inv.dropTakenChunks()
	for inv.kept > maxPending && !inv.done {
		left := maxStall + time.Since(inv.begun)/10 - inv.stalled
		if left <= 0 {
			break
		}
		begun := time.Now()
		inv.mu.Unlock()
		timer := time.NewTimer(min(left, stallStep))
		select {
		case <-inv.space:
		case <-timer.C:
		}
		timer.Stop()
		inv.mu.Lock()
		inv.stalled += time.Since(begun)
		inv.dropTakenChunks()
	}
	if inv.done || inv.kept <= maxPending {
		return nil
	}
	slow := altar.Errorf(altar.InternalError, "the client reads the stream too slowly").With("reason", "slow_client")
	for _, c := range slices.Clone(inv.callers) {
		if c.next <= inv.base {
			inv.cutCaller(c, slow)
		}
	}
	if len(inv.callers) == 0 {
		return slow
	}
	inv.dropTakenChunks()
	return nil
}

// cutCaller ends one caller with an error. inv.mu is held.
func (inv *invocation) cutCaller(c *Caller, err *altar.Error) {
	c.cut = err
	inv.removeCaller(c)
	c.wakeUp()
}

// removeCaller removes a caller, if it is still there. inv.mu is held.
func (inv *invocation) removeCaller(c *Caller) {
	if i := slices.Index(inv.callers, c); i >= 0 {
		if inv.callers = slices.Delete(inv.callers, i, i+1); len(inv.callers) == 0 {
			inv.callers = nil
		}
	}
}

// dropTakenChunks forgets the chunks that every caller has taken, once they are too many to be sent
// again. inv.mu is held.
func (inv *invocation) dropTakenChunks() {
	if inv.total <= maxAggregate && inv.kept <= maxPending {
		return
	}
	first := inv.base + len(inv.chunks)
	for _, c := range inv.callers {
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
