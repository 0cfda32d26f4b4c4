package toolhost

import (
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/altar"
)

// A Conn carries frames to one runtime.
type Conn interface {
	// Send sends a frame, or queues it. It does not wait: it returns false when the queue is full
	// or the connection has ended. It does not keep the frame. lone says that no other frame is
	// likely to follow at once, so that nothing is won by sending several together.
	Send(frame []byte, lone bool) bool
	// Close ends the connection after the queued frames have been sent, or after a short time. The
	// transport then calls [Runtime.Detach].
	Close(kind CloseKind, reason string)
}

// A CloseKind says who causes the end of a connection.
type CloseKind int

// The kinds of ends.
const (
	CloseRefused  CloseKind = iota // the runtime broke a rule, or may not connect
	CloseStopping                  // the Host stops: the runtime may connect again later
)

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
	registered   bool
	acknowledged bool // it knows that, and has been asked what it executes
	detached     bool
	connected    time.Time            // when the Host acknowledged it
	general      bool                 // it has said what it executes in all sessions
	questions    int                  // how often it was asked that and has not answered
	questioned   time.Time            // when it was asked that last
	asked        map[string]time.Time // by runtimeID: sessions it was asked about and has not answered for
	waiting      []string             // runtimeIDs of sessions it is still to be asked about

	mu    sync.Mutex // guards the following fields
	calls map[string]*invocation
	last  uint64 // the number of the call that it got last
}

// Attach begins a connection of a runtime whose identity is verified. The transport hands its frames to
// [Runtime.Receive], one after the other, and calls [Runtime.Detach] when it has ended.
func (h *Host) Attach(identity Identity, conn Conn) *Runtime {
	return &Runtime{h: h, identity: identity, conn: conn, calls: map[string]*invocation{}}
}

// Announced reports whether the handshake is complete. Only the caller of Receive may ask.
func (r *Runtime) Announced() bool { return r.announced }

func (r *Runtime) sendMessage(m altar.Message) bool { return r.conn.Send(altar.Encode(m), false) }

// sendError answers a frame with an error.
func (r *Runtime) sendError(inReplyTo string, err *altar.Error) {
	r.sendMessage(altar.ProtocolError{Error: err, InReplyTo: inReplyTo})
}

// Receive handles one frame.
func (r *Runtime) Receive(text []byte) {
	if r.announced {
		if result, ok := altar.ReadResult(text); ok {
			r.receiveResult(result)
			return
		}
	}
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
		r.receiveAnnouncement(announce)
		return
	}
	if !r.announced {
		r.sendError(altar.ReplyID(m), altar.Errorf(altar.InvalidParameters, "a runtime begins with AnnounceRuntime"))
		return
	}
	switch m := m.(type) {
	case altar.ToolResult:
		r.receiveResult(m)
	case altar.StreamChunk:
		r.receiveChunk(m)
	case altar.FulfillTools:
		r.receiveFulfillment(m)
	case altar.ProtocolError:
		r.receiveError(m)
	default:
		r.sendError(altar.ReplyID(m), altar.Errorf(altar.InvalidParameters, "%s is not a message of a runtime", m.MessageType()))
	}
}

// receiveBad answers a frame that cannot be read. If it was about a running call, that call ends: its
// runtime does not keep to the protocol.
func (r *Runtime) receiveBad(bad *altar.FrameError) {
	reply := bad.Protocol()
	if bad.Type == (altar.StreamChunk{}).MessageType() || bad.Type == (altar.ToolResult{}).MessageType() {
		if inv := r.findCall(bad.InvocationID); inv != nil {
			r.h.finishCall(inv, outcome{err: altar.Errorf(altar.InternalError, "the runtime sent a %s that cannot be read: %v", bad.Type, bad), cancel: "protocol error"})
		}
	}
	r.sendMessage(reply)
}

// receiveError handles an error that the runtime reports. In reply to a call, it is the result.
func (r *Runtime) receiveError(m altar.ProtocolError) {
	if inv := r.findCall(m.InReplyTo); inv != nil {
		err := altar.Errorf(altar.InternalError, "the runtime refused the call and gave no reason")
		if m.Error != nil {
			err = knownError(m.Error)
		}
		r.h.finishCall(inv, outcome{err: err, again: mayRunAgain(err)})
		return
	}
	r.h.o.Log.Debug("a runtime reports an error", "runtime", r.id, "error", m.Error, "in_reply_to", m.InReplyTo)
}

