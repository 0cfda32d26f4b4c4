package attestation

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gazetteer/registry"
	"gazetteer/store"
)

// The types below are answers in the shapes of the public AIR reference, as
// those of views.go are.

// VerifiedStatus says how attestations verify an agent in the reference's sense.
type VerifiedStatus struct {
	Verified           bool `json:"verified"`
	VerificationScore  int  `json:"verification_score"`
	DistinctWhoisRoots int  `json:"distinct_whois_roots"`
	AttestationCount   int  `json:"attestation_count"`
}

// NewVerifiedStatus returns the verified status of an agent.
func NewVerifiedStatus(a registry.Agent) VerifiedStatus {
	s := a.Standing
	return VerifiedStatus{Verified: s.IsVerified(), VerificationScore: s.RoundedWeight(), DistinctWhoisRoots: s.Roots, AttestationCount: s.Count}
}

// AttestedView answers an attestation (status 201).
type AttestedView struct {
	AttestationID   int            `json:"attestation_id"`
	SubjectAirID    string         `json:"subject_air_id"`
	AttesterAirID   string         `json:"attester_air_id"`
	AttestationType string         `json:"attestation_type"`
	Statement       string         `json:"statement"`
	SignedAt        string         `json:"signed_at"`
	WhoisRoot       string         `json:"attester_whois_root"`
	TrustAtIssue    int            `json:"attester_trust_at_issue"`
	TenureAtIssue   float64        `json:"tenure_multiplier_at_issue"`
	Weight          float64        `json:"weight"`
	Note            string         `json:"note,omitempty"` // why it weighs nothing
	VerifiedStatus  VerifiedStatus `json:"verified_status"`
}

// NewAttestedView returns the answer to an attestation of subject.
func NewAttestedView(t registry.Attestation, subject registry.Agent) AttestedView {
	return AttestedView{AttestationID: t.N, SubjectAirID: t.Subject, AttesterAirID: t.Attester, AttestationType: t.Type, Statement: t.Statement,
		SignedAt: t.SignedAt, WhoisRoot: t.Root, TrustAtIssue: t.Trust, TenureAtIssue: t.Tenure, Weight: t.Weight, Note: t.Why,
		VerifiedStatus: NewVerifiedStatus(subject)}
}

// RevokedView answers a revocation.
type RevokedView struct {
	Revoked        bool           `json:"revoked"`
	AttestationID  int            `json:"attestation_id"`
	SubjectAirID   string         `json:"subject_air_id"`
	RevokedAt      string         `json:"revoked_at"`
	VerifiedStatus VerifiedStatus `json:"verified_status"`
}

// NewRevokedView returns the answer to the revocation of an attestation of
// subject.
func NewRevokedView(t registry.Attestation, subject registry.Agent) RevokedView {
	return RevokedView{Revoked: true, AttestationID: t.N, SubjectAirID: t.Subject, RevokedAt: registry.FormatTimestamp(t.Revoked), VerifiedStatus: NewVerifiedStatus(subject)}
}

// View is one attestation in the list of a subject.
type View struct {
	ID              int     `json:"id"`
	AttesterAirID   string  `json:"attester_air_id"`
	WhoisRoot       string  `json:"attester_whois_root"`
	AttestationType string  `json:"attestation_type"`
	Statement       string  `json:"statement"`
	SignedPayload   string  `json:"signed_payload"`
	Signature       string  `json:"signature_multibase"`
	SignedAt        string  `json:"signed_at"`
	TrustAtIssue    int     `json:"attester_trust_at_issue"`
	TenureAtIssue   float64 `json:"tenure_multiplier_at_issue"`
	Weight          float64 `json:"weight"`
	RevokedAt       *string `json:"revoked_at"`
	IsActive        bool    `json:"is_active"`
	CreatedAt       string  `json:"created_at"`
}

// ListView is the list of attestations about an agent.
type ListView struct {
	SubjectAirID   string         `json:"subject_air_id"`
	Attestations   []View         `json:"attestations"`
	Total          int            `json:"total"`
	Active         int            `json:"active"`
	VerifiedStatus VerifiedStatus `json:"verified_status"`
}

// AttestationsView returns the attestations about an agent, oldest first.
func (g *Graph) AttestationsView(ctx context.Context, a registry.Agent) (ListView, error) {
	about, err := g.Attestations(ctx, a)
	if err != nil {
		return ListView{}, err
	}
	v := ListView{SubjectAirID: a.AirID, Attestations: []View{}, Total: len(about), VerifiedStatus: NewVerifiedStatus(a)}
	for _, t := range about {
		row := View{ID: t.N, AttesterAirID: t.Attester, WhoisRoot: t.Root, AttestationType: t.Type, Statement: t.Statement, SignedPayload: t.Payload,
			Signature: t.Signature, SignedAt: t.SignedAt, TrustAtIssue: t.Trust, TenureAtIssue: t.Tenure, Weight: t.Weight,
			IsActive: t.Revoked.IsZero(), CreatedAt: registry.FormatTimestamp(t.Created)}
		if row.IsActive {
			v.Active++
		} else {
			revoked := registry.FormatTimestamp(t.Revoked)
			row.RevokedAt = &revoked
		}
		v.Attestations = append(v.Attestations, row)
	}
	return v, nil
}

