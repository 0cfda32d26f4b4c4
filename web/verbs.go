package web

import (
	"net/url"
	"slices"
	"strings"

	"gazetteer/index"
	"gazetteer/index/query"

	"github.com/gin-gonic/gin"
)

type verbsView struct {
	Verbs []index.VerbCount
	Total int
	First int
	Last  int
	Pages pageLinks
}

// verbsPage lists the verbs that are offered, most offered first.
func (p *Pages) verbsPage(c *gin.Context) (pageView, error) {
	number, err := pageNumber(c)
	if err != nil {
		return pageView{}, err
	}
	all, err := p.answers.Verbs(c.Request.Context())
	if err != nil {
		return pageView{}, err
	}
	top := mostOffered(all)
	from := min((number-1)*listingPerPage, len(top))
	to := min(from+listingPerPage, len(top))
	v := verbsView{Verbs: top[from:to], Total: len(top), First: from + 1, Last: to}
	v.Pages = pagesOf("/verbs", url.Values{}, number, len(top), listingPerPage)
	return pageView{name: "verbs", title: "Verbs", body: v}, nil
}

type verbView struct {
	Verb     string
	Services int
	Family   []relatedView
	Hits     []hitView
	Total    int
	First    int
	Last     int
	Pages    pageLinks
}

// relatedView is a verb that is offered, too, and how it stands to this one.
type relatedView struct {
	index.VerbCount
	Relation string
}

// relationWords say how a verb stands to another.
var relationWords = map[string]string{
	"stem":     "another form of it",
	"synonym":  "means much the same",
	"hypernym": "more general or more special",
	"antonym":  "the opposite",
}

// maxFamily bounds the related verbs of a page.
const maxFamily = 24

// verbPage lists the operations that bear one verb, and the verbs near it.
func (p *Pages) verbPage(c *gin.Context) (pageView, error) {
	ctx := c.Request.Context()
	verb := strings.ToUpper(c.Param("verb"))
	number, err := pageNumber(c)
	if err != nil {
		return pageView{}, err
	}
	q := query.Query{Verbs: []string{verb}, Limit: perPage, Offset: (number - 1) * perPage}
	r, err := p.answers.Search(ctx, q)
	if err != nil {
		return pageView{}, err
	}
	if r.Total == 0 {
		return pageView{}, &noVerb{verb: verb, near: r.Near}
	}
	v := verbView{Verb: verb, Total: r.Total, First: q.Offset + 1, Last: q.Offset + len(r.Hits)}
	family, err := p.catalogue.VerbFamily(ctx, verb)
	if err != nil {
		return pageView{}, err
	}
	for _, f := range family {
		if f.Verb == verb {
			v.Services = f.Services
		} else if len(v.Family) < maxFamily {
			v.Family = append(v.Family, relatedView{f.VerbCount, relationWords[f.Relation]})
		}
	}
	if v.Hits, err = p.completeHits(ctx, r.Hits); err != nil {
		return pageView{}, err
	}
	v.Pages = pagesOf(verbPath(verb), url.Values{}, number, r.Total, perPage)
	return pageView{name: "verb", title: plainText(verb), body: v}, nil
}

func verbPath(verb string) string { return "/verbs/" + url.PathEscape(verb) }

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
