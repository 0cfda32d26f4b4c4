package route

import (
	"container/list"
	"net/http"
	"sync"
	"time"
)

const (
	// maxTransfers is how many bytes of large answers may wait in memory for slow readers, over all
	// connections.
	maxTransfers = 128 << 20
	// largeAnswer is the size from which an answer counts. The buffers of the system take smaller
	// ones.
	largeAnswer = 16 << 10
	// minTransfer is the time that a client has to read a large answer while memory is short.
	minTransfer = 2 * time.Second
)

// transfers bounds the memory of large answers that are being sent. Without it, clients that
// request large answers and never read them would hold all of them for the time limit of their
// connections.
type transfers struct {
	now func() time.Time
	max int

	mu    sync.Mutex // guards the following fields
	bytes int
	open  list.List // of *transfer, oldest first
}

// A transfer is one answer that is being sent.
type transfer struct {
	bytes int
	begun time.Time
	to    http.ResponseWriter
}

// begin counts an answer of that size until end is called. If there is no room, it interrupts the
// oldest transfers that took minTransfer; ok is false if that is not enough.
func (t *transfers) begin(to http.ResponseWriter, bytes int) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for t.bytes+bytes > t.max {
		oldest := t.open.Front()
		if oldest == nil || now.Sub(oldest.Value.(*transfer).begun) < minTransfer {
			return nil, false
		}
		// The write that is under way fails, and the connection is closed.
		_ = http.NewResponseController(oldest.Value.(*transfer).to).SetWriteDeadline(time.Unix(1, 0))
		t.remove(oldest)
	}
	place := t.open.PushBack(&transfer{bytes: bytes, begun: now, to: to})
	t.bytes += bytes
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.remove(place)
	}, true
}

// remove ends the count of a transfer, once. The caller holds mu.
func (t *transfers) remove(place *list.Element) {
	x := place.Value.(*transfer)
	if x.to == nil {
		return
	}
	t.open.Remove(place)
	t.bytes -= x.bytes
	x.to = nil
}