// RecentView lists the newest attestations of all.
type RecentView struct {
	Attestations []RecentAttestation `json:"attestations"`
	Total        int                 `json:"total"`
	Limit        int                 `json:"limit"`
}

// RecentAttestation is one row of it.
type RecentAttestation struct {
	ID              int     `json:"id"`
	SubjectAirID    string  `json:"subject_air_id"`
	AttesterAirID   string  `json:"attester_air_id"`
	WhoisRoot       string  `json:"attester_whois_root"`
	AttestationType string  `json:"attestation_type"`
	Statement       string  `json:"statement"`
	SignedAt        string  `json:"signed_at"`
	Weight          float64 `json:"weight"`
	CreatedAt       string  `json:"created_at"`
}

// RecentView returns at most limit active attestations, newest first; a limit
// outside 1 to 200 means 50.
func (g *Graph) RecentView(ctx context.Context, limit int) (RecentView, error) {
	if limit < 1 || limit > 200 {
		limit = 50
	}
	recent, err := g.Recent(ctx, limit)
	v := RecentView{Attestations: []RecentAttestation{}, Total: len(recent), Limit: limit}
	for _, t := range recent {
		v.Attestations = append(v.Attestations, RecentAttestation{ID: t.N, SubjectAirID: t.Subject, AttesterAirID: t.Attester, WhoisRoot: t.Root,
			AttestationType: t.Type, Statement: t.Statement, SignedAt: t.SignedAt, Weight: t.Weight, CreatedAt: registry.FormatTimestamp(t.Created)})
	}
	return v, err
}

// GraphView lists the attesters of an agent and the agents that it attests.
type GraphView struct {
	AirID         string `json:"air_id"`
	Inbound       []Edge `json:"inbound"`
	Outbound      []Edge `json:"outbound"`
	InboundCount  int    `json:"inbound_count"`
	OutboundCount int    `json:"outbound_count"`
}

// An Edge is one active attestation. It names the other one of the two agents.
type Edge struct {
	AttesterAirID   string  `json:"attester_air_id,omitempty"`
	SubjectAirID    string  `json:"subject_air_id,omitempty"`
	AttestationType string  `json:"attestation_type"`
	WhoisRoot       string  `json:"attester_whois_root"`
	Weight          float64 `json:"weight"`
	SignedAt        string  `json:"signed_at"`
}

// GraphView returns the active attestations about and by an agent.
func (g *Graph) GraphView(ctx context.Context, a registry.Agent) (GraphView, error) {
	v := GraphView{AirID: a.AirID, Inbound: []Edge{}, Outbound: []Edge{}}
	about, err := g.Attestations(ctx, a)
	if err != nil {
		return v, err
	}
	issued, err := g.Issued(ctx, a)
	if err != nil {
		return v, err
	}
	for _, t := range about {
		if t.Revoked.IsZero() {
			v.Inbound = append(v.Inbound, Edge{AttesterAirID: t.Attester, AttestationType: t.Type, WhoisRoot: t.Root, Weight: t.Weight, SignedAt: t.SignedAt})
		}
	}
	for _, t := range issued {
		if t.Revoked.IsZero() {
			v.Outbound = append(v.Outbound, Edge{SubjectAirID: t.Subject, AttestationType: t.Type, WhoisRoot: t.Root, Weight: t.Weight, SignedAt: t.SignedAt})
		}
	}
	v.InboundCount, v.OutboundCount = len(v.Inbound), len(v.Outbound)
	return v, nil
}

// DependentsView lists the agents that depend on an agent, level by level.
type DependentsView struct {
	AirID      string      `json:"air_id"`
	Dependents []Dependent `json:"dependents"`
	Total      int         `json:"total"`
	MaxDepth   int         `json:"max_depth"`
	Truncated  bool        `json:"truncated"`
}

// A Dependent has attested a dependency, Depth steps away.
type Dependent struct {
	AirID string `json:"air_id"`
	Depth int    `json:"depth"`
}

