package toolhost

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/altar"
)

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
	// answerTime is how long a call waits for runtimes that were asked what they execute and have not
	// answered yet: it counts from the question, so a runtime that never answers delays nobody later.
	answerTime = time.Second
)

// forgetLostOffers drops the offers of runtimes that disconnected long ago. h.mu is held.
func (h *Host) forgetLostOffers() {
	if len(h.offers) <= maxLostOffers {
		return
	}
	for id, o := range h.offers {
		if !o.lost.IsZero() && (h.o.Now().Sub(o.lost) > lostTime || len(h.offers) > 2*maxLostOffers) {
			delete(h.offers, id)
		}
	}
}

// receiveFulfillment stores which tools a runtime executes (flow 6.1). Each refused name gets a
// separate answer.
func (r *Runtime) receiveFulfillment(m altar.FulfillTools) {
	h := r.h
	inReplyTo := altar.ReplyID(m)
	tools := map[string]bool{}
	var refused []*altar.Error
	count := 0
	refuse := func(err *altar.Error, name string) {
		if count++; count <= maxRefusals {
			refused = append(refused, err.With("tool_name", protocol.ClipBytes(name, 140)))
		}
	}
	h.mu.Lock()
	session := h.sessionsByRuntimeID[m.SessionID]
	if m.SessionID != "" && session == nil {
		h.mu.Unlock()
		r.sendError(inReplyTo, altar.Errorf(altar.SessionInvalid, "there is no session %.140q", m.SessionID))
		return
	}
	for _, name := range m.ToolNames {
		tool := strings.TrimPrefix(name, r.id+"/") // section 5.1: names may have the runtime's id before them
		c := h.contracts[tool]
		switch {
		case c == nil:
			refuse(altar.Errorf(altar.ToolNotFound, "the Host has no contract of the name %.140q", name), name)
		case !c.allowsRuntime(r):
			refuse(altar.Errorf(altar.AuthorizationFailed, "the runtime %s may not fulfill the contract %.140q", r.id, name), name)
		case c.Streaming && !r.streaming:
			refuse(altar.Errorf(altar.InvalidParameters, "the contract %s is streaming, and the runtime has not announced that capability", name), name)
		default:
			tools[tool] = true
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
	if session != nil {
		delete(r.asked, m.SessionID)
	} else if r.questions > 0 {
		r.questions--
	}
	h.wakeWaiting()
	frames := r.nextRequests()
	h.mu.Unlock()
	for _, err := range refused {
		r.sendError(inReplyTo, err)
	}
	if count > maxRefusals {
		r.sendError(inReplyTo, altar.Errorf(altar.ToolNotFound, "%d more names were refused", count-maxRefusals).With("refused", count-maxRefusals))
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
	r.general = true
	// It need not say more about sessions, except those that it has answered for alone.
	covered := func(id string) bool {
		s := h.sessionsByRuntimeID[id]
		return s == nil || s.offers[r.id] == nil
	}
	r.waiting = slices.DeleteFunc(r.waiting, covered)
	maps.DeleteFunc(r.asked, func(id string, _ time.Time) bool { return covered(id) })
}

func (h *Host) removeFulfiller(name, id string) {
	delete(h.fulfillers[name], id)
	if len(h.fulfillers[name]) == 0 {
		delete(h.fulfillers, name)
	}
}

// nextRequests returns the next requests to the runtime about sessions, a few at a time. h.mu is held;
// the caller sends them after releasing it.
func (r *Runtime) nextRequests() [][]byte {
	var frames [][]byte
	for len(r.waiting) > 0 && len(r.asked) < maxAsked {
		id := r.waiting[0]
		r.waiting = r.waiting[1:]
		if r.h.sessionsByRuntimeID[id] == nil {
			continue
		}
		r.asked[id] = time.Now()
		frames = append(frames, altar.Encode(altar.RequestFulfillment{SessionID: id}))
	}
	return frames
}

func (r *Runtime) sendAll(frames [][]byte) {
	for _, frame := range frames {
		r.conn.Send(frame, false)
	}
}

// requests are frames that ask runtimes what they execute.
type requests map[*Runtime][][]byte

// addNext adds the next requests to a runtime about sessions. h.mu is held.
func (q requests) addNext(r *Runtime) {
	if frames := r.nextRequests(); frames != nil {
		q[r] = append(q[r], frames...)
	}
}

// send sends the requests. h.mu is not held.
func (q requests) send() {
	for r, frames := range q {
		r.sendAll(frames)
	}
}

// requestForSession asks runtimes about a new session, except those that have announced the tools
// that they execute in all sessions.
func (h *Host) requestForSession(s *session) {
	asking := requests{}
	h.mu.Lock()
	for _, r := range h.runtimes {
		if r.acknowledged && !r.general && len(r.waiting) < maxWaiting {
			r.waiting = append(r.waiting, s.runtimeID)
			asking.addNext(r)
		}
	}
	h.mu.Unlock()
	asking.send()
}

// dropRequests forgets that runtimes were asked about a session that ends, and returns what they are
// asked instead. h.mu is held.
func (h *Host) dropRequests(s *session) requests {
	asking := requests{}
	for _, r := range h.runtimes {
		if _, asked := r.asked[s.runtimeID]; asked {
			delete(r.asked, s.runtimeID)
			asking.addNext(r)
		}
	}
	return asking
}

// requestFulfillment asks every runtime again, because the contracts have changed: about all sessions, and
// about each one that it has answered for alone.
func (h *Host) requestFulfillment() {
	asking := requests{}
	h.mu.Lock()
	for _, r := range h.runtimes {
		if !r.acknowledged {
			continue // it has not been asked yet
		}
		r.questions++
		r.questioned = time.Now()
		asking[r] = [][]byte{altar.Encode(altar.RequestFulfillment{})}
	}
	for _, s := range h.sessions {
		for _, o := range s.offers {
			if asking[o.runtime] != nil && len(o.runtime.waiting) < maxWaiting {
				o.runtime.waiting = append(o.runtime.waiting, s.runtimeID)
			}
		}
	}
	for r := range asking {
		asking.addNext(r)
	}
	h.mu.Unlock()
	asking.send()
}

// unanswered returns how long the host still waits for runtimes that may offer tools in a session; 0 or
// less for none. h.mu is held.
func (h *Host) unanswered(s *session) time.Duration {
	var last time.Time
	for _, r := range h.runtimes {
		if r.questions > 0 && r.questioned.After(last) {
			last = r.questioned
		}
		if at, ok := r.asked[s.runtimeID]; ok && at.After(last) {
			last = at
		}
	}
	return time.Until(last.Add(answerTime))
}

// wakeWaiting wakes the calls that wait in [Host.awaitRuntime]. h.mu is held.
func (h *Host) wakeWaiting() {
	close(h.answered)
	h.answered = make(chan struct{})
}

// awaitAnswers waits until done, which is called with h.mu held, returns true. Right after a contract was
// approved, a session was made or a runtime has connected, the runtimes have not said yet what they
// execute: it waits for them, a second at most.
func (h *Host) awaitAnswers(ctx context.Context, s *session, done func() bool) {
	end := time.Now().Add(answerTime)
	for ctx.Err() == nil {
		h.mu.Lock()
		ended := done()
		wait, answered := min(h.unanswered(s), time.Until(end)), h.answered
		h.mu.Unlock()
		if ended || wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-answered:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// awaitRuntime is chooseRuntime for a call that begins: it gives runtimes that were just asked the time to
// answer, so that the call is not refused for that. The error says that the session has ended.
func (h *Host) awaitRuntime(ctx context.Context, s *session, tool, pinned string) (best *Runtime, lost bool, ended *altar.Error) {
	h.awaitAnswers(ctx, s, func() bool {
		if s.ended {
			ended = errSession(s.id)
			return true
		}
		best, lost = h.chooseRuntime(s, tool, pinned, nil)
		return best != nil
	})
	return best, lost, ended
}

// chooseRuntime returns the runtime of a tool in a session that runs the fewest calls, leaving out
// those tried. Of several, it returns the one whose last call is the longest ago. Without one, lost
// reports whether one was there before. pinned, when set, is the only one that may be chosen. h.mu
// is held.
func (h *Host) chooseRuntime(s *session, tool, pinned string, tried map[*Runtime]bool) (best *Runtime, lost bool) {
	c := h.contracts[tool]
	var load int
	var turn uint64
	considered := 0
	consider := func(r *Runtime) {
		if r.detached || h.runtimes[r.id] != r || tried[r] {
			lost = true
			return
		}
		if c != nil && !c.allowsRuntime(r) { // the contract has changed since the runtime was told
			return
		}
		n, last := r.countCalls()
		if best == nil || n < load || n == load && last < turn {
			best, load, turn = r, n, last
		}
		considered++
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
		if consider(r); considered >= 8 { // the order is random: eight are enough for an even load
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
