package crawler_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler/politeness"
	"gazetteer/internal/fakenet"
)

var fakenetEmpty = fakenet.Options{Empty: true}

func TestCrawlDelayIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for host, delay := range map[string]string{"a.test": "5", "b.test": "3600"} {
			w.site(host, map[string]http.Handler{robotsPath: page{body: "User-agent: *\nCrawl-delay: " + delay + "\n"}, aiPath: json200(ai("A"))})
		}
		w.run()
		w.crawl("a.test", "b.test")
		for host, want := range map[string]time.Duration{"a.test": 5 * time.Second, "b.test": 10 * time.Second} {
			var last time.Time
			for _, q := range w.net.Requests() {
				if q.Host != host {
					continue
				}
				if gap := q.Begun.Sub(last); gap < want || !last.IsZero() && gap > want+time.Second {
					t.Errorf("%s%s came %v after the request before it, want %v", host, q.Path, gap, want)
				}
				last = q.Begun
			}
			if h := w.host(host); h.Robots == nil || h.Robots.Delay != want {
				t.Errorf("%s: robots %+v", host, h.Robots)
			}
		}
	})
}

// overlap returns the shortest time between the starts of two connections to
// hosts of one key, and how many of them were in use at once at the most.
func (w *world) overlap(key func(host string) string) (gap time.Duration, atOnce int) {
	type span struct{ begun, ended time.Time }
	conns := map[uint64]*span{}
	of := map[string][]*span{}
	for _, q := range w.net.Requests() {
		s := conns[q.Conn]
		if s == nil {
			s = &span{begun: q.Begun}
			conns[q.Conn] = s
			of[key(q.Host)] = append(of[key(q.Host)], s)
		}
		s.ended = q.Ended
	}
	gap = 1 << 62
	for _, spans := range of {
		slices.SortFunc(spans, func(a, b *span) int { return a.begun.Compare(b.begun) })
		for i, s := range spans {
			if i > 0 {
				gap = min(gap, s.begun.Sub(spans[i-1].begun))
			}
			running := 1
			for _, other := range spans[:i] {
				if other.ended.After(s.begun) {
					running++
				}
			}
			atOnce = max(atOnce, running)
		}
	}
	return gap, atOnce
}

// TestRateOfAddressIsLimited checks, with hosts of a thousand domains on a few machines, that no
// address gets more requests or simultaneous visits than its network allows, redirects from
// elsewhere included, and that other hosts are not delayed.
func TestRateOfAddressIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers, w.opts.AddressInterval, w.opts.AddressConcurrency = 64, time.Second, 2
		w.opts.Networks = []politeness.NetworkLimit{{Network: netip.MustParsePrefix("198.51.100.0/24"), Limit: politeness.Limit{Interval: 100 * time.Millisecond, Concurrency: 3}}}
		names := resolver{"hub.test.": {netip.MustParseAddr("192.0.2.1")}}
		w.opts.Resolver = names
		group := func(host string) string {
			a := names[host+"."][0]
			if a.Is6() {
				return netip.PrefixFrom(a, 64).Masked().String()
			}
			return a.String()
		}
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(1500 * time.Millisecond)
			http.NotFound(w, r)
		})
		w.net.Handle("hub.test", slow)
		var crowded, alone []string
		for i := range 240 {
			host := fmt.Sprintf("h%d.test", i)
			addr := fmt.Sprintf("203.0.113.%d", i)
			switch i % 4 {
			case 0:
				addr = "192.0.2.1"
			case 1:
				addr = fmt.Sprintf("2001:db8:1:1::%d", i)
			case 2:
				addr = "198.51.100.7"
			}
			names[host+"."] = []netip.Addr{netip.MustParseAddr(addr)}
			if i%4 == 3 {
				alone = append(alone, host)
				w.site(host, nil)
				if i%40 == 3 {
					w.site(host, map[string]http.Handler{aiPath: redirect("https://hub.test/doc")})
				}
				continue
			}
			crowded = append(crowded, host)
			w.net.Handle(host, slow)
		}
		w.run()
		begun := time.Now()
		w.crawl(append(crowded, alone...)...)
		for addr, want := range map[string]politeness.Limit{
			"192.0.2.1": {Interval: time.Second, Concurrency: 2}, "2001:db8:1:1::/64": {Interval: time.Second, Concurrency: 2},
			"198.51.100.7": {Interval: 100 * time.Millisecond, Concurrency: 3},
		} {
			gap, atOnce := w.overlap(func(host string) string {
				if g := group(host); g == addr {
					return g
				}
				return host
			})
			if gap < want.Interval || atOnce > want.Concurrency {
				t.Errorf("%s: asked after %v, by %d visits at once; want %v and %d", addr, gap, atOnce, want.Interval, want.Concurrency)
			}
		}
		for _, q := range w.net.Requests() {
			if strings.HasPrefix(group(q.Host), "203.") && q.Path == robotsPath && q.Begun.Sub(begun) > time.Second {
				t.Errorf("%s, which has its address for itself, was asked only after %v", q.Host, q.Begun.Sub(begun))
			}
		}
		w.wantPolite(0)
	})
}

