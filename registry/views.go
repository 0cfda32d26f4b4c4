package registry

import (
	"errors"
	"time"

	"gazetteer/protocol/did"
)

// The types below are answers in the shapes of the public AIR reference, member
// for member, so that its clients read them unchanged.

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
	// DIDWBAResolved stands only beside an external did:wba: whether it was
	// seen to resolve.
	DIDWBAResolved  *bool  `json:"did_wba_resolved,omitempty"`
	AgentSecret     string `json:"agent_secret,omitempty"`
	AgentSecretNote string `json:"agent_secret_note,omitempty"`
	Message         string `json:"message"`
}

// RegistrationView returns the answer to the registration of a.
func (r *Registry) RegistrationView(a Agent, secret string) RegistrationView {
	score := TrustScore(a)
	v := RegistrationView{
		AirID: a.AirID, Name: a.Name, CreatorDID: a.CreatorDID, AirMintedDID: r.hasMintedCreator(a),
		Status: a.Status, VerificationLevel: verificationLevel, TrustScore: score.Total, TrustGrade: score.Grade,
		Created: FormatTimestamp(a.Created), Message: "Agent registered successfully.",
	}
	if a.Status == Pending {
		v.Message = "Registration received. It waits for the approval of the registry's operator until " + FormatTimestamp(a.Created.Add(ApprovalPeriod)) + "; until then the agent cannot be found."
	}
	if secret != "" {
		v.AgentSecret, v.AgentSecretNote = secret, "Store agent_secret securely. It is required to update this agent's record (PUT /agents/"+a.AirID+
			") via the X-Agent-Secret header. It is shown this once and cannot be recovered."
	}
	if len(a.PublicKey) > 0 {
		v.PublicKey = did.FormatPublicKey(a.PublicKey)
	}
	if !v.AirMintedDID {
		v.DIDWBAResolved = r.creatorResolved(a)
	}
	return v
}

// RecordView is the public record of an agent.
type RecordView struct {
	Context            string             `json:"@context"`
	Type               string             `json:"type"`
	AirID              string             `json:"air_id"`
	Name               string             `json:"name"`
	Username           *string            `json:"username"`
	Description        string             `json:"description"`
	Creator            CreatorView        `json:"creator"`
	Capabilities       []string           `json:"capabilities"`
	Security           SecurityView       `json:"security"`
	Transparency       TransparencyView   `json:"transparency"`
	Verified           bool               `json:"verified"`
	VerificationLevel  string             `json:"verification_level"`
	VerificationStatus VerificationStatus `json:"verification_status"`
	// DIDWBAResolved is null when the creator's DID is not a did:wba. The DID of
	// an agent's own resolves here from the moment of its registration; of an
	// external one the document must list the agent's key.
	DIDWBAResolved      *bool        `json:"did_wba_resolved"`
	DIDWBALastCheckedAt *string      `json:"did_wba_last_checked_at"`
	IsDemo              bool         `json:"is_demo"`
	Status              string       `json:"status"`
	Created             string       `json:"created"`
	Updated             string       `json:"updated"`
	TrustScore          int          `json:"trust_score"`
	TrustGrade          string       `json:"trust_grade"`
	Components          Components   `json:"components"`
	Evidence            EvidenceView `json:"evidence"`
}

// CreatorView is who stands behind an agent, as claimed.
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

// TransparencyView is what an agent says of its openness.
type TransparencyView struct {
	OpenSource       bool   `json:"open_source"`
	CodeRepository   string `json:"code_repository"`
	DocumentationURL string `json:"documentation_url"`
}

// VerificationStatus says how far an agent is from the reference's "Verified".
type VerificationStatus struct {
	Verified                   bool `json:"verified"`
	Score                      int  `json:"score"`
	ScoreRequired              int  `json:"score_required"`
	AttestationCount           int  `json:"attestation_count"`
	DistinctWhoisRoots         int  `json:"distinct_whois_roots"`
	DistinctWhoisRootsRequired int  `json:"distinct_whois_roots_required"`
}

// EvidenceView says what a score rests on.
type EvidenceView struct {
	Label             string `json:"label"`
	DefinitionVersion string `json:"definition_version"`
	Basis             string `json:"basis"`
	CriteriaURL       string `json:"criteria_url"`
}

