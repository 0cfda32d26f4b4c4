package registrar_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/internal/fakenet"
	"gazetteer/internal/nameserver"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/store"
)

// A place is all of HTTPS on loopback: every name leads to one server.
type place struct {
	https *resolve.HTTPS
	mu    sync.Mutex // guards the following fields
	pages map[string]func(w http.ResponseWriter, r *http.Request)
	asked int
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{pages: map[string]func(http.ResponseWriter, *http.Request){}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		page := p.pages[r.Host+r.URL.Path]
		p.asked++
		p.mu.Unlock()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	var err error
	p.https, err = resolve.NewHTTPS(resolve.HTTPSOptions{Roots: roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) serve(at string, status int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[at] = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

// prove asks for the proof of a domain by a signed request.
func prove(t testing.TB, r *registrar.Registrar, c *testclock.Clock, a registry.Agent, key byte, domain string) (registry.Domain, registry.Agent) {
	t.Helper()
	d, a, err := r.ProveDomain(t.Context(), a.AirID, domain, by(t, r, a, key, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

func TestDomainProofByDNSOrFile(t *testing.T) {
	c, ns, p := newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	record := r.DomainRecord(a)
	if want := "gazetteer-agent=" + r.DID(a.AirID) + "; key=" + multikey(1); record != want {
		t.Fatalf("record %s, want %s", record, want)
	}
	other := strings.Replace(record, a.AirID, "AIR-0000-0000-0000", 1)
	ns.Publish("_gazetteer.label.test.example.com", "v=spf1 -all", other, record)
	ns.Publish("apex.test.example.com", "something", record+" ", "else")
	ns.Publish("spaced.test.example.com", "gazetteer-agent="+r.DID(a.AirID)+"  ;key="+multikey(1)+";")
	ns.Publish("full.test.example.com", append(slices.Repeat([]string{"filler"}, 999), record)...)
	p.serve("example.com"+evidence.DomainFile, 200, "# agents of this house\r\n"+other+"\r\n"+record+"\r\n")
	for _, test := range []struct{ domain, method, asked string }{
		{"label.test.example.com", "dns", "TXT _gazetteer.label.test.example.com"},
		{"APEX.test.example.com.", "dns", "TXT apex.test.example.com"},
		{"spaced.test.example.com", "dns", "TXT spaced.test.example.com"},
		{"full.test.example.com", "dns", "TXT full.test.example.com"}, // 1,000 values come over TCP
		{"example.com", "https", "GET https://example.com/.well-known/gazetteer-agents"},
	} {
		d, now := prove(t, r, c, a, 1, test.domain)
		last := d.Probes[len(d.Probes)-1]
		if d.Method != test.method || !d.Since.Equal(c.Now()) || d.Key != multikey(1) || last.Query != test.asked || !last.Found || (last.Server == "") != (test.method == "dns") {
			t.Errorf("%s: %+v", test.domain, d)
		}
		if !shows(t, r, now, registry.SignalDomain) {
			t.Errorf("%s: the agent does not meet what it has proved", test.domain)
		}
		a = now
	}
	if len(a.Domains) != 5 {
		t.Fatalf("%d domains", len(a.Domains))
	}
	_, _, err := r.ProveDomain(t.Context(), a.AirID, "sixth.test.example.com", by(t, r, a, 1, c.Now()))
	refusal(t, err, "domains-many")
	a, err = r.RemoveDomain(t.Context(), a.AirID, "Example.com", by(t, r, a, 1, c.Now()))
	if err != nil || len(a.Domains) != 4 {
		t.Errorf("%d domains, %v", len(a.Domains), err)
	}
	_, err = r.RemoveDomain(t.Context(), a.AirID, "example.com", by(t, r, a, 1, c.Now()))
	refusal(t, err, "domain-unknown")
}

// TestSurroundingSpaceIsIgnored checks that byte order marks of Windows editors and quotation marks
// of name servers' forms around a value are ignored.
func TestSurroundingSpaceIsIgnored(t *testing.T) {
	c, ns, p := newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.quoted.example.com", `"`+r.DomainRecord(a)+`"`)
	p.serve("mark.example.com"+evidence.DomainFile, 200, "\ufeff"+r.DomainRecord(a))
	for domain, method := range map[string]string{"quoted.example.com": "dns", "mark.example.com": "https"} {
		if d, _ := prove(t, r, c, a, 1, domain); d.Method != method {
			t.Errorf("%s: %+v", domain, d)
		}
	}
}

func TestFailedProbeReportsResponse(t *testing.T) {
	c, ns, p := newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	record := r.DomainRecord(a)
	otherKey := strings.Replace(record, multikey(1), multikey(2), 1)
	ns.Publish("_gazetteer.key.example.com", otherKey)
	ns.Publish("_gazetteer.many.example.com", slices.Repeat([]string{"filler"}, 1000)...)
	ns.Publish("_gazetteer.long.example.com", strings.Repeat("x", 4000), "a\xffb")
	ns.Publish("_gazetteer.off.example.com", "was "+record)
	p.serve("off.example.com"+evidence.DomainFile, 200, "# "+record+"\n")
	p.serve("key.example.com"+evidence.DomainFile, 200, "<html>")
	p.serve("many.example.com"+evidence.DomainFile, 500, record)
	p.serve("long.example.com"+evidence.DomainFile, 200, strings.Repeat("x", 1<<20))
	p.pages["moved.example.com"+evidence.DomainFile] = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.test/", http.StatusFound)
	}
	for _, test := range []struct{ domain, label, file string }{
		{"key.example.com", "named with another key", "no value names the agent"},
		{"many.example.com", "and 990 more", "it answered 500"},
		{"long.example.com", "no value names the agent", "larger than 65536 bytes"},
		{"off.example.com", "no value names the agent", "no value names the agent"},
		{"moved.example.com", "no TXT record", "it answered 302 and leads to https://evil.test/"},
		{"none.example.com", "no TXT record", "it answered 404"},
	} {
		t.Run(test.domain, func(t *testing.T) {
			d, got := prove(t, r, c, a, 1, test.domain)
			if !d.Since.IsZero() || d.Failures != 1 || len(d.Probes) != 3 || shows(t, r, got, registry.SignalDomain) {
				t.Fatalf("%+v", d)
			}
			for i, says := range []string{test.label, "no TXT record", test.file} {
				l := d.Probes[i]
				if !strings.Contains(l.String(), says) || l.Expected != record || l.Found || (l.Server == "") != (i < 2) || len(l.String()) > 8000 {
					t.Errorf("look %d: %s (%+v), want %q", i, l, l, says)
				}
			}
			if _, err := json.Marshal(d.Probes); err != nil {
				t.Error(err)
			}
			if _, err := r.RemoveDomain(t.Context(), a.AirID, test.domain, by(t, r, a, 1, c.Now())); err != nil {
				t.Fatal(err)
			}
		})
	}
	ns.Fail(true)
	if d, _ := prove(t, r, c, a, 1, "down.example.com"); !strings.Contains(d.Probes[0].Problem, "did not answer as it should") || d.Probes[0].Server != "" {
		t.Errorf("%+v", d.Probes)
	}
	blind := open(t, registrar.Options{Now: c.Now})
	b := proved(t, blind, 1, nil)
	if d, _ := prove(t, blind, c, b, 1, "example.com"); !d.Since.IsZero() || len(d.Probes) != 1 || d.Probes[0].Problem == "" {
		t.Errorf("a registry that asks nobody: %+v", d)
	}
}

func TestRefusedDomains(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	for _, domain := range []string{"", "localhost", "intranet", "127.0.0.1", "[::1]", "a.local", "co.uk", "github.io", "com", "exa mple.com", "пример.рф", "https://example.com", "a.com/b", strings.Repeat("a.", 200) + "com", "_x.example.com", "x@example.com"} {
		if _, _, err := r.ProveDomain(t.Context(), a.AirID, domain, by(t, r, a, 1, c.Now())); refused(t, err).Field != "domain" {
			t.Errorf("%s: %v", domain, err)
		}
	}
	if _, _, err := r.ProveDomain(t.Context(), a.AirID, "example.com", registry.Credentials{}); !errors.Is(err, registry.ErrNoSecret) {
		t.Error(err)
	}
	keyless, secret := register(t, r, registry.Registration{Name: "K", CreatorDID: "did:example:1"})
	if _, _, err := r.ProveDomain(t.Context(), keyless.AirID, "example.com", registry.Credentials{Secret: secret}); !errors.Is(err, registry.ErrNoKey) {
		t.Error(err)
	}
}

// TestAddressFormsAreRefused checks that no form of an address of this machine or its network can
// be proved as a domain or used as an endpoint.
func TestAddressFormsAreRefused(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	for _, form := range fakenet.AddressForms() {
		if _, _, err := r.ProveDomain(t.Context(), a.AirID, form, by(t, r, a, 1, c.Now())); refused(t, err).Field != "domain" {
			t.Errorf("%s: %v", form, err)
		}
		endpoints := []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: "https://" + form + "/inbox"}}
		_, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), registry.Update{Editable: registry.Editable{ServiceEndpoints: endpoints}, Changed: []string{"service_endpoints"}})
		if err == nil {
			t.Errorf("%s is taken as an endpoint", form)
			continue
		}
		if refused(t, err).Field != "service_endpoints[0].serviceEndpoint" {
			t.Errorf("%s as an endpoint: %v", form, err)
		}
	}
}

func TestProofIsWithdrawnAfterThreeFailures(t *testing.T) {
	c, ns, p := newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, c, a, 1, "example.com")
	attend := func(after time.Duration) registry.Domain {
		t.Helper()
		c.Advance(after)
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
		got, _, err := r.Agent(t.Context(), a.AirID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Domains[0]
	}
	since := c.Now()
	before := ns.Asked()
	if attend(23 * time.Hour); ns.Asked() != before {
		t.Error("it was asked before it was due")
	}
	if d := attend(time.Hour); !d.Checked.Equal(c.Now()) || !d.Since.Equal(since) || d.Failures != 0 {
		t.Errorf("%+v", d)
	}
	ns.Publish("_gazetteer.example.com")
	if d := attend(24 * time.Hour); d.Failures != 1 || !d.Withdrawn.IsZero() {
		t.Errorf("after the first failure: %+v", d)
	}
	if d := attend(8 * time.Hour); d.Failures != 2 || !d.Withdrawn.IsZero() {
		t.Errorf("after the second: %+v", d)
	}
	// A successful check starts the count again.
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	if d := attend(8 * time.Hour); d.Failures != 0 || !d.Since.Equal(since) {
		t.Errorf("after it came back: %+v", d)
	}
	ns.Fail(true) // a name server that is down counts as a failure, too
	attend(24 * time.Hour)
	attend(8 * time.Hour)
	d := attend(8 * time.Hour)
	if d.Failures != 3 || !d.Withdrawn.Equal(c.Now()) {
		t.Errorf("after three: %+v", d)
	}
	got, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil || shows(t, r, got, registry.SignalDomain) || !r.NextCheck(got).IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	history, _, err := r.History(t.Context(), a.AirID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range history {
		events = append(events, e.Event+" by "+e.Actor)
	}
	if got := strings.Join(events, ", "); got != "registered by registrant, domain-changed by owner, domain-changed by system, domain-changed by system" {
		t.Errorf("history: %s", got)
	}
	// The owner may begin again.
	ns.Fail(false)
	c.Advance(time.Hour)
	if d, _ := prove(t, r, c, a, 1, "example.com"); !d.Since.Equal(c.Now()) {
		t.Errorf("%+v", d)
	}
}

func TestProofIsBoundToKey(t *testing.T) {
	c, ns := newClock(), nameserver.New(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address)})
	a := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, c, a, 1, "example.com")
	a, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(24 * time.Hour)
	if err := r.Recheck(t.Context(), a.AirID); err != nil {
		t.Fatal(err)
	}
	a, _, _ = r.Agent(t.Context(), a.AirID)
	if d := a.Domains[0]; d.Failures != 1 || !strings.Contains(d.Probes[0].String(), "after a rotation") {
		t.Errorf("%+v", d)
	}
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	c.Advance(8 * time.Hour)
	if err := r.Recheck(t.Context(), a.AirID); err != nil {
		t.Fatal(err)
	}
	if a, _, _ = r.Agent(t.Context(), a.AirID); a.Domains[0].Key != multikey(2) || a.Domains[0].Failures != 0 {
		t.Errorf("%+v", a.Domains[0])
	}
}

