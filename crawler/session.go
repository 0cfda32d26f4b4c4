package crawler

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// mostHopWait is how long a session waits for its turn with another host that a
// redirect or link leads to: so long that holds up a worker, and no longer.
const mostHopWait = 15 * time.Second

// A visit is what one session came to, ready to be committed.
type visit struct {
	entry *entry
	err   error     // the session could not be held; the rest is empty
	cut   bool      // the session was cut short: only what it asked is written
	later time.Time // nothing was asked: the turn of the address comes then
	host  Host      // the record to be written
	seq   uint64    // of the record when the session began
	// docs are the current documents; put, drop and fresh say what of them is
	// to be written, to be deleted, and the bytes of what changed.
	docs   map[document.Kind]*document.Document
	put    map[document.Kind]bool
	drop   map[document.Kind]bool
	fresh  map[document.Kind][]byte
	result Result

	ledger    map[string]*Entry // by the host that was asked
	why       string            // the visit is made
	requests  int               // that were made
	wireBytes int64
	waited    time.Duration // for turns and intervals
}

// A session is one visit to one host under way. It belongs to one goroutine.
type session struct {
	c     *Crawler
	visit *visit
	begun time.Time // by the crawler's clock

	todo     []*fetch.Ask
	bodies   map[document.Kind][]byte  // of the documents that were read
	before   map[string]fetch.Fetch    // the last fetch of each kind as the visit began
	verdicts map[string]*fetch.Verdict // by host

	// addresses are those of the hosts that were looked up. No host is looked up
	// twice in a visit, so that it cannot lead elsewhere half way.
	addresses map[string][]netip.Addr

	wire     *fetch.Wire // to the host that the session is with now, nil before
	leave    leave
	lastDone time.Time // when the last request over the wire ended

	// down is set when the host itself could not be reached at all: that
	// settles everything at once.
	down  *fetch.Settlement
	asked bool // a turn was asked for
	sang  bool // the canary was asked for
	// later is set when the address of the host has no turn to give yet.
	later time.Time
}

