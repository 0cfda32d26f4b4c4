package web

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
	Figures  api.Figures
	Visited  moment
	Examples []string
	Verbs    []index.VerbCount
}

// resultsView is a page of results.
type resultsView struct {
	Query string
	Hits  []hitView
	Total int
	First int // number of the first hit shown, from 1
	Last  int
	Pages pager
	Near  []string
	Agent string // the query, when it looks like the id of an agent
}

type hitView struct {
	Op       operationView
	Host     string
	Service  string
	Why      whyView
	Kind     string
	KindID   string
	Fetched  moment
	Findings string
	Digest   string
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
	text := strings.TrimSpace(c.Query("q"))
	if text == "" {
		return p.home(c.Request.Context())
	}
	number, err := pageNumber(c)
	if err != nil {
		return view{}, err
	}
	q, err := index.ParseQuery(text)
	if err != nil {
		return view{}, err
	}
	q.Limit, q.Offset = perPage, (number-1)*perPage
	r, err := p.answers.Search(c.Request.Context(), q)
	if err != nil {
		return view{}, err
	}
	v := resultsView{Query: text, Total: r.Total, Near: r.Near, First: q.Offset + 1, Last: q.Offset + len(r.Hits)}
	for _, h := range r.Hits {
		v.Hits = append(v.Hits, p.hit(h))
	}
	v.Pages = pagesOf("/", url.Values{"q": {text}}, number, r.Total)
	if agentID.MatchString(text) {
		v.Agent = text
	}
	return view{name: "results", title: plain(text), body: v}, nil
}

// agentID matches what could be the id of an agent rather than words.
var agentID = regexp.MustCompile(`^(?i:AIR-[A-Z0-9-]+|did:wba:\S+)$`)

func (p *Pages) hit(h index.Hit) hitView {
	v := hitView{
		Op:       operationOf(h.Operation, h.Service).short(),
		Host:     h.Host,
		Service:  h.Service.Name,
		Why:      whyOf(h.Why),
		Kind:     kindOf(string(h.Kind)),
		KindID:   string(h.Kind),
		Fetched:  p.moment(h.FetchedAt),
		Findings: findingsWords[h.Findings],
		Digest:   shortDigest(h.Digest),
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

// pagesOf returns the links beside page number of a list of total entries.
func pagesOf(path string, q url.Values, number, total int) pager {
	count := min((total+perPage-1)/perPage, maxPages)
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
	return view{name: "home", title: "", body: v}, nil
}

// mostOffered orders verbs by the services that offer them, then by name.
func mostOffered(verbs []index.VerbCount) []index.VerbCount {
	top := slices.Clone(verbs)
	slices.SortStableFunc(top, func(a, b index.VerbCount) int {
		if a.Services != b.Services {
			return b.Services - a.Services
		}
		return strings.Compare(a.Verb, b.Verb)
	})
	return top
}
