package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"gazetteer/api"
	"gazetteer/index"

	"github.com/gin-gonic/gin"
)

// perPage is how many operations a page of results or a service page shows.
const perPage = 20

// homeView is the front page.
type homeView struct {
	Search   searchbox
	Figures  api.Figures
	Visited  moment
	Examples []string
	Verbs    []index.VerbCount
}

// resultsView is a page of results, or the query that has none because it cannot
// be read.
type resultsView struct {
	Search  searchbox
	Mistake *mistake
	Hits    []hitView
	Total   int
	First   int // number of the first hit shown, from 1
	Last    int
	Grouped bool // at most three operations of a service are shown
	Pages   pager
	Note    string
	Near    []string
	Agent   string // the query, when it looks like the id of an agent
	// Services and Classes answer the words as a whole.
	Services []besideView
	Classes  []besideView
	Facets   []facetView
}

// searchbox is the field with what belongs to it.
type searchbox struct {
	Query       string
	Told        string // what those hear who do not see the results change
	Suggestions []suggestion
}

// besideView is a service or a class of data that stands beside the operations.
type besideView struct {
	Text    string
	Address string
	Detail  string
}

type hitView struct {
	Op       operationView
	Host     string
	Service  string
	Why      *whyView // nil on a page that lists all that there is
	Kind     string
	KindID   string
	Fetched  moment
	Findings string
	Digest   string
	Stale    string // why the evidence is older than it should be
	Caution  string // what in its texts speaks to a model instead of describing
}

// pager holds the addresses of the pages beside this one.
type pager struct {
	Previous string
	Next     string
	Number   int
	Count    int
}

// search is the front page, and with a query the results.
func (p *Pages) search(c *gin.Context) (view, error) {
	text := c.Query("q")
	if strings.TrimSpace(text) == "" {
		return p.home(c.Request.Context())
	}
	number, err := pageNumber(c)
	if err != nil {
		return view{}, err
	}
	v, err := p.results(c.Request.Context(), text, number)
	if e, ok := errors.AsType[*index.Error](err); ok {
		m := mistakeIn(e)
		v = resultsView{Search: searchbox{Query: text, Told: m.What + " " + m.Help}, Mistake: &m}
		return view{name: "results", title: "That query cannot be read", status: http.StatusBadRequest, body: v, live: true}, nil
	}
	return view{name: "results", title: plain(text), body: v, live: true}, err
}

// results answers a query.
func (p *Pages) results(ctx context.Context, text string, number int) (resultsView, error) {
	q, err := index.Parse(text)
	if err != nil {
		return resultsView{}, err
	}
	asked := q
	q.Limit, q.Offset, q.Facets = perPage, (number-1)*perPage, facetFields()
	r, err := p.answers.Search(ctx, q)
	if err != nil {
		return resultsView{}, err
	}
	suggested, err := p.suggestions(ctx, text)
	if err != nil {
		return resultsView{}, err
	}
	text = strings.TrimSpace(text)
	v := resultsView{
		Search: searchbox{Query: text, Told: told(r), Suggestions: suggested},
		Total:  r.Total, Note: sentence(r.Note), Near: r.Near, First: q.Offset + 1, Last: q.Offset + len(r.Hits),
		Grouped: q.Words != "" && len(q.Hosts) == 0, Facets: facetsOf(asked, r),
	}
	if v.Hits, err = p.hits(ctx, r.Hits); err != nil {
		return resultsView{}, err
	}
	v.Services, v.Classes = beside(r)
	v.Pages = pagesOf("/", url.Values{"q": {text}}, number, r.Total, perPage)
	if v.Grouped {
		// How many pages there are is not known before the last one is made.
		v.Pages.Count = 0
	}
	if !r.More {
		v.Pages.Next = ""
	}
	if agentID.MatchString(text) {
		v.Agent = text
	}
	return v, nil
}

