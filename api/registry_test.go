package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/protocol/jcs"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/tiles"
	"gazetteer/registry/registrar"
)

// An owner is an agent with its key, for a test that plays it.
type owner struct {
	registeredAgent
	h    *testServer
	path string
	key  ed25519.PrivateKey
}

// requestSigned sends a request that is signed with key under keyID.
func (h *testServer) requestSigned(key ed25519.PrivateKey, keyID, method, path, body string, o httpsig.SignOptions) bufferedResponse {
	h.t.Helper()
	r, err := http.NewRequest(method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	r.Host = "registry.example" // where the client thinks it is
	o.KeyID = keyID
	scheme := r.URL.Scheme
	if h.secure {
		r.URL.Scheme = "https"
	}
	if err := httpsig.Sign(r, []byte(body), key, o); err != nil {
		h.t.Fatal(err)
	}
	r.URL.Scheme = scheme
	response, err := plain.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	recordCode(false, method, path, response.StatusCode, text)
	return bufferedResponse{response, text}
}

func (o owner) send(method, path, body string) bufferedResponse {
	o.h.t.Helper()
	return o.h.requestSigned(o.key, o.CreatorDID+did.KeyFragment, method, o.path+path, body, httpsig.SignOptions{})
}

// publicKey is the public half as a registration takes it.
func publicKey(key ed25519.PrivateKey) string {
	return did.FormatPublicKey(key.Public().(ed25519.PublicKey))
}

func encodeMultikey(key ed25519.PrivateKey) string {
	return did.FormatMultikey(key.Public().(ed25519.PublicKey))
}

// registerProved registers an agent by a signed request, without a secret. Extra are
// members of the registration.
func registerProved(t testing.TB, h *testServer, seed int, extra string) owner {
	t.Helper()
	key := keyFromSeed(seed)
	body := `{"name": "Alice", "public_key": "` + publicKey(key) + `", "no_secret": true` + extra + `}`
	r := h.requestSigned(key, encodeMultikey(key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{})
	if r.StatusCode != 201 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	o := owner{h: h, key: key}
	decodeInto(t, r, &o.registeredAgent)
	if o.Secret != "" {
		t.Error("a secret was shown that was not asked for")
	}
	o.path = "/api/v1/agents/" + o.AirID
	return o
}

func decodeInto(t testing.TB, r bufferedResponse, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

func TestSignedWrites(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerProved(t, h, 1, "")
	if r := a.send("PUT", "", `{"description": "signed"}`); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	nonce := httpsig.SignOptions{Nonce: "once-and-only-once"}
	id := a.CreatorDID + did.KeyFragment
	if r := h.requestSigned(a.key, id, "PUT", a.path, `{"description": "once"}`, nonce); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	// What the documentation says is enough, under each name that the key has.
	web := strings.Replace(a.CreatorDID, "did:wba:", "did:web:", 1)
	for _, name := range []string{id, a.CreatorDID, a.AirID, web, web + did.KeyFragment, encodeMultikey(a.key), "did:key:" + encodeMultikey(a.key), publicKey(a.key)} {
		o := httpsig.SignOptions{Components: []string{"@method", "@target-uri", "content-digest"}}
		if r := h.requestSigned(a.key, name, "PUT", a.path, `{"description": "by `+name+`"}`, o); r.StatusCode != 200 {
			t.Errorf("%s: %s %s", name, r.Status, r.body)
		}
	}
	if r := h.requestSigned(a.key, id, "PUT", a.path, `{"description": "once"}`, httpsig.SignOptions{}); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	for _, c := range []struct {
		name, rule string
		send       func() bufferedResponse
	}{
		{"a nonce again", "nonce-used", func() bufferedResponse {
			return h.requestSigned(a.key, id, "PUT", a.path, `{"description": "twice"}`, nonce)
		}},
		{"another's key", "signature-invalid", func() bufferedResponse {
			return h.requestSigned(keyFromSeed(2), id, "PUT", a.path, `{"description": "x"}`, httpsig.SignOptions{})
		}},
		{"a key of another agent", "signature-keyid", func() bufferedResponse {
			return h.requestSigned(a.key, "did:wba:other.example#key-1", "PUT", a.path, `{"description": "x"}`, httpsig.SignOptions{})
		}},
		{"an old signature", "signature-created", func() bufferedResponse {
			return h.requestSigned(a.key, id, "PUT", a.path, `{"description": "x"}`, httpsig.SignOptions{Created: time.Now().Add(-time.Hour)})
		}},
		{"the body left out", "signature-coverage", func() bufferedResponse {
			return h.requestSigned(a.key, id, "PUT", a.path, `{"description": "x"}`, httpsig.SignOptions{Components: []string{"@method", "@target-uri"}})
		}},
		{"no signature, no secret", "", func() bufferedResponse {
			return h.request("PUT", a.path, `{"description": "x"}`, "Content-Type", jsonType)
		}},
		{"a secret that was switched off", "secret-off", func() bufferedResponse {
			return h.request("PUT", a.path, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", strings.Repeat("0", 32))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.send()
			p := r.problem(t)
			if r.StatusCode != 401 || p.Code != "unauthorized" || p.Rule != c.rule || p.Help == "" || r.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s", r.Status, r.body)
			}
			if c.rule == "signature-invalid" && !strings.Contains(p.SignatureBase, `"@method": PUT`) {
				t.Errorf("the base is not shown: %s", r.body)
			}
		})
	}
	var record airjson.RecordView
	decodeInto(t, h.get(a.path, 200), &record)
	if record.Description != "once" {
		t.Errorf("the description is %q", record.Description)
	}
}

// TestSignedRequestBehindProxy checks a proxy that ends TLS, so that only the public URL is the one
// that the client has signed.
func TestSignedRequestBehindProxy(t *testing.T) {
	h := newTestServer(t, options{api: func(o *api.Options) { o.PublicURL = "https://registry.example" }})
	h.secure = true
	a := registerProved(t, h, 1, "")
	scheme := httpsig.SignOptions{Components: append(httpsig.WriteComponents(), "@scheme", "@target-uri")}
	for _, c := range []struct {
		secure bool
		want   int
	}{{true, 200}, {false, 401}} {
		h.secure = c.secure
		if r := h.requestSigned(a.key, a.CreatorDID+did.KeyFragment, "PUT", a.path, `{"description": "signed"}`, scheme); r.StatusCode != c.want {
			t.Errorf("signed for https: %t: %s %s", c.secure, r.Status, r.body)
		}
	}
}

func TestChallenge(t *testing.T) {
	h := newTestServer(t, options{})
	key := keyFromSeed(5)
	var c registry.Challenge
	decodeInto(t, h.request("POST", "/api/v1/challenges", ""), &c)
	body := `{"name": "Carol", "public_key": "` + publicKey(key) + `"}`
	text := registrationStatement(t, "registry.example", c.Challenge, encodeMultikey(key), []byte(body))
	proof := `, "proof": {"challenge": "` + c.Challenge + `", "signature": "` + did.FormatSignature(ed25519.Sign(key, text)) + `"}}`
	other := strings.Replace(strings.TrimSuffix(body, "}")+proof, "Carol", "Mallory", 1)
	if r := h.request("POST", "/api/v1/agents/register", other, "Content-Type", jsonType); r.StatusCode != 401 || r.problem(t).Rule != "statement-signature" {
		t.Errorf("a proof was carried to another registration: %s %s", r.Status, r.body)
	}
	register := func() bufferedResponse {
		return h.request("POST", "/api/v1/agents/register", strings.TrimSuffix(body, "}")+proof, "Content-Type", jsonType)
	}
	if r := register(); r.StatusCode != 201 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := register(); r.StatusCode != 401 && r.StatusCode != 409 {
		t.Errorf("the challenge was answered twice: %s %s", r.Status, r.body)
	}
	list := h.listAgents("require=key", 1)
	if list.Total != 1 {
		t.Errorf("%d agents with a proved key", list.Total)
	}
}

func rotationBody(t testing.TB, x registry.Rotation) string {
	return string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"recovery_commitment": x.Commitment, "old_signature": x.OldSignature, "new_signature": x.NewSignature}))
}

