package crawler

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
	"golang.org/x/sync/errgroup"

	"gazetteer/crawler/frontier"
	"gazetteer/crawler/journal"
	"gazetteer/crawler/politeness"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/store"
)

// Options configure a [Crawler]. Only Store is required. For durations, intervals and the rate, 0
// means the default; a negative interval or rate means no limit.
type Options struct {
	Store store.Store
	Log   *slog.Logger // discarded when nil
	// Guard dials names and refuses forbidden addresses. Nil means a strict guard.
	Guard *fetch.Guard
	// Dial replaces the Guard in tests and in the demo.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Roots verify certificates. Nil means the system's roots.
	Roots *x509.CertPool
	// Ports lists the HTTPS ports that redirects and links may use. Empty means 443 only. A Guard
	// must allow them too.
	Ports []uint16
	// Resolver finds the addresses that politeness counts where Dial replaces the Guard. Without a
	// Resolver, politeness does not count by address in that case.
	Resolver fetch.Resolver
	// VerifyWholeChains is the option of [fetch.Options].
	VerifyWholeChains bool
	UserAgent         string // "Gazetteer/0.1"; robots.txt knows us as [fetch.RobotsToken]
	// Workers is the number of concurrent visits, 2,048 by default. A worker that waits for a
	// silent host takes about 40 kB of memory and no processor time.
	Workers int
	// Busy reports whether the machine has too much load for another visit; nil means never. A
	// visit that waits for a processor holds buffers without progress.
	Busy func() bool
	// Dir holds the frontier's snapshot and the journal of running visits. Without Dir, a restart
	// reads every host record and cannot tell which host ended the process.
	Dir string

	// Politeness limits: the interval between the starts of two visits to one host, registrable
	// domain or address, and the number of concurrent visits.
	HostInterval    time.Duration // 1 s
	HostAtOnce      int           // 1
	DomainInterval  time.Duration // 2 s
	DomainAtOnce    int           // 1
	AddressInterval time.Duration // 100 ms; of an IPv4 address or an IPv6 /64
	AddressAtOnce   int           // 8
	// Networks are exceptions for ranges of addresses, such as those of a large CDN. The first
	// range that contains an address applies.
	Networks      []politeness.NetworkLimit
	Rate          float64       // visits begun a second, to all hosts together; 200
	MaxCrawlDelay time.Duration // longest Crawl-delay honoured; 10 s

	Timeout        time.Duration // one request, connecting and body included; 10 s
	ConnectTimeout time.Duration // resolving and connecting; this and the next two as in [fetch.Options]
	TLSTimeout     time.Duration // the TLS handshake
	IdleTimeout    time.Duration // within an answer, from one byte to the next
	SessionTimeout time.Duration // one visit, from its first connection on; 2 min
	// Grace is the time for which running visits may continue after Run's context has ended, 10 s
	// by default. Visits that are not finished by then are dropped, and their hosts stay due.
	Grace time.Duration

	// Formats are the kinds to request in addition to the default ones: each must be
	// [document.OnDemand].
	Formats []document.Kind

	// Observe, when set, receives every visit after it was committed. It is called from one
	// goroutine and must not block.
	Observe func(Result)
	// Now is the clock that decides when hosts are due. Nil means time.Now.
	Now func() time.Time
}

// ErrStopped is returned by [Crawler.Crawl] when Run ended before its hosts were visited.
var ErrStopped = errors.New("the crawler has stopped")

// A Crawler visits hosts and stores what they publish. Its methods may be called from any
// goroutine.
type Crawler struct {
	store         store.Store
	log           *slog.Logger
	collector     *colly.Collector
	transport     *fetch.Transport
	userAgent     string
	politeness    *politeness.Limiter
	robots        *robotsCache
	journal       *journal.Journal
	workers       int
	busy          func() bool // nil: never
	dir           string
	maxCrawlDelay time.Duration
	formats       []document.Kind
	sessionTime   time.Duration
	grace         time.Duration
	observe       func(Result)
	now           func() time.Time
	pauses        pauseWatch

	blocking sync.Mutex // guards blocks
	blocks   blockList
	// blobbing is held for reading from the look for a stored blob to the commit of what refers to
	// it, and for writing while unused blobs are deleted.
	blobbing sync.RWMutex

	poke chan struct{} // holds one element while pending may have some

	mu      sync.Mutex // guards the following fields
	running bool
	adding  int // calls between writing hosts and putting them into pending
	pending []request
	runDone chan struct{} // closed when the present or next Run ends
	status  Status
	rate    rateMeter
	metrics Metrics
}

