package toolhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/altar"
)

// A session is the context of a client's calls (section 2).
type session struct {
	id        string
	runtimeID string // the id that runtimes get
	client    string
	context   altar.SecurityContext
	tenant    string // of context, if the client's identity has it; else empty
	expires   time.Time
	timer     *time.Timer

	// h.mu guards the following.
	ended  bool
	offers map[string]*offer      // by runtime id: what runtimes said for this session alone
	calls  map[string]*invocation // by the client's invocation id
}

const (
	maxSessionID = 128
	maxTTL       = math.MaxInt64 / int64(time.Second)
)

// errSession is what a client learns of a session that is not its own, does not exist or has ended.
func errSession(id string) *altar.Error {
	return altar.Errorf(altar.SessionInvalid, "there is no session %.140q of yours: it was never made, was destroyed, has expired or ended when the Host stopped", id)
}

// CreateSession makes a session for a client. It waits for no runtime. The suggested id is honored
// unless a session has it or it cannot stand in an address.
func (h *Host) CreateSession(client string, in altar.CreateSession) (altar.SessionCreated, *altar.Error) {
	ttl := h.o.SessionTTL
	if in.TTLSeconds != nil {
		if *in.TTLSeconds <= 0 {
			return altar.SessionCreated{}, altar.ParametersError([]altar.Problem{{Path: "/ttl_seconds", Message: fmt.Sprintf("is %d, want a positive number of seconds", *in.TTLSeconds)}})
		}
		ttl = time.Duration(min(*in.TTLSeconds, maxTTL)) * time.Second
	}
	ttl = min(ttl, h.o.MaxSessionTTL)
	s := &session{id: in.SessionID, client: client, expires: h.o.Now().Add(ttl)}
	if in.SecurityContext != nil {
		s.context = *in.SecurityContext
	}
	if err := h.addSession(s); err != nil {
		return altar.SessionCreated{}, err
	}
	h.requestForSession(s)
	return altar.SessionCreated{SessionID: s.id, TTLSeconds: int64(ttl / time.Second), ExpiresAt: s.expires.UTC().Truncate(time.Millisecond)}, nil
}

func (h *Host) addSession(s *session) *altar.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return errDraining
	}
	if err := h.setTenant(s); err != nil {
		return err
	}
	state := h.stateOf(s.client)
	if state.sessions >= h.o.SessionsPerClient {
		return quotaError(fmt.Sprintf("you have %d sessions open, which is the most", state.sessions), time.Minute)
	}
	if usableSessionID(s.id) && h.sessions[s.id] == nil {
		s.runtimeID = formatRuntimeID(s.client, s.id)
	} else {
		s.id = "s-" + randomHex(16)
		s.runtimeID = s.id
	}
	h.sessions[s.id], h.sessionsByRuntimeID[s.runtimeID] = s, s
	state.sessions++
	s.timer = time.AfterFunc(s.expires.Sub(h.o.Now()), func() { h.endSession(s, "the session expired") })
	return nil
}

// formatRuntimeID returns the id by which runtimes know a session whose id the client has suggested. They
// recognize a repeated call by the ids of its session and of the client (client_invocation_id): sessions of
// different clients never have the same id there, also after a restart, and those of one client that
// suggests an id again do.
func formatRuntimeID(client, id string) string {
	sum := sha256.Sum256([]byte(client + "\x00" + id)) // neither has a NUL
	return "c-" + hex.EncodeToString(sum[:16])
}

// usableSessionID reports whether an id can stand in an address and in a log.
func usableSessionID(id string) bool {
	return id != "" && id != "." && id != ".." && len(id) <= maxSessionID && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-~", r))
	})
}

// stateOf returns the counts of a client. h.mu is held.
func (h *Host) stateOf(client string) *clientState {
	state := h.byClient[client]
	if state == nil {
		state = &clientState{}
		h.byClient[client] = state
	}
	return state
}

// releaseState forgets the counts of a client that uses nothing. h.mu is held.
func (h *Host) releaseState(client string) {
	if state := h.byClient[client]; state != nil && *state == (clientState{}) {
		delete(h.byClient, client)
	}
}

