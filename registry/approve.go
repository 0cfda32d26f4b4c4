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
	// approvalPeriod is how long the operator has to approve a registration, and how
	// long it can be read that it was refused.
	approvalPeriod = 14 * 24 * time.Hour
	// maxApplications is how many registrations wait at a time, maxApplicationsOfNetwork how
	// many of one wider network: a flood must neither fill the disk nor bury others.
	maxApplications          = 1000
	maxApplicationsOfNetwork = 20
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

// isClosed reports whether an application keeps nothing from others any more.
func (p Application) isClosed(now time.Time) bool {
	return !p.Refused.IsZero() || !now.Before(p.Expires)
}

// A tally counts records that must not become too many. It is exact among all who
// write through one registry.
type recordCounter struct {
	mu      sync.Mutex // guards following
	loaded  bool       // whether of and total were read from the store
	total   int
	byName  map[string]int
	cleaned time.Time // when what has run out was last looked for to make room
}

// startCleanup reports whether it is time to make room, and notes that it is done.
func (t *recordCounter) startCleanup(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.cleaned) < minCleanupInterval {
		return false
	}
	t.cleaned = now
	return true
}

// loadCounts counts what is in the store, once. of says under which names a record is
// counted; none for one that does not count.
func (t *recordCounter) loadCounts(ctx context.Context, s store.Store, prefix string, of func(store.Record) ([]string, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded {
		return nil
	}
	t.total, t.byName = 0, map[string]int{}
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
		t.addCounts(1, names)
	}
	t.loaded = true
	return nil
}

func (t *recordCounter) addCounts(n int, names []string) {
	if len(names) == 0 {
		return
	}
	t.total += n
	for _, name := range names {
		if t.byName[name] += n; t.byName[name] <= 0 {
			delete(t.byName, name)
		}
	}
}

// reserveSlot counts one more, unless there are most in all, or as many as limits says
// under one of the names: full is then "all" or the name.
func (t *recordCounter) reserveSlot(most int, names []string, limits []int) (full string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range names {
		if t.byName[name] >= limits[i] {
			return name
		}
	}
	if t.total >= most {
		return "all"
	}
	t.addCounts(1, names)
	return ""
}

func (t *recordCounter) releaseSlot(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded {
		t.addCounts(-1, names)
	}
}

// counterKeys is what an application is counted under.
func (p Application) counterKeys() []string { return []string{"network " + p.Network} }

// loadApplicationCounts counts those in the store, once.
func (r *Registry) loadApplicationCounts(ctx context.Context) error {
	return r.applications.loadCounts(ctx, r.store, store.PendingPrefix, func(record store.Record) ([]string, error) {
		p, err := decodeApplication(record)
		return p.counterKeys(), err
	})
}

func decodeApplication(record store.Record) (Application, error) {
	var p Application
	if err := json.Unmarshal(record.Value, &p); err != nil {
		return p, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
	}
	return p, nil
}

// applicationWrites makes an application of an agent whose proof was judged.
func (r *Registry) applicationWrites(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	agent.Status = Pending
	writes, err := r.reserveProvedKey(ctx, agent, reg, authority)
	if err != nil {
		return nil, err
	}
	p := Application{Agent: *agent, Authority: authority, Asked: agent.Created, Expires: agent.Created.Add(approvalPeriod), Network: wideNetwork(reg.Client)}
	value, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write a registration: %w", err)
	}
	return append(writes, store.PutIf(store.PendingKey(agent.AirID), value, 0)), nil
}

// reserveApplicationSlot takes a place among those who wait. The function that it returns gives it
// back.
func (r *Registry) reserveApplicationSlot(ctx context.Context, reg Registration) (giveBack func(), err error) {
	if err := r.loadApplicationCounts(ctx); err != nil {
		return nil, err
	}
	names := Application{Network: wideNetwork(reg.Client)}.counterKeys()
	limits := []int{maxApplicationsOfNetwork}
	if !reg.Client.IsValid() {
		limits = []int{maxApplications}
	}
	full := r.applications.reserveSlot(maxApplications, names, limits)
	if full != "" && r.applications.startCleanup(r.now()) {
		// What has expired may stand in the way.
		if err := r.DeleteExpired(ctx); err != nil {
			return nil, err
		}
		full = r.applications.reserveSlot(maxApplications, names, limits)
	}
	switch full {
	case "":
		return func() { r.applications.releaseSlot(names) }, nil
	case "all":
		return nil, &Refusal{Kind: ErrTooMany, Code: "applications-all", Message: fmt.Sprintf("%d registrations wait for the operator's approval already", maxApplications),
			Help: "come back when the operator has looked at them", Wait: 24 * time.Hour}
	}
	return nil, &Refusal{Kind: ErrTooMany, Code: "applications-network", Message: fmt.Sprintf("%d registrations from your network wait for the operator's approval already", maxApplicationsOfNetwork),
		Help: "come back when the operator has looked at them", Wait: 24 * time.Hour}
}

