package limit

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// A SlotRule says how many may do something at the same time.
type SlotRule struct {
	Name string // names the limit in metrics
	All  int    // of all together
	Each int    // of one network of clients; 0: no bound of its own
	// Waiting is how many callers may wait for a slot; 0: a caller that finds none is refused at
	// once.
	Waiting int
	Retry   time.Duration // what a refused client is told to wait; a second when 0
}

// Slots applies a [SlotRule]. Make them with [Set.Slots].
type Slots struct {
	rule SlotRule
	free chan struct{} // one element for each slot that is held

	mu      sync.Mutex // guards the following fields
	each    map[netip.Prefix]int
	waiting int
	taken   uint64
	refused uint64
	all     uint64
}

// Slots makes slots that the set lists.
func (s *Set) Slots(r SlotRule) *Slots {
	if r.Retry == 0 {
		r.Retry = time.Second
	}
	slots := &Slots{rule: r, free: make(chan struct{}, r.All), each: map[netip.Prefix]int{}}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.slots = append(s.slots, slots)
	}
	return slots
}

// Acquire takes a slot for a client, and waits for one if the rule lets callers wait. The caller
// calls release once it is done. The error is an [*ExceededError], also when ctx ends while the
// caller waits. The zero address counts against All alone; so does a loopback address, because a
// proxy on this machine asks for everybody.
func (s *Slots) Acquire(ctx context.Context, client netip.Addr) (release func(), err error) {
	network := netip.Prefix{}
	if s.rule.Each > 0 && client.IsValid() && !client.IsLoopback() {
		network = Network(client)
	}
	if !s.enterNetwork(network) {
		return nil, &ExceededError{Rule: s.rule.Name, Quota: s.rule.Each, Wait: s.rule.Retry}
	}
	if !s.acquireAny(ctx) {
		s.leaveNetwork(network)
		return nil, &ExceededError{Rule: s.rule.Name, All: true, Quota: s.rule.All, Wait: s.rule.Retry}
	}
	return sync.OnceFunc(func() {
		<-s.free
		s.leaveNetwork(network)
	}), nil
}

// enterNetwork counts a caller for its network, if that has room.
func (s *Slots) enterNetwork(network netip.Prefix) bool {
	if !network.IsValid() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each[network] >= s.rule.Each {
		s.refused++
		return false
	}
	s.each[network]++
	return true
}

func (s *Slots) leaveNetwork(network netip.Prefix) {
	if !network.IsValid() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each[network]--; s.each[network] == 0 {
		delete(s.each, network)
	}
}

// acquireAny takes any slot, or waits for one.
func (s *Slots) acquireAny(ctx context.Context) bool {
	select {
	case s.free <- struct{}{}:
		s.countResult(true)
		return true
	default:
	}
	if !s.joinQueue() {
		s.countResult(false)
		return false
	}
	defer s.leaveQueue()
	select {
	case s.free <- struct{}{}:
		s.countResult(true)
		return true
	case <-ctx.Done():
		s.countResult(false)
		return false
	}
}

// joinQueue lets a caller wait, if there is room.
func (s *Slots) joinQueue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= s.rule.Waiting {
		return false
	}
	s.waiting++
	return true
}

func (s *Slots) leaveQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

func (s *Slots) countResult(taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken {
		s.taken++
		return
	}
	s.all++
}

func (s *Slots) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Name: s.rule.Name, Taken: s.taken, Refused: s.refused, RefusedAll: s.all, Keys: len(s.each), InUse: len(s.free), Waiting: s.waiting}
}