// DestroySession ends a session of a client and the calls that run in it.
func (h *Host) DestroySession(client, id string) *altar.Error {
	h.mu.Lock()
	s, err := h.findSession(client, id, h.o.Now())
	h.mu.Unlock()
	if err != nil {
		return err
	}
	if !h.endSession(s, "the session was destroyed") {
		return errSession(id)
	}
	return nil
}

// findSession returns a session of a client that has not ended. h.mu is held.
func (h *Host) findSession(client, id string, now time.Time) (*session, *altar.Error) {
	s := h.sessions[id]
	if s == nil || s.client != client || !now.Before(s.expires) {
		return nil, errSession(id)
	}
	return s, nil
}

// endSession ends a session and its calls. It returns false when it had ended before.
func (h *Host) endSession(s *session, reason string) bool {
	h.mu.Lock()
	if s.ended {
		h.mu.Unlock()
		return false
	}
	s.ended = true
	s.timer.Stop()
	delete(h.sessions, s.id)
	delete(h.sessionsByRuntimeID, s.runtimeID)
	if h.mcpSessions[s.client] == s.id {
		delete(h.mcpSessions, s.client)
	}
	h.stateOf(s.client).sessions--
	h.releaseState(s.client)
	var running []*invocation
	for _, inv := range s.calls {
		running = append(running, inv)
	}
	s.calls, s.offers = nil, nil
	h.wakeWaiting()
	asking := h.dropRequests(s)
	h.mu.Unlock()
	asking.send()
	ended := altar.Errorf(altar.SessionInvalid, "%s", reason)
	for _, inv := range running {
		h.finishCall(inv, outcome{err: ended, cancel: reason})
	}
	return true
}

// A Tool is a contract as a client sees it.
type Tool struct {
	altar.Contract
	// Confirm says that a call needs a confirmation.
	Confirm bool `json:"confirm,omitempty"`
}

// Tools returns what a client may call in a session now, in order of name. Suspended contracts are not
// among them, and a client that is not admitted gets none.
func (h *Host) Tools(ctx context.Context, client, sessionID string) ([]Tool, *altar.Error) {
	h.mu.Lock()
	s, err := h.findSession(client, sessionID, h.o.Now())
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	h.awaitAnswers(ctx, s, func() bool { return s.ended })
	found, err := h.findTools(client, sessionID)
	if err != nil {
		return nil, err
	}
	tools := []Tool{}
	if h.o.AdmitClient != nil && h.o.AdmitClient(ctx, client) != nil {
		return tools, nil
	}
	for _, c := range found {
		if h.checkSuspension(ctx, c) == nil {
			tools = append(tools, Tool{c.Contract.Contract, c.irreversible})
		}
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, nil
}

// findTools returns the contracts that a client may call in a session and that a runtime executes.
func (h *Host) findTools(client, sessionID string) ([]*contract, *altar.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, err := h.findSession(client, sessionID, h.o.Now())
	if err != nil {
		return nil, err
	}
	var list []*contract
	for name, c := range h.contracts {
		if !c.allowsClient(client, s) {
			continue
		}
		if runtime, _ := h.chooseRuntime(s, name, "", nil); runtime != nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// SessionForMCP returns the session of a client's MCP calls, and makes it if there is none.
func (h *Host) SessionForMCP(client string) (string, *altar.Error) {
	h.mu.Lock()
	id := h.mcpSessions[client]
	if _, err := h.findSession(client, id, h.o.Now()); id != "" && err == nil {
		h.mu.Unlock()
		return id, nil
	}
	h.mu.Unlock()
	created, err := h.CreateSession(client, altar.CreateSession{})
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.mcpSessions[client]; other != "" {
		if _, err := h.findSession(client, other, h.o.Now()); err == nil {
			go h.DestroySession(client, created.SessionID) // another request was first
			return other, nil
		}
	}
	h.mcpSessions[client] = created.SessionID
	return created.SessionID, nil
}