// Application returns a registration that waits, was refused, or has run out a
// short while ago, as whoever knows its AIR ID may see it: without secret and
// network. The error is an [*Error] for a text that is no AIR ID, and a
// [*Refusal] with [ErrNotFound].
func (r *Registry) Application(ctx context.Context, airID string) (Application, error) {
	p, _, err := r.loadApplication(ctx, airID)
	if err != nil {
		return Application{}, err
	}
	p.Agent, p.Network = p.Agent.publicCopy(), ""
	return p, nil
}

func (r *Registry) loadApplication(ctx context.Context, airID string) (Application, uint64, error) {
	if err := did.CheckAirID(airID); err != nil {
		return Application{}, 0, fieldError("air_id", "", err)
	}
	record, err := r.store.Get(ctx, store.PendingKey(airID))
	if errors.Is(err, store.ErrNotFound) {
		return Application{}, 0, &Refusal{Kind: ErrNotFound, Code: "application-unknown", Message: "no registration waits under " + airID,
			Help: "it was approved, was never made, or has run out: it waits for " + formatDays(approvalPeriod)}
	}
	if err != nil {
		return Application{}, 0, fmt.Errorf("read a registration: %w", err)
	}
	p, err := decodeApplication(record)
	return p, record.Seq, err
}

func formatDays(d time.Duration) string { return fmt.Sprintf("%d days", int(d.Hours()/24)) }

// explainMissingAgent says of an AIR ID under which there is no agent whether there may be one
// later; nil when nothing is known of it.
func (r *Registry) explainMissingAgent(ctx context.Context, airID string) error {
	p, err := r.Application(ctx, airID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	switch now := r.timestamp(); {
	case err != nil:
		return err
	case !p.Refused.IsZero():
		return &Refusal{Kind: ErrNoAgent, Code: "application-refused", Message: "the operator has refused the registration", Help: helpWithNote(p.Reason, "ask the operator of the registry")}
	case p.isClosed(now):
		return &Refusal{Kind: ErrNoAgent, Code: "application-expired", Message: "nobody has approved the registration until " + formatSecond(p.Expires), Help: "register again, or ask the operator of the registry"}
	}
	note := ""
	if s, err := r.RegistrationPolicy(ctx); err == nil {
		note = s.Note
	}
	return &Refusal{Kind: ErrNoAgent, Code: "application-pending", Message: "the registration waits for the operator's approval",
		Help: helpWithNote(note, "ask again later; it runs out on "+formatSecond(p.Expires)+". Until it is approved the agent does not exist for others")}
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
	now := r.timestamp()
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
		p, err := decodeApplication(record)
		if err != nil {
			return nil, "", err
		}
		if next = strings.TrimPrefix(record.Key, store.PendingPrefix); !p.isClosed(now) {
			p.Agent = p.Agent.publicCopy()
			waiting = append(waiting, p)
		}
	}
	return waiting, "", nil
}

