package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/relay"
	"gazetteer/relay/relayhttp"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// hostile are values for any parameter in a path. None may reach another
// prefix of the store, and each is refused or unknown.
var hostile = map[string]string{
	"traversal":                "..%2F..%2Fagent",
	"dots":                     "%2e%2e",
	"traversal, encoded twice": "..%252f..%252fagent%252f",
	"another prefix":           "com.example%2Fai%2F..%2F..%2Fagent%2FAIR-0000-0000-0000",
	"NUL":                      "a%00b",
	"9,000 characters":         strings.Repeat("a", 9000),
	"invalid UTF-8":            "%ff%fe%80",
	"overlong UTF-8":           "%c0%af",
	"line break":               "a%0d%0aSet-Cookie:%20x=1",
	"escape":                   "%1b%5b31m",
	"bidi override":            "a%e2%80%ae",
	"a space":                  "%20",
	"a whole address":          "https:%2F%2Fevil.example%2F",
	"an IP address":            "127.0.0.1",
	"an IPv6 address":          "%5B::1%5D",
	"template":                 "%7B%7B7*7%7D%7D",
	"tag":                      "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
}

// TestHostilePathParameters puts each hostile text into each parameter of each path that the
// description names, with each of its methods.
func TestHostilePathParameters(t *testing.T) {
	h := newTestServer(t, options{log: true, relay: withRelay})
	h.publishSamples()
	templates := map[string][]string{"/log/{}": {"GET"}, "/log/tile/{}": {"GET"}} // by path: the methods
	good := goodPaths(t, h)
	for route, item := range readSpec(t, h.get("/openapi.json", 200).body).paths() {
		names, values := strings.Split(route, "/"), strings.Split(route, "/")
		if path, _, _ := strings.Cut(good[route], "?"); strings.Count(path, "/") == len(names)-1 {
			values = strings.Split(path, "/")
		}
		for i, name := range names {
			if !strings.HasPrefix(name, "{") || strings.HasSuffix(route, "/badge.svg") { // an image for any host
				continue
			}
			at := slices.Clone(values)
			at[i] = "{}"
			for method := range item {
				path := strings.Join(at, "/")
				templates[path] = append(templates[path], strings.ToUpper(method))
			}
		}
	}
	if len(templates) < 40 {
		t.Errorf("only %d templates", len(templates))
	}
	for what, value := range hostile {
		for template, methods := range templates {
			path := strings.ReplaceAll(template, "{}", value)
			for _, method := range methods {
				body := `{"description": "x"}`
				if method == "GET" {
					body = ""
				}
				r := h.request(method, path, body, "Content-Type", jsonType)
				identity := strings.HasPrefix(path, "/altar/") && r.StatusCode == 401 // it is asked for first
				if r.StatusCode != 400 && r.StatusCode != 404 && !identity {
					t.Errorf("%s: %s %.100s: %s, want 400 or 404", what, method, path, r.Status)
				}
				if r.Header.Get("Set-Cookie") != "" || !strings.Contains(r.Header.Get("Content-Type"), "json") || !json.Valid(r.body) {
					t.Errorf("%s: %s %.100s: headers %v, body %s", what, method, path, r.Header, r.body)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	unseen := document.Digest([]byte("never published"))
	foreign := document.Digest([]byte(aiText("Service s1.shops.example"))) // of s1.shops.example
	for _, c := range []struct {
		name, path, code string
		status           int
		parameter        string
	}{
		{"nothing at the address", "/api/v1/nope", "not-found", 404, ""},
		{"a slash too many", "/api/v1/services/", "not-found", 404, ""},
		{"a route of the owner", "/admin/status", "not-found", 404, ""},
		{"nothing to search for", "/api/v1/search", "bad-query", 400, "q"},
		{"an empty search", "/api/v1/search?q=", "bad-query", 400, "q"},
		{"a filter that does not exist", "/api/v1/search?q=colour:red", "bad-query", 400, "q"},
		{"a quote left open", "/api/v1/search?q=%22book", "bad-query", 400, "q"},
		{"a query of 2,001 characters", "/api/v1/search?q=" + strings.Repeat("a", 2001), "bad-query", 400, "q"},
		{"a misspelled parameter", "/api/v1/search?query=book", "unknown-parameter", 400, "query"},
		{"a parameter in another case", "/api/v1/search?Q=book", "unknown-parameter", 400, "Q"},
		{"a repeated parameter", "/api/v1/search?q=a&q=b", "repeated-parameter", 400, "q"},
		{"a repeated limit", "/api/v1/services?limit=1&limit=2", "repeated-parameter", 400, "limit"},
		{"a limit of 101", "/api/v1/services?limit=101", "bad-parameter", 400, "limit"},
		{"a limit of 0", "/api/v1/services?limit=0", "bad-parameter", 400, "limit"},
		{"a negative limit", "/api/v1/services?limit=-1", "bad-parameter", 400, "limit"},
		{"a limit in words", "/api/v1/services?limit=ten", "bad-parameter", 400, "limit"},
		{"an empty limit", "/api/v1/services?limit=", "bad-parameter", 400, "limit"},
		{"a limit beyond any number", "/api/v1/services?limit=99999999999999999999", "bad-parameter", 400, "limit"},
		{"a truth that is neither", "/api/v1/search?q=book&aliases=1", "bad-parameter", 400, "aliases"},
		{"an effect there is not", "/api/v1/search?effect=large", "bad-parameter", 400, "effect"},
		{"a level there is not", "/api/v1/search?q=book&level=3", "bad-parameter", 400, "level"},
		{"an effect there is not, in the query", "/api/v1/search?q=effect:large", "bad-query", 400, "q"},
		{"51 verbs", "/api/v1/search?" + strings.Repeat("verb=BOOK&", 50) + "verb=BOOK", "bad-parameter", 400, "verb"},
		{"a query that is not well formed", "/api/v1/search?q=%zz", "bad-parameter", 400, ""},
		{"a semicolon between parameters", "/api/v1/search?q=a;limit=1", "bad-parameter", 400, ""},
		{"invalid UTF-8 in a query", "/api/v1/search?q=%ff", "bad-parameter", 400, "q"},
		{"a control character in a query", "/api/v1/search?q=a%00b", "bad-parameter", 400, "q"},
		{"a name of 9,000 characters", "/api/v1/resolve?name=" + strings.Repeat("a", 9000), "bad-parameter", 400, "name"},
		{"a question without words", "/api/v1/orchestrate?require=domain", "bad-query", 400, "q"},
		{"a join that is none", "/api/v1/orchestrate?q=book&join=liked", "bad-parameter", 400, "join"},
		{"evidence that is none", "/api/v1/orchestrate?q=book&require=fame", "bad-parameter", 400, "require"},
		{"a filter that is none", "/api/v1/orchestrate?q=book&colour=red", "unknown-parameter", 400, "colour"},
		{"no name", "/api/v1/resolve", "bad-parameter", 400, "name"},
		{"a name that can be none", "/api/v1/resolve?name=a+b", "bad-parameter", 400, "name"},
		{"an agent that is not there", "/api/v1/resolve?name=AIR-0000-0000-0000", "no-agent", 404, ""},
		{"a handle that is not there", "/api/v1/resolve?name=@nobody", "no-agent", 404, ""},
		{"a DID of another registry", "/api/v1/resolve?name=did:wba:other.example:agents:AIR-0000-0000-0000", "no-agent", 404, ""},
		{"a verb of nobody", "/api/v1/resolve?name=ristorante.SING", "no-name", 404, ""},
		{"a host that is not known", "/api/v1/services/unknown.example", "no-service", 404, ""},
		{"a host that is none", "/api/v1/services/localhost", "no-service", 404, "host"},
		{"a host with an empty label", "/api/v1/services/a..b/explanation", "no-service", 404, "host"},
		{"a host with a control character", "/api/v1/services/%00/crawl-log", "no-service", 404, "host"},
		{"a host of 3,000 characters", "/api/v1/services/" + strings.Repeat("a", 3000), "no-service", 404, "host"},
		{"a host that is none, in a query", "/api/v1/changes?host=a..b", "bad-host", 400, ""},
		{"a document that is not there", "/api/v1/services/s1.shops.example/documents/agis", "no-document", 404, ""},
		{"a document of nobody", "/api/v1/services/unknown.example/documents/ai", "no-document", 404, ""},
		{"a kind that does not exist", "/api/v1/services/ristorante.example/documents/html", "bad-parameter", 400, "kind"},
		{"versions of nothing", "/api/v1/services/s1.shops.example/documents/agis/versions", "no-document", 404, ""},
		{"a version that never was", "/api/v1/services/ristorante.example/documents/ai/versions/" + unseen, "no-document", 404, ""},
		{"a version of another host", "/api/v1/services/ristorante.example/documents/ai/versions/" + foreign, "no-document", 404, ""},
		{"a digest that is none", "/api/v1/services/ristorante.example/documents/ai/versions/sha256:00", "bad-parameter", 400, "digest"},
		{"a verb that nobody bears", "/api/v1/verbs/SING", "no-verb", 404, ""},
		{"a verb that is no word", "/api/v1/verbs/%3F", "no-verb", 404, ""},
		{"a verb with a control character", "/api/v1/verbs/BO%00OK", "bad-parameter", 400, "verb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.forTest(t).get(c.path, c.status)
			p := r.problem(t)
			if p.Code != c.code || p.Status != c.status || p.Title == "" || p.Detail == "" || p.Help == "" {
				t.Errorf("want %s with title, detail and help; got %+v", c.code, p)
			}
			if !strings.Contains("not-found method-not-allowed", p.Code) && p.Error != "" || p.Message != "" || p.Hint != "" || strings.Contains(p.Help, p.Detail) {
				t.Errorf("something is said twice: %s", r.body)
			}
			if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("Content-Type is %q", got)
			}
			if r.Header.Get("ETag") != "" || r.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("a refusal can be kept: %v", r.Header)
			}
			if c.parameter != "" && (p.Where == nil || p.Where.Parameter != c.parameter) {
				t.Errorf("where is %+v, want parameter %s", p.Where, c.parameter)
			}
		})
	}
	for path, want := range map[string]string{
		"/api/v1/services/ristorante.exmaple":    "ristorante.example",
		"/api/v1/services/ristornte.example":     "ristorante.example",
		"/api/v1/resolve?name=ristornte.BOOK":    "ristorante",
		"/api/v1/resolve?name=ristorante.BOOKIE": "BOOK",
		"/api/v1/verbs/BOKK":                     "BOOK",
		"/api/v1/verbs/SING":                     "",
		"/api/v1/namespaces/ristornte":           "ristorante",
		"/api/v1/services/unknown.example":       "",
	} {
		if p := h.get(path, 404).problem(t); want == "" && p.Alternatives != nil || want != "" && !slices.Contains(p.Alternatives, want) {
			t.Errorf("%s: the alternatives are %q, want %q", path, p.Alternatives, want)
		}
	}
}

// TestHandleForAirID checks that a handle in the place of an AIR ID leads to the route that takes handles.
func TestHandleForAirID(t *testing.T) {
	h := newTestServer(t, options{})
	if p := h.get("/api/v1/agents/concierge", 404).problem(t); p.Code != "no-agent" || !strings.Contains(p.Help, "GET /api/v1/resolve") {
		t.Errorf("got %+v", p)
	}
}

// TestNearValues checks that the help for a misspelled value names the one that exists.
func TestNearValues(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for path, want := range map[string]string{
		"/api/v1/rules/AI418?limit=1":                  "this address takes none",
		"/api/v1/search?q=book&fields=host,wy":         "did you mean why? ",
		"/api/v1/search?q=book+effect:reversable":      "did you mean reversible? ",
		"/api/v1/orchestrate?q=book&require=domian":    "did you mean domain? ",
		"/api/v1/orchestrate?q=book&require=something": "write one or more of ",
	} {
		if p := h.get(path, 400).problem(t); !strings.HasPrefix(p.Help, want) {
			t.Errorf("%s: help is %q, want %q first", path, p.Help, want)
		}
	}
}

// TestRefusalsBelowInbox checks that a request with X-A2A-Version gets the body of A2A §9.3 also where the
// relay has no route, and any other request a problem.
func TestRefusalsBelowInbox(t *testing.T) {
	h := newTestServer(t, options{relay: func(*relay.Options, *relayhttp.Options) {}})
	for _, test := range []struct {
		method, path, reason string
		status               int
	}{
		{"GET", "/inbox/x/none", "Not Found", 404}, {"GET", "/inbox/", "Not Found", 404}, {"PATCH", "/inbox/x", "Method Not Allowed", 405}, {"DELETE", "/inbox/x/pull", "Method Not Allowed", 405},
	} {
		r := h.request(test.method, test.path, "", a2ahttp.VersionHeader, "draft-1")
		var body map[string]string
		err := json.Unmarshal([]byte(r.body), &body)
		if err != nil || r.StatusCode != test.status || body["error"] != test.reason || body["detail"] == "" || len(body) != 2 || r.Header.Get(a2ahttp.VersionHeader) != a2ahttp.Version || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s %s: %s %v %s", test.method, test.path, r.Status, r.Header, r.body)
		}
		if test.status == 405 && r.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", test.method, test.path)
		}
		if r := h.request(test.method, test.path, ""); r.StatusCode != test.status || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s without a version: %s %v", test.method, test.path, r.Status, r.Header)
		}
	}
	if r := h.request("GET", "/none", "", a2ahttp.VersionHeader, "draft-1"); r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("another address: %v", r.Header)
	}
}

