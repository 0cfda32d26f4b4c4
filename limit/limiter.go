package limit

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Rule says how often something may be done within a span of time. A client may use its whole
// quota at once; after that the quota returns evenly over the span. 0 forbids it, a negative number
// lifts that part of the rule.
type Rule struct {
	Name string        // names the limit in metrics and headers, such as "submissions"
	Each int           // of one network of clients, or of one key
	Wide int           // of the wider network around a client ([WideNetwork]); 0: it is not counted
	All  int           // of all together
	Span time.Duration // an hour when 0
	// Own is how often each wider network of clients may do it with one target before that counts
	// against Each, see [Limiter.TakeTarget].
	Own int
	// MaxKeys bounds how many networks or keys are counted at a time, 20,000 when 0. Those beyond
	// share quotas of four times Each, one for each five of MaxKeys, by wider network, so that a
	// client with very many addresses neither pushes another one's count out of memory nor spends
	// everybody's quota.
	MaxKeys int
	// Fair, if not 0, keeps a crowd from spending All. While everything is left, a network or a key
	// may hold one Fair-th of All, the wider network around it two, and the IPv4 /16 or IPv6 /32
	// around that four; the part shrinks with the square of what is left. So each further network
	// of a crowd gets less, and something is left for the next one. The first event of each is
	// admitted as long as anything is left for it. In the same way the cost of an event grows, from
	// one of a quota up to the whole: a crowd that comes again and again gets less than what returns
	// to All, and does not meet those who come for the first time.
	Fair int
	// Kept is how much of All is kept for [Limiter.ReserveKnown].
	Kept int
}

// SharedRule returns the rule of a quota that clients share without having proved anything: the wider
// network around one has four times each, and no crowd of networks uses up all. A client has its whole
// quota until three tenths of all are used.
func SharedRule(name string, each, all int) Rule {
	r := Rule{Name: name, Each: each, Wide: WideFactor * each, All: all}
	if each > 0 {
		r.Fair = min(max(all/(2*each), 1), maxFair)
	}
	return r
}

// WideFactor is how many times the quota of one network the wider network around it has, where a rule
// says nothing else.
const WideFactor = 4

const (
	maxFair = 25 // of [SharedRule]
	// crowdedPart is the part of all below which a crowd, and not the client, is what refuses it.
	crowdedPart = .7
)

const (
	defaultMaxKeys = 20_000
	overflowShare  = 4 // times the quota, for the keys of one bucket that have no room
	overflowPart   = 5 // of MaxKeys: so many of it for each bucket
	wideShare      = 2 // times the fair part of one network, for the wider network around it
	crowdShare     = 4 // the same for the /16 or /32
	sweepInterval  = time.Minute
	maxWait        = 24 * time.Hour // what Wait says of "never"
)

// A key is what a limiter counts: a network or a name; the zero key is all together.
type key struct {
	network netip.Prefix
	name    string
}

// A share is one quota that an event counts against.
type share struct {
	of    key
	quota int
	fair  int // times the fair part of what is left of all; 0: not bounded by it
}

// A Limiter applies one [Rule]. Make one with [Set.Limiter]. It may be used by any number of
// goroutines.
type Limiter struct {
	rule Rule
	now  func() time.Time
	seed maphash.Seed // places the keys for which there is no room

	mu      sync.Mutex // guards the following fields
	byKey   map[key]*rate.Limiter
	swept   time.Time
	taken   uint64
	refused uint64
	all     uint64 // refused because of all together
}

// Limiter makes a limiter that the set lists.
func (s *Set) Limiter(r Rule) *Limiter {
	r.Span = cmp.Or(r.Span, time.Hour)
	r.MaxKeys = cmp.Or(r.MaxKeys, defaultMaxKeys)
	l := &Limiter{rule: r, now: s.clock(), seed: maphash.MakeSeed(), byKey: map[key]*rate.Limiter{}}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.limiters = append(s.limiters, l)
	}
	return l
}

