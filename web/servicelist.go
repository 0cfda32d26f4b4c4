package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// testCategory is the category of services that exist to test readers. The front page omits them,
// and lists mark them.
const testCategory = "test"

// maxRecent is the number of services that the front page lists as new, and as changed.
const maxRecent = 6

func isTestSet(s answer.ServiceSummary) bool { return slices.Contains(s.Categories, testCategory) }

// servicesView is the list of services.
type servicesView struct {
	Query, Category, Sort string
	State                 string // of the host, as in the filter is:
	States                []frame.Choice
	Format                string // of a current document
	Formats               []frame.Choice
	Sorts                 []frame.Choice
	Categories            []categoryLink
	OtherCategories       []categoryLink // folded
	Services              []summaryView
	Total                 int // that the filter leaves
	All                   int
	First, Last           int
	Narrowed              bool // a filter is set
	Refined               bool // what is folded on a narrow screen is set
	Unknown               []frame.UnknownFilter
	Pages                 frame.PageLinks
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
	TestSet     bool
	Invalid     bool // a document has errors
}

// serviceSorts are the orders of the list, the first by default.
var serviceSorts = []struct {
	value, name string
	order       census.ServiceOrder
}{
	{"", "Name", census.ByName},
	{"changed", "Latest change", census.ByChange},
	{"operations", "Most operations", census.ByOperations},
}

// maxCategories is the number of categories that the list shows; services choose the names.
const maxCategories = 40

// shownCategories is the number of categories that are visible without unfolding.
const shownCategories = 12

// servicesPage lists the filtered services in the requested order.
func (p *Pages) servicesPage(c *gin.Context) (frame.WebPage, error) {
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	v := servicesView{
		Query: strings.TrimSpace(c.Query("q")), Category: strings.ToLower(strings.TrimSpace(c.Query("category"))), Sort: c.Query("sort"), State: p.knownState(c.Query("is")),
	}
	v.Formats = append(v.Formats, frame.Choice{Value: "", Name: "Any", Chosen: true})
	for _, kind := range document.AuthoritativeKinds() {
		chosen := string(kind) == strings.ToLower(c.Query("format"))
		v.Formats = append(v.Formats, frame.Choice{Value: string(kind), Name: frame.KindName(string(kind)), Chosen: chosen})
		if chosen {
			v.Format, v.Formats[0].Chosen = string(kind), false
		}
	}
	v.Narrowed = v.Query != "" || v.Category != "" || v.State != "" || v.Format != ""
	v.Refined = v.Sort != "" || v.State != "" || v.Format != ""
	wanted := census.ServiceQuery{Words: v.Query, Category: v.Category, Format: document.Kind(v.Format), Counted: true, Offset: (number - 1) * frame.PerPage, Limit: frame.PerPage}
	if v.State != "" {
		if name, negated := query.SplitNegation(v.State); negated {
			wanted.Not = []conformance.Name{conformance.Name(name)}
		} else {
			wanted.Is = []conformance.Name{conformance.Name(name)}
		}
	}
	v.States = append(v.States, frame.Choice{Value: "", Name: "Any", Chosen: v.State == ""})
	for _, name := range p.stateValues() {
		v.States = append(v.States, frame.Choice{Value: name, Name: stateWords(name), Chosen: v.State == name})
	}
	for _, o := range serviceSorts {
		v.Sorts = append(v.Sorts, frame.Choice{Value: o.value, Name: o.name, Chosen: o.value == v.Sort})
		if o.value == v.Sort {
			wanted.Order = o.order
		}
	}
	if !slices.ContainsFunc(v.Sorts, func(c frame.Choice) bool { return c.Chosen }) {
		v.Sort = ""
	}
	found, err := p.answers.ListServices(c.Request.Context(), wanted)
	if err != nil {
		return frame.WebPage{}, err
	}
	for _, n := range found.Categories[:min(len(found.Categories), maxCategories)] {
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
	if v.Unknown, err = p.findUnknownFilters(c, v, found); err != nil {
		return frame.WebPage{}, err
	}
	v.Total, v.All, v.First, v.Last = found.Total, found.All, wanted.Offset+1, wanted.Offset+len(found.Services)
	for _, s := range found.Services {
		v.Services = append(v.Services, p.summaryOf(s))
	}
	q := url.Values{}
	if v.Category != "" {
		q.Set("category", v.Category)
	}
	v.setFilters(q)
	v.Pages = frame.LinkPages("/services", q, number, found.Total, frame.PerPage)
	description := "Hosts that publish a description of themselves for agents, with filters by name and category."
	if v.Category != "" {
		description = fmt.Sprintf("%s for agents in the category %s: what each offers, and when it was read.", frame.FormatCount(v.Total, "service"), frame.ClipPlain(80, v.Category))
	}
	return frame.WebPage{Name: "services", Title: "Services", Description: description, Body: v}, nil
}

// setFilters adds the words, the order and the filters without the category to q.
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
	if v.Format != "" {
		q.Set("format", v.Format)
	}
}

// listAddress returns the address of the list with the words, the requested order, and q.
func (v servicesView) listAddress(q url.Values) string {
	v.setFilters(q)
	if len(q) == 0 {
		return "/services"
	}
	return "/services?" + q.Encode()
}

// stateValues returns the states by which the list can be filtered, with a minus sign before those
// that must not hold; nil if the states of hosts are unknown.
func (p *Pages) stateValues() []string {
	if p.answers.HostStates() == nil {
		return nil
	}
	return query.FiltersOf(query.IsKey)[0].Enum()
}

// knownState returns a requested state, "" if there is no such state.
func (p *Pages) knownState(asked string) string {
	if asked = strings.ToLower(strings.TrimSpace(asked)); slices.Contains(p.stateValues(), asked) {
		return asked
	}
	return ""
}

// stateWords describes a value of the filter is:.
func stateWords(value string) string {
	positive, negated := query.SplitNegation(value)
	words := facetText(query.IsKey, positive)
	if negated {
		return "Not: " + strings.ToLower(words)
	}
	return words
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
