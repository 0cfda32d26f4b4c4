package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/store"
)

// What happens to an agent.
const (
	EventRegistered  = "registered"
	EventUpdated     = "updated"
	EventRotated     = "rotated"           // another key, signed by both
	EventRecovery    = "recovery-asked"    // by the recovery key; not in force yet
	EventRecovered   = "recovered"         // another key, after the delay
	EventWithdrawn   = "recovery-withdraw" // by the recovery key, before it came into force
	EventDomain      = "domain-changed"    // proved, withdrawn or given up
	EventObserved    = "observed"          // something outside was seen to have changed
	EventAttested    = "attested"
	EventRevoked     = "attestation-revoked"
	EventDeactivated = "deactivated"
	EventSuspended   = "suspended"
	EventRestored    = "restored"
	EventDeleted     = "deleted"
	EventErased      = "erased"
	EventApproved    = "approved" // by the operator, where registrations wait for that
	EventMerged      = "merged"   // into another agent
	EventAbsorbed    = "absorbed" // another agent
	EventImported    = "imported" // with its history, from another registry or a file
)

// Actors, in the reference's words.
const (
	ActorRegistrant = "registrant"
	ActorOwner      = "owner"
	ActorAdmin      = "admin"
	ActorSystem     = "system"
)

// A HistoryEntry is one event in the history of an agent, with the whole public record after it.
// Entries are never overwritten. They are written together with the change, and each becomes a leaf
// of the transparency log.
type HistoryEntry struct {
	N     int    `json:"n"` // from 1
	AirID string `json:"air_id"`
	Event string `json:"event"`
	Actor string `json:"actor"`
	// Fields are the members that changed, for an update.
	Fields []string  `json:"changed_fields,omitempty"`
	At     time.Time `json:"at"`
	// Authority is what the change rests on; nil for changes by the operator and the system.
	Authority *Authority `json:"authority,omitempty"`
	// Attestation is the one that was made or revoked, without its texts: see
	// [Attestation.WithoutTexts].
	Attestation *Attestation `json:"attestation,omitempty"`
	// Origin is, for an import, the DID host of the registry in which the earlier entries were
	// made, back to the import before.
	Origin string `json:"origin,omitempty"`
	// Agent is the public record after it; nil once it was erased.
	Agent *Agent `json:"agent,omitempty"`
	// PrevHash and Hash chain the entries of one agent with the reference's
	// formula; the first PrevHash is "GENESIS".
	PrevHash string `json:"prev_hash"`
	Hash     string `json:"entry_hash"`
}

// An Authority is what a change rests on. Anyone who has it can check that the holder of Key wanted
// the change.
type Authority struct {
	By string `json:"by"` // one of the Proof constants
	// Key is the multikey that signed, "" for the secret.
	Key string `json:"key,omitempty"`
	// Signed is the text that was signed, Signatures are by multikey; both are
	// empty for the secret.
	Signed     string            `json:"signed,omitempty"`
	Signatures map[string]string `json:"signatures,omitempty"`
}

// Genesis is the previous hash of the first entry.
const Genesis = "GENESIS"

// ComputeHash returns the hash of the entry by the formula of the reference, which covers the names
// of changed members and not their content. The transparency log proves the content.
func (e HistoryEntry) ComputeHash() string {
	fields := ""
	if len(e.Fields) > 0 {
		sorted := slices.Sorted(slices.Values(e.Fields))
		text, err := json.Marshal(sorted) // names of our own: ASCII letters and "_"
		if err != nil {
			panic(err)
		}
		fields = string(text)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.AirID, e.Event, fields, e.Actor, FormatTimestamp(e.At), e.PrevHash}, "\n")))
	return hex.EncodeToString(sum[:])
}

// AppendEntry adds an entry to the agent and returns its write. Call it last, because the entry
// contains the agent as it is then.
func (a *Agent) AppendEntry(e HistoryEntry) (store.Write, error) {
	a.Entries++
	e.N, e.AirID = a.Entries, a.AirID
	e.PrevHash = a.LastHash
	e.PrevHash = cmp.Or(e.PrevHash, Genesis)
	e.Hash = e.ComputeHash()
	a.LastHash = e.Hash
	if e.Attestation != nil {
		named := e.Attestation.WithoutTexts()
		e.Attestation = &named
	}
	if e.Event != EventErased {
		public := a.PublicCopy()
		e.Agent = &public
	}
	value, err := json.Marshal(e)
	if err != nil {
		return store.Write{}, fmt.Errorf("write the history of %s: %w", a.AirID, err)
	}
	return store.PutIf(store.EntryKey(a.AirID, e.N), value, 0), nil
}

// MaxHistory is the largest number of entries that [Registry.History] returns.
const MaxHistory = 100

// History returns at most limit entries of an agent after the first offset ones, oldest first, and
// the number of all entries. A limit outside 1 to [MaxHistory] means 50. Erased entries are left
// out. The error is an [*Error] for a text that is not an AIR ID, and [ErrNoAgent].
func (r *Registry) History(ctx context.Context, airID string, limit, offset int) ([]HistoryEntry, int, error) {
	if limit < 1 || limit > MaxHistory {
		limit = 50
	}
	agent, _, err := r.Agent(ctx, airID)
	if err != nil {
		return nil, 0, err
	}
	out := []HistoryEntry{}
	for record, err := range store.Readable(r.store.List(ctx, store.EntriesOf(airID), store.EntryKey(airID, max(offset, 0)))) {
		if err != nil {
			return nil, 0, fmt.Errorf("read the history of %s: %w", airID, err)
		}
		var e HistoryEntry
		if err := record.Decode(&e); err != nil {
			return nil, 0, err
		}
		if out = append(out, e); len(out) == limit {
			break
		}
	}
	return out, agent.Entries, nil
}

// FormatTimestamp writes a time as the reference does.
func FormatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
