package web_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance/standing"
	"gazetteer/index"
	"gazetteer/internal/cputime"
	"gazetteer/internal/fakestore"
	"gazetteer/internal/teststore"
	"gazetteer/registry/registrar"
	"gazetteer/web"
)

// censusPages are the pages and resources that show figures, lists and changes. Those with {host} are
// about one host, a different one each time.
var censusPages = []string{
	"/", "/census", "/census/hosts?figure=state:conformant%3Dyes", "/census/hosts?figure=class:nothing",
	"/changes", "/changes?severity=high", "/changes?host={host}",
	"/services", "/services?page=400", "/services?sort=changed", "/services?category=finance", "/services?category=finance&is=conformant",
	"/services?is=-consistent&sort=operations&page=20", "/services?q=weather+api",
	"/services/{host}", "/services/{host}/documents/ai/diff", "/services/{host}/crawl-log", "/status",
	"/api/v1/stats", "/api/v1/stats/series", "/api/v1/stats/hosts?figure=verb:GET", "/api/v1/services", "/api/v1/services?category=finance", "/api/v1/services?category=none-has-it",
	"/api/v1/services?is=-conformant", "/api/v1/services/{host}/explanation", "/api/v1/services/{host}/badge.svg",
	"/api/v1/changes", "/api/v1/changes?severity=high", "/api/v1/changes/atom", "/api/v1/changes/feed.json",
}

// BenchmarkCensusPages has 32 clients read these pages of SERVICES services (2,000 without it) at
// the same time, each time for a second. p99-ms is that of the slowest page, all-p99-ms that of all
// requests. STORE keeps the store and its views for the next run. The index is empty.
func BenchmarkCensusPages(b *testing.B) {
	const clients = 32
	services, _ := strconv.Atoi(cmp.Or(os.Getenv("SERVICES"), "2000"))
	base := openLargeServer(b, cmp.Or(os.Getenv("STORE"), b.TempDir()), services)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	read := func(page string) time.Duration {
		n := rand.IntN(services)
		page = strings.ReplaceAll(page, "{host}", fmt.Sprintf("s%06d.%s.test", n, []string{"shop", "bank", "travel", "health", "tools"}[n%5]))
		begun := time.Now()
		r, err := client.Get(base + page)
		if err != nil {
			b.Error(err)
			return 0
		}
		defer r.Body.Close()
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode >= 500 {
			b.Errorf("%s: %s %v", page, r.Status, err)
		}
		return time.Since(begun)
	}
	for _, page := range censusPages { // what is cached is read once
		read(page)
	}
	for _, page := range censusPages { // one client at a time, so that the time belongs to the page
		const times = 50
		before, allocated := cputime.Used(), allocatedBytes()
		for range times {
			read(page)
		}
		fmt.Printf("%-55s %7.2f ms of processor time, %6d kB allocated\n", page, float64((cputime.Used()-before).Microseconds())/1000/times, (allocatedBytes()-allocated)/times/1000)
	}
	var all []time.Duration
	took := map[string][]time.Duration{}
	for b.Loop() {
		var mu sync.Mutex
		var group sync.WaitGroup
		until := time.Now().Add(time.Second * time.Duration(len(censusPages)))
		for range clients {
			group.Go(func() {
				for time.Now().Before(until) {
					page := censusPages[rand.IntN(len(censusPages))]
					d := read(page)
					mu.Lock()
					took[page], all = append(took[page], d), append(all, d)
					mu.Unlock()
				}
			})
		}
		group.Wait()
	}
	percentile := func(list []time.Duration, share float64) float64 {
		slices.Sort(list)
		return float64(list[int(share*float64(len(list)-1))].Microseconds()) / 1000
	}
	worst := 0.0
	for _, page := range censusPages {
		p99 := percentile(took[page], .99)
		worst = max(worst, p99)
		fmt.Printf("%-55s %6d requests, p50 %7.2f ms, p99 %7.2f ms\n", page, len(took[page]), percentile(took[page], .5), p99)
	}
	b.ReportMetric(worst, "p99-ms")
	b.ReportMetric(percentile(all, .99), "all-p99-ms")
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "requests/s")
}

// allocatedBytes returns how much this process has allocated since its start.
func allocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// openLargeServer serves the pages over a store with so many services and their views in a
// directory, and returns its address.
func openLargeServer(b *testing.B, dir string, services int) string {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	gin.SetMode(gin.TestMode)
	data := filepath.Join(dir, "store")
	_, missing := os.Stat(data)
	must(os.MkdirAll(data, 0o700))
	s := teststore.Open(b, data)
	if missing != nil {
		must(fakestore.Fill(ctx, s, fakestore.Options{Root: "..", Services: services, At: time.Now()}))
	}
	states := standing.Open(standing.Options{Store: s, Path: filepath.Join(dir, "standing")})
	x, err := index.Open(ctx, index.Options{Dir: b.TempDir(), Store: s, States: states})
	must(err)
	b.Cleanup(func() { must(x.Close()) })
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "gazetteer.test"})
	must(err)
	directory := r.NewDirectory()
	feed, err := changefeed.Open(ctx, changefeed.Options{Dir: filepath.Join(dir, "changes"), Store: s, MinFree: -1})
	must(err)
	b.Cleanup(func() { must(feed.Close()) })
	figures := census.OpenLive(census.LiveOptions{Store: s, Snapshot: filepath.Join(dir, "census.snapshot")})
	var group sync.WaitGroup
	b.Cleanup(func() { stop(); group.Wait() })
	for _, follow := range []func(context.Context) error{directory.Run, states.Run, figures.Run, feed.Run} {
		group.Go(func() {
			if err := follow(ctx); err != nil {
				b.Errorf("follow the store: %v", err)
			}
		})
	}
	head := s.Head().Seq
	must(directory.WaitFor(ctx, head))
	must(states.WaitFor(ctx, head))
	must(figures.WaitFor(ctx, head))
	must(feed.WaitFor(ctx, head))
	answers := &answer.Answers{Store: s, Index: x, Census: figures, Feed: feed, Registry: r, Directory: directory, Standing: states}
	routes, err := api.New(api.Options{Options: route.Options{Answers: answers}})
	must(err)
	pages := web.New(answers, x, web.Options{Standing: routes.ServerStatus})
	pages.Mount(routes.Engine())
	server := httptest.NewServer(routes.Handler())
	b.Cleanup(server.Close)
	return server.URL
}
