package search

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/internal/cli"
	"gazetteer/protocol"
)

// A document with errors or warnings shows how many it has.
func TestDescribeFindings(t *testing.T) {
	warning, failure, note := protocol.Finding{Severity: protocol.Warning}, protocol.Finding{Severity: protocol.Error}, protocol.Finding{Severity: protocol.Info}
	for want, findings := range map[string][]protocol.Finding{
		"":                      {note},
		", 1 warning":           {note, warning},
		", 2 errors, 1 warning": {failure, warning, failure},
		", 1 error, 2 warnings": {warning, failure, warning},
	} {
		if got := describeFindings(findings); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestListOperations checks that an operation that two documents describe is listed once, and that a verb
// of a summary is listed if no document describes it.
func TestListOperations(t *testing.T) {
	views := []answer.DocumentView{
		{Document: document.Document{Kind: document.AGIS, Operations: []document.Operation{
			{Verb: "BOOK", Path: "/rooms", Intent: "Books a room", Call: document.Call{Protocol: "agtp", URL: "agtp://inn.example"}},
		}}},
		{Document: document.Document{Kind: document.AGISSummary, Operations: []document.Operation{{Verb: "BOOK"}, {Verb: "CANCEL"}}}},
		{Document: document.Document{Kind: document.AI, Operations: []document.Operation{
			{ID: "book_room", Verb: "BOOK", Intent: "Books a room", Call: document.Call{Protocol: "http", Method: "POST", URL: "https://inn.example/rooms"}},
			{ID: "list_rooms", Verb: "LIST", Intent: "Lists rooms", Call: document.Call{Protocol: "http", Method: "GET", URL: "https://inn.example/rooms"}},
		}}},
	}
	var got []string
	for _, r := range listOperations(views) {
		got = append(got, r.name)
	}
	if want := []string{"BOOK /rooms", "CANCEL", "LIST list_rooms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShowNamesProvedAgents checks that show names the agents whom the owner of the host's domain names.
func TestShowNamesProvedAgents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/orchestrate":
			if r.URL.Query().Get("host") != "shop.example" || r.URL.Query().Get("join") != "proved" {
				t.Errorf("asked for %s", r.URL.RawQuery)
			}
			fmt.Fprint(w, `{"operations":[{"host":"shop.example","agents":[
				{"did":"did:wba:r.example:agents:AIR-1","air_id":"AIR-1111-1111-1111","username":"seller","strength":"proved","inbox":"https://r.example/inbox/1"},
				{"did":"did:wba:r.example:agents:AIR-2","air_id":"AIR-2222-2222-2222","strength":"claimed"}]}]}`)
		default:
			fmt.Fprint(w, `{"host":"shop.example","name":"Shop","operations":1,"documents":[{"kind":"ai","url":"https://shop.example/.well-known/ai"}]}`)
		}
	}))
	defer server.Close()
	var out strings.Builder
	app := &cli.App{Streams: cli.Streams{Out: &out, Err: io.Discard}, Server: server.URL, Timeout: time.Minute}
	c := (&verbs{app}).showCommand()
	c.SetArgs([]string{"shop.example"})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "agent    did:wba:r.example:agents:AIR-1, https") || !strings.Contains(text, "https://r.example/inbox/1") || strings.Contains(text, "AIR-2") {
		t.Errorf("show prints\n%s", text)
	}
}
