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

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/query"

	"github.com/gin-gonic/gin"
)

// perPage is how many operations a page of results or a service page shows.
const perPage = 20

// homeView is the front page.
type homeView struct {
	Search   searchbox
	Figures  answer.Figures
	Visited  moment
	Examples []string
	Verbs    []index.VerbCount
}

// resultsView is a page of results, or the query that has none because it cannot
// be read.
type resultsView struct {
	Search  searchbox
	Mistake *queryMistake
	Hits    []hitView
	Total   int
	First   int // number of the first hit shown, from 1
	Last    int
	Grouped bool // at most three operations of a service are shown
	Pages   pageLinks
	Note    string
	Near    []string
	Agent   string // the query, when it looks like the id of an agent
	// Services and Classes answer the words as a whole.
	Services []sideView
	Classes  []sideView
	Facets   []facetView
}

// searchbox is the field with what belongs to it.
type searchbox struct {
	Query       string
	Told        string // what those hear who do not see the results change
	Suggestions []suggestion
}

// sideView is a service or a class of data that stands beside the operations.
type sideView struct {
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

// pageLinks holds the addresses of the pages beside this one.
type pageLinks struct {
	Previous string
	Next     string
	Number   int
	Count    int
}

// searchPage is the front page, and with a query the results.
func (p *Pages) searchPage(c *gin.Context) (pageView, error) {
	text := c.Query("q")
	if strings.TrimSpace(text) == "" {
		return p.homePage(c.Request.Context())
	}
	number, err := pageNumber(c)
	if err != nil {
		return pageView{}, err
	}
	v, err := p.findResults(c.Request.Context(), text, number)
	if e, ok := errors.AsType[*query.Error](err); ok {
		m := mistakeIn(e)
		v = resultsView{Search: searchbox{Query: text, Told: m.What + " " + m.Help}, Mistake: &m}
		return pageView{name: "results", title: "That query cannot be read", status: http.StatusBadRequest, body: v, live: true}, nil
	}
	return pageView{name: "results", title: plainText(text), body: v, live: true}, err
}

// findResults answers a query.
func (p *Pages) findResults(ctx context.Context, text string, number int) (resultsView, error) {
	q, err := query.Parse(text)
	if err != nil {
		return resultsView{}, err
	}
	asked := q
	q.Limit, q.Offset, q.Facets = perPage, (number-1)*perPage, facetFields()
	r, err := p.answers.Search(ctx, q)
	if err != nil {
		return resultsView{}, err
	}
	suggested, err := p.makeSuggestions(ctx, text)
	if err != nil {
		return resultsView{}, err
	}
	text = strings.TrimSpace(text)
	v := resultsView{
		Search: searchbox{Query: text, Told: resultSentence(r), Suggestions: suggested},
		Total:  r.Total, Note: noteOf(r), Near: r.Near, First: q.Offset + 1, Last: q.Offset + len(r.Hits),
		Grouped: q.Words != "" && len(q.Hosts) == 0, Facets: facetsOf(asked, r),
	}
	if v.Hits, err = p.completeHits(ctx, r.Hits); err != nil {
		return resultsView{}, err
	}
	v.Services, v.Classes = sideViews(r)
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

// noteOf says how the words were read, where that is not as they stand.
func noteOf(r index.Result) string {
	note := asSentence(r.Note)
	if r.Correction != nil {
		note += " Showing results for “" + r.Correction.Query + "”."
	}
	for _, l := range r.LeftOut {
		note += " Left out because of “" + l.Text + "”: " + formatCount(l.Operations, "operation") + "."
	}
	return strings.TrimSpace(note)
}

// sideViews lists the services and the classes of data that answer the words as a
// whole, each once: a service may be described by several documents.
func sideViews(r index.Result) (services, classes []sideView) {
	met := map[string]bool{}
	for _, s := range r.Services {
		if !met[s.Host] {
			services = append(services, sideView{Text: cmp.Or(s.Service.Name, s.Host), Address: servicePath(s.Host), Detail: formatCount(s.Operations, "operation")})
		}
		met[s.Host] = true
	}
	for _, k := range r.Classes {
		if key := k.Host + " " + k.Class.Name; !met[key] {
			classes = append(classes, sideView{Text: k.Class.Name, Address: classListing.valueAddress(strings.ToLower(k.Class.Name)), Detail: "held by " + k.Host})
			met[key] = true
		}
	}
	return services, classes
}

// resultSentence says in one sentence what was found.
func resultSentence(r index.Result) string {
	switch {
	case r.Total == 0 && r.Note != "":
		return asSentence(r.Note)
	case r.Total == 0:
		return "No operation matches."
	case r.Total == 1:
		return strings.TrimSpace("One operation matches. " + asSentence(r.Note))
	}
	return strings.TrimSpace(formatNumber(r.Total) + " operations match. " + asSentence(r.Note))
}

// agentID matches what could be the id of an agent rather than words.
var agentID = regexp.MustCompile(`^(?i:AIR-[A-Z0-9-]+|did:wba:\S+)$`)

// completeHits completes what was found with how fresh it is, as rows of a list.
func (p *Pages) completeHits(ctx context.Context, found []index.Hit) ([]hitView, error) {
	hits, err := p.answers.Hits(ctx, found, p.now())
	if err != nil {
		return nil, err
	}
	views := make([]hitView, 0, len(hits))
	for _, h := range hits {
		views = append(views, p.hitViewOf(h))
	}
	return views, nil
}

func (p *Pages) hitViewOf(h answer.Hit) hitView {
	why := whyOf(h.Why)
	v := hitView{
		Op:       operationOf(h.Operation, h.Service).withFewParameters(),
		Host:     h.Host,
		Service:  h.Service.Name,
		Why:      &why,
		Kind:     kindOf(string(h.Kind)),
		KindID:   string(h.Kind),
		Fetched:  p.momentOf(h.Freshness.FetchedAt),
		Findings: findingsWords[h.Findings],
		Digest:   shortDigest(h.Digest),
		Caution:  asSentence(h.Caution),
	}
	if h.Freshness.Stale {
		v.Stale = asSentence(h.Freshness.Why)
	}
	if h.Effect.Destructive && h.Effect.Source == index.EffectInferred {
		v.Op.Effect = "Ends or removes something, by its " + h.Effect.From
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
func pagesOf(path string, q url.Values, number, total, size int) pageLinks {
	count := min((total+size-1)/size, maxPages)
	g := pageLinks{Number: number, Count: count}
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

// homePage shows what there is to search, with examples taken from the index itself
// so that each of them finds something.
func (p *Pages) homePage(ctx context.Context) (pageView, error) {
	verbs, err := p.answers.Verbs(ctx)
	if err != nil {
		return pageView{}, err
	}
	figures, err := p.currentFigures(ctx)
	if err != nil {
		return pageView{}, err
	}
	top := mostOffered(verbs)
	v := homeView{Figures: figures, Visited: p.momentOf(figures.Visited), Verbs: top[:min(len(top), 12)]}
	if v.Examples, err = p.makeExamples(ctx, v.Verbs); err != nil {
		return pageView{}, err
	}
	return pageView{name: "home", title: "", body: v, live: true}, nil
}
