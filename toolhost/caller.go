package toolhost

import (
	"context"
	"time"

	"gazetteer/protocol/altar"
)

// A Caller waits for one invocation. Several may wait for the same one.
type Caller struct {
	h       *Host
	inv     *invocation
	streams bool
	wake    chan struct{}

	// inv.mu guards the following.
	next int    // the number of the chunk that it takes next
	then func() // of Notify; nil: Wait and Next wait for wake
	cut  *altar.Error
	left bool
}

// newWake returns an empty channel for a caller.
func (h *Host) newWake() chan struct{} {
	if wake, ok := h.wakes.Get().(chan struct{}); ok {
		return wake
	}
	return make(chan struct{}, 1)
}

// wakeUp wakes a caller.
func (c *Caller) wakeUp() {
	if c.then != nil {
		go c.then()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Timeout returns how long the call may take in all.
func (c *Caller) Timeout() time.Duration { return c.inv.deadline.Sub(c.inv.begun) }

// Leave ends the caller's wait. The call ends when no caller waits for it any more.
func (c *Caller) Leave() {
	inv := c.inv
	inv.mu.Lock()
	if c.left {
		inv.mu.Unlock()
		return
	}
	c.left = true
	c.h.callers.Add(-1)
	inv.removeCaller(c) // nobody wakes it any more
	select {
	case <-c.wake:
	default:
	}
	c.h.wakes.Put(c.wake)
	c.wake = nil
	abandoned := len(inv.callers) == 0 && !inv.done
	inv.mu.Unlock()
	if abandoned {
		c.h.finishCall(inv, outcome{err: altar.Errorf(altar.ExecutionFailed, "the caller has left"), cancel: "cancelled", again: true})
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
	return c.Result(), nil
}

// Notify registers then, which is called once there is a [Caller.Result]; it is an alternative to Wait.
// The goroutine that ends the call runs it, so it must not block. It may be registered after Leave.
func (c *Caller) Notify(then func()) {
	if c.inv.contract.irreversible {
		result := then
		then = func() {
			go func() {
				c.awaitAudit(context.Background())
				result()
			}()
		}
	}
	c.inv.mu.Lock()
	ended := c.inv.done || c.cut != nil
	if !ended {
		c.then = then
	}
	c.inv.mu.Unlock()
	if ended {
		then()
	}
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
	if err := c.h.audit.waitSynced(ctx, entry); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.h.o.Log.Error("the outcome of an irreversible call is not in the audit trail", "error", err)
	}
	return nil
}

// Result returns the outcome of a call that has ended.
func (c *Caller) Result() altar.ToolResult {
	inv := c.inv
	inv.mu.Lock()
	defer inv.mu.Unlock()
	r := altar.ToolResult{InvocationID: inv.id, Status: altar.Success, Payload: inv.payload, RuntimeMetadata: inv.meta}
	err := inv.err
	if c.cut != nil {
		err = c.cut
	}
	if err == nil && inv.total > maxAggregate {
		err = altar.Errorf(altar.InternalError, "the chunks are larger than %d bytes together: request a stream (Accept: text/event-stream)", maxAggregate).With("limit", maxAggregate)
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
// is_final. ended is true when nothing follows: then the outcome is that of [Caller.Wait]. There are no
// chunks if the call was refused, failed before the first one, or does not stream.
func (c *Caller) Next(ctx context.Context, buffer []altar.StreamChunk) (chunks []altar.StreamChunk, ended bool, err error) {
	inv := c.inv
	for {
		inv.mu.Lock()
		if c.cut != nil {
			last := altar.StreamChunk{InvocationID: inv.id, ChunkID: int64(c.next), Error: c.cut, IsFinal: true}
			inv.mu.Unlock()
			return append(buffer[:0], last), true, nil
		}
		chunks = append(buffer[:0], inv.chunks[max(c.next-inv.base, 0):]...)
		c.next = inv.base + len(inv.chunks)
		done := inv.done
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
