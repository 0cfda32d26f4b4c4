package web_test

import (
	"html"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/web"
	"gazetteer/web/crawlerpages"
)

func TestOwnerRequestPage(t *testing.T) {
	_, notAHost := fetch.CheckHost("10.0.0.1")
	answers := &replaceable{sample{}}
	h := engine(t, answers)
	for _, c := range []struct {
		name, host, request string
		err                 error
		status              int
		says                []string
	}{
		{"not proved", "api.example.com", "opt-out", nil, 200, []string{"Nothing has changed yet", "gazetteer-opt-out=api.example.com", "TXT api.example.com", "192.0.2.1:53", "v=spf1", "no value is the one"}},
		{"proved", "proved.example.com", "opt-out", nil, 200, []string{"Done: proved.example.com and its subdomains will not be visited any more", "TXT _gazetteer.proved.example.com"}},
		{"withdrawn", "proved.example.com", "opt-in", nil, 200, []string{"may be visited again"}},
		{"again", "api.example.com", "recrawl", nil, 200, []string{"will be visited again when its turn comes"}},
		{"no host", " ", "opt-out", nil, 400, []string{"no name of a host", `<p id="trouble">`, `<a href="#host">Change the host</a>`, `aria-describedby="trouble host-help" aria-invalid="true"`}},
		{"no request", "api.example.com", "hello", nil, 400, []string{"Choose one of the actions", `<a href="#request-out">Choose an action</a>`, `id="request-out" aria-invalid="true"`, `<fieldset aria-describedby="trouble">`}},
		{"not a host", "10.0.0.1", "opt-out", notAHost, 400, []string{"value=\"10.0.0.1\"", `<a href="#host">Change the host</a>`}},
		{"too soon", "api.example.com", "recrawl", &crawler.SoonError{Host: "api.example.com", Wait: time.Minute, Why: "a visit was requested already"}, 429, []string{"The host api.example.com can be visited again in 60 seconds", "a visit was requested already"}},
		{"too often", "api.example.com", "opt-out", &answer.QuotaError{Message: "too many requests about hosts", Wait: time.Minute}, 429, []string{"Too many requests about hosts"}},
		{"not out", "api.example.com", "opt-in", owner.ErrNotOut, 409, []string{"nothing to withdraw"}},
		{"not out alone", "a.example.com", "opt-in", &owner.CoveredError{Host: "a.example.com", By: "example.com"}, 409, []string{"opt-out of example.com"}},
		{"the operator", "api.example.com", "opt-in", owner.ErrOperator, 403, []string{"The operator of this server has excluded this host"}},
		{"gone", "api.example.com", "recrawl", &answer.WithdrawnError{Host: "api.example.com", Block: crawler.Block{Host: "api.example.com", By: crawler.ByOwner, Since: now}}, 409, []string{"does not want to be visited"}},
		{"not known", "api.example.com", "recrawl", answer.ErrNoService, 404, []string{"Nothing is known", "Add a service"}},
		{"no crawler", "api.example.com", "recrawl", answer.ErrNoCrawl, 503, []string{"does not crawl"}},
		{"hostile", `"><script>x</script>` + "\u202e.example.com", "opt-out", nil, 200, []string{"&lt;script&gt;", "U+202E"}},
	} {
		answers.both = sample{word: plainWord, err: c.err}
		w := sendForm(t, h, "/bot", url.Values{"host": {c.host}, "request": {c.request}, "subdomains": {"yes"}})
		wantPage(t, c.name, w, c.status, c.says)
		if (c.status == 429) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("%s: Retry-After is %q", c.name, w.Header().Get("Retry-After"))
		}
	}
}

// TestSigningOfOwnerRequests checks that the page about the crawler shows the commands with which an
// owner signs a request: those that docs/validate.md shows, which TestReadmeCommands runs.
func TestSigningOfOwnerRequests(t *testing.T) {
	text, err := os.ReadFile("../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(text), "openssl genpkey")
	documented, _, _ = strings.Cut(documented, "```")
	h := engine(t, sample{word: plainWord})
	shown := html.UnescapeString(get(t, h, "/bot?host=corner-shop.test").Body.String())
	for line := range strings.Lines("openssl genpkey" + documented) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "http://127.0.0.1:8080", "http://localhost")
		if !strings.HasPrefix(line, "mv ") && !strings.Contains(shown, line) {
			t.Errorf("/bot does not show %q of docs/validate.md", line)
		}
	}
	wantPage(t, "robots.txt", get(t, h, "/bot"), 200, []string{`marked as stale: robots.txt only stops the visits. <a href="#ask">Your request</a> removes them`})
	wantPage(t, "a hostile host", get(t, h, "/bot?host="+url.QueryEscape(`x.test; rm -rf ~`)), 200, []string{"/api/v1/services/www.example.com/recrawl"})
	out := sendForm(t, h, "/bot", url.Values{"host": {"api.example.com"}, "request": {"opt-out"}})
	wantPage(t, "after an opt-out", out, 200, []string{"/api/v1/services/api.example.com/opt-out\n", "replace <code>opt-out</code> with <code>opt-in</code> or <code>recrawl</code>"})
	sends := func(request string) string {
		return "gazetteer --server http://localhost " + request + " --key owner.key\n"
	}
	if text := html.UnescapeString(out.Body.String()); strings.Contains(text, sends("crawler recrawl api.example.com")) || !strings.Contains(text, sends("opt-out api.example.com")) {
		t.Error("after an opt-out: the page shows the command for a new visit, or none")
	}
	for _, want := range []string{sends("crawler recrawl corner-shop.test"), sends("opt-out corner-shop.test")} {
		if !strings.Contains(shown, want) {
			t.Errorf("/bot does not show %q", want)
		}
	}
	wantPage(t, "a service", get(t, h, "/services/ristorante.test"), 200, []string{`<a href="/bot?host=ristorante.test#sign">`})
}

// TestPageOfADisabledCrawler checks that a server without a crawler offers no visit to the owner of a host.
func TestPageOfADisabledCrawler(t *testing.T) {
	h := mount(t, sample{word: plainWord}, web.Options{Bot: crawlerpages.Bot{Disabled: true}})
	w := get(t, h, "/bot?host=corner-shop.test")
	wantPage(t, "a server without a crawler", w, 200, []string{"This server does not crawl.", "opt-out corner-shop.test --key owner.key", "/api/v1/services/corner-shop.test/opt-out\n"})
	for _, not := range []string{"Visit it now", "/recrawl\n", "<code>recrawl</code>", "requests a new visit"} {
		if strings.Contains(w.Body.String(), not) {
			t.Errorf("it offers a visit: %q", not)
		}
	}
}
