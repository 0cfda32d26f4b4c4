package registry

import (
	"context"
	"errors"
	"fmt"
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
	// wideShare is how many times as much is taken from the wider network.
	wideShare = 4
	// maxNetworks bounds how many networks are counted at a time; those beyond
	// share one count.
	maxNetworks = 20000
	sweepPause  = time.Minute
)

// everybody and crowd are counted where networks are: all together, and those for
// whom there is no room.
var (
	everybody = netip.Prefix{}
	crowd     = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
)

// A budget bounds how often networks do something within a span. It remembers of
// each one time only, and of those nothing that have paid back what they took.
type budget struct {
	each, all int // negative: no limit
	span      time.Duration

	mu    sync.Mutex // guards following
	busy  map[netip.Prefix]time.Time
	swept time.Time
}

func newBudget(each, all int, span time.Duration) *budget {
	return &budget{each: each, all: all, span: span, busy: map[netip.Prefix]time.Time{}}
}

// A share is what one network may take of a budget.
type share struct {
	of netip.Prefix
	n  int
}

// shares are those that a client takes from; b.mu is held.
func (b *budget) shares(client netip.Addr, now time.Time) []share {
	var out []share
	if b.all >= 0 {
		out = append(out, share{everybody, b.all})
	}
	if b.each < 0 {
		return out
	}
	narrow, wide := networksOf(client)
	_, known := b.busy[narrow]
	if !known && len(b.busy) >= maxNetworks && now.Sub(b.swept) >= sweepPause {
		b.sweep(now)
	}
	if !known && len(b.busy) >= maxNetworks {
		return append(out, share{crowd, wideShare * b.each})
	}
	return append(out, share{narrow, b.each}, share{wide, wideShare * b.each})
}

func (b *budget) sweep(now time.Time) {
	b.swept = now
	for of, busy := range b.busy {
		if !busy.After(now) {
			delete(b.busy, of)
		}
	}
}

// after returns until when a share is busy once more is taken of it, and how long
// it is until that may be.
func (b *budget) after(s share, now time.Time) (busy time.Time, wait time.Duration) {
	if s.n == 0 {
		return now, b.span
	}
	busy = b.busy[s.of]
	if busy.Before(now) {
		busy = now
	}
	busy = busy.Add(b.span / time.Duration(s.n))
	return busy, busy.Sub(now.Add(b.span))
}

// wait returns how long it is until a client may do something, 0 for now, and
// whether everybody has to wait.
func (b *budget) wait(client netip.Addr, now time.Time) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.longest(b.shares(client, now), now)
}

func (b *budget) longest(shares []share, now time.Time) (longest time.Duration, all bool) {
	for _, s := range shares {
		if _, wait := b.after(s, now); wait > longest {
			longest, all = wait, s.of == everybody
		}
	}
	return longest, all
}

// take counts one thing that a client does. If it has to wait for that, nothing
// is counted.
func (b *budget) take(client netip.Addr, now time.Time) (wait time.Duration, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shares := b.shares(client, now)
	if wait, all := b.longest(shares, now); wait > 0 {
		return wait, all
	}
	for _, s := range shares {
		b.busy[s.of], _ = b.after(s, now)
	}
	return 0, false
}

