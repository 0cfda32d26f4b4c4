package server

import (
	"context"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/politeness"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/limit"
)

// newGuard returns the guard of all requests to hosts that documents name. It forbids the addresses
// in crawler.denied_addresses and the crawler's own addresses, because a service there may trust
// them.
func newGuard(c config.Config) (*fetch.Guard, error) {
	for _, part := range []struct {
		key     string
		options fetch.GuardOptions
	}{
		{"denied_addresses", fetch.GuardOptions{Deny: c.Crawler.DeniedAddresses}},
		{"own_addresses", fetch.GuardOptions{Deny: c.Crawler.OwnAddresses}},
		{"nat64_prefixes", fetch.GuardOptions{NAT64: c.Crawler.NAT64Prefixes}},
	} {
		if _, err := fetch.NewGuard(part.options); err != nil {
			return nil, exit.Usagef("crawler.%s: %v", part.key, err)
		}
	}
	return fetch.NewGuard(fetch.GuardOptions{Deny: slices.Concat(c.Crawler.DeniedAddresses, c.Crawler.OwnAddresses), NAT64: c.Crawler.NAT64Prefixes})
}

func newCrawler(h *Server, e Environment, observe func(crawler.Result)) (*crawler.Crawler, error) {
	c := h.Config.Crawler
	networks, err := parseNetworkLimits(c.NetworkLimits)
	if err != nil {
		return nil, err
	}
	formats, err := parseFormats(c.Formats)
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(h.Config)
	if err != nil {
		return nil, err
	}
	o := crawler.Options{
		Now: e.Now, Due: h.clock.Due,
		Store: h.Store, Log: h.log, Roots: e.Roots, Guard: guard, Dir: filepath.Join(h.Config.DataDir, "crawler"),
		Workers: c.Workers, Busy: processorsAreBusy, UserAgent: userAgent(h.Config), Rate: c.Rate,
		HostInterval: crawlerInterval(c.HostInterval), DomainInterval: crawlerInterval(c.DomainInterval), AddressInterval: crawlerInterval(c.AddressInterval),
		HostConcurrency: c.HostConcurrency, DomainConcurrency: c.DomainConcurrency, AddressConcurrency: c.AddressConcurrency, Networks: networks,
		VerifyFullChains: c.VerifyFullChains, Formats: formats,
		Timeout: time.Duration(c.Timeout), SessionTimeout: e.VisitTimeout, Grace: drainTimeout(h.Config),
		Observe: observe,
	}
	if e.Dial != nil {
		o.Dial = e.Dial(guard.DialContext)
	}
	return crawler.New(o)
}

// parseFormats reads crawler.formats: the kinds that the crawler requests only if they are listed.
func parseFormats(names []string) ([]document.Kind, error) {
	var formats []document.Kind
	for _, name := range names {
		if f, ok := document.FormatOf(document.Kind(name)); !ok || f.Request != document.OnDemand {
			return nil, exit.Usagef("crawler.formats: %q is no format that is requested on demand; those are: %s",
				name, document.ListKinds(document.OnDemandKinds(), "and"))
		}
		formats = append(formats, document.Kind(name))
	}
	return formats, nil
}

// crawlerInterval converts an interval for the crawler's options: 0 in the configuration means
// none, but 0 in the options means the default.
func crawlerInterval(d config.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

// parseNetworkLimits reads the exceptions for addresses: a network, an interval, and the number of
// concurrent visits.
func parseNetworkLimits(lines []string) ([]politeness.NetworkLimit, error) {
	var limits []politeness.NetworkLimit
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, exit.Usagef("crawler.network_limits %q: want a network, an interval and a number, for example \"203.0.113.0/24 10ms 64\"", line)
		}
		network, err := netip.ParsePrefix(fields[0])
		if err != nil {
			return nil, exit.Usagef("crawler.network_limits %q: %q is not a network such as \"203.0.113.0/24\"", line, fields[0])
		}
		pause, err := time.ParseDuration(fields[1])
		if err != nil || pause < 0 {
			return nil, exit.Usagef("crawler.network_limits %q: %q is not an interval such as \"10ms\"", line, fields[1])
		}
		atOnce, err := strconv.Atoi(fields[2])
		if err != nil || atOnce < 1 {
			return nil, exit.Usagef("crawler.network_limits %q: %q is not a number of visits", line, fields[2])
		}
		limits = append(limits, politeness.NetworkLimit{Network: network.Masked(), Limit: politeness.Limit{Interval: pause, Concurrency: atOnce}})
	}
	return limits, nil
}

// checkTimeout bounds one fetch for a waiting client. It is less than the API's time limit for an
// answer, so that the answer can still contain the results so far.
const checkTimeout = 12 * time.Second

// newValidator returns the validator of documents for visitors of the API and the pages. It fetches
// like the crawler, over its own connections.
func newValidator(c config.Config, e Environment, limits *limit.Set, made func(fetch.Made)) (*answer.Validator, error) {
	client, err := NewFetcher(c, e, checkTimeout, made)
	if err != nil {
		return nil, err
	}
	return answer.NewValidator(answer.ValidatorOptions{
		Now:     e.Now,
		Fetcher: client, PerClient: c.API.FetchesPerHour, PerHost: c.API.FetchesPerHostPerHour, All: c.API.FetchesGlobalPerHour, Limits: limits,
	}), nil
}

// NewFetcher returns a client that fetches under the rules of the crawler. session bounds one call.
// made, if not nil, is called for every request.
func NewFetcher(c config.Config, e Environment, session time.Duration, made func(fetch.Made)) (*fetch.Client, error) {
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	o := fetch.Options{
		Now:   e.Now,
		Guard: guard, Roots: e.Roots, UserAgent: userAgent(c),
		Timeout: min(time.Duration(c.Crawler.Timeout), session), SessionTimeout: session, Made: made,
	}
	if e.Dial != nil {
		o.Dial = e.Dial(guard.DialContext)
	}
	return fetch.New(o)
}

// userAgent returns the User-Agent of requests. It adds the page that describes the crawler, unless
// the configured value already contains an address.
func userAgent(c config.Config) string {
	if c.PublicURL == "" || strings.Contains(c.Crawler.UserAgent, "http") || strings.Contains(c.Crawler.UserAgent, "@") {
		return c.Crawler.UserAgent
	}
	return c.Crawler.UserAgent + " (+" + strings.TrimSuffix(c.PublicURL, "/") + "/bot)"
}

// addHosts puts hosts into the frontier. The error is [answer.ErrNoCrawl] if nothing visits them.
func (h *Server) addHosts(ctx context.Context, hosts ...string) error {
	if !h.crawls {
		return answer.ErrNoCrawl
	}
	return h.Crawler.Add(ctx, hosts...)
}

// crawlAndIndex returns when the crawled documents can be found, because its caller searches next.
func (h *Server) crawlAndIndex(ctx context.Context, hosts []string, yield func(crawler.Result) error) error {
	if err := h.Crawler.Crawl(ctx, hosts, yield); err != nil {
		return err
	}
	return h.Index.WaitFor(ctx, h.Store.Head().Seq)
}

// maxRunnable is the number of goroutines that may wait for each processor when another visit
// begins.
const maxRunnable = 16

// processorsAreBusy reports whether too many goroutines wait for a processor to begin another
// visit.
func processorsAreBusy() bool {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Kind() == metrics.KindUint64 && sample[0].Value.Uint64() > uint64(maxRunnable*runtime.GOMAXPROCS(0))
}
