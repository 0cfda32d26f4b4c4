package web_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/index/query"
)

// TestPagesAgree checks with the services of the small internet that links lead to pages which have what
// the link promises, and that all pages count alike.
func TestPagesAgree(t *testing.T) {
	h := openTestServer(t)
	t.Run("links of services", h.checkServiceLinks)
	t.Run("counts", h.checkCounts)
}

// page returns the text of a page, which must exist.
func (h *testServer) page(t *testing.T, path string) string {
	t.Helper()
	r, err := http.Get(h.url + path)
	must(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	must(t, err)
	if r.StatusCode != http.StatusOK {
		t.Errorf("%s is answered %d", path, r.StatusCode)
	}
	return string(body)
}

// services returns all services as the list has them.
func (h *testServer) services(t *testing.T) []answer.ServiceSummary {
	t.Helper()
	var all []answer.ServiceSummary
	for {
		page, err := h.answers.ListServices(t.Context(), census.ServiceQuery{Offset: len(all), Limit: 100})
		must(t, err)
		if all = append(all, page.Services...); len(page.Services) == 0 {
			return all
		}
	}
}

var valueLinks = regexp.MustCompile(`href="/(data-classes|namespaces)/([^"]+)"`)

// checkServiceLinks checks the pages to which a service leads by what it declares: each of them exists and
// counts the service.
func (h *testServer) checkServiceLinks(t *testing.T) {
	holders := map[string][]string{} // by the path of a value: the hosts that lead to it
	for _, s := range h.services(t) {
		for _, link := range valueLinks.FindAllStringSubmatch(h.page(t, "/services/"+s.Host), -1) {
			path := "/" + link[1] + "/" + link[2]
			holders[path] = append(holders[path], s.Host)
		}
	}
	if len(holders) < 500 {
		t.Fatalf("only %d values are linked", len(holders))
	}
	for path, hosts := range holders {
		h.page(t, path)
		kind, escaped, _ := strings.Cut(path[1:], "/")
		value, err := url.PathUnescape(escaped)
		must(t, err)
		q := query.Query{Classes: []string{value}}
		if kind == "namespaces" {
			q = query.Query{Namespaces: []string{value}}
		}
		found, err := h.answers.Index.Hosts(t.Context(), q)
		must(t, err)
		for _, host := range hosts {
			if !slices.Contains(found, host) {
				t.Errorf("%s leads to %s, which has only %q", host, path, found)
			}
		}
	}
}

// checkCounts compares the lists of the index with the census, and operations with the list of services.
func (h *testServer) checkCounts(t *testing.T) {
	ctx := t.Context()
	stats, err := h.answers.Stats(ctx)
	must(t, err)
	compare := func(family string, services map[string]int) {
		t.Helper()
		counted := 0
		for f, hosts := range stats.Features {
			if f.Family != family {
				continue
			}
			if counted++; services[f.Value] != hosts {
				t.Errorf("%s %s: %d hosts in the census, %d in the list", family, f.Value, hosts, services[f.Value])
			}
		}
		if counted != len(services) {
			t.Errorf("%s: %d values in the census, %d in the list", family, counted, len(services))
		}
	}
	verbs, err := h.answers.Verbs(ctx)
	must(t, err)
	byVerb, operations := map[string]int{}, 0
	for _, v := range verbs {
		byVerb[v.Verb], operations = v.Services, operations+v.Operations
	}
	compare("verb", byVerb)
	classes, err := h.answers.DataClasses(ctx)
	must(t, err)
	byClass := map[string]int{}
	for _, c := range classes {
		byClass[c.Class] = c.Services
	}
	compare("data-class", byClass)
	namespaces, err := h.answers.Namespaces(ctx)
	must(t, err)
	byNamespace := map[string]int{}
	for _, n := range namespaces {
		byNamespace[n.Namespace] = n.Services
	}
	compare("namespace", byNamespace)
	listed, all := 0, h.services(t)
	for _, s := range all {
		listed += s.Operations
	}
	if operations != stats.Operations || listed != operations {
		t.Errorf("%d operations have verbs, the census has %d, the services %d", operations, stats.Operations, listed)
	}
	if len(all) != stats.Services {
		t.Errorf("%d services are listed, the census has %d", len(all), stats.Services)
	}
	// Hosts that publish and are no services explain the difference.
	publishing := stats.Features[census.Feature{Family: "class", Value: "publishes"}]
	if publishing != stats.Services+1 {
		t.Errorf("%d hosts publish, and %d are services", publishing, stats.Services)
	}
	for _, path := range []string{"/", "/census"} {
		if page := h.page(t, path); !strings.Contains(page, "1 host</a> publishes at <code>/ai</code> only, which makes no service.") {
			t.Errorf("%s does not say why there are more hosts that publish than services", path)
		}
	}
}
