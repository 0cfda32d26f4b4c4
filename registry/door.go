package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/store"
)

// How a registry takes new agents.
const (
	DoorOpen     = "open"     // at once
	DoorApproval = "approval" // after the operator's approval
	DoorClosed   = "closed"   // not
)

var doorModes = []string{DoorOpen, DoorApproval, DoorClosed}

const (
	// defaultUnattended is how long an open door stays open that nobody looks
	// after.
	defaultUnattended = 7 * 24 * time.Hour
	// lookPause is the least time between two looks that are written down.
	lookPause = time.Hour
)

// A Door is what is stored of how new agents are taken.
type Door struct {
	// Mode is what the operator has set, one of the Door constants; "" leaves it to
	// [Options.Door].
	Mode string `json:"mode,omitempty"`
	// Note is what those are told who are not taken at once, such as an address to
	// write to.
	Note  string    `json:"note,omitempty"`
	Since time.Time `json:"since,omitzero"` // when Mode was set
	// Looked is when the operator looked after the registry last, to the hour; that
	// of the first start before there was a look.
	Looked time.Time `json:"looked"`
	// SelfClosed is when an open door closed itself to approval; zero when it did
	// not, or was opened since.
	SelfClosed time.Time `json:"self_closed,omitzero"`
}

// A DoorState says how new agents are taken now.
type DoorState struct {
	Mode       string    `json:"mode"` // one of the Door constants
	Note       string    `json:"note,omitempty"`
	Since      time.Time `json:"since,omitzero"`       // when the operator set it
	Looked     time.Time `json:"looked,omitzero"`      // when the operator looked last
	Closes     time.Time `json:"closes,omitzero"`      // when an open door will close itself
	SelfClosed time.Time `json:"self_closed,omitzero"` // when it did
}

// Door returns how new agents are taken now.
func (r *Registry) Door(ctx context.Context) (DoorState, error) {
	d, err := r.door(ctx)
	if err != nil {
		return DoorState{}, err
	}
	return r.state(d, r.moment()), nil
}

// A doorway remembers the record of the door, which every registration looks at:
// the registry alone writes it.
type doorway struct {
	mu    sync.RWMutex
	known bool // whether the following is what the store holds
	door  Door
	seq   uint64 // 0 while there is no record
}

// door returns what is stored of the door.
func (r *Registry) door(ctx context.Context) (Door, error) {
	w := &r.doorway
	w.mu.RLock()
	d, known := w.door, w.known
	w.mu.RUnlock()
	if known {
		return d, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.read(ctx, r.store)
	return w.door, err
}

// read reads the record unless it is known; mu is held for writing.
func (w *doorway) read(ctx context.Context, s store.Store) error {
	if w.known {
		return nil
	}
	w.door, w.seq = Door{}, 0
	record, err := s.Get(ctx, store.DoorKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return fmt.Errorf("read how agents are registered: %w", err)
	default:
		if err := json.Unmarshal(record.Value, &w.door); err != nil {
			return fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
		}
		w.seq = record.Seq
	}
	w.known = true
	return nil
}

// state works out how a door stands. That it closed itself follows from the time
// of the last look, so no clock has to ring for it.
func (r *Registry) state(d Door, now time.Time) DoorState {
	s := DoorState{Mode: d.Mode, Note: d.Note, Since: d.Since, Looked: d.Looked, SelfClosed: d.SelfClosed}
	if s.Mode == "" {
		s.Mode = r.doorMode
	}
	if s.Mode != DoorOpen {
		s.SelfClosed = time.Time{}
		return s
	}
	if s.SelfClosed.IsZero() && r.unattended > 0 && !d.Looked.IsZero() {
		if s.Closes = d.Looked.Add(r.unattended); !now.Before(s.Closes) {
			s.SelfClosed, s.Closes = s.Closes, time.Time{}
		}
	}
	if !s.SelfClosed.IsZero() {
		s.Mode = DoorApproval
	}
	return s
}

// Attended notes that the operator looks after the registry; it is called by
// whatever only the operator can ask for. An open door stays open for a week from
// then. One that has closed itself stays so, until [Registry.SetDoor] opens it.
func (r *Registry) Attended(ctx context.Context) error {
	return r.changeDoor(ctx, func(d *Door, now time.Time) bool {
		s := r.state(*d, now)
		if now.Sub(d.Looked) < lookPause && s.SelfClosed.Equal(d.SelfClosed) {
			return false
		}
		d.SelfClosed, d.Looked = s.SelfClosed, now
		return true
	})
}

// SetDoor sets how new agents are taken, as the operator. Mode is one of the Door
// constants, or "" for what the configuration says; note is told to those who are
// not taken at once. When it has returned, nobody passes who was judged by the
// mode before. The error is an [*Error] for a value.
func (r *Registry) SetDoor(ctx context.Context, mode, note string) (DoorState, error) {
	if mode != "" && !slices.Contains(doorModes, mode) {
		return DoorState{}, &Error{Field: "mode", Code: "value", Message: fmt.Sprintf("there is no mode %q", clipped(mode)), Help: "it is one of " + strings.Join(doorModes, ", ")}
	}
	note, err := checkText("note", note, maxReason, manyLines)
	if err != nil {
		return DoorState{}, err
	}
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	var s DoorState
	err = r.changeDoor(ctx, func(d *Door, now time.Time) bool {
		*d = Door{Mode: mode, Note: note, Since: now, Looked: now}
		s = r.state(*d, now)
		return true
	})
	if err != nil {
		return DoorState{}, err
	}
	r.log.Info("registration is "+s.Mode, "set", mode)
	return s, nil
}

// changeDoor writes the record if f says so.
func (r *Registry) changeDoor(ctx context.Context, f func(d *Door, now time.Time) bool) error {
	w := &r.doorway
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if err := w.read(ctx, r.store); err != nil {
			return err
		}
		d := w.door
		if !f(&d, r.moment()) {
			return nil
		}
		value, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("write how agents are registered: %w", err)
		}
		w.known = false // until the write is known to be on disk
		seq, err := r.store.Apply(ctx, store.PutIf(store.DoorKey, value, w.seq))
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write how agents are registered: %w", err)
		}
		w.door, w.seq, w.known = d, seq, true
		return nil
	}
}

// start begins to count how long nobody looks after the registry.
func (r *Registry) start(ctx context.Context) error {
	if r.started.Load() {
		return nil
	}
	err := r.changeDoor(ctx, func(d *Door, now time.Time) bool {
		if !d.Looked.IsZero() {
			return false
		}
		d.Looked = now
		return true
	})
	if err == nil {
		r.started.Store(true)
	}
	return err
}

// enter reports whether a registration has to wait for approval, or refuses it.
func (r *Registry) enter(ctx context.Context, reg Registration, a Agent) (waits bool, err error) {
	if reg.Operator {
		return false, nil
	}
	s, err := r.Door(ctx)
	if err != nil {
		return false, err
	}
	if s.Mode == DoorClosed {
		return false, &Refusal{Kind: ErrForbidden, Code: "registration-closed", Message: "this registry takes no new agents",
			Help: told(s.Note, "ask its operator, or register elsewhere: a did:wba on a domain of your own needs no registry")}
	}
	if err := r.gate.network(reg.Client, r.now()); err != nil {
		return false, err
	}
	return s.Mode == DoorApproval, r.gate.agent(Agent{}, a, r.now())
}

// told puts the operator's note before what is told to everybody.
func told(note, help string) string {
	if note == "" {
		return help
	}
	return help + " (the operator says: " + note + ")"
}
