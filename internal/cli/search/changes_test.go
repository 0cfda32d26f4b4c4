package search

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/cli"
)

// TestChangeThatIsTooLongEndsFollowing checks that a change which cannot be read ends the command: the
// next request would get the same one again.
func TestChangeThatIsTooLongEndsFollowing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/changes/stream" {
			fmt.Fprint(w, `{"changes":[],"next":"1"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 2\ndata: \"%s\"\n\n", strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	app := &cli.App{Streams: cli.Streams{Out: io.Discard, Err: io.Discard}, Server: server.URL, Timeout: time.Minute}
	c := (&verbs{app}).changesCommand()
	c.SetArgs([]string{"--follow"})
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("following ended with %v", err)
	}
}
