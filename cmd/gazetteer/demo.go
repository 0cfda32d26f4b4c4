package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/crawler"
	"gazetteer/internal/fakenet"
)

// demoPatience is how long the demo waits for its small internet to be crawled
// before it says which hosts have no result.
const demoPatience = 2 * time.Minute

func (a *app) demoCommand() *cobra.Command {
	d := demo{app: a}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a small internet on loopback and serve what was found",
		Long: `Demo starts a small internet on loopback: over 300 hosts under .test with real
TLS, which serve descriptions of real services, and some that misbehave. It
crawls them as it would crawl the world, checks every result against what is
known of the host, and serves the pages and the API until it is interrupted.
Nothing leaves the machine.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.Flags().BoolVar(&d.once, "once", false, "stop after the checks; exit code 1 when one fails")
	c.Flags().StringVar(&d.keep, "keep", "", "keep the data in this directory and begin with what it holds")
	c.Flags().StringVar(&d.listen, "listen", "", "address to listen on (default 127.0.0.1:8080, or a free port when that is taken)")
	return c
}

// demo is one run of the verb.
type demo struct {
	*app
	once         bool
	keep, listen string

	net      *fakenet.Net
	house    *house
	base     string // of the public address
	began    time.Time
	progress *progress

	mu      sync.Mutex          // guards following
	waiting map[string]struct{} // hosts without a result yet
	visits  int                 // of this run
	settled chan struct{}       // closed when nothing is waiting
}

func (d *demo) run(ctx context.Context) (err error) {
	d.began, d.settled, d.progress = time.Now(), make(chan struct{}), newProgress(d.err)
	if d.net, err = fakenet.Open(fakenet.Options{}); err != nil {
		return fmt.Errorf("start the small internet: %w", err)
	}
	defer func() { err = errors.Join(err, d.net.Close()) }()
	config, cleanUp, err := d.config()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp()) }()
	public, err := d.open()
	if err != nil {
		return err
	}
	defer public.Close()
	d.base = "http://" + public.Addr().String()
	config.PublicURL = d.base
	world := edge{dial: d.net.Dial, roots: d.net.Roots(), dns: d.net}
	if d.house, err = openHouse(ctx, config, world, logger(d.err, config.LogLevel), d.visited); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.house.close()) }()
	if err := d.expect(ctx); err != nil {
		return err
	}
	return d.serve(ctx, public)
}

// config is the user's configuration with the demo's own values over it.
func (d *demo) config() (Config, func() error, error) {
	keepNothing := func() error { return nil }
	config, err := d.app.config()
	if err != nil {
		return config, keepNothing, err
	}
	if config.LogLevel == defaultConfig().LogLevel {
		config.LogLevel = "error" // the demo prints each visit itself
	}
	config.Registry.AllowLoopback = true
	if config.DataDir = d.keep; d.keep != "" {
		return config, keepNothing, nil
	}
	dir, err := os.MkdirTemp("", "gazetteer-demo-")
	if err != nil {
		return config, keepNothing, fmt.Errorf("make a temporary data directory: %w", err)
	}
	config.DataDir = dir
	return config, func() error { return os.RemoveAll(dir) }, nil
}

// open listens on the address asked for. Unasked, it takes any free port when
// the usual one is taken.
func (d *demo) open() (net.Listener, error) {
	if d.listen != "" {
		return listenTCP(d.listen, "--listen")
	}
	if l, err := net.Listen("tcp", defaultConfig().Listen); err == nil {
		return l, nil
	}
	return listenTCP("127.0.0.1:0", "--listen")
}

// expect notes which hosts have no result yet: all that a crawl from the seeds
// reaches, less what a kept directory knows already.
func (d *demo) expect(ctx context.Context) error {
	d.waiting = map[string]struct{}{}
	for _, h := range d.net.Hosts() {
		if !h.Reachable {
			continue
		}
		state, err := hostState(ctx, d.house.store, h.Name)
		if err != nil {
			return err
		}
		if state.Visits == 0 {
			d.waiting[h.Name] = struct{}{}
		}
	}
	if len(d.waiting) == 0 {
		close(d.settled)
	}
	return d.house.crawler.Add(ctx, d.net.Seeds()...)
}

// visited is told of every visit by the crawler, after its commit.
func (d *demo) visited(r crawler.Result) {
	if !d.json {
		d.progress.line("%s", resultLine(r, time.Now()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visits++
	if _, ok := d.waiting[r.Host]; ok {
		delete(d.waiting, r.Host)
		if len(d.waiting) == 0 {
			close(d.settled)
		}
	}
}

// serve runs the house, and beside it the story: crawl, checks, invitation.
func (d *demo) serve(ctx context.Context, public net.Listener) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ready, told := make(chan struct{}), make(chan error, 1)
	go func() {
		err := d.tell(running, ready)
		if err != nil || d.once {
			stop()
		}
		told <- err
	}()
	d.say("A small internet of %d hosts is up; %d of them are the seeds.", len(d.net.Hosts()), len(d.net.Seeds()))
	d.say("Crawling. Pages and API: %s\n", d.base)
	err := d.house.run(running, public, true, func() { close(ready) })
	stop()
	told1 := <-told
	if errors.Is(told1, context.Canceled) && ctx.Err() != nil {
		told1 = nil // interrupted by the user: that is how a demo ends
	}
	return errors.Join(err, told1)
}

func (d *demo) tell(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	watching, done := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.progress.run(watching, func() (crawler.Status, bool) { return d.house.crawler.Status(), true })
	}()
	err := d.await(ctx)
	done()
	<-watched
	if err != nil {
		return err
	}
	failed, err := d.check(ctx)
	if err != nil {
		return err
	}
	if failed > 0 {
		return notFoundf("%s failed", plural(failed, "check"))
	}
	if !d.once {
		d.invite()
	}
	return nil
}

// await waits until every reachable host has a result and the index has it all.
func (d *demo) await(ctx context.Context) error {
	patience := time.NewTimer(demoPatience)
	defer patience.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.settled:
	case <-patience.C:
		d.progress.line("Not every host has a result after %s; the checks name them.", demoPatience)
	}
	return d.house.index.WaitFor(ctx, d.house.store.Head().Seq)
}

// invite says what to do now.
func (d *demo) invite() {
	me := os.Args[0] + " --data-dir " + d.house.config.DataDir
	d.say(`
Open %s, or ask from a second terminal:

  %s find book a table
  %s search verb:SEND sms
  %s resolve %s

Stop with Ctrl-C.`, d.base, me, me, me, demoHandle)
}

// say prints for a person; with --json only the report is printed.
func (d *demo) say(format string, args ...any) {
	if !d.json {
		d.progress.line(format, args...)
	}
}