// A request asks the frontier to add a host and, if reply is set, to report the result. reply has
// room for it.
type request struct {
	host   string
	due    time.Time
	reply  chan<- Result
	remove bool // it is blocked
	again  bool // it is due then, regardless of the frontier
}

// Status describes the current activity of a crawler.
type Status struct {
	Known    int `json:"known"`     // hosts
	Waiting  int `json:"waiting"`   // of them not due yet
	Due      int `json:"due"`       // of them due, waiting for a worker or for a limit
	InFlight int `json:"in_flight"` // of them being visited
	// Since the start: committed visits, current documents they ended with, and visits that ended
	// without a document.
	Visits    int `json:"visits"`
	Documents int `json:"documents"`
	Errors    int `json:"errors"`
	// Rate is the number of visits per second over the last 10 seconds.
	Rate float64 `json:"rate"`
	// Paused is the reason why nothing can be stored at the moment, "" while storing works.
	Paused string `json:"paused,omitempty"`
}

// New returns a crawler. It starts nothing: see [Crawler.Run].
func New(o Options) (*Crawler, error) {
	if o.Store == nil {
		return nil, errors.New("crawler: no store")
	}
	o.setDefaults()
	transport, err := fetch.NewTransport(fetch.Options{
		Guard: o.Guard, Dial: o.Dial, Resolver: o.Resolver, Roots: o.Roots, Ports: o.Ports, UserAgent: o.UserAgent,
		Timeout: o.Timeout, ConnectTimeout: o.ConnectTimeout, TLSTimeout: o.TLSTimeout, IdleTimeout: o.IdleTimeout,
		VerifyWholeChains: o.VerifyWholeChains, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	return &Crawler{
		store: o.Store, log: o.Log, workers: o.Workers, busy: o.Busy, transport: transport, userAgent: o.UserAgent, collector: newCollector(transport),
		dir: o.Dir, journal: journal.New(o.Log), maxCrawlDelay: o.MaxCrawlDelay, formats: o.Formats,
		sessionTime: o.SessionTimeout, grace: o.Grace, observe: o.Observe, now: o.Now,
		politeness: politeness.New(politeness.Limits{
			Host:     politeness.Limit{Interval: o.HostInterval, AtOnce: o.HostAtOnce},
			Domain:   politeness.Limit{Interval: o.DomainInterval, AtOnce: o.DomainAtOnce},
			Address:  politeness.Limit{Interval: o.AddressInterval, AtOnce: o.AddressAtOnce},
			Networks: o.Networks,
			Rate:     o.Rate,
		}),
		robots:  &robotsCache{verdicts: map[string]*fetch.Verdict{}},
		poke:    make(chan struct{}, 1),
		runDone: make(chan struct{}),
	}, nil
}

// setDefaults fills in the defaults.
func (o *Options) setDefaults() {
	orDuration := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	orDuration(&o.HostInterval, time.Second)
	orDuration(&o.DomainInterval, 2*time.Second)
	orDuration(&o.AddressInterval, 100*time.Millisecond)
	orDuration(&o.MaxCrawlDelay, 10*time.Second)
	orDuration(&o.SessionTimeout, 2*time.Minute)
	orDuration(&o.Grace, 10*time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, fetch.RobotsToken+"/0.1")
	o.HostAtOnce = cmp.Or(o.HostAtOnce, 1)
	o.DomainAtOnce = cmp.Or(o.DomainAtOnce, 1)
	o.AddressAtOnce = cmp.Or(o.AddressAtOnce, 8)
	if o.Rate == 0 {
		o.Rate = 200
	}
	if o.Workers <= 0 {
		o.Workers = 2048
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(Result) {}
	}
}

// Run visits hosts as they become due until ctx ends. It then lets running visits finish within the
// grace period, stores them, and returns nil. It returns early with an error when the store fails.
// Only one Run may be active at a time.
func (c *Crawler) Run(ctx context.Context) error {
	if err := c.openJournal(); err != nil {
		return err
	}
	defer c.closeFrontier()
	o := &frontierLoop{c: c, replies: map[string][]chan<- Result{}, again: map[string]time.Time{}}
	if err := o.openFrontier(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("open the frontier: %w", err)
	}
	// Visits outlive ctx by the grace.
	working, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	group, working := errgroup.WithContext(working)
	// Finished sessions wait here for the next batch, and no others do.
	visits, done := make(chan *visit, batchVisits), make(chan []*visit)
	group.Go(func() error {
		return c.commitAll(context.WithoutCancel(ctx), ctx.Done(), visits, done)
	})
	group.Go(func() error {
		room := make(chan struct{}, c.workers)
		var sessions sync.WaitGroup
		o.handOutHosts(ctx, working, done, room, func(e *frontier.DueHost) {
			sessions.Add(1)
			group.Go(func() error {
				defer func() {
					sessions.Done()
					<-room
				}()
				return c.visitHost(ctx, working, e, visits)
			})
		})
		timer := time.AfterFunc(c.grace, abort)
		defer timer.Stop()
		group.Go(func() error {
			sessions.Wait()
			close(visits)
			return nil
		})
		for batch := range done {
			o.takeBackVisits(batch)
		}
		return o.closeSnapshot()
	})
	return group.Wait()
}

func (c *Crawler) openJournal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return errors.New("the crawler is running already")
	}
	c.running = true
	return nil
}