// A Reservation is one event that was counted.
type Reservation struct {
	l            *Limiter
	at           time.Time
	reservations []*rate.Reservation
	record       *Record // of the request, nil for none
	before       State   // of the limit without the event
}

// Cancel takes the event out of the count, for something that did not come about.
func (r *Reservation) Cancel() {
	if r == nil || r.l == nil {
		return
	}
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	for _, counted := range r.reservations {
		counted.CancelAt(r.at)
	}
	r.l.taken--
	r.record.setState(r.before)
	r.l = nil
}

// Take counts one event of a client. The error is an [*ExceededError], and then nothing is counted.
// A client without an address, which is the operator, is never refused.
func (l *Limiter) Take(ctx context.Context, client netip.Addr) error {
	_, err := l.Reserve(ctx, client)
	return err
}

// Reserve is [Limiter.Take] for an event that may still fail: [Reservation.Cancel] takes it back.
func (l *Limiter) Reserve(ctx context.Context, client netip.Addr) (*Reservation, error) {
	return l.reserveClient(ctx, client, countEvent)
}

// TakeKey counts one event of a key, such as a host or a registrable domain.
func (l *Limiter) TakeKey(ctx context.Context, name string) error {
	_, err := l.reserveShares(ctx, l.keyShares(key{name: name}), countEvent)
	return err
}

// Charge counts n more events of a client, for something that was admitted and then turned out to be
// large. They may exceed the quota: the client then waits until as much has returned.
func (l *Limiter) Charge(ctx context.Context, client netip.Addr, n int) {
	if client.IsValid() {
		l.chargeShares(ctx, l.clientShares(client), n)
	}
}

// ChargeKey is [Limiter.Charge] for a key.
func (l *Limiter) ChargeKey(ctx context.Context, name string, n int) {
	l.chargeShares(ctx, l.keyShares(key{name: name}), n)
}

// TakeTarget counts one event of a client that concerns a target, such as a host: against the few that
// the client's wider network has of its own for the target, and otherwise against those of the target.
// So what others do with the target does not keep the client from it. All of the rule must be negative.
func (l *Limiter) TakeTarget(ctx context.Context, client netip.Addr, target string) error {
	if l.rule.Own > 0 && client.IsValid() {
		own := share{of: key{WideNetwork(client), target}, quota: l.rule.Own}
		if _, err := l.reserveShares(ctx, []share{own}, countEvent|tryOnly); err == nil {
			return nil
		}
	}
	return l.TakeKey(ctx, target)
}

// ReserveKnown is [Limiter.Reserve] for a client that the caller knows: it may use what the rule
// keeps back.
func (l *Limiter) ReserveKnown(ctx context.Context, client netip.Addr) (*Reservation, error) {
	return l.reserveClient(ctx, client, countEvent|useKept)
}

// CheckKnown returns what [Limiter.ReserveKnown] would return, and counts only a refusal.
func (l *Limiter) CheckKnown(ctx context.Context, client netip.Addr) error {
	_, err := l.reserveClient(ctx, client, useKept)
	return err
}

