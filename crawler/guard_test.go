package crawler_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"gazetteer/fetch"
)

// A resolver knows these names.
type resolver map[string][]netip.Addr

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if addrs, ok := r[host]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// TestCrawlerRefusesPrivateAddresses checks that a crawler without a Dial function uses the guard:
// no name or redirect leads it to a real server on loopback.
func TestCrawlerRefusesPrivateAddresses(t *testing.T) {
	w := newWorldOf(t, fakenetEmpty)
	guard, err := fetch.NewGuard(fetch.GuardOptions{Deny: []string{"8.8.4.0/24"}, Resolver: resolver{
		"us.test.":      {netip.MustParseAddr("8.8.4.4")}, // where we are ourselves
		"rebound.test.": {netip.MustParseAddr("127.0.0.1")},
		"mixed.test.":   {netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("169.254.169.254")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.opts.Dial, w.opts.Guard = nil, guard
	w.run()
	for host, r := range w.crawl("rebound.test", "mixed.test", "us.test") {
		if !strings.HasPrefix(r.Summary, "blocked-address: ") {
			t.Errorf("%s: %s", host, r.Summary)
		}
	}
	blocked := 0
	for _, outcomes := range w.crawler.Metrics().Outcomes {
		blocked += outcomes[fetch.BlockedAddress]
	}
	if blocked < 3 {
		t.Errorf("the metrics count %d blocked addresses", blocked)
	}
	if r := w.visit("unknown.test"); !strings.HasPrefix(r.Summary, "dns: ") {
		t.Errorf("unknown.test: %s", r.Summary)
	}
}
