package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/store"
)

// handleCooldown is the longest time for which a released handle is reserved for its last holder,
// so that no other agent receives mail for that agent. A handle that was held for a shorter time is
// reserved for as long as it was held, but at least for minHandleCooldown: the reference reserves each
// released handle (recorded exchanges "cooldown").
const (
	handleCooldown    = 30 * 24 * time.Hour
	minHandleCooldown = time.Hour
)

const (
	// maxClaims is the number of handles that an agent may claim within handleCooldown,
	// maxClaimsProved that number with a proved domain.
	maxClaims       = 3
	maxClaimsProved = 10
)

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

// loadHandle returns the holder of a handle; the sequence is 0 if no agent ever had it.
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

// HandlesWithPrefix returns up to limit handles that agents hold and that begin with prefix, in order.
func (r *Registry) HandlesWithPrefix(ctx context.Context, prefix string, limit int) ([]string, error) {
	var handles []string
	for record, err := range store.Readable(r.store.List(ctx, store.HandleKey(prefix), "")) {
		if err != nil {
			return nil, fmt.Errorf("list handles: %w", err)
		}
		if strings.Contains(string(record.Value), " until ") {
			continue // released
		}
		if handles = append(handles, strings.TrimPrefix(record.Key, store.HandlePrefix)); len(handles) == limit {
			break
		}
	}
	return handles, nil
}

// handleWrites returns the writes that release the handle that the agent held and claim the one that it
// has now, and notes the claim in the agent. The error is a [*HandleTakenError] if the handle is not
// available, and a [*Refusal] with [ErrTooMany] if the agent has claimed too many.
func (c *Change) handleWrites(ctx context.Context) ([]store.Write, error) {
	airID, from, to := c.Agent.AirID, c.old.Handle, c.Agent.Handle
	var writes []store.Write
	if from != "" {
		// The agent's record still names the handle, so no other agent holds it. The record stores
		// the time of release as if the whole cooldown followed.
		released := c.Now.Add(cooldownOf(c.old, c.Now) - handleCooldown)
		writes = append(writes, store.Put(store.HandleKey(from), []byte(handleHolder{airID, released}.String())))
	}
	c.Agent.HandleSince = time.Time{}
	if to == "" {
		return writes, nil
	}
	h, seq, err := c.registry.loadHandle(ctx, to)
	if err != nil {
		return nil, err
	}
	if c.others[h.airID] == nil { // else it is given up in the same write
		if err := h.checkAvailable(to, airID, c.registry.DueTime()); err != nil {
			return nil, err
		}
	}
	if h.airID != airID {
		if err := c.registry.CheckHandleReserved(c.Agent, to); err != nil {
			return nil, err
		}
		if err := c.Agent.countClaim(c.registry.DueTime()); err != nil {
			return nil, err
		}
	}
	c.Agent.HandleSince, c.Agent.HandleLost = c.Now, nil
	return append(writes, store.PutIf(store.HandleKey(to), []byte(airID), seq)), nil
}

// cooldownOf returns the time for which the handle of an agent stays reserved if it is released
// now: as long as it was held, because a handle that was held for a moment is not known to others.
func cooldownOf(a Agent, now time.Time) time.Duration {
	if a.HandleSince.IsZero() {
		return handleCooldown
	}
	return min(max(now.Sub(a.HandleSince), minHandleCooldown), handleCooldown)
}

// countClaim notes that the agent claims another handle, or refuses that. The time is that of
// [Registry.DueTime].
func (a *Agent) countClaim(now time.Time) error {
	a.HandleClaims = slices.DeleteFunc(a.HandleClaims, func(at int64) bool { return now.Sub(time.Unix(at, 0)) >= handleCooldown })
	most, help := maxClaims, "prove a domain to claim more, or wait"
	if slices.ContainsFunc(a.Domains, Domain.Proved) {
		most, help = maxClaimsProved, "wait"
	}
	if len(a.HandleClaims) >= most {
		return &Refusal{Kind: ErrTooMany, Code: "handle-claims", Message: fmt.Sprintf("this agent has claimed %d handles within 30 days", len(a.HandleClaims)),
			Help: help, Wait: time.Unix(a.HandleClaims[0], 0).Add(handleCooldown).Sub(now)}
	}
	a.HandleClaims = append(a.HandleClaims, now.Unix())
	return nil
}

