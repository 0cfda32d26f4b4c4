package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
)

// name sends the form of /submit as a browser does.
func name(t *testing.T, h http.Handler, hosts string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/submit", strings.NewReader(url.Values{"hosts": {hosts}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestSubmitPage(t *testing.T) {
	for _, c := range []struct {
		name, hosts string
		err         error
		status      int
		says        []string
	}{
		{"three", "a.example.com\r\nb.example.com, <script>x</script>\u202e", nil, 200, []string{`href="/services/a.example.com"`, "first visit", "was visited", "Not taken", "&lt;script&gt;", "U+202E"}},
		{"none", " \r\n ", nil, 400, []string{"no name of a host"}},
		{"many", strings.Repeat("a.example.com\n", 101), nil, 400, []string{"101 names"}},
		{"too long", strings.Repeat("a", 70<<10), nil, 400, []string{"cannot be read"}},
		{"too often", "a.example.com", &api.QuotaError{Message: "too many hosts were named", Wait: time.Minute}, 429, []string{"Too many hosts were named", "a.example.com</textarea>"}},
		{"no crawler", "a.example.com", api.ErrNoCrawl, 503, []string{"does not crawl"}},
	} {
		w := name(t, engine(t, sample{word: plainWord, err: c.err}), c.hosts)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.status)
		}
		for _, want := range c.says {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: the page does not say %q:\n%.3000s", c.name, want, w.Body)
			}
		}
		for _, fault := range faults(parse(t, w.Body.String())) {
			t.Errorf("%s: %s", c.name, fault)
		}
		if strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%s: live text of a stranger", c.name)
		}
	}
	if w := name(t, engine(t, sample{word: plainWord}), "a.example.com", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusBadRequest {
		t.Errorf("the form of another site: %d", w.Code)
	}
}
