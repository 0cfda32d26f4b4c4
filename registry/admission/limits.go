package admission

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/registry/proofofwork"
)

// Limits are the rates of a registry. A client may use its whole quota at once; after that the
// quota returns evenly. 0 means the default, a negative number removes a limit.
type Limits struct {
	Registrations    int // of one network in an hour; 20
	AllRegistrations int // of all networks together in an hour; 1000
	Reports          int // of abuse, of one network in a day; 10
	// Changes are the writes of one network in an hour, to any agents, and their size in units of
	// [registry.SizeUnit]; 1200.
	Changes    int
	AllChanges int // of all networks together in an hour; 60000
	// Failures are the writes of one network in an hour whose proof does not hold, such as guesses at a
	// secret; 60.
	Failures int
	Writes   int // of one agent in an hour; 300. Each further [registry.SizeUnit] counts as one more
	// Work is the proof of work, in bits, that registrations from unknown networks need once a
	// quarter of AllRegistrations is used; 0: none. From half of the quota on it grows by one bit
	// with each halving of the rest, by at most four.
	Work int
}

// orDefaults returns the limits with their defaults filled in.
func (l Limits) orDefaults() Limits {
	return Limits{
		Registrations: cmp.Or(l.Registrations, 20), AllRegistrations: cmp.Or(l.AllRegistrations, 1000),
		Reports: cmp.Or(l.Reports, 10),
		Changes: cmp.Or(l.Changes, 1200), AllChanges: cmp.Or(l.AllChanges, 60000),
		Failures: cmp.Or(l.Failures, 60), Writes: cmp.Or(l.Writes, 300), Work: l.Work,
	}
}

// The share of a quota that one of very many clients may hold, see [limit.Rule].
const (
	fairRegistrations = 50
	fairChanges       = 16
	keptRegistrations = 20 // one in so many is kept for known networks
)

// keyChanges is how many rotations of one agent are admitted in an hour, and how many recoveries and
// withdrawals of them. The registry allows fewer rotations a day.
const keyChanges = 60

// maxRecoveries is how many recoveries of one agent may begin in a day.
const maxRecoveries = 12

// storedCopies is how often a change stores the record: as the record, and in the history.
const storedCopies = 2

// newLimiter returns a limiter for networks of clients.
func newLimiter(set *limit.Set, name string, each, all int, span time.Duration) *limit.Limiter {
	return set.Limiter(limit.Rule{Name: name, Each: each, Wide: limit.WideFactor * each, All: all, Span: span})
}

// wideNetwork returns the wider network of a client as text, which is all that the registry keeps about
// where something came from. It is "" for a client without an address.
func wideNetwork(client netip.Addr) string {
	if !client.IsValid() {
		return ""
	}
	return limit.WideNetwork(client).String()
}

// maxMoreWork is how many bits the work grows at most.
const maxMoreWork = 4

// workFor returns the number of bits of work that a registration needs now, 0 for none, and when
// that ends if no other agent registers.
func (p *Policy) workFor() (zeros int, ends time.Duration) {
	all := p.limits.AllRegistrations
	left := p.registrations.Remaining()
	if p.limits.Work <= 0 || all <= 0 || left*4 >= all*3 {
		return 0, 0
	}
	zeros = p.limits.Work
	for part := all / 2; zeros < p.limits.Work+maxMoreWork && left <= part; part /= 2 {
		zeros++
	}
	return min(zeros, proofofwork.MaxBits), time.Hour * time.Duration(all*3/4+1-left) / time.Duration(all)
}

// checkWork checks the proof of work of a registration, if it needs one. It returns a function to
// call when the registration fails.
func (ad *Admission) checkWork(reg registry.Registration, key ed25519.PublicKey) (release func(), err error) {
	zeros, ends := ad.workFor()
	if zeros == 0 || !reg.Client.IsValid() || ad.known.hasNetwork(reg.Client, ad.now()) {
		return func() {}, nil
	}
	if reg.Work != "" {
		return ad.registry.UseWork(reg.Work, key)
	}
	work, err := ad.registry.NewWork(zeros)
	if err != nil {
		return nil, err
	}
	return nil, &registry.Refusal{Kind: registry.ErrTooMany, Code: "work-required", Wait: ends,
		Message: fmt.Sprintf("very many agents are being registered: a registration needs %d bits of work at the moment", zeros),
		Help:    "solve work and send the registration again with the header Registration-Work, as gazetteer agent new does; or wait for the time in Retry-After",
		Details: registry.Details{Work: &work}}
}

