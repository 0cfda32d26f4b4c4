package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// Options says what a registry is made of. Store and DIDHost are required.
type Options struct {
	Store store.Store
	// DIDHost is the host of the DIDs given out, did:wba:{DIDHost}:agents:{air
	// id}, as "example.com" or "localhost:8080". It is part of every identity:
	// changing it later makes other agents of all that are registered.
	DIDHost string
	// BaseURL is where clients reach this program, without "/api/v1"; it stands
	// in DID documents. "https://" and DIDHost when empty.
	BaseURL string
	// AllowLoopback admits service endpoints on this machine, http among them:
	// for demonstrations and tests.
	AllowLoopback bool
	// Authorities are the hosts (with a port where one is written) that signed
	// requests may have been sent to, beside DIDHost and the host of BaseURL.
	Authorities []string
	// RequireProof refuses registrations that do not prove possession of their
	// key. Clients of the public reference never do.
	RequireProof bool
	// RecoveryDelay is how long a recovery waits before it comes into force; 72 h
	// when 0.
	RecoveryDelay time.Duration
	// Resolver finds the documents of DIDs on other hosts; without one they are
	// never looked at, and nothing is proved by them.
	Resolver Resolver
	// Web asks other hosts over HTTPS, DNS asks for TXT records; without them
	// nothing is proved by a domain, and nothing observed.
	Web Web
	DNS DNS
	// Recheck is how often what was proved or observed is looked at again; 24 h
	// when 0.
	Recheck time.Duration
	// RegistrationMode is how new agents are taken while the operator has set nothing else, one
	// of the Door constants; [ModeOpen] when empty.
	RegistrationMode string
	// Unattended is how long an open door stays open that nobody looks after, see
	// [Registry.Attended]; 7 days when 0, for ever when negative.
	Unattended time.Duration
	// ReportDue is how long the operator means to take for an abuse report; 72 h
	// when 0.
	ReportDue time.Duration
	Limits    Limits
	Log       *slog.Logger     // nil: silent
	Now       func() time.Time // nil: time.Now
	Rand      io.Reader        // nil: crypto/rand; read by several goroutines at once
}

// A Registry keeps agents in a store. Its methods may be called from any
// goroutine. Make one with [New].
type Registry struct {
	store         store.Store
	host          did.Web // host and port of the DIDs given out
	didPrefix     string  // of all of them, before the AIR ID
	baseURL       string  // without a slash at the end
	authorities   []string
	allowLoopback bool
	requireProof  bool
	recoveryDelay time.Duration
	recheck       time.Duration
	resolver      Resolver
	web           Web
	dns           DNS
	log           *slog.Logger
	now           func() time.Time
	rand          io.Reader
	challenges    *challenges
	numbers       attestationNumbers // of attestations
	cooldown      cooldown
	proofLimiter  proofLimiter

	defaultMode     string // of the configuration
	unattended      time.Duration
	reportDue       time.Duration
	limits          Limits
	registrations   *networkLimiter
	reports         *networkLimiter
	changes         *networkLimiter
	failures        *networkLimiter
	blockLists      blockLists
	policyCache     policyCache
	applications    recordCounter // applications
	openReports     recordCounter // reports
	attendedStarted atomic.Bool   // whether the store knows since when the registry is looked after
}

