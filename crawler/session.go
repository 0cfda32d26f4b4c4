package crawler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
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

// settle ends an ask: it judges the bytes if there are any, notes the fetch and
// adds what follows from it.
func (s *session) settle(a *fetch.Ask, end fetch.Settlement) {
	s.drop(a)
	f := &a.Fetch
	f.Outcome, f.Detail = end.Outcome, end.Detail
	if a.Kind == fetch.KindRobots {
		s.settleRobots(a)
		return
	}
	if a.Kind == kindCanary {
		s.settleCanary(a)
		return
	}
	if saysNo(*f) {
		s.visit.host.Distinct = true
	}
	kind := document.Kind(a.Kind)
	f.Repeats = repeats(a.Prev, *f)
	found := a.Findings(end, s.c.now())
	switch {
	case f.Outcome == fetch.OK:
		s.read(a, found)
	case f.Outcome == fetch.Unchanged:
		s.keep(a)
	case end.Definite:
		s.remove(kind)
	case s.visit.docs[kind] != nil: // it stays what is known of the host
		carry(f, a.Prev)
	}
	if f.Outcome != fetch.OK && tells(f.Outcome) {
		f.Findings = bounded(append(found, f.Findings...))
	}
	f.Body = nil
	s.note(a)
	switch kind {
	case document.AI:
		s.afterAI(f)
	case document.AGISSummary:
		s.afterSummary()
	}
}

func (s *session) drop(a *fetch.Ask) {
	s.todo = slices.DeleteFunc(s.todo, func(other *fetch.Ask) bool { return other == a })
}

// note keeps a settled fetch of a document.
func (s *session) note(a *fetch.Ask) {
	h := &s.visit.host
	h.Fetches[a.Kind] = a.Fetch
	rate := h.Rates[a.Kind]
	if prev := a.Prev; prev.Digest != "" && a.Fetch.Digest != "" && classOf(prev.Outcome) == classGood && classOf(a.Fetch.Outcome) == classGood {
		rate.add(a.Fetch.Digest == prev.Digest, a.Fetch.At.Sub(prev.At))
		if h.Rates == nil {
			h.Rates = map[string]Rate{}
		}
		h.Rates[a.Kind] = rate
	}
	h.NotBefore[a.Kind] = s.c.now().Add(waitAfter(h.Name, a.Fetch, rate))
	// A host that is refused or silent as a whole is asked again when its
	// robots.txt is.
	if at := h.NotBefore[fetch.KindRobots]; classOf(a.Fetch.Outcome) == classRefused && a.Host == h.Name && !at.IsZero() {
		h.NotBefore[a.Kind] = at
	}
	s.visit.result.Fetches = append(s.visit.result.Fetches, a.Fetch)
}

// carry takes over from the fetch before what describes the document that is
// still current.
func carry(f *fetch.Fetch, prev fetch.Fetch) {
	f.Digest, f.Bytes, f.ETag, f.LastModified = prev.Digest, prev.Bytes, prev.ETag, prev.LastModified
	if f.MediaType == "" {
		f.MediaType = prev.MediaType
	}
	if f.Final == "" {
		f.Final = prev.Final
	}
}

// settleRobots turns a fetch of robots.txt into a verdict.
func (s *session) settleRobots(a *fetch.Ask) {
	now := s.c.now()
	f := &a.Fetch
	h := &s.visit.host
	if a.Of == h.Name {
		f.Repeats = repeats(h.Fetches[fetch.KindRobots], *f)
	}
	v := fetch.JudgeRobots(*f, now, s.c.maxCrawlDelay)
	if a.Of == h.Name && (saysNo(*f) || isRobots(f.Body)) {
		h.Distinct = true
	}
	f.Body = nil
	down := classOf(f.Outcome) == classDown || isBlocked(*f)
	wait := fetch.RobotsAge
	if v.Closed() && classOf(f.Outcome) != classGood {
		// It could not be had: a host that is busy is asked again soon, one that
		// is silent when its documents are.
		if wait = waitAfter(a.Of, *f, Rate{}); !down {
			wait = min(wait, fetch.RobotsAge)
		}
	}
	v.Until = now.Add(wait)
	s.verdicts[a.Of] = v
	if !down {
		s.c.robots.keep(a.Of, v)
	}
	if a.Of == h.Name {
		h.Fetches[fetch.KindRobots], h.NotBefore[fetch.KindRobots], h.Robots = *f, v.Until, &v.Robots
		s.visit.result.Fetches = append(s.visit.result.Fetches, *f)
	} else if down && f.Status == 0 {
		s.settleHost(a.Of, fetch.Settlement{Outcome: f.Outcome, Detail: f.Detail})
	}
}

