package fakenet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEverydayServicesAnswer checks that a service of the demo answers over the HTTP binding of AGIS as
// its document promises: what was sent comes back under its name, and everything declared is there.
func TestEverydayServicesAnswer(t *testing.T) {
	doc, err := readEmbedded("everyday/taxi/service.agis")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newAnswering(doc, http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		members            []string
	}{
		"an order":             {"ORDER", "/taxi", `{"pickup": "Station", "destination": "Harbour"}`, 200, []string{"arrives_at", "fare", "ride_id"}},
		"a value in the path":  {"CANCEL", "/ride/RIDE-1", `{}`, 200, []string{"status"}},
		"no body":              {"CANCEL", "/ride/RIDE-1", ``, 200, []string{"status"}},
		"without the required": {"ORDER", "/taxi", `{"pickup": "Station"}`, 400, []string{"error", "missing"}},
		"another method":       {"CANCEL", "/taxi", `{}`, 404, []string{"error"}},
		"an empty value":       {"CANCEL", "/ride/", `{}`, 404, []string{"error"}},
		"no object":            {"ORDER", "/taxi", `[1]`, 400, []string{"error"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.body))
			r.Header.Set("X-AGIS-Method", test.method)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			var answer map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != test.status || len(answer) != len(test.members) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			for _, m := range test.members {
				if answer[m] == nil {
					t.Errorf("no %s in %s", m, w.Body)
				}
			}
		})
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/service.agis", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a request without the binding was not passed on: %d", w.Code)
	}
}