// New returns a registry. It fails when DIDHost or BaseURL is not what it must
// be; it neither reads nor writes.
func New(o Options) (*Registry, error) {
	host, err := did.ParseWeb("did:wba:" + strings.Replace(o.DIDHost, ":", "%3A", 1))
	if err != nil {
		return nil, fmt.Errorf("DID host %q: %w", o.DIDHost, err)
	}
	if len(host.Path) > 0 {
		return nil, fmt.Errorf("DID host %q: want a host, and a port where one is needed", o.DIDHost)
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://" + strings.Replace(o.DIDHost, "%3A", ":", 1)
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("base URL %q: want an absolute http or https URL without query and fragment", o.BaseURL)
	}
	r := &Registry{store: o.Store, host: host, didPrefix: did.AgentDID(host, "").String(), baseURL: strings.TrimRight(o.BaseURL, "/"), allowLoopback: o.AllowLoopback,
		requireProof: o.RequireProof, recoveryDelay: o.RecoveryDelay, recheck: o.Recheck,
		challenges: newChallenges(), resolver: o.Resolver, web: o.Web, dns: o.DNS, log: o.Log, now: o.Now, rand: o.Rand}
	for _, authority := range append([]string{host.Authority(), base.Host}, o.Authorities...) {
		if a := httpsig.NormalAuthority(authority, base.Scheme); !slices.Contains(r.authorities, a) {
			r.authorities = append(r.authorities, a)
		}
	}
	if o.RegistrationMode != "" && !slices.Contains(policyModes, o.RegistrationMode) {
		return nil, fmt.Errorf("door %q: want one of %s", o.RegistrationMode, strings.Join(policyModes, ", "))
	}
	r.defaultMode, r.unattended, r.reportDue, r.limits = cmp.Or(o.RegistrationMode, ModeOpen), cmp.Or(o.Unattended, defaultUnattended), cmp.Or(o.ReportDue, defaultReportDue), o.Limits.orDefaults()
	r.registrations = newNetworkLimiter(r.limits.Registrations, r.limits.AllRegistrations, time.Hour)
	r.reports = newNetworkLimiter(r.limits.Reports, -1, 24*time.Hour)
	r.changes = newNetworkLimiter(r.limits.Changes, r.limits.AllChanges, time.Hour)
	r.failures = newNetworkLimiter(r.limits.Failures, -1, time.Hour)
	if r.recoveryDelay == 0 {
		r.recoveryDelay = defaultRecoveryDelay
	}
	if r.recheck == 0 {
		r.recheck = defaultRecheck
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.rand == nil {
		r.rand = rand.Reader
	}
	return r, nil
}

// A Registration is what somebody says who registers an agent. Name and one of
// PublicKey and CreatorDID are required.
type Registration struct {
	Name      string
	PublicKey string // base64url of 32 bytes
	// CreatorDID is a DID that the owner controls elsewhere; the agent's own DID
	// when empty.
	CreatorDID             string
	CreatorName            string
	CreatorType            string // "individual" (also when empty) or "organization"
	Description            string
	Capabilities           []string
	SecurityCertifications []string
	OpenSource             bool
	CodeRepository         string
	DocumentationURL       string
	ServiceEndpoints       []ServiceEndpoint
	// Commitment is that to a recovery key, see [Commit]; "" for none.
	Commitment string
	// NoSecret asks for no secret: every write of the agent will be signed. The
	// key must be proved then.
	NoSecret bool
	// Proof answers a challenge; nil without one.
	Proof *Proof
	// Request is the whole request, whose signature may take the place of Proof;
	// nil when there is none to be looked at.
	Request *httpsig.Message
	// Client is where the registration came from; without an address it counts
	// against no budget.
	Client netip.Addr
	// Ignored names the members of the body that mean nothing in a registration.
	Ignored []string
	// Operator says that it is the operator's own, who passes every door.
	Operator bool
}

// mintAttempts bounds the search for a free AIR ID. With 60 random bits a
// second attempt means that the source of randomness repeats itself.
const mintAttempts = 8

// Register stores a new agent and returns it with its secret, which is shown
// this once: only its SHA-256 is kept. It is "" when none was asked for. Where the
// operator approves registrations the agent that is returned has the status
// [Pending]: it is an [Application]. The error is an [*Error] when a value of the
// registration is at fault, a [*Refusal] when its proof is, the key is another
// agent's, the door is closed, something is on a block list or a budget is used
// up, and the store's otherwise. When Register returns without an error the agent
// is on disk.
func (r *Registry) Register(ctx context.Context, reg Registration) (Agent, string, error) {
	if err := r.checkRegistrationLimit(reg.Client); err != nil {
		return Agent{}, "", err
	}
	if err := r.startAttendedTime(ctx); err != nil {
		return Agent{}, "", err
	}
	agent, err := r.newAgent(reg)
	if err != nil {
		return Agent{}, "", err
	}
	var waits bool
	err = r.holdPolicy(ctx, func() (err error) { waits, err = r.checkPolicy(ctx, reg, agent); return err })
	if err != nil {
		return Agent{}, "", err
	}
	// After all that may be mended, so that a mistake does not cost the challenge.
	authority, giveBack, err := r.proveRegistration(ctx, reg, agent.PublicKey)
	if err != nil {
		return Agent{}, "", err
	}
	uncount, err := r.reserveRegistration(reg.Client)
	if err != nil {
		giveBack()
		return Agent{}, "", err
	}
	agent, secret, err := r.storeRegistration(ctx, agent, reg, authority, waits)
	if err != nil {
		giveBack()
		uncount()
		return Agent{}, "", err
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "agent registered", slog.String("air_id", agent.AirID), slog.String("status", agent.Status), slog.Int("endpoints", len(agent.ServiceEndpoints)), slog.String("proof", agent.KeyProof))
	return agent, secret, nil
}

// storeRegistration stores an agent whose proof was judged; authority is nil without one.
func (r *Registry) storeRegistration(ctx context.Context, agent Agent, reg Registration, authority *Authority, waits bool) (Agent, string, error) {
	if reg.NoSecret && authority == nil {
		return Agent{}, "", &Error{Field: "no_secret", Code: "value", Message: "An agent without a secret must prove its key", Help: "sign the registration, or leave no_secret out"}
	}
	observed := map[string]Observation{}
	if !waits { // else nobody is bothered before the operator has looked
		observed = r.observeNewAgent(ctx, agent)
	}
	for range mintAttempts {
		agent.Observed = observed
		secret := ""
		if !reg.NoSecret {
			var err error
			if secret, err = r.newSecret(); err != nil {
				return Agent{}, "", err
			}
			agent.SecretHash = hashSecret(secret)
		}
		stored := agent
		err := r.holdPolicy(ctx, func() error { return r.writeRegistration(ctx, &stored, reg, authority) })
		if err == nil {
			return stored, secret, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return Agent{}, "", err
		}
		// The ID or the key was given out meanwhile; an ID never is twice.
		if agent, err = r.newAgent(reg); err != nil {
			return Agent{}, "", err
		}
	}
	return Agent{}, "", fmt.Errorf("register agent: %d minted AIR IDs were all in use: the source of randomness repeats itself", mintAttempts)
}

// writeRegistration writes a new agent, or an application, as the door stands now; the gate is
// held.
func (r *Registry) writeRegistration(ctx context.Context, agent *Agent, reg Registration, authority *Authority) error {
	waits, err := r.checkPolicy(ctx, reg, *agent)
	if err != nil {
		return err
	}
	giveBack := func() {}
	var writes []store.Write
	if waits {
		if giveBack, err = r.reserveApplicationSlot(ctx, reg); err != nil {
			return err
		}
		writes, err = r.applicationWrites(ctx, agent, reg, authority)
	} else {
		writes, err = r.newAgentWrites(ctx, agent, reg, authority)
	}
	if err == nil {
		_, err = r.store.Apply(ctx, writes...)
	}
	if err != nil {
		giveBack()
		return fmt.Errorf("register agent: %w", err)
	}
	return nil
}

// observeNewAgent resolves the creator's DID for the answer to a registration, unless
// its domain was bothered a moment ago: then the caretaker does it later.
func (r *Registry) observeNewAgent(ctx context.Context, a Agent) map[string]Observation {
	if !r.hasExternalCreator(a) || !r.cooldown.tryStart(domainOfAddress(a.CreatorDID), a.Created) {
		return map[string]Observation{}
	}
	return r.observeCreator(ctx, a)
}

// reserveProvedKey returns the write that makes a new agent the holder of its key, if it
// is proved.
func (r *Registry) reserveProvedKey(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	if authority == nil {
		return nil, nil
	}
	agent.KeyProof = authority.By
	w, err := r.reserveKey(ctx, authority.Key, agent.AirID)
	if err != nil {
		return nil, err
	}
	if authority.By == ProofSignature {
		// The signature must not be taken for that of an update.
		if all, err := httpsig.Read(*reg.Request); err == nil {
			for _, s := range all {
				agent.Nonces = append(agent.Nonces, usedNonce{Hash: nonceHash(s.Nonce), Until: s.Created.Add(maxSignatureAge).Unix() + 1})
			}
		}
	}
	return []store.Write{w}, nil
}

// newAgentWrites returns the writes of a new agent: its record, the first entry of
// its history, and its key when it is proved.
func (r *Registry) newAgentWrites(ctx context.Context, agent *Agent, reg Registration, authority *Authority) ([]store.Write, error) {
	writes, err := r.reserveProvedKey(ctx, agent, reg, authority)
	if err != nil {
		return nil, err
	}
	entry, err := agent.appendEntry(Entry{Event: EventRegistered, Actor: ActorRegistrant, At: agent.Created, Authority: authority})
	if err != nil {
		return nil, err
	}
	agent.setNextCheck(r)
	value, err := encodeAgent(agent)
	if err != nil {
		return nil, fmt.Errorf("write agent %s: %w", agent.AirID, err)
	}
	return append(writes, entry, store.PutIf(store.AgentKey(agent.AirID), value, 0)), nil
}

// newAgent checks a registration and makes the agent of it, with an AIR ID of
// its own.
func (r *Registry) newAgent(reg Registration) (Agent, error) {
	airID, err := did.MintAirID(r.rand)
	if err != nil {
		return Agent{}, err
	}
	now := r.timestamp()
	a := Agent{AirID: airID, Status: Active, Created: now, Updated: now, OpenSource: reg.OpenSource}
	if a.Name, err = checkName(reg.Name); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID, a.PublicKey, err = r.checkIdentity(reg.CreatorDID, reg.PublicKey); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID == "" {
		a.CreatorDID = r.DID(airID)
	}
	if a.CreatorName, err = validateText("creator_name", reg.CreatorName, maxCreatorName, oneLine); err != nil {
		return Agent{}, err
	}
	if a.CreatorType, err = checkCreatorType(reg.CreatorType); err != nil {
		return Agent{}, err
	}
	if err := checkCommitment("recovery_commitment", reg.Commitment); err != nil {
		return Agent{}, err
	}
	a.Commitment = reg.Commitment
	_, err = r.applyUpdate(&a, Update{
		Description: &reg.Description, Capabilities: &reg.Capabilities, SecurityCertifications: &reg.SecurityCertifications,
		CodeRepository: &reg.CodeRepository, DocumentationURL: &reg.DocumentationURL, ServiceEndpoints: &reg.ServiceEndpoints,
	})
	return a, err
}

func (r *Registry) newSecret() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(r.rand, b); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(b), nil
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// timestamp is now as records keep it: UTC, whole milliseconds, as served.
func (r *Registry) timestamp() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

// An Update names what shall change: a nil member stays as it is.
type Update struct {
	Description            *string
	Capabilities           *[]string
	SecurityCertifications *[]string
	OpenSource             *bool
	CodeRepository         *string
	DocumentationURL       *string
	// ServiceEndpoints replaces the whole list; an empty one clears it.
	ServiceEndpoints *[]ServiceEndpoint
	// Username claims a handle and gives back the one held before; "" only gives
	// back.
	Username *string
	// Commitment is that to a recovery key, for an agent that has none yet.
	Commitment *string
	// NoSecret switches the secret off for good: every later write is signed. It
	// must come in a signed request.
	NoSecret bool
	// If, unless nil, is asked on the record that is to be changed, when it is known
	// that the caller may; its error is that of the update.
	If func(Agent) error
}

// Update changes an agent and returns it with the names of the members that
// were updated. It answers, in this order, [ErrNoAgent]; [ErrNoSecret],
// [ErrWrongSecret] or a [*Refusal] of the signature; one for an agent that may
// no longer act; an [*Error] for a bad value; [ErrNothingToUpdate]; and
// [ErrHandleTaken]. An update that meets another one of the same agent is worked
// out again on the newer record, so neither is lost.
func (r *Registry) Update(ctx context.Context, airID string, who Credentials, u Update) (Agent, []string, error) {
	var fields []string
	agent, err := r.changeAgent(ctx, airID, func(c *change) error {
		authority, err := c.authorizeOwner(ctx, who)
		if err != nil {
			return err
		}
		if u.If != nil {
			if err := u.If(c.agent); err != nil {
				return err
			}
		}
		if fields, err = r.applyUpdate(&c.agent, u); err != nil {
			return err
		}
		if u.NoSecret {
			if authority.By != ProofSignature {
				return &Refusal{Kind: ErrForbidden, Code: "secret-off-unsigned", Message: "only a signed request can switch the secret off", Help: "sign it with the agent's key, so that no agent is left that nobody can change"}
			}
			c.agent.SecretHash = nil
			fields = append(fields, "no_secret")
		}
		if len(fields) == 0 {
			return ErrNothingToUpdate
		}
		return c.addEntry(Entry{Event: EventUpdated, Actor: ActorOwner, Fields: fields, Authority: authority})
	})
	if err != nil {
		return Agent{}, nil, err
	}
	r.log.Info("agent updated", "air_id", airID, "fields", strings.Join(fields, ","))
	return agent, fields, nil
}

// applyUpdate sets what an update names and returns the names of the members that it
// set. On an error the agent is in no defined state.
func (r *Registry) applyUpdate(a *Agent, u Update) (fields []string, err error) {
	text := func(field string, from, to *string, check func(field, text string) (string, error)) {
		if from == nil || err != nil {
			return
		}
		*to, err = check(field, *from)
		fields = append(fields, field)
	}
	list := func(field string, from, to *[]string, most int) {
		if from == nil || err != nil {
			return
		}
		*to, err = checkList(field, *from, most)
		fields = append(fields, field)
	}
	text("description", u.Description, &a.Description, checkDescription)
	list("capabilities", u.Capabilities, &a.Capabilities, maxCapabilities)
	list("security_certifications", u.SecurityCertifications, &a.SecurityCertifications, maxCertifications)
	if u.OpenSource != nil {
		a.OpenSource = *u.OpenSource
		fields = append(fields, "open_source")
	}
	text("code_repository", u.CodeRepository, &a.CodeRepository, r.checkLink)
	text("documentation_url", u.DocumentationURL, &a.DocumentationURL, r.checkLink)
	if u.ServiceEndpoints != nil && err == nil {
		a.ServiceEndpoints, err = r.checkEndpoints(r.DID(a.AirID), *u.ServiceEndpoints)
		fields = append(fields, "service_endpoints")
	}
	if u.Username != nil && err == nil {
		var handle string
		if handle, err = checkHandle(*u.Username); handle != a.Handle {
			a.Handle = handle
			fields = append(fields, "username")
		}
	}
	if u.Commitment != nil && err == nil {
		switch err = checkCommitment("recovery_commitment", *u.Commitment); {
		case err != nil:
		case a.Commitment != "" && a.Commitment != *u.Commitment:
			err = &Refusal{Kind: ErrForbidden, Code: "recovery-set", Message: "the agent has committed to a recovery key already",
				Help: "only a recovery changes it: else whoever stole the key in use could take the other too"}
		case a.Commitment != *u.Commitment:
			a.Commitment = *u.Commitment
			fields = append(fields, "recovery_commitment")
		}
	}
	return fields, err
}
