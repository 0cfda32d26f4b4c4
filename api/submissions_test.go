package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/internal/fakenet"
	"gazetteer/limit"
	"gazetteer/store"
)

// withCrawler gives the server a crawler that runs nothing, and a way to submit hosts to it.
func withCrawler(t *testing.T, o answer.SubmitterOptions) *testServer {
	t.Helper()
	h := newTestServer(t, options{})
	h.addSubmitter(o)
	return h
}

// addSubmitter gives the server a way to submit hosts to a crawler that runs nothing.
func (h *testServer) addSubmitter(o answer.SubmitterOptions) {
	h.t.Helper()
	c, err := crawler.New(crawler.Options{Store: h.store, UserAgent: "Gazetteer/test"})
	if err != nil {
		h.t.Fatal(err)
	}
	o.Add = c.Add
	h.answers.Submitter = answer.NewSubmitter(o)
}

func (h *testServer) submit(hosts ...string) ([]answer.Submission, bufferedResponse) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"hosts": hosts})
	if err != nil {
		h.t.Fatal(err)
	}
	r := h.request("POST", "/api/v1/submissions", string(body), "Content-Type", jsonType)
	var list api.SubmissionList
	if r.StatusCode == http.StatusAccepted {
		if err := json.Unmarshal(r.body, &list); err != nil {
			h.t.Fatalf("%v: %s", err, r.body)
		}
	}
	return list.Submissions, r
}

func TestSubmit(t *testing.T) {
	h := withCrawler(t, answer.SubmitterOptions{})
	h.publishSamples()
	got, r := h.submit("New.Example.COM", "10.0.0.1", "ristorante.example", "localhost", "new.example.com")
	if r.StatusCode != http.StatusAccepted || len(got) != 5 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	for i, want := range []struct{ host, state, link string }{
		{"new.example.com", "waiting", "/api/v1/submissions/new.example.com"},
		{"10.0.0.1", "refused", ""},
		{"ristorante.example", "visited", "/api/v1/services/ristorante.example"},
		{"localhost", "refused", ""},
		{"new.example.com", "waiting", "/api/v1/submissions/new.example.com"},
	} {
		if got[i].Host != want.host || got[i].State != want.state || got[i].Link != want.link {
			t.Errorf("%d: %+v, want %+v", i, got[i], want)
		}
		if want.state == "refused" && (got[i].Detail == "" || got[i].Help == "") {
			t.Errorf("%s is refused without a reason", want.host)
		}
		if want.link != "" {
			h.get(want.link, 200)
		}
	}
	again, _ := h.submit("new.example.com")
	if !again[0].Due.Equal(got[0].Due) {
		t.Errorf("naming a host again changed its time from %v to %v", got[0].Due, again[0].Due)
	}
	h.get("/api/v1/submissions/unheard-of.example.com", 404)
	h.get("/api/v1/submissions/10.0.0.1", 404)
}

// TestSubmitAddresses checks that no form of an address of this machine, its network or a cloud's
// metadata service is accepted as a host: alone it is a problem, among others only it is refused,
// and nothing becomes known.
func TestSubmitAddresses(t *testing.T) {
	h := withCrawler(t, answer.SubmitterOptions{PerClient: -1, PerDomain: -1, All: -1})
	forms := fakenet.AddressForms()
	for _, form := range forms {
		_, r := h.submit(form)
		if r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s", form, r.Status, r.body)
			continue
		}
		if p := r.problem(t); p.Code != "bad-host" || p.Detail == "" || p.Where.Pointer != "/hosts/0" {
			t.Errorf("%s: %+v", form, p)
		}
	}
	for forms := range slices.Chunk(forms, 99) {
		got, r := h.submit(append(forms, "new.example.com")...)
		for i, s := range got {
			if refused := i < len(forms); refused != (s.State == "refused") || refused && (s.Detail == "" || s.Help == "") {
				t.Errorf("%+v", s)
			}
		}
		if len(got) != len(forms)+1 {
			t.Errorf("%s %s", r.Status, r.body)
		}
	}
	known := 0
	for range h.store.List(t.Context(), store.HostPrefix, "") {
		known++
	}
	if known != 1 {
		t.Errorf("%d hosts are known, want one", known)
	}
}

func TestSubmitTooMuch(t *testing.T) {
	h := withCrawler(t, answer.SubmitterOptions{PerClient: 7, PerDomain: 2, Limits: &limit.Set{Now: func() time.Time { return seen }}})
	names := func(domain string, n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("h%d.%s", i, domain))
		}
		return out
	}
	count := func(list []answer.Submission, state string) int {
		n := 0
		for _, s := range list {
			if s.State == state {
				n++
			}
		}
		return n
	}
	got, r := h.submit(names("one.example.com", 5)...)
	if count(got, "waiting") != 4 || count(got, "refused") != 1 || !strings.Contains(got[4].Detail, "below example.com") {
		t.Fatalf("five of one domain: %s %s", r.Status, r.body)
	}
	// Known ones cost nothing.
	if got, _ = h.submit(names("one.example.com", 4)...); count(got, "waiting") != 4 {
		t.Errorf("known hosts: %+v", got)
	}
	got, _ = h.submit(names("example.org", 4)...)
	if count(got, "waiting") != 3 || !strings.Contains(got[3].Detail, "your network has sent too many new hosts: at most ") {
		t.Errorf("the client's budget: %+v", got)
	}
	_, r = h.submit("one-more.example.net")
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
		t.Errorf("nothing left: %s %s", r.Status, r.body)
	}
	if policy, left := r.Header.Get("RateLimit-Policy"), r.Header.Get("RateLimit"); policy != `"submissions";q=7;w=3600` || !strings.HasPrefix(left, `"submissions";r=0;t=`) {
		t.Errorf("the headers say %s and %s", policy, left)
	}
}

func TestSubmitBadBodies(t *testing.T) {
	h := withCrawler(t, answer.SubmitterOptions{})
	many := `{"hosts": ["a.example.com"` + strings.Repeat(`, "a.example.com"`, 100) + `]}`
	for _, body := range []string{``, `[]`, `{}`, `{"hosts": []}`, `{"hosts": "a.example.com"}`, `{"hosts": [1]}`, `{"hosts": ["a.example.com"], "x": 1}`, many} {
		r := h.request("POST", "/api/v1/submissions", body, "Content-Type", jsonType)
		if r.StatusCode != http.StatusBadRequest && r.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%.40q: %s %s", body, r.Status, r.body)
		}
	}
	if r := h.request("POST", "/api/v1/submissions", `hosts=a`, "Content-Type", "application/x-www-form-urlencoded"); r.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %s", r.Status)
	}
}

func TestSubmitWithoutCrawler(t *testing.T) {
	h := newTestServer(t, options{})
	if _, r := h.submit("a.example.com"); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s %s", r.Status, r.body)
	}
}
