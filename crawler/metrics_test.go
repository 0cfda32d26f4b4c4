package crawler_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/fetch"
)

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers = 1
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{robotsPath: page{body: "User-agent: *\nDisallow: /\n"}})
		w.site("slow.test", map[string]http.Handler{aiPath: http.HandlerFunc(silent)})
		w.run()
		w.crawl("a.test", "b.test")
		m := w.crawler.Metrics()
		if m.Visits != 2 || m.Requests != len(w.asked()) || m.RobotsRefusals != 2 || m.WireBytes < int64(len(ai("A"))) {
			t.Errorf("%+v", m)
		}
		if m.Outcomes["ai"][fetch.OK] != 1 || m.Outcomes["ai"][fetch.RefusedByRobots] != 1 || m.Outcomes["robots"][fetch.OK] != 1 {
			t.Errorf("outcomes %v", m.Outcomes)
		}
		m.Outcomes["ai"][fetch.OK] = 99
		if w.crawler.Metrics().Outcomes["ai"][fetch.OK] != 1 {
			t.Error("what was handed out is still in use")
		}
		// One worker is with the silent host, so the others wait.
		if err := w.crawler.Add(t.Context(), "slow.test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.crawler.Add(t.Context(), "c.test", "d.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		if err := w.crawler.Add(t.Context(), "e.test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if m := w.crawler.Metrics(); m.QueueAge < 3*time.Second || m.QueueAge > 5*time.Second || m.Due < 2 {
			t.Errorf("the queue is %v old, %d are due", m.QueueAge, m.Due)
		}
	})
}