// registrationRefusal turns an exceeded limit into the refusal of a registration; nil stays nil.
func (p *Policy) registrationRefusal(err error) error {
	exceeded, ok := errors.AsType[*limit.ExceededError](err)
	switch {
	case !ok:
		return err
	case exceeded.All:
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "registrations-all", Wait: exceeded.Wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being registered: at most %d an hour from everybody", p.limits.AllRegistrations),
			Help: "wait for the time in Retry-After"}
	}
	wide := limit.WideFactor * p.limits.Registrations
	if p.limits.AllRegistrations >= 0 { // see limit.Rule.Fair: two parts for the wider network
		wide = min(wide, 2*p.limits.AllRegistrations/fairRegistrations)
	}
	most := fmt.Sprintf("at most %d an hour from one, and fewer than %d from those around it", p.limits.Registrations, wide)
	if wide <= p.limits.Registrations { // a small quota of everybody is the limit
		most = fmt.Sprintf("at most %d an hour from everybody, of which one network may use a part", p.limits.AllRegistrations)
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "registrations-network", Wait: exceeded.Wait,
		Message: "Rate limit exceeded: your network has registered very many agents: " + most,
		Help:    "wait for the time in Retry-After; ask the operator of the registry if you need more"}
}

// AdmitChange counts one write of a client to an existing agent, before anything of it is read or
// judged, against what its own network may send. It refuses a client whose network is blocked. Call
// it first for every write from the network. A client without an address is not counted. The error
// is a [*registry.Refusal] with [registry.ErrForbidden] or [registry.ErrTooMany].
func (p *Policy) AdmitChange(ctx context.Context, client netip.Addr) error {
	if err := p.CheckNetwork(ctx, client); err != nil {
		return err
	}
	exceeded, ok := errors.AsType[*limit.ExceededError](p.changes.Take(ctx, client))
	if !ok {
		return nil
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "changes-network", Wait: exceeded.Wait, Message: fmt.Sprintf("Rate limit exceeded: your network has changed agents very often: at most %d times an hour", p.limits.Changes),
		Help: "wait for the time in Retry-After; one update can change several members"}
}

// AdmitProved charges a write with a valid proof to the limit that all agents share. As that limit runs
// out, the share of one agent shrinks, so that heavy writers do not stop the others. Rotations,
// recoveries and the end of a secret have a separate limit. The network of an agent that is older than a day is known from then
// on.
func (p *Policy) AdmitProved(ctx context.Context, client netip.Addr, agent registry.Agent, by registry.WriteProof) error {
	if !client.IsValid() {
		return nil
	}
	if p.now().Sub(agent.Created) >= knownAge {
		p.known.addNetwork(client, p.now())
	}
	limiter := p.keyChanges
	if by.CountsAsChange() {
		limiter = p.proved
		if err := p.checkSize(ctx, client); err != nil {
			return err
		}
	}
	switch by {
	case registry.ByRotation:
		if err := p.checkRotationSize(ctx, client, agent); err != nil {
			return err
		}
	case registry.ByRecoveryRequest:
		limiter = p.recoveries
		if err := p.takeLargeRecord(ctx, client, agent); err != nil {
			return err
		}
	}
	exceeded, ok := errors.AsType[*limit.ExceededError](limiter.TakeKey(ctx, agent.AirID+" "+string(by)))
	switch {
	case !ok:
		return nil
	case limiter == p.recoveries:
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "recoveries", Wait: exceeded.Wait, Message: fmt.Sprintf("the key of this agent was to be recovered very often: at most %d times a day", exceeded.Quota),
			Help: "wait for the time in Retry-After; a recovery that is under way continues"}
	case !exceeded.All:
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "agent-writes", Wait: exceeded.Wait, Message: fmt.Sprintf(registry.TooManyChanges, exceeded.Quota, registry.SizeUnit),
			Help: "wait for the time in Retry-After; one update can change several members"}
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "changes-all", Wait: exceeded.Wait, Message: fmt.Sprintf("Rate limit exceeded: very many agents are being changed: at most %d changes an hour from everybody", p.limits.AllChanges),
		Help: "wait for the time in Retry-After"}
}

