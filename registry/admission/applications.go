package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

const (
	// maxApplications limits how many registrations wait at a time, maxApplicationsOfNetwork how
	// many of one wider network: a flood must neither fill the disk nor hide other registrations.
	maxApplications          = 1000
	maxApplicationsOfNetwork = 20
	crowdApplications        = 4  // times those of one network, from the /16 or /32 around it
	keptApplications         = 50 // for networks that are known
)

// crowdPrefix is before the /16 or /32 in a key of the counter.
const crowdPrefix = "around "

// An Application is a registration that waits for the operator. It is not an agent yet: it has no
// history, the transparency log contains nothing of it, and only its AIR ID finds it.
type Application struct {
	// Agent is the registered agent with the status [registry.Pending]. For a refused application
	// it has the AIR ID and the status only.
	Agent     registry.Agent      `json:"agent"`
	Authority *registry.Authority `json:"authority,omitempty"`
	Asked     time.Time           `json:"asked"`
	Expires   time.Time           `json:"expires"`
	// Refused is the time when the operator refused it, with Reason; zero before.
	Refused time.Time `json:"refused,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	// Network is the IPv4 /24 or IPv6 /48 that it came from, "" if unknown.
	Network string `json:"network,omitempty"`
}

// isClosed reports whether an application no longer reserves anything: it was refused or has
// expired.
func (application Application) isClosed(now time.Time) bool {
	return !application.Refused.IsZero() || !now.Before(application.Expires)
}

// counterKeys returns the keys under which an application is counted. A refused one is not counted:
// the operator has made room.
func (application Application) counterKeys() []string {
	if !application.Refused.IsZero() {
		return nil
	}
	names := []string{"network " + application.Network}
	if p, err := netip.ParsePrefix(application.Network); err == nil {
		names = append(names, crowdPrefix+limit.Truncate(p.Addr(), 16, 32).String())
	}
	return names
}

// loadApplicationCounts counts the applications in the store once.
func (p *Policy) loadApplicationCounts(ctx context.Context) error {
	return p.applications.loadCounts(ctx, p.store, store.PendingPrefix, func(record store.Record) ([]string, error) {
		var application Application
		err := record.Decode(&application)
		return application.counterKeys(), err
	})
}

// waiting yields the applications behind a key of the store, with those that were refused or have
// expired.
func (ad *Admission) waiting(ctx context.Context, after string) iter.Seq2[kept[Application], error] {
	return readKept[Application](ctx, ad.store, store.PendingPrefix, after, "list the registrations that wait")
}

// applicationWrites returns the writes of an application. The proof of the agent was checked.
func (ad *Admission) applicationWrites(ctx context.Context, agent *registry.Agent, reg registry.Registration, authority *registry.Authority) ([]store.Write, error) {
	agent.Status = registry.Pending
	writes, err := ad.registry.ReserveProvedKey(ctx, agent, reg, authority)
	if err != nil {
		return nil, err
	}
	application := Application{Agent: *agent, Authority: authority, Asked: agent.Created, Expires: agent.Created.Add(registry.ApprovalPeriod), Network: wideNetwork(reg.Client)}
	value, err := json.Marshal(application)
	if err != nil {
		return nil, fmt.Errorf("write a registration: %w", err)
	}
	return append(writes, store.PutIf(store.PendingKey(agent.AirID), value, 0)), nil
}

// reserveApplicationSlot counts one more application, or refuses it. The returned function releases
// the slot.
func (ad *Admission) reserveApplicationSlot(ctx context.Context, reg registry.Registration) (giveBack func(), err error) {
	if err := ad.loadApplicationCounts(ctx); err != nil {
		return nil, err
	}
	names := Application{Network: wideNetwork(reg.Client)}.counterKeys()
	most, limits := ad.applicationLimits(reg.Client)
	full := ad.applications.reserveSlot(most, names, limits)
	if full != "" && ad.applications.startCleanup(ad.now()) {
		// Expired applications may use up the limit.
		if err := ad.DeleteExpired(ctx); err != nil {
			return nil, err
		}
		most, limits = ad.applicationLimits(reg.Client)
		full = ad.applications.reserveSlot(most, names, limits)
	}
	if full == "all" && reg.Client.IsValid() {
		made, err := ad.displaceApplication(ctx, names[len(names)-1])
		if err != nil {
			return nil, err
		}
		if made {
			full = ad.applications.reserveSlot(most, names, limits)
		}
	}
	switch full {
	case "":
		return func() { ad.applications.releaseSlot(names) }, nil
	case "all":
		return nil, &registry.Refusal{Kind: registry.ErrTooMany, Code: "applications-all", Message: fmt.Sprintf("%d registrations wait for the operator's approval already", maxApplications),
			Help: "register again when the operator has decided about them", Wait: 24 * time.Hour}
	}
	return nil, &registry.Refusal{Kind: registry.ErrTooMany, Code: "applications-network", Message: "very many registrations from your network wait for the operator's approval already",
		Help: "register again when the operator has decided about them", Wait: 24 * time.Hour}
}

// displaceApplication makes room in a full queue for an application from the /16 or /32 that the
// counter knows as crowd: it deletes the newest application from the one that has the most, if that
// has at least two more than the newcomer's. So a flood that came first gives way until each /16 or
// /32 has about as many. It reports whether there is room now.
func (ad *Admission) displaceApplication(ctx context.Context, crowd string) (bool, error) {
	largest, most := ad.applications.largestName(crowdPrefix)
	if most < ad.applications.countOf(crowd)+2 {
		return false, nil
	}
	var newest kept[Application]
	for application, err := range ad.waiting(ctx, "") {
		if err != nil {
			return false, err
		}
		if slices.Contains(application.value.counterKeys(), largest) && !application.value.Asked.Before(newest.value.Asked) {
			newest = application
		}
	}
	if newest.Seq == 0 {
		return false, nil // decided meanwhile
	}
	done, err := ad.deleteApplication(ctx, newest)
	if err != nil {
		return false, fmt.Errorf("make room for a registration: %w", err)
	}
	if done {
		ad.log.Info("registration gave way to another network's", "air_id", newest.value.Agent.AirID, "network", newest.value.Network)
	}
	return done, nil
}

// deleteApplication deletes an application with the reservation of its key, and ends its counting. It
// is false if the application was changed meanwhile.
func (ad *Admission) deleteApplication(ctx context.Context, k kept[Application]) (bool, error) {
	writes, err := ad.releaseKeyWrites(ctx, k.value.Agent)
	if err != nil {
		return false, err
	}
	_, err = ad.store.Apply(ctx, append(writes, deleteIfUnchanged(k.Key, k.Seq))...)
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		if _, _, failed := ad.loadApplication(context.WithoutCancel(ctx), k.value.Agent.AirID); !errors.Is(failed, registry.ErrNotFound) {
			return false, err
		}
	}
	ad.applications.releaseSlot(k.value.counterKeys())
	return err == nil, err
}

// applicationLimits returns the numbers of waiting applications up to which one more from a client
// is accepted: in all, of its wider network, and of the /16 or /32 around that. The fuller the
// queue is, the fewer of one network may wait, so that one crowd leaves room for others; the last
// slots are reserved for known networks.
func (ad *Admission) applicationLimits(client netip.Addr) (most int, limits []int) {
	if !client.IsValid() {
		return maxApplications, []int{maxApplications}
	}
	most = maxApplications
	if !ad.known.hasNetwork(client, ad.now()) {
		most -= keptApplications
	}
	left := float64(maxApplications-ad.applications.recordCount()) / maxApplications
	part := max(1, int(math.Ceil(maxApplicationsOfNetwork*left*left)))
	return most, []int{part, crowdApplications * part}
}

// Application returns a registration that waits, was refused, or expired a short while ago, without
// its secret and network: anyone who knows the AIR ID may see it. The error is an [*registry.Error]
// for a text that is no AIR ID, and a [*registry.Refusal] with [registry.ErrNotFound].
func (p *Policy) Application(ctx context.Context, airID string) (Application, error) {
	application, _, err := p.loadApplication(ctx, airID)
	if err != nil {
		return Application{}, err
	}
	application.Agent, application.Network = application.Agent.PublicCopy(), ""
	return application, nil
}

func (p *Policy) loadApplication(ctx context.Context, airID string) (Application, uint64, error) {
	if err := did.CheckAirID(airID); err != nil {
		return Application{}, 0, registry.FieldError("air_id", "", err)
	}
	record, err := p.store.Get(ctx, store.PendingKey(airID))
	if errors.Is(err, store.ErrNotFound) {
		if _, err := p.store.Get(ctx, store.AgentKey(airID)); err == nil {
			return Application{}, 0, &registry.Refusal{Kind: registry.ErrNotFound, Code: "application-unknown", Message: "no registration waits under " + airID + ": the agent is registered",
				Help: "see /api/v1/agents/" + airID}
		}
		return Application{}, 0, &registry.Refusal{Kind: registry.ErrNotFound, Code: "application-unknown", Message: "no registration waits under " + airID,
			Help: "it was approved, was never made, gave way to other networks in a full queue, or has run out: it waits for " + formatDays(registry.ApprovalPeriod)}
	}
	if err != nil {
		return Application{}, 0, fmt.Errorf("read a registration: %w", err)
	}
	var application Application
	err = record.Decode(&application)
	return application, record.Seq, err
}

func formatDays(d time.Duration) string { return fmt.Sprintf("%d days", int(d.Hours()/24)) }

// ExplainMissing returns the reason why there is no agent with an AIR ID, see
// [registry.AdmissionPolicy]. It returns nil if nothing is known about the AIR ID.
func (p *Policy) ExplainMissing(ctx context.Context, airID string) error {
	application, err := p.Application(ctx, airID)
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	switch now := p.recordTime(); {
	case err != nil:
		return err
	case !application.Refused.IsZero():
		return &registry.Refusal{Kind: registry.ErrNoAgent, Code: "application-refused", Message: "the operator has refused the registration", Help: helpWithNote(application.Reason, "ask the operator of the registry")}
	case application.isClosed(now):
		return &registry.Refusal{Kind: registry.ErrNoAgent, Code: "application-expired", Message: "nobody has approved the registration until " + registry.FormatSecond(application.Expires), Help: "register again, or ask the operator of the registry"}
	}
	note := ""
	if s, err := p.RegistrationPolicy(ctx); err == nil {
		note = s.Note
	}
	return &registry.Refusal{Kind: registry.ErrNoAgent, Code: "application-pending", Message: "the registration waits for the operator's approval",
		Help: helpWithNote(note, "ask again later; it runs out on "+registry.FormatSecond(application.Expires)+". Until it is approved the agent does not exist for others")}
}

// Applications returns at most limit waiting registrations in the order of their AIR IDs, beginning
// after the given one, as the operator sees them. A limit outside 1 to [registry.MaxList] means
// MaxList. Next is the position of the next list, "" at the end.
func (ad *Admission) Applications(ctx context.Context, after string, limit int) (waiting []Application, next string, err error) {
	if limit < 1 || limit > registry.MaxList {
		limit = registry.MaxList
	}
	if after != "" {
		after = store.PendingKey(after)
	}
	now := ad.recordTime()
	for k, err := range ad.waiting(ctx, after) {
		if err != nil {
			return nil, "", err
		}
		if len(waiting) == limit {
			return waiting, next, nil
		}
		if next = strings.TrimPrefix(k.Key, store.PendingPrefix); !k.value.isClosed(now) {
			k.value.Agent = k.value.Agent.PublicCopy()
			waiting = append(waiting, k.value)
		}
	}
	return waiting, "", nil
}

// Approve turns a waiting registration into an agent, as the operator. The agent's history begins
// then. The error is that of [Policy.Application], or a [*registry.Refusal] with
// [registry.ErrState] for a registration that was refused or has expired.
func (ad *Admission) Approve(ctx context.Context, airID string) (registry.Agent, error) {
	if err := ad.loadApplicationCounts(ctx); err != nil {
		return registry.Agent{}, err
	}
	for ctx.Err() == nil {
		application, seq, err := ad.loadUndecided(ctx, airID)
		if err != nil {
			return registry.Agent{}, err
		}
		agent := application.Agent
		agent.Status, agent.Created = registry.Active, ad.recordTime()
		agent.Updated = agent.Created
		registered, err := agent.AppendEntry(registry.HistoryEntry{Event: registry.EventRegistered, Actor: registry.ActorRegistrant, At: agent.Created, Authority: application.Authority})
		if err != nil {
			return registry.Agent{}, err
		}
		approved, err := agent.AppendEntry(registry.HistoryEntry{Event: registry.EventApproved, Actor: registry.ActorAdmin, At: agent.Created})
		if err != nil {
			return registry.Agent{}, err
		}
		value, err := json.Marshal(agent)
		if err != nil {
			return registry.Agent{}, fmt.Errorf("write agent %s: %w", airID, err)
		}
		err = ad.HoldPolicy(ctx, func() error {
			if err := ad.CheckAgent(registry.Agent{}, agent, ad.now()); err != nil {
				return err
			}
			_, err := ad.store.Apply(ctx, registered, approved, store.PutIf(store.AgentKey(airID), value, 0), deleteIfUnchanged(store.PendingKey(airID), seq))
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			continue // decided meanwhile
		}
		if err != nil {
			if ad.hasValue(ctx, store.AgentKey(airID), value) {
				ad.applications.releaseSlot(application.counterKeys())
			}
			return registry.Agent{}, fmt.Errorf("approve %s: %w", airID, err)
		}
		ad.applications.releaseSlot(application.counterKeys())
		ad.log.Info("registration approved", "air_id", airID)
		return agent, nil
	}
	return registry.Agent{}, ctx.Err()
}

// hasValue reports whether the store has a value: a write whose commit is reported as failed may be
// stored.
func (ad *Admission) hasValue(ctx context.Context, key string, value []byte) bool {
	record, err := ad.store.Get(context.WithoutCancel(ctx), key)
	return err == nil && bytes.Equal(record.Value, value)
}

// loadUndecided reads an application that the operator can still decide.
func (ad *Admission) loadUndecided(ctx context.Context, airID string) (Application, uint64, error) {
	application, seq, err := ad.loadApplication(ctx, airID)
	if err != nil {
		return application, 0, err
	}
	switch {
	case !application.Refused.IsZero():
		return application, 0, &registry.Refusal{Kind: registry.ErrState, Code: "application-refused", Message: "the registration was refused on " + registry.FormatSecond(application.Refused), Help: "its owner can register again"}
	case application.isClosed(ad.recordTime()):
		return application, 0, &registry.Refusal{Kind: registry.ErrState, Code: "application-expired", Message: "the registration has run out on " + registry.FormatSecond(application.Expires), Help: "its owner can register again"}
	}
	switch _, err := ad.store.Get(ctx, store.AgentKey(airID)); {
	case err == nil:
		// The agent may come from this application, approved since it was read.
		if _, _, err := ad.loadApplication(ctx, airID); err != nil {
			return application, 0, err
		}
		return application, 0, &registry.Refusal{Kind: registry.ErrState, Code: "air-id-taken", Message: "another agent has got the AIR ID meanwhile", Help: "refuse the registration; its owner can register again"}
	case !errors.Is(err, store.ErrNotFound):
		return application, 0, fmt.Errorf("read agent %s: %w", airID, err)
	}
	return application, seq, nil
}

// deleteIfUnchanged returns a deletion that succeeds only while key has the sequence seq.
func deleteIfUnchanged(key string, seq uint64) store.Write {
	return store.Write{Key: key, Delete: true, Expect: &seq}
}

// RefuseApplication refuses a waiting registration, as the operator, and deletes its content at
// once. Anyone who asks for the AIR ID sees the reason. The error is that of [Admission.Approve].
func (ad *Admission) RefuseApplication(ctx context.Context, airID, reason string) error {
	reason, err := registry.ValidateText("reason", reason, registry.MaxReason, registry.ManyLines)
	if err != nil {
		return err
	}
	if err := ad.loadApplicationCounts(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		application, seq, err := ad.loadApplication(ctx, airID)
		if err != nil {
			return err
		}
		now := ad.recordTime()
		if application.isClosed(now) {
			_, _, err := ad.loadUndecided(ctx, airID)
			return err
		}
		writes, err := ad.releaseKeyWrites(ctx, application.Agent)
		if err != nil {
			return err
		}
		refused := Application{Agent: registry.Agent{AirID: airID, Status: registry.Pending}, Asked: application.Asked, Expires: now.Add(registry.ApprovalPeriod), Refused: now, Reason: reason, Network: application.Network}
		value, err := json.Marshal(refused)
		if err != nil {
			return fmt.Errorf("refuse %s: %w", airID, err)
		}
		_, err = ad.store.Apply(ctx, append(writes, store.PutIf(store.PendingKey(airID), value, seq))...)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			if ad.hasValue(context.WithoutCancel(ctx), store.PendingKey(airID), value) {
				ad.applications.releaseSlot(application.counterKeys())
			}
			return fmt.Errorf("refuse %s: %w", airID, err)
		}
		ad.applications.releaseSlot(application.counterKeys())
		ad.log.Info("registration refused", "air_id", airID)
		return nil
	}
	return ctx.Err()
}

// releaseKeyWrites returns the write that releases the key of an application.
func (ad *Admission) releaseKeyWrites(ctx context.Context, a registry.Agent) ([]store.Write, error) {
	if a.KeyProof == "" {
		return nil, nil
	}
	record, err := ad.store.Get(ctx, store.KeyKey(a.Multikey()))
	if errors.Is(err, store.ErrNotFound) || err == nil && string(record.Value) != a.AirID {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up key %s: %w", a.Multikey(), err)
	}
	return []store.Write{deleteIfUnchanged(record.Key, record.Seq)}, nil
}

// IsKeyReleased reports whether the holder of a key is an application that was refused or has
// expired.
func (p *Policy) IsKeyReleased(ctx context.Context, holder string) (bool, error) {
	application, _, err := p.loadApplication(ctx, holder)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil && application.isClosed(p.recordTime()), err
}

// DeleteExpired deletes expired applications and reports that were settled long ago.
// [Admission.Run] calls it every hour.
func (ad *Admission) DeleteExpired(ctx context.Context) error {
	if err := ad.deleteExpiredApplications(ctx); err != nil {
		return err
	}
	return ad.deleteExpiredReports(ctx)
}

func (ad *Admission) deleteExpiredApplications(ctx context.Context) error {
	if err := ad.loadApplicationCounts(ctx); err != nil {
		return err
	}
	now := ad.due()
	for application, err := range ad.waiting(ctx, "") {
		if err != nil {
			return err
		}
		if now.Before(application.value.Expires) {
			continue
		}
		done, err := ad.deleteApplication(ctx, application)
		if err != nil {
			return fmt.Errorf("forget a registration that has run out: %w", err)
		}
		if done {
			ad.log.Info("registration ran out", "air_id", application.value.Agent.AirID)
		}
	}
	return nil
}
