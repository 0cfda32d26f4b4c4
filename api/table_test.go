package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gazetteer/api/route"
)

// TestTableNamesEveryRoute checks that every row of the table is served on its listeners, and that
// no route is served without a row.
func TestTableNamesEveryRoute(t *testing.T) {
	h := newTestServer(t, options{relay: withRelay})
	served := map[string]bool{}
	for operator, routes := range map[bool]gin.RoutesInfo{false: h.api.Engine().Routes(), true: h.api.Operator.Routes()} {
		for _, r := range routes {
			if r.Method == http.MethodHead || strings.HasSuffix(r.Path, "/openapi.json") {
				continue
			}
			served[r.Method+" "+r.Path] = operator
		}
	}
	ids := map[string]bool{}
	for _, row := range route.Table {
		if ids[row.ID] {
			t.Errorf("two rows have the ID %s", row.ID)
		}
		ids[row.ID] = true
		name := row.Method + " " + strings.NewReplacer("{", ":", "}", "").Replace(row.Path)
		operator, ok := served[name]
		if !ok || operator != row.Operator {
			t.Errorf("%s: served is %v, for the operator alone is %v; the table says %v", name, ok, operator, row.Operator)
		}
		delete(served, name)
		if row.Method == http.MethodGet && row.Body != 0 {
			t.Errorf("%s reads a body", name)
		}
	}
	for name := range served {
		t.Errorf("%s has no row", name)
	}
}

// A row that says so is answered with no-store, whatever its handler does.
func TestRoutesThatForbidCaching(t *testing.T) {
	h := newTestServer(t, options{relay: withRelay})
	for _, row := range route.Table {
		if row.Method != http.MethodGet || !row.NoStore || strings.Contains(row.Path, "{") || row.Stream != "" {
			continue
		}
		base := h.base
		if row.Operator {
			h.base = h.admin
		}
		r := h.request(http.MethodGet, row.Path, "")
		h.base = base
		if r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s, Cache-Control %q", row.Path, r.Status, r.Header.Get("Cache-Control"))
		}
	}
}