// collectEvidence returns the signals of one kind.
func collectEvidence(t testing.TB, r *registrar.Registrar, a registry.Agent, signal string) []evidence.Signal {
	t.Helper()
	all, err := r.Evidence(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	var out []evidence.Signal
	for _, s := range all {
		if s.Cost == "" || s.Grade == "" || s.Source == "" || s.Date.IsZero() {
			t.Errorf("a signal without its cost or source: %+v", s)
		}
		if s.Signal == signal {
			out = append(out, s)
		}
	}
	return out
}

func TestEvidenceStates(t *testing.T) {
	c, ns, p, d := newClock(), nameserver.New(t), newPlace(t), documents{}
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https, Resolver: d, Store: s})
	a := proved(t, r, 1, map[string]any{"creator_did": "did:wba:owner.example", "creator_name": "Acme", "security_certifications": []string{"SOC2"}, "open_source": true,
		"code_repository": "https://code.example.com/acme/agent", "service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "https://inbox.example.com/in"}}})
	if s := collectEvidence(t, r, a, registry.SignalInbox); len(s) != 1 || s[0].Grade != registry.Claimed || s[0].Holds {
		t.Errorf("an inbox that nobody looked at: %+v", s)
	}
	if s := collectEvidence(t, r, a, registry.SignalDID); len(s) != 1 || s[0].Holds {
		t.Errorf("a DID that does not resolve: %+v", s)
	}
	if n := len(collectEvidence(t, r, a, registry.SignalClaims)); n != 4 {
		t.Errorf("%d claims, want name, creator, certificates, openness", n)
	}
	none := []string{registry.SignalInbox, registry.SignalDID, registry.SignalRepository, registry.SignalAGIS, registry.SignalDomain, registry.SignalAge, registry.SignalAttestations}
	for _, signal := range none {
		if shows(t, r, a, signal) {
			t.Errorf("%s holds of an agent that only claims", signal)
		}
	}

	d["did:wba:owner.example"] = 1
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	p.serve("inbox.example.com/in", 400, `{"error":"Bad Request"}`)
	p.serve("code.example.com/acme/agent", 200, "<p>Agent "+r.DID(a.AirID)+"</p>")
	prove(t, r, c, a, 1, "example.com")
	body := []byte(`{"did":"` + r.DID(a.AirID) + `"}`)
	if _, err := s.Apply(t.Context(), store.Put(store.DocumentKey("example.com", "agis-summary"), []byte(`{"url":"https://example.com/.well-known/agis.json","digest":"sha256:1","fetched_at":"2026-05-01T00:00:00Z"}`)),
		store.Put(store.BlobKey("sha256:1"), body)); err != nil {
		t.Fatal(err)
	}
	// A domain is queried once a minute: omitted checks follow later.
	c.Advance(31 * 24 * time.Hour)
	for range 4 {
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
		c.Advance(61 * time.Second)
	}
	a, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil {
		t.Fatal(err)
	}
	for signal, grade := range map[string]string{registry.SignalKey: registry.Proved, registry.SignalAge: registry.Observed, registry.SignalDomain: registry.Proved,
		registry.SignalDID: registry.Observed, registry.SignalInbox: registry.Observed, registry.SignalRepository: registry.Observed, registry.SignalAGIS: registry.Observed} {
		got := collectEvidence(t, r, a, signal)
		if len(got) != 1 || !got[0].Holds || got[0].Grade != grade || got[0].Date.IsZero() {
			t.Errorf("%s: %+v", signal, got)
		}
		if !shows(t, r, a, signal) {
			t.Errorf("%s does not hold", signal)
		}
	}
	// A proof that was not checked for a week does not count any more; a proved domain stays.
	c.Advance(8 * 24 * time.Hour)
	if shows(t, r, a, registry.SignalInbox) || !shows(t, r, a, registry.SignalKey) {
		t.Error("an old observation")
	}
	// An inbox that is gone, and a page that does not name the agent any more.
	p.serve("inbox.example.com/in", 404, "")
	p.serve("code.example.com/acme/agent", 200, "")
	d["did:wba:owner.example"] = 2
	c.Advance(25 * time.Hour)
	for range 4 {
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
		c.Advance(61 * time.Second)
	}
	if a, _, err = r.Agent(t.Context(), a.AirID); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []string{registry.SignalInbox, registry.SignalRepository, registry.SignalDID} {
		if got := collectEvidence(t, r, a, signal); len(got) != 1 || got[0].Holds || got[0].Detail == "" || shows(t, r, a, signal) {
			t.Errorf("%s: %+v", signal, got)
		}
	}
}

// TestObservationsCountForWhatTheRecordNames shows an inbox, a repository and a document of one owner, and
// names those of another one afterwards.
func TestObservationsCountForWhatTheRecordNames(t *testing.T) {
	c, ns, p := newClock(), nameserver.New(t), newPlace(t)
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https, Store: s})
	a := proved(t, r, 1, map[string]any{"code_repository": "https://code.example.com/own", "service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "https://inbox.example.com/own"}}})
	p.serve("inbox.example.com/own", 400, "")
	p.serve("inbox.example.com/theirs", 404, "")
	p.serve("code.example.com/own", 200, r.DID(a.AirID))
	p.serve("code.example.com/theirs", 200, "")
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, c, a, 1, "example.com")
	if _, err := s.Apply(t.Context(), store.Put(store.DocumentKey("example.com", "agis-summary"), []byte(`{"url":"https://example.com/.well-known/agis.json","digest":"sha256:1","fetched_at":"2026-05-01T00:00:00Z"}`)),
		store.Put(store.BlobKey("sha256:1"), []byte(`{"did":"`+r.DID(a.AirID)+`"}`))); err != nil {
		t.Fatal(err)
	}
	recheck := func() {
		t.Helper()
		for range 4 {
			c.Advance(61 * time.Second)
			if err := r.Recheck(t.Context(), a.AirID); err != nil {
				t.Fatal(err)
			}
		}
	}
	current := func() registry.Agent {
		t.Helper()
		a, _, err := r.Agent(t.Context(), a.AirID)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	signals := []string{registry.SignalInbox, registry.SignalRepository, registry.SignalAGIS}
	recheck()
	for _, signal := range signals {
		if !shows(t, r, current(), signal) {
			t.Fatalf("%s does not hold", signal)
		}
	}
	others := registry.Editable{CodeRepository: "https://code.example.com/theirs", ServiceEndpoints: []registry.ServiceEndpoint{{Type: did.TypeInbox, ServiceEndpoint: "https://inbox.example.com/theirs"}}}
	if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), registry.Update{Editable: others, Changed: []string{"code_repository", "service_endpoints"}}); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Second) // another nonce
	if _, err := r.RemoveDomain(t.Context(), a.AirID, "example.com", by(t, r, a, 1, c.Now())); err != nil {
		t.Fatal(err)
	}
	for _, signal := range signals {
		for _, got := range collectEvidence(t, r, current(), signal) {
			if got.Holds || got.Grade != registry.Claimed {
				t.Errorf("before the next check: %+v", got)
			}
		}
		if shows(t, r, current(), signal) {
			t.Errorf("%s holds before the next check", signal)
		}
	}
	recheck() // at once, and not a day after the last check
	for _, signal := range signals[:2] {
		if got := collectEvidence(t, r, current(), signal); len(got) != 1 || got[0].Holds || !strings.HasSuffix(got[0].Source, "/theirs") {
			t.Errorf("%s after the next check: %+v", signal, got)
		}
	}
	// A page of others that only repeats its address.
	for _, address := range []string{"https://code.example.com/search?q=" + r.DID(a.AirID), "https://code.example.com/search?q=%61IR", "https://code.example.com/search/" + strings.ToLower(r.DID(a.AirID))} {
		p.serve("code.example.com/search", 200, r.DID(a.AirID))
		p.serve("code.example.com/search/"+strings.ToLower(r.DID(a.AirID)), 200, r.DID(a.AirID))
		c.Advance(time.Second)
		if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), registry.Update{Editable: registry.Editable{CodeRepository: address}, Changed: []string{"code_repository"}}); err != nil {
			t.Fatal(err)
		}
		recheck()
		if got := collectEvidence(t, r, current(), registry.SignalRepository); len(got) != 1 || got[0].Holds || !strings.Contains(got[0].Detail, "repeats its address") {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

// TestCreatorOfAnUnprovedKey registers a key that somebody else has published, without a proof.
func TestCreatorOfAnUnprovedKey(t *testing.T) {
	c, d := newClock(), documents{"did:wba:owner.example": 1}
	r := open(t, registrar.Options{Now: c.Now, Resolver: d})
	a, _ := register(t, r, registry.Registration{Name: "Owner", PublicKey: keyText(1), CreatorDID: "did:wba:owner.example"})
	if got := collectEvidence(t, r, a, registry.SignalDID); len(got) != 1 || got[0].Holds || !strings.Contains(got[0].Detail, "not proved") || shows(t, r, a, registry.SignalDID) {
		t.Errorf("the key of somebody else: %+v", got)
	}
	for _, link := range r.Associations(a, "owner.example") {
		if link.Holds {
			t.Errorf("%+v", link)
		}
	}
	a, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription("signed"))
	if err != nil {
		t.Fatal(err)
	}
	if got := collectEvidence(t, r, a, registry.SignalDID); len(got) != 1 || !got[0].Holds || !shows(t, r, a, registry.SignalDID) {
		t.Errorf("its owner: %+v", got)
	}
}