func (c *Crawler) closeFrontier() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	c.pending = nil
	close(c.runDone)
	c.runDone = make(chan struct{})
}

// visitHost runs a session with a host and passes the result on to be committed. An interrupted
// session has no result, and its host stays due.
func (c *Crawler) visitHost(starting, ctx context.Context, e *frontier.DueHost, visits chan<- *visit) error {
	v, err := c.runSession(starting, ctx, e)
	switch {
	case isFatal(err):
		return err
	case err != nil:
		v = &visit{entry: e, err: err}
	case v == nil:
		return nil
	}
	if v.cut && v.later.IsZero() { // the crawler stops; if there is space, the requests are recorded
		select {
		case visits <- v:
		default:
		}
		return nil
	}
	select {
	case visits <- v:
	case <-ctx.Done():
	}
	return nil
}

// A frontierLoop is the goroutine that owns the frontier.
type frontierLoop struct {
	c        *Crawler
	frontier *frontier.Frontier
	replies  map[string][]chan<- Result // the callers that wait for each host
	again    map[string]time.Time       // hosts to visit again after their current visit
	snapshot snapshots
	clock    clockReading
}

// handOutHosts starts sessions with hosts as they become due and workers are free, until ctx or
// working ends.
func (o *frontierLoop) handOutHosts(ctx, working context.Context, done <-chan []*visit, room chan<- struct{}, begin func(*frontier.DueHost)) {
	c, f := o.c, o.frontier
	var next *frontier.DueHost
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		o.checkClock()
		o.addPending()
		o.saveSnapshot()
		if next == nil {
			next, _ = f.NextHost(c.now())
		}
		o.publishStatus()
		var free chan<- struct{}
		if next != nil && c.busy != nil && len(room) >= visitsWhileBusy && c.busy() {
			timer.Reset(busyPause)
		} else if next != nil {
			free = room
		} else if at, ok := f.WakeAt(); ok {
			timer.Reset(min(max(at.Sub(c.now()), 0), clockCheck))
		}
		select {
		case free <- struct{}{}:
			begin(next)
			next = nil
		case batch := <-done:
			o.takeBackVisits(batch)
		case <-c.poke:
		case <-timer.C:
		case <-working.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// busyPause is the time until the load of a busy machine is checked again. On a busy machine
// busyVisits visits still run: a flood of other work slows the crawl down, but does not stop it.
const (
	busyPause       = 5 * time.Millisecond
	visitsWhileBusy = 32
)

// addPending adds new hosts to the frontier, and registers or answers the callers that wait for a
// result.
func (o *frontierLoop) addPending() {
	o.c.mu.Lock()
	pending := o.c.pending
	o.c.pending = nil
	o.c.mu.Unlock()
	now := o.c.now()
	for _, r := range pending {
		if r.remove {
			o.frontier.RemoveHost(r.host)
			o.answerWaiters(Result{Host: r.host, State: Refused, Summary: string(fetch.OptedOut)})
			continue
		}
		if r.again {
			o.rescheduleHost(r, now)
			continue
		}
		o.frontier.AddHost(r.host, now, r.due)
		switch {
		case r.reply == nil:
		case o.frontier.IsDue(r.host, now), !r.due.After(now) && o.frontier.IsDue(r.host, now.Add(maxQueuedVisits)):
			o.replies[r.host] = append(o.replies[r.host], r.reply)
		default:
			r.reply <- Result{Host: r.host, NotDue: true, NextDue: o.frontier.DueAt(r.host)}
		}
	}
}

// rescheduleHost gives a host a new due time. A host that is being visited gets it when the visit
// is done.
func (o *frontierLoop) rescheduleHost(r request, now time.Time) {
	if held := o.c.journal.HeldUntil(r.host); held.After(r.due) {
		r.due = held
	}
	if o.frontier.IsInFlight(r.host) {
		o.again[r.host] = r.due
		return
	}
	o.frontier.SetDueTime(r.host, now, r.due)
}

// maxQueuedVisits is the maximum time that a reply waits for a host that is due but delayed because
// the end of the process interrupted its last visit.
const maxQueuedVisits = 2 * time.Minute

// takeBackVisits returns committed visits to the frontier.
func (o *frontierLoop) takeBackVisits(batch []*visit) {
	c, f := o.c, o.frontier
	now := c.now()
	hosts := make([]string, 0, len(batch))
	for _, v := range batch {
		hosts = append(hosts, v.entry.Name)
		if v.cut && v.later.IsZero() {
			continue // the host stays due
		}
		if !v.later.IsZero() {
			f.Postpone(v.entry, now, v.later)
			delete(o.again, v.entry.Name) // this visit is still to come
			c.mu.Lock()
			c.metrics.Waits++
			c.mu.Unlock()
			continue
		}
		if v.err != nil {
			c.log.Error("a host could not be visited", "host", v.entry.Name, "error", v.err)
			v.result = Result{Host: v.entry.Name, State: Unvisited, Summary: "internal error: see the log", NextDue: now.Add(time.Hour)}
			v.host.Due = v.result.NextDue
		}
		f.FinishSession(v.entry, now, v.host.Due)
		if due, ok := o.again[v.entry.Name]; ok {
			delete(o.again, v.entry.Name)
			f.SetDueTime(v.entry.Name, now, due)
		}
		for _, name := range v.result.New {
			f.AddHost(name, now, now)
		}
		o.reportVisit(v)
	}
	c.journal.EndVisits(hosts)
	o.publishStatus()
}

// reportVisit reports a visit to its waiting callers and to the observer.
func (o *frontierLoop) reportVisit(v *visit) {
	c, r := o.c, v.result
	c.mu.Lock()
	c.status.Visits++
	c.status.Documents += r.Documents
	if r.Documents == 0 {
		c.status.Errors++
	}
	c.rate.countEvent(time.Now())
	c.metrics.countVisit(v)
	c.mu.Unlock()
	if v.err == nil {
		for _, f := range r.Fetches {
			c.log.Debug("fetch", "host", r.Host, "kind", f.Kind, "outcome", f.Outcome, "status", f.Status, "took", time.Duration(f.Took)*time.Millisecond)
		}
		kind, outcome := r.decidingFetch()
		c.log.Info("visit", "host", r.Host, "kind", kind, "outcome", outcome, "documents", r.Documents, "took", r.Took)
	}
	c.observe(r)
	o.answerWaiters(r)
}

// answerWaiters sends a result to the callers that wait for the host.
func (o *frontierLoop) answerWaiters(r Result) {
	for _, reply := range o.replies[r.Host] {
		reply <- r
	}
	delete(o.replies, r.Host)
}

func (o *frontierLoop) publishStatus() {
	f := o.frontier
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	s := &o.c.status
	n := f.Counts()
	s.Known, s.Waiting, s.Due, s.InFlight = n.Known, n.Waiting, n.Due, n.InFlight
	o.c.metrics.QueueAge = f.QueueAge(o.c.now())
}

// Status returns the current activity of the crawler.
func (c *Crawler) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Rate = c.rate.perSecond(time.Now())
	return s
}

func (c *Crawler) setPaused(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Paused = why
}

// addChunk is the number of hosts that one Apply adds.
const addChunk = 500

// Add adds hosts as seeds. They are durable when Add returns, and are visited when they are due and
// [Crawler.Run] runs. A known host keeps its due time, so that nothing is requested again too
// early. A blocked host stays blocked: see [Crawler.Blocked]. The error is a *[fetch.HostError] for
// a name that [fetch.CheckHost] refuses; nothing is added then.
func (c *Crawler) Add(ctx context.Context, hosts ...string) error {
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		name, err := fetch.CheckHost(h)
		if err != nil {
			return err
		}
		why, err := c.blockReason(ctx, name)
		if err != nil {
			return fmt.Errorf("add hosts: %w", err)
		}
		if why == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for chunk := range slices.Chunk(slices.Compact(names), addChunk) {
		if err := c.addSeeds(ctx, chunk); err != nil {
			return fmt.Errorf("add hosts: %w", err)
		}
	}
	return nil
}

// addSeeds writes checked names and informs the frontier.
func (c *Crawler) addSeeds(ctx context.Context, names []string) error {
	c.countWriters(1)
	defer c.countWriters(-1)
	for {
		requests, err := c.writeSeeds(ctx, names)
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // a visit changed one of them first
		}
		if err != nil {
			return err
		}
		c.tellFrontier(requests, false)
		return nil
	}
}

