package crawler

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"gazetteer/conformance"
	"gazetteer/crawler/frontier"
	"gazetteer/crawler/politeness"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/wait"
	"gazetteer/store"
)

// maxHopWait limits how long a session waits for the slots of another host that a redirect or link
// leads to, because the wait occupies a worker.
const maxHopWait = 15 * time.Second

// A visit is the result of one session, ready to be committed.
type visit struct {
	entry       *frontier.DueHost
	err         error     // the session could not be held; the rest is empty
	interrupted bool      // the session ended early: only its requests are written
	later       time.Time // the visit is made then instead: nothing was asked, or interrupted is set
	host        Host      // the record to be written
	seq         uint64    // of the record when the session began
	// track is the host's in the record that seq counts.
	track *conformance.Track
	// docs are the current documents; put, drop and fresh are the documents to write and to delete,
	// and the bytes that changed.
	docs   map[document.Kind]*document.Document
	put    map[document.Kind]bool
	drop   map[document.Kind]bool
	fresh  map[document.Kind][]byte
	result Result

	crawlLog  map[string]*CrawlLogEntry // by the host that was asked
	why       string                    // the visit is made
	requests  int                       // that were made
	wireBytes int64
	waited    time.Duration // for slots and intervals
}

// A session is one visit to one host under way. It belongs to one goroutine.
type session struct {
	c     *Crawler
	visit *visit
	begun time.Time // by the crawler's clock

	todo     []*fetch.Ask
	bodies   map[document.Kind][]byte       // of the documents that were read
	before   map[string]fetch.Fetch         // the last fetch of each kind as the visit began
	policies map[string]*fetch.RobotsPolicy // by host

	// addresses are those of the hosts that were looked up. A visit looks up no host twice, so that
	// a host cannot lead elsewhere halfway.
	addresses map[string][]netip.Addr

	wire     *fetch.Connection // to the host that the session is with now, nil before
	slots    politeness.Slots
	lastDone time.Time // when the last request over the wire ended

	// down is set when the host itself could not be reached at all: this settles everything else at
	// once.
	down        *fetch.AskResult
	asked       bool // a slot was asked for
	canaryAsked bool // the canary was asked for
	// later is set when the address of the host has no free slot yet.
	later time.Time
	// starting ends when hosts may no longer be contacted; stopped is set when that kept the
	// session from going on.
	starting context.Context
	stopped  bool
	deferred bool // something needs another host that had no free slot
	// noNameServer is set when our own name server could not be reached.
	noNameServer bool
	// connected is when the first connection was about to be made. The time of the session begins
	// then: before, it waits for our own limits.
	connected time.Time
}

// runSession visits the host of an entry. It returns nil without an error when ctx ended in the
// meantime, or when starting ended before the host was asked anything: the host then stays due.
// Once starting has ended, the session contacts no further host. Errors are those of the store.
func (c *Crawler) runSession(starting, ctx context.Context, e *frontier.DueHost) (*visit, error) {
	s := &session{
		c: c, begun: c.now(), starting: starting,
		visit: &visit{
			entry: e, docs: map[document.Kind]*document.Document{},
			put: map[document.Kind]bool{}, drop: map[document.Kind]bool{}, fresh: map[document.Kind][]byte{},
			crawlLog: map[string]*CrawlLogEntry{},
		},
		policies: map[string]*fetch.RobotsPolicy{}, bodies: map[document.Kind][]byte{}, addresses: map[string][]netip.Addr{},
	}
	began := time.Now()
	c.pauses.beginSession()
	defer c.pauses.endSession()
	err := s.loadHost(ctx, e.Name)
	if err == nil {
		err = s.runAsks(ctx)
	}
	if err == nil && ctx.Err() == nil && !s.stopped {
		err = s.crossCheck(ctx)
	}
	s.leaveHost()
	switch {
	case (ctx.Err() != nil || s.stopped) && !isFatal(err):
		return s.interruptedVisit(), nil
	case err != nil:
		return nil, err
	case !s.later.IsZero():
		return &visit{entry: e, later: s.later}, nil
	case s.hasNoAnswer() && c.pauses.pausedSince(s.firstContact(began)):
		return s.repeatVisit(c.now().Add(waitAfterPause)), nil
	case s.noNameServer:
		return s.withoutNameServer(), nil
	case len(s.visit.result.Fetches) == 0 && s.deferred:
		return s.repeatVisit(c.now().Add(retryBusyHost)), nil
	}
	s.finishVisit(time.Since(began))
	return s.visit, nil
}