// RecordView returns the public record of a.
func (r *Registry) RecordView(a Agent) RecordView {
	score := TrustScore(a)
	v := RecordView{
		Context: "https://agentidentityregistry.org/v1", Type: "AgentIdentity",
		AirID: a.AirID, Name: a.Name, Description: a.Description,
		Creator:           CreatorView{DID: a.CreatorDID, Name: a.CreatorName, Type: a.CreatorType},
		Capabilities:      notNil(a.Capabilities),
		Security:          SecurityView{Certifications: notNil(a.SecurityCertifications)},
		Transparency:      TransparencyView{OpenSource: a.OpenSource, CodeRepository: a.CodeRepository, DocumentationURL: a.DocumentationURL},
		VerificationLevel: verificationLevel,
		Verified:          a.Standing.IsVerified(),
		VerificationStatus: VerificationStatus{Verified: a.Standing.IsVerified(), Score: a.Standing.RoundedWeight(), ScoreRequired: verifiedWeight,
			AttestationCount: a.Standing.Count, DistinctWhoisRoots: a.Standing.Roots, DistinctWhoisRootsRequired: verifiedRoots},
		DIDWBAResolved: r.creatorResolved(a),
		Status:         a.Status, Created: FormatTimestamp(a.Created), Updated: FormatTimestamp(a.Updated),
		TrustScore: score.Total, TrustGrade: score.Grade, Components: score.Components, Evidence: r.evidenceView(a, score),
	}
	if a.Handle != "" {
		v.Username = &a.Handle
	}
	if len(a.PublicKey) > 0 {
		key := did.FormatPublicKey(a.PublicKey)
		v.Creator.PublicKey = &key
	}
	if at := r.creatorResolvedAt(a); !at.IsZero() {
		checked := FormatTimestamp(at)
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
func NewUpdateView(a Agent, fields []string) UpdateView {
	score := TrustScore(a)
	return UpdateView{AirID: a.AirID, UpdatedFields: len(fields), TrustScore: score.Total, TrustGrade: score.Grade,
		Updated: FormatTimestamp(a.Updated), Message: "Agent updated successfully."}
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
func NewRowView(a Agent) RowView {
	score := TrustScore(a)
	return RowView{AirID: a.AirID, Name: a.Name, Description: a.Description, VerificationLevel: verificationLevel,
		TrustScore: score.Total, TrustGrade: score.Grade, Created: FormatTimestamp(a.Created)}
}

// TrustScoreView is what the service #trust-score of a DID document answers.
type TrustScoreView struct {
	AirID        string       `json:"air_id"`
	TotalScore   int          `json:"total_score"`
	Grade        string       `json:"grade"`
	Components   Components   `json:"components"`
	CalculatedAt string       `json:"calculated_at"`
	Evidence     EvidenceView `json:"evidence"`
}

// TrustScoreView returns the score of a. It changes only with the record, so
// the time is that of the record.
func (r *Registry) TrustScoreView(a Agent) TrustScoreView {
	score := TrustScore(a)
	return TrustScoreView{AirID: a.AirID, TotalScore: score.Total, Grade: score.Grade, Components: score.Components,
		CalculatedAt: FormatTimestamp(a.Updated), Evidence: r.evidenceView(a, score)}
}

// ErrorView is an error as the reference words it.
type ErrorView struct {
	Error    string `json:"error"`
	AirID    string `json:"air_id,omitempty"`
	Username string `json:"username,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Reason   string `json:"reason,omitempty"`

	Message string `json:"message,omitempty"`

	AttestationID  int    `json:"attestation_id,omitempty"`
	ClaimedSubject string `json:"claimed_subject,omitempty"`
	ActualSubject  string `json:"actual_subject,omitempty"`
	RevokedAt      string `json:"revoked_at,omitempty"`
	MaxAgeSeconds  int    `json:"max_age_seconds,omitempty"`
}

// NewErrorView returns the reference's words for an error of the registry, and
// false for any other error. AirID is the one that was asked for.
func NewErrorView(err error, airID string) (ErrorView, bool) {
	var field *Error
	var taken *HandleTakenError
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal) && refusal.View != nil:
		return *refusal.View, true
	case errors.As(err, &refusal):
		return ErrorView{Error: refusal.Message, Hint: refusal.Help}, true
	case errors.As(err, &taken) && !taken.Free.IsZero():
		return ErrorView{Error: "Username is in a cooldown period and not yet claimable", Username: taken.Handle}, true
	case errors.As(err, &taken):
		return ErrorView{Error: "Username already taken", Username: taken.Handle}, true
	case errors.As(err, &field) && field.View != nil:
		return *field.View, true
	case errors.As(err, &field):
		return ErrorView{Error: field.Message}, true
	case errors.Is(err, ErrNoAgent):
		return ErrorView{Error: "Agent not found", AirID: airID}, true
	case errors.Is(err, ErrNoKey):
		return ErrorView{Error: "Agent has no public key on file; DID document not available.", AirID: airID,
			Hint: "Register with a public_key field (Ed25519, base64url) to enable DID document resolution."}, true
	case errors.Is(err, ErrNoSecret):
		return ErrorView{Error: "Missing X-Agent-Secret header. Updates require the secret returned at registration."}, true
	case errors.Is(err, ErrWrongSecret):
		return ErrorView{Error: "Invalid agent secret"}, true
	case errors.Is(err, ErrNothingToUpdate):
		return ErrorView{Error: "No valid fields to update. Updatable fields: description, capabilities, security_certifications, " +
			"open_source, code_repository, documentation_url, service_endpoints, username"}, true
	}
	return ErrorView{}, false
}

// verificationLevel is the only level there is before a registry checks papers.
const verificationLevel = "self-verified"

func (r *Registry) evidenceView(a Agent, s Score) EvidenceView {
	return EvidenceView{Label: evidenceLabel(a.Standing, s.Components), DefinitionVersion: "2026-06-09",
		Basis:       "Computed from what the agent says of itself; not an endorsement or certification.",
		CriteriaURL: r.baseURL + "/openapi.json"}
}

func (r *Registry) hasMintedCreator(a Agent) bool { return a.CreatorDID == r.DID(a.AirID) }

// creatorResolved says whether the creator's did:wba is known to resolve and to list
// the agent's key; nil when it is none.
func (r *Registry) creatorResolved(a Agent) *bool {
	web, err := did.ParseWeb(a.CreatorDID)
	if err != nil || web.Method != "wba" {
		return nil
	}
	resolved := r.hasMintedCreator(a) || a.Observed[SignalDID].Holds
	return &resolved
}

// creatorResolvedAt is when that was seen last; zero for never.
func (r *Registry) creatorResolvedAt(a Agent) time.Time {
	if r.hasMintedCreator(a) {
		return a.Created
	}
	return a.Observed[SignalDID].At
}

// FormatTimestamp writes a time as the reference does.
func FormatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
