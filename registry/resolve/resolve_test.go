package resolve_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/fakenet"
	"gazetteer/protocol/did"
	"gazetteer/registry/resolve"
)

const (
	airID = "AIR-7G3K-M9JQ-X2PT"
	asked = "did:wba:example.com:agents:" + airID
)

func document(id string) []byte {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public().(ed25519.PublicKey)
	text, err := json.Marshal(did.Document{Context: did.Contexts(), ID: id,
		VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key)}},
		Authentication:     []string{id + did.KeyFragment}})
	if err != nil {
		panic(err)
	}
	return text
}

// A web is all of HTTPS on loopback: every name leads to one server, whose
// handler sees the name as the host.
type web struct {
	asked atomic.Int64
	https *resolve.HTTPS
	now   atomic.Int64 // nanoseconds, the resolver's clock
}

func newWeb(t testing.TB, handler http.HandlerFunc) *web {
	t.Helper()
	w := &web{}
	w.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		handler(rw, r)
	}))
	t.Cleanup(server.Close)
	w.connect(t, server)
	return w
}

// connect makes every name lead to a server.
func (w *web) connect(t testing.TB, server *httptest.Server) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	var err error
	w.https, err = resolve.NewHTTPS(resolve.HTTPSOptions{Roots: roots,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		}})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *web) resolver(t testing.TB, bases map[string]string) *resolve.Resolver {
	t.Helper()
	r, err := resolve.New(resolve.Options{Fetcher: w.https, Bases: bases, Now: func() time.Time { return time.Unix(0, w.now.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serve answers every request alike.
func serve(status int, mediaType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		w.Write(body)
	}
}

func TestDIDRequestURLs(t *testing.T) {
	paths := make(chan string, 4)
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		paths <- r.Host + r.URL.Path
		id := "did:web:example.com"
		if strings.Contains(r.URL.Path, "/agents/") {
			id = asked
		}
		serve(200, "application/did+json; charset=utf-8", document(id))(rw, r)
	})
	for _, c := range []struct {
		did   string
		bases map[string]string
		want  string
	}{
		{asked, map[string]string{"example.com": "https://registry.example.com/air/"}, "registry.example.com/air/api/v1/agents/" + airID + "/did-document"},
		{asked, nil, "example.com/agents/" + airID + "/did.json"},
		{asked, map[string]string{"example.com:8443": "https://registry.example.com"}, "example.com/agents/" + airID + "/did.json"},
		{"did:web:example.com", map[string]string{"example.com": "https://registry.example.com"}, "example.com/.well-known/did.json"},
	} {
		result, err := w.resolver(t, c.bases).Resolve(t.Context(), c.did)
		if err != nil || result.Document.ID != c.did {
			t.Errorf("%s: %v", c.did, err)
		}
		if got := <-paths; got != c.want || result.URL != "https://"+c.want {
			t.Errorf("%s was asked for at %s (%s), want %s", c.did, got, result.URL, c.want)
		}
	}
}

func TestSecondURLIsTriedOnlyAfterNotFound(t *testing.T) {
	var paths []string
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if r.URL.Path == "/.well-known/did.json" {
			http.NotFound(rw, r)
			return
		}
		serve(200, "application/json", document("did:wba:example.com"))(rw, r)
	})
	result, err := w.resolver(t, nil).Resolve(t.Context(), "did:wba:example.com")
	if err != nil || strings.Join(paths, " ") != "/.well-known/did.json /.well-known/agent.json" || !strings.HasSuffix(result.URL, "agent.json") {
		t.Errorf("%v, asked %v", err, paths)
	}
}

