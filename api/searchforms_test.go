package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/protocol"
)

// A filter means the same in the query language, as a parameter and in a body, in
// any letter case.
func TestFiltersAgreeAcrossInterfaces(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, c := range []struct{ key, value string }{
		{"verb", "book"}, {"effect", "Unknown"}, {"idempotent", "UNKNOWN"}, {"state", "Flawed"},
		{"source", "Owner-Published"}, {"ns", "Ristorante"}, {"protocol", "HTTP"}, {"lang", "EN"}, {"host", "RISTORANTE.example."},
	} {
		spoken := readAs[api.SearchPage](h, "/api/v1/search?q="+url.QueryEscape(c.key+":"+c.value), 200)
		given := readAs[api.SearchPage](h, "/api/v1/search?"+c.key+"="+url.QueryEscape(" "+c.value+" "), 200)
		sent := decoded[api.SearchPage](h, h.post("/api/v1/search", fmt.Sprintf(`{%q: [%q]}`, c.key, c.value), 200))
		if spoken.Total == 0 || given.Total != spoken.Total || sent.Total != spoken.Total {
			t.Errorf("%s:%s finds %d in words, %d as a parameter, %d in a body", c.key, c.value, spoken.Total, given.Total, sent.Total)
		}
	}
	for _, text := range []string{"table\tbook", "table\r\nbook", "  table\n\nbook\n"} {
		lines := readAs[api.SearchPage](h, "/api/v1/search?fields=all&q="+url.QueryEscape(text), 200)
		if lines.Total == 0 || lines.Query.Words != "table book" {
			t.Errorf("%q finds %d, read as %q", text, lines.Total, lines.Query.Words)
		}
	}
	h.get("/api/v1/search?verb=BO%0AOK", 400)
}

func TestNumericParametersRequireDigits(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, query := range []string{"limit=%2B5", "within_tokens=%2B500", "limit=%2D0", "limit=5%20", "limit=0x5", "limit=5_0"} {
		p := h.get("/api/v1/search?q=table&"+query, 400).problem(t)
		name, _, _ := strings.Cut(query, "=")
		if p.Code != "bad-parameter" || p.Where == nil || p.Where.Parameter != name {
			t.Errorf("%s: %s at %+v (%s)", query, p.Code, p.Where, p.Detail)
		}
	}
	if page := readAs[api.SearchPage](h, "/api/v1/search?verb=BOOK&limit=02", 200); len(page.Hits) != 2 {
		t.Errorf("limit=02: %d hits", len(page.Hits))
	}
}