// TestRefusalsShowTheValue checks that the refusal of a parameter names the value and the allowed ones.
func TestRefusalsShowTheValue(t *testing.T) {
	h := newTestServer(t, options{})
	for path, want := range map[string]string{
		"/api/v1/orchestrate?q=book&join=liked": `join: "liked" is not one of proved, mutual, claimed`,
		"/api/v1/services?limit=ten":            `limit: "ten" is not a whole number`,
		"/api/v1/search?q=x&min_fit=high":       `min_fit: "high" is not a number`,
		"/api/v1/search?q=x&safe=yes":           `safe: "yes" is not true or false`,
		"/api/v1/services?limit=0":              "limit: 0 is not between 1 and 100",
		"/api/v1/services?limit=101":            "limit: 101 is not between 1 and 100",
		"/api/v1/audit/verify?from=-1":          "from: -1 is less than 0",
	} {
		if p := h.get(path, 400).problem(t); p.Detail != want {
			t.Errorf("%s is refused with %q, want %q", path, p.Detail, want)
		}
	}
	r := h.request("POST", "/api/v1/validate", "{}", "Content-Type", jsonType)
	if text := string(r.body); r.StatusCode != 200 || strings.Contains(text, "--as") || !strings.Contains(text, "the parameter as: ai") {
		t.Errorf("a document of no kind is answered with %s %s", r.Status, text)
	}
}

