package a2ahttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestClientsSpeakHTTP1 checks that a client without a transport of its own does not speak HTTP/2, also
// with a server that offers it.
func TestClientsSpeakHTTP1(t *testing.T) {
	served := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { served = r.ProtoMajor }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := http1().(*http.Transport)
	trusted := transport.TLSClientConfig.Clone() // with the protocols that it offers
	transport.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	defer func() {
		transport.CloseIdleConnections()
		transport.TLSClientConfig = trusted
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := sendWithoutRedirects(nil, request, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if served != 1 {
		t.Errorf("the request came in HTTP/%d", served)
	}
}
