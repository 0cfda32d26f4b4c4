package crawler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/store"
)

// The fixed paths that a host is asked for.
const (
	pathAI      = "/.well-known/ai"        // AI Discovery §2.1
	pathAlias   = "/ai"                    // AI Discovery §4.1, after a 404 only
	pathSummary = "/.well-known/agis.json" // AGIS §11.1
)

// mostHopWait is how long a session waits for its turn with another host that a
// redirect or link leads to: so long that holds up a worker, and no longer.
const mostHopWait = 15 * time.Second

// A visit is what one session came to, ready to be committed.
type visit struct {
	entry *entry
	err   error  // the session could not be held; the rest is empty
	host  Host   // the record to be written
	seq   uint64 // of the record when the session began
	// docs are the current documents; put, drop and fresh say what of them is
	// to be written, to be deleted, and the bytes of what changed.
	docs   map[document.Kind]*document.Document
	put    map[document.Kind]bool
	drop   map[document.Kind]bool
	fresh  map[document.Kind][]byte
	result Result
}

// A session is one visit to one host under way. It belongs to one goroutine.
type session struct {
	c     *Crawler
	visit *visit
	begun time.Time // by the crawler's clock

	todo     []*ask
	verdicts map[string]*verdict // by host

	wire     *wire // to the host that the session is with now, nil before
	leave    func()
	lastDone time.Time // when the last request over the wire ended

	// down is set when the host itself could not be reached at all: that
	// settles everything at once.
	down *settlement
}

