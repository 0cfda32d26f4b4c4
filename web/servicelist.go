package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/conformance"
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// testCategory is the category of services that exist to test readers. The front page leaves them
// out, and lists mark them.
const testCategory = "test"

// maxSnapshot is how many services can be sorted and filtered: the first of them by host. Reading
// them costs about a second.
const maxSnapshot = 10000

// serviceSnapshot is the list of services with what the pages count in it.
type serviceSnapshot struct {
	services   []answer.ServiceSummary // by name, those of the test set last
	categories []categoryCount         // most services first
	recent     []recentService         // latest change first, without the test set
	whole      bool                    // it holds all services
}

// categoryCount is a category and how many services it has.
type categoryCount struct {
	Name     string
	Services int
}

// recentService is a service that came or changed lately.
type recentService struct {
	answer.ServiceSummary
	New bool // it has not changed since it was found
	// Severity is what the last change means to callers, "" where that is not known.
	Severity string
}

// maxRecent is how many services the front page lists as new, and as changed.
const maxRecent = 6

func isTestSet(s answer.ServiceSummary) bool { return slices.Contains(s.Categories, testCategory) }

// readSnapshot reads the services. All that it returns is shared and must not be changed.
func (p *Pages) readSnapshot(ctx context.Context) (serviceSnapshot, error) {
	v := serviceSnapshot{whole: true}
	for after := ""; ; {
		page, err := p.answers.Services(ctx, after, 500)
		if err != nil {
			return serviceSnapshot{}, err
		}
		v.services = append(v.services, page.Services...)
		if page.After == "" || page.After == after {
			break
		}
		if len(v.services) >= maxSnapshot {
			v.services, v.whole = v.services[:maxSnapshot], false
			break
		}
		after = page.After
	}
	v.categories = countCategories(v.services)
	recent := slices.DeleteFunc(slices.Clone(v.services), isTestSet)
	slices.SortStableFunc(recent, func(a, b answer.ServiceSummary) int {
		// Of those that came in the same hour, those that describe themselves in full come first.
		return cmp.Or(b.ChangedAt.Truncate(time.Hour).Compare(a.ChangedAt.Truncate(time.Hour)), b.Level-a.Level, b.ChangedAt.Compare(a.ChangedAt))
	})
	for _, s := range recent[:min(len(recent), 4*maxRecent)] {
		full, err := p.answers.Service(ctx, s.Host)
		if err != nil {
			continue // it has gone in the meantime
		}
		changed := slices.ContainsFunc(full.Documents, func(d answer.DocumentView) bool { return len(d.Versions) > 1 })
		v.recent = append(v.recent, recentService{ServiceSummary: s, New: !changed})
	}
	slices.SortStableFunc(v.services, func(a, b answer.ServiceSummary) int {
		return cmp.Or(compareBools(isTestSet(a), isTestSet(b)), strings.Compare(sortName(a), sortName(b)))
	})
	return v, nil
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func sortName(s answer.ServiceSummary) string { return strings.ToLower(cmp.Or(s.Name, s.Host)) }

func countCategories(services []answer.ServiceSummary) []categoryCount {
	counts := map[string]int{}
	for _, s := range services {
		for _, c := range s.Categories {
			counts[c]++
		}
	}
	var list []categoryCount
	for name, n := range counts {
		list = append(list, categoryCount{name, n})
	}
	slices.SortFunc(list, func(a, b categoryCount) int {
		return cmp.Or(b.Services-a.Services, strings.Compare(a.Name, b.Name))
	})
	return list
}

// servicesView is the list of services.
type servicesView struct {
	Query, Category, Sort string
	State                 string // of the host, as in the filter is:
	States                []sortChoice
	Sorts                 []sortChoice
	Categories            []categoryLink
	OtherCategories       []categoryLink // folded
	Services              []summaryView
	Total                 int // that the filter leaves
	All                   int
	First, Last           int
	Narrowed              bool // a filter is set
	Whole                 bool
	Pages                 frame.PageLinks
}

type sortChoice struct {
	Value, Name string
	Chosen      bool
}

// categoryLink is a category with the address of its services.
type categoryLink struct {
	Name, Address string
	Services      int
	On            bool
}

type summaryView struct {
	Host        string
	Name        string
	Description string
	Categories  []categoryLink
	Operations  int
	Fetched     frame.Moment
	Changed     frame.Moment
	New         bool // has not changed since it was found
	Severity    string
	TestSet     bool
	Invalid     bool // a document has errors
}

// serviceSorts are the orders of the list, the first by default.
var serviceSorts = []struct {
	value, name string
	compare     func(a, b answer.ServiceSummary) int
}{
	{"", "Name", nil},
	{"changed", "Latest change", func(a, b answer.ServiceSummary) int { return b.ChangedAt.Compare(a.ChangedAt) }},
	{"operations", "Most operations", func(a, b answer.ServiceSummary) int { return b.Operations - a.Operations }},
}

// maxCategories is how many categories the list shows; strangers choose the names.
const maxCategories = 40

// shownCategories is how many of them are not folded.
const shownCategories = 12

// servicesPage lists the services that a filter leaves, in the order asked for.
func (p *Pages) servicesPage(c *gin.Context) (frame.View, error) {
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.View{}, err
	}
	all, err := p.services.readCached(c.Request.Context(), p.Now, p.readSnapshot)
	if err != nil {
		return frame.View{}, err
	}
	v := servicesView{
		Query: strings.TrimSpace(c.Query("q")), Category: strings.ToLower(strings.TrimSpace(c.Query("category"))), Sort: c.Query("sort"),
		All: len(all.services), Whole: all.whole,
	}
	if after := c.Query("after"); after != "" { // the address of a page before there were filters
		return frame.View{Status: 303, Location: "/services"}, nil
	}
	v.State = p.knownState(c.Query("is"))
	v.Narrowed = v.Query != "" || v.Category != "" || v.State != ""
	found := p.inState(filterServices(all.services, v.Query, v.Category), v.State)
	v.States = append(v.States, sortChoice{"", "Any", v.State == ""})
	for _, name := range p.stateValues() {
		v.States = append(v.States, sortChoice{name, stateWords(name), v.State == name})
	}
	for _, o := range serviceSorts {
		v.Sorts = append(v.Sorts, sortChoice{o.value, o.name, o.value == v.Sort})
		if o.value == v.Sort && o.compare != nil {
			slices.SortStableFunc(found, func(a, b answer.ServiceSummary) int {
				return cmp.Or(compareBools(isTestSet(a), isTestSet(b)), o.compare(a, b))
			})
		}
	}
	counted := all.categories
	if v.Query != "" || v.State != "" {
		counted = countCategories(p.inState(filterServices(all.services, v.Query, ""), v.State))
	}
	for _, n := range counted[:min(len(counted), maxCategories)] {
		link := categoryLink{Name: n.Name, Services: n.Services, On: n.Name == v.Category}
		q := url.Values{}
		if !link.On {
			q.Set("category", n.Name)
		}
		link.Address = v.listAddress(q)
		if len(v.Categories) < shownCategories || link.On {
			v.Categories = append(v.Categories, link)
		} else {
			v.OtherCategories = append(v.OtherCategories, link)
		}
	}
	first := min((number-1)*frame.PerPage, len(found))
	shown := found[first:min(first+frame.PerPage, len(found))]
	v.Total, v.First, v.Last = len(found), first+1, first+len(shown)
	for _, s := range shown {
		v.Services = append(v.Services, p.summaryOf(s))
	}
	q := url.Values{}
	if v.Category != "" {
		q.Set("category", v.Category)
	}
	v.setFilters(q)
	v.Pages = frame.LinkPages("/services", q, number, len(found), frame.PerPage)
	return frame.View{Name: "services", Title: "Services", Description: "Hosts that publish a description of themselves for agents, with filters by name and category.", Body: v}, nil
}

