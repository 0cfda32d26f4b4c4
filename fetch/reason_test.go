package fetch_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gazetteer/fetch"
)

// TestReason checks that failures are described in plain words, without chains of Go's errors and
// without our own addresses.
func TestReason(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
	}))
	defer cut.Close()
	rubbish := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Write([]byte("HTTP/1.1 OK 200\r\n\r\n"))
			c.Close()
		}
	}))
	defer rubbish.Close()
	for address, want := range map[string]string{
		"http://" + closed.Addr().String(): "the host refuses the connection",
		secure.URL:                         "certificate",
		strings.Replace(plain.URL, "http:", "https:", 1): "plain HTTP where TLS is expected",
		cut.URL:     "closed the connection before",
		rubbish.URL: "is no HTTP that can be read",
	} {
		_, err := (&http.Client{Transport: &http.Transport{}}).Get(address)
		if err == nil {
			t.Fatalf("%s answers", address)
		}
		got := fetch.Reason(err)
		if !strings.Contains(got, want) || strings.Contains(got, "127.0.0.1:") || strings.Contains(got, "Get \"") || strings.Contains(got, "read tcp") {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
	dns := &net.DNSError{Err: "no such host", Name: "a.example.", Server: "10.255.255.53:53", IsNotFound: true}
	if got := fetch.Reason(&net.OpError{Op: "dial", Net: "tcp", Err: dns}); got != `no address is known for the name "a.example"` {
		t.Errorf("a name that is not there is told as %q", got)
	}
}