// Remaining returns how much is left of what all together may do now; [math.MaxInt] without such a
// limit.
func (l *Limiter) Remaining() int {
	if l.rule.All < 0 {
		return math.MaxInt
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, all := l.limiterOf(share{of: key{}, quota: l.rule.All}, now)
	return int(all.TokensAt(now))
}

// Check returns what [Limiter.Take] would return, and counts only a refusal.
func (l *Limiter) Check(ctx context.Context, client netip.Addr) error {
	_, err := l.reserveClient(ctx, client, 0)
	return err
}

func (l *Limiter) clientShares(client netip.Addr) []share {
	shares := l.keyShares(key{network: Network(client)})
	if l.rule.Each >= 0 && l.rule.Wide > 0 {
		shares = append(shares, share{key{network: WideNetwork(client)}, l.rule.Wide, min(l.rule.Fair, wideShare)})
	}
	if l.rule.Fair > 0 && l.rule.All >= 0 {
		shares = append(shares, share{key{network: Truncate(client, 16, 32)}, l.rule.All, crowdShare})
	}
	return shares
}

func (l *Limiter) keyShares(k key) []share {
	shares := make([]share, 0, 4)
	if l.rule.All >= 0 {
		shares = append(shares, share{key{}, l.rule.All, 0})
	}
	if l.rule.Each >= 0 {
		shares = append(shares, share{k, l.rule.Each, min(l.rule.Fair, 1)})
	}
	return shares
}

// How an event is reserved.
const (
	countEvent = 1 << iota
	useKept
	tryOnly // a refusal is not counted: something else is tried then
)

// reserveClient counts one event of a client, unless the client has no address.
func (l *Limiter) reserveClient(ctx context.Context, client netip.Addr, how int) (*Reservation, error) {
	if !client.IsValid() {
		return nil, nil
	}
	return l.reserveShares(ctx, l.clientShares(client), how)
}

// reserveShares counts one event against all shares, or against none of them.
func (l *Limiter) reserveShares(ctx context.Context, shares []share, how int) (*Reservation, error) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var exceeded *ExceededError
	state := State{Rule: l.rule.Name, Quota: math.MaxInt, Span: l.rule.Span, Remaining: math.MaxInt}
	charges := make([]charge, len(shares))
	left := 1.0 // of all together, as a part of All
	for i, s := range shares {
		s, limiter := l.limiterOf(s, now)
		charges[i] = charge{s.of, limiter, 1}
		tokens := limiter.TokensAt(now)
		reserved := 0.0 // what has to remain beside one event
		switch {
		case s.of == key{}:
			left = tokens / float64(max(l.rule.All, 1))
			if how&useKept == 0 {
				reserved = float64(l.rule.Kept)
			}
		case s.fair > 0 && l.rule.All > 0:
			reserved = max(0, float64(s.quota)-fairPart(s.fair, l.rule.All, l.rule.Fair, left))
			charges[i].cost = crowdCost(left, s.quota)
		}
		if wait := l.waitFor(s, tokens-reserved); wait > 0 && (exceeded == nil || wait > exceeded.Wait) {
			exceeded = &ExceededError{Rule: l.rule.Name, All: s.of == key{} || s.byCrowd(tokens, left), Quota: s.quota, Span: l.rule.Span, Wait: wait}
		}
		if remaining := 1 + int(math.Floor((tokens-reserved-1)/float64(charges[i].cost))); remaining < state.Remaining {
			state.Remaining, state.Quota = remaining, s.quota
		}
	}
	if exceeded != nil && how&tryOnly != 0 {
		return nil, exceeded
	}
	if exceeded != nil {
		switch {
		case exceeded.All:
			l.all++
		default:
			l.refused++
		}
		state.Remaining, state.Quota, state.Reset = 0, exceeded.Quota, exceeded.Wait
		recordOf(ctx).setState(state)
		return nil, exceeded
	}
	if how&countEvent == 0 {
		return nil, nil
	}
	l.taken++
	r := &Reservation{l: l, at: now}
	for _, c := range charges {
		l.byKey[c.of] = c.limiter
		r.reservations = append(r.reservations, c.limiter.ReserveN(now, c.cost))
	}
	if len(shares) > 0 {
		r.record, r.before = recordOf(ctx), state.withReset()
		state.Remaining = max(state.Remaining-1, 0)
		r.record.setState(state.withReset())
	}
	return r, nil
}

