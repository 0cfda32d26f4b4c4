package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/store"
)

// The admission of new agents.
const (
	ModeOpen     = "open"     // at once
	ModeApproval = "approval" // after the operator's approval
	ModeClosed   = "closed"   // not
)

var policyModes = []string{ModeOpen, ModeApproval, ModeClosed}

const (
	// defaultUnattended is how long registration stays open without attention of the operator.
	defaultUnattended = 7 * 24 * time.Hour
	// minAttendedInterval is the least time between two stored times of attention.
	minAttendedInterval = time.Hour
)

// A StoredPolicy is the record of the registration policy.
type StoredPolicy struct {
	// Mode is the operator's choice, one of the Mode constants. "" means [PolicyOptions.Mode].
	Mode string `json:"mode,omitempty"`
	// Note is shown to registrants who are not admitted at once, for example an address to write
	// to.
	Note  string    `json:"note,omitempty"`
	Since time.Time `json:"since,omitzero"` // when Mode was set
	// Attended is the last time when the operator attended the registry, to the hour, or that of
	// the first start. It is a due time, see [PolicyOptions].
	Attended time.Time `json:"looked"`
	// SelfClosed is when open registration changed to approval without attention; zero if it did
	// not, or was opened again.
	SelfClosed time.Time `json:"self_closed,omitzero"`
}

// A PolicyState is the present admission of new agents.
type PolicyState struct {
	Mode       string    `json:"mode"` // one of the Mode constants
	Note       string    `json:"note,omitempty"`
	Since      time.Time `json:"since,omitzero"`       // when the operator set it
	Attended   time.Time `json:"attended,omitzero"`    // when the operator last sent a request
	Closes     time.Time `json:"closes,omitzero"`      // when open registration will close itself
	SelfClosed time.Time `json:"self_closed,omitzero"` // when it did
}

// RegistrationPolicy returns the present admission of new agents.
func (p *Policy) RegistrationPolicy(ctx context.Context) (PolicyState, error) {
	d, err := p.storedPolicy(ctx)
	if err != nil {
		return PolicyState{}, err
	}
	return p.policyState(d, p.dueTime()), nil
}

// A policyCache caches the record of the policy, which every registration reads. Only the registry
// writes the record.
type policyCache struct {
	mu     sync.RWMutex
	loaded bool // whether the following is what the store holds
	policy StoredPolicy
	seq    uint64 // 0 while there is no record
}

// storedPolicy returns the record of the policy.
func (p *Policy) storedPolicy(ctx context.Context) (StoredPolicy, error) {
	w := &p.policyCache
	w.mu.RLock()
	d, known := w.policy, w.loaded
	w.mu.RUnlock()
	if known {
		return d, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.loadPolicy(ctx, p.store)
	return w.policy, err
}

// loadPolicy reads the record unless it is cached. The caller holds mu for writing.
func (w *policyCache) loadPolicy(ctx context.Context, s store.Store) error {
	if w.loaded {
		return nil
	}
	w.policy, w.seq = StoredPolicy{}, 0
	record, err := s.Get(ctx, store.AdmissionPolicyKey)
	if errors.Is(err, store.ErrNotFound) {
		record, err = s.Get(ctx, store.EarlierAdmissionPolicyKey)
		record.Seq = 0 // the next write makes a record under the current key
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return fmt.Errorf("read how agents are registered: %w", err)
	default:
		if err := record.Decode(&w.policy); err != nil {
			return err
		}
		w.seq = record.Seq
	}
	w.loaded = true
	return nil
}

// policyState returns the policy that applies now. Whether registration closed itself follows from
// the last time of attention, so no timer is needed.
func (p *Policy) policyState(d StoredPolicy, now time.Time) PolicyState {
	s := PolicyState{Mode: d.Mode, Note: d.Note, Since: d.Since, Attended: d.Attended, SelfClosed: d.SelfClosed}
	if s.Mode == "" {
		s.Mode = p.defaultMode
	}
	if s.Mode != ModeOpen {
		s.SelfClosed = time.Time{}
		return s
	}
	if s.SelfClosed.IsZero() && p.unattended > 0 && !d.Attended.IsZero() {
		if s.Closes = d.Attended.Add(p.unattended); !now.Before(s.Closes) {
			s.SelfClosed, s.Closes = s.Closes, time.Time{}
		}
	}
	if !s.SelfClosed.IsZero() {
		s.Mode = ModeApproval
	}
	return s
}

// RecordAttention notes that the operator attends the registry. Call it for every request that only
// the operator can make. Open registration then stays open for another week. Once it has closed
// itself, only [Policy.SetRegistrationPolicy] opens it again.
func (p *Policy) RecordAttention(ctx context.Context) error {
	err := p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		s := p.policyState(*d, now)
		if now.Sub(d.Attended).Abs() < minAttendedInterval && s.SelfClosed.Equal(d.SelfClosed) {
			return false
		}
		d.SelfClosed, d.Attended = s.SelfClosed, now
		return true
	})
	if errors.Is(err, store.ErrFull) {
		return nil // reads and erasures are possible on a full disk; a later request is recorded
	}
	return err
}

