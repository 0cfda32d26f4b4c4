package crawler

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"time"

	"gazetteer/crawler/politeness"
	"gazetteer/document"
	"gazetteer/fetch"
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
	// VerifyFullChains is the option of [fetch.Options].
	VerifyFullChains bool
	UserAgent        string // "Gazetteer/0.1"; robots.txt knows us as [fetch.RobotsToken]
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
	HostInterval       time.Duration // 1 s
	HostConcurrency    int           // 1
	DomainInterval     time.Duration // 2 s
	DomainConcurrency  int           // 1
	AddressInterval    time.Duration // 100 ms; of an IPv4 address or an IPv6 /64
	AddressConcurrency int           // 8
	// Networks are exceptions for ranges of addresses, such as those of a large CDN. The first
	// range that contains an address applies.
	Networks      []politeness.NetworkLimit
	Rate          float64       // visits begun a second, to all hosts together; 200
	MaxCrawlDelay time.Duration // longest Crawl-delay honored; 10 s

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
	// Due returns the time by which entries of the crawl log expire: it does not jump with the
	// machine's clock. Nil means Now.
	Due func() time.Time
}

func (o *Options) setDefaults() {
	o.HostInterval = cmp.Or(o.HostInterval, time.Second)
	o.DomainInterval = cmp.Or(o.DomainInterval, 2*time.Second)
	o.AddressInterval = cmp.Or(o.AddressInterval, 100*time.Millisecond)
	o.MaxCrawlDelay = cmp.Or(o.MaxCrawlDelay, 10*time.Second)
	o.SessionTimeout = cmp.Or(o.SessionTimeout, 2*time.Minute)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, fetch.RobotsToken+"/0.1")
	o.HostConcurrency = cmp.Or(o.HostConcurrency, 1)
	o.DomainConcurrency = cmp.Or(o.DomainConcurrency, 1)
	o.AddressConcurrency = cmp.Or(o.AddressConcurrency, 8)
	o.Rate = cmp.Or(o.Rate, 200)
	if o.Workers <= 0 {
		o.Workers = 2048
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Due == nil {
		o.Due = o.Now
	}
	if o.Observe == nil {
		o.Observe = func(Result) {}
	}
}