func TestIdempotencyKeysOverHTTP(t *testing.T) {
	h := newTestServer(t, options{log: true})
	a := registerProved(t, h, 10, "")
	next, recoveryKey := keyFromSeed(11), keyFromSeed(12)
	rotation := registry.NewRotation(a.CreatorDID, a.key, next, registry.RecoveryCommitment(recoveryKey.Public().(ed25519.PublicKey)), time.Now())
	r := h.request("POST", a.path+"/keys", rotationBody(t, rotation), "Content-Type", jsonType)
	var keys airjson.KeysView
	decodeInto(t, r, &keys)
	if r.StatusCode != 200 || len(keys.Keys) != 2 || keys.Keys[0].PublicKeyMultibase != encodeMultikey(next) || keys.Keys[1].Until == nil {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := h.request("POST", a.path+"/keys", rotationBody(t, rotation), "Content-Type", jsonType); r.StatusCode != 409 || r.problem(t).Rule != "key-retired" {
		t.Errorf("the same rotation again: %s %s", r.Status, r.body)
	}
	if r := a.send("PUT", "", `{"description": "x"}`); r.StatusCode != 401 {
		t.Errorf("the retired key still signs: %s", r.Status)
	}
	a.key = next
	for _, path := range []string{a.path + "/did-document", "/agents/" + a.AirID + "/did.json"} {
		var d did.Document
		decodeInto(t, h.get(path, 200), &d)
		if key, err := d.Key(); err != nil || did.FormatMultikey(key) != encodeMultikey(next) {
			t.Errorf("%s has %v, %v", path, key, err)
		}
	}

	x := registry.NewRecovery(a.CreatorDID, encodeMultikey(next), recoveryKey, keyFromSeed(13), "", time.Now())
	body := string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
		"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature}))
	r = h.request("POST", a.path+"/recovery", body, "Content-Type", jsonType)
	decodeInto(t, r, &keys)
	if r.StatusCode != 202 || keys.Recovery == nil || keys.Recovery.To != encodeMultikey(keyFromSeed(13)) {
		t.Errorf("%s %s", r.Status, r.body)
	}
	if r := a.send("POST", "/deactivate", ""); r.StatusCode != 403 || r.problem(t).Rule != "recovery-pending" {
		t.Errorf("deactivated under a recovery: %s %s", r.Status, r.body)
	}
	x = registry.NewRecovery(a.CreatorDID, encodeMultikey(next), recoveryKey, nil, "", time.Now())
	body = string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "recovery_key": x.Key,
		"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature}))
	if r := h.request("POST", a.path+"/recovery", body, "Content-Type", jsonType); r.StatusCode != 202 {
		t.Errorf("%s %s", r.Status, r.body)
	}

	if r := a.send("POST", "/deactivate", `{"really": true}`); r.StatusCode != 400 {
		t.Errorf("a body was ignored: %s", r.Status)
	}
	if r := a.send("POST", "/deactivate", ""); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	for path, status := range map[string]int{
		a.path + "/did-document": 410, "/agents/" + a.AirID + "/did.json": 410, "/1.0/identifiers/" + a.CreatorDID: 410,
		a.path: 200, a.path + "/keys": 200, a.path + "/history": 200, a.path + "/trust-score": 200, a.path + "/badge.svg": 200,
	} {
		h.get(path, status)
	}
	if r := a.send("POST", "/erase", ""); r.StatusCode != 200 || bytes.Contains(r.body, []byte("Alice")) {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := h.get(a.path, 410); r.problem(t).Code != "agent-gone" || r.problem(t).AirID != a.AirID {
		t.Errorf("%s", r.body)
	}
	h.awaitLog()
	for _, path := range []string{a.path + "/history", "/log/entries?key=agent/" + a.AirID} {
		if body := h.get(path, 200).body; bytes.Contains(body, []byte("Alice")) {
			t.Errorf("%s still has what was erased: %s", path, body)
		}
	}
}

// zone answers TXT questions.
type zone map[string][]string

func (z zone) TXT(_ context.Context, name string) ([]string, error) {
	return z[name], nil
}

func TestDomains(t *testing.T) {
	z := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: z}, api: func(o *api.Options) { o.Proofs = 3 }})
	a := registerProved(t, h, 20, "")
	prove := func() (int, air.DomainAnswer, bufferedResponse) {
		r := a.send("POST", "/domains", `{"domain": "Example.com"}`)
		var d air.DomainAnswer
		decodeInto(t, r, &d)
		return r.StatusCode, d, r
	}
	z["example.com"] = []string{"v=spf1 -all"}
	status, d, r := prove()
	if status != 202 || d.Proved || len(d.Domain.Probes) != 2 || len(d.Publish.At) != 3 {
		t.Fatalf("%d %s", status, r.body)
	}
	for i, want := range []registry.Probe{
		{Query: "TXT _gazetteer.example.com", Problem: "the name has no TXT record"},
		{Query: "TXT example.com", Problem: "no value names the agent", Values: []string{"v=spf1 -all"}},
	} {
		l := d.Domain.Probes[i]
		if l.Query != want.Query || l.Problem != want.Problem || strings.Join(l.Values, "|") != strings.Join(want.Values, "|") || l.Server != "" || l.Expected != d.Publish.Value {
			t.Errorf("look %d is %+v", i, l)
		}
	}
	h.get(a.path+"?require=domain", 412)
	z["_gazetteer.example.com"] = []string{"something else", d.Publish.Value}
	if status, d, r = prove(); status != 200 || !d.Proved || d.Domain.Method != "dns" {
		t.Fatalf("%d %s", status, r.body)
	}
	h.get(a.path+"?require=domain,key", 200)
	if p := h.get(a.path+"?require=domain,inbox,agis", 412).problem(t); p.Code != "no-evidence" || strings.Join(p.Missing, " ") != "inbox agis" {
		t.Errorf("%+v", p)
	}
	h.get(a.path+"/did-document?require=domain", 200)
	if p := h.get(a.path+"?require=beauty", 400).problem(t); p.Where == nil || p.Where.Parameter != "require" {
		t.Errorf("%+v", p)
	}
	list := h.listAgents("require=domain", 1)
	if list.Total != 1 || list.Agents[0].AirID != a.AirID {
		t.Errorf("%+v", list)
	}
	var evidence air.EvidenceList
	decodeInto(t, h.get(a.path+"/evidence", 200), &evidence)
	if len(evidence.Evidence) < 3 || evidence.Evidence[0].Grade != registry.Proved {
		t.Errorf("%+v", evidence)
	}
	var domains air.DomainList
	decodeInto(t, h.get(a.path+"/domains", 200), &domains)
	if len(domains.Domains) != 1 || !domains.Domains[0].Proved {
		t.Errorf("%+v", domains)
	}
	if r := a.send("DELETE", "/domains/example.com", ""); r.StatusCode != 200 || !strings.Contains(string(r.body), `"domains":[]`) {
		t.Errorf("%s %s", r.Status, r.body)
	}
	for _, body := range []string{`{}`, `[]`, `{"domain": 5}`, `{"domain": "a.example", "more": 1}`, `{"domain": "com"}`, `{"domain": "127.0.0.1"}`, `{"domain": "a/b.example"}`} {
		if r := a.send("POST", "/domains", body); r.StatusCode != 400 && r.StatusCode != 429 {
			t.Errorf("%s: %s %s", body, r.Status, r.body)
		}
	}
	if r := a.send("POST", "/domains", `{"domain": "example.com"}`); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
		t.Errorf("more looks than the budget: %s %s", r.Status, r.body)
	}
}