const (
	// waitAfterPause is after which time a host is visited again whose visit a pause of this
	// process interrupted.
	waitAfterPause = 5 * time.Second
	// retryBusyHost is after which time a host is asked again for what needs another host that
	// had no free slot.
	retryBusyHost = time.Minute
	// retryNameServer is after which time a host is visited again that could not be looked up because
	// our own name server could not be reached.
	retryNameServer = time.Minute
)

// interruptedVisit returns the visit of a session that ended early, nil if nothing was asked.
func (s *session) interruptedVisit() *visit {
	if len(s.visit.crawlLog) == 0 {
		return nil
	}
	return &visit{entry: s.visit.entry, host: Host{Name: s.visit.entry.Name}, crawlLog: s.visit.crawlLog, interrupted: true}
}

// repeatVisit returns a visit that is not stored, and made again at a later time.
func (s *session) repeatVisit(later time.Time) *visit {
	return &visit{entry: s.visit.entry, host: Host{Name: s.visit.entry.Name}, crawlLog: s.visit.crawlLog, interrupted: true, later: later}
}

// withoutNameServer returns the visit of a host that could not be looked up because our own name server
// could not be reached: it counts for nothing, and callers that wait for it learn why.
func (s *session) withoutNameServer() *visit {
	s.c.nameServerLog.Do(func() {
		s.c.log.Warn("the name server of this machine cannot be reached; hosts stay due until it can")
	})
	v := s.repeatVisit(s.c.now().Add(retryNameServer))
	v.result = Result{Host: v.entry.Name, State: Unvisited, Summary: "the name server of this machine cannot be reached; the host stays due", NextDue: v.later}
	return v
}

// firstContact returns when the session contacted a host first, or began if it contacted none. A pause
// while it waited for our own limits lost no answer.
func (s *session) firstContact(began time.Time) time.Time {
	if s.connected.IsZero() {
		return began
	}
	return s.connected
}

// hasNoAnswer reports whether a request of the session ended without an answer.
func (s *session) hasNoAnswer() bool {
	return slices.ContainsFunc(s.visit.result.Fetches, func(f fetch.Fetch) bool { return classOf(f.Outcome) == classDown })
}

// loadHost reads the host's record and its current documents.
func (s *session) loadHost(ctx context.Context, name string) error {
	var err error
	h := &s.visit.host
	if *h, s.visit.seq, err = s.c.readHost(ctx, name); err != nil {
		return err
	}
	s.visit.track = h.Track
	s.visit.why = whyVisit(h)
	if h.Fetches == nil {
		h.Fetches = map[string]fetch.Fetch{}
	}
	if h.NotBefore == nil {
		h.NotBefore = map[string]time.Time{}
	}
	h.forgetImpossibleTimes(s.begun)
	s.before = maps.Clone(h.Fetches)
	for kind, f := range h.Fetches {
		if f.Digest == "" {
			continue
		}
		d, err := s.c.readDocument(ctx, name, kind)
		switch {
		case err == nil:
			s.visit.docs[document.Kind(kind)] = d
		case isFatal(err):
			return err
		case !errors.Is(err, store.ErrNotFound):
			// Without it the document is requested as if for the first time, which replaces the
			// damaged record.
			s.c.log.Warn("a stored document cannot be read", "host", name, "kind", kind, "error", err)
		}
	}
	return nil
}

// runAsks makes the due requests and those that follow from their answers. The robots.txt that a
// request needs is requested first, then everything else for the host whose slot the session holds,
// so that the session enters each host once or twice and not for each request.
func (s *session) runAsks(ctx context.Context) error {
	s.addFormats()
	s.addLinked()
	inTime := ctx
	for len(s.todo) > 0 && s.later.IsZero() && !s.stopped {
		if inTime == ctx && !s.connected.IsZero() {
			var cancel context.CancelFunc
			inTime, cancel = context.WithDeadline(ctx, s.connected.Add(s.c.sessionTime))
			defer cancel()
		}
		a := s.nextAsk()
		if err := s.stepAsk(inTime, a); err != nil {
			return err
		}
		if len(s.todo) == 0 && !s.canaryAsked && s.needsCanary() {
			s.canaryAsked = true
			s.askCanary()
		}
	}
	return nil
}