// isBlocked reports that a host was not asked, since its address must not be: the
// outcome is then that of whatever is wanted of it, and not the word of a
// robots.txt.
func isBlocked(robots fetch.Fetch) bool {
	return robots.Outcome == fetch.BlockedAddress && robots.Status == 0
}

// settleHost settles all that is wanted of another host that cannot be reached.
func (s *session) settleHost(host string, end fetch.Settlement) {
	for _, a := range slices.Clone(s.todo) {
		if a.Host == host {
			s.settle(a, end)
		}
	}
}

// read turns fetched bytes into the current document, or finds that they are
// none. What the fetch found is kept with the document.
func (s *session) read(a *fetch.Ask, found []protocol.Finding) {
	f := &a.Fetch
	h := &s.visit.host
	kind := document.Kind(a.Kind)
	source, from := document.OwnerPublished, f.Final
	if kind == document.AGIS {
		source = document.Linked
	}
	if from == "" {
		from = f.URL
	}
	d, err := document.Read(document.Input{
		Kind: kind, Host: h.Name, URL: from, MediaType: f.MediaType,
		Source: source, FetchedAt: f.At, Bytes: f.Body,
	})
	if err != nil {
		f.Outcome = fetch.Unreadable
		if errors.Is(err, document.ErrOtherFormat) {
			f.Outcome = fetch.OtherFormat
		}
		f.Detail = fetch.Clip(whyUnreadable(d, err), 300)
		if d != nil {
			f.Findings = d.Findings
		}
		f.Repeats = repeats(a.Prev, *f)
		s.remove(kind)
		return
	}
	f.Digest = d.Digest
	s.bodies[kind] = f.Body
	addFindings(d, found)
	before := s.visit.docs[kind]
	d.ChangedAt = f.At
	if before != nil && before.Digest == d.Digest {
		d.ChangedAt = before.ChangedAt
	} else {
		s.visit.fresh[kind] = f.Body
	}
	s.current(kind, d)
}

// whyUnreadable says which rule the bytes break, where, and how to mend it.
func whyUnreadable(d *document.Document, err error) string {
	if d == nil || len(d.Findings) == 0 {
		return err.Error()
	}
	f := d.Findings[0]
	text := f.Code
	if f.Line > 0 {
		text += fmt.Sprintf(" at line %d, column %d", f.Line, f.Column)
	}
	text += ": " + f.Message
	if f.Help != "" {
		text += "; " + f.Help
	}
	return text
}

