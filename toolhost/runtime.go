package toolhost

import (
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/protocol/altar"
)

// A Conn carries frames to one runtime.
type Conn interface {
	// Send queues a frame. It does not wait: it returns false when the queue is full or the connection
	// has ended.
	Send(frame []byte) bool
	// Close ends the connection once what is queued has been sent, or a short time has passed. The
	// transport then calls [Runtime.Detach].
	Close(reason string)
}

// A Runtime is one connection of a runtime.
type Runtime struct {
	h        *Host
	identity Identity
	conn     Conn

	announced bool // the handshake is complete; owned by Receive
	// Written by Receive before the runtime is registered, then constant.
	id        string
	streaming bool

	// h.mu guards the following.
	registered bool
	detached   bool
	general    bool            // it has said what it executes in all sessions
	asked      map[string]bool // sessions it was asked about and has not answered for
	waiting    []string        // sessions it is still to be asked about

	mu    sync.Mutex // guards the following
	calls map[string]*invocation
}

// An offer is what a runtime said that it executes.
type offer struct {
	runtime *Runtime
	tools   map[string]bool
	lost    time.Time // when the runtime went away
}

const (
	// maxAsked is how many sessions a runtime is asked about before it has answered.
	maxAsked = 64
	// maxWaiting bounds the sessions that a runtime is still to be asked about.
	maxWaiting = 100_000
	// maxRefusals is how many names of one FulfillTools are refused one by one.
	maxRefusals = 100
	// maxLostOffers bounds how many runtimes that are gone are remembered, lostTime how long.
	maxLostOffers = 10_000
	lostTime      = time.Hour
)

// Attach begins a connection of a runtime whose identity is verified. The transport hands its frames to
// [Runtime.Receive], one after the other, and calls [Runtime.Detach] when it has ended.
func (h *Host) Attach(identity Identity, conn Conn) *Runtime {
	return &Runtime{h: h, identity: identity, conn: conn, calls: map[string]*invocation{}}
}

// Announced reports whether the handshake is complete. Only the caller of Receive may ask.
func (r *Runtime) Announced() bool { return r.announced }

func (r *Runtime) send(m altar.Message) bool { return r.conn.Send(altar.Encode(m)) }

// refuse answers a frame with an error.
func (r *Runtime) refuse(inReplyTo string, err *altar.Error) {
	r.send(altar.ProtocolError{Error: err, InReplyTo: inReplyTo})
}

// Receive handles one frame.
func (r *Runtime) Receive(text []byte) {
	m, err := altar.ReadMessage(text, false)
	if err != nil {
		bad, ok := err.(*altar.FrameError)
		if !ok {
			bad = &altar.FrameError{Reason: err.Error()}
		}
		r.receiveBad(bad)
		return
	}
	if announce, ok := m.(altar.AnnounceRuntime); ok {
		r.announce(announce)
		return
	}
	if !r.announced {
		r.refuse(m.MessageType(), altar.Errorf(altar.InvalidParameters, "a runtime begins with AnnounceRuntime"))
		return
	}
	switch m := m.(type) {
	case altar.ToolResult:
		r.receiveResult(m)
	case altar.StreamChunk:
		r.receiveChunk(m)
	case altar.FulfillTools:
		r.fulfill(m)
	case altar.ProtocolError:
		r.h.o.Log.Debug("a runtime reports an error", "runtime", r.id, "error", m.Error, "in_reply_to", m.InReplyTo)
	default:
		r.refuse(m.MessageType(), altar.Errorf(altar.InvalidParameters, "%s is not a message of a runtime", m.MessageType()))
	}
}

