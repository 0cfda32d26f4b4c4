package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
	"gazetteer/store"
)

// What an attestation may say, in the reference's words.
var attestationTypes = []string{"identity_verification", "operator_confirmation", "dependency", "safety_review"}

// The locks of the reference, which an attester must have opened.
const (
	minAttesterAge      = 30 * 24 * time.Hour
	attestationWindow   = 7 * 24 * time.Hour
	maxInWindow         = 10 // in the window; the revoked ones count here
	maxAttestationAge   = time.Hour
	maxAttestationAhead = 5 * time.Minute
	verifiedWeight      = 300
	verifiedRoots       = 3
	maxAttestations     = 1000 // about one agent
	maxStatement        = 1000 // characters
	// maxRingSearch is how many agents are looked at in search of a ring.
	maxRingSearch = 2000
)

// An Attestation is what one agent says of another, signed with its key. Its
// texts are the attester's: escape them on output.
type Attestation struct {
	N         int    `json:"id"` // from 1, in order
	Subject   string `json:"subject_air_id"`
	Attester  string `json:"attester_air_id"`
	Type      string `json:"attestation_type"`
	Statement string `json:"statement"`
	SignedAt  string `json:"signed_at"` // as it was signed
	// Payload is what was signed: the members above but for the number, in
	// canonical JSON.
	Payload   string `json:"signed_payload"`
	Signature string `json:"signature_multibase"`
	Key       string `json:"key"` // multikey of the attester at that time
	// Root is the registrable domain that the attester had shown to control.
	Root    string    `json:"attester_whois_root"`
	Trust   int       `json:"attester_trust_at_issue"`
	Tenure  float64   `json:"tenure_multiplier_at_issue"`
	Weight  float64   `json:"weight"` // 0 for one that counts as nothing
	Why     string    `json:"why,omitempty"`
	Created time.Time `json:"created_at"`
	Revoked time.Time `json:"revoked_at,omitzero"`
}

// An AttestationRequest is what an attester sends.
type AttestationRequest struct {
	Attester  string
	Type      string
	SignedAt  string
	Statement string
	Signature string
}

// Payload returns the canonical JSON that the attester signs.
func (q AttestationRequest) Payload(subject string) ([]byte, error) {
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

// ReadAttestation reads the body of an attestation as strictly as
// [ReadRegistration] reads a registration. The error is an [*Error].
func ReadAttestation(body []byte) (AttestationRequest, error) {
	var q AttestationRequest
	if err := readTexts(body, map[string]*string{"attester_air_id": &q.Attester, "attestation_type": &q.Type, "signed_at": &q.SignedAt,
		"statement": &q.Statement, "signature_multibase": &q.Signature}); err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Field == "" && e.Code != protocol.TooLarge.String() {
			e.Message = "invalid JSON body"
		}
		return q, err
	}
	for _, m := range []struct{ field, text string }{
		{"attester_air_id", q.Attester}, {"attestation_type", q.Type}, {"signed_at", q.SignedAt}, {"signature_multibase", q.Signature},
	} {
		if m.text == "" {
			return q, &Error{Field: m.field, Code: "required", Message: "missing or invalid '" + m.field + "'"}
		}
	}
	return q, nil
}

// Words of the reference.
const (
	messageTooOld       = "'signed_at' is too old; re-sign with a current timestamp"
	hintClock           = "check the signer's clock (max +5m skew)"
	messageBadSignature = "Lock 1: Ed25519 signature verification failed"
	hintSignature       = "Sign the JCS-canonical bytes of {attester_air_id, attestation_type, signed_at, statement, subject_air_id} with your Ed25519 private key, then multibase-encode (z + base58btc)."
	messageWrongSubject = "attestation does not belong to this subject"
)