// checkSize refuses a change of a client whose network has stored as much as it may.
func (p *Policy) checkSize(ctx context.Context, client netip.Addr) error {
	return checkBytes(ctx, p.sizes, client, registry.Refusal{Code: "changes-size",
		Message: fmt.Sprintf("Rate limit exceeded: your network has changed very large records: at most %d times %d bytes an hour", p.limits.Changes, registry.SizeUnit),
		Help:    "wait for the time in Retry-After; one update can change several members, and each stores the whole record again"})
}

// checkBytes returns the refusal with its kind and its waiting time if the network of the client has stored
// as much as a limiter allows, and nil otherwise.
func checkBytes(ctx context.Context, l *limit.Limiter, client netip.Addr, refusal registry.Refusal) error {
	exceeded, ok := errors.AsType[*limit.ExceededError](l.Check(ctx, client))
	if !ok {
		return nil
	}
	refusal.Kind, refusal.Wait = registry.ErrTooMany, exceeded.Wait
	return &refusal
}

// checkRotationSize refuses a further rotation of an agent within a day where rotations from the network of
// the client have stored as much as they may. The first one drives a thief out: it never waits for these.
func (p *Policy) checkRotationSize(ctx context.Context, client netip.Addr, agent registry.Agent) error {
	n := len(agent.Retired)
	if n == 0 || agent.Retired[n-1].By != string(registry.ByRotation) || p.now().Sub(agent.Retired[n-1].Until) >= 24*time.Hour {
		return p.takeLargeRecord(ctx, client, agent)
	}
	return checkBytes(ctx, p.rotationSizes, client, registry.Refusal{Code: "rotations-size",
		Message: fmt.Sprintf("Rate limit exceeded: rotations from your network have stored very large records: at most %d times %d bytes an hour, beside the first rotation of an agent in 24 hours", p.limits.Changes, registry.SizeUnit),
		Help:    "wait for the time in Retry-After, or rotate from another network; each rotation stores the whole record again"})
}

// takeLargeRecord counts the first rotation of an agent in a day, or the begin of a recovery, by its size,
// and refuses it where the network of the client has stored as much in this way as it may. Records of up
// to one unit are free: most are smaller, and the number of changes of the network bounds them.
func (p *Policy) takeLargeRecord(ctx context.Context, client netip.Addr, agent registry.Agent) error {
	text, err := json.Marshal(agent)
	if err != nil || len(text) <= registry.SizeUnit {
		return err
	}
	err = checkBytes(ctx, p.largeRecords, client, registry.Refusal{Code: "large-records",
		Message: fmt.Sprintf("Rate limit exceeded: your network has replaced the keys of agents with very large records: at most %d times %d bytes an hour", p.limits.Changes, registry.SizeUnit),
		Help:    fmt.Sprintf("send it from another network, or wait for the time in Retry-After; a record of at most %d bytes never waits for this", registry.SizeUnit)})
	if err == nil {
		p.largeRecords.Charge(ctx, client, (storedCopies*len(text)+registry.SizeUnit-1)/registry.SizeUnit)
	}
	return err
}

// ChargeSize charges the size of a stored change to the network of the client, and what is beyond the
// first unit to the limit that all agents share. Rotations have a limit of their own for the network.
func (p *Policy) ChargeSize(ctx context.Context, client netip.Addr, agent registry.Agent, by registry.WriteProof, units int) {
	if client.IsValid() && by == registry.ByRotation {
		p.rotationSizes.Charge(ctx, client, units)
	}
	if !client.IsValid() || !by.CountsAsChange() {
		return
	}
	p.sizes.Charge(ctx, client, units)
	p.proved.ChargeKey(ctx, agent.AirID+" "+string(by), units-1)
}

// RefuseFailure returns the refusal of a write that failed with err. Where err says that its proof does
// not hold, it counts the write, and refuses it without saying more once the network has sent too many.
func (p *Policy) RefuseFailure(ctx context.Context, client netip.Addr, err error) error {
	if !errors.Is(err, registry.ErrWrongSecret) && !errors.Is(err, registry.ErrUnauthorized) {
		return err
	}
	exceeded, ok := errors.AsType[*limit.ExceededError](p.failures.Take(ctx, client))
	if !ok {
		return err
	}
	return &registry.Refusal{Kind: registry.ErrTooMany, Code: "too-many-failures", Wait: exceeded.Wait, Message: fmt.Sprintf("more than %d writes from your network did not prove who sends them within an hour", p.limits.Failures),
		Help: "wait for the time in Retry-After, and check the key or secret that you use"}
}
