package attestation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
	"gazetteer/registry"
	"gazetteer/store"
)

// What an attestation may say, in the reference's words.
// Types are the types of attestations.
var Types = []string{"identity_verification", "operator_confirmation", "dependency", "safety_review"}

// The conditions of the reference, which calls them locks, for an attester.
const (
	minAttesterAge      = 30 * 24 * time.Hour
	attestationWindow   = 7 * 24 * time.Hour
	maxInWindow         = 10 // in the window; the revoked ones count here
	maxAttestationAge   = time.Hour
	maxAttestationAhead = 5 * time.Minute
	maxAttestations     = 1000 // about one agent
	maxStatement        = 1000 // characters
	// maxRingSearch limits how many agents a search for a ring reads.
	maxRingSearch = 2000
)

// A Request is what an attester sends.
type Request struct {
	Attester  string
	Type      string
	SignedAt  string
	Statement string
	Signature string
}

// Payload returns the canonical JSON that the attester signs.
func (q Request) Payload(subject string) ([]byte, error) {
	text, err := json.Marshal(map[string]string{"attestation_type": q.Type, "attester_air_id": q.Attester, "signed_at": q.SignedAt,
		"statement": q.Statement, "subject_air_id": subject})
	if err != nil {
		return nil, fmt.Errorf("write an attestation: %w", err)
	}
	canonical, err := jcs.Canonicalize(text, jcs.Options{KeepForm: true})
	if err != nil {
		return nil, fmt.Errorf("write an attestation: %w", err)
	}
	return canonical, nil
}

// Messages of the reference.
const (
	messageTooOld       = "'signed_at' is too old; re-sign with a current timestamp"
	hintClock           = "check the signer's clock (max +5m skew)"
	messageBadSignature = "Lock 1: Ed25519 signature verification failed"
	hintSignature       = "Sign the JCS-canonical bytes of {attester_air_id, attestation_type, signed_at, statement, subject_air_id} with your Ed25519 private key, then multibase-encode (z + base58btc)."
	messageWrongSubject = "attestation does not belong to this subject"
)

// validateRequest checks what can be checked without the store.
func (q Request) validateRequest(subject string, now time.Time) (time.Time, error) {
	refuse := func(field, message, help string) (time.Time, error) {
		return time.Time{}, &registry.Error{Field: field, Code: "value", Message: message, Help: help}
	}
	if !slices.Contains(Types, q.Type) {
		help := "must be one of: " + strings.Join(Types, ", ")
		return time.Time{}, &registry.Error{Field: "attestation_type", Code: "value", Message: "invalid attestation_type", Help: help}
	}
	if text, err := registry.ValidateText("statement", q.Statement, maxStatement, registry.ManyLines); err != nil || text != q.Statement {
		if err == nil {
			return refuse("statement", "'statement' has space around it", "sign and send it without: it is kept as it was signed")
		}
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, q.SignedAt)
	if err != nil || len(q.SignedAt) > 40 {
		return refuse("signed_at", "'signed_at' must be an ISO-8601 timestamp", "for example 2026-01-31T12:00:00.000Z")
	}
	switch age := now.Sub(at); {
	case age > maxAttestationAge:
		return time.Time{}, &registry.Error{Field: "signed_at", Code: "value", Message: messageTooOld, Help: fmt.Sprintf("at most %d seconds", int(maxAttestationAge.Seconds())),
			Details: registry.Details{MaxAge: maxAttestationAge}}
	case age < -maxAttestationAhead:
		return time.Time{}, &registry.Error{Field: "signed_at", Code: "value", Message: "'signed_at' is in the future", Help: hintClock}
	case q.Attester == subject:
		return refuse("attester_air_id", "self-attestation is not allowed", "another agent must attest")
	}
	if err := did.CheckAirID(q.Attester); err != nil {
		return refuse("attester_air_id", "missing or invalid 'attester_air_id'", err.Error())
	}
	return at, nil
}