// validateRequest judges what can be judged without the store.
func (q AttestationRequest) validateRequest(subject string, now time.Time) (time.Time, error) {
	refuse := func(field, message, help string) (time.Time, error) {
		return time.Time{}, &Error{Field: field, Code: "value", Message: message, Help: help}
	}
	if !slices.Contains(attestationTypes, q.Type) {
		help := "must be one of: " + strings.Join(attestationTypes, ", ")
		return time.Time{}, &Error{Field: "attestation_type", Code: "value", Message: "invalid attestation_type", Help: help,
			view: &ErrorView{Error: "invalid attestation_type", Message: help}}
	}
	if text, err := validateText("statement", q.Statement, maxStatement, manyLines); err != nil || text != q.Statement {
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
		seconds := int(maxAttestationAge.Seconds())
		return time.Time{}, &Error{Field: "signed_at", Code: "value", Message: messageTooOld, Help: fmt.Sprintf("at most %d seconds", seconds),
			view: &ErrorView{Error: messageTooOld, MaxAgeSeconds: seconds}}
	case age < -maxAttestationAhead:
		return time.Time{}, &Error{Field: "signed_at", Code: "value", Message: "'signed_at' is in the future", Help: hintClock,
			view: &ErrorView{Error: "'signed_at' is in the future", Hint: hintClock}}
	case q.Attester == subject:
		return refuse("attester_air_id", "self-attestation is not allowed", "another agent must attest")
	}
	if err := did.CheckAirID(q.Attester); err != nil {
		return refuse("attester_air_id", "missing or invalid 'attester_air_id'", err.Error())
	}
	return at, nil
}

// Attest stores an attestation about subject. Who are the attester's
// credentials. The error is an [*Error] for a value, [ErrNoAgent] for the
// subject, [ErrNoSecret] and the like for the attester, and a [*Refusal]: with
// [ErrForbidden] for an attester who may not attest, and with [ErrState] when
// the subject is not active, or is attested already from the same registrable
// domain. An attestation that closes a ring is stored and counts as nothing.
func (r *Registry) Attest(ctx context.Context, subject string, q AttestationRequest, who Credentials) (Attestation, Agent, error) {
	if _, err := q.validateRequest(subject, r.timestamp()); err != nil {
		return Attestation{}, Agent{}, err
	}
	var made Attestation
	agent, err := r.changeAgent(ctx, subject, func(c *change) (err error) {
		made, err = c.addAttestation(ctx, q, who)
		return err
	})
	if err == nil {
		r.log.Info("agent attested", "air_id", subject, "attester", q.Attester, "type", q.Type, "weight", made.Weight)
	}
	return made, agent, err
}

func (c *change) addAttestation(ctx context.Context, q AttestationRequest, who Credentials) (Attestation, error) {
	by, err := c.otherAgent(ctx, q.Attester)
	if errors.Is(err, ErrNoAgent) {
		return Attestation{}, &Refusal{Kind: ErrUnauthorized, Code: "attester-unknown", Message: "invalid attester secret", Help: "attester_air_id is no agent of this registry"}
	}
	if err != nil {
		return Attestation{}, err
	}
	authority, err := by.authorizeOwner(ctx, who)
	if err != nil {
		return Attestation{}, err
	}
	if c.agent.Status != Active {
		return Attestation{}, &Refusal{Kind: ErrState, Code: "subject-inactive", Message: "subject agent is not active"}
	}
	a := Attestation{Subject: c.agent.AirID, Attester: q.Attester, Type: q.Type, Statement: q.Statement, SignedAt: q.SignedAt,
		Signature: q.Signature, Key: by.agent.multikey(), Created: c.now}
	if a.Root, a.Tenure, err = c.r.checkAttester(ctx, by.agent, c.now); err != nil {
		return Attestation{}, err
	}
	payload, err := q.Payload(c.agent.AirID)
	if err != nil {
		return Attestation{}, err
	}
	a.Payload = string(payload)
	if err := checkSigned("signature_multibase", a.Key, payload, q.Signature); err != nil {
		return Attestation{}, &Error{Field: "signature_multibase", Code: "signature", Message: messageBadSignature, Help: hintSignature,
			view: &ErrorView{Error: messageBadSignature, Hint: hintSignature}}
	}
	about, err := c.r.loadAttestations(ctx, c.agent.Attested)
	if err != nil {
		return Attestation{}, err
	}
	if err := c.checkIndependence(a, about); err != nil {
		return Attestation{}, err
	}
	ring, err := c.r.attestsTransitively(ctx, c.agent, a.Attester)
	if err != nil {
		return Attestation{}, err
	}
	a.Trust = by.agent.trustScore()
	if a.Weight = float64(a.Trust) * a.Tenure; ring {
		a.Weight, a.Why = 0, "the subject attests the attester, itself or through others: a ring counts as nothing"
	}
	if a.N, err = c.r.numbers.nextFree(ctx, c.r.store); err != nil {
		return Attestation{}, err
	}
	value, err := json.Marshal(a)
	if err != nil {
		return Attestation{}, fmt.Errorf("write an attestation: %w", err)
	}
	c.addWrite(store.PutIf(store.AttestationKey(a.N), value, 0))
	c.agent.Attested = append(c.agent.Attested, a.N)
	by.agent.Issued = append(by.agent.Issued, a.N)
	c.agent.Standing = summarizeAttestations(append(about, a))
	return a, c.addEntry(Entry{Event: EventAttested, Actor: ActorOwner, Fields: []string{"attestations"}, Authority: authority, Attestation: &a})
}

