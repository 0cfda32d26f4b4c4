package privatenet

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestDIDOfAbsentHost resolves DIDs over the API and with the program: one whose host has no address does
// not resolve, one whose name server fails may be tried again.
func TestDIDOfAbsentHost(t *testing.T) {
	w := openWorld(t, false)
	s := w.serveRegistry()
	w.names.set("broken.test", failing(dnsmessage.RCodeServerFailure))
	for _, c := range []struct {
		did, api, identifier, help, exit string
	}{
		{"did:web:absent.test", `"code":"no-did"`, `"error":"notFound"`, "check the host in the DID", "exit status 1"},
		{"did:wba:broken.test", `"code":"unavailable"`, `"error":"internalError"`, "try again in a moment", "exit status 3"},
	} {
		if answer := s.ask(http.MethodGet, "/api/v1/resolve?name="+c.did, ""); !strings.Contains(answer, c.api) || !strings.Contains(answer, c.help) {
			t.Errorf("%s: %s", c.did, answer)
		}
		if answer := s.ask(http.MethodGet, "/1.0/identifiers/"+c.did, "", "Accept", `application/ld+json;profile="https://w3id.org/did-resolution"`); !strings.Contains(answer, c.identifier) {
			t.Errorf("%s: %s", c.did, answer)
		}
		command := s.command("resolve", c.did, "--server", s.base)
		out, err := command.CombinedOutput()
		if err == nil || err.Error() != c.exit || !strings.Contains(string(out), c.help) {
			t.Errorf("gazetteer resolve %s: %v\n%s", c.did, err, out)
		}
	}
}