// setFilters adds the words and the order to q.
func (v servicesView) setFilters(q url.Values) {
	if v.Query != "" {
		q.Set("q", v.Query)
	}
	if v.Sort != "" {
		q.Set("sort", v.Sort)
	}
	if v.State != "" {
		q.Set("is", v.State)
	}
}

// listAddress returns the address of the list with the words and the order asked for, and q.
func (v servicesView) listAddress(q url.Values) string {
	v.setFilters(q)
	if len(q) == 0 {
		return "/services"
	}
	return "/services?" + q.Encode()
}

// filterServices returns the services that have all words in a name or in their description, and
// the category, "" for any.
func filterServices(all []answer.ServiceSummary, words, category string) []answer.ServiceSummary {
	var found []answer.ServiceSummary
	wanted := strings.Fields(strings.ToLower(words))
	for _, s := range all {
		if category != "" && !slices.Contains(s.Categories, category) {
			continue
		}
		text := strings.ToLower(s.Name + " " + s.Host + " " + s.Description + " " + s.Namespace)
		if !slices.ContainsFunc(wanted, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, s)
		}
	}
	return found
}

// stateValues returns what the list can be narrowed by, with a minus sign before what must not
// hold; nil where the states of hosts are not known.
func (p *Pages) stateValues() []string {
	if p.answers.HostStates() == nil {
		return nil
	}
	return query.FiltersOf(query.IsKey)[0].Enum()
}

// knownState returns a state that was asked for, "" for what is none.
func (p *Pages) knownState(asked string) string {
	if asked = strings.ToLower(strings.TrimSpace(asked)); slices.Contains(p.stateValues(), asked) {
		return asked
	}
	return ""
}

// stateWords says what a value of the filter is: means.
func stateWords(value string) string {
	positive, negated := query.SplitNegation(value)
	words := facetText(query.IsKey, positive)
	if negated {
		return "Not: " + strings.ToLower(words)
	}
	return words
}

// inState returns the services whose hosts have a state, all of them for "".
func (p *Pages) inState(services []answer.ServiceSummary, state string) []answer.ServiceSummary {
	if state == "" {
		return services
	}
	positive, negated := query.SplitNegation(state)
	return slices.DeleteFunc(services, func(s answer.ServiceSummary) bool {
		h, ok := p.answers.HostStates().Host(s.Host)
		holds := ok && h.Track.Standing.Verdict(conformance.Name(positive)) == conformance.Yes
		return holds == negated
	})
}

// categoryPath is the address of the services of a category.
func categoryPath(name string) string { return "/services?" + url.Values{"category": {name}}.Encode() }

func (p *Pages) summaryOf(s answer.ServiceSummary) summaryView {
	v := summaryView{
		Host: s.Host, Name: cmp.Or(s.Name, s.Host), Description: s.Description, Operations: s.Operations,
		Fetched: p.MomentOf(s.FetchedAt), Changed: p.MomentOf(s.ChangedAt), TestSet: isTestSet(s), Invalid: s.Findings == "error",
	}
	shown, _ := frame.SplitAt(s.Categories, 3)
	for _, c := range shown {
		if c != testCategory {
			v.Categories = append(v.Categories, categoryLink{Name: c, Address: categoryPath(c)})
		}
	}
	return v
}
