package mcphttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gazetteer/internal/mcphttp"
)

// TestBodiesThatDoNotArrive checks that a client learns why its body was not read, as an error of
// JSON-RPC.
func TestBodiesThatDoNotArrive(t *testing.T) {
	handler := mcphttp.Handler(func(*http.Request) *mcp.Server { return nil }, mcphttp.Options{MaxBody: 100})
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"its time is over": {os.ErrDeadlineExceeded, http.StatusRequestTimeout},
		"it is cut off":    {errors.New("reset"), http.StatusBadRequest},
	} {
		r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", iotest.ErrReader(test.err))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), `"code":-32600`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