// receiveBad answers a frame that cannot be read. If it was about a running call, that call ends: its
// runtime does not keep to the protocol.
func (r *Runtime) receiveBad(bad *altar.FrameError) {
	reply := bad.Protocol()
	if bad.Type == (altar.StreamChunk{}).MessageType() || bad.Type == (altar.ToolResult{}).MessageType() {
		if inv := r.running(bad.InvocationID); inv != nil {
			r.h.finish(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a %s that cannot be read: %s", bad.Type, bad.Reason), cancel: "protocol error"})
		}
	}
	r.send(reply)
}

// announce is the handshake (flow 6.1).
func (r *Runtime) announce(m altar.AnnounceRuntime) {
	if r.announced {
		r.refuse(m.MessageType(), altar.Errorf(altar.InvalidParameters, "this runtime is announced already"))
		return
	}
	end := func(err *altar.Error) {
		r.refuse(m.MessageType(), err)
		r.conn.Close(err.Message)
	}
	own, _ := altar.ParseVersion(altar.Current)
	theirs, err := altar.ParseVersion(m.ProtocolVersion)
	if err != nil {
		end(altar.Errorf(altar.InvalidParameters, "protocol_version: %v", err))
		return
	}
	version, err := altar.Negotiate(own, theirs)
	if err != nil {
		end(altar.Errorf(altar.InternalError, "%v", err).With("host_version", altar.Current).With("runtime_version", m.ProtocolVersion))
		return
	}
	if err := CheckIdentity(m.RuntimeID); err != nil {
		end(altar.Errorf(altar.InvalidParameters, "runtime_id: %v", err))
		return
	}
	if refusal := r.register(m); refusal != nil {
		end(refusal)
		return
	}
	r.announced = true
	r.send(altar.AcknowledgeRuntime{HostID: r.h.id, ProtocolVersion: version.String()})
	r.send(altar.RequestFulfillment{})
	r.h.mu.Lock()
	for id := range r.h.sessions {
		if len(r.waiting) < maxWaiting {
			r.waiting = append(r.waiting, id)
		}
	}
	frames := r.nextRequests()
	r.h.mu.Unlock()
	r.sendAll(frames)
	r.h.o.Log.Info("a runtime is connected", "runtime", r.id, "language", cut(m.Language), "identity", r.identity.ID)
}

func cut(s string) string { return s[:min(len(s), 40)] }

// register takes the runtime id. Its identity may use its own id, and ids that begin with it and a dash
// unless they belong to another identity: several processes of one service.
func (r *Runtime) register(m altar.AnnounceRuntime) *altar.Error {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return errDraining
	}
	if r.detached {
		return altar.Errorf(altar.RuntimeUnavailable, "the connection has ended")
	}
	own := m.RuntimeID == r.identity.ID
	if !own {
		own = strings.HasPrefix(m.RuntimeID, r.identity.ID+"-") &&
			!slices.ContainsFunc(h.identities, func(i Identity) bool {
				return i.Kind == RuntimeIdentity && i.ID != r.identity.ID && len(i.ID) > len(r.identity.ID) && (m.RuntimeID == i.ID || strings.HasPrefix(m.RuntimeID, i.ID+"-"))
			})
	}
	if !own {
		return altar.Errorf(altar.AuthorizationFailed, "the identity %s may not announce the runtime %s", r.identity.ID, m.RuntimeID)
	}
	if h.runtimes[m.RuntimeID] != nil {
		return altar.Errorf(altar.AuthorizationFailed, "the runtime %s is connected already", m.RuntimeID)
	}
	r.id, r.streaming, r.registered = m.RuntimeID, slices.Contains(m.Capabilities, altar.Streaming), true
	r.asked = map[string]bool{}
	h.runtimes[r.id] = r
	return nil
}

// Detach ends the connection: calls that run there fail, new ones go to others.
func (r *Runtime) Detach() {
	h := r.h
	h.mu.Lock()
	r.detached = true
	if r.registered && h.runtimes[r.id] == r {
		delete(h.runtimes, r.id)
		if o := h.offers[r.id]; o != nil && o.runtime == r {
			o.lost = time.Now()
			for name := range o.tools {
				h.removeFulfiller(name, r.id)
			}
		}
		h.forgetLostOffers()
	}
	registered := r.registered
	h.mu.Unlock()
	r.mu.Lock()
	var running []*invocation
	for _, inv := range r.calls {
		running = append(running, inv)
	}
	r.calls = nil
	r.mu.Unlock()
	for _, inv := range running {
		h.finish(inv, outcome{err: altar.Errorf(altar.RuntimeUnavailable, "the runtime %s was lost while it executed the call", r.id), again: true})
	}
	if registered {
		h.o.Log.Info("a runtime is gone", "runtime", r.id, "running", len(running))
	}
}

// forgetLostOffers drops what runtimes offered that are gone for long. h.mu is held.
func (h *Host) forgetLostOffers() {
	if len(h.offers) <= maxLostOffers {
		return
	}
	for id, o := range h.offers {
		if !o.lost.IsZero() && (time.Since(o.lost) > lostTime || len(h.offers) > 2*maxLostOffers) {
			delete(h.offers, id)
		}
	}
}