// Attest stores an attestation about subject. The credentials are the attester's. The error is an
// [*registry.Error] for a value, [registry.ErrNoAgent] for the subject, an error such as
// [registry.ErrNoSecret] for the credentials, or a [*registry.Refusal]: with
// [registry.ErrForbidden] for an attester who may not attest, and with [registry.ErrState] when the
// subject is not active or has an attestation from the same registrable domain. An attestation that
// closes a ring is stored without weight.
func (g *Graph) Attest(ctx context.Context, subject string, q Request, who registry.Credentials) (registry.Attestation, registry.Agent, error) {
	if _, err := q.validateRequest(subject, g.registry.Timestamp()); err != nil {
		return registry.Attestation{}, registry.Agent{}, err
	}
	var made registry.Attestation
	agent, err := g.registry.ChangeAgent(ctx, subject, func(c *registry.Change) (err error) {
		made, err = g.addAttestation(ctx, c, q, who)
		return err
	})
	if err == nil {
		g.log.Info("agent attested", "air_id", subject, "attester", q.Attester, "type", q.Type, "weight", made.Weight)
	}
	return made, agent, err
}

func (g *Graph) addAttestation(ctx context.Context, c *registry.Change, q Request, who registry.Credentials) (registry.Attestation, error) {
	by, err := c.OtherAgent(ctx, q.Attester)
	if errors.Is(err, registry.ErrNoAgent) {
		return registry.Attestation{}, &registry.Refusal{Kind: registry.ErrUnauthorized, Code: "attester-unknown", Message: "invalid attester secret", Help: "attester_air_id is no agent of this registry"}
	}
	if err != nil {
		return registry.Attestation{}, err
	}
	authority, err := by.AuthorizeOwner(ctx, who)
	if err == nil {
		err = by.Agent.CheckNoRecovery()
	}
	if err != nil {
		return registry.Attestation{}, err
	}
	if c.Agent.Status != registry.Active {
		return registry.Attestation{}, &registry.Refusal{Kind: registry.ErrState, Code: "subject-inactive", Message: "subject agent is not active"}
	}
	a := registry.Attestation{Subject: c.Agent.AirID, Attester: q.Attester, Type: q.Type, Statement: q.Statement, SignedAt: q.SignedAt,
		Signature: q.Signature, Key: by.Agent.Multikey(), Created: c.Now}
	if a.Root, a.Tenure, err = g.checkAttester(ctx, by.Agent, c.Now); err != nil {
		return registry.Attestation{}, err
	}
	payload, err := q.Payload(c.Agent.AirID)
	if err != nil {
		return registry.Attestation{}, err
	}
	a.Payload = string(payload)
	if err := registry.CheckSigned("signature_multibase", a.Key, payload, q.Signature); err != nil {
		return registry.Attestation{}, &registry.Error{Field: "signature_multibase", Code: "signature", Message: messageBadSignature, Help: hintSignature}
	}
	about, err := g.registry.LoadAttestations(ctx, c.Agent.Attested)
	if err != nil {
		return registry.Attestation{}, err
	}
	if err := g.checkIndependence(c, a, about); err != nil {
		return registry.Attestation{}, err
	}
	ring, err := g.AttestsTransitively(ctx, c.Agent, a.Attester)
	if err != nil {
		return registry.Attestation{}, err
	}
	a.Trust = by.Agent.TrustScore()
	if a.Weight = float64(a.Trust) * a.Tenure; ring {
		a.Weight, a.Why = 0, "circular attestation: the subject attests the attester, itself or through others"
	}
	if a.N, err = g.numbers.nextFree(ctx, g.store); err != nil {
		return registry.Attestation{}, err
	}
	value, err := json.Marshal(a)
	if err != nil {
		return registry.Attestation{}, fmt.Errorf("write an attestation: %w", err)
	}
	c.AddWrite(store.PutIf(store.AttestationKey(a.N), value, 0))
	c.Agent.Attested = append(c.Agent.Attested, a.N)
	by.Agent.Issued = append(by.Agent.Issued, a.N)
	c.Agent.Standing = registry.SummarizeAttestations(append(about, a))
	return a, c.AddEntry(registry.HistoryEntry{Event: registry.EventAttested, Actor: registry.ActorOwner, Fields: []string{"attestations"}, Authority: authority, Attestation: &a})
}

