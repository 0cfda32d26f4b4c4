package web_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// form sends the form of /validate as a browser does. A field called "file"
// becomes an upload.
func form(t *testing.T, h http.Handler, fields map[string]string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for name, value := range fields {
		w, err := m.CreateFormField(name)
		if name == "file" {
			w, err = m.CreateFormFile(name, "agis.yaml")
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(value))
	}
	m.Close()
	r := httptest.NewRequest(http.MethodPost, "/validate", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestValidatePage(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	hostile := "{\"aiendpoint\": \"1.0\",\r\n \"service\": {\"name\": \"</code><script>alert(1)</script>\u202e\"}}"
	for _, c := range []struct {
		name   string
		fields map[string]string
		status int
		says   []string
	}{
		{"a text", map[string]string{"text": hostile}, 200, []string{"Not valid", "/rules/AI216", `id="d1-L2"`, "&lt;script&gt;", "U+202E"}},
		{"a file", map[string]string{"file": "agis: '1.0'\nservice: Acme\n"}, 200, []string{"agis.yaml", "AGIS document", "/rules/AGIS114", `id="d1-L1"`}},
		{"a text with safe repairs", map[string]string{"text": `{"aiendpoint": 1.0, "service": {"language": ["en_US"]}}`}, 200, []string{`form="check" name="action" value="fix">Repair `}},
		{"repaired", map[string]string{"text": `{"aiendpoint": "1.0",}`, "action": "fix"}, 200, []string{`Repaired in the <a href="#text">text below</a>`, `dir="auto">The repaired text</h2>`, ` class="copy">`}},
		{"a kind", map[string]string{"text": "{}", "as": "agis-summary"}, 200, []string{"AGIS summary", "/rules/WK102"}},
		{"no kind at all", map[string]string{"text": "hello"}, 200, []string{"/rules/DOC101"}},
		{"bytes that are no text", map[string]string{"file": "\xff\xfe{\x00}\x00"}, 200, []string{"Not valid"}},
		{"nothing", map[string]string{"text": " \n"}, 400, []string{"nothing to check", `<a href="#text">Go to the text</a>`, `aria-invalid="true" aria-describedby="trouble"`}},
		{"two things", map[string]string{"text": "{}", "file": "{}"}, 400, []string{"two things"}},
		{"two things of another sort", map[string]string{"text": "{}", "url": "a.example"}, 400, []string{"two things"}},
		{"no network", map[string]string{"url": "a.example"}, 503, []string{"Nothing is fetched", `value="a.example"`, `aria-describedby="url-help">`}},
		{"too long", map[string]string{"text": strings.Repeat("a", 1<<20+100<<10)}, 400, []string{"longer than"}},
	} {
		w := form(t, h, c.fields)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d\n%s", c.name, w.Code, c.status, w.Body)
		}
		for _, want := range c.says {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: the page does not say %q:\n%.3000s", c.name, want, w.Body)
			}
		}
		for _, fault := range faults(parse(t, w.Body.String())) {
			t.Errorf("%s: %s", c.name, fault)
		}
		before, rest, _ := strings.Cut(w.Body.String(), "<textarea") // which keeps the text as it is
		_, after, _ := strings.Cut(rest, "</textarea>")
		if strings.Contains(w.Body.String(), "<script>") || strings.Contains(before+after, "\u202e") {
			t.Errorf("%s: live text of a stranger", c.name)
		}
	}
}

func TestValidateRefusesCrossSiteForm(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	if w := form(t, h, map[string]string{"text": "{}"}, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
	if w := form(t, h, map[string]string{"text": "{}"}, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusOK {
		t.Errorf("our own form: status %d", w.Code)
	}
}

// TestValidateAcceptsPlainForm is for those who send no files.
func TestValidateAcceptsPlainForm(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	r := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(url.Values{"text": {"{}"}, "as": {"ai"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/rules/AI210") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
}

// TestValidateOutputIsLimited bounds the page of a text with very many lines
// and findings.
func TestValidateOutputIsLimited(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	text := "{\"aiendpoint\": \"1.0\",\n" + strings.Repeat("\n", 9000) + "\"capabilities\": [" + strings.Repeat("{},\n", 2000) + "{}]}"
	w := form(t, h, map[string]string{"text": text, "as": "ai"})
	if w.Code != http.StatusOK || w.Body.Len() > 600<<10 {
		t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
	}
	for _, want := range []string{`id="d1-L3000"`, "more lines", "20 more places"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(w.Body.String(), `id="d1-L3001"`) {
		t.Error("a line beyond the last is shown")
	}
}
