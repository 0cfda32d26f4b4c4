package selfdescription_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gazetteer/api/selfdescription"
	"gazetteer/document"
	"gazetteer/protocol"
)

// read returns a document of a server with a public address.
func read(t *testing.T, public, path string) string {
	t.Helper()
	gin.SetMode(gin.TestMode)
	d, err := selfdescription.New(selfdescription.Options{PublicURL: public})
	if err != nil {
		t.Fatal(err)
	}
	e := gin.New()
	d.Mount(e)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: %d", path, w.Code)
	}
	return w.Body.String()
}

// TestSummaryIsValidOverHTTP checks that the summary of a server without TLS has no error.
func TestSummaryIsValidOverHTTP(t *testing.T) {
	for _, public := range []string{"http://127.0.0.1:8080", "https://registry.example"} {
		text := read(t, public, "/.well-known/agis.json")
		d, err := document.Read(document.Input{Kind: document.AGISSummary, Host: "registry.example", Bytes: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Findings {
			if f.Severity == protocol.Error {
				t.Errorf("%s: %s %s", public, f.Code, f.Message)
			}
		}
	}
}

// TestRobotsAllowWhatIsAdvertised checks that robots.txt forbids no operation that the AI Discovery
// document offers.
func TestRobotsAllowWhatIsAdvertised(t *testing.T) {
	const public = "https://registry.example"
	var ai struct {
		Capabilities []struct{ Endpoint string }
	}
	if err := json.Unmarshal([]byte(read(t, public, "/.well-known/ai")), &ai); err != nil || len(ai.Capabilities) == 0 {
		t.Fatal(err)
	}
	for line := range strings.Lines(read(t, public, "/robots.txt")) {
		path, forbids := strings.CutPrefix(strings.TrimSpace(line), "Disallow: ")
		for _, c := range ai.Capabilities {
			if forbids && strings.HasPrefix(c.Endpoint, path) {
				t.Errorf("%s is advertised and forbidden", c.Endpoint)
			}
		}
	}
}