// TestTLSVersions checks that documents are requested over TLS 1.2 and later only (A2A §7.1).
func TestTLSVersions(t *testing.T) {
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		server := httptest.NewUnstartedServer(serve(200, "application/json", document(asked)))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		server.StartTLS()
		t.Cleanup(server.Close)
		w := &web{}
		w.connect(t, server)
		_, err := w.resolver(t, nil).Resolve(t.Context(), asked)
		if accepted != (err == nil) || !accepted && !errors.Is(err, resolve.ErrUnreachable) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestUnresolvableDIDs(t *testing.T) {
	good := document(asked)
	for _, c := range []struct {
		name    string
		did     string
		handler http.HandlerFunc
		want    error
		says    string
	}{
		{"absent", asked, serve(404, "application/json", nil), resolve.ErrAbsent, "404"},
		{"deactivated", asked, serve(410, "application/json", nil), resolve.ErrDeactivated, "410"},
		{"a redirect", asked, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.test/doc", http.StatusFound)
		}, resolve.ErrUnusable, "https://evil.test/doc"},
		{"another's document", asked, serve(200, "application/json", document("did:wba:other.test:agents:"+airID)), resolve.ErrUnusable, "did:wba:other.test"},
		{"the document of did:web for did:wba", asked, serve(200, "application/json", document(strings.Replace(asked, "wba", "web", 1))), resolve.ErrUnusable, "did:web"},
		{"ten megabytes", asked, serve(200, "application/json", bytes.Repeat([]byte(" "), 10<<20)), resolve.ErrUnusable, "larger than"},
		{"a page for people", asked, serve(200, "text/html", good), resolve.ErrUnusable, "text/html"},
		{"no JSON", asked, serve(200, "application/json", []byte("<")), resolve.ErrUnusable, "cannot be read"},
		{"forbidden", asked, serve(403, "application/json", good), resolve.ErrUnusable, "403"},
		{"created", asked, serve(201, "application/json", good), resolve.ErrUnusable, "201"}, // 200 alone (A2A §3.3)
		{"accepted", asked, serve(202, "application/json", good), resolve.ErrUnusable, "202"},
		{"a part", asked, serve(206, "application/json", good), resolve.ErrUnusable, "206"},
		{"an unassigned status", asked, serve(299, "application/json", good), resolve.ErrUnusable, "299"},
		{"broken", asked, serve(500, "application/json", good), resolve.ErrUnreachable, "500"},
		{"cut off", asked, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write([]byte("{"))
		}, resolve.ErrUnreachable, ""},
		{"a certificate for another name", "did:wba:other.test:agents:" + airID, serve(200, "application/json", good), resolve.ErrUnreachable, "certificate"},
		{"another method", "did:key:z6Mk", nil, resolve.ErrMethod, "did:wba"},
		{"no DID", "x" + strings.Repeat("y", 1<<16), nil, resolve.ErrMethod, ""},
		{"a single label", "did:web:intranet", nil, resolve.ErrMethod, "dot"},
		{"this machine", "did:web:localhost", nil, resolve.ErrMethod, "localhost"},
		{"an address", "did:web:127.0.0.1", nil, resolve.ErrMethod, "IPv4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(t, c.handler)
			_, err := w.resolver(t, nil).Resolve(t.Context(), c.did)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 1000 {
				t.Errorf("got %.300v, want %v with %q", err, c.want, c.says)
			}
			if c.handler == nil && w.asked.Load() != 0 {
				t.Error("a request was made")
			}
		})
	}
}