// TestQueryErrorsHaveColumn asks whether a bad query is pointed at.
func TestQueryErrorsHaveColumn(t *testing.T) {
	h := newTestServer(t, options{})
	p := h.get("/api/v1/search?q=caf%C3%A9+colour:red", 400).problem(t)
	if p.Where == nil || p.Where.Column != 6 {
		t.Errorf("where is %+v, want column 6", p.Where)
	}
}

func TestBodies(t *testing.T) {
	h := newTestServer(t, options{})
	agent := registerAgent(t, h)
	good := `{"name": "A", "public_key": "` + newKey(t) + `"}`
	large := `{"name": "` + strings.Repeat("a", 64<<10) + `"}`
	for _, c := range []struct {
		name, body, mediaType, coding string
		chunked                       bool
		status                        int
		code                          string
	}{
		{name: "one byte too large", body: strings.Repeat(" ", 64<<10) + " ", status: 413, code: "body-too-large"},
		{name: "too large, chunked", body: large, chunked: true, status: 413, code: "body-too-large"},
		{name: "too deep", body: strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), status: 400, code: "bad-body"},
		{name: "a member twice", body: `{"name": "A", "name": "B"}`, status: 400, code: "bad-body"},
		{name: "a member twice, once in escapes", body: `{"name": "A", "n\u0061me": "B"}`, status: 400, code: "bad-body"},
		{name: "a member in another case", body: `{"NAME": "A", "public_key": "` + newKey(t) + `"}`, status: 400, code: "bad-field"},
		{name: "invalid UTF-8", body: "{\"name\": \"\xff\"}", status: 400, code: "bad-body"},
		{name: "a lone surrogate", body: `{"name": "\ud800"}`, status: 400, code: "bad-body"},
		{name: "not JSON", body: `{`, status: 400, code: "bad-body"},
		{name: "nothing", body: ``, status: 400, code: "bad-body"},
		{name: "two values", body: `{} {}`, status: 400, code: "bad-body"},
		{name: "a list", body: `[]`, status: 400, code: "bad-body"},
		{name: "a form", body: "name=A", mediaType: "application/x-www-form-urlencoded", status: 415, code: "unsupported-media-type"},
		{name: "no media type", body: good, mediaType: "-", status: 415, code: "unsupported-media-type"},
		{name: "a page's simple request", body: good, mediaType: "text/plain", status: 415, code: "unsupported-media-type"},
		{name: "another charset", body: good, mediaType: "application/json; charset=utf-16", status: 415, code: "unsupported-media-type"},
		{name: "compressed", body: good, coding: "gzip", status: 415, code: "unsupported-media-type"},
		{name: "no name", body: `{"public_key": "` + newKey(t) + `"}`, status: 400, code: "bad-field"},
		{name: "a number for a name", body: `{"name": 5}`, status: 400, code: "bad-field"},
	} {
		for _, route := range []string{"POST /api/v1/agents/register", "PUT /api/v1/agents/" + agent.AirID} {
			method, path, _ := strings.Cut(route, " ")
			if method == "PUT" && c.code == "bad-field" {
				continue // these members are not an update's
			}
			t.Run(method+" "+c.name, func(t *testing.T) {
				var body io.Reader = strings.NewReader(c.body)
				if c.chunked {
					body = io.MultiReader(body) // of unknown length
				}
				headers := []string{"X-Agent-Secret", agent.Secret}
				switch c.mediaType {
				case "-":
				case "":
					headers = append(headers, "Content-Type", jsonType)
				default:
					headers = append(headers, "Content-Type", c.mediaType)
				}
				if c.coding != "" {
					headers = append(headers, "Content-Encoding", c.coding)
				}
				r := h.forTest(t).requestAt(h.base, method, path, body, headers...)
				p := r.problem(t)
				if r.StatusCode != c.status || p.Code != c.code || p.Help == "" {
					t.Errorf("%s %+v, want %d %s", r.Status, p, c.status, c.code)
				}
				// The reference's clients look for plain JSON with "error".
				if r.Header.Get("Content-Type") != jsonType || p.Error == "" {
					t.Errorf("Content-Type %q, error %q", r.Header.Get("Content-Type"), p.Error)
				}
			})
		}
	}
}