// TestManyRedirectsToOneHost checks that many hosts that redirect to one visit it in turn, and
// request its robots.txt once.
func TestManyRedirectsToOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.HostInterval, w.opts.Workers = time.Second, 16
		w.site("hub.test", map[string]http.Handler{"/doc": json200(ai("Hub"))})
		var hosts []string
		for i := range 12 {
			host := fmt.Sprintf("h%d.test", i)
			w.site(host, map[string]http.Handler{aiPath: redirect("https://hub.test/doc"), summaryPath: redirect("https://hub.test/none")})
			hosts = append(hosts, host)
		}
		w.run()
		for host, r := range w.crawl(hosts...) {
			if r.Documents != 1 {
				t.Errorf("%s: %s", host, r.Summary)
			}
		}
		w.wantPolite(time.Second)
		if n := len(w.times("hub.test", robotsPath)); n > 2 {
			t.Errorf("robots.txt of the hub was asked for %d times", n)
		}
	})
}

func TestTotalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Rate = 5
		var hosts []string
		for i := range 26 {
			host := fmt.Sprintf("h%d.test", i)
			w.site(host, nil)
			hosts = append(hosts, host)
		}
		w.run()
		begun := time.Now()
		w.crawl(hosts...)
		if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("26 visits at 5 a second took %v", took)
		}
	})
}

// TestProxyEnvironmentIsIgnored checks that the proxy variables of the environment have no effect.
func TestProxyEnvironmentIsIgnored(t *testing.T) {
	for _, pair := range []string{
		"COLLY_MAX_BODY_SIZE=7", "COLLY_DISALLOWED_DOMAINS=a.test", "COLLY_USER_AGENT=other", "COLLY_MAX_REQUESTS=1",
		"COLLY_IGNORE_ROBOTSTXT=n", "COLLY_CACHE_DIR=" + t.TempDir(), "COLLY_FOLLOW_REDIRECTS=yes",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "ALL_PROXY=http://127.0.0.1:9", "NO_PROXY=other.test",
		"https_proxy=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9", "all_proxy=http://127.0.0.1:9", "no_proxy=other.test",
	} {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	w := newWorldOf(t, fakenetEmpty)
	w.site("a.test", map[string]http.Handler{aiPath: redirect("/doc"), "/doc": json200(ai("A"))})
	w.run()
	if r := w.visit("a.test"); r.Documents != 1 {
		t.Errorf("result %s", r.Summary)
	}
	for _, q := range w.net.Requests() {
		if got := q.Header.Get("User-Agent"); got != "Gazetteer/0.1" {
			t.Errorf("%s: User-Agent %q", q.Path, got)
		}
	}
	if entries, err := os.ReadDir(os.Getenv("COLLY_CACHE_DIR")); err != nil || len(entries) > 0 {
		t.Errorf("the cache directory holds %v, %v", entries, err)
	}
}

func TestServerReceivesNoForeignData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{
			robotsPath:  page{status: 404, header: map[string]string{"Set-Cookie": "id=1; Domain=a.test", "WWW-Authenticate": "Basic"}},
			aiPath:      page{body: ai("A"), header: map[string]string{"Set-Cookie": "id=2", "Alt-Svc": `h3=":443"`, "Link": "</x>; rel=preload"}},
			summaryPath: page{status: 401, header: map[string]string{"WWW-Authenticate": "Basic", "Set-Cookie": "id=3; Domain=test; Path=/"}},
		})
		w.run()
		w.visit("a.test")
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		once := []string{"a.test /robots.txt", "a.test /.well-known/ai", "a.test /.well-known/agis.json"}
		w.wantAsked(0, append(slices.Clone(once), once...)...)
		for _, q := range w.net.Requests() {
			for _, name := range []string{"Cookie", "Authorization", "Referer"} {
				if q.Header.Get(name) != "" {
					t.Errorf("%s was sent %s", q.Path, name)
				}
			}
			if q.Method != "GET" || q.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s %s with Accept-Encoding %q", q.Method, q.Path, q.Header.Get("Accept-Encoding"))
			}
		}
	})
}
