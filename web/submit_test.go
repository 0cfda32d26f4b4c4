package web_test

import (
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
		{"three", "a.example.com\r\nb.example.com, <script>x</script>\u202e", nil, 200, []string{`href="/services/a.example.com"`, "first visit", "It was visited", "Not accepted", "&lt;script&gt;", "U+202E", `href="/submit?watch=a.example.com&amp;watch=ristorante.test"`}},
		{"none", " \r\n ", nil, 400, []string{"No host was entered"}},
		{"many", strings.Repeat("a.example.com\n", 101), nil, 400, []string{"101 names"}},
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
	for _, want := range []string{"waits for its first visit, which begins now.", `hx-trigger="every 2s"`, `hx-get="/submit?watch=new.example.com&amp;watch=ristorante.test"`, "reload the page", "htmx"} {
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