// fulfill takes note of what a runtime executes (flow 6.1). Names that are refused are answered one by
// one.
func (r *Runtime) fulfill(m altar.FulfillTools) {
	h := r.h
	inReplyTo := m.MessageType()
	if m.SessionID != "" {
		inReplyTo = m.SessionID
	}
	tools := map[string]bool{}
	var refused []*altar.Error
	count := 0
	refuse := func(err *altar.Error, name string) {
		if count++; count <= maxRefusals {
			refused = append(refused, err.With("tool_name", name[:min(len(name), 140)]))
		}
	}
	h.mu.Lock()
	session := h.sessions[m.SessionID]
	if m.SessionID != "" && session == nil {
		h.mu.Unlock()
		r.refuse(inReplyTo, altar.Errorf(altar.SessionInvalid, "there is no session %.140q", m.SessionID))
		return
	}
	for _, name := range m.ToolNames {
		c := h.contracts[name]
		switch {
		case c == nil:
			refuse(altar.Errorf(altar.ToolNotFound, "the Host has no contract of the name %.140q", name), name)
		case c.Streaming && !r.streaming:
			refuse(altar.Errorf(altar.InvalidParameters, "the contract %s is streaming, and the runtime has not announced that capability", name), name)
		default:
			tools[name] = true
		}
	}
	if r.detached {
		h.mu.Unlock()
		return
	}
	if session != nil {
		if session.offers == nil {
			session.offers = map[string]*offer{}
		}
		session.offers[r.id] = &offer{runtime: r, tools: tools}
	} else {
		h.setGeneralOffer(r, tools)
	}
	delete(r.asked, m.SessionID)
	frames := r.nextRequests()
	h.mu.Unlock()
	for _, err := range refused {
		r.refuse(inReplyTo, err)
	}
	if count > maxRefusals {
		r.refuse(inReplyTo, altar.Errorf(altar.ToolNotFound, "%d more names were refused", count-maxRefusals).With("refused", count-maxRefusals))
	}
	r.sendAll(frames)
}

// setGeneralOffer replaces what a runtime executes in all sessions. h.mu is held.
func (h *Host) setGeneralOffer(r *Runtime, tools map[string]bool) {
	if old := h.offers[r.id]; old != nil {
		for name := range old.tools {
			h.removeFulfiller(name, r.id)
		}
	}
	h.offers[r.id] = &offer{runtime: r, tools: tools}
	for name := range tools {
		if h.fulfillers[name] == nil {
			h.fulfillers[name] = map[string]*Runtime{}
		}
		h.fulfillers[name][r.id] = r
	}
	r.general, r.waiting = true, nil
}

func (h *Host) removeFulfiller(name, id string) {
	delete(h.fulfillers[name], id)
	if len(h.fulfillers[name]) == 0 {
		delete(h.fulfillers, name)
	}
}

// nextRequests returns requests for the sessions that the runtime is to be asked about next: a few at a
// time, and none once it has said what it executes everywhere. h.mu is held; the caller sends them after
// releasing it.
func (r *Runtime) nextRequests() [][]byte {
	var frames [][]byte
	for !r.general && len(r.waiting) > 0 && len(r.asked) < maxAsked {
		id := r.waiting[0]
		r.waiting = r.waiting[1:]
		if r.h.sessions[id] == nil {
			continue
		}
		r.asked[id] = true
		frames = append(frames, altar.Encode(altar.RequestFulfillment{SessionID: id}))
	}
	return frames
}

func (r *Runtime) sendAll(frames [][]byte) {
	for _, frame := range frames {
		r.conn.Send(frame)
	}
}

// requestForSession asks runtimes about a new session that have not said what they execute everywhere.
func (h *Host) requestForSession(s *session) {
	type request struct {
		r      *Runtime
		frames [][]byte
	}
	var requests []request
	h.mu.Lock()
	for _, r := range h.runtimes {
		if r.general || len(r.waiting) >= maxWaiting {
			continue
		}
		r.waiting = append(r.waiting, s.id)
		if frames := r.nextRequests(); frames != nil {
			requests = append(requests, request{r, frames})
		}
	}
	h.mu.Unlock()
	for _, each := range requests {
		each.r.sendAll(each.frames)
	}
}

