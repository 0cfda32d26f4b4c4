package api_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/internal/testclock"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
)

// registeredAgent is what a registration answers.
type registeredAgent struct {
	AirID      string `json:"air_id"`
	Secret     string `json:"agent_secret"`
	CreatorDID string `json:"creator_did"`
}

const jsonType = "application/json"

// newKey returns a public key as a registration takes it.
func newKey(t testing.TB) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(public)
}

func registerAgent(t testing.TB, h *testServer) registeredAgent {
	t.Helper()
	r := h.request("POST", "/api/v1/agents/register", `{"name": "Alice", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType)
	if r.StatusCode != 201 {
		t.Fatalf("register: %s\n%s", r.Status, r.body)
	}
	var a registeredAgent
	if err := json.Unmarshal(r.body, &a); err != nil || a.AirID == "" || a.Secret == "" {
		t.Fatalf("register answers %s: %v", r.body, err)
	}
	return a
}
func routesOf(h *testServer, admin bool) (routes []string) {
	engine := h.api.Engine()
	if admin {
		engine = h.api.Operator
	}
	for _, r := range engine.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	return routes
}

func TestAgents(t *testing.T) {
	h := newTestServer(t, options{})
	agent := registerAgent(t, h)
	path := "/api/v1/agents/" + agent.AirID
	record := h.get(path, 200)
	for _, secret := range []string{agent.Secret, "secret_hash"} {
		if strings.Contains(string(record.body), secret) {
			t.Errorf("the record shows %q: %s", secret, record.body)
		}
	}
	if strings.Contains(h.log.all(), agent.Secret) {
		t.Error("the secret is in the log")
	}
	document := h.get(path+"/did-document", 200)
	if got := document.Header.Get("Cache-Control"); got != "public, max-age=50" {
		t.Errorf("Cache-Control is %q", got)
	}
	if !strings.Contains(string(document.body), "#key-1") {
		t.Errorf("DID document %s", document.body)
	}

	// What is refused is refused in the reference's words, with the rest added.
	for _, c := range []struct {
		name, method, path, body, secret string
		status                           int
		error, code                      string
	}{
		{"no secret", "PUT", path, `{"description": "x"}`, "", 401, "Missing X-Agent-Secret header. Updates require the secret returned at registration.", "unauthorized"},
		{"a wrong secret", "PUT", path, `{"description": "x"}`, strings.Repeat("0", 32), 401, "Invalid agent secret", "unauthorized"},
		{"an unknown agent", "PUT", "/api/v1/agents/AIR-0000-0000-0000", `{}`, agent.Secret, 404, "Agent not found", "no-agent"},
		{"nothing that changes", "PUT", path, `{}`, agent.Secret, 400, "No valid fields to update.", "bad-field"},
		{"an endpoint without a type", "PUT", path, `{"service_endpoints": [{"serviceEndpoint": "https://a.example"}]}`, agent.Secret, 400, "Invalid service_endpoints: service_endpoints[0].type", "bad-field"},
		{"a reserved handle", "PUT", path, `{"username": "root"}`, agent.Secret, 400, "Invalid username", "bad-field"},
		{"an unknown agent's record", "GET", "/api/v1/agents/AIR-0000-0000-0000", "", "", 404, "Agent not found", "no-agent"},
		{"an id in lower case", "GET", strings.ToLower(path), "", "", 404, "", "no-agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.forTest(t).request(c.method, c.path, c.body, "Content-Type", jsonType, "X-Agent-Secret", c.secret)
			p := r.problem(t)
			if r.StatusCode != c.status || !strings.HasPrefix(p.Error, c.error) || p.Code != c.code || p.Help == "" {
				t.Errorf("%s %+v", r.Status, p)
			}
			if c.status == 401 && r.Header.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
			if c.status == 404 && p.AirID == "" {
				t.Error("404 without air_id")
			}
		})
	}
	r := h.request("PUT", path, `{"service_endpoints": [{"type": ""}]}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret)
	if p := r.problem(t); p.Where == nil || p.Where.Pointer != "/service_endpoints/0/type" {
		t.Errorf("where is %+v", p.Where)
	}

	// An update is seen at once, and changes the tag.
	update := h.request("PUT", path, `{"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "https://relay.example/in"}]}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret)
	if update.StatusCode != 200 {
		t.Fatalf("%s %s", update.Status, update.body)
	}
	after := h.get(path+"/did-document", 200, "If-None-Match", document.Header.Get("ETag"))
	if !strings.Contains(string(after.body), "https://relay.example/in") {
		t.Errorf("DID document %s", after.body)
	}

	other := registerAgent(t, h)
	claim := func(who registeredAgent) bufferedResponse {
		return h.request("PUT", "/api/v1/agents/"+who.AirID, `{"username": "weather_bot"}`, "Content-Type", jsonType, "X-Agent-Secret", who.Secret)
	}
	if r := claim(agent); r.StatusCode != 200 {
		t.Errorf("the first claim: %s %s", r.Status, r.body)
	}
	if r := claim(other); r.StatusCode != 409 || r.problem(t).Code != "conflict" || r.problem(t).Username != "weather_bot" {
		t.Errorf("the second claim: %s %s", r.Status, r.body)
	}
}

// TestRegistrationBudget checks that a client has one budget, whatever headers it sends. An
// unreadable body does not count.
func TestRegistrationBudget(t *testing.T) {
	clock := testclock.New(seen)
	h := newTestServer(t, options{registry: registrar.Options{
		Limits: admission.Limits{Registrations: 3, AllRegistrations: 1000}, Now: clock.Now,
	}})
	try := func(i int) bufferedResponse {
		return h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType,
			"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i), "X-Real-IP", fmt.Sprintf("203.0.113.%d", i), "Forwarded", fmt.Sprintf("for=203.0.113.%d", i))
	}
	for range 5 {
		if r := h.request("POST", "/api/v1/agents/register", `{"name"`, "Content-Type", jsonType); r.StatusCode != 400 {
			t.Fatalf("%s", r.Status)
		}
	}
	for i := range 3 {
		if r := try(i); r.StatusCode != 201 {
			t.Fatalf("registration %d: %s %s", i, r.Status, r.body)
		}
	}
	r := try(9)
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "1200" {
		t.Errorf("%s, Retry-After %q, want 429 and 1200 (an hour by 3)", r.Status, r.Header.Get("Retry-After"))
	}
	var body struct {
		Error string `json:"error"`
		Retry int    `json:"retry_after_seconds"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil || body.Retry != 1200 || !strings.HasPrefix(body.Error, "Rate limit exceeded") {
		t.Errorf("body %s", r.body)
	}
	clock.Advance(1200 * time.Second)
	if r := try(1); r.StatusCode != 201 {
		t.Errorf("after Retry-After: %s", r.Status)
	}
	if strings.Contains(h.log.all(), "203.0.113") {
		t.Error("the log believes X-Forwarded-For")
	}
}

// TestTrustedProxy checks that the log names the client by the header of a proxy that the operator
// names, and not by those of any other peer.
func TestTrustedProxy(t *testing.T) {
	for _, c := range []struct {
		proxies []string
		client  string
	}{{[]string{"127.0.0.1"}, "198.51.100.0/24"}, {[]string{"203.0.113.1"}, "127.0.0.0/24"}, {nil, "127.0.0.0/24"}} {
		h := newTestServer(t, options{api: func(o *api.Options) { o.TrustedProxies = c.proxies }})
		h.get("/healthz", 200, "X-Forwarded-For", "198.51.100.77", "X-Real-IP", "198.51.100.78", "Forwarded", "for=198.51.100.79")
		lines := h.log.lines(t, "request")
		if len(lines) != 1 || lines[0]["client"] != c.client {
			t.Errorf("behind %q: log %v, want the client %s", c.proxies, lines, c.client)
		}
	}
}

// A member that means nothing in a registration is left out, as the reference
// leaves it out, but not without a word.
func TestRegistrationWithoutOptionalMembers(t *testing.T) {
	h := newTestServer(t, options{})
	for body, want := range map[string][]string{
		`"username": "alice"`:                                    {"claim a handle with PUT"},
		`"recovery": "sha-256:x"`:                                {`"recovery" is not known`},
		`"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1`: {`"a"`, `"b"`, `"c"`, `"d"`, `"e"`, "2 more"},
		`"open_source": true, "recovery_commitment": null`:       nil,
	} {
		r := h.request("POST", "/api/v1/agents/register", `{"name": "Odd", "public_key": "`+publicKey(keyFromSeed(7))+`", `+body+`}`, "Content-Type", jsonType)
		var answer air.RegistrationAnswer
		decodeInto(t, r, &answer)
		kept := slices.DeleteFunc(answer.Warnings, func(w string) bool { return strings.HasPrefix(w, "An agent named") })
		if r.StatusCode != 201 || len(kept) != len(want) {
			t.Errorf("%s: %s %s", body, r.Status, r.body)
			continue
		}
		for i := range want {
			if !strings.Contains(kept[i], want[i]) {
				t.Errorf("%s: %q does not say %q", body, kept[i], want[i])
			}
		}
	}
}

// TestNearHandles checks that an unknown handle has the alternatives that it probably misspells, but not
// one that was given up.
func TestNearHandles(t *testing.T) {
	h := newTestServer(t, options{})
	for _, handle := range []string{"concierge", "conciergo", "weather"} {
		agent := registerAgent(t, h)
		if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, `{"username": "`+handle+`"}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
			t.Fatalf("%s: %s %s", handle, r.Status, r.body)
		}
		if handle == "conciergo" {
			if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, `{"username": "other"}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
				t.Fatalf("%s: %s %s", handle, r.Status, r.body)
			}
		}
	}
	for name, want := range map[string][]string{"@concirge": {"concierge"}, "conc": {"concierge"}, "nobody": nil, "AIR-0000-0000-0000": nil} {
		if p := h.get("/api/v1/resolve?name="+name, 404).problem(t); p.Code != "no-agent" || !slices.Equal(p.Alternatives, want) {
			t.Errorf("%s: %s with %q, want %q", name, p.Code, p.Alternatives, want)
		}
	}
}

// TestUnknownHandle checks that the answer to an unknown handle does not advise to check an id.
func TestUnknownHandle(t *testing.T) {
	h := newTestServer(t, options{})
	if p := h.get("/api/v1/agents/by-username/nobody_here", 404).problem(t); p.Error != "No agent with that username" || p.Code != "no-agent" {
		t.Errorf("%+v", p)
	}
}
