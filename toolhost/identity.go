package toolhost

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/protocol/altar"
)

// The kinds of identities.
const (
	RuntimeIdentity = "runtime"
	ClientIdentity  = "client"
)

// OperatorClient is the id of the client that the operator is. No identity has it.
const OperatorClient = "operator"

// An Identity is somebody that the operator has given access. Of a token only the hash is kept.
type Identity struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // runtime or client
	// Token is the SHA-256 of a bearer token in hex, Certificate that of a client certificate in DER.
	Token       string `json:"token_sha256,omitempty"`
	Certificate string `json:"certificate_sha256,omitempty"`
	// Tenants are those in whose name a client may open sessions; "*" stands for every one.
	Tenants []string  `json:"tenants,omitempty"`
	Added   time.Time `json:"added"`
}

// allowsTenant reports whether the identity may act for a tenant; "" is none.
func (i *Identity) allowsTenant(tenant string) bool {
	return tenant == "" || slices.Contains(i.Tenants, tenant) || slices.Contains(i.Tenants, everyID)
}

func (i Identity) isSame(other Identity) bool { return i.ID == other.ID && i.Kind == other.Kind }

func (i Identity) hasCredentialOf(other Identity) bool {
	return i.Token == other.Token && i.Certificate == other.Certificate
}

func (i Identity) isOperator() bool { return i.Kind == ClientIdentity && i.ID == OperatorClient }

// Errors of identities.
var (
	ErrIdentityExists = errors.New("the credential belongs to another identity")
	ErrNoIdentity     = errors.New("there is no such identity")
	ErrBadIdentity    = errors.New("not an identity")
)

const (
	maxIdentity = 128
	maxTenants  = 1000
)

// checkIdentity checks the id of an identity: 1 to 128 letters, digits and any of ".", "_", ":" and
// "-". It is the first part of a pinned tool name, so that it has no slash.
func checkIdentity(id string) error {
	if id == "" || len(id) > maxIdentity || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r))
	}) {
		return fmt.Errorf("%w: %.140q; want 1 to %d letters, digits, dots, colons, _ or -", ErrBadIdentity, id, maxIdentity)
	}
	return nil
}

// HashToken returns the stored form of a token.
func HashToken(token string) string { return hashHex([]byte(token)) }

// HashCertificate returns the stored form of a certificate.
func HashCertificate(c *x509.Certificate) string { return hashHex(c.Raw) }

func hashHex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// IdentitiesFile is the name of the file of identities in the directory of the host.
const IdentitiesFile = "identities.json"

func (h *Host) loadIdentities() error {
	path := filepath.Join(h.o.Dir, IdentitiesFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var list []Identity
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	h.identities = slices.DeleteFunc(list, Identity.isOperator) // earlier builds let it be added
	return nil
}

// saveIdentities replaces the file. Only h.changing is held.
func (h *Host) saveIdentities(list []Identity) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return privatefile.Replace(filepath.Join(h.o.Dir, IdentitiesFile), append(text, '\n'))
}