// checkAttester checks the conditions of the reference for an attester; beyond them, the domain
// must be proved.
func (g *Graph) checkAttester(ctx context.Context, by registry.Agent, now time.Time) (root string, tenure float64, err error) {
	refuse := func(reason, help string) (string, float64, error) {
		return "", 0, &registry.Refusal{Kind: registry.ErrForbidden, Code: "attester-not-eligible", Message: "attester not eligible", Help: help,
			Details: registry.Details{Reason: reason}}
	}
	if len(by.PublicKey) == 0 {
		return "", 0, registry.ErrNoKey
	}
	age := now.Sub(by.KnownSince())
	if age < minAttesterAge {
		return refuse(fmt.Sprintf("Lock 3: attester tenure %.1fd < required 30d", math.Floor(age.Hours()/2.4)/10), "wait until the agent is 30 days old")
	}
	issued, err := g.registry.LoadAttestations(ctx, by.Issued)
	if err != nil {
		return "", 0, err
	}
	recent := 0
	for _, a := range issued {
		if now.Sub(a.Created) < attestationWindow {
			recent++
		}
	}
	if recent >= maxInWindow {
		return refuse(fmt.Sprintf("%d attestations in 7 days, at most %d", recent, maxInWindow), "wait; revoking does not help")
	}
	if root = g.provedRoot(ctx, by); root == "" {
		return refuse("Lock 1: no domain of the attester is shown to be its own", "prove a domain, or register with a did:wba or did:web whose document lists the agent's key")
	}
	switch {
	case age < 90*24*time.Hour:
		return root, 0.5, nil
	case age < 365*24*time.Hour:
		return root, 1, nil
	}
	return root, 1.5, nil
}

// provedRoot returns the registrable domain that an agent has shown to control: that of the
// creator's DID if its document lists the agent's key now, or that of a proved domain. It is "" if
// there is none.
func (g *Graph) provedRoot(ctx context.Context, a registry.Agent) string {
	if o, ok := g.registry.ObserveCreator(ctx, a); ok && o.Holds {
		if web, err := did.ParseWeb(a.CreatorDID); err == nil {
			return psl.Domain(web.Host)
		}
	}
	for _, d := range a.Domains {
		if d.Proved() {
			return psl.Domain(d.Name)
		}
	}
	return ""
}

// relatedRoots returns the registrable domains in the record of an agent, proved or only claimed.
func (g *Graph) relatedRoots(a registry.Agent) []string {
	var out []string
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && !web.SameHost(g.registry.Host()) {
		out = append(out, psl.Domain(web.Host))
	}
	for _, d := range a.Domains {
		out = append(out, psl.Domain(d.Name))
	}
	return out
}

// checkIndependence refuses an attester that shares a registrable domain with the subject or with
// another attester, and a signed text that was stored before: who knows the attester's secret but not
// its key could store a revoked one again.
func (g *Graph) checkIndependence(c *registry.Change, a registry.Attestation, about []registry.Attestation) error {
	if slices.Contains(g.relatedRoots(c.Agent), a.Root) {
		return &registry.Refusal{Kind: registry.ErrState, Code: "attester-shared-root", Message: "Lock 2: attester shares a registrable domain with the subject", Got: a.Root,
			Help: "the owner of the domain would attest itself"}
	}
	active := 0
	for _, old := range about {
		if !old.Revoked.IsZero() {
			if old.Payload == a.Payload {
				return &registry.Refusal{Kind: registry.ErrState, Code: "attestation-repeated", Message: "this signed attestation was stored before and is revoked",
					Help: "sign a new one, with the present time as signed_at", Details: registry.Details{Attestation: old.N}}
			}
			continue
		}
		active++
		if old.Attester == a.Attester {
			return &registry.Refusal{Kind: registry.ErrState, Code: "attested", Message: "an active attestation from this attester to this subject already exists",
				Help: "revoke the existing attestation before issuing a new one", Details: registry.Details{Attestation: old.N}}
		}
		if old.Root == a.Root {
			return &registry.Refusal{Kind: registry.ErrState, Code: "attester-shared-root", Message: "Lock 2: another active attester has the same registrable domain", Got: a.Root,
				Help: "each registrable domain counts once"}
		}
	}
	if active >= maxAttestations {
		return &registry.Refusal{Kind: registry.ErrState, Code: "attested-enough", Message: fmt.Sprintf("the subject has %d active attestations already", active)}
	}
	return nil
}

