package wait

import "sync"

// A Broadcast wakes all goroutines that wait for a change. The zero value is ready; its methods may
// be called from any goroutine.
type Broadcast struct {
	mu   sync.Mutex
	next chan struct{} // nil while nobody waits
}

// Next returns a channel that is closed at the next [Broadcast.Notify]. Ask for it before looking
// at what may change, so that no change is missed between the two.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Notify closes the channels that Next has returned.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
