package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/store"
)

// handleCooldown is how long a released handle is reserved for its last holder, so that nobody else
// receives mail that is meant for that agent.
const handleCooldown = 30 * 24 * time.Hour

// A handleHolder is the value of a handle in the store: the AIR ID and, after " until ", the time
// when the handle was released.
type handleHolder struct {
	airID string
	until time.Time // zero while the handle is held
}

func (h handleHolder) String() string {
	if h.until.IsZero() {
		return h.airID
	}
	return h.airID + " until " + h.until.UTC().Format(time.RFC3339)
}

// loadHandle returns the holder of a handle; the sequence is 0 if nobody ever had it.
func (r *Registry) loadHandle(ctx context.Context, handle string) (handleHolder, uint64, error) {
	record, err := r.store.Get(ctx, store.HandleKey(handle))
	if errors.Is(err, store.ErrNotFound) {
		return handleHolder{}, 0, nil
	}
	if err != nil {
		return handleHolder{}, 0, fmt.Errorf("look up handle %s: %w", handle, err)
	}
	airID, until, released := strings.Cut(string(record.Value), " until ")
	h := handleHolder{airID: airID}
	if released {
		if h.until, err = time.Parse(time.RFC3339, until); err != nil {
			return handleHolder{}, 0, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
		}
	}
	return h, record.Seq, nil
}

// handleWrites returns the writes that release one handle and claim another; "" is none. The error
// is a [*HandleTakenError] if the handle is not available.
func (r *Registry) handleWrites(ctx context.Context, airID, from, to string, now time.Time) ([]store.Write, error) {
	var writes []store.Write
	if from != "" {
		// The agent's record still names the handle, so nobody else holds it.
		writes = append(writes, store.Put(store.HandleKey(from), []byte(handleHolder{airID, now}.String())))
	}
	if to == "" {
		return writes, nil
	}
	h, seq, err := r.loadHandle(ctx, to)
	if err != nil {
		return nil, err
	}
	if err := h.checkAvailable(to, airID, now); err != nil {
		return nil, err
	}
	return append(writes, store.PutIf(store.HandleKey(to), []byte(airID), seq)), nil
}

// checkAvailable returns nil if an agent may claim the handle: nobody holds it, and it was not
// released lately by another agent.
func (h handleHolder) checkAvailable(handle, airID string, now time.Time) error {
	switch {
	case h.airID == "":
		return nil
	case h.until.IsZero():
		return &HandleTakenError{Handle: handle}
	case h.airID == airID || !now.Before(h.until.Add(handleCooldown)):
		return nil
	}
	return &HandleTakenError{Handle: handle, Free: h.until.Add(handleCooldown)}
}

// UsernameView says whether a handle is available, in the reference's shape.
type UsernameView struct {
	Username  string `json:"username"`
	Valid     bool   `json:"valid"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"` // "available", "taken" or "cooldown"
	Error     string `json:"error,omitempty"`  // why it is not valid
}

// CheckUsername reports whether an agent that never held a handle can claim it.
func (r *Registry) CheckUsername(ctx context.Context, text string) (UsernameView, error) {
	handle, err := did.ClaimHandle(text)
	if e, ok := errors.AsType[*did.Error](err); ok {
		return UsernameView{Username: ClipText(text), Error: e.Message}, nil
	}
	if err != nil {
		return UsernameView{}, err
	}
	h, _, err := r.loadHandle(ctx, handle)
	if err != nil {
		return UsernameView{}, err
	}
	v := UsernameView{Username: handle, Valid: true, Reason: "available"}
	switch taken, _ := errors.AsType[*HandleTakenError](h.checkAvailable(handle, "", r.Timestamp())); {
	case taken == nil:
		v.Available = true
	case taken.Free.IsZero():
		v.Reason = "taken"
	default:
		v.Reason = "cooldown"
	}
	return v, nil
}

// PassHandle gives the handle of an agent that ends to another agent, and reports whether there was one.
// If the other agent has a handle, it alone may claim the second one until the cooldown is over, so that
// nobody else receives what is meant for the owner.
func (c *Change) PassHandle(to *Change) bool {
	handle := c.Agent.Handle
	if handle == "" {
		return false
	}
	h := handleHolder{airID: to.Agent.AirID}
	if to.Agent.Handle == "" {
		to.Agent.Handle, to.handleWritten = handle, true
	} else {
		h.until = c.Now
	}
	c.handleWritten = true
	c.AddWrite(store.Put(store.HandleKey(handle), []byte(h.String())))
	return true
}

// CheckHandleAvailable reports whether an agent may claim a handle; the error is a [*HandleTakenError].
func (r *Registry) CheckHandleAvailable(ctx context.Context, handle, airID string) error {
	h, _, err := r.loadHandle(ctx, handle)
	if err != nil {
		return err
	}
	return h.checkAvailable(handle, airID, r.Timestamp())
}
