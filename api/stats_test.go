package api_test

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/operator"
	"gazetteer/census"
	"gazetteer/internal/fakestore"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// memberField returns the field of the answer with the figures that has a name in JSON.
func memberField(name string) (reflect.StructField, bool) {
	fields := reflect.TypeFor[api.Stats]()
	for i := range fields.NumField() {
		if field := fields.Field(i); field.Tag.Get("json") == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// TestStatsOverHTTP reads the figures of a store with a year of history, and the hosts behind each of them.
func TestStatsOverHTTP(t *testing.T) {
	h := newTestServer(t, options{})
	if err := fakestore.Fill(t.Context(), h.store, fakestore.Options{Root: "..", Services: 120, At: time.Now().Add(-time.Hour), Hostile: true}); err != nil {
		t.Fatal(err)
	}
	if err := h.answers.Census.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	var stats api.Stats
	decodeInto(t, h.get("/api/v1/stats?limit=5", 200), &stats)
	if stats.Services != 120 || stats.Hosts != 132 || stats.Seq != h.store.Head().Seq || len(stats.Families) < 15 {
		t.Errorf("%+v", stats)
	}
	for _, total := range census.Totals() {
		field, ok := memberField(total.Name)
		if !ok || field.Tag.Get("doc") != total.Definition || stats.Definitions[total.Name] != total.Definition {
			t.Errorf("%s has no definition, or another one in the description of the API", total.Name)
		}
	}
	for _, member := range []string{"signals", "survival", "changes"} {
		if stats.Definitions[member] == "" {
			t.Errorf("%s has no definition", member)
		}
	}
	lists := 0
	for _, f := range stats.Families {
		for _, v := range f.Values {
			var page api.CountedHosts
			decodeInto(t, h.get(v.List, 200), &page)
			if lists++; page.Total != v.Hosts || page.Of != v.Of || v.Of < v.Hosts || v.Hosts > 0 && len(page.Hosts) == 0 {
				t.Errorf("%s %q: %d hosts, its list has %d", f.Family, v.Value, v.Hosts, page.Total)
			}
			if r, _ := lint.Rule(v.Value); f.Family == "rule" && (v.Severity == "" || v.Severity != r.Severity.String() || v.Basis == "" || v.Basis != r.Basis) || f.Family != "rule" && v.Severity+v.Basis != "" {
				t.Errorf("%s %q has the severity %q and the basis %q", f.Family, v.Value, v.Severity, v.Basis)
			}
		}
	}
	if lists < 30 {
		t.Errorf("%d lists", lists)
	}
	hosts := map[string]bool{}
	for address := "/api/v1/stats/hosts?limit=50&figure=" + url.QueryEscape("format:ai"); address != ""; {
		var page api.CountedHosts
		decodeInto(t, h.get(address, 200), &page)
		for _, name := range page.Hosts {
			hosts[name] = true
		}
		address = ""
		if page.Next != "" {
			address = "/api/v1/stats/hosts?limit=50&figure=" + url.QueryEscape("format:ai") + "&cursor=" + page.Next
		}
	}
	if len(hosts) != 120 {
		t.Errorf("the pages list %d hosts", len(hosts))
	}
	var series api.SeriesList
	decodeInto(t, h.get("/api/v1/stats/series?family=state", 200), &series)
	if len(series.Series) != 15 || len(series.Series[0].Points) < 40 || series.HistoryFrom.IsZero() {
		t.Errorf("%d series since %s", len(series.Series), series.HistoryFrom)
	}
	if err := h.answers.Standing.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	for _, category := range []string{"TEST", "finance", "nothing-has-it"} {
		var counted api.CountedHosts
		decodeInto(t, h.get("/api/v1/stats/hosts?limit=1&figure="+url.QueryEscape(census.CategoryFeature(category).String()), 200), &counted)
		listed, cursor := 0, ""
		for more := true; more; more = cursor != "" {
			var page api.ServiceList
			decodeInto(t, h.get("/api/v1/services?limit=7&category="+category+"&cursor="+cursor, 200), &page)
			for _, s := range page.Services {
				if listed++; !slices.Contains(s.Categories, strings.ToLower(category)) {
					t.Errorf("%s is listed under %s and names %v", s.Host, category, s.Categories)
				}
			}
			cursor = page.Next
		}
		if listed != counted.Total {
			t.Errorf("%s: %d services are listed, %d counted", category, listed, counted.Total)
		}
	}
	for query, want := range map[string]string{
		"category=Wether":             `no service has the category "wether": did you mean weather?`,
		"category=zzzzzz":             `no service has the category "zzzzzz"`,
		"category=weather&q=nothing0": "no service matches: use other words or fewer filters",
	} {
		var page api.ServiceList
		if decodeInto(t, h.get("/api/v1/services?"+query, 200), &page); page.Note != want {
			t.Errorf("%s: the note is %q, want %q", query, page.Note, want)
		}
	}
	// Words select services by host and name; without any, all are listed.
	found := map[string][]string{}
	for _, words := range []string{"", "jokes TEST", "nothing-has-it"} {
		for cursor, more := "", true; more; more = cursor != "" {
			var page api.ServiceList
			decodeInto(t, h.get("/api/v1/services?"+url.Values{"limit": {"20"}, "q": {words}, "cursor": {cursor}}.Encode(), 200), &page)
			for _, s := range page.Services {
				found[words] = append(found[words], s.Host+" "+strings.ToLower(s.Name))
			}
			cursor = page.Next
		}
	}
	jokes := slices.DeleteFunc(slices.Clone(found[""]), func(s string) bool { return !strings.Contains(s, "jokes") || !strings.Contains(s, "test") })
	if len(jokes) == 0 || len(jokes) == len(found[""]) || !slices.Equal(jokes, found["jokes TEST"]) || found["nothing-has-it"] != nil {
		t.Errorf("of %d services, the words select %v, want %v", len(found[""]), found, jokes)
	}
	// The census does not count notes.
	i := slices.IndexFunc(lint.Rules(), func(r protocol.Rule) bool { return r.Severity == protocol.Info })
	var uncounted api.CountedHosts
	decodeInto(t, h.get("/api/v1/stats/hosts?figure=rule:"+lint.Rules()[i].Code, 200), &uncounted)
	if uncounted.Total != 0 || !strings.Contains(uncounted.Note, "counts only errors and warnings") {
		t.Errorf("the figure of a note is %+v", uncounted)
	}
	// No figure is of a moment in the future.
	now := time.Now()
	if stats.At.IsZero() || stats.At.After(now) || series.At.IsZero() || series.At.After(now) {
		t.Errorf("counted at %s and %s; it is %s", stats.At, series.At, now)
	}
	for _, s := range series.Series {
		if last := s.Points[len(s.Points)-1]; last.At.After(now) {
			t.Errorf("%+v has a point in the future; it is %s", s.Family, now)
		}
	}
	// A name that counts nothing is refused, with the names that may be meant.
	for address, want := range map[string]string{
		"/api/v1/stats?family=nosuch":                      `nothing is counted under "nosuch"`,
		"/api/v1/stats?family=verbs":                       "did you mean verb?",
		"/api/v1/stats/hosts?figure=nosuch":                `nothing is counted under "nosuch"`,
		"/api/v1/stats/hosts?figure=verbs:BOOK":            "did you mean verb:BOOK?",
		"/api/v1/stats/hosts?figure=state:conformant=yess": "did you mean state:conformant=yes?",
		"/api/v1/stats/hosts?figure=state:conformant=true": "did you mean state:conformant=no or state:conformant=yes",
		"/api/v1/stats/hosts?figure=class:published":       "did you mean class:publishes?",
		"/api/v1/stats/hosts?figure=format:aig":            "did you mean format:ai",
		"/api/v1/stats/hosts?figure=rule:AI30":             "did you mean rule:AI30",
		"/api/v1/stats/hosts?figure=rule:nothing":          "/api/v1/rules lists the known rules",
		"/api/v1/stats/hosts":                              "figure is missing",
		"/api/v1/stats/hosts?figure=verb":                  "write a value after verb:",
		"/api/v1/stats/hosts?figure=robots:opne":           "did you mean robots:open",
		"/api/v1/stats/hosts?figure=tls:TLS+1.4":           "did you mean tls:TLS 1.",
		"/api/v1/stats/hosts?figure=size:1024-2048":        "did you mean size:1024-2047?",
		"/api/v1/stats/series?family=stat":                 "did you mean state?",
		"/api/v1/search?q=sms&facets=verbb":                "did you mean verb?",
	} {
		if p := h.get(address, 400).problem(t); !strings.Contains(p.Detail+p.Help, want) {
			t.Errorf("%s: %q, %q; want %q", address, p.Detail, p.Help, want)
		}
	}
	h.get("/api/v1/stats/hosts?figure=format:ai&cursor=forged", 400)
}

// TestCensusOverSocket has a census written beside the server.
func TestCensusOverSocket(t *testing.T) {
	h := newTestServer(t, options{})
	dir := filepath.Join(t.TempDir(), "census")
	r := h.requestAt(h.admin, "POST", "/admin/census?at=2026-01-02&dir="+url.QueryEscape(dir), strings.NewReader(""))
	lines := strings.Split(strings.TrimSpace(string(r.body)), "\n")
	var last operator.CensusLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Result == nil || last.Result.Dir != dir {
		t.Errorf("%s: %v", r.body, err)
	}
	again := h.requestAt(h.admin, "POST", "/admin/census?dir="+url.QueryEscape(dir), strings.NewReader(""))
	if !strings.Contains(string(again.body), "exists already") {
		t.Errorf("into a folder that exists: %s", again.body)
	}
	for _, bad := range []string{"dir=relative", "dir=/x&at=yesterday", "dir=/x&at=9999-01-01", ""} {
		if r := h.requestAt(h.admin, "POST", "/admin/census?"+bad, strings.NewReader("")); r.StatusCode != 400 && r.StatusCode != 422 {
			t.Errorf("%s: %s %s", bad, r.Status, r.body)
		}
	}
}