// countWriters counts the writers whose hosts the frontier does not know yet.
func (c *Crawler) countWriters(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adding += more
}

func (c *Crawler) writeSeeds(ctx context.Context, names []string) ([]request, error) {
	var writes []store.Write
	requests := make([]request, 0, len(names))
	now := c.now()
	for _, name := range names {
		h, seq, err := c.readHost(ctx, name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			h = Host{Name: name, Due: now, Added: now}
		case err != nil:
			return nil, err
		}
		requests = append(requests, request{host: name, due: h.Due})
		if seq != 0 && h.Depth == 0 {
			continue
		}
		// The links of a seed are followed to the full depth, regardless of the host that linked to
		// it before.
		h.Depth, h.FoundOn = 0, ""
		text, err := json.Marshal(h)
		if err != nil {
			return nil, err
		}
		writes = append(writes, store.PutIf(store.HostKey(name), text, seq))
	}
	if len(writes) == 0 {
		return requests, nil
	}
	_, err := c.store.Apply(ctx, writes...)
	return requests, err
}

// tellFrontier passes requests to the frontier. While the frontier does not run, it keeps only
// requests with a waiting caller: the others are in the store.
func (c *Crawler) tellFrontier(requests []request, waiting bool) {
	c.mu.Lock()
	if c.running || waiting {
		c.pending = append(c.pending, requests...)
	}
	c.mu.Unlock()
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Crawl adds hosts and yields one result for each as it becomes available: the result of its visit,
// that of its last visit when it is not due (Result.NotDue), or [fetch.BadHost] for a bad host
// name. It needs [Crawler.Run] in another goroutine, and returns [ErrStopped] when that ends. An
// error from yield ends it.
func (c *Crawler) Crawl(ctx context.Context, hosts []string, yield func(Result) error) error {
	due := map[string]bool{}
	for _, h := range hosts {
		name, err := fetch.CheckHost(h)
		if err != nil {
			if err := yield(BadHost(h, err, c.now())); err != nil {
				return err
			}
			continue
		}
		why, err := c.blockReason(ctx, name)
		if err != nil {
			return err
		}
		if why != "" {
			if err := yield(optedOut(name, why, c.now())); err != nil {
				return err
			}
			continue
		}
		due[name] = true
	}
	names := slices.Sorted(maps.Keys(due))
	if err := c.Add(ctx, names...); err != nil {
		return err
	}
	replies := make(chan Result, len(names))
	requests := make([]request, len(names))
	for i, name := range names {
		h, _, err := c.readHost(ctx, name)
		if err != nil {
			return err
		}
		requests[i] = request{host: name, due: h.Due, reply: replies}
	}
	c.mu.Lock()
	ended := c.runDone
	c.mu.Unlock()
	c.tellFrontier(requests, true)
	for range names {
		r, err := c.nextReply(ctx, replies, ended)
		if err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// nextReply waits for the next result.
func (c *Crawler) nextReply(ctx context.Context, replies <-chan Result, ended <-chan struct{}) (Result, error) {
	var r Result
	select {
	case r = <-replies:
	case <-ctx.Done():
		return r, ctx.Err()
	case <-ended:
		select {
		case r = <-replies:
		default:
			return r, ErrStopped
		}
	}
	if r.NotDue {
		return c.lastResult(ctx, r)
	}
	return r, nil
}

// lastResult fills in the result of a host that is not due from its last visit.
func (c *Crawler) lastResult(ctx context.Context, r Result) (Result, error) {
	name := r.Host
	h, _, err := c.readHost(ctx, name)
	if err != nil {
		return Result{}, err
	}
	if h.Visits == 0 {
		r.State, r.Summary = Unvisited, "not visited yet: our program ended again and again while it visited this host, which waits now"
		return r, nil
	}
	r.TLS = h.TLS
	docs := map[document.Kind]*document.Document{}
	for _, kind := range slices.Sorted(maps.Keys(h.Fetches)) {
		f := h.Fetches[kind]
		r.Fetches = append(r.Fetches, f)
		if f.Digest == "" {
			continue
		}
		d, err := c.readDocument(ctx, name, kind)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		docs[d.Kind] = d
		r.Documents++
		r.Operations += len(d.Operations)
	}
	r.State = stateOf(r.Documents, r.Fetches)
	r.Summary = "not due before " + r.NextDue.UTC().Format(time.RFC3339) + "; last: " + summarizeVisit(r.Fetches, docs)
	return r, nil
}

// MaxShownName is the number of bytes of a bad host name in a result: more than any valid name has.
const MaxShownName = 300

// BadHost returns the result for a text that is not a host name; err is the reason.
func BadHost(asked string, err error, now time.Time) Result {
	asked = protocol.ClipBytes(asked, MaxShownName)
	return Result{
		Host: asked, State: Refused,
		Fetches: []fetch.Fetch{{URL: asked, Outcome: fetch.BadHost, Detail: err.Error(), At: now}},
		Summary: string(fetch.BadHost) + ": " + err.Error(),
	}
}

// optedOut returns the result for a host that must not be visited.
func optedOut(host, why string, now time.Time) Result {
	return Result{
		Host: host, State: Refused,
		Fetches: []fetch.Fetch{{URL: "https://" + host + "/", Outcome: fetch.OptedOut, Detail: why, At: now}},
		Summary: string(fetch.OptedOut) + ": " + why,
	}
}

// Outcome returns the outcome that describes the visit best: OK when there is a current document,
// otherwise that of the last fetch.
func (r Result) Outcome() fetch.Outcome {
	_, outcome := r.decidingFetch()
	return outcome
}

// decidingFetch returns the kind and the outcome that describe the visit best.
func (r Result) decidingFetch() (kind string, outcome fetch.Outcome) {
	for _, f := range slices.Backward(r.Fetches) {
		if kind == "" || outcome != fetch.OK && f.Outcome == fetch.OK && f.Kind != fetch.KindRobots {
			kind, outcome = f.Kind, f.Outcome
		}
	}
	if r.Documents > 0 {
		outcome = fetch.OK
	}
	return kind, outcome
}

// rateMeter counts events of the last 10 seconds.
type rateMeter struct {
	second [10]int64 // the second that each slot counts
	events [10]int
}

func (m *rateMeter) countEvent(now time.Time) {
	s := now.Unix()
	i := s % int64(len(m.second))
	if m.second[i] != s {
		m.second[i], m.events[i] = s, 0
	}
	m.events[i]++
}

func (m *rateMeter) perSecond(now time.Time) float64 {
	sum := 0
	for i, s := range m.second {
		if now.Unix()-s < int64(len(m.second)) {
			sum += m.events[i]
		}
	}
	return float64(sum) / float64(len(m.second))
}
