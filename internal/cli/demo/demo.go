// Package demo contains the command demo: it crawls a small internet on loopback, checks every
// result against the known properties of the host, and serves the results.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/server"
)

// stallTimeout is how long the crawl of the small internet may go on without a visit. After it the
// demo lists the hosts without a result. The whole crawl has no limit: a busy machine needs many
// minutes.
const stallTimeout = 2 * time.Minute

func Command(a *cli.App) *cobra.Command {
	d := demo{App: a}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a small internet on loopback and serve the results",
		Long: `Demo starts a small internet on loopback: over 300 hosts under .test with real
TLS, which serve descriptions of real services, and some that misbehave. It crawls
them like public hosts, compares every result with the expected one, and serves the
pages and the API until it is interrupted.
Nothing leaves the machine.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return d.runDemo(c.Context()) },
	}
	c.Flags().BoolVar(&d.once, "once", false, "stop after the checks; exit code 1 when one fails")
	c.Flags().StringVar(&d.keep, "keep", "", "keep the data in this directory, and start from its contents")
	c.Flags().StringToStringVar(&d.sites, "site", nil, "serve the files of a directory as a host, before its own (`HOST=DIR`)")
	c.Flags().Lookup("site").DefValue = "" // help would show []
	c.Flags().StringVar(&d.listen, "listen", "", "address to listen on (default 127.0.0.1:8080, or a free port if that is in use)")
	return c
}

// demo is one run of the command.
type demo struct {
	*cli.App
	once         bool
	keep, listen string
	sites        map[string]string // directories by host

	net      *fakenet.Net
	server   *server.Server
	base     string // of the public address
	began    time.Time
	progress *cli.Progress

	concierge *participant   // the first representative; nil until it is registered
	helpers   sync.WaitGroup // the goroutines of the representatives

	mu       sync.Mutex          // guards the following fields
	waiting  map[string]struct{} // hosts without a result yet
	visits   int                 // of this run
	expected int                 // hosts without a result at the start of the run
	settled  chan struct{}       // closed when nothing is waiting
}

func (d *demo) runDemo(ctx context.Context) (err error) {
	d.began, d.settled, d.progress = time.Now(), make(chan struct{}), cli.NewProgress(d.Err)
	if d.net, err = fakenet.Open(fakenet.Options{}); err != nil {
		return fmt.Errorf("start the small internet: %w", err)
	}
	defer func() { err = errors.Join(err, d.net.Close()) }()
	if err := d.addSites(); err != nil {
		return err
	}
	config, cleanUp, err := d.loadConfig()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp()) }()
	public, err := d.openListener()
	if err != nil {
		return err
	}
	defer public.Close()
	d.base = "http://" + public.Addr().String()
	config.PublicURL = d.base
	listeners, err := server.Listen(config, public)
	if err != nil {
		return err
	}
	defer listeners.Close()
	world := server.Environment{Dial: d.net.Dial, Roots: d.net.Roots(), DNS: d.net}
	if d.server, err = server.Open(ctx, config, world, cli.NewLogger(d.Err, config.LogLevel), d.recordVisit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.server.Close()) }()
	if err := d.listExpectedHosts(ctx); err != nil {
		return err
	}
	return d.serveAndCheck(ctx, listeners)
}

// addSites serves the directories that the user names.
func (d *demo) addSites() error {
	for host, dir := range d.sites {
		if !strings.HasSuffix(host, ".test") {
			return exit.Usagef("--site %s: the hosts of the small internet are below .test", host)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return exit.Usagef("--site %s: %s is not a directory", host, dir)
		}
		d.net.HandleFiles(host, dir)
	}
	return nil
}

// loadConfig returns the user's configuration with the demo's own values.
func (d *demo) loadConfig() (config.Config, func() error, error) {
	keepNothing := func() error { return nil }
	c, err := d.App.Config()
	if err != nil {
		return c, keepNothing, err
	}
	if c.LogLevel == config.Default().LogLevel {
		c.LogLevel = "error" // the demo prints each visit itself
	}
	if d.listen == "" && c.Listen != config.Default().Listen {
		d.listen = c.Listen
	}
	c.Registry.AllowLoopback, c.Relay.Enabled = true, true                    // the agents' inboxes are at the demo itself
	c.Altar.HTTPRuntime = true                                                // all services of the small internet are on loopback
	c.Search.Timeout = max(c.Search.Timeout, config.Duration(30*time.Second)) // the crawl uses the machine meanwhile
	if c.DataDir = d.keep; d.keep != "" {
		return c, keepNothing, nil
	}
	dir, err := os.MkdirTemp("", "gazetteer-demo-")
	if err != nil {
		return c, keepNothing, fmt.Errorf("make a temporary data directory: %w", err)
	}
	c.DataDir, c.Registry.CheckpointCopy = dir, "none"
	return c, func() error { return os.RemoveAll(dir) }, nil
}

// openListener listens on the requested address. Without one it uses the default port, or any free
// port if that one is in use.
func (d *demo) openListener() (net.Listener, error) {
	if d.listen != "" {
		return server.ListenTCP(d.listen, "--listen")
	}
	if l, err := net.Listen("tcp", config.Default().Listen); err == nil {
		return l, nil
	}
	return server.ListenTCP("127.0.0.1:0", "--listen")
}

// listExpectedHosts records the hosts without a result: all hosts that a crawl from the seeds
// reaches, except those that an existing directory already knows.
func (d *demo) listExpectedHosts(ctx context.Context) error {
	d.waiting = map[string]struct{}{}
	for _, h := range d.net.Hosts() {
		if !h.Reachable {
			continue
		}
		state, err := ReadHost(ctx, d.server.Store, h.Name)
		if err != nil {
			return err
		}
		if state.Visits == 0 {
			d.waiting[h.Name] = struct{}{}
		}
	}
	d.expected = len(d.waiting)
	if len(d.waiting) == 0 {
		close(d.settled)
	}
	return d.server.Crawler.Add(ctx, d.net.Seeds()...)
}

// recordVisit records a visit. The crawler calls it after each commit.
func (d *demo) recordVisit(r crawler.Result) {
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

// serveAndCheck runs the server and, at the same time, the crawl and the checks. It then prints the
// invitation.
func (d *demo) serveAndCheck(ctx context.Context, listeners *server.Listeners) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ready, told := make(chan struct{}), make(chan error, 1)
	go func() {
		err := d.runChecksWhenReady(running, ready)
		if err != nil || d.once {
			stop()
		}
		told <- err
	}()
	d.printf("%s", describeNet(d.net.Hosts()))
	d.printf("Crawling. Pages and API: %s", d.base)
	err := d.server.Run(running, listeners, true, func() { close(ready) })
	stop()
	told1 := <-told
	d.helpers.Wait()
	if errors.Is(told1, context.Canceled) && ctx.Err() != nil {
		told1 = nil // interrupted by the user: the normal end of a demo
	}
	return errors.Join(err, told1)
}

// describeNet counts the hosts in the way in which later lines refer to them.
func describeNet(hosts []fakenet.Host) string {
	seeds, linked := 0, 0
	for _, h := range hosts {
		switch {
		case h.Seed:
			seeds++
		case h.Reachable:
			linked++
		}
	}
	return fmt.Sprintf("A small internet of %d hosts is up. The crawl begins at %d of them and follows links to %d more; the other %d are out of reach.",
		len(hosts), seeds, linked, len(hosts)-seeds-linked)
}

func (d *demo) runChecksWhenReady(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	watching, done := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.progress.Run(watching, func() (string, bool) { return d.formatBar(), true })
	}()
	err := d.awaitCrawl(ctx)
	done()
	<-watched
	if err != nil {
		return err
	}
	failed, err := d.runChecks(ctx)
	if err != nil {
		return err
	}
	if !d.once { // a check that failed is no reason to take the rest away
		d.printInvitation()
		return nil
	}
	if failed > 0 {
		return exit.NotFoundf("%s failed", cli.Plural(failed, "check"))
	}
	return nil
}

// awaitCrawl waits until every reachable host has a result and the index contains all results.
func (d *demo) awaitCrawl(ctx context.Context) error {
	if err := d.awaitVisits(ctx, d.server.Store.CheckWrites); err != nil {
		return err
	}
	return d.server.Index.WaitFor(ctx, d.server.Store.Head().Seq)
}

// awaitVisits waits until every expected host has a result, or until no host was visited for
// [stallTimeout]. checkWrites reports that the store has no space: the crawler waits for space, the
// demo does not.
func (d *demo) awaitVisits(ctx context.Context, checkWrites func() error) error {
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	visits, changed := d.countVisits(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.settled:
			return nil
		case <-poll.C:
			if err := checkWrites(); err != nil {
				return fmt.Errorf("crawl the small internet: %w", err)
			}
			if n := d.countVisits(); n != visits {
				visits, changed = n, time.Now()
			} else if time.Since(changed) >= stallTimeout {
				d.progress.PrintLine("Not every host has a result, and none was visited for %s; the checks name them.", stallTimeout)
				return nil
			}
		}
	}
}

// barWidth is the width of the progress bar, in characters.
const barWidth = 30

// formatBar draws the share of expected hosts that have a result.
func (d *demo) formatBar() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := d.expected - len(d.waiting)
	filled := barWidth * done / max(1, d.expected)
	return fmt.Sprintf("[%s%s] %d of %d hosts", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, d.expected)
}

// printInvitation prints the next steps.
func (d *demo) printInvitation() {
	me := os.Args[0] + " --data-dir " + d.server.Config.DataDir
	d.printf(`
Open %s, or ask from a second terminal:

  %s search book a table
  %s find --join proved book a table
  %s show %s
  %s agent new Me --inbox here
  %s send %s --price 0EUR --offer "a table for two at eight" --seal
  %s inbox
  %s contracts propose %s
  %s contracts approve book_reservation
  %s tool call book_reservation --arg restaurant_id=1 --arg party_size=2 --arg datetime=2026-12-24T20:00:00Z

Stop with Ctrl-C.`, d.base, me, me, me, demoDomain, me, me, demoHandle, me, me, demoDomain, me, me)
}

// printf prints text for a user. With --json the demo prints only the report.
func (d *demo) printf(format string, args ...any) {
	if !d.JSON {
		d.progress.PrintLine(format, args...)
	}
}