// addFindings puts what the fetch found before what the reader did, once each. A
// document that breaks its draft on the way to us does not conform to it.
func addFindings(d *document.Document, found []protocol.Finding) {
	for _, f := range d.Findings {
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	d.Findings = found
	if !d.Valid() {
		d.Level = 0
	}
}

// crossCheck compares the AGIS summary with the full document when one of them
// was asked for in this visit and they may have come to differ. What differs is
// kept with the summary, or with its fetch where that was refused.
func (s *session) crossCheck(ctx context.Context) error {
	v := s.visit
	summary, full := v.docs[document.AGISSummary], v.docs[document.AGIS]
	read := s.bodies[document.AGISSummary] != nil || s.bodies[document.AGIS] != nil
	refused := v.fetched(document.AGISSummary).Outcome == fetch.Forbidden && full != nil
	if !refused && (summary == nil || !read && !v.drop[document.AGIS]) {
		return nil
	}
	var other []byte
	if full != nil {
		var err error
		if other, err = s.bytesOf(ctx, full); other == nil {
			return err
		}
	}
	if refused {
		s.checkAccess(other)
	}
	if summary == nil {
		return nil
	}
	one, err := s.bytesOf(ctx, summary)
	if one == nil {
		return err
	}
	s.compare(summary, one, other)
	s.inherit(full, one, other)
	return nil
}

// inherit gives a full document, which may be nil, the interaction protocols that
// only its summary can declare: its operations are found by them.
func (s *session) inherit(full *document.Document, one, other []byte) {
	if other == nil {
		return
	}
	protocols, err := document.Protocols(one, other)
	if err != nil || slices.Equal(protocols, full.Service.Protocols) {
		return // an error was logged by compare
	}
	with := *full
	with.Service.Protocols = protocols
	s.current(document.AGIS, &with)
}

// compare puts into the summary what it says otherwise than the full document,
// and takes out what an earlier comparison said. The document may be nil.
func (s *session) compare(summary *document.Document, one, other []byte) {
	checked := *summary
	checked.Findings = slices.DeleteFunc(slices.Clone(summary.Findings), func(f protocol.Finding) bool { return f.Code == document.CodeDiffers })
	if other != nil {
		differs, err := document.CrossCheck(one, other)
		if err != nil { // stored by a reader that took more for a document
			s.c.log.Warn("a summary cannot be compared with its document", "host", summary.Host, "error", err)
			return
		}
		checked.Findings = append(checked.Findings, differs...)
	}
	if !slices.Equal(checked.Findings, summary.Findings) {
		s.current(document.AGISSummary, &checked)
	}
}

// checkAccess notes with the refused fetch of the summary that its full document
// promises otherwise.
func (s *session) checkAccess(full []byte) {
	f := s.visit.fetched(document.AGISSummary)
	found, err := document.CheckAccess(f.Status, full)
	if err != nil {
		s.c.log.Warn("a document cannot be read again", "host", s.visit.host.Name, "error", err)
		return
	}
	f.Findings = bounded(append(slices.Clone(f.Findings), found...))
	s.visit.host.Fetches[f.Kind] = *f
}

// fetched returns the fetch of a kind in this visit, an empty one when there was
// none.
func (v *visit) fetched(kind document.Kind) *fetch.Fetch {
	for i := range v.result.Fetches {
		if f := &v.result.Fetches[i]; f.Kind == string(kind) {
			return f
		}
	}
	return &fetch.Fetch{}
}

// bytesOf returns the bytes of a current document, nil when they are lost. The
// error is of the store as a whole.
func (s *session) bytesOf(ctx context.Context, d *document.Document) ([]byte, error) {
	if body := s.bodies[d.Kind]; body != nil {
		return body, nil
	}
	r, err := s.c.store.Get(ctx, store.BlobKey(d.Digest))
	switch {
	case err == nil:
		return r.Value, nil
	case isFatal(err):
		return nil, err
	}
	s.c.log.Warn("the bytes of a document cannot be read", "host", d.Host, "kind", d.Kind, "error", err)
	return nil, nil
}

// tells reports that there is something to mend behind an outcome without a
// document, which is worth keeping: of a host that publishes nothing, or that is
// not there, the outcome says all.
func tells(o fetch.Outcome) bool {
	return !slices.Contains([]fetch.Outcome{fetch.Unchanged, fetch.Absent, fetch.DNSFailed, fetch.Unreachable, fetch.BlockedAddress}, o)
}

// mostFindings is how many findings are kept with a fetch.
const mostFindings = 50

// bounded cuts a list of findings as the readers cut theirs.
func bounded(findings []protocol.Finding) []protocol.Finding {
	if len(findings) <= mostFindings {
		return findings
	}
	rest := findings[mostFindings-1:]
	worst, _ := protocol.Worst(rest)
	return append(findings[:mostFindings-1:mostFindings-1], protocol.Finding{
		Code: protocol.CodeMore, Severity: worst,
		Message: fmt.Sprintf("%d more findings are not kept", len(rest)), Help: "mend the ones above first",
	})
}

// keep notes that the stored document is current: the host says that it has not
// changed.
func (s *session) keep(a *fetch.Ask) {
	carry(&a.Fetch, a.Prev)
	if a.Fetch.Fresh == 0 {
		a.Fetch.Fresh = a.Prev.Fresh // RFC 9111 §4.3.4
	}
	d := *s.visit.docs[document.Kind(a.Kind)]
	d.FetchedAt = a.Fetch.At
	s.current(d.Kind, &d)
}

func (s *session) current(kind document.Kind, d *document.Document) {
	s.visit.docs[kind], s.visit.put[kind] = d, true
	delete(s.visit.drop, kind)
}

// remove drops a document that is no longer current. Its versions stay.
func (s *session) remove(kind document.Kind) {
	delete(s.visit.put, kind)
	delete(s.visit.fresh, kind)
	if s.visit.docs[kind] != nil {
		delete(s.visit.docs, kind)
		s.visit.drop[kind] = true
	}
}

// forget drops a document together with what is known of fetching it.
func (s *session) forget(kind document.Kind) {
	s.remove(kind)
	delete(s.visit.host.Fetches, string(kind))
	delete(s.visit.host.Rates, string(kind))
	delete(s.visit.host.NotBefore, string(kind))
}

// afterAI asks for the alias after a 404, and drops what the alias had said as
// soon as the authoritative place answers otherwise (AI Discovery §4.1).
func (s *session) afterAI(f *fetch.Fetch) {
	switch {
	case f.Outcome == fetch.Absent:
		s.wellKnown(document.AIAlias)
	case s.visit.docs[document.AI] != nil || classOf(f.Outcome) == classGone:
		s.forget(document.AIAlias)
	}
}

// afterSummary asks for the full document that the summary names, or drops it
// when nothing names it any more.
func (s *session) afterSummary() {
	if s.agisAddress() == "" {
		s.forget(document.AGIS)
		return
	}
	s.linked()
}

// finish brings the host's record and the result up to the end of the visit.
func (s *session) finish(took time.Duration) {
	v := s.visit
	h := &v.host
	h.Visited = s.c.now()
	h.Visits++
	h.Failures++
	for _, f := range v.result.Fetches {
		if f.Kind != fetch.KindRobots && (classOf(f.Outcome) == classGood || f.Outcome == fetch.Absent) {
			h.Failures = 0
		}
	}
	// The alias is only asked for after the authoritative path.
	alias, ai := string(document.AIAlias), string(document.AI)
	if at, ok := h.NotBefore[alias]; ok && at.Before(h.NotBefore[ai]) {
		h.NotBefore[alias] = h.NotBefore[ai]
	}
	h.Due = dueAfter(h.NotBefore)
	if !h.Due.After(h.Visited) { // nothing was asked, so nothing was learned
		h.Due = h.Visited.Add(leastFresh)
	}
	r := &v.result
	r.Host, r.NextDue, r.TLS, r.Took = h.Name, h.Due, h.TLS, took
	for _, d := range s.visit.docs {
		r.Documents++
		r.Operations += len(d.Operations)
	}
	r.Requests, r.State = v.requests, stateOf(r.Documents, r.Fetches)
	r.Summary = summarize(r.Fetches, s.visit.docs)
}

// summarize says in one line what is known of a host after a visit.
func summarize(fetches []fetch.Fetch, stored map[document.Kind]*document.Document) string {
	var parts []string
	for _, kind := range []document.Kind{document.AI, document.AIAlias, document.AGISSummary, document.AGIS} {
		if d := stored[kind]; d != nil {
			part := fmt.Sprintf("%s %s", kind, operations(len(d.Operations)))
			switch n := breaches(d); {
			case n == 1:
				part += " (breaks its draft once)"
			case n > 1:
				part += fmt.Sprintf(" (breaks its draft %d times)", n)
			}
			parts = append(parts, part)
		}
	}
	said := map[string]bool{}
	for _, f := range fetches {
		reason := string(f.Outcome)
		if f.Detail != "" {
			reason += ": " + f.Detail
		}
		// What robots.txt came to is told by the documents it concerned. Of a
		// host that publishes something, what it does not publish is no news;
		// nor is the same reason twice.
		if f.Kind == fetch.KindRobots || classOf(f.Outcome) == classGood || f.Outcome == fetch.Absent || said[reason] {
			continue
		}
		said[reason] = true
		if len(parts) > 0 {
			reason = f.Kind + " " + reason
		}
		parts = append(parts, reason)
	}
	if len(parts) == 0 {
		return "absent: publishes neither an AI Discovery document nor an AGIS summary"
	}
	return strings.Join(parts, "; ")
}

// breaches counts the findings that are errors.
func breaches(d *document.Document) int {
	n := 0
	for _, f := range d.Findings {
		if f.Severity == protocol.Error {
			n++
		}
	}
	return n
}

func operations(n int) string {
	if n == 1 {
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}
