package admission

import (
	"context"
	"errors"
	"fmt"
	"gazetteer/registry"
	"net/netip"
	"sync"
	"time"
)

// Limits say how often something may be done, so often at once and then as it
// comes back evenly. 0 stands for the default, a negative number lifts a limit.
//
// A network is an IPv4 address or an IPv6 /64. From the wider one around it, an
// IPv4 /24 or an IPv6 /48, four times as much is taken: who is given a /48 has
// 65,536 networks.
type Limits struct {
	Registrations    int // of one network in an hour; 20
	AllRegistrations int // of all networks together in an hour; 1000
	Reports          int // of abuse, of one network in a day; 10
	Changes          int // writes of one network in an hour, to whichever agents; 1200
	AllChanges       int // of all networks together in an hour; 60000
	// Failures are writes of one network in an hour whose proof does not hold, such
	// as guesses at a secret; 60.
	Failures int
	Writes   int // of one agent in an hour; 300
}

func (l Limits) orDefaults() Limits {
	for _, row := range []struct {
		to *int
		n  int
	}{{&l.Registrations, 20}, {&l.AllRegistrations, 1000}, {&l.Reports, 10}, {&l.Changes, 1200}, {&l.AllChanges, 60000}, {&l.Failures, 60}, {&l.Writes, 300}} {
		if *row.to == 0 {
			*row.to = row.n
		}
	}
	return l
}

const (
	// wideNetworkFactor is how many times as much is taken from the wider network.
	wideNetworkFactor = 4
	// maxNetworks bounds how many networks are counted at a time; those beyond
	// share one count.
	maxNetworks        = 20000
	minCleanupInterval = time.Minute
)

// allNetworks and crowd are counted where networks are: all together, and those for
// whom there is no room.
var (
	allNetworks      = netip.Prefix{}
	overflowNetworks = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
)

// A budget bounds how often networks do something within a span. It remembers of
// each one time only, and of those nothing that have paid back what they took.
type networkLimiter struct {
	each, all int // negative: no limit
	span      time.Duration

	mu        sync.Mutex // guards following
	paidUntil map[netip.Prefix]time.Time
	swept     time.Time
}

func newNetworkLimiter(each, all int, span time.Duration) *networkLimiter {
	return &networkLimiter{each: each, all: all, span: span, paidUntil: map[netip.Prefix]time.Time{}}
}

// A share is what one network may take of a budget.
type networkLimit struct {
	of netip.Prefix
	n  int
}

// limitsFor are those that a client takes from; b.mu is held.
func (b *networkLimiter) limitsFor(client netip.Addr, now time.Time) []networkLimit {
	var out []networkLimit
	if b.all >= 0 {
		out = append(out, networkLimit{allNetworks, b.all})
	}
	if b.each < 0 {
		return out
	}
	narrow, wide := networksOf(client)
	_, known := b.paidUntil[narrow]
	if !known && len(b.paidUntil) >= maxNetworks && now.Sub(b.swept) >= minCleanupInterval {
		b.dropExpired(now)
	}
	if !known && len(b.paidUntil) >= maxNetworks {
		return append(out, networkLimit{overflowNetworks, wideNetworkFactor * b.each})
	}
	return append(out, networkLimit{narrow, b.each}, networkLimit{wide, wideNetworkFactor * b.each})
}

func (b *networkLimiter) dropExpired(now time.Time) {
	b.swept = now
	for of, busy := range b.paidUntil {
		if !busy.After(now) {
			delete(b.paidUntil, of)
		}
	}
}

// delayAfter returns until when a share is busy once more is taken of it, and how long
// it is until that may be.
func (b *networkLimiter) delayAfter(s networkLimit, now time.Time) (busy time.Time, wait time.Duration) {
	if s.n == 0 {
		return now, b.span
	}
	busy = b.paidUntil[s.of]
	if busy.Before(now) {
		busy = now
	}
	busy = busy.Add(b.span / time.Duration(s.n))
	return busy, busy.Sub(now.Add(b.span))
}

// delayFor returns how long it is until a client may do something, 0 for now, and
// whether everybody has to wait.
func (b *networkLimiter) delayFor(client netip.Addr, now time.Time) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.longestDelay(b.limitsFor(client, now), now)
}

func (b *networkLimiter) longestDelay(shares []networkLimit, now time.Time) (longest time.Duration, all bool) {
	for _, s := range shares {
		if _, wait := b.delayAfter(s, now); wait > longest {
			longest, all = wait, s.of == allNetworks
		}
	}
	return longest, all
}

// reserveFor counts one thing that a client does. If it has to wait for that, nothing
// is counted.
func (b *networkLimiter) reserveFor(client netip.Addr, now time.Time) (wait time.Duration, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shares := b.limitsFor(client, now)
	if wait, all := b.longestDelay(shares, now); wait > 0 {
		return wait, all
	}
	for _, s := range shares {
		b.paidUntil[s.of], _ = b.delayAfter(s, now)
	}
	return 0, false
}