// beside lists the services and the classes of data that answer the words as a
// whole, each once: a service may be described by several documents.
func beside(r index.Result) (services, classes []besideView) {
	met := map[string]bool{}
	for _, s := range r.Services {
		if !met[s.Host] {
			services = append(services, besideView{Text: cmp.Or(s.Service.Name, s.Host), Address: servicePath(s.Host), Detail: count(s.Operations, "operation")})
		}
		met[s.Host] = true
	}
	for _, k := range r.Classes {
		if key := k.Host + " " + k.Class.Name; !met[key] {
			classes = append(classes, besideView{Text: k.Class.Name, Address: classShelf.address(strings.ToLower(k.Class.Name)), Detail: "held by " + k.Host})
			met[key] = true
		}
	}
	return services, classes
}

// told says in one sentence what was found.
func told(r index.Result) string {
	switch {
	case r.Total == 0 && r.Note != "":
		return sentence(r.Note)
	case r.Total == 0:
		return "No operation matches."
	case r.Total == 1:
		return strings.TrimSpace("One operation matches. " + sentence(r.Note))
	}
	return strings.TrimSpace(number(r.Total) + " operations match. " + sentence(r.Note))
}

// agentID matches what could be the id of an agent rather than words.
var agentID = regexp.MustCompile(`^(?i:AIR-[A-Z0-9-]+|did:wba:\S+)$`)

// hits completes what was found with how fresh it is, as rows of a list.
func (p *Pages) hits(ctx context.Context, found []index.Hit) ([]hitView, error) {
	hits, err := p.answers.Hits(ctx, found, p.now())
	if err != nil {
		return nil, err
	}
	views := make([]hitView, 0, len(hits))
	for _, h := range hits {
		views = append(views, p.hit(h))
	}
	return views, nil
}

func (p *Pages) hit(h api.Hit) hitView {
	why := whyOf(h.Why)
	v := hitView{
		Op:       operationOf(h.Operation, h.Service).short(),
		Host:     h.Host,
		Service:  h.Service.Name,
		Why:      &why,
		Kind:     kindOf(string(h.Kind)),
		KindID:   string(h.Kind),
		Fetched:  p.moment(h.Freshness.FetchedAt),
		Findings: findingsWords[h.Findings],
		Digest:   shortDigest(h.Digest),
		Caution:  sentence(h.Caution),
	}
	if h.Freshness.Stale {
		v.Stale = sentence(h.Freshness.Why)
	}
	if v.Service == "" {
		v.Service = h.Host
	}
	return v
}

// maxPages keeps the offset within what the index accepts.
const maxPages = 10000 / perPage

// pageNumber reads the page parameter, 1 when it is missing.
func pageNumber(c *gin.Context) (int, error) {
	text := c.Query("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPages {
		return 0, &badRequest{
			what: fmt.Sprintf("There is no page %q", clipPlain(30, text)),
			help: fmt.Sprintf("Pages are numbered from 1 to %d. Narrow the query with verb:, ns:, class: or host: to reach what lies behind.", maxPages),
		}
	}
	return n, nil
}

// pagesOf returns the links beside page number of a list of total entries, size of
// them on a page.
func pagesOf(path string, q url.Values, number, total, size int) pager {
	count := min((total+size-1)/size, maxPages)
	g := pager{Number: number, Count: count}
	address := func(n int) string {
		if n == 1 {
			q.Del("page")
		} else {
			q.Set("page", strconv.Itoa(n))
		}
		if len(q) == 0 {
			return path
		}
		return path + "?" + q.Encode()
	}
	if number > 1 {
		g.Previous = address(max(1, min(number-1, count)))
	}
	if number < count {
		g.Next = address(number + 1)
	}
	return g
}

// home shows what there is to search, with examples taken from the index itself
// so that each of them finds something.
func (p *Pages) home(ctx context.Context) (view, error) {
	verbs, err := p.answers.Verbs(ctx)
	if err != nil {
		return view{}, err
	}
	figures, err := p.counted(ctx)
	if err != nil {
		return view{}, err
	}
	top := mostOffered(verbs)
	v := homeView{Figures: figures, Visited: p.moment(figures.Visited), Verbs: top[:min(len(top), 12)]}
	if v.Examples, err = p.examples(ctx, v.Verbs); err != nil {
		return view{}, err
	}
	return view{name: "home", title: "", body: v, live: true}, nil
}