// TestForeignPages checks that pages of other origins may read, never write.
func TestForeignPages(t *testing.T) {
	h := newTestServer(t, options{})
	agent := registerAgent(t, h)
	for _, c := range []struct {
		method, path, wanted, allowed string
	}{
		{"OPTIONS", "/api/v1/search", "GET", "*"},
		{"OPTIONS", "/api/v1/agents/" + agent.AirID, "GET", "*"},
		{"OPTIONS", "/api/v1/agents/" + agent.AirID, "HEAD", "*"},
		{"OPTIONS", "/api/v1/changes/stream", "GET", "*"},
		{"OPTIONS", "/api/v1/changes/stream", "HEAD", ""},
		{"OPTIONS", "/api/v1/agents/" + agent.AirID, "PUT", ""},
		{"OPTIONS", "/api/v1/search", "POST", "*"},
		{"OPTIONS", "/api/v1/explore", "POST", "*"},
		{"OPTIONS", "/api/v1/export", "POST", "*"},
		{"OPTIONS", "/api/v1/validate", "POST", ""},
		{"OPTIONS", "/api/v1/submissions", "POST", ""},
		{"POST", "/api/v1/search", "", "*"},
		{"OPTIONS", "/api/v1/agents/register", "POST", ""},
		{"OPTIONS", "/api/v1/agents/register", "GET", ""},
		{"POST", "/api/v1/agents/register", "", ""},
		{"PUT", "/api/v1/agents/" + agent.AirID, "", ""},
		{"GET", "/api/v1/agents/" + agent.AirID, "", "*"},
	} {
		headers := []string{"Origin", "https://evil.example", "Cookie", "a=b"}
		if c.wanted != "" {
			headers = append(headers, "Access-Control-Request-Method", c.wanted)
		}
		r := h.request(c.method, c.path, "{}", headers...)
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != c.allowed {
			t.Errorf("%s %s (%s): Access-Control-Allow-Origin is %q, want %q", c.method, c.path, c.wanted, got, c.allowed)
		}
		if r.Header.Get("Access-Control-Allow-Credentials") != "" || strings.Contains(r.Header.Get("Access-Control-Allow-Methods"), "PUT") {
			t.Errorf("%s %s: %v", c.method, c.path, r.Header)
		}
	}
}

