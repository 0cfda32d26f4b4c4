package registry

import (
	"context"
	"strings"
)

// An Update has the new values of members.
type Update struct {
	// Description and Editable have the new values of the members in Changed; the others do not
	// change.
	Description string
	Editable
	// Changed has the names of those members, see [EditableMembers].
	Changed []string
	// Username claims a handle and releases the one held before; "" only releases.
	Username *string
	// Commitment is the commitment to a recovery key, for an agent that has none yet. The request must
	// be signed.
	Commitment *string
	// MovedTo is the DID under which the agent continues elsewhere; "" withdraws it. The request must
	// be signed.
	MovedTo *string
	// NoSecret switches the secret off permanently, so that every later write must be signed. The
	// request must be signed.
	NoSecret bool
	// If, unless nil, is called with the current record when the caller is authorized. Its error
	// becomes that of the update.
	If func(Agent) error
}

// Update changes an agent and returns it with the names of the updated members. It returns the
// first of these errors that applies: [ErrNoAgent]; [ErrNoSecret], [ErrWrongSecret] or a [*Refusal]
// of the signature; that of [Agent.Usable]; an [*Error] for a value; [ErrNothingToUpdate];
// [ErrHandleTaken]. If another update of the agent is first, the update starts again from the newer
// record, so neither is lost.
func (r *Registry) Update(ctx context.Context, airID string, who Credentials, u Update) (Agent, []string, error) {
	var fields []string
	agent, err := r.ChangeAgent(ctx, airID, func(c *Change) error {
		signed := ByKey
		if u.NoSecret && len(c.Agent.SecretHash) > 0 {
			signed = BySecretOff
		}
		authority, err := c.authorizeOwnerAs(ctx, who, signed)
		if err != nil {
			return err
		}
		if u.If != nil {
			if err := u.If(c.Agent); err != nil {
				return err
			}
		}
		if err := u.checkMovesNoMail(c.Agent); err != nil {
			return err
		}
		if fields, err = r.applyUpdate(&c.Agent, u); err != nil {
			return err
		}
		if err := c.takeOwnName(ctx); err != nil {
			return err
		}
		if u.Commitment != nil && *u.Commitment != "" && authority.By != ProofSignature {
			return &Refusal{Kind: ErrForbidden, Code: "recovery-unsigned", Message: "only a signed request can commit to a recovery key",
				Help: "sign it with the agent's key: otherwise a thief of the secret could replace that key by a recovery"}
		}
		if u.MovedTo != nil && authority.By != ProofSignature {
			return &Refusal{Kind: ErrForbidden, Code: "moved-unsigned", Message: "only a signed request can say where the agent continues",
				Help: "sign it with the agent's key: otherwise a thief of the secret could lead its mail elsewhere"}
		}
		if u.NoSecret {
			if authority.By != ProofSignature {
				return &Refusal{Kind: ErrForbidden, Code: "secret-off-unsigned", Message: "only a signed request can switch the secret off", Help: "sign it with the agent's key, so that the agent can still be changed"}
			}
			c.Agent.SecretHash = nil
			fields = append(fields, "no_secret")
		}
		if len(fields) == 0 {
			return ErrNothingToUpdate
		}
		return c.AddEntry(HistoryEntry{Event: EventUpdated, Actor: ActorOwner, Fields: fields, Authority: authority})
	})
	if err != nil {
		return Agent{}, nil, err
	}
	r.log.Info("agent updated", "air_id", airID, "fields", strings.Join(fields, ","))
	return agent, fields, nil
}

// applyUpdate sets the members of an update and returns their names. After an error the agent is in
// an undefined state.
func (r *Registry) applyUpdate(a *Agent, u Update) (fields []string, err error) {
	fields, err = r.updateMembers(a, u.Changed, u.Description, u.Editable)
	if u.Username != nil && err == nil {
		var handle string
		if handle, err = checkHandle(*u.Username); handle != a.Handle {
			a.Handle = handle
			fields = append(fields, "username")
		}
	}
	if u.Commitment != nil && err == nil {
		switch err = checkCommitment("recovery_commitment", *u.Commitment); {
		case err != nil:
		case a.Commitment != "" && a.Commitment != *u.Commitment:
			err = &Refusal{Kind: ErrForbidden, Code: "recovery-set", Message: "the agent has committed to a recovery key already",
				Help: "only a recovery changes it: otherwise a thief of the current key could replace the recovery key too"}
		case a.Commitment != *u.Commitment:
			a.Commitment = *u.Commitment
			fields = append(fields, "recovery_commitment")
		}
	}
	if u.MovedTo != nil && err == nil {
		var changed bool
		if changed, err = r.setMovedTo(a, *u.MovedTo); changed {
			fields = append(fields, "moved_to")
		}
	}
	return fields, err
}
