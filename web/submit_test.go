package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
)

func TestSubmitPage(t *testing.T) {
	answers := &replaceable{sample{}}
	h := engine(t, answers)
	for _, c := range []struct {
		name, hosts string
		err         error
		status      int
		says        []string
	}{
		{"three", "a.example.com\r\nb.example.com, <script>x</script>\u202e", nil, 200, []string{`href="/services/a.example.com"`, "first visit", "It was visited", "Not accepted", "&lt;script&gt;", "U+202E", `<a href="#hosts">Change the names</a>`, `aria-describedby="refused hosts-help" aria-invalid="true"`, `href="/submit?watch=a.example.com&amp;watch=ristorante.test"`}},
		{"none", " \r\n ", nil, 400, []string{"No host was entered", `<p id="trouble">`, `<a href="#hosts">Change the names</a>`, `aria-describedby="trouble hosts-help" aria-invalid="true"`}},
		{"many", strings.Repeat("a.example.com\n", 101), nil, 400, []string{"101 names", `<a href="#hosts">Change the names</a>`}},
		{"too long", strings.Repeat("a", 70<<10), nil, 400, []string{"is longer than"}},
		{"too often", "a.example.com", &answer.QuotaError{Message: "too many hosts were named", Wait: time.Minute}, 429, []string{"Too many hosts were named", "a.example.com</textarea>"}},
		{"no crawler", "a.example.com", answer.ErrNoCrawl, 503, []string{"does not crawl"}},
	} {
		answers.both = sample{word: plainWord, err: c.err}
		w := sendForm(t, h, "/submit", url.Values{"hosts": {c.hosts}})
		wantPage(t, c.name, w, c.status, c.says)
	}
}

// TestSubmitPageFollowsVisit checks that the page of hosts that wait asks for itself again, with
// scripts by itself and without them by a link, until they were visited.
func TestSubmitPageFollowsVisit(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	waiting := get(t, h, "/submit?watch=new.example.com&watch=ristorante.test").Body.String()
	for _, want := range []string{"Its first visit begins now.", `hx-trigger="every 2s"`, `hx-get="/submit?watch=new.example.com&amp;watch=ristorante.test"`, "reload the page", "htmx"} {
		if !strings.Contains(waiting, want) {
			t.Errorf("while one waits, the page lacks %q:\n%s", want, waiting)
		}
	}
	visited := get(t, h, "/submit?watch=ristorante.test&watch=empty.test").Body.String()
	for _, want := range []string{"found. <a href=\"/services/ristorante.test\"", "No document was found", "AGIS"} {
		if !strings.Contains(visited, want) {
			t.Errorf("after the visits, the page lacks %q:\n%s", want, visited)
		}
	}
	if strings.Contains(visited, "hx-trigger") {
		t.Error("the page looks again though every host was visited")
	}
	if w := get(t, h, "/submit?watch=nobody.example"); w.Code != 404 {
		t.Errorf("an unknown host: %d", w.Code)
	}
	if w := get(t, h, "/submit?watch=a"+strings.Repeat("&watch=a", 100)); w.Code != 400 {
		t.Errorf("too many hosts: %d", w.Code)
	}
}

// TestSubmitPageNamesHostOnce checks that a host which the text has twice is shown once.
func TestSubmitPageNamesHostOnce(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	for address, hosts := range map[string]string{"/submit": "new.example.com\na.example.com\nb.example.com, new.example.com", "/submit?watch=new.example.com&watch=new.example.com": ""} {
		w := get(t, h, address)
		if hosts != "" {
			w = sendForm(t, h, address, url.Values{"hosts": {hosts}})
		}
		page := parse(t, w.Body.String())
		names := 0
		for _, e := range elements(page, "h3") {
			if strings.Contains(textOf(e), "new.example.com") {
				names++
			}
		}
		if names != 1 {
			t.Errorf("%s shows the host %d times: %s", address, names, textOf(page))
		}
	}
}

// servedValid checks an address and finds a valid document.
type servedValid struct{ sample }

func (servedValid) Validate(_ context.Context, r answer.ValidationRequest) ([]answer.ValidationResult, error) {
	var result answer.ValidationResult
	result.Input, result.Valid = r.Address, true
	return []answer.ValidationResult{result}, nil
}

// TestCheckedHostLeadsToIndex checks that the result of an address leads to the form that adds its host, or to
// the page of a host that is listed already.
func TestCheckedHostLeadsToIndex(t *testing.T) {
	h := engine(t, servedValid{sample{word: plainWord}})
	for host, want := range map[string]string{
		"unknown.example": `<a href="/submit?host=unknown.example">Add unknown.example to the index</a>`,
		"ristorante.test": `<a href="/services/ristorante.test">ristorante.test in the index</a>`,
	} {
		page := sendForm(t, h, "/validate", url.Values{"url": {"https://" + host + "/.well-known/ai"}}).Body.String()
		if !strings.Contains(page, want) || strings.Contains(page, "Add ristorante.test") {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
