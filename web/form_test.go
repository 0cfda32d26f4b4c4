package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// sendForm sends a form as a browser does; header has names and values.
func sendForm(t *testing.T, h http.Handler, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// unbroken returns HTML without the places where long words may be broken.
func unbroken(html string) string { return strings.ReplaceAll(html, "<wbr>", "") }

// wantPage checks the answer to a form: its status, its text, that the page is well formed, and
// that no untrusted text is active in it.
func wantPage(t *testing.T, name string, w *httptest.ResponseRecorder, status int, says []string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("%s: status %d, want %d", name, w.Code, status)
	}
	for _, want := range says {
		if !strings.Contains(unbroken(w.Body.String()), want) {
			t.Errorf("%s: the page does not say %q:\n%.3000s", name, want, w.Body)
		}
	}
	for _, fault := range faults(parse(t, w.Body.String())) {
		t.Errorf("%s: %s", name, fault)
	}
	if strings.Contains(strings.ReplaceAll(w.Body.String(), `<script src="/static/`, ""), "<script") {
		t.Errorf("%s: live text of a stranger", name)
	}
}

// TestCrossSiteForms are not taken.
func TestCrossSiteForms(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	for path, form := range map[string]url.Values{
		"/submit":                      {"hosts": {"a.example.com"}},
		"/bot":                         {"host": {"api.example.com"}, "request": {"opt-out"}},
		"/agents/" + airID + "/report": {"reason": {"malware"}, "text": {"it sent me a file"}},
	} {
		if w := sendForm(t, h, path, form, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusBadRequest {
			t.Errorf("%s: the form of another site: %d", path, w.Code)
		}
	}
}
