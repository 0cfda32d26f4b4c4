package airjson

import (
	"context"

	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// HistoryView is the history of an agent.
type HistoryView struct {
	AirID   string     `json:"air_id"`
	History []EntryRow `json:"history"`
	Total   int        `json:"total"`
	Limit   int        `json:"limit"`
	Offset  int        `json:"offset"`
	Note    string     `json:"note"`
}

// An EntryRow is one event in the reference's shape, with additional members for its evidence.
type EntryRow struct {
	ID            int                 `json:"id"`
	Event         string              `json:"event"`
	ChangedFields []string            `json:"changed_fields"` // null for none
	Actor         string              `json:"actor"`
	CreatedAt     string              `json:"created_at"`
	PrevHash      string              `json:"prev_hash"`
	EntryHash     string              `json:"entry_hash"`
	Authority     *registry.Authority `json:"authority,omitempty"`
}

// NewHistoryView returns the history of an agent as [registry.Registry.History] does.
func NewHistoryView(ctx context.Context, r Registry, airID string, limit, offset int) (HistoryView, error) {
	if limit < 1 || limit > registry.MaxHistory {
		limit = 50
	}
	entries, total, err := r.History(ctx, airID, limit, offset)
	v := HistoryView{AirID: airID, History: []EntryRow{}, Total: total, Limit: limit, Offset: max(offset, 0),
		Note: "Each agent has its own chain; the transparency log proves the content."}
	for _, e := range entries {
		v.History = append(v.History, EntryRow{ID: e.N, Event: e.Event, ChangedFields: e.Fields, Actor: e.Actor, CreatedAt: registry.FormatTimestamp(e.At),
			PrevHash: e.PrevHash, EntryHash: e.Hash, Authority: e.Authority})
	}
	return v, err
}

// KeysView contains the current and the retired keys of an agent.
type KeysView struct {
	AirID      string               `json:"air_id"`
	DID        string               `json:"did"`
	Keys       []KeyView            `json:"keys"`
	Commitment string               `json:"recovery_commitment,omitempty"`
	Recovery   *PendingRecoveryView `json:"recovery,omitempty"`
}

// A KeyView is one of them.
type KeyView struct {
	ID                 string  `json:"id"`
	PublicKeyMultibase string  `json:"publicKeyMultibase"`
	From               string  `json:"from"`
	Until              *string `json:"until"` // null for the current one
	Proof              string  `json:"proof"` // "" while possession is only claimed
	RetiredBy          string  `json:"retired_by,omitempty"`
}

// PendingRecoveryView is a recovery in progress.
type PendingRecoveryView struct {
	To    string `json:"to"`
	Asked string `json:"asked"`
	Due   string `json:"due"`
}

// NewKeysView returns the keys of an agent, the current one first.
func NewKeysView(r Registry, a registry.Agent) KeysView {
	v := KeysView{AirID: a.AirID, DID: r.DID(a.AirID), Keys: []KeyView{}, Commitment: a.Commitment}
	for _, k := range a.Keys() {
		row := KeyView{ID: v.DID + k.ID, PublicKeyMultibase: did.FormatMultikey(k.PublicKey), From: registry.FormatTimestamp(k.From), Proof: k.Proof, RetiredBy: k.By}
		if !k.Until.IsZero() {
			until := registry.FormatTimestamp(k.Until)
			row.Until = &until
		}
		v.Keys = append(v.Keys, row)
	}
	if p := a.Recovery; p != nil {
		v.Recovery = &PendingRecoveryView{To: did.FormatMultikey(p.To), Asked: registry.FormatTimestamp(p.Asked), Due: registry.FormatTimestamp(p.Due)}
	}
	return v
}