// session visits the host of an entry. It returns nil without an error when ctx
// ended meanwhile: the host then stays due. Errors are those of the store.
func (c *Crawler) session(ctx context.Context, e *entry) (*visit, error) {
	s := &session{
		c: c, begun: c.now(),
		visit: &visit{
			entry: e, docs: map[document.Kind]*document.Document{},
			put: map[document.Kind]bool{}, drop: map[document.Kind]bool{}, fresh: map[document.Kind][]byte{},
			ledger: map[string]*Entry{},
		},
		verdicts: map[string]*fetch.Verdict{}, bodies: map[document.Kind][]byte{}, addresses: map[string][]netip.Addr{},
	}
	began := time.Now()
	inTime, cancel := context.WithTimeout(ctx, c.sessionTime)
	defer cancel()
	err := s.load(ctx, e.name)
	if err == nil {
		err = s.run(inTime)
	}
	if err == nil && ctx.Err() == nil {
		err = s.crossCheck(ctx)
	}
	s.depart()
	if ctx.Err() != nil && !isFatal(err) {
		if len(s.visit.ledger) == 0 {
			return nil, nil
		}
		return &visit{entry: e, host: Host{Name: e.name}, ledger: s.visit.ledger, cut: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if !s.later.IsZero() {
		return &visit{entry: e, later: s.later}, nil
	}
	s.finish(time.Since(began))
	return s.visit, nil
}

// load reads the host's record and its current documents.
func (s *session) load(ctx context.Context, name string) error {
	var err error
	h := &s.visit.host
	if *h, s.visit.seq, err = s.c.host(ctx, name); err != nil {
		return err
	}
	s.visit.why = whyVisit(h)
	if h.Fetches == nil {
		h.Fetches = map[string]fetch.Fetch{}
	}
	if h.NotBefore == nil {
		h.NotBefore = map[string]time.Time{}
	}
	s.before = maps.Clone(h.Fetches)
	for kind, f := range h.Fetches {
		if f.Digest == "" {
			continue
		}
		d, err := s.c.document(ctx, name, kind)
		switch {
		case err == nil:
			s.visit.docs[document.Kind(kind)] = d
		case isFatal(err):
			return err
		case !errors.Is(err, store.ErrNotFound):
			// Without it the document is asked for as if for the first time,
			// which replaces the damaged record.
			s.c.log.Warn("a stored document cannot be read", "host", name, "kind", kind, "error", err)
		}
	}
	return nil
}

// run asks what is due, and what follows from the answers. The robots.txt that
// an ask needs goes first; then whatever is wanted of the host whose turn the
// session has, so that each host is entered once or twice, not for each ask.
func (s *session) run(ctx context.Context) error {
	s.wellKnown(document.AI)
	s.wellKnown(document.AGISSummary)
	s.linked()
	for len(s.todo) > 0 && s.later.IsZero() {
		a := s.pick()
		if err := s.step(ctx, a); err != nil {
			return err
		}
		if len(s.todo) == 0 && !s.sang && s.doubtful() {
			s.sang = true
			s.canary()
		}
	}
	return nil
}

// pick returns the ask to go on with.
func (s *session) pick() *fetch.Ask {
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

// step takes an ask one request further, or settles it.
func (s *session) step(ctx context.Context, a *fetch.Ask) error {
	if s.down != nil {
		s.settle(a, *s.down)
		return nil
	}
	why, err := s.c.barred(ctx, a.Host)
	if err != nil {
		return err
	}
	if why != "" {
		s.settle(a, fetch.Settlement{Outcome: fetch.OptedOut, Detail: why})
		return nil
	}
	if a.Kind != fetch.KindRobots {
		allowed, known, why, err := s.robots(ctx, a)
		if err != nil {
			return err
		}
		if !known {
			return nil // its robots.txt is asked for first
		}
		if !allowed {
			s.settle(a, fetch.Settlement{Outcome: fetch.RefusedByRobots, Detail: why})
			return nil
		}
	}
	if end := s.enter(ctx, a.Host); end.Outcome != "" || !s.later.IsZero() {
		if s.later.IsZero() {
			s.refused(a, end)
		}
		return nil
	}
	if a.Kind == fetch.KindRobots && s.remembered(a.Of) {
		s.drop(a) // another session asked while this one waited for its turn
		return nil
	}
	asked := a.Host
	end := s.wire.Ask(ctx, a, s.c.get)
	s.noteRequest(a, asked)
	if t := a.Connection(); t != nil && asked == s.visit.host.Name {
		s.visit.host.TLS = t
	}
	s.lastDone = time.Now()
	s.visit.requests++
	s.visit.wireBytes += a.Made.WireBytes
	if end.Outcome == "" {
		return nil // a redirect leads on
	}
	s.refused(a, end)
	return nil
}

// refused settles an ask, and with it all others when the host itself cannot be
// reached.
func (s *session) refused(a *fetch.Ask, end fetch.Settlement) {
	if a.Host == s.visit.host.Name && a.Unreachable(end) {
		s.down = &end
	}
	s.settle(a, end)
}

// robots reports whether robots.txt allows the ask. When that is not known yet
// it adds the ask that finds out.
func (s *session) robots(ctx context.Context, a *fetch.Ask) (allowed, known bool, why string, err error) {
	v := s.verdicts[a.Host]
	if v == nil {
		if v, err = s.knownVerdict(ctx, a.Host); err != nil {
			return false, false, "", err
		}
		s.verdicts[a.Host] = v
	}
	if v != nil {
		if allowed, known, why = v.Allows(a.Path()); known {
			return allowed, true, why, nil
		}
	}
	s.todo = append(s.todo, a.Robots(s.c.now()))
	return false, false, "", nil
}

// knownVerdict returns what is remembered of a host's robots.txt, nil when
// nothing is or it is too old.
func (s *session) knownVerdict(ctx context.Context, host string) (*fetch.Verdict, error) {
	if s.remembered(host) {
		return s.verdicts[host], nil
	}
	h := &s.visit.host
	if host != h.Name {
		other, _, err := s.c.host(ctx, host)
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
	return &fetch.Verdict{Robots: *h.Robots, Until: h.NotBefore[fetch.KindRobots]}, nil
}

// remembered takes over the verdict that this or another session left in memory,
// and reports whether there is one.
func (s *session) remembered(host string) bool {
	v := s.c.robots.verdict(host, s.begun)
	if v == nil {
		return false
	}
	s.verdicts[host] = v
	if h := &s.visit.host; host == h.Name {
		h.Robots, h.NotBefore[fetch.KindRobots] = &v.Robots, v.Until
	}
	return true
}

// enter takes the session to a host: it waits for its turn there, connects and
// has a wire. The settlement is set when that cannot be.
func (s *session) enter(ctx context.Context, host string) fetch.Settlement {
	late := fetch.Settlement{Outcome: fetch.Timeout, Detail: "the visit took longer than " + s.c.sessionTime.String()}
	if ctx.Err() != nil {
		return late
	}
	if s.wire != nil && s.wire.Host() == host {
		return s.crawlDelay(ctx, host, late)
	}
	s.depart()
	addrs, end := s.lookUp(ctx, host)
	if end.Outcome != "" {
		return end
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if host != s.visit.host.Name {
		waiting, cancel = context.WithTimeout(ctx, mostHopWait)
	}
	defer cancel()
	begun := time.Now()
	end, err := s.approach(ctx, waiting, host, addrs)
	s.visit.waited += time.Since(begun)
	switch {
	case err != nil && ctx.Err() != nil:
		end = late
	case err != nil:
		end = fetch.Settlement{Outcome: fetch.Throttled, Detail: "too many visits want to ask " + host + " at once; this one waits for another time"}
	}
	if end.Outcome != "" || !s.later.IsZero() {
		s.depart()
	}
	return end
}

// lookUp returns the addresses of a host, as they were when the visit first wanted
// them.
func (s *session) lookUp(ctx context.Context, host string) ([]netip.Addr, fetch.Settlement) {
	if addrs, known := s.addresses[host]; known {
		return addrs, fetch.Settlement{}
	}
	addrs, end := s.c.transport.Resolve(ctx, host)
	if end.Outcome == "" {
		s.addresses[host] = addrs
	}
	return addrs, end
}

// approach waits for the turns of an address and of the host and connects,
// trying one address after the other. The error says that a wait took too long.
func (s *session) approach(ctx, waiting context.Context, host string, addrs []netip.Addr) (fetch.Settlement, error) {
	var end fetch.Settlement
	s.wire, s.lastDone = s.c.transport.Open(host), time.Time{}
	for i, addr := range append(slices.Clip(addrs), netip.Addr{})[:max(len(addrs), 1)] {
		if addr.IsValid() {
			if free, err := s.arrive(waiting, host, addr); err != nil || !free {
				return end, err
			}
		}
		if i == 0 {
			if err := s.c.politeness.enter(waiting, &s.leave, host); err != nil {
				return end, err
			}
		}
		if err := s.leave.begin(waiting); err != nil {
			return end, err
		}
		s.c.journal.begin(s.visit.host.Name, host, addr, s.c.now())
		if !addr.IsValid() { // the dialler alone knows where it leads
			return end, nil
		}
		if end = s.wire.Connect(ctx, addr, len(addrs)); end.Outcome == "" || ctx.Err() != nil {
			return end, nil
		}
	}
	return end, nil
}

// arrive takes the turn of an address. Before anything was asked of the host
// itself it does not wait: the visit is for later then, when it is not free.
func (s *session) arrive(waiting context.Context, host string, addr netip.Addr) (free bool, err error) {
	first := !s.asked
	s.asked = true
	if host != s.visit.host.Name || !first {
		err = s.c.politeness.arrive(waiting, &s.leave, addr)
		return err == nil, err
	}
	s.later, free = s.c.politeness.book(&s.leave, addr, s.visit.entry.booked)
	return free, nil
}

// crawlDelay waits out the Crawl-delay between two requests to one host.
func (s *session) crawlDelay(ctx context.Context, host string, late fetch.Settlement) fetch.Settlement {
	v := s.verdicts[host]
	if v == nil || v.Delay == 0 || s.lastDone.IsZero() {
		return fetch.Settlement{}
	}
	timer := time.NewTimer(v.Delay - time.Since(s.lastDone))
	defer timer.Stop()
	select {
	case <-timer.C:
		return fetch.Settlement{}
	case <-ctx.Done():
		return late
	}
}

// depart closes the wire and ends the turn, if there is one.
func (s *session) depart() {
	if s.wire == nil {
		return
	}
	s.wire.Close()
	s.leave.end()
	s.wire = nil
}

// wellKnown adds the ask for a fixed path if it is due.
func (s *session) wellKnown(kind document.Kind) {
	h := &s.visit.host
	if h.NotBefore[string(kind)].After(s.begun) {
		return
	}
	format, _ := document.FormatOf(kind)
	s.add(fetch.NewAsk(string(kind), h.Name, format.WellKnown, s.c.now()))
}

func (s *session) add(a *fetch.Ask) {
	a.Prev = s.visit.host.Fetches[a.Kind]
	_, a.Copied = s.visit.docs[document.Kind(a.Kind)]
	s.todo = append(s.todo, a)
}

// linked adds the ask for the full AGIS document if a current document names
// an https address for it and it is due. A new address is due at once: what
// was said of another address does not hold for it.
func (s *session) linked() {
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
	s.add(a)
	if prev.URL != address {
		a.Copied = false
	}
	if end.Outcome != "" {
		s.settle(a, end)
	}
}

// agisAddress returns where the full AGIS document is, as far as it can be
// asked for: an address of another scheme is for others.
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