// TestOurFailures checks that a failure of the server is a 5xx without internal details, and that
// the log line has all details.
func TestOurFailures(t *testing.T) {
	h := newTestServer(t, options{handlers: func(e *gin.Engine) {
		e.GET("/api/v1/test-panic", func(c *gin.Context) {
			c.Writer.WriteString("half an answer")
			panic("runtime error in /tmp/x.go:12: " + strings.Repeat("0xdeadbeef ", 3))
		})
	}})
	d := h.publish("flipped.example", document.AI, "application/json", aiText("Flipped"), seen)
	flipped := []byte(aiText("Flipped"))
	flipped[40] ^= 1
	h.applyWrites(store.Put(store.BlobKey(d.Digest), flipped))
	h.applyWrites(store.Put(store.DocumentKey("broken.example", "ai"), []byte(`{"kind": 5`)), store.Put(store.HostKey("broken.example"), []byte(`{}`)))
	for _, c := range []struct {
		name, path, code, message string
	}{
		{"a panic", "/api/v1/test-panic", "internal", "panic"},
		{"one flipped bit in the bytes", "/api/v1/services/flipped.example/documents/ai", "damaged", "failed to answer"},
		{"one flipped bit in a version", "/api/v1/services/flipped.example/documents/ai/versions/" + d.Digest, "damaged", "failed to answer"},
		{"a record that cannot be read", "/api/v1/services/broken.example", "internal", "failed to answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.forTest(t).get(c.path, 500)
			p := r.problem(t)
			if p.Code != c.code || !strings.HasPrefix(p.Instance, "urn:uuid:") || bytes.Contains(r.body, []byte("half an answer")) {
				t.Errorf("got %s", r.body)
			}
			logged := 0
			for _, line := range h.log.lines(t, c.message) {
				if line["instance"] == p.Instance {
					logged++
				}
			}
			if logged != 1 {
				t.Errorf("%d log lines have the instance %s", logged, p.Instance)
			}
		})
	}
	h.get("/healthz", 200)
	w := httptest.NewRecorder()
	h.api.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), "\ngazetteer_panics_total 1\n") {
		t.Error("the metrics do not count the panic, or count more than that")
	}
}