func TestIdentifiers(t *testing.T) {
	h := newTestServer(t, options{log: true, registry: registrar.Options{Resolver: attesterDocuments()}})
	a := registerProved(t, h, 30, "")
	ask := func(id string, status int, headers ...string) registry.DIDResolution {
		t.Helper()
		r := h.get("/1.0/identifiers/"+id, status, headers...)
		var v registry.DIDResolution
		decodeInto(t, r, &v)
		return v
	}
	v := ask(a.CreatorDID, 200)
	if v.Document == nil || v.Document.ID != a.CreatorDID || v.Metadata.ContentType == "" || v.DocumentMetadata.Created == "" {
		t.Errorf("%+v", v)
	}
	if v := ask(url.PathEscape("did:wba:registry.example"), 200); v.Document == nil || len(v.Document.VerificationMethod) != 1 {
		t.Errorf("the registry itself: %+v", v)
	}
	var own did.Document
	decodeInto(t, h.get("/.well-known/did.json", 200), &own)
	if key, err := own.Key(); err != nil || own.ID != "did:wba:registry.example" || len(key) != ed25519.PublicKeySize {
		t.Errorf("%+v, %v", own, err)
	}
	if v := ask("did:wba:one.example", 200); v.Document == nil || v.Document.ID != "did:wba:one.example" {
		t.Errorf("another's: %+v", v)
	}
	for id, want := range map[string]struct {
		status int
		error  string
	}{
		"did:wba:registry.example:agents:AIR-0000-0000-0000":       {404, "notFound"},
		"did:wba:registry.example:elsewhere":                       {404, "notFound"},
		"did:key:z6MkjPu1MQQgg8pebFGHd1RiarJCrPSgnhAojpdsH2hwzW6v": {501, "methodNotSupported"},
		"did:wba:nobody.example":                                   {504, "internalError"},
		"did:wba:":                                                 {400, "invalidDid"},
		"did:wba:one.example:%252e%252e":                           {400, "invalidDid"},
		"AIR-0000-0000-0000":                                       {400, "invalidDid"},
		"did:wba:127.0.0.1":                                        {400, "invalidDid"},
		"did:wba:x":                                                {400, "invalidDid"},
		"did:web:localhost:agents:AIR-0000-0000-0000":              {400, "invalidDid"},
		"did:":                             {400, "invalidDid"},
		"did:wba":                          {400, "invalidDid"},
		"DID:wba:registry.example":         {400, "invalidDid"},
		a.CreatorDID + "%23key-1":          {400, "invalidDid"},
		"did:web:registry.example":         {404, "notFound"},
		"did:web:registry.example%3A99999": {400, "invalidDid"},
	} {
		if v := ask(id, want.status); v.Metadata.Error != want.error || v.Metadata.Message == "" && want.error != "notFound" || v.Document != nil {
			t.Errorf("%s: %+v", id, v)
		}
	}
	// A request for the did:web form finds that form in all ids of the document.
	web := strings.Replace(a.CreatorDID, "did:wba:", "did:web:", 1)
	v = ask(web, 200)
	text, err := json.Marshal(v.Document)
	if err != nil || v.Document == nil || v.Document.ID != web || !slices.Equal(v.Document.AlsoKnownAs, []string{a.CreatorDID}) || strings.Count(string(text), a.CreatorDID) != 1 {
		t.Errorf("%s, %v", text, err)
	}
	for _, accept := range []string{"application/did-resolution", "application/did-resolution, application/did+json;q=0.5"} {
		r := h.get("/1.0/identifiers/"+a.CreatorDID, 200, "Accept", accept)
		var v registry.DIDResolution
		decodeInto(t, r, &v)
		if r.Header.Get("Content-Type") != "application/did-resolution" || v.Document == nil {
			t.Errorf("%s: %v %s", accept, r.Header, r.body)
		}
	}
	// The document alone, for those who ask for it.
	r := h.get("/1.0/identifiers/"+a.CreatorDID, 200, "Accept", "application/did+json")
	var d did.Document
	decodeInto(t, r, &d)
	if r.Header.Get("Content-Type") != "application/did+json" || d.ID != a.CreatorDID || !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Accept") {
		t.Errorf("%v %s", r.Header, r.body)
	}
}