// receiveAnnouncement is the handshake (flow 6.1).
func (r *Runtime) receiveAnnouncement(m altar.AnnounceRuntime) {
	if r.announced {
		r.sendError(m.MessageType(), altar.Errorf(altar.InvalidParameters, "this runtime is announced already"))
		return
	}
	end := func(err *altar.Error) {
		r.sendError(m.MessageType(), err)
		kind := CloseRefused
		if err == errDraining {
			kind = CloseStopping
		}
		r.conn.Close(kind, err.Message)
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
	if err := checkIdentity(m.RuntimeID); err != nil {
		end(altar.Errorf(altar.InvalidParameters, "runtime_id: %v", err))
		return
	}
	if refusal := r.registerID(m); refusal != nil {
		end(refusal)
		return
	}
	r.announced = true
	r.sendMessage(altar.AcknowledgeRuntime{HostID: r.h.id, ProtocolVersion: version.String()})
	r.sendMessage(altar.RequestFulfillment{})
	r.h.mu.Lock()
	r.acknowledged = true
	for id := range r.h.sessionsByRuntimeID {
		if len(r.waiting) < maxWaiting {
			r.waiting = append(r.waiting, id)
		}
	}
	frames := r.nextRequests()
	r.h.mu.Unlock()
	r.sendAll(frames)
	r.h.o.Log.Info("a runtime is connected", "runtime", r.id, "language", protocol.ClipBytes(m.Language, 40), "identity", r.identity.ID)
}

// registerID takes the runtime id. Its identity may use its own id, and ids that begin with it and
// a dash unless they belong to another identity: several processes of one service.
func (r *Runtime) registerID(m altar.AnnounceRuntime) *altar.Error {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return errDraining
	}
	if r.detached {
		return altar.Errorf(altar.RuntimeUnavailable, "the connection has ended")
	}
	// The runtime of this program has no credential.
	if !r.identity.hasCredentialOf(Identity{}) && !slices.ContainsFunc(h.identities, func(i Identity) bool { return i.isSame(r.identity) && i.hasCredentialOf(r.identity) }) {
		return altar.Errorf(altar.AuthorizationFailed, "the credential of %s was replaced or removed since the connection began", r.identity.ID)
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
		return altar.Errorf(altar.AuthorizationFailed, "the runtime %s is connected already", m.RuntimeID).With("reason", "connected")
	}
	r.id, r.streaming, r.registered = m.RuntimeID, slices.Contains(m.Capabilities, altar.Streaming), true
	r.questions, r.questioned = 1, time.Now() // receiveAnnouncement asks
	r.asked, r.connected = map[string]time.Time{}, h.o.Now()
	h.runtimes[r.id] = r
	// What it said on an earlier connection counts no more.
	delete(h.offers, r.id)
	for _, s := range h.sessions {
		delete(s.offers, r.id)
	}
	return nil
}

// Detach ends the connection: calls that run there fail, new ones go to others.
func (r *Runtime) Detach() {
	h := r.h
	h.mu.Lock()
	r.detached = true
	if r.registered && h.runtimes[r.id] == r {
		delete(h.runtimes, r.id)
		h.wakeWaiting()
		if o := h.offers[r.id]; o != nil && o.runtime == r {
			o.lost = h.o.Now()
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
		h.finishCall(inv, outcome{err: altar.Errorf(altar.RuntimeUnavailable, "the runtime %s was lost while it executed the call", r.id), again: true})
	}
	if registered {
		h.o.Log.Info("a runtime is gone", "runtime", r.id, "running", len(running))
	}
}

// countCalls returns how many calls run there, and the number of the call that it got last.
func (r *Runtime) countCalls() (running int, last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls), r.last
}

// findCall returns a call that runs there, nil for none.
func (r *Runtime) findCall(id string) *invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

// sendCall registers a call and sends it. It returns false when the runtime cannot take it.
func (r *Runtime) sendCall(inv *invocation, frame []byte) bool {
	r.mu.Lock()
	if r.calls == nil {
		r.mu.Unlock()
		return false
	}
	r.calls[inv.hostID] = inv
	r.last = r.h.counter.Load()
	lone := len(r.calls) == 1
	r.mu.Unlock()
	if r.conn.Send(frame, lone) {
		return true
	}
	r.removeCall(inv)
	return false
}

// removeCall ends the registration of a call. It returns false when there is none any more.
func (r *Runtime) removeCall(inv *invocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.calls[inv.hostID]
	delete(r.calls, inv.hostID)
	return known
}

// RuntimeStatus is a connected runtime as the operator sees it.
type RuntimeStatus struct {
	ID        string    `json:"id"`
	Identity  string    `json:"identity"`
	Connected time.Time `json:"connected"` // since when, in UTC
	Streaming bool      `json:"streaming"`
	Running   int       `json:"running"` // calls that it executes now
	Tools     []string  `json:"tools"`   // those of all sessions
}

// Runtimes returns the connected runtimes, in order of id.
func (h *Host) Runtimes() []RuntimeStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []RuntimeStatus{}
	for _, r := range h.runtimes {
		running, _ := r.countCalls()
		status := RuntimeStatus{ID: r.id, Identity: r.identity.ID, Connected: r.connected.UTC().Truncate(time.Second), Streaming: r.streaming, Running: running, Tools: []string{}}
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