// TestNoDiskSpaceForNewData checks that writes are refused. Requests that meet a state of the
// server, such as this one or a server that does not crawl, write no line that any client could
// fill the log with.
func TestNoDiskSpaceForNewData(t *testing.T) {
	h := newTestServer(t, options{store: boltstore.Options{MinFree: 1 << 62}})
	r := h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType)
	if r.StatusCode != 503 || r.Header.Get("Retry-After") != "300" || r.problem(t).Code != "unavailable" {
		t.Errorf("%s, Retry-After %q\n%s", r.Status, r.Header.Get("Retry-After"), r.body)
	}
	h.get("/api/v1/services", 200)
	if r := h.request("POST", "/api/v1/services/a.example.com/recrawl", ""); r.StatusCode != 503 {
		t.Errorf("%s\n%s", r.Status, r.body)
	}
	if lines := h.log.lines(t, "failed to answer"); len(lines) > 0 {
		t.Errorf("the log has %v", lines)
	}
}

// TestClientLeaves checks that no response is written to a client that has disconnected, and that
// the log has a line for it.
func TestClientLeaves(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	h := newTestServer(t, options{handlers: func(e *gin.Engine) {
		e.GET("/api/v1/test-slow", func(c *gin.Context) {
			close(begun)
			<-c.Request.Context().Done()
			if !errors.Is(c.Request.Context().Err(), context.Canceled) {
				t.Error("the context ended for another reason")
			}
			close(release)
		})
	}})
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", h.base+"/api/v1/test-slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); plain.Do(r) }()
	<-begun
	leave()
	<-release
	<-done
}

