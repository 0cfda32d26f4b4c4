package crawler_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

// The crawler visits the whole small internet of the demo from its seeds: every host ends as its
// label says, and the crawler is polite to all.
func TestStandardInternet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOf(t, fakenet.Options{Memory: true})
		w.opts.HostInterval, w.opts.DomainInterval, w.opts.Workers = time.Second, time.Second, 64
		w.run()
		if err := w.crawler.Add(t.Context(), w.net.Seeds()...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := w.crawler.Status(); s.Due != 0 || s.InFlight != 0 || s.Visits < 200 {
			t.Errorf("status %+v", s)
		}
		for _, h := range w.net.Hosts() {
			if !h.Reachable {
				for _, q := range w.asked() {
					if strings.HasPrefix(q, h.Name+" ") {
						t.Errorf("%s was requested, although it is too far from any seed", q)
					}
				}
				continue
			}
			state := w.host(h.Name)
			for kind, want := range h.Expect {
				if got := state.Fetches[kind]; got.Outcome != fetch.Outcome(want) {
					t.Errorf("%s: %s is %q (%s), want %q (%s)", h.Name, kind, got.Outcome, got.Detail, want, h.Note)
				}
			}
		}
		w.wantPolite(0)
	})
}
