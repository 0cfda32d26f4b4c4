package fetch

import (
	"crypto/tls"
	"errors"
	"net/http"
)

// HTTP1 makes a transport use HTTP/1.1 alone, and [RefuseUpgrades]: a host that answers in HTTP/2 can
// hold a request of net/http beyond its timeout, by padding or by the window, and empty frames take
// the time of a processor.
func HTTP1(t *http.Transport) http.RoundTripper {
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = new(tls.Config)
	}
	t.TLSClientConfig.NextProtos = []string{"http/1.1"} // a clone of a transport offers HTTP/2, too
	return RefuseUpgrades(t)
}

// DefaultHTTP1 returns a transport like http.DefaultTransport for servers that may be hostile.
func DefaultHTTP1() http.RoundTripper {
	return HTTP1(http.DefaultTransport.(*http.Transport).Clone())
}

// RefuseUpgrades returns a transport that fails for answers with 101 Switching Protocols: no request
// here asks for another protocol. net/http leaves the connection of such an answer to its caller, so
// that neither the context nor a timeout ends a read of its body.
func RefuseUpgrades(t http.RoundTripper) http.RoundTripper { return upgradeRefuser{t} }

type upgradeRefuser struct{ http.RoundTripper }

var errUpgrade = errors.New("it answered 101 Switching Protocols, which was not asked for")

func (t upgradeRefuser) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		response.Body.Close()
		return nil, errUpgrade
	}
	return response, err
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (t upgradeRefuser) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
