package fakenet

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
)

// TestHostsAnswerAsLabeled checks that every host that a crawl reaches answers exactly as its
// label says. It waits in simulated time for the hosts that never answer.
func TestHostsAnswerAsLabeled(t *testing.T) {
	slow := []string{"slow.test", "stalls.test"}
	n := open(t, Options{})
	j := judge{client: client(t, n), patience: time.Minute}
	var wait sync.WaitGroup
	hosts := make(chan Host)
	for range 8 {
		wait.Go(func() {
			for h := range hosts {
				compare(t, h, j.visit(h.Name))
			}
		})
	}
	for _, h := range n.Hosts() {
		if h.Reachable && !slices.Contains(slow, h.Name) {
			hosts <- h
		}
	}
	close(hosts)
	wait.Wait()
	for _, q := range n.Requests() {
		if !q.TLS {
			t.Errorf("a request came over plain http: %+v", q)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		n := open(t, Options{Memory: true})
		j := judge{client: client(t, n), patience: time.Minute}
		for _, h := range n.Hosts() {
			if slices.Contains(slow, h.Name) {
				compare(t, h, j.visit(h.Name))
			}
		}
	})
}

func compare(t *testing.T, h Host, got map[string]string) {
	if len(h.Expect) == 0 {
		t.Errorf("%s: nothing is expected of it", h.Name)
	}
	for kind, want := range h.Expect {
		if got[kind] != want {
			t.Errorf("%s (%s): %s is %q, labelled %q", h.Name, h.Note, kind, got[kind], want)
		}
	}
	// A label for one kind only says that the others do not matter.
	for kind := range got {
		if h.Expect[kind] == "" && len(h.Expect) > 1 {
			t.Errorf("%s (%s): %s is %q, but has no label", h.Name, h.Note, kind, got[kind])
		}
	}
}

// TestLinksLeadAsLabeled checks that Depth and Reachable agree with the links of the summaries.
func TestLinksLeadAsLabeled(t *testing.T) {
	n := open(t, Options{})
	j := judge{client: client(t, n), patience: time.Minute}
	hosts := map[string]Host{}
	depth := map[string]int{}
	var queue []string
	for _, h := range n.Hosts() {
		hosts[h.Name] = h
		if h.Seed {
			queue = append(queue, h.Name)
			depth[h.Name] = 0
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(queue)), n.Seeds()) {
		t.Errorf("Seeds() = %v, want the hosts labelled as seeds", n.Seeds())
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if hosts[name].Expect["agis-summary"] != "ok" && depth[name] <= deepest {
			continue
		}
		body, outcome := j.fetch(document.AGISSummary, name, "https://"+name+pathSummary)
		if outcome != "ok" {
			continue
		}
		d, err := document.Read(document.Input{Kind: document.AGISSummary, Host: name, Bytes: body})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range d.Links {
			if _, seen := depth[l.Host]; l.Rel == document.RelRelated && !seen {
				depth[l.Host] = depth[name] + 1
				queue = append(queue, l.Host)
			}
		}
	}
	count := map[int]int{}
	for _, h := range hosts {
		d, ok := depth[h.Name]
		if !ok {
			t.Errorf("%s: no link leads there", h.Name)
			continue
		}
		if d != h.Depth || h.Seed != (d == 0) || h.Reachable != (d <= 3) {
			t.Errorf("%s: %d links from a seed, labelled %+v", h.Name, d, h)
		}
		count[d]++
	}
	for name := range depth {
		if _, ok := hosts[name]; !ok {
			t.Errorf("%s: linked to, but no host", name)
		}
	}
	t.Logf("hosts by depth: %v", count)
	if found := count[1] + count[2] + count[3]; len(hosts) < 210 || found < 110 || count[3] < 10 || count[4] < 3 {
		t.Errorf("hosts by depth: %v", count)
	}
}

func TestFilesAreConditional(t *testing.T) {
	n := open(t, Options{})
	c := client(t, n)
	get := func(tag string) *http.Response {
		r, err := http.NewRequest("GET", "https://stripe.test/.well-known/ai", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	first := get("")
	tag := first.Header.Get("ETag")
	if first.StatusCode != 200 || tag == "" || first.Header.Get("Cache-Control") != "public, max-age=86400" || first.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("first answer: %d %v", first.StatusCode, first.Header)
	}
	if again := get(tag); again.StatusCode != http.StatusNotModified {
		t.Errorf("with its own tag: %d, want 304", again.StatusCode)
	}
	if other := get(`"other"`); other.StatusCode != http.StatusOK {
		t.Errorf("with another tag: %d, want 200", other.StatusCode)
	}
}

func TestRetryAfterAndSizes(t *testing.T) {
	n := open(t, Options{})
	c := client(t, n)
	resp, err := c.Get("https://busy.test" + pathAI)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Retry-After"); got != "120" {
		t.Errorf("Retry-After = %q, want 120", got)
	}
	for host, want := range map[string]int{"just-fits.test": 262144, "too-large.test": 262145} {
		resp, err := c.Get("https://" + host + pathAI)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if len(body) != want {
			t.Errorf("%s sends %d bytes, want %d", host, len(body), want)
		}
	}
}

// The questions that the demo shows have a host with an answer.
func TestResolverAnswersQuestions(t *testing.T) {
	n := open(t, Options{})
	j := judge{client: client(t, n), patience: time.Minute}
	for _, q := range []struct{ words, kind, host, path string }{
		{"books reservation", "agis", "reservations.acme.test", "/reservations.agis"},
		{"send sms", "ai", "clicksend.test", pathAI},
		{"exchange rate", "ai", "currencytick.test", pathAI},
		{"weather forecast", "ai", "weather.visualcrossing.test", pathAI},
		{"translate text", "ai", "libretranslate.test", pathAI},
		{"create payment", "ai", "checkoutservice-v71.adyen.test", pathAI},
		{"create meeting", "ai", "gotomeeting.citrixonline.test", pathAI},
		{"tracking package", "ai", "shipengine.test", pathAI},
		{"upload file", "ai", "box.test", pathAI},
		{"find flight", "ai", "flight-cheapest-date-search.amadeus.test", pathAI},
		{"create event", "ai", "calendar.googleapis.test", pathAI},
	} {
		body, outcome := j.fetch(document.Kind(q.kind), q.host, "https://"+q.host+q.path)
		if outcome != "ok" {
			t.Errorf("%s: %s", q.host, outcome)
			continue
		}
		d, err := document.Read(document.Input{Kind: document.Kind(q.kind), Host: q.host, Bytes: body})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(d.Operations, func(op document.Operation) bool {
			text := strings.ToLower(op.Intent)
			for word := range strings.FieldsSeq(q.words) {
				if !strings.Contains(text, word) {
					return false
				}
			}
			return true
		}) {
			t.Errorf("no operation of %s has the words %q", q.host, q.words)
		}
	}
}