// DependentsView follows attestations of the type dependency from an agent to
// those who made them. A depth outside 1 to 10 means 6, a limit outside 1 to 1000
// means 500.
func (g *Graph) DependentsView(ctx context.Context, a registry.Agent, depth, limit int) (DependentsView, error) {
	if depth < 1 || depth > 10 {
		depth = 6
	}
	if limit < 1 || limit > 1000 {
		limit = 500
	}
	v := DependentsView{AirID: a.AirID, Dependents: []Dependent{}, MaxDepth: depth}
	seen := map[string]bool{a.AirID: true}
	level := []registry.Agent{a}
	for d := 1; d <= depth && len(level) > 0; d++ {
		var next []registry.Agent
		for _, agent := range level {
			about, err := g.Attestations(ctx, agent)
			if err != nil {
				return v, err
			}
			for _, t := range about {
				if !t.Revoked.IsZero() || t.Type != "dependency" || seen[t.Attester] {
					continue
				}
				if len(v.Dependents) == limit {
					v.Truncated = true
					return v, nil
				}
				seen[t.Attester] = true
				v.Dependents = append(v.Dependents, Dependent{t.Attester, d})
				v.Total++
				attester, _, err := g.registry.Agent(ctx, t.Attester)
				if err != nil {
					return v, err
				}
				next = append(next, attester)
			}
		}
		level = next
	}
	return v, nil
}

// GraphStatsView counts all active attestations.
type GraphStatsView struct {
	Nodes        GraphNodes    `json:"nodes"`
	Edges        GraphEdges    `json:"edges"`
	TopAttested  []AgentNumber `json:"top_attested"`
	TopAttesters []AgentNumber `json:"top_attesters"`
}

// GraphNodes counts agents.
type GraphNodes struct {
	Subjects      int `json:"subjects"`
	Attesters     int `json:"attesters"`
	TotalDistinct int `json:"total_distinct"`
}

// GraphEdges counts attestations.
type GraphEdges struct {
	Active int            `json:"active"`
	ByType map[string]int `json:"by_type"`
}

// An AgentNumber is an agent and how many attestations it has to do with.
type AgentNumber struct {
	AirID string `json:"air_id"`
	Count int    `json:"count"`
}

// maxTopAgents limits the lists of the agents with most attestations.
const maxTopAgents = 10

// GraphStatsView reads all attestations: cache the answer for a while.
func (g *Graph) GraphStatsView(ctx context.Context) (GraphStatsView, error) {
	subjects, attesters := map[string]int{}, map[string]int{}
	v := GraphStatsView{Edges: GraphEdges{ByType: map[string]int{}}}
	next, err := g.numbers.nextFree(ctx, g.store)
	if err != nil {
		return v, err
	}
	for n := 1; n < next; n++ {
		t, _, err := g.registry.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			continue
		}
		if err != nil {
			return v, err
		}
		if !t.Revoked.IsZero() {
			continue
		}
		subjects[t.Subject]++
		attesters[t.Attester]++
		v.Edges.Active++
		v.Edges.ByType[t.Type]++
	}
	v.Nodes = GraphNodes{Subjects: len(subjects), Attesters: len(attesters), TotalDistinct: len(subjects)}
	for airID := range attesters {
		if subjects[airID] == 0 {
			v.Nodes.TotalDistinct++
		}
	}
	v.TopAttested, v.TopAttesters = rankAgents(subjects), rankAgents(attesters)
	return v, nil
}

func rankAgents(counts map[string]int) []AgentNumber {
	out := make([]AgentNumber, 0, len(counts))
	for airID, n := range counts {
		out = append(out, AgentNumber{airID, n})
	}
	slices.SortFunc(out, func(a, b AgentNumber) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.AirID, b.AirID))
	})
	return out[:min(len(out), maxTopAgents)]
}

// ErrorView returns the reference's words for an error of [Graph.Attest], which differ from those
// of [registry.NewErrorView].
func ErrorView(err error, subject string) (registry.ErrorView, bool) {
	return errorView(err, "X-Agent-Secret header required for attestation", "invalid attester secret", subject)
}

// RevocationErrorView is [ErrorView] for [Graph.RevokeAttestation].
func RevocationErrorView(err error, subject string) (registry.ErrorView, bool) {
	return errorView(err, "X-Agent-Secret header required (must be original attester's secret)",
		"invalid attester secret (only the original attester can revoke)", subject)
}

func errorView(err error, missing, wrong, subject string) (registry.ErrorView, bool) {
	switch {
	case errors.Is(err, registry.ErrNoSecret):
		return registry.ErrorView{Error: missing}, true
	case errors.Is(err, registry.ErrWrongSecret):
		return registry.ErrorView{Error: wrong}, true
	case errors.Is(err, registry.ErrNoAgent):
		return registry.ErrorView{Error: "subject agent not found", AirID: subject}, true
	}
	return registry.NewErrorView(err, subject)
}
