package api_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/api/operator"
	"gazetteer/crawler"
	hostowner "gazetteer/crawler/owner"
	"gazetteer/document"
	"gazetteer/internal/nameserver"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/evidence"
	"gazetteer/registry/resolve"
)

// An ownedSite is what the owner of example.com can write to: its zone, and its
// pages, served over TLS.
type ownedSite struct {
	*testServer
	crawler *crawler.Crawler
	zone    *nameserver.Server
	mu      sync.Mutex        // guards the following fields
	pages   map[string]string // by host and path
}

// withOwners gives the server a crawler that accepts owner requests but makes no visits.
func withOwners(t *testing.T, limit int) *ownedSite {
	t.Helper()
	return newOwnedSite(t, options{}, answer.OwnerRequestOptions{PerClient: limit, PerDomain: limit, All: -1})
}

// newOwnedSite is [withOwners] with the limits of requests.
func newOwnedSite(t *testing.T, o options, requests answer.OwnerRequestOptions) *ownedSite {
	t.Helper()
	e := &ownedSite{testServer: newTestServer(t, o), zone: nameserver.New(t), pages: map[string]string{}}
	var err error
	if e.crawler, err = crawler.New(crawler.Options{Store: e.store, UserAgent: "Gazetteer/test"}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		text, ok := e.pages[r.Host+r.URL.Path]
		e.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".json") {
			w.Header().Set("Content-Type", jsonType)
		}
		io.WriteString(w, text)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // hosts that its certificate does not name
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	web, err := resolve.NewHTTPS(resolve.HTTPSOptions{Roots: roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := resolve.New(resolve.Options{Fetcher: web})
	if err != nil {
		t.Fatal(err)
	}
	requests.Owners = hostowner.New(hostowner.Options{Crawler: e.crawler, DNS: evidence.NewDNS(e.zone.Address), Web: web, Resolver: resolver})
	requests.Recrawl, requests.Add = e.crawler.Recrawl, e.crawler.Add
	e.answers.OwnerRequests = answer.NewOwnerRequests(requests)
	e.answers.Submitter = answer.NewSubmitter(answer.SubmitterOptions{Add: e.crawler.Add})
	e.answers.Blocks = e.crawler
	return e
}

func (e *ownedSite) setPage(at, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pages[at] = text
}

// sendOwnerRequest sends one and reads the answer.
func (e *ownedSite) sendOwnerRequest(host, wish, body string, status int) hostowner.RequestResult {
	e.t.Helper()
	r := e.request("POST", "/api/v1/services/"+host+"/"+wish, body, "Content-Type", jsonType)
	if r.StatusCode != status {
		e.t.Fatalf("%s of %s: %s, want %d\n%s", wish, host, r.Status, status, r.body)
	}
	var a hostowner.RequestResult
	if status < 300 {
		if err := json.Unmarshal(r.body, &a); err != nil {
			e.t.Fatal(err)
		}
	}
	return a
}

func TestOptOutByTXTRecord(t *testing.T) {
	e := withOwners(t, -1)
	e.publish("www.example.com", document.AI, "application/json", aiText("Ristorante"), seen)

	// Without a proof nothing changes, and the answer lists what was checked.
	e.zone.Publish("example.com", "v=spf1 -all")
	a := e.sendOwnerRequest("WWW.Example.COM", "opt-out", "", 202)
	if a.Done || a.Publish.Value != "gazetteer-opt-out=www.example.com" || len(a.Publish.At) != 5 || len(a.Probes) != 5 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []struct{ asked, problem string }{
		{"TXT _gazetteer.www.example.com", "no TXT record"}, {"TXT www.example.com", "no TXT record"},
		{"TXT _gazetteer.example.com", "no TXT record"}, {"TXT example.com", "no value is the one"},
		{"GET https://www.example.com/.well-known/gazetteer-crawler", "it answered 404"},
	} {
		l := a.Probes[i]
		if l.Query != want.asked || !strings.Contains(l.Problem, want.problem) || (l.Server != "") != strings.HasPrefix(want.asked, "GET ") || l.Expected != a.Publish.Value || l.Found {
			t.Errorf("look %d: %+v", i, l)
		}
	}
	if got := a.Probes[3].Values; len(got) != 1 || got[0] != "v=spf1 -all" {
		t.Errorf("what came back is not shown: %q", got)
	}
	e.get("/api/v1/services/www.example.com", 200)

	e.zone.Publish("_gazetteer.www.example.com", "hello", "gazetteer-opt-out=www.example.com")
	a = e.sendOwnerRequest("www.example.com", "opt-out", "{}", 200)
	if !a.Done || a.Proof != "TXT _gazetteer.www.example.com" || a.Since.IsZero() {
		t.Errorf("%+v", a)
	}
	// Everything is gone at once, and says why.
	for _, path := range []string{"", "/documents/ai", "/documents/ai/versions"} {
		p := e.get("/api/v1/services/www.example.com"+path, 410).problem(t)
		if p.Code != "opted-out" || !strings.Contains(p.Detail, "the owner of www.example.com does not want to be visited") || !strings.Contains(p.Help, "opt-in") {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if list := e.get("/api/v1/services", 200); strings.Contains(string(list.body), "www.example.com") {
		t.Errorf("it is still listed: %s", list.body)
	}
	head := e.store.Head().Seq
	if err := errors.Join(e.index.WaitFor(t.Context(), head), e.answers.Standing.WaitFor(t.Context(), head)); err != nil {
		t.Fatal(err)
	}
	if r := e.get("/api/v1/search?q=host:www.example.com", 200); !strings.Contains(string(r.body), `"total":0`) {
		t.Errorf("it is still found: %s", r.body)
	}
	got, _ := e.submit("www.example.com")
	if len(got) != 1 || got[0].State != "refused" || !strings.Contains(got[0].Detail, "owner") {
		t.Errorf("a submission of it: %+v", got)
	}
	if p := e.request("POST", "/api/v1/services/www.example.com/recrawl", "").problem(t); p.Status != 410 {
		t.Errorf("recrawl: %+v", p)
	}

	// It is withdrawn the same way, and the old word must go.
	e.zone.Publish("_gazetteer.www.example.com", "gazetteer-opt-out=www.example.com", "gazetteer-opt-in=www.example.com")
	if a = e.sendOwnerRequest("www.example.com", "opt-in", "", 202); a.Done || !strings.Contains(a.Probes[0].Problem, "opposite") {
		t.Errorf("%+v", a)
	}
	e.zone.Publish("_gazetteer.www.example.com", "gazetteer-opt-in=www.example.com")
	if a = e.sendOwnerRequest("www.example.com", "opt-in", "", 200); !a.Done {
		t.Errorf("%+v", a)
	}
	if s := e.get("/api/v1/submissions/www.example.com", 200); !strings.Contains(string(s.body), `"waiting"`) {
		t.Errorf("it does not wait for a visit: %s", s.body)
	}
	if p := e.request("POST", "/api/v1/services/www.example.com/opt-in", "").problem(t); p.Code != "not-opted-out" || p.Status != 409 {
		t.Errorf("nothing to withdraw: %+v", p)
	}
}

func TestOptOutOfDomain(t *testing.T) {
	e := withOwners(t, -1)
	e.publishAll("example.com", "a.example.com", "b.example.com")
	e.zone.Publish("_gazetteer.example.com", "gazetteer-opt-out=*.example.com")
	if a := e.sendOwnerRequest("example.com", "opt-out", `{"subdomains": true}`, 200); !a.Done || !a.Subdomains {
		t.Errorf("%+v", a)
	}
	for _, host := range []string{"example.com", "a.example.com", "never.heard.of.example.com"} {
		if p := e.get("/api/v1/services/"+host, 410).problem(t); !strings.Contains(p.Detail, "example.com") {
			t.Errorf("%s: %+v", host, p)
		}
	}
	if p := e.request("POST", "/api/v1/services/a.example.com/opt-in", "").problem(t); p.Status != 409 || !strings.Contains(p.Help, "run gazetteer opt-in example.com or send POST /api/v1/services/example.com/opt-in") {
		t.Errorf("one of the hosts below: %+v", p)
	}
	// What is said of another host, or of one below, says nothing of this one.
	other := withOwners(t, -1)
	other.zone.Publish("_gazetteer.example.com", "gazetteer-opt-out=a.example.com", "gazetteer-opt-out=*.a.example.com", "gazetteer-opt-out=*.com", "gazetteer-opt-out=", "opt-out=example.com")
	if a := other.sendOwnerRequest("example.com", "opt-out", "", 202); a.Done {
		t.Errorf("%+v", a)
	}
	if a := other.sendOwnerRequest("x.a.example.com", "opt-out", "", 200); !a.Done || a.Subdomains {
		t.Errorf("%+v", a)
	}
}

func TestOptOutByFile(t *testing.T) {
	e := withOwners(t, -1)
	e.setPage("www.example.com/.well-known/gazetteer-crawler", "# what we want\r\ngazetteer-opt-out = www.example.com\r\n")
	if a := e.sendOwnerRequest("www.example.com", "opt-out", "", 200); !a.Done || a.Proof != "GET https://www.example.com/.well-known/gazetteer-crawler" {
		t.Errorf("%+v", a)
	}
	for _, body := range []string{`[]`, `{"subdomains": 1}`, `{"subdomain": true}`, `{`} {
		if r := e.request("POST", "/api/v1/services/www.example.com/opt-out", body, "Content-Type", jsonType); r.StatusCode != 400 {
			t.Errorf("body %s: %s", body, r.Status)
		}
	}
	for _, host := range []string{"10.0.0.1", "localhost", "co.uk"} {
		if p := e.request("POST", "/api/v1/services/"+host+"/opt-out", "").problem(t); p.Code != "no-service" || p.Status != 404 || !strings.Contains(p.Detail, "host name cannot be used") {
			t.Errorf("%s: %+v", host, p)
		}
	}
}

// sendSigned sends an owner request with a signature.
func (e *ownedSite) sendSigned(host, wish, keyID string, key ed25519.PrivateKey, nonce string, header ...string) bufferedResponse {
	e.t.Helper()
	path := "/api/v1/services/" + host + "/" + wish
	r, err := http.NewRequest("POST", e.base+path, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := httpsig.Sign(r, nil, key, httpsig.SignOptions{KeyID: keyID, Nonce: nonce}); err != nil {
		e.t.Fatal(err)
	}
	return e.request("POST", path, "", append(header, "Signature-Input", r.Header.Get("Signature-Input"), "Signature", r.Header.Get("Signature"))...)
}

func TestOptOutBySignature(t *testing.T) {
	e := withOwners(t, -1)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.setPage("www.example.com/.well-known/did.json", didDocument("did:web:www.example.com", public))
	signed := func(host, keyID string, key ed25519.PrivateKey, nonce string) bufferedResponse {
		t.Helper()
		return e.sendSigned(host, "opt-out", keyID, key, nonce)
	}
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, host, keyID string
		key               ed25519.PrivateKey
		rule, says        string
	}{
		{"another key", "www.example.com", "did:web:www.example.com#key-1", stranger, "signature-invalid", ""},
		{"the key of another host", "www.example.com", "did:web:evil.example.com#key-1", private, "signature-key", "did:web:evil.example.com#key-1"},
		{"the page of somebody on the host", "www.example.com", "did:web:www.example.com:users:eve#key-1", private, "signature-key", "users"},
		{"no such key", "www.example.com", "did:web:www.example.com#key-9", private, "signature-key", "did:web:www.example.com#key-1"},
		{"no document", "other.example.com", "did:web:other.example.com#key-1", private, "signature-key", "other.example.com"},
	} {
		r := signed(c.host, c.keyID, c.key, "")
		if p := r.problem(t); r.StatusCode != 401 || p.Rule != c.rule || !strings.Contains(p.Got, c.says) || p.Help == "" {
			t.Errorf("%s: %s %+v", c.name, r.Status, p)
		}
	}
	if r := signed("www.example.com", "did:web:www.example.com#key-1", private, "nonce-number-1"); r.StatusCode != 200 || !strings.Contains(string(r.body), "a signature by did:web:www.example.com#key-1") {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	e.get("/api/v1/services/www.example.com", 410)
	if err := e.crawler.Unblock(t.Context(), "www.example.com"); err != nil {
		t.Fatal(err)
	}
	if r := signed("www.example.com", "did:web:www.example.com#key-1", private, "nonce-number-1"); r.StatusCode != 401 || r.problem(t).Rule != "nonce-used" {
		t.Errorf("a request sent again: %s %s", r.Status, r.body)
	}
}

// didDocument holds one key of a DID.
func didDocument(id string, key ed25519.PublicKey) string {
	return fmt.Sprintf(`{"@context": ["https://www.w3.org/ns/did/v1"], "id": %q, "authentication": ["#key-1"],
 "verificationMethod": [{"id": "#key-1", "type": "Ed25519VerificationKey2020", "controller": %q, "publicKeyMultibase": %q}]}`, id, id, did.FormatMultikey(key))
}

func TestRecrawl(t *testing.T) {
	e := withOwners(t, -1)
	e.publishAll("www.example.com")
	if r := e.request("POST", "/api/v1/services/www.example.com/recrawl", ""); r.StatusCode != 202 || !strings.Contains(string(r.body), `"state":"visited"`) {
		t.Errorf("%s %s", r.Status, r.body)
	}
	r := e.request("POST", "/api/v1/services/www.example.com/recrawl", "")
	if p := r.problem(t); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "one is possible every 10") {
		t.Errorf("again: %s, Retry-After %q, %+v", r.Status, r.Header.Get("Retry-After"), p)
	}
	// An owner's signed request does not wait behind an anonymous one.
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.setPage("www.example.com/.well-known/did.json", didDocument("did:web:www.example.com", public))
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key    ed25519.PrivateKey
		status int
	}{{stranger, 401}, {private, 202}, {private, 429}} {
		got := e.sendSigned("www.example.com", "recrawl", "did:web:www.example.com#key-1", c.key, "")
		if got.StatusCode != c.status {
			t.Errorf("signed: %s %s, want %d", got.Status, got.body, c.status)
		}
	}
	if p := e.request("POST", "/api/v1/services/unknown.example.com/recrawl", "").problem(t); p.Status != 404 {
		t.Errorf("a host that is not known: %+v", p)
	}
	still := newTestServer(t, options{})
	for _, wish := range []string{"recrawl", "opt-out", "opt-in"} {
		if r := still.request("POST", "/api/v1/services/www.example.com/"+wish, ""); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
			t.Errorf("%s where nothing crawls: %s %s", wish, r.Status, r.body)
		}
	}
}

// TestRecrawlByOperator requests visits over the listeners: on those of the operator there is no
// pause and no quota, and on the public one nothing makes a request the operator's.
func TestRecrawlByOperator(t *testing.T) {
	e := newOwnedSite(t, options{}, answer.OwnerRequestOptions{PerClient: 3, PerDomain: 3, All: -1})
	e.publishAll("www.example.com")
	listener := httptest.NewUnstartedServer(nil)
	listener.Config.Handler = e.api.LocalOperatorHandler(listener.Listener.Addr().String())
	listener.Start()
	t.Cleanup(listener.Close)
	request := func(base string, status int, headers ...string) {
		t.Helper()
		if r := e.requestAt(base, "POST", "/api/v1/services/www.example.com/recrawl", nil, headers...); r.StatusCode != status {
			t.Errorf("%s %v: %s %s, want %d", base, headers, r.Status, r.body, status)
		}
	}
	request(e.base, 202)
	for range 5 {
		request(listener.URL, 202)
		request(e.admin, 202)
	}
	request(listener.URL, 202, "X-Forwarded-For", "192.0.2.1")
	request(e.base, 429)
	request(e.base, 429, "X-Forwarded-For", "@")
}

func TestClausesAreCounted(t *testing.T) {
	e := withOwners(t, 2)
	for range 2 {
		e.sendOwnerRequest("www.example.com", "opt-out", "", 202)
	}
	if r := e.request("POST", "/api/v1/services/www.example.com/opt-out", ""); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%s %s", r.Status, r.body)
	}
}

func TestOperatorBlocks(t *testing.T) {
	e := withOwners(t, -1)
	e.publishAll("www.example.com", "a.example.com")
	admin := func(method, path, body string, status int) bufferedResponse {
		t.Helper()
		r := e.requestAt(e.admin, method, path, strings.NewReader(body), "Content-Type", jsonType)
		if r.StatusCode != status {
			t.Fatalf("%s %s: %s\n%s", method, path, r.Status, r.body)
		}
		return r
	}
	admin("POST", "/admin/blocks", `{"host": "www.example.com", "why": "they wrote to us"}`, 200)
	if p := e.get("/api/v1/services/www.example.com", 403).problem(t); p.Code != "blocked-host" || !strings.Contains(p.Detail, "the operator of this server") {
		t.Errorf("%+v", p)
	}
	// The list of the operator does not lift what the operator named by hand.
	if err := e.crawler.SetBlockList(t.Context(), []string{"a.example.com"}); err != nil {
		t.Fatal(err)
	}
	if err := e.crawler.SetBlockList(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var list operator.BlockList
	if err := json.Unmarshal(admin("GET", "/admin/blocks", "", 200).body, &list); err != nil || len(list.Blocks) != 1 || list.Blocks[0].Host != "www.example.com" || list.Blocks[0].Why != "they wrote to us" {
		t.Errorf("%v %+v", err, list)
	}
	// An owner who opts out and in again cannot undo what the operator wants.
	e.zone.Publish("www.example.com", "gazetteer-opt-out=www.example.com")
	e.sendOwnerRequest("www.example.com", "opt-out", "", 200)
	e.get("/api/v1/services/www.example.com", 410)
	e.zone.Publish("www.example.com", "gazetteer-opt-in=www.example.com")
	e.sendOwnerRequest("www.example.com", "opt-in", "", 403)
	e.get("/api/v1/services/www.example.com", 403)
	admin("DELETE", "/admin/blocks/www.example.com", "", 200)
	e.get("/api/v1/services/www.example.com", 404)
	admin("DELETE", "/admin/blocks/www.example.com", "", 404)
	for _, body := range []string{`{}`, `{"host": "10.0.0.1"}`, `{"host": "a.example.com", "subdomains": "yes"}`, `{"host": "a.example.com", "hosts": []}`} {
		admin("POST", "/admin/blocks", body, 400)
	}
	if r := e.request("POST", "/admin/blocks", `{"host": "a.example.com"}`, "Content-Type", jsonType); r.StatusCode != 404 {
		t.Errorf("the public can block hosts: %s", r.Status)
	}
}
