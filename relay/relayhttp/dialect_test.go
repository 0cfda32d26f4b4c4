package relayhttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gazetteer/relay"
)

// TestUnexpectedErrors checks that an error that no rule names is a failure of the relay in both dialects (A2A
// §9.1), and that its answer does not quote it (§9.3).
func TestUnexpectedErrors(t *testing.T) {
	for _, draft := range []bool{true, false} {
		w := httptest.NewRecorder()
		dialect{draft}.writeError(w, relay.Accepted{}, errors.New("write /var/lib/gazetteer: input/output error"))
		if body := w.Body.String(); w.Code != http.StatusInternalServerError || !strings.Contains(body, `"error":"Relay Error"`) || strings.Contains(body, "/var") {
			t.Errorf("draft %t: %d %s", draft, w.Code, body)
		}
	}
}