// AddIdentity adds an identity, or another credential in place of that of the same id and kind. The
// connections that a runtime has opened with the previous credential end, because the operator
// replaces one that others may know. A client shows its credential with every request.
func (h *Host) AddIdentity(_ context.Context, add Identity) error {
	if err := checkIdentity(add.ID); err != nil {
		return err
	}
	if add.Kind != RuntimeIdentity && add.Kind != ClientIdentity || add.Token == "" && add.Certificate == "" {
		return fmt.Errorf("%w: want runtime or client, and a token or a certificate", ErrBadIdentity)
	}
	if add.Kind == RuntimeIdentity && (add.ID == HTTPRuntime || add.ID == anyRuntime) {
		return fmt.Errorf("%w: %q has a meaning of its own in contracts; choose another id", ErrBadIdentity, add.ID)
	}
	if add.isOperator() {
		return fmt.Errorf("%w: the client %q is the operator, who needs none; choose another id", ErrBadIdentity, add.ID)
	}
	if len(add.Tenants) > 0 && add.Kind != ClientIdentity {
		return fmt.Errorf("%w: a runtime has no tenants", ErrBadIdentity)
	}
	if len(add.Tenants) > maxTenants || slices.ContainsFunc(add.Tenants, func(t string) bool { return t == "" || len(t) > maxIdentity }) {
		return fmt.Errorf("%w: want at most %d tenants of 1 to %d characters", ErrBadIdentity, maxTenants, maxIdentity)
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	add.Added = h.o.Now().UTC()
	var list []Identity
	for _, old := range h.Identities() {
		if old.isSame(add) {
			if add.Tenants == nil {
				add.Tenants = old.Tenants
			}
			continue
		}
		if add.Token != "" && old.Token == add.Token || add.Certificate != "" && old.Certificate == add.Certificate {
			return fmt.Errorf("%w: %s %s", ErrIdentityExists, old.Kind, old.ID)
		}
		list = append(list, old)
	}
	if err := h.replaceIdentities(append(list, add)); err != nil {
		return err
	}
	if add.Kind == RuntimeIdentity {
		h.closeRuntimes("the credential was replaced: connect with the new one", func(i Identity) bool { return i.isSame(add) && !i.hasCredentialOf(add) })
		return nil
	}
	h.endSessions("the client lost its tenant", func(s *session) bool { return s.client == add.ID && !add.allowsTenant(s.tenant) })
	return nil
}

// endSessions ends the sessions for which end returns true.
func (h *Host) endSessions(reason string, end func(*session) bool) {
	h.mu.Lock()
	var sessions []*session
	for _, s := range h.sessions {
		if end(s) {
			sessions = append(sessions, s)
		}
	}
	h.mu.Unlock()
	for _, s := range sessions {
		h.endSession(s, reason)
	}
}

// setTenant checks the tenant of a new session, and sets it if the client has one tenant only. The
// tenant that a client without tenants names is a mere claim, which satisfies no condition of a contract.
// A client without an identity is the operator, who may act for every tenant. h.mu is held.
func (h *Host) setTenant(s *session) *altar.Error {
	at := slices.IndexFunc(h.identities, func(i Identity) bool { return i.ID == s.client && i.Kind == ClientIdentity })
	if at < 0 {
		s.tenant = s.context.TenantID
		return nil
	}
	client := &h.identities[at]
	switch {
	case len(client.Tenants) == 0:
		return nil
	case s.context.TenantID == "" && len(client.Tenants) == 1 && client.Tenants[0] != everyID:
		s.context.TenantID = client.Tenants[0]
	case !client.allowsTenant(s.context.TenantID):
		return altar.Errorf(altar.AuthorizationFailed, "the client %s may not act for the tenant %.140q: the operator allows it with gazetteer altar identity add --tenant", s.client, s.context.TenantID).
			With("path", "/security_context/tenant_id")
	}
	s.tenant = s.context.TenantID
	return nil
}

// RemoveIdentity removes an identity of both kinds, ends the connections of its runtime and the
// sessions of its client.
func (h *Host) RemoveIdentity(_ context.Context, id string) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	before := h.Identities()
	list := slices.DeleteFunc(slices.Clone(before), func(i Identity) bool { return i.ID == id })
	if len(list) == len(before) {
		return fmt.Errorf("%w: %.140s", ErrNoIdentity, id)
	}
	if err := h.replaceIdentities(list); err != nil {
		return err
	}
	h.closeRuntimes("the identity was removed", func(i Identity) bool { return i.ID == id })
	h.endSessions("the identity was removed", func(s *session) bool { return s.client == id })
	return nil
}

// closeRuntimes closes the connections of the runtimes for whose identities end returns true.
func (h *Host) closeRuntimes(reason string, end func(Identity) bool) {
	h.mu.Lock()
	var runtimes []*Runtime
	for _, r := range h.runtimes {
		if end(r.identity) {
			runtimes = append(runtimes, r)
		}
	}
	h.mu.Unlock()
	for _, r := range runtimes {
		r.conn.Close(CloseRefused, reason)
	}
}

func (h *Host) replaceIdentities(list []Identity) error {
	if err := h.saveIdentities(list); err != nil {
		return fmt.Errorf("write the identities: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.identities = list
	h.indexIdentities()
	return nil
}

// digest is a SHA-256.
type digest = [sha256.Size]byte

// indexIdentities makes the index of credentials. h.mu is held.
func (h *Host) indexIdentities() {
	h.byToken, h.byCertificate = map[digest]Identity{}, map[digest]Identity{}
	for _, i := range h.identities {
		if token, err := hex.DecodeString(i.Token); err == nil && len(token) == sha256.Size {
			h.byToken[digest(token)] = i
		}
		if certificate, err := hex.DecodeString(i.Certificate); err == nil && len(certificate) == sha256.Size {
			h.byCertificate[digest(certificate)] = i
		}
	}
}

// Identities returns the identities in the order in which they were added.
func (h *Host) Identities() []Identity {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.identities)
}

// IdentifyToken returns the identity that a bearer token belongs to.
func (h *Host) IdentifyToken(token string) (Identity, bool) {
	key := sha256.Sum256([]byte(token))
	h.mu.Lock()
	defer h.mu.Unlock()
	i, ok := h.byToken[key]
	return i, ok
}

// IdentifyCertificate returns the identity that a client certificate belongs to. The certificate is
// known by its hash, so that it needs no authority; it must not have expired.
func (h *Host) IdentifyCertificate(c *x509.Certificate) (Identity, bool) {
	if now := h.o.Now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return Identity{}, false
	}
	key := sha256.Sum256(c.Raw)
	h.mu.Lock()
	defer h.mu.Unlock()
	i, ok := h.byCertificate[key]
	return i, ok
}