// nextAsk returns the request to continue with.
func (s *session) nextAsk() *fetch.Ask {
	for _, a := range s.todo {
		if a.Kind == fetch.KindRobots {
			return a
		}
	}
	for _, a := range s.todo {
		if s.wire != nil && a.Host == s.wire.Host() {
			return a
		}
	}
	return s.todo[0]
}

// stepAsk takes a request one step further, or settles it.
func (s *session) stepAsk(ctx context.Context, a *fetch.Ask) error {
	if s.down != nil {
		s.settleAsk(a, *s.down)
		return nil
	}
	why, err := s.c.blockReason(ctx, a.Host)
	if err != nil {
		return err
	}
	if why != "" {
		s.settleAsk(a, fetch.AskResult{Outcome: fetch.OptedOut, Detail: why})
		return nil
	}
	if a.Kind != fetch.KindRobots {
		allowed, known, why, err := s.checkRobots(ctx, a)
		if err != nil {
			return err
		}
		if !known {
			return nil // its robots.txt is asked for first
		}
		if !allowed {
			s.settleAsk(a, fetch.AskResult{Outcome: fetch.RefusedByRobots, Detail: why})
			return nil
		}
	}
	end, entered := s.enterHost(ctx, a.Host)
	if !entered {
		if end.Outcome != "" {
			s.settleRefused(a, end)
		}
		return nil
	}
	if a.Kind == fetch.KindRobots && s.recallPolicy(a.Of) {
		s.dropAsk(a) // another session asked while this one waited for a slot
		return nil
	}
	asked := a.Host
	end = s.wire.Send(ctx, a, s.c.executeRequest)
	s.noteRequest(a, asked)
	if t := a.ConnectionTLS(); t != nil && asked == s.visit.host.Name {
		s.visit.host.TLS = t
	}
	s.lastDone = time.Now()
	s.visit.requests++
	s.visit.wireBytes += a.Made.WireBytes
	if end.Outcome == "" {
		return nil // a redirect leads on
	}
	s.settleRefused(a, end)
	if classOf(end.Outcome) == classBusy && a.Fetch.RetryAfter > 0 && a.Kind != fetch.KindRobots {
		s.deferUntil(a.Host, s.c.now().Add(a.Fetch.RetryAfter))
	}
	return nil
}

// deferUntil leaves a host that said when to come again alone until then.
func (s *session) deferUntil(host string, at time.Time) {
	if host == s.visit.host.Name {
		s.canaryAsked = true
	}
	for _, a := range slices.Clone(s.todo) {
		if a.Host == host {
			s.deferAsk(a, at)
		}
	}
}

// settleRefused settles a request, and all others with it when the host itself cannot be reached.
func (s *session) settleRefused(a *fetch.Ask, end fetch.AskResult) {
	if a.Host == s.visit.host.Name && a.Unreachable(end) {
		s.down = &end
	}
	s.noNameServer = s.noNameServer || end.NoNameServer
	s.settleAsk(a, end)
}

// checkRobots reports whether robots.txt allows the request. When that is not known yet, it adds
// the request that finds out.
func (s *session) checkRobots(ctx context.Context, a *fetch.Ask) (allowed, known bool, why string, err error) {
	v := s.policies[a.Host]
	if v == nil {
		if v, err = s.knownPolicy(ctx, a.Host); err != nil {
			return false, false, "", err
		}
		s.policies[a.Host] = v
	}
	if v != nil {
		if allowed, known, why = v.Allows(a.Path()); known {
			return allowed, true, why, nil
		}
	}
	s.todo = append(s.todo, a.Robots(s.c.now()))
	return false, false, "", nil
}