// TestIdentifiersWithPort checks that a port is written %3A in a DID, and many clients put the DID
// into the path as it is.
func TestIdentifiersWithPort(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{DIDHost: "localhost:8080", BaseURL: "http://localhost:8080"}})
	a := registerAgent(t, h)
	if !strings.HasPrefix(a.CreatorDID, "did:wba:localhost%3A8080:") {
		t.Fatal(a.CreatorDID)
	}
	for _, id := range []string{a.CreatorDID, strings.Replace(a.CreatorDID, "%", "%25", 1), url.QueryEscape(a.CreatorDID)} {
		if r := h.get("/1.0/identifiers/"+id, 200); !strings.Contains(string(r.body), a.CreatorDID+"#key-1") {
			t.Errorf("%s: %s", id, r.body)
		}
	}
}

func TestResolutionsAreRateLimited(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{Resolver: attesterDocuments()}, api: func(o *api.Options) { o.Resolutions = 2 }})
	a := registerAgent(t, h)
	h.get("/1.0/identifiers/did:wba:one.example", 200)
	h.get("/1.0/identifiers/did:wba:two.example.org", 200)
	if r := h.get("/1.0/identifiers/did:wba:one.example", 429); r.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	h.get("/1.0/identifiers/"+a.CreatorDID, 200) // our own cost nothing
}