// An inbox without https is not asked, and the evidence says so without its address.
func TestPlainInboxIsNotChecked(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Web: newPlace(t).https, AllowLoopback: true})
	a := proved(t, r, 1, map[string]any{"service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "http://127.0.0.1:1/in"}}})
	c.Advance(25 * time.Hour)
	for range 2 {
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
		c.Advance(61 * time.Second)
	}
	a, _, err := r.Agent(t.Context(), a.AirID)
	if got := collectEvidence(t, r, a, registry.SignalInbox); err != nil || len(got) != 1 || got[0].Holds || got[0].Detail != "not checked: only https inboxes are" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListsCanRequireEvidence(t *testing.T) {
	c, ns := newClock(), nameserver.New(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address)})
	plain, _ := register(t, r, someone(1))
	keyed := proved(t, r, 2, nil)
	domained := proved(t, r, 3, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(domained))
	prove(t, r, c, domained, 3, "example.com")
	for text, want := range map[string][]string{
		"": {plain.AirID, keyed.AirID, domained.AirID}, " ": {plain.AirID, keyed.AirID, domained.AirID}, "key": {keyed.AirID, domained.AirID},
		"key, domain": {domained.AirID}, "domain,domain": {domained.AirID}, "inbox": nil, "age": nil, "attestations": nil,
	} {
		require, err := registry.ParseRequire(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range []registry.Agent{plain, keyed, domained} {
			a, _, err := r.Agent(t.Context(), a.AirID)
			if err != nil {
				t.Fatal(err)
			}
			lacks, err := r.MissingSignals(t.Context(), a, require)
			if err != nil {
				t.Fatal(err)
			}
			if len(lacks) == 0 {
				got = append(got, a.AirID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("require=%s: %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"claims", "Domain", "domain;inbox", ",", "domain,", strings.Repeat("x", 1<<16)} {
		if _, err := registry.ParseRequire(bad); refused(t, err).Field != "require" || len(err.Error()) > 1000 {
			t.Errorf("%.100s: %v", bad, err)
		}
	}
}

// A list reads over the history of the agents, however long it is.
func TestListSkipsLongHistories(t *testing.T) {
	r := open(t, registrar.Options{})
	var want []string
	for n := range byte(4) {
		a, secret := register(t, r, someone(n))
		for i := range 150 * int(n%2) {
			description := fmt.Sprint(i)
			if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(description)); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, a.AirID)
	}
	slices.Sort(want)
	var got []string
	for after, more := "", true; more; more = after != "" {
		agents, next, err := r.List(t.Context(), registry.Filter{}, after, 1)
		if err != nil || len(agents) > 1 {
			t.Fatal(err)
		}
		for _, a := range agents {
			got = append(got, a.AirID)
		}
		after = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRunChecksDueEvidence checks that Run checks evidence as soon as it is due, and ends with its
// context.
func TestRunChecksDueEvidence(t *testing.T) {
	ns, p := nameserver.New(t), newPlace(t)
	s := openStore(t)
	r := open(t, registrar.Options{Store: s, DNS: evidence.NewDNS(ns.Address), Web: p.https, Recheck: time.Hour, RecoveryDelay: time.Nanosecond})
	p.serve("inbox.example.com/in", 401, "")
	inbox := map[string]any{"service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "https://inbox.example.com/in"}}}
	early := proved(t, r, 1, inbox) // before it runs
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	wait := func(airID string, holds func(a registry.Agent) bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for record, err := range s.Changes(ctx, store.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			var a registry.Agent
			if record.Key == store.AgentKey(airID) && json.Unmarshal(record.Value, &a) == nil && holds(a) {
				return
			}
		}
		t.Fatalf("%s was not attended", airID)
	}
	wait(early.AirID, func(a registry.Agent) bool { return a.Observed[registry.SignalInbox].Holds })
	late := proved(t, r, 2, map[string]any{"recovery_commitment": commitment(100)})
	if _, err := r.Recover(t.Context(), late.AirID, recovery(r, late, 2, 100, 3, "", time.Now())); err != nil {
		t.Fatal(err)
	}
	wait(late.AirID, func(a registry.Agent) bool { return did.FormatMultikey(a.PublicKey) == multikey(3) })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDomainProbesAreLimited checks that the number of probes of a domain is limited.
func TestDomainProbesAreLimited(t *testing.T) {
	c, ns := newClock(), nameserver.New(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address)})
	a := proved(t, r, 1, nil)
	for range 12 { // two of its own and ten of the domain
		prove(t, r, c, a, 1, "www.example.com")
	}
	before := ns.Asked()
	_, _, err := r.ProveDomain(t.Context(), a.AirID, "example.com", by(t, r, a, 1, c.Now()))
	if e := refusal(t, err, "domain-busy"); !errors.Is(e, registry.ErrTooMany) || e.Wait != 10*time.Second || ns.Asked() != before {
		t.Errorf("%+v", e)
	}
	prove(t, r, c, a, 1, "example.org")
	c.Advance(10 * time.Second)
	prove(t, r, c, a, 1, "example.com")
}

// A thousand agents that name one inbox are no thousand requests.
func TestHostProbesAreSharedByAgents(t *testing.T) {
	c, p := newClock(), newPlace(t)
	r := open(t, registrar.Options{Now: c.Now, Web: p.https})
	for n := range byte(20) {
		a := proved(t, r, n+1, map[string]any{"service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": fmt.Sprintf("https://h%d.example.com/in", n)}}})
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked != 1 {
		t.Errorf("%d requests within a minute", p.asked)
	}
}

// TestClockSetBackCountsNoFailure checks that failures right after the clock was set back withdraw no
// proof: the time between the checks has not passed.
func TestClockSetBackCountsNoFailure(t *testing.T) {
	wall, steady, ns, p := newClock(), newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: wall.Now, Steady: steady.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, wall, a, 1, "example.com")
	ns.Fail(true)
	for range 4 {
		steady.Advance(2 * time.Minute)
		wall.Advance(-time.Hour)
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Domains[0]; !d.Proved() || d.Failures != 0 || !d.Checked.Equal(wall.Now()) {
		t.Errorf("%+v", d)
	}
}

// TestOwnersChecksCountNoFailure checks that an owner who repeats the check of a proved domain, while its
// name server fails, withdraws nothing and delays no scheduled check.
func TestOwnersChecksCountNoFailure(t *testing.T) {
	wall, ns, p := newClock(), nameserver.New(t), newPlace(t)
	r := open(t, registrar.Options{Now: wall.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, wall, a, 1, "example.com")
	at := wall.Now()
	ns.Fail(true)
	for range 4 {
		wall.Advance(2 * time.Minute)
		if d, _ := prove(t, r, wall, a, 1, "example.com"); !d.Proved() || d.Failures != 0 || !d.Checked.Equal(at) || d.Probes[0].Problem == "" {
			t.Errorf("%+v", d)
		}
	}
	for i := range 3 {
		wall.Advance(25 * time.Hour)
		if err := r.Recheck(t.Context(), a.AirID); err != nil {
			t.Fatal(err)
		}
		got, _, err := r.Agent(t.Context(), a.AirID)
		if err != nil {
			t.Fatal(err)
		}
		if d := got.Domains[0]; d.Failures != i+1 || d.Proved() != (i < 2) {
			t.Errorf("scheduled check %d: %+v", i+1, d)
		}
	}
}

// TestRechecksAfterClockWasAhead checks that domains and inboxes that were checked while the clock was
// ahead are checked again as soon as it is right, also by a schedule that was made before.
func TestRechecksAfterClockWasAhead(t *testing.T) {
	wall, steady, ns, p, s := newClock(), newClock(), nameserver.New(t), newPlace(t), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: wall.Now, Steady: steady.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	a := proved(t, r, 1, map[string]any{"service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "https://inbox.example.org/in"}}})
	ns.Publish("_gazetteer.example.com", r.DomainRecord(a))
	prove(t, r, wall, a, 1, "example.com")
	right := wall.Now()
	wall.Advance(1000 * time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	awaitChecks := func(when string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got registry.Agent
		for record, err := range s.Changes(ctx, store.Cursor{}) {
			if err != nil {
				break
			}
			if record.Key == store.AgentKey(a.AirID) && json.Unmarshal(record.Value, &got) == nil && len(got.Domains) > 0 &&
				got.Domains[0].Checked.Equal(wall.Now()) && got.Observed[registry.SignalInbox].At.Equal(wall.Now()) {
				return
			}
		}
		t.Fatalf("%s, at %s: %+v, %+v", when, wall.Now(), got.Domains, got.Observed)
	}
	awaitChecks("ahead")
	steady.Advance(2 * time.Minute)
	wall.Set(right.Add(2 * time.Minute))
	proved(t, r, 2, nil) // wakes the rechecks
	awaitChecks("back")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
