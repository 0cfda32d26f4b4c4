package fetch

import (
	"context"
	"sync"
)

// hostLocks lets one goroutine at a time use a host.
type hostLocks struct {
	mu    sync.Mutex // guards the following fields
	hosts map[string]*hostLock
}

// A hostLock is the lock of one host.
type hostLock struct {
	taken chan struct{} // holds one element while the lock is held
	users int           // goroutines that hold the lock or wait for it; guarded by hostLocks.mu
}

// lockHost waits for the lock of a host, until ctx ends. unlock releases it.
func (t *hostLocks) lockHost(ctx context.Context, host string) (unlock func(), err error) {
	t.mu.Lock()
	own := t.hosts[host]
	if own == nil {
		own = &hostLock{taken: make(chan struct{}, 1)}
		t.hosts[host] = own
	}
	own.users++
	t.mu.Unlock()

	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.hosts, host)
		}
	}
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
	return func() {
		<-own.taken
		forget()
	}, nil
}