// forgetting are documents that count how often one was to be forgotten.
type forgetting struct {
	documents
	forgot *[]string
}

func (f forgetting) Forget(did string) { *f.forgot = append(*f.forgot, did) }

// TestResolveWithoutCache checks that a client gets a document of another host anew if it asks for
// that, as after 403 Stale Key.
func TestResolveWithoutCache(t *testing.T) {
	var forgot []string
	h := newTestServer(t, options{registry: registrar.Options{Resolver: forgetting{attesterDocuments(), &forgot}}, api: func(o *api.Options) { o.Resolutions = 2 }})
	path := "/api/v1/resolve?name=did:wba:one.example"
	h.get(path, 200)
	if len(forgot) != 0 {
		t.Errorf("forgot %q", forgot)
	}
	for _, status := range []int{200, 429} { // it counts as any other
		r := h.request("GET", path, "", "Cache-Control", "no-cache")
		if r.StatusCode != status || len(forgot) != 1 {
			t.Errorf("%d %s, forgot %q", r.StatusCode, r.body, forgot)
		}
	}
}

// TestLogOverHTTP verifies the whole log as an outside client does.
func TestLogOverHTTP(t *testing.T) {
	h := newTestServer(t, options{log: true})
	for range 3 {
		registerAgent(t, h)
	}
	h.awaitLog()
	verifier, err := checkpoint.NewVerifier(h.answers.Log.Key())
	if err != nil {
		t.Fatal(err)
	}
	report, err := tiles.Verify(t.Context(), tiles.Remote(plain, h.base+"/log"), verifier)
	if err != nil || report.N != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	var check air.LogCheck
	decodeInto(t, h.get("/api/v1/audit/verify", 200), &check)
	if !check.Valid || check.EntriesChecked != 3 || check.Count != 3 || check.TipHash != check.LiveTipHash || check.LastAnchor != nil {
		t.Errorf("%+v", check)
	}
	decodeInto(t, h.get("/api/v1/audit/verify?from=1&to=2", 200), &check)
	if check.EntriesChecked != 1 {
		t.Errorf("%+v", check)
	}
	for path, status := range map[string]int{
		"/log/nope": 404, "/log/tile/0/999": 404, "/log/tile/../key": 404, "/log/inclusion?index=3": 404, "/log/inclusion?index=x": 400,
		"/log/entries": 400, "/log/entries?key=agent/AIR-0000-0000-0000": 200, "/log/proof?index=0": 200, "/log/consistency?old=9": 404, "/log/checkpoint?x=1": 400,
		"/api/v1/audit/verify?from=-1": 400,
	} {
		r := h.get(path, status)
		if status == 200 {
			continue
		}
		if p := r.problem(t); p.Code == "" || p.Type == "" || p.Status != status || p.Detail == "" {
			t.Errorf("%s is refused with %s", path, r.body)
		}
	}
	if r := h.get("/log/entries?key=", 400); r.problem(t).Code != "bad-parameter" || r.problem(t).Where == nil || r.problem(t).Where.Parameter != "key" {
		t.Errorf("an empty key is refused with %s", r.body)
	}
	if r := h.get("/log/tile/x", 404); r.problem(t).Code != "not-in-log" {
		t.Errorf("an unknown tile is refused with %s", r.body)
	}
}

