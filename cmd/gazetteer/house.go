package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/wordvec"
	"gazetteer/join"
	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/registry/resolve"
	"gazetteer/store/boltstore"
	"gazetteer/web"
)

// house is everything that lives in one data directory, opened and wired.
type house struct {
	config    Config
	log       *slog.Logger
	store     *boltstore.Store
	index     *index.Index
	registry  *registry.Registry
	resolver  *resolve.Resolver
	directory *registry.Directory
	joiner    *join.Joiner
	audit     *audit.Log
	witnesses *witnesses     // of our log
	witness   *audit.Witness // of the logs of others
	crawler   *crawler.Crawler
	api       *api.API
	recorder  *recorder
	tell      func(state string) // how the server stands, to the service manager
}

// openHouse opens the data directory and everything in it. observe, which may
// be nil, is told of every visit.
func openHouse(ctx context.Context, c Config, e edge, l *slog.Logger, observe func(crawler.Result)) (_ *house, err error) {
	captureStandardLog(l)
	h := &house{config: c, log: l, tell: func(string) {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.store, err = boltstore.Open(ctx, c.DataDir, boltstore.Options{Log: l, MinFree: c.MinFreeBytes, KeepDeletion: audit.HistoryKey}); err != nil {
		return nil, err
	}
	vectors, err := readVectors(c.Search.Vectors)
	if err != nil {
		return nil, err
	}
	if h.index, err = index.Open(ctx, index.Options{Dir: filepath.Join(c.DataDir, "index"), Store: h.store, Vectors: vectors, Log: l}); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	h.recorder = newRecorder(func(ctx context.Context, why string, made ...fetch.Made) error {
		return h.crawler.Record(ctx, why, made...)
	}, l)
	if err = h.openRegistry(ctx, e); err != nil {
		return nil, fmt.Errorf("set up the registry: %w", err)
	}
	if h.crawler, err = newCrawler(h, e, observe); err != nil {
		return nil, fmt.Errorf("set up the crawler: %w", err)
	}
	return h, h.openAPI(e)
}

// readVectors reads the table of word vectors that the configuration names; nil,
// without one, is the program's own.
func readVectors(file string) (*wordvec.Table, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usagef("search.vectors: %v", err)
	}
	defer f.Close() // only read
	table, err := wordvec.Read(f)
	if err != nil {
		return nil, usagef("search.vectors: %s: %v", file, err)
	}
	return table, nil
}

// newGuard returns the guard of everything that asks hosts which strangers name.
// The addresses that the crawler comes from are forbidden like those of crawler.deny:
// what answers there may trust them.
func newGuard(c Config) (*fetch.Guard, error) {
	guard, err := fetch.NewGuard(fetch.GuardOptions{Deny: slices.Concat(c.Crawler.Deny, c.Crawler.Addresses), NAT64: c.Crawler.NAT64})
	if err != nil {
		return nil, usagef("crawler.deny, crawler.addresses or crawler.nat64: %v", err)
	}
	return guard, nil
}

func newCrawler(h *house, e edge, observe func(crawler.Result)) (*crawler.Crawler, error) {
	c := h.config.Crawler
	networks, err := readNetworks(c.Networks)
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(h.config)
	if err != nil {
		return nil, err
	}
	o := crawler.Options{
		Store: h.store, Log: h.log, Roots: e.roots, Guard: guard, Dir: filepath.Join(h.config.DataDir, "crawler"),
		Workers: c.Workers, UserAgent: userAgent(h.config), Rate: c.Rate,
		HostInterval: interval(c.HostInterval), DomainInterval: interval(c.DomainInterval), AddressInterval: interval(c.AddressInterval),
		HostAtOnce: c.HostAtOnce, DomainAtOnce: c.DomainAtOnce, AddressAtOnce: c.AddressAtOnce, Networks: networks,
		VerifyWholeChains: c.VerifyWholeChains,
		Timeout:           time.Duration(c.Timeout), Grace: finishing(h.config),
		Observe: observe,
	}
	if e.dial != nil {
		o.Dial = e.dial(guard.DialContext)
	}
	return crawler.New(o)
}

// interval is how the crawler takes an interval: 0 in the configuration is none
// at all, while 0 in its options is the default.
func interval(d Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

// readNetworks reads the exceptions for addresses: a network, an interval, and
// how many visits at once.
func readNetworks(lines []string) ([]crawler.NetworkLimit, error) {
	var limits []crawler.NetworkLimit
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, usagef("crawler.networks %q: want a network, an interval and a number, for example \"203.0.113.0/24 10ms 64\"", line)
		}
		network, err := netip.ParsePrefix(fields[0])
		if err != nil {
			return nil, usagef("crawler.networks %q: %v", line, err)
		}
		pause, err := time.ParseDuration(fields[1])
		if err != nil || pause < 0 {
			return nil, usagef("crawler.networks %q: %q is not an interval such as \"10ms\"", line, fields[1])
		}
		atOnce, err := strconv.Atoi(fields[2])
		if err != nil || atOnce < 1 {
			return nil, usagef("crawler.networks %q: %q is not a number of visits", line, fields[2])
		}
		limits = append(limits, crawler.NetworkLimit{Network: network.Masked(), Limit: crawler.Limit{Interval: pause, AtOnce: atOnce}})
	}
	return limits, nil
}

