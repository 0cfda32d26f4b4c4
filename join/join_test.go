package join_test

import (
	"bytes"
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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/internal/teststore"

	"gazetteer/document"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// A town is a real store, registry, directory and joiner; the web and the name
// servers around them are loopback and a table.
type town struct {
	t         testing.TB
	store     *boltstore.Store
	registry  *registrar.Registrar
	directory *directory.Directory
	joiner    *join.Joiner
	secrets   map[string]string // by AIR ID

	mu    sync.Mutex // guards the following fields
	clock time.Time
	zone  map[string][]string
	pages map[string]string // by host and path: what DID documents lie on the web
	held  chan struct{}     // while not nil, the web answers nothing until it is closed
	asked int               // of the web
}

func newTown(t testing.TB) *town { t.Helper(); return newTownOf(t, time.Minute) }

// newTownOf returns one whose callers wait so long for the registries of others.
func newTownOf(t testing.TB, patience time.Duration) *town {
	t.Helper()
	w := &town{t: t, secrets: map[string]string{}, zone: map[string][]string{}, pages: map[string]string{}, clock: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	var err error
	w.store = teststore.New(t)
	server := httptest.NewUnstartedServer(w)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients leave in the middle
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	https, err := resolve.NewHTTPS(resolve.HTTPSOptions{Roots: roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := resolve.New(resolve.Options{Fetcher: https, Now: w.now, Local: func(ctx context.Context, id did.Web) (did.Document, bool, error) { return w.registry.Local(ctx, id) }})
	if err != nil {
		t.Fatal(err)
	}
	w.registry, err = registrar.New(registrar.Options{Store: w.store, DIDHost: "registry.example.com", DNS: w, Resolver: resolver, Web: https, Now: w.now, Unattended: -1,
		Limits: admission.Limits{Registrations: -1, AllRegistrations: -1}})
	if err != nil {
		t.Fatal(err)
	}
	w.directory = w.registry.NewDirectory()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.directory.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if w.joiner, err = join.New(join.Options{Store: w.store, Registry: w.registry, Directory: w.directory, Resolver: resolver, Patience: patience, Now: w.now}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *town) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *town) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// TXT answers as a name server would.
func (w *town) TXT(_ context.Context, name string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.zone[name], nil
}

// ServeHTTP answers for every host of the web.
func (w *town) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	held := w.held
	page, ok := w.pages[r.Host+r.URL.Path]
	w.asked++
	w.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	if !ok {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "application/did+json")
	io.WriteString(rw, page)
}

// count is how often the web was asked.
func (w *town) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *town) lay(address, page string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[address] = page
}

func private(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(n byte) ed25519.PublicKey { return private(n).Public().(ed25519.PublicKey) }

// register registers an agent with the n-th key and endpoints of type and URL.
func (w *town) register(n byte, endpoints ...string) registry.Agent {
	w.t.Helper()
	return w.registerAs(registry.Registration{Name: fmt.Sprint("Agent ", n), PublicKey: did.FormatPublicKey(public(n))}, endpoints...)
}

func (w *town) registerAs(reg registry.Registration, endpoints ...string) registry.Agent {
	w.t.Helper()
	for i := 0; i < len(endpoints); i += 2 {
		reg.ServiceEndpoints = append(reg.ServiceEndpoints, registry.ServiceEndpoint{Type: endpoints[i], ServiceEndpoint: endpoints[i+1]})
	}
	a, secret, err := w.registry.Register(w.t.Context(), reg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.secrets[a.AirID] = secret
	return a
}

// proveKey has an agent with the n-th key sign a write, which proves that it holds the key.
func (w *town) proveKey(a registry.Agent, n byte) {
	w.t.Helper()
	r, body := httptest.NewRequest(http.MethodPut, "https://registry.example.com/api/v1/agents/"+a.AirID, nil), []byte("{}")
	if err := httpsig.Sign(r, body, private(n), httpsig.SignOptions{KeyID: a.Multikey(), Created: w.now()}); err != nil {
		w.t.Fatal(err)
	}
	m := httpsig.FromRequest(r, body)
	if _, _, err := w.registry.Update(w.t.Context(), a.AirID, registry.Credentials{Request: &m}, registry.Update{Description: "signed", Changed: []string{"description"}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) by(a registry.Agent) registry.Credentials {
	return registry.Credentials{Secret: w.secrets[a.AirID]}
}

// prove has the owner of a domain name the agent, and the agent ask for it.
func (w *town) prove(a registry.Agent, domain string) {
	w.t.Helper()
	w.mu.Lock()
	w.zone["_gazetteer."+domain] = append(w.zone["_gazetteer."+domain], w.registry.DomainRecord(a))
	w.mu.Unlock()
	w.look(a, domain)
}

func (w *town) look(a registry.Agent, domain string) registry.Domain {
	w.t.Helper()
	d, _, err := w.registry.ProveDomain(w.t.Context(), a.AirID, domain, w.by(a))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// recheck lets the time of the next check pass, and makes it.
func (w *town) recheck(a registry.Agent) {
	w.t.Helper()
	w.later(25 * time.Hour)
	if err := w.registry.Recheck(w.t.Context(), a.AirID); err != nil {
		w.t.Fatal(err)
	}
}

// publish stores a document as the crawler does.
func (w *town) publish(host string, kind document.Kind, text string) {
	w.t.Helper()
	digest := document.Digest([]byte(text))
	value, err := json.Marshal(document.Document{Kind: kind, Host: host, URL: "https://" + host + "/.well-known/x", Digest: digest, FetchedAt: w.now()})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Apply(w.t.Context(), store.Put(store.DocumentKey(host, string(kind)), value), store.Put(store.BlobKey(digest), []byte(text))); err != nil {
		w.t.Fatal(err)
	}
}

// names is a summary that names agents.
func names(dids ...string) string {
	text, err := json.Marshal(map[string]any{"agis": "1.0", "agents": dids})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (w *town) join(host string, want join.Want) *join.Joined {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	if err := w.directory.WaitFor(ctx, w.store.Head().Seq); err != nil {
		w.t.Fatal(err)
	}
	all, err := w.joiner.Join(ctx, []string{host}, want)
	if err != nil {
		w.t.Fatal(err)
	}
	return all[host]
}

// story is what came out, in short: the agents with their strength and links.
func story(j *join.Joined) string {
	var out []string
	for _, a := range j.Agents {
		var by []string
		for _, l := range a.Links {
			by = append(by, l.By)
		}
		out = append(out, fmt.Sprint(a.AirID, " ", a.Strength, " ", strings.Join(by, "+")))
	}
	return strings.Join(out, "\n")
}

func (w *town) want(what, host string, want join.Want, lines ...string) *join.Joined {
	w.t.Helper()
	got := w.join(host, want)
	if text := story(got); text != strings.Join(lines, "\n") {
		w.t.Errorf("%s: got\n%s\nwant\n%s\nleft out %+v", what, text, strings.Join(lines, "\n"), got.Omitted)
	}
	if (got.None == "") != (len(got.Agents) > 0) {
		w.t.Errorf("%s: %d agents, and none because %q", what, len(got.Agents), got.None)
	}
	return got
}

var anything = join.Want{}

func TestOneSidedClaims(t *testing.T) {
	w := newTown(t)
	const bank = "bank.example.com"
	w.publish(bank, document.AGISSummary, names())
	if got := w.want("nobody", bank, anything); len(got.Omitted) > 0 || !strings.Contains(got.None, "no document") {
		t.Errorf("%+v", got)
	}
	// Each says of itself that it belongs to the bank, and has its names right.
	endpoint := w.registerAs(registry.Registration{Name: "Bank", CreatorName: "Bank", PublicKey: did.FormatPublicKey(public(1))}, did.TypeInbox, "https://bank.example.com/inbox")
	w.registerAs(registry.Registration{Name: "Bank", PublicKey: did.FormatPublicKey(public(2)), CreatorDID: "did:web:bank.example.com"})
	domain := w.register(3)
	if w.look(domain, bank); len(w.join(bank, anything).Agents) != 3 {
		t.Fatalf("%s", story(w.join(bank, anything)))
	}
	for _, a := range w.join(bank, anything).Agents {
		if a.Strength != join.Claimed || !strings.HasPrefix(a.Says, "only the agent claims this") || slices.ContainsFunc(a.Links, func(l join.Link) bool { return l.Side != join.SideAgent }) {
			t.Errorf("%+v", a)
		}
	}
	// Looks alike, and is none of the bank's: another host, a host above it that
	// was proved by a file only, a name in a text.
	other := w.register(4, did.TypeInbox, "https://bank.example.com.evil.example/inbox", "Page", "https://evil.example/?https://bank.example.com/")
	w.prove(other, "notbank.example.com")
	above := w.register(5)
	w.lay("example.com"+evidence.DomainFile, w.registry.DomainRecord(above))
	if d := w.look(above, "example.com"); d.Method != "https" {
		t.Fatalf("%+v", d)
	}
	if got := w.join(bank, anything); len(got.Agents) != 3 {
		t.Errorf("%s", story(got))
	}
	// A request for better evidence gets none of them, and the reason.
	for _, want := range []join.Want{{Least: join.Proved}, {Least: join.Mutual}, {Require: []string{registry.SignalDomain}}, {Require: []string{registry.SignalAGIS}}} {
		got := w.want("with proof", bank, want)
		if len(got.Omitted) != 3 || !strings.Contains(got.None, got.Omitted[0].Why) {
			t.Errorf("%+v: %+v", want, got)
		}
	}
	// A proof of another domain makes no agent the bank's.
	w.prove(endpoint, "evil.example.com")
	w.want("with a domain elsewhere", bank, join.Want{Require: []string{registry.SignalDomain}})
	// The bank's own agent is first, whatever the others have.
	own := w.register(6)
	w.publish(bank, document.AGISSummary, names(w.registry.DID(own.AirID)))
	got := w.join(bank, anything)
	if len(got.Agents) != 4 || got.Agents[0].AirID != own.AirID || got.Agents[0].Strength != join.Claimed || !strings.HasPrefix(got.Agents[0].Says, "only the service claims this") {
		t.Errorf("%s", story(got))
	}
	w.want("named by the bank", bank, join.Want{Require: []string{registry.SignalAGIS}}, own.AirID+" claimed document")
	// It names the agent, and not those that have its DID in their records.
	w.publish(bank, document.AGISSummary, names("did:web:bank.example.com"))
	w.want("the DID in a stranger's record", bank, join.Want{Least: join.Mutual, Admit: func() error { return nil }})
}

func TestEveryAssociationInOrder(t *testing.T) {
	w := newTown(t)
	const host = "tables.example.com"
	exact, parent, mutual, named, claims := w.register(1), w.register(2), w.register(3, "Page", "https://tables.example.com/agent"), w.register(4, did.TypeInbox, "https://x.example.org/inbox"), w.register(5, did.TypeInbox, "https://tables.example.com/inbox")
	w.lay("tables.example.com/.well-known/did.json", didText("did:web:tables.example.com", public(7)))
	vouched := w.registerAs(registry.Registration{Name: "Vouched for", PublicKey: did.FormatPublicKey(public(7)), CreatorDID: "did:web:tables.example.com"})
	// The host's document lists the key, but that an agent names it proves nothing.
	w.want("the key of somebody else", host, join.Want{Least: join.Mutual})
	w.proveKey(vouched, 7)
	w.prove(parent, "example.com")
	w.prove(exact, host)
	w.publish(host, document.AGIS, "agis: \"1.0\"\nagent: "+w.registry.DID(mutual.AirID)+"\n")
	w.publish(host, document.AI, `{"meta": {"agent": "https://registry.example.com/agents/`+named.AirID+`"}}`)
	// What only /ai answers is not authoritative.
	w.publish(host, document.AIAlias, names(w.registry.DID(w.register(8).AirID)))
	all := []string{
		exact.AirID + " proved domain", parent.AirID + " proved parent-domain", vouched.AirID + " mutual creator-did",
		mutual.AirID + " mutual document+endpoint", named.AirID + " claimed document", claims.AirID + " claimed endpoint",
	}
	got := w.want("all", host, join.Want{Most: 10}, all...)
	w.want("both sides", host, join.Want{Least: join.Mutual}, all[:4]...)
	w.want("proved", host, join.Want{Least: join.Proved}, all[:2]...)
	w.want("named", host, join.Want{Require: []string{registry.SignalAGIS}}, all[3], all[4])
	if five := w.want("five", host, anything, all[:5]...); five.More != 1 {
		t.Errorf("%d more", five.More)
	}
	for _, a := range got.Agents {
		if a.Says == "" || len(a.Evidence) == 0 || a.Key == nil || !strings.HasSuffix(a.Key.ID, "#key-1") || a.UpdatedAt.IsZero() || a.Key.Since.IsZero() {
			t.Errorf("%+v", a)
		}
		if slices.ContainsFunc(a.Evidence, func(s evidence.Signal) bool { return s.Signal == registry.SignalClaims }) {
			t.Error("what the agent says of itself is given as evidence")
		}
		for _, l := range a.Links {
			if l.What == "" || l.Date.IsZero() || (l.Side != join.SideAgent) != (l.Source != "") {
				t.Errorf("%+v", l)
			}
		}
	}
	if got.Agents[4].Inbox != "https://x.example.org/inbox" || got.Agents[0].Inbox != "" {
		t.Errorf("%+v", got.Agents)
	}
	// Among otherwise equal agents, one with an inbox is first.
	second := w.register(9, did.TypeInbox, "https://relay.example.org/9")
	w.prove(second, host)
	w.want("two that proved it", host, join.Want{Least: join.Proved}, second.AirID+" proved domain", all[0], all[1])
}

func TestDeactivatedAgentIsNotOffered(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	suspended, gone, stays := w.register(1), w.register(2), w.register(3)
	for _, a := range []registry.Agent{suspended, gone, stays} {
		w.prove(a, host)
	}
	w.publish(host, document.AGISSummary, names(w.registry.DID(suspended.AirID), gone.AirID, "AIR-0000-0000-0000"))
	if _, err := w.registry.Suspend(t.Context(), suspended.AirID, "spam"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.registry.Deactivate(t.Context(), gone.AirID, w.by(gone)); err != nil {
		t.Fatal(err)
	}
	got := w.want("one is left", host, anything, stays.AirID+" proved domain")
	why := fmt.Sprint(got.Omitted)
	for _, want := range []string{"suspended", "deactivated", "no such agent"} {
		if len(got.Omitted) != 3 || !strings.Contains(why, want) {
			t.Errorf("%s does not say %q", why, want)
		}
	}
	// Also before the directory has heard of it.
	if _, err := w.registry.Suspend(t.Context(), stays.AirID, "spam"); err != nil {
		t.Fatal(err)
	}
	all, err := w.joiner.Join(t.Context(), []string{host}, anything)
	if err != nil || len(all[host].Agents) != 0 {
		t.Errorf("%v %s", err, story(all[host]))
	}
	if _, err := w.registry.Restore(t.Context(), stays.AirID); err != nil {
		t.Fatal(err)
	}
	w.want("restored", host, anything, stays.AirID+" proved domain")
}

func TestExpiredProof(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	a := w.register(1)
	w.prove(a, host)
	w.want("proved", host, join.Want{Least: join.Proved}, a.AirID+" proved domain")
	w.mu.Lock()
	delete(w.zone, "_gazetteer."+host)
	w.mu.Unlock()
	for range 2 {
		w.recheck(a)
		w.want("failed once or twice", host, anything, a.AirID+" proved domain")
	}
	w.recheck(a)
	w.want("proof required", host, join.Want{Least: join.Proved})
	w.want("domain required", host, join.Want{Require: []string{registry.SignalDomain}})
	got := w.want("withdrawn", host, anything, a.AirID+" claimed claim")
	if !strings.Contains(got.Agents[0].Says, "withdrawn") {
		t.Errorf("it says %q", got.Agents[0].Says)
	}
	if _, err := w.registry.RemoveDomain(t.Context(), a.AirID, host, w.by(a)); err != nil {
		t.Fatal(err)
	}
	w.want("given up", host, anything)
}

func TestNewKeyAfterRotation(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	a := w.register(1)
	w.prove(a, host)
	x := registry.Rotation{Agent: w.registry.DID(a.AirID), From: did.FormatMultikey(public(1)), To: did.FormatMultikey(public(2)), Created: w.now(), Nonce: "0123456789abcdef"}
	x.OldSignature = did.FormatSignature(ed25519.Sign(private(1), x.Statement()))
	x.NewSignature = did.FormatSignature(ed25519.Sign(private(2), x.Statement()))
	if _, err := w.registry.Rotate(t.Context(), a.AirID, x); err != nil {
		t.Fatal(err)
	}
	got := w.want("rotated", host, anything, a.AirID+" proved domain").Agents[0]
	if got.Key.PublicKeyMultibase != did.FormatMultikey(public(2)) || got.Key.ID != x.Agent+"#key-1" || !strings.Contains(got.Links[0].Detail, "before the last rotation") {
		t.Errorf("%+v %+v", got.Key, got.Links)
	}
}

func TestRequiredEvidence(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	a := w.register(1, did.TypeInbox, "https://shop.example.com/inbox")
	w.prove(a, host)
	got := w.want("unmet", host, join.Want{Require: []string{registry.SignalDomain, registry.SignalKey, registry.SignalAge}})
	if len(got.Omitted) != 1 || !slices.Equal(got.Omitted[0].Missing, []string{"key", "age"}) {
		t.Errorf("%+v", got.Omitted)
	}
	w.later(31 * 24 * time.Hour)
	w.want("older", host, join.Want{Require: []string{registry.SignalDomain, registry.SignalAge}}, a.AirID+" proved domain+endpoint")
}

// TestRingIsNoEvidence checks that agents that attest each other in a ring meet no requirement of
// attestations.
func TestRingIsNoEvidence(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	a, b := w.register(1), w.register(2)
	w.prove(a, host)
	w.prove(b, "other.example.org")
	w.later(31 * 24 * time.Hour)
	w.look(a, host)
	w.look(b, "other.example.org")
	attest := func(by registry.Agent, key byte, about registry.Agent) {
		t.Helper()
		q := attestation.Request{Attester: by.AirID, Type: "dependency", SignedAt: w.now().Format(time.RFC3339)}
		payload, err := q.Payload(about.AirID)
		if err != nil {
			t.Fatal(err)
		}
		q.Signature = did.FormatSignature(ed25519.Sign(private(key), payload))
		if _, _, err := w.registry.Attest(t.Context(), about.AirID, q, w.by(by)); err != nil {
			t.Fatal(err)
		}
	}
	required := join.Want{Require: []string{registry.SignalAttestations}}
	w.want("not attested", host, required)
	attest(b, 2, a)
	w.want("attested", host, required, a.AirID+" proved domain")
	attest(a, 1, b)
	got := w.want("attested in a ring", host, required)
	if len(got.Omitted) != 1 || !slices.Equal(got.Omitted[0].Missing, []string{registry.SignalAttestations}) {
		t.Errorf("%+v", got.Omitted)
	}
}

// didText is a DID document with a key and services of type and URL.
func didText(id string, key ed25519.PublicKey, services ...string) string {
	d := did.Document{Context: did.Contexts(), ID: id,
		VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key)}},
		Authentication:     []string{id + did.KeyFragment}}
	for i := 0; i < len(services); i += 2 {
		d.Service = append(d.Service, did.Service{ID: id + "#" + services[i], Type: services[i], ServiceEndpoint: services[i+1]})
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestForeignAgents(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	const far, own, closed, absent, unsafe = "did:wba:elsewhere.example.com:agents:AIR-7G3K-M9JQ-X2PT", "did:web:shop.example.com", "did:web:elsewhere.example.com:mutual", "did:web:elsewhere.example.com:absent", "did:web:elsewhere.example.com:unsafe"
	w.lay("elsewhere.example.com/agents/AIR-7G3K-M9JQ-X2PT/did.json", didText(far, public(1), did.TypeInbox, "https://elsewhere.example.com/inbox/1"))
	w.lay("shop.example.com/.well-known/did.json", didText(own, public(2), did.TypeInbox, "https://shop.example.com/inbox"))
	w.lay("elsewhere.example.com/mutual/did.json", didText(closed, public(3), "Page", "https://shop.example.com/agent"))
	w.lay("elsewhere.example.com/unsafe/did.json", didText(unsafe, public(4), did.TypeInbox, "http://127.0.0.1/inbox"))
	w.publish(host, document.AGISSummary, names(far, own, closed, absent, unsafe))

	// Nobody is asked unless the caller may.
	got := w.join(host, anything)
	if len(got.Agents) != 5 || got.Agents[0].Unresolved == "" || got.Agents[0].Inbox != "" || w.count() != 0 {
		t.Errorf("%d asked: %+v", w.count(), got.Agents)
	}
	got = w.join(host, join.Want{Admit: func() error { return errors.New("enough") }})
	if len(got.Agents) != 5 || !strings.Contains(got.Agents[0].Unresolved, "very many") || w.count() != 0 {
		t.Errorf("%d asked: %+v", w.count(), got.Agents)
	}
	admitted := 0
	admit := func() error { admitted++; return nil }
	got = w.join(host, join.Want{Admit: admit})
	order := []string{own, closed, far, unsafe}
	for i, want := range order {
		if len(got.Agents) != len(order) || got.Agents[i].DID != want || got.Agents[i].Unresolved != "" || got.Agents[i].Key == nil || len(got.Agents[i].Evidence) < 2 {
			t.Fatalf("%+v", got.Agents)
		}
	}
	if a := got.Agents[0]; a.Strength != join.Proved || a.Inbox != "https://shop.example.com/inbox" {
		t.Errorf("%+v", a)
	}
	if a := got.Agents[1]; a.Strength != join.Mutual {
		t.Errorf("%+v", a)
	}
	if a := got.Agents[2]; a.Strength != join.Claimed || a.AirID != "AIR-7G3K-M9JQ-X2PT" || a.Inbox != "https://elsewhere.example.com/inbox/1" {
		t.Errorf("%+v", a)
	}
	if got.Agents[3].Inbox != "" {
		t.Error("an inbox that is not https is given")
	}
	if len(got.Omitted) != 1 || got.Omitted[0].DID != absent || !strings.Contains(got.Omitted[0].Why, "404") {
		t.Errorf("%+v", got.Omitted)
	}
	if admitted != 5 {
		t.Errorf("%d admitted", admitted)
	}
	// What is kept costs nothing, and evidence can be required of them too.
	before := w.count()
	got = w.join(host, join.Want{Admit: admit, Require: []string{registry.SignalDomain, registry.SignalDID}})
	if w.count() != before || admitted != 5 || len(got.Agents) != 1 || got.Agents[0].DID != own {
		t.Errorf("%d asked, %d admitted, %+v", w.count()-before, admitted, got.Agents)
	}
}

func TestSlowRegistry(t *testing.T) {
	w := newTownOf(t, 50*time.Millisecond)
	const host, slow = "shop.example.com", "did:web:slow.example.com"
	near := w.register(1)
	w.prove(near, host)
	w.publish(host, document.AGISSummary, names(slow))
	held := make(chan struct{})
	w.mu.Lock()
	w.held = held
	w.mu.Unlock()
	defer close(held)
	want := join.Want{Admit: func() error { return nil }}
	for range 2 { // the second caller does not wait
		got := w.join(host, want)
		if len(got.Agents) != 2 || got.Agents[0].AirID != near.AirID || got.Agents[1].DID != slow || !strings.Contains(got.Agents[1].Unresolved, "in time") || got.Agents[1].Key != nil {
			t.Errorf("%+v", got.Agents)
		}
	}
	if w.count() > 1 {
		t.Errorf("the registry was asked %d times", w.count())
	}
}

// TestCanceledCaller checks that after a caller gave up waiting for a registry, the next caller
// does not take the registry for unreachable.
func TestCanceledCaller(t *testing.T) {
	w := newTown(t)
	const host, far = "shop.example.com", "did:web:far.example.com"
	w.lay("far.example.com/.well-known/did.json", didText(far, public(1), did.TypeInbox, "https://far.example.com/inbox"))
	w.publish(host, document.AGISSummary, names(far))
	ctx, leave := context.WithCancel(t.Context())
	if _, err := w.joiner.Join(ctx, []string{host}, join.Want{Admit: func() error { leave(); return nil }}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller who left got %v", err)
	}
	got := w.join(host, join.Want{Admit: func() error { return nil }})
	if len(got.Agents) != 1 || got.Agents[0].Unresolved != "" || got.Agents[0].Inbox == "" {
		t.Errorf("%+v", got.Agents)
	}
}

func TestChangedDocument(t *testing.T) {
	w := newTown(t)
	const host = "shop.example.com"
	one, two := w.register(1), w.register(2)
	line := func(a registry.Agent) string { return a.AirID + " claimed document" }
	w.publish(host, document.AGISSummary, names(one.AirID))
	w.want("first", host, anything, line(one))
	w.publish("elsewhere.example.com", document.AGISSummary, names(two.AirID))
	w.want("after another host's", host, anything, line(one))
	w.publish(host, document.AGISSummary, names(two.AirID))
	w.want("second", host, anything, line(two))
	if _, err := w.store.Apply(t.Context(), store.Delete(store.DocumentKey(host, string(document.AGISSummary)))); err != nil {
		t.Fatal(err)
	}
	w.want("gone", host, anything)
}

func TestManyAgentsClaimOneHost(t *testing.T) {
	w := newTown(t)
	const host = "bank.example.com"
	for i := range 100 {
		w.registerAs(registry.Registration{Name: fmt.Sprint("Bank ", i), PublicKey: did.FormatPublicKey(public(byte(i)))}, did.TypeInbox, fmt.Sprintf("https://bank.example.com/inbox/%d", i))
	}
	own := w.register(200)
	w.prove(own, host)
	got := w.join(host, anything)
	if len(got.Agents) != 5 || got.Agents[0].AirID != own.AirID || got.More != 96 {
		t.Errorf("%d more than\n%s", got.More, story(got))
	}
	if got := w.want("proved", host, join.Want{Least: join.Proved}, own.AirID+" proved domain"); got.More != 0 || len(got.Omitted) > 5 {
		t.Errorf("%d more, %d left out", got.More, len(got.Omitted))
	}
}
