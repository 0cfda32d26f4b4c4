package limit

import (
	"cmp"
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
	// Fair, if not 0, keeps a crowd from holding All, as in [Rule]: while everything is free, a
	// network may hold one Fair-th of All, the wider network around it two, and the IPv4 /16 or
	// IPv6 /32 around that four; the part shrinks with the square of what is free. The first of
	// each is admitted as long as anything is free.
	Fair int
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
	entered int // callers that hold a slot or wait for one
	waiting int
	taken   uint64
	refused uint64
	all     uint64
}

// Slots makes slots that the set lists.
func (s *Set) Slots(r SlotRule) *Slots {
	r.Retry = cmp.Or(r.Retry, time.Second)
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
	networks := s.networksOf(client)
	if err := s.enterNetworks(networks); err != nil {
		return nil, err
	}
	if !s.acquireAny(ctx) {
		s.leaveNetworks(networks)
		return nil, &ExceededError{Rule: s.rule.Name, All: true, Quota: s.rule.All, Wait: s.rule.Retry}
	}
	return sync.OnceFunc(func() {
		<-s.free
		s.leaveNetworks(networks)
	}), nil
}

// networksOf returns the networks that a client's slot counts for: its own, the wider one, and the one
// around that.
func (s *Slots) networksOf(client netip.Addr) []netip.Prefix {
	switch {
	case !client.IsValid() || client.IsLoopback():
		return nil
	case s.rule.Fair > 0:
		return []netip.Prefix{Network(client), WideNetwork(client), Truncate(client, 16, 32)}
	case s.rule.Each > 0:
		return []netip.Prefix{Network(client)}
	}
	return nil
}

// slotShares are the times of the fair part, for the networks in the order of networksOf.
var slotShares = []int{1, wideShare, crowdShare}

// enterNetworks counts a caller for its networks, if they have room.
func (s *Slots) enterNetworks(networks []netip.Prefix) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := max(0, float64(s.rule.All-s.entered)/float64(max(s.rule.All, 1)))
	for i, network := range networks {
		held := s.each[network]
		full := i == 0 && s.rule.Each > 0 && held >= s.rule.Each
		crowded := s.rule.Fair > 0 && float64(held+1) > fairPart(slotShares[i], s.rule.All, s.rule.Fair, left)
		switch {
		case !full && !crowded:
		case full || left >= crowdedPart:
			s.refused++
			return &ExceededError{Rule: s.rule.Name, Quota: held, Wait: s.rule.Retry}
		default:
			s.all++
			return &ExceededError{Rule: s.rule.Name, All: true, Quota: s.rule.All, Wait: s.rule.Retry}
		}
	}
	s.entered++
	for _, network := range networks {
		s.each[network]++
	}
	return nil
}

func (s *Slots) leaveNetworks(networks []netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered--
	for _, network := range networks {
		if s.each[network]--; s.each[network] == 0 {
			delete(s.each, network)
		}
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
