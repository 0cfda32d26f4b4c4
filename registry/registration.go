package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// A Registration is a request to register an agent. Name and one of PublicKey and CreatorDID are
// required.
type Registration struct {
	Name      string
	PublicKey string // base64url of 32 bytes
	// CreatorDID is a DID that the owner controls elsewhere; the agent's own DID
	// when empty.
	CreatorDID  string
	CreatorName string
	CreatorType string // "individual" (also when empty) or "organization"
	Description string
	Editable
	// Commitment is the commitment to a recovery key, see [RecoveryCommitment]; "" for none.
	Commitment string
	// NoSecret asks for no secret: every write of the agent will be signed. The registration must
	// then prove the key.
	NoSecret bool
	// Proof answers a challenge; nil without one.
	Proof *Proof
	// Request is the whole request, for its signature; nil if it has no signature to check.
	Request *httpsig.Message
	// Client is where the registration came from; without an address it is not counted.
	Client netip.Addr
	// Ignored are the unknown members of the body.
	Ignored []string
	// Work is the solution of a proof of work, see [proofofwork.Solve]; "" without one.
	Work string
	// Operator says that the operator registers the agent: the policy does not apply.
	Operator bool
}

// ReserveProvedKey returns the write that makes a new agent the holder of its key, if the key is
// proved.
func (r *Registry) ReserveProvedKey(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	if authority == nil {
		return nil, nil
	}
	agent.KeyProof = authority.By
	w, err := r.ReserveKey(ctx, authority.Key, agent.AirID)
	if err != nil {
		return nil, err
	}
	if authority.By == ProofSignature {
		// An update must not be able to use the same signature.
		if all, err := httpsig.Read(*reg.Request); err == nil {
			for _, s := range all {
				agent.Nonces = append(agent.Nonces, usedNonce{Hash: nonceHash(s.Nonce), Until: s.Created.Add(maxSignatureAge).Unix() + 1})
			}
		}
	}
	return []store.Write{w}, nil
}

// NewAgentWrites returns the writes of a new agent: its record, the first entry of its history, and
// its key if it is proved.
func (r *Registry) NewAgentWrites(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	writes, err := r.ReserveProvedKey(ctx, agent, reg, authority)
	if err != nil {
		return nil, err
	}
	entry, err := agent.AppendEntry(HistoryEntry{Event: EventRegistered, Actor: ActorRegistrant, At: agent.Created, Authority: authority})
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(agent)
	if err != nil {
		return nil, fmt.Errorf("write agent %s: %w", agent.AirID, err)
	}
	return append(writes, entry, store.PutIf(store.AgentKey(agent.AirID), value, 0)), nil
}

// NewAgent checks a registration and returns the agent, with a new AIR ID.
func (r *Registry) NewAgent(reg Registration) (Agent, error) {
	airID, err := did.MintAirID(r.rand)
	if err != nil {
		return Agent{}, err
	}
	now := r.Timestamp()
	a := Agent{AirID: airID, Status: Active, Created: now, Updated: now}
	if a.Name, err = CheckName(reg.Name); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID, a.PublicKey, err = r.checkIdentity(reg.CreatorDID, reg.PublicKey); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID == "" {
		a.CreatorDID = r.DID(airID)
	}
	if a.CreatorName, err = checkCreatorName(reg.CreatorName); err != nil {
		return Agent{}, err
	}
	if a.CreatorType, err = checkCreatorType(reg.CreatorType); err != nil {
		return Agent{}, err
	}
	if err := checkCommitment("recovery_commitment", reg.Commitment); err != nil {
		return Agent{}, err
	}
	a.Commitment = reg.Commitment
	return a, r.setMembers(&a, reg.Description, reg.Editable)
}

func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// ApprovalPeriod is how long a registration waits for the operator's approval.
const ApprovalPeriod = 14 * 24 * time.Hour
