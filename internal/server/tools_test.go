package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"gazetteer/internal/config"
)

// An approved contract whose document names an address of this machine or of its network does not
// reach it.
func TestToolCallsRefusePrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	roots := inside.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport, err := (&Server{Config: config.Default()}).newToolTransport(Environment{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, host := range privateHosts {
		request := httptest.NewRequest(http.MethodPost, "https://"+host+":"+port+"/", http.NoBody)
		if response, err := transport.RoundTrip(request.WithContext(t.Context())); err == nil {
			response.Body.Close()
			t.Errorf("%s answers %s", host, response.Status)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("this machine was reached %d times", n)
	}
}
