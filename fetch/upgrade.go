package fetch

import (
	"errors"
	"net/http"
)

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