// Approve makes an agent of a registration that waits, as the operator. Its life
// begins with that. The error is as that of [Registry.Application], and a
// [*Refusal] with [ErrState] for one that is refused or has run out.
func (r *Registry) Approve(ctx context.Context, airID string) (Agent, error) {
	if err := r.loadApplicationCounts(ctx); err != nil {
		return Agent{}, err
	}
	for ctx.Err() == nil {
		p, seq, err := r.loadUndecided(ctx, airID)
		if err != nil {
			return Agent{}, err
		}
		agent := p.Agent
		agent.Status, agent.Created = Active, r.timestamp()
		agent.Updated = agent.Created
		registered, err := agent.appendEntry(Entry{Event: EventRegistered, Actor: ActorRegistrant, At: agent.Created, Authority: p.Authority})
		if err != nil {
			return Agent{}, err
		}
		approved, err := agent.appendEntry(Entry{Event: EventApproved, Actor: ActorAdmin, At: agent.Created})
		if err != nil {
			return Agent{}, err
		}
		agent.setNextCheck(r)
		value, err := encodeAgent(&agent)
		if err != nil {
			return Agent{}, fmt.Errorf("write agent %s: %w", airID, err)
		}
		err = r.holdPolicy(ctx, func() error {
			if err := r.blockLists.checkAgent(Agent{}, agent, r.now()); err != nil {
				return err
			}
			_, err := r.store.Apply(ctx, registered, approved, store.PutIf(store.AgentKey(airID), value, 0), deleteIfUnchanged(store.PendingKey(airID), seq))
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			continue // decided meanwhile
		}
		if err != nil {
			return Agent{}, fmt.Errorf("approve %s: %w", airID, err)
		}
		r.applications.releaseSlot(p.counterKeys())
		r.log.Info("registration approved", "air_id", airID)
		return agent, nil
	}
	return Agent{}, ctx.Err()
}

// loadUndecided reads an application that can still be decided.
func (r *Registry) loadUndecided(ctx context.Context, airID string) (Application, uint64, error) {
	p, seq, err := r.loadApplication(ctx, airID)
	if err != nil {
		return p, 0, err
	}
	switch {
	case !p.Refused.IsZero():
		return p, 0, &Refusal{Kind: ErrState, Code: "application-refused", Message: "the registration was refused on " + formatSecond(p.Refused), Help: "its owner can register again"}
	case p.isClosed(r.timestamp()):
		return p, 0, &Refusal{Kind: ErrState, Code: "application-expired", Message: "the registration has run out on " + formatSecond(p.Expires), Help: "its owner can register again"}
	}
	switch _, err := r.store.Get(ctx, store.AgentKey(airID)); {
	case err == nil:
		// The agent may be this very application's, approved since it was read.
		if _, _, err := r.loadApplication(ctx, airID); err != nil {
			return p, 0, err
		}
		return p, 0, &Refusal{Kind: ErrState, Code: "air-id-taken", Message: "another agent has got the AIR ID meanwhile", Help: "refuse the registration; its owner can register again"}
	case !errors.Is(err, store.ErrNotFound):
		return p, 0, fmt.Errorf("read agent %s: %w", airID, err)
	}
	return p, seq, nil
}

// deleteIfUnchanged returns a deletion that holds only while key has sequence seq.
func deleteIfUnchanged(key string, seq uint64) store.Write {
	return store.Write{Key: key, Delete: true, Expect: &seq}
}

// RefuseApplication refuses a registration that waits, as the operator. Reason is
// shown to whoever asks for its AIR ID; what was registered is forgotten at once.
// The error is as that of [Registry.Approve].
func (r *Registry) RefuseApplication(ctx context.Context, airID, reason string) error {
	reason, err := validateText("reason", reason, maxReason, manyLines)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		p, seq, err := r.loadApplication(ctx, airID)
		if err != nil {
			return err
		}
		now := r.timestamp()
		if p.isClosed(now) {
			_, _, err := r.loadUndecided(ctx, airID)
			return err
		}
		writes, err := r.releaseKeyWrites(ctx, p.Agent)
		if err != nil {
			return err
		}
		refused := Application{Agent: Agent{AirID: airID, Status: Pending}, Asked: p.Asked, Expires: now.Add(approvalPeriod), Refused: now, Reason: reason, Network: p.Network}
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

// releaseKeyWrites returns the write that gives back a key that an application claims.
func (r *Registry) releaseKeyWrites(ctx context.Context, a Agent) ([]store.Write, error) {
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
	return []store.Write{deleteIfUnchanged(record.Key, record.Seq)}, nil
}

// isKeyReleased reports whether whoever holds a key holds it by an application that
// is over.
func (r *Registry) isKeyReleased(ctx context.Context, holder string) (bool, error) {
	p, _, err := r.loadApplication(ctx, holder)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && p.isClosed(r.timestamp()), err
}

// DeleteExpired forgets the applications whose time is over and the reports that were
// settled long ago. [Registry.Run] calls it every hour.
func (r *Registry) DeleteExpired(ctx context.Context) error {
	if err := r.deleteExpiredApplications(ctx); err != nil {
		return err
	}
	return r.deleteExpiredReports(ctx)
}

func (r *Registry) deleteExpiredApplications(ctx context.Context) error {
	if err := r.loadApplicationCounts(ctx); err != nil {
		return err
	}
	now := r.timestamp()
	for record, err := range r.store.List(ctx, store.PendingPrefix, "") {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list the registrations that wait: %w", err)
		}
		p, err := decodeApplication(record)
		if err != nil {
			return err
		}
		if now.Before(p.Expires) {
			continue
		}
		writes, err := r.releaseKeyWrites(ctx, p.Agent)
		if err != nil {
			return err
		}
		_, err = r.store.Apply(ctx, append(writes, deleteIfUnchanged(record.Key, record.Seq))...)
		if errors.Is(err, store.ErrConflict) {
			continue // somebody else has
		}
		if err != nil {
			return fmt.Errorf("forget a registration that has run out: %w", err)
		}
		r.applications.releaseSlot(p.counterKeys())
		r.log.Info("registration ran out", "air_id", p.Agent.AirID)
	}
	return nil
}
