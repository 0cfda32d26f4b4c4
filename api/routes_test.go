package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// goodPaths are one address for each route that a GET answers with 200.
func goodPaths(t testing.TB, h *testServer) map[string]string {
	t.Helper()
	agent := registerAgent(t, h)
	if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, `{"username": "alice_1"}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	report := h.request("POST", "/api/v1/agents/"+agent.AirID+"/reports", `{"reason": "spam", "text": "it writes to everybody"}`, "Content-Type", jsonType)
	var reported air.ReportView
	decodeInto(t, report, &reported)
	if h.answers.Log != nil {
		h.awaitLog()
		h.awaitCosignature()
	}
	// Answers carry the place in the log that they are based on: let it stand still.
	if err := errors.Join(h.index.WaitFor(t.Context(), h.store.Head().Seq), h.answers.Census.WaitFor(t.Context(), h.store.Head().Seq)); err != nil {
		t.Fatal(err)
	}
	version := document.Digest([]byte(aiText("Ristorante")))
	return map[string]string{
		"/api/v1/search":                                             "/api/v1/search?q=book+a+table",
		"/api/v1/orchestrate":                                        "/api/v1/orchestrate?q=book+a+table&require=&join=claimed",
		"/api/v1/services":                                           "/api/v1/services?limit=3",
		"/api/v1/changes":                                            "/api/v1/changes?limit=3",
		"/api/v1/changes/atom":                                       "/api/v1/changes/atom?limit=3",
		"/api/v1/changes/feed.json":                                  "/api/v1/changes/feed.json?limit=3",
		"/api/v1/services/{host}":                                    "/api/v1/services/ristorante.example",
		"/api/v1/services/{host}/documents/{kind}":                   "/api/v1/services/ristorante.example/documents/ai",
		"/api/v1/services/{host}/documents/{kind}/versions":          "/api/v1/services/ristorante.example/documents/ai/versions",
		"/api/v1/services/{host}/documents/{kind}/diff":              "/api/v1/services/ristorante.example/documents/ai/diff?from=" + version + "&to=" + version,
		"/api/v1/services/{host}/documents/{kind}/versions/{digest}": "/api/v1/services/ristorante.example/documents/ai/versions/" + version,
		"/api/v1/verbs":                                              "/api/v1/verbs",
		"/api/v1/verbs/{verb}":                                       "/api/v1/verbs/book",
		"/api/v1/suggest":                                            "/api/v1/suggest?q=bo",
		"/api/v1/services/{host}/similar":                            "/api/v1/services/ristorante.example/similar",
		"/api/v1/namespaces":                                         "/api/v1/namespaces",
		"/api/v1/namespaces/{ns}":                                    "/api/v1/namespaces/ristorante",
		"/api/v1/data-classes":                                       "/api/v1/data-classes",
		"/api/v1/data-classes/{class}":                               "/api/v1/data-classes/Reservation",
		"/api/v1/rules":                                              "/api/v1/rules?family=ai&severity=error&q=method",
		"/api/v1/rules/{code}":                                       "/api/v1/rules/agis302",
		"/schemas/{name}":                                            "/schemas/agis-1.0.json",
		"/api/v1/submissions/{host}":                                 "/api/v1/submissions/ristorante.example",
		"/api/v1/resolve":                                            "/api/v1/resolve?name=" + agent.AirID,
		"/api/v1/agents":                                             "/api/v1/agents?limit=5&q=alice",
		"/api/v1/agents/check-name":                                  "/api/v1/agents/check-name?name=alice",
		"/api/v1/agents/check-username":                              "/api/v1/agents/check-username?username=bob_1",
		"/api/v1/agents/by-username/{username}":                      "/api/v1/agents/by-username/Alice_1",
		"/api/v1/agents/{air_id}/attestations":                       "/api/v1/agents/" + agent.AirID + "/attestations",
		"/api/v1/agents/{air_id}/graph":                              "/api/v1/agents/" + agent.AirID + "/graph",
		"/api/v1/agents/{air_id}/dependents":                         "/api/v1/agents/" + agent.AirID + "/dependents?depth=2",
		"/api/v1/agents/{air_id}/history":                            "/api/v1/agents/" + agent.AirID + "/history?limit=1000",
		"/api/v1/agents/{air_id}/keys":                               "/api/v1/agents/" + agent.AirID + "/keys",
		"/api/v1/agents/{air_id}/domains":                            "/api/v1/agents/" + agent.AirID + "/domains",
		"/api/v1/agents/{air_id}/evidence":                           "/api/v1/agents/" + agent.AirID + "/evidence",
		"/api/v1/services/{host}/explanation":                        "/api/v1/services/ristorante.example/explanation",
		"/api/v1/services/{host}/badge.svg":                          "/api/v1/services/ristorante.example/badge.svg",
		"/api/v1/agents/{air_id}/badge.svg":                          "/api/v1/agents/" + agent.AirID + "/badge.svg?format=score",
		"/api/v1/agents/{air_id}/application":                        "/api/v1/agents/" + agent.AirID + "/application",
		"/api/v1/reports/{id}":                                       "/api/v1/reports/" + reported.ID,
		"/api/v1/attestations/recent":                                "/api/v1/attestations/recent?limit=1000",
		"/api/v1/graph/stats":                                        "/api/v1/graph/stats",
		"/api/v1/audit/verify":                                       "/api/v1/audit/verify?from=0&to=1",
		"/api/v1/audit/anchor":                                       "/api/v1/audit/anchor",
		"/api/v1/health":                                             "/api/v1/health",
		"/api/v1/openapi.yaml":                                       "/api/v1/openapi.yaml",
		"/agents/{id}/did.json":                                      "/agents/" + agent.AirID + "/did.json",
		"/.well-known/did.json":                                      "/.well-known/did.json",
		"/1.0/identifiers/{did}":                                     "/1.0/identifiers/" + agent.CreatorDID,
		"/log/checkpoint":                                            "/log/checkpoint",
		"/log/key":                                                   "/log/key",
		"/log/entries":                                               "/log/entries?key=agent/" + agent.AirID,
		"/log/inclusion":                                             "/log/inclusion?index=0",
		"/log/consistency":                                           "/log/consistency?old=1",
		"/log/proof":                                                 "/log/proof?key=agent/" + agent.AirID,
		"/witness/key":                                               "/witness/key",
		"/witness/checkpoint":                                        "/witness/checkpoint?origin=registry.example/log",
		"/log/tile/{path}":                                           "/log/tile/entries/000.p/" + logSize(h),
		"/api/v1/agents/{air_id}":                                    "/api/v1/agents/" + agent.AirID,
		"/api/v1/agents/{air_id}/did-document":                       "/api/v1/agents/" + agent.AirID + "/did-document",
		"/api/v1/agents/{air_id}/trust-score":                        "/api/v1/agents/" + agent.AirID + "/trust-score",
		"/api/v1/services/{host}/crawl-log":                          "/api/v1/services/ristorante.example/crawl-log",
		"/api/v1/stats":                                              "/api/v1/stats?limit=3",
		"/api/v1/stats/hosts":                                        "/api/v1/stats/hosts?figure=class:publishes",
		"/api/v1/stats/series":                                       "/api/v1/stats/series?family=state",
		"/api/v1/status":                                             "/api/v1/status",
		"/healthz":                                                   "/healthz",
		"/readyz":                                                    "/readyz",
		"/openapi.json":                                              "/openapi.json",
	}
}

// apart are routes whose answers are streams, which have tests of their own.
var apart = []string{"/api/v1/status/stream", "/api/v1/changes/stream", "/api/v1/agents/{air_id}/export"}

// logSize is how many leaves the log of a server has.
func logSize(h *testServer) string {
	if h.answers.Log == nil {
		return "0"
	}
	return fmt.Sprint(h.answers.Log.Head().N)
}

func TestEveryGETRoute(t *testing.T) {
	h := newTestServer(t, options{log: true, api: func(o *api.Options) { o.Now = func() time.Time { return seen } }})
	h.publishSamples()
	spec := readSpec(t, h.get("/openapi.json", 200).body)
	paths := goodPaths(t, h)
	for route, item := range spec.paths() {
		if _, ok := item["get"]; ok && paths[route] == "" && !slices.Contains(apart, route) {
			t.Errorf("no good path of %s is tested", route)
		}
	}
	for route, path := range paths {
		t.Run(route, func(t *testing.T) {
			h := h.forTest(t)
			got := h.get(path, 200)
			tag := got.Header.Get("ETag")
			if !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
				t.Errorf("ETag is %q", tag)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*", "Referrer-Policy": "no-referrer",
				"Access-Control-Allow-Credentials": "", "Content-Length": fmt.Sprint(len(got.body)),
			} {
				if v := got.Header.Get(name); v != want {
					t.Errorf("%s is %q, want %q", name, v, want)
				}
			}
			if !strings.Contains(got.Header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("Content-Security-Policy is %q", got.Header.Get("Content-Security-Policy"))
			}
			if strings.Contains(got.Header.Get("Content-Type"), "json") && !strings.Contains(route, "documents/{kind}") || strings.HasSuffix(route, "versions") {
				spec.check(t, route, got.body)
			}

			for _, known := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
				if r := h.get(path, 304, "If-None-Match", known); len(r.body) > 0 || r.Header.Get("ETag") != tag {
					t.Errorf("If-None-Match: %s: %d bytes, ETag %s", known, len(r.body), r.Header.Get("ETag"))
				}
			}
			h.get(path, 200, "If-None-Match", `"0"`)

			head := h.request("HEAD", path, "")
			if head.StatusCode != 200 || len(head.body) > 0 {
				t.Errorf("HEAD: %s, %d bytes", head.Status, len(head.body))
			}
			sameHeaders(t, head.Header, got.Header)

			zipped := h.get(path, 200, "Accept-Encoding", "br, gzip;q=0.5")
			if zipped.Header.Get("Content-Encoding") == "gzip" {
				if unzip(t, zipped.body) != string(got.body) || zipped.Header.Get("ETag") == tag || zipped.Header.Get("Vary") != "Accept-Encoding" {
					t.Errorf("gzip: ETag %s, Vary %q, or another body", zipped.Header.Get("ETag"), zipped.Header.Get("Vary"))
				}
				h.get(path, 304, "Accept-Encoding", "gzip", "If-None-Match", zipped.Header.Get("ETag"))
				if r := h.get(path, 200, "Accept-Encoding", "gzip;q=0"); r.Header.Get("Content-Encoding") != "" {
					t.Error("gzip;q=0 was answered with gzip")
				}
			} else if len(got.body) >= 2048 && !strings.Contains(got.Header.Get("Cache-Control"), "no-transform") {
				t.Errorf("%d bytes were not compressed", len(got.body))
			}

			for _, method := range []string{"DELETE", "PATCH", "TRACE", "BREW"} {
				r := h.request(method, path, "")
				if method == "DELETE" && route == "/api/v1/agents/{air_id}" && r.StatusCode == 401 {
					continue // the operator's, on another listener
				}
				if r.StatusCode != 405 || !strings.Contains(r.Header.Get("Allow"), "GET, HEAD, OPTIONS") {
					t.Errorf("%s: %s, Allow %q", method, r.Status, r.Header.Get("Allow"))
				}
			}
			options := h.request("OPTIONS", path, "")
			if options.StatusCode != 204 || !strings.Contains(options.Header.Get("Allow"), "GET, HEAD, OPTIONS") {
				t.Errorf("OPTIONS: %s, Allow %q", options.Status, options.Header.Get("Allow"))
			}
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			if p := h.get(path+separator+"nope=1", 400).problem(t); p.Code != "unknown-parameter" || p.Where == nil || p.Where.Parameter != "nope" || !strings.Contains(p.Help, "known are: ") && p.Help != "this address takes none" {
				t.Errorf("unknown parameter: %+v", p)
			}
		})
	}
}

func sameHeaders(t *testing.T, got, want http.Header) {
	t.Helper()
	for name := range want {
		if name != "Date" && name != "Ratelimit" && !slices.Equal(got[name], want[name]) {
			t.Errorf("HEAD: %s is %q, with GET %q", name, got[name], want[name])
		}
	}
}

func unzip(t *testing.T, body []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryRouteIsDescribed walks gin's routes, and the description back.
func TestEveryRouteIsDescribed(t *testing.T) {
	h := newTestServer(t, options{})
	public := readSpec(t, h.get("/openapi.json", 200).body)
	admin := readSpec(t, h.requestAt(h.admin, "GET", "/admin/openapi.json", nil).body)
	parameter := regexp.MustCompile(`[:*](\w+)`)
	for name, side := range map[string]struct {
		spec   spec
		routes []string
	}{
		"public": {public, routesOf(h, false)},
		"admin":  {admin, routesOf(h, true)},
	} {
		var described []string
		for path, item := range side.spec.paths() {
			for method := range item {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
		var served []string
		for _, route := range side.routes {
			if !strings.HasPrefix(route, "HEAD ") { // of each GET, said in the description
				served = append(served, parameter.ReplaceAllString(route, "{$1}"))
			}
		}
		sort.Strings(described)
		sort.Strings(served)
		if len(served) < 3 || !slices.Equal(described, served) {
			t.Errorf("%s: served are\n%s\ndescribed are\n%s", name, strings.Join(served, "\n"), strings.Join(described, "\n"))
		}
	}
	if public["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", public["openapi"])
	}
	if bytes.Contains(h.get("/openapi.json", 200).body, []byte("Huma")) {
		t.Error("the description shows types that no route answers with")
	}
}

// TestProblemsAreExplained asks whether the type of a problem leads to it.
func TestProblemsAreExplained(t *testing.T) {
	h := newTestServer(t, options{})
	spec := readSpec(t, h.get("/openapi.json", 200).body)
	p := h.get("/api/v1/services/unknown.example", 404).problem(t)
	if p.Type != "/openapi.json#/x-problems/no-service" {
		t.Errorf("type is %s", p.Type)
	}
	entry, _ := spec["x-problems"].(map[string]any)[p.Code].(map[string]any)
	if entry["title"] != p.Title || entry["status"] != float64(p.Status) {
		t.Errorf("x-problems has %v, the answer %+v", entry, p)
	}
}

// spec is an OpenAPI document, decoded as plain JSON.
type spec map[string]any

func readSpec(t testing.TB, text []byte) spec {
	t.Helper()
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s spec) paths() map[string]map[string]any {
	paths := map[string]map[string]any{}
	for path, item := range s["paths"].(map[string]any) {
		paths[path] = item.(map[string]any)
	}
	return paths
}

// check judges an answer with status 200 by the schema of its route.
func (s spec) check(t testing.TB, route string, body []byte) {
	t.Helper()
	operation := s.paths()[route]["get"].(map[string]any)
	content := operation["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)
	var schema map[string]any
	for name, media := range content {
		if schema == nil || strings.Contains(name, "json") { // a route may have other forms beside
			schema = media.(map[string]any)["schema"].(map[string]any)
		}
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%s answers no JSON: %v", route, err)
	}
	for _, wrong := range s.judge(schema, value, "") {
		t.Errorf("%s: %s", route, wrong)
	}
}

// judge is the part of JSON Schema that our descriptions use.
func (s spec) judge(schema map[string]any, value any, at string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		named, ok := s["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
		if !ok {
			return []string{at + ": no schema " + name}
		}
		return s.judge(named, value, at)
	}
	var wrong []string
	if forms, ok := schema["anyOf"].([]any); ok {
		for _, form := range forms {
			found := s.judge(form.(map[string]any), value, at)
			if len(found) == 0 {
				return nil
			}
			wrong = append(wrong, found...)
		}
		return wrong
	}
	if types := typesOf(schema); len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return isType(name, value) }) {
		return []string{fmt.Sprintf("%s: %v is no %v", at, value, types)}
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, value) {
		wrong = append(wrong, fmt.Sprintf("%s: %v is none of %v", at, value, enum))
	}
	switch v := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s: %s is missing", at, name))
			}
		}
		for name, member := range v {
			switch described, ok := properties[name].(map[string]any); {
			case ok:
				wrong = append(wrong, s.judge(described, member, at+"/"+name)...)
			case schema["additionalProperties"] == false:
				wrong = append(wrong, fmt.Sprintf("%s: %s is not described", at, name))
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range v {
			wrong = append(wrong, s.judge(items, item, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return wrong
}

func typesOf(schema map[string]any) []string {
	switch types := schema["type"].(type) {
	case string:
		return []string{types}
	case []any:
		var names []string
		for _, name := range types {
			names = append(names, name.(string))
		}
		return names
	}
	return nil
}

func isType(name string, value any) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}

// A badge is an image for any host. It shows the known state, and only "unverified" before the
// origin of the host is proved.
func TestServiceBadge(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	h := newTestServer(t, options{})
	h.answers.Now = func() time.Time { return now }
	publish := func(host string, change func(*crawler.Host)) {
		_, writes := h.prepareDocument(host, document.AI, "application/json", aiText("A"), now.Add(-time.Hour))
		var record crawler.Host
		if err := json.Unmarshal(writes[0].Value, &record); err != nil {
			t.Fatal(err)
		}
		change(&record)
		writes[0] = store.Put(store.HostKey(host), encodeJSON(t, record))
		h.applyWrites(writes...)
	}
	publish("fresh.example", func(*crawler.Host) {})
	publish("proved.example", func(r *crawler.Host) { r.OwnerProved = now.AddDate(0, -1, 0) })
	publish("sold.example", func(r *crawler.Host) { r.OwnerProved = now.AddDate(-2, 0, 0) })
	publish("old.example", func(r *crawler.Host) { r.Visited, r.OwnerProved = now.AddDate(0, -2, 0), now })
	publish("future.example", func(r *crawler.Host) { r.Visited = now.AddDate(3, 0, 0) })
	publish("down.example", func(r *crawler.Host) {
		f := r.Fetches["ai"]
		f.Outcome, f.Status = fetch.ServerError, 503
		r.Fetches["ai"] = f
	})
	const grey, green, blue, red = "#616161", "#2e7d32", "#0b65a8", "#b3261e"
	for host, want := range map[string][]string{
		"fresh.example":                     {"unverified", "answers", "seen 22 Nov 2026", blue},
		"proved.example":                    {"agent service: conformant, level 1 · answers", "a request that the owner signed", green},
		"sold.example":                      {"unverified", blue},
		"old.example":                       {"seen 22 Sep 2026", grey},
		"future.example":                    {grey},
		"down.example":                      {"does not answer", red},
		"nobody.example":                    {"not found", grey},
		"not%20a%20host":                    {"not found", grey},
		"%3Cscript%3E":                      {"not found", grey},
		"FRESH.example.":                    {"unverified"},
		"fresh.example?style=for-the-badge": {"UNVERIFIED", `height="28"`},
	} {
		host, query, _ := strings.Cut(host, "?")
		r := h.get("/api/v1/services/"+host+"/badge.svg?"+query, 200)
		for _, part := range want {
			if !strings.Contains(string(r.body), part) {
				t.Errorf("%s: no %q in %s", host, part, r.body)
			}
		}
		if r.Header.Get("Content-Type") != "image/svg+xml; charset=utf-8" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("ETag") == "" || r.Header.Get("Cache-Control") != "public, no-cache" {
			t.Errorf("%s: the headers are %v", host, r.Header)
		}
	}
	if r := h.get("/api/v1/services/proved.example/badge.svg", 200); strings.Contains(string(r.body), "unverified") {
		t.Errorf("a proved host is %s", r.body)
	}
	h.get("/api/v1/services/fresh.example/badge.svg?style=round", 400)
}