// cancelReservation takes back what was counted for something that did not come about.
func (b *networkLimiter) cancelReservation(client netip.Addr, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.limitsFor(client, now) {
		if busy, ok := b.paidUntil[s.of]; ok && s.n > 0 {
			b.paidUntil[s.of] = busy.Add(-b.span / time.Duration(s.n))
		}
	}
}

// networksOf returns the network of a client and the wider one around it.
func networksOf(client netip.Addr) (narrow, wide netip.Prefix) {
	client = client.Unmap().WithZone("")
	bits, wider := 64, 48
	if client.Is4() {
		bits, wider = 32, 24
	}
	return netip.PrefixFrom(client, bits).Masked(), netip.PrefixFrom(client, wider).Masked()
}

// wideNetwork is the wider network of a client as text, which is all that is
// kept of where something came from; "" for a client without an address.
func wideNetwork(client netip.Addr) string {
	if !client.IsValid() {
		return ""
	}
	_, wide := networksOf(client)
	return wide.String()
}

// reserveRegistration counts a registration. The function that it returns takes that back. A
// client without an address is not counted.
func (p *Policy) reserveRegistration(client netip.Addr) (giveBack func(), err error) {
	if !client.IsValid() {
		return func() {}, nil
	}
	now := p.now()
	if err := p.registrationLimitRefusal(p.registrations.reserveFor(client, now)); err != nil {
		return nil, err
	}
	return func() { p.registrations.cancelReservation(client, now) }, nil
}

// checkRegistrationLimit refuses a client whose registration will not be taken, before any work
// is done for it.
func (p *Policy) checkRegistrationLimit(client netip.Addr) error {
	if !client.IsValid() {
		return nil
	}
	return p.registrationLimitRefusal(p.registrations.delayFor(client, p.now()))
}

// registrationLimitRefusal is the refusal of who has to wait.
func (p *Policy) registrationLimitRefusal(wait time.Duration, all bool) error {
	switch {
	case wait == 0:
		return nil
	case all:
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "registrations-all", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being registered: at most %d an hour from everybody", p.limits.AllRegistrations),
			Help: "wait as long as Retry-After says"}
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "registrations-network", Wait: wait,
		Message: fmt.Sprintf("Rate limit exceeded: your network has registered very many agents: at most %d an hour from one, and %d from those around it", p.limits.Registrations, wideNetworkFactor*p.limits.Registrations),
		Help:    "wait as long as Retry-After says; who needs more asks the operator of the registry"}
}

// AdmitChange counts one write of a client to an agent that is there, before
// anything is read or judged of it. It refuses a client whose network is on the
// block list, writes too often, or has too often failed to prove who sends what.
// Whoever takes writes from the network calls it first. A client without an
// address is not counted. The error is a [*Refusal] with [ErrForbidden] or
// [ErrTooMany].
func (p *Policy) AdmitChange(ctx context.Context, client netip.Addr) error {
	if err := p.CheckNetwork(ctx, client); err != nil || !client.IsValid() {
		return err
	}
	now := p.now()
	if err := p.checkFailures(client, now); err != nil {
		return err
	}
	wait, all := p.changes.reserveFor(client, now)
	switch {
	case wait == 0:
		return nil
	case all:
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "changes-all", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being changed: at most %d changes an hour from everybody", p.limits.AllChanges),
			Help: "wait as long as Retry-After says"}
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "changes-network", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: your network has changed agents very often: at most %d times an hour", p.limits.Changes),
		Help: "wait as long as Retry-After says; several members can be changed by one update"}
}

// checkFailures refuses a client whose writes were refused again and again.
func (p *Policy) checkFailures(client netip.Addr, now time.Time) error {
	if !client.IsValid() {
		return nil
	}
	wait, _ := p.failures.delayFor(client, now)
	if wait == 0 {
		return nil
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "too-many-failures", Wait: wait, Message: fmt.Sprintf("more than %d writes from your network did not prove who sends them within an hour", p.limits.Failures),
		Help: "wait as long as Retry-After says, and look at the key or secret that is used"}
}

// CheckClient refuses a client whose network is blocked or has failed too many proofs.
func (p *Policy) CheckClient(ctx context.Context, client netip.Addr, now time.Time) error {
	if err := p.CheckNetwork(ctx, client); err != nil {
		return err
	}
	return p.checkFailures(client, now)
}

// CountFailure counts a write whose proof does not hold.
func (p *Policy) CountFailure(client netip.Addr, now time.Time, err error) {
	if client.IsValid() && (errors.Is(err, registry.ErrWrongSecret) || errors.Is(err, registry.ErrUnauthorized)) {
		p.failures.reserveFor(client, now)
	}
}
