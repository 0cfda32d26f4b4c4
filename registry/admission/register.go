package admission

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"gazetteer/registry"
	"gazetteer/store"
)

// mintAttempts bounds the search for a free AIR ID. With 60 random bits a
// second attempt means that the source of randomness repeats itself.
const mintAttempts = 8

// Register stores a new agent and returns it with its secret, which is shown
// this once: only its SHA-256 is kept. It is "" when none was asked for. Where the
// operator approves registrations the agent that is returned has the status
// [Pending]: it is an [Application]. The error is an [*Error] when a value of the
// registration is at fault, a [*Refusal] when its proof is, the key is another
// agent's, the door is closed, something is on a block list or a budget is used
// up, and the store's otherwise. When Register returns without an error the agent
// is on disk.
func (ad *Admission) Register(ctx context.Context, reg registry.Registration) (registry.Agent, string, error) {
	if err := ad.registrationRefusal(ad.registrations.Check(ctx, reg.Client)); err != nil {
		return registry.Agent{}, "", err
	}
	if err := ad.startAttendedTime(ctx); err != nil {
		return registry.Agent{}, "", err
	}
	agent, err := ad.registry.NewAgent(reg)
	if err != nil {
		return registry.Agent{}, "", err
	}
	var waits bool
	err = ad.HoldPolicy(ctx, func() (err error) { waits, err = ad.checkPolicy(ctx, reg, agent); return err })
	if err != nil {
		return registry.Agent{}, "", err
	}
	// After all that may be mended, so that a mistake does not cost the challenge.
	authority, giveBack, err := ad.registry.ProveRegistration(ctx, reg, agent.PublicKey)
	if err != nil {
		return registry.Agent{}, "", err
	}
	reservation, err := ad.registrations.Reserve(ctx, reg.Client)
	if err != nil {
		giveBack()
		return registry.Agent{}, "", ad.registrationRefusal(err)
	}
	agent, secret, err := ad.storeRegistration(ctx, agent, reg, authority, waits)
	if err != nil {
		giveBack()
		reservation.Cancel()
		return registry.Agent{}, "", err
	}
	ad.log.LogAttrs(ctx, slog.LevelInfo, "agent registered", slog.String("air_id", agent.AirID), slog.String("status", agent.Status), slog.Int("endpoints", len(agent.ServiceEndpoints)), slog.String("proof", agent.KeyProof))
	return agent, secret, nil
}

// storeRegistration stores an agent whose proof was judged; authority is nil without one.
func (ad *Admission) storeRegistration(ctx context.Context, agent registry.Agent, reg registry.Registration, authority *registry.Authority, waits bool) (registry.Agent, string, error) {
	if reg.NoSecret && authority == nil {
		return registry.Agent{}, "", &registry.Error{Field: "no_secret", Code: "value", Message: "An agent without a secret must prove its key", Help: "sign the registration, or leave no_secret out"}
	}
	observed := map[string]registry.Observation{}
	if !waits && ad.creators != nil { // else nobody is bothered before the operator has looked
		observed = ad.creators.ObserveNewAgent(ctx, agent)
	}
	for range mintAttempts {
		agent.Observed = observed
		secret := ""
		if !reg.NoSecret {
			var err error
			if secret, err = ad.newSecret(); err != nil {
				return registry.Agent{}, "", err
			}
			agent.SecretHash = registry.HashSecret(secret)
		}
		stored := agent
		err := ad.HoldPolicy(ctx, func() error { return ad.writeRegistration(ctx, &stored, reg, authority) })
		if err == nil {
			return stored, secret, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return registry.Agent{}, "", err
		}
		// The ID or the key was given out meanwhile; an ID never is twice.
		if agent, err = ad.registry.NewAgent(reg); err != nil {
			return registry.Agent{}, "", err
		}
	}
	return registry.Agent{}, "", fmt.Errorf("register agent: %d minted AIR IDs were all in use: the source of randomness repeats itself", mintAttempts)
}

// writeRegistration writes a new agent, or an application, as the door stands now; the gate is
// held.
func (ad *Admission) writeRegistration(ctx context.Context, agent *registry.Agent, reg registry.Registration, authority *registry.Authority) error {
	waits, err := ad.checkPolicy(ctx, reg, *agent)
	if err != nil {
		return err
	}
	giveBack := func() {}
	var writes []store.Write
	if waits {
		if giveBack, err = ad.reserveApplicationSlot(ctx, reg); err != nil {
			return err
		}
		writes, err = ad.applicationWrites(ctx, agent, reg, authority)
	} else {
		writes, err = ad.registry.NewAgentWrites(ctx, agent, reg, authority)
	}
	if err == nil {
		_, err = ad.store.Apply(ctx, writes...)
	}
	if err != nil {
		giveBack()
		return fmt.Errorf("register agent: %w", err)
	}
	return nil
}

func (ad *Admission) newSecret() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(ad.rand, b); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(b), nil
}