// domainHandle returns the handle of a domain's name, "example_com" for example.com.
func domainHandle(domain string) string {
	return strings.NewReplacer(".", "_", "-", "_").Replace(domain)
}

// reservesHandle reports whether a handle is, or looks like, that of the registry's own host.
func (r *Registry) reservesHandle(handle string) bool {
	return did.LooksLike(handle, domainHandle(r.host.Host))
}

// CheckHandleReserved returns an error if a handle is, or looks like, that of the registry's own host, and
// the agent has not proved the domain of that name.
func (r *Registry) CheckHandleReserved(a Agent, handle string) error {
	if !r.reservesHandle(handle) || a.ownsName(handle) {
		return nil
	}
	return &Error{Field: "username", Code: "handle-reserved", Message: "Invalid username: username is reserved",
		Help: fmt.Sprintf("%q could be mistaken for this registry; choose another, or prove the domain of that name", handle)}
}

// ownsName reports whether an agent has proved a domain whose handle that is.
func (a Agent) ownsName(handle string) bool {
	return slices.ContainsFunc(a.Domains, func(d Domain) bool { return d.Proved() && domainHandle(d.Name) == handle })
}

// A LostHandle is a handle that another agent has taken, which has proved the domain of that name.
type LostHandle struct {
	Handle string    `json:"handle"`
	To     string    `json:"to" doc:"the AIR ID of the agent that has proved the domain"`
	At     time.Time `json:"at"`
}

// takeOwnName lets the agent take the handle of the name of a domain that it has proved from an agent
// that has not: in the same write that agent loses it. The proofs of an agent that is suspended are not
// checked any more, so they keep nothing.
func (c *Change) takeOwnName(ctx context.Context) error {
	handle := c.Agent.Handle
	if handle == "" || handle == c.old.Handle || !c.Agent.ownsName(handle) {
		return nil
	}
	h, _, err := c.registry.loadHandle(ctx, handle)
	if err != nil || h.airID == "" || h.airID == c.Agent.AirID {
		return err
	}
	holder, err := c.OtherAgent(ctx, h.airID)
	if errors.Is(err, ErrNoAgent) {
		return nil
	}
	if err != nil || holder.Agent.Handle != handle && h.until.IsZero() || holder.Agent.Status == Active && holder.Agent.ownsName(handle) {
		if err == nil {
			delete(c.others, h.airID) // it keeps the handle
		}
		return err
	}
	if holder.Agent.Handle != handle {
		return nil // it has released the handle; the name is the owner's also before others may claim it
	}
	holder.Agent.Handle, holder.Agent.HandleSince, holder.handleWritten = "", time.Time{}, true
	holder.Agent.HandleLost = &LostHandle{Handle: handle, To: c.Agent.AirID, At: c.Now}
	return holder.AddEntry(HistoryEntry{Event: EventUpdated, Actor: ActorSystem, Fields: []string{"username"}})
}

// checkAvailable returns nil if an agent may claim the handle: it has no holder, and no other agent
// released it lately. The time is that of [Registry.DueTime].
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
		return UsernameView{Username: protocol.ClipBytes(text, MaxQuoted), Error: e.Message}, nil
	}
	if err != nil {
		return UsernameView{}, err
	}
	h, _, err := r.loadHandle(ctx, handle)
	if err != nil {
		return UsernameView{}, err
	}
	if h.airID == "" && r.reservesHandle(handle) {
		return UsernameView{Username: handle, Error: "username is reserved"}, nil
	}
	v := UsernameView{Username: handle, Valid: true, Reason: "available"}
	switch taken, _ := errors.AsType[*HandleTakenError](h.checkAvailable(handle, "", r.DueTime())); {
	case taken == nil:
		v.Available = true
	case taken.Free.IsZero():
		v.Reason = "taken"
	default:
		v.Reason = "cooldown"
	}
	return v, nil
}

// PassHandle gives the handle of an agent that ends to another agent, and reports whether there was
// one. If the other agent has a handle, it alone may claim the second one until the cooldown is
// over, so that no third agent receives mail for the owner.
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
	return h.checkAvailable(handle, airID, r.DueTime())
}
