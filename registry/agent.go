package registry

import (
	"maps"
	"slices" // What an agent's record says of its standing.
	"strings"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/protocol/did"
)

const (
	Pending     = "pending" // waits for the operator's approval: no agent yet
	Active      = "active"
	Deactivated = "deactivated" // by its owner, for good
	Suspended   = "suspended"   // by the operator, until restored
	Deleted     = "deleted"     // by the operator; the reference's word
	Merged      = "merged"      // into another agent of its owner, for good
	Erased      = "erased"      // the content is gone, only the AIR ID is kept
)

// An Agent is the stored record of a registered agent. Its DID document is computed from it and not
// stored; package airjson makes the JSON that is served over HTTP. All texts are the registrant's:
// escape them on output.
type Agent struct {
	AirID       string `json:"air_id"`
	Name        string `json:"name"`
	Handle      string `json:"handle,omitempty"`
	Description string `json:"description,omitempty"`
	// PublicKey is the current Ed25519 key, 32 bytes, which JSON writes in base64. It is empty if
	// the agent was registered with only a DID of its creator.
	PublicKey []byte `json:"public_key"`
	// KeySince is when PublicKey came into use; zero means Created.
	KeySince time.Time `json:"key_since,omitzero"`
	// KeyProof is how the agent proved that it holds the private half of PublicKey, one of the
	// Proof constants; "" while that is only claimed.
	KeyProof string `json:"key_proof,omitempty"`
	// Retired are the former keys, oldest first.
	Retired []RetiredKey `json:"retired,omitempty"`
	// Commitment is what the recovery key must match, see [RecoveryCommitment]; "" for none.
	Commitment string `json:"commitment,omitempty"`
	// Recovery is the pending recovery, nil for none.
	Recovery *PendingRecovery `json:"recovery,omitempty"`

	// CreatorDID is a DID the owner claims to control, or the agent's own.
	CreatorDID  string `json:"creator_did"`
	CreatorName string `json:"creator_name,omitempty"`
	CreatorType string `json:"creator_type,omitempty"`
	Editable

	// Domains are the domains whose control the agent has shown or is to show.
	Domains []Domain `json:"domains,omitempty"`
	// Observed holds the registry's own observations, by signal.
	Observed map[string]Observation `json:"observed,omitempty"`

	// Attested holds the numbers of all attestations about the agent, Issued those of its own about
	// others, in order and including revoked ones.
	Attested []int `json:"attested,omitempty"`
	Issued   []int `json:"issued,omitempty"`
	// Standing sums up the active attestations about the agent as the reference does.
	Standing AttestationSummary `json:"standing,omitzero"`

	// SecretHash is the SHA-256 of the once-shown secret; empty when the agent
	// has switched it off.
	SecretHash []byte `json:"secret_hash,omitempty"`
	// Nonces holds the nonces of signed writes that could still be replayed.
	Nonces []usedNonce `json:"nonces,omitempty"`
	// NonceFloor is the latest time of a signature whose nonce was dropped, in Unix seconds: none
	// that is as old or older counts.
	NonceFloor int64 `json:"nonce_floor,omitempty"`
	// NonceGaps are spans before NonceFloor without a dropped nonce, so that an owner who signed while
	// the clock was ahead can sign again when it is right. The oldest is first.
	NonceGaps []nonceGap `json:"nonce_gaps,omitempty"`
	// HandleSince is the time at which Handle was claimed. HandleClaims has the times at which the
	// agent claimed handles that had no holder or another one, within the last 30 days. Both are in
	// Unix seconds.
	HandleSince  time.Time `json:"handle_since,omitzero"`
	HandleClaims []int64   `json:"handle_claims,omitempty"`
	// HandleLost is the handle that the owner of a domain has taken, until the agent claims another
	// one; nil for none.
	HandleLost *LostHandle `json:"handle_lost,omitempty"`
	// SecretWritesUntil is until when the recent writes with the agent's secret use up its limit, in
	// Unix milliseconds, see [Options.WritesPerHour]; KeyWritesUntil is the same for its key.
	SecretWritesUntil int64 `json:"busy,omitempty"`
	KeyWritesUntil    int64 `json:"key_busy,omitempty"`

	// MergedInto is the agent that replaces a merged one.
	MergedInto string `json:"merged_into,omitempty"`
	// MovedTo is the DID under which the agent continues in another registry or on its own host, as its
	// key has signed; "" if it has not moved. That DID is not looked up.
	MovedTo string `json:"moved_to,omitempty"`
	// Absorbed holds the agents that were merged into this one.
	Absorbed []string `json:"absorbed,omitempty"`
	// Origin is the DID host of the registry where an imported agent began.
	Origin string `json:"origin,omitempty"`
	// Imported is when the agent was last imported. Only the other registry knows how old it was
	// then.
	Imported time.Time `json:"imported,omitzero"`

	Status string `json:"status"`
	// Reason is why the operator suspended or deleted it.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Entries is the number of records of its history.
	Entries int `json:"entries,omitempty"`
	// LastHash is the hash of the newest one, as the reference chains them.
	LastHash string `json:"last_hash,omitempty"`
}