// SetRegistrationPolicy sets the admission of new agents, as the operator. Mode is one of the Mode
// constants, or "" for the mode of the configuration; note is shown to registrants who are not
// admitted at once. After it has returned, no agent is admitted by the earlier mode. The error is
// an [*registry.Error] for a value.
func (p *Policy) SetRegistrationPolicy(ctx context.Context, mode, note string) (PolicyState, error) {
	if mode != "" && !slices.Contains(policyModes, mode) {
		return PolicyState{}, &registry.Error{Field: "mode", Code: "value", Message: fmt.Sprintf("unknown mode %q", protocol.ClipBytes(mode, registry.MaxQuoted)), Help: "it is one of " + strings.Join(policyModes, ", ")}
	}
	note, err := registry.ValidateText("note", note, registry.MaxReason, registry.ManyLines)
	if err != nil {
		return PolicyState{}, err
	}
	p.blockLists.mu.Lock()
	defer p.blockLists.mu.Unlock()
	var s PolicyState
	err = p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		*d = StoredPolicy{Mode: mode, Note: note, Since: p.recordTime(), Attended: now}
		s = p.policyState(*d, now)
		return true
	})
	if err != nil {
		return PolicyState{}, err
	}
	p.log.Info("admission set", "mode", s.Mode)
	return s, nil
}

// changePolicy writes the record if f returns true. now is the due time.
func (p *Policy) changePolicy(ctx context.Context, f func(d *StoredPolicy, now time.Time) bool) error {
	w := &p.policyCache
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if err := w.loadPolicy(ctx, p.store); err != nil {
			return err
		}
		d := w.policy
		if !f(&d, p.dueTime()) {
			return nil
		}
		value, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("write how agents are registered: %w", err)
		}
		w.loaded = false // until the write is known to be on disk
		seq, err := p.store.Apply(ctx, store.PutIf(store.AdmissionPolicyKey, value, w.seq))
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write how agents are registered: %w", err)
		}
		w.policy, w.seq, w.loaded = d, seq, true
		return nil
	}
}

// startAttendedTime stores the first time of attention, which is that of the first start. It replaces
// one that lies ahead, which was stored while the clock was ahead and would keep registration open.
func (p *Policy) startAttendedTime(ctx context.Context) error {
	known := func(d StoredPolicy, now time.Time) bool { return !d.Attended.IsZero() && !d.Attended.After(now) }
	if d, err := p.storedPolicy(ctx); err != nil || known(d, p.dueTime()) {
		return err
	}
	return p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		if known(*d, now) {
			return false
		}
		d.Attended = now
		return true
	})
}

// checkPolicy reports whether a registration has to wait for approval, or refuses it. The caller
// holds the policy.
func (p *Policy) checkPolicy(ctx context.Context, reg registry.Registration, a registry.Agent) (waits bool, err error) {
	if reg.Operator {
		return false, nil
	}
	s, err := p.RegistrationPolicy(ctx)
	if err != nil {
		return false, err
	}
	if s.Mode == ModeClosed {
		return false, &registry.Refusal{Kind: registry.ErrForbidden, Code: "registration-closed", Message: "this registry accepts no new agents",
			Help: helpWithNote(s.Note, "ask its operator, or register elsewhere: a did:wba on a domain of your own needs no registry")}
	}
	if err := p.checkNetwork(reg.Client, p.now()); err != nil {
		return false, err
	}
	return s.Mode == ModeApproval, p.CheckAgent(registry.Agent{}, a, p.now())
}

// helpWithNote adds the operator's note to a help text.
func helpWithNote(note, help string) string {
	if note == "" {
		return help
	}
	return help + " (the operator says: " + note + ")"
}
