package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/document"
	"gazetteer/internal/testclock"
	"gazetteer/store"
)

// page is what all lists have in common.
type page struct {
	Services json.RawMessage // of a verb it is a number
	Hits     []struct {
		Host      string
		Operation struct{ ID string }
	}
	Total int
	Next  string
}

func readPage(t testing.TB, r bufferedResponse) page {
	t.Helper()
	var p page
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// walkPages reads all pages of a list, by the cursor in the body or by the Link header, and returns
// the items.
func walkPages(t *testing.T, h *testServer, path string, byLink bool) (seen []string) {
	t.Helper()
	for pages := 0; path != ""; pages++ {
		if pages > 50 {
			t.Fatal("the list does not end")
		}
		r := h.get(path, 200)
		p := readPage(t, r)
		var services []struct{ Host string }
		if strings.HasPrefix(path, "/api/v1/services") { // a search names services beside its hits
			json.Unmarshal(p.Services, &services)
		}
		for _, s := range services {
			seen = append(seen, s.Host)
		}
		for _, hit := range p.Hits {
			seen = append(seen, hit.Host+" "+hit.Operation.ID)
		}
		if len(services)+len(p.Hits) == 0 {
			t.Errorf("%s is an empty page", path)
		}
		link := r.Header.Get("Link")
		if (link == "") != (p.Next == "") {
			t.Fatalf("Link is %q, next is %q", link, p.Next)
		}
		switch {
		case p.Next == "":
			path = ""
		case byLink:
			path, _ = strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		default:
			u, _ := url.Parse(path)
			q := u.Query()
			q.Set("cursor", p.Next)
			path = u.Path + "?" + q.Encode()
		}
	}
	return seen
}

func TestPages(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	for _, list := range []string{"/api/v1/services?", "/api/v1/search?q=table&", "/api/v1/verbs/LIST?"} {
		whole := walkPages(t, h, list+"limit=100", false)
		if len(whole) < 5 {
			t.Fatalf("%s shows only %q", list, whole)
		}
		if sorted := slices.Clone(whole); true {
			slices.Sort(sorted)
			if len(slices.Compact(sorted)) != len(whole) {
				t.Errorf("%s shows something twice: %q", list, whole)
			}
		}
		for _, limit := range []int{1, 2, len(whole) - 1, len(whole), len(whole) + 1} {
			for _, byLink := range []bool{false, true} {
				if got := walkPages(t, h, fmt.Sprintf("%slimit=%d", list, limit), byLink); !slices.Equal(got, whole) {
					t.Errorf("%s by %d: %q, want %q", list, limit, got, whole)
				}
			}
		}
	}
}

// TestServicesAreSortedByHost and are not confused by hosts that begin alike.
func TestServicesAreSortedByHost(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishAll("a.example", "b-a.example", "b.a.example", "b.example", "bb.example")
	h.publish("a.example", document.AGIS, "application/json", agisText("n", "Books a table for the agent"), seen)
	h.publish("alias.example", document.AIAlias, "application/json", aiText("Alias"), seen)
	// By key, that is by labels from the right. An alias alone is not listed.
	want := []string{"b.a.example", "a.example", "b-a.example", "b.example", "bb.example"}
	got := walkPages(t, h, "/api/v1/services?limit=1", false)
	if !slices.Equal(got, want) {
		t.Errorf("services are %q", got)
	}
}

// TestServiceListIsCurrent changes documents between two requests for the list, which keeps summaries.
func TestServiceListIsCurrent(t *testing.T) {
	h := newTestServer(t, options{})
	names := func() (list []string) {
		for _, s := range decoded[api.ServiceList](h, h.get("/api/v1/services", 200)).Services {
			list = append(list, s.Host+" "+s.Name)
		}
		return list
	}
	h.publishAll("a.example", "b.example")
	before := names()
	h.publish("a.example", document.AI, "application/json", aiText("Another name"), seen.Add(time.Hour))
	if got, want := names(), []string{"a.example Another name", before[1]}; !slices.Equal(got, want) {
		t.Errorf("after a change %q, want %q", got, want)
	}
	if _, err := h.store.Apply(t.Context(), store.Delete(store.DocumentKey("b.example", string(document.AI)))); err != nil {
		t.Fatal(err)
	}
	if got, want := names(), []string{"a.example Another name"}; !slices.Equal(got, want) {
		t.Errorf("without the document %q, want %q", got, want)
	}
}

func TestForeignCursorIsRefused(t *testing.T) {
	clock := testclock.New(seen)
	keyed := func(o *api.Options) { o.CursorKey, o.Now = []byte("0123456789abcdef"), clock.Now }
	h := newTestServer(t, options{api: keyed})
	h.publishSamples()
	other := newTestServer(t, options{})
	other.publishSamples()
	restored := newTestServer(t, options{api: keyed}) // the same key, another log
	restored.publishSamples()

	services := readPage(t, h.get("/api/v1/services?limit=2", 200)).Next
	search := readPage(t, h.get("/api/v1/search?q=table&limit=2", 200)).Next
	verb := readPage(t, h.get("/api/v1/verbs/LIST?limit=2", 200)).Next
	if services == "" || search == "" || verb == "" {
		t.Fatal("a list has only one page")
	}
	h.get("/api/v1/search?q=table&limit=5&cursor="+search, 200) // another limit is fine

	for name, c := range map[string]struct {
		h      *testServer
		path   string
		status int
	}{
		"of another query":             {h, "/api/v1/search?q=free&cursor=" + search, 400},
		"of a query with more filters": {h, "/api/v1/search?q=table&verb=LIST&cursor=" + search, 400},
		"of another route":             {h, "/api/v1/services?cursor=" + search, 400},
		"of another list by key":       {h, "/api/v1/search?q=table&cursor=" + services, 400},
		"of another verb":              {h, "/api/v1/verbs/BOOK?cursor=" + verb, 400},
		"of another server":            {other, "/api/v1/services?cursor=" + services, 400},
		"cut short":                    {h, "/api/v1/services?cursor=" + services[:len(services)-1], 400},
		"with something behind it":     {h, "/api/v1/services?cursor=" + services + "A", 400},
		"nonsense":                     {h, "/api/v1/services?cursor=nonsense", 400},
		"short":                        {h, "/api/v1/services?cursor=AAAA", 400},
		"long":                         {h, "/api/v1/services?cursor=" + strings.Repeat("A", 1900), 400},
		"of another log":               {restored, "/api/v1/services?cursor=" + services, 410},
	} {
		r := c.h.request("GET", c.path, "")
		if p := r.problem(t); r.StatusCode != c.status || p.Where == nil || p.Where.Parameter != "cursor" {
			t.Errorf("%s: %s, want %d\n%s", name, r.Status, c.status, r.body)
		}
	}

	// Each bit of each character that the alphabet leaves.
	for i := range services {
		for bit := range 7 {
			altered := []byte(services)
			altered[i] ^= 1 << bit
			r := h.request("GET", "/api/v1/services?"+url.Values{"cursor": {string(altered)}}.Encode(), "")
			if r.StatusCode != 400 {
				t.Fatalf("bit %d of character %d changed: %s", bit, i, r.Status)
			}
		}
	}

	tag := h.get("/api/v1/services?limit=2", 200).Header.Get("ETag")
	clock.Advance(30 * time.Minute)
	h.get("/api/v1/services?limit=2", 304, "If-None-Match", tag)
	clock.Advance(23 * time.Hour)
	h.get("/api/v1/services?cursor="+services, 200)
	clock.Advance(2 * time.Hour)
	if p := h.get("/api/v1/services?cursor="+services, 410).problem(t); p.Code != "cursor-gone" {
		t.Errorf("an old cursor: %+v", p)
	}
}