// TestFacetsOfEmptyQuery checks that the facets of an empty result are empty lists, as those of an
// exploration are.
func TestFacetsOfEmptyQuery(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, query := range []string{"verb=XYZZY", "q=the", "q=%21%21"} {
		r := h.get("/api/v1/search?facets=verb,host&"+query, 200)
		if !strings.Contains(string(r.body), `"facets":{"host":[],"verb":[]}`) {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	if r := h.post("/api/v1/explore", `{"fields": ["verb", "host"], "q": "the"}`, 200); !strings.Contains(string(r.body), `"facets":{"host":[],"verb":[]}`) {
		t.Errorf("explored: %s", r.body)
	}
}

// TestTooFewTokensNameTheMinimum checks that if not even one result fits, the answer gives the
// number of tokens that is enough.
func TestTooFewTokensNameTheMinimum(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, query := range []string{"q=verb:BOOK", "q=verb:BOOK&facets=verb", "q=verb:BOOK&facets=verb,host,ns"} {
		r := h.get("/api/v1/search?"+query+"&within_tokens=100", 200)
		page := decoded[api.CompactPage](h, r)
		if len(page.Hits) > 0 {
			t.Fatalf("%s: a hit fits 100 tokens: %s", query, r.body)
		}
		var enough int
		_, after, _ := strings.Cut(page.Note, "ask for ")
		if _, err := fmt.Sscanf(after, "%d tokens", &enough); err != nil || protocol.Tokens(string(r.body)) > 100 {
			t.Fatalf("%s: %s takes %d tokens", query, r.body, protocol.Tokens(string(r.body)))
		}
		more := readAs[api.CompactPage](h, fmt.Sprintf("/api/v1/search?%s&within_tokens=%d", query, enough), 200)
		if len(more.Hits) == 0 || more.Tokens > enough {
			t.Errorf("%s: with the %d tokens that were asked for: %+v", query, enough, more)
		}
	}
}

// The forms for callers keep within the tokens, too.
func TestHitFormsStayWithinTokens(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, as := range []string{"mcp", "functions", "curl"} {
		all := h.get("/api/v1/search?verb=BOOK&limit=100&as="+as, 200)
		for _, tokens := range []int{400, 1000, 4000, 100000} {
			path := fmt.Sprintf("/api/v1/search?verb=BOOK&as=%s&within_tokens=%d", as, tokens)
			var text strings.Builder
			for pages := 0; path != ""; pages++ {
				r := h.get(path, 200)
				if took := protocol.Tokens(string(r.body)); took > tokens || pages > 100 {
					t.Fatalf("%s, %d tokens: page %d takes %d", as, tokens, pages, took)
				}
				switch as {
				case "mcp":
					for _, tool := range decoded[call.MCP](h, r).Tools {
						text.WriteString(tool.Meta.Operation + "\n")
					}
				case "functions":
					for _, f := range decoded[call.Functions](h, r).Functions {
						text.WriteString(decoded[call.Functions](h, r).Calls[f.Name].Operation + "\n")
					}
				default:
					text.WriteString(withoutComments(string(r.body)))
				}
				path, _, _ = strings.Cut(strings.TrimPrefix(r.Header.Get("Link"), "<"), ">")
			}
			want := withoutComments(string(all.body))
			if as != "curl" {
				want = ""
				for _, tool := range decoded[call.MCP](h, h.get("/api/v1/search?verb=BOOK&limit=100&as=mcp", 200)).Tools {
					want += tool.Meta.Operation + "\n"
				}
			}
			if text.String() != want {
				t.Errorf("%s within %d tokens, page after page:\n%s\nwant\n%s", as, tokens, text.String(), want)
			}
		}
		if as == "curl" { // a line of it is short
			continue
		}
		if p := h.get("/api/v1/search?verb=BOOK&within_tokens=100&as="+as, 400).problem(t); p.Where == nil || p.Where.Parameter != "within_tokens" {
			t.Errorf("%s: %s at %+v", as, p.Detail, p.Where)
		}
	}
}

// withoutComments leaves out what a shell takes for comments.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// An operation is chosen once, however its host is spelt.
func TestExportContainsOperationOnce(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	id := readAs[api.SearchPage](h, "/api/v1/search?q=verb:BOOK&limit=1", 200).Hits[0].ID
	host, rest, _ := strings.Cut(id, "/")
	p := h.post("/api/v1/export", fmt.Sprintf(`{"as": "mcp", "operations": [%q, %q]}`, id, strings.ToUpper(host)+"./"+rest), 400).problem(t)
	if p.Code != "bad-field" || p.Where == nil || p.Where.Pointer != "/operations/1" {
		t.Errorf("%+v at %+v", p, p.Where)
	}
	// The MCP server gives ids that are percent-encoded, and REST exports them, too.
	h.publish("inn.example", document.AI, "application/json", `{"aiendpoint": "1.0", "service": {"name": "Inn", "description": "Rooms."},
 "capabilities": [{"id": "book a room", "description": "Books a room", "endpoint": "/rooms", "method": "POST"}]}`, seen)
	if r := h.post("/api/v1/export", `{"as": "curl", "operations": ["inn.example/ai/book%20a%20room"]}`, 200); !strings.Contains(string(r.body), "/rooms'") {
		t.Errorf("an encoded id is exported as %s", r.body)
	}
}

// TestOrchestrateExplainsEmptyResult checks that the answer for operations without an agent gives
// that reason, not missing words.
func TestOrchestrateExplainsEmptyResult(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	page := readAs[api.OrchestratePage](h, "/api/v1/orchestrate?q=table+zzyzx&joined=true", 200)
	if len(page.Operations) != 0 || page.Passed == 0 || !strings.Contains(page.Note, "agent") || strings.Contains(page.Note, "zzyzx") {
		t.Errorf("%d operations, %d passed, note %q", len(page.Operations), page.Passed, page.Note)
	}
	if page := readAs[api.OrchestratePage](h, "/api/v1/orchestrate?q=table+zzyzx", 200); !strings.Contains(page.Note, "zzyzx") {
		t.Errorf("with those that have no agent: note %q", page.Note)
	}
}

// The states of hosts filter a search and the list of services alike, and -is: selects exactly the
// hosts that is: excludes.
func TestStatesFilter(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	if err := h.answers.Standing.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	all := readAs[api.ServiceList](h, "/api/v1/services?limit=100", 200)
	if reachable := readAs[api.ServiceList](h, "/api/v1/services?limit=100&is=reachable", 200); len(all.Services) == 0 || len(reachable.Services) != len(all.Services) {
		t.Errorf("%d of %d services are reachable", len(reachable.Services), len(all.Services))
	}
	page := readAs[api.ServiceList](h, "/api/v1/services?limit=2&is=reachable", 200)
	rest := readAs[api.ServiceList](h, "/api/v1/services?limit=100&is=reachable&cursor="+url.QueryEscape(page.Next), 200)
	if len(page.Services) != 2 || len(rest.Services) != len(all.Services)-2 {
		t.Errorf("pages of %d and %d services, of %d", len(page.Services), len(rest.Services), len(all.Services))
	}
	for _, state := range []string{"reachable", "conformant", "answers", "consistent", "well-formed"} {
		with := readAs[api.ServiceList](h, "/api/v1/services?limit=100&is="+state, 200)
		without := readAs[api.ServiceList](h, "/api/v1/services?limit=100&is=-"+state, 200)
		both := readAs[api.ServiceList](h, "/api/v1/services?limit=100&is=-"+state+"&is="+state, 200)
		if len(with.Services)+len(without.Services) != len(all.Services) || len(both.Services) != 0 {
			t.Errorf("%s: %d with, %d without, %d with both, of %d", state, len(with.Services), len(without.Services), len(both.Services), len(all.Services))
		}
		hits := readAs[api.SearchPage](h, "/api/v1/search?limit=100&q="+url.QueryEscape("verb:BOOK -is:"+state), 200)
		found := readAs[api.SearchPage](h, "/api/v1/search?limit=100&verb=BOOK&is=-"+state, 200)
		if hits.Total != found.Total {
			t.Errorf("-is:%s finds %d in words, %d as a parameter", state, hits.Total, found.Total)
		}
	}
	h.get("/api/v1/services?is=healthy", 400)
	h.get("/api/v1/search?is=healthy", 400)
}
