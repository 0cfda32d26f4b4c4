package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/index"
	"gazetteer/index/query"

	"golang.org/x/net/html"
)

// TestPagesAgree checks with the services of the small internet that links lead to pages which have what
// the link promises, and that all pages count alike.
func TestPagesAgree(t *testing.T) {
	h := openTestServer(t)
	t.Run("links of services", h.checkServiceLinks)
	t.Run("counts", h.checkCounts)
	t.Run("lists", h.checkLists)
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
		for f, n := range stats.Features {
			if f.Family != family {
				continue
			}
			if counted++; services[f.Value] != n.Hosts {
				t.Errorf("%s %s: %d hosts in the census, %d in the list", family, f.Value, n.Hosts, services[f.Value])
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
	publishing := stats.Features[census.Feature{Family: "class", Value: "publishes"}].Hosts
	if publishing != stats.Services+1 {
		t.Errorf("%d hosts publish, and %d are services", publishing, stats.Services)
	}
	for _, path := range []string{"/", "/census"} {
		if page := h.page(t, path); !strings.Contains(page, "1 host</a> publishes at <code>/ai</code> only, so it is not counted as a service.") {
			t.Errorf("%s does not say why there are more hosts that publish than services", path)
		}
	}
}

// checkLists checks what pages say of the things that they list.
func (h *testServer) checkLists(t *testing.T) {
	namespace := parse(t, h.page(t, "/namespaces/acme-reservations"))
	hits := elements(namespace, "article")
	hits = slices.DeleteFunc(hits, func(n *html.Node) bool { return attribute(n, "class") == "" })
	if len(hits) < 3 {
		t.Fatalf("%d operations", len(hits))
	}
	for i, hit := range hits {
		text := textOf(hit)
		squats := strings.Contains(text, "last-tables.test")
		if squats != strings.Contains(text, "Possible squatting") || squats && i < len(hits)-2 {
			t.Errorf("operation %d of %d: %s", i+1, len(hits), text)
		}
	}
	for path, want := range map[string]string{
		"/data-classes/appointment": "services hold it.",
		"/help/search":              "everything that can be canceled; ",
	} {
		if !strings.Contains(h.page(t, path), want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
	h.checkClassPage(t)
	if help := h.page(t, "/help/search"); strings.Contains(help, "in plain words;") {
		t.Error("the help counts what has some of the words")
	}
	if directory := textOf(parse(t, h.page(t, "/data-classes"))); strings.Contains(directory, "service, ") {
		t.Error("the list of data classes counts all operations of their holders")
	}
	if changes := h.page(t, "/changes"); !strings.Contains(changes, "locanda.test") || strings.Contains(changes, "days ago") {
		t.Error("the changes do not begin with the newest one")
	}
	if diff := h.page(t, h.diff); !strings.Contains(diff, "<del") {
		t.Errorf("the versions of locanda.test do not differ: %s", diff)
	}
	log := h.page(t, "/log")
	older := regexp.MustCompile(`href="(/log\?before=[0-9]+)#newest"`).FindStringSubmatch(log)
	if older == nil {
		t.Fatal("the log does not lead to its older leaves")
	}
	leaf := regexp.MustCompile(`/log/proof\?index=([0-9]+)"`)
	if first, next := leaf.FindAllStringSubmatch(log, -1), leaf.FindAllStringSubmatch(h.page(t, older[1]), -1); len(next) == 0 || slices.ContainsFunc(first, func(m []string) bool { return m[1] == next[0][1] }) {
		t.Errorf("the older leaves begin with %q", next)
	}
	operator, err := http.Get(h.operator + "/admin/")
	must(t, err)
	defer operator.Body.Close()
	text, err := io.ReadAll(operator.Body)
	must(t, err)
	if !strings.Contains(string(text), "2 contracts to approve, 0 changes by owners") {
		t.Error("the operator's page does not count the contracts to approve")
	}
}

// checkClassPage checks that the page of a data class has the operations that are close to it, and leads to
// all operations of the services that hold it.
func (h *testServer) checkClassPage(t *testing.T) {
	t.Helper()
	found, err := h.answers.Search(t.Context(), query.Query{Classes: []string{"appointment"}, Limit: 1})
	must(t, err)
	body := h.page(t, "/data-classes/appointment")
	if want := fmt.Sprintf(`<a href="/?q=class%%3Aappointment">search all %d operations</a>`, found.Total); !strings.Contains(body, want) {
		t.Errorf("the page of a class does not have %s", want)
	}
	var titles []string
	for _, hit := range elements(parse(t, body), "article") {
		if attribute(hit, "class") != "" {
			titles = append(titles, textOf(elements(hit, "h2")[0]))
		}
	}
	if len(titles) < 4 || len(titles) >= found.Total || !strings.Contains(titles[0], "appointment") {
		t.Errorf("the operations close to appointments are %q, of %d", titles, found.Total)
	}
	if strings.Contains(strings.Join(titles, "; "), "Schlagloch") { // of a service that also gives appointments
		t.Errorf("a report of damage is listed under appointments: %q", titles)
	}
}

// inheriting has operations whose document does not declare what the page is about.
type inheriting struct{ sample }

func (s inheriting) Search(ctx context.Context, q query.Query) (index.Result, error) {
	r, err := s.sample.Search(ctx, q)
	for i := range r.Hits {
		r.Hits[i].Service.Namespace, r.Hits[i].DataClasses = "", nil
		if i == len(r.Hits)-1 {
			r.Hits[i].Service.Namespace, r.Hits[i].DataClasses, r.Hits[i].Operation.Intent = "dining", []string{"Dining"}, "Declares it itself"
		}
	}
	return r, err
}

// TestOperationsThatDeclareComeFirst checks that a page of a name says which operations have it from
// another document of their service, and puts them last.
func TestOperationsThatDeclareComeFirst(t *testing.T) {
	h := engine(t, inheriting{sample{word: plainWord, hits: 3}})
	for _, path := range []string{"/namespaces/dining", "/data-classes/dining"} {
		var hits []string
		for _, hit := range elements(parse(t, get(t, h, path).Body.String()), "article") {
			if attribute(hit, "class") != "" {
				hits = append(hits, textOf(hit))
			}
		}
		for i, hit := range hits {
			if inherits := strings.Contains(hit, "Declared in another document of this service"); inherits != (i > 0) || strings.HasPrefix(hit, "Declares it itself") != (i == 0) {
				t.Errorf("%s: operation %d of %d: %s", path, i+1, len(hits), hit)
			}
		}
		if len(hits) != 3 {
			t.Errorf("%s: %d operations", path, len(hits))
		}
	}
}

// manyOfOne has more operations of a service than a list shows, and hits without a phrase of the query.
type manyOfOne struct{ sample }

func (s manyOfOne) Search(ctx context.Context, q query.Query) (index.Result, error) {
	r, err := s.sample.Search(ctx, q)
	for i := range r.Hits {
		r.Hits[i].Why.Missing = append(r.Hits[i].Why.Missing, "text message")
	}
	if len(r.Hits) > 0 {
		r.Facets["host"] = []index.Count{{Value: r.Hits[0].Host, Operations: 9}, {Value: "elsewhere.test", Operations: 8}}
	}
	return r, err
}

// TestResultsLeadToOmittedOperations checks that a grouped list leads to the operations of a service that
// it omits, and that words which are missing are counted as they are listed.
func TestResultsLeadToOmittedOperations(t *testing.T) {
	body := get(t, engine(t, manyOfOne{sample{word: plainWord, hits: 3}}), "/?q=book+tables").Body.String()
	var more []string
	for _, a := range elements(parse(t, body), "a") {
		if text := textOf(a); strings.Contains(text, " more from ") {
			more = append(more, text+" "+attribute(a, "href"))
		}
	}
	if want := []string{"At least 6 more from Ristorante /?q=book+tables+host%3Aristorante.test"}; !slices.Equal(more, want) {
		t.Errorf("the omitted operations are %q, want %q", more, want)
	}
	if strings.Contains(body, "<s>text message</s>") {
		t.Error("a phrase is listed among the missing words")
	}
}
