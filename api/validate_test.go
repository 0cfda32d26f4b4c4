package api_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
)

const validAI = `{"aiendpoint": "1.0", "service": {"name": "Tables", "description": "Books tables in restaurants"},
"capabilities": [{"id": "find_table", "description": "Finds a free table", "endpoint": "/tables", "method": "GET", "returns": "tables with id, seats"}],
"auth": {"type": "none"}}`

func (h *testServer) validate(path, body, contentType string) (api.Validation, bufferedResponse) {
	h.t.Helper()
	r := h.request("POST", "/api/v1/validate"+path, body, "Content-Type", contentType)
	var v api.Validation
	if r.StatusCode == http.StatusOK {
		if err := json.Unmarshal(r.body, &v); err != nil {
			h.t.Fatalf("%v: %s", err, r.body)
		}
	}
	return v, r
}

func codes(findings []protocol.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Code)
	}
	return out
}

func TestValidateText(t *testing.T) {
	h := newTestServer(t, options{})
	v, got := h.validate("", validAI, "application/json")
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", got.Status, got.body)
	}
	if !v.Valid || len(v.Results) != 1 || v.Results[0].Kind != document.AI || v.Results[0].Level != 1 || v.Results[0].Operations != 1 ||
		v.Results[0].Tokens.Served <= v.Results[0].Tokens.Compact || v.Results[0].Findings == nil {
		t.Errorf("a valid document: %+v", v)
	}
	v, _ = h.validate("", strings.Replace(validAI, `"GET"`, `"FETCH"`, 1), "application/json; charset=UTF-8")
	r := v.Results[0]
	if v.Valid || r.Valid || r.Level != 0 || !slices.Contains(codes(r.Findings), "AI418") {
		t.Fatalf("a wrong method: %+v", v)
	}
	f := r.Findings[slices.Index(codes(r.Findings), "AI418")]
	_, second, _ := strings.Cut(validAI, "\n")
	if f.Line != 2 || f.Column != 1+strings.Index(second, `"GET"`) || f.Pointer != "/capabilities/0/method" || f.Help == "" || f.Section != "AI Discovery §3.3" {
		t.Errorf("its finding: %+v", f)
	}
	// A document of one kind is not one of another.
	v, _ = h.validate("?as=agis", validAI, "application/json")
	if v.Valid || v.Results[0].Kind != document.AGIS {
		t.Errorf("as another kind: %+v", v)
	}
	v, _ = h.validate("?as=ai&url=https://tables.example/.well-known/ai", strings.Replace(validAI, `"/tables"`, `"https://elsewhere.example/tables"`, 1), "application/json")
	if !slices.Contains(codes(v.Results[0].Findings), "AI905") {
		t.Errorf("an endpoint of another host: %+v", v)
	}
	v, _ = h.validate("?level=2", "agis: '1.0'\nservice: Tables\n", "application/yaml")
	if v.Valid || v.Results[0].Kind != document.AGIS {
		t.Errorf("YAML: %+v", v)
	}
}

func TestValidateRefuses(t *testing.T) {
	h := newTestServer(t, options{})
	for _, c := range []struct {
		name, path, body, contentType string
		status                        int
		code                          string
	}{
		{"nothing", "", " \n", "application/json", 400, "bad-body"},
		{"a form", "", "url=x", "application/x-www-form-urlencoded", 415, "unsupported-media-type"},
		{"plain text, which a form of another site may send", "", validAI, "text/plain", 415, "unsupported-media-type"},
		{"too much", "", strings.Repeat(" ", api.MaxDocument) + "{}", "application/json", 413, "body-too-large"},
		{"no such kind", "?as=openapi", validAI, "application/json", 400, "bad-parameter"},
		{"no such level", "?level=3", validAI, "application/json", 400, "bad-parameter"},
		{"an address where nothing is fetched", "", `{"url": "https://api.example.com/.well-known/ai"}`, "application/json", 503, "unavailable"},
	} {
		_, r := h.validate(c.path, c.body, c.contentType)
		var p route.Problem
		if err := json.Unmarshal(r.body, &p); err != nil || r.StatusCode != c.status || p.Code != c.code || p.Help == "" {
			t.Errorf("%s: %s %s", c.name, r.Status, r.body)
		}
	}
}

// TestValidateAddress fetches over real TLS from the small internet.
func TestValidateAddress(t *testing.T) {
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { internet.Close() })
	serveText := func(mediaType, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/.well-known/ai" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", mediaType)
			w.Write([]byte(text))
		})
	}
	internet.Handle("tables.test", serveText("application/json; charset=utf-8", validAI))
	internet.Handle("html.test", serveText("text/html", validAI))
	internet.Handle("nothing.test", http.NotFoundHandler())
	client, err := fetch.New(fetch.Options{Dial: internet.Dial(nil), Roots: internet.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	h := newTestServer(t, options{judge: answer.ValidatorOptions{Fetcher: client, PerClient: 8, PerHost: 2}})
	ask := func(address string) (api.Validation, bufferedResponse) {
		body, _ := json.Marshal(map[string]string{"url": address})
		return h.validate("", string(body), "application/json")
	}
	v, _ := ask("https://tables.test/.well-known/ai")
	if !v.Valid || len(v.Results) != 1 || v.Results[0].Input != "https://tables.test/.well-known/ai" {
		t.Errorf("an address: %+v", v)
	}
	v, _ = ask("tables.test")
	if !v.Valid || len(v.Results) != 1 || v.Results[0].Kind != document.AI {
		t.Errorf("a host: %+v", v)
	}
	v, _ = ask("html.test")
	if v.Valid || !slices.Contains(codes(v.Results[0].Findings), "AI108") {
		t.Errorf("a wrong media type: %+v", v)
	}
	v, _ = ask("nothing.test")
	if v.Valid || len(v.Results) == 0 {
		t.Errorf("a host without documents: %+v", v)
	}
	for _, address := range []string{"https://127.0.0.1/.well-known/ai", "localhost", "https://user:word@tables.test:8443@x/", "", "https://"} {
		_, r := ask(address)
		if r.StatusCode != 400 {
			t.Errorf("%q: %s %s", address, r.Status, r.body)
		}
	}
	for range 2 {
		if _, r := ask("https://tables.test"); r.StatusCode != 200 {
			t.Errorf("the third and fourth time: %s", r.Status)
		}
	}
	_, r := ask("tables.test")
	if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || !strings.Contains(string(r.body), "too many visits to tables.test") {
		t.Errorf("the fifth time: %s %s", r.Status, r.body)
	}
	for range 3 {
		_, r = ask("html.test")
	}
	if r.StatusCode != 429 || !strings.Contains(string(r.body), "your network has sent too many addresses") {
		t.Errorf("one client's ninth address: %s %s", r.Status, r.body)
	}
}

func TestJudgeAcceptsOneInput(t *testing.T) {
	a := &answer.Answers{Validator: answer.NewValidator(answer.ValidatorOptions{Now: func() time.Time { return seen }})}
	for _, s := range []answer.ValidationRequest{{}, {Text: []byte("{}"), Address: "a.example"}} {
		if _, err := a.Validate(t.Context(), s); err != answer.ErrNothingToValidate {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if _, err := a.Validate(t.Context(), answer.ValidationRequest{Address: "a.example", Client: netip.MustParseAddr("192.0.2.1")}); err != answer.ErrNoFetcher {
		t.Errorf("without a network: %v", err)
	}
}
