package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/operator"
	"gazetteer/api/route"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/internal/testclock"
	"gazetteer/registry/registrar"
	"gazetteer/store"

	"github.com/gin-gonic/gin"
)

// TestCrawlStreams checks that the stream sends each result before the crawler makes the next one.
func TestCrawlStreams(t *testing.T) {
	next := make(chan struct{})
	var asked []string
	h := newTestServer(t, options{api: func(o *api.Options) {
		o.Operator.Crawl = func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error {
			asked = hosts
			for _, host := range hosts {
				if err := yield(crawler.Result{Host: host, Summary: "ok", Documents: 1}); err != nil {
					return err
				}
				select {
				case <-next:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}
	}})
	response, err := plain.Post(h.admin+"/admin/crawl", jsonType, strings.NewReader(`{"hosts": ["https://A.example/", "b.example"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "application/x-ndjson" {
		t.Errorf("%s, %s", response.Status, got)
	}
	lines := bufio.NewScanner(response.Body)
	for _, want := range []string{"a.example", "b.example"} {
		if !lines.Scan() {
			t.Fatalf("no line for %s: %v", want, lines.Err())
		}
		var r crawler.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Host != want {
			t.Errorf("line %s, want %s", lines.Text(), want)
		}
		next <- struct{}{} // only now the next result is made
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the last line: %q, %v", lines.Text(), lines.Err())
	}
	if !slices.Equal(asked, []string{"a.example", "b.example"}) {
		t.Errorf("asked for %q", asked)
	}
}

// TestCrawlInterrupted checks that an answer that is not whole does not look whole.
func TestCrawlInterrupted(t *testing.T) {
	h := newTestServer(t, options{api: func(o *api.Options) {
		o.Operator.Crawl = func(_ context.Context, hosts []string, yield func(crawler.Result) error) error {
			return errors.Join(yield(crawler.Result{Host: hosts[0]}), context.DeadlineExceeded)
		}
	}})
	response, err := plain.Post(h.admin+"/admin/crawl", jsonType, strings.NewReader(`{"hosts": ["a.example"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
	}
	if lines.Err() == nil {
		t.Error("the answer ended as if it were whole")
	}
	h.get("/healthz", 200)
}

// TestCrawlStopsWhenClientDisconnects checks that a crawl ends when the client that requested it
// disconnects.
func TestCrawlStopsWhenClientDisconnects(t *testing.T) {
	ended := make(chan error, 1)
	h := newTestServer(t, options{api: func(o *api.Options) {
		o.Operator.Crawl = func(ctx context.Context, _ []string, _ func(crawler.Result) error) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
	}})
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", h.admin+"/admin/crawl", strings.NewReader(`{"hosts": ["a.example"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", jsonType)
	response, err := plain.Do(r) // returns at the flushed headers
	if err != nil {
		t.Fatal(err)
	}
	leave()
	response.Body.Close()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the crawl ended with %v", err)
	}
}

func TestCrawlRefusals(t *testing.T) {
	crawl := func(context.Context, []string, func(crawler.Result) error) error { panic("must not be reached") }
	h := newTestServer(t, options{api: func(o *api.Options) { o.Operator.Crawl = crawl }})
	for name, c := range map[string]struct {
		body, code, pointer string
	}{
		"no hosts":       {`{}`, "bad-field", "/hosts"},
		"an empty list":  {`{"hosts": []}`, "bad-field", "/hosts"},
		"one name":       {`{"hosts": "a.example"}`, "bad-field", "/hosts"},
		"something else": {`{"hosts": ["a.example"], "depth": 9}`, "bad-field", "/hosts"},
		"a number":       {`{"hosts": ["a.example", 5]}`, "bad-field", "/hosts/1"},
		"an address":     {`{"hosts": ["a.example", "10.0.0.1"]}`, "bad-host", "/hosts/1"},
		"hosts twice":    {`{"hosts": ["a.example"], "hosts": ["b.example"]}`, "bad-body", ""},
		"not JSON":       {`hosts`, "bad-body", ""},
	} {
		r := h.requestAt(h.admin, "POST", "/admin/crawl", strings.NewReader(c.body), "Content-Type", jsonType)
		if p := r.problem(t); r.StatusCode != 400 || p.Code != c.code || c.pointer != "" && (p.Where == nil || p.Where.Pointer != c.pointer) {
			t.Errorf("%s: %s %s", name, r.Status, r.body)
		}
	}
	idle := newTestServer(t, options{})
	if r := idle.requestAt(idle.admin, "POST", "/admin/crawl", strings.NewReader(`{"hosts": ["a.example"]}`), "Content-Type", jsonType); r.StatusCode != 503 {
		t.Errorf("a process that does not crawl: %s", r.Status)
	}
}

func TestStatus(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishAll("a.example")
	var s operator.OperatorStatus
	r := h.requestAt(h.admin, "GET", "/admin/status", nil)
	if err := json.Unmarshal(r.body, &s); err != nil {
		t.Fatal(err)
	}
	if s.PID != os.Getpid() || s.Version != "test" || s.Store.Seq == 0 || s.Index != s.Store || !s.Ready {
		t.Errorf("got %+v", s)
	}
	// The owner gets what the public gets, and the public nothing of this.
	if r := h.requestAt(h.admin, "GET", "/api/v1/services", nil); r.StatusCode != 200 {
		t.Errorf("services over the socket: %s", r.Status)
	}
	for _, path := range []string{"/admin/status", "/admin/crawl", "/admin/openapi.json"} {
		h.get(path, 404)
	}
}

func TestNotReadyWithoutIndex(t *testing.T) {
	h := newTestServer(t, options{unread: true})
	registerAgent(t, h)
	r := h.get("/readyz", 503)
	if p := r.problem(t); p.Code != "not-ready" || r.Header.Get("Retry-After") != "1" || !strings.HasPrefix(p.Detail, "the index is at sequence 0, the store at ") {
		t.Errorf("%v %s", r.Header, r.body)
	}
	// One cause is told once.
	var status struct{ Work route.Work }
	decodeInto(t, h.get("/api/v1/status", 200), &status)
	if told := strings.Join(status.Work.Problems, "\n"); strings.Count(told, "read: ") != 1 {
		t.Errorf("problems: %q", told)
	}
	h.get("/healthz", 200)
	h.followStore()
	head := h.store.Head().Seq
	if err := errors.Join(h.index.WaitFor(t.Context(), head), h.answers.Standing.WaitFor(t.Context(), head)); err != nil {
		t.Fatal(err)
	}
	h.get("/readyz", 200)
}

// TestNotReadyUntilTheStatesAreThere has states of hosts that begin to follow the store later than the
// index.
func TestNotReadyUntilTheStatesAreThere(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishAll("a.example")
	states := standing.Open(standing.Options{Store: h.store, Linger: time.Millisecond})
	h.answers.Standing = states
	if p := h.get("/readyz", 503).problem(t); p.Code != "not-ready" || !strings.HasPrefix(p.Detail, "the states of hosts are at sequence 0, the store at ") || strings.Contains(p.Detail, "index") {
		t.Errorf("%+v", p)
	}
	h.runUntilEnd("follow the store into the states", states.Run)
	if err := states.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	var ready route.Readiness
	if err := json.Unmarshal(h.get("/readyz", 200).body, &ready); err != nil || ready.States != ready.Store || ready.Index != ready.Store || !ready.Read {
		t.Errorf("%+v %v", ready, err)
	}
}

func TestCrawlStartErrorIsReported(t *testing.T) {
	h := newTestServer(t, options{api: func(o *api.Options) {
		o.Operator.Add = func(context.Context, ...string) error { return fmt.Errorf("add hosts: %w", store.ErrFull) }
		o.Operator.Crawl = func(context.Context, []string, func(crawler.Result) error) error {
			t.Error("the crawl began")
			return nil
		}
	}})
	r, err := plain.Post(h.admin+"/admin/crawl", jsonType, strings.NewReader(`{"hosts": ["a.example"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %v", r.Status, r.Header)
	}
}

// TestOperatorIsNotCounted checks which requests have a client whom limits count: those to the
// public listener, whatever they say, and those that a page of another site sends to the
// operator's.
func TestOperatorIsNotCounted(t *testing.T) {
	h := newTestServer(t, options{handlers: func(e *gin.Engine) {
		e.GET("/client", func(c *gin.Context) { c.String(http.StatusOK, "%v", route.ClientAddress(c).IsValid()) })
	}})
	listener := httptest.NewUnstartedServer(nil)
	listener.Config.Handler = h.api.LocalOperatorHandler(listener.Listener.Addr().String())
	listener.Start()
	t.Cleanup(listener.Close)
	for _, c := range []struct {
		base    string
		headers []string
		counted bool
	}{
		{h.base, nil, true},
		{h.base, []string{"X-Forwarded-For", "@"}, true},
		{h.base, []string{"Sec-Fetch-Site", "none"}, true},
		{h.admin, nil, false},
		{listener.URL, nil, false},
		{listener.URL, []string{"X-Forwarded-For", "192.0.2.1"}, false},
		{listener.URL, []string{"Sec-Fetch-Site", "none"}, false},
		{listener.URL, []string{"Sec-Fetch-Site", "same-origin"}, false},
		{listener.URL, []string{"Sec-Fetch-Site", "same-site"}, true},
		{listener.URL, []string{"Sec-Fetch-Site", "cross-site"}, true},
	} {
		r := h.requestAt(c.base, "GET", "/client", nil, c.headers...)
		if got := string(r.body); r.StatusCode != http.StatusOK || got != fmt.Sprint(c.counted) {
			t.Errorf("%s %v: %s %s, want %v", c.base, c.headers, r.Status, got, c.counted)
		}
	}
}

// TestLocalOperatorHandler checks that the operator's routes at an address of this machine refuse requests for
// another host, as after DNS rebinding, and writes from pages of another origin, and change nothing then.
func TestLocalOperatorHandler(t *testing.T) {
	h := newTestServer(t, options{})
	const address = "127.0.0.1:9090"
	send := func(method, host string, headers ...string) int {
		r := httptest.NewRequest(method, "/admin/status", nil)
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.api.LocalOperatorHandler(address).ServeHTTP(w, r)
		return w.Code
	}
	for _, host := range []string{"evil.example", "evil.example:9090", "127.0.0.1", "localhost:9090", "127.0.0.1:9091"} {
		if status := send("GET", host); status != http.StatusMisdirectedRequest {
			t.Errorf("the host %s: %d", host, status)
		}
	}
	for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		if status := send("POST", address, headers...); status != http.StatusForbidden {
			t.Errorf("%v: %d", headers, status)
		}
	}
	if status := send("GET", address); status != http.StatusOK {
		t.Errorf("the operator: %d", status)
	}
	if status := send("POST", address, "Origin", "http://"+address); status == http.StatusForbidden {
		t.Error("a page of the operator is refused")
	}
}

// TestForeignPagesAreNoAttention checks that a page of another site in the operator's browser, such as one
// with an image at an address of the operator's listener, does not keep registration open.
func TestForeignPagesAreNoAttention(t *testing.T) {
	clock := testclock.New(time.Now())
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.Now}})
	listener := httptest.NewUnstartedServer(nil)
	listener.Config.Handler = h.api.LocalOperatorHandler(listener.Listener.Addr().String())
	listener.Start()
	t.Cleanup(listener.Close)
	attended := func(site string) time.Time {
		t.Helper()
		if r := h.requestAt(listener.URL, "GET", "/admin/registry", nil, "Sec-Fetch-Site", site); r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", site, r.Status, r.body)
		}
		p, err := h.answers.Registry.RegistrationPolicy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p.Attended
	}
	first := attended("same-origin")
	for _, site := range []string{"cross-site", "same-site"} {
		clock.Advance(24 * time.Hour)
		if at := attended(site); !at.Equal(first) {
			t.Errorf("a request from %s counts as attention at %v", site, at)
		}
	}
	if at := attended("none"); !at.After(first) {
		t.Error("the operator's own request does not count as attention")
	}
}

// TestAbsentPartsSayThatTheyAreOff checks that a server without a relay or a tool host says so at their
// addresses, and proposes no route that it does not serve.
func TestAbsentPartsSayThatTheyAreOff(t *testing.T) {
	h := newTestServer(t, options{})
	for _, c := range []struct{ base, path, detail, key string }{
		{h.base, "/inbox/AIR-7G3K-M9JQ-X2PT", "this server runs no relay", "relay.enabled"},
		{h.base, "/pull/AIR-7G3K-M9JQ-X2PT", "this server runs no relay", "relay.enabled"},
		{h.base, "/altar/v1/sessions", "this server runs no tool host", "altar.enabled"},
		{h.admin, "/admin/altar/contracts", "this server runs no tool host", "altar.enabled"},
	} {
		r := h.requestAt(c.base, "GET", c.path, nil)
		if r.StatusCode != http.StatusNotFound || !strings.Contains(string(r.body), c.detail) || !strings.Contains(string(r.body), c.key) || strings.Contains(string(r.body), "did you mean") {
			t.Errorf("%s: %s %s", c.path, r.Status, r.body)
		}
	}
}