// judgeTime bounds one fetch for somebody who waits for it: less than the API
// takes for an answer, so that what was found until then can still be said.
const judgeTime = 12 * time.Second

// newJudge returns what checks documents for visitors of the API and the pages.
// It fetches as the crawler does, by a connection of its own.
func newJudge(c Config, e edge, limits *limit.Set, made func(fetch.Made)) (*answer.Validator, error) {
	client, err := newFetcher(c, e, judgeTime, made)
	if err != nil {
		return nil, err
	}
	return answer.NewValidator(answer.ValidatorOptions{
		Fetcher: client, PerClient: c.API.FetchesPerHour, PerHost: c.API.FetchesPerHostHour, All: c.API.FetchesGlobalPerHour, Limits: limits,
	}), nil
}

// newFetcher returns a client that fetches under the rules of the crawler.
// session bounds one call; made, which may be nil, is told of every request.
func newFetcher(c Config, e edge, session time.Duration, made func(fetch.Made)) (*fetch.Client, error) {
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	o := fetch.Options{
		Guard: guard, Roots: e.roots, UserAgent: userAgent(c),
		Timeout: min(time.Duration(c.Crawler.Timeout), session), SessionTimeout: session, Made: made,
	}
	if e.dial != nil {
		o.Dial = e.dial(guard.DialContext)
	}
	return fetch.New(o)
}

// newDoor returns what takes names of hosts from strangers, nobody's where
// nothing is crawled.
func newDoor(h *house, limits *limit.Set) *answer.Submitter {
	o := answer.SubmitterOptions{
		PerClient: h.config.API.SubmissionsPerHour, PerDomain: h.config.API.SubmissionsPerDomainHour, All: h.config.API.SubmissionsGlobalPerHour, Limits: limits,
	}
	if h.config.Crawler.Enabled {
		o.Add = h.crawler.Add
	}
	return answer.NewSubmitter(o)
}

// userAgent is what requests are sent under: with the page that explains who
// crawls, unless it names an address of its own.
func userAgent(c Config) string {
	if c.PublicURL == "" || strings.Contains(c.Crawler.UserAgent, "http") || strings.Contains(c.Crawler.UserAgent, "@") {
		return c.Crawler.UserAgent
	}
	return c.Crawler.UserAgent + " (+" + strings.TrimSuffix(c.PublicURL, "/") + "/bot)"
}

