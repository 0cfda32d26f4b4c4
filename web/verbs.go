package web

import (
	"net/url"
	"strings"

	"gazetteer/index"

	"github.com/gin-gonic/gin"
)

type verbsView struct {
	Verbs []index.VerbCount
	Total int
}

// verbsPerPage bounds the page: strangers choose their verbs.
const verbsPerPage = 200

// verbs lists the verbs that are offered, most offered first.
func (p *Pages) verbs(c *gin.Context) (view, error) {
	all, err := p.answers.Verbs(c.Request.Context())
	if err != nil {
		return view{}, err
	}
	top := mostOffered(all)
	v := verbsView{Verbs: top[:min(len(top), verbsPerPage)], Total: len(top)}
	return view{name: "verbs", title: "Verbs", body: v}, nil
}

type verbView struct {
	Verb  string
	Count index.VerbCount
	Hits  []hitView
	Total int
	First int
	Last  int
	Pages pager
}

// verb lists the operations that bear one verb.
func (p *Pages) verb(c *gin.Context) (view, error) {
	verb := strings.ToUpper(c.Param("verb"))
	number, err := pageNumber(c)
	if err != nil {
		return view{}, err
	}
	q := index.Query{Verbs: []string{verb}, Limit: perPage, Offset: (number - 1) * perPage}
	r, err := p.answers.Search(c.Request.Context(), q)
	if err != nil {
		return view{}, err
	}
	if r.Total == 0 {
		return view{}, &noVerb{verb: verb, near: r.Near}
	}
	v := verbView{Verb: verb, Total: r.Total, First: q.Offset + 1, Last: q.Offset + len(r.Hits)}
	for _, h := range r.Hits {
		v.Hits = append(v.Hits, p.hit(h))
	}
	v.Pages = pagesOf(verbPath(verb), url.Values{}, number, r.Total)
	return view{name: "verb", title: plain(verb), body: v}, nil
}

func verbPath(verb string) string { return "/verbs/" + url.PathEscape(verb) }
