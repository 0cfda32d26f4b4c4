package crawler_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/fetch"
)

// TestLog checks that every visit has one line in the log with its result, and at level debug every
// fetch as well.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		w := newWorld(t)
		w.opts.Log = slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{robotsPath: page{body: "User-agent: *\nDisallow: /\n"}})
		w.run()
		w.crawl("a.test", "b.test")
		w.rest()
		var got []string
		for line := range strings.Lines(text.String()) {
			var l struct {
				Msg, Host, Kind, Outcome string
				Took                     *int64
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			if l.Took == nil {
				t.Errorf("a line does not say how long it took: %s", line)
			}
			got = append(got, strings.Join([]string{l.Msg, l.Host, l.Kind, l.Outcome}, " "))
		}
		slices.Sort(got)
		want := []string{
			"fetch a.test agis-summary absent", "fetch a.test ai ok", "fetch a.test robots absent",
			"fetch b.test agis-summary refused-by-robots", "fetch b.test ai refused-by-robots", "fetch b.test robots ok",
			"visit a.test ai ok", "visit b.test agis-summary refused-by-robots",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

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