// TestAddressFormsAreNotRequested checks that no form of an address of this machine or its network
// is requested for a DID document, with or without a port.
func TestAddressFormsAreNotRequested(t *testing.T) {
	w := newWeb(t, nil)
	for _, form := range fakenet.AddressForms() {
		for _, text := range []string{"did:web:" + form, "did:web:" + form + "%3A443", "did:wba:" + form + ":agents:" + airID} {
			if _, err := w.resolver(t, nil).Resolve(t.Context(), text); !errors.Is(err, resolve.ErrMethod) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if w.asked.Load() != 0 {
		t.Errorf("%d requests were made", w.asked.Load())
	}
}

// TestFailedConnectionsAreExplained checks that an error says why a host could not be reached, and
// names neither our name server nor an address of ours.
func TestFailedConnectionsAreExplained(t *testing.T) {
	ours := &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 1234}
	for _, c := range []struct {
		err  error
		kind error
		want string
	}{
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "example.com", Server: "10.9.8.7:53", IsNotFound: true}}, resolve.ErrNoHost, "no address is known"},
		{&net.DNSError{Err: "server misbehaving", Name: "example.com", Server: "10.9.8.7:53", IsTemporary: true}, resolve.ErrUnreachable, "fail to answer"},
		{&net.OpError{Op: "read", Net: "tcp", Source: ours, Addr: ours, Err: syscall.ECONNRESET}, resolve.ErrUnreachable, "closed the connection"},
		{&net.OpError{Op: "read", Net: "tcp", Source: ours, Addr: ours, Err: os.ErrDeadlineExceeded}, resolve.ErrUnreachable, "in time"},
		{errors.New("the address is blocked"), resolve.ErrUnreachable, "blocked"},
	} {
		https, err := resolve.NewHTTPS(resolve.HTTPSOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, c.err }})
		if err != nil {
			t.Fatal(err)
		}
		r, err := resolve.New(resolve.Options{Fetcher: https})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Resolve(t.Context(), asked); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "10.9.8.7") {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

func TestAnswerIsCachedFiftyToSeventySeconds(t *testing.T) {
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		id := "did:web:example.com:" + strings.Trim(strings.TrimSuffix(r.URL.Path, "did.json"), "/")
		if strings.HasPrefix(r.URL.Path, "/none") {
			http.NotFound(rw, r)
			return
		}
		serve(200, "application/json", document(id))(rw, r)
	})
	r := w.resolver(t, nil)
	start := time.Unix(0, w.now.Load())
	lifetimes := map[time.Duration]bool{}
	for i := range 40 {
		result, err := r.Resolve(t.Context(), fmt.Sprintf("did:web:example.com:a%d", i))
		if err != nil {
			t.Fatal(err)
		}
		kept := result.Until.Sub(start)
		if kept < 50*time.Second || kept > 70*time.Second {
			t.Errorf("kept for %v", kept)
		}
		lifetimes[kept] = true
	}
	if len(lifetimes) < 20 {
		t.Errorf("40 answers have %d lifetimes: they would all end at once", len(lifetimes))
	}
	for did, kept := range map[string][2]time.Duration{
		"did:web:example.com:a0": {49 * time.Second, 70 * time.Second}, "did:web:example.com:none": {9 * time.Second, 10 * time.Second},
	} {
		r.Resolve(t.Context(), did)
		before := w.asked.Load()
		for _, c := range []struct {
			after time.Duration
			again bool
		}{{0, false}, {kept[0], false}, {kept[1], true}} {
			w.now.Store(start.Add(c.after).UnixNano())
			r.Resolve(t.Context(), did)
			if again := w.asked.Load() != before; again != c.again {
				t.Errorf("%s: asked again after %v: %t", did, c.after, again)
			}
		}
		w.now.Store(start.UnixNano())
	}
}

func TestFailedHostIsRetriedSoon(t *testing.T) {
	var fixed atomic.Bool
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		if !fixed.Load() {
			serve(503, "application/json", nil)(rw, r)
			return
		}
		serve(200, "application/json", document(asked))(rw, r)
	})
	r := w.resolver(t, nil)
	for range 3 {
		if _, err := r.Resolve(t.Context(), asked); !errors.Is(err, resolve.ErrUnreachable) {
			t.Fatal(err)
		}
	}
	if n := w.asked.Load(); n != 1 {
		t.Errorf("%d requests at once to a host that fails", n)
	}
	fixed.Store(true)
	w.now.Add(int64(6 * time.Second))
	if _, err := r.Resolve(t.Context(), asked); err != nil {
		t.Error(err)
	}
}

func TestRegistriesAreSeparate(t *testing.T) {
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		serve(200, "application/json", document("did:wba:"+r.Host+":agents:"+airID))(rw, r)
	})
	r := w.resolver(t, nil)
	for _, host := range []string{"example.com", "www.example.com"} { // both are names of the test's certificate
		id := "did:wba:" + host + ":agents:" + airID
		if result, err := r.Resolve(t.Context(), id); err != nil || result.Document.ID != id {
			t.Errorf("%s answered %s, %v", id, result.Document.ID, err)
		}
	}
}

func TestForgetCausesNewRequest(t *testing.T) {
	w := newWeb(t, serve(200, "application/json", document(asked)))
	r := w.resolver(t, nil)
	for i := range int64(3) {
		if _, err := r.Resolve(t.Context(), asked); err != nil || w.asked.Load() != i+1 {
			t.Errorf("%v, %d requests", err, w.asked.Load())
		}
		r.Forget(asked)
	}
	r.Forget("did:key:x") // means nothing
}

