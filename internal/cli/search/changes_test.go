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

// TestLongChangesListEverything checks that --long lists what a title only counts, and that the short form
// says so.
func TestLongChangesListEverything(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"changes":[{"severity":"high","title":"shop.example changed, and 26 more changes","page":"/services/shop.example/diff",
			"changes":[{"kind":"endpoint-host-changed","severity":"high","operation":"BUY /cart","from":"a.example","to":"b.example"},
			{"kind":"intent-changed","severity":"low","operation":"FIND /wares","from":"finds","to":"seeks"}],"more_changes":25}],"next":"1"}`)
	}))
	defer server.Close()
	run := func(args ...string) string {
		var out strings.Builder
		app := &cli.App{Streams: cli.Streams{Out: &out, Err: io.Discard}, Server: server.URL, Timeout: time.Minute}
		c := (&verbs{app}).changesCommand()
		c.SetArgs(args)
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if short := run(); !strings.Contains(short, "every change of an entry: --long") || strings.Contains(short, "seeks") {
		t.Errorf("the short form:\n%s", short)
	}
	long := run("--long")
	for _, want := range []string{"endpoint host changed BUY /cart", "from a.example", "to   b.example", "low     intent changed FIND /wares", "to   seeks", "and 25 more changes: the server shows all at /services/shop.example/diff"} {
		if !strings.Contains(long, want) {
			t.Errorf("--long does not show %q:\n%s", want, long)
		}
	}
}

// TestFollowingSurvivesRestart checks that changes --follow goes on after a server that did not answer for a
// while, as during a restart, and says so once.
func TestFollowingSurvivesRestart(t *testing.T) {
	streams := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch streams++; streams {
		case 1, 4:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: %d\ndata: {\"severity\":\"low\",\"title\":\"change %d\"}\n\n", streams, streams)
		case 5:
			w.WriteHeader(http.StatusGone)
		default:
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
	}))
	defer server.Close()
	var out, errs strings.Builder
	app := &cli.App{Streams: cli.Streams{Out: &out, Err: &errs}, Server: server.URL, Timeout: time.Minute}
	err := app.WithServer(t.Context(), cli.Read, func(c *cli.Client) error {
		return (&verbs{app}).followChanges(t.Context(), c, changeFlags{}, "0", time.Millisecond)
	})
	if err == nil || !strings.Contains(out.String(), "change 1") || !strings.Contains(out.String(), "change 4") {
		t.Errorf("%v after\n%s", err, out.String())
	}
	if n := strings.Count(errs.String(), "trying again every"); n != 1 {
		t.Errorf("%d lines about the pause, want 1:\n%s", n, errs.String())
	}
}