// checkAttester judges the attester: the reference's locks, but that the domain must
// be proved.
func (r *Registry) checkAttester(ctx context.Context, by Agent, now time.Time) (root string, tenure float64, err error) {
	refuse := func(reason, help string) (string, float64, error) {
		return "", 0, &Refusal{Kind: ErrForbidden, Code: "attester-not-eligible", Message: "attester not eligible", Help: help,
			View: &ErrorView{Error: "attester not eligible", Reason: reason}}
	}
	if len(by.PublicKey) == 0 {
		return "", 0, ErrNoKey
	}
	age := now.Sub(by.knownSince())
	if age < minAttesterAge {
		return refuse(fmt.Sprintf("Lock 3: attester tenure %.1fd < required 30d", math.Floor(age.Hours()/2.4)/10), "wait until the agent is 30 days old")
	}
	issued, err := r.loadAttestations(ctx, by.Issued)
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
	if root = r.provedRoot(ctx, by); root == "" {
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

// provedRoot returns the registrable domain that an agent is shown to control, now:
// that of its creator's DID, if the document there lists the agent's key, or of
// a domain that it proved. "" stands for none.
func (r *Registry) provedRoot(ctx context.Context, a Agent) string {
	if o := r.observeCreator(ctx, a)[SignalDID]; o.Holds {
		if web, err := did.ParseWeb(a.CreatorDID); err == nil {
			return registrableDomain(web.Host)
		}
	}
	for _, d := range a.Domains {
		if d.proved() {
			return registrableDomain(d.Name)
		}
	}
	return ""
}

// registrableDomain returns the domain that somebody had to register to own the name.
func registrableDomain(host string) string {
	root, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host // a public suffix itself: it has one owner too
	}
	return root
}

// relatedRoots are the registrable domains that an agent has to do with, whether
// proved or only claimed.
func (r *Registry) relatedRoots(a Agent) []string {
	var out []string
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && !web.SameHost(r.host) {
		out = append(out, registrableDomain(web.Host))
	}
	for _, d := range a.Domains {
		out = append(out, registrableDomain(d.Name))
	}
	return out
}

// checkIndependence refuses an attester that is no other than the subject, or than one
// who attested before, as far as domains tell.
func (c *change) checkIndependence(a Attestation, about []Attestation) error {
	if slices.Contains(c.r.relatedRoots(c.agent), a.Root) {
		return &Refusal{Kind: ErrState, Code: "attester-shared-root", Message: "Lock 2: attester shares a registrable domain with the subject", Got: a.Root,
			Help: "whoever owns the domain would attest themselves"}
	}
	active := 0
	for _, old := range about {
		if !old.Revoked.IsZero() {
			continue
		}
		active++
		if old.Attester == a.Attester {
			return &Refusal{Kind: ErrState, Code: "attested", Message: "an active attestation from this attester to this subject already exists",
				Help: "revoke the existing attestation before issuing a new one",
				View: &ErrorView{Error: "an active attestation from this attester to this subject already exists", AttestationID: old.N, Hint: "revoke the existing attestation before issuing a new one"}}
		}
		if old.Root == a.Root {
			return &Refusal{Kind: ErrState, Code: "attester-shared-root", Message: "Lock 2: another active attester has the same registrable domain", Got: a.Root,
				Help: "each registrable domain counts once"}
		}
	}
	if active >= maxAttestations {
		return &Refusal{Kind: ErrState, Code: "attested-enough", Message: fmt.Sprintf("the subject has %d active attestations already", active)}
	}
	return nil
}

// attestsTransitively reports whether an agent attests another, itself or through others.
func (r *Registry) attestsTransitively(ctx context.Context, from Agent, to string) (bool, error) {
	seen := map[string]bool{from.AirID: true}
	for queue := []Agent{from}; len(queue) > 0; queue = queue[1:] {
		issued, err := r.loadAttestations(ctx, queue[0].Issued)
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
			next, _, err := r.loadAgent(ctx, a.Subject)
			if err != nil {
				return false, err
			}
			queue = append(queue, next)
		}
	}
	return false, nil
}

