package web_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/toolhost"
	"gazetteer/web"
)

// publishTable stores a document with one operation, as a crawl does.
func publishTable(t *testing.T, s store.Store, endpoint string) {
	t.Helper()
	text := []byte(`{"aiendpoint": "1.0", "service": {"name": "S", "description": "Tables"}, "capabilities": [
		{"id": "find_table", "description": "Find a table <b>", "endpoint": "` + endpoint + `", "method": "GET", "params": {"city": "string, required"}}]}`)
	d, err := document.Read(document.Input{Kind: document.AI, Host: "api.example", URL: "https://api.example/.well-known/ai", Bytes: text, MediaType: "application/json"})
	if err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(context.Background(), store.Put(store.DocumentKey("api.example", "ai"), value), store.Put(store.BlobKey(d.Digest), text)); err != nil {
		t.Fatal(err)
	}
}

// silentConn is the connection of a runtime that gets no calls.
type silentConn struct{}

func (silentConn) Send([]byte, bool) bool           { return true }
func (silentConn) Close(toolhost.CloseKind, string) {}

// The operator approves and revokes contracts on a page without scripts. A change is approved only as
// the page has shown it, and no form of another site is taken.
func TestContractsPage(t *testing.T) {
	ctx := context.Background()
	db := teststore.New(t)
	blocked := false
	tools, err := toolhost.Open(ctx, toolhost.Options{Store: db, Dir: t.TempDir(), Blocked: func(context.Context, string) (bool, error) { return blocked, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	publishTable(t, db, "/tables/:city")
	if _, _, err := tools.Propose(ctx, "api.example", ""); err != nil {
		t.Fatal(err)
	}
	h := mount(t, sample{word: plainWord, hits: 1}, web.Options{Contracts: tools}).(listeners)
	page := func(want ...string) string {
		t.Helper()
		w := get(t, h.operator, "/admin/contracts")
		if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%d, Cache-Control %q", w.Code, w.Header().Get("Cache-Control"))
		}
		for _, fault := range faults(parse(t, w.Body.String())) {
			t.Error(fault)
		}
		for _, text := range want {
			if !strings.Contains(unbroken(w.Body.String()), text) {
				t.Errorf("the page does not show %q:\n%s", text, w.Body)
			}
		}
		return w.Body.String()
	}
	submit := func(status int, form url.Values, headers ...string) string {
		t.Helper()
		r := httptest.NewRequest("POST", "/admin/contracts", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.operator.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%v: %d, want %d: %s", form, w.Code, status, w.Body)
		}
		return w.Body.String()
	}
	state := func() string {
		c, _ := tools.Contract("find_table")
		return c.State + " " + c.Pin.Copy.Call.URL
	}
	want := func(wanted string) {
		t.Helper()
		if got := state(); got != wanted {
			t.Errorf("the contract is %s, want %s", got, wanted)
		}
	}
	approve := url.Values{"name": {"find_table"}, "do": {"approve"}}
	page("find_table", "proposed", `data-label="From">api.example<br>find_table</td>`, `value="approve"`)
	submit(400, approve, "Sec-Fetch-Site", "cross-site")
	submit(400, approve, "Origin", "https://evil.example")
	want("proposed https://api.example/tables/{city}")
	submit(303, approve)
	want("approved https://api.example/tables/{city}")
	page(`data-label="Runtimes">http</td>`, "<p>None. <code>gazetteer altar identity add <span class=\"one-line\">--runtime")

	r := tools.Attach(toolhost.Identity{ID: toolhost.HTTPRuntime, Kind: toolhost.RuntimeIdentity}, silentConn{})
	r.Receive([]byte(`{"type":"AnnounceRuntime","runtime_id":"http-1","protocol_version":"1.0"}`))
	r.Receive([]byte(`{"type":"FulfillTools","tool_names":["find_table"]}`))
	since := tools.Runtimes()[0].Connected.Format(time.DateTime)
	page(`<code>http-1</code></th>`, `data-label="Identity">http</td>`, `>`+since+`</td>`, `data-label="Tools">find_table</td>`)
	r.Detach()

	publishTable(t, db, "https://other.example/tables/:city")
	shown := page("a change waits", "https://other.example/tables/:city", "Approve the change")
	digest := regexp.MustCompile(`name="digest" value="([^"]+)"`).FindStringSubmatch(shown)
	if digest == nil {
		t.Fatalf("the form does not say which change it approves:\n%s", shown)
	}
	publishTable(t, db, "https://evil.example/tables/:city")
	approve.Set("digest", digest[1])
	if body := unbroken(submit(409, approve)); !strings.Contains(body, "has changed since") || !strings.Contains(body, "evil.example") {
		t.Errorf("%s", body)
	}
	want("approved https://api.example/tables/{city}")
	publishTable(t, db, "https://other.example/tables/:city")
	submit(303, approve)
	want("approved https://other.example/tables/{city}")

	blocked = true
	page("suspended: api.example is not visited any more")
	blocked = false
	submit(303, url.Values{"name": {"find_table"}, "do": {"revoke"}})
	want("revoked https://other.example/tables/{city}")
	submit(409, url.Values{"name": {"nothing"}, "do": {"revoke"}})
	submit(409, url.Values{"name": {"find_table"}})
	if w := get(t, h, "/admin/contracts"); w.Code != 404 {
		t.Errorf("the public gets %d", w.Code)
	}
	none := mount(t, sample{word: plainWord, hits: 1}, web.Options{}).(listeners)
	if w := get(t, none.operator, "/admin/contracts"); w.Code != 200 || !strings.Contains(w.Body.String(), "no tool host") {
		t.Errorf("without a tool host: %d %s", w.Code, w.Body)
	}
}
