package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

// EarlierRegistration returns the agent, or the application, that the same signed request
// registered before, so that a client that lost the answer gets it by sending the request again. It
// is false for a new registration. The request must be signed with the agent's current key and must
// have the content of that registration. The secret of the agent is not shown again.
//
// The error is a [*registry.Refusal] with [registry.ErrState] that names the agent if the key
// belongs to an agent with other content, and otherwise that of the store.
func (ad *Admission) EarlierRegistration(ctx context.Context, reg registry.Registration) (registry.Agent, bool, error) {
	none := registry.Agent{}
	key, err := did.ParsePublicKey(reg.PublicKey)
	if err != nil || reg.Request == nil {
		return none, false, nil // Register says what is wrong
	}
	record, err := ad.store.Get(ctx, store.KeyKey(did.FormatMultikey(key)))
	if errors.Is(err, store.ErrNotFound) {
		return none, false, nil
	}
	if err != nil {
		return none, false, fmt.Errorf("look up a key: %w", err)
	}
	authority, _, err := ad.registry.ProveRegistration(ctx, registry.Registration{Request: reg.Request, PublicKey: reg.PublicKey}, key)
	if err != nil || authority == nil {
		return none, false, nil
	}
	agent, first, err := ad.findRegistered(ctx, string(record.Value))
	if err != nil || agent.AirID == "" || agent.Multikey() != authority.Key {
		return none, false, err
	}
	if digest := signedDigest(authority); first != nil && digest != "" && digest == signedDigest(first) {
		return agent, true, nil
	}
	return none, false, &registry.Refusal{Kind: registry.ErrState, Code: "key-taken", Message: "your key is that of " + agent.AirID + ", which was registered with other content",
		Help: "change it with an update, or register another agent with its own key", Details: registry.Details{Agent: agent.AirID}}
}

// findRegistered returns an active agent or an open application, and the authority that it was
// registered by. It returns no agent where there is neither.
func (ad *Admission) findRegistered(ctx context.Context, airID string) (registry.Agent, *registry.Authority, error) {
	none := registry.Agent{}
	agent, _, err := ad.registry.Agent(ctx, airID)
	if errors.Is(err, registry.ErrNoAgent) {
		application, _, err := ad.loadApplication(ctx, airID)
		if errors.Is(err, registry.ErrNotFound) || err == nil && application.isClosed(ad.recordTime()) {
			return none, nil, nil
		}
		return application.Agent, application.Authority, err
	}
	if err != nil || agent.Status != registry.Active {
		return none, nil, err
	}
	record, err := ad.store.Get(ctx, store.EntryKey(airID, 1))
	if errors.Is(err, store.ErrNotFound) {
		return agent, nil, nil
	}
	if err != nil {
		return none, nil, fmt.Errorf("read the history of %s: %w", airID, err)
	}
	var e registry.HistoryEntry
	if err := record.Decode(&e); err != nil {
		return none, nil, err
	}
	return agent, e.Authority, nil
}

// signedDigest returns the digest of the body that a signature of a request covers, "" for none.
func signedDigest(a *registry.Authority) string {
	for line := range strings.SplitSeq(a.Signed, "\n") {
		if digest, ok := strings.CutPrefix(line, `"content-digest": `); ok {
			return digest
		}
	}
	return ""
}
