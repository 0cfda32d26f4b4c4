package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"gazetteer/internal/config"
)

// A stranger's wake-up address does not reach this machine in any notation.
func TestWakeUpsRefusePrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	h := &Server{Config: config.Default()}
	transport, err := h.newWakeTransport(Environment{})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"} {
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