// chargeShares counts n events against all shares, whatever is left of them.
func (l *Limiter) chargeShares(ctx context.Context, shares []share, n int) {
	if n <= 0 {
		return
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	state := State{Rule: l.rule.Name, Quota: math.MaxInt, Span: l.rule.Span, Remaining: math.MaxInt}
	for _, s := range shares {
		s, limiter := l.limiterOf(s, now)
		l.byKey[s.of] = limiter
		limiter.ReserveN(now, min(n, s.quota)) // more than the quota at once is never possible
		if remaining := max(0, int(math.Floor(limiter.TokensAt(now)))); remaining < state.Remaining {
			state.Remaining, state.Quota = remaining, s.quota
			state.Reset = time.Duration((float64(s.quota) - limiter.TokensAt(now)) / float64(max(s.quota, 1)) * float64(l.rule.Span))
		}
	}
	if len(shares) > 0 {
		recordOf(ctx).setState(state)
	}
}

// byCrowd reports whether a share is exceeded because of others: little is left for all, or a wider
// network that has a part of its quota left may not hold more.
func (s share) byCrowd(tokens, left float64) bool {
	return s.fair > 0 && (left < crowdedPart || s.fair > 1 && tokens >= 1)
}

// A charge is what one event costs a share.
type charge struct {
	of      key
	limiter *rate.Limiter
	cost    int
}

// fairPart returns how much of all a network may hold while this part of all is left: times the fair
// part of one network, in whole events, and at least one.
func fairPart(times, all, fair int, left float64) float64 {
	return max(1, math.Ceil(float64(times*all)*left*left/float64(fair)))
}

// crowdCost returns what an event costs a quota while this part of all is left: a quarter as much
// is left for half of the events.
func crowdCost(left float64, quota int) int {
	return int(min(1/max(left*left, 1e-9), float64(max(quota, 1))))
}

// limiterOf returns the limiter of a share, or that of its bucket when there is no room; l.mu is
// held. A new limiter is not stored: events that are refused take no room.
func (l *Limiter) limiterOf(s share, now time.Time) (share, *rate.Limiter) {
	if limiter, ok := l.byKey[s.of]; ok {
		return s, limiter
	}
	if len(l.byKey) >= l.rule.MaxKeys && now.Sub(l.swept) >= sweepInterval {
		l.dropIdleKeys(now)
	}
	if len(l.byKey) >= l.rule.MaxKeys && s.of != (key{}) {
		s = share{l.bucketOf(s), overflowShare * s.quota, 0}
		if limiter, ok := l.byKey[s.of]; ok {
			return s, limiter
		}
	}
	return s, rate.NewLimiter(rate.Limit(float64(s.quota)/l.rule.Span.Seconds()), s.quota)
}

// bucketOf returns the key under which a share is counted for which there is no room: networks of
// one wider network have the same.
func (l *Limiter) bucketOf(s share) key {
	name := s.of.name
	if s.of.network.IsValid() {
		name = WideNetwork(s.of.network.Addr()).String()
	}
	bucket := maphash.String(l.seed, name) % uint64(max(1, l.rule.MaxKeys/overflowPart))
	return key{name: fmt.Sprintf("\x00%d of %d", bucket, s.quota)}
}

// dropIdleKeys forgets the keys whose whole quota has returned; l.mu is held.
func (l *Limiter) dropIdleKeys(now time.Time) {
	l.swept = now
	for k, limiter := range l.byKey {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(l.byKey, k)
		}
	}
}

// waitFor is how long it takes until one of the quota has returned; 0 for now.
func (l *Limiter) waitFor(s share, tokens float64) time.Duration {
	switch {
	case tokens >= 1:
		return 0
	case s.quota == 0:
		return min(l.rule.Span, maxWait)
	}
	wait := time.Duration(math.Ceil((1 - tokens) / float64(s.quota) * float64(l.rule.Span)))
	return min(wait, maxWait)
}

func (l *Limiter) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Name: l.rule.Name, Taken: l.taken, Refused: l.refused, RefusedAll: l.all, Keys: len(l.byKey)}
}

// An ExceededError says that a limit was reached and nothing was done.
type ExceededError struct {
	Rule  string        // the name of the limit
	All   bool          // all clients together reached it, or leave this one less than its quota
	Quota int           // how often, or how many at a time
	Span  time.Duration // within which time; 0 for a number at a time
	Wait  time.Duration // until it may be tried again
}

func (e *ExceededError) Error() string {
	who := "one client"
	if e.All {
		who = "all clients together"
	}
	if e.Span == 0 {
		return fmt.Sprintf("limit %s: %s may have %d at a time", e.Rule, who, e.Quota)
	}
	return fmt.Sprintf("limit %s: %s may do this %d times in %s", e.Rule, who, e.Quota, e.Span)
}
