package web_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hitsOf is a function in JavaScript that returns the results of a page: the host, the operation, and the
// name of the service on the card.
const hitsOf = `(page => [...page.querySelectorAll(".hits h2 a")].map(a => {
	const u = new URL(a.getAttribute("href"), location.href)
	return u.pathname.split("/")[2] + " " + u.searchParams.get("op") + " " + a.closest("li").querySelector(".from a").textContent
}))`

// sameOrder asks the page for requests of every day, as its form does, and compares with what the
// API answers. The first cards of the judged requests name a service that was judged to be right.
func sameOrder(t *testing.T, h *testServer, tab *tab) {
	for _, q := range []string{
		"réserver une chambre d'hôtel", "einen Termin beim Arzt vereinbaren", "pedir un taxi", "寿司を注文する", "verb:BOOK effect:reversible",
	} {
		tab.open("/?" + url.Values{"q": {q}}.Encode())
		compareWithAPI(t, h, q, evaluate[[]string](tab, hitsOf+`(document)`))
	}
	requests, judged := everydayRequests(t)
	first := 0
	for id, q := range requests {
		address, err := json.Marshal("/?" + url.Values{"q": {q}}.Encode())
		must(t, err)
		got := evaluate[[]string](tab, fmt.Sprintf(`fetch(%s).then(r => r.text()).then(text => %s(new DOMParser().parseFromString(text, "text/html")))`, address, hitsOf), chromedp.EvalAwaitPromise)
		compareWithAPI(t, h, q, got)
		if len(got) > 0 && slices.Contains(judged[id], strings.TrimSuffix(strings.Fields(got[0])[0], ".test")) {
			first++
		}
	}
	t.Logf("the first card names a right service for %d of %d requests", first, len(requests))
	if first*100 < 90*len(requests) {
		t.Errorf("the first card names a right service for %d of %d requests, want 90 %%", first, len(requests))
	}
}

// compareWithAPI compares the results of a page with what the API answers to the same request.
func compareWithAPI(t *testing.T, h *testServer, q string, got []string) {
	t.Helper()
	response, err := http.Get(h.url + "/api/v1/search?" + url.Values{"q": {q}, "limit": {"20"}}.Encode())
	must(t, err)
	defer response.Body.Close()
	var answer struct {
		Hits []struct {
			Host      string
			Operation struct{ ID string }
			Service   struct{ Name string }
		}
	}
	must(t, json.NewDecoder(response.Body).Decode(&answer))
	var want []string
	for _, hit := range answer.Hits {
		want = append(want, hit.Host+" "+hit.Operation.ID+" "+cmp.Or(hit.Service.Name, hit.Host))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the page has\n%q, the API\n%q", q, got, want)
	}
}

// everydayRequests reads the judged requests of every day, and the services that were judged to be right
// for each.
func everydayRequests(t *testing.T) (requests map[string]string, judged map[string][]string) {
	t.Helper()
	const set = "../index/testdata/everyday/everyday-"
	text, err := os.ReadFile(set + "queries.jsonl")
	must(t, err)
	requests, judged = map[string]string{}, map[string][]string{}
	for line := range bytes.Lines(text) {
		var q struct{ ID, Text string }
		must(t, json.Unmarshal(line, &q))
		requests[q.ID] = q.Text
	}
	text, err = os.ReadFile(set + "qrels.tsv")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] != "grade" {
			service, _, _ := strings.Cut(fields[1], ":")
			judged[fields[0]] = append(judged[fields[0]], service)
		}
	}
	return requests, judged
}