// session visits the host of an entry. It returns nil without an error when ctx
// ended meanwhile: the host then stays due. Errors are those of the store.
func (c *Crawler) session(ctx context.Context, e *entry) (*visit, error) {
	s := &session{
		c: c, begun: c.now(),
		visit: &visit{
			entry: e, docs: map[document.Kind]*document.Document{},
			put: map[document.Kind]bool{}, drop: map[document.Kind]bool{}, fresh: map[document.Kind][]byte{},
		},
		verdicts: map[string]*verdict{},
	}
	began := time.Now()
	inTime, cancel := context.WithTimeout(ctx, c.limits.session)
	defer cancel()
	err := s.load(ctx, e.name)
	if err == nil {
		err = s.run(inTime)
	}
	s.depart()
	if ctx.Err() != nil && !isFatal(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
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
	if h.Fetches == nil {
		h.Fetches = map[string]Fetch{}
	}
	if h.NotBefore == nil {
		h.NotBefore = map[string]time.Time{}
	}
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
	s.wellKnown(document.AI, pathAI)
	s.wellKnown(document.AGISSummary, pathSummary)
	s.linked()
	for len(s.todo) > 0 {
		a := s.pick()
		if err := s.step(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// pick returns the ask to go on with.
func (s *session) pick() *ask {
	for _, a := range s.todo {
		if a.kind == kindRobots {
			return a
		}
	}
	for _, a := range s.todo {
		if s.wire != nil && a.host == s.wire.host {
			return a
		}
	}
	return s.todo[0]
}

// step takes an ask one request further, or settles it.
func (s *session) step(ctx context.Context, a *ask) error {
	if s.down != nil {
		s.settle(a, *s.down)
		return nil
	}
	if a.kind != kindRobots {
		allowed, known, why, err := s.robots(ctx, a)
		if err != nil {
			return err
		}
		if !known {
			return nil // its robots.txt is asked for first
		}
		if !allowed {
			s.settle(a, settlement{outcome: RefusedByRobots, detail: why})
			return nil
		}
	}
	if end, ok := s.enter(ctx, a.host); !ok {
		s.settle(a, end)
		return nil
	}
	if a.kind == kindRobots && s.remembered(a.of) {
		s.drop(a) // another session asked while this one waited for its turn
		return nil
	}
	next, end := s.c.request(ctx, s.wire, a)
	s.lastDone = time.Now()
	switch {
	case end.outcome != "":
		if a.host == s.visit.host.Name && unreachable(a, end) {
			s.down = &end
		}
		s.settle(a, end)
	default:
		a.url, a.host = next, next.Hostname()
	}
	return nil
}

// unreachable reports that the host gave no answer of any kind, so that asking
// it for more in this visit is useless.
func unreachable(a *ask, end settlement) bool {
	if a.fetch.Status != 0 {
		return false
	}
	return classOf(end.outcome) == classDown || end.outcome == BlockedAddress
}

// robots reports whether robots.txt allows the ask. When that is not known yet
// it adds the ask that finds out.
func (s *session) robots(ctx context.Context, a *ask) (allowed, known bool, why string, err error) {
	v := s.verdicts[a.host]
	if v == nil {
		if v, err = s.knownVerdict(ctx, a.host); err != nil {
			return false, false, "", err
		}
		s.verdicts[a.host] = v
	}
	if v != nil {
		if allowed, known, why = v.allows(a.robotsPath()); known {
			return allowed, true, why, nil
		}
	}
	r, err := newAsk(kindRobots, a.host, "https://"+a.url.Host+"/robots.txt", s.c.now())
	if err != nil { // a.url was built by us or judged before
		return false, true, err.Error(), nil
	}
	r.of = a.host
	s.todo = append(s.todo, r)
	return false, false, "", nil
}

// knownVerdict returns what is remembered of a host's robots.txt, nil when
// nothing is or it is too old.
func (s *session) knownVerdict(ctx context.Context, host string) (*verdict, error) {
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
	}
	if h.Robots == nil || !s.begun.Before(h.NotBefore[kindRobots]) || s.begun.Sub(h.Robots.FetchedAt) >= robotsAge {
		return nil, nil
	}
	return &verdict{Robots: *h.Robots, until: h.NotBefore[kindRobots]}, nil
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
		h.Robots, h.NotBefore[kindRobots] = &v.Robots, v.until
	}
	return true
}

// enter takes the session to a host: it waits for its turn there and opens a
// wire. The settlement says why that cannot be.
func (s *session) enter(ctx context.Context, host string) (settlement, bool) {
	late := settlement{outcome: Timeout, detail: "the visit took longer than " + s.c.limits.session.String()}
	if ctx.Err() != nil {
		return late, false
	}
	if s.wire != nil && s.wire.host == host {
		return s.crawlDelay(ctx, host, late)
	}
	s.depart()
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if host != s.visit.host.Name {
		waiting, cancel = context.WithTimeout(ctx, mostHopWait)
	}
	defer cancel()
	leave, err := s.c.politeness.enter(waiting, host)
	if err != nil {
		if ctx.Err() != nil {
			return late, false
		}
		return settlement{outcome: Throttled, detail: "too many visits want to ask " + host + " at once; this one waits for another time"}, false
	}
	s.leave, s.wire, s.lastDone = leave, s.c.transport.open(host), time.Time{}
	return settlement{}, true
}

// crawlDelay waits out the Crawl-delay between two requests to one host.
func (s *session) crawlDelay(ctx context.Context, host string, late settlement) (settlement, bool) {
	v := s.verdicts[host]
	if v == nil || v.Delay == 0 || s.lastDone.IsZero() {
		return settlement{}, true
	}
	timer := time.NewTimer(v.Delay - time.Since(s.lastDone))
	defer timer.Stop()
	select {
	case <-timer.C:
		return settlement{}, true
	case <-ctx.Done():
		return late, false
	}
}

// depart closes the wire and ends the turn, if there is one.
func (s *session) depart() {
	if s.wire == nil {
		return
	}
	s.wire.close()
	s.leave()
	s.wire, s.leave = nil, nil
}

// wellKnown adds the ask for a fixed path if it is due.
func (s *session) wellKnown(kind document.Kind, path string) {
	h := &s.visit.host
	if h.NotBefore[string(kind)].After(s.begun) {
		return
	}
	a, err := newAsk(string(kind), h.Name, "https://"+h.Name+path, s.c.now())
	if err != nil { // the name was checked before it was stored
		s.c.log.Error("a stored host name makes no URL", "host", h.Name, "error", err)
		return
	}
	s.add(a)
}

func (s *session) add(a *ask) {
	a.prev = s.visit.host.Fetches[a.kind]
	_, a.copied = s.visit.docs[document.Kind(a.kind)]
	s.todo = append(s.todo, a)
}

// linked adds the ask for the full AGIS document if a current document names
// an https address for it and it is due. A new address is due at once: what
// was said of another address does not hold for it.
func (s *session) linked() {
	kind := string(document.AGIS)
	if slices.ContainsFunc(s.todo, func(a *ask) bool { return a.kind == kind || a.kind == string(document.AGISSummary) }) {
		return // it is under way, or the summary is about to say where it is
	}
	h := &s.visit.host
	address := s.agisAddress()
	prev := h.Fetches[kind]
	if address == "" || prev.URL == address && h.NotBefore[kind].After(s.begun) {
		return
	}
	a, err := newAsk(kind, h.Name, address, s.c.now())
	if err != nil {
		return
	}
	base := *a.url
	base.Path = "/"
	u, end := s.c.target(&base, address)
	s.add(a)
	if end.outcome != "" {
		s.settle(a, end)
		return
	}
	a.url, a.host = u, u.Hostname()
	if prev.URL != address {
		a.copied = false
	}
}

// agisAddress returns where the full AGIS document is, as far as it can be
// asked for: an address of another scheme is for others.
func (s *session) agisAddress() string {
	for _, kind := range []document.Kind{document.AGISSummary, document.AI} {
		d := s.visit.docs[kind]
		if d == nil {
			continue
		}
		for _, l := range d.Links[:min(len(d.Links), mostLinks)] {
			if l.Rel == document.RelAGISDocument && strings.HasPrefix(strings.ToLower(l.URL), "https://") {
				return l.URL
			}
		}
	}
	return ""
}

// settle ends an ask: it judges the bytes if there are any, notes the fetch and
// adds what follows from it.
func (s *session) settle(a *ask, end settlement) {
	s.drop(a)
	f := &a.fetch
	f.Outcome, f.Detail = end.outcome, end.detail
	if a.kind == kindRobots {
		s.settleRobots(a)
		return
	}
	kind := document.Kind(a.kind)
	f.Repeats = repeats(a.prev, *f)
	switch {
	case f.Outcome == OK:
		s.read(a)
	case f.Outcome == Unchanged:
		s.keep(a)
	case end.definite:
		s.remove(kind)
	case s.visit.docs[kind] != nil: // it stays what is known of the host
		carry(f, a.prev)
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

func (s *session) drop(a *ask) {
	s.todo = slices.DeleteFunc(s.todo, func(other *ask) bool { return other == a })
}

// note keeps a settled fetch of a document.
func (s *session) note(a *ask) {
	h := &s.visit.host
	h.Fetches[a.kind] = a.fetch
	h.NotBefore[a.kind] = s.c.now().Add(waitAfter(h.Name, a.fetch))
	// A host that is refused or silent as a whole is asked again when its
	// robots.txt is.
	if at := h.NotBefore[kindRobots]; classOf(a.fetch.Outcome) == classRefused && a.host == h.Name && !at.IsZero() {
		h.NotBefore[a.kind] = at
	}
	s.visit.result.Fetches = append(s.visit.result.Fetches, a.fetch)
}

// carry takes over from the fetch before what describes the document that is
// still current.
func carry(f *Fetch, prev Fetch) {
	f.Digest, f.Bytes, f.ETag, f.LastModified = prev.Digest, prev.Bytes, prev.ETag, prev.LastModified
	if f.MediaType == "" {
		f.MediaType = prev.MediaType
	}
	if f.Final == "" {
		f.Final = prev.Final
	}
}

// settleRobots turns a fetch of robots.txt into a verdict.
func (s *session) settleRobots(a *ask) {
	now := s.c.now()
	f := &a.fetch
	h := &s.visit.host
	if a.of == h.Name {
		f.Repeats = repeats(h.Fetches[kindRobots], *f)
	}
	r, rules := judgeRobots(*f, now, s.c.maxCrawlDelay)
	f.Body = nil
	down := classOf(f.Outcome) == classDown
	wait := robotsAge
	if slices.Contains(r.Disallowed, everything) && classOf(f.Outcome) != classGood {
		// It could not be had: a host that is busy is asked again soon, one that
		// is silent when its documents are.
		if wait = waitAfter(a.of, *f); !down {
			wait = min(wait, robotsAge)
		}
	}
	v := &verdict{Robots: r, rules: rules, until: now.Add(wait)}
	s.verdicts[a.of] = v
	if !down {
		s.c.robots.keep(a.of, v)
	}
	if a.of == h.Name {
		h.Fetches[kindRobots], h.NotBefore[kindRobots], h.Robots = *f, v.until, &r
		s.visit.result.Fetches = append(s.visit.result.Fetches, *f)
	} else if down && f.Status == 0 {
		s.settleHost(a.of, settlement{outcome: f.Outcome, detail: f.Detail})
	}
}

// settleHost settles all that is wanted of another host that cannot be reached.
func (s *session) settleHost(host string, end settlement) {
	for _, a := range slices.Clone(s.todo) {
		if a.host == host {
			s.settle(a, end)
		}
	}
}

// read turns fetched bytes into the current document, or finds that they are
// none.
func (s *session) read(a *ask) {
	f := &a.fetch
	h := &s.visit.host
	kind := document.Kind(a.kind)
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
		f.Outcome = Unreadable
		if errors.Is(err, document.ErrOtherFormat) {
			f.Outcome = OtherFormat
		}
		f.Detail = clip(whyUnreadable(d, err), 300)
		f.Repeats = repeats(a.prev, *f)
		s.remove(kind)
		return
	}
	f.Digest = d.Digest
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

// keep notes that the stored document is current: the host says that it has not
// changed.
func (s *session) keep(a *ask) {
	carry(&a.fetch, a.prev)
	if a.fetch.Fresh == 0 {
		a.fetch.Fresh = a.prev.Fresh // RFC 9111 §4.3.4
	}
	d := *s.visit.docs[document.Kind(a.kind)]
	d.FetchedAt = a.fetch.At
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
	delete(s.visit.host.NotBefore, string(kind))
}

// afterAI asks for the alias after a 404, and drops what the alias had said as
// soon as the authoritative place answers otherwise (AI Discovery §4.1).
func (s *session) afterAI(f *Fetch) {
	switch {
	case f.Outcome == Absent:
		s.wellKnown(document.AIAlias, pathAlias)
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
		if f.Kind != kindRobots && (classOf(f.Outcome) == classGood || f.Outcome == Absent) {
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
	r.Host, r.NextDue, r.Took = h.Name, h.Due, took
	for _, d := range s.visit.docs {
		r.Documents++
		r.Operations += len(d.Operations)
	}
	r.Summary = summarize(r.Fetches, s.visit.docs)
}

// summarize says in one line what is known of a host after a visit.
func summarize(fetches []Fetch, stored map[document.Kind]*document.Document) string {
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
		if f.Kind == kindRobots || classOf(f.Outcome) == classGood || f.Outcome == Absent || said[reason] {
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