// giveBack takes back what was counted for something that did not come about.
func (b *budget) giveBack(client netip.Addr, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.shares(client, now) {
		if busy, ok := b.busy[s.of]; ok && s.n > 0 {
			b.busy[s.of] = busy.Add(-b.span / time.Duration(s.n))
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

// admit counts a registration. The function that it returns takes that back. A
// client without an address is not counted.
func (r *Registry) admit(client netip.Addr) (giveBack func(), err error) {
	if !client.IsValid() {
		return func() {}, nil
	}
	now := r.now()
	if err := r.crowded(r.registrations.take(client, now)); err != nil {
		return nil, err
	}
	return func() { r.registrations.giveBack(client, now) }, nil
}

// admits refuses a client whose registration will not be taken, before any work
// is done for it.
func (r *Registry) admits(client netip.Addr) error {
	if !client.IsValid() {
		return nil
	}
	return r.crowded(r.registrations.wait(client, r.now()))
}

// crowded is the refusal of who has to wait.
func (r *Registry) crowded(wait time.Duration, all bool) error {
	switch {
	case wait == 0:
		return nil
	case all:
		return &Refusal{Kind: ErrTooMany, Code: "registrations-all", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being registered: at most %d an hour from everybody", r.limits.AllRegistrations),
			Help: "wait as long as Retry-After says"}
	}
	return &Refusal{Kind: ErrTooMany, Code: "registrations-network", Wait: wait,
		Message: fmt.Sprintf("Rate limit exceeded: your network has registered very many agents: at most %d an hour from one, and %d from those around it", r.limits.Registrations, wideShare*r.limits.Registrations),
		Help:    "wait as long as Retry-After says; who needs more asks the operator of the registry"}
}

// AdmitChange counts one write of a client to an agent that is there, before
// anything is read or judged of it. It refuses a client whose network is on the
// block list, writes too often, or has too often failed to prove who sends what.
// Whoever takes writes from the network calls it first. A client without an
// address is not counted. The error is a [*Refusal] with [ErrForbidden] or
// [ErrTooMany].
func (r *Registry) AdmitChange(ctx context.Context, client netip.Addr) error {
	if err := r.AdmitNetwork(ctx, client); err != nil || !client.IsValid() {
		return err
	}
	now := r.now()
	if err := r.guess(client, now); err != nil {
		return err
	}
	wait, all := r.changes.take(client, now)
	switch {
	case wait == 0:
		return nil
	case all:
		return &Refusal{Kind: ErrTooMany, Code: "changes-all", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being changed: at most %d changes an hour from everybody", r.limits.AllChanges),
			Help: "wait as long as Retry-After says"}
	}
	return &Refusal{Kind: ErrTooMany, Code: "changes-network", Wait: wait, Message: fmt.Sprintf("Rate limit exceeded: your network has changed agents very often: at most %d times an hour", r.limits.Changes),
		Help: "wait as long as Retry-After says; several members can be changed by one update"}
}

// guess refuses a client whose writes were refused again and again.
func (r *Registry) guess(client netip.Addr, now time.Time) error {
	if !client.IsValid() {
		return nil
	}
	wait, _ := r.failures.wait(client, now)
	if wait == 0 {
		return nil
	}
	return &Refusal{Kind: ErrTooMany, Code: "too-many-failures", Wait: wait, Message: fmt.Sprintf("more than %d writes from your network did not prove who sends them within an hour", r.limits.Failures),
		Help: "wait as long as Retry-After says, and look at the key or secret that is used"}
}

// guessed counts a write whose proof does not hold.
func (r *Registry) guessed(client netip.Addr, now time.Time, err error) {
	if client.IsValid() && (errors.Is(err, ErrWrongSecret) || errors.Is(err, ErrUnauthorized)) {
		r.failures.take(client, now)
	}
}

// countWrite counts one write of an agent in its own record, so that the count is
// exact among any number of writers and outlives a restart.
func (r *Registry) countWrite(a *Agent, now time.Time) error {
	if r.limits.Writes < 0 {
		return nil
	}
	busy := max(a.Busy, now.UnixMilli()) + time.Hour.Milliseconds()/int64(r.limits.Writes)
	if wait := busy - now.Add(time.Hour).UnixMilli(); wait > 0 {
		return &Refusal{Kind: ErrTooMany, Code: "agent-writes", Message: fmt.Sprintf("this agent was changed very often: at most %d times an hour", r.limits.Writes),
			Help: "wait as long as Retry-After says; several members can be changed by one update", Wait: time.Duration(wait) * time.Millisecond}
	}
	a.Busy = busy
	return nil
}