// An answer that was under way when its DID was to be forgotten may be the old
// one.
func TestForgetDuringRequest(t *testing.T) {
	began, end := make(chan struct{}, 4), make(chan struct{})
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-end
		serve(200, "application/json", document(asked))(rw, r)
	})
	r := w.resolver(t, nil)
	done := make(chan error)
	go func() { _, err := r.Resolve(context.Background(), asked); done <- err }()
	<-began
	r.Forget(asked)
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resolve(t.Context(), asked); err != nil || w.asked.Load() != 2 {
		t.Errorf("%v, %d requests, want 2", err, w.asked.Load())
	}
}

func TestConcurrentCallersShareRequest(t *testing.T) {
	end := make(chan struct{})
	began := make(chan struct{}, 64)
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-end
		serve(200, "application/json", document(asked))(rw, r)
	})
	r := w.resolver(t, nil)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if result, err := r.Resolve(context.Background(), asked); err != nil || result.Document.ID != asked {
				t.Error(err)
			}
		})
	}
	<-began
	close(end)
	all.Wait()
	if n := w.asked.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// The one whose request it is may go away; the others must not be told so.
func TestCanceledCallerDoesNotCancelOthers(t *testing.T) {
	began, end := make(chan struct{}, 4), make(chan struct{})
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-end:
			serve(200, "application/json", document(asked))(rw, r)
		case <-r.Context().Done():
		}
	})
	r := w.resolver(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { _, err := r.Resolve(ctx, asked); first <- err }()
	<-began
	second := make(chan error)
	go func() { _, err := r.Resolve(context.Background(), asked); second <- err }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	<-began // the second asks for itself
	close(end)
	if err := <-second; err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestOwnAgentsNeedNoRequest(t *testing.T) {
	r, err := resolve.New(resolve.Options{Local: func(_ context.Context, w did.Web) (did.Document, bool, error) {
		return did.Document{ID: w.String()}, w.Host == "localhost", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Resolve(t.Context(), "did:wba:localhost%3A8080:agents:"+airID)
	if err != nil || result.Document.ID != "did:wba:localhost%3A8080:agents:"+airID {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, bases := range []map[string]string{
		{"": "https://a.test"}, {"a.test/x": "https://a.test"}, {"a.test:x": "https://a.test"}, {"a.test": "http://a.test"}, {"a.test": "https://"}, {"a.test": ""},
	} {
		if _, err := resolve.New(resolve.Options{Bases: bases}); err == nil {
			t.Errorf("took %v", bases)
		}
	}
	if _, err := resolve.NewHTTPS(resolve.HTTPSOptions{}); err == nil {
		t.Error("took a client that may dial anything")
	}
	https, err := resolve.NewHTTPS(resolve.HTTPSOptions{Dial: new(net.Dialer).DialContext})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://example.com/", "file:///etc/passwd", "https://u:p@example.com/", "https:///x", "javascript:1", "%"} {
		if _, err := https.Get(t.Context(), address, "*/*", 10); err == nil {
			t.Errorf("asked for %s", address)
		}
	}
}

// TestSwitchedProtocols checks that a host which answers 101 and nothing more does not hold a request
// beyond its time.
func TestSwitchedProtocols(t *testing.T) {
	w := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: none\r\n\r\n")
		io.Copy(io.Discard, conn) // until the client closes it
	})
	ended := make(chan error, 1)
	go func() {
		_, err := w.https.Get(t.Context(), "https://example.com/", "*/*", 1000)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "101 Switching Protocols") {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the request has no end")
	}
}

// TestNoHTTP2 checks that hosts are asked in HTTP/1.1: frames of HTTP/2 could hold a request beyond its
// time.
func TestNoHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	w := &web{}
	w.connect(t, server)
	if page, err := w.https.Get(t.Context(), "https://example.com/", "*/*", 1000); err != nil || string(page.Body) != "HTTP/1.1" {
		t.Errorf("%s %v", page.Body, err)
	}
}