// A mistyped address and a method that belongs to the address below are answered with what was meant.
func TestRefusalNamesTheMeantAddress(t *testing.T) {
	h := newTestServer(t, options{})
	for request, want := range map[string]string{
		"GET /api/v1/serach":                           "did you mean /api/v1/search?",
		"GET /api/v1/services/hotel.example/similiar":  "did you mean /api/v1/services/hotel.example/similar?",
		"GET /api/v1/services/hotel.example/":          "did you mean /api/v1/services/hotel.example",
		"GET /api/v1/services/hotel.example/documents": "did you mean /api/v1/services/hotel.example/documents/{kind}",
		"GET /api/v1/xyz":                              "the routes are listed in /openapi.json",
		"POST /api/v1/agents":                          "it takes GET, HEAD and OPTIONS; POST belongs to /api/v1/agents/register",
		"DELETE /api/v1/verbs":                         "it takes GET, HEAD and OPTIONS",
	} {
		method, path, _ := strings.Cut(request, " ")
		var p struct{ Help string }
		if r := h.request(method, path, ""); json.Unmarshal(r.body, &p) != nil || !strings.HasPrefix(p.Help, want) || strings.Contains(want, "POST ") != strings.Contains(p.Help, "belongs to") {
			t.Errorf("%s: help %q, want %q", request, p.Help, want)
		}
	}
}

// TestRuleFilters checks that the list of rules has the filters of the page /rules.
func TestRuleFilters(t *testing.T) {
	h := newTestServer(t, options{})
	rules := func(query string) (codes []string) {
		var list api.RuleList
		if err := json.Unmarshal([]byte(h.get("/api/v1/rules"+query, 200).body), &list); err != nil || list.Rules == nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, r := range list.Rules {
			codes = append(codes, r.Code)
		}
		return codes
	}
	all := len(rules(""))
	some := 0
	for _, f := range answer.RuleFamilies() {
		n := len(rules("?family=" + f.ID))
		if some += n; n == 0 || n == all {
			t.Errorf("the family %s has %d of %d rules", f.ID, n, all)
		}
	}
	if some != all {
		t.Errorf("all families have %d rules together, want %d", some, all)
	}
	if n := len(rules("?severity=error")) + len(rules("?severity=warning")) + len(rules("?severity=info")); n != all {
		t.Errorf("all severities have %d rules together, want %d", n, all)
	}
	if got := rules("?family=ai&severity=error&q=METHOD+upper"); !slices.Equal(got, []string{"AI418"}) {
		t.Errorf("the rules about methods in upper case are %v, want AI418", got)
	}
	if got := rules("?q=nosuchrule"); len(got) != 0 {
		t.Errorf("%v match no word", got)
	}
	for query, want := range map[string]string{"?family=agsi": "did you mean agis? ", "?severity=errors": "did you mean error? "} {
		if p := h.get("/api/v1/rules"+query, 400).problem(t); !strings.HasPrefix(p.Help, want) {
			t.Errorf("%s: help is %q, want %q first", query, p.Help, want)
		}
	}
}

// TestRefusedMembersOfBodies checks that a value of the wrong kind is named with the right one, and that a
// misspelled field has a question.
func TestRefusedMembersOfBodies(t *testing.T) {
	h := newTestServer(t, options{})
	for _, test := range []struct{ path, body, detail, help string }{
		{"/api/v1/search", `{"q": ["book"]}`, "q must be a string, not an array", "q is "},
		{"/api/v1/search", `{"q": "book", "limit": "3"}`, "limit must be a number, not a string", "limit is "},
		{"/api/v1/search", `{"q": "book", "safe": null}`, "safe must be a boolean, not null", "safe is "},
		{"/api/v1/explore", `{"fields": [7]}`, "the name of a field must be a string, not a number", "the fields are "},
		{"/api/v1/explore", `{"fields": ["verbb"]}`, `there is no field "verbb" to count`, "did you mean verb? the fields are "},
	} {
		r := h.request("POST", test.path, test.body, "Content-Type", jsonType)
		if p := r.problem(t); r.StatusCode != 400 || p.Detail != test.detail || !strings.HasPrefix(p.Help, test.help) {
			t.Errorf("%s %s: %+v", test.path, test.body, p)
		}
	}
}

// TestAlternativesOfNames checks that an unknown name has the names that may be meant.
func TestAlternativesOfNames(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	h.awaitFiled()
	for path, want := range map[string]string{
		"/api/v1/rules/AI4188":             "AI418",
		"/api/v1/data-classes/reservatino": "reservation",
	} {
		if p := h.get(path, 404).problem(t); !slices.Contains(p.Alternatives, want) {
			t.Errorf("%s: the alternatives are %v, want %s among them", path, p.Alternatives, want)
		}
	}
}