// openAPI puts the API and the pages on one handler.
func (h *house) openAPI(e edge) error {
	key, err := cursorKey(h.config.DataDir)
	if err != nil {
		return err
	}
	limits := &limit.Set{}
	judge, err := newJudge(h.config, e, limits, h.recorder.note)
	if err != nil {
		return fmt.Errorf("set up the checking of documents: %w", err)
	}
	search := answer.NewLimitedSearcher(h.index, answer.SearchLimits{Time: time.Duration(h.config.Search.Timeout), Concurrent: h.config.Search.AtOnce, Limits: limits})
	wishes, err := h.openWishes(e, limits)
	if err != nil {
		return fmt.Errorf("set up the wishes of owners: %w", err)
	}
	answers := &answer.Answers{Store: h.store, Index: search, Registry: h.registry, Directory: h.directory, Joiner: h.joiner, Resolver: h.resolver, Log: h.audit, Witness: h.witness, Crawler: h.crawler, Validator: judge, Submitter: newDoor(h, limits), OwnerRequests: wishes, Blocks: h.crawler}
	h.api, err = api.New(api.Options{
		Answers: answers, Log: h.log, CursorKey: key, Version: buildInfo().Version, PublicURL: h.config.PublicURL,
		TrustedProxies: h.config.API.TrustedProxies, Add: h.crawler.Add, Crawl: h.crawl,
		Horizon: time.Duration(h.config.Store.Horizon), Anchored: h.witnesses.anchored, Publish: h.witnesses.publish(), Limits: limits,
	})
	if err != nil {
		return fmt.Errorf("set up the API: %w", err)
	}
	pages := web.New(answers, search, web.Options{Log: h.log, Standing: h.api.ServerStatus, Bot: web.Bot{
		UserAgent: userAgent(h.config), Contact: h.config.Crawler.Contact, Addresses: h.config.Crawler.Addresses,
		HostInterval: time.Duration(h.config.Crawler.HostInterval), DomainInterval: time.Duration(h.config.Crawler.DomainInterval),
	}})
	pages.Mount(h.api.Engine())
	h.api.SetNotFound(pages.NotFound)
	return nil
}

// crawl ends when what it crawled can be found: who waits for a crawl searches
// next.
func (h *house) crawl(ctx context.Context, hosts []string, yield func(crawler.Result) error) error {
	if err := h.crawler.Crawl(ctx, hosts, yield); err != nil {
		return err
	}
	return h.index.WaitFor(ctx, h.store.Head().Seq)
}

// socketName is the file in the data directory on which the owner of the
// directory answers its own machine.
const socketName = "gazetteer.sock"

// run serves until ctx ends, in the order that loses nothing: first no new work
// is taken (HTTP, frontier), then what runs is finished within the grace, then
// the index and the transparency log follow to the end of the store. public may be nil, crawl false.
// ready, if not nil, is called when all of it answers.
func (h *house) run(ctx context.Context, public net.Listener, crawl bool, ready func()) error {
	var metrics, admin net.Listener
	for key, l := range map[string]struct {
		address string
		to      *net.Listener
	}{"metrics_listen": {h.config.MetricsListen, &metrics}, "admin_listen": {h.config.AdminListen, &admin}} {
		if l.address == "" || public == nil {
			continue
		}
		var err error
		if *l.to, err = listenTCP(l.address, key+" in the configuration"); err != nil {
			return err
		}
		defer (*l.to).Close() // closed already when it has served
	}
	socket, err := listenSocket(h.config.DataDir)
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(h.config.DataDir, socketName))
	// The followers outlive everything that writes.
	uncancelled, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followers, following := errgroup.WithContext(uncancelled)
	for what, follow := range map[string]func(context.Context) error{
		"the index": h.index.Run, "the transparency log": h.audit.Run, "the directory of agents": h.directory.Run,
	} {
		followers.Go(func() error {
			if err := follow(following); err != nil {
				return fmt.Errorf("follow the store into %s: %w", what, mendLog(err))
			}
			return nil
		})
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-following.Done(): // before its time
			return errors.New("what follows the store has stopped")
		}
	})
	group.Go(func() error { return h.serve(ctx, socket, h.api.AdminHandler()) })
	if public != nil {
		group.Go(func() error { return h.serve(ctx, public, h.api.Handler()) })
	}
	if metrics != nil {
		group.Go(func() error { return h.serve(ctx, metrics, h.api.MetricsHandler()) })
	}
	if admin != nil {
		group.Go(func() error { return h.serve(ctx, admin, h.api.LocalAdminHandler(admin.Addr().String())) })
	}
	if crawl {
		group.Go(func() error { return h.crawler.Run(ctx) })
	}
	if public != nil {
		group.Go(func() error { return h.registry.Run(ctx) })
	}
	if public != nil && len(h.witnesses.list) > 0 {
		group.Go(func() error {
			return h.witnesses.run(ctx, h.notCosigned)
		})
	}
	if public != nil && h.config.Crawler.BlockList != "" {
		group.Go(func() error { return h.keepBlockList(ctx) })
	}
	group.Go(func() error { return h.recorder.run(ctx) })
	if public != nil && h.config.Store.CompactHour >= 0 {
		maintenance := boltstore.MaintainOptions{Keep: time.Duration(h.config.Store.Horizon), Hour: h.config.Store.CompactHour}
		group.Go(func() error { return h.store.Maintain(ctx, maintenance) })
	}
	group.Go(func() error { return h.watchStore(ctx) })
	if ready != nil {
		ready()
	}
	group.Go(func() error { h.tellCaughtUp(ctx); return nil })
	err = group.Wait()
	h.tell("STOPPING=1")
	h.settle()
	stopFollowing()
	return errors.Join(err, followers.Wait())
}

