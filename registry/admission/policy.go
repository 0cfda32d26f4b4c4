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

	"gazetteer/registry"
	"gazetteer/store"
)

// How a registry takes new agents.
const (
	ModeOpen     = "open"     // at once
	ModeApproval = "approval" // after the operator's approval
	ModeClosed   = "closed"   // not
)

var policyModes = []string{ModeOpen, ModeApproval, ModeClosed}

const (
	// defaultUnattended is how long an open door stays open that nobody looks
	// after.
	defaultUnattended = 7 * 24 * time.Hour
	// minAttendedInterval is the least time between two looks that are written down.
	minAttendedInterval = time.Hour
)

// A Door is what is stored of how new agents are taken.
type StoredPolicy struct {
	// Mode is what the operator has set, one of the Door constants; "" leaves it to
	// [Options.Door].
	Mode string `json:"mode,omitempty"`
	// Note is what those are told who are not taken at once, such as an address to
	// write to.
	Note  string    `json:"note,omitempty"`
	Since time.Time `json:"since,omitzero"` // when Mode was set
	// Attended is when the operator looked after the registry last, to the hour; that
	// of the first start before there was a look.
	Attended time.Time `json:"looked"`
	// SelfClosed is when an open door closed itself to approval; zero when it did
	// not, or was opened since.
	SelfClosed time.Time `json:"self_closed,omitzero"`
}

// A PolicyState says how new agents are taken now.
type PolicyState struct {
	Mode       string    `json:"mode"` // one of the Door constants
	Note       string    `json:"note,omitempty"`
	Since      time.Time `json:"since,omitzero"`       // when the operator set it
	Attended   time.Time `json:"looked,omitzero"`      // when the operator looked last
	Closes     time.Time `json:"closes,omitzero"`      // when an open door will close itself
	SelfClosed time.Time `json:"self_closed,omitzero"` // when it did
}

// RegistrationPolicy returns how new agents are taken now.
func (p *Policy) RegistrationPolicy(ctx context.Context) (PolicyState, error) {
	d, err := p.storedPolicy(ctx)
	if err != nil {
		return PolicyState{}, err
	}
	return p.policyState(d, p.timestamp()), nil
}

// A doorway remembers the record of the door, which every registration looks at:
// the registry alone writes it.
type policyCache struct {
	mu     sync.RWMutex
	loaded bool // whether the following is what the store holds
	policy StoredPolicy
	seq    uint64 // 0 while there is no record
}

// storedPolicy returns what is stored of the door.
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

// loadPolicy reads the record unless it is known; mu is held for writing.
func (w *policyCache) loadPolicy(ctx context.Context, s store.Store) error {
	if w.loaded {
		return nil
	}
	w.policy, w.seq = StoredPolicy{}, 0
	record, err := s.Get(ctx, store.AdmissionPolicyKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return fmt.Errorf("read how agents are registered: %w", err)
	default:
		if err := json.Unmarshal(record.Value, &w.policy); err != nil {
			return fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
		}
		w.seq = record.Seq
	}
	w.loaded = true
	return nil
}

// policyState works out how a door stands. That it closed itself follows from the time
// of the last look, so no clock has to ring for it.
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

// RecordAttention notes that the operator looks after the registry; it is called by
// whatever only the operator can ask for. An open door stays open for a week from
// then. One that has closed itself stays so, until [Registry.SetRegistrationPolicy] opens it.
func (p *Policy) RecordAttention(ctx context.Context) error {
	return p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		s := p.policyState(*d, now)
		if now.Sub(d.Attended) < minAttendedInterval && s.SelfClosed.Equal(d.SelfClosed) {
			return false
		}
		d.SelfClosed, d.Attended = s.SelfClosed, now
		return true
	})
}

// SetRegistrationPolicy sets how new agents are taken, as the operator. Mode is one of the Door
// constants, or "" for what the configuration says; note is told to those who are
// not taken at once. When it has returned, nobody passes who was judged by the
// mode before. The error is an [*Error] for a value.
func (p *Policy) SetRegistrationPolicy(ctx context.Context, mode, note string) (PolicyState, error) {
	if mode != "" && !slices.Contains(policyModes, mode) {
		return PolicyState{}, &registry.Error{Field: "mode", Code: "value", Message: fmt.Sprintf("there is no mode %q", registry.ClipText(mode)), Help: "it is one of " + strings.Join(policyModes, ", ")}
	}
	note, err := registry.ValidateText("note", note, registry.MaxReason, registry.ManyLines)
	if err != nil {
		return PolicyState{}, err
	}
	p.blockLists.mu.Lock()
	defer p.blockLists.mu.Unlock()
	var s PolicyState
	err = p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		*d = StoredPolicy{Mode: mode, Note: note, Since: now, Attended: now}
		s = p.policyState(*d, now)
		return true
	})
	if err != nil {
		return PolicyState{}, err
	}
	p.log.Info("registration is "+s.Mode, "set", mode)
	return s, nil
}

// changePolicy writes the record if f says so.
func (p *Policy) changePolicy(ctx context.Context, f func(d *StoredPolicy, now time.Time) bool) error {
	w := &p.policyCache
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if err := w.loadPolicy(ctx, p.store); err != nil {
			return err
		}
		d := w.policy
		if !f(&d, p.timestamp()) {
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

// startAttendedTime begins to count how long nobody looks after the registry.
func (p *Policy) startAttendedTime(ctx context.Context) error {
	if p.attendedStarted.Load() {
		return nil
	}
	err := p.changePolicy(ctx, func(d *StoredPolicy, now time.Time) bool {
		if !d.Attended.IsZero() {
			return false
		}
		d.Attended = now
		return true
	})
	if err == nil {
		p.attendedStarted.Store(true)
	}
	return err
}

// checkPolicy reports whether a registration has to wait for approval, or refuses it.
func (p *Policy) checkPolicy(ctx context.Context, reg registry.Registration, a registry.Agent) (waits bool, err error) {
	if reg.Operator {
		return false, nil
	}
	s, err := p.RegistrationPolicy(ctx)
	if err != nil {
		return false, err
	}
	if s.Mode == ModeClosed {
		return false, &registry.Refusal{Kind: registry.ErrForbidden, Code: "registration-closed", Message: "this registry takes no new agents",
			Help: helpWithNote(s.Note, "ask its operator, or register elsewhere: a did:wba on a domain of your own needs no registry")}
	}
	if err := p.checkNetwork(reg.Client, p.now()); err != nil {
		return false, err
	}
	return s.Mode == ModeApproval, p.CheckAgent(registry.Agent{}, a, p.now())
}

// helpWithNote puts the operator's note before what is told to everybody.
func helpWithNote(note, help string) string {
	if note == "" {
		return help
	}
	return help + " (the operator says: " + note + ")"
}