// knownPolicy returns the remembered policy on a host's robots.txt, or nil when there is none or
// it has expired.
func (s *session) knownPolicy(ctx context.Context, host string) (*fetch.RobotsPolicy, error) {
	if s.recallPolicy(host) {
		return s.policies[host], nil
	}
	h := &s.visit.host
	if host != h.Name {
		other, _, err := s.c.readHost(ctx, host)
		if isFatal(err) {
			return nil, err
		}
		h = &other // empty when there is none that can be read
		if isBlocked(h.Fetches[fetch.KindRobots]) {
			return nil, nil // nobody was asked: its address says so again
		}
	}
	if h.Robots == nil || !s.begun.Before(h.NotBefore[fetch.KindRobots]) || s.begun.Sub(h.Robots.FetchedAt) >= fetch.RobotsAge {
		return nil, nil
	}
	return &fetch.RobotsPolicy{Robots: *h.Robots, Until: h.NotBefore[fetch.KindRobots]}, nil
}

// recallPolicy loads the policy that this or another session left in memory, and reports whether
// there is one.
func (s *session) recallPolicy(host string) bool {
	v := s.c.robots.lookupPolicy(host, s.begun)
	if v == nil {
		return false
	}
	s.policies[host] = v
	if h := &s.visit.host; host == h.Name {
		h.Robots, h.NotBefore[fetch.KindRobots] = &v.Robots, v.Until
	}
	return true
}

// enterHost moves the session to a host: it waits for slots and connects, and reports whether
// the host can be asked. If it cannot, the result says why. It is empty if the fault is ours; the
// session then ends, or the request is deferred.
func (s *session) enterHost(ctx context.Context, host string) (end fetch.AskResult, entered bool) {
	late := fetch.AskResult{Outcome: fetch.Timeout, Detail: "the visit took longer than " + s.c.sessionTime.String()}
	if ctx.Err() != nil {
		return late, false
	}
	if s.wire != nil && s.wire.Host() == host {
		end = s.crawlDelay(ctx, host, late)
		return end, end.Outcome == ""
	}
	s.leaveHost()
	addrs, end := s.lookUp(ctx, host)
	if end.Outcome != "" {
		return end, false
	}
	waiting, cancel := context.WithCancel(ctx)
	if host != s.visit.host.Name {
		waiting, cancel = context.WithTimeout(ctx, maxHopWait)
	}
	defer cancel()
	defer context.AfterFunc(s.starting, cancel)()
	begun := time.Now()
	end, err := s.connectWithSlots(ctx, waiting, host, addrs)
	s.visit.waited += time.Since(begun)
	switch {
	case err != nil && s.starting.Err() != nil:
		s.stopped = true
	case err != nil && ctx.Err() != nil:
		end = late
	case err != nil:
		s.deferHost(host)
	}
	if err != nil || end.Outcome != "" || !s.later.IsZero() {
		s.leaveHost()
		return end, false
	}
	return end, true
}

// deferHost puts off everything that needs a host without a free slot. That we wait for our own
// limits says nothing about the host, so nothing is recorded.
func (s *session) deferHost(host string) {
	s.deferred = true
	s.deferUntil(host, s.c.now().Add(retryBusyHost))
}

// deferAsk puts off one request, and with a robots.txt every request that it decides about.
func (s *session) deferAsk(a *fetch.Ask, again time.Time) {
	s.dropAsk(a)
	if a.Kind != fetch.KindRobots {
		s.visit.host.NotBefore[a.Kind] = again
		return
	}
	for _, other := range slices.Clone(s.todo) {
		if other.Host == a.Of {
			s.deferAsk(other, again)
		}
	}
}

// lookUp returns the addresses of a host as they were at the visit's first lookup.
func (s *session) lookUp(ctx context.Context, host string) ([]netip.Addr, fetch.AskResult) {
	if addrs, known := s.addresses[host]; known {
		return addrs, fetch.AskResult{}
	}
	addrs, end := s.c.transport.Resolve(ctx, host)
	if end.Outcome == "" {
		s.addresses[host] = addrs
	}
	return addrs, end
}