// A RetiredKey was in use from From until Until.
type RetiredKey struct {
	PublicKey []byte    `json:"public_key"`
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
	Proof     string    `json:"proof,omitempty"`
	// By is the event that replaced the key: "rotation" or "recovery".
	By string `json:"by"`
}

// An AttestationSummary sums up attestations as the reference does.
type AttestationSummary struct {
	Weight float64 `json:"weight,omitempty"` // of the active ones
	Count  int     `json:"count,omitempty"`  // of active ones
	Roots  int     `json:"roots,omitempty"`  // distinct registrable domains of their attesters
}

// PublicCopy returns the agent without its private members.
func (a Agent) PublicCopy() Agent {
	a.SecretHash, a.Nonces, a.NonceFloor, a.NonceGaps, a.SecretWritesUntil, a.KeyWritesUntil = nil, nil, 0, nil, 0, 0
	a.HandleSince, a.HandleClaims = time.Time{}, nil
	return a
}

// clone returns a copy whose slices and maps can be changed.
func (a Agent) clone() Agent {
	a.Retired = slices.Clone(a.Retired)
	a.Domains = slices.Clone(a.Domains)
	a.Attested, a.Issued = slices.Clone(a.Attested), slices.Clone(a.Issued)
	a.Nonces, a.NonceGaps, a.Absorbed = slices.Clone(a.Nonces), slices.Clone(a.NonceGaps), slices.Clone(a.Absorbed)
	a.HandleClaims = slices.Clone(a.HandleClaims)
	observed := make(map[string]Observation, len(a.Observed))
	maps.Copy(observed, a.Observed)
	a.Observed = observed
	return a
}

// KnownSince returns since when this registry knows the agent.
func (a Agent) KnownSince() time.Time {
	if a.Imported.After(a.Created) {
		return a.Imported
	}
	return a.Created
}

// CurrentKeySince returns when the current key came into use.
func (a Agent) CurrentKeySince() time.Time {
	if a.KeySince.IsZero() {
		return a.Created
	}
	return a.KeySince
}

// KeyKnownSince returns since when this registry knows that the current key is in use. The history of an
// imported agent says more, on the word of another registry.
func (a Agent) KeyKnownSince() time.Time {
	if since := a.CurrentKeySince(); !a.Imported.After(since) {
		return since
	}
	return a.Imported
}

// ShownRoots returns the registrable domains that the agent shows at present to be its own: that of its
// creator's DID, and those of its proved domains. An agent that is not active shows none.
func (a Agent) ShownRoots() []string {
	var roots []string
	if a.Status != Active {
		return roots
	}
	if root := DomainOf(a.CreatorDID); root != "" {
		roots = append(roots, root)
	}
	for _, d := range a.Domains {
		if d.Proved() {
			roots = append(roots, psl.Domain(d.Name))
		}
	}
	return roots
}

// Multikey returns the current key as a multikey, "" if there is none.
func (a Agent) Multikey() string {
	if len(a.PublicKey) == 0 {
		return ""
	}
	return did.FormatMultikey(a.PublicKey)
}

// A ServiceEndpoint is one entry of a DID document's service list (A2A §3.4).
// A stored one has an ID; one that is sent to the registry may leave it empty
// and gets one made of its type.
type ServiceEndpoint struct {
	ID              string `json:"id,omitempty"`
	Type            string `json:"type"`
	ServiceEndpoint string `json:"serviceEndpoint"`
}

// NamedDomains returns the registrable domains in an agent's record.
func (a Agent) NamedDomains() []string {
	addresses := []string{a.CreatorDID, a.MovedTo, a.CodeRepository, a.DocumentationURL}
	for _, s := range a.ServiceEndpoints {
		addresses = append(addresses, s.ServiceEndpoint)
	}
	var out []string
	for _, address := range addresses {
		if domain := DomainOf(address); domain != "" {
			out = append(out, strings.ToLower(domain))
		}
	}
	for _, d := range a.Domains {
		out = append(out, psl.Domain(d.Name))
	}
	return out
}
