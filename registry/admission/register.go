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

// maxMintAttempts bounds the search for a free AIR ID. AIR IDs have 60 random bits, so a second attempt
// means that the source of randomness repeats itself.
const maxMintAttempts = 8

// Register stores a new agent and returns it with its secret. The secret is shown this once,
// because only its SHA-256 is stored; it is "" if the registration asks for none. Where the
// operator approves registrations, the returned agent has the status [registry.Pending] and is an
// [Application].
//
// The error is an [*registry.Error] for an invalid value, a [*registry.Refusal] for a proof that
// does not hold, a key of another agent, a closed registry, a blocked value or an exceeded limit,
// and otherwise that of the store. When Register returns without an error, the agent is on disk.
func (ad *Admission) Register(ctx context.Context, reg registry.Registration) (registry.Agent, string, error) {
	agent, secret, err := ad.register(ctx, reg)
	if err != nil {
		return registry.Agent{}, "", err
	}
	ad.log.LogAttrs(ctx, slog.LevelInfo, "agent registered", slog.String("air_id", agent.AirID), slog.String("status", agent.Status), slog.Int("endpoints", len(agent.ServiceEndpoints)), slog.String("proof", agent.KeyProof))
	return agent, secret, nil
}

// register executes the steps of a registration in the order of their cost: cheap refusals are
// first, errors that the registrant can correct are found before the proof uses up its challenge,
// and only a registration with a valid proof counts against the limit.
func (ad *Admission) register(ctx context.Context, reg registry.Registration) (_ registry.Agent, _ string, err error) {
	none := registry.Agent{}
	check, reserve := ad.registrations.Check, ad.registrations.Reserve
	if ad.known.hasNetwork(reg.Client, ad.now()) {
		check, reserve = ad.registrations.CheckKnown, ad.registrations.ReserveKnown
	}
	if err := check(ctx, reg.Client); err != nil {
		return none, "", ad.registrationRefusal(err)
	}
	if err := ad.startAttendedTime(ctx); err != nil {
		return none, "", err
	}
	agent, err := ad.registry.NewAgent(reg)
	if err != nil {
		return none, "", err
	}
	releaseWork, err := ad.checkWork(reg, agent.PublicKey)
	if err != nil {
		return none, "", err
	}
	defer func() {
		if err != nil {
			releaseWork()
		}
	}()
	var pending bool
	err = ad.HoldPolicy(ctx, func() (err error) { pending, err = ad.checkPolicy(ctx, reg, agent); return err })
	if err != nil {
		return none, "", err
	}
	authority, releaseChallenge, err := ad.registry.ProveRegistration(ctx, reg, agent.PublicKey)
	if err != nil {
		return none, "", err
	}
	defer func() {
		if err != nil {
			releaseChallenge()
		}
	}()
	if reg.NoSecret && authority == nil {
		return none, "", &registry.Error{Field: "no_secret", Code: "value", Message: "An agent without a secret must prove its key", Help: "sign the registration, or leave no_secret out"}
	}
	reservation, err := reserve(ctx, reg.Client)
	if err != nil {
		return none, "", ad.registrationRefusal(err)
	}
	defer func() {
		if err != nil {
			reservation.Cancel()
		}
	}()
	observed := map[string]registry.Observation{}
	if !pending && ad.creators != nil { // no other host is asked before the operator has approved
		observed = ad.creators.ObserveNewAgent(ctx, agent)
	}
	return ad.storeRegistration(ctx, agent, observed, reg, authority)
}

// storeRegistration stores an agent whose proof was checked. The authority is nil without a proof.
// If the AIR ID or the key is taken meanwhile, the agent gets another AIR ID.
func (ad *Admission) storeRegistration(ctx context.Context, agent registry.Agent, observed map[string]registry.Observation, reg registry.Registration, authority *registry.Authority) (registry.Agent, string, error) {
	for range maxMintAttempts {
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
		if agent, err = ad.registry.NewAgent(reg); err != nil {
			return registry.Agent{}, "", err
		}
	}
	return registry.Agent{}, "", fmt.Errorf("register agent: %d minted AIR IDs were all in use: the source of randomness repeats itself", maxMintAttempts)
}

// writeRegistration writes a new agent, or an application if the policy requires approval. It holds
// the policy and checks it again, because it may have changed since [Admission.register] checked
// it.
func (ad *Admission) writeRegistration(ctx context.Context, agent *registry.Agent, reg registry.Registration, authority *registry.Authority) error {
	pending, err := ad.checkPolicy(ctx, reg, *agent)
	if err != nil {
		return err
	}
	releaseSlot := func() {}
	var writes []store.Write
	if pending {
		if releaseSlot, err = ad.reserveApplicationSlot(ctx, reg); err != nil {
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
		if n := len(writes); n == 0 || !ad.hasValue(ctx, writes[n-1].Key, writes[n-1].Value) { // else the application waits
			releaseSlot()
		}
		return fmt.Errorf("register agent: %w", err)
	}
	return nil
}

// newSecret returns 128 random bits in hexadecimal.
func (ad *Admission) newSecret() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(ad.rand, b); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(b), nil
}
