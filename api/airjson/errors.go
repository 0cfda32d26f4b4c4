package airjson

import (
	"errors"

	"gazetteer/registry"
)

// ErrorView is an error in the words of the reference.
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

// NewErrorView returns the reference's words for an error of the registry, and false for any other
// error. airID is the requested one.
func NewErrorView(err error, airID string) (ErrorView, bool) {
	var field *registry.Error
	var taken *registry.HandleTakenError
	var refusal *registry.Refusal
	switch {
	case errors.As(err, &refusal):
		return newRefusalView(refusal), true
	case errors.As(err, &taken) && !taken.Free.IsZero():
		return ErrorView{Error: "Username is in a cooldown period and not yet claimable", Username: taken.Handle}, true
	case errors.As(err, &taken):
		return ErrorView{Error: "Username already taken", Username: taken.Handle}, true
	case errors.As(err, &field):
		return newFieldView(field), true
	case errors.Is(err, registry.ErrNoAgent):
		return ErrorView{Error: "Agent not found", AirID: airID}, true
	case errors.Is(err, registry.ErrNoKey):
		return ErrorView{Error: "Agent has no public key on file; DID document not available.", AirID: airID,
			Hint: "Register with a public_key field (Ed25519, base64url) to enable DID document resolution."}, true
	case errors.Is(err, registry.ErrNoSecret):
		return ErrorView{Error: "Missing X-Agent-Secret header. Updates require the secret returned at registration."}, true
	case errors.Is(err, registry.ErrWrongSecret):
		return ErrorView{Error: "Invalid agent secret"}, true
	case errors.Is(err, registry.ErrNothingToUpdate):
		return ErrorView{Error: "No valid fields to update. Updatable fields: description, capabilities, security_certifications, " +
			"open_source, code_repository, documentation_url, service_endpoints, username"}, true
	}
	return ErrorView{}, false
}

func newRefusalView(e *registry.Refusal) ErrorView {
	v := newDetailsView(e.Message, e.Details)
	if v.Reason == "" {
		v.Hint = e.Help
	}
	return v
}

// newFieldView returns the words for a refused field. The reference has explanations for some
// fields of an attestation.
func newFieldView(e *registry.Error) ErrorView {
	v := newDetailsView(e.Message, e.Details)
	switch {
	case e.Field == "attestation_type":
		v.Message = e.Help
	case e.Field == "signed_at" && v.MaxAgeSeconds == 0, e.Field == "signature_multibase" && e.Code == "signature":
		v.Hint = e.Help
	}
	return v
}

func newDetailsView(message string, d registry.Details) ErrorView {
	v := ErrorView{Error: message, AirID: d.Agent, Reason: d.Reason, AttestationID: d.Attestation, ClaimedSubject: d.ClaimedSubject, ActualSubject: d.ActualSubject,
		MaxAgeSeconds: int(d.MaxAge.Seconds())}
	if !d.Revoked.IsZero() {
		v.RevokedAt = registry.FormatTimestamp(d.Revoked)
	}
	return v
}

// NewAttestationErrorView returns the reference's words for an error of [attestation.Graph.Attest],
// which differ from those of [NewErrorView].
func NewAttestationErrorView(err error, subject string) (ErrorView, bool) {
	return newAttesterErrorView(err, "X-Agent-Secret header required for attestation", "invalid attester secret", subject)
}

// NewRevocationErrorView is [NewAttestationErrorView] for [attestation.Graph.RevokeAttestation].
func NewRevocationErrorView(err error, subject string) (ErrorView, bool) {
	return newAttesterErrorView(err, "X-Agent-Secret header required (must be original attester's secret)",
		"invalid attester secret (only the original attester can revoke)", subject)
}

func newAttesterErrorView(err error, missing, wrong, subject string) (ErrorView, bool) {
	switch {
	case errors.Is(err, registry.ErrNoSecret):
		return ErrorView{Error: missing}, true
	case errors.Is(err, registry.ErrWrongSecret):
		return ErrorView{Error: wrong}, true
	case errors.Is(err, registry.ErrNoAgent):
		return ErrorView{Error: "subject agent not found", AirID: subject}, true
	}
	return NewErrorView(err, subject)
}
