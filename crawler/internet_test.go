package crawler_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/psl"
)

// hostsFromEnvironment is how many hosts the internet of TestInternet has: a few
// hundred, or CRAWL_HOSTS (20000 takes some minutes).
func hostsFromEnvironment(t *testing.T) int {
	text := os.Getenv("CRAWL_HOSTS")
	if text == "" {
		return 240
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An internet of all sorts of hosts, crawled whole and for two days on, with the
// servers' log as the judge: nothing before robots.txt, nothing that it forbids,
// no gap between visits shorter than promised to a host, a domain or an address,
// nothing again within a day of a 404, no sixth redirect, no plain http.
func TestInternet(t *testing.T) {
	hosts := hostsFromEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers, w.opts.HostInterval, w.opts.DomainInterval = 256, time.Second, 2*time.Second
		w.opts.AddressInterval, w.opts.AddressConcurrency = 200*time.Millisecond, 2
		names := resolver{}
		w.opts.Resolver = names
		forbidding := map[string]bool{}
		var seeds []string
		for i := range hosts {
			host := fmt.Sprintf("h%d.test", i)
			if i%4 == 0 {
				host = fmt.Sprintf("h%d.d%d.test", i, i/40) // ten below one domain
			}
			names[host+"."] = []netip.Addr{netip.AddrFrom4([4]byte{203, 0, byte(i / 5 >> 8), byte(i / 5)})} // five at one address
			seeds = append(seeds, host)
			doc := json200(ai(host))
			pages := map[string]http.Handler{aiPath: doc}
			switch i % 8 {
			case 1:
				pages = nil
			case 2:
				pages[robotsPath], forbidding[host] = page{body: "User-agent: *\nDisallow: /\n"}, true
			case 3:
				pages = map[string]http.Handler{aiPath: redirect(fmt.Sprintf("https://h%d.test/elsewhere", (i/8*8+5)%hosts))}
			case 4:
				pages = map[string]http.Handler{aiPath: redirect("http://" + host + "/plain"), "/plain": doc}
			case 5:
				pages["/elsewhere"] = doc
				pages[summaryPath] = json200(summary("https://"+host+"/full", fmt.Sprintf("agtp://h%d.test", (i+8)%hosts)))
			case 6:
				pages[aiPath] = redirect("/r1")
				for hop := range 9 {
					pages[fmt.Sprintf("/r%d", hop)] = redirect(fmt.Sprintf("/r%d", hop+1))
				}
			case 7:
				pages[robotsPath], forbidding[host] = page{status: 503}, true
			}
			w.site(host, pages)
		}
		w.run()
		if err := w.crawler.Add(t.Context(), seeds...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Hour)
		synctest.Wait()
		if s := w.crawler.Status(); s.Known != hosts || s.Visits < 2*hosts {
			t.Errorf("status %+v", s)
		}
		w.rest()
		w.wantPolite(time.Second)
		missing := map[string]time.Time{} // when a path was not found
		hops := map[uint64]int{}
		for _, q := range w.net.Requests() {
			if forbidding[q.Host] && q.Path != robotsPath {
				t.Errorf("%s%s is forbidden and was asked", q.Host, q.Path)
			}
			if at, ok := missing[q.Host+q.Path]; ok && q.Begun.Sub(at) < 24*time.Hour && q.Path != robotsPath {
				t.Errorf("%s%s was asked again %v after a 404", q.Host, q.Path, q.Begun.Sub(at))
			}
			if q.Status == 404 {
				missing[q.Host+q.Path] = q.Begun
			}
			if strings.HasPrefix(q.Path, "/r") && q.Path != robotsPath {
				if hops[q.Conn]++; hops[q.Conn] > 5 || q.Path >= "/r6" {
					t.Errorf("%s%s is redirect %d", q.Host, q.Path, hops[q.Conn])
				}
			}
		}
		for what, c := range map[string]struct {
			key    func(string) string
			gap    time.Duration
			atOnce int
		}{
			"a host":     {func(h string) string { return h }, time.Second, 1},
			"a domain":   {psl.Domain, 2 * time.Second, 1},
			"an address": {func(h string) string { return names[h+"."][0].String() }, 200 * time.Millisecond, 2},
		} {
			if gap, atOnce := w.overlap(c.key); gap < c.gap || atOnce > c.atOnce {
				t.Errorf("%s was visited again after %v, by %d at once; want %v and %d", what, gap, atOnce, c.gap, c.atOnce)
			}
		}
		w.wantCrawlLogs()
		t.Logf("%d hosts, %d requests in 50 hours", hosts, len(w.net.Requests()))
	})
}

// TestSilentHostsAreCheap checks that two thousand hosts that never answer cost little each, and
// that as many good ones among them take at most one and a half times as long as alone.
func TestSilentHostsAreCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silentHosts, goodHosts, rate = 2000, 2000, 1000
		w := newWorld(t)
		w.opts.Workers, w.opts.Rate = 0, rate // as many as there are when nobody says
		dial := w.net.Dial(nil)
		w.opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !strings.HasPrefix(addr, "silent") {
				return dial(ctx, network, addr)
			}
			ours, _ := net.Pipe() // the other end says nothing
			return ours, nil
		}
		var silentNames, good []string
		for i := range silentHosts {
			silentNames = append(silentNames, fmt.Sprintf("silent%d.test", i))
		}
		for i := range goodHosts {
			good = append(good, fmt.Sprintf("good%d.test", i))
			w.net.Handle(good[i], http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				time.Sleep(10 * time.Millisecond)
				if r.URL.Path != aiPath {
					http.NotFound(rw, r)
					return
				}
				json200(ai(r.Host)).ServeHTTP(rw, r)
			}))
		}
		w.run()
		memory := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc + m.StackInuse)
		}
		before := memory()
		if err := w.crawler.Add(t.Context(), silentNames...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(silentHosts * time.Second / rate)
		synctest.Wait()
		if s := w.crawler.Status(); s.InFlight != silentHosts {
			t.Errorf("%d of %d are being visited", s.InFlight, silentHosts)
		}
		each := (memory() - before) / silentHosts
		t.Logf("%d bytes for a silent host", each)
		if each > 64<<10 {
			t.Errorf("a silent host costs %d bytes", each)
		}
		begun := time.Now()
		for host, r := range w.crawl(good...) {
			if r.Documents != 1 || r.Took > time.Second {
				t.Errorf("%s: %s in %v", host, r.Summary, r.Took)
			}
		}
		if took, atBest := time.Since(begun), goodHosts*time.Second/rate; took > atBest*3/2 {
			t.Errorf("the others took %v, want %v at best", took, atBest)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, host := range []string{silentNames[0], silentNames[silentHosts-1]} {
			if f := w.host(host).Fetches["ai"]; f.Outcome != fetch.Timeout {
				t.Errorf("%s: %s %s", host, f.Outcome, f.Detail)
			}
		}
		if !slices.Contains(w.asked(), "good0.test "+aiPath) {
			t.Error("nobody was asked")
		}
	})
}