// connectWithSlots waits for slots of an address and of the host and connects, trying one address
// after the other. The error says that a wait took too long.
func (s *session) connectWithSlots(ctx, waiting context.Context, host string, addrs []netip.Addr) (fetch.AskResult, error) {
	var end fetch.AskResult
	s.wire, s.lastDone = s.c.transport.NewConnection(host), time.Time{}
	for i, addr := range append(slices.Clip(addrs), netip.Addr{})[:max(len(addrs), 1)] {
		if addr.IsValid() {
			if free, err := s.waitForAddress(waiting, host, addr); err != nil || !free {
				return end, err
			}
		}
		if i == 0 {
			if err := s.c.politeness.EnterHost(waiting, &s.slots, host); err != nil {
				return end, err
			}
		}
		if err := s.slots.BeginIntervals(waiting); err != nil {
			return end, err
		}
		if err := waiting.Err(); err != nil {
			return end, err
		}
		if s.connected.IsZero() {
			s.connected = time.Now()
		}
		s.c.journal.BeginContact(s.visit.host.Name, host, addr, s.c.now())
		if !addr.IsValid() { // the dialler alone knows where it leads
			return end, nil
		}
		if end = s.wire.Connect(ctx, addr, len(addrs)); end.Outcome == "" || ctx.Err() != nil {
			return end, nil
		}
	}
	return end, nil
}

// waitForAddress takes a slot of an address. Before the host itself was asked anything it does
// not wait: if the address is not free, the visit is postponed.
func (s *session) waitForAddress(waiting context.Context, host string, addr netip.Addr) (free bool, err error) {
	first := !s.asked
	s.asked = true
	if host != s.visit.host.Name || !first {
		err = s.c.politeness.WaitForAddress(waiting, &s.slots, addr)
		return err == nil, err
	}
	s.later, free = s.c.politeness.BookAddress(&s.slots, addr, s.visit.entry.Reserved)
	return free, nil
}

// crawlDelay waits out the Crawl-delay between two requests to one host.
func (s *session) crawlDelay(ctx context.Context, host string, late fetch.AskResult) fetch.AskResult {
	v := s.policies[host]
	if v == nil || v.Delay == 0 || s.lastDone.IsZero() {
		return fetch.AskResult{}
	}
	if wait.For(ctx, v.Delay-time.Since(s.lastDone)) != nil {
		return late
	}
	return fetch.AskResult{}
}

// leaveHost closes the connection and releases the slots.
func (s *session) leaveHost() {
	if s.wire == nil {
		return
	}
	s.wire.Close()
	s.slots.Release()
	s.wire = nil
}

// addFormats adds the requests that are made at each visit. The data of a format that is no longer
// requested is dropped.
func (s *session) addFormats() {
	for _, f := range document.Formats {
		switch {
		case f.Request == document.Always || f.Request == document.OnDemand && slices.Contains(s.c.formats, f.Kind):
			s.addWellKnown(f.Kind)
		case f.Request == document.OnDemand:
			s.forgetDocument(f.Kind)
		}
	}
}

// addWellKnown adds the request for a fixed path if it is due.
func (s *session) addWellKnown(kind document.Kind) {
	h := &s.visit.host
	if h.NotBefore[string(kind)].After(s.begun) {
		return
	}
	format, _ := document.FormatOf(kind)
	s.addAsk(fetch.NewAsk(string(kind), h.Name, format.WellKnown, s.c.now()))
}

func (s *session) addAsk(a *fetch.Ask) {
	a.Prev = s.visit.host.Fetches[a.Kind]
	_, a.Copied = s.visit.docs[document.Kind(a.Kind)]
	s.todo = append(s.todo, a)
}

// addLinked adds the request for the full AGIS document if a current document names an https
// address for it and it is due. A new address is due at once: the waiting time of another address
// does not apply to it.
func (s *session) addLinked() {
	kind := string(document.AGIS)
	if slices.ContainsFunc(s.todo, func(a *fetch.Ask) bool { return a.Kind == kind || a.Kind == string(document.AGISSummary) }) {
		return // it is under way, or the summary is about to say where it is
	}
	h := &s.visit.host
	address := s.agisAddress()
	prev := h.Fetches[kind]
	if address == "" || prev.URL == address && h.NotBefore[kind].After(s.begun) {
		return
	}
	a, end := s.c.transport.NewAskFor(kind, address, s.c.now())
	s.addAsk(a)
	if prev.URL != address {
		a.Copied = false
	}
	if end.Outcome != "" {
		s.settleAsk(a, end)
	}
}

// agisAddress returns the address of the full AGIS document if it can be requested: addresses with
// another scheme cannot.
func (s *session) agisAddress() string {
	for _, kind := range []document.Kind{document.AGISSummary, document.AI} {
		if d := s.visit.docs[kind]; d != nil {
			if address := fetch.AGISAddress(d); address != "" {
				return address
			}
		}
	}
	return ""
}
