package airjson

import (
	"context"

	"gazetteer/registry"
)

// VerifiedStatus describes the verification of an agent by attestations in the reference's sense.
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
	Note            string         `json:"note,omitempty"` // the reason why it has no weight
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

// AttestationView is one attestation in the list of a subject.
type AttestationView struct {
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

// AttestationListView is the list of attestations about an agent.
type AttestationListView struct {
	SubjectAirID   string            `json:"subject_air_id"`
	Attestations   []AttestationView `json:"attestations"`
	Total          int               `json:"total"`
	Active         int               `json:"active"`
	VerifiedStatus VerifiedStatus    `json:"verified_status"`
}

// NewAttestationListView returns the attestations about an agent, oldest first.
func NewAttestationListView(ctx context.Context, g Graph, a registry.Agent) (AttestationListView, error) {
	about, err := g.Attestations(ctx, a)
	if err != nil {
		return AttestationListView{}, err
	}
	v := AttestationListView{SubjectAirID: a.AirID, Attestations: []AttestationView{}, Total: len(about), VerifiedStatus: NewVerifiedStatus(a)}
	for _, t := range about {
		row := AttestationView{ID: t.N, AttesterAirID: t.Attester, WhoisRoot: t.Root, AttestationType: t.Type, Statement: t.Statement, SignedPayload: t.Payload,
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

// NewRecentView returns at most limit active attestations, newest first; a limit
// outside 1 to 200 means 50.
func NewRecentView(ctx context.Context, g Graph, limit int) (RecentView, error) {
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

// An Edge is one active attestation. It names the other agent.
type Edge struct {
	AttesterAirID   string  `json:"attester_air_id,omitempty"`
	SubjectAirID    string  `json:"subject_air_id,omitempty"`
	AttestationType string  `json:"attestation_type"`
	WhoisRoot       string  `json:"attester_whois_root"`
	Weight          float64 `json:"weight"`
	SignedAt        string  `json:"signed_at"`
}

// NewGraphView returns the active attestations about and by an agent.
func NewGraphView(ctx context.Context, g Graph, a registry.Agent) (GraphView, error) {
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

// NewDependentsView returns the agents that depend on an agent: see [attestation.Graph.Dependents]. A
// depth outside 1 to 10 means 6, a limit outside 1 to 1000 means 500.
func NewDependentsView(ctx context.Context, g Graph, a registry.Agent, depth, limit int) (DependentsView, error) {
	if depth < 1 || depth > 10 {
		depth = 6
	}
	if limit < 1 || limit > 1000 {
		limit = 500
	}
	dependents, truncated, err := g.Dependents(ctx, a, depth, limit)
	v := DependentsView{AirID: a.AirID, Dependents: []Dependent{}, Total: len(dependents), MaxDepth: depth, Truncated: truncated}
	for _, d := range dependents {
		v.Dependents = append(v.Dependents, Dependent(d))
	}
	return v, err
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

// An AgentNumber is an agent with the number of its attestations.
type AgentNumber struct {
	AirID string `json:"air_id"`
	Count int    `json:"count"`
}

// NewGraphStatsView reads all attestations: callers should cache the answer.
func NewGraphStatsView(ctx context.Context, g Graph) (GraphStatsView, error) {
	s, err := g.Stats(ctx)
	v := GraphStatsView{
		Nodes:       GraphNodes{Subjects: s.Subjects, Attesters: s.Attesters, TotalDistinct: s.Agents},
		Edges:       GraphEdges{Active: s.Active, ByType: s.ByType},
		TopAttested: []AgentNumber{}, TopAttesters: []AgentNumber{},
	}
	for _, c := range s.TopAttested {
		v.TopAttested = append(v.TopAttested, AgentNumber(c))
	}
	for _, c := range s.TopAttesters {
		v.TopAttesters = append(v.TopAttesters, AgentNumber(c))
	}
	return v, err
}