// summarizeAttestations sums up the attestations about an agent as the reference does. One
// that counts as nothing adds no domain either.
func summarizeAttestations(about []Attestation) AttestationSummary {
	var s AttestationSummary
	roots := map[string]bool{}
	for _, a := range about {
		if !a.Revoked.IsZero() {
			continue
		}
		s.Count++
		s.Weight += a.Weight
		if a.Weight > 0 {
			roots[a.Root] = true
		}
	}
	s.Roots = len(roots)
	return s
}

// loadAttestations reads attestations by their numbers; erased ones are left out.
func (r *Registry) loadAttestations(ctx context.Context, numbers []int) ([]Attestation, error) {
	out := make([]Attestation, 0, len(numbers))
	for _, n := range numbers {
		a, _, err := r.loadAttestation(ctx, n)
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

func (r *Registry) loadAttestation(ctx context.Context, n int) (Attestation, uint64, error) {
	record, err := r.store.Get(ctx, store.AttestationKey(n))
	if err != nil {
		return Attestation{}, 0, fmt.Errorf("read attestation %d: %w", n, err)
	}
	var a Attestation
	if err := json.Unmarshal(record.Value, &a); err != nil {
		return Attestation{}, 0, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
	}
	return a, record.Seq, nil
}

// Attestations returns the attestations about an agent, oldest first, revoked
// ones included.
func (r *Registry) Attestations(ctx context.Context, a Agent) ([]Attestation, error) {
	return r.loadAttestations(ctx, a.Attested)
}

// Issued returns the attestations that an agent made, oldest first, revoked ones
// included.
func (r *Registry) Issued(ctx context.Context, a Agent) ([]Attestation, error) {
	return r.loadAttestations(ctx, a.Issued)
}

// Recent returns at most limit attestations, newest first; a limit outside 1 to
// 200 means 50.
func (r *Registry) Recent(ctx context.Context, limit int) ([]Attestation, error) {
	if limit < 1 || limit > 200 {
		limit = 50
	}
	next, err := r.numbers.nextFree(ctx, r.store)
	if err != nil {
		return nil, err
	}
	var out []Attestation
	for n := next - 1; n > 0 && len(out) < limit; n-- {
		a, _, err := r.loadAttestation(ctx, n)
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

// RevokeAttestation takes back attestation n about subject; only its attester
// may. The error is as that of [Registry.Attest], and [ErrNotFound] in a
// [*Refusal] when there is none.
func (r *Registry) RevokeAttestation(ctx context.Context, subject string, n int, who Credentials) (Attestation, Agent, error) {
	if n < 1 {
		return Attestation{}, Agent{}, &Error{Field: "attestation_id", Code: "value", Message: "invalid attestation_id", Help: "it is a number from 1"}
	}
	var revoked Attestation
	agent, err := r.changeAgent(ctx, subject, func(c *change) (err error) {
		revoked, err = c.revokeAttestation(ctx, n, who)
		return err
	})
	return revoked, agent, err
}

func (c *change) revokeAttestation(ctx context.Context, n int, who Credentials) (Attestation, error) {
	a, seq, err := c.r.loadAttestation(ctx, n)
	if errors.Is(err, store.ErrNotFound) {
		return a, &Refusal{Kind: ErrNotFound, Code: "attestation-unknown", Message: "attestation not found", View: &ErrorView{Error: "attestation not found", AttestationID: n}}
	}
	if err != nil {
		return a, err
	}
	if a.Subject != c.agent.AirID {
		return a, &Error{Field: "attestation_id", Code: "value", Message: messageWrongSubject, Help: "it is about " + a.Subject,
			view: &ErrorView{Error: messageWrongSubject, AttestationID: n, ClaimedSubject: c.agent.AirID, ActualSubject: a.Subject}}
	}
	by, err := c.otherAgent(ctx, a.Attester)
	if err != nil {
		return a, err
	}
	authority, err := by.authorizeOwner(ctx, who)
	if err != nil {
		return a, err
	}
	if !a.Revoked.IsZero() {
		return a, &Refusal{Kind: ErrState, Code: "attestation-revoked", Message: "attestation already revoked", Got: formatSecond(a.Revoked),
			View: &ErrorView{Error: "attestation already revoked", RevokedAt: formatTimestamp(a.Revoked)}}
	}
	return a, c.writeRevocation(ctx, &a, seq, ActorOwner, authority)
}

// writeRevocation writes the revocation and what it does to the subject's standing.
func (c *change) writeRevocation(ctx context.Context, a *Attestation, seq uint64, actor string, authority *Authority) error {
	a.Revoked = c.now
	value, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write an attestation: %w", err)
	}
	c.addWrite(store.PutIf(store.AttestationKey(a.N), value, seq))
	about, err := c.r.loadAttestations(ctx, c.agent.Attested)
	if err != nil {
		return err
	}
	for i := range about {
		if about[i].N == a.N {
			about[i] = *a
		}
	}
	c.agent.Standing = summarizeAttestations(about)
	return c.addEntry(Entry{Event: EventRevoked, Actor: actor, Fields: []string{"attestations"}, Authority: authority, Attestation: a})
}

// attestationNumbers gives out the numbers of attestations. They leave no gaps, so the
// first free one is found by looking.
type attestationNumbers struct {
	mu   sync.Mutex // guards following
	used int        // at least as many are in use
}

// nextFree returns the first number that is not in use. Two callers may get the
// same; the store lets one of them write.
func (n *attestationNumbers) nextFree(ctx context.Context, s store.Store) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := func(i int) (bool, error) {
		_, err := s.Get(ctx, store.AttestationKey(i))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil || errors.Is(err, store.ErrCorrupt), ignoreError(err, store.ErrCorrupt)
	}
	low, step := n.used, 1 // low is in use, or 0
	for {
		is, err := taken(low + step)
		if err != nil {
			return 0, fmt.Errorf("number an attestation: %w", err)
		}
		if !is {
			break
		}
		low, step = low+step, 2*step
	}
	for high := low + step; high-low > 1; {
		middle := low + (high-low)/2
		is, err := taken(middle)
		if err != nil {
			return 0, fmt.Errorf("number an attestation: %w", err)
		}
		if is {
			low = middle
		} else {
			high = middle
		}
	}
	n.used = low
	return low + 1, nil
}

func ignoreError(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
