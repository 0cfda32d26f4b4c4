package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"gazetteer/protocol/did"
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
	Log           *slog.Logger     // nil: silent
	Now           func() time.Time // nil: time.Now
	Rand          io.Reader        // nil: crypto/rand; read by several goroutines at once
}

// A Registry keeps agents in a store. Its methods may be called from any
// goroutine. Make one with [New].
type Registry struct {
	store         store.Store
	host          did.Web // host and port of the DIDs given out
	baseURL       string  // without a slash at the end
	allowLoopback bool
	log           *slog.Logger
	now           func() time.Time
	rand          io.Reader
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
	r := &Registry{store: o.Store, host: host, baseURL: strings.TrimRight(o.BaseURL, "/"),
		allowLoopback: o.AllowLoopback, log: o.Log, now: o.Now, rand: o.Rand}
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
}

// mintAttempts bounds the search for a free AIR ID. With 60 random bits a
// second attempt means that the source of randomness repeats itself.
const mintAttempts = 8

// Register stores a new agent and returns it with its secret, which is shown
// this once: only its SHA-256 is kept. The error is an [*Error] when the
// registration is at fault, and the store's otherwise. When Register returns
// without an error the agent is on disk.
func (r *Registry) Register(ctx context.Context, reg Registration) (Agent, string, error) {
	for range mintAttempts {
		airID, err := did.MintAirID(r.rand)
		if err != nil {
			return Agent{}, "", err
		}
		agent, err := r.newAgent(airID, reg)
		if err != nil {
			return Agent{}, "", err
		}
		secret, err := r.newSecret()
		if err != nil {
			return Agent{}, "", err
		}
		agent.SecretHash = hashSecret(secret)
		value, err := json.Marshal(agent)
		if err != nil {
			return Agent{}, "", fmt.Errorf("write agent %s: %w", airID, err)
		}
		_, err = r.store.Apply(ctx, store.PutIf(store.AgentKey(airID), value, 0))
		if errors.Is(err, store.ErrConflict) {
			continue // the ID is given out already; it is never given out twice
		}
		if err != nil {
			return Agent{}, "", fmt.Errorf("register agent: %w", err)
		}
		r.log.Info("agent registered", "air_id", airID, "endpoints", len(agent.ServiceEndpoints))
		return agent, secret, nil
	}
	return Agent{}, "", fmt.Errorf("register agent: %d minted AIR IDs were all in use: the source of randomness repeats itself", mintAttempts)
}

// newAgent checks a registration and makes the agent of it.
func (r *Registry) newAgent(airID string, reg Registration) (Agent, error) {
	now := r.moment()
	a := Agent{AirID: airID, Status: "active", Created: now, Updated: now, OpenSource: reg.OpenSource}
	var err error
	if a.Name, err = checkName(reg.Name); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID, a.PublicKey, err = r.checkIdentity(reg.CreatorDID, reg.PublicKey); err != nil {
		return Agent{}, err
	}
	if a.CreatorDID == "" {
		a.CreatorDID = r.DID(airID)
	}
	if a.CreatorName, err = checkText("creator_name", reg.CreatorName, maxCreatorName, oneLine); err != nil {
		return Agent{}, err
	}
	if a.CreatorType, err = checkCreatorType(reg.CreatorType); err != nil {
		return Agent{}, err
	}
	_, err = r.change(&a, Update{
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

// moment is now as records keep it: UTC, whole milliseconds, as served.
func (r *Registry) moment() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

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
}

// Update changes an agent and returns it with the names of the members that
// were updated. It answers, in this order, [ErrNoAgent]; [ErrNoSecret] or
// [ErrWrongSecret]; an [*Error] for a bad value; [ErrNothingToUpdate]; and
// [ErrHandleTaken]. An update that meets another one of the same agent is
// worked out again on the newer record, so neither is lost.
func (r *Registry) Update(ctx context.Context, airID, secret string, u Update) (Agent, []string, error) {
	for {
		old, seq, err := r.Agent(ctx, airID)
		if err != nil {
			return Agent{}, nil, err
		}
		if err := authorize(old, secret); err != nil {
			return Agent{}, nil, err
		}
		agent := old
		fields, err := r.change(&agent, u)
		if err != nil {
			return Agent{}, nil, err
		}
		if len(fields) == 0 {
			return Agent{}, nil, ErrNothingToUpdate
		}
		agent.Updated = r.moment()
		err = r.replace(ctx, old, seq, agent)
		if errors.Is(err, store.ErrConflict) {
			continue // somebody else made progress; ctx bounds the attempts
		}
		if err != nil {
			return Agent{}, nil, err
		}
		r.log.Info("agent updated", "air_id", airID, "fields", strings.Join(fields, ","))
		return agent, fields, nil
	}
}

func authorize(a Agent, secret string) error {
	if secret == "" {
		return ErrNoSecret
	}
	if subtle.ConstantTimeCompare(hashSecret(secret), a.SecretHash) != 1 {
		return ErrWrongSecret
	}
	return nil
}

// change applies an update to an agent and returns the names of the members
// that it set. On an error the agent is in no defined state.
func (r *Registry) change(a *Agent, u Update) (fields []string, err error) {
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
	text("code_repository", u.CodeRepository, &a.CodeRepository, checkLink)
	text("documentation_url", u.DocumentationURL, &a.DocumentationURL, checkLink)
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
	return fields, err
}

// replace writes the changed agent in place of the old one, and its handle with
// it, if nobody wrote either meanwhile. The error may be store.ErrConflict.
func (r *Registry) replace(ctx context.Context, old Agent, seq uint64, agent Agent) error {
	value, err := json.Marshal(agent)
	if err != nil {
		return fmt.Errorf("write agent %s: %w", agent.AirID, err)
	}
	writes := []store.Write{store.PutIf(store.AgentKey(agent.AirID), value, seq)}
	if agent.Handle != old.Handle {
		if old.Handle != "" {
			// The record above still names the handle, so nobody else has it.
			writes = append(writes, store.Delete(store.HandleKey(old.Handle)))
		}
		if agent.Handle != "" {
			if err := r.handleFree(ctx, agent.Handle); err != nil {
				return err
			}
			writes = append(writes, store.PutIf(store.HandleKey(agent.Handle), []byte(agent.AirID), 0))
		}
	}
	if _, err := r.store.Apply(ctx, writes...); err != nil {
		return fmt.Errorf("update agent %s: %w", agent.AirID, err)
	}
	return nil
}

func (r *Registry) handleFree(ctx context.Context, handle string) error {
	_, err := r.store.Get(ctx, store.HandleKey(handle))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up handle %s: %w", handle, err)
	}
	return &HandleTakenError{Handle: handle}
}