// requestFulfillment asks every runtime again, because the contracts have changed.
func (h *Host) requestFulfillment() {
	h.mu.Lock()
	runtimes := make([]*Runtime, 0, len(h.runtimes))
	for _, r := range h.runtimes {
		runtimes = append(runtimes, r)
	}
	h.mu.Unlock()
	for _, r := range runtimes {
		r.send(altar.RequestFulfillment{})
	}
}

// chooseRuntime returns the runtime of a tool in a session that runs the fewest calls, leaving out those
// tried. Without one, lost reports whether one was there before. pinned, when set, is the only one that
// may be chosen. h.mu is held.
func (h *Host) chooseRuntime(s *session, tool, pinned string, tried map[*Runtime]bool) (best *Runtime, lost bool) {
	load := 0
	looks := 0
	consider := func(r *Runtime) {
		if r.detached || h.runtimes[r.id] != r || tried[r] {
			lost = true
			return
		}
		n := r.load()
		if best == nil || n < load {
			best, load = r, n
		}
		looks++
	}
	if pinned != "" {
		o := s.offers[pinned]
		if o == nil {
			o = h.offers[pinned]
		}
		if o != nil && o.tools[tool] {
			consider(o.runtime)
		}
		return best, lost
	}
	for id, r := range h.fulfillers[tool] {
		if s.offers[id] != nil {
			continue // what it said for this session counts
		}
		if consider(r); looks >= 8 { // the order is random: eight are enough for an even load
			break
		}
	}
	for _, o := range s.offers {
		if o.tools[tool] {
			consider(o.runtime)
		}
	}
	if best != nil || lost {
		return best, lost
	}
	for id, o := range h.offers {
		if !o.lost.IsZero() && o.tools[tool] && s.offers[id] == nil {
			return nil, true
		}
	}
	return nil, false
}

// load returns how many calls run there.
func (r *Runtime) load() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// running returns a call that runs there, nil for none.
func (r *Runtime) running(id string) *invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

// dispatch registers a call and sends it. It returns false when the runtime cannot take it.
func (r *Runtime) dispatch(inv *invocation, frame []byte) bool {
	r.mu.Lock()
	if r.calls == nil {
		r.mu.Unlock()
		return false
	}
	r.calls[inv.hostID] = inv
	r.mu.Unlock()
	if r.conn.Send(frame) {
		return true
	}
	r.forget(inv)
	return false
}

// forget ends the registration of a call. It returns false when there is none any more.
func (r *Runtime) forget(inv *invocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.calls[inv.hostID]
	delete(r.calls, inv.hostID)
	return known
}

// RuntimeStatus is a connected runtime as the operator sees it.
type RuntimeStatus struct {
	ID        string   `json:"id"`
	Identity  string   `json:"identity"`
	Streaming bool     `json:"streaming"`
	Running   int      `json:"running"`
	Tools     []string `json:"tools"` // those of all sessions
}

// Runtimes returns the connected runtimes, in order of id.
func (h *Host) Runtimes() []RuntimeStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []RuntimeStatus{}
	for _, r := range h.runtimes {
		status := RuntimeStatus{ID: r.id, Identity: r.identity.ID, Streaming: r.streaming, Running: r.load(), Tools: []string{}}
		if o := h.offers[r.id]; o != nil && o.runtime == r {
			for name := range o.tools {
				status.Tools = append(status.Tools, name)
			}
			slices.Sort(status.Tools)
		}
		list = append(list, status)
	}
	slices.SortFunc(list, func(a, b RuntimeStatus) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func sortTools(tools []Tool) {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
}

func quotaError(message string, wait time.Duration) *altar.Error {
	return altar.Errorf(altar.AuthorizationFailed, "%s", message).With("reason", "quota").With("retry_after_ms", wait.Milliseconds())
}

// QuotaWait returns how long a client waits that an error refused because of a quota, and false for
// another error.
func QuotaWait(err *altar.Error) (time.Duration, bool) {
	if err == nil || err.Details["reason"] != "quota" {
		return 0, false
	}
	ms, ok := err.Details["retry_after_ms"].(int64)
	return time.Duration(ms) * time.Millisecond, ok
}
