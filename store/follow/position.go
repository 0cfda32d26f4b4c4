package follow

import (
	"context"
	"sync"

	"gazetteer/internal/wait"
	"gazetteer/store"
)

// A Position is the position of a follower in the log of a store. Its methods may be called from
// any goroutine. The zero value is the beginning of the log.
type Position struct {
	moved wait.Broadcast

	mu     sync.Mutex // guards the following fields
	cursor store.Cursor
	err    error
}

// Cursor returns the position up to which the log was followed.
func (p *Position) Cursor() store.Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cursor
}

// MoveTo sets the cursor and wakes the waiting callers.
func (p *Position) MoveTo(c store.Cursor) {
	p.mu.Lock()
	p.cursor = c
	p.mu.Unlock()
	p.moved.Notify()
}

// SetError sets the error that [Position.WaitFor] returns instead of waiting; after SetError(nil)
// it waits again.
func (p *Position) SetError(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	p.moved.Notify()
}

// WaitFor waits until the log was followed up to a sequence. The error is that of ctx, or the one
// set by [Position.SetError].
func (p *Position) WaitFor(ctx context.Context, seq uint64) error {
	for {
		moved := p.moved.Next()
		p.mu.Lock()
		at, err := p.cursor.Seq, p.err
		p.mu.Unlock()
		if at >= seq {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Behind returns how many writes the log of s has beyond the position.
func (p *Position) Behind(s store.Store) uint64 {
	at, head := p.Cursor(), s.Head()
	if at.Store != head.Store || at.Incarnation != head.Incarnation {
		return head.Seq
	}
	return head.Seq - min(at.Seq, head.Seq)
}
