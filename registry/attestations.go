package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/store"
)

// An Attestation is a signed statement of one agent about another. Its texts are the attester's:
// escape them on output.
type Attestation struct {
	N         int    `json:"id"` // from 1, in order
	Subject   string `json:"subject_air_id"`
	Attester  string `json:"attester_air_id"`
	Type      string `json:"attestation_type"`
	Statement string `json:"statement"`
	SignedAt  string `json:"signed_at"` // as it was signed
	// Payload is the signed text: the members above except the number, in canonical JSON.
	Payload   string `json:"signed_payload"`
	Signature string `json:"signature_multibase"`
	Key       string `json:"key"` // multikey of the attester at that time
	// Root is the registrable domain whose control the attester had shown.
	Root    string    `json:"attester_whois_root"`
	Trust   int       `json:"attester_trust_at_issue"`
	Tenure  float64   `json:"tenure_multiplier_at_issue"`
	Weight  float64   `json:"weight"` // 0 for one that counts as nothing
	Why     string    `json:"why,omitempty"`
	Created time.Time `json:"created_at"`
	Revoked time.Time `json:"revoked_at,omitzero"`
}

// WithoutTexts returns the attestation without the statement, its signature, and the key and domain
// of the attester. The history of the subject has it in this form, because nothing of a history can
// be erased for another agent than its own: the texts are in the record of the attestation alone, and
// are erased together with the attester.
func (a Attestation) WithoutTexts() Attestation {
	return Attestation{N: a.N, Subject: a.Subject, Attester: a.Attester, Type: a.Type, Trust: a.Trust, Tenure: a.Tenure, Weight: a.Weight, Why: a.Why, Created: a.Created, Revoked: a.Revoked}
}

// FreeNames is the [CountedRoot] of the names below the domains of providers.
const FreeNames = "names of providers"

// CountedRoot returns what counts as one independent domain for the root of an attestation. The names that
// providers give to their customers, such as a.github.io, cost nothing: all of them count as one.
func CountedRoot(root string) string {
	if psl.Registered(root) != psl.Domain(root) {
		return FreeNames
	}
	return root
}

// SummarizeAttestations sums up the attestations about an agent as the reference does, but for
// [CountedRoot]. An attestation without weight adds no domain.
func SummarizeAttestations(about []Attestation) AttestationSummary {
	var s AttestationSummary
	roots := map[string]bool{}
	for _, a := range about {
		if !a.Revoked.IsZero() {
			continue
		}
		s.Count++
		s.Weight += a.Weight
		if a.Weight > 0 {
			roots[CountedRoot(a.Root)] = true
		}
	}
	s.Roots = len(roots)
	return s
}

// LoadAttestations reads attestations by their numbers, without erased ones.
func (r *Registry) LoadAttestations(ctx context.Context, numbers []int) ([]Attestation, error) {
	out := make([]Attestation, 0, len(numbers))
	for _, n := range numbers {
		a, _, err := r.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (r *Registry) LoadAttestation(ctx context.Context, n int) (Attestation, uint64, error) {
	record, err := r.store.Get(ctx, store.AttestationKey(n))
	if err != nil {
		return Attestation{}, 0, fmt.Errorf("read attestation %d: %w", n, err)
	}
	var a Attestation
	if err := record.Decode(&a); err != nil {
		return Attestation{}, 0, err
	}
	return a, record.Seq, nil
}

// WriteRevocation writes the revocation of an attestation and its effect on the subject.
func (c *Change) WriteRevocation(ctx context.Context, a *Attestation, seq uint64, actor string, authority *Authority) error {
	a.Revoked = c.Now
	value, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write an attestation: %w", err)
	}
	c.AddWrite(store.PutIf(store.AttestationKey(a.N), value, seq))
	about, err := c.registry.LoadAttestations(ctx, c.Agent.Attested)
	if err != nil {
		return err
	}
	for i := range about {
		if about[i].N == a.N {
			about[i] = *a
		}
	}
	c.Agent.Standing = SummarizeAttestations(about)
	return c.AddEntry(HistoryEntry{Event: EventRevoked, Actor: actor, Fields: []string{"attestations"}, Authority: authority, Attestation: a})
}

// revokeIssued revokes the attestations of an agent that ends.
func (c *Change) revokeIssued(ctx context.Context, actor string, authority *Authority) error {
	for _, n := range c.Agent.Issued {
		a, seq, err := c.registry.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !a.Revoked.IsZero() {
			continue
		}
		subject, err := c.OtherAgent(ctx, a.Subject)
		if err != nil {
			return err
		}
		if err := subject.WriteRevocation(ctx, &a, seq, actor, authority); err != nil {
			return err
		}
	}
	return nil
}

// blankAttestation removes the content of an attestation and keeps its number, so that the number
// is not used again.
func (c *Change) blankAttestation(ctx context.Context, n int) error {
	old, _, err := c.registry.LoadAttestation(ctx, n)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	blank := Attestation{N: n, Subject: old.Subject, Attester: old.Attester, Type: old.Type, Why: Erased, Created: old.Created, Revoked: old.Revoked}
	if blank.Revoked.IsZero() {
		blank.Revoked = c.Now
	}
	value, err := json.Marshal(blank)
	if err != nil {
		return fmt.Errorf("write an attestation: %w", err)
	}
	c.replaceWrite(store.Put(store.AttestationKey(n), value))
	return nil
}

// An agent is verified in the reference's words with attestations of this weight from this many
// registrable domains.
const (
	VerifiedWeight = 300
	VerifiedRoots  = 3
)

// RoundedWeight returns the weight as the reference's formula uses it.
func (s AttestationSummary) RoundedWeight() int { return int(math.Floor(s.Weight + 0.5)) }

// IsVerified reports whether the agent is verified in the reference's sense: attestations of enough
// weight from three registrable domains.
func (s AttestationSummary) IsVerified() bool {
	return s.Weight >= VerifiedWeight && s.Roots >= VerifiedRoots
}