// TestWithoutLogAndDirectory checks that a process without a log or a directory says so.
func TestWithoutLogAndDirectory(t *testing.T) {
	h := newTestServer(t, options{})
	h.answers.Directory = nil
	for _, path := range []string{"/log/checkpoint", "/api/v1/audit/verify", "/api/v1/audit/anchor", "/api/v1/agents", "/api/v1/agents/check-name?name=a"} {
		if r := h.get(path, 503); r.problem(t).Code != "unavailable" {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	h.get("/.well-known/did.json", 200)
}

// TestOperatorActionsOnAgents checks that the operator's actions are available on the socket alone.
func TestOperatorActionsOnAgents(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerProved(t, h, 40, "")
	for _, request := range []string{"DELETE " + a.path, "GET /api/v1/admin/stats", "GET /api/v1/admin/recent", "POST /api/v1/admin/cron/publish-anchor", "POST /api/v1/admin/cron/did-wba-resolve"} {
		method, path, _ := strings.Cut(request, " ")
		r := h.request(method, path, "", "X-Admin-Key", "guess")
		if r.StatusCode != 401 || r.problem(t).Error != "Unauthorized" || r.Header.Get("Content-Type") != jsonType {
			t.Errorf("%s in public: %s %s", request, r.Status, r.body)
		}
	}
	if r := h.request("POST", "/admin/agents/"+a.AirID+"/suspend", `{"reason": "x"}`, "Content-Type", jsonType); r.StatusCode != 404 {
		t.Errorf("in public: %s", r.Status)
	}
	admin := func(method, path, body string) bufferedResponse {
		return h.requestAt(h.admin, method, path, strings.NewReader(body), "Content-Type", jsonType)
	}
	if r := admin("POST", "/admin/agents/"+a.AirID+"/suspend", `{}`); r.StatusCode != 400 {
		t.Errorf("a suspension without a reason: %s", r.Status)
	}
	if r := admin("POST", "/admin/agents/"+a.AirID+"/suspend", `{"reason": "sends junk"}`); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if p := h.get(a.path+"/did-document", 403).problem(t); !strings.Contains(p.Help, "sends junk") {
		t.Errorf("%+v", p)
	}
	if r := a.send("PUT", "", `{"description": "x"}`); r.StatusCode != 403 {
		t.Errorf("a suspended agent writes: %s", r.Status)
	}
	if r := admin("POST", "/admin/agents/"+a.AirID+"/restore", ""); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	h.get(a.path+"/did-document", 200)
	if r := admin("POST", "/admin/agents/"+a.AirID+"/restore", ""); r.StatusCode != 409 {
		t.Errorf("restored twice: %s", r.Status)
	}
	var attended air.RecheckCount
	if r := admin("POST", "/api/v1/admin/cron/did-wba-resolve", ""); r.StatusCode != 200 {
		t.Errorf("%s %s", r.Status, r.body)
	} else {
		decodeInto(t, r, &attended)
	}
	if r := admin("POST", "/api/v1/admin/cron/publish-anchor", ""); r.StatusCode != 503 {
		t.Errorf("without witnesses: %s", r.Status)
	}
	if r := admin("POST", "/admin/agents/"+a.AirID+"/erase", ""); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	h.get(a.path, 410)
	var stats air.RegistryStats
	registerAgent(t, h)
	decodeInto(t, admin("GET", "/api/v1/admin/stats", ""), &stats)
	if stats.Total != 1 || stats.Unverified != 1 || stats.Recent != 1 {
		t.Errorf("%+v", stats)
	}
}

// TestRegistryRefusals checks the status and the problem of each refusal.
func TestRegistryRefusals(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID
	none := "/api/v1/agents/AIR-0000-0000-0000"
	for _, c := range []struct {
		request, body, code string
		status              int
	}{
		{"GET /api/v1/agents?limit=0", "", "bad-parameter", 400},
		{"GET /api/v1/agents?limit=abc", "", "bad-parameter", 400},
		{"GET /api/v1/agents?offset=-1", "", "bad-parameter", 400},
		{"GET /api/v1/agents?sort=score", "", "unknown-parameter", 400},
		{"GET /api/v1/agents?require=domain,claims", "", "bad-parameter", 400},
		{"GET /api/v1/agents?limit=5&limit=6", "", "repeated-parameter", 400},
		{"GET /api/v1/agents/check-name", "", "bad-parameter", 400},
		{"GET /api/v1/agents/check-name?name=%00", "", "bad-parameter", 400},
		{"GET /api/v1/agents/check-name?name=" + strings.Repeat("a", 2000), "", "bad-parameter", 400},
		{"GET /api/v1/agents/check-username", "", "bad-parameter", 400},
		{"GET /api/v1/agents/by-username/a-b", "", "bad-parameter", 400},
		{"GET /api/v1/agents/by-username/nobody", "", "no-agent", 404},
		{"GET /api/v1/agents/%00", "", "no-agent", 404},
		{"GET /api/v1/agents/" + strings.Repeat("A", 3000) + "/keys", "", "no-agent", 404},
		{"GET " + none + "/keys", "", "no-agent", 404},
		{"GET " + none + "/evidence", "", "no-agent", 404},
		{"GET " + none + "/domains", "", "no-agent", 404},
		{"GET " + none + "/graph", "", "no-agent", 404},
		{"GET " + none + "/dependents", "", "no-agent", 404},
		{"GET " + none + "/attestations", "", "no-agent", 404},
		{"GET " + none + "/history", "", "no-agent", 404},
		{"GET /agents/AIR-0000-0000-0000/did.json", "", "no-agent", 404},
		{"GET " + path + "/badge.svg?format=gif", "", "bad-parameter", 400},
		{"GET " + path + "/dependents?depth=0", "", "bad-parameter", 400},
		{"GET /api/v1/attestations/recent?limit=0", "", "bad-parameter", 400},
		{"POST " + path + "/keys", `{}`, "bad-field", 400},
		{"POST " + path + "/keys", `{"created": "now"}`, "bad-field", 400},
		{"POST " + path + "/recovery", `{"nonce": 5}`, "bad-field", 400},
		{"POST " + path + "/attestations", `{}`, "bad-field", 400},
		{"POST " + path + "/attestations", `{`, "bad-body", 400},
		{"POST " + path + "/domains", `{"domain": "a.example"}`, "unauthorized", 401},
		{"POST " + none + "/domains", `{"domain": "a.example"}`, "no-agent", 404},
		{"POST " + path + "/deactivate", "", "unauthorized", 401},
		{"POST " + path + "/erase", "", "unauthorized", 401},
		{"POST " + none + "/erase", "", "no-agent", 404},
		{"DELETE " + path + "/attestations/x", "", "bad-parameter", 400},
		{"DELETE " + path + "/attestations/9", "", "no-part", 404},
		{"DELETE " + path + "/domains/a.example", "", "unauthorized", 401},
		{"POST /api/v1/challenges", `{"a": 1}`, "bad-body", 400},
	} {
		t.Run(c.request+c.body, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			r := h.forTest(t).request(method, path, c.body, "Content-Type", jsonType)
			p := r.problem(t)
			if r.StatusCode != c.status || p.Code != c.code || p.Error == "" || p.Help == "" {
				t.Errorf("%s %s, want %d %s with help", r.Status, r.body, c.status, c.code)
			}
		})
	}
}

// TestSecretDeactivatesAgent checks that a client with only the secret can end the agent.
func TestSecretDeactivatesAgent(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID
	if r := h.request("POST", path+"/deactivate", "", "X-Agent-Secret", a.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := h.request("POST", path+"/deactivate", "", "X-Agent-Secret", a.Secret); r.StatusCode != 410 || r.problem(t).AirID != a.AirID {
		t.Errorf("%s %s", r.Status, r.body)
	}
}

// TestChangeFeedIsRateLimited bounds what one client writes.
func TestChangeFeedIsRateLimited(t *testing.T) {
	h := newTestServer(t, options{registry: registrar.Options{Limits: admission.Limits{Changes: 2, AllChanges: 100}}})
	a := registerAgent(t, h)
	for i := range 3 {
		r := h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "`+strings.Repeat("x", i+1)+`"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret)
		if want := []int{200, 200, 429}[i]; r.StatusCode != want || want == 429 && r.Header.Get("Retry-After") == "" {
			t.Errorf("write %d: %s", i, r.Status)
		}
	}
}

// registrationStatement returns the text that a client signs for a registration by challenge, as
// [registry.Challenge] describes it. The body has no proof yet.
func registrationStatement(t testing.TB, host, challenge, multikey string, body []byte) []byte {
	t.Helper()
	canonical, err := jcs.Canonicalize(body, jcs.Options{Numbers: jcs.Doubles, KeepForm: true})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return registry.FormatStatement("registration", [2]string{"registry", host}, [2]string{"challenge", challenge}, [2]string{"key", multikey},
		[2]string{"registration", "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])})
}
