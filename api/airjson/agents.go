package airjson

import (
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// RegistrationView answers a registration (status 201). It is the only place
// where the secret is shown.
type RegistrationView struct {
	AirID      string `json:"air_id"`
	Name       string `json:"name"`
	CreatorDID string `json:"creator_did"`
	// AirMintedDID is true when the creator's DID is the agent's own.
	AirMintedDID      bool   `json:"air_minted_did,omitempty"`
	Status            string `json:"status"`
	VerificationLevel string `json:"verification_level"`
	TrustScore        int    `json:"trust_score"`
	TrustGrade        string `json:"trust_grade"`
	Created           string `json:"created"`
	PublicKey         string `json:"public_key,omitempty"`
	// DIDWBAResolved is present only with an external did:wba and reports whether it resolved.
	DIDWBAResolved  *bool  `json:"did_wba_resolved,omitempty"`
	AgentSecret     string `json:"agent_secret,omitempty"`
	AgentSecretNote string `json:"agent_secret_note,omitempty"`
	Message         string `json:"message"`
}

// NewRegistrationView returns the answer to the registration of a.
func NewRegistrationView(r Registry, a registry.Agent, secret string) RegistrationView {
	score := registry.TrustScore(a)
	v := RegistrationView{
		AirID: a.AirID, Name: a.Name, CreatorDID: a.CreatorDID, AirMintedDID: hasMintedCreator(r, a),
		Status: a.Status, VerificationLevel: verificationLevel, TrustScore: score.Total, TrustGrade: score.Grade,
		Created: registry.FormatTimestamp(a.Created), Message: "Agent registered successfully.",
	}
	if a.Status == registry.Pending {
		v.Message = "Registration received. It waits for the approval of the registry's operator until " + registry.FormatTimestamp(a.Created.Add(registry.ApprovalPeriod)) + "; until then the agent cannot be found."
	}
	if secret != "" {
		v.AgentSecret, v.AgentSecretNote = secret, "Store agent_secret securely. It is required to update this agent's record (PUT /agents/"+a.AirID+
			") via the X-Agent-Secret header. It is shown this once and cannot be recovered."
	}
	if len(a.PublicKey) > 0 {
		v.PublicKey = did.FormatPublicKey(a.PublicKey)
	}
	if !v.AirMintedDID {
		v.DIDWBAResolved = creatorResolved(r, a)
	}
	return v
}

// RecordView is the public record of an agent.
type RecordView struct {
	Context            string             `json:"@context" doc:"the JSON-LD context of the AIR record"`
	Type               string             `json:"type" doc:"the JSON-LD type of the record"`
	AirID              string             `json:"air_id" doc:"the id of the agent in this registry, permanent"`
	Name               string             `json:"name" doc:"as the owner writes it"`
	Username           *string            `json:"username" doc:"the handle; null for none"`
	Description        string             `json:"description" doc:"what the agent does, in the words of its owner"`
	Creator            CreatorView        `json:"creator" doc:"who claims to have made the agent"`
	Capabilities       []string           `json:"capabilities" doc:"what the agent can do, in the words of its owner"`
	Security           SecurityView       `json:"security" doc:"certifications that the owner claims"`
	Transparency       TransparencyView   `json:"transparency" doc:"what the owner says about source code and documentation"`
	Verified           bool               `json:"verified" doc:"the reference's mark; it proves nothing by itself"`
	VerificationLevel  string             `json:"verification_level" doc:"always self-verified"`
	VerificationStatus VerificationStatus `json:"verification_status" doc:"the progress towards the reference's mark"`
	// DIDWBAResolved is null when the creator's DID is not a did:wba. An agent's own DID resolves
	// here from the moment of its registration. The document of an external DID must list the
	// agent's key.
	DIDWBAResolved      *bool        `json:"did_wba_resolved" doc:"whether the creator's did:wba resolves and lists the agent's key; null for other DIDs"`
	DIDWBALastCheckedAt *string      `json:"did_wba_last_checked_at" doc:"when that was checked last"`
	IsDemo              bool         `json:"is_demo" doc:"always false, for clients of the reference"`
	Status              string       `json:"status" doc:"active, suspended, deactivated, deleted, merged or erased"`
	Created             string       `json:"created" doc:"when the agent was registered"`
	Updated             string       `json:"updated" doc:"when the record changed last"`
	TrustScore          int          `json:"trust_score" doc:"the reference's score, 0 to 100; evidence says what it rests on"`
	TrustGrade          string       `json:"trust_grade" doc:"the same as a letter"`
	Components          Components   `json:"components" doc:"the parts of the score"`
	Evidence            EvidenceView `json:"evidence" doc:"each signal with what it proves"`
	// The four members here are not in the reference.
	StatusReason string               `json:"status_reason,omitempty" doc:"why the operator has suspended or ended the agent"`
	MergedInto   string               `json:"merged_into,omitempty" doc:"the agent that replaces a merged one"`
	MovedTo      string               `json:"moved_to,omitempty" doc:"the DID under which the agent continues elsewhere, as its key has signed"`
	HandleLost   *registry.LostHandle `json:"handle_lost,omitempty" doc:"the handle that an agent with the domain of that name has taken from this one"`
}

// CreatorView is the claimed creator of an agent.
type CreatorView struct {
	DID       string  `json:"did"`
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	PublicKey *string `json:"public_key"` // null: registered without one
}

// SecurityView lists claimed certifications.
type SecurityView struct {
	Certifications []string `json:"certifications"`
}

// TransparencyView contains an agent's claims about its openness.
type TransparencyView struct {
	OpenSource       bool   `json:"open_source"`
	CodeRepository   string `json:"code_repository"`
	DocumentationURL string `json:"documentation_url"`
}

// VerificationStatus is the progress of an agent towards the reference's "Verified".
type VerificationStatus struct {
	Verified                   bool `json:"verified"`
	Score                      int  `json:"score"`
	ScoreRequired              int  `json:"score_required"`
	AttestationCount           int  `json:"attestation_count"`
	DistinctWhoisRoots         int  `json:"distinct_whois_roots"`
	DistinctWhoisRootsRequired int  `json:"distinct_whois_roots_required"`
}

// Components are the parts of a trust score, each 0 to 1000.
type Components struct {
	Provenance       int `json:"provenance"`
	Behavioral       int `json:"behavioral"`
	Transparency     int `json:"transparency"`
	Security         int `json:"security"`
	PeerAttestations int `json:"peer_attestations"`
}

// EvidenceView is the evidence behind a score.
type EvidenceView struct {
	Label             string `json:"label"`
	DefinitionVersion string `json:"definition_version"`
	Basis             string `json:"basis"`
	CriteriaURL       string `json:"criteria_url"`
}

// NewRecordView returns the public record of a.
func NewRecordView(r Registry, a registry.Agent) RecordView {
	score := registry.TrustScore(a)
	v := RecordView{
		Context: "https://agentidentityregistry.org/v1", Type: "AgentIdentity",
		AirID: a.AirID, Name: a.Name, Description: a.Description,
		Creator:           CreatorView{DID: a.CreatorDID, Name: a.CreatorName, Type: a.CreatorType},
		Capabilities:      emptyIfNil(a.Capabilities),
		Security:          SecurityView{Certifications: emptyIfNil(a.SecurityCertifications)},
		Transparency:      TransparencyView{OpenSource: a.OpenSource, CodeRepository: a.CodeRepository, DocumentationURL: a.DocumentationURL},
		VerificationLevel: verificationLevel,
		Verified:          a.Standing.IsVerified(),
		VerificationStatus: VerificationStatus{Verified: a.Standing.IsVerified(), Score: a.Standing.RoundedWeight(), ScoreRequired: registry.VerifiedWeight,
			AttestationCount: a.Standing.Count, DistinctWhoisRoots: a.Standing.Roots, DistinctWhoisRootsRequired: registry.VerifiedRoots},
		DIDWBAResolved: creatorResolved(r, a),
		Status:         a.Status, StatusReason: a.Reason, MergedInto: a.MergedInto, MovedTo: a.MovedTo, HandleLost: a.HandleLost, Created: registry.FormatTimestamp(a.Created), Updated: registry.FormatTimestamp(a.Updated),
		TrustScore: score.Total, TrustGrade: score.Grade, Components: Components(score.Components), Evidence: newEvidenceView(r, a, score),
	}
	if a.Handle != "" {
		v.Username = &a.Handle
	}
	if len(a.PublicKey) > 0 {
		key := did.FormatPublicKey(a.PublicKey)
		v.Creator.PublicKey = &key
	}
	if at := creatorResolvedAt(r, a); !at.IsZero() {
		checked := registry.FormatTimestamp(at)
		v.DIDWBALastCheckedAt = &checked
	}
	return v
}

// UpdateView answers an update.
type UpdateView struct {
	AirID         string `json:"air_id"`
	UpdatedFields int    `json:"updated_fields"` // how many
	TrustScore    int    `json:"trust_score"`
	TrustGrade    string `json:"trust_grade"`
	Updated       string `json:"updated"`
	Message       string `json:"message"`
}

// NewUpdateView returns the answer to an update that set fields.
func NewUpdateView(a registry.Agent, fields []string) UpdateView {
	score := registry.TrustScore(a)
	return UpdateView{AirID: a.AirID, UpdatedFields: len(fields), TrustScore: score.Total, TrustGrade: score.Grade,
		Updated: registry.FormatTimestamp(a.Updated), Message: "Agent updated successfully."}
}

// RowView is one agent in a list.
type RowView struct {
	AirID             string `json:"air_id"`
	Name              string `json:"name"`
	Description       string `json:"description"`
	Verified          bool   `json:"verified"`
	VerificationLevel string `json:"verification_level"`
	IsDemo            bool   `json:"is_demo"`
	TrustScore        int    `json:"trust_score"`
	TrustGrade        string `json:"trust_grade"`
	Created           string `json:"created"`
}

// NewRowView returns the row of a in a list.
func NewRowView(a registry.Agent) RowView {
	score := registry.TrustScore(a)
	return RowView{AirID: a.AirID, Name: a.Name, Description: a.Description, VerificationLevel: verificationLevel,
		TrustScore: score.Total, TrustGrade: score.Grade, Created: registry.FormatTimestamp(a.Created)}
}

// TrustScoreView is the answer of the service #trust-score of a DID document.
type TrustScoreView struct {
	AirID        string       `json:"air_id"`
	TotalScore   int          `json:"total_score"`
	Grade        string       `json:"grade"`
	Components   Components   `json:"components"`
	CalculatedAt string       `json:"calculated_at"`
	Evidence     EvidenceView `json:"evidence"`
}

// NewTrustScoreView returns the score of a. It changes only with the record, so
// the time is that of the record.
func NewTrustScoreView(r Registry, a registry.Agent) TrustScoreView {
	score := registry.TrustScore(a)
	return TrustScoreView{AirID: a.AirID, TotalScore: score.Total, Grade: score.Grade, Components: Components(score.Components),
		CalculatedAt: registry.FormatTimestamp(a.Updated), Evidence: newEvidenceView(r, a, score)}
}

// verificationLevel is the only level without a check of identity documents by the registry.
const verificationLevel = "self-verified"

func newEvidenceView(r Registry, a registry.Agent, s registry.Score) EvidenceView {
	return EvidenceView{Label: evidenceLabel(a.Standing, s.Components), DefinitionVersion: "2026-06-09",
		Basis:       "Computed from the agent's own statements; not an endorsement or certification.",
		CriteriaURL: r.BaseURL() + "/openapi.json"}
}

func hasMintedCreator(r Registry, a registry.Agent) bool {
	return a.CreatorDID == r.DID(a.AirID)
}

// creatorResolved reports whether the creator's did:wba resolves and lists the agent's key; nil if
// the creator has no did:wba.
func creatorResolved(r Registry, a registry.Agent) *bool {
	web, err := did.ParseWeb(a.CreatorDID)
	if err != nil || web.Method != "wba" {
		return nil
	}
	resolved := hasMintedCreator(r, a) || a.Observed[registry.SignalDID].Holds
	return &resolved
}

// creatorResolvedAt returns the time of the last successful check; zero for none.
func creatorResolvedAt(r Registry, a registry.Agent) time.Time {
	if hasMintedCreator(r, a) {
		return a.Created
	}
	return a.Observed[registry.SignalDID].At
}

func emptyIfNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// evidenceLabel returns the reference's word for the evidence behind a score.
func evidenceLabel(s registry.AttestationSummary, c registry.Components) string {
	switch {
	case s.IsVerified():
		return "Verified"
	case s.Count > 0:
		return "Attested"
	}
	if c.Provenance > 300 || c.Transparency > 300 || c.Security > 300 {
		return "Self-declared"
	}
	return "Registered"
}
