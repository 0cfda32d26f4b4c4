package fakenet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// open starts a Net that is closed with the test.
func open(t testing.TB, o Options) *Net {
	t.Helper()
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

// client reaches n, trusts its root, speaks HTTP/2 and follows no redirect.
func client(t testing.TB, n *Net) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext:       n.Dial(nil),
		TLSClientConfig:   &tls.Config{RootCAs: n.Roots()},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func hello(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello from "+r.Host) }

func TestServesWithVerifiedCertificate(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Handle("shop.test", http.HandlerFunc(hello))
	before := time.Now()
	resp, err := client(t, n).Get("https://shop.test/.well-known/ai?x=1")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "hello from shop.test" {
		t.Errorf("body = %q", body)
	}
	if chain := resp.TLS.VerifiedChains; len(chain) != 1 || len(chain[0]) != 3 {
		t.Errorf("verified chains = %v, want one of leaf, intermediate, root", chain)
	}
	got := n.Requests()
	if len(got) != 1 {
		t.Fatalf("requests = %+v, want one", got)
	}
	q := got[0]
	if q.Host != "shop.test" || q.Path != "/.well-known/ai?x=1" || q.Method != "GET" || !q.TLS ||
		q.Proto != "HTTP/2.0" || q.Conn == 0 || q.Header.Get("User-Agent") == "" || q.Begun.Before(before) {
		t.Errorf("request = %+v", q)
	}
}

func TestRequestLogRecordsConnectionAndEnd(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Serve("a.test", Site{Handler: http.HandlerFunc(hello), HTTP1: true})
	c := client(t, n)
	for range 2 {
		resp, err := c.Get("https://A.test./")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	// The log's end of the second request may lag behind the client by the
	// return of the handler; the first has ended, since it shares the connection.
	q := n.Requests()
	if len(q) != 2 || q[0].Conn != q[1].Conn {
		t.Fatalf("requests = %+v, want two on one connection", q)
	}
	if q[0].Proto != "HTTP/1.1" || q[0].Host != "a.test" {
		t.Errorf("proto, host = %s, %s; want HTTP/1.1, a.test", q[0].Proto, q[0].Host)
	}
	if q[0].Ended.Before(q[0].Begun) || q[0].Status != 200 || q[0].Bytes == 0 {
		t.Errorf("first request = %+v, want it ended with 200", q[0])
	}
}

func TestUntrustedWithoutRoots(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Handle("a.test", http.HandlerFunc(hello))
	tr := &http.Transport{DialContext: n.Dial(nil), TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}
	_, err := (&http.Client{Transport: tr}).Get("https://a.test/")
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("error = %v, want an unknown authority", err)
	}
}

func TestBadCertificates(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Serve("expired.test", Site{Handler: http.HandlerFunc(hello), Certificate: ExpiredCertificate})
	n.Serve("wrong.test", Site{Handler: http.HandlerFunc(hello), Certificate: WrongNameCertificate})
	n.Serve("self.test", Site{Handler: http.HandlerFunc(hello), Certificate: SelfSignedCertificate})
	c := client(t, n)
	get := func(host string) error { _, err := c.Get("https://" + host + "/"); return err }

	if invalid := (x509.CertificateInvalidError{}); !errors.As(get("expired.test"), &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("expired.test: %v", get("expired.test"))
	}
	if wrong := (x509.HostnameError{}); !errors.As(get("wrong.test"), &wrong) {
		t.Errorf("wrong.test: %v", get("wrong.test"))
	}
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(get("self.test"), &unknown) {
		t.Errorf("self.test: %v", get("self.test"))
	}
	if len(n.Requests()) != 0 {
		t.Errorf("requests = %+v, want none", n.Requests())
	}
}

func TestAuthorityIsConstrainedToTestDomain(t *testing.T) {
	n := open(t, Options{Empty: true})
	mids := x509.NewCertPool()
	mids.AddCert(n.ca.mid)
	for host, ok := range map[string]bool{"a.test": true, "a.b.test": true, "example.com": false, "test.example.com": false, "atest": false} {
		leaf, err := n.ca.leafFor(host, GoodCertificate, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, err = leaf.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: n.Roots(), Intermediates: mids})
		if ok && err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if invalid := (x509.CertificateInvalidError{}); !ok && (!errors.As(err, &invalid) || invalid.Reason != x509.CANotAuthorizedForThisName) {
			t.Errorf("%s: error = %v, want refused by the name constraint", host, err)
		}
	}
}

func TestDial(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Handle("a.test", http.HandlerFunc(hello))
	n.Serve("down.test", Site{Handler: http.HandlerFunc(hello), Down: true})
	marker := errors.New("next was asked")
	next := func(context.Context, string, string) (net.Conn, error) { return nil, marker }
	ctx := context.Background()

	for _, c := range []struct {
		addr string
		next func(context.Context, string, string) (net.Conn, error)
		want error
	}{
		{"a.test:8443", next, syscall.ECONNREFUSED},
		{"a.test:22", nil, syscall.ECONNREFUSED},
		{"down.test:443", next, syscall.ECONNREFUSED},
		{"example.com:443", nil, syscall.ECONNREFUSED},
		{"127.0.0.1:443", nil, syscall.ECONNREFUSED},
		{"example.com:443", next, marker},
		{"127.0.0.1:443", next, marker},
		{"a.test.example.com:443", next, marker},
	} {
		if _, err := n.Dial(c.next)(ctx, "tcp", c.addr); !errors.Is(err, c.want) {
			t.Errorf("dial %s: error = %v, want %v", c.addr, err, c.want)
		}
	}
	var dns *net.DNSError
	if _, err := n.Dial(next)(ctx, "tcp", "nobody.test:443"); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("dial nobody.test: error = %v, want a name that is not found", err)
	}
	if _, err := n.Dial(next)(ctx, "tcp", "a.test"); err == nil {
		t.Error("dial without a port succeeded")
	}
}

