package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/store"
)

const (
	// approvalTime is how long the operator has to approve a registration, and how
	// long it can be read that it was refused.
	approvalTime = 14 * 24 * time.Hour
	// maxApplications is how many registrations wait at a time, maxFromNetwork how
	// many of one wider network: a flood must neither fill the disk nor bury others.
	maxApplications = 1000
	maxFromNetwork  = 20
)

// An Application is a registration that waits for the operator. It is no agent
// yet: it has no history, nothing of it is in the transparency log, and nobody
// finds it but by its AIR ID.
type Application struct {
	// Agent is what was asked for, with the status [Pending]; only AIR ID and
	// status of one that was refused.
	Agent     Agent      `json:"agent"`
	Authority *Authority `json:"authority,omitempty"`
	Asked     time.Time  `json:"asked"`
	Expires   time.Time  `json:"expires"`
	// Refused is when the operator refused it, for Reason; zero before.
	Refused time.Time `json:"refused,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	// Network is the IPv4 /24 or IPv6 /48 that it came from, "" when not known.
	Network string `json:"network,omitempty"`
}

// over reports whether an application keeps nothing from others any more.
func (p Application) over(now time.Time) bool { return !p.Refused.IsZero() || !now.Before(p.Expires) }

// A tally counts records that must not become too many. It is exact among all who
// write through one registry.
type tally struct {
	mu    sync.Mutex // guards following
	known bool       // whether of and total were read from the store
	total int
	of    map[string]int
	swept time.Time // when what has run out was last looked for to make room
}

// mayClear reports whether it is time to make room, and notes that it is done.
func (t *tally) mayClear(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.swept) < sweepPause {
		return false
	}
	t.swept = now
	return true
}

// read counts what is in the store, once. of says under which names a record is
// counted; none for one that does not count.
func (t *tally) read(ctx context.Context, s store.Store, prefix string, of func(store.Record) ([]string, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known {
		return nil
	}
	t.total, t.of = 0, map[string]int{}
	for record, err := range s.List(ctx, prefix, "") {
		if store.Damaged(record, err) {
			t.total++
			continue
		}
		if err != nil {
			return fmt.Errorf("count what is below %s: %w", prefix, err)
		}
		names, err := of(record)
		if err != nil {
			return err
		}
		t.add(1, names)
	}
	t.known = true
	return nil
}

func (t *tally) add(n int, names []string) {
	if len(names) == 0 {
		return
	}
	t.total += n
	for _, name := range names {
		if t.of[name] += n; t.of[name] <= 0 {
			delete(t.of, name)
		}
	}
}

// take counts one more, unless there are most in all, or as many as limits says
// under one of the names: full is then "all" or the name.
func (t *tally) take(most int, names []string, limits []int) (full string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range names {
		if t.of[name] >= limits[i] {
			return name
		}
	}
	if t.total >= most {
		return "all"
	}
	t.add(1, names)
	return ""
}

func (t *tally) release(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known {
		t.add(-1, names)
	}
}

// counted is what an application is counted under.
func (p Application) counted() []string { return []string{"network " + p.Network} }

// countApplications counts those in the store, once.
func (r *Registry) countApplications(ctx context.Context) error {
	return r.waiting.read(ctx, r.store, store.PendingPrefix, func(record store.Record) ([]string, error) {
		p, err := readApplication(record)
		return p.counted(), err
	})
}

func readApplication(record store.Record) (Application, error) {
	var p Application
	if err := json.Unmarshal(record.Value, &p); err != nil {
		return p, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
	}
	return p, nil
}

// applied makes an application of an agent whose proof was judged.
func (r *Registry) applied(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	agent.Status = Pending
	writes, err := r.claimKey(ctx, agent, reg, authority)
	if err != nil {
		return nil, err
	}
	p := Application{Agent: *agent, Authority: authority, Asked: agent.Created, Expires: agent.Created.Add(approvalTime), Network: wideNetwork(reg.Client)}
	value, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write a registration: %w", err)
	}
	return append(writes, store.PutIf(store.PendingKey(agent.AirID), value, 0)), nil
}

// queue takes a place among those who wait. The function that it returns gives it
// back.
func (r *Registry) queue(ctx context.Context, reg Registration) (giveBack func(), err error) {
	if err := r.countApplications(ctx); err != nil {
		return nil, err
	}
	names := Application{Network: wideNetwork(reg.Client)}.counted()
	limits := []int{maxFromNetwork}
	if !reg.Client.IsValid() {
		limits = []int{maxApplications}
	}
	full := r.waiting.take(maxApplications, names, limits)
	if full != "" && r.waiting.mayClear(r.now()) {
		// What has expired may stand in the way.
		if err := r.Sweep(ctx); err != nil {
			return nil, err
		}
		full = r.waiting.take(maxApplications, names, limits)
	}
	switch full {
	case "":
		return func() { r.waiting.release(names) }, nil
	case "all":
		return nil, &Refusal{Kind: ErrTooMany, Code: "applications-all", Message: fmt.Sprintf("%d registrations wait for the operator's approval already", maxApplications),
			Help: "come back when the operator has looked at them", Wait: 24 * time.Hour}
	}
	return nil, &Refusal{Kind: ErrTooMany, Code: "applications-network", Message: fmt.Sprintf("%d registrations from your network wait for the operator's approval already", maxFromNetwork),
		Help: "come back when the operator has looked at them", Wait: 24 * time.Hour}
}

// Application returns a registration that waits, was refused, or has run out a
// short while ago, as whoever knows its AIR ID may see it: without secret and
// network. The error is an [*Error] for a text that is no AIR ID, and a
// [*Refusal] with [ErrNotFound].
func (r *Registry) Application(ctx context.Context, airID string) (Application, error) {
	p, _, err := r.application(ctx, airID)
	if err != nil {
		return Application{}, err
	}
	p.Agent, p.Network = p.Agent.public(), ""
	return p, nil
}

func (r *Registry) application(ctx context.Context, airID string) (Application, uint64, error) {
	if err := did.CheckAirID(airID); err != nil {
		return Application{}, 0, fieldError("air_id", "", err)
	}
	record, err := r.store.Get(ctx, store.PendingKey(airID))
	if errors.Is(err, store.ErrNotFound) {
		return Application{}, 0, &Refusal{Kind: ErrNotFound, Code: "application-unknown", Message: "no registration waits under " + airID,
			Help: "it was approved, was never made, or has run out: it waits for " + days(approvalTime)}
	}
	if err != nil {
		return Application{}, 0, fmt.Errorf("read a registration: %w", err)
	}
	p, err := readApplication(record)
	return p, record.Seq, err
}

func days(d time.Duration) string { return fmt.Sprintf("%d days", int(d.Hours()/24)) }

// notYet says of an AIR ID under which there is no agent whether there may be one
// later; nil when nothing is known of it.
func (r *Registry) notYet(ctx context.Context, airID string) error {
	p, err := r.Application(ctx, airID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	switch now := r.moment(); {
	case err != nil:
		return err
	case !p.Refused.IsZero():
		return &Refusal{Kind: ErrNoAgent, Code: "application-refused", Message: "the operator has refused the registration", Help: told(p.Reason, "ask the operator of the registry")}
	case p.over(now):
		return &Refusal{Kind: ErrNoAgent, Code: "application-expired", Message: "nobody has approved the registration until " + second(p.Expires), Help: "register again, or ask the operator of the registry"}
	}
	note := ""
	if s, err := r.Door(ctx); err == nil {
		note = s.Note
	}
	return &Refusal{Kind: ErrNoAgent, Code: "application-pending", Message: "the registration waits for the operator's approval",
		Help: told(note, "ask again later; it runs out on "+second(p.Expires)+". Until it is approved the agent does not exist for others")}
}

// Applications returns at most limit registrations that wait, in order of AIR ID
// behind after, as the operator sees them. A limit outside 1 to [MaxList] means
// MaxList. Next is where the coming list goes on, "" at the end.
func (r *Registry) Applications(ctx context.Context, after string, limit int) (waiting []Application, next string, err error) {
	if limit < 1 || limit > MaxList {
		limit = MaxList
	}
	if after != "" {
		after = store.PendingKey(after)
	}
	now := r.moment()
	for record, err := range r.store.List(ctx, store.PendingPrefix, after) {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("list the registrations that wait: %w", err)
		}
		if len(waiting) == limit {
			return waiting, next, nil
		}
		p, err := readApplication(record)
		if err != nil {
			return nil, "", err
		}
		if next = strings.TrimPrefix(record.Key, store.PendingPrefix); !p.over(now) {
			p.Agent = p.Agent.public()
			waiting = append(waiting, p)
		}
	}
	return waiting, "", nil
}

// Approve makes an agent of a registration that waits, as the operator. Its life
// begins with that. The error is as that of [Registry.Application], and a
// [*Refusal] with [ErrState] for one that is refused or has run out.
func (r *Registry) Approve(ctx context.Context, airID string) (Agent, error) {
	if err := r.countApplications(ctx); err != nil {
		return Agent{}, err
	}
	for ctx.Err() == nil {
		p, seq, err := r.undecided(ctx, airID)
		if err != nil {
			return Agent{}, err
		}
		agent := p.Agent
		agent.Status, agent.Created = Active, r.moment()
		agent.Updated = agent.Created
		registered, err := agent.record(Entry{Event: EventRegistered, Actor: ActorRegistrant, At: agent.Created, Authority: p.Authority})
		if err != nil {
			return Agent{}, err
		}
		approved, err := agent.record(Entry{Event: EventApproved, Actor: ActorAdmin, At: agent.Created})
		if err != nil {
			return Agent{}, err
		}
		agent.schedule(r)
		value, err := encodeAgent(&agent)
		if err != nil {
			return Agent{}, fmt.Errorf("write agent %s: %w", airID, err)
		}
		err = r.pass(ctx, func() error {
			if err := r.gate.agent(Agent{}, agent, r.now()); err != nil {
				return err
			}
			_, err := r.store.Apply(ctx, registered, approved, store.PutIf(store.AgentKey(airID), value, 0), deleteIf(store.PendingKey(airID), seq))
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			continue // decided meanwhile
		}
		if err != nil {
			return Agent{}, fmt.Errorf("approve %s: %w", airID, err)
		}
		r.waiting.release(p.counted())
		r.log.Info("registration approved", "air_id", airID)
		return agent, nil
	}
	return Agent{}, ctx.Err()
}

// undecided reads an application that can still be decided.
func (r *Registry) undecided(ctx context.Context, airID string) (Application, uint64, error) {
	p, seq, err := r.application(ctx, airID)
	if err != nil {
		return p, 0, err
	}
	switch {
	case !p.Refused.IsZero():
		return p, 0, &Refusal{Kind: ErrState, Code: "application-refused", Message: "the registration was refused on " + second(p.Refused), Help: "its owner can register again"}
	case p.over(r.moment()):
		return p, 0, &Refusal{Kind: ErrState, Code: "application-expired", Message: "the registration has run out on " + second(p.Expires), Help: "its owner can register again"}
	}
	switch _, err := r.store.Get(ctx, store.AgentKey(airID)); {
	case err == nil:
		// The agent may be this very application's, approved since it was read.
		if _, _, err := r.application(ctx, airID); err != nil {
			return p, 0, err
		}
		return p, 0, &Refusal{Kind: ErrState, Code: "air-id-taken", Message: "another agent has got the AIR ID meanwhile", Help: "refuse the registration; its owner can register again"}
	case !errors.Is(err, store.ErrNotFound):
		return p, 0, fmt.Errorf("read agent %s: %w", airID, err)
	}
	return p, seq, nil
}

// deleteIf returns a deletion that holds only while key has sequence seq.
func deleteIf(key string, seq uint64) store.Write {
	return store.Write{Key: key, Delete: true, Expect: &seq}
}

// RefuseApplication refuses a registration that waits, as the operator. Reason is
// shown to whoever asks for its AIR ID; what was registered is forgotten at once.
// The error is as that of [Registry.Approve].
func (r *Registry) RefuseApplication(ctx context.Context, airID, reason string) error {
	reason, err := checkText("reason", reason, maxReason, manyLines)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		p, seq, err := r.application(ctx, airID)
		if err != nil {
			return err
		}
		now := r.moment()
		if p.over(now) {
			_, _, err := r.undecided(ctx, airID)
			return err
		}
		writes, err := r.freeKey(ctx, p.Agent)
		if err != nil {
			return err
		}
		refused := Application{Agent: Agent{AirID: airID, Status: Pending}, Asked: p.Asked, Expires: now.Add(approvalTime), Refused: now, Reason: reason, Network: p.Network}
		value, err := json.Marshal(refused)
		if err != nil {
			return fmt.Errorf("refuse %s: %w", airID, err)
		}
		_, err = r.store.Apply(ctx, append(writes, store.PutIf(store.PendingKey(airID), value, seq))...)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("refuse %s: %w", airID, err)
		}
		r.log.Info("registration refused", "air_id", airID)
		return nil
	}
	return ctx.Err()
}

// freeKey returns the write that gives back a key that an application claims.
func (r *Registry) freeKey(ctx context.Context, a Agent) ([]store.Write, error) {
	if a.KeyProof == "" {
		return nil, nil
	}
	record, err := r.store.Get(ctx, store.KeyKey(a.multikey()))
	if errors.Is(err, store.ErrNotFound) || err == nil && string(record.Value) != a.AirID {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up key %s: %w", a.multikey(), err)
	}
	return []store.Write{deleteIf(record.Key, record.Seq)}, nil
}

// keyIsFree reports whether whoever holds a key holds it by an application that
// is over.
func (r *Registry) keyIsFree(ctx context.Context, holder string) (bool, error) {
	p, _, err := r.application(ctx, holder)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && p.over(r.moment()), err
}

// Sweep forgets the applications whose time is over and the reports that were
// settled long ago. [Registry.Run] calls it every hour.
func (r *Registry) Sweep(ctx context.Context) error {
	if err := r.sweepApplications(ctx); err != nil {
		return err
	}
	return r.sweepReports(ctx)
}

func (r *Registry) sweepApplications(ctx context.Context) error {
	if err := r.countApplications(ctx); err != nil {
		return err
	}
	now := r.moment()
	for record, err := range r.store.List(ctx, store.PendingPrefix, "") {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list the registrations that wait: %w", err)
		}
		p, err := readApplication(record)
		if err != nil {
			return err
		}
		if now.Before(p.Expires) {
			continue
		}
		writes, err := r.freeKey(ctx, p.Agent)
		if err != nil {
			return err
		}
		_, err = r.store.Apply(ctx, append(writes, deleteIf(record.Key, record.Seq))...)
		if errors.Is(err, store.ErrConflict) {
			continue // somebody else has
		}
		if err != nil {
			return fmt.Errorf("forget a registration that has run out: %w", err)
		}
		r.waiting.release(p.counted())
		r.log.Info("registration ran out", "air_id", p.Agent.AirID)
	}
	return nil
}
