package web_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
)

func TestSubmitPage(t *testing.T) {
	for _, c := range []struct {
		name, hosts string
		err         error
		status      int
		says        []string
	}{
		{"three", "a.example.com\r\nb.example.com, <script>x</script>\u202e", nil, 200, []string{`href="/services/a.example.com"`, "first visit", "was visited", "Not accepted", "&lt;script&gt;", "U+202E"}},
		{"none", " \r\n ", nil, 400, []string{"No host was entered"}},
		{"many", strings.Repeat("a.example.com\n", 101), nil, 400, []string{"101 names"}},
		{"too long", strings.Repeat("a", 70<<10), nil, 400, []string{"is longer than"}},
		{"too often", "a.example.com", &answer.QuotaError{Message: "too many hosts were named", Wait: time.Minute}, 429, []string{"Too many hosts were named", "a.example.com</textarea>"}},
		{"no crawler", "a.example.com", answer.ErrNoCrawl, 503, []string{"does not crawl"}},
	} {
		w := sendForm(t, engine(t, sample{word: plainWord, err: c.err}), "/submit", url.Values{"hosts": {c.hosts}})
		wantPage(t, c.name, w, c.status, c.says)
	}
}