// AttestsTransitively reports whether an agent attests another one, directly or through others.
func (g *Graph) AttestsTransitively(ctx context.Context, from registry.Agent, to string) (bool, error) {
	seen := map[string]bool{from.AirID: true}
	for queue := []registry.Agent{from}; len(queue) > 0; queue = queue[1:] {
		issued, err := g.registry.LoadAttestations(ctx, queue[0].Issued)
		if err != nil {
			return false, err
		}
		for _, a := range issued {
			if !a.Revoked.IsZero() || seen[a.Subject] {
				continue
			}
			if a.Subject == to {
				return true, nil
			}
			if seen[a.Subject] = true; len(seen) > maxRingSearch {
				return false, nil
			}
			next, _, err := g.registry.LoadAgent(ctx, a.Subject)
			if err != nil {
				return false, err
			}
			queue = append(queue, next)
		}
	}
	return false, nil
}

// Attestations returns the attestations about an agent, oldest first, revoked
// ones included.
func (g *Graph) Attestations(ctx context.Context, a registry.Agent) ([]registry.Attestation, error) {
	return g.registry.LoadAttestations(ctx, a.Attested)
}

// Issued returns the attestations that an agent made, oldest first, revoked ones
// included.
func (g *Graph) Issued(ctx context.Context, a registry.Agent) ([]registry.Attestation, error) {
	return g.registry.LoadAttestations(ctx, a.Issued)
}

// Recent returns at most limit attestations, newest first; a limit outside 1 to
// 200 means 50.
func (g *Graph) Recent(ctx context.Context, limit int) ([]registry.Attestation, error) {
	if limit < 1 || limit > 200 {
		limit = 50
	}
	next, err := g.numbers.nextFree(ctx, g.store)
	if err != nil {
		return nil, err
	}
	var out []registry.Attestation
	for n := next - 1; n > 0 && len(out) < limit; n-- {
		a, _, err := g.registry.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if a.Revoked.IsZero() {
			out = append(out, a)
		}
	}
	return out, nil
}

// RevokeAttestation revokes attestation n about subject; only its attester may. The error is that
// of [Graph.Attest], and a [*registry.Refusal] with [registry.ErrNotFound] if there is no such
// attestation.
func (g *Graph) RevokeAttestation(ctx context.Context, subject string, n int, who registry.Credentials) (registry.Attestation, registry.Agent, error) {
	if n < 1 {
		return registry.Attestation{}, registry.Agent{}, &registry.Error{Field: "attestation_id", Code: "value", Message: "invalid attestation_id", Help: "it is a number from 1"}
	}
	var revoked registry.Attestation
	agent, err := g.registry.ChangeAgent(ctx, subject, func(c *registry.Change) (err error) {
		revoked, err = g.revokeAttestation(ctx, c, n, who)
		return err
	})
	return revoked, agent, err
}

func (g *Graph) revokeAttestation(ctx context.Context, c *registry.Change, n int, who registry.Credentials) (registry.Attestation, error) {
	a, seq, err := g.registry.LoadAttestation(ctx, n)
	if errors.Is(err, store.ErrNotFound) {
		return a, &registry.Refusal{Kind: registry.ErrNotFound, Code: "attestation-unknown", Message: "attestation not found", Details: registry.Details{Attestation: n}}
	}
	if err != nil {
		return a, err
	}
	if a.Subject != c.Agent.AirID {
		return a, &registry.Error{Field: "attestation_id", Code: "value", Message: messageWrongSubject, Help: "it is about " + a.Subject,
			Details: registry.Details{Attestation: n, ClaimedSubject: c.Agent.AirID, ActualSubject: a.Subject}}
	}
	by, err := c.OtherAgent(ctx, a.Attester)
	if err != nil {
		return a, err
	}
	authority, err := by.AuthorizeOwner(ctx, who)
	if err == nil {
		err = by.Agent.CheckNoRecovery()
	}
	if err != nil {
		return a, err
	}
	if !a.Revoked.IsZero() {
		return a, &registry.Refusal{Kind: registry.ErrState, Code: "attestation-revoked", Message: "attestation already revoked", Got: registry.FormatSecond(a.Revoked),
			Details: registry.Details{Revoked: a.Revoked}}
	}
	return a, c.WriteRevocation(ctx, &a, seq, registry.ActorOwner, authority)
}
