package crawler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"gazetteer/crawler/frontier"
	"gazetteer/crawler/journal"
	"gazetteer/crawler/politeness"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

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
	now, due      func() time.Time
	pauses        pauseWatch
	nameServerLog *rate.Sometimes

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

// New returns a crawler. It starts nothing: see [Crawler.Run].
func New(o Options) (*Crawler, error) {
	if o.Store == nil {
		return nil, errors.New("crawler: no store")
	}
	o.setDefaults()
	transport, err := fetch.NewTransport(fetch.Options{
		Guard: o.Guard, Dial: o.Dial, Resolver: o.Resolver, Roots: o.Roots, Ports: o.Ports, UserAgent: o.UserAgent,
		Timeout: o.Timeout, ConnectTimeout: o.ConnectTimeout, TLSTimeout: o.TLSTimeout, IdleTimeout: o.IdleTimeout,
		VerifyFullChains: o.VerifyFullChains, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	return &Crawler{
		store: o.Store, log: o.Log, workers: o.Workers, busy: o.Busy, transport: transport, userAgent: o.UserAgent, collector: newCollector(transport),
		dir: o.Dir, journal: journal.New(o.Log), maxCrawlDelay: o.MaxCrawlDelay, formats: o.Formats,
		nameServerLog: &rate.Sometimes{Interval: time.Minute},
		sessionTime:   o.SessionTimeout, grace: o.Grace, observe: o.Observe, now: o.Now, due: o.Due,
		politeness: politeness.New(politeness.Limits{
			Host:     politeness.Limit{Interval: o.HostInterval, Concurrency: o.HostConcurrency},
			Domain:   politeness.Limit{Interval: o.DomainInterval, Concurrency: o.DomainConcurrency},
			Address:  politeness.Limit{Interval: o.AddressInterval, Concurrency: o.AddressConcurrency},
			Networks: o.Networks,
			Rate:     o.Rate,
		}),
		robots:  &robotsCache{policies: map[string]*fetch.RobotsPolicy{}},
		poke:    make(chan struct{}, 1),
		runDone: make(chan struct{}),
	}, nil
}

// setDefaults fills in the defaults.

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
	if v.interrupted && v.later.IsZero() { // the crawler stops; if there is space, the requests are recorded
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