// cosignProblem tells the operator that a witness did not cosign the log.
func (h *house) notCosigned(err error) {
	if errors.Is(err, audit.ErrFork) {
		h.log.Error("the log contradicts what a witness has cosigned: others see it, too; where no newer copy is left, begin another log (registry.log_origin)", "error", err)
		return
	}
	h.log.Warn("the log was not cosigned", "error", err)
}

// finishing is what visits and answers have of the time for a stop. The rest is for
// what follows the store.
func finishing(config Config) time.Duration { return time.Duration(config.ShutdownGrace) * 4 / 5 }

// settle lets what follows the store reach its end, so that the next start finds
// nothing to catch up with. Not reaching it costs only that.
func (h *house) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(h.config.ShutdownGrace)-finishing(h.config))
	defer cancel()
	head := h.store.Head().Seq
	if err := errors.Join(h.index.WaitFor(ctx, head), h.audit.WaitFor(ctx, head)); err != nil {
		h.log.Info("the index or the transparency log did not reach the end of the store before the stop; it will at the next start")
	}
}

// tellCaughtUp tells the service manager when what is in the store now can be
// found.
func (h *house) tellCaughtUp(ctx context.Context) {
	if h.index.WaitFor(ctx, h.store.Head().Seq) == nil { // else ctx has ended
		h.tell("STATUS=serving " + h.config.DataDir)
	}
}

// watchStore ends the process when the store can acknowledge nothing more: a
// restart decides by reading what is there.
func (h *house) watchStore(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.store.Failed():
		return fmt.Errorf("the store stopped taking writes: %w", h.store.Err())
	}
}

// serve answers on l until ctx ends, then finishes what runs within the grace.
func (h *house) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := api.Server(handler, h.log)
	server.RegisterOnShutdown(h.api.EndStreams)
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishing(h.config))
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			server.Close() // the grace is over: cut what still runs
		}
		stopped <- nil
	}()
	if err := server.Serve(api.StrictLines(l)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return <-stopped
}

// close releases the files, last opened first.
func (h *house) close() error {
	var err error
	if h.witness != nil {
		err = h.witness.Close()
	}
	if h.audit != nil {
		err = errors.Join(err, h.audit.Close())
	}
	if h.index != nil {
		err = errors.Join(err, h.index.Close())
	}
	if h.store != nil {
		err = errors.Join(err, h.store.Close())
	}
	return err
}

// listenSocket listens on the socket of the data directory. We hold the
// directory, so a socket left there belongs to nobody.
func listenSocket(dir string) (net.Listener, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	address, release, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.Listen("unix", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// The data directory is 0700 already; the mode holds also when it is not.
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("restrict %s: %w", path, err)
	}
	return l, nil
}

// socketAddress returns an address that fits into the some 100 bytes which
// systems give the path of a socket: a long one goes by its open directory.
func socketAddress(path string) (string, func(), error) {
	if len(path) < 100 {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("open the data directory: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}

// cursorKey reads the key that authenticates page cursors, or makes one.
func cursorKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "cursor.key")
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) == 32:
		return key, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read the cursor key: %w", err)
	}
	// A damaged key costs only the cursors in flight: make a new one.
	key = make([]byte, 32)
	rand.Read(key)
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("write the cursor key: %w", err)
	}
	return key, os.Chmod(path, 0o600)
}

// captureStandardLog sends what libraries write to the global log (bleve, and
// net/http about hostile peers) to ours, so that a terminal and a log file see
// one kind of line.
func captureStandardLog(l *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		l.Debug("library", "text", strings.TrimSpace(string(p)))
		return len(p), nil
	}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var _ io.Writer = writerFunc(nil)