func TestPlainHTTPIsRecorded(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Handle("a.test", http.HandlerFunc(hello))
	resp, err := client(t, n).Get("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if q := n.Requests(); len(q) != 1 || q[0].TLS || q[0].Host != "a.test" {
		t.Errorf("requests = %+v, want one without TLS", q)
	}
}

func TestOtherHostOnTheConnection(t *testing.T) {
	n := open(t, Options{Empty: true})
	n.Handle("a.test", http.HandlerFunc(hello))
	n.Handle("b.test", http.HandlerFunc(hello))
	r, _ := http.NewRequest("GET", "https://a.test/", nil)
	r.Host = "b.test"
	resp, err := client(t, n).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("status = %d, want 421", resp.StatusCode)
	}
}

func TestServeRefusesForeignNames(t *testing.T) {
	n := open(t, Options{Empty: true})
	defer func() {
		if recover() == nil {
			t.Error("Handle took example.com")
		}
	}()
	n.Handle("example.com", http.HandlerFunc(hello))
}

func TestCloseEndsOpenRequests(t *testing.T) {
	n, err := Open(Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	waiting, hijacked := make(chan struct{}), make(chan struct{})
	n.Handle("slow.test", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(waiting)
		<-r.Context().Done()
	}))
	n.Serve("raw.test", Site{HTTP1: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		close(hijacked)
		io.Copy(io.Discard, c) // until Close ends the connection
	})})
	c := client(t, n)
	ended := make(chan error, 2)
	for _, host := range []string{"slow.test", "raw.test"} {
		go func() { _, err := c.Get("https://" + host + "/"); ended <- err }()
	}
	<-waiting
	<-hijacked
	if err := n.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a request was answered after Close")
		}
	}
	for _, q := range n.Requests() {
		if q.Ended.IsZero() {
			t.Errorf("%s: Close did not wait for the handler", q.Host)
		}
	}
	if _, err := n.Dial(nil)(context.Background(), "tcp", "slow.test:443"); err == nil {
		t.Error("dial succeeded after Close")
	}
}

// A bubble can hold a Net whose connections are pipes: a day passes at once.
func TestMemoryInSyncTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Options{Empty: true, Memory: true})
		n.Handle("a.test", http.HandlerFunc(hello))
		c := client(t, n)
		for range 2 {
			resp, err := c.Get("https://a.test/")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "hello from a.test" {
				t.Fatalf("body %q, error %v", body, err)
			}
			resp.Body.Close()
			time.Sleep(24 * time.Hour) // of the bubble's clock
		}
		q := n.Requests()
		if len(q) != 2 || q[1].Begun.Sub(q[0].Begun) < 24*time.Hour {
			t.Errorf("requests = %+v, want two, a day apart", q)
		}
		if q[0].Remote != "pipe" {
			t.Errorf("remote = %q, want pipe", q[0].Remote)
		}
	})
}
